"""Claims of Ma and Ying about velocities: eqs. (2) to (8), (12), (14), (21), (22), section 4.2; library eps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, replace_labels, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.formula_audit import decide_formula, with_wrong_formula
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict, deviation, rounding
from repdyn.bn_mean_field.claims.spoiled import of_audit, of_other
from repdyn.bn_mean_field.theory import equations


def decide_lines(audit: xr.Dataset, lines: Mapping[str, str]) -> Verdict:
    """The verdict on a formula of several lines, each an equation of the audit under the part's name."""
    verdicts = {part: decide_formula(audit, equation, *_round_off(audit)) for part, equation in lines.items()}
    printed = {part: as_printed(verdict) for part, verdict in verdicts.items()}
    corrected = {part: verdict.corrected or printed[part] for part, verdict in verdicts.items()}
    return Verdict.from_tests(printed, corrected)


def as_printed(verdict: Verdict) -> Test:
    """The test of the printed form, which every formula of the audit has."""
    if verdict.printed is None:
        raise ValueError(f"no test of the printed formula: {verdict.why}")
    return verdict.printed


def _round_off(audit: xr.Dataset) -> tuple[float, str]:
    samples = int(audit["samples"])
    reason = f"round-off of sums over {samples} samples, relative to the largest entry: $10 N$ rounding errors"
    return rounding(1.0, 10 * samples), reason


@claim(
    "bnm-eq3",
    where="Section 2.1, eqs. (2), (3)",
    words=r"we have $BN(\mathbf{b}^T \mathbf{x}) = \bar{\mathbf{b}}^T \mathbf{x}$",
    line=49,
    assumes="Assumption 1: centered data, positive definite covariance",
    kind="identity",
    states=r"For centered data batch normalization of $b^T x$ is $\bar b^T x$ with $\bar b = b / \sqrt{b^T \Sigma b}$.",
    control=false_world("data of mean 1 instead of 0", with_wrong_formula("data of mean 1", equations.NORMALIZER).data),
    remark=r"The norm is printed as $\sqrt{b^T \Sigma b^T}$, here and where $\|b\|_\Sigma$ is introduced, which is no "
    r"matrix product; $\sqrt{b^T \Sigma b}$ is meant, as the covariance demands.",
)
def normalizer(formula_audit: xr.Dataset) -> Verdict:
    """Torch's BatchNorm1d without eps against the formula."""
    verdict = decide_formula(formula_audit, equations.NORMALIZER, *_round_off(formula_audit))
    return Verdict.from_tests(as_printed(verdict))


@claim(
    "bnm-eq12",
    where="Section 3.1, after eq. (12)",
    words=r"Then, we easily have ... $f(\mathbf{x},\rho) = f_0(\mathbf{x},\bar{\rho}),$",
    line=181,
    assumes="Assumption 1",
    kind="identity",
    states=r"The BN model is the vanilla model at the normalized weights: $f(x, \rho) = f_0(x, \bar\rho)$.",
    control=with_wrong_formula("the vanilla model at the weights themselves", equations.EQUAL_FUNCTIONS),
)
def one_function(formula_audit: xr.Dataset) -> Verdict:
    """Outputs through torch's BatchNorm1d against those of the vanilla network at bbar."""
    return decide_formula(formula_audit, equations.EQUAL_FUNCTIONS, *_round_off(formula_audit))


@claim(
    "bnm-eq6-sign",
    where="Section 2.1, eq. (6)",
    words=r"given by the following ODEs ... $\dot{a}_{k} = -\frac{\partial L(\theta)}{\partial a_{k}} = \frac{1}{m} "
    r"\mathbb{E} l'(f(\mathbf{x},\theta), y) \sigma(\bar{\mathbf{b}}_{k}^{T} \mathbf{x}),$ ... $\dot{\mathbf{b}}_{k} = "
    r"-\frac{\partial L(\theta)}{\partial \mathbf{b}_{k}} = \frac{1}{m} \mathbb{E} l'(f(\mathbf{x},\theta), y) a "
    r"\sigma'(\bar{\mathbf{b}}_{k}^{T} \mathbf{x})$",
    line=59,
    assumes="Assumption 1",
    kind_of_slip="misprint",
    kind="identity",
    states="The gradient flow of the BN model has the right-hand sides of eq. (6).",
    correction=r"Both lines lack the minus of the $-\partial L/\partial a_k$ and $-\partial L/\partial b_k$ printed "
    "next to them; eqs. (10), (14), (21) have it. The $a$ of the second line is $a_k$.",
    formula=r"\dot a_k = \frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), \quad \dot b_k = \frac{1}{m} \mathbb{E}\, "
    r"l' a \sigma'(\bar b_k^T x) \frac{1}{\|b_k\|_\Sigma} \left( I - \frac{\Sigma b_k b_k^T}{\|b_k\|_\Sigma^2} "
    r"\right) x",
    corrected_formula=r"\dot a_k = -\frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), \quad \dot b_k = -\frac{1}{m} "
    r"\mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) \frac{1}{\|b_k\|_\Sigma} \left( I - \frac{\Sigma b_k "
    r"b_k^T}{\|b_k\|_\Sigma^2} \right) x",
    control={
        "a line": with_wrong_formula("the printed sign in the corrected form", equations.BN_OUTER),
        "b line": with_wrong_formula("the printed sign in the corrected form", equations.BN_INNER),
    },
    message="Both lines of the gradient flow lack their minus sign",
    cause=r"The flow is $-\partial L$, as printed next to the right-hand sides, and these are $+\partial L$; the "
    "second line has $a$ for $a_k$ besides.",
    consequence="Equations (10), (14) and (21) have the minus; the slip comes back in the $a$-lines of (7) and (8).",
    labels={
        "a line": "velocity of the output weights by (6), against the gradient",
        "b line": "velocity of the input weights by (6), against the gradient",
    },
)
def gradient_flow_of_bn(formula_audit: xr.Dataset) -> Verdict:
    """Formula against autograd of the loss with BatchNorm1d, non-Gaussian data."""
    return decide_lines(formula_audit, {"a line": equations.BN_OUTER, "b line": equations.BN_INNER})


@claim(
    "bnm-norm-conserved",
    where="Section 2.1, after eq. (6)",
    words=r"the norm of $\mathbf{b}_k$ does not change during training",
    line=66,
    assumes="gradient flow",
    kind="identity",
    states=r"The gradient flow of the BN model keeps $\|b_k\|$.",
    control={
        "radial fraction": of_audit("the velocity of the vanilla model", equations.KEPT_LENGTH),
        "drift": of_other("lengths along the flow of the vanilla model", drift="drift_vanilla"),
    },
    labels={
        "drift": "drift of the lengths of b along the flow",
        "radial fraction": "share of the gradient along the input weights",
    },
)
def norms_are_conserved(formula_audit: xr.Dataset, equivalence: xr.Dataset) -> Verdict:
    """Radial part of autograd's gradient, and drift along integrated flows."""
    drift = deviation(
        equivalence["drift"], 1e-10, expected="constant lengths", reason="hundreds of steps of tolerance 1e-12"
    )
    radial = decide_formula(formula_audit, equations.KEPT_LENGTH, *_round_off(formula_audit))
    return Verdict.from_tests({"radial fraction": as_printed(radial), "drift": drift})


@claim(
    "bnm-eq7",
    where="Section 2.2, eq. (7)",
    words=r"the dynamics of $\bar{\theta}$ is induced by the gradient flow for the BN model ... $\dot{a}_{k} = "
    r"\frac{1}{m} \mathbb{E}l'(f_{0}(\mathbf{x},\bar{\theta}), y)\sigma(\bar{\mathbf{b}}_{k}^{T}\mathbf{x}),$",
    line=74,
    assumes=r"unit length, $\|b_k\| = 1$, as assumed after eq. (6)",
    kind_of_slip="misprint",
    kind="identity",
    states="At unit length the normalized weights follow the $b$-line of eq. (7), the output weights its $a$-line.",
    correction=r"The $a$-line lacks the minus; the $b$-line is right at $\|b_k\| = 1$, which the paper assumes.",
    formula=r"\dot a_k = \frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), \quad \dot{\bar b}_k = -\frac{1}{m} \|\bar "
    r"b_k\|^2 A(\bar b_k)\, \mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) x, \quad A(\bar b) = (I - \bar b \bar b^T "
    r"\Sigma)(I - \Sigma \bar b \bar b^T)",
    corrected_formula=r"\dot a_k = -\frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), \quad \dot{\bar b}_k = "
    r"-\frac{1}{m} \|\bar b_k\|^2 A(\bar b_k)\, \mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) x",
    control={
        "a line": with_wrong_formula("the printed sign in the corrected form", equations.NORMALIZED_OUTER),
        "b line": with_wrong_formula(r"the factor $\|\bar b\|^2$ left out", equations.INNER_OF_UNIT_LENGTH),
    },
    message="With batch norm the output weights' flow lacks its minus sign",
    cause=r"Descent moves the output weights along $-\partial_{a_k} L$, and the $a$-line of (7) is $+\partial_{a_k} "
    "L$.",
    consequence="Only the $a$-line changes; the $b$-line is right at unit length, which the paper assumes.",
    labels={
        "a line": "velocity of the output weights by (7), against the gradient",
        "b line": "velocity of the normalized weights by (7), against the gradient",
    },
    remark=r"For $\|b\| = r$ the $b$-line has the factor $1/r^2$ besides: bnm-norm-general.",
)
def velocity_of_normalized_weights(formula_audit: xr.Dataset) -> Verdict:
    """Autograd's velocity pushed through b -> bbar by the chain rule, at unit length."""
    return decide_lines(formula_audit, {"a line": equations.NORMALIZED_OUTER, "b line": equations.INNER_OF_UNIT_LENGTH})


@claim(
    "bnm-eq8",
    where="Section 2.2, eq. (8)",
    words=r"the gradient flow for the vanilla non-BN model at $\bar{\theta}$ is ... $\dot{a}_{k} = \frac{1}{m} "
    r"\mathbb{E}l'(f_{0}(\mathbf{x},\bar{\theta}), y)\sigma(\bar{\mathbf{b}}_{k}^{T}\mathbf{x}),$",
    line=81,
    kind_of_slip="misprint",
    kind="identity",
    states="The gradient flow of the vanilla model has the right-hand sides of eq. (8).",
    correction="The $a$-line lacks the minus; the $b$-line is right.",
    formula=r"\dot a_k = \frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x)",
    corrected_formula=r"\dot a_k = -\frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x)",
    control={
        "a line": with_wrong_formula("the printed sign in the corrected form", equations.VANILLA_OUTER),
        "b line": with_wrong_formula("the projection of the BN model in the vanilla one", equations.VANILLA_INNER),
    },
    message="Without batch norm the output weights' flow lacks its minus sign",
    cause=r"Descent moves the output weights along $-\partial_{a_k} L$, and the $a$-line of (8) is $+\partial_{a_k} "
    "L$.",
    consequence="Only the $a$-line changes; the $b$-line is right.",
    labels={
        "a line": "velocity of the output weights by (8), against the gradient",
        "b line": "velocity of the input weights by (8), against the gradient",
    },
)
def gradient_flow_of_vanilla(formula_audit: xr.Dataset) -> Verdict:
    """Formula against autograd of the loss, non-Gaussian data."""
    return decide_lines(formula_audit, {"a line": equations.VANILLA_OUTER, "b line": equations.VANILLA_INNER})


TIME = r"The paper drops $1/m$ between (6) and (10) without saying that time is rescaled, $t \to m t$."


@claim(
    "bnm-eq14",
    where="Section 3.1, eq. (14)",
    words=r"the velocity field $\bar{v}_t$ is given by",
    line=193,
    assumes="unit length; time rescaled by the width",
    kind="identity",
    states=r"In mean-field time $(a, \bar b)$ moves with the velocity field of eq. (14).",
    control=with_wrong_formula("the paper's parameter time, with the factor $1/m$", equations.EQ_14),
    remark=TIME,
)
def velocity_field_on_manifold(formula_audit: xr.Dataset) -> Verdict:
    """Formula against m times autograd, pushed to bbar, at unit length; the signs of (14) are right."""
    verdict = decide_formula(formula_audit, equations.EQ_14, *_round_off(formula_audit))
    return Verdict.from_tests(as_printed(verdict))


@claim(
    "bnm-sec4-eq21",
    where="Section 4, eqs. (21), (22); eq. (10)",
    words="We compare the dynamics of the models with BN ... and without BN",
    line=368,
    assumes=r"time rescaled by the width; $\ell'(f)$ stands for $\ell'(f, y)$, unit lengths are not needed",
    kind="identity",
    states="In mean-field time the two gradient flows are eqs. (21) and (22).",
    control={
        "bn": with_wrong_formula("the paper's parameter time, with the factor $1/m$", equations.EQ_21),
        "vanilla": with_wrong_formula("the paper's parameter time, with the factor $1/m$", equations.EQ_22),
    },
    labels={
        "bn": "velocity by (21), with batch normalization, against the loss's gradient",
        "vanilla": "velocity by (22), without batch normalization, against the loss's gradient",
    },
    remark=TIME,
)
def mean_field_time(formula_audit: xr.Dataset) -> Verdict:
    """Formula against m times autograd; the signs of (21), (22) are right."""
    return decide_lines(formula_audit, {"bn": equations.EQ_21, "vanilla": equations.EQ_22})


@claim(
    "bnm-sec41-mean",
    where="Section 4.1",
    words=r"**b** points to the direction in which **x** is small, i.e. $\mathbb{E}\mathbf{b}^T\mathbf{x}$ is small",
    line=388,
    assumes="Assumption 1: the data are centered",
    kind="identity",
    kind_of_slip="misprint",
    states=r"The size of the data in a direction, small where $\|b\|_\Sigma$ is small, is $\mathbb{E}\, b^T x$.",
    correction=r"$\mathbb{E}\, b^T x$ is 0 in every direction by Assumption 1; $\|b\|_\Sigma$ is the root of "
    r"$\mathbb{E}(b^T x)^2$.",
    formula=r"\|b\|_\Sigma \text{ small} \Leftrightarrow \mathbb{E}\, b^T x \text{ small}",
    corrected_formula=r"\|b\|_\Sigma^2 = \mathbb{E}\, (b^T x)^2",
    control=with_wrong_formula("the mean in the corrected form", equations.SIZE_IN_A_DIRECTION),
    message="The mean is zero in every direction and measures no size",
    cause=r"The data are centered by Assumption 1, so $\mathbb{E}\, b^T x = 0$ for every $b$.",
    consequence=r"What is small is $\mathbb{E}\, (b^T x)^2 = \|b\|_\Sigma^2$, with which the paper goes on.",
)
def size_of_data_in_a_direction(formula_audit: xr.Dataset) -> Verdict:
    """|E b^T x| and the root of E (b^T x)^2 against the norm, over random directions."""
    return decide_formula(formula_audit, equations.SIZE_IN_A_DIRECTION, *_round_off(formula_audit))


@claim(
    "bnm-sec42-1c",
    where="Section 4.2, the two displays",
    words=r"for models without BN, we have ... for models with BN, we have ... $\dot{\mathbf{b}}_2 = \frac{1}{c} "
    r"\dot{\mathbf{b}}_1$",
    line=396,
    assumes=r"$b_2 = c b_1$ with $c > 0$, equal $a$, and $\sigma'(c w) = \sigma'(w)$",
    kind="identity",
    states=r"For $b_2 = c b_1$ with equal $a$: $\dot b_2 = \dot b_1/c$ with BN, $\dot b_2 = \dot b_1$ for a vanilla "
    "ReLU model.",
    control={
        "bn": with_wrong_formula("a BN neuron that does not slow down", equations.LONGER_BN),
        "vanilla": with_wrong_formula("a vanilla neuron that slows down", equations.LONGER_VANILLA),
    },
    labels={
        "bn": "longer neuron's velocity against the shorter's over $c$, with batch normalization",
        "vanilla": "longer neuron's velocity against the shorter's, without batch normalization",
    },
    remark=r"$\sigma'(c w) = \sigma'(w)$ is needed for the vanilla model only. Without BN the text has $b_2 = b_1$, "
    "without the dots; possibly an OCR error.",
)
def longer_neurons_are_slower(formula_audit: xr.Dataset) -> Verdict:
    """Autograd's gradients of two proportional neurons in one model, c = 10."""
    return decide_lines(formula_audit, {"bn": equations.LONGER_BN, "vanilla": equations.LONGER_VANILLA})


@claim(
    "bnm-sec42-angle",
    where="Section 4.2 and start of section 4 (ours)",
    kind="scaling",
    origin="ours",
    assumes=r"ReLU or leaky ReLU, whose $\sigma'(c w) = \sigma'(w)$; the same output weight, network and step size for "
    "both neurons",
    states="The direction of $b_2 = c b_1$ turns $1/c^2$ as fast as that of $b_1$ with BN and $1/c$ as fast without: "
    "small neurons turn faster in both models, and one power of $c$ is BN's own.",
    formula=r"\left\|\frac{d}{dt} \frac{b}{\|b\|} \right\|\propto \frac{1}{c^2} \text{ with BN}, \quad \propto "
    r"\frac{1}{c} \text{ without}",
    control={
        "bn": with_wrong_formula("one power of $c$ for BN", equations.DIRECTION_BN),
        "vanilla": with_wrong_formula("no power of $c$ for the vanilla model", equations.DIRECTION_VANILLA),
    },
    labels={
        "bn": "longer neuron's turning against the shorter's over $c^2$, with batch normalization",
        "vanilla": "longer neuron's turning against the shorter's over $c$, without batch normalization",
    },
)
def direction_speeds(formula_audit: xr.Dataset) -> Verdict:
    """Tangential speed over length, c = 10, from autograd."""
    return decide_lines(formula_audit, {"bn": equations.DIRECTION_BN, "vanilla": equations.DIRECTION_VANILLA})


def _next_to_norm(data: xr.Dataset) -> xr.Dataset:
    return data.assign(radial=data["radial"].where(data["with_eps"] == 0, data["radial_next_to_norm"]))


NEXT_TO_NORM = r"$\epsilon$ added to the deviation instead of the variance: the radial fraction grows as $1 / \|b\|$"


@claim(
    "bnm-eps",
    where="Sections 2.1, 4.3 (ours)",
    kind="scaling",
    origin="ours",
    assumes=r"$\epsilon$ small against $b^T \Sigma b$ for the power law; at any length $b^T \partial_b L$ is exactly "
    r"$\epsilon / (b^T \Sigma b + \epsilon)$ times $\hat b^T \partial_{\hat b} L$, $\hat b$ the normalized weights",
    states=r"With the $\epsilon$ of library batch norms the gradient is no longer tangent: its radial fraction grows "
    r"as $\epsilon/\|b\|^2$, which weakens the first-step amplification of small neurons.",
    formula=r"\frac{| b^T \dot b |}{\|b\|\|\dot b\|} \propto \frac{\epsilon}{\|b\|^2}",
    control={
        "without the offset": wrong_formula(r"the gradient with $\epsilon$", replace_labels("with_eps", {0: 1})),
        "exponent": false_world(NEXT_TO_NORM, _next_to_norm),
    },
    labels={"exponent": "exponent of the radial fraction in the length of b"},
    remark=r"The paper's eq. (2) has no $\epsilon$; libraries do.",
)
def eps_breaks_scale_invariance(batch_norm_eps: xr.Dataset) -> Verdict:
    """Radial fraction of autograd's gradient at the two largest lengths, draws as samples."""
    require(batch_norm_eps, "batch_norm_eps", radius=2)
    tolerance, reason = _round_off(batch_norm_eps)
    radial = batch_norm_eps["radial"].transpose("with_eps", "radius", "draw")
    span = np.diff(np.log(batch_norm_eps["radius"].values[-2:]))[0]
    slope = np.diff(np.log(radial.sel(with_eps=1).values[-2:]), axis=0)[0] / span
    shortest = float(batch_norm_eps["length"].isel(with_eps=1, radius=0).median())
    return Verdict.from_tests(
        {
            "without the offset": deviation(
                radial.sel(with_eps=0), tolerance, expected="tangent gradient", reason=reason
            ),
            "exponent": mean_within(slope, -2.5, -1.5, expected="-2", reason="nearer to -2 than to -1 and -3"),
        },
        facts={
            "shortest length of the weights": float(batch_norm_eps["radius"][0]),
            r"length after the first step there, over that for $\epsilon = 0$ (median)": shortest,
        },
    )
