"""Networks that torch.export wrote: measured as the network that they came from."""

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.measure import Recorder, measure, names

torch.manual_seed(0)
X, LABELS = torch.randn(6, 4), [0, 1, 2] * 2
MODEL = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3)).eval()


@pytest.fixture(scope="module", params=["of one size", "of any size"])
def program(request):
    shapes = ({0: torch.export.Dim("points")},) if request.param == "of any size" else None
    return torch.export.export(MODEL, (X,), dynamic_shapes=shapes)


class Beside(nn.Module):
    """An exported part in a network that has modes."""

    def __init__(self, part):
        super().__init__()
        self.before, self.part, self.after = nn.Dropout(), part, nn.Dropout()

    def forward(self, x):
        return self.after(self.part(self.before(x)))


def modes(model):
    return [module.training for module in model.modules()]


def test_the_program_itself_is_refused_with_both_ways_to_measure_it(program):
    with pytest.raises(ValueError, match=r"module\(\).*unflatten"):
        measure(program, X)


def test_its_module_has_the_numbers_of_the_network(program):
    model = program.module()
    before = modes(model)
    assert "relu.default" in names(model, X)
    found = measure(model, X, ["input", "relu.default", "output"], labels=LABELS)
    expected = measure(MODEL, X, ["input", "2", "output"], labels=LABELS)
    for name in ("angle", "effective_rank", "nc1", "loss", "accuracy"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6, err_msg=name)
    assert modes(model) == before


@pytest.mark.parametrize("way", [lambda program: Beside(program.module()), torch.export.unflatten])
def test_as_a_part_and_with_its_modules(program, way):
    model = way(program)
    before = modes(model)
    recorder = Recorder(model, X, labels=LABELS)
    for step in range(2):
        recorder(step)
    expected = measure(MODEL, X, ["output"], labels=LABELS)
    np.testing.assert_allclose(recorder.dataset()["loss"], [expected["loss"]] * 2, rtol=1e-6)
    assert modes(model) == before


def test_unflattened_its_layers_are_the_modules(program):
    found = measure(torch.export.unflatten(program), X)
    assert list(found["layer"].values) == ["input", "0", "1", "2", "3"]
    np.testing.assert_allclose(found["angle"], measure(MODEL, X)["angle"], rtol=1e-6)
