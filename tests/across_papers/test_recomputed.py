"""Trainings of the four networks recomputed by autograd: two points, digits, deep networks; fits of the theory."""

from functools import cache

import numpy as np
import pytest
import torch
import xarray as xr
from tests.across_papers.reference import LEAK, layers

from repdyn.across_papers.experiments import training
from repdyn.across_papers.experiments.theory_fits import theory_fits
from repdyn.across_papers.methods import rest
from repdyn.across_papers.methods.names import ENDS, FOUR, HALF
from repdyn.across_papers.settings import Digits, OddBatch, TwoPoints
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.diagnostics.methods import effective_theory

COMMON = {"width": 5, "depth": 4, "gain": 0.9, "leak": LEAK, "seeds": 2}
RATES = {"plain": 0.05, "batch_norm": 0.02, "residual": 0.1, "leaky": 0.2}
TWO = TwoPoints.model_validate(COMMON | {"rates": RATES, "moments": 5, "steps": 8})
SOME = Digits.model_validate(
    COMMON
    | {"rates": RATES, "moments": 5, "steps": 10, "per_class": 2, "groups": (4, 3, 3), "decay": 0.02, "momentum": 0.5}
)
BATCH = OddBatch.model_validate(
    COMMON | {"rates": RATES | {"recentered": 0.03}, "steps": 6, "batch": 8, "momentum": 0.4, "recentered_steps": 9}
)
close = np.testing.assert_allclose


def stream(name):
    return Stream(19, ("across_papers", name))


def keep_nothing():
    return Checkpoint(None, "")


class Plain:
    """One seed's network, weights W_0 .. W_L and the map out; streams have a map in besides."""

    def __init__(self, kind, own, seed, inputs, outputs, first=None, gain=0.9):
        self.kind, self.streams = kind, kind in ("residual", "leaky")
        shapes = [(5, inputs), *[(5, 5)] * 4, (outputs, 5)]
        weights = []
        for place, shape in enumerate(shapes):
            W = own.generator(seed, "weights", place).standard_normal(shape)
            scale = np.sqrt(1 / (3 * shape[1])) if self.streams else gain * np.sqrt(2 / shape[1])
            weights.append(W * (np.sqrt(1 / 5) if place == 5 and not self.streams else scale))
        if not self.streams:
            weights = [weights[0], *weights[2:]]
        if first is not None:
            weights[0] = weights[0] @ first
        self.W = [torch.tensor(W, requires_grad=True) for W in weights]
        self.b = [torch.zeros(len(W), dtype=torch.float64, requires_grad=True) for W in weights]
        normal = kind == "batch norm"
        self.g = [torch.ones(5, dtype=torch.float64, requires_grad=True) for _ in range(4 * normal)]
        self.c = [torch.zeros(5, dtype=torch.float64, requires_grad=True) for _ in range(4 * normal)]

    @property
    def parts(self):
        return [*self.W, *self.b, *self.g, *self.c]

    def layers(self, x):
        return layers(self.kind, self.W, self.b, x, self.g, self.c)

    def loss(self, x, y):
        return ((self.layers(x)[-1] - y) ** 2).sum(dim=1).mean() / 2

    def descend(self, x, y, rate, steps, decay=0.0, momentum=0.0):
        optimizer = torch.optim.SGD(self.parts, lr=rate, momentum=momentum, weight_decay=decay)
        for _ in range(steps):
            yield self
            optimizer.zero_grad()
            self.loss(x, y).backward()
            optimizer.step()
        yield self


def of_pair(net, X, Y, i, j):
    """h at half depth, y, w and the pair's loss."""
    found = [part.detach().numpy() for part in net.layers(X)]
    h, dy, wanted = found[1][j] - found[1][i], found[-1][j] - found[-1][i], (Y[j] - Y[i]).numpy()
    errors = ((found[-1] - Y.numpy()) ** 2).sum(axis=1) / 2
    return h @ h, dy @ dy, dy @ (dy - wanted), (errors[i] + errors[j]) / 2


NAMES = ("representation_distance", "prediction_distance", "prediction_alignment", "pair_loss")


@cache
def two():
    return training.two_points(TWO, stream("two"), keep_nothing())


@pytest.mark.parametrize("kind", FOUR)
@pytest.mark.parametrize("seed", [0, 1])
def test_two_points_step_by_step(kind, seed):
    X = torch.tensor([[-1.0], [0.0]], dtype=torch.float64)
    Y = torch.tensor([[0.6], [1.3071]], dtype=torch.float64)
    net, data = Plain(kind, stream("two"), seed, 1, 1), two().sel(network=kind, seed=seed)
    rate = RATES[kind.replace(" ", "_")]
    for step, now in enumerate(net.descend(X, Y, rate, 8)):
        if step % 2 == 0:
            values = of_pair(now, X, Y, 0, 1)
            for name, value in zip(NAMES, values, strict=True):
                close(data[name].sel(step=step).squeeze(), value, rtol=1e-8, atol=1e-13)
    close(data.final_loss, net.loss(X, Y).item(), rtol=1e-9)
    assert two().step.values.tolist() == [0, 2, 4, 6, 8]


@cache
def images():
    rng = np.random.default_rng(0)
    return xr.Dataset(
        {"image": (("point", "row", "column"), rng.uniform(size=(60, 8, 8))), "label": ("point", np.arange(60) % 10)}
    )


def batch_of(per_class):
    """The first images of every digit, in the order of the source."""
    values, labels = images().image.values, images().label.values
    chosen = np.sort(np.concatenate([np.flatnonzero(labels == digit)[:per_class] for digit in range(10)]))
    flat = ((values - values.mean()) / values.std())[chosen].reshape(len(chosen), -1)
    return torch.tensor(flat, dtype=torch.float64), labels[chosen]


@cache
def some():
    return training.digits(SOME, images(), stream("digits"), keep_nothing())


def centered_rank(points):
    s = np.linalg.svd(points - points.mean(axis=0))[1]
    share = s[s > 1e-14 * s[0]] / s.sum()
    return np.exp(-(share * np.log(share)).sum())


@pytest.mark.parametrize(
    ("kind", "task", "seed"), [("plain", 0, 1), ("batch norm", 1, 0), ("residual", 1, 1), ("leaky", 0, 0)]
)
def test_digits_of_both_tasks(kind, task, seed):
    """64 pixels, so that coordinates in the span of the points change nothing but the decay outside it."""
    X, labels = batch_of(2)
    groups = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2])[labels]
    classes = groups if task else labels
    Y = torch.eye(int(classes.max()) + 1, dtype=torch.float64)[torch.tensor(classes)]
    firsts = [int(np.flatnonzero(groups == group)[0]) for group in range(3)]
    pairs = [(firsts[0], firsts[1]), (firsts[0], firsts[2]), (firsts[1], firsts[2])]
    basis = torch.linalg.svd(X, full_matrices=False).Vh.T
    net, X = Plain(kind, stream("digits"), seed, 64, Y.shape[1], first=basis.numpy()), X @ basis
    data, looks, before = some().isel(task=task).sel(network=kind, seed=seed), {}, None
    rate = RATES[kind.replace(" ", "_")]
    best = ((Y - Y.mean(dim=0)) ** 2).sum(dim=1).mean().item() / 2
    for step, now in enumerate(net.descend(X, Y, rate, 10, decay=0.02, momentum=0.5)):
        theta = torch.cat([part.detach().flatten() for part in now.parts])
        if step in (0, 5, 10):
            looks[step] = [part.detach().numpy() for part in now.layers(X)]
            end = {0: ENDS[0], 5: HALF, 10: ENDS[1]}[step]
            cell = data.sel(end=end)
            loss = now.loss(X, Y).item()
            close(cell.unlearned, loss / best, rtol=1e-8)
            close(cell.objective, loss + 0.01 * (theta @ theta).item(), rtol=1e-8)
            close(cell.centered_effective_rank.sel(layer="layers.1"), centered_rank(looks[step][1]), rtol=1e-6)
            close(cell.accuracy, (looks[step][-1].argmax(axis=1) == classes).mean())
            for name, points in (("middle_values", looks[step][1]), ("output_values", looks[step][-1])):
                s = np.linalg.svd(points - points.mean(axis=0))[1]
                close(cell[name][: len(s)], s, rtol=1e-6, atol=1e-9)
            norms = np.sort(np.linalg.norm(looks[step][1], axis=1))
            close(cell.norm_ratio.sel(layer="layers.1"), norms[-1] / norms[-2], rtol=1e-7)
        if step in data.step.values:
            for place, (i, j) in enumerate(pairs):
                for name, value in zip(NAMES, of_pair(now, X, Y, i, j), strict=True):
                    close(data[name].sel(step=step).isel(pair=place), value, rtol=1e-7, atol=1e-12)
        if step == 10:
            alone = rate * 0.02 / 0.5 * theta.norm()
            imbalance = ((theta - before).norm() / alone).item()
            close(data.imbalance, imbalance, rtol=1e-5)
            ranks = [centered_rank(looks[k][1]) for k in (5, 10)]
            assert int(data.at_rest) == (imbalance <= 0.1 and abs(np.log2(ranks[1] / ranks[0])) <= 0.2)
            assert int(data.learned) == (float(data.unlearned.sel(end=ENDS[1])) <= 0.1)
        before = theta
    close(data.input_values[:19], np.linalg.svd(X - X.mean(dim=0))[1][:19] * 1.0, rtol=1e-6)
    assert int(data.centered_task_rank) == Y.shape[1] - 1
    assert some().step.values.tolist()[0] == 0
    assert some().step.values.tolist()[-1] == 10


def test_rest_is_judged_at_half_depth_from_half_way_to_the_end(monkeypatch):
    """What it is judged by: the first network and the last task's last one."""
    seen, judge = [], rest.at_rest
    monkeypatch.setattr(rest, "at_rest", lambda *numbers: seen.append(numbers) or judge(*numbers))
    data = training.digits(SOME, images(), stream("digits"), keep_nothing())
    for numbers, place in ((seen[0], 0), (seen[-1], -1)):
        own = data.isel(task=place, network=place)
        ranks = own.centered_effective_rank.sel(layer="layers.1")
        for measured, expected in zip(
            numbers, (own.imbalance, ranks.sel(end=HALF), ranks.sel(end=ENDS[1])), strict=True
        ):
            np.testing.assert_allclose(measured, expected)


@cache
def deep():
    return training.odd_batch(BATCH, images(), stream("odd"), keep_nothing())


@pytest.mark.parametrize(("kind", "seed"), [("residual", 0), ("recentered", 1), ("leaky", 1), ("batch norm", 0)])
def test_norms_of_a_batch_in_deep_networks(kind, seed):
    X, labels = batch_of(2)
    chosen = np.sort(stream("odd").generator("batch").choice(20, 8, replace=False))
    X, labels = X[chosen], labels[chosen]
    Y = torch.eye(10, dtype=torch.float64)[torch.tensor(labels)]
    net, data = Plain(kind, stream("odd"), seed, 64, 10), deep().sel(network=kind, seed=seed)
    rate = (RATES | {"recentered": 0.03})[kind.replace(" ", "_")]
    steps = 9 if kind == "recentered" else 6
    for step, now in enumerate(net.descend(X, Y, rate, steps, momentum=0.4)):
        if step in (0, steps):
            cell = data.sel(end=ENDS[int(step > 0)])
            found = now.layers(X)
            for layer in (0, 3):
                points = found[layer].detach().numpy()
                norms = np.linalg.norm(points, axis=1)
                longest = int(np.argmax(norms))
                own = cell.sel(layer=f"layers.{layer}")
                close(own.norm_ratio, norms.max() / np.sort(norms)[-2], rtol=1e-7)
                assert int(own.odd_point) == longest
                with np.errstate(invalid="ignore"):  # a silent layer maps points to zero
                    unit = points / norms[:, None]
                angle = np.arccos(np.clip(unit @ unit.T, -1, 1))
                others = [k for k in range(8) if k != longest]
                close(own.odd_angle, np.median(angle[longest, others]), rtol=1e-5)
                close(own.intra_angle, np.median([angle[i, j] for i in others for j in others if i < j]), rtol=1e-5)
    best = ((Y - Y.mean(dim=0)) ** 2).sum(dim=1).mean().item() / 2
    loss = net.loss(X, Y).item()
    close([data.final_loss, data.unlearned], [loss, loss / best], rtol=1e-7)
    assert int(data.learned) == (loss / best <= 0.01)
    assert int(deep().point_count) == 8


def test_shares_that_the_theory_leaves_unexplained():
    """Each network's own fit, pair by pair; geometric mean over pairs of digits."""
    found = theory_fits(two(), some())
    for data, source in (("two points", two()), ("digits", some().isel(task=0))):
        for kind in ("leaky", "batch norm"):
            own = source[[*NAMES, "input_distance", "target_distance"]].sel(network=kind)
            h = own["representation_distance"].drop_vars("layer", errors="ignore").expand_dims(layer=["middle"])
            own = own.assign(representation_distance=h).assign_attrs(time="step")
            fit = effective_theory.fit(own, "middle")
            for seed in (0, 1):
                part = fit.sel(seed=seed)
                shares = [
                    np.mean([1 - max(r2, 0) for r2 in part.explained.isel(pair=p).values])
                    for p in range(part.sizes["pair"])
                ]
                cell = found.sel(data=data, network=kind, seed=seed)
                close(cell.unexplained, np.exp(np.mean(np.log(shares))), rtol=1e-6)
                close(cell.learned, part.learned.mean(), rtol=1e-9)
                close(cell.at_bound, part.at_bound.mean(), rtol=1e-9)
                close(cell.explained, part.explained.mean("pair"), rtol=1e-6)
                if data == "two points":
                    for name in ("h", "y", "w"):
                        close(cell.theory.sel(curve=name), part[f"{name}_theory"].isel(pair=0), rtol=1e-6)


def test_seeds_differ_and_do_not_depend_on_their_number():
    few = two()
    many = training.two_points(TWO.model_copy(update={"seeds": 3}), stream("two"), keep_nothing())
    for name in ("representation_distance", "pair_loss", "final_loss"):
        own = many[name].isel(seed=slice(0, 2))
        close(own, few[name], rtol=1e-9)  # products of a batch round by its size
        assert not np.allclose(own.isel(seed=0), own.isel(seed=1))


def test_a_rate_that_diverges_is_named():
    fast = SOME.model_copy(update={"rates": SOME.rates.model_copy(update={"residual": 10.0}), "steps": 300})
    trained = training.digits(fast, images(), stream("digits"), keep_nothing())
    assert "residual 10" in trained.attrs["diverged"]
    gone = trained["final_loss"].isnull()
    assert gone.sel(network="residual").all()
    assert not gone.sel(network="plain").any()
    assert trained["middle_values"].sel(network="residual", end="after training").isnull().all()
