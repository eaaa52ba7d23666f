"""Claims of Sections 4.1 and 4.2 before Proposition 4.2: equilibria, release, partial truncation."""

from __future__ import annotations

import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, replace_variables, wrong_formula
from repdyn.base.readings import over_readings
from repdyn.base.verdicts import Test, Verdict, at_least, not_testable
from repdyn.truncation_flow.claims.tolerances import COUNTED, LOCATED, zero

PARTIAL = "a cluster that is partly truncated"
SO_THAT = {"a consequence": "follows", "an assumption of its own": "assumed"}
MEANT = {"as printed": "free_share", r"with $\mathbb{R}_+^Q$": "one_direction_share"}


@claim(
    "tf-eq-untrunc",
    where="Section 4.1, Proposition 4.1, case 1",
    line=575,
    assumes="cluster separated truncations; aligned weights, so that W = R is orthogonal (Theorem 3.2); "
    r"$\mathbb{R}_+^Q$ open, as Definition 3.3 has it",
    words="either fully untruncated ... is an equilibrium solution to the gradient flow",
    kind="identity",
    states="An untruncated cluster is an equilibrium.",
    sought="Proof: in the open sector $H = 1$ for all nearby parameters too, so the cost is constant there, "
    "whatever the number of points, coincident points and $Q$. The edge is the only way out, and there it "
    "fails: a point with $u_1 = 0 < b_1$ counts as truncated by $h(0) = 0$, and the cluster moves (example "
    "in the facts). Definition 3.3 excludes it by making this sector open.",
    control=false_world(PARTIAL, replace_variables(free_speed="partial_speed")),
    labels={"": "velocity of a cluster in the positive sector"},
    remark="Definition 3.3 makes the sector open. A point on its boundary counts as truncated and moves the cluster.",
)
def untruncated_rests(counterexamples: xr.Dataset) -> Verdict:
    """Velocity of a cluster in the positive sector."""
    return Verdict.from_tests(
        zero(counterexamples["free_speed"], "velocity zero"),
        facts={"speed with a point on the boundary, in an example": float(counterexamples["border_speed"])},
    )


@claim(
    "tf-eq-trunc",
    where="Section 4.1, Proposition 4.1, case 2",
    line=579,
    kind_of_slip="missing hypothesis",
    assumes=("cluster separated truncations; aligned weights, so that W = R is orthogonal (Theorem 3.2)"),
    words=("or fully truncated ... in either case ... is an equilibrium solution to the gradient flow"),
    kind="identity",
    states="A fully truncated cluster is an equilibrium.",
    correction=r"Only if $\beta = -\tilde y$ as well. Otherwise the weights rest, but the bias moves towards $-\tilde "
    "y$ at rate 1 while the cluster is truncated, as (4.36) says.",
    formula=r"\partial_s \beta = 0, \quad \partial_s R = 0",
    corrected_formula=r"\partial_s \beta = -(\beta + \tilde y), \quad \partial_s R = 0",
    sought=r"$H = 0$ gives $\Omega = 0$ and $J^\perp = 1$, for one point as for many and on the edges of the closed "
    "sector, so the corrected velocity is an identity. Its consequence was attacked: with a point on an "
    "edge, $u = (0, -2)$, $b = (1, 0)$, a second solution leaves the sector, and a point with some $R (x - "
    r"\tilde y) > 0$ comes to a plane; rate 1 lasts while the cluster is truncated. At $\beta = -\tilde y$ "
    "points on an edge rest too, since $b = 0$.",
    control={
        "bias": false_world(PARTIAL, replace_variables(truncated_formula="partial_formula")),
        "weights": false_world(PARTIAL, replace_variables(truncated_rotation="partial_rotation")),
        "at the label": false_world(PARTIAL, replace_variables(truncated_at_label="partial_at_label")),
    },
    message="In a fully truncated cluster the bias still moves",
    cause=r"With every point truncated the generator vanishes and the weights rest, but the bias flow is $-(\beta + "
    r"\tilde y)$, as (4.36) says.",
    consequence=r"The cluster is an equilibrium only if $\beta = -\tilde y$ as well; otherwise the bias moves that "
    "way at rate 1 while the cluster is truncated.",
    labels={
        "": "velocity of two points in the negative sector, with two biases",
        "bias": "velocity of the bias minus that of the corrected form",
        "weights": "generator of the weights at the truncated cluster",
    },
)
def truncated_moves(counterexamples: xr.Dataset) -> Verdict:
    """Two points in the negative sector of the identity, label 0, bias (.5, .7) or 0."""
    corrected = {
        "bias": zero(counterexamples["truncated_formula"], "velocity of the bias minus its distance from the label"),
        "weights": zero(counterexamples["truncated_rotation"], "generator zero"),
        "at the label": zero(counterexamples["truncated_at_label"], "rest at the label"),
    }
    return Verdict.from_tests(zero(counterexamples["truncated_speed"], "velocity zero"), corrected)


@claim(
    "tf-trunc-stays",
    where="Section 4.2, Proposition 4.2, after eq. (4.35)",
    line=731,
    assumes=r"the proof of Proposition 4.2, at a time $s_1$ at which the bias is in the open ball (4.17): (4.16) "
    r"there, so that all $u_i < 0$ and all $R(x - \tilde y)$ lie in the negative orthant",
    words="for $s > s_1$ , the gradient flow equations reduce to",
    kind="identity",
    states="A fully truncated cluster stays fully truncated.",
    formula=r"u(s) \in \mathbb{R}_-^Q \text{ for } s > s_1",
    sought="On the open ball (4.17) the condition (4.16) excludes points on planes: with $u_i = 0$ a slightly "
    "larger $b_i$ would bring $u_i > 0$. So $u_i < 0$ at $s_1$, the flow is smooth there, and $u(s)$, a "
    r"convex combination of $u(s_1)$ and $R (x - \tilde y) \le 0$, keeps its sign. With $R (x - \tilde y) \le "
    "0$ alone and a point on an edge it fails: one point at $u = (0, -2)$, $b = (1, 0)$, whose plane repels, "
    "may stay or leave.",
    control=false_world(r"clusters with some $R (x - \tilde y) > 0$", replace_variables(kept_events="released_runs")),
)
def truncated_stays(counterexamples: xr.Dataset) -> Verdict:
    """Event-driven flow of random truncated clusters that meet (4.16)."""
    return Verdict.from_tests(
        zero(counterexamples["kept_events"], r"no release where $R (x - \tilde y) \le 0$", COUNTED)
    )


@claim(
    "tf-trunc-released",
    where="Section 4.2, beside Proposition 4.2",
    kind="identity",
    origin="ours",
    states=r"A fully truncated cluster with some $R(x - \tilde y)$ outside the closed negative orthant comes to a "
    "plane $u_i = 0$, at the time at which a coordinate of the closed form reaches 0; then it crosses the plane "
    "or slides on it, and (4.36) ends.",
    formula=r"u(s) = e^{-s} u(0) + (1 - e^{-s}) R (x - \tilde y)",
    control={
        "time of release": wrong_formula(
            "the formula without the label", replace_variables(release_error="release_error_wrong")
        ),
        "released": false_world("clusters that meet (4.16)", replace_variables(released_runs="kept_events")),
    },
    labels={"released": "number of truncated clusters that the flow brings to a plane"},
    remark="The example is the point (.5, .4), label 0, apex (1, 1); it slides on the plane.",
)
def truncated_is_released(counterexamples: xr.Dataset) -> Verdict:
    """Event-driven flow of random truncated clusters against the closed form."""
    return Verdict.from_tests(
        {
            "time of release": zero(counterexamples["release_error"], "at a plane at the time of the formula", LOCATED),
            "released": at_least(
                counterexamples["released_runs"],
                1,
                expected="clusters that come to a plane",
                reason="one is enough for 'not stay'",
            ),
        },
        facts={"time at which the example comes to a plane": float(counterexamples["release_time"])},
    )


@claim(
    "tf-410",
    where="Section 4.2, eq. (4.10)",
    line=609,
    assumes="cluster separated truncations; (4.10) at the initial time",
    words=r"so that $(J_0^{(\ell)\perp})_r > 0$ for each component $r = 1, \dots, Q$",
    kind="bound",
    states="At the start (4.10) holds, so that the cluster is partially truncated in every direction.",
    formula=r"\mathrm{supp}(\mu \circ a^{-1}) \cap (\mathbb{R}^Q \setminus \mathbb{R}_-^Q) \ne \emptyset, \quad "
    r"(J_0^\perp)_r > 0 \text{ for all } r",
    control=false_world("fully untruncated clusters alone", replace_variables(partial_share="free_share")),
    remark="As a consequence it is wrong: an untruncated cluster meets (4.10), one point truncated in one direction "
    r"meets it with $\mathbb{R}_+^Q$. As an assumption it can be met, and nothing later uses (4.10).",
)
def partial_truncation(counterexamples: xr.Dataset) -> Verdict:
    """Clusters that meet (4.10): an untruncated one, one truncated in one direction, one truncated in all."""

    def truncated(so_that: str, set_in_410: str) -> Test:
        """A consequence must hold of the worst cluster that meets (4.10), an assumption can be met by one."""
        share = counterexamples[set_in_410 if so_that == "follows" else "partial_share"]
        return at_least(share, 1e-6, expected="truncated points in all directions", reason="any mass")

    return Verdict.from_tests(over_readings(truncated, so_that=SO_THAT, set_in_410=MEANT))


@claim(
    "tf-411",
    where="Section 4.2, eqs. (4.11)-(4.12)",
    line=617,
    assumes=r"orbits of the gradient flow in the sense of Filippov; the cost converges; $\Omega$ is the generator of "
    r"their motion, $(\partial_s R) R^T$: by $h(0) = 0$ (3.22) stays above 1 for the point $(1, 1)$, $\tilde y = 0$, "
    r"$R(0) = 1$, $\beta(0) = (-2, 1)$, which comes to rest on a plane",
    words=r"implies that in operator norm, $\|\Omega_\ell\| \rightarrow 0$ as $s \rightarrow \infty$",
    kind="limit",
    states="Since the cost converges, its derivative and hence the generator tend to zero.",
    formula=r"\|\Omega_\ell(s)\| \to 0 \text{ as } s \to \infty",
)
def omega_vanishes() -> Verdict:
    """A gap in the argument."""
    return not_testable(
        "Convergence of a cost whose gradient jumps does not force its derivative to zero. What (4.12) is wanted for is"
        " true: by a Kurdyka-Lojasiewicz inequality orbits have finite length, so $R$ and $\\beta$ converge and"
        " $\\int \\|\\Omega\\| ds < \\infty$ (proof on the study's page); and $\\Omega \\to 0$ where the limit has"
        " no point on a plane $u_i = 0$ with $b_i \\ge 0$. Crossings of such planes, of ever shorter stay, are not"
        " excluded. No finite orbit decides a limit."
    )
