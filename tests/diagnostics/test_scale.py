"""Large layers through Gram matrices: the same numbers as small ones through orthogonal decompositions."""

import numpy as np
import pytest
import torch
from tests.diagnostics.networks import counted, network_of, threads
from threadpoolctl import threadpool_limits
from torch import nn

from repdyn.diagnostics import summary
from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.methods import collecting, comparing
from repdyn.diagnostics.methods.collecting import Interrupted
from repdyn.diagnostics.methods.measures import OF_LAYER, Layer
from repdyn.diagnostics.methods.reader import Features
from repdyn.diagnostics.theory import angles, spectra
from repdyn.diagnostics.theory.collapse import occupation, occupation_by_class
from repdyn.diagnostics.theory.identity import energies, largest_eigenvalue, stable_norm

RNG = np.random.default_rng(0)
LAYERS = {
    "wide": RNG.normal(size=(30, 50)),
    "tall": RNG.normal(size=(50, 30)) + 0.5,
    "wide positive": np.maximum(RNG.normal(size=(30, 50)), 0),
    "tall positive": np.maximum(RNG.normal(size=(50, 30)), 0),
    "low rank": RNG.normal(size=(60, 5)) @ RNG.normal(size=(5, 40)),
    "wide of low rank": RNG.normal(size=(40, 5)) @ RNG.normal(size=(5, 60)),
    "tall with units twice": np.repeat(RNG.normal(size=(50, 15)), 2, axis=1),
    "tall negative": -np.abs(RNG.normal(size=(50, 30))),
    "tall of rank one": np.outer(RNG.normal(size=50) + 0.3, RNG.normal(size=30)),
    "wide of rank one": np.outer(RNG.normal(size=30) + 0.3, RNG.normal(size=50)),
    "wide negative": -np.abs(RNG.normal(size=(30, 50))),
}


def all_of(A, bias):
    layer = Layer(A, np.arange(len(A)) % 3, [(0, 1)], 1e-3, bias)
    return {name: value for function in OF_LAYER.values() for name, value in function(layer).items()}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("case", LAYERS)
def test_large_layers_have_the_numbers_of_small_ones(case, bias, monkeypatch):
    small = all_of(LAYERS[case], bias)
    monkeypatch.setattr(spectra, "SMALL", 0)
    monkeypatch.setattr(spectra, "BLOCK", 64)
    monkeypatch.setattr(spectra, "WIDTH", 7)
    monkeypatch.setattr(angles, "STABLE", 0)
    monkeypatch.setattr(angles, "ROWS", 7)
    large = all_of(LAYERS[case], bias)
    for name, value in small.items():
        # a Gram matrix squares the condition number: half of the digits in the worst case
        np.testing.assert_allclose(large[name], value, rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("case", ["wide", "tall", "wide of low rank", "tall with units twice", "tall negative"])
def test_energies_of_large_layers_are_those_of_the_inverse(case, bias, monkeypatch):
    A, gamma, Lt = LAYERS[case], 0.05, 1.7
    after = 0.8 * A + np.random.default_rng(3).normal(size=A.shape)
    S = np.maximum(A, 0)
    K = S @ S.T + bias
    with np.errstate(all="ignore"):
        inverse = np.linalg.pinv(K + gamma * np.linalg.norm(K, 2) * np.eye(len(A)))
    moved, kept = (np.trace(M.T @ inverse @ M) if K.any() else np.nan for M in ((after - A) / 0.2, A))
    for small in (spectra.SMALL, 0):
        monkeypatch.setattr(spectra, "SMALL", small)
        found = energies(A, after, 0.2, Lt, gamma, bias)
        np.testing.assert_allclose(found, [moved / 2 / Lt, -Lt / 2 * kept], rtol=1e-9)
        np.testing.assert_allclose(energies(A, after, 0.2, 0.0, gamma, bias), [moved / 2, 0], rtol=1e-9)
        np.testing.assert_allclose(
            stable_norm(after, A, gamma, bias), np.trace(after.T @ inverse @ after) if K.any() else np.nan
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_in_double_precision_and_change_no_layer(dtype, monkeypatch):
    """Numbers beside a thousand, of which single precision would keep four digits in a product."""
    monkeypatch.setattr(spectra, "BLOCK", 64)
    monkeypatch.setattr(spectra, "WIDTH", 7)
    A, B = (np.random.default_rng(k).normal(size=(20, size)) + 1000 * (k - 4) for k, size in ((3, 16), (5, 9)))
    A, B = A.astype(dtype), B.astype(dtype)
    mixed = np.random.default_rng(6).normal(size=(20, 16)).astype(dtype)
    first, second, third = (part.astype(np.float64) for part in (A, B, mixed))
    for found, wanted in (
        (spectra.gram(A), first @ first.T),
        (spectra.gram(mixed, positive_part=True), np.maximum(third, 0) @ np.maximum(third, 0).T),
        (spectra.covariance(A), first.T @ first),
        (spectra.covariance(A, B), first.T @ second),
        (spectra.covariance(B, A), second.T @ first),
    ):
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
    for part, wanted in ((A, first), (B, second), (mixed, third)):
        np.testing.assert_array_equal(part, wanted)


@pytest.mark.parametrize("size", [5, 63, 64, 90])
def test_the_largest_eigenvalue_of_a_gram_matrix_of_any_size(size):
    values = np.random.default_rng(size).permutation(np.arange(1.0, size + 1))
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(size, size)))
    assert largest_eigenvalue(Q @ np.diag(values) @ Q.T) == pytest.approx(size, rel=1e-9)


@pytest.mark.parametrize("units", [3, 8, 9, 20])
def test_sectors_differ_by_any_of_their_units(units):
    """Six points: one pattern three times, one twice, one once, which differ in their last unit or in their first."""
    patterns = np.ones((3, units))
    patterns[1, -1], patterns[2, 0] = 0.0, -2.0
    A = patterns[[0, 1, 0, 2, 1, 0]] * np.arange(1.0, 7)[:, None]
    wanted = {
        "truncated_share": 3 / (6 * units),
        "units_truncating_all": 0.0,
        "units_passing_all": (units - 2) / units,
        "sectors": 3 / 6,
        "largest_sector": 3 / 6,
    }
    assert occupation(A) == pytest.approx(wanted)
    other = occupation_by_class(A, [np.array([1, 4]), np.array([3, 0, 2]), np.array([5])])
    assert other["sectors"] == pytest.approx([1 / 2, 2 / 3, 1])
    assert other["largest_sector"] == pytest.approx([1, 2 / 3, 1])
    assert other["units_truncating_all"] == pytest.approx([1 / units, 0, 0])
    assert other["units_passing_all"] == pytest.approx([1 - 1 / units, 1 - 1 / units, 1])
    assert other["truncated_share"] == pytest.approx([1 / units, 1 / (3 * units), 0])


@pytest.mark.parametrize(
    ("module", "inner", "entry"),
    [
        (collecting, "Layer", lambda *given: measure(*given, measures=["ranks"])),
        (summary, "rank", summary.summarize),
        (comparing, "similarities", lambda network, X: compare(network, None, X, ["0"], measures=["cka"])),
    ],
    ids=["measure", "summarize", "compare"],
)
def test_the_analysis_takes_one_thread_and_leaves_the_users_number(module, inner, entry, monkeypatch):
    """Where layers are analyzed the libraries have one thread; the network itself, and the user after it, their own."""
    seen, within = [], getattr(module, inner)
    monkeypatch.setattr(module, inner, lambda *given: seen.append(threads()) or within(*given))
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        entry(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), RNG.normal(size=(12, 6)))
        assert threads() == before
    assert {number for pools in seen for number in pools.values()} == {1}


def test_memory_grows_with_the_largest_layer_and_not_with_their_number():
    """Bytes of arrays that numpy holds at a time grow with the largest layer, not with the number of layers."""
    import tracemalloc

    def peak(depth):
        model = nn.Sequential(*(nn.Linear(400, 400) for _ in range(depth)))
        X = torch.randn(300, 400)
        tracemalloc.start()
        measure(model, X, measures=["ranks"])
        usage = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return usage

    peak(1)
    assert peak(8) < peak(2) + 2 * 300 * 400 * 8


@network_of(lambda: {"first": nn.Linear(5, 4), "last": nn.Linear(4, 3), "stops": True}, seed=0)
def Stopping(self, x):
    """Raises what Ctrl-C raises before its last layer while `stops` is set."""
    hidden = self.first(x)
    if self.stops and len(x) > 3:
        raise KeyboardInterrupt
    return self.last(hidden)


def test_pooled_layers_are_counted_as_pooled_and_the_network_runs_once():
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1))
    calls = counted(model)
    X = torch.randn(12, 1, 8, 8)
    memory = 4 * 12 * (1 + 4 + 4 + 4)  # single precision, channels of the input and of three layers
    options = {"batch_size": 4, "measures": ["ranks"], "features": Features("pool", channels=1)}
    pooled = measure(model, X, memory=memory, **options)
    assert len(calls) == 2 + 3  # two first passes, three batches
    calls.clear()
    measure(model, X, memory=memory - 1, **options)
    assert len(calls) == 2 + 6
    whole = measure(model, X, measures=["ranks"], features=options["features"])
    np.testing.assert_allclose(pooled["effective_rank"], whole["effective_rank"], rtol=1e-6)


def test_an_interrupted_measurement_holds_finished_layers_and_restores_the_network():
    model, X = Stopping().train(), torch.randn(6, 5)
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        with pytest.raises(Interrupted) as stopped:
            measure(model, X, measures=["ranks"])
        assert threads() == before
    found = stopped.value.dataset
    assert isinstance(stopped.value, KeyboardInterrupt)
    assert found.attrs["left_out"].startswith("all: ")
    model.stops = False
    whole = measure(model, X, measures=["ranks"])
    for layer in ("input", "first"):
        np.testing.assert_array_equal(
            found["effective_rank"].sel(layer=layer), whole["effective_rank"].sel(layer=layer)
        )
    assert np.isnan(found["effective_rank"].sel(layer="last"))
    assert model.training
    assert not model.first._forward_hooks


def test_an_interrupted_recorder_holds_its_earlier_moments():
    model = Stopping()
    model.stops = False
    recorder = Recorder(model, torch.randn(6, 5), measures=["ranks"])
    recorder(0)
    model.stops = True
    with pytest.raises(KeyboardInterrupt):
        recorder(1)
    assert recorder.dataset()["step"].values.tolist() == [0]
