"""Every figure plots the dataset's numbers: curves, bands and points recomputed from recorded shapes."""

import numpy as np
import pytest
from tests.bn_mean_field.made_up import rates
from tests.bn_mean_field.test_recomputed_descents import ANISOTROPY, CONCENTRATION, FEATURES, MAGNITUDES, SCAN, STREAM
from tests.titled import assert_shown, dataset_of

from repdyn.base.checkpoints import Checkpoint
from repdyn.bn_mean_field.experiments.anisotropy import anisotropy
from repdyn.bn_mean_field.experiments.concentration import concentration
from repdyn.bn_mean_field.experiments.feature_learning import feature_learning
from repdyn.bn_mean_field.experiments.magnitudes import magnitudes
from repdyn.bn_mean_field.experiments.target_scan import target_scan
from repdyn.bn_mean_field.figures.batch_statistics import batches_and_eps
from repdyn.bn_mean_field.figures.first_steps import fig3_first_step
from repdyn.bn_mean_field.figures.learning_speed import learning_over_steps, matched_loss, speeds_over_targets
from repdyn.bn_mean_field.figures.manifold import round_manifold
from repdyn.bn_mean_field.figures.neuron_directions import directions_over_time, fig1_anisotropy, fig2_magnitudes
from repdyn.bn_mean_field.figures.particle_limit import equicontinuity_bounds, global_minimum, mean_field_limit
from repdyn.bn_mean_field.figures.switched_off import parts_switched_off
from repdyn.plotting.figures import style


def of_anisotropy():
    """Speeds over the angle at the iteration that is read, BN and vanilla, and the last directions of vanilla."""
    data = anisotropy(ANISOTROPY).sel(target="y = x1")
    figure, curves = fig1_anisotropy(anisotropy(ANISOTROPY)), []
    for model in ("BN", "vanilla"):
        cell = data.sel(model=model)
        order = np.argsort(cell["angle"].sel(iteration=5).values)
        degrees = np.degrees(cell["angle"].sel(iteration=5).values[order])
        (panel,) = (p for p, a in enumerate(figure.axes) if a.get_title("left").endswith(f"{model}, iteration 5"))
        curves.append((panel, degrees, cell["speed"].values[order]))
    last = data.sel(model="vanilla").isel(iteration=-1)
    for sign, side in ((1, 1.0), (-1, 1.12)):
        angle = last["angle"].values[np.sign(last["a"].values) == sign]
        (*_, panel) = (p for p, axes in enumerate(figure.axes) if axes.get_title().startswith("iteration"))
        curves.append((panel, side * np.cos(angle), side * np.sin(angle)))
    return figure, curves


def of_directions():
    """Medians over neurons, of both models and targets; of short and long neurons over starts after the first."""
    first, second, curves = dataset_of("bn_mean_field", "anisotropy"), dataset_of("bn_mean_field", "magnitudes"), []
    for panel, target in enumerate(("y = x1", "y = x2")):
        angle = first["axis_angle"].sel(target=target).median("neuron")
        curves += [(panel, first["iteration"], angle.sel(model=model)) for model in ("BN", "vanilla")]
    pooled = second["axis_angle"].isel(start=slice(1, None)).median(("start", "neuron"))
    curves += [(2, second["iteration"], pooled.sel(radius=radius)) for radius in second["radius"]]
    return directions_over_time(first, second), curves


def of_magnitudes():
    """Small neurons inside of large ones at the last iteration, and how many are near the axis."""
    data = magnitudes(MAGNITUDES, STREAM)
    figure = fig2_magnitudes(data)
    large, small = figure.axes[5].collections
    for lines, radius, inner, outer in ((large, 10.0, 0.78, 1.0), (small, 1.0, 0.0, 0.72)):
        angle = data["angle"].isel(start=0, iteration=-1).sel(radius=radius).values
        toward = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        ends = np.array(lines.get_segments())
        np.testing.assert_allclose(ends, np.stack([inner * toward, outer * toward], axis=1), atol=1e-15)
    near = data["near"].isel(start=slice(1, None)).mean("start")
    return figure, [(-1, data["iteration"], near.sel(radius=radius)) for radius in (1.0, 10.0)]


def of_first_step():
    data = dataset_of("bn_mean_field", "first_step")
    start, step = data.isel(start=0, step=-1), float(data["step"][-1])
    after, r = start["norm"].sel(iteration=1).median("neuron"), data["radius"].values
    figure, g = fig3_first_step(data), float(start["gradient"].median())
    law = next(line.get_xdata() for line in figure.axes[0].get_lines() if line.get_label() == "law of BN")
    curves = [(0, r, after.sel(model=model)) for model in ("BN", "vanilla")]
    curves.append((0, law, np.sqrt(law**2 + (step * g / law) ** 2)))
    for words, quantile in (("median", 0.5), ("largest", 1.0)):
        (panel,) = (p for p, a in enumerate(figure.axes) if a.get_title("left").endswith(f"turns, {words} neuron"))
        turns = start["turn_quantile"].sel(model="BN", quantile=quantile)
        curves += [(panel, data["later"], turns.sel(radius=radius)) for radius in (0.001, 0.01, 0.1, 1.0)]
    return figure, curves


def of_losses():
    data = dataset_of("bn_mean_field", "minimization")
    good = data.isel(start=np.flatnonzero(data["separates"]))
    rows = [good.isel(start=place) for place in range(good.sizes["start"])]
    curves = [(0, row["time"][1:], row["relative_loss"][1:]) for row in rows]
    figure, last = global_minimum(data), data["relative_loss"].isel(frame=-1).values
    ends = np.concatenate([line.get_xydata() for line in figure.axes[1].get_lines()])
    np.testing.assert_allclose(ends[np.argsort(ends[:, 1])][:, 0], last)
    return figure, [(p, np.ravel(x), np.ravel(y)) for p, x, y in curves]


def of_learning():
    data = rates()
    needed = data["needed"].isel(start=slice(1, None)).median("start")
    return learning_over_steps(data), [(0, data["step"], needed.sel(network=name)) for name in data["network"]]


def of_targets():
    data = target_scan(SCAN, STREAM)
    medians = (10 ** data[["outer_contrast", "contrast"]]).median("seed")
    curves = [(0, data["angle"], medians[name]) for name in medians]
    for panel, target in ((1, 0.0), (2, 90.0)):
        cell = data.sel(angle=target)
        curves.append((panel, cell["axis_angle"].values.ravel(), cell["speed"].values.ravel()))
    return speeds_over_targets(data), curves


def of_parts():
    """Iterations at each step that learns, and neurons near the axis with equal speeds."""
    learned = feature_learning(FEATURES, STREAM, Checkpoint(None, ""))
    gathered, curves = concentration(CONCENTRATION, STREAM, Checkpoint(None, "")), []
    for name in ("BN", "BN, equal speeds", "vanilla"):
        needed = learned["needed"].isel(task=0, threshold=0).sel(network=name).transpose("start", "step").values
        curves.append((0, learned["tried"].values[np.isfinite(needed)], needed[np.isfinite(needed)]))
    near = gathered["axis_angle"].sel(angle=90.0, network="BN, equal speeds") < 15
    return parts_switched_off(learned, gathered), [*curves, (1, gathered["iteration"], near.mean(("start", "neuron")))]


def of_ratios():
    """At equal iteration and at equal loss: every step, and both other problems at the paper's."""
    data, curves = dataset_of("bn_mean_field", "speed_ratio"), []
    for panel, name in enumerate(("ratio", "matched_ratio")):
        first = data.isel(start=0)[name]
        curves += [(panel, data["iteration"], first.sel(problem="y = x1", step=step)) for step in data["step"][:4]]
        others = first.sel(step=float(data["paper_step"]))
        curves += [(panel, data["iteration"], others.sel(problem=p)) for p in ("y = x2", "y = x1, Sigma = I")]
    return matched_loss(data), curves


def of_widths():
    """Means over runs of all starts and targets, at two widths; that of the reference is not plotted."""
    data = dataset_of("bn_mean_field", "propagation_distances")
    runs = np.arange(data.sizes["run"])
    start = np.array(["low discrepancy", "i.i.d."])[runs % 2]
    target = np.array(["equal signs", "opposite signs"])[runs // 2 % 2]
    width = np.array([8, 32, int(data["reference"])])[runs // 4 % 3]
    data = data.assign_coords(start=("run", start), target=("run", target), width=("run", width))
    columns = (("low discrepancy", "distance"), ("i.i.d.", "distance"), ("low discrepancy", "loss_gap"))
    curves = []
    for panel in range(6):
        which, name = columns[panel % 3]
        own = (start == which) & (target == ("equal signs", "opposite signs")[panel // 3])
        means = [data[name].transpose("run", "time").values[own & (width == w), 0].mean() for w in (8, 32)]
        curves.append((panel, [8, 32], means))
    return mean_field_limit(data), curves


def of_bounds():
    """Pairs of times from those with exact transport, and rates over the rate at which the loss falls."""
    data = dataset_of("bn_mean_field", "equicontinuity")
    known = np.isin(np.arange(data.sizes["time"]), (0, 2))
    data["w2"] = data["w2"].where(data["time"].copy(data=known))
    names = ("bound", "coupled", "w2", "bound_printed")
    curves = [(p, data["later"], data[name].isel(time=k)) for p, k in ((0, 0), (1, 2)) for name in names]
    rate = [(2, data["frame"], data[name] / data["rate"]) for name in ("rate_metric", "rate_euclidean")]
    return equicontinuity_bounds(data), curves + rate


def of_metric():
    data = dataset_of("bn_mean_field", "metric_audit")
    points = data["tick_position"].values
    curves = [(0, *points.T), (1, *(points.T / np.hypot(*points.T)))]
    for condition in data["condition"].values[:3]:
        cell = data.sel(condition=condition).transpose("dimension", "draw", ...)
        curves.append((2, *(cell[name].values.ravel() for name in ("alignment", "smallest"))))
    return round_manifold(data), curves


def of_batches():
    """Means over groups, and radial fractions of every network with eps."""
    finite, eps = dataset_of("bn_mean_field", "finite_batch"), dataset_of("bn_mean_field", "batch_norm_eps")
    curves = [(0, finite["batch"], finite[name].mean("group")) for name in ("noise", "bias")]
    radial = eps["radial"].sel(with_eps=1)
    return batches_and_eps(finite, eps), [*curves, *((1, eps["radius"], radial.sel(draw=k)) for k in eps["draw"])]


CASES = [of_anisotropy, of_directions, of_magnitudes, of_first_step, of_losses, of_learning, of_targets, of_parts,
         of_ratios, of_widths, of_bounds, of_metric, of_batches]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_plotted_numbers_are_those_of_the_dataset(case):
    with style():
        figure, curves = case()
    assert_shown((figure.axes[panel], x, y) for panel, x, y in curves)
