"""Figures: datasets in, a figure and its facts out."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.plotting.figures import BLACK, CYCLE, RED, Drawn, figure, half_width, label_panels, new
from repdyn.relu_depth.theory import RATE, next_cosine


@figure(
    title="Two points through a plain ReLU network",
    caption="(a) One layer: mean over draws with 95 % intervals against the closed form. (b) Gap through depth at "
    "infinite width, a line per cosine at the start; dotted, the limit.",
    alt="Points and a curve over the cosine before the layer; falling lines over the layer beside a dotted one.",
)
def correlation_map(overlaps: xr.Dataset, gaps: xr.Dataset) -> Drawn:
    """The map of the cosine through a ReLU layer, sampled and in closed form, and where it leads."""
    drawn, axes = new(1, 2)
    one_layer, depth = axes[0]
    rho = np.linspace(-1, 1, 201)
    one_layer.plot(rho, next_cosine(rho), color=BLACK, label="closed form")
    samples, width = overlaps["overlap"], half_width(overlaps["overlap"])
    one_layer.errorbar(overlaps["cosine"], samples.mean("draw"), width, fmt="o", color=RED, label="sampled")
    one_layer.set(
        xlabel="cosine before the layer", ylabel="cosine after it", title="one layer", xticks=(-1, -0.5, 0, 0.5, 1)
    )
    one_layer.legend()
    layers = gaps["layer"].values[1:]
    for cosine, color in zip(gaps["cosine"].values, CYCLE, strict=False):
        depth.loglog(layers, gaps["gap"].sel(cosine=cosine)[1:], color=color, label=f"from {cosine:g}")
    depth.loglog(layers, RATE / layers**2.0, color=BLACK, linestyle=":", label=r"$9\pi^2/(2\ell^2)$")
    depth.set(xlabel="layer", ylabel="1 - cosine", title="through depth")
    depth.legend()
    label_panels(axes)
    return Drawn(drawn, {"draws": samples.sizes["draw"], "last layer": int(layers[-1])})
