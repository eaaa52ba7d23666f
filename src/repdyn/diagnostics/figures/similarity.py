"""Heat map of the similarity of layers, with what chance does between runs of one network."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.diagnostics.figures.shared import SHADE, layer_ticks, name_layers
from repdyn.diagnostics.theory.similarity import ON_REQUEST
from repdyn.plotting.figures import BLUE, ORANGE, Drawn, figure, label_panels, new, style

BEST = {"cka": 1.0, "cka_debiased": 1.0, "procrustes": 0.0, "angular": 0.0} | dict.fromkeys(ON_REQUEST, 1.0)


@figure(
    title="Similarity of the layers of two networks",
    caption="(a) Every two layers on the same points. (b) With reruns: the same layer in both networks; band: range "
    "over pairs of runs of one network.",
    alt="Heat map of the similarity of the layers of two networks.",
)
def draw_similarity(similarity: xr.Dataset, name: str = "cka_debiased") -> Drawn:
    """Layers of two networks against each other; with reruns a second panel, same layers against the band of chance.

    Args:
        similarity: dataset of `compare`.
        name: a measure that was compared.

    Raises:
        ValueError: another name, or one that was not compared.
    """
    if name not in similarity:
        there = ", ".join(known for known in BEST if known in similarity)
        raise ValueError(f"no similarity {name!r} in this dataset; give one of {there}")
    with style():
        chance = f"{name}_of_runs" in similarity
        drawn, axes = new(1, 2 if chance else 1, height=3.0, width=6.9 if chance else 4.0)
        _heat_panel(drawn, axes[0, 0], similarity[name])
        if chance:
            _chance_panel(axes[0, 1], similarity, name)
            label_panels(axes)
    return Drawn(drawn, {"dataset": similarity.attrs["title"], "measure": similarity[name].attrs["long_name"]})


def _heat_panel(figure: Figure, panel: Axes, values: xr.DataArray) -> None:
    best = BEST[str(values.name)]
    shown = panel.imshow(
        values.transpose("other_layer", "layer"), origin="lower", cmap="cividis" if best else "cividis_r", aspect="auto"
    )
    figure.colorbar(shown, ax=panel, label=values.attrs["long_name"])
    name_layers(panel, values["layer"].values.tolist())
    panel.set_yticks(*layer_ticks(values["other_layer"].values.tolist()))
    panel.set_xlabel("layer")
    panel.set_ylabel("other layer")
    panel.set_title("every layer with every other")


def _chance_panel(panel: Axes, data: xr.Dataset, name: str) -> None:
    names = data["layer"].values
    runs, x = data[f"{name}_of_runs"], np.arange(len(names))
    panel.fill_between(x, runs.min("runs"), runs.max("runs"), **SHADE, label="two runs of one network")
    panel.plot(x, runs.mean("runs"), color=ORANGE, linestyle="--", label="their mean")
    shared = [layer for layer in names if layer in data["other_layer"].values]
    same = [float(data[name].sel(layer=layer, other_layer=layer)) for layer in shared]
    places = [names.tolist().index(layer) for layer in shared]
    panel.plot(places, same, color=BLUE, marker="o", markersize=3, label="the two networks")
    name_layers(panel, names.tolist())
    panel.set_title("same layer, and chance")
    panel.set_ylabel(data[name].attrs["long_name"])
    panel.legend(loc="upper left", bbox_to_anchor=(1, 1))
