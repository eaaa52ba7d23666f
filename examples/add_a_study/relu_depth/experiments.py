"""Experiments: settings in, one dataset out."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.relu_depth.settings import Gaps, Overlaps
from repdyn.relu_depth.theory import next_cosine


def overlaps(settings: Overlaps, stream: Stream) -> xr.Dataset:
    """Inner products of two unit vectors after one random ReLU layer; all cosines see the same weights."""
    rho = np.array(settings.cosines)
    points = np.stack([rho, np.sqrt(1 - rho**2)])  # beside (1, 0)
    products = np.empty((len(rho), settings.draws))
    for draw in range(settings.draws):
        W = stream.generator(draw, "weights").normal(0, np.sqrt(2 / settings.width), (settings.width, 2))
        products[:, draw] = np.maximum(W[:, 0], 0) @ np.maximum(W @ points, 0)
    return dataset(
        {"overlap": variable(("cosine", "draw"), products, "inner product after the layer")},
        {
            "cosine": variable("cosine", rho, "cosine before the layer"),
            "draw": index("draw", settings.draws, "draw of the weights"),
        },
        title=f"One random ReLU layer of {settings.width} neurons",
    )


def gaps(settings: Gaps) -> xr.Dataset:
    """1 - rho through depth: the closed form iterated."""
    rho = [np.array(settings.cosines)]
    for _ in range(settings.depth):
        rho.append(next_cosine(rho[-1]))
    return dataset(
        {"gap": variable(("layer", "cosine"), 1 - np.stack(rho), "one minus the cosine")},
        {
            "layer": index("layer", settings.depth + 1, "layer"),
            "cosine": variable("cosine", rho[0], "cosine at the input"),
        },
        title=f"The map of the cosine, iterated {settings.depth} times",
    )
