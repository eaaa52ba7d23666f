"""Claims on one cluster: Theorem 3.2 along orbits, Propositions 4.1 and 4.2, the staircase of Section 4.3."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_least, at_most, not_testable
from repdyn.truncation_flow.claims.tolerances import LOCATED, ROUNDING, Tolerance, zero


def _largest_rise(cost: xr.DataArray) -> xr.DataArray:
    """Largest rise of the cost above its lowest value so far."""
    return (cost - xr.apply_ufunc(np.minimum.accumulate, cost, kwargs={"axis": cost.get_axis_num("time")})).max()


def _printed_for_corrected(flows: xr.Dataset) -> xr.Dataset:
    names = ("example_cost", "cost", "dissipation")
    return flows.assign(
        {
            name: flows[name].sel(formula=["printed", "printed"]).assign_coords(formula=flows["formula"])
            for name in names
        }
    )


@claim(
    "tf-thm32-monotone",
    where="Theorem 3.2, (3.24)",
    kind="bound",
    states="The cost does not rise along the flow of Theorem 3.2.",
    correction="It does not rise along the corrected flow.",
    data=("printed_and_corrected", "random_clusters"),
    control=wrong_formula(
        "the printed flow in the place of the corrected",
        lambda flows, clusters: (_printed_for_corrected(flows), clusters),
    ),
)
def cost_falls(printed_and_corrected: xr.Dataset, random_clusters: xr.Dataset) -> Verdict:
    """Largest rebound over the explicit examples and the random clusters."""
    step = float(printed_and_corrected["step"])

    def test(formula: str) -> Test:
        part = printed_and_corrected.sel(formula=formula)
        rises = [float(_largest_rise(part[name])) for name in ("example_cost", "cost")]
        return at_most(
            rises, 0.1 * step, expected="no rise", reason="a scheme of step h may rise by O(h) while sliding: h/10"
        )

    share = (random_clusters["printed_rate"] > 0).mean("draw")
    note = (
        "One point, x = (1, -1), yt = (1/2, 0): the printed flow takes the cost from 0.125 to "
        f"{float(printed_and_corrected['example_cost'].sel(formula='printed', example='rise')[-1]):.3f}. dC/ds > 0 "
        f"under the printed flow for {float(share.min()):.0%} to {float(share.max()):.0%} of random clusters with beta "
        "near -yt."
    )
    return Verdict.from_tests(test("printed"), test("corrected"), note)


def _same_moments(examples: xr.Dataset) -> xr.Dataset:
    return examples.assign(equal_means_true=0.0 * examples["equal_means_true"])


@claim(
    "tf-cor35-moments",
    where="Corollary 3.5",
    kind="identity",
    states="The flow depends on the data only through masses and first moments of the sectors.",
    correction="It depends on the masses and second moments of the half spaces; the first sentence of Section 3.3 is"
    " right.",
    corrected_formula=(
        r"[\Omega]_{ij} = \frac{1}{2} \left( (J_i - J_j) b_i b_j - r_i^T S_i r_j + r_i^T S_j r_j \right)"
    ),
    data="counterexamples",
    control=wrong_formula("two clusters that also have equal second moments", _same_moments),
)
def first_moments_do_not_suffice(counterexamples: xr.Dataset) -> Verdict:
    """Two clusters with equal sector masses and means and other second moments."""
    test = zero(counterexamples["equal_means_true"], "equal Omega for equal first moments")
    note = f"The printed Omega is the same for both ({float(counterexamples['equal_means_printed']):.1g})."
    return Verdict.from_tests(test, None, note)


def _moved_apex(examples: xr.Dataset) -> xr.Dataset:
    return examples.assign(positive_sector_moved=examples["positive_sector_moved"] + 0.1)


@claim(
    "tf-tau-fix",
    where="eqs. (2.14), (2.15)",
    kind="identity",
    states="tau(x) = x if and only if x lies in S+, and tau(x) = -beta if and only if x lies in S-.",
    correction="tau(x) = x if and only if all coordinates of R(x + beta) are >= 0: the apex lies in S- and is a"
    " fixed point.",
    formula=r"\tau(x) = x \Leftrightarrow x \in \mathcal{S}^+",
    corrected_formula=r"\tau(x) = x \Leftrightarrow (R(x + \beta))_r \ge 0 \text{ for all } r",
    data="counterexamples",
    control=wrong_formula("a map that moves the positive sector", _moved_apex),
)
def fixed_points(counterexamples: xr.Dataset) -> Verdict:
    """Points inside both sectors, and the apex on their common boundary."""
    found = counterexamples
    apex_moves = at_least(found["apex_moved"], 1e-6, expected="the apex, in S-, is moved", reason="any motion at all")
    inside = [found["positive_sector_moved"], found["negative_sector_missed"], found["apex_moved"]]
    return Verdict.from_tests(apex_moves, zero(xr.concat(inside, "part"), "sectors mapped as stated, the apex fixed"))


def _pushed(examples: xr.Dataset) -> xr.Dataset:
    return examples.assign(
        free_speed=examples["free_speed"] + 0.1, truncated_at_label=examples["truncated_at_label"] + 0.1
    )


@claim(
    "tf-eq-untrunc",
    where="Proposition 4.1, case 1",
    kind="identity",
    states="An untruncated cluster is an equilibrium.",
    data="counterexamples",
    control=wrong_formula("a velocity of 0.1", _pushed),
)
def untruncated_rests(counterexamples: xr.Dataset) -> Verdict:
    """Velocity of a cluster in the positive sector."""
    return Verdict.from_tests(zero(counterexamples["free_speed"], "velocity zero"))


@claim(
    "tf-eq-trunc",
    where="Proposition 4.1, case 2",
    kind="identity",
    states="A fully truncated cluster is an equilibrium.",
    correction="R is stationary, but d(beta)/ds = -(beta + yt), as (4.36) says; it rests only if also beta = -yt.",
    formula=r"\partial_s \beta = 0, \quad \partial_s R = 0",
    corrected_formula=r"\partial_s \beta = -(\beta + \tilde y), \quad \partial_s R = 0",
    data="counterexamples",
    control=wrong_formula("a velocity of 0.1 at beta = -yt", _pushed),
)
def truncated_moves(counterexamples: xr.Dataset) -> Verdict:
    """X = {(-2,-1), (-1,-3)}, yt = 0, beta = (.5, .7), R = 1."""
    found = counterexamples
    parts = [found["truncated_formula"], found["truncated_rotation"], found["truncated_at_label"]]
    corrected = zero(xr.concat(parts, "part"), "d(beta)/ds = -(beta + yt), Omega = 0, rest at beta = -yt")
    return Verdict.from_tests(zero(found["truncated_speed"], "velocity zero"), corrected)


def _late_release(examples: xr.Dataset) -> xr.Dataset:
    return examples.assign(release_time=examples["release_time"] * 2)


@claim(
    "tf-trunc-stays",
    where="after eq. (4.34)",
    kind="identity",
    states="A fully truncated cluster stays so.",
    correction="Only if R(x - yt) lies in the negative orthant for all points, as (4.16) assumes; else points are "
    "released, here at log 2.",
    corrected_formula=r"R(x_k - \tilde y) \in \mathbb{R}_-^Q \text{ for all } k",
    data="counterexamples",
    control=wrong_formula("twice the release time", _late_release),
)
def truncated_may_be_released(counterexamples: xr.Dataset) -> Verdict:
    """The point (.5, .4), yt = 0, apex (1, 1); its mirror image stays."""
    found = counterexamples
    kept = zero(found["kept_events"], "no release where R(x - yt) < 0")
    stays = at_least(found["release_time"], 10.0, expected="never released", reason="observed for ten units of time")
    exact = zero(found["release_time"] - np.log(2), "released at log 2", LOCATED)
    return Verdict.from_tests(stays, all_of(released=exact, mirror_image=kept))


def _mass_everywhere(examples: xr.Dataset) -> xr.Dataset:
    return examples.assign(free_share=examples["free_share"] + 0.5)


@claim(
    "tf-410",
    where="eq. (4.10)",
    kind="bound",
    states="If points lie outside the negative sector, then every (Jp)_r > 0.",
    correction="Assume (Jp)_r > 0 directly: an untruncated cluster meets (4.10) and has Jp = 0.",
    formula=(
        r"\mathrm{supp}(\mu \circ a^{-1}) \cap (\mathbb{R}^Q \setminus \mathbb{R}_-^Q) \ne \emptyset "
        r"\Rightarrow (J_0^\perp)_r > 0 \text{ for all } r"
    ),
    data="counterexamples",
    control=wrong_formula("a cluster half of which is truncated", _mass_everywhere),
)
def partial_truncation(counterexamples: xr.Dataset) -> Verdict:
    """An untruncated cluster."""
    return Verdict.from_tests(
        at_least(counterexamples["free_share"], 1e-6, expected="Jp_r > 0", reason="any mass at all")
    )


@claim(
    "tf-411",
    where="eqs. (4.11)-(4.12)",
    kind="limit",
    states="Since the cost converges, its derivative and hence Omega tend to zero.",
)
def omega_vanishes() -> Verdict:
    """A gap in the argument."""
    return not_testable(
        "The right side jumps, so a convergent cost does not force its derivative to zero; only int |Omega|^2 ds < inf"
        " follows. No finite orbit decides a limit; Omega along orbits stands in figures proposition and"
        " neural_collapse."
    )


def _no_second_moment(examples: xr.Dataset) -> xr.Dataset:
    return examples.assign(bound_corrected=examples["bound_printed"])


@claim(
    "tf-425",
    where="eq. (4.25)",
    kind="bound",
    states="||Omega|| <= |b| int_off |u|.",
    correction="||Omega|| <= |b| int_off |u| + (1/2) int_off |u|^2.",
    formula=r"\|\Omega\| \le |\tilde b| \int dx\, \mu(a^{-1}(x)) |x|",
    corrected_formula=(
        r"\|\Omega\| \le |\tilde b| \int dx\, \mu(a^{-1}(x)) |x| + \frac{1}{2} \int dx\, \mu(a^{-1}(x)) |x|^2"
    ),
    data="counterexamples",
    control=wrong_formula("without the second moment", _no_second_moment),
)
def generator_is_bounded(counterexamples: xr.Dataset) -> Verdict:
    """One point with u = (1, -1) and b = 0: bound minus norm."""
    found = counterexamples
    tests = [
        at_most(
            found["bound_true"] - found[name], ROUNDING.size, expected="norm below the bound", reason=ROUNDING.reason
        )
        for name in ("bound_printed", "bound_corrected")
    ]
    return Verdict.from_tests(*tests)


def _wide_data(proposition: xr.Dataset) -> xr.Dataset:
    return proposition.assign(eta_1=proposition["eta_1"] * 10, highest=proposition["highest"] + 1)


@claim(
    "tf-prop42-hyp",
    where="Proposition 4.2, (4.13)-(4.17)",
    kind="bound",
    states="The hypotheses of Proposition 4.2 can be met.",
    data="proposition",
    control=wrong_formula("ten times the first moment, and points near the plane", _wide_data),
)
def hypotheses_can_be_met(proposition: xr.Dataset) -> Verdict:
    """Rigorous upper bounds over the balls of biases and rotations, not samples."""
    largest = xr.concat([proposition[name] for name in ("eta_0", "eta_1")], "constant")
    note = (
        "Mended: mu o a^{-1} for mu o a; second moment (1/2) int_off |u|^2 < eta_1'' added; (4.13) and (4.32) give"
        " different eta_2 and both lack eta_1''."
    )
    return Verdict.from_tests(
        all_of(
            constants=at_most(largest, 0.1, expected="eta_0, eta_1 < 1/10", reason="the paper's bound"),
            negative_sector=at_most(
                1.0 + proposition["highest"], 1.0, expected="1 + largest coordinate <= 1", reason="sign only"
            ),
        ),
        None,
        note,
    )


def _late_arrival(proposition: xr.Dataset) -> xr.Dataset:
    return proposition.assign(arrival=proposition["arrival"] + 3)


@claim(
    "tf-prop42-s1",
    where="Proposition 4.2, (4.18), (4.30)",
    kind="bound",
    states="The cluster is fully truncated at a time s_1 <= log(1/gamma)/(1 - eta_0 - eta_1').",
    data="proposition",
    control=wrong_formula("an arrival three units later", _late_arrival),
)
def arrival_is_bounded(proposition: xr.Dataset) -> Verdict:
    """Also under the sharper log(1/gamma)/(1 - eta_0), since b^T Omega b = 0."""
    ratio = proposition["arrival"] / proposition["sharp_arrival_bound"]
    note = f"Ratio to the sharper bound at most {float(ratio.max()):.2f}: the bound is loose."
    bound = at_most(ratio, 1.0, expected="s_1 / bound <= 1", reason="a bound")
    return Verdict.from_tests(bound, None, note)


def _after_arrival(proposition: xr.Dataset, name: str) -> list[xr.DataArray]:
    late = proposition["time"] >= proposition["arrival"]
    return [proposition[name].sel(dimension=Q)[late.sel(dimension=Q).values] for Q in proposition["dimension"].values]


def _still_turning(proposition: xr.Dataset) -> xr.Dataset:
    turning = 1e-3 * proposition["time"]
    return proposition.assign(
        generator_norm=proposition["generator_norm"] + 1e-3, rotation=proposition["rotation"] + turning
    )


@claim(
    "tf-prop42-freeze",
    where="Proposition 4.2, (4.19), (4.21)",
    kind="identity",
    states="After s_1 Omega vanishes and R is constant.",
    data="proposition",
    control=wrong_formula("a rotation of 0.001 per unit of time", _still_turning),
)
def weights_freeze(proposition: xr.Dataset) -> Verdict:
    """Omega and the change of R after arrival."""
    motion = [float(np.ptp(part.values)) for part in _after_arrival(proposition, "rotation")]
    norms = [float(part.max()) for part in _after_arrival(proposition, "generator_norm")]
    return Verdict.from_tests(all_of(omega=zero(norms, "Omega = 0"), rotation=zero(motion, "R constant")))


def _slower(proposition: xr.Dataset) -> xr.Dataset:
    return proposition.assign({name: proposition[name] ** 0.9 for name in ("residual", "cost")})


@claim(
    "tf-prop42-rate",
    where="Proposition 4.2, (4.20), (4.37)",
    kind="identity",
    states="After s_1 |beta + yt| decays at rate 1, and the cost at rate 2.",
    data="proposition",
    control=wrong_formula("rates 0.9 and 1.8", _slower),
)
def rates_after_arrival(proposition: xr.Dataset) -> Verdict:
    """Log-slopes; (4.20) prints < where (4.37) has equality."""
    slopes = []
    for name, rate in (("residual", 1.0), ("cost", 2.0)):
        for part in _after_arrival(proposition, name):
            slopes.append(float(np.polyfit(part["time"], np.log(part), 1)[0]) / rate + 1.0)
    step = float(proposition["step"])
    return Verdict.from_tests(
        zero(
            slopes, "slopes -1 and -2", Tolerance(step**2, "midpoint rule: relative error of a rate h^2/12, below h^2")
        )
    )
