"""Tables of the study: what Figure 1's factor depends on, and the first steps behind Figure 3."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from repdyn.base.tables import Filled, table


@table(
    title="Figure 1: speeds at the paper's iteration, and what their ratio depends on",
    caption="Largest tangential speed with BN over that without, both signs of $a$ at each direction, and range "
    "over starts of random signs; last columns: vanilla model at the iteration where it has the BN model's loss.",
    digits=3,
)
def speed_ratios(speed_ratio: xr.Dataset) -> Filled:
    """Largest speeds with and without BN at the paper's iteration, by target, covariance and step."""
    iteration = int(speed_ratio["look"])
    at = speed_ratio.sel(iteration=iteration)
    rows = []
    for problem in at["problem"].values:
        for step in at["step"].values:
            paired = at.sel(problem=problem, step=step).isel(start=0)
            drawn = at.sel(problem=problem, step=step).isel(start=slice(1, None))
            rows.append(
                {
                    "problem": problem,
                    "step": step,
                    "loss BN": float(paired["loss"].sel(model="BN")),
                    "loss vanilla": float(paired["loss"].sel(model="vanilla")),
                    "ratio": float(paired["ratio"]),
                    "ratio, lowest draw": float(drawn["ratio"].min()),
                    "ratio, highest draw": float(drawn["ratio"].max()),
                    "vanilla iteration of equal loss": float(paired["matched_iteration"]),
                    "ratio at equal loss": float(paired["matched_ratio"]),
                }
            )
    return Filled(
        pd.DataFrame(rows),
        {"the paper's iteration": iteration, "starts of random signs": speed_ratio.sizes["start"] - 1},
    )


@table(
    title="First steps of BN gradient descent over the length of the neurons",
    caption=r"$y = x_1$, $\Sigma$ = diag(5, 1), both signs of $a$ at each direction.",
    digits=3,
)
def first_steps(first_step: xr.Dataset) -> Filled:
    """Norms and turns in the first three iterations, over initial length and step."""
    paired = first_step.isel(start=0).sel(model="BN")
    rows = []
    for step in paired["step"].values:
        for radius in paired["radius"].values:
            cell = paired.sel(step=step, radius=radius)
            median = cell["turn_quantile"].sel(quantile=0.5).values
            fraction = cell["large_turns"].values
            rows.append(
                {
                    "step": step,
                    "r": radius,
                    "median length after step 1": float(cell["norm"].sel(iteration=1).median()),
                    "median turn 1 (degree)": median[0],
                    "median turn 2 (degree)": median[1],
                    "median turn 3 (degree)": median[2],
                    "largest turn 2 (degree)": float(cell["turn_quantile"].sel(quantile=1.0, later=2)),
                    "over 10 degree in step 1": fraction[0],
                    "over 10 degree in step 2": fraction[1],
                    "over 10 degree in step 3": fraction[2],
                }
            )
    return Filled(pd.DataFrame(rows), {"neurons": paired.sizes["neuron"]})


@table(
    title="Long runs over the length of the neurons, with and without BN",
    caption=r"$y = x_1$, $\Sigma$ = diag(5, 1), both signs of $a$ at each direction; losses below 1e-15 are "
    "rounding. Diverged: loss above 1e8 times its start.",
    digits=3,
)
def stability(first_step: xr.Dataset) -> Filled:
    """Losses of long runs over initial length and step, with and without BN; a diverged run says when."""
    rows = []
    for model in first_step["model"].values:
        for radius in first_step["long_radius"].values:
            for step in first_step["long_step"].values:
                run = first_step.sel(model=model, long_radius=radius, long_step=step)
                end = float(run["long_diverged"])
                rows.append(
                    {
                        "model": model,
                        "r": radius,
                        "step": step,
                        "loss at the end": float(run["long_loss"]),
                        "outcome": "stable" if np.isnan(end) else f"diverged at iteration {end:.0f}",
                    }
                )
    return Filled(pd.DataFrame(rows), {"iterations": int(first_step["long_iterations"])})


ORDER = ("speed_ratios", "first_steps", "stability")
"""The order of the paper, in which the report shows the tables."""
