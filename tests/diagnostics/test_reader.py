"""What is read of a network: heads of attention against slices cut by hand, and the tensor that counts of an output."""

from collections import namedtuple
from dataclasses import make_dataclass

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from repdyn.diagnostics.measure import Recorder, measure, names
from repdyn.diagnostics.methods.reader import Features, adapted

HEADS, WIDTH, TOKENS = 3, 12, 5
LABELS = np.arange(9) % 3
generator = torch.Generator().manual_seed(3)
POINTS = torch.randn(9, TOKENS, WIDTH, generator=generator)


class Attention(nn.Module):
    """Self-attention whose heads enter one last projection, then a classifier of the mean over tokens."""

    def __init__(self, *, tokens_first=False):
        super().__init__()
        torch.manual_seed(2)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.projection, self.classifier = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 4)
        self.tokens_first = tokens_first

    def heads(self, x):
        q, k, v = (part(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in (self.query, self.key, self.value))
        return nn.functional.scaled_dot_product_attention(q, k, v)  # (points, heads, tokens, units)

    def forward(self, x):
        x = x.transpose(0, 1) if self.tokens_first else x
        joined = self.heads(x).transpose(1, 2).flatten(2)
        return self.classifier(self.projection(joined).mean(dim=1))


def alone(head, kind):
    """Measures of a head that was cut by hand, as of inputs."""
    options = {"labels": LABELS, "measures": ["ranks", "angles", "collapse"], "features": Features(kind, channels=-1)}
    return measure(nn.Identity(), head, ["input"], **options).isel(layer=0, drop=True)


@pytest.mark.parametrize("kind", ["flatten", "pool", "tokens"])
def test_a_head_has_the_numbers_of_its_slice(kind):
    model = Attention().eval()
    found = measure(
        model, POINTS, ["query", "projection:input"], labels=LABELS, measures=["ranks", "angles", "collapse"],
        features=Features(kind, channels=-1, heads=HEADS),
    )  # fmt: skip
    layers = [f"{name}[head {head}]" for name in ("query", "projection:input") for head in range(HEADS)]
    assert found["layer"].values.tolist() == ["query", *layers[:3], "projection:input", *layers[3:]]
    with torch.no_grad():
        queries = model.query(POINTS)
        entering = model.heads(POINTS)
    for head in range(HEADS):
        first = 4 * head
        by_hand = {
            f"query[head {head}]": queries[..., first : first + 4],
            f"projection:input[head {head}]": entering[:, head],
        }
        for name, values in by_hand.items():
            wanted, part = alone(values, kind), found.sel(layer=name, drop=True)
            for measured in wanted.data_vars:
                # means over tokens are taken in another order: zeros are rounding of single precision
                np.testing.assert_allclose(part[measured], wanted[measured], rtol=1e-4, atol=1e-6, err_msg=measured)


def test_one_head_can_be_named_and_all_are_of_layers_that_none_names():
    model, features = Attention(), Features("pool", channels=-1, heads=HEADS)
    one = measure(model, POINTS, ["value[head 1]"], measures=["ranks"], features=features)
    assert one["layer"].values.tolist() == ["value[head 1]"]
    whole = measure(model, POINTS, measures=["ranks"], features=features)
    assert "classifier" in whole["layer"]  # 4 units, no multiple of the heads
    assert "classifier[head 0]" not in whole["layer"]
    assert sum("[head " in name for name in whole["layer"].values.tolist()) == 4 * HEADS
    np.testing.assert_array_equal(one["effective_rank"][0], whole["effective_rank"].sel(layer="value[head 1]"))
    assert not [name for name in names(model, POINTS) if "head" in name]


def test_heads_are_found_where_tokens_come_first_and_by_a_recorder():
    model, moved = Attention(), Attention(tokens_first=True)
    features = Features("pool", channels=-1, heads=HEADS)
    options = {"measures": ["ranks"], "features": features}
    usual = measure(model, POINTS, ["key"], **options)
    other = measure(moved, POINTS.transpose(0, 1), ["key"], axes={"input": 1, "key": 0}, **options)
    xr.testing.assert_allclose(usual["effective_rank"], other["effective_rank"])
    recorder = Recorder(model, POINTS, ["key"], **options)
    recorder(0)
    recorder(1)
    for step in (0, 1):
        xr.testing.assert_equal(recorder.dataset()["effective_rank"].sel(step=step, drop=True), usual["effective_rank"])


def test_unknown_heads_are_refused():
    for heads, layers, message in ((5, ["query"], "heads.*5"), (3, ["query[head 3]"], r"'query\[head 3\]'")):
        with pytest.raises(ValueError, match=message):
            measure(Attention(), POINTS, layers, features=Features("pool", channels=-1, heads=heads))


ONE, TWO = torch.ones(2), torch.zeros(2)
Named, Both = namedtuple("Named", "logits aux"), make_dataclass("Both", ["logits", "aux"])


def test_the_part_of_an_output_that_counts():
    for returned, output, wanted in (
        (ONE, None, 1),
        ((ONE, TWO), None, 1),
        ((ONE, TWO), 1, 0),
        ({"a": TWO, "b": ONE}, "b", 1),
        ({"a": 3, "b": ONE}, None, 1),
        (ONE, lambda returned: 2 * returned, 2),
        (Named(TWO, ONE), "aux", 1),
        (Both(TWO, ONE), "aux", 1),
    ):
        assert (adapted(returned, output) == wanted).all()


@pytest.mark.parametrize(
    ("returned", "output", "message"),
    [
        ({"a": ONE, "b": ONE}, None, "'a'.*'b'"),
        ({"a": 1}, None, "dict with a"),
        ({}, None, "dict"),
        ((ONE,), 1, "output=1"),
        ({"a": ONE}, "b", "output='b'"),
        (Both(ONE, ONE), "b", "output='b'"),
        (Both(ONE, ONE), None, "Both.*output="),
        ("text", None, "output="),
        ((), None, "output="),
    ],
)
def test_outputs_without_a_tensor_are_refused(returned, output, message):
    with pytest.raises(ValueError, match=message):
        adapted(returned, output)
