"""Trained networks recomputed in float64 with automatic differentiation and PyTorch's optimizers, stage by stage."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch
import xarray as xr
from tests.leaky_resnets.reference import active
from tests.leaky_resnets.test_networks import by_autograd, random_net

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.experiments import (
    chains,
    criticality,
    discretized,
    network_audit,
    output_growth,
    paper_settings,
    restarts,
)
from repdyn.leaky_resnets.methods.maps import MAPS
from repdyn.leaky_resnets.methods.network_datasets import arrays_of, network_at, network_variables, restored, task_at
from repdyn.leaky_resnets.methods.networks import LeakyResNet
from repdyn.leaky_resnets.methods.teachers import bottleneck_task
from repdyn.leaky_resnets.settings import training as sizes
from repdyn.leaky_resnets.theory.layers import adapt_layer_steps

TINY = {"dimension": 4, "points": 12, "width": 7}
RECIPE = TINY | {"rank": 2, "hidden": 5, "penalty": 0.3, "rate": 0.004, "first_penalty": 0.02, "first_steps": 3}
MOVED = {"descent_steps": 2, "descent_rate": 0.4}
close = np.testing.assert_allclose


def stream(name):
    return Stream(16, ("leaky_resnets", name))


def keep_nothing():
    return Checkpoint(None, "")


def task(generator, inner=(2,), teacher="fully connected", hidden=5):
    return bottleneck_task(4, inner, 12, generator, teacher=teacher, hidden=hidden)


def begin(generator, rho, Lt, kind, w=7):
    """Weights uniform in +-1/sqrt(w) and Gaussian maps; fixed maps pad and cut, weights are then N(0, 2 Lt^2/w)."""
    maps = MAPS[kind]
    shape = (len(rho), w, w + maps.bias)
    if maps.learned:
        W = generator.uniform(-1, 1, shape) / np.sqrt(w)
        into, out = generator.standard_normal((w, 4)) / 2, generator.standard_normal((4, w)) / np.sqrt(w)
    else:
        W = Lt * np.sqrt(2 / w) * generator.standard_normal(shape)
        W[:, :, w:] = 0
        into, out = np.eye(w, 4), np.eye(4, w)
    return LeakyResNet(W, np.asarray(rho), Lt, into, out, long_steps=True)


class Training:
    """Goes down |Y - f|^2 / N + (lam / 2 Lt) (sum rho |W|^2 + decay (|P|^2 + |Q|^2)); maps at a fifth of the rate."""

    def __init__(self, net, points, kind, penalty):
        self.Lt, self.rho, self.points, self.maps = net.effective_depth, net.rho, points, MAPS[kind]
        self.parts = [torch.tensor(part) for part in (net.W, net.into, net.out)]
        self.lam = penalty * 4 / self.Lt
        self.adam = torch.optim.Adam([{"params": [part], "lr": 1.0} for part in self.parts])

    def network(self):
        W, into, out = (part.numpy() for part in self.parts)
        return LeakyResNet(W, self.rho, self.Lt, into, out, long_steps=True)

    def slopes(self):
        return by_autograd(self.network(), self.points.X, self.points.Y, self.lam, self.maps.decay)["parts"]

    def go(self, rates):
        for rate in rates:
            for group, slope, pace in zip(self.adam.param_groups, self.slopes(), self.paces(), strict=True):
                group["lr"], group["params"][0].grad = rate * pace, torch.tensor(slope)
            self.adam.step()
        return self

    def descend(self, steps, rate):
        for _ in range(steps):
            for part, slope, pace in zip(self.parts, self.slopes(), self.paces(), strict=True):
                part -= rate * pace * torch.tensor(slope)
        return self

    def paces(self):
        return 1.0, 0.2 * self.maps.learned, 0.2 * self.maps.learned


def half_cosine(rate, steps):
    return rate * (1 + np.cos(np.pi * np.arange(steps) / steps)) / 2


def first_fit(generator, layers, Lt, kind, points):
    run = Training(begin(generator, np.full(layers, 1 / layers), Lt, kind), points, kind, 0.02)
    return run.go(np.full(3, 1.5 * 0.004 * (1 + Lt))).network()


def settled(net, points, kind, steps, penalty=0.3, descent=(2, 0.4 / 4)):
    run = Training(net, points, kind, penalty).go(half_cosine(0.004 * (1 + net.effective_depth), steps))
    return run.descend(*descent).network()


def agree(cell, Lt, kind, expected):
    """Equal up to float32; Adam moves an entry of slope near 0 either way."""
    net = network_at(cell, Lt, MAPS[kind].bias)
    off = np.concatenate(
        [np.abs(getattr(net, name) - getattr(expected, name)).ravel() for name in ("W", "into", "out")]
    )
    close(net.rho, expected.rho, atol=2e-5)
    assert np.quantile(off, 0.95) < 5e-4
    assert off.max() < 0.1


def same_points(cell, points):
    for name in ("X", "Y", "X_test", "Y_test"):
        close(cell[name], getattr(points, name), atol=1e-6)


CHAINS = sizes.Trained(
    **RECIPE, **MOVED, maps=tuple(MAPS), effective_depths=(1.0, 2.0, 2.5), layers=4, steps=4, blocks=2, seeds=2
)


@cache
def chained():
    return chains.trained(CHAINS, stream("trained"), "cpu", keep_nothing(), 1)


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("seed", [2, 3])
def test_each_depth_of_a_chain_begins_at_the_one_before(kind, seed):
    own, data = stream("trained"), chained().sel(seed=seed)
    points = task(own.generator(seed, "task"))
    same_points(data, points)
    net = settled(first_fit(own.generator(seed, "weights"), 4, 1.0, kind, points), points, kind, 4)
    agree(data.sel(maps=kind, effective_depth=1.0), 1.0, kind, net)
    for before, Lt in ((1.0, 2.0), (2.0, 2.5)):
        deeper = LeakyResNet(Lt / before * net.W, net.rho, Lt, net.into, net.out)
        net = settled(deeper, points, kind, 4)
        agree(data.sel(maps=kind, effective_depth=Lt), Lt, kind, net)


def test_coordinates_of_chains_are_those_of_the_settings():
    data = chained()
    assert data.seed.values.tolist() == [2, 3]
    close(data.lam, [0.3 * 4 / 1.0, 0.3 * 4 / 2.0, 0.3 * 4 / 2.5])
    assert data.bias.values.tolist() == [maps.bias for maps in MAPS.values()]
    assert (int(data["rank"]), int(data.steps)) == (2, 4)


NEAR = sizes.Criticality(
    **RECIPE, **MOVED, effective_depth=1.5, layers=3, doublings=2, refinement_steps=3, steps=(2, 4, 5), seeds=2
)


def test_refined_networks_and_runs_of_several_lengths():
    own = stream("refinement")
    data = criticality.refinement(NEAR, own, "cpu", keep_nothing())
    for seed in (0, 1):
        points = task(own.generator(seed, "task"))
        same_points(data.sel(seed=seed), points)
        net = settled(
            first_fit(own.generator(seed, "weights"), 3, 1.5, "decayed maps", points), points, "decayed maps", 3
        )
        agree(data.sel(seed=seed, layers=3), 1.5, "decayed maps", net)
        for L in (6, 12):
            halved = LeakyResNet(np.repeat(net.W, 2, axis=0), np.repeat(net.rho / 2, 2), 1.5, net.into, net.out)
            net = settled(halved, points, "decayed maps", 3)
            agree(data.sel(seed=seed, layers=L), 1.5, "decayed maps", net)
    own = stream("convergence")
    data = criticality.convergence(NEAR, own, "cpu", keep_nothing())
    for kind, seed in (("decayed maps", 1), ("free maps", 0)):
        points = task(own.generator(seed, "task"))
        fit = first_fit(own.generator(seed, "weights"), 6, 1.5, kind, points)
        for steps in (2, 5):
            agree(data.sel(maps=kind, seed=seed, steps=steps), 1.5, kind, settled(fit, points, kind, steps))
    close(data.lam, 0.3 * 4 / 1.5)


AGAIN = sizes.Restarts(
    **RECIPE, **MOVED, effective_depth=2.0, layers=4, steps=4, teachers=2, starts=2, excess=(3.0, 9.0)
)


def test_restarts_and_penalties_that_are_too_large():
    own = stream("restarts")
    data = restarts.restarts(AGAIN, own, "cpu", keep_nothing())
    larger = restarts.overregularized(AGAIN, own, "cpu", keep_nothing())
    for teacher in (0, 1):
        points = task(own.generator("teachers", teacher, "task"))
        same_points(data.sel(teacher=teacher), points)
        same_points(larger.sel(teacher=teacher), points)
        for start in (0, 1):
            fit = first_fit(own.generator(2 * teacher + start, "weights"), 4, 2.0, "decayed maps", points)
            end = settled(fit, points, "decayed maps", 4)
            agree(data.sel(teacher=teacher, start=start), 2.0, "decayed maps", end)
            if start == 0:
                for factor in (1.0, 9.0):
                    end = settled(fit, points, "decayed maps", 4, penalty=0.3 * factor)
                    agree(larger.sel(teacher=teacher, excess=factor), 2.0, "decayed maps", end)
    close(data.lam, 0.6)
    close(larger.lam, [0.6, 1.8, 5.4])


SCHEMES = sizes.Discretized(
    **TINY,
    inner=(3, 2),
    maps=("decayed maps", "fixed maps"),
    effective_depth=2.0,
    layers=(4, 6),
    scheme_penalty=0.2,
    penalty=0.05,
    strong_penalty=0.5,
    steps=5,
    rate=0.01,
    irregularity=0.9,
    every=2,
    damping=0.5,
    frozen=0.2,
    blocks=1,
    seeds=2,
    staged_seeds=2,
    **MOVED,
)


def scheme_run(own, scheme, kind, L, seed, points, penalty):
    """Equidistant, irregular, or adapted before steps 0 and 2 of the four that move."""
    rho = np.full(L, 1 / L)
    if scheme == "irregular":
        rho = 1 + 0.9 * (0.25 - np.abs((np.arange(L) + 0.5) / L - 0.5))
    run = Training(begin(own.generator(seed, "weights"), rho / rho.sum(), 2.0, kind), points, kind, penalty)
    rates = half_cosine(0.01, 5)
    for step in range(5):
        if scheme == "adaptive" and step in (0, 2):
            run.rho = adapt_layer_steps(run.network().forward(points.X), run.rho, 0.5, 0.999 / 2)
        run.go(rates[step : step + 1])
    return run.descend(2, 0.1).network()


@cache
def schemes():
    return discretized.discretized(SCHEMES, stream("schemes"), "cpu", keep_nothing(), 0)


@pytest.mark.parametrize("scheme", discretized.SCHEMES)
@pytest.mark.parametrize(("kind", "seed"), [("decayed maps", 1), ("fixed maps", 0)])
def test_schemes_of_layer_steps_and_their_scores(scheme, kind, seed):
    own = Stream(16, ("leaky_resnets", "discretised"))
    points = task(own.generator(seed, "task"), (3, 2), "residual")
    data = schemes().sel(maps=kind, scheme=scheme, seed=seed)
    same_points(data, points)
    for L in (4, 6):
        net = scheme_run(own, scheme, kind, L, seed, points, 0.2)
        if L == 6:
            agree(data, 2.0, kind, net)
            net = network_at(data, 2.0, MAPS[kind].bias)
        cell, A = data.sel(layers=L), net.forward(points.X)
        slopes = by_autograd(net, points.X, points.Y, 0.4)["A"]
        B, S = [-part / 0.4 for part in slopes], [active(a, True) for a in A]
        error = points.Y_test - net.out @ net.forward(points.X_test)[-1]
        close(cell.test_error, (error**2).mean() / points.Y_test.var(), rtol=1e-3)
        close(cell.train_error, ((points.Y - net.out @ A[-1]) ** 2).mean() / points.Y.var(), rtol=1e-3)
        moved = [np.linalg.norm(b - a) / np.linalg.norm(b) for a, b in pairwise(A)]
        close(cell.unevenness, max(moved) / min(moved), rtol=2e-2)
        close(cell.longest_step, 2 * net.rho.max(), rtol=1e-4)
        off = [net.W[k] - 2 * B[k + 1] @ S[k].T for k in range(L)]
        weighed = [
            np.sqrt(sum(r * (M**2).sum() for r, M in zip(net.rho, stack, strict=True))) for stack in (off, net.W)
        ]
        close(cell.distance, weighed[0] / weighed[1], rtol=1e-4 if L == 6 else 5e-2)


def test_staged_networks_have_their_teacher_and_penalty():
    own = stream("staged")
    data = discretized.staged(SCHEMES, own, "cpu", keep_nothing())
    for name, teacher, penalty, seed in (
        ("random ResNets", "residual", 0.05, 1),
        ("random ResNets, strong penalty", "residual", 0.5, 0),
        ("fully connected", "fully connected", 0.05, 0),
        ("fully connected, strong penalty", "fully connected", 0.5, 1),
    ):
        cell = data.sel(teacher=name, seed=seed)
        points = task(own.generator(seed, "task"), (3, 2), teacher, hidden=10)
        same_points(cell, points)
        agree(cell, 2.0, "decayed maps", scheme_run(own, "adaptive", "decayed maps", 6, seed, points, penalty))
        close(cell.lam, penalty * 4 / 2)


def test_teachers_recomputed():
    """Two parts of one hidden layer, or three of residual blocks; features of mean 0 and variance 1 in between."""

    def normal(Z):
        return (Z - Z.mean(axis=1, keepdims=True)) / Z.std(axis=1, keepdims=True)

    points, generator = task(np.random.default_rng(3)), np.random.default_rng(3)
    X = Z = normal(generator.standard_normal((4, 24)))
    for size, following in ((4, 2), (2, 4)):
        first = generator.standard_normal((5, size)) * np.sqrt(2 / size)
        second = generator.standard_normal((following, 5)) * np.sqrt(2 / 5)
        Z = normal(second @ np.maximum(first @ Z + 0.5 * generator.standard_normal((5, 1)), 0))
    close(np.hstack([points.X, points.X_test]), X, atol=1e-6)
    close(np.hstack([points.Y, points.Y_test]), Z, atol=1e-6)
    points, generator = task(np.random.default_rng(4), (3, 2), "residual"), np.random.default_rng(4)
    Z = normal(generator.standard_normal((4, 24)))
    for size, following in ((4, 3), (3, 2), (2, 4)):
        into = generator.standard_normal((20, size)) / np.sqrt(size)
        out = generator.standard_normal((following, 20)) / np.sqrt(20)
        blocks = generator.standard_normal((3, 2, 20, 20)) * np.sqrt(2 / 20)
        Z = into @ Z
        for U, V in blocks:
            Z = Z + V @ np.maximum(U @ Z, 0) / np.sqrt(3)
        Z = normal(out @ Z)
    close(np.hstack([points.Y, points.Y_test]), Z, atol=1e-5)


def test_outputs_of_plain_networks_along_training():
    settings = sizes.OutputGrowth(
        dimension=3, classes=2, points=10, width=5, layers=3, rate=0.2, records=(1, 2, 3, 5), seeds=9
    )
    own = stream("growth")
    data = output_growth.output_growth(settings, own, keep_nothing())
    for loss_name, seed in (("cross-entropy", 8), ("mean squared error", 0), ("cross-entropy", 1)):
        generator = own.generator(seed)
        X = generator.standard_normal((3, 10))
        labels = torch.tensor((generator.standard_normal((2, 3)) @ X).argmax(axis=0))
        into, out = generator.standard_normal((5, 3)) / np.sqrt(3), generator.standard_normal((2, 5)) / np.sqrt(5)
        W = generator.uniform(-1, 1, (3, 5, 6)) / np.sqrt(5)
        parts = [torch.tensor(part, requires_grad=True) for part in (into, W, out)]
        sizes_, losses = [], []
        for step in range(6):
            A = parts[0] @ torch.tensor(X)
            for weight in parts[1]:
                A = A + weight @ torch.cat([torch.relu(A), torch.ones(1, 10)]) / 3
            f = (parts[2] @ A).T
            loss = torch.nn.functional.cross_entropy(f, labels)
            if loss_name != "cross-entropy":
                loss = ((f - torch.nn.functional.one_hot(labels, 2)) ** 2).mean()
            if step in (1, 2, 3, 5):
                values = f.detach().numpy()
                sizes_.append(np.sqrt(((values - values.mean(axis=1, keepdims=True)) ** 2).mean()))
                losses.append(loss.item())
            slopes = torch.autograd.grad(loss, parts)
            parts = [(p - 0.2 * g).detach().requires_grad_() for p, g in zip(parts, slopes, strict=True)]
        cell = data.sel(loss_name=loss_name, seed=seed)
        close(cell.output_size, sizes_, rtol=1e-8)
        close(cell.loss, losses, rtol=1e-8)
    assert len(set(data.loss.values[0, -1])) == 9


def test_audited_networks_by_autograd():
    data = network_audit.network_audit(sizes.NetworkAudit(draws=2), stream("audit"))
    for bias, draw in ((1, 1), (0, 0)):
        generator = stream("audit").generator(bool(bias), draw)
        rho = generator.uniform(0.5, 1.5, 7)
        into, out = generator.standard_normal((9, 4)), generator.standard_normal((4, 9))
        W = generator.standard_normal((7, 9, 9 + bias))
        X, Y = generator.standard_normal((2, 4, 13))
        net = LeakyResNet(W, rho / rho.sum(), 2.3, into, out)
        slopes, A, cell = by_autograd(net, X, Y, 0.4), net.forward(X), data.sel(bias=bias, draw=draw)
        B = np.array([-part / 0.4 for part in slopes["A"]])
        products = (A * B).sum(axis=(1, 2))
        close(cell.increment, np.diff(products), rtol=1e-7, atol=1e-9 * np.abs(products).max())
        close(cell["size"], np.linalg.norm(A[1:], axis=(1, 2)) * np.linalg.norm(B[1:], axis=(1, 2)))
        S = [active(a, bias) for a in A[:-1]]
        half = [net.rho[k] * 0.4 / 2.3 * (W[k] - 2.3 * 6.5 * B[k + 1] @ S[k].T) for k in range(7)]
        wrong = np.abs(np.array(half) - slopes["parts"][0]).max() / np.abs(slopes["parts"][0]).max()
        close(cell.gradient_error.isel(cost=1), wrong, rtol=1e-6)
        assert float(cell.gradient_error.isel(cost=0)) < 1e-10


PAPER = sizes.PaperSettings(
    **(TINY | {"points": 20, "width": 9, "rank": 2, "hidden": 5, "penalty": 0.3, "rate": 0.01}),
    maps=("free maps", "fixed maps"),
    effective_depth=2.0,
    layers=5,
    records=(6, 12),
    descent_steps=5,
    descent_rates=(0.2, 0.6),
    seeds=2,
)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", PAPER.maps)
def test_the_papers_settings_go_along_half_a_cosine_and_descend_from_its_end(kind, seed):
    """Sampled slopes near 0 may have either sign in float32, so that a few entries differ by a step."""
    own = stream("paper_settings")
    cell = paper_settings.paper_settings(PAPER, own, "cpu", keep_nothing()).sel(maps=kind, seed=seed)
    close(cell.lam, 0.3 * 4 / 2)
    rates, points = half_cosine(0.01 * (1 + 2.0), 12), task_at(cell)
    run = Training(begin(own.generator(seed, "weights"), np.full(5, 0.2), 2.0, kind, w=9), points, kind, 0.3)

    def apart(stop, net):
        trained = network_at(cell.sel(stop=stop), 2.0, bias=True)
        names = ("W", "into", "out")
        return np.concatenate([np.abs(getattr(trained, name) - getattr(net, name)).ravel() for name in names])

    assert np.quantile(apart(0, run.go(rates[:6]).network()), 0.98) < 1e-4
    assert np.quantile(apart(1, run.go(rates[6:]).network()), 0.98) < 1e-4
    end = network_at(cell.sel(stop=1), 2.0, bias=True)
    for stop, rate in ((2, 0.2), (3, 0.6)):
        assert apart(stop, Training(end, points, kind, 0.3).descend(5, rate / 4).network()).max() < 5e-6
        assert apart(stop, end).max() > 5e-3


def test_trainings_use_one_thread():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        restarts.restarts(AGAIN.model_copy(update={"teachers": 1, "starts": 2}), stream("one"), "cpu", keep_nothing())
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)


def run_chains(block=0, checkpoint=None, **changes):
    settings = CHAINS.model_copy(update=changes)
    return chains.trained(settings, stream("trained"), "cpu", checkpoint or keep_nothing(), block)


def test_seeds_do_not_depend_on_their_block():
    pair, single = run_chains(), run_chains(1, seeds=1)
    np.testing.assert_array_equal(pair["W"].sel(seed=1), single["W"].sel(seed=1))
    np.testing.assert_array_equal(pair["X"].sel(seed=1), single["X"].sel(seed=1))
    assert not np.array_equal(pair["X"].sel(seed=0), pair["X"].sel(seed=1))


def test_killed_chains_resume_with_the_same_numbers(tmp_path):
    whole = run_chains(checkpoint=Checkpoint(tmp_path, "chains"))
    half = Checkpoint(tmp_path, "chains")
    names = [name for name in half.trials if "depth2.5" in name or ("fixed" in name and "depth2.0" in name)]
    assert len(names) == 4 * 2 + 2
    for name in names:
        half.drop(name)
    xr.testing.assert_identical(whole, run_chains(checkpoint=half))


def test_paper_settings_resume(tmp_path):
    whole = paper_settings.paper_settings(PAPER, stream("p"), "cpu", Checkpoint(tmp_path, "p"))
    half = Checkpoint(tmp_path, "p")
    half.drop("free maps-seed0-12")
    xr.testing.assert_identical(whole, paper_settings.paper_settings(PAPER, stream("p"), "cpu", half))


def test_from_scratch_every_depth_is_a_chain_of_its_own():
    whole = run_chains(seeds=1, from_scratch=True)
    alone = run_chains(seeds=1, from_scratch=True, effective_depths=(2.5,))
    np.testing.assert_array_equal(whole["W"].isel(effective_depth=-1), alone["W"][:, :, 0])


def test_networks_of_any_shape_are_stored_and_restored():
    rng = np.random.default_rng(0)
    originals = [random_net(rng, True, L=3), random_net(rng, False, L=5)]
    stored = xr.Dataset(network_variables(("net",), (2,), [arrays_of(net) for net in originals]))
    for k, net in enumerate(originals):
        network = network_at(stored.isel(net=k), 2.3, net.bias)
        np.testing.assert_array_equal(network.W, net.W.astype(np.float32))
        np.testing.assert_array_equal(network.rho, net.rho)
    again = restored(arrays_of(originals[0]), 2.3)
    np.testing.assert_array_equal(again.into, originals[0].into.astype(np.float32))
