"""Speeds of neurons with and without BN, at equal iteration and at equal loss."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure

from repdyn.base.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    RED,
    SKY,
    band,
    describe,
    label_panels,
    new,
)


def matched_loss(speed_ratio: xr.Dataset) -> Figure:
    """Ratio of speeds with and without BN, at equal iteration and at equal loss."""
    figure, axes = new(1, 2, sharey=True, height=2.7)
    look = int(speed_ratio["look"])
    cell = speed_ratio.sel(problem="y = x1").isel(start=0)
    colours = dict(zip(speed_ratio["step"].values.tolist(), (SKY, BLUE, BLACK, GREEN), strict=False))
    for step, colour in colours.items():
        for panel, name in zip(axes[0], ("ratio", "matched_ratio"), strict=True):
            panel.plot(cell["iteration"], cell[name].sel(step=step), color=colour, label=f"h = {step:g}")
    drawn = speed_ratio.sel(problem="y = x1", step=float(speed_ratio["paper_step"])).isel(start=slice(1, None))
    for colour, dash, problem in ((ORANGE, "--", "y = x2"), (GREEN, ":", "y = x1, Sigma = I")):
        other = speed_ratio.sel(problem=problem, step=float(speed_ratio["paper_step"])).isel(start=0)
        for panel, name in zip(axes[0], ("ratio", "matched_ratio"), strict=True):
            panel.plot(other["iteration"], other[name], dash, color=colour, label=problem)
    for panel, name in zip(axes[0], ("ratio", "matched_ratio"), strict=True):
        band(panel, drawn["iteration"], drawn[name].min("start"), drawn[name].max("start"), color=BLUE)
        panel.axhline(10, color=RED, linewidth=0.8, linestyle="--")
        panel.axvline(look, color=BLACK, linewidth=0.6, linestyle=":")
        panel.set(yscale="log", ylim=(0.1, 300), xlabel="iteration of the BN model")
    axes[0, 0].set_title("at equal iteration")
    axes[0, 1].set_title("at equal loss")
    axes[0, 0].set_ylabel("largest speed, BN over vanilla")
    axes[0, 0].legend(loc="upper left", ncols=2, fontsize=6.5)
    label_panels(axes)
    value = float(cell["matched_ratio"].sel(step=float(speed_ratio["paper_step"]), iteration=look))
    return describe(
        figure,
        title="Figure 1's order of magnitude is one of unequal progress",
        caption="Largest tangential speed of the BN model over that of the vanilla model, Sigma = diag(5, 1), y = x1 "
        "and three steps h (solid), and at the step of Figure 1 for y = x2 and for isotropic data. Red: tenfold, "
        f"dotted: the paper's iteration {look}. Band: range over {drawn.sizes['start']} starts with random signs of a. "
        "(a) At equal iteration the ratio grows without limit, since the vanilla model has finished. (b) With the "
        f"vanilla model at the iteration where it has the BN model's loss the ratio at {look} is {value:.2f}.",
        alt="At equal iteration the ratio grows exponentially, faster for larger steps; at equal loss it falls below "
        "one.",
    )
