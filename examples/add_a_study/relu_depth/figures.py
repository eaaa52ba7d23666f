"""Figures: datasets in, a figure with caption and alt text out."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from repdyn.base.figures import BLACK, CYCLE, RED, describe, half_width, label_panels, new
from repdyn.relu_depth.theory import RATE, next_cosine


def correlation_map(overlaps: xr.Dataset, gaps: xr.Dataset) -> Figure:
    """The map of the cosine through a ReLU layer, sampled and in closed form, and where it leads."""
    figure, axes = new(1, 2)
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
    return describe(
        figure,
        title="Two points through a plain ReLU network",
        caption=f"(a) One layer: mean of {samples.sizes['draw']} draws with 95 % intervals against the closed form. "
        f"(b) Gap through {len(layers) - 1} layers at infinite width, from {gaps.sizes['cosine']} cosines.",
        alt="Sampled points lie on the curve of the closed form; whatever the start, the gap falls as 1 over depth^2.",
    )
