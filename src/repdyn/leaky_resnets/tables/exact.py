"""Tables of exact statements: errors of formulas, the geodesic laboratory."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from repdyn.base.tables import Filled, table


@table(
    title="Formulas as printed and as corrected",
    caption="Largest relative error over random draws against derivations that share no formula. Footnote 1: absolute, "
    "of a linear network.",
    digits=2,
)
def formulas(formula_audit: xr.Dataset) -> Filled:
    """Largest relative error of every formula, printed and corrected, without and with bias."""
    largest = formula_audit[["printed", "corrected"]].max("draw")
    columns = {
        f"{form}, {words}": largest[form].sel(bias=bias).values
        for form in ("printed", "corrected")
        for bias, words in enumerate(("no bias", "bias"))
    }
    frame = pd.DataFrame({"place": formula_audit["equation"].values} | columns)
    return Filled(frame, {"draws": formula_audit.sizes["draw"]})


@table(
    title="Geodesic laboratory",
    caption=r"Medians over exact trajectories through a bottleneck of rank $k$; COI with $\gamma_p = \gamma_0 "
    r"\|K_p\|_{op}$, speed $|dA/dp| / |A|$.",
)
def laboratory(geodesics: xr.Dataset) -> Filled:
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
    facts = {"trajectories": lab.sizes["seed"], "rank k": int(lab["rank"]), "gamma_0": lab["gamma_0"]}
    return Filled(pd.concat(frames, ignore_index=True), facts)
