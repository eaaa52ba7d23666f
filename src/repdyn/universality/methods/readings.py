"""What claims, figures and tables read alike: learnt networks, powers of final distances, published numbers."""

from __future__ import annotations

import numpy as np
import xarray as xr

LEARNT = 0.04
"""Loss, over the loss of a network that gives the mean target everywhere, below which a network has learnt."""
FEWEST = 8
"""Trials below which no power law is fitted."""
FIGURE_2 = (
    "default",
    "convolution",
    "skip",
    "shallow",
    "narrow",
    "dropout",
    "linear",
    "relu",
    "elu",
    "tanh",
    "swish",
)
"""Rows of Table 1 that Figure 2 shows."""
GAINS = ("low", "default", "intermediate", "high", "very_high")
"""Rows of Table 1 that Figure 3 shows, by increasing gain."""
PUBLISHED_LOSSES = {"theory": 0.92, "factor two": 15.35, "square": 16.61, "minus removed": 2.99, "term removed": 5.64}
"""Squared fit losses of Appendix C.1: of the theory and of the dynamics altered as in (51)."""


def learnt(structure: xr.Dataset, run: str) -> xr.Dataset:
    """The networks of a run (XOR, blobs) whose loss is below 1/25 of the plateau's: those that have learnt the task."""
    found = structure.sel(run=run)
    return found.isel(trial=np.flatnonzero(found["loss"].values < LEARNT * float(structure["plateau"])))


def log_fit(predictions: xr.Dataset, name: str) -> dict[str, object]:
    """Least squares of log h, and of log h over the theory, in log dx and log dy; converged cells with dy > 0.

    Returns:
        n, dropped; r and r_dy, correlations of log h with the log theory and with log dy alone; exponents of h in dx
        and dy; slopes, what of them the theory misses, and their standard errors; ratio, the mean of h over theory.
    """
    row = predictions.sel(network=name)
    row = row.isel(dy=np.flatnonzero(row["dy"].values > 0))
    good = row["good"].values.astype(bool)
    dx, dy = (
        np.broadcast_to(row[key].values.reshape(shape), good.shape)[good]
        for key, shape in (("dx", (-1, 1, 1)), ("dy", (1, -1, 1)))
    )
    h, theory = np.log(row["measured"].values[good]), np.log(row["theory"].values[good])
    design = np.stack([np.ones(h.size), np.log(dx), np.log(dy)], axis=1)
    found = {"n": h.size, "dropped": good.size - h.size}
    if h.size < FEWEST or np.linalg.matrix_rank(design) < 3:
        nothing = dict.fromkeys(("exponents", "slopes", "errors"), np.full(2, np.nan))
        return found | {"r": np.nan, "r_dy": np.nan, "ratio": np.nan} | nothing
    inverse = np.linalg.inv(design.T @ design)
    slopes = inverse @ design.T @ (h - theory)
    variance = ((h - theory - design @ slopes) ** 2).sum() / (h.size - 3)
    return found | {
        "r": float(np.corrcoef(h, theory)[0, 1]),
        "r_dy": float(np.corrcoef(h, np.log(dy))[0, 1]),
        "ratio": float(np.exp(np.mean(h - theory))),
        "exponents": (inverse @ design.T @ h)[1:],
        "slopes": slopes[1:],
        "errors": np.sqrt(variance * np.diag(inverse)[1:]),
    }
