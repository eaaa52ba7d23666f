"""What cannot be measured is refused by name, with what to do."""

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.callbacks import Measuring, same
from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.measure import Recorder, measure, names
from repdyn.diagnostics.summary import summarize
from repdyn.diagnostics.theory.identity import Residual


class Odd(nn.Module):
    """Modules that run, that do not, that return something else than a row per point."""

    def __init__(self):
        super().__init__()
        self.encoder, self.unused = nn.Linear(4, 6), nn.Linear(6, 6)
        self.memory, self.head = nn.LSTM(6, 6, batch_first=True), nn.Linear(6, 3)
        self.total = Total()

    def forward(self, x):
        sequence, _ = self.memory(self.encoder(x)[:, None])
        self.total(sequence)
        return self.head(sequence[:, -1])


class Total(nn.Module):
    def forward(self, x):
        return x.sum()


class Returning(nn.Module):
    def __init__(self, what):
        super().__init__()
        self.map, self.what = nn.Linear(4, 3), what

    def forward(self, x):
        return self.what(self.map(x))


def X(points=8):
    return np.random.default_rng(0).normal(size=(points, 4))


def with_nan():
    values = X()
    values[3, 1] = np.nan
    return values


def diverged():
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
    with torch.no_grad():
        model[2].weight[0, 0] = torch.nan
    return model


ERRORS = {
    "function": (lambda: X, X(), {}, r"the model is a function; give a torch.nn.Module"),
    "no tensor": (Odd, [[1.0, 2.0]], {}, r"inputs is a list; give one tensor"),
    "one axis": (Odd, np.arange(4.0), {}, r"shape \(4,\); give \(points, ...\)"),
    "single point": (Odd, X(1), {}, r"single point; angles, ranks and batch statistics need at least two"),
    "NaN": (Odd, with_nan(), {}, r"inputs holds 1 values that are NaN"),
    "constant": (Odd, np.ones((5, 4)), {}, r"all points of inputs are the same"),
    "wrong shape": (
        Odd,
        np.random.default_rng(0).normal(size=(8, 5)),
        {},
        r"Odd does not take inputs of shape \(8, 5\)",
    ),
    "unknown layer": (Odd, X(), {"layers": ["encodre"]}, r"no layer 'encodre' \(did you mean 'encoder'\?\)"),
    "nothing near": (Odd, X(), {"layers": ["zzz"]}, r"no layer 'zzz'; it has input, encoder"),
    "text for a list": (Odd, X(), {"layers": "encoder"}, r"give a list of names: \['encoder'\]"),
    "never fires": (Odd, X(), {"layers": ["unused"]}, r"layer 'unused': its hook never fired"),
    "no row per point": (Odd, X(), {"layers": ["total"]}, r"layer 'total': it returns shape \(\) for 3 points"),
    "labels too short": (Odd, X(), {"labels": [0, 1]}, r"labels has shape \(2,\) .* give 8 integers"),
    "labels with a point": (Odd, X(), {"labels": np.arange(8.0)}, r"type float64; give 8 integers"),
    "one class": (Odd, X(), {"labels": [1] * 8}, r"one class only"),
    "targets": (Odd, X(), {"targets": np.zeros((8, 2))}, r"targets has shape \(8, 2\); the network returns \(8, 3\)"),
    "targets NaN": (Odd, X(), {"targets": np.full((8, 3), np.nan)}, r"targets holds 24 values"),
    "one target NaN": (
        Odd,
        X(),
        {"targets": np.diag(np.full(8, np.nan))[:, :3]},
        r"targets holds 3 values that are NaN or infinite",
    ),
    "pair of one": (Odd, X(), {"pairs": [(2, 2)]}, r"pairs holds \(2, 2\); give two different points among 0 .. 7"),
    "pair outside": (Odd, X(), {"pairs": [(0, 8)]}, r"pairs holds \(0, 8\)"),
    "no pair": (Odd, X(), {"pairs": []}, r"pairs is empty"),
    "gamma": (Odd, X(), {"gamma": 0.0}, r"gamma is 0.0; give a number above 0"),
    "stream of one": (Odd, X(), {"residual": ["encoder"]}, r"give two or more in the order of the stream"),
    "stream unknown": (Odd, X(), {"residual": ["encoder", "haed"]}, r"no layer 'haed' \(did you mean 'head'"),
    "stream of sizes": (Odd, X(), {"residual": ["encoder", "head"]}, r"different sizes \(encoder: 6, head: 3\)"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_error_says_what_to_do(case):
    model, inputs, options, words = ERRORS[case]
    with pytest.raises(ValueError, match=words):
        measure(model(), inputs, **options)


MISSPELT = {
    "summarize": (lambda: summarize(Odd(), X(), label=[0, 1] * 4), "'label' .did you mean 'labels'"),
    "names": (lambda: names(Odd(), X(), bath_size=2), "'bath_size' .did you mean 'batch_size'.*there are features"),
    "compare": (lambda: compare(Odd(), None, X(), bogus=1), "'bogus'; there are layers, .*reruns.*features"),
    "compare, a measure's": (lambda: compare(Odd(), None, X(), gamma=1.0), "no option 'gamma'"),
    "recorder": (lambda: Recorder(Odd(), X(), mesures=["angles"]), "'mesures' .did you mean 'measures'.*file.*gamma"),
    "callback": (lambda: Measuring(X(), None, bool, same, {"fiel": "x"}), "'fiel' .did you mean 'file'"),
}


@pytest.mark.parametrize("case", MISSPELT)
def test_a_misspelt_option_is_refused_at_once(case):
    call, words = MISSPELT[case]
    with pytest.raises(TypeError, match=f"no option {words}" if words[0] == "'" else words):
        call()


@pytest.mark.parametrize("steps", [[0.5], [0.5, 0.6], [1.5, -0.5]])
def test_steps_of_a_stream_are_positive_and_sum_to_one(steps):
    with pytest.raises(ValueError, match="give 2 positive numbers of sum 1"):
        Residual(["a", "b", "c"], steps=steps)


def test_leak_is_not_negative():
    with pytest.raises(ValueError, match="effective_depth is -1"):
        Residual(["a", "b"], effective_depth=-1.0)


def test_layers_nobody_asked_for_are_left_out_and_said():
    diagnostics = measure(Odd(), X())
    assert list(diagnostics["layer"].values) == ["input", "encoder", "memory", "head"]
    assert "layer (unused): its hook never fired" in diagnostics.attrs["left_out"]
    assert "layer (total): it returns shape ()" in diagnostics.attrs["left_out"]


def test_a_network_without_modules_has_input_and_output():
    class Bare(nn.Module):
        def forward(self, x):
            return x**2

    assert list(measure(Bare(), X())["layer"].values) == ["input", "output"]


def test_integers_are_no_input_layer():
    model = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 2))
    diagnostics = measure(model, np.array([[0, 1], [2, 3], [4, 0]]))
    assert list(diagnostics["layer"].values) == ["0", "1", "2"]
