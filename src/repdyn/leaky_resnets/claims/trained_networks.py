"""Claims on the discrete network, the paper's own settings, and the distance of training from a geodesic."""

from __future__ import annotations

from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.claims import claim
from repdyn.base.controls import (
    exchange,
    false_world,
    in_dataset,
    replace_labels,
    replace_variables,
    reverse,
    wrong_formula,
)
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within, share_within
from repdyn.base.verdicts import Test, Verdict, all_of, deviation
from repdyn.leaky_resnets.claims.over_seeds import (
    ALL_MAPS,
    FIXED,
    FREE,
    LEAST_SEEDS,
    NEIGHBORS,
    change,
    growth,
    means,
    need_chains,
)
from repdyn.leaky_resnets.claims.tolerances import ROUNDING
from repdyn.leaky_resnets.methods.selection import DECAYED, by_label, of_maps

FIRST_LAYER = false_world(
    "spectra of the first layer",
    replace_variables(separation_place="first_separation_place", separation_step="first_separation_step"),
)
STATED = {"dimension": 30, "width": 100, "points": 1000, "steps": 6000}  # what Appendix B states


@claim(
    "lrn-ab-identity",
    where="Section 1.5",
    assumes="momenta of the network's own backward pass; any layer steps, and any slope of the ReLU at 0, which "
    "multiplies an entry that is 0",
    kind="identity",
    origin="ours",
    states=r"For any weights $\langle A_\ell, B_\ell \rangle$ changes from layer to layer by the bias alone, so it is "
    "constant without bias.",
    formula=r"\langle A_\ell, B_\ell \rangle - \langle A_{\ell-1}, B_{\ell-1} \rangle = \rho_\ell\, b_\ell \cdot "
    r"(B_\ell \mathbf{1})",
    control={
        "random": wrong_formula(
            "the term of the bias left out", in_dataset(0, replace_variables(identity="increment"))
        ),
        "trained": wrong_formula(
            "the term of the bias left out", in_dataset(1, replace_variables(identity_error="identity_error_without"))
        ),
    },
    labels={
        "random": "product's change per layer minus the bias term, random weights",
        "trained": "product's change per layer minus the bias term, trained networks",
    },
    remark="The sharpest test of a backward pass: a wrong mask or leak breaks it at once.",
)
def products_change_by_the_bias(network_audit: xr.Dataset, chain_measures: xr.Dataset) -> Verdict:
    """Random networks and all trained ones, relative to |A_l| |B_l|."""
    expected, reason = "0", r"rounding of a few hundred operations, relative to $|A_\ell| |B_\ell|$"
    tests = {
        "random": deviation(
            network_audit["identity"] / network_audit["size"], ROUNDING, expected=expected, reason=reason
        ),
        "trained": deviation(chain_measures["identity_error"], ROUNDING, expected=expected, reason=reason),
    }
    return Verdict.from_tests(tests)


@claim(
    "lrn-critical",
    where="Section 1.5, backward equation",
    words=r"for the cost $C(A) = \frac{1}{2} ||f^*(X) A||_F^2$ ... $B_1 = -\frac{1}{\lambda} \partial_{A_1} "
    r"C(A_1) = \frac{2}{\lambda N} (f^*(X) - A_1)$",
    line=193,
    kind_of_slip="misprint",
    kind="identity",
    states=r"With the cost that Section 1.5 defines the momenta at the output are $B_1 = \frac{2}{\lambda N} (f^*(X) "
    "- A_1)$.",
    correction="They are so for the mean over points, the loss of Section 1.1; half the squared distance has $(f^* - "
    r"A_1) / \lambda$. Either repairs it; the critical points are those of the loss that is meant.",
    formula=r"C(A) = \frac{1}{2} \|f^*(X) - A\|_F^2, \quad -\frac{1}{\lambda} \partial_{A_1} C(A_1) = "
    r"\frac{2}{\lambda N} (f^*(X) - A_1)",
    corrected_formula=r"C(A) = \frac{1}{N} \|f^*(X) - A\|_F^2",
    possible_ocr_error=True,
    control=wrong_formula(
        "the momentum of half the squared distance in place of the right one",
        replace_labels("cost", {"|f* - A|^2 / N": "|f* - A|^2 / 2"}),
    ),
    message="The momenta at the output belong to another cost",
    cause="In our copy: half the squared distance, the cost of Section 1.5, gives $(f^*(X) - "
    r"A_1)/\lambda$; the printed momenta are $2/N$ times that, those of the mean over points in Section "
    "1.1.",
    consequence="A change of either line repairs it; the critical points are those of the loss that is meant.",
    labels={"": "momenta at the output minus the gradient by automatic differentiation"},
)
def gradient_vanishes_where_weights_align(network_audit: xr.Dataset) -> Verdict:
    """Against automatic differentiation of the objective, random networks with and without bias."""
    right, half = (
        deviation(
            network_audit["gradient_error"].isel(cost=cost),
            ROUNDING,
            expected="equal gradients",
            reason="rounding of a few hundred operations, relative to the gradient",
        )
        for cost in (0, 1)
    )
    return Verdict.from_tests(half, right)


def _need_stated_settings(measures: xr.Dataset) -> None:
    """Five seeds at the sizes and lengths of training that the paper states."""
    require(measures, "paper_measures", seed=LEAST_SEEDS, maps=(FREE,))
    have = {name: int(measures[name].max()) for name in STATED}
    if smaller := [f"{name} = {STATED[name]}" for name, value in have.items() if value < STATED[name]]:
        raise NotEnoughDataError(f"paper_measures: {', '.join(smaller)}")


@claim(
    "lrn-literal",
    where="Appendix B, Figure 1b",
    words=r"In our experiments, $\lambda = \frac{0.001}{\tilde{L}}$ to get good results",
    line=508,
    assumes=r"$\tilde L = 7$, $L = 20$, width 100, Adam and then gradient descent; good results: the separated "
    "spectra of Figure 1b",
    kind="qualitative",
    states=r"The settings of Appendix B, $\lambda = 0.001 / \tilde L$ among them, give good results: spectra that "
    "separate clearly after $k^*$ values.",
    control=FIRST_LAYER,
)
def own_settings_show_the_bottleneck(paper_measures: xr.Dataset) -> Verdict:
    """Learned maps: spectra in the middle after Adam and the last descent; readings of which, of k* and of clear."""
    _need_stated_settings(paper_measures)
    series, rank = of_maps(paper_measures, FREE), int(paper_measures["rank"])
    last = series.isel(stop=-1)

    def separates(spectrum: str, values: int, factor: float) -> Test:
        of = last.sel(spectrum_of=spectrum)
        return all_of(
            step=mean_within(
                of["separation_step"].values,
                np.log(factor),
                np.inf,
                expected=f"log of the largest step over log {factor:g}",
                reason="'clear': a factor",
            ),
            place=share_within(
                np.abs(of["separation_place"].values - rank) <= values,
                0.5,
                np.inf,
                expected=f"after $k^*$ values, up to {values} more or less, in most networks",
                reason=NEIGHBORS,
            ),
        )

    tests = over_readings(
        separates,
        spectrum={name: name for name in ("A", "A centered", "W", "W centered")},
        values={"exactly $k^*$": 0, "one more or less": 1},
        factor={"2": 2.0, "3": 3.0},
    )
    return Verdict.from_tests(
        tests,
        facts={
            "steps": paper_measures["steps"],
            "energy by steps": means(series["median_hamiltonian"]),
            "energy, stable form, by steps": means(series["median_stable"].isel(gamma=0)),
            "relative distance from a critical point by steps": means(series["relative_distance"]),
        },
    )


def _tightening(measures: xr.Dataset) -> dict[float, Array]:
    """Logarithm of the distance after gradient descent over that before, per seed, by rate; all kinds of maps."""
    distance = cast("xr.DataArray", np.log(measures["relative_distance"])).mean("maps")
    rates = measures["descent_rate"].values
    before = distance.isel(stop=int(np.flatnonzero(rates == 0)[-1]))
    return {float(rates[at]): (distance.isel(stop=at) - before).values for at in np.flatnonzero(rates > 0)}


def _before_and_after_exchanged(measures: xr.Dataset) -> xr.Dataset:
    distance, descending = measures["relative_distance"], measures["descent_rate"] > 0
    before = distance.isel(stop=int(np.flatnonzero(~descending)[-1]), drop=True)
    changed = distance.where(~descending, np.abs(2 * before - distance))
    return measures.assign(relative_distance=changed.transpose(*distance.dims))


@claim(
    "lrn-sgd",
    where="Appendix B, training",
    words="using SGD with a smaller learning rate to tighten the convergence",
    line=506,
    assumes="after Adam",
    kind="qualitative",
    states="A short run of gradient descent at a smaller rate after Adam tightens the convergence.",
    control=false_world(
        "each change of the distance with the other sign", _before_and_after_exchanged, recomputes=True
    ),
)
def descent_tightens(paper_measures: xr.Dataset) -> Verdict:
    """Distance from W = Lt B S^T after gradient descent over before; readings of the rate, which is not stated."""
    require(paper_measures, "paper_measures", seed=LEAST_SEEDS)
    changes = _tightening(paper_measures)
    test = over_readings(
        lambda rate: mean_within(
            changes[rate], -np.inf, 0, expected="mean log ratio below 0", reason="a sign; the rates are not stated"
        ),
        rate={f"{rate:g}": rate for rate in changes},
    )
    ratios = {f"distance after over before, rate {rate:g}": np.exp(values.mean()) for rate, values in changes.items()}
    return Verdict.from_tests(test, facts=ratios)


BACKWARDS = false_world("training run backwards", reverse("steps"))


@claim(
    "lrn-free-maps",
    where="Appendix B",
    assumes="runs of several lengths from one first fit, each to the end of its cosine; at other depths not tested",
    kind="comparison",
    origin="ours",
    states=r"At $\tilde L = 4$, with free linear maps, $-2 \mathcal{H} / \tilde L$ falls with the length of "
    "training, also against decayed maps.",
    control={"free": BACKWARDS, "apart": BACKWARDS},
    labels={
        "free": "change of the estimate with the length of training, free maps",
        "apart": "the same change against networks with decayed maps",
    },
)
def free_maps_undo_the_depth(convergence_measures: xr.Dataset) -> Verdict:
    """Change of the median -2 H / Lt from the shortest to the longest run from one first fit."""
    require(convergence_measures, "convergence_measures", seed=LEAST_SEEDS)
    medians = {maps: of_maps(convergence_measures, maps)["median_hamiltonian"] for maps in (DECAYED, "free maps")}
    moved = {maps: change(values, "steps") for maps, values in medians.items()}
    tests = {
        "free": mean_within(moved["free maps"], -np.inf, 0, expected="falls", reason="a sign"),
        "apart": mean_within(
            moved["free maps"] - moved[DECAYED], -np.inf, 0, expected="falls against decayed maps", reason="a sign"
        ),
    }
    by_maps = {f"energy by steps, {maps}": means(values) for maps, values in medians.items()}
    return Verdict.from_tests(tests, facts={"steps": convergence_measures["steps"], **by_maps})


@claim(
    "lrn-refined",
    where="Section 3",
    kind="scaling",
    origin="ours",
    states=r"At $\tilde L = 4$, along one path of trained networks with decayed maps, refined layer by layer from "
    r"20 equidistant layers on, the range of $-2 \mathcal{H} / \tilde L$ over layers falls as $1 / L$.",
    control=wrong_formula(
        "the largest cost of identity, which refinement leaves as it is, in place of the range",
        lambda measures: measures.assign(hamiltonian_range=measures["cost"].isel(gamma=0).max("layer")),
    ),
    labels={"": "exponent in $L$ of the range over layers"},
)
def range_falls_with_layers(refinement_measures: xr.Dataset) -> Verdict:
    """Exponent in L of the range, from the second number of layers on (rho Lt at most 1/5 at the default)."""
    require(refinement_measures, "refinement_measures", seed=LEAST_SEEDS, layers=3)
    finer = refinement_measures.isel(layers=slice(1, None))
    ranges, factor = finer["hamiltonian_range"], finer["balance_factor"]
    slopes = growth(ranges, "layers")
    test = mean_within(
        slopes, -1.5, -0.5, expected="exponent -1", reason="distinguished from none and from 2, half-way"
    )
    return Verdict.from_tests(
        test,
        facts={
            "numbers of layers": finer["layers"],
            "range of the energy": means(ranges),
            "factor of Proposition 9 (printed 1, corrected 2)": means(factor),
        },
    )


@claim(
    "lrn-long-steps",
    where="Section 3, adaptive steps",
    words=r"Note that the condition $\rho_{\ell} \dot{L} < 1$ might not be necessary inside the bottleneck",
    line=288,
    assumes="trained networks",
    kind="qualitative",
    states=r"Inside the bottleneck the condition $\rho_\ell \tilde L < 1$ is not necessary: layers merged into one "
    "step beyond it leave the outputs nearly as they are.",
    control=false_world("layers merged at the start of the network", exchange("place", "start", "middle")),
)
def long_steps_in_the_bottleneck(chain_measures: xr.Dataset) -> Verdict:
    """Layers in the middle merged into one of rho Lt > 1, largest Lt; relative change of the outputs; readings."""
    need_chains(chain_measures, DECAYED, FREE, FIXED)
    last = chain_measures.isel(effective_depth=-1)
    test = over_readings(
        lambda maps, small: mean_within(
            of_maps(last, maps)["merged_change"].sel(place="middle").values,
            -np.inf,
            small,
            expected=f"outputs change by at most {small:g}",
            reason="'might not be necessary': small beside the outputs",
        ),
        maps=ALL_MAPS,
        small={"a tenth": 0.1, "a quarter": 0.25},
    )
    decayed = of_maps(last)
    elsewhere = decayed["merged_change"].mean("seed").sel(place=["start", "end"])
    facts = {"effective depth of the merged step": decayed["merged_step"].mean()}
    return Verdict.from_tests(test, facts=facts | by_label("change of the outputs, layers merged at the", elsewhere))


@claim(
    "lrn-over-regularized",
    where="Appendix B, bottleneck structure",
    words="As long as the training is not over-regularized (λ too large) then the spectra reveals",
    line=508,
    kind="qualitative",
    states=r"The spectra separate after $k^*$ values as long as training is not over-regularized ($\lambda$ too "
    "large).",
    control={
        "regular": false_world("the largest penalty in place of the first", reverse("excess")),
        "excess": false_world("the first penalty in place of the largest", reverse("excess")),
    },
    labels={
        "regular": "share of networks that keep the task's rank, usual penalty",
        "excess": "share of networks that keep the task's rank, largest penalty",
    },
)
def large_penalties_take_the_bottleneck(excess_measures: xr.Dataset) -> Verdict:
    """Dimensions before the largest step of the centered A, at the penalty and at its largest multiple."""
    require(excess_measures, "excess_measures", teacher=LEAST_SEEDS, excess=2)
    place = excess_measures["separation_place"].sel(spectrum_of="A centered")
    clear = excess_measures["separation_step"].sel(spectrum_of="A centered") > np.log(2)
    keeps_rank = (np.abs(place - int(excess_measures["rank"])) <= 1) & clear & (excess_measures["train_error"] < 0.5)
    tests = {
        "regular": share_within(
            keeps_rank.isel(excess=0).values,
            0.5,
            np.inf,
            expected="$k^*$ dimensions in most networks",
            reason=NEIGHBORS,
        ),
        "excess": share_within(
            keeps_rank.isel(excess=-1).values,
            -np.inf,
            0.5,
            expected="in few networks",
            reason="'too large': most lose it",
        ),
    }
    return Verdict.from_tests(
        tests,
        facts={
            "networks at each penalty": keeps_rank.sizes["teacher"],
            "multiples of the penalty": keeps_rank["excess"],
            "networks with the dimensions of the task, by penalty": keeps_rank.sum("teacher"),
            "training error by penalty": excess_measures["train_error"].mean("teacher"),
        },
    )
