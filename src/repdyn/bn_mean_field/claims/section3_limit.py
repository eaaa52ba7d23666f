"""Claims of section 3 of Ma and Ying: Theorems 4 and 5, their proofs' inequalities, and what cannot be tested."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, in_dataset, replace_labels, replace_variables, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict, at_least, at_most, deviation, not_testable, weakest


@claim(
    "bnm-dissipation",
    where="Section 3.2, Theorem 4, proof, display on equicontinuity",
    words=r"$= (t'-t) \left( \bar{L}(\bar{\rho}_{m,t'}) - \bar{L}(\bar{\rho}_{m,t}) \right)$",
    line=281,
    kind_of_slip="slip in a proof",
    kind="identity",
    states="Along the flow the loss changes at the rate of the display, with the Euclidean norm.",
    correction="With the norm of the metric $G$, and with a minus.",
    formula=r"\frac{d \bar L}{dt} = \frac{1}{m} \sum_{k=1}^{m} \left( |\dot a_k|^2 + \|\dot{\bar b}_k\|^2 \right)",
    corrected_formula=r"\frac{d \bar L}{dt} = -\frac{1}{m} \sum_{k=1}^{m} \left( |\dot a_k|^2 + \dot{\bar b}_k^T G "
    r"\dot{\bar b}_k \right)",
    control=wrong_formula("the Euclidean norm in the corrected form", replace_variables(rate_metric="rate_euclidean")),
    message="The rate at which the loss falls has the wrong norm and sign",
    cause="Along the flow the derivative of the loss is minus the squared speed in the norm of the metric $G$; the "
    "display has the Euclidean norm, and no minus.",
    consequence="The proof of Theorem 4 goes on, with the norm of $G$ and the minus in the display "
    "(bnm-thm4-equicont); what it lacks is elsewhere (bnm-thm4-conv).",
    sought="The corrected form is the chain rule with (14), for every activation with a derivative along the path. "
    "For ReLU on point data a path that meets an edge has one-sided derivatives, so the identity holds for almost "
    "every time only.",
    labels={"": "rate of the display over that of the loss, minus 1"},
)
def loss_falls_at_the_rate_of_the_metric(equicontinuity: xr.Dataset) -> Verdict:
    """Closed-form loss differenced along the velocity against the mean squared speed in both norms."""

    def test(name: str) -> Test:
        gap = equicontinuity[name] / equicontinuity["rate"] - 1
        reason = "central difference with step 1e-5: rounding 1e-11 over the smallest rate, 1e-5 of the largest"
        return deviation(gap, 1e-5, expected="equal rates", reason=reason)

    euclidean = float(abs(equicontinuity["rate_euclidean"] / equicontinuity["rate"] - 1).max())
    return Verdict.from_tests(
        test("rate_printed"),
        test("rate_metric"),
        {"largest deviation of the rate with minus and Euclidean norm (share)": euclidean},
    )


KINDS = tuple(
    (start, target) for start in ("low discrepancy", "i.i.d.") for target in ("equal signs", "opposite signs")
)
FALSE_ORDER = "wider systems lie farther from the limit: widths in reverse order"


def _runs(distances: xr.Dataset, start: str, target: str) -> np.ndarray:
    """Runs of a kind without the reference."""
    kind = (distances["start"] == start) & (distances["target"] == target)
    return np.flatnonzero((kind & (distances["width"] != distances["reference"])).values)


def _exponents(distances: xr.Dataset, start: str, target: str) -> np.ndarray:
    """Exponent p of W2 ~ m^-p for every draw and time, shape (time, seed)."""
    runs = distances.isel(run=_runs(distances, start, target))
    fits = []
    for seed in np.unique(runs["seed"]):
        draw = runs.isel(run=np.flatnonzero(runs["seed"] == seed))
        if len(draw["width"]) < 3:
            raise NotEnoughDataError(f"propagation_distances: 3 widths of {start} starts, has {len(draw['width'])}")
        logs = np.log(draw["distance"].transpose("run", "time").values)
        fits.append(-np.polyfit(np.log(draw["width"].values), logs, 1)[0])
    return np.array(fits).T


def _reversed(start: str, target: str) -> Callable[[xr.Dataset], xr.Dataset]:
    def spoil(distances: xr.Dataset) -> xr.Dataset:
        spoiled = distances.copy(deep=True)
        runs = _runs(distances, start, target)
        for seed in np.unique(distances["seed"].values[runs]):
            own = runs[distances["seed"].values[runs] == seed]
            spoiled["distance"][{"run": own}] = distances["distance"].isel(run=own[::-1]).values
        return spoiled

    return spoil


_as_relu = replace_labels("activation", {"erf": "relu"})


def _part(start: str, target: str) -> str:
    return f"{start.replace('.', '')} {target}"


POINTS = "smooth, point data"


@claim(
    "bnm-thm4-conv",
    where="Section 3.2, Theorem 4",
    words=r"$\bar{\rho}_{m,t}$ converges weakly to $\bar{\rho}_t$ for any t > 0",
    line=228,
    assumes="Assumption 2: bounded inputs, Lipschitz activation and slope of the loss; the starts converge weakly",
    kind="limit",
    kind_of_slip="missing hypothesis",
    states="If the starts converge as the width grows, a subsequence of the particle systems converges to a solution "
    "of (15) at any time.",
    correction=r"With a continuous $\sigma'$, or for ReLU where no hyperplane $b^T x = 0$ carries mass. ReLU on point "
    "data obeys Assumption 2, and the limit of all subsequences need not solve (15).",
    control={POINTS: false_world("ReLU, whose derivative jumps", in_dataset(1, _as_relu))}
    | {_part(*kind): false_world(FALSE_ORDER, in_dataset(0, _reversed(*kind))) for kind in KINDS},
    message="The limit need not solve the equation where the activation has a kink",
    cause=r"After (20) the proof calls $\bar v_t$ continuous. Assumption 2 allows ReLU and data at points, where it "
    "jumps: neurons that approach an edge may come to rest although (14) moves their limit.",
    consequence="The theorem, and with it the existence of solutions, needs a continuous derivative of the "
    "activation or data without mass on hyperplanes; then the proof is right.",
    sought="Found: neurons at the angle $1/m$ from the edge of the half-spaces of two of eight points. The "
    r"corrected form has the paper's proof: $\bar v_t$ is then bounded and continuous by dominated convergence, "
    "which is all that II asks. Tried besides: teachers of opposite signs, which amplify differences of the start; "
    "i.i.d. starts, drawn anew at each width.",
    defence="Chizat and Bach, whom the proof follows, ask for differentiable activations, and the proof says that "
    "the velocity is continuous: the authors had such activations in mind. And if a neuron on an edge may take any "
    "slope between those of its two sides, for each input separately (solutions of Filippov), the limit of the "
    "example is a solution.",
    answer=r"Assumption 2 asks for a Lipschitz activation only, section 3.3 adds the Lipschitz $\sigma'$ explicitly, "
    r"and section 4.2 is about ReLU. (14) has one number $\sigma'(0)$ for both points, and no choice of it helps. So "
    "the theorem lacks a hypothesis or another notion of solution; with either it survives.",
    labels={POINTS: "turn of neurons next to an edge minus that which (14) asks of their limit (radian)"},
    remark="The widths tried, powers of two, are one subsequence; the theorem promises no more and gives no rate. "
    r"For a Lipschitz $\sigma'$ every sequence converges, by proof (bnm-uniqueness). With teachers of opposite signs "
    "differences of the start are amplified, so that the fall need not be monotone in $m$.",
)
def particles_converge(propagation_distances: xr.Dataset, well_posedness: xr.Dataset) -> Verdict:
    """Point data at a kink; exact W2 on M to a wide reference at several times, two targets, two kinds of start."""
    tests = {POINTS: _limit_solves_the_equation(well_posedness, "erf")}
    for start, target in KINDS:
        exponents = _exponents(propagation_distances, start, target)
        name = _part(start, target)
        tests[name] = _falls_in_every_draw(exponents) if start == "i.i.d." else _falls(exponents)
    amplification = {"largest growth of the distance over time, opposite signs": _amplification(propagation_distances)}
    return Verdict.from_tests(_limit_solves_the_equation(well_posedness, "relu"), tests, amplification)


def _limit_solves_the_equation(well_posedness: xr.Dataset, activation: str) -> Test:
    """Turn of the neurons nearest to the edge less that which (14) asks of their limit, at the best sigma'(0)."""
    flows = well_posedness.sel(activation=activation)
    gaps = abs(flows["edge_moved"].isel(gap=0) - flows["edge_required"])
    reason = "neurons at most 1e-4 from the edge keep that distance to their limit up to a factor of order one"
    return deviation(gaps.min("kink_slope"), 1e-3, expected="the limit solves (15)", reason=reason)


def _falls(exponents: np.ndarray) -> Test:
    expected = "W2 falls at every time, exponent 0.25 or more"
    return at_least(exponents, 0.25, expected=expected, reason="half of 1/2, the best of $m$ points in the plane")


def _falls_in_every_draw(exponents: np.ndarray) -> Test:
    """The time at which the fall is least sure carries the test; the false-alarm rate is shared out over the times."""
    tests = [
        mean_within(
            draws,
            0,
            np.inf,
            expected="W2 falls at every time, exponent above 0",
            reason="an exponent of 0 is no convergence; the theorem gives no rate",
            false_alarm=1e-3 / len(exponents),
        )
        for draws in exponents
    ]
    return weakest(tests)


def _amplification(distances: xr.Dataset) -> float:
    curve = distances.isel(run=_runs(distances, "low discrepancy", "opposite signs"))["distance"]
    return float((curve / curve.isel(time=0)).max())


@claim(
    "bnm-thm4-subsequence",
    where="Section 3.2, Theorem 4",
    words=r"there exists a subsequence of $(\bar{\rho}_{m,t})_{m=1}^{\infty}$ ... for any t > 0",
    line=228,
    assumes="Assumption 2; the starts converge weakly",
    kind="limit",
    states="Some subsequence of the particle systems converges at all times $t > 0$.",
)
def some_subsequence() -> Verdict:
    """Existence of a subsequence."""
    return not_testable(
        "The existence of a subsequence and the limit over all widths are beyond any finite computation; what is "
        "observed is one along which distances fall (bnm-thm4-conv); for a Lipschitz $\\sigma'$ the whole sequence "
        "converges by proof (bnm-uniqueness)."
    )


LITERAL = r"$y$ left out of $\ell'(0, y)$, so that $A = 0$"


@claim(
    "bnm-thm4-tr",
    where="Section 3.2, Theorem 4, proof, eqs. (18), (19)",
    words=r"$t_r \ge \frac{r - r_0}{A + Br} > 0.$",
    line=264,
    assumes=r"Assumption 2; $\ell'(0)$ stands for the mean $\mathbb{E} |\ell'(0, y)|$",
    kind="bound",
    states=r"Particles stay in $[-r, r] \times \Omega$ up to $t_r \ge (r - r_0)/(A + B r)$, and $t_r$ grows without "
    "limit.",
    control={
        "bound 18": wrong_formula(LITERAL, replace_variables(bound="literal_bound")),
        "gronwall": wrong_formula(LITERAL, replace_variables(gronwall="literal_gronwall")),
        "speed": wrong_formula(LITERAL, replace_variables(speed_bound="literal_speed_bound")),
        "sum 19": wrong_formula(
            "the squares of the radii in the sum, which then converges", replace_variables(stages="stages_of_squares")
        ),
    },
    sought=r"Proof by Gronwall: $|\dot a| \le A + B r$ uses $\sigma$ and $\ell'$ alone, so kinks, atoms and ties "
    "do not matter. Equality is approached by one neuron that all inputs excite; tried there. $C_x$ must be "
    "finite: with Gaussian inputs the constants are not.",
    labels={
        "gronwall": "time of leaving over the time that Gronwall's lemma gives",
        "speed": "speed of the outer weights over its bound",
        "bound 18": "time at which particles leave the ball over the bound (18)",
        "sum 19": "growth of the sum (19) with its length, over the logarithm, minus 1",
    },
    remark=r"In print $\ell'(0)$ hides $y$; its mean $\mathbb{E} |\ell'(0, y)|$ is enough, which is finite for "
    "unbounded labels, too.",
)
def exit_times_are_bounded(exit_times: xr.Dataset) -> Verdict:
    """First passage times on bounded data against (18), Gronwall's sharper bound, and the growth of (19)."""
    reached = exit_times.isel(radius=np.flatnonzero(np.isfinite(exit_times["exit_time"].values)))
    require(reached, "exit_times, radii reached", radius=1)
    stages, n = exit_times["stages"].values, exit_times["stage"].values
    growth = np.diff(stages)[-1] * float(exit_times["growth"]) / np.log(n[-1] / n[-2])
    times = reached["exit_time"]
    slack = float((times / reached["bound"]).min())
    speeds = exit_times["speed"] / exit_times["speed_bound"]
    return Verdict.from_tests(
        {
            "bound 18": at_least(times / reached["bound"], 1, expected="$t_r$ at least (18)", reason="a bound"),
            "gronwall": at_least(
                times / reached["gronwall"], 1, expected="$t_r$ at least Gronwall's", reason="a bound"
            ),
            "speed": at_most(speeds, 1, expected=r"$|a'| \le A + B r$", reason="a bound"),
            "sum 19": deviation(
                growth - 1,
                0.05,
                expected=r"grows as $\log(n) / B$",
                reason="next term of the harmonic sum, $A / (B r_0 n)$",
            ),
        },
        facts={"least time over its bound (18)": slack},
    )


TOLERANCE = 1e-6  # of the solver of the flow, whose own is 1e-10


@claim(
    "bnm-thm4-equicont",
    where="Section 3.2, Theorem 4, proof, last lines of the display",
    words=r"$\leq (t'-t) \bar{L}(\bar{\rho}_{m,t'}).$",
    line=282,
    assumes=r"$0 \le t < t' \le t_r$",
    kind_of_slip="slip in a proof",
    kind="bound",
    states="$W_2^2$ between two times is at most $(t'-t)$ times the gain of loss as printed, so at most $(t'-t) "
    "L(t')$.",
    correction=r"$W_2^2 \le (t'-t)(L(t) - L(t')) \le (t'-t) L(0)$, the last for a loss that is never negative; the "
    "proof needs no more.",
    formula=r"W_2(\bar\rho_t, \bar\rho_{t'})^2 \le (t' - t) \left( \bar L_{t'} - \bar L_t \right) \le (t' - t) \bar "
    "L_{t'}",
    corrected_formula=r"W_2(\bar\rho_t, \bar\rho_{t'})^2 \le (t' - t) \left( \bar L_t - \bar L_{t'} \right) \le (t' - "
    r"t) \bar L_0",
    control=wrong_formula("the factor $t' - t$ left out", replace_variables(bound="bound_without_time")),
    message="The bound takes the loss to grow where it falls",
    cause="The display has $L(t') - L(t)$, which is negative where the loss falls, and ends with $(t' - t) L(t')$, "
    "which is violated where the loss tends to zero fast enough, never before it has halved.",
    consequence=r"The right bound is $(t' - t)(L(t) - L(t')) \le (t' - t) L(0)$, and the proof goes on with $C = "
    "L(0)$; what Theorem 4 lacks is elsewhere (bnm-thm4-conv).",
    sought="The corrected form needs a loss that falls, which any solution of the particle system has; $m = 1$ "
    "and neurons that share a path give equality for straight geodesics at constant speed. The loss must not be "
    "negative, which no assumption says (a linear loss is convex and is): on the compact $\\mathcal M_r$ the constant "
    "$L(0) - \\inf L$ does as well.",
)
def trajectories_are_equicontinuous(equicontinuity: xr.Dataset) -> Verdict:
    """All pairs of times: exact W2 against the printed bound, the larger coupling cost against the corrected."""
    w2, coupled = equicontinuity["w2"], equicontinuity["coupled"]
    printed = _pairs(w2 / equicontinuity["bound_printed"])
    corrected = _pairs(coupled / equicontinuity["bound"])
    return Verdict.from_tests(
        at_most(printed, 1, expected="$W_2^2$ at most $(t' - t) L(t')$", reason="a bound"),
        at_most(
            corrected, 1 + TOLERANCE, expected="at most $(t' - t) (L(t) - L(t'))$", reason="solver tolerance 1e-10"
        ),
        facts={
            "pairs of times with exact transport": printed.size,
            "of these above the printed bound": int((printed > 1).sum()),
            "pairs of times with a coupling": corrected.size,
            "of these above the corrected bound": int((corrected > 1 + TOLERANCE).sum()),
        },
    )


@claim(
    "bnm-thm4-chord",
    where="Section 3.2, Theorem 4, proof, first line of the display",
    words=r"$W_{2}(\bar{\rho}_{m,t},\bar{\rho}_{m,t'})^{2} \leq \frac{1}{m} \sum_{k=1}^{m} \left( |a_{k}(t') "
    r"- a_{k}(t)|^{2} + \|\bar{\mathbf{b}}_{k}(t') - \bar{\mathbf{b}}_{k}(t)\|^{2} \right)$",
    line=279,
    assumes="$W_2$ of eq. (16), with the distance of the manifold",
    kind_of_slip="slip in a proof",
    kind="bound",
    states=r"$W_2^2$ is at most the mean of $|a_k(t')-a_k(t)|^2 + \|\bar b_k(t')-\bar b_k(t)\|^2$, Euclidean chords.",
    correction=r"With the distance on $\mathcal M$, which (16) has, instead of the chords.",
    formula=(r"W_2^2 \le \frac{1}{m} \sum_k \left( |a_k(t') - a_k(t)|^2 + \|\bar b_k(t') - \bar b_k(t)\|^2 \right)"),
    corrected_formula=r"W_2^2 \le \frac{1}{m} \sum_k \mathrm{dist}\left( (a_k, \bar b_k)(t'), (a_k, \bar b_k)(t) "
    r"\right)^2",
    control=wrong_formula("chords in the corrected form", replace_variables(coupled="chord")),
    message="Straight chords are too short for distances on the manifold",
    cause=r"The distance (16) is measured along geodesics; next to an eigen-direction of variance $\lambda$ these are "
    r"$\sqrt{\lambda}$ times their chords, longer where $\lambda > 1$. At $\Sigma = I$ an arc is longer than its "
    "chord, too.",
    consequence="With the distance on the manifold in place of the chords the line is right, and the proof goes on.",
    sought="The mean squared distance is the cost of one coupling, so never below the optimum; equal where no "
    r"exchange of neurons is cheaper. The printed chords fail as soon as one eigenvalue of $\Sigma$ exceeds 1, at "
    r"$m = 1$ already, and at $\Sigma = I$ for each turn.",
)
def coupling_bounds_the_distance(equicontinuity: xr.Dataset) -> Verdict:
    """Exact W2 on M against the coupling of the proof, with chords and with geodesics."""
    printed, corrected = (_pairs(equicontinuity["w2"] / equicontinuity[name]) for name in ("chord", "coupled"))
    return Verdict.from_tests(
        at_most(printed, 1, expected="$W_2^2$ at most the mean squared chord", reason="a bound"),
        at_most(corrected, 1 + 1e-9, expected="at most the mean squared distance", reason="rounding of the transport"),
    )


def _pairs(ratio: xr.DataArray) -> np.ndarray:
    values = ratio.values[np.isfinite(ratio.values)]
    if not values.size:
        raise NotEnoughDataError("equicontinuity: two times with exact transport, has fewer")
    return values


@claim(
    "bnm-thm4-weak",
    where="Section 3.2, Theorem 4, proof, before eq. (20)",
    words=r"for any $r > r_0$ and any bounded, Lipschitz test function $\phi(a, \bar{\mathbf{b}}, t)$",
    line=294,
    kind_of_slip="slip in a proof",
    kind="identity",
    states="For every bounded Lipschitz test function the space-time integral of the weak form is zero.",
    correction=r"For a continuously differentiable $\phi$ it is the integral of $\phi$ over $\rho$ at $t_r$ minus "
    "the one at 0: zero for test functions that vanish at both ends.",
    formula=r"\int_0^{t_r} \int_{\mathcal{M}} \left( \partial_t \phi + (\nabla_m \phi)^T G \bar v_t \right) "
    r"d\bar\rho_t\, dt = 0",
    corrected_formula=r"\int_0^{t_r} \int_{\mathcal{M}} \left( \partial_t \phi + (\nabla_m \phi)^T G \bar v_t \right) "
    r"d\bar\rho_t\, dt = \int_{\mathcal{M}} \phi\, d\bar\rho_{t_r} - \int_{\mathcal{M}} \phi\, d\bar\rho_0",
    control=wrong_formula("the boundary term left out", replace_variables(weak_boundary="weak_printed")),
    message="The weak form lacks its values at both ends",
    cause=r"For a test function that does not vanish at the ends the integral is that of $\phi$ over $\rho$ at $t_r$ "
    r"minus the one at 0; $\phi = t$ shows it. A Lipschitz $\phi$ may have no gradient where point masses run.",
    consequence="For continuously differentiable functions that vanish at both ends, as weak forms usually ask, the "
    "line is right as printed.",
    sought=r"For continuously differentiable $\phi$ it is the fundamental theorem along each particle. The least "
    "regular functions that are printed, Lipschitz ones, have no gradient on sets on which point masses may run, "
    r"e.g. $\phi = |a - a_0|$ with a particle resting at $a_0$.",
    labels={"": "space-time integral of the weak form for three test functions"},
)
def weak_form(equicontinuity: xr.Dataset) -> Verdict:
    """Simpson's rule along the flow for three test functions, the third of which vanishes at both ends."""
    left, reason = equicontinuity["weak_left"], "Simpson's rule on the recorded times"
    ended = float(left.isel(test=-1))
    return Verdict.from_tests(
        deviation(left - equicontinuity["weak_printed"], 1e-5, expected="0", reason=reason),
        deviation(left - equicontinuity["weak_boundary"], 1e-5, expected="the boundary term", reason=reason),
        facts={"left side for a test function that vanishes at both ends": ended},
    )


def _separating(minimization: xr.Dataset, flag: int) -> xr.Dataset:
    return minimization.isel(start=np.flatnonzero(minimization["separates"] == flag))


def _counter_examples(minimization: xr.Dataset) -> xr.Dataset:
    return minimization.assign_coords(separates=("start", 1 - minimization["separates"].values))


NOT_SEPARATING = "starts that do not separate"


@claim(
    "bnm-thm5",
    where="Section 3.3, Theorem 5",
    words=r"then $\bar{\rho}_{\infty}$ is a global minimizer of $\bar{L}(\rho)$ over all probability distributions",
    line=352,
    assumes="Assumption 3, bounded inputs as in Assumption 2; the start separates; the flow converges in $W_2$",
    kind="limit",
    states="From a separating start a flow that converges reaches the global minimum.",
    control={
        "loss left": false_world(NOT_SEPARATING, _counter_examples),
        "still falling": false_world(NOT_SEPARATING, _counter_examples),
    },
    sought=r"Proof followed: while $g_\infty < 0$ on a regular sublevel set, neurons with $a < 0$ cannot enter it, "
    "those inside gain $a$ at a fixed rate, and separation keeps some there, so that $a$ grows without limit. "
    r"Degenerate: $d = 1$ ($\Omega$ is two points), constant $g$ (page), starts whose support just fails to "
    "separate (bnm-thm5-counter).",
    labels={
        "loss left": "loss at the end over the start's, separating starts",
        "still falling": "loss at the end over that nine tenths of the way",
    },
    remark="Convergence itself, on which the theorem is conditional, is not decided; ReLU lacks the "
    "differentiability of Assumption 3, erf has it.",
)
def separating_starts_reach_the_minimum(minimization: xr.Dataset) -> Verdict:
    """Targets that the model can represent, so that the minimum is 0; ReLU and erf."""
    loss = _separating(minimization, 1)["relative_loss"]
    late = loss.sizes["frame"] * 9 // 10
    falling = loss.isel(frame=-1) / loss.isel(frame=late)
    return Verdict.from_tests(
        {
            "loss left": at_most(
                loss.isel(frame=-1), 1e-2, expected="a hundredth of the start's or less", reason="a minimum that is 0"
            ),
            "still falling": at_most(falling, 0.9, expected="falls", reason="by 10 % in the last tenth of the records"),
        }
    )


def _losses_of_separating(minimization: xr.Dataset) -> xr.Dataset:
    spoiled = minimization.copy(deep=True)
    good = int(np.flatnonzero(minimization["separates"] == 1)[0])
    for name in ("relative_loss", "speed"):
        spoiled[name][{"start": np.flatnonzero(minimization["separates"] == 0)}] = minimization[name].isel(start=good)
    return spoiled


@claim(
    "bnm-thm5-counter",
    where="Section 3.3, Theorem 5 (ours)",
    kind="qualitative",
    origin="ours",
    assumes=r"Gaussian inputs of $\Sigma = \mathrm{diag}(5, 1)$, squared loss, targets that neurons can represent; "
    "ReLU, and erf, which meets Assumption 3",
    states="Separation cannot be dropped: point masses come to rest at a positive loss.",
    control={
        part: false_world("the losses and speeds of a separating start", _losses_of_separating)
        for part in ("loss", "speed", "thin arc")
    },
    labels={
        "loss": "loss at which point masses rest, over that of zero output",
        "speed": "largest speed of the point masses there",
        "thin arc": "loss left of a thin arc opposite to the teacher, over the start's",
    },
)
def points_come_to_rest(minimization: xr.Dataset) -> Verdict:
    """One or two point masses against up to three teachers, and a thin arc at the antipode of one teacher."""
    points = _separating(minimization, 0)
    points = points.isel(start=np.flatnonzero(points["particles"] <= 2))
    arc = minimization["relative_loss"].sel(start="arc of 0.05 at the antipode, 1 teacher").isel(frame=-1)
    loss = points["relative_loss"].isel(frame=-1)
    return Verdict.from_tests(
        {
            "loss": at_least(loss, 0.05, expected="positive", reason="five times what separating starts may keep"),
            "speed": at_most(
                points["speed"].isel(frame=-1), 1e-8, expected="at rest", reason="solver tolerance 1e-9 of order 1"
            ),
            "thin arc": at_least(arc, 0.9, expected="no progress", reason="the teacher's half-space is not seen"),
        }
    )
