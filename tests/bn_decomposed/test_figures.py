"""Every figure plots the dataset's numbers: curves, error bars and points recomputed from recorded shapes."""

import numpy as np
import pytest
from tests.titled import assert_shown, dataset_of

from repdyn.bn_decomposed.figures.full_rank import thm3_full_rank
from repdyn.bn_decomposed.figures.gaussian_layers import fig3_odd_point, fig6_activity, thm14_contraction
from repdyn.bn_decomposed.figures.random_networks import fig1_ablation, fig5_layer_angles, orthogonality_gap
from repdyn.bn_decomposed.figures.simplified_model import fig4_tree, thm11_limits
from repdyn.bn_decomposed.figures.training import disc_point_neurons, fig2_training
from repdyn.plotting.figures import style


def of_full_rank():
    data = dataset_of("bn_decomposed", "rows_to_full_rank")
    draws = np.arange(data.sizes["draw"])
    data["y"][:] = data["n"].values[:, None] + draws % 37 * (1 + np.arange(data.sizes["batch"]) % 4)[:, None]
    data["gamma"][:] = np.linspace(0.02, 0.3, data.sizes["batch"])
    data["bound"][:] = data["n"].values / data["gamma"].values
    mean = data["y"].values.mean(axis=1)
    points = [
        (0, data["bound"].values[own], mean[own])
        for own in (data["kind"].values == k for k in set(data["kind"].values))
    ]
    first = np.flatnonzero(data["kind"].values == "circle")[0]
    n, y = int(data["n"][first]), data["y"].values[first]
    d = np.arange(n - 1, y.max())
    return thm3_full_rank(data), [*points, (1, d, [(y > rows).mean() for rows in d])]


def of_contraction():
    data, fixed = dataset_of("bn_decomposed", "contraction"), dataset_of("bn_decomposed", "fixed_point")
    factor = data["factor"].mean("draw")
    curves = [(0, data["spread"], factor.sel(batch=n)) for n in data["batch"]]
    curves += [(1, fixed["batch"], fixed[name]) for name in ("odd_angle", "simplex_angle", "odd_intra_angle")]
    curves += [(1, fixed["batch"], fixed[f"iterated_{name}"]) for name in ("intra_angle", "odd_angle")]
    return thm14_contraction(data, fixed), curves


def of_odd_point():
    data = dataset_of("bn_decomposed", "odd_point")
    largest = data.sel(source="images", batch=data["batch"][-1])
    curves = [(p, data["layer"], largest[v].median("seed")) for p, v in ((2, "second_to_first"), (3, "intra_angle"))]
    limits = [(2, data["limit_layer"], largest["limit_second_to_first"].median("seed"))]
    return fig3_odd_point(data), curves + limits


def of_activity():
    data = dataset_of("bn_decomposed", "activity")
    figure = fig6_activity(data)
    for panel, kind in zip(figure.axes, ("without", "with"), strict=False):
        response = data["response"].sel(recentering=kind).values
        heights = [bar.get_height() for bar in panel.containers[0]]
        np.testing.assert_allclose(heights, np.histogram(response, 25, (0, 1))[0] / response.size)
    return figure, []


def of_ablation():
    """Of every combination all pairs of all draws once, those with the odd point apart."""
    data = dataset_of("bn_decomposed", "ablation")
    figure, last = fig1_ablation(data), data.isel(layer=-1)
    totals = [[sum(bar.get_height() for bar in bars) for bars in panel.containers] for panel in figure.axes]
    cells = [last.sel(recenter=c, rescale=s, relu=r)["with_odd"] for r in (0, 1) for c, s in
             ((0, "none"), (0, "std"), (0, "rms"), (1, "none"), (1, "std"))]  # fmt: skip
    wanted = sorted([int((cell == 0).sum()), int((cell == 1).sum())] for cell in cells)
    assert sorted(totals) == wanted
    return figure, []


def of_gap():
    data = dataset_of("bn_decomposed", "orthogonality_gap")
    gap = data["gap"].median("seed")
    curves = [
        (p, data["layer"], gap.sel(rescale=s, width=w)) for p, s in enumerate(("rms", "std")) for w in data["width"]
    ]
    return orthogonality_gap(data), curves


def of_angles():
    data, fixed = dataset_of("bn_decomposed", "layer_angles"), dataset_of("bn_decomposed", "fixed_point")
    mean = data["mean_angle"].mean("seed")
    curves = [(3, fixed["batch"], fixed[name]) for name in ("simplex_angle", "rms_angle")]
    curves += [(3, data["batch"], mean.sel(normalization=kind)) for kind in ("full", "rms")]
    n = int(data["batch"][np.argmin(np.abs(mean.sel(normalization="full").values - 75))])
    pairs = data.isel(pair=np.flatnonzero(data["pair_batch"] == n))
    clouds = [(p, *(pairs[name].sel(normalization=kind).values.ravel() for name in ("before", "after")))
              for p, kind in enumerate(("rms", "full"))]  # fmt: skip
    return fig5_layer_angles(data, fixed), curves + clouds


def of_tree():
    """Four layers below the batch 0, 1, 2, 5, 9; each row of the tree is a small axis around its place."""
    rows, layers = [np.array([0.0, 1.0, 2.0, 5.0, 9.0])], [0]
    for node in range(7):
        apart = rows[node] - rows[node].mean()
        rows += [np.maximum(apart, 0), np.maximum(-apart, 0)]
        layers += [layers[node] + 1] * 2
    data = dataset_of("bn_decomposed", "tree_example")
    data["value"][:], data["layer"][:] = rows, layers
    data["parent"][:] = [-1, *np.repeat(np.arange(7), 2)]
    data["mean"][:] = [row.mean() for row in rows]
    data["clusters"][:] = [len(np.unique(np.round(row, 9))) for row in rows]
    figure, points = fig4_tree(data), []
    for node, (row, layer) in enumerate(zip(rows, layers, strict=True)):
        center, half = (node + 1.5 - 2**layer) * 2 ** (3 - layer), (0.9, 0.9, 0.65, 0.4)[layer]
        points += list(center + half * (2 * row / row.max() - 1))
    singles = [line.get_xdata()[0] for line in figure.axes[0].get_lines() if len(line.get_xdata()) == 1]
    np.testing.assert_allclose(sorted(singles), sorted(points))
    return figure, []


def of_limits():
    data, angles = dataset_of("bn_decomposed", "tree_limits"), dataset_of("bn_decomposed", "interior_angles")
    sizes, gaussian = np.unique(data["points"]), data["kind"].values == "gaussian"
    best = np.minimum(data["ratio_first"], data["ratio_last"]), np.maximum(data["angle_first"], data["angle_last"])

    def medians(values, among=True):
        return [np.median(values.values[among & (data["points"].values == n)]) for n in sizes]

    curves = [(p, sizes, medians(values)) for p, values in enumerate(best)]
    curves += [(p, data["bound_points"], data[f"{kind}_{name}"]) for kind in ("printed", "sharp")
               for p, name in enumerate(("ratio", "angle"))]  # fmt: skip
    return thm11_limits(data, angles), [*curves, (3, sizes, medians(data["extremes"], gaussian))]


def of_training():
    data = {mode: dataset_of("bn_decomposed", f"training/{mode}") for mode in ("bn", "default", "he")}
    rank, final = ({m: d[v].median("seed") for m, d in data.items()} for v in ("effective_rank", "accuracy"))
    curves = [(p, shift * data[mode]["depth"], values) for mode, shift in (("bn", 1.1), ("default", 1.0), ("he", 0.9))
              for p, values in enumerate((final[mode].isel(epoch=-1), rank[mode]))]  # fmt: skip
    return fig2_training(data), [*curves, *((2, rank[m], final[m].isel(epoch=-1)) for m in data)]


def of_point_neurons():
    """Every scheme at its best rate."""
    data = dataset_of("bn_decomposed", "point_neurons")
    rates = data["rate"].values
    best = rates[np.arange(data.sizes["scheme"]) % rates.size]
    data = data.assign(best_rate=data["best_rate"].copy(data=best))
    at_best, place = data.sel(rate=data["best_rate"]), np.arange(data.sizes["scheme"])
    names = ("activity", "steps", "test_accuracy")
    return disc_point_neurons(data), [(p, at_best[name].median("seed"), place) for p, name in enumerate(names)]


CASES = [of_full_rank, of_contraction, of_odd_point, of_activity, of_ablation, of_gap, of_angles, of_tree, of_limits,
         of_training, of_point_neurons]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_plotted_numbers_are_those_of_the_dataset(case):
    with style():
        figure, curves = case()
    if curves:  # else the case itself has compared
        assert_shown((figure.axes[panel], x, y) for panel, x, y in curves)
