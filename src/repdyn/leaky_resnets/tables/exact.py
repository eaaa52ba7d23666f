"""Tables of exact statements: errors of formulas, the geodesic laboratory."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from repdyn.base.tables import Table


def formulas(formula_audit: xr.Dataset) -> Table:
    """Largest relative error of every formula, printed and corrected, without and with bias."""
    largest = formula_audit[["printed", "corrected"]].max("draw")
    columns = {
        f"{form}, {words}": largest[form].sel(bias=bias).values
        for form in ("printed", "corrected")
        for bias, words in enumerate(("no bias", "bias"))
    }
    return Table(
        pd.DataFrame({"place": formula_audit["equation"].values} | columns),
        title="Formulas as printed and as corrected",
        caption=f"Largest relative error over {formula_audit.sizes['draw']} random draws against derivations that "
        "share no formula. Footnote 1: absolute, of a linear network.",
        digits=2,
    )


def laboratory(geodesics: xr.Dataset) -> Table:
    """The geodesic laboratory by effective depth."""
    lab, H = geodesics, geodesics["scaled_hamiltonian"]
    quantities = {
        "-2 H / Lt": H.mean("p"),
        "drift of H": lab["drift"],
        "share of p with COI < k + 1/2": lab["share_near_rank"],
        "speed at p = 1/2": lab["plain_speed"].sel(p=0.5, method="nearest"),
        "largest speed": lab["plain_speed"].max("p"),
        "correlation of kinetic energy and extra COI": lab["proportion"],
    }
    frames = [
        pd.DataFrame(
            {"bias": ["no", "yes"][int(bias)], "Lt": lab["effective_depth"].values}
            | {name: value.sel(bias=bias).median("seed").values for name, value in quantities.items()}
        )
        for bias in lab["bias"].values
    ]
    return Table(
        pd.concat(frames, ignore_index=True),
        title="Geodesic laboratory",
        caption=f"Medians over {lab.sizes['seed']} exact trajectories through a bottleneck of rank $k$ = "
        rf"{int(lab['rank'])}; COI with $\gamma_p$ = {float(lab['gamma_0']):g} $\|K_p\|_{{op}}$, speed "
        "$|dA/dp| / |A|$.",
    )
