"""Claims decided by the audit of formulas, and those on layer steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import replace_variables, wrong_formula
from repdyn.base.formula_audit import decide_formula, with_wrong_formula
from repdyn.base.verdicts import Verdict, all_of, at_most, deviation
from repdyn.leaky_resnets.claims.tolerances import (
    DIFFERENCED,
    DIFFERENCED_REASON,
    EXTRAPOLATED,
    EXTRAPOLATED_REASON,
    INTEGRATED,
    INTEGRATED_REASON,
    ROUNDING,
    ROUNDING_REASON,
    SOLVED,
    SOLVED_REASON,
)

MIDDLE = "middle_activation"
RADIUS = 0.25  # r of the added neuron's triangle


@claim(
    "lrn-sym-range",
    where="Section 1.2, integration range",
    words="stretching the weights to a new range ... stretches the activations",
    line=80,
    kind="identity",
    states=r"Weights $W_{q/c} / c$ with leak $\tilde L / c$ on $[0, c]$ give the activations $A_{q/c}$, and $1/c$ of"
    " the squared norm.",
    data="formula_audit",
    control=with_wrong_formula("weights that are not divided by $c$", "1.2 range of p"),
)
def range_is_stretched(formula_audit: xr.Dataset) -> Verdict:
    """Both paths integrated, both norms by quadrature (alpha_{q/2} in the display is alpha_{q/c})."""
    return decide_formula(formula_audit, "1.2 range of p", INTEGRATED, INTEGRATED_REASON)


@claim(
    "lrn-sym-output",
    where="Section 1.2, output scaling",
    words=r"increasing the leakage by a constant $\tilde{L} \to \tilde{L} + c$ leads to a scaled down path",
    line=92,
    assumes="no bias, as the sentence before says",
    kind="identity",
    states="Raising the leak by $c$ scales the path by $e^{-cp}$, if there is no bias.",
    data="formula_audit",
    control=with_wrong_formula("the path that is not scaled", "1.2 scale of outputs"),
)
def outputs_are_scaled(formula_audit: xr.Dataset) -> Verdict:
    """Both paths integrated; with bias too, once b_p is scaled by e^{-cp}."""
    return decide_formula(
        formula_audit,
        "1.2 scale of outputs",
        INTEGRATED,
        INTEGRATED_REASON,
        note="Holds with bias if $b_p$ is scaled by $e^{-cp}$.",
    )


@claim(
    "lrn-lt-zero",
    where="Abstract; Section 1.1",
    words=r"which interpolate between ResNets ... $(\tilde{L} \to \infty)$",
    line=7,
    assumes="the discrete network of Section 3, equidistant steps",
    kind="identity",
    states=r"Leaky ResNets reach from ResNets at $\tilde L = 0$ to fully connected networks, equidistant steps at"
    r" $\tilde L = L$.",
    data="formula_audit",
    control=with_wrong_formula(r"$\tilde L = L / 2$ in the place of $L$", "1.1 no leak"),
)
def between_resnet_and_connected(formula_audit: xr.Dataset) -> Verdict:
    """Against both recursions written out."""
    return decide_formula(formula_audit, "1.1 no leak", ROUNDING, ROUNDING_REASON)


@claim(
    "lrn-lagr-weights",
    where="Section 1.3, first display",
    words="the weights W_p at any minimizer can be expressed",
    line=101,
    assumes="the weights that carry a given path, of least norm",
    kind="identity",
    states=r"The weights of a minimizer are $W_p = (\tilde L A_p + \partial_p A_p) \sigma(A_p)^+$.",
    data="formula_audit",
    control=with_wrong_formula(r"$A$ in the place of $\tilde L A$", "1.3 least weights"),
)
def weights_of_a_path(formula_audit: xr.Dataset) -> Verdict:
    """Against Lagrange multipliers (w >= N), the only solution (w < N), and longer solutions."""
    return decide_formula(formula_audit, "1.3 least weights", SOLVED, SOLVED_REASON)


@claim(
    "lrn-lagr-terms",
    where="Section 1.3, three terms",
    words="we can decompose the inside of the integral as three terms",
    line=120,
    assumes=r"$\operatorname{Im} A_p^T \subset \operatorname{Im} \sigma(A_p)^T$",
    kind_of_slip="misprint",
    kind="identity",
    states="The Lagrangian is the sum of three terms: cost of identity, cross term and kinetic energy.",
    correction=r"The cross term has the factor $2 \tilde L / (2 \tilde L) = 1$ in the place of $\tilde L$.",
    formula=(
        r"\frac{1}{2 \tilde L} \|\tilde L A_p + \partial_p A_p\|_{K_p}^2 = \frac{\tilde L}{2} \|A_p\|_{K_p}^2"
        r" + \tilde L \langle \partial_p A_p, A_p \rangle_{K_p} + \frac{1}{2 \tilde L} \|\partial_p"
        r" A_p\|_{K_p}^2"
    ),
    corrected_formula=(
        r"\frac{1}{2 \tilde L} \|\tilde L A_p + \partial_p A_p\|_{K_p}^2 = \frac{\tilde L}{2} \|A_p\|_{K_p}^2"
        r" + \langle \partial_p A_p, A_p \rangle_{K_p} + \frac{1}{2 \tilde L} \|\partial_p A_p\|_{K_p}^2"
    ),
    data="formula_audit",
    control=with_wrong_formula("without the middle term", "1.3 three terms"),
)
def lagrangian_splits(formula_audit: xr.Dataset) -> Verdict:
    """Against the whole, by a linear solve."""
    return decide_formula(formula_audit, "1.3 three terms", SOLVED, SOLVED_REASON)


@claim(
    "lrn-linear-remark",
    where="Section 1.3, footnote 1",
    words=r"In linear networks $\sigma = id$ it can actually be discarded, since it is integrable",
    line=136,
    assumes="linear networks",
    kind="identity",
    states="In linear networks the integral of the cross term depends on the ends of the path only.",
    formula=(
        r"\int_0^1 \operatorname{Tr}\left[ \partial_p A_p \sigma(A_p)^+ \sigma(A_p)^{+T} A_p^T \right] dp ="
        r" \log |A_1|_+ - \log |A_0|_+"
    ),
    data="formula_audit",
    control=with_wrong_formula("Frobenius norms in the place of pseudo-determinants", "footnote 1"),
)
def cross_term_integrates(formula_audit: xr.Dataset) -> Verdict:
    """Gauss quadrature along paths of linear networks from starts of rank 3 against the ends; absolute error."""
    note = (
        r"Weights of finite norm carry $A_p = \Phi_p A_0$ with $\Phi_p$ invertible, so the rank is constant by itself."
    )
    return decide_formula(formula_audit, "footnote 1", SOLVED, SOLVED_REASON, note=note)


@claim(
    "lrn-zero-representation",
    where="Section 1.3, after the kinetic energy",
    words="once the network reaches a zero representation, it can only learn constant representations afterwards",
    line=132,
    kind="identity",
    states="Once a network reaches the zero representation it can only learn constant representations afterwards.",
    formula=r"A_p = 0 \Rightarrow A_q = a_q \mathbf{1}^T \text{ for } q > p",
    data="formula_audit",
    control=with_wrong_formula("a start that is not zero", "1.3 zero representation"),
)
def zero_stays_constant(formula_audit: xr.Dataset) -> Verdict:
    """Spread over points after 12 random layers, absolute, numbers of order 1."""
    return decide_formula(formula_audit, "1.3 zero representation", ROUNDING, ROUNDING_REASON)


@claim(
    "lrn-infinite-terms",
    where="Section 1.3, Remark",
    words="all three terms are infinite and cancel each other to yield a finite sum",
    line=134,
    assumes=r"$\operatorname{Im} A_p^T \not\subset \operatorname{Im} \sigma(A_p)^T$, weights of finite norm",
    kind="limit",
    states="Where $\\operatorname{Im} A_p^T \\not\\subset \\operatorname{Im} \\sigma(A_p)^T$ the three terms of the"
    " Lagrangian are infinite and cancel each other to yield a finite sum.",
    formula=(
        r"\gamma \|A_p\|_{K_p + \gamma I}^2 \to \|A_p (I - \sigma(A_p)^+ \sigma(A_p))\|^2, \quad"
        r" \|\tilde L A_p + \partial_p A_p\|_{K_p + \gamma I}^2 \to \|W_p \sigma(A_p) \sigma(A_p)^+\|^2"
    ),
    data="formula_audit",
    control=with_wrong_formula("the sum without the cross term", "1.3 infinite terms"),
)
def infinite_terms_cancel(formula_audit: xr.Dataset) -> Verdict:
    """Stable norms at gamma = 1e-8 |S|^2 against their limits, w + 1 < N."""
    return decide_formula(
        formula_audit, "1.3 infinite terms", 1e-5, r"$\gamma = 10^{-8} |S|^2$ and condition numbers below 10: 1e-6"
    )


@claim(
    "lrn-a3-connected",
    where="Appendix A.3, fully connected networks",
    words="the norm of incoming weights equals the norm of the outcoming weights",
    line=458,
    assumes="fully connected ReLU networks, neurons rescaled to least norm",
    kind="identity",
    states="Neurons of a fully connected network rescaled to least norm have incoming weights as large as outgoing "
    "ones, so the norm of the weights increases through the layers by the biases.",
    formula=r"\|W_\ell\|_F^2 + \|b_\ell\|^2 = \|W_{\ell+1}\|_F^2, \quad \|W_\ell\|_F^2 = \|W_1\|_F^2 +"
    r" \sum_{k=1}^{\ell-1} \|b_k\|^2",
    data="formula_audit",
    control=with_wrong_formula("without the sum of biases", "A.3 fully connected"),
)
def connected_networks_are_balanced(formula_audit: xr.Dataset) -> Verdict:
    """Random networks of four layers, each neuron rescaled until nothing moves; outputs stay as they are."""
    note = "The line printed after it lacks its left side; this is the one that follows."
    return decide_formula(
        formula_audit, "A.3 fully connected", SOLVED, "rescaling has converged to round-off", note=note
    )


@claim(
    "lrn-ham-eqs",
    where="Section 1.5, joint dynamics",
    words="These are Hamiltonian dynamics",
    line=202,
    kind="identity",
    states=r"$\partial_p A = \partial \mathcal{H} / \partial B$ and $-\partial_p B = \partial \mathcal{H} / \partial"
    r" A$ for $\mathcal{H} = \frac{\tilde L}{2} \|B \sigma(A)^T\|^2 - \tilde L \operatorname{Tr}[B A^T]$.",
    data="formula_audit",
    control=with_wrong_formula("$dB/dp$ with the other sign", "1.5 Hamilton's equations"),
)
def hamilton_equations(formula_audit: xr.Dataset) -> Verdict:
    """Against central differences of H (the row of the bias dropped from S B^T B)."""
    return decide_formula(formula_audit, "1.5 Hamilton's equations", DIFFERENCED, DIFFERENCED_REASON)


@claim(
    "lrn-ham-split",
    where="Section 2.1, first display",
    words="then the Hamiltonian equals the sum of the kinetic and potential energies",
    line=222,
    assumes=r"$\operatorname{Im} A_p^T \subset \operatorname{Im} \sigma(A_p)^T$; potential energy "
    r"$-\frac{\tilde L}{2} \|A_p\|_{K_p}^2$",
    kind="identity",
    states=r"Where $\operatorname{Im} A^T$ lies in $\operatorname{Im} \sigma(A)^T$, $\mathcal{H} = \frac{1}{2 \tilde"
    r" L} \|\partial_p A\|_K^2 - \frac{\tilde L}{2} \|A\|_K^2$.",
    data="formula_audit",
    control=with_wrong_formula("the sum of the energies", "2.1 split of H"),
)
def hamiltonian_splits(formula_audit: xr.Dataset) -> Verdict:
    """Random A and B with w >= N, where the assumption holds."""
    return decide_formula(formula_audit, "2.1 split of H", SOLVED, SOLVED_REASON)


@claim(
    "lrn-thm4-identity",
    where="Appendix A.2, proof of Theorem 7",
    words=r"$$-\frac{2}{\tilde{L}}\mathcal{H} = \left\|A_p\right\|_{(K_p+\gamma I)}^2 - "
    r"\left\|\frac{1}{\tilde{L}}\partial_p A_p + \gamma B_p\right\|_{(K_p+\gamma I)}^2 + \gamma "
    r"\left\|B_p\right\|^2.$$",
    line=389,
    kind="identity",
    states=r"$-\frac{2}{\tilde L} \mathcal{H} = \|A\|_\gamma^2 - \left\|\frac{1}{\tilde L} \partial_p A + \gamma"
    r" B\right\|_\gamma^2 + \gamma \|B\|^2$, where $\|\cdot\|_\gamma$ is the norm of $K + \gamma I$.",
    data="formula_audit",
    control=with_wrong_formula(r"$\gamma |B|^2$ subtracted", "Theorem 7 identity"),
)
def theorem4_identity(formula_audit: xr.Dataset) -> Verdict:
    """Any A and B, gamma = 1e-3 and 1."""
    return decide_formula(formula_audit, "Theorem 7 identity", SOLVED, SOLVED_REASON)


@claim(
    "lrn-prop3",
    where="Section 1.4, Proposition 3; Appendix A.1, Proposition 6",
    words="then there is a continuous path A_t of constant COI ... A_1 is a saddle",
    line=174,
    assumes="$w > N(N + 1)$; the first representation a local minimum of finite cost that is not non-negative",
    kind="identity",
    states="For $w > N(N + 1)$ a path of constant cost of identity leads to a representation with a zero row,"
    " critical if the first is.",
    data="formula_audit",
    control=with_wrong_formula("rows scaled by $(1 - t) + t a$ without the root", "Prop. 3 merged neurons"),
)
def neurons_merge(formula_audit: xr.Dataset) -> Verdict:
    """N = 2, w = 9: cost along the path, number of rows, and gradients that scale with their rows."""
    verdict = decide_formula(
        formula_audit, "Prop. 3 merged neurons", 1e-8, "a vertex of a linear program, solved to 1e-9"
    )
    note = (
        "That the end is a saddle also needs it to be critical, which the proof leaves out: the COI depends on "
        "$(A^T A, K)$ only, so each row's gradient scales with the row. With bias the converse of Proposition 2 is "
        "missing."
    )
    return replace(verdict, note=note)


@claim(
    "lrn-prop5-norm",
    where="Appendix A.2, proof of Proposition 8",
    words=r"this simplifies to ... - \frac{1}{\tilde{L}} A_{p,\cdot i}^{T} \partial_{p} A_{p,\cdot i}",
    line=429,
    assumes="the neuron that the proof adds",
    kind_of_slip="slip in a proof",
    kind="identity",
    states="What the added neuron changes the squared norm of the weights by, to second order in its size, and the"
    " block it adds to $W_p$.",
    correction="The block has $t^2$, and the last term has the factor 2. The conclusion stands without bias; with it"
    r" $\|A_i\|^2 - \|\sigma(A_i)\|^2 = \|[A_i]_-\|^2 - 1$, positive only where the negative part of a point exceeds"
    " 1.",
    formula=(
        r"\tilde L^2 \epsilon^2 t^2 \left( \|\sigma(A_i)\|^2 - \|A_i\|^2 - \frac{1}{\tilde L} A_i^T \partial_p"
        r" A_i \right), \quad W_p - \tilde L \epsilon^2 t A_i \sigma(A_i)^T"
    ),
    corrected_formula=(
        r"\tilde L^2 \epsilon^2 t^2 \left( \|\sigma(A_i)\|^2 - \|A_i\|^2 - \frac{2}{\tilde L} A_i^T \partial_p"
        r" A_i \right), \quad W_p - \tilde L \epsilon^2 t^2 A_i \sigma(A_i)^T"
    ),
    data="formula_audit",
    control=with_wrong_formula(r"$-1 / \tilde L$ with the right block", "Prop. 8 norm"),
)
def added_neuron_changes_norm(formula_audit: xr.Dataset) -> Verdict:
    """Norms of the enlarged weights at finite eps, extrapolated."""
    return decide_formula(formula_audit, "Prop. 8 norm", EXTRAPOLATED, EXTRAPOLATED_REASON)


@claim(
    "lrn-e14-gamma",
    where="Section 2.1, after Theorem 4",
    words=r"$\gamma_p = \gamma_0 \|\sigma(A_p^{\tilde{L}})\|_{op}^2 = \gamma_0 \|K_p\|_{op}^2$",
    line=238,
    kind_of_slip="misprint",
    kind="identity",
    states=r"The scale of $\gamma_p$: the squared operator norm of $\sigma(A_p)$ is that of $K_p$.",
    correction="It is the operator norm of $K_p$, not its square.",
    formula=r"\gamma_p = \gamma_0 \|\sigma(A_p)\|_{op}^2 = \gamma_0 \|K_p\|_{op}^2",
    corrected_formula=r"\gamma_p = \gamma_0 \|\sigma(A_p)\|_{op}^2 = \gamma_0 \|K_p\|_{op}",
    data="formula_audit",
    control=with_wrong_formula("the root of $|K|_{op}$", "2.1 gamma_p"),
    possible_ocr_error=True,
)
def scale_of_gamma(formula_audit: xr.Dataset) -> Verdict:
    """Largest eigenvalue of the smaller Gram matrix against the operator norm of K."""
    return decide_formula(formula_audit, "2.1 gamma_p", SOLVED, SOLVED_REASON)


@claim(
    "lrn-e13-ends",
    where="Appendix A.2, proof of Proposition 8",
    words=r"as $\tilde{L} \to \infty$, $a_p \to t(p)K_{p,i}$ and so that $a_0 \to 0$ and $a_1 \to 1$",
    line=437,
    assumes=r"a triangle $t$ around $p_0 \in (0, 1)$ that vanishes at both ends",
    kind_of_slip="slip in a proof",
    kind="limit",
    states=r"As $\tilde L$ grows the added neuron's activation tends to 0 at $p = 0$ and to 1 at $p = 1$.",
    correction="It tends to $t(p) K_i$, so to 0 at both ends.",
    formula=r"a_0 \to 0, \quad a_1 \to 1 \text{ as } \tilde L \to \infty",
    corrected_formula=(
        r"a_p \to t(p) K_{p,i}, \quad a_0 \to 0, \quad a_1 = O\left( e^{-\tilde L (1 - p_0 - r)} \right) \to 0"
    ),
    data="formula_audit",
    control={
        "end": wrong_formula("the limit 1 as printed, that of $a$ at $p_0$", replace_variables(end_activation=MIDDLE)),
        "integral": wrong_formula("$a$ at $p_0$ in the place of $a_1$", replace_variables(end_activation=MIDDLE)),
        "middle": wrong_formula(
            "$a_1$ in the place of $a$ at $p_0$", replace_variables(middle_activation="end_activation")
        ),
    },
)
def added_neuron_vanishes_at_the_end(formula_audit: xr.Dataset) -> Verdict:
    """a_1 by its integral, which the integrated path confirms, up to Lt = 80."""
    end = formula_audit["end_activation"]
    last, agree = float(end[-1]), (end / formula_audit["end_integrated"] - 1)
    steep = RADIUS * formula_audit["effective_depth"]
    near = 1 - (1 - np.exp(-steep)) / steep  # a at p_0 in closed form, 1 in the limit
    printed = deviation(last - 1, 1e-3, expected=r"$a_1 = 1$ at $\tilde L = 80$", reason=r"a tenth of $1 / \tilde L$")
    corrected = all_of(
        end=at_most(last, 1e-3, expected=r"$a_1 = 0$ at $\tilde L = 80$", reason=r"a tenth of $1 / \tilde L$"),
        integral=deviation(agree, 1e-6, expected="the integrated path", reason="tolerance 1e-12 over values of 1e-10"),
        middle=deviation(
            formula_audit["middle_activation"] - near, SOLVED, expected="$t K_i$ in the limit", reason="quadrature"
        ),
    )
    return Verdict.from_tests(printed, corrected)


@claim(
    "lrn-rho-sum",
    where="Section 3, irregular steps",
    words=r"layer-steps ρ_1, \ldots, ρ_L with $\sum \rho_\ell = 1$ ... one can choose $\rho_{\ell} = "
    r"\frac{1}{L} + \frac{a}{L}(\frac{1}{4} - \left|\frac{\ell}{L} - \frac{1}{2}\right|)$",
    line=266,
    kind_of_slip="missing hypothesis",
    kind="identity",
    states="The irregular steps, longest in the middle, sum to 1.",
    correction=r"For even $L$ only. With $\ell - \frac12$ in the place of $\ell$, divided by their sum, they are"
    " symmetric too.",
    formula=(
        r"\rho_\ell = \frac{1}{L} + \frac{a}{L} \left( \frac{1}{4} - \left| \frac{\ell}{L} - \frac{1}{2}"
        r" \right| \right), \quad \sum_{\ell=1}^{L} \rho_\ell = 1"
    ),
    corrected_formula=(
        r"\sum_{\ell=1}^{L} \rho_\ell = 1 - \frac{a}{4 L^2} \text{ for odd } L, \quad \rho_\ell \propto 1 + a"
        r" \left( \frac{1}{4} - \left| \frac{\ell - 1/2}{L} - \frac{1}{2} \right| \right)"
    ),
    data="step_schemes",
    control={
        "odd": wrong_formula(
            "$a / (4 L)$ in the place of $a / (4 L^2)$",
            lambda steps: steps.assign(excess=steps["excess"] * steps["layer_count"]),
        ),
        "symmetry": wrong_formula(
            "the printed steps in the place of the symmetric ones",
            replace_variables(corrected_asymmetry="asymmetry"),
        ),
        "code": wrong_formula(
            "the symmetric steps in the place of the printed ones", replace_variables(float_error="symmetric_error")
        ),
    },
)
def irregular_steps_sum(step_schemes: xr.Dataset) -> Verdict:
    """Exact fractions."""
    steps = step_schemes
    L, a = steps["layer_count"], steps["irregularity"]
    printed = deviation(steps["excess"], 1e-15, expected="sum 1", reason="exact fractions")
    corrected = all_of(
        odd=deviation(
            steps["excess"] + (L % 2) * a / (4 * L**2), 1e-15, expected="$-a / (4 L^2)$ for odd $L$", reason="exact"
        ),
        symmetry=deviation(
            steps["corrected_asymmetry"], 1e-12, expected="first step equal to the last", reason="round-off"
        ),
        code=deviation(steps["float_error"], 1e-15, expected="the code's steps", reason="round-off"),
    )
    worst = float(abs(steps["asymmetry"]).max())
    return Verdict.from_tests(printed, corrected, f"As printed, first and last step differ by up to {worst:.2g} $/ L$.")


HIGHER_PEAK = wrong_formula(
    "steps that peak at $1 + a/2$", lambda steps: steps.assign(cap=steps["cap"] + steps["irregularity"] / 4)
)


@claim(
    "lrn-rho-cap",
    where="Section 3, irregular steps",
    words=r"To guarantee $\rho_{\ell} \tilde{L} < 1$, we need $L > (1 + a \frac{1}{4}) \tilde{L}$",
    line=280,
    assumes=r"even $L$, where $\ell / L = 1 / 2$ is reached",
    kind="bound",
    states=r"$\rho_\ell \tilde L < 1$ for all layers once $L > (1 + a/4) \tilde L$, and at even $L$ only then.",
    data="step_schemes",
    control={"enough": HIGHER_PEAK, "needed": HIGHER_PEAK},
)
def steps_stay_below_the_leak(step_schemes: xr.Dataset) -> Verdict:
    """L max rho_l against 1 + a/4, exact fractions."""
    steps = step_schemes
    even = steps["cap"].where(steps["layer_count"] % 2 == 0, drop=True)
    test = all_of(
        enough=deviation(
            np.maximum(steps["cap"], 0), 1e-15, expected="no step above $(1 + a/4) / L$", reason="exact fractions"
        ),
        needed=deviation(even, 1e-15, expected="equality at even $L$", reason="exact fractions"),
    )
    return Verdict.from_tests(
        test, None, "At odd $L$ the largest step is $(1 + a/4 - a/(2 L)) / L$: slightly fewer layers do."
    )
