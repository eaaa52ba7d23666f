"""A training goes on to the bit as without a recorder, whatever its layers keep from one pass to the next."""

import random
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
import torch
from tests.diagnostics.networks import network_of
from torch import nn
from torch.nn.utils import parametrizations, prune

from repdyn.diagnostics.measure import Recorder, measure

X = torch.randn(12, 6, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(12) % 3
PLACES = ("before the forward pass", "before the backward pass", "before the step", "after the step")


@network_of(lambda: {"map": nn.Linear(8, 8), "penalty": torch.zeros(())})
def Keeping(self, x):
    """A linear map that keeps something from its pass; `penalty` is a part of the loss."""
    return self.map(x)


class Experts(Keeping):
    def forward(self, x):
        share = self.map(x).softmax(dim=1)
        self.penalty = (share.mean(dim=0) ** 2).sum()
        return share * x


@network_of(lambda: {"losses": []}, base=Keeping)
def Listing(self, x):
    """Losses of its calls in a list."""
    x = self.map(x)
    self.losses[:] = [part.detach() for part in self.losses]
    self.losses.append(x.square().mean())
    self.penalty = torch.stack(self.losses[-3:]).sum() if self.training else self.penalty
    return x


@network_of(lambda: {"mean": torch.zeros(8)}, base=Keeping)
def Running(self, x):
    """A mean that is no buffer, changed in place in every mode."""
    x = self.map(x)
    self.mean.mul_(0.9).add_(x.detach().mean(dim=0), alpha=0.1)
    return x - self.mean


@network_of(lambda: {"calls": 0}, base=Keeping)
def Counting(self, x):
    self.calls += 1
    return self.map(x) / self.calls


@network_of(lambda: {"memory": {"states": [torch.zeros(8)]}}, base=Keeping)
def Remembering(self, x):
    """A memory in a dict of lists, and an attribute that the first pass makes."""
    if not hasattr(self, "first"):
        self.first = x.detach().mean()
    state = torch.tanh(self.map(x) + self.memory["states"][-1])
    self.memory["states"].append(state.detach().mean(dim=0))
    return state + self.first


@network_of(lambda: {"memory": nn.GRU(8, 8, batch_first=True), "state": None}, base=Keeping)
def Recurrent(self, x):
    out, state = self.memory(x[:, None], self.state)
    self.state = state.detach()
    return out[:, 0]


class Codebook(Keeping):
    """Vectors in a buffer that follow what comes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.eye(8))

    def forward(self, x):
        near = torch.cdist(x, self.codes).argmin(dim=1)
        self.penalty = (x - self.codes[near]).square().mean()
        self.codes.index_add_(0, near, 0.1 * (x - self.codes[near]).detach())
        return x + (self.codes[near] - x).detach()


class Adapter(Keeping):
    """Merges into its weight in evaluation mode, as loralib does."""

    def __init__(self):
        super().__init__()
        self.low, self.merged = nn.Parameter(torch.full((8, 8), 0.01)), False

    def train(self, mode=True):
        super().train(mode)
        if mode == self.merged:
            self.map.weight.data += -self.low.data if mode else self.low.data
            self.merged = not mode
        return self

    def forward(self, x):
        return self.map(x) if self.merged else self.map(x) + x @ self.low.T


class Drawing(Keeping):
    """Noise of generators of its own, and of Python's and numpy's, as layers that are dropped at random draw it."""

    def __init__(self):
        super().__init__()
        self.torch, self.others = (
            torch.Generator().manual_seed(1),
            {"a": np.random.default_rng(1), "b": random.Random(1)},
        )

    def forward(self, x):
        scale = self.others["a"].random() + self.others["b"].random() + random.random()
        scale += np.random.random()  # noqa: NPY002 - as layers draw it
        return self.map(x) + scale * torch.randn(x.shape, generator=self.torch)


@dataclass(frozen=True, slots=True)
class State:
    mean: torch.Tensor


class Pair(NamedTuple):
    mean: torch.Tensor
    count: torch.Tensor


class Holding(Keeping):
    """What it keeps is in objects, and in a dict of many entries."""

    def __init__(self):
        super().__init__()
        self.state, self.pair = State(torch.zeros(8)), Pair(torch.zeros(8), torch.zeros(()))
        self.many = {number: torch.zeros(8) for number in range(1200)}

    def forward(self, x):
        x = self.map(x)
        for mean in (self.state.mean, self.pair.mean, self.many[7]):
            mean.mul_(0.9).add_(x.detach().mean(dim=0), alpha=0.1)
        self.pair.count.add_(1)
        return x - self.state.mean - self.pair.mean / self.pair.count - self.many[7]


class Shared(Keeping):
    """What it keeps is in its class."""

    calls = 0
    losses: list = []  # noqa: RUF012

    def __init__(self):
        super().__init__()
        type(self).calls = 0
        self.losses.clear()

    def forward(self, x):
        type(self).calls += 1
        x = self.map(x) / self.calls
        self.losses.append(x.square().mean())
        self.penalty = torch.stack(self.losses[-2:]).sum() if self.training else self.penalty
        self.losses[:] = [part.detach() for part in self.losses]
        return x / len(self.losses)


def wrapped():
    """A map whose own `forward` counts its calls."""
    module, count = Keeping(), 0
    forward = module.forward

    def counting(x):
        nonlocal count
        count += 1
        return forward(x) / count

    module.forward = counting
    return module


class Making(Keeping):
    """Makes a parameter, a buffer and a module at its first pass, as large as what comes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", None)
        self.register_parameter("scale", None)
        self.inner, self.parts = None, nn.ModuleDict()

    def forward(self, x):
        x = self.map(x)
        if self.mean is None:
            self.mean, self.scale = x.detach().mean(dim=0), nn.Parameter(x.detach().std(dim=0, correction=0) + 1)
            self.register_buffer("other", x.detach().amax(dim=0))
            self.inner = self.parts["first"] = nn.Linear(8, 8)
        return self.inner((x - self.mean) / self.scale) + self.other


@network_of(lambda: {"slow": nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)]).requires_grad_(False)}, base=Keeping)
def Momentum(self, x):
    """The second map follows the first, in place or by new numbers, and columns of the first are cut in length."""
    with torch.no_grad():
        for part, one, other in zip(*(m.parameters() for m in (self.map, *self.slow)), strict=True):
            one.mul_(0.9).add_(part, alpha=0.1)
            other.data = 0.9 * other.data + 0.1 * part.data
        self.map.weight.renorm_(2, 0, 0.5)
    return self.map(x) + self.slow[0](x) * self.slow[1](x)


@network_of(lambda: {"vectors": nn.Embedding(8, 8, max_norm=0.5)}, base=Keeping)
def Renormed(self, x):
    """Vectors of limited length, which torch cuts in each pass."""
    return self.map(x) + self.vectors(x.argmax(dim=1)) @ self.vectors.weight.T


class Deriving(Keeping):
    """A gradient with respect to what comes is part of the pass, as of energies."""

    def forward(self, x):
        inputs = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(self.map(inputs).tanh().sum(), inputs, create_graph=True)
        return x + slope


def reparametrized(change):
    """A map whose weight is computed, with a penalty on it as it was in the pass."""

    class Changed(Keeping):
        def __init__(self):
            super().__init__()
            change(self.map)

        def forward(self, x):
            returned = self.map(x)
            self.penalty = 0.1 * self.map.weight.square().sum() if self.training else self.penalty
            return returned

    return Changed


def penalized_outside(change):
    """The same, with the penalty read from the module's attribute after the pass."""

    class Changed(Keeping):
        def __init__(self):
            super().__init__()
            change(self.map)
            self.outside = True

    return Changed


def pruned(module):
    prune.l1_unstructured(module, "weight", amount=0.3)


KINDS = {
    "batch normalization": lambda: nn.BatchNorm1d(8),
    "instance normalization": lambda: nn.Sequential(
        nn.Unflatten(1, (2, 4)), nn.InstanceNorm1d(2, track_running_stats=True), nn.Flatten()
    ),
    "dropout": lambda: nn.Dropout(0.5),
    **{
        kind.__name__: kind for kind in (Experts, Listing, Running, Counting, Remembering, Recurrent, Codebook, Adapter)
    },
    **{kind.__name__: kind for kind in (Drawing, Holding, Shared, Making, Momentum, Renormed, Deriving)},
    "forward of its own": wrapped,
    "weight_norm": reparametrized(parametrizations.weight_norm),
    "spectral_norm": reparametrized(parametrizations.spectral_norm),
    "old weight_norm": penalized_outside(nn.utils.weight_norm),
    "old spectral_norm": penalized_outside(nn.utils.spectral_norm),
    "pruning": penalized_outside(pruned),
    "last map of spectral_norm": nn.Identity,
}


def trained(kind, place):
    """Weights and the random state after 20 steps."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    last = nn.Linear(8, 3)
    last = parametrizations.spectral_norm(last) if "last" in kind else last
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), KINDS[kind](), last)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    measures = ["ranks", "classifier", "loss", "radial"]
    recorder = Recorder(model, X, labels=LABELS.numpy(), measures=measures, axes={"input": 0})

    def record(step, now):
        if now == place and step % 4 == 0:
            recorder(step)

    for step in range(20):
        record(step, PLACES[0])
        loss = nn.functional.cross_entropy(model(X), LABELS)
        kept = {name: part for name, part in vars(model[2]).items() if isinstance(part, torch.Tensor)}
        record(step, PLACES[1])
        assert all(getattr(model[2], name) is part for name, part in kept.items())
        loss = loss + getattr(model[2], "penalty", 0)
        if getattr(model[2], "outside", False):
            loss = loss + 0.1 * model[2].map.weight.square().sum()
        optimizer.zero_grad()
        loss.backward()
        record(step, PLACES[2])
        optimizer.step()
        record(step, PLACES[3])
    assert place is None or len(recorder.steps) == 5
    drawn = [*torch.rand(3), random.random(), np.random.random()]  # noqa: NPY002
    return deepcopy(model.state_dict()) | {"random": torch.tensor(drawn)}


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_weights_after_training_are_the_same_with_a_recorder(kind):
    alone = trained(kind, None)
    assert all(part.isfinite().all() for part in alone.values())
    for place in PLACES:
        found = trained(kind, place)
        different = [
            n for n in alone | found if n not in alone or n not in found or not torch.equal(alone[n], found[n])
        ]
        assert not different, place


def test_a_module_that_finds_its_sizes_in_the_pass_keeps_them():
    model = nn.Sequential(nn.LazyBatchNorm1d(), nn.LazyLinear(4), nn.ReLU())
    measure(model, X, measures=["ranks"])
    assert (model[0].num_features, model[1].in_features) == (6, 6)


def test_the_step_of_a_sharded_network_is_taken_with_its_new_weights(tmp_path):
    from torch.distributed.fsdp import fully_shard

    def losses(place):
        torch.manual_seed(0)
        model = fully_shard(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)))
        optimizer = torch.optim.SGD(model.parameters(), 0.5)
        recorder, found = Recorder(model, X, measures=["ranks"]), []
        for step in range(4):
            optimizer.zero_grad()
            found.append(nn.functional.cross_entropy(model(X), LABELS))
            if place == PLACES[1]:
                recorder(step)
            found[-1].backward()
            if place == PLACES[2]:
                recorder(step)
            optimizer.step()
        return torch.stack(found)

    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        alone = losses(None)
        assert torch.equal(losses(PLACES[1]), alone)
        assert torch.equal(losses(PLACES[2]), alone)
    finally:
        torch.distributed.destroy_process_group()
