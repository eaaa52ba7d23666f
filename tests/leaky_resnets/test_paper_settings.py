"""The training at the paper's own settings, step by step with automatic differentiation and PyTorch's optimizers."""

from math import cos, pi

import numpy as np
import pytest
import torch
from tests.leaky_resnets.test_networks import by_autograd

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.experiments.paper_settings import paper_settings
from repdyn.leaky_resnets.methods.network_datasets import network_at, task_at
from repdyn.leaky_resnets.methods.networks import LeakyResNet, start
from repdyn.leaky_resnets.settings.training import PaperSettings

SETTINGS = PaperSettings(
    dimension=4,
    points=20,
    width=9,
    rank=2,
    hidden=5,
    penalty=0.3,
    rate=0.01,
    maps=("free maps", "fixed maps"),
    effective_depth=2.0,
    layers=5,
    records=(6, 12),
    descent_steps=5,
    descent_rates=(0.2, 0.6),
    seeds=2,
)
MAPS_GO_SLOWER = 0.2


@pytest.fixture(scope="module")
def stream():
    return Stream(0, ("leaky_resnets", "paper_settings"))


@pytest.fixture(scope="module")
def trained(stream):
    return paper_settings(SETTINGS, stream, "cpu", Checkpoint(None, ""))


class Training:
    """A network that goes down the objective of Section 1, written once more."""

    def __init__(self, first, task, maps):
        self.rho, self.X, self.Y = first.rho, task.X, task.Y
        self.moves = maps == "free maps"
        self.parts = [torch.tensor(part) for part in (first.W, first.into, first.out)]

    def network(self):
        W, into, out = (part.numpy() for part in self.parts)
        return LeakyResNet(W, self.rho, SETTINGS.effective_depth, into, out)

    def step(self, optimizer, rate):
        penalty = SETTINGS.penalty * SETTINGS.dimension / SETTINGS.effective_depth  # of a cost summed over outputs
        slopes = by_autograd(self.network(), self.X, self.Y, penalty)["parts"]
        for group, part, slope, pace in zip(
            optimizer.param_groups, self.parts, slopes, (1.0, *2 * [MAPS_GO_SLOWER * self.moves]), strict=True
        ):
            group["lr"], part.grad = rate * pace, torch.tensor(slope)
        optimizer.step()

    def optimizer(self, kind):
        return kind([{"params": [part], "lr": 1.0} for part in self.parts])


def test_the_stored_penalty_is_of_a_cost_summed_over_outputs(trained):
    assert float(trained["lam"]) == pytest.approx(SETTINGS.penalty * SETTINGS.dimension / SETTINGS.effective_depth)


def stored(cell, stop):
    return network_at(cell.sel(stop=stop), SETTINGS.effective_depth, bias=True)


def apart(first, second):
    """Differences of all weights and maps."""
    parts = [np.abs(getattr(first, name) - getattr(second, name)).ravel() for name in ("W", "into", "out")]
    return np.concatenate(parts)


@pytest.mark.parametrize("seed", range(SETTINGS.seeds))
@pytest.mark.parametrize("maps", SETTINGS.maps)
def test_adam_along_half_a_cosine_then_each_descent_from_its_end(trained, stream, maps, seed):
    cell = trained.sel(maps=maps, seed=seed)
    rho = np.full(SETTINGS.layers, 1 / SETTINGS.layers)
    sizes = (SETTINGS.dimension, SETTINGS.dimension)
    draws = stream.generator(seed, "weights")
    first = start(SETTINGS.width, sizes, rho, SETTINGS.effective_depth, draws, learned=maps != "fixed maps", bias=True)
    run = Training(first, task_at(cell), maps)
    adam, total = run.optimizer(torch.optim.Adam), SETTINGS.records[-1]
    for step in range(total):
        run.step(adam, SETTINGS.rate * (1 + SETTINGS.effective_depth) * (1 + cos(pi * step / total)) / 2)
        if step + 1 in SETTINGS.records:
            off = apart(run.network(), stored(cell, SETTINGS.records.index(step + 1)))
            assert np.quantile(off, 0.98) < 1e-4  # a step moves all by up to .03; of a slope near 0 the sign may differ
    end = stored(cell, len(SETTINGS.records) - 1)
    for after, rate in enumerate(SETTINGS.descent_rates):
        run = Training(end, task_at(cell), maps)
        descent = run.optimizer(torch.optim.SGD)
        for _ in range(SETTINGS.descent_steps):
            run.step(descent, rate / SETTINGS.dimension)
        assert apart(run.network(), stored(cell, len(SETTINGS.records) + after)).max() < 5e-6
        assert apart(run.network(), end).max() > 5e-3
