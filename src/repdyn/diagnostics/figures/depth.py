"""Figures of any dataset that `measure` or a `Recorder` made, with what the theory says behind.

    from repdyn.diagnostics import plots

    plots.through_depth(found).savefig("depth.png")

With a dimension of training the first and last moments are compared; with a dimension `seed` lines are means and bands
the range of the seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from repdyn.base.figures import BLACK, BLUE, CYCLE, GREEN, ORANGE, RED, SKY, band, describe, label_panels, new, style
from repdyn.bn_decomposed.theory.odd_cluster import odd_fixed_point, simplex_angle

MOST_TICKS = 16
THEORY = {"color": BLACK, "linewidth": 0.9, "linestyle": (0, (4, 2))}
SHADE = {"color": SKY, "alpha": 0.25, "linewidth": 0}


def through_depth(found: xr.Dataset) -> Figure:
    """Angles, odd point, ranks and cost of identity layer by layer; with labels collapse and sectors.

    Args:
        found: dataset of `measure`, or of `Recorder.dataset`.

    Returns:
        Figure in the house's style, to be saved by `savefig` or `base.figures.save`.
    """
    with style():
        classes = "within_over_between" in found
        figure, axes = new(3 if classes else 2, 2, height=2.15)
        flat = axes.ravel()
        _angle_panel(flat[0], found)
        _odd_panel(flat[1], found)
        _rank_panel(flat[2], found)
        _cost_panel(flat[3], found)
        if classes:
            _collapse_panel(flat[4], found)
            _sector_panel(flat[5], found)
        for panel in flat:
            _name_layers(panel, found["layer"].values)
        for panel in flat[:-2]:
            panel.set_xticklabels([])
        label_panels(axes)
        return _described_depth(figure, found)


def _moments(found: xr.Dataset) -> list[tuple[str, str, str, xr.Dataset]]:
    """Label, colour, dash and dataset of the moments to show: the only one, or the first and the last."""
    time = found.attrs.get("time")
    if time is None:
        return [("measured", BLUE, "-", found)]
    first, last = found.isel({time: 0}), found.isel({time: -1})
    return [
        (f"{time} {float(found[time][0]):g}", ORANGE, "--", first),
        (f"{time} {float(found[time][-1]):g}", BLUE, "-", last),
    ]


def _line(panel: Axes, values: xr.DataArray, label: str, colour: str, dash: str, marker: str = "o") -> None:
    """Mean over seeds against depth, with their range."""
    x = np.arange(values.sizes["layer"])
    if "seed" in values.dims:
        values = values.transpose("layer", "seed")
        band(panel, x, values.min("seed").values, values.max("seed").values, color=colour)
        values = values.mean("seed")
    panel.plot(x, values.values, color=colour, linestyle=dash, marker=marker, markersize=3, label=label)


def _angle_panel(panel: Axes, found: xr.Dataset) -> None:
    n = found.sizes["point"]
    for label, colour, dash, one in _moments(found):
        degrees = np.degrees(one["angle"])
        middle, low, high = (degrees.sel(quantile=q) for q in (0.5, 0.05, 0.95))
        if "seed" in low.dims:
            low, high = low.mean("seed"), high.mean("seed")
        band(panel, np.arange(low.sizes["layer"]), low.values, high.values, color=colour)
        _line(panel, middle, label, colour, dash)
    panel.axhline(np.degrees(simplex_angle(n)), **THEORY, label=f"simplex of {n} points")
    panel.set_title("angles between points")
    panel.set_ylabel("angle [degrees]")
    panel.legend()


def _odd_panel(panel: Axes, found: xr.Dataset) -> None:
    n = found.sizes["point"]
    for label, colour, dash, one in _moments(found):
        _line(panel, one["norm_ratio"], label, colour, dash)
    if n >= 3 and (odd := odd_fixed_point(n)):
        panel.axhline((n - 1) / odd.norm_ratio, **THEORY, label="odd point, fixed point")
    panel.set_yscale("log")
    panel.set_title("odd point")
    panel.set_ylabel("largest / second norm")
    panel.legend()


def _rank_panel(panel: Axes, found: xr.Dataset) -> None:
    for label, colour, dash, one in _moments(found):
        _line(panel, one["centred_effective_rank"], label, colour, dash)
    if "centred_task_rank" in found:
        low, high = (float(found[name].min()) for name in ("centred_task_rank", "task_rank"))
        panel.axhspan(low, max(high, low + 0.5), **SHADE, label="rank of the task")
    panel.set_yscale("log", base=2)
    panel.set_title("effective rank, centred")
    panel.set_ylabel("effective rank")
    panel.legend()


def _cost_panel(panel: Axes, found: xr.Dataset) -> None:
    for label, colour, dash, one in _moments(found):
        _line(panel, one["stable_cost_of_identity"], label, colour, dash)
    last = _moments(found)[-1][-1][["nuclear_rank", "numerical_rank"]]
    last = last.mean("seed") if "seed" in last.dims else last
    x = np.arange(found.sizes["layer"])
    panel.fill_between(
        x, last["nuclear_rank"], last["numerical_rank"], **SHADE, label="between nuclear and numerical rank"
    )
    panel.set_yscale("log")
    panel.set_title("stable cost of identity")
    panel.set_ylabel("cost, in dimensions")
    panel.legend()


def _collapse_panel(panel: Axes, found: xr.Dataset) -> None:
    for label, colour, dash, one in _moments(found):
        _line(panel, one["within_over_between"], f"NC1, {label}", colour, dash)
        _line(panel, one["equiangle"], f"NC2, {label}", colour, ":", marker="^")
    panel.set_yscale("log")
    panel.set_title("collapse of classes")
    panel.set_ylabel("distance from collapse")
    panel.legend(ncols=2)


def _sector_panel(panel: Axes, found: xr.Dataset) -> None:
    for label, colour, dash, one in _moments(found):
        share = one["units_truncating_all"]
        share = share.mean("seed") if "seed" in share.dims else share
        x = np.arange(share.sizes["layer"])
        band(panel, x, share.min("class").values, share.max("class").values, color=colour)
        panel.plot(x, share.mean("class").values, color=colour, linestyle=dash, marker="o", markersize=3, label=label)
    panel.set_ylim(bottom=0)
    panel.set_title("units that truncate a whole class")
    panel.set_ylabel("share of units")
    panel.legend()


def _name_layers(panel: Axes, names: Sequence[str]) -> None:
    every = -(-len(names) // MOST_TICKS)
    panel.set_xticks(range(0, len(names), every), names[::every], rotation=60, ha="right", rotation_mode="anchor")


def _described_depth(figure: Figure, found: xr.Dataset) -> Figure:
    return describe(
        figure,
        title="A network through its depth, as the papers measure it",
        caption=f"{found.attrs['title']}: {found.sizes['point']} points, normalised by {found.attrs['normalised_by']}"
        f"{_seeds(found)}. (a) Angles between points, median and 5 to 95 % of the pairs; dashed: the symmetric fixed "
        "point of wide networks with batch normalisation and ReLU. (b) Largest norm over the second; dashed: the fixed "
        "point with one odd point. (c) Effective rank without the mean; band: rank of the targets. (d) Stable cost of "
        f"identity at gamma = {found.attrs['gamma']:g} |K|; band: nuclear to numerical rank at the last moment."
        + (
            " (e) Variance within over between classes (NC1) and deviation of the class means from a simplex (NC2). "
            "(f) Units that are at most zero on all points of a class: mean over classes, band: range of the classes."
            if "within_over_between" in found
            else ""
        ),
        alt="Panels of angles, norms, ranks and costs against the layers of a network"
        + (", before and after training." if "time" in found.attrs else "."),
    )


def _seeds(found: xr.Dataset) -> str:
    if "seed" not in found.dims:
        return ""
    return f"; means over {found.sizes['seed']} seeds, bands without another meaning are their range"


def through_training(recorded: xr.Dataset) -> Figure:
    """Ranks, collapse and loss against training, one line per layer.

    Args:
        recorded: dataset of `Recorder.dataset`.

    Raises:
        ValueError: the dataset has one moment only.
    """
    time = _time_of(recorded)
    with style():
        panels = {"effective_rank": "effective rank", "stable_cost_of_identity": "stable cost of identity"}
        panels |= {"within_over_between": "NC1: within / between"} if "within_over_between" in recorded else {}
        wide = len(panels) + ("loss" in recorded)
        figure, axes = new(2 if wide > 2 else 1, 2, height=2.1)
        flat = axes.ravel()
        for panel in flat[wide:]:
            panel.set_visible(False)
        colours = mpl.colormaps["cividis"](np.linspace(0, 0.92, recorded.sizes["layer"]))
        for panel, (name, title) in zip(flat, panels.items(), strict=False):
            values = recorded[name].mean("seed") if "seed" in recorded[name].dims else recorded[name]
            for colour, layer in zip(colours, recorded["layer"].values, strict=True):
                panel.plot(recorded[time], values.sel(layer=layer), color=colour, label=layer)
            panel.set_yscale("log", base=2 if name == "effective_rank" else 10)
            panel.set_title(title)
        if "task_rank" in recorded:
            low, high = (float(recorded[name].min()) for name in ("centred_task_rank", "task_rank"))
            flat[0].axhspan(low, max(high, low + 0.5), **SHADE)
            _loss_panel(flat[wide - 1], recorded, time)
        for panel in flat[:wide]:
            _time_axis(panel, recorded[time], time)
        figure.legend(*flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=6.5)
        label_panels(flat[:wide])
    return describe(
        figure,
        title="A network through its training, as the papers measure it",
        caption=f"{recorded.attrs['title']}, measured at {recorded.sizes[time]} moments{_seeds(recorded)}. One line "
        "per layer, dark to light from input to output; band: rank of the task."
        + (" Last panel: loss against the targets." if "loss" in recorded else ""),
        alt="Lines of rank, cost of identity and collapse per layer against training.",
    )


def _note_explained(panel: Axes, explained: xr.DataArray) -> None:
    value = float(explained.isel(seed=0) if "seed" in explained.dims else explained)
    panel.text(0.97, 0.03, f"R² = {value:.2f}", transform=panel.transAxes, ha="right", va="bottom", fontsize=7.5)


def _loss_panel(panel: Axes, recorded: xr.Dataset, time: str) -> None:
    names = [name for name in ("loss", "accuracy") if name in recorded]
    for name, colour in zip(names, (BLUE, GREEN), strict=False):
        values = recorded[name]
        if "seed" in values.dims:
            band(panel, recorded[time], values.min("seed"), values.max("seed"), color=colour)
            values = values.mean("seed")
        panel.plot(recorded[time], values, color=colour, linestyle="-" if name == "loss" else "--", label=name)
    panel.set_yscale("log")
    panel.set_title(" and ".join(names))
    panel.legend()


def _time_of(recorded: xr.Dataset) -> str:
    if "time" not in recorded.attrs:
        raise ValueError("the dataset has one moment only; record several with a Recorder")
    return recorded.attrs["time"]


def _time_axis(panel: Axes, times: xr.DataArray, name: str) -> None:
    """Logarithmic from the first moment after the start where the moments spread widely, with room for the start."""
    positive = times.values[times.values > 0]
    if positive.size > 1 and positive[-1] > 30 * positive[0]:
        panel.set_xscale("symlog", linthresh=float(positive[0]))
        decades = int(np.log10(positive[-1] / positive[0])) + 1
        panel.set_xticks([0, *(float(positive[0]) * 10.0 ** np.arange(decades))])
        panel.xaxis.set_minor_locator(NullLocator())
    margin = 0.05 * float(positive[0]) if positive.size else 0.5
    panel.set_xlim(min(0.0, float(times.values[0])) - margin, float(times.values[-1]) * 1.02)
    panel.set_xlabel(name)


def residual_stream(found: xr.Dataset) -> Figure:
    """Energies along the residual stream, and the radial gradient fraction in front of normalisation layers.

    Raises:
        ValueError: the dataset has neither.
    """
    parts = [name for name in ("kinetic_energy", "radial_fraction") if name in found]
    if not parts:
        raise ValueError("the dataset has no residual stream and no normalised layers; name `residual` when measuring")
    with style():
        figure, axes = new(1, len(parts), height=2.5)
        for panel, name in zip(axes[0], parts, strict=True):
            (_energy_panel if name == "kinetic_energy" else _radial_panel)(panel, found)
        label_panels(axes)
    return describe(
        figure,
        title="Residual stream and normalised layers",
        caption=f"{found.attrs['title']}{_seeds(found)}. Energies in the norm of K + gamma |K| I along the residual "
        f"stream, gamma = {found.attrs['gamma']:g}. Radial gradient fraction: share of the gradient along a weight "
        "that normalisation makes free; 0 in the theory, which has no eps.",
        alt="Energies against the blocks of the residual stream; radial fractions of the normalised layers, all small.",
    )


def _energy_panel(panel: Axes, found: xr.Dataset) -> None:
    names = ("kinetic_energy", "potential_energy") if float(found["effective_depth"]) else ("kinetic_energy",)
    for label, colour, _, one in _moments(found):
        for name, dash in zip(names, ("-", ":"), strict=False):
            words = f"{name.split('_')[0]}, {label}"
            _line(panel, one[name].rename(step_from="layer"), words, colour, dash)
    _name_layers(panel, found["step_from"].values)
    panel.set_ylim(bottom=0 if len(names) == 1 else None)
    panel.set_title("energy along the residual stream")
    panel.set_ylabel("energy, in dimensions")
    panel.legend()


def _radial_panel(panel: Axes, found: xr.Dataset) -> None:
    time = found.attrs.get("time")
    for colour, layer in zip(CYCLE, found["normalised"].values[: len(CYCLE)], strict=False):
        values = found["largest_radial_fraction"].sel(normalised=layer)
        if "seed" in values.dims:
            values = values.mean("seed")
        x = found[time] if time else np.zeros(1)
        panel.plot(x, np.atleast_1d(values), color=colour, marker="o", markersize=3, label=layer)
    panel.set_yscale("log")
    panel.set_title("radial share of the gradient")
    panel.set_ylabel("largest over the rows")
    if time:
        _time_axis(panel, found[time], time)
    else:
        panel.set_xticks([])
    panel.legend()


def two_points(recorded: xr.Dataset, fitted: xr.Dataset, most: int = 3) -> Figure:
    """Distances h, y and alignment w of pairs through training, with the fitted effective theory.

    Args:
        recorded: dataset of `Recorder.dataset`.
        fitted: dataset of `effective_theory.fit`.
        most: pairs to show, the first ones.
    """
    time = _time_of(recorded)
    pairs = fitted["pair"].values[:most]
    shown = {"h": "representations, h", "y": "outputs, y", "w": "alignment, w"}
    with style():
        figure, axes = new(len(pairs), 3, height=1.75, sharex=True)
        for row, pair in zip(axes, pairs, strict=True):
            for panel, (name, title), colour in zip(row, shown.items(), (BLUE, RED, GREEN), strict=True):
                data, theory = (fitted[f"{name}{part}"].sel(pair=pair) for part in ("_measured", "_theory"))
                if "seed" in data.dims:
                    data, theory = data.isel(seed=0), theory.isel(seed=0)
                panel.plot(fitted[time], data, "o", color=colour, markersize=3.5, label="network")
                panel.plot(fitted["moment"], theory, color=BLACK, linestyle="--", label="effective theory")
                panel.set_title(title if pair == pairs[0] else "")
                _note_explained(panel, fitted["explained"].sel(pair=pair, curve=name))
                _time_axis(panel, fitted[time], time)
            row[0].set_ylabel(f"points {pair}")
        for panel in axes[:-1].ravel():
            panel.set_xlabel("")
        axes[0, 0].legend()
        label_panels(axes[0])
    return describe(
        figure,
        title="Pairs of points through training, and the effective theory",
        caption=f"{recorded.attrs['title']}: squared distance of representations in layer {fitted.attrs['layer']}, "
        "squared distance of outputs and alignment w = y - dy . (y2 - y1) of pairs"
        f"{' of the first seed' if 'seed' in fitted.dims else ''}; dashed: solution of the two-point theory from the "
        "measured start with two fitted rates per pair.",
        alt="Dots of distances against training with a dashed curve of the fitted theory.",
    )
