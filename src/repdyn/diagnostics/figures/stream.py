"""Energies along the residual stream, radial gradient fractions of normalized layers."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from repdyn.base.figures import CYCLE, describe, label_panels, legend_below, new, style
from repdyn.base.wording import number, outcome
from repdyn.diagnostics.figures.shared import line, moments, name_layers, over_seeds, seeds_text, time_axis

SEEN = {
    "kinetic_energy": "energies against the blocks of the residual stream",
    "radial_fraction": "radial fractions of the normalized layers",
}


def draw_stream(profile: xr.Dataset) -> Figure:
    """Energies along the residual stream, and the radial gradient fraction in front of normalization layers.

    Raises:
        ValueError: the dataset has neither.
    """
    parts = [name for name in SEEN if name in profile]
    if not parts:
        raise ValueError("the dataset has no residual stream and no normalized layers; name `residual` when measuring")
    with style():
        figure, axes = new(1, len(parts), height=2.5)
        for panel, name in zip(axes[0], parts, strict=True):
            (_energy_panel if name == "kinetic_energy" else _radial_panel)(panel, profile)
        label_panels(axes)
    return describe(
        figure,
        title=_message(profile, parts),
        caption=f"{profile.attrs['title']}{seeds_text(profile)}. {' '.join(_words(profile)[name] for name in parts)}",
        alt="; ".join(SEEN[name] for name in parts).capitalize() + ".",
    )


def _words(data: xr.Dataset) -> dict[str, str]:
    """What the caption says of each part."""
    return {
        "kinetic_energy": r"Energies in the norm of $K + \gamma \|K\| I$ along the residual stream, "
        rf"$\gamma$ = {data.attrs['gamma']:g}.",
        "radial_fraction": "Radial gradient fraction: share of the gradient along a weight that normalization makes "
        r"free; 0 in the theory, which has no $\epsilon$.",
    }


def _message(data: xr.Dataset, parts: list[str]) -> str:
    """Whether energy falls along the residual stream at the last moment, and the largest radial share."""
    words = []
    if "kinetic_energy" in parts:
        energy = over_seeds(moments(data)[-1][-1]["kinetic_energy"])
        way = outcome(
            energy.isel(step_from=0) - energy.isel(step_from=-1), "falls", "rises", "changes in an unknown way"
        )
        words.append(f"kinetic energy {way} along the residual stream")
    if "radial_fraction" in parts:
        words.append(f"gradients are at most {number(data['largest_radial_fraction'].max(), '.1%')} radial")
    message = ", ".join(words)
    return message[0].upper() + message[1:]


def _energy_panel(panel: Axes, data: xr.Dataset) -> None:
    names = ("kinetic_energy", "potential_energy") if float(data["effective_depth"]) else ("kinetic_energy",)
    for label, color, _, moment in moments(data):
        for name, dash in zip(names, ("-", ":"), strict=False):
            words = f"{name.split('_')[0]}, {label}"
            line(panel, moment[name].rename(step_from="layer"), words, color, dash)
    name_layers(panel, data["step_from"].values.tolist())
    panel.set_ylim(bottom=0 if len(names) == 1 else None)
    panel.set_title("energy along the residual stream")
    panel.set_ylabel("energy, in dimensions")
    panel.legend(loc="lower right", ncols=2)  # the names of layers take the place below


def _radial_panel(panel: Axes, data: xr.Dataset) -> None:
    time = data.attrs.get("time")
    for color, layer in zip(CYCLE, data["normalized"].values[: len(CYCLE)], strict=False):
        values = over_seeds(data["largest_radial_fraction"].sel(normalized=layer))
        x = data[time] if time else np.zeros(1)
        panel.plot(x, np.atleast_1d(values), color=color, marker="o", markersize=3, label=layer)
    panel.set_yscale("log")
    panel.set_title("radial share of the gradient")
    panel.set_ylabel("largest over the rows")
    if time:
        time_axis(panel, data[time], time)
    else:
        panel.set_xticks([])
    legend_below(panel, columns=2)
