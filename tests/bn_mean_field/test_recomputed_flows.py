"""Flows, metrics and finite batches recomputed by short scripts: Theorems 2 to 5 of Ma and Ying, eps, exit times."""

from functools import cache

import numpy as np
import pytest
import scipy
import torch
from tests.bn_mean_field import plain

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.bn_mean_field import settings as sizes
from repdyn.bn_mean_field.experiments.batch_norm_eps import batch_norm_eps
from repdyn.bn_mean_field.experiments.equicontinuity import equicontinuity
from repdyn.bn_mean_field.experiments.equivalence import equivalence
from repdyn.bn_mean_field.experiments.exit_times import exit_times
from repdyn.bn_mean_field.experiments.finite_batch import finite_batch
from repdyn.bn_mean_field.experiments.metric_audit import metric_audit
from repdyn.bn_mean_field.experiments.minimization import minimization
from repdyn.bn_mean_field.experiments.propagation import propagation, propagation_distances
from repdyn.bn_mean_field.experiments.well_posedness import well_posedness
from repdyn.bn_mean_field.methods import starts_and_targets as problems
from repdyn.bn_mean_field.theory.velocity import Population

STREAM = Stream(7, ("bn_mean_field", "recomputed"))
NOTHING_KEPT = Checkpoint(None, "")
close = np.testing.assert_allclose


def flow(a, b, target, times, **options):
    """a, b and loss at the times by an adaptive solver of another order."""
    shape = b.shape

    def rate(_, state):
        da, db, _ = plain.velocity(state[: len(a)], state[len(a) :].reshape(shape), target, **options)
        return np.concatenate([da, db.ravel()])

    start, span = np.concatenate([a, b.ravel()]), (times[0], times[-1])
    states = scipy.integrate.solve_ivp(rate, span, start, t_eval=times, rtol=1e-9, atol=1e-11).y.T
    path = [(state[: len(a)], state[len(a) :].reshape(shape)) for state in states]
    losses = [plain.velocity(*state, target, **options)[2] for state in path]
    return np.array([a for a, _ in path]), np.array([b for _, b in path]), np.array(losses)


def ring(count, norm=2.0):
    """Teachers 110 degrees apart from 40 degrees on, signs +, -, +."""
    angle = np.radians(40 + 110 * np.arange(count))
    w = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.array([1.0, -1.0, 1.0])[:count], norm * w / np.sqrt((w @ plain.COV * w).sum(axis=1))[:, None]


def hammersley(count):
    """a by reversed bits of the number, evenly spaced directions."""
    bits = count.bit_length()
    reverse = [int(format(k, f"0{bits}b")[::-1], 2) / 2**bits for k in range(count)]
    return 2 * np.array(reverse) - 1 + 1 / count, plain.circle(count)


def test_equicontinuity_of_one_flow():
    settings = sizes.Equicontinuity(width=6, time=1.0, frames=41, pair_stride=10, transport_stride=20)
    data, times = equicontinuity(settings), np.linspace(0, 1, 41)
    a, b, loss = flow(*hammersley(6), ring(2), times)
    close(data.loss, loss, rtol=1e-6)
    angle = np.unwrap(np.arctan2(b[..., 1], b[..., 0]), axis=0)
    on_ellipse = b / np.sqrt((b @ plain.COV * b).sum(axis=-1))[..., None]
    pairs = data.isel(time=1, later=4)
    before, after, lag = 10, 40, 0.75
    close(pairs.coupled, np.mean((a[after] - a[before]) ** 2 + (angle[after] - angle[before]) ** 2), rtol=1e-5)
    chord = ((on_ellipse[after] - on_ellipse[before]) ** 2).sum(axis=1)
    close(pairs.chord, np.mean((a[after] - a[before]) ** 2 + chord), rtol=1e-5)
    assert np.isnan(pairs.w2)
    assert np.isnan(data.coupled[4, 1])
    apart = np.abs(angle[20][:, None] - angle[40]) % (2 * np.pi)
    cost = (a[20][:, None] - a[40]) ** 2 + np.minimum(apart, 2 * np.pi - apart) ** 2
    rows, columns = scipy.optimize.linear_sum_assignment(cost)
    close(data.w2.isel(time=2, later=4), cost[rows, columns].mean(), rtol=1e-5)
    close(pairs.bound, lag * (loss[before] - loss[after]), rtol=1e-5)
    close(pairs.bound_printed, lag * loss[after], rtol=1e-5)
    close(pairs.bound_without_time, loss[before] - loss[after], rtol=1e-5)
    close(data.time, [0, 0.25, 0.5, 0.75, 1])
    speeds = [plain.velocity(a[t], b[t], ring(2)) for t in range(41)]
    da, db = np.array([s[0] for s in speeds]), np.array([s[1] for s in speeds])
    turn = b[..., 0] * db[..., 1] - b[..., 1] * db[..., 0]  # |b| = 1 all along
    close(data.rate_metric, -np.mean(da**2 + turn**2, axis=1), rtol=1e-4)
    close(data.rate, data.rate_metric, rtol=1e-4)
    norm = np.sqrt((b @ plain.COV * b).sum(axis=-1))[..., None]
    moved = db / norm - b * (b @ plain.COV * db).sum(axis=-1)[..., None] / norm**3
    close(data.rate_euclidean, -np.mean(da**2 + (moved**2).sum(axis=-1), axis=1), rtol=1e-4)
    close(data.rate_printed, -data.rate_euclidean)
    growth = np.mean(np.cos(angle) * turn + da, axis=1)
    mean = np.mean(np.sin(angle) + a, axis=1)
    ended = np.pi * np.cos(np.pi * times) * mean + np.sin(np.pi * times) * growth
    close(data.weak_left, [1, np.trapezoid(growth, times), np.trapezoid(ended, times)], atol=2e-3)
    close(data.weak_boundary, [1, mean[-1] - mean[0], 0], rtol=1e-5)
    close(data.weak_printed, 0)


def test_flows_of_equal_function():
    settings = sizes.Equivalence(width=4, dimensions=[2, 3], radii=[0.5, 1.0], time=0.5, frames=3, tolerance=1e-10)
    data, times = equivalence(settings, STREAM), np.linspace(0, 0.5, 3)
    for dimension in (2, 3):
        generator, cov = STREAM.generator(dimension), plain.COV
        if dimension == 3:
            basis = np.linalg.qr(generator.standard_normal((3, 3)))[0]
            cov = basis @ np.diag([1, np.sqrt(10), 10]) @ basis.T
        w = generator.standard_normal((2, dimension))
        target = np.array([1.0, -1.0]), w / np.sqrt((w @ cov * w).sum(axis=1))[:, None]
        b, a = generator.standard_normal((4, dimension)), generator.uniform(-1, 1, 4)
        b /= np.linalg.norm(b, axis=1, keepdims=True)

        def normal(b, cov=cov):
            return b / np.sqrt((b @ cov * b).sum(axis=-1))[..., None]

        vanilla = flow(a, normal(b), target, times, bn=False, cov=cov)
        unit = flow(a, b, target, times, cov=cov)
        for radius in (0.5, 1.0):
            cell = data.sel(dimension=dimension, radius=radius)
            own = flow(a, radius * b, target, times, cov=cov)
            close(cell.loss, own[2], rtol=1e-6)
            for name, other in (("manifold", (unit[0], normal(unit[1]))), ("vanilla", vanilla)):
                close(cell.gap_a.sel(against=name), np.abs(own[0] - other[0]).max(axis=1), rtol=1e-4, atol=1e-6)
                gap = np.linalg.norm(normal(own[1]) - other[1], axis=2).max(axis=1)
                close(cell.gap_b.sel(against=name), gap, rtol=1e-4, atol=1e-6)
            close(cell.gap_b.sel(against="manifold_scaled"), 0, atol=1e-7)
            assert float(cell.drift.max()) < 1e-7
            lengths = np.linalg.norm(vanilla[1], axis=2)
            close(cell.drift_vanilla, np.abs(lengths / lengths[0] - 1).max(axis=1), rtol=1e-4, atol=1e-6)


EXITS = sizes.ExitTimes(width=10, start_radius=0.5, radii=[0.75, 1.0], slope=3.0, time=0.5, frames=101)


def test_exit_times_on_an_ellipse():
    """A = mean |y|, B as the product of the largest input and the longest bbar; here slope 3."""
    data, times = exit_times(EXITS), np.linspace(0, 0.5, 101)
    a, b = hammersley(10)
    path = flow(0.5 * a, b, plain.linear(0, 3.0), times)
    reach = np.abs(path[0]).max(axis=1)
    close(data.reach, reach, rtol=1e-6)
    speed = [np.abs(plain.velocity(a, b, plain.linear(0, 3.0))[0]).max() for a, b in zip(*path[:2], strict=True)]
    close(data.speed, speed, rtol=1e-5)
    r, r0, B, A = np.array([0.75, 1.0]), 0.5, 10.0, float(data.speed_bound[0]) - 10 * reach[0]
    inputs = np.sqrt(10) * np.cos(np.linspace(0, 2 * np.pi, 10001))
    assert pytest.approx(np.abs(3 * inputs).mean() * np.sqrt(10), rel=1e-3) == A
    assert float(data.growth) == pytest.approx(B)
    close(data.speed_bound, A + B * reach, rtol=1e-6)
    close(data.literal_speed_bound, B * reach, rtol=1e-6)
    close(data.exit_time, np.interp(r, reach, times), rtol=1e-3)
    for name, constant in (("", A), ("literal_", 0.0)):
        close(data[f"{name}bound"], (r - r0) / (constant + B * r))
        close(data[f"{name}gronwall"], np.log((constant + B * r) / (constant + B * r0)) / B)
    radii = r0 * np.arange(2, 102)
    close(data.stages.sel(stage=100), np.sum(r0 / (A + B * radii)))
    close(data.stages_of_squares.sel(stage=100), np.sum(r0 / (A + B * radii**2)))


def test_minimization_from_every_start():
    settings = sizes.Minimization(width=8, erf_width=6, time=1.0, counter_time=0.6, frames=11)
    data = minimization(settings)
    unit = plain.circle(8)
    away = -ring(1)[1]
    target = np.arctan2(away[0, 1], away[0, 0])

    def arc(angles):
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    starts = {
        "a = 0, 1 teacher": (1, np.zeros(8), unit),
        "a = 0, 3 teachers": (3, np.zeros(8), unit),
        "a = +-1, 3 teachers": (3, np.tile([-1.0, 1.0], 4), np.repeat(plain.circle(4), 2, axis=0)),
        "point at the antipode, 1 teacher": (1, np.ones(1), away),
        "arc of 0.5 at the antipode, 1 teacher": (1, np.ones(41), arc(target + np.linspace(-0.5, 0.5, 41))),
        "one point, 2 teachers": (2, np.ones(1), arc(np.array([0.3]))),
        "two points, 3 teachers": (3, np.ones(2), arc(np.array([0.3, 2.0]))),
    }
    for name, (teachers, a, b) in starts.items():
        cell = data.sel(start=name)
        end = 1.0 if name.startswith("a =") else 0.6
        times = np.array([0, *np.geomspace(0.01, end, 10)])
        close(cell.time, times)
        path = flow(a, b, ring(teachers), times)
        close(cell.loss, path[2], rtol=1e-5, atol=1e-9)
        speed = []
        for now, where in zip(*path[:2], strict=True):
            da, db, _ = plain.velocity(now, where, ring(teachers))
            speed.append(np.sqrt(da**2 + (db**2).sum(axis=1)).max())
        close(cell.speed, speed, rtol=1e-4, atol=1e-7)
        zero = plain.velocity(np.zeros(1), np.ones((1, 2)), ring(teachers))[2]
        close(cell.zero_loss, zero)
        close(cell.relative_loss, path[2] / zero, rtol=1e-5, atol=1e-9)
        assert int(cell.separates) == name.startswith("a =")
        assert int(cell.particles) == len(a)
    inputs = np.random.default_rng(0).normal(size=(400_000, 2)) @ np.sqrt(plain.COV)
    c, w = ring(3, 1.0)
    mean = 0.5 * np.mean((scipy.special.erf(inputs @ w.T) @ c) ** 2)
    assert float(data.zero_loss.sel(start="a = 0, 3 teachers, erf")) == pytest.approx(mean, rel=0.02)


def test_metric_on_random_covariances():
    """In the plane Omega's tangent is one vector t; ||b||^2 G there is cos^2 of the angle between b and Sigma b."""
    data = metric_audit(sizes.MetricAudit(dimensions=[2, 4], conditions=[10.0, 50.0], draws=2), STREAM)
    for dimension, condition, draw in ((2, 10.0, 1), (2, 50.0, 0), (4, 50.0, 1)):
        generator = STREAM.generator(dimension, repr(condition), draw)
        cell = data.sel(dimension=dimension, condition=condition, draw=draw)
        basis = np.linalg.qr(generator.standard_normal((dimension, dimension)))[0]
        cov = basis @ np.diag(np.geomspace(1, condition, dimension)) @ basis.T
        b = generator.standard_normal(dimension)
        b /= np.sqrt(b @ cov @ b)
        image = cov @ b
        cosine = (b @ image) ** 2 / (b @ b) / (image @ image)
        assert float(cell.alignment) == pytest.approx(cosine)
        assert float(cell.smallest) == pytest.approx(cosine)
        assert float(cell.smallest_in_space) == pytest.approx(0, abs=1e-12)  # G Sigma b = 0
        assert float(cell.kantorovich) == pytest.approx(4 * condition / (condition + 1) ** 2)
        assert float(cell.asymmetry) < 1e-12
        assert float(cell.formula_gap) < 1e-10
        assert float(cell.pairing) < 1e-10
        assert float(cell.pairing_printed) == pytest.approx(2)
        assert float(cell.others) < 1e-10
        expected = 0 if dimension == 2 else abs(1 / (b @ b) - 1)
        assert float(cell.others_unscaled) == pytest.approx(expected, abs=1e-10)
        assert float(cell.formula_gap_unscaled) == pytest.approx(abs(1 / (b @ b) - 1))
        A = (np.eye(dimension) - np.outer(b, image)) @ (np.eye(dimension) - np.outer(image, b))
        T = scipy.linalg.null_space(image[None])
        assert float(cell.ascent) == pytest.approx(np.linalg.eigvalsh(T.T @ A @ T)[0])
        assert float(cell.ascent_in_space) == pytest.approx(0, abs=1e-12)
        tangents = np.eye(dimension - 1)
        G = T.T @ (np.eye(dimension) - np.outer(b, b) / (b @ b)) @ T  # ||b||^2 times the round metric
        assert float(cell.chord_gap) == pytest.approx(np.abs(G - tangents).max() / np.abs(tangents).max(), rel=1e-6)
        assert float(cell.round_gap) < 1e-10
        oblique = T.T @ (np.eye(dimension) - np.outer(b, image)) @ cov @ T
        assert float(cell.asymmetry_oblique) == pytest.approx(
            np.abs(oblique - oblique.T).max() / np.abs(oblique).max(), abs=1e-12
        )


def test_ticks_of_the_ellipse():
    data, turn = metric_audit(sizes.MetricAudit(dimensions=[2], conditions=[10.0], draws=2), STREAM), 2 * np.pi / 36
    angle = turn * (np.arange(36) + 0.5)
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    close(data.tick_position, unit / np.sqrt((unit @ plain.COV * unit).sum(axis=1))[:, None])
    close(data.tick_length, turn, rtol=1e-9)  # G measures the angle
    for k in (0, 8, 35):
        fine = angle[k] + np.linspace(0, turn, 2001)
        points = np.stack([np.cos(fine), np.sin(fine)], axis=1)
        points /= np.sqrt((points @ plain.COV * points).sum(axis=1))[:, None]
        length = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
        assert float(data.tick_euclidean[k]) == pytest.approx(length, rel=1e-5)


@pytest.mark.parametrize(("draw", "radius"), [(0, 0.01), (1, 1.0)])
def test_the_eps_of_batch_norm(draw, radius):
    settings = sizes.BatchNormEps(draws=2, samples=60, dimension=3, width=4, eps=1e-4, radii=[0.01, 1.0])
    data = batch_norm_eps(settings, STREAM).sel(draw=draw, radius=radius)
    rng = STREAM.generator(draw)
    mixing = np.eye(3) + rng.standard_normal((3, 3)) / 2
    x = np.exp(rng.standard_normal((60, 3)) / 2) @ mixing
    x -= x.mean(axis=0)
    y = np.sin(x[:, 0]) + x[:, 1] + 0.1 * rng.standard_normal(60)
    directions = rng.standard_normal((4, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    x, y, a = (torch.tensor(part) for part in (x, y, rng.standard_normal(4)))
    radial, lengths, unit = [], [], None
    for scale in (
        lambda z: z.var(0, correction=0).sqrt(),
        lambda z: (z.var(0, correction=0) + 1e-4).sqrt(),
        lambda z: z.var(0, correction=0).sqrt() + 1e-2,
    ):
        b = torch.tensor(radius * directions, requires_grad=True)
        z = x @ b.T
        loss = 0.5 * ((torch.relu(z / scale(z)) @ a / 4 - y) ** 2).mean()
        db = -4 * torch.autograd.grad(loss, b)[0].numpy()
        if unit is None:
            unit = radius * np.linalg.norm(db, axis=1)  # at length 1: slopes fall as 1 over the length
        along = np.abs((db * directions).sum(axis=1)) / np.linalg.norm(db, axis=1)
        radial.append(np.median(along))
        grown = np.linalg.norm(radius * directions + 0.1 * db, axis=1)
        lengths.append(np.median(grown / np.sqrt(radius**2 + (0.1 * unit / radius) ** 2)))
    close(data.radial, radial[:2], rtol=1e-6, atol=1e-12)
    close(data.length, lengths[:2], rtol=1e-6)
    close(data.radial_next_to_norm, radial[2], rtol=1e-6)


def test_finite_batches_by_autograd():
    settings = sizes.FiniteBatch(width=4, batches=[6, 12, 24], repeats=20, groups=2)
    data = finite_batch(settings, STREAM)
    a, b = plain.signed(2, STREAM.generator("start"))
    exact = plain.velocity(a, b, plain.linear(0))[1]
    errors, noise = np.empty((3, 2, 4, 2)), np.empty((3, 2))
    for i, size in enumerate((6, 12, 24)):
        for group in range(2):
            x = STREAM.generator(size, group).standard_normal((20, size, 2)) * np.sqrt([5, 1])
            weights, inputs = torch.tensor(np.tile(b, (20, 1, 1)), requires_grad=True), torch.tensor(x)
            z = inputs @ weights.mT
            z = (z - z.mean(dim=1, keepdim=True)) / z.std(dim=1, keepdim=True, correction=0)
            f = torch.relu(z) @ torch.tensor(a) / 4
            loss = 0.5 * ((f - inputs[..., 0]) ** 2).mean(dim=1).sum()
            velocity = -4 * torch.autograd.grad(loss, weights)[0].numpy()
            errors[i, group] = velocity.mean(axis=0) - exact
            noise[i, group] = np.sqrt(((velocity - exact) ** 2).sum(axis=(1, 2)).mean())
    scale, direction = np.linalg.norm(exact), errors[0].mean(axis=0)
    close(data.noise, noise / scale, rtol=1e-7)
    close(data.bias, np.tensordot(errors, direction / np.linalg.norm(direction), 2) / scale, rtol=1e-6, atol=1e-9)


PROPAGATION = sizes.Propagation(
    **{"widths": [4, 5, 6], "reference": 24, "random_widths": [4, 5, 6], "random_reference": 25},
    **{"seeds": 2, "times": [0.0, 0.5], "tolerance": 1e-8},
)


@cache
def systems():
    flows = propagation(PROPAGATION, STREAM, NOTHING_KEPT)
    return flows, propagation_distances(PROPAGATION, flows, NOTHING_KEPT)


def test_particle_systems_of_growing_width():
    flows, _ = systems()
    angle = np.radians([30, 150])
    w = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    w = 2 * w / np.sqrt((w @ plain.COV * w).sum(axis=1))[:, None]
    assert flows.sizes["run"] == 2 * (4 + 1 + 6)
    for run in range(flows.sizes["run"]):
        start, width, seed, target = (flows[name].values[run] for name in ("start", "width", "seed", "target"))
        if start == "i.i.d.":
            generator = STREAM.generator(int(seed), int(width))
            a, turn = generator.uniform(-1, 1, width), generator.uniform(0, 2 * np.pi, width)
            b = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        else:
            a, b = hammersley(int(width))
        c = np.array([1.0, 1.0 if target == "equal signs" else -1.0])
        a, b, loss = flow(a, b, (c, w), np.array([0, 0.5]))
        mine = flows.isel(particle=flows.particle_run.values == run)
        close(mine.a, a, rtol=1e-5, atol=1e-6)
        close(np.sin(mine.angle - np.arctan2(b[..., 1], b[..., 0])), 0, atol=1e-5)
        close(flows.loss[:, run], loss, rtol=1e-5)


def test_distances_to_the_reference_of_the_own_kind_and_target():
    """Transport between systems of unequal size as a linear program, particle by particle."""
    flows, data = systems()
    runs = list(zip(flows.start.values, flows.width.values, flows.target.values, strict=True))
    for run, (start, width, target) in enumerate(runs):
        kind, size = ("i.i.d. reference", 25) if start.startswith("i.i.d.") else ("low discrepancy", 24)
        reference = runs.index((kind, size, target))
        close(data.loss_gap[run], np.abs(flows.loss[:, run] - flows.loss[:, reference]))
        close(data.loss[run], flows.loss[:, run])
        if run == reference or width != 4:
            continue
        for time in (0, 1):
            a, angle, owner = flows.a.values[time], flows.angle.values[time], flows.particle_run.values
            own, other = owner == run, owner == reference
            apart = np.abs(angle[own][:, None] - angle[other]) % (2 * np.pi)
            cost = (a[own][:, None] - a[other]) ** 2 + np.minimum(apart, 2 * np.pi - apart) ** 2
            m, n = cost.shape
            sums = np.vstack([np.kron(np.eye(m), np.ones(n)), np.kron(np.ones(m), np.eye(n))])
            plan = scipy.optimize.linprog(cost.ravel(), A_eq=sums, b_eq=[1 / m] * m + [1 / n] * n)
            assert float(data.distance[run, time]) == pytest.approx(np.sqrt(plan.fun), rel=1e-6)


def test_kept_distances_are_those_to_their_own_reference(tmp_path):
    """Of another reference, as after its width was raised, all distances are found anew."""
    flows, _ = systems()
    checkpoint = Checkpoint(tmp_path, "distances")
    before = propagation_distances(PROPAGATION, flows, checkpoint)
    references = np.flatnonzero(np.isin(flows.width.values, (24, 25)))
    moved = flows.assign(a=flows.a + 0.5 * np.isin(flows.particle_run, references))
    after = propagation_distances(PROPAGATION, moved, checkpoint)
    assert np.all(before.distance.values[:, 0].nonzero()[0] == after.distance.values[:, 0].nonzero()[0])
    close(after.distance, propagation_distances(PROPAGATION, moved, NOTHING_KEPT).distance)
    assert not np.allclose(after.distance, before.distance)


def test_neighboring_starts_and_pairs_of_point_masses():
    settings = sizes.WellPosedness(gaps=[1e-3, 1e-2], time=0.5, radii=[0.5, 2.0], draws=4)
    data = well_posedness(settings, STREAM)
    for place, r in enumerate((0.5, 2.0)):
        generator = STREAM.generator(place)
        a, turn = generator.uniform(-r, r, (2, 4)), generator.uniform(0, 2 * np.pi, (2, 4))
        turn[1, 0] = turn[0, 0]
        b = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        b = b / np.sqrt((b @ plain.COV * b).sum(axis=-1))[..., None]
        x = plain.circle(48) * np.sqrt([10, 2])
        outputs = a[..., None] * np.maximum(b @ x.T, 0)
        close(data.change[place], np.abs(outputs[0] - outputs[1]).mean(axis=1))
        apart = np.abs(turn[0] - turn[1])
        distance = np.hypot(a[0] - a[1], np.minimum(apart, 2 * np.pi - apart))
        close(data.distance[place], np.minimum(2, distance), atol=1e-7)
        assert float(data.constant_printed[place]) == pytest.approx(r * np.sqrt(10))
        assert float(data.constant[place]) >= r * np.sqrt(10)


def erf_velocity(a, b):
    """Batch norm without a mean over four corners: inputs of covariance 1, labels 0, 0, 1, 0; by autograd."""
    x = np.sqrt(2) * torch.tensor([[1.0, 0], [-1, 0], [0, 1], [0, -1]], dtype=torch.float64)
    y = torch.tensor([0.0, 0, 1, 0], dtype=torch.float64)
    a, b = torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)
    z = x @ (b / torch.linalg.norm(b, dim=1, keepdim=True)).T
    loss = 0.5 * ((torch.erf(z) @ a / len(a) - y) ** 2).mean()
    return [-len(a) * part.numpy() for part in torch.autograd.grad(loss, (a, b))]


@pytest.mark.parametrize(("gap", "place"), [(1e-3, 0), (1e-2, 1)])
def test_neighbors_of_erf_neurons(gap, place):
    settings = sizes.WellPosedness(gaps=[1e-3, 1e-2], time=0.5, radii=[0.5, 2.0], draws=2)
    data = well_posedness(settings, STREAM).sel(activation="erf")

    def end(a, turn):
        b = np.stack([np.cos(turn), np.sin(turn)], axis=1)
        for _ in range(50):
            da, db = erf_velocity(a, b)
            half = erf_velocity(a + 0.005 * da, b + 0.005 * db)
            a, b = a + 0.01 * half[0], b + 0.01 * half[1]
        return a, np.arctan2(b[:, 1], b[:, 0])

    alone = [end(np.ones(1), np.array([turn]))[1][0] for turn in (0.0, gap)]
    assert float(data.gap_at_end[place]) == pytest.approx(abs(alone[1] - alone[0]), rel=1e-3)
    generator = STREAM.generator("cloud")
    a, turn = np.append(1.0, generator.uniform(-0.5, 0.5, 7)), np.append(0.0, generator.uniform(0, 2 * np.pi, 7))
    (a0, turn0), (a1, turn1) = end(a, turn), end(a + gap, turn + gap)
    across = np.angle(np.exp(1j * (turn1 - turn0)))
    assert float(data.cloud_distance[place]) == pytest.approx(np.hypot(a1 - a0, across).mean(), rel=1e-3)


def test_adding_a_draw_changes_no_old_number():
    more = PROPAGATION.model_copy(update={"seeds": 3})
    old, new = systems()[0], propagation(more, STREAM, NOTHING_KEPT)
    for seed in range(2):
        losses = []
        for dataset in (old, new):
            drawn = (dataset["start"] == "i.i.d.") & (dataset["seed"] == seed)
            losses.append(dataset["loss"].isel(run=np.flatnonzero(drawn)).values)
        np.testing.assert_array_equal(*losses)


@pytest.mark.parametrize("count", [16, 100, 128])
def test_hammersley_points_fill_the_cylinder(count):
    """Share of points in boxes [-1, s] x [0, t] against the area: star discrepancy below 2 log2(m) / m."""
    a, b = problems.low_discrepancy_start(count)
    turn = np.mod(np.arctan2(b[:, 1], b[:, 0]) / (2 * np.pi), 1)
    assert np.abs(a).max() <= 1
    for s in np.linspace(0.05, 0.95, 7):
        for t in np.linspace(0.05, 0.95, 7):
            share = np.mean(((a + 1) / 2 < s) & (turn < t))
            assert abs(share - s * t) < 2 * np.log2(count) / count


def test_paired_start_is_the_zero_function():
    a, b = problems.paired_start(10)
    loss = Population(problems.linear(0), problems.ANISOTROPIC).velocity(a, b)[2]
    np.testing.assert_allclose(loss, 2.5, rtol=1e-14)  # E x_1^2 / 2


def test_a_radius_that_is_not_reached_has_no_exit_time():
    times = exit_times(EXITS.model_copy(update={"radii": (0.75, 50.0)}))["exit_time"].values
    np.testing.assert_array_equal(np.isnan(times), [False, True])


def test_a_relu_neuron_at_an_edge_may_rest_or_leave_and_an_erf_neuron_may_not():
    """Theorem 4 without a Lipschitz derivative: two solutions from one start."""
    settings = sizes.WellPosedness(gaps=[1e-4, 1e-2], time=0.5, radii=[0.1, 1.0], draws=5)
    ends = well_posedness(settings, STREAM)["gap_at_end"]
    relu, erf = (ends.sel(activation=name).values for name in ("relu", "erf"))
    assert relu[0] > 0.05
    assert relu[0] == pytest.approx(relu[1], rel=0.1)
    np.testing.assert_allclose(erf[1] / erf[0], 100, rtol=0.05)
