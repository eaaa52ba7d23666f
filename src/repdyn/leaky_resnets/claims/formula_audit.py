"""Claims decided by the audit of formulas, and those on layer steps."""

from __future__ import annotations

from repdyn.base.formula_audit import formula_claim
from repdyn.leaky_resnets.claims.tolerances import (
    DIFFERENCED,
    DIFFERENCED_REASON,
    INTEGRATED,
    INTEGRATED_REASON,
    ROUNDING,
    ROUNDING_REASON,
    SOLVED,
    SOLVED_REASON,
)
from repdyn.leaky_resnets.theory import equations

range_is_stretched = formula_claim(
    "lrn-sym-range",
    where="Section 1.2, integration range",
    words="stretching the weights to a new range ... stretches the activations",
    line=80,
    states=r"Weights $W_{q/c} / c$ with leak $\tilde L / c$ on $[0, c]$ give the activations $A_{q/c}$, and $1/c$ of "
    "the squared norm.",
    audit=("formula_audit", equations.RANGE_OF_P, INTEGRATED, INTEGRATED_REASON),
    control="weights that are not divided by $c$",
    decided="Both paths integrated, both norms by quadrature (alpha_{q/2} in the display is alpha_{q/c}).",
)


outputs_are_scaled = formula_claim(
    "lrn-sym-output",
    where="Section 1.2, output scaling",
    words=r"increasing the leakage by a constant $\tilde{L} \to \tilde{L} + c$ leads to a scaled down path",
    line=92,
    assumes="no bias, as the sentence before says",
    states="Raising the leak by $c$ scales the path by $e^{-cp}$ if there is no bias.",
    audit=("formula_audit", equations.SCALE_OF_OUTPUTS, INTEGRATED, INTEGRATED_REASON),
    control="the path that is not scaled",
    decided="Both paths integrated; with bias too, once b_p is scaled by e^{-cp}.",
    remark="Holds with bias if $b_p$ is scaled by $e^{-cp}$.",
)


between_resnet_and_connected = formula_claim(
    "lrn-lt-zero",
    where="Section 1.1, leaky ResNets",
    words="variant of ResNets that interpolate between ResNets and FCNNs, ... the strength of the skip connections",
    line=57,
    assumes=r"discrete layers: the factor $1 - \rho_\ell \tilde L$ of the skip connection goes from 1 to 0",
    states=r"By the strength of the skip connections Leaky ResNets reach from ResNets, at $\tilde L = 0$, to fully "
    r"connected networks, at $\rho_\ell \tilde L = 1$.",
    audit=("formula_audit", equations.NO_LEAK, ROUNDING, ROUNDING_REASON),
    control=r"$\tilde L = L / 2$ in place of $L$",
    decided="Against both recursions written out.",
)


weights_of_a_path = formula_claim(
    "lrn-lagr-weights",
    where="Section 1.3, first display",
    words="the weights $W_p$ at any minimizer can be expressed",
    line=101,
    assumes="the weights that carry a given path, of least norm",
    states=r"The weights of a minimizer are $W_p = (\tilde L A_p + \partial_p A_p) \sigma(A_p)^+$.",
    audit=("formula_audit", equations.LEAST_WEIGHTS, SOLVED, SOLVED_REASON),
    control=r"$A$ in place of $\tilde L A$",
    decided="Against Lagrange multipliers (w >= N), the only solution (w < N), and longer solutions.",
)


lagrangian_splits = formula_claim(
    "lrn-lagr-terms",
    where="Section 1.3, three terms",
    words="we can decompose the inside of the integral as three terms ... "
    r"$+ \tilde{L}\left\langle\partial_p A_p, A_p\right\rangle_{K_p^+}$",
    line=120,
    assumes=r"$\operatorname{Im} A_p^T \subset \operatorname{Im} \sigma(A_p)^T$",
    kind_of_slip="misprint",
    states="The Lagrangian is the sum of three terms: cost of identity, cross term and kinetic energy.",
    correction=r"The cross term has the factor $2 \tilde L / (2 \tilde L) = 1$ in place of $\tilde L$.",
    formula=r"\frac{1}{2 \tilde L} \|\tilde L A_p + \partial_p A_p\|_{K_p}^2 = \frac{\tilde L}{2} \|A_p\|_{K_p}^2 + "
    r"\tilde L \langle \partial_p A_p, A_p \rangle_{K_p} + \frac{1}{2 \tilde L} \|\partial_p A_p\|_{K_p}^2",
    corrected_formula=r"\frac{1}{2 \tilde L} \|\tilde L A_p + \partial_p A_p\|_{K_p}^2 = \frac{\tilde L}{2} "
    r"\|A_p\|_{K_p}^2 + \langle \partial_p A_p, A_p \rangle_{K_p} + \frac{1}{2 \tilde L} \|\partial_p A_p\|_{K_p}^2",
    audit=("formula_audit", equations.THREE_TERMS, SOLVED, SOLVED_REASON),
    control="without the middle term",
    decided="Against the whole, by a linear solve.",
    message="The cross term of the Lagrangian has a factor too many",
    cause=r"The square holds the cross term $2 \tilde L \langle \partial_p A, A \rangle_K$, which $1/(2 \tilde L)$ "
    r"leaves without the printed factor $\tilde L$.",
    consequence="The paper drops the term afterwards, so only the display changes.",
)


cross_term_integrates = formula_claim(
    "lrn-linear-remark",
    where="Section 1.3, footnote 1",
    words=r"In linear networks $\sigma = id$ it can actually be discarded, since it is integrable",
    line=136,
    assumes="linear networks",
    states="In linear networks the cross term is integrable: its integral is a difference between the ends of the "
    "path.",
    formula=r"\int_0^1 \operatorname{Tr}\left[ \partial_p A_p \sigma(A_p)^+ \sigma(A_p)^{+T} A_p^T \right] dp = \log "
    r"|A_1|_+ - \log |A_0|_+",
    audit=("formula_audit", equations.LINEAR_REMARK, SOLVED, SOLVED_REASON),
    control="Frobenius norms in place of pseudo-determinants",
    decided="Gauss quadrature along paths of linear networks from starts of rank 3 against the ends; absolute error.",
    remark=r"Weights of finite norm carry $A_p = \Phi_p A_0$ with $\Phi_p$ invertible, so the rank is constant by "
    "itself. With a bias the term is integrable, too: the determinants are then those of $A$ with a row of ones.",
)


zero_stays_constant = formula_claim(
    "lrn-zero-representation",
    where="Section 1.3, after the kinetic energy",
    words="once the network reaches a zero representation, it can only learn constant representations afterwards",
    line=132,
    states="Once a network reaches the zero representation it can only learn constant representations afterwards.",
    formula=r"A_p = 0 \Rightarrow A_q = a_q \mathbf{1}^T \text{ for } q > p",
    audit=("formula_audit", equations.ZERO_REPRESENTATION, ROUNDING, ROUNDING_REASON),
    control="a start that is not zero",
    decided="Spread over points after 12 random layers, absolute, numbers of order 1.",
    remark="In continuous networks of finite norm distinct inputs never meet, since flows are one to one: there it is "
    "a limit.",
)


infinite_terms_cancel = formula_claim(
    "lrn-infinite-terms",
    where="Section 1.3, Remark",
    words="all three terms are infinite and cancel each other to yield a finite sum",
    line=134,
    assumes=r"$\operatorname{Im} A_p^T \not\subset \operatorname{Im} \sigma(A_p)^T$, weights of finite norm",
    kind="limit",
    states=r"Where $\operatorname{Im} A_p^T \not\subset \operatorname{Im} \sigma(A_p)^T$ the three terms of the "
    "Lagrangian are infinite and cancel each other to yield a finite sum.",
    formula=r"\gamma \|A_p\|_{K_p + \gamma I}^2 \to \|A_p (I - \sigma(A_p)^+ \sigma(A_p))\|^2, \quad \|\tilde L A_p + "
    r"\partial_p A_p\|_{K_p + \gamma I}^2 \to \|W_p \sigma(A_p) \sigma(A_p)^+\|^2",
    audit=(
        "formula_audit",
        equations.INFINITE_TERMS,
        1e-5,
        r"$\gamma = 10^{-8} |S|^2$ and condition numbers below 10: 1e-6",
    ),
    control="the sum without the cross term",
    decided="Stable norms at gamma = 1e-8 |S|^2 against their limits, w + 1 < N.",
)


connected_networks_are_balanced = formula_claim(
    "lrn-a3-connected",
    where="Appendix A.3, fully connected networks",
    words="the norm of incoming weights equals the norm of the outcoming weights",
    line=458,
    assumes="fully connected ReLU networks, neurons rescaled to least norm",
    states="Neurons of a fully connected network rescaled to least norm have incoming weights as large as outgoing "
    "ones, so the norm of the weights increases through the layers by the biases.",
    formula=r"\|W_\ell\|_F^2 + \|b_\ell\|^2 = \|W_{\ell+1}\|_F^2, \quad \|W_\ell\|_F^2 = \|W_1\|_F^2 + "
    r"\sum_{k=1}^{\ell-1} \|b_k\|^2",
    audit=("formula_audit", equations.CONNECTED_BALANCE, SOLVED, "rescaling has converged to round-off"),
    control="without the sum of biases",
    decided="Random networks of four layers, each neuron rescaled until nothing moves; outputs stay as they are.",
    remark=r"The line printed after it is no equation: between its two terms $= \|W_1\|_F^2$ is missing. This is the "
    "one that follows.",
)


hamilton_equations = formula_claim(
    "lrn-ham-eqs",
    where="Section 1.5, joint dynamics",
    words=r"These are Hamiltonian dynamics $\partial_p A_p = \partial_{B_p} \mathcal{H}$ and $-\partial_p B_p "
    r"= \partial_{A_p} \mathcal{H}$",
    line=202,
    states=r"$\partial_p A = \partial \mathcal{H} / \partial B$ and $-\partial_p B = \partial \mathcal{H} / \partial "
    r"A$ for $\mathcal{H} = \frac{\tilde L}{2} \|B \sigma(A)^T\|^2 - \tilde L \operatorname{Tr}[B A^T]$.",
    audit=("formula_audit", equations.HAMILTON_EQUATIONS, DIFFERENCED, DIFFERENCED_REASON),
    control="$dB/dp$ with the other sign",
    decided="Against central differences of H (the row of the bias dropped from S B^T B).",
)


hamiltonian_splits = formula_claim(
    "lrn-ham-split",
    where="Section 2.1, first display",
    words="then the Hamiltonian equals the sum of the kinetic and potential energies",
    line=222,
    assumes=r"$\operatorname{Im} A_p^T \subset \operatorname{Im} \sigma(A_p)^T$; potential energy $-\frac{\tilde "
    r"L}{2} \|A_p\|_{K_p}^2$",
    states=r"Where $\operatorname{Im} A^T$ lies in $\operatorname{Im} \sigma(A)^T$, $\mathcal{H} = \frac{1}{2 \tilde "
    r"L} \|\partial_p A\|_K^2 - \frac{\tilde L}{2} \|A\|_K^2$.",
    audit=("formula_audit", equations.HAMILTONIAN_SPLIT, SOLVED, SOLVED_REASON),
    control="the potential energy with the other sign",
    decided="Random A and B with w >= N, where the assumption holds.",
)


theorem4_identity = formula_claim(
    "lrn-thm4-identity",
    where="Appendix A.2, proof of Theorem 7",
    words=r"$-\frac{2}{\tilde{L}}\mathcal{H} = \left\|A_p\right\|_{(K_p+\gamma I)}^2 - "
    r"\left\|\frac{1}{\tilde{L}}\partial_p A_p + \gamma B_p\right\|_{(K_p+\gamma I)}^2 + \gamma "
    r"\left\|B_p\right\|^2.$",
    line=389,
    states=r"$-\frac{2}{\tilde L} \mathcal{H} = \|A\|_\gamma^2 - \left\|\frac{1}{\tilde L} \partial_p A + \gamma "
    r"B\right\|_\gamma^2 + \gamma \|B\|^2$, where $\|\cdot\|_\gamma$ is the norm of $K + \gamma I$.",
    audit=("formula_audit", equations.THEOREM4_IDENTITY, SOLVED, SOLVED_REASON),
    control=r"$\gamma |B|^2$ subtracted",
    sought=r"Completing the square in the norm of $K + \gamma I$, invertible even for $K = 0$; no derivative of "
    "the ReLU enters. Tried at $A = 0$, without a positive entry, at one point and one neuron.",
    decided="Any A and B, gamma = 1e-3 and 1.",
)


scale_of_gamma = formula_claim(
    "lrn-e14-gamma",
    where="Section 2.1, after Theorem 4",
    words=r"$\gamma_p = \gamma_0 \|\sigma(A_p^{\tilde{L}})\|_{op}^2 = \gamma_0 \|K_p\|_{op}^2$",
    line=238,
    kind_of_slip="misprint",
    states=r"The scale of $\gamma_p$: the squared operator norm of $\sigma(A_p)$ is that of $K_p$.",
    correction="It is the operator norm of $K_p$, not its square.",
    formula=r"\gamma_p = \gamma_0 \|\sigma(A_p)\|_{op}^2 = \gamma_0 \|K_p\|_{op}^2",
    corrected_formula=r"\gamma_p = \gamma_0 \|\sigma(A_p)\|_{op}^2 = \gamma_0 \|K_p\|_{op}",
    possible_ocr_error=True,
    audit=("formula_audit", equations.LAYER_REGULARIZER, SOLVED, SOLVED_REASON),
    control="the root of $|K|_{op}$",
    sought="Singular values of $S$ squared are eigenvalues of $S^T S$, for $S = 0$, one point or more points than "
    "neurons too.",
    decided="Largest eigenvalue of the smaller Gram matrix against the operator norm of K.",
    message="The operator norm of the kernel is squared once too often",
    cause=r"In our copy: since $K = \sigma(A)^T \sigma(A)$, the squared operator norm of $\sigma(A)$ is the "
    "operator norm of $K$ itself.",
    consequence=r"The scale of $\gamma_p$ is that of $\sigma(A_p)$, which is printed first, and only its second form "
    "changes.",
)


loss_splits_by_neurons = formula_claim(
    "lrn-lagr-neurons",
    where="Section 1.3, particles",
    words="It can be helpful to decompose this loss along the different neurons",
    line=112,
    states="The loss is a sum over the neurons of the error of its output and the norm of its row, with the norm of "
    "$K_p$ that they share.",
    formula=r"\sum_{i=1}^w \frac{1}{N} \|f_i^*(X) - A_{1,i}\|^2 + \frac{\lambda}{2 \tilde L} \int_0^1 \|\tilde L "
    r"A_{p,i \cdot} + \partial_p A_{p,i \cdot}\|_{K_p}^2 dp",
    audit=("formula_audit", equations.SPLIT_BY_NEURONS, SOLVED, SOLVED_REASON),
    control="each neuron with the kernel of itself alone",
    decided="Against the error and the least weights of the whole representation, at one position.",
    remark="What couples the neurons is the kernel: with its own kernel alone a neuron has another norm.",
)


kernel_sums_over_neurons = formula_claim(
    "lrn-lagr-kernel",
    where="Section 1.3, particles",
    words=r"on the covariance $K_p = \sum_{i=1}^{w} \sigma(A_i) \sigma(A_i)^T$, leading to a global interaction",
    line=118,
    assumes=r"$K_p = \sigma(A_p)^T \sigma(A_p)$, where $\sigma$ appends a 1",
    kind_of_slip="misprint",
    states="The kernel is the sum over the $w$ neurons of the products of their activations.",
    correction=r"With the appended 1 the sum lacks $\mathbf{1} \mathbf{1}^T$.",
    formula=r"K_p = \sum_{i=1}^{w} \sigma(A_i) \sigma(A_i)^T",
    corrected_formula=r"K_p = \mathbf{1} \mathbf{1}^T + \sum_{i=1}^{w} [A_{i \cdot}]_+^T [A_{i \cdot}]_+",
    audit=("formula_audit", equations.COVARIANCE, ROUNDING, ROUNDING_REASON),
    control="the products before the ReLU",
    decided="Against the product of the activations with their row of ones.",
    message="The sum over neurons lacks the row of ones that is appended",
    cause=r"Since $\sigma$ appends a 1 to each point, the kernel holds $\mathbf{1} \mathbf{1}^T$ besides the sum "
    "over the $w$ neurons.",
    consequence="That the loss splits over neurons is not touched; the paper's own proof of Proposition 6 subtracts "
    "the term.",
)


potential_energy_is_proportional = formula_claim(
    "lrn-potential-inverse",
    where="Section 4, Conclusion",
    words="the potential energy is inversely proportional ... to the cost of identity",
    line=294,
    assumes=r"potential energy $-\frac{\tilde L}{2} \|A_p\|_{K_p}^2$ (Section 1.3)",
    kind_of_slip="misprint",
    states="The potential energy is inversely proportional to the cost of identity.",
    correction=r"It is proportional to it, with the negative factor $-\tilde L / 2$, by its definition.",
    formula=r"E_{pot} \propto \frac{1}{\|A_p\|_{K_p}^2}",
    corrected_formula=r"E_{pot} = -\frac{\tilde L}{2} \|A_p\|_{K_p}^2",
    audit=("formula_audit", equations.POTENTIAL_ENERGY, SOLVED, SOLVED_REASON),
    control=r"the positive factor $\tilde L / 2$",
    decided="What the kinetic energy leaves of the Hamiltonian, over two representations, against their costs.",
    message="The potential energy is a negative multiple of the cost",
    cause=r"Section 1.3 defines it as $-\tilde L/2$ times the cost of identity, so twice the cost is twice the "
    "energy, not half of it.",
    consequence="What is meant stays true: the energy is low where the cost is high.",
)
