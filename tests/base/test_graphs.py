"""Graphs of a step: warming up has no effect, a replay equals the step, forbidden operations are rejected."""

import pytest
import torch
from tests import pretended_gpu

from repdyn.base.graphs import replayable


@pytest.fixture
def graphs(monkeypatch):
    pretended_gpu.graphs(monkeypatch)


def descent():
    """A point that descends along a slope at a rate which is a tensor, and its step."""
    x, rate, slope = torch.tensor([1.0, 2.0]), torch.tensor(0.0), torch.empty(2)

    def step():
        torch.mul(x, x, out=slope)
        x.sub_((slope + 1) * rate)

    return x, rate, step


@torch.inference_mode()
def test_replayed_step_equals_the_step(graphs):
    (x, rate, step), (y, same, other) = descent(), descent()
    rate.fill_(0.3)
    replay = replayable(step, [x])
    assert x.tolist() == [1.0, 2.0]  # warming up is undone
    for value in (0.1, 0.05, 0.2):
        rate.fill_(value)
        same.fill_(value)
        replay()
        other()
        assert x.tolist() == y.tolist()
    assert x.tolist() != [1.0, 2.0]


@torch.inference_mode()
def test_state_is_restored_after_capturing(graphs):
    moved = [torch.tensor([float(value)] * size) for value, size in ((3, 2), (1, 4), (2, 1))]
    before = [tensor.tolist() for tensor in moved]

    def step():
        for place, tensor in enumerate(moved):
            tensor.add_(place + 1)

    replay = replayable(step, iter(moved))
    assert [tensor.tolist() for tensor in moved] == before
    replay()
    assert [tensor.tolist() for tensor in moved] == [[4.0] * 2, [3.0] * 4, [5.0]]


@pytest.mark.parametrize(
    "wait", [lambda x: x.sum().item(), lambda x: x.nonzero(), lambda x: x.add_(torch.tensor([1.0]))]
)
def test_step_that_synchronizes_cannot_be_captured(graphs, wait):
    x = torch.ones(1)
    with pytest.raises(RuntimeError, match="not permitted when stream is capturing"):
        replayable(lambda: wait(x), [x])
