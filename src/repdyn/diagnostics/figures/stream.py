"""Energies along the residual stream, radial gradient fractions of normalized layers."""

from __future__ import annotations

import xarray as xr
from matplotlib.axes import Axes

from repdyn.diagnostics.figures.shared import dots_over_time, line, literal, moments, name_layers, over_seeds, run_facts
from repdyn.plotting.figures import CYCLE, Drawn, figure, label_panels, legend_below, new, style

WORDS = {
    "title": "Energies along the residual stream and radial share of gradients",
    "caption": r"Energies in the norm of $K + \gamma \|K\| I$ along the residual stream, where one is named. Radial "
    "gradient fraction of each normalized map: largest share of the gradient along a weight that normalization makes "
    r"free; 0 in the theory, which has no $\epsilon$.",
    "alt": "Energies against the blocks of the residual stream; radial fractions of the normalized layers.",
}


@figure(**WORDS)
def draw_stream(profile: xr.Dataset) -> Drawn:
    """Energies along the residual stream, and the radial gradient fraction in front of normalization layers.

    Raises:
        ValueError: the dataset has neither.
    """
    parts = [name for name in PANELS if name in profile]
    if not parts:
        raise ValueError("the dataset has no residual stream and no normalized layers; name `residual` when measuring")
    with style():
        drawn, axes = new(1, len(parts), height=2.5)
        for panel, name in zip(axes[0], parts, strict=True):
            PANELS[name](panel, profile)
        label_panels(axes)
    facts: dict[str, float] = {}
    if "kinetic_energy" in parts:
        energy = over_seeds(moments(profile)[-1][-1]["kinetic_energy"]).values
        facts = {"kinetic energy of the first step": energy[0], "kinetic energy of the last step": energy[-1]}
        facts[r"regularizer $\gamma$"] = profile.attrs["gamma"]
    if "radial_fraction" in parts:
        facts["largest radial share"] = float(profile["largest_radial_fraction"].max())
    return Drawn(drawn, run_facts(profile) | facts)


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
    for color, layer in zip(CYCLE, data["normalized"].values[: len(CYCLE)], strict=False):
        values = data["largest_radial_fraction"].sel(normalized=layer)
        dots_over_time(panel, data, values, color=color, label=literal(str(layer)))
    panel.set_yscale("log")
    panel.set_title("radial share of the gradient")
    panel.set_ylabel("largest over the rows")
    legend_below(panel, columns=2)


PANELS = {"kinetic_energy": _energy_panel, "radial_fraction": _radial_panel}
