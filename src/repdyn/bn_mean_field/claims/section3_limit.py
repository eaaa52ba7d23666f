"""Claims of section 3 of Ma and Ying: Theorems 4 and 5, their proofs' inequalities, and what cannot be tested."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_least, at_most, deviation, mean_within, not_testable


def euclidean_speeds(equicontinuity: xr.Dataset) -> xr.Dataset:
    """Puts the Euclidean norm of bbar' in the place of the metric's."""
    return equicontinuity.assign(rate_metric=equicontinuity["rate_euclidean"])


@claim(
    "bnm-dissipation",
    where="Theorem 4, proof, equality in the display on equicontinuity",
    kind="identity",
    states="Along the flow dL/dt = -(1/m) sum (|a_k'|^2 + ||bbar_k'||^2) up to sign, with the Euclidean norm.",
    correction="With the norm of the metric G, and with the minus.",
    formula=r"\frac{d \bar L}{dt} = \frac{1}{m} \sum_{k=1}^{m} \left( |\dot a_k|^2 + \|\dot{\bar b}_k\|^2 \right)",
    corrected_formula=(
        r"\frac{d \bar L}{dt} "
        r"= -\frac{1}{m} \sum_{k=1}^{m} \left( |\dot a_k|^2 + \dot{\bar b}_k^T G \dot{\bar b}_k \right)"
    ),
    data="equicontinuity",
    control=wrong_formula("the Euclidean norm in the corrected form", euclidean_speeds),
)
def loss_falls_at_the_rate_of_the_metric(equicontinuity: xr.Dataset) -> Verdict:
    """Closed-form loss differenced along the velocity against both norms of the speed."""

    def test(name: str) -> Test:
        gap = equicontinuity[name] / equicontinuity["rate"] - 1
        reason = "central difference with step 1e-5: rounding 1e-11 over the smallest rate, 1e-5 of the largest"
        return deviation(gap, 1e-5, expected="equal rates", reason=reason)

    return Verdict.from_tests(test("rate_euclidean"), test("rate_metric"))


def narrowest_everywhere(propagation_distances: xr.Dataset) -> xr.Dataset:
    """Gives every system the distance of the narrowest one of its kind: nothing converges."""
    stuck = propagation_distances.copy(deep=True)
    for start in ("low discrepancy", "i.i.d."):
        for target in np.unique(stuck["target"]):
            mine = _runs(stuck, start, str(target))
            if mine.size:
                narrowest = mine[np.argmin(stuck["width"].values[mine])]
                stuck["distance"][{"run": mine}] = stuck["distance"].isel(run=narrowest).values
    return stuck


def _runs(distances: xr.Dataset, start: str, target: str) -> np.ndarray:
    """Runs of a kind without the reference."""
    kind = (distances["start"] == start) & (distances["target"] == target)
    return np.flatnonzero(kind & (distances["width"] != distances["reference"]))


def _curve(distances: xr.Dataset, target: str) -> tuple[np.ndarray, np.ndarray]:
    """Widths and W2 (width, time) of the low-discrepancy starts."""
    mine = distances.isel(run=_runs(distances, "low discrepancy", target))
    return mine["width"].values, mine["distance"].transpose("run", "time").values


def _random_slopes(distances: xr.Dataset) -> np.ndarray:
    """Slope of log W2 in log m for every draw of the i.i.d. starts, shape (time, seed)."""
    mine = distances.isel(run=_runs(distances, "i.i.d.", "equal signs"))
    seeds = np.unique(mine["seed"])
    fits = []
    for seed in seeds:
        draw = mine.isel(run=np.flatnonzero(mine["seed"] == seed))
        logs = np.log(draw["distance"].transpose("run", "time").values)
        fits.append(np.polyfit(np.log(draw["width"].values), logs, 1)[0])
    return np.array(fits).T


@claim(
    "bnm-thm4-conv",
    where="Theorem 4",
    kind="limit",
    states="If the starts converge as m grows, the particle systems converge to the mean-field flow at every time.",
    data="propagation_distances",
    control=wrong_formula("the distances of the narrowest system at every width", narrowest_everywhere),
)
def particles_converge(propagation_distances: xr.Dataset) -> Verdict:
    """Exact W2 on M to a wide reference at several times, two targets, two kinds of start."""
    m, benign = _curve(propagation_distances, "equal signs")
    _, sensitive = _curve(propagation_distances, "opposite signs")
    slopes = np.polyfit(np.log(m), np.log(benign), 1)[0]
    random = _random_slopes(propagation_distances)
    fall = (m[-1] / m[0]) ** -0.3
    amplified = float((sensitive / sensitive[:, :1]).max())
    return Verdict.from_tests(
        all_of(
            slopes=deviation(
                slopes + 0.575,
                0.225,
                expected="log W2 falls in log m with slope -0.8 to -0.35 at every time",
                reason="-1/2 is best possible for m points in the plane; the theorem gives no rate",
            ),
            equal_signs=at_most(benign[-1] / benign[0], fall, expected="falls", reason="m^-0.3 between the ends"),
            opposite_signs=at_most(
                sensitive / sensitive[:, :1],
                5,
                expected="the start's distance times a factor that does not grow with m",
                reason="continuous dependence on the start; a first run gave 2.9, 5 leaves room",
            ),
            random_starts=all_of(
                **{
                    f"at_time_{i}": mean_within(
                        slope, -1, -0.1, expected="falls", reason="slopes flatter than -0.1 show no convergence"
                    )
                    for i, slope in enumerate(random)
                }
            ),
        ),
        note="Whole sequences are observed to converge; the theorem promises a subsequence. With opposite signs "
        f"differences of the start are amplified up to {amplified:.1f} times, so the fall is not monotone in m.",
    )


@claim(
    "bnm-thm4-subsequence",
    where="Theorem 4",
    kind="limit",
    states="Some subsequence of the particle systems converges for all times at once.",
)
def some_subsequence() -> Verdict:
    """Existence of a subsequence."""
    return not_testable(
        "The existence of a subsequence and the limit over all widths are beyond any finite computation; what is "
        "observed is that whole sequences converge (bnm-thm4-conv)."
    )


def constants_too_small(exit_times: xr.Dataset) -> xr.Dataset:
    """Bounds with both constants a hundredth of their size."""
    return exit_times.assign(bound=100 * exit_times["bound"], gronwall=100 * exit_times["gronwall"])


@claim(
    "bnm-thm4-tr",
    where="eqs. (18), (19)",
    kind="bound",
    states="Particles stay in [-r, r] x Omega up to t_r >= (r - r0)/(A + B r), and t_r grows without limit.",
    data="exit_times",
    control=wrong_formula("constants A and B a hundredth of their size", constants_too_small),
)
def exit_times_are_bounded(exit_times: xr.Dataset) -> Verdict:
    """First passage times on bounded data against (18), Gronwall's sharper bound, and the growth of (19)."""
    stages, n = exit_times["stages"].values, exit_times["stage"].values
    growth = np.diff(stages)[-1] * float(exit_times["growth"]) / np.log(n[-1] / n[-2])
    times = exit_times["exit_time"]
    slack = float((times / exit_times["bound"]).min())
    return Verdict.from_tests(
        all_of(
            bound_18=at_least(times / exit_times["bound"], 1, expected="t_r at least (18)", reason="a bound"),
            gronwall=at_least(times / exit_times["gronwall"], 1, expected="t_r at least Gronwall's", reason="a bound"),
            speed=at_most(
                exit_times["speed"] / exit_times["speed_bound"], 1, expected="|a'| <= A + B r", reason="a bound"
            ),
            sum_19=deviation(
                growth - 1, 0.02, expected="grows as log(n)/B", reason="next term of the harmonic sum at n = 1000"
            ),
        ),
        note=f"Loose: the times are at least {slack:.0f} times the bound. In the text at hand l'(0) hides y: it must "
        "be sup_y |l'(0, y)|, which Assumption 2 does not bound.",
    )


def halved_bound(equicontinuity: xr.Dataset) -> xr.Dataset:
    """Half of the corrected bound."""
    return equicontinuity.assign(bound=equicontinuity["bound"] / 2)


@claim(
    "bnm-thm4-equicont",
    where="Theorem 4, proof, display on equicontinuity",
    kind="bound",
    states="W2(t, t')^2 <= ... = (t'-t)(L(t') - L(t)) <= (t'-t) L(t').",
    correction="W2^2 <= (t'-t)(L(t) - L(t')) <= (t'-t) L(0), with the metric's norm of bbar' and geodesics for chords; "
    "the theorem survives with C = L(0).",
    formula=(
        r"W_2(\bar\rho_t, \bar\rho_{t'})^2 \le (t' - t) \left( \bar L_{t'} - \bar L_t \right) "
        r"\le (t' - t) \bar L_{t'}"
    ),
    corrected_formula=(
        r"W_2(\bar\rho_t, \bar\rho_{t'})^2 \le (t' - t) \left( \bar L_t - \bar L_{t'} \right) "
        r"\le (t' - t) \bar L_0"
    ),
    data="equicontinuity",
    control=wrong_formula("half of the corrected bound", halved_bound),
)
def trajectories_are_equicontinuous(equicontinuity: xr.Dataset) -> Verdict:
    """All pairs of times: exact W2 against the printed bound, the larger coupling cost against the corrected."""
    w2, coupled = equicontinuity["w2"], equicontinuity["coupled"]
    printed = _pairs(w2 / equicontinuity["bound_printed"])
    corrected = _pairs(coupled / equicontinuity["bound"])
    violated = int((w2 > equicontinuity["bound_printed"]).sum())
    return Verdict.from_tests(
        at_most(printed, 1, expected="W2^2 at most (t'-t) L(t')", reason="a bound"),
        at_most(corrected, 1 + 1e-6, expected="at most (t'-t)(L(t) - L(t'))", reason="solver tolerance 1e-10"),
        note=f"The printed bound fails for {violated} of {printed.size} pairs with exact transport; the corrected one "
        f"for none of {corrected.size} pairs, even for the coupling of the proof.",
    )


def _pairs(ratio: xr.DataArray) -> np.ndarray:
    values = ratio.values
    return values[np.isfinite(values)]


def without_boundary(equicontinuity: xr.Dataset) -> xr.Dataset:
    """Drops the boundary term."""
    return equicontinuity.assign(weak_boundary=0 * equicontinuity["weak_boundary"])


@claim(
    "bnm-thm4-weak",
    where="Theorem 4, proof, before eq. (20)",
    kind="identity",
    states="For every bounded Lipschitz test function the space-time integral of the weak form is zero.",
    correction="It equals the boundary term: the integral of phi over rho at t_r minus the one at 0.",
    formula=(
        r"\int_0^{t_r} \int_{\mathcal{M}} \left( \partial_t \phi + (\nabla_m \phi)^T G \bar v_t \right) "
        r"d\bar\rho_t\, dt = 0"
    ),
    corrected_formula=(
        r"\int_0^{t_r} \int_{\mathcal{M}} \left( \partial_t \phi + (\nabla_m \phi)^T G \bar v_t \right) "
        r"d\bar\rho_t\, dt = \int_{\mathcal{M}} \phi\, d\bar\rho_{t_r} - \int_{\mathcal{M}} \phi\, d\bar\rho_0"
    ),
    data="equicontinuity",
    control=wrong_formula("the boundary term left out", without_boundary),
)
def weak_form(equicontinuity: xr.Dataset) -> Verdict:
    """Simpson's rule along the flow for phi = t and phi = sin(angle) + a."""
    left, boundary = equicontinuity["weak_left"], equicontinuity["weak_boundary"]
    reason = "Simpson's rule on the recorded times"
    return Verdict.from_tests(
        deviation(left, 1e-5, expected="0", reason=reason),
        deviation(left - boundary, 1e-5, expected="the boundary term", reason=reason),
    )


def _final(minimisation: xr.Dataset) -> xr.DataArray:
    return (minimisation["loss"] / minimisation["zero_loss"]).isel(frame=-1)


def counter_examples_for_separating(minimisation: xr.Dataset) -> xr.Dataset:
    """Declares the counter-examples to be separating."""
    return minimisation.assign_coords(separates=("start", 1 - minimisation["separates"].values))


@claim(
    "bnm-thm5",
    where="Theorem 5",
    kind="limit",
    states="From a separating start a flow that converges reaches the global minimum.",
    data="minimisation",
    control=wrong_formula("starts that do not separate", counter_examples_for_separating),
)
def separating_starts_reach_the_minimum(minimisation: xr.Dataset) -> Verdict:
    """Targets that the model can represent, so that the minimum is 0; ReLU and erf."""
    mine = minimisation.isel(start=np.flatnonzero(minimisation["separates"] == 1))
    half = mine.sizes["frame"] * 9 // 10
    return Verdict.from_tests(
        all_of(
            loss_left=at_most(
                _final(mine), 1e-2, expected="a hundredth of the start's or less", reason="a minimum that is 0"
            ),
            still_falling=at_most(
                mine["loss"].isel(frame=-1) / mine["loss"].isel(frame=half), 0.9, expected="falls", reason="by 10 %"
            ),
        ),
        note="Convergence itself, on which the theorem is conditional, is not decided; ReLU lacks the "
        "differentiability of Assumption 3, erf has it.",
    )


def separating_for_points(minimisation: xr.Dataset) -> xr.Dataset:
    """Gives the counter-examples the losses and speeds of a separating start."""
    spoilt = minimisation.copy(deep=True)
    good = int(np.flatnonzero(minimisation["separates"] == 1)[0])
    for name in ("loss", "speed"):
        spoilt[name][{"start": np.flatnonzero(minimisation["separates"] == 0)}] = minimisation[name].isel(start=good)
    return spoilt


@claim(
    "bnm-thm5-counter",
    where="Theorem 5 (ours)",
    kind="qualitative",
    states="Separation cannot be dropped: point masses come to rest at a positive loss.",
    data="minimisation",
    control=wrong_formula("the losses of a separating start", separating_for_points),
)
def points_come_to_rest(minimisation: xr.Dataset) -> Verdict:
    """One or two point masses against up to three teachers, and a thin arc at the antipode of one teacher."""
    lone = minimisation.isel(start=np.flatnonzero((minimisation["separates"] == 0) & (minimisation["particles"] <= 2)))
    arc = _final(minimisation.sel(start="arc of 0.05 at the antipode, 1 teacher"))
    return Verdict.from_tests(
        all_of(
            loss=at_least(_final(lone), 0.05, expected="positive", reason="five times what separating starts may keep"),
            speed=at_most(
                lone["speed"].isel(frame=-1), 1e-8, expected="at rest", reason="solver tolerance 1e-9 of order 1"
            ),
            thin_arc=at_least(arc, 0.9, expected="no progress", reason="the teacher's half-space is not seen"),
        )
    )


@claim(
    "bnm-assumption3-regular",
    where="Assumption 3.3",
    kind="qualitative",
    states="Regular values of g_rho are dense in its range, for every rho.",
)
def regular_values() -> Verdict:
    """An assumption over all measures."""
    return not_testable(
        "An assumption about every probability measure; its transfer between metrics in the proof of Theorem 5 is "
        "right, since critical points (df = 0) do not depend on the metric."
    )
