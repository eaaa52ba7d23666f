"""Descents recomputed by a separate loop: Figures 1 to 3, speed ratios, target scans, learning rates, features."""

import inspect
from functools import cache

import numpy as np
import pytest
import xarray as xr
from tests.bn_mean_field import plain

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.bn_mean_field import settings as sizes
from repdyn.bn_mean_field.experiments.anisotropy import anisotropy
from repdyn.bn_mean_field.experiments.concentration import concentration
from repdyn.bn_mean_field.experiments.feature_learning import feature_learning
from repdyn.bn_mean_field.experiments.first_step import _statistics, first_step
from repdyn.bn_mean_field.experiments.learning_rates import learning_rates
from repdyn.bn_mean_field.experiments.magnitudes import magnitudes
from repdyn.bn_mean_field.experiments.speed_ratio import speed_ratio
from repdyn.bn_mean_field.experiments.target_scan import target_scan

STREAM = Stream(6, ("bn_mean_field", "recomputed"))
NOTHING_KEPT = Checkpoint(None, "")
ANISOTROPY = sizes.Anisotropy(
    directions=8, step=0.02, steps=[0.02, 0.05], record=[0, 5, 9], look=5, early=15, stride=5, seeds=2
)
MAGNITUDES = sizes.Magnitudes(directions=4, radii=[1.0, 10.0], step=0.02, iterations=6, stride=3, seeds=2)
SCAN = sizes.TargetScan(angles=[0.0, 60.0, 90.0], directions=12, step=0.05, look=6, seeds=2)
CONCENTRATION = sizes.Concentration(angles=[0.0, 30.0, 90.0], directions=6, step=0.1, record=[0, 4, 9], seeds=2)
MODELS = {"BN": True, "vanilla": False}
close = np.testing.assert_allclose


@cache
def figure_1():
    return anisotropy(ANISOTROPY)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("target", "degrees"), [("y = x1", 0), ("y = x2", 90), ("y = (x1 + x2) / sqrt(2)", 45)])
def test_figure_1(model, target, degrees):
    a, b, loss = plain.descent(*plain.paired(8), plain.linear(degrees), 0.02, 9, bn=MODELS[model])
    data = figure_1().sel(model=model, target=target)
    for iteration in (0, 5, 9):
        now = data.sel(iteration=iteration)
        close(now.a, a[iteration], atol=1e-12)
        close(now.angle, np.arctan2(b[iteration, :, 1], b[iteration, :, 0]), atol=1e-12)
        close(now.length, np.linalg.norm(b[iteration], axis=1), rtol=1e-12)
        angle = plain.axis_angle(b[iteration])
        close(now.axis_angle, angle, atol=1e-10)
        close(now.near, [(angle < 15).mean(), (angle > 75).mean()])
        close(now.loss, loss[iteration], rtol=1e-10)
    db = plain.velocity(a[5], b[5], plain.linear(degrees), bn=MODELS[model])[1]
    close(data.speed, plain.turning(b[5], db), rtol=1e-9, atol=1e-13)
    assert float(data.largest_speed) == pytest.approx(plain.turning(b[5], db).max())
    assert int(data.look) == 5


@pytest.mark.parametrize(("start", "radius", "iteration"), [(0, 10.0, 6), (2, 1.0, 3), (1, 1.0, 6)])
def test_figure_2(start, radius, iteration):
    """Small and large neurons at equal directions, with equal signs, are one network."""
    data = magnitudes(MAGNITUDES, STREAM)
    signs, unit = plain.paired(4) if start == 0 else plain.signed(4, STREAM.generator(start - 1))
    a, b = np.tile(signs, 2), np.concatenate([unit, 10 * unit])
    a, b, loss = plain.descent(a, b, plain.linear(0), 0.02, 6)
    own = slice(0, 8) if radius == 1 else slice(8, 16)
    now, moved = data.sel(start=start, radius=radius, iteration=iteration), b[iteration, own]
    close(now.a, a[iteration, own], atol=1e-12)
    close(now.angle, np.arctan2(moved[:, 1], moved[:, 0]), atol=1e-12)
    close(now.axis_angle, plain.axis_angle(moved), atol=1e-10)
    cosine = (moved * unit).sum(axis=1) / np.linalg.norm(moved, axis=1)
    sine = np.abs(moved[:, 0] * unit[:, 1] - moved[:, 1] * unit[:, 0])
    turned = np.degrees(np.arctan2(sine, cosine * np.linalg.norm(moved, axis=1)))
    close(now.turned, turned, atol=1e-10)
    assert float(now.mean_turn) == pytest.approx(turned.mean())
    assert float(now.near) == (plain.axis_angle(moved) < 15).mean()
    assert float(data.loss.sel(start=start, iteration=iteration)) == pytest.approx(loss[iteration])


FIRST = sizes.FirstStep(
    directions=8,
    radii=[0.1, 0.2, 1.0, 3.0],
    steps=[0.05, 0.2],
    iterations=4,
    seeds=2,
    stability_radii=[0.5, 1.0],
    stability_steps=[0.05, 0.1],
    stability_iterations=7,
)


@cache
def figure_3():
    return first_step(FIRST, STREAM)


def first_start(start):
    return plain.paired(8) if start == 0 else plain.signed(8, STREAM.generator(start - 1))


def turns_of(b):
    before, after = b[:-1], b[1:]
    cosine = (before * after).sum(-1) / np.linalg.norm(before, axis=-1) / np.linalg.norm(after, axis=-1)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("start", "radius", "step"), [(0, 0.2, 0.2), (1, 1.0, 0.05), (2, 0.2, 0.05)])
def test_figure_3(model, start, radius, step):
    a, b = first_start(start)
    _, path, loss = plain.descent(a, radius * b, plain.linear(0), step, 4, bn=MODELS[model])
    data = figure_3().sel(start=start, radius=radius, model=model, step=step)
    close(data["norm"].transpose("iteration", "neuron"), np.linalg.norm(path, axis=-1)[:4], rtol=1e-10)
    turns = turns_of(path)
    close(data.turn.transpose("shown", "neuron"), turns[:3], atol=1e-5)
    close(data.large_turns, (turns > 10).mean(axis=1))
    close(data.turn_quantile.transpose("later", "quantile")[2], np.quantile(turns[2], data["quantile"]), atol=1e-5)
    close(data.loss_growth, loss[1:] / loss[:-1], rtol=1e-9)
    slope = np.linalg.norm(plain.velocity(a, b, plain.linear(0))[1], axis=1)
    close(figure_3().gradient.sel(start=start), slope, rtol=1e-10, atol=1e-14)
    cell = figure_3().sel(start=start, radius=radius, step=step)
    close(cell.norm_law, np.sqrt(radius**2 + (step * slope / radius) ** 2), rtol=1e-10)
    close(cell.critical, np.sqrt(step * slope), rtol=1e-10, atol=1e-8)


def test_smallest_growth_and_long_runs_of_figure_3():
    data = figure_3()
    for model, bn in MODELS.items():
        least = min(
            np.diff(np.linalg.norm(path, axis=-1), axis=0).min()
            for start in range(3)
            for radius in (0.1, 0.2, 1.0, 3.0)
            for step in (0.05, 0.2)
            for a, b in [first_start(start)]
            for path in [plain.descent(a, radius * b, plain.linear(0), step, 4, bn=bn)[1]]
        )
        assert float(data.smallest_growth.sel(model=model)) == pytest.approx(least, abs=1e-12)
        for radius, step in ((0.5, 0.1), (1.0, 0.05)):
            a, b = plain.paired(8)
            loss = plain.descent(a, radius * b, plain.linear(0), step, 7, bn=bn)[2][-1]
            cell = data.sel(model=model, long_radius=radius, long_step=step)
            assert float(cell.long_loss) == pytest.approx(loss)
            assert np.isnan(cell.long_diverged)


PROBLEMS = {"y = x1": (0, plain.COV), "y = x2": (90, plain.COV), "y = x1, Sigma = I": (0, np.eye(2))}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("start", "step"), [(0, 0.02), (2, 0.05)])
def test_speeds_at_equal_iteration_and_at_equal_loss(problem, start, step):
    degrees, cov = PROBLEMS[problem]
    target, cell = plain.linear(degrees), ratios().sel(problem=problem, start=start, step=step)
    largest, losses = {}, {}
    for model, bn in MODELS.items():
        begin = plain.paired(8) if start == 0 else plain.signed(8, STREAM.generator(start - 1))
        a, b, loss = plain.descent(*begin, target, step, 15, bn=bn, cov=cov)
        speeds = [plain.turning(b[t], plain.velocity(a[t], b[t], target, bn=bn, cov=cov)[1]) for t in (0, 5, 10, 15)]
        largest[model], losses[model] = np.max(speeds, axis=1), loss[[0, 5, 10, 15]]
        own = cell.sel(model=model)
        close(own.largest, largest[model], rtol=1e-8)
        close(own["median"], np.median(speeds, axis=1), rtol=1e-8)
        close(own.loss, losses[model], rtol=1e-9)
    close(cell.ratio, largest["BN"] / largest["vanilla"], rtol=1e-8)
    logs = np.log(losses["vanilla"])
    assert (np.diff(logs) < 0).all()
    partner = np.interp(-np.log(losses["BN"]), -logs, [0, 5, 10, 15])
    close(cell.matched_iteration, partner, atol=1e-6)
    close(cell.matched_ratio, largest["BN"] / np.interp(partner, [0, 5, 10, 15], largest["vanilla"]), rtol=1e-6)


@cache
def ratios():
    return speed_ratio(ANISOTROPY, STREAM)


@pytest.mark.parametrize(("degrees", "seed"), [(0.0, 1), (60.0, 0), (90.0, 0)])
def test_speeds_over_the_direction_of_the_target(degrees, seed):
    data = target_scan(SCAN, STREAM).sel(angle=degrees, seed=seed)
    target = plain.linear(degrees)
    a, b, _ = plain.descent(*plain.signed(12, STREAM.generator(seed)), target, 0.05, 6)
    a, b = a[-1], b[-1]
    speed, angle = plain.turning(b, plain.velocity(a, b, target)[1]), plain.axis_angle(b)
    close(data.speed, speed, rtol=1e-8)
    close(data.axis_angle, angle, atol=1e-9)
    close(data.length, np.linalg.norm(b, axis=1))
    unit = b / np.linalg.norm(b, axis=1, keepdims=True)
    variance = np.einsum("mi,ij,mj->m", unit, plain.COV, unit)
    close(data.variance, variance)
    close(data.torque, speed * np.linalg.norm(b, axis=1) * variance / np.sqrt(5), rtol=1e-7)
    assert float(data.contrast) == pytest.approx(np.log10(speed[angle > 45].mean() / speed[angle < 45].mean()))
    small, large = speed[angle > 75], speed[angle < 15]
    outer = np.log10(small.mean() / large.mean()) if len(small) and len(large) else np.nan
    assert float(data.outer_contrast) == pytest.approx(outer, nan_ok=True)
    assert float(data.determinant) == pytest.approx(5)


RATES = sizes.LearningRates(
    directions=4,
    smallest_step=0.1,
    largest_step=10.0,
    steps_per_decade=2,
    iterations=30,
    learned=0.3,
    spread=4.0,
    seeds=2,
)


@cache
def rates():
    return learning_rates(RATES, STREAM, NOTHING_KEPT)


@pytest.mark.parametrize(
    "network", ["BN", "vanilla", "vanilla, same function", "BN, many lengths", "vanilla, many lengths"]
)
@pytest.mark.parametrize("start", [0, 2])
def test_iterations_to_learn(network, start):
    spread = np.geomspace(1 / 4, 4, 8)
    if start == 0:
        (a, b), lengths = plain.paired(4), STREAM.generator("lengths").permutation(spread)
    else:
        generator = STREAM.generator(start - 1)
        (a, b), lengths = plain.signed(4, generator), generator.permutation(spread)
    if network.endswith("many lengths"):
        b = lengths[:, None] * b
    elif network.endswith("same function"):
        b = b / np.sqrt(np.einsum("mi,ij,mj->m", b, plain.COV, b))[:, None]
    data, needed = rates().sel(network=network, start=start), []
    for step in np.logspace(-1, 1, 5):
        cell = data.sel(step=step, method="nearest")
        with np.errstate(all="ignore"):
            loss = plain.descent(a, b, plain.linear(0), step, 30, bn=network.startswith("BN"))[2] / 2.5
        if np.isfinite(cell.final):
            assert float(cell.final) == pytest.approx(loss[-1], rel=1e-5)
        else:
            assert not loss[-1] < 1e8
        needed.append(np.argmax(loss <= 0.3) if loss[-1] <= 0.3 else np.inf)
    close(data.needed, needed)
    learned = np.isfinite(needed)
    assert float(data.fewest) == min(needed)
    assert float(data.decades) == learned.sum() / 2
    ends = np.logspace(-1, 1, 5)[learned]
    assert float(data.smallest_step) == pytest.approx(
        ends.min(initial=np.inf) if learned.any() else np.nan, nan_ok=True
    )
    assert float(data.largest_step) == pytest.approx(ends.max(initial=0) if learned.any() else np.nan, nan_ok=True)


def test_neurons_at_equal_speeds_turn_as_they_should():
    """Equal speeds: 1/|b|_Sigma of eq. (21) is replaced by 1/(s |b|), s^2 the mean variance."""
    data = concentration(CONCENTRATION, STREAM, NOTHING_KEPT)
    for network, degrees, seed in (("BN, equal speeds", 30.0, 1), ("BN", 0.0, 0), ("BN, equal speeds", 0.0, 0)):
        (a, b), path = plain.signed(6, STREAM.generator(seed)), []
        for _ in range(10):
            path.append(plain.axis_angle(b))
            da, db, _ = plain.velocity(a, b, plain.linear(degrees))
            if network != "BN":
                norm = np.sqrt(np.einsum("mi,ij,mj->m", b, plain.COV, b))
                db = db * (norm / np.sqrt(3) / np.linalg.norm(b, axis=1))[:, None]
            a, b = a + 0.1 * da, b + 0.1 * db
        angles = data.axis_angle.sel(network=network, angle=degrees, start=seed)
        close(angles.transpose("iteration", "neuron"), np.array(path)[[0, 4, 9]], atol=1e-7)


FEATURES = sizes.FeatureLearning(
    dimension=4,
    width=6,
    smallest_step=1.0,
    largest_step=10.0,
    steps_per_decade=2,
    iterations=200,
    spread=4.0,
    seeds=2,
    step_of_a=0.6,
)
SPECTRA = {
    "|x1|, one large variance": ((5, 1, 1, 1), (1, 1)),
    "relu(x1), one large variance": ((5, 1, 1, 1), (1, 0)),
    "|x1|, half of the variances large": ((5, 5, 1, 1), (1, 1)),
    "|x1|, variances spread": (tuple(5.0 ** np.linspace(1, -1, 4)), (1, 1)),
}


@cache
def features():
    return feature_learning(FEATURES, STREAM, NOTHING_KEPT)


@pytest.mark.parametrize(
    ("task", "network", "start"),
    [
        ("|x1|, one large variance", "BN", 0),
        ("|x1|, one large variance", "BN, equal speeds", 1),
        ("relu(x1), one large variance", "vanilla", 1),
        ("relu(x1), one large variance", "BN, b frozen", 0),
        ("|x1|, half of the variances large", "BN, many lengths", 0),
        ("|x1|, half of the variances large", "vanilla, same function", 1),
        ("|x1|, variances spread", "vanilla, many lengths", 1),
        ("|x1|, variances spread", "BN, two lengths", 0),
        ("relu(x1), one large variance", "BN, many lengths, step of b", 0),
        ("|x1|, one large variance", "BN, step of b", 1),
    ],
)
def test_iterations_to_learn_a_single_index(task, network, start):
    variances, c = SPECTRA[task]
    cov, target = np.diag(variances), (np.array(c, float), np.array([np.eye(4)[0], -np.eye(4)[0]]))
    generator = STREAM.generator(start)
    b = generator.standard_normal((6, 4))
    many = generator.permutation(np.geomspace(1 / 4, 4, 6))
    two = generator.permutation(np.array([4.0, 1, 4, 1, 4, 1]))
    a, b = generator.choice([-1.0, 1.0], 6), b / np.linalg.norm(b, axis=1, keepdims=True)
    norm = np.sqrt(np.einsum("mi,ij,mj->m", b, cov, b))[:, None]
    lengths = {"many": many[:, None], "two": two[:, None], "same": 1 / norm}
    b = b * next((value for word, value in lengths.items() if word in network), 1.0)
    data, bn = features().sel(task=task, network=network, start=start), network.startswith("BN")
    tried = 10.0 ** ((np.arange(2) + STREAM.generator(start, "steps").random()) / 2)
    close(data.tried, tried)
    zero = 5 / 4 * np.sum(np.square(c))
    for place, step in enumerate(tried):
        moving, losses = (a, b), []
        with np.errstate(all="ignore"):
            for _ in range(201):
                da, db, loss = plain.velocity(*moving, target, bn=bn, cov=cov)
                losses.append(loss / zero)
                if "equal" in network:
                    own = np.sqrt(np.einsum("mi,ij,mj->m", moving[1], cov, moving[1]))
                    db = db * (own / np.sqrt(np.mean(variances)) / np.linalg.norm(moving[1], axis=1))[:, None]
                if "frozen" in network:
                    db = 0 * db
                of_a, of_b = (0.6, step / 1000) if "step of b" in network else (step, step)
                moving = (moving[0] + of_a * da, moving[1] + of_b * db)
                if not loss < 1e4 * max(losses[0] * zero, 1):
                    break
        for row, threshold in enumerate((0.03, 0.01)):
            below = np.flatnonzero(np.array(losses) <= threshold)
            needed = np.inf
            if len(below):
                k = below[0]
                part = np.log(threshold / losses[k]) / np.log(losses[k - 1] / losses[k]) if k else 0
                needed = k - part
            assert float(data.needed[place, row]) == pytest.approx(needed, rel=1e-5), (place, row)


def test_least_loss_with_frozen_directions():
    """Least squares in the closed form of the kernel, over the loss of f = 0; no lengths."""
    for task, start in (("|x1|, variances spread", 1), ("relu(x1), one large variance", 0)):
        variances, c = SPECTRA[task]
        b = STREAM.generator(start).standard_normal((6, 4))
        v = np.concatenate([b, [np.eye(4)[0], -np.eye(4)[0]]]) * np.sqrt(variances)
        norms = np.linalg.norm(v, axis=1)
        angle = np.arccos(np.clip(v @ v.T / np.outer(norms, norms), -1, 1))
        kernel = np.outer(norms, norms) * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
        cross, own = kernel[:6, 6:] @ c, np.array(c) @ kernel[6:, 6:] @ c
        least = (own - cross @ np.linalg.solve(kernel[:6, :6], cross)) / 2
        assert float(features().frozen.sel(task=task, start=start)) == pytest.approx(
            least / (1.25 * np.sum(np.square(c)))
        )


def test_constant_lengths_recomputed():
    """The first start, neuron by neuron, brought back to its length after each iteration."""
    r, h, losses, farthest = 0.1, 0.05, [], []
    a, b = plain.paired(8)
    b = r * b
    for _ in range(FIRST.iterations):
        da, db, loss = plain.velocity(a, b, plain.linear(0))
        moved = b + h * db
        cosine = np.sum(moved * b, axis=1) / (np.linalg.norm(moved, axis=1) * r)
        a, b = a + h * da, r * moved / np.linalg.norm(moved, axis=1)[:, None]
        losses.append(float(loss))
        farthest.append(np.degrees(np.arccos(cosine)).max())
    cell = figure_3().sel(radius=0.1, step=0.05).isel(start=0)
    close(cell["turn_quantile_kept"].sel(quantile=1.0), farthest, rtol=1e-6)
    close(cell["loss_growth_kept"][:-1], np.divide(losses[1:], losses[:-1]), rtol=1e-9)


TRIALS = {  # experiment, its settings, its dimension of trials, places of the first two independent trials
    "target_scan": (target_scan, SCAN, "seed", (0, 1)),
    "magnitudes": (magnitudes, MAGNITUDES, "start", (1, 2)),
    "first_step": (first_step, FIRST, "start", (1, 2)),
    "speed_ratio": (speed_ratio, ANISOTROPY, "start", (1, 2)),
    "learning_rates": (learning_rates, RATES, "start", (1, 2)),
    "feature_learning": (feature_learning, FEATURES, "start", (0, 1)),
    "concentration": (concentration, CONCENTRATION, "start", (0, 1)),
}


@pytest.mark.parametrize("name", TRIALS)
def test_trials_differ_and_do_not_depend_on_their_number(name):
    experiment, settings, dim, places = TRIALS[name]
    kept = {"checkpoint": NOTHING_KEPT} if "checkpoint" in inspect.signature(experiment).parameters else {}
    few, many = (experiment(settings.model_copy(update={"seeds": seeds}), STREAM, **kept) for seeds in (2, 3))
    drawn = [variable for variable in many.data_vars if dim in many[variable].dims]
    first, second = (many[drawn].isel({dim: place}, drop=True) for place in places)
    assert not first.equals(second)
    for place in places:
        xr.testing.assert_identical(many[drawn].isel({dim: place}), few[drawn].isel({dim: place}))


def test_a_run_that_diverged_has_no_turns_and_no_share_of_large_ones():
    """Four neurons in two runs, of which the second is lost in its last iteration: missing, not 0."""
    turns = np.array([[[5.0, 9.0, 11.0, 90.0], [0.0, 1.0, 2.0, 3.0]], [[0.0, 0.0, 0.0, 12.0], [np.nan] * 4]])
    found = _statistics(turns, ("later", "run"))
    np.testing.assert_array_equal(found["large_turns"], [[0.5, 0.0], [0.25, np.nan]])
    quantiles = found["turn_quantile"].values
    assert np.isnan(quantiles[:, 1, 1]).all()
    close(quantiles[[2, -1], 0], [[10.0, 1.5], [90.0, 3.0]])
    assert {array.attrs["missing"] for array in found.values()} == {"the run diverged"}
