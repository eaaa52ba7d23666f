"""Claims of section 4.3 of Ma and Ying, first-step amplification, and of batch normalization over finite batches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, knock_out, replace_variables, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict, at_least, at_most, deviation, rounding

VANILLA = "steps of the vanilla model"


@claim(
    "bnm-fig3-norm",
    where="Section 4.3",
    words=r"the first iteration will only make the magnitude of $\|\mathbf{b}\|$ bigger",
    line=410,
    assumes="gradient descent",
    kind="identity",
    states="The gradient is tangent to the sphere, so the first step can only make a neuron longer.",
    control=false_world(VANILLA, exchange("model", "BN", "vanilla")),
)
def no_neuron_shrinks(first_step: xr.Dataset) -> Verdict:
    """Smallest change of a length over all iterations, neurons, lengths, steps and starts."""
    growth = min(float(first_step["smallest_growth"].sel(model="BN")), 0.0)
    tolerance = rounding(first_step["norm"].sel(model="BN"), 100)
    return Verdict.from_tests(
        deviation(growth, tolerance, expected="no length falls", reason="rounding of the largest length")
    )


@claim(
    "bnm-fig3-law",
    where="Section 4.3 (ours)",
    kind="identity",
    origin="ours",
    assumes=r"gradient descent with step $h$, no $\epsilon$ in the normalization; the direction of $b$ and all else is "
    "the same at each length $r$",
    states=r"One step takes a neuron of length $r$ to $r_1 = \sqrt{r^2 + (h g / r)^2}$, $g$ its speed at unit length.",
    formula=r"r_1 = \sqrt{r^2 + \left( \frac{h g}{r} \right)^2}",
    control=false_world(VANILLA, exchange("model", "BN", "vanilla")),
    labels={"": "simulated length after one step over the law, minus 1"},
)
def length_after_one_step(first_step: xr.Dataset) -> Verdict:
    """Simulated lengths against the law, g measured at unit length."""
    ratio = first_step["norm"].sel(model="BN", iteration=1) / first_step["norm_law"] - 1
    reason = "rounding of $g$, summed over 200 neurons, where $g$ is 1e-5 of its largest"
    return Verdict.from_tests(deviation(ratio, 1e-10, expected="the law", reason=reason))


SHORT = 0.1
NEURONS = {"of all lengths": np.inf, "very small, a tenth at the start or less": SHORT}
BIGGER: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "length after the step": lambda after, before: after,
    "gain of length": lambda after, before: after - before,
    "factor of length": lambda after, before: after / before,
}


def _after_one_step(first_step: xr.Dataset) -> np.ndarray:
    """Lengths of the BN model's neurons after one step, shape (radius, start and step and neuron)."""
    norm = first_step["norm"].sel(model="BN", iteration=1).transpose("radius", "start", "step", "neuron")
    return norm.values.reshape(norm.sizes["radius"], -1)


def _long_are_fast(first_step: xr.Dataset) -> xr.Dataset:
    """Gradients h g r^2 in place of h g / r, by Pythagoras."""
    r = first_step["radius"]
    after = (r**2 + (first_step["critical"] ** 2 * r**2) ** 2) ** 0.5
    return first_step.assign(norm=after.broadcast_like(first_step["norm"]))


@claim(
    "bnm-fig3-smaller-bigger",
    where="Section 4.3",
    words="The smaller the neuron is initially, the bigger it becomes after one iteration",
    line=410,
    assumes="gradient descent; what 'bigger' measures and how small neurons are is not said",
    kind="scaling",
    states="The smaller a neuron is initially, the bigger it becomes after one step.",
    control=false_world("gradients that grow as the square of the length", _long_are_fast, recomputes=True),
    remark=r"By $r_1 = \sqrt{r^2 + (h g / r)^2}$ what a neuron gains falls in $r$ everywhere, its length after the "
    r"step only below $\sqrt{h g}$ (bnm-fig3-critical), and $g$ is near 0 for some neurons.",
)
def smaller_becomes_bigger(first_step: xr.Dataset) -> Verdict:
    """One neuron after one step from neighboring initial lengths: its length, and what it gained."""
    after, radius = _after_one_step(first_step), first_step["radius"].values
    _require_short(radius)

    def falls(bigger: Callable[[np.ndarray, np.ndarray], np.ndarray], neurons: float) -> Test:
        chosen = radius <= neurons
        size = bigger(after[chosen], radius[chosen, None])
        rise = max(float(np.diff(size, axis=0).max()), 0.0)
        reason = "rounding of the largest; the law is monotone or it is not"
        return deviation(rise, rounding(size, 100), expected="falls in the initial length", reason=reason)

    return Verdict.from_tests(over_readings(falls, bigger=BIGGER, neurons=NEURONS))


def _require_short(radius: np.ndarray) -> None:
    """The reading about very small neurons needs two lengths of them."""
    if np.sum(radius <= SHORT) < 2:
        raise NotEnoughDataError(f"first_step: 2 lengths of {SHORT:g} or less, has {np.sum(radius <= SHORT)}")


def _critical_to_the(power: float) -> Callable[[xr.Dataset], xr.Dataset]:
    return lambda first_step: first_step.assign(critical=first_step["critical"] ** power)


@claim(
    "bnm-fig3-critical",
    where="Section 4.3 (ours)",
    kind="scaling",
    origin="ours",
    assumes=r"gradient descent with step $h$, no $\epsilon$ in the normalization; the direction of $b$ and all else is "
    "the same at each length $r$",
    states=r"After one step shorter neurons are longer only for $r < r^* = \sqrt{h g}$; the smallest result is "
    r"$\sqrt{2 h g}$ at $r^*$, beyond it $r_1$ grows with $r$.",
    formula=r"\frac{d r_1}{d r} < 0 \Leftrightarrow r < r^* = \sqrt{h g}",
    control={
        "below": wrong_formula("$r^* = (h g)^{1/4}$", _critical_to_the(0.5), recomputes=True),
        "above": wrong_formula("$r^* = h g$", _critical_to_the(2.0), recomputes=True),
    },
    labels={
        "below": "new length over that of the next shorter start, below the critical length",
        "above": "new length over that of the next shorter start, above the critical length",
    },
)
def length_is_least_at_the_critical_one(first_step: xr.Dataset) -> Verdict:
    """Lengths of one neuron after one step from neighboring initial lengths on one side of its critical length."""
    after = _after_one_step(first_step)
    growth = after[1:] / after[:-1]
    critical = first_step["critical"].transpose("start", "step", "neuron").values.ravel()
    r = first_step["radius"].values[:, None]
    below, above = r[1:] <= critical, r[:-1] >= critical
    if not (below.any() and above.any()):
        raise NotEnoughDataError("first_step: pairs of lengths below r* and above it")
    return Verdict.from_tests(
        {
            "below": at_most(growth[below], 1, expected="$r_1$ falls in $r$ below $r^*$", reason="monotone"),
            "above": at_least(growth[above], 1, expected="$r_1$ grows in $r$ above $r^*$", reason="monotone"),
        }
    )


UNSTABLE = {
    "a neuron turns by over 30 degrees in one": 30.0,
    "a neuron turns by over 45 degrees in one": 45.0,
    "a neuron turns by over 60 degrees in one": 60.0,
    "the loss rises in one": 0.0,
}
FAR = "at 45 degrees a step is as long as the neuron; two thirds and four thirds of it are tried as well"
STABLE_LOSS = "a loss that falls in every iteration is what a stable step means for the whole network"


def _constant_lengths(first_step: xr.Dataset) -> xr.Dataset:
    """Turns and losses with BN where every iteration ends at the initial lengths."""
    return first_step.assign(
        {name: first_step[f"{name}_kept"].broadcast_like(first_step[name]) for name in ("turn_quantile", "loss_growth")}
    )


@claim(
    "bnm-fig3-stable",
    where="Section 4.3, Figure 3",
    words="starting from the second iteration, all neurons are large enough to avoid unstable dynamics",
    line=410,
    assumes="gradient descent; what 'unstable' means and how small the neurons are is not said",
    kind="qualitative",
    states="From the second iteration on all neurons are large enough to avoid unstable dynamics.",
    control=knock_out("every iteration ends at the initial lengths, so that none is amplified", _constant_lengths),
    remark="A neuron that starts near a critical direction has a small gradient, is not amplified at first, and "
    "turns far in the later step in which it is.",
)
def stable_from_the_second_step(first_step: xr.Dataset) -> Verdict:
    """Largest turn of a neuron, and of the loss the largest rise, per iteration from the second on."""
    later = first_step[["turn_quantile", "loss_growth"]].sel(model="BN").isel(later=slice(1, None))
    radius = first_step["radius"].values
    _require_short(radius)

    def avoided(unstable: float, neurons: float) -> Test:
        cells = later.isel(radius=np.flatnonzero(radius <= neurons))
        if not unstable:
            return at_most(cells["loss_growth"], 1, expected="the loss falls", reason=STABLE_LOSS)
        turns = cells["turn_quantile"].sel(quantile=1.0)
        return at_most(turns, unstable, unit=" degree", expected="no neuron turns so far", reason=FAR)

    turns, growth = later["turn_quantile"].max(["later", "start", "radius", "step"]), later["loss_growth"]
    constant = float(first_step["loss_growth_kept"].isel(later=slice(1, None)).max())
    return Verdict.from_tests(
        over_readings(avoided, unstable=UNSTABLE, neurons=NEURONS),
        facts={
            "turn in the worst iteration, median neuron (degree)": float(turns.sel(quantile=0.5)),
            "turn in the worst iteration, farthest neuron (degree)": float(turns.sel(quantile=1.0)),
            "largest factor of the loss in an iteration": float(growth.max()),
            "the same with constant lengths": constant,
        },
    )


EXPONENTS = "boundaries half-way between 1/2 and 1 separate the exponents; the smallest batches are not yet asymptotic"


@claim(
    "bnm-finite-batch",
    where="Section 2.1, eq. (2) (ours)",
    kind="scaling",
    origin="ours",
    assumes="independent Gaussian draws, ReLU, a linear target; the velocity of b. Inputs with mass on a hyperplane "
    "$b^T x = 0$ are excluded: the mean of a batch moves them across the kink, and neither bias nor noise vanishes",
    states="Population BN is the limit of BN over batches of size $B$: bias of order $1/B$, noise of order "
    r"$1/\sqrt{B}$.",
    control={
        part: wrong_formula("exponents of bias and noise exchanged", replace_variables(bias="noise", noise="bias"))
        for part in ("bias", "noise")
    },
    labels={"bias": "exponent of the bias in the batch size", "noise": "exponent of the noise in the batch size"},
)
def batches_approach_the_population(finite_batch: xr.Dataset) -> Verdict:
    """Exponents over the batch sizes, groups of batches as samples."""
    require(finite_batch, "finite_batch", batch=3, group=2)
    logs = np.log(finite_batch["batch"].values)
    slopes = {
        name: np.polyfit(logs, np.log(np.maximum(finite_batch[name].transpose("batch", "group"), 1e-6)), 1)[0]
        for name in ("bias", "noise")
    }
    return Verdict.from_tests(
        {
            "bias": mean_within(slopes["bias"], -1.25, -0.75, expected="-1", reason=EXPONENTS),
            "noise": mean_within(slopes["noise"], -0.75, -0.25, expected="-1/2", reason=EXPONENTS),
        }
    )
