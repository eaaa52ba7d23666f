"""Similarities computed by torch on a device are those of numpy; on a GPU only where there is one."""

import numpy as np
import pytest
import torch
from tests.pretended_gpu import OneDevice
from torch import nn

from repdyn.diagnostics import compare as module
from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.methods import similarity as streamed
from repdyn.diagnostics.theory import similarity, spectra
from repdyn.diagnostics.theory.similarity import MEASURES, ON_REQUEST, shape_of, similarities

ALL = (*MEASURES, *ON_REQUEST)
GPU = pytest.param(
    "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device to compute on")
)


def model(seed, units=60):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, units), nn.ReLU(), nn.Linear(units, 3))


def points(n=40):
    return torch.randn(n, 5, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize("measures", [ALL, ("cka", "cka_debiased", *ON_REQUEST), ("cka_minibatch",)])
def test_recorded_layers_have_the_numbers_of_numpy(device, measures, monkeypatch):
    arguments = {"reruns": [model(2)], "measures": measures, "intervals": True, "batch_size": 20}
    by_numpy = compare(model(0), model(1), points(), **arguments)
    kinds = []
    monkeypatch.setattr(module, "shape_of", lambda A, *more: kinds.append(A.device.type) or shape_of(A, *more))
    found = compare(model(0), model(1), points(), device=device, **arguments)
    assert set(kinds) == {device}
    assert found.attrs == by_numpy.attrs
    for name, values in by_numpy.data_vars.items():
        assert values.notnull().all()
        atol = 1e-7 if name.startswith(MEASURES[2:]) else 1e-12  # distances are roots of 1 minus what may be nearly 1
        np.testing.assert_allclose(found[name], values, rtol=1e-10, atol=atol, err_msg=name)


@pytest.mark.parametrize("device", ["cpu", GPU])
@pytest.mark.parametrize("memory", [1, 2**29])
def test_streamed_layers_have_the_numbers_of_numpy(device, memory, monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", 20)
    arguments = {"measures": (*MEASURES, "cka_minibatch"), "most_points": 90, "memory": memory, "batch_size": 16}
    by_numpy = compare(model(0), model(1), points(90), **arguments)
    found = compare(model(0), model(1), points(90), device=torch.device(device), **arguments)
    for name, values in by_numpy.data_vars.items():
        assert values.notnull().all()
        np.testing.assert_allclose(found[name], values, rtol=1e-10, atol=1e-7, err_msg=name)


@pytest.fixture
def without_numbers(monkeypatch):
    """Tensors of torch's device `meta` have no numbers; where one is asked for it is 1."""

    def number(value=0.0):
        return 1.0 if isinstance(value, torch.Tensor) and value.device.type == "meta" else float(value)

    for module_ in (module, similarity, streamed):
        monkeypatch.setattr(module_, "float", number, raising=False)
    monkeypatch.setattr(streamed, "_on_cpu", lambda A: np.ones(A.shape))


@pytest.mark.parametrize("small", [2**26, 0])
@pytest.mark.parametrize("measures", [(*MEASURES, "cka_minibatch", "cka_rbf"), ("cka", "cka_minibatch", "cka_rbf")])
def test_no_tensor_of_recorded_layers_is_left_on_the_cpu(measures, small, without_numbers, monkeypatch):
    monkeypatch.setattr(spectra, "SMALL", small)
    with OneDevice():
        found = compare(model(0), model(1), points(), device="meta", measures=measures, batch_size=20)
    assert found.attrs["left_out"] == ""
    assert all(values.shape == (4, 4) for values in found.data_vars.values())


def test_no_tensor_of_streamed_layers_is_left_on_the_cpu(without_numbers, monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", 20)
    arguments = {"measures": (*MEASURES, "cka_minibatch"), "most_points": 90, "memory": 2**15, "batch_size": 16}
    with OneDevice():
        found = compare(model(0), model(1), points(90), device="meta", **arguments)
    assert found.attrs["left_out"] == ""
    assert found["cka"].notnull().all()


@pytest.mark.parametrize("place", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])
def test_large_wide_layers_go_through_their_gram_matrix(place, monkeypatch):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 50)), rng.normal(size=(20, 3)) @ rng.normal(size=(3, 50))
    wanted = similarities(shape_of(X), shape_of(Y))
    monkeypatch.setattr(spectra, "SMALL", 0)
    assert shape_of(place(Y)).F.shape == (20, 20)
    found = similarities(shape_of(place(X)), shape_of(place(Y)))
    assert found == pytest.approx(wanted, rel=1e-12)  # 1e-8, were roots of eigenvalues that are rounding kept


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_gpu_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match=r"device.*'cuda'"):
        compare(model(0), None, points(), device="cuda")
