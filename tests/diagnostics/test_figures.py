"""The lines of every figure of a measured network are the numbers of its dataset."""

import numpy as np
import pytest
import torch
import xarray as xr
from tests.made_up_cells import dataset
from torch import nn

from repdyn.diagnostics.compare import compare
from repdyn.diagnostics.figures.depth import draw_depth
from repdyn.diagnostics.figures.held_out import draw_held_out
from repdyn.diagnostics.figures.pairs import draw_pairs
from repdyn.diagnostics.figures.similarity import draw_similarity
from repdyn.diagnostics.figures.stream import draw_stream
from repdyn.diagnostics.figures.training import draw_training
from repdyn.diagnostics.page import draw_all

LAYERS = ["input", "a", "b", "c"]
LABELS = {
    "layer": LAYERS, "quantile": [0.05, 0.25, 0.5, 0.75, 0.95], "class": range(4), "point": range(9),
    "step_from": LAYERS[:3], "normalized": ["a", "c"], "step": [0, 10, 40], "seed": range(3),
}  # fmt: skip
OF_LAYERS = ("norm_ratio", "centered_effective_rank", "effective_rank", "stable_cost_of_identity", "nuclear_rank",
             "numerical_rank", "nc1", "equiangle")  # fmt: skip


def measured():
    """What `Recorder` gives for three seeds, a different number in every cell."""
    variables = dict.fromkeys(OF_LAYERS, "layer step seed")
    variables |= {"angle": "layer quantile step seed", "units_truncating_all": "layer class step seed"}
    variables |= {"sectors": "layer class step seed", "norm": "layer point step seed"}
    variables |= {"loss": "step seed", "accuracy": "step seed"}
    variables |= dict.fromkeys(("kinetic_energy", "potential_energy"), "step_from step seed")
    variables |= dict.fromkeys(("radial_fraction", "largest_radial_fraction"), "normalized step seed")
    data = dataset(LABELS, variables, effective_depth=0.5)
    data["angle"] = data["angle"].copy(data=np.sort(data["angle"] / 10, axis=1))
    for name, value in {
        "expected_angle": 1.45,
        "expected_norm_ratio": 5.5,
        "task_rank": 4,
        "centered_task_rank": 3,
    }.items():
        data[name] = (), value
    data["loss"].attrs["long_name"] = "loss"
    return data.assign_attrs(title="Made up", gamma=0.001, normalized_by="batch statistics", time="step")


def fitted():
    """What `effective_theory.fit` gives for four pairs and two seeds."""
    variables = {f"{name}_measured": "pair seed step" for name in "hyw"} | {
        f"{name}_theory": "pair seed moment" for name in "hyw"
    }
    labels = {"pair": ["0-1", "0-2", "1-2", "2-3"], "seed": [0, 1], "step": [0, 10, 40], "moment": range(6)}
    data = dataset(labels | {"curve": ["h", "y", "w"]}, variables | {"explained": "pair seed curve"})
    return data.assign_attrs(layer="a")


def missing(figure, expected):
    """Values, by panel, that no line of the panel has."""
    lost = []
    for panel, values in expected:
        lines = [np.asarray(line.get_ydata(), float) for line in figure.axes[panel].get_lines()]
        values = np.atleast_1d(values)
        if not any(line.shape == values.shape and np.allclose(line, values) for line in lines):
            lost.append((panel, values, lines))
    return lost


def ends(data, name):
    """Means over seeds at the first and the last moment."""
    return [data[name].mean("seed").isel(step=place).values for place in (0, -1)]


def test_lines_are_the_means_over_seeds_of_the_dataset():
    data = measured()
    degrees = np.degrees(data["angle"].sel(quantile=0.5, drop=True))
    depth = [(0, values) for values in ends(xr.Dataset({"angle": degrees}), "angle")]
    for panel, name in enumerate(("norm_ratio", "centered_effective_rank", "stable_cost_of_identity", "nc1"), 1):
        depth += [(panel, values) for values in ends(data, name)]
    depth += [(4, values) for values in ends(data, "equiangle")]
    depth += [(5, values) for values in ends(data.mean("class"), "units_truncating_all")]
    assert missing(draw_depth(data), depth) == []
    training = [
        (panel, data[name].mean("seed").sel(layer=layer))
        for panel, name in enumerate(("effective_rank", "stable_cost_of_identity", "nc1"))
        for layer in LAYERS
    ]
    training += [(3, data[name].mean("seed")) for name in ("loss", "accuracy")]
    assert missing(draw_training(data), training) == []
    stream = [(0, values) for kind in ("kinetic", "potential") for values in ends(data, f"{kind}_energy")]
    stream += [(1, data["largest_radial_fraction"].mean("seed").sel(normalized=name)) for name in ("a", "c")]
    assert missing(draw_stream(data), stream) == []


def test_pairs_go_from_the_best_to_the_worst_explained():
    fit = fitted()
    first = fit.isel(seed=0)
    order = first["pair"].values[np.argsort(-first["explained"].mean("curve").values)]
    figure = draw_pairs(measured(), fit)
    rows = [order[0], order[2], order[3]]  # 1.5 is rounded to even
    curves = [
        (3 * row + column, first[f"{curve}_{kind}"].sel(pair=pair))
        for row, pair in enumerate(rows)
        for column, curve in enumerate("hyw")
        for kind in ("measured", "theory")
    ]
    assert missing(figure, curves) == []
    explained = [(-1, fit["explained"].sel(curve=curve).values.ravel()) for curve in "hyw"]
    explained += [(-1, [float(fit["explained"].sel(curve=curve).median())] * 2) for curve in "hyw"]
    assert missing(figure, explained) == []


def test_held_out_points_are_plotted_next_to_the_points():
    names = {"loss": "step", "accuracy": "step", "effective_rank": "step layer", "within_over_between": "step layer"}
    variables = names | {f"{name}_held_out": dims for name, dims in names.items()}
    labels = {"layer": LAYERS, "step": [0, 10, 40], "point_held_out": range(5)}
    data = dataset(labels, variables).assign_attrs(title="Made up", time="step")
    both = [(panel, f"{name}{end}") for panel, name in enumerate(names) for end in ("", "_held_out")]
    wanted = [(panel, data[name].isel(step=-1) if "layer" in data[name].dims else data[name]) for panel, name in both]
    assert missing(draw_held_out(data), wanted) == []
    with pytest.raises(ValueError, match="held-out"):
        draw_held_out(measured())


def test_the_heat_map_has_the_layers_along_x_and_those_of_the_other_network_along_y():
    torch.manual_seed(0)
    networks = [nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)) for _ in range(4)]
    found = compare(networks[0], networks[1], torch.randn(20, 4), reruns=networks[2:]).drop_sel(other_layer="1")
    figure = draw_similarity(found, "cka")
    (image,) = figure.axes[0].images
    np.testing.assert_array_equal(image.get_array(), found["cka"].transpose("other_layer", "layer"))
    same = [float(found["cka"].sel(layer=name, other_layer=name)) for name in ("input", "0", "2")]
    assert missing(figure, [(1, found["cka_of_runs"].mean("runs")), (1, same)]) == []
    with pytest.raises(ValueError, match=r"ckaa.*cka"):
        draw_similarity(found, "ckaa")


ALL = {"through_depth", "through_training", "residual_stream"}


def test_figures_whose_measures_are_missing_are_left_out(monkeypatch):
    for name in ("depth", "training", "stream"):
        monkeypatch.setattr(f"repdyn.diagnostics.page.draw_{name}", lambda _data, name=name: name)
    data = measured()
    for without, drawn in (
        ([], ALL),
        (["angle"], ALL - {"through_depth"}),
        (["effective_rank"], ALL - {"through_training"}),
        (["stable_cost_of_identity"], {"residual_stream"}),
        (["kinetic_energy"], ALL),
        (["kinetic_energy", "radial_fraction"], ALL - {"residual_stream"}),
    ):
        fewer = data.drop_vars(without)
        assert set(draw_all(fewer)) == drawn, without
        assert set(draw_all(fewer.isel(step=[0]))) == drawn - {"through_training"}, without
