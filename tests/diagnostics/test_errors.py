"""Networks, inputs and options that cannot be used are refused by name."""

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.callbacks import Measuring, every, growing, same
from repdyn.diagnostics.compare import Arrays, compare
from repdyn.diagnostics.figures.depth import draw_depth
from repdyn.diagnostics.measure import Recorder, measure, names
from repdyn.diagnostics.methods.effective_theory import fit
from repdyn.diagnostics.methods.reader import Features
from repdyn.diagnostics.methods.recording import scalars
from repdyn.diagnostics.summary import summarize, words
from repdyn.diagnostics.theory.identity import Residual
from repdyn.diagnostics.theory.similarity import shape_of, similarities
from repdyn.diagnostics.training_summary import summarize_training


class Odd(nn.Module):
    """Modules that run, one that does not, one that returns no row per point."""

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


def X(points=8, units=4):
    return np.random.default_rng(0).normal(size=(points, units))


def with_nan(value=np.nan):
    values = X()
    values[3, 1] = value
    return values


INPUTS = [
    ([[1.0, 2.0]], "inputs.*list"),
    (np.arange(4.0), r"inputs.*\(4,\)"),
    (X(1), "inputs.*single point"),
    (with_nan(), "inputs.*1 values"),
    (with_nan(np.inf), "inputs.*1 values"),
    (np.ones((5, 4)), "inputs.*the same"),
    (X(units=5), r"Odd.*\(8, 5\)"),
    ({"name": "x", "scale": 2.0}, "inputs.*dict"),
    (3, "inputs.*int"),
    (X().astype(object), "inputs.*object.*numbers"),
    (X()[:0], r"inputs.*\(0, 4\)"),
    (torch.zeros(8, 4, device="meta"), "inputs.*meta"),
    (torch.eye(4).to_sparse(), "inputs.*sparse.*to_dense"),
    ("text", "inputs.*str"),
    ([], "inputs.*list"),
    (iter([]), "inputs"),
    (iter([(torch.zeros(1, 4), torch.zeros(1))]), "inputs.*single point"),
    (iter([(torch.zeros(2, 4),) * 3]), "3 parts.*unpack"),
    (iter([(torch.zeros(2, 4), ["a", "b"])]), r"labels \['a', 'b'\].*numbers"),
    (iter([(torch.zeros(2, 4), [{"boxes": 1}] * 2)]), "labels.*numbers.*unpack"),
]
OPTIONS = [
    ({"layers": ["encodre"]}, "'encodre'.*'encoder'"),
    ({"layers": ["zzz"]}, "'zzz'.*input, encoder"),
    ({"layers": "encoder"}, "'encoder'"),
    ({"layers": ["unused"]}, "'unused'"),
    ({"layers": ["total"]}, r"'total'.*\(\)"),
    ({"labels": [0, 1]}, r"labels.*\(2,\).*8"),
    ({"labels": [[0, 1]] * 8}, r"labels.*\(8, 2\)"),
    ({"labels": np.arange(8.0)}, "labels.*float64"),
    ({"labels": [True, False] * 4}, "labels.*bool"),
    ({"labels": [1] * 8}, "labels.*one class"),
    ({"labels": [-100, *[1] * 7]}, "labels.*one class"),
    ({"targets": np.zeros((8, 2))}, r"targets.*\(8, 2\).*\(8, 3\)"),
    ({"targets": np.full((8, 3), np.nan)}, "targets.*24 values"),
    ({"targets": np.diag(np.full(8, np.nan))[:, :3]}, "targets.*3 values"),
    ({"pairs": [(0, 1), (2, 2)]}, r"pairs.*\(2, 2\)"),
    ({"pairs": [(0, 8)]}, r"pairs.*\(0, 8\)"),
    ({"pairs": [(-1, 0)]}, r"pairs.*\(-1, 0\)"),
    ({"pairs": [(0, 1, 2)]}, r"pairs.*\(0, 1, 2\)"),
    ({"pairs": []}, "pairs"),
    ({"gamma": 0.0}, "gamma.*0.0"),
    ({"batch_size": 0}, "batch_size.*0"),
    ({"batch_size": -1}, "batch_size.*-1"),
    ({"measures": ["rank"]}, "'rank'.*angles, ranks"),
    ({"measures": "ranks"}, "measures.*'ranks'"),
    ({"measures": ["collapse"]}, "'collapse'.*labels"),
    ({"measures": ["loss"]}, "'loss'.*labels, targets or loss"),
    ({"measures": ["targets"]}, "'targets'.*labels or targets"),
    ({"measures": ["energies"]}, "'energies'.*residual"),
    ({"residual": ["encoder"]}, "encoder.*two or more"),
    ({"residual": ["encoder", "haed"]}, "'haed'.*'head'"),
    ({"residual": ["encoder", "head"]}, "encoder: 6, head: 3"),
    ({"loss": nn.functional.cross_entropy}, "loss.*labels"),
    ({"classifier": "haed"}, "'haed:input'|'haed'"),
    ({"axes": [0]}, r"axes is \[0\].*'input': 1"),
    ({"axes": {"input": "a"}}, r"axes is \{'input': 'a'\}"),
    ({"axes": {"input": 7}}, r"axes\['input'\] is 7.*\(8, 4\)"),
    ({"axes": {"input": -5}}, r"axes\['input'\] is -5.*\(8, 4\)"),
    ({"batch_size": 2.5}, "batch_size is 2.5.*1 or more"),
    ({"batch_size": "a"}, "batch_size is 'a'.*1 or more"),
    ({"memory": "1GB"}, "memory is '1GB'.*bytes"),
    ({"gamma": np.inf}, "gamma is inf.*above 0"),
    ({"gamma": "x"}, "gamma is 'x'.*above 0"),
    ({"labels": [[1], [1, 2], *[[1]] * 6]}, "labels.*different lengths"),
    ({"targets": 3.0}, r"targets.*\(\).*per point"),
    ({"targets": np.full((8, 3), "a")}, "targets.*<U1.*numbers"),
    ({"pairs": 3}, r"pairs is 3.*\(0, 1\)"),
    ({"pairs": [(0.5, 1)]}, r"pairs is \[\(0.5, 1\)\]"),
    ({"residual": 3}, "residual is 3.*names"),
    ({"layers": [0]}, r"layers is \[0\].*names"),
    ({"measures": []}, r"measures is \[\].*None for all"),
    ({"output": "logits"}, "output='logits'.*without it"),
    ({"output": 1.5}, "output is 1.5.*key, an index or a function"),
    ({"unpack": 3}, "unpack is 3.*function"),
    ({"loss": "mse"}, "loss is 'mse'.*function"),
    ({"embeddings": 3}, "embeddings is 3.*name"),
    ({"features": Features}, "features.*Features.*function"),
    ({"bias": "no"}, "bias is 'no'.*True or False"),
    ({"batch_statistics": "no"}, "batch_statistics is 'no'.*True or False"),
    ({"progress": 3}, "progress is 3.*True or False"),
    ({"output": True}, "output is True.*key"),
    ({"loss": nn.CrossEntropyLoss}, "loss is <class.*function"),
    ({"axes": {"encodre": 0}}, "axes.*'encodre'.*'encoder'"),
    ({"residual": ["encoder", "encoder"]}, "residual.*twice.*encoder"),
    ({"labels": np.full(8, 2**63, np.uint64)}, r"labels.*2\^63"),
    ({"labels": torch.eye(8).to_sparse()}, "labels"),
    ({"gamma": True}, "gamma is True.*above 0"),
    ({"held_out": (X(), None)}, "held_out has None.*labels"),
    ({"held_out": (X(1), [0])}, "held_out: inputs.*single point"),
    ({"other_form": X(1)}, "other_form: inputs.*single point"),
]  # fmt: skip


FEATURES = [
    ({"channels": -1, "heads": 1}, "heads.*1"),
    ({"channels": -1, "heads": "2"}, "heads.*'2'"),
    ({"heads": 3}, "channels.*None"),
    ({"channels": 1, "heads": 3}, "channels.*1"),
    ({"channels": 0}, "channels is 0.*1 or -1"),
    ({"channels": "1"}, "channels is '1'"),
    ({"channels": -1, "mask": np.full((8, 5), 0.5)}, r"mask.*\(8, 5\).*float64"),
    ({"channels": -1, "mask": "a"}, "mask.*points, tokens"),
    ({"channels": -1, "mask": [[True], [True, False]]}, "mask.*points, tokens"),
]


def test_inputs_and_options_of_measure_that_cannot_be_used_are_refused():
    for inputs, message in INPUTS:
        with pytest.raises(ValueError, match=message):
            measure(Odd(), inputs)
    for options, message in OPTIONS:
        with pytest.raises(ValueError, match=message):
            measure(Odd(), X(), **options)
    for options, message in FEATURES:
        with pytest.raises(ValueError, match=message):
            Features("pool", **options)
    with pytest.raises(ValueError, match=r"model.*function"):
        measure(lambda: X, X())


MISSPELT = [
    (lambda: summarize(Odd(), X(), label=[0, 1] * 4), "'label'.*'labels'"),
    (lambda: names(Odd(), X(), bath_size=2), "'bath_size'.*'batch_size'"),
    (lambda: compare(Odd(), None, X(), bogus=1), "'bogus'.*layers, .*reruns.*features"),
    (lambda: compare(Odd(), None, X(), gamma=1.0), "'gamma'"),
    (lambda: Recorder(Odd(), X(), mesures=["angles"]), "'mesures'.*'measures'"),
    (lambda: Measuring(X(), None, bool, same, {"fiel": "x"}), "'fiel'.*'file'"),
]


def test_misspelt_options_are_refused_at_once():
    for call, message in MISSPELT:
        with pytest.raises(TypeError, match=message):
            call()


ELSEWHERE = [
    (lambda: Recorder(Odd(), X(), time="layer"), "time is 'layer'"),
    (lambda: Recorder(Odd(), X(), time="loss"), "time is 'loss'"),
    (lambda: Recorder(Odd(), X(), time="a/b"), "time is 'a/b'.*netCDF.*'epoch'"),
    (lambda: Recorder(Odd(), X(), time="a\nb"), "time is 'a.*netCDF"),
    (lambda: Recorder(Odd(), X(), file=3), "file is 3.*path"),
    (lambda: Recorder(Odd(), X(), logger=3), "logger is 3.*add_scalar"),
    (lambda: Recorder(Odd(), X())("5"), "step is '5'.*finite"),
    (lambda: Recorder(Odd(), X()).rewind(np.nan), "step is nan.*finite"),
    (lambda: Recorder(Odd(), X())(np.inf), "step is inf.*finite"),
    (lambda: Recorder(Odd(), X()).dataset(), "nothing was recorded"),
    (lambda: [recorder(3) for recorder in [Recorder(Odd(), X(), measures=["ranks"])] * 2], "step 3 comes after 3"),
    (lambda: Recorder(Odd(), X()).insert(None), "step is None.*finite"),
    (lambda: Measuring(X(), None, 3, same, {}), "when is 3.*growing"),
    (lambda: Measuring(X(), None, bool, 3, {}), "network is 3.*function"),
    (lambda: growing("a"), "factor is 'a'.*above 1"),
    (lambda: growing(np.inf), "factor is inf.*above 1"),
    (lambda: every(2.5), "steps is 2.5.*1 or more"),
    (lambda: compare(Odd(), None, X(), measures=3), "measures is 3.*names"),
    (lambda: compare(Odd(), None, X(), most_points=5.5), "most_points is 5.5.*2 or more"),
    (lambda: compare(Odd(), None, X(), reruns=nn.Sequential(Odd())), "reruns is a Sequential.*list"),
    (lambda: Arrays({3: X()}, range(8)), "name 3"),
    (lambda: Arrays(X(), range(8)), "dictionary"),
    (lambda: measure(Odd(), iter([X()]), unpack=lambda batch: batch["x"]), "unpack raised IndexError.*inputs, labels"),
    (lambda: measure(Odd(), iter([X()]), unpack=lambda batch: batch), r"unpack returned.*inputs, labels"),
    (lambda: Recorder(Odd(), X(), units=3), "units is 3.*unit"),
    (lambda: Recorder(Odd(), X(), resume="no"), "resume is 'no'.*True or False"),
    (lambda: Recorder(Odd(), X())(True), "step is True.*finite"),
    (lambda: compare(Odd(), None, X(), intervals="no"), "intervals is 'no'.*True or False"),
    (lambda: compare(Odd(), None, X(), reruns=["a.pt"]), "rerun 0.*str.*state_dict"),
    (lambda: compare(Odd(), Odd(), X(), other_inputs=X(1)), "other_inputs: inputs.*single point"),
    (lambda: Arrays({"a": [[1], [1, 2]]}, [1, 2]), "'a' has rows of different lengths"),
    (lambda: Arrays({"a": X()}, [[1], [1, 2]]), "ids.*different lengths"),
    (lambda: similarities(X(), X()), r"first is a ndarray.*shape_of"),
    (lambda: similarities(shape_of(X()), shape_of(X()), ["ckaa"]), "'ckaa'.*cka, cka_debiased"),
    (lambda: shape_of(X()[0]), r"\(4,\).*points, units"),
    (lambda: shape_of(with_nan()), "NaN"),
    (lambda: words(None), "sentences holds None"),
    (lambda: summarize(Odd(), X(), held_out=3), "held_out.*int.*labels"),
    (lambda: words("abc"), "sentences holds 'abc'.*summarize"),
    (lambda: summarize_training(3), "recorded holds 3.*Recorder"),
    (lambda: fit(3, "head"), "recorded holds 3.*Recorder"),
    (lambda: scalars(3), "dataset holds 3"),
    (lambda: draw_depth(measure(Odd(), X(), measures=["ranks"])), "no angle, stable_cost_of_identity"),
]


def test_arguments_of_other_functions_that_cannot_be_used_are_refused():
    for call, message in ELSEWHERE:
        with pytest.raises(ValueError, match=message) as error:
            call()
        assert "\n" not in str(error.value)


def test_streams_that_cannot_be_are_refused():
    for arguments, message in (
        ({"layers": ["a"]}, r"\['a'\]"),
        ({"layers": "ab"}, "'ab'"),
        ({"effective_depth": -1.0}, "effective_depth.*-1.0"),
        ({"effective_depth": np.nan}, "effective_depth.*nan"),
        ({"effective_depth": np.inf}, "effective_depth.*inf"),
        ({"effective_depth": "a"}, "effective_depth.*a"),
        ({"steps": [1.0]}, r"steps.*\[1.0\]"),
        ({"steps": [0.0, 1.0]}, r"steps.*\[0.0, 1.0\]"),
        ({"steps": [1.5, -0.5]}, r"steps.*\[1.5, -0.5\]"),
        ({"steps": [0.5, 0.4]}, r"steps.*\[0.5, 0.4\]"),
        ({"steps": [0.5, 0.6]}, r"steps.*\[0.5, 0.6\]"),
    ):
        with pytest.raises(ValueError, match=message):
            Residual(**{"layers": ["a", "b", "c"]} | arguments)


def test_layers_that_cannot_be_measured_are_left_out_by_name():
    diagnostics = measure(Odd(), X())
    assert list(diagnostics["layer"].values) == ["input", "encoder", "memory", "head"]
    assert "layer (unused)" in diagnostics.attrs["left_out"]
    assert "layer (total)" in diagnostics.attrs["left_out"]


def test_a_network_without_modules_has_input_and_output():
    class Bare(nn.Module):
        def forward(self, x):
            return x**2

    assert list(measure(Bare(), X())["layer"].values) == ["input", "output"]


def test_integers_are_no_input_layer():
    model = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 2))
    diagnostics = measure(model, np.array([[0, 1], [2, 3], [4, 0]]))
    assert list(diagnostics["layer"].values) == ["0", "1", "2"]
