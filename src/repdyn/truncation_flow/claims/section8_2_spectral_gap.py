"""Claims of Section 8.2: the conservation law, the spectral gap and what they bound."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, in_dataset, replace_variables, wrong_formula
from repdyn.base.facts import slope
from repdyn.base.verdicts import Verdict, at_least, at_most
from repdyn.truncation_flow.claims.tolerances import Tolerance, above, below, zero

DEFINITE = ["positive", "negative"]


@claim(
    "tf-prop83",
    where="Section 8.2, Proposition 8.3, (8.21)",
    line=1320,
    assumes="the reduced flow (8.6)-(8.7) at all times (tf-thm84-rate)",
    words="is conserved along orbits of the gradient flow",
    kind="identity",
    states="The difference of the Gram matrices is conserved.",
    formula=r"\mathcal{I}(s) = B(s) B(s)^T - W(s)^T W(s) = \mathcal{I}(0)",
    sought=r"Proof: with $E = W B + Y$ both $\partial_s (B B^T)$ and $\partial_s (W^T W)$ are $-W^T E B^T - B E^T "
    "W$. Rank, sign and labels do not enter: both factors 0 (a saddle), one of them 0, singular $Y$, $Q = "
    r"1$. Nor can the orbit end in finite time, since $\partial_s (|W|^2 + |B|^2) \le |Y|^2$. Steps of finite "
    "length break it, in the order of their length (facts).",
    control=wrong_formula("the Gram matrices of (8.8)", replace_variables(drift="drift_swapped")),
    labels={"": "drift of the difference of Gram matrices along the flow"},
)
def integral_is_conserved(collapsed_clusters: xr.Dataset) -> Verdict:
    """Three signs of the integral of motion, integrator of relative tolerance 1e-12."""
    drift = collapsed_clusters["euler_drift"].mean("seed")
    order = slope(drift["euler_step"], drift)
    return Verdict.from_tests(
        zero(collapsed_clusters["drift"], "constant", Tolerance(1e-10, "relative tolerance 1e-12 times its steps")),
        facts={"order of the drift of Euler steps in their length": order},
    )


@claim(
    "tf-831",
    where="Section 8.2, eqs. (8.30)-(8.32)",
    line=1369,
    assumes="a definite integral of motion (8.25) or (8.26); the reduced flow (8.6)-(8.7); strictness of the gap aside",
    words=r"Therefore, we find a spectral gap, uniformly in $s \in \mathbb{R}_+$",
    kind="bound",
    states="Definiteness at the start keeps the smallest eigenvalue of one Gram matrix above the gap, uniformly in "
    "time.",
    formula=r"\inf \mathrm{spec}(B(s) B(s)^T) \ge \lambda_0 \text{ or } \inf \mathrm{spec}(W(s)^T W(s)) \ge \lambda_0",
    control=wrong_formula(
        "the largest eigenvalue of I(0) in place of the smallest", replace_variables(gram_floor="gram_floor_largest")
    ),
)
def gap_is_kept(collapsed_clusters: xr.Dataset) -> Verdict:
    """Random definite starts of both signs."""
    return Verdict.from_tests(above(collapsed_clusters["gram_floor"].sel(sign=DEFINITE), "eigenvalue over gap"))


@claim(
    "tf-thm84-rate",
    where="Section 8.2, Theorem 8.4, (8.27)",
    line=1353,
    kind_of_slip="missing hypothesis",
    assumes="collapsed initial data (8.1), the flow of the standard cost; (8.25) or (8.26): a definite "
    "integral of motion",
    words=r"the cost converges exponentially to zero as $s \rightarrow \infty$",
    kind="bound",
    states="If the integral of motion is definite, the cost decays at twice its gap.",
    correction="As long as every cluster keeps its sectors, so that the flow is the reduced one (8.6)-(8.7).",
    formula=r"\widetilde{\mathcal{C}}(s) \le e^{-2 \lambda_0 s} \widetilde{\mathcal{C}}(0)",
    corrected_formula=r"\widetilde{\mathcal{C}}(s) \le e^{-2 \lambda_0 s} \widetilde{\mathcal{C}}(0) \text{ while the "
    r"sectors are kept}",
    message="The cost need not decay once a cluster leaves its sectors",
    cause="The theorem bounds the cost along (8.6)-(8.7), which is the flow of the network only while the clusters "
    "stay collapsed (tf-82-reduction); a definite integral of motion does not keep them so.",
    consequence="For orbits of the reduced flow the theorem is true as printed. A network needs the condition "
    "besides: a point that is released can leave the cost at half the square of its label forever.",
    sought=r"The reduced flow cannot fail: (8.33) with $B^T B$ is a proof for any labels, also from $W = 0$ or $B "
    r"= 0$, with double eigenvalues and labels of rank 1. The network can: $Q = 1$, $x = 0$, $\beta = -1$, $W = "
    r"2$, $y = -2$ is collapsed with $\mathcal{I}(0) = -3$; $\beta$ rises to 0, the point is released, and the "
    "cost rests at 2. In three dimensions exchanged labels do the same (the check). Hence the condition.",
    defence="Section 8.1 announces that the solutions of (8.6) and (8.7) are analyzed, and (8.27) writes the "
    "cost in $W$ and $B$. Read as a theorem on these two equations it is true as it stands, and the gap is that "
    "of (8.4), counted once already.",
    answer="Granted for the equations, and the severity says no more than a missing hypothesis. But the theorem "
    "speaks of initial data for the gradient flow and concludes that the standard cost of the network tends to "
    "0, which is what the introduction announces for fully collapsed initial data. There its hypotheses hold "
    "and its conclusion fails.",
    control={
        "reduced flow": wrong_formula(
            "twice the rate", in_dataset(0, replace_variables(rate_excess="rate_excess_faster"))
        ),
        "network": false_world(
            "exchanged labels after the loss of the sectors, by times of loss exchanged between the labels",
            in_dataset(1, lambda data: data.assign(lost=("labels", data["lost"].values[::-1]))),
        ),
    },
    labels={
        "": "cost of the network over its bound",
        "network": "cost of the network over its bound while the sectors are kept",
        "reduced flow": "log of the cost of the reduced flow over its bound",
    },
    remark="In (8.33) $B B^T$ must be $B^T B$.",
)
def cost_decays(collapsed_clusters: xr.Dataset, reduced_network: xr.Dataset) -> Verdict:
    """Network with labels near the images and exchanged ones, all or up to the loss of the sectors; random starts."""
    slow, last = collapsed_clusters["slow_cost"], float(collapsed_clusters["time"][-1])
    attained = float(-np.log(slow[-1] / slow[0]) / (2 * collapsed_clusters["slow_gap"] * last))
    excess = collapsed_clusters["rate_excess"].sel(sign=DEFINITE).fillna(0.0)  # the cost is round-off there
    network, time = reduced_network["cost_network"], reduced_network["time"]
    ratio = network / (network.isel(time=0) * np.exp(-2 * reduced_network["integral_gap"] * time))
    printed, kept = (
        at_most(part, 1.0 + 1e-9, expected="cost over bound at most 1", reason="a bound; rounding at $s = 0$")
        for part in (ratio, ratio.where(time < reduced_network["lost"], 0.0))
    )
    return Verdict.from_tests(
        printed,
        {
            "network": kept,
            "reduced flow": at_most(excess, 1e-9, expected="log of cost over bound at most 0", reason="integrator"),
        },
        {
            "rate over twice the gap for $W = 0.01$, $B = 1$, $Y = 0$": attained,
            "cost of the network with exchanged labels at the end": float(network.sel(labels="adverse")[-1]),
        },
    )


@claim(
    "tf-828",
    where="Section 8.2, Theorem 8.4, (8.28)",
    line=1357,
    assumes="(8.25) or (8.26): a definite integral of motion; the reduced flow (8.6)-(8.7) at all times "
    "(tf-thm84-rate)",
    words="strongly, in Hilbert-Schmidt norm",
    kind="limit",
    states="The output of the collapsed clusters converges to the labels.",
    formula=r"W(s) B(s) \to -Y",
    sought="A consequence of (8.27): the Hilbert-Schmidt norm of the error is the root of twice the cost. In finite "
    "dimension no weaker sense of convergence could be meant. Labels 0 and labels of rank 1, for which the "
    "product must end singular although one factor has a gap, were followed from $W = 0$ and from $B = 0$ "
    "down to the integrator's error.",
    control=wrong_formula("labels with the other sign", replace_variables(output_error="output_error_other")),
)
def output_converges(collapsed_clusters: xr.Dataset) -> Verdict:
    """Error at the last time over that at the start, definite starts, against the bound (8.27)."""
    error, gap = (collapsed_clusters[name].sel(sign=DEFINITE) for name in ("output_error", "gap"))
    bound = np.maximum(np.exp(-gap * float(collapsed_clusters["time"][-1])), 1e-9)
    return Verdict.from_tests(
        at_most(
            error / bound, 1.0, expected="error over bound at most 1", reason="a bound; 1e-9 is the integrator's error"
        )
    )


@claim(
    "tf-thm84-indef",
    where="Section 8.2, Theorem 8.4, hypotheses",
    kind="bound",
    origin="ours",
    states="Where the integral of motion is not definite and the labels are not 0, convergence of the cost to "
    "zero is not guaranteed.",
    control=false_world("random starts without definiteness", replace_variables(saddle_ratio="indefinite_ratio")),
    remark="Definiteness is sufficient, not necessary. The start is invertible, as Section 2 asks of the output "
    "weight; the saddle itself, both factors 0, is not.",
)
def without_definiteness(collapsed_clusters: xr.Dataset) -> Verdict:
    """Invertible factors on the way to a saddle: both the identity, labels the unit vectors."""
    random = collapsed_clusters["indefinite_ratio"]
    return Verdict.from_tests(
        at_least(
            collapsed_clusters["saddle_ratio"],
            0.5,
            expected="cost at the end over that of the saddle",
            reason="it tends to 1; half would be on its way to zero",
        ),
        facts={
            "random starts that are not definite": random.size,
            "cost at the end over the start from these (largest)": float(random.max()),
        },
    )


@claim(
    "tf-835",
    where="Section 8.2, proof of Theorem 8.4, (8.34)-(8.36)",
    line=1404,
    kind_of_slip="slip in a proof",
    assumes="the case (8.31)",
    words="The right hand side is bounded, uniformly in $s$",
    kind="bound",
    states="The output weight stays bounded, by the labels over the biases and a term that decays at twice the gap.",
    correction="The term decays at the gap itself: the root of (8.34) was not taken. Boundedness is not touched.",
    formula=r"\|W\| \le \|Y B^{-1}\| + \frac{c}{\sqrt{\lambda_0}} e^{-2 \lambda_0 s}",
    corrected_formula=r"\|W\| \le \|Y B^{-1}\| + \sqrt{\frac{c}{\lambda_0}} e^{-\lambda_0 s}",
    sought=r"Proof of the corrected form: $W = (E - Y) B^{-1}$ with $B$ invertible by (8.31), and $\|E B^{-1}\| \le "
    r"\|E\| / \sqrt{\lambda_0}$. $Y = 0$ leaves the second term alone: from $W = .01$, $B = 1$ the weight "
    "decays at the gap itself, so no constant, however large, saves the printed rate. $W(0) = 0$ and "
    "singular $Y$ are covered by the proof, which uses no inverse of either.",
    control={
        "slow start": wrong_formula(
            "the printed exponent", replace_variables(weight_bound_corrected="weight_bound_printed")
        ),
        "random starts": wrong_formula(
            "without the labels over the biases", replace_variables(weight_size="weight_size_without_Y")
        ),
    },
    message="A term of the bound on the output weight decays half as fast",
    cause=r"The root of (8.34) was not taken: it is $\sqrt{c/\lambda_0}\, e^{-\lambda_0 s}$, not "
    r"$(c/\sqrt{\lambda_0})\, e^{-2 \lambda_0 s}$.",
    consequence="The words are true, since any such bound serves them: the output weight stays bounded.",
    labels={
        "random starts": "norm of the output weight over its bound, random starts",
        "slow start": "norm of the output weight over its bound, start from a small weight",
    },
)
def weight_is_bounded(collapsed_clusters: xr.Dataset) -> Verdict:
    """Norm over bound: an orbit that attains the gap (W = 0.01, B = 1, Y = 0), and random definite starts."""
    printed, corrected = (
        below(collapsed_clusters["weight_norm"] / collapsed_clusters[name], "norm over bound")
        for name in ("weight_bound_printed", "weight_bound_corrected")
    )
    random = at_most(
        collapsed_clusters["weight_size"].sel(sign=DEFINITE),
        1.0 + 1e-9,
        expected="norm over bound at most 1",
        reason="a bound; integrator",
    )
    return Verdict.from_tests(printed, {"slow start": corrected, "random starts": random})


@claim(
    "tf-837",
    where="Section 8.2, proof of Theorem 8.4, (8.37)",
    line=1412,
    assumes="the case (8.31); the bound (8.36)",
    words="is uniformly bounded in $s$",
    kind="bound",
    states="The conservation law bounds the larger factor by the smaller.",
    formula=r"\|B(s)\|^2 \le \|\mathcal{I}(0)\| + c_W^2",
    sought=r"$B B^T = \mathcal{I}(0) + W^T W$ and the triangle inequality. Equality is possible, as for "
    r"$\mathcal{I}(0) = \lambda \mathbf{1}$, where the norms just add; that (8.37) is strict comes from the "
    "strict bound (8.36) on $W$. In the case (8.32), which the paper leaves to the reader, the two factors "
    r"change places: $\|W\|^2 \le \|\mathcal{I}(0)\| + \|B\|^2$, followed along random starts too.",
    control=wrong_formula("without the integral of motion", replace_variables(bias_size="bias_size_without_I")),
)
def bias_is_bounded(collapsed_clusters: xr.Dataset) -> Verdict:
    """Random definite starts of both signs, with the largest norm along the orbit for the constant."""
    size = collapsed_clusters["bias_size"].sel(sign=DEFINITE)
    return Verdict.from_tests(
        at_most(size, 1.0 + 1e-9, expected="square over bound at most 1", reason="a bound; integrator")
    )


@claim(
    "tf-838",
    where="Section 8.2, proof of Theorem 8.4, (8.38)-(8.39)",
    line=1421,
    kind_of_slip="slip in a proof",
    assumes="the case (8.31); the constant of (8.34)",
    words=r"Therefore,  $\lim_{s \rightarrow \infty} W_{Q+1}(s)$  exists, and the convergence is exponential",
    kind="bound",
    states="The speeds of both factors decay at the gap, with the constant of (8.34).",
    correction="With the root of that constant: the norm of the error is the root of (8.34).",
    formula=r"\|\partial_s W\| \le c\, c_B e^{-\lambda_0 s}, \quad \|\partial_s B\| \le c\, c_W e^{-\lambda_0 s}",
    corrected_formula=r"\|\partial_s W\| \le \sqrt{c}\, c_B e^{-\lambda_0 s}, \quad \|\partial_s B\| \le \sqrt{c}\, "
    r"c_W e^{-\lambda_0 s}",
    sought=r"Corrected form: $\|\partial_s W\| \le \|E\| \|B\|$, $\|\partial_s B\| \le \|E\| \|W\|$ and $\|E\| \le "
    r"\sqrt{c}\, e^{-\lambda_0 s}$. What was attacked is the constant: $c$ is proportional to the cost at the "
    r"start, so $c < \sqrt{c}$ for small costs, whatever the factor; $W = .01$, $B = 1$, $Y = 0$ is such a "
    "start. The limits need some constant only, and exist (tf-thm84-limits).",
    control={
        "slow start": wrong_formula(
            "the constant without its root", replace_variables(speed_bound_corrected="speed_bound_printed")
        ),
        "output": wrong_formula("twice the rate", replace_variables(speed_of_W="speed_of_W_twice")),
        "biases": wrong_formula("twice the rate", replace_variables(speed_of_B="speed_of_B_twice")),
    },
    message="The bounds on the speeds have a constant without its root",
    cause=r"The norm of the error is at most the root of (8.34), so $\sqrt{c}$ belongs where $c$ is printed.",
    consequence="The words are true: limit and exponential rate need some constant only. The printed one is too small "
    "where the cost at the start is small.",
    labels={
        "output": "speed of the output factor over its bound",
        "biases": "speed of the bias factor over its bound",
        "slow start": "speed of the factors over its bound, start from a small weight",
    },
)
def speeds_decay(collapsed_clusters: xr.Dataset) -> Verdict:
    """Speed over bound: an orbit that attains the gap, and random definite starts of both signs."""
    printed, corrected = (
        below(collapsed_clusters["weight_speed"] / collapsed_clusters[name], "speed over bound")
        for name in ("speed_bound_printed", "speed_bound_corrected")
    )
    output, biases = (
        below(collapsed_clusters[name].sel(sign=DEFINITE), "speed over bound") for name in ("speed_of_W", "speed_of_B")
    )
    return Verdict.from_tests(printed, {"slow start": corrected, "output": output, "biases": biases})


@claim(
    "tf-thm84-limits",
    where="Section 8.2, Theorem 8.4, (8.29)",
    line=1359,
    assumes="(8.25) or (8.26): a definite integral of motion; the reduced flow (8.6)-(8.7) at all times "
    "(tf-thm84-rate)",
    words=r"and the limits $B_\infty^{(Q)} := \lim_{s \rightarrow \infty} B^{(Q)}(s) \quad \text{and} \quad "
    r"W_{Q+1,\infty} := \lim_{s \rightarrow \infty} W_{Q+1}(s)$ ... exist",
    kind="limit",
    states="Both factors converge.",
    formula=r"B_\infty = \lim_{s \to \infty} B(s), \quad W_\infty = \lim_{s \to \infty} W(s)",
    sought=r"Speeds below a constant times $e^{-\lambda_0 s}$ are integrable, so the limits exist by the corrected "
    "(8.38)-(8.39), and in the case (8.32) with the factors exchanged. Ends at which a factor is singular "
    "were followed: labels 0, where the factor without a gap dies out, and labels of rank 1, from starts "
    "with $W = 0$ or $B = 0$. Which limit is reached depends on the start; that there is one does not.",
    control=false_world("the first unit of time, before convergence", replace_variables(late_motion="early_motion")),
)
def limits_exist(collapsed_clusters: xr.Dataset) -> Verdict:
    """Change over one unit of time, 14 units after the last time, definite starts."""
    motion = collapsed_clusters["late_motion"].sel(sign=DEFINITE)
    late = Tolerance(1e-8, "rates above 0.9 for 20 units leave $e^{-18}$")
    return Verdict.from_tests(zero(motion, "no motion left", late))
