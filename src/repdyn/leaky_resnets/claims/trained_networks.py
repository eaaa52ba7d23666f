"""Claims on the discrete network, the paper's own settings, and the distance of training from a geodesic."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Verdict, all_of, at_least, at_most, deviation, mean_within, not_reproducible
from repdyn.leaky_resnets.claims.over_seeds import (
    change,
    judge_sampled,
    spoken,
)
from repdyn.leaky_resnets.methods.selection import DECAYED, of_maps

ROUNDING = 1e-12
PAPER_STEPS = 6000


def _without_bias_term(audit: xr.Dataset, chains: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    return audit.assign(identity=audit["increment"]), chains


@claim(
    "lrn-ab-identity",
    where="Section 1.5 (not in the paper)",
    kind="identity",
    states="<A_l, B_l> - <A_{l-1}, B_{l-1}> = rho_l b_l . (B_l 1) for any weights, so constant without bias.",
    data=("network_audit", "chain_measures"),
    control=wrong_formula("the term of the bias left out", _without_bias_term),
)
def products_change_by_the_bias(network_audit: xr.Dataset, chain_measures: xr.Dataset) -> Verdict:
    """Random networks and all trained ones, relative to |A_l| |B_l|."""
    expected, reason = "0", "a few hundred operations on numbers of the size divided by"
    tests = all_of(
        random=deviation(network_audit["identity"] / network_audit["size"], ROUNDING, expected=expected, reason=reason),
        trained=deviation(chain_measures["identity_error"], ROUNDING, expected=expected, reason=reason),
    )
    return Verdict.from_tests(
        tests, None, "The sharpest test of a backward pass: a wrong mask or leak breaks it at once."
    )


def _half_cost(audit: xr.Dataset) -> xr.Dataset:
    half = audit["cost"].values[-1]
    return audit.sel(cost=[half, half]).assign_coords(cost=audit["cost"].values)


@claim(
    "lrn-critical",
    where="Section 1.5",
    kind="identity",
    states="With C(A) = |f* - A|^2 / 2 and B_p = -(1/lam) dC/dA_p, critical points have W_p = Lt B_p S_p^T: the"
    " objective's gradient is rho (lam / Lt) (W - Lt B S^T).",
    correction="C(A) = |f* - A|^2 / N, the loss of Section 1.1, which B_1 = 2 (f* - A_1) / (lam N) belongs to.",
    formula=r"C(A) = \frac{1}{2} \|f^*(X) - A\|_F^2",
    corrected_formula=r"C(A) = \frac{1}{N} \|f^*(X) - A\|_F^2",
    data="network_audit",
    control=wrong_formula("the momentum of C = |f* - A|^2 / 2 in the place of the right one", _half_cost),
)
def gradient_vanishes_where_weights_align(network_audit: xr.Dataset) -> Verdict:
    """Against automatic differentiation of the objective, random networks with and without bias."""
    right, half = (
        deviation(
            network_audit["gradient_error"].isel(cost=cost),
            ROUNDING,
            expected="equal gradients",
            reason="a few hundred operations, relative",
        )
        for cost in (0, 1)
    )
    return Verdict.from_tests(half, right)


def _own(measures: xr.Dataset, steps: int = -1) -> xr.Dataset:
    """The first kind of maps after so many steps, with a dimension of one seed."""
    return measures.isel(maps=0, steps=steps).expand_dims("seed")


def untrained_spectrum(measures: xr.Dataset) -> xr.Dataset:
    """The first layer's spectra in the place of all others."""
    return measures.assign(
        separation_step=0 * measures["separation_step"],
        median_stable=measures["cost"].median("layer"),
    )


@claim(
    "lrn-literal",
    where="Appendix B, Figure 1b",
    kind="qualitative",
    states="lam = 0.001 / Lt, Lt = 7, L = 20, width 100, 5000 steps of Adam and 1000 of gradient descent give a clear"
    " separation and an estimate of k*.",
    data="paper_measures",
    control=wrong_formula(
        "spectra of the first layer, the cost of identity in the place of the stable Hamiltonian", untrained_spectrum
    ),
)
def own_settings_show_the_bottleneck(paper_measures: xr.Dataset) -> Verdict:
    """One network with learned maps, one seed: spectrum of A in the middle, median -2 H_gamma / Lt."""
    net, rank = _own(paper_measures), int(paper_measures["rank"])
    place, step = (net[f"separation_{name}"].sel(spectrum_of="A centred").values for name in ("place", "step"))
    stable = float(net["median_stable"].isel(gamma=0)[0])
    tests = all_of(
        step=at_least(step, np.log(2), expected="largest step of A over a factor of 2", reason="'clear'"),
        place=at_most(
            np.abs(place - rank), 1.5, expected="after k* values, one more or less", reason="kept ranks vary"
        ),
        H_gamma=at_most(abs(stable - rank), 1, expected="-2 H_gamma / Lt within 1 of k*", reason="kept ranks vary"),
    )
    series = paper_measures.isel(maps=0)
    told = {
        "-2 H / Lt": series["median_hamiltonian"],
        "-2 H_gamma / Lt": series["median_stable"].isel(gamma=0),
        "|W - Lt B S^T| / |W|": series["relative_distance"],
    }
    words = "; ".join(f"{name} {', '.join(f'{v:.3g}' for v in values.values)}" for name, values in told.items())
    steps = ", ".join(str(int(n)) for n in paper_measures["steps"].values)
    low, high = (float(bound) for bound in net["stable_hamiltonian"].isel(gamma=0, seed=0).quantile([0, 1]))
    note = (
        f"After {steps} steps: {words}. Over layers -2 H_gamma / Lt runs from {low:.2g} to {high:.2g}. Step "
        f"of a factor {np.exp(step[0]):.1f} after {place[0]:.0f} values."
    )
    if int(paper_measures["steps"][-1]) < PAPER_STEPS:
        note = f"Fewer than the paper's {PAPER_STEPS} steps."
    return judge_sampled(net.sizes["seed"], tests, None, note)


def _before_for_after(measures: xr.Dataset) -> xr.Dataset:
    return measures.assign(
        relative_distance=measures["relative_distance"] * (1 + (measures["steps"] < measures["steps"][-1]))
    )


@claim(
    "lrn-sgd",
    where="Appendix B",
    kind="qualitative",
    states="A short run of gradient descent at a smaller rate after Adam tightens the convergence.",
    data="paper_measures",
    control=wrong_formula("twice the distance before gradient descent", _before_for_after),
)
def descent_tightens(paper_measures: xr.Dataset) -> Verdict:
    """|W - Lt B S^T| / |W| before and after; one network."""
    before, after = paper_measures["relative_distance"].isel(maps=0, steps=slice(-2, None)).values
    objective = paper_measures["objective"].isel(maps=0, steps=slice(-2, None)).values
    H = paper_measures["median_hamiltonian"].isel(maps=0, steps=slice(-2, None)).values
    test = at_most(after / before, 0.8, expected="distance falls by a fifth", reason="'tightens': more than a trifle")
    return not_reproducible(
        "Both rates are unstated. One network, with Adam's rate falling to 0 along a cosine, then gradient descent:"
        f" distance {before:.3g} to {after:.3g}, objective {objective[0]:.6g} to {objective[1]:.6g}, median -2 H / Lt"
        f" {H[0]:.3g} to {H[1]:.3g}.",
        test,
    )


def _decayed_for_free(measures: xr.Dataset) -> xr.Dataset:
    names = measures["maps"].values
    return measures.sel(maps=names[::-1]).assign_coords(maps=names)


@claim(
    "lrn-free-maps",
    where="Appendix B (ours)",
    kind="comparison",
    states="With free linear maps -2 H / Lt falls with the length of training, also against decayed maps.",
    data="convergence_measures",
    control=wrong_formula("decayed and free maps exchanged", _decayed_for_free),
)
def free_maps_undo_the_depth(convergence_measures: xr.Dataset) -> Verdict:
    """Change of the median -2 H / Lt from the shortest to the longest run from one first fit."""
    moved = {
        maps: change(of_maps(convergence_measures, maps)["median_hamiltonian"], "steps")
        for maps in (DECAYED, "free maps")
    }
    tests = all_of(
        free=mean_within(moved["free maps"], -np.inf, 0, expected="falls", reason="a sign"),
        apart=mean_within(
            moved["free maps"] - moved[DECAYED], -np.inf, 0, expected="falls against decayed maps", reason="a sign"
        ),
    )
    steps = ", ".join(str(int(n)) for n in convergence_measures["steps"].values)
    told = "; ".join(f"{maps} {spoken(of_maps(convergence_measures, maps)['median_hamiltonian'])}" for maps in moved)
    return judge_sampled(
        convergence_measures.sizes["seed"], tests, None, f"Median -2 H / Lt after {steps} steps: {told}."
    )


@claim(
    "lrn-refined",
    where="Section 3 (ours)",
    kind="scaling",
    states="Along one path refined layer by layer the range of -2 H / Lt over layers falls as 1 / L.",
    data="refinement_measures",
    control=wrong_formula(
        "the cost of identity, which refinement leaves as it is, in the place of the Hamiltonian",
        lambda measures: measures.assign(hamiltonian_range=measures["cost"].isel(gamma=0).max("layer")),
    ),
)
def range_falls_with_layers(refinement_measures: xr.Dataset) -> Verdict:
    """Exponent in L of the range, from the second number of layers on (rho Lt at most 1/5 at the default)."""
    finer = refinement_measures.isel(layers=slice(1, None))
    span = np.log(finer["hamiltonian_range"].transpose("layers", "seed").values)
    slopes = np.polyfit(np.log(finer["layers"].values), span, 1)[0]
    test = mean_within(slopes, -1.5, -0.5, expected="exponent -1", reason="told apart from none and from 2, half-way")
    spans = ", ".join(f"{np.exp(row).mean():.2g}" for row in span)
    told = ", ".join(f"{value:.3g}" for value in finer["balance_factor"].mean("seed").values)
    note = (
        f"L = {', '.join(str(int(L)) for L in finer['layers'].values)}: range {spans}; factor of Proposition 9 {told},"
    )
    return judge_sampled(refinement_measures.sizes["seed"], test, None, f"{note} on its way to 2 (printed 1).")
