"""Tables of the study."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from repdyn.base.formula_audit import largest_errors
from repdyn.base.tables import Filled, table


@table(
    title="Gradient audit",
    caption="Largest absolute error over random draws in every dimension, against derivations that share no "
    "formula; Section 8 over starts.",
    digits=3,
)
def gradient_audit(gradient_audit: xr.Dataset, propagators: xr.Dataset) -> Filled:
    """Largest error of every equation."""
    rows = []
    for largest in map(largest_errors, (gradient_audit, propagators)):
        for equation in largest["equation"].values:
            part = largest.sel(equation=equation)
            rows.append(
                {
                    "equation": str(equation),
                    "largest error as printed": float(part["printed"]),
                    "largest error corrected": float(part["corrected"]),
                }
            )
    return Filled(
        pd.DataFrame(rows),
        {
            "draws per dimension": gradient_audit.sizes["draw"],
            "dimensions Q": gradient_audit["dimension"].values,
            "starts for Section 8": propagators.sizes["seed"],
        },
    )


@table(
    title="Explicit cluster separated truncations for every $Q$",
    caption=r"Clusters around $e_l$; margins of the centers at $\beta = -\tilde y$; last columns along the flow.",
)
def construction(neural_collapse: xr.Dataset) -> Filled:
    """Explicit construction of separated truncations, by formula and measured."""
    data = neural_collapse
    frame = pd.DataFrame(
        {
            "Q": data["dimension"].values,
            "label shift t*": data["shift"].values,
            "largest radius": data["radius"].values,
            "own margin, formula": data["own_margin"].values,
            "own margin, measured": data["own_direct"].values,
            "others' margin, formula": data["others_margin"].values,
            "others' margin, measured": data["others_direct"].values,
            "least margin on the way": data["margin"].min("time").values,
            "last arrival s_1": data["arrival"].max("cluster").values,
            "least truncated share at 0": data["start_share"].min("cluster").values,
            "C(end)/C(0)": (data["cost"].isel(time=-1) / data["cost"].isel(time=0)).values,
        }
    )
    return Filled(
        frame,
        {
            "radius over the largest": float(data["fill"]),
            "points per cluster": int(data["points"]),
            "flow time at the end": float(data["time"][-1]),
        },
    )


@table(
    title="Small examples that decide a statement",
    caption="Numbers behind the claims on (2.14), Definition 3.1, Corollary 3.5, Proposition 4.1, (4.10), (4.25), "
    "(5.8)-(5.13) and (9.3).",
)
def counterexamples(counterexamples: xr.Dataset) -> pd.DataFrame:
    """What the small examples gave."""
    rows = [
        {"quantity": array.attrs["long_name"], "value": float(array)} for array in counterexamples.data_vars.values()
    ]
    return pd.DataFrame(rows)


@table(
    title="Constants of Proposition 4.2",
    caption='Rigorous upper bounds; all below 1/10 where the proposition asks for it; "highest" below 0 certifies '
    "(4.16). Hypotheses are certified in the largest of the three balls of rotations.",
)
def proposition(proposition: xr.Dataset) -> Filled:
    """Constants of Proposition 4.2 and what the flow did."""
    names = ("eta_0", "eta_1", "eta_1_prime", "eta_2", "highest", "arrival_bound", "sharp_arrival_bound", "arrival")
    frame = pd.DataFrame({"Q": proposition["dimension"].values} | {name: proposition[name].values for name in names})
    for equation in proposition["equation"].values:
        frame[f"eta_2 of {equation} as printed"] = proposition["eta_2_printed"].sel(equation=equation).values
    return Filled(frame, {"points": int(proposition["points"]), "gamma": float(proposition["gamma"])})


ORDER = ("gradient_audit", "construction", "counterexamples", "proposition")
"""The order of the paper, in which the report shows the tables."""
