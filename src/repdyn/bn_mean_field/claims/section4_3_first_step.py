"""Claims of section 4.3 of Ma and Ying, first-step amplification, and of batch normalization over finite batches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, replace_variables, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.verdicts import (
    Test,
    Verdict,
    all_of,
    at_least,
    at_most,
    deviation,
    mean_within,
    over_readings,
    rounding,
)

VANILLA = "steps of the vanilla model"


@claim(
    "bnm-fig3-norm",
    where="Section 4.3",
    words=r"the first iteration will only make the magnitude of $\|\mathbf{b}\|$ bigger",
    line=410,
    assumes="gradient descent",
    kind="identity",
    states="The gradient is tangent to the sphere, so the first step only makes a neuron longer.",
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
    states=r"One step takes a neuron of length $r$ to $r_1 = \sqrt{r^2 + (h g / r)^2}$, $g$ its speed at unit length.",
    formula=r"r_1 = \sqrt{r^2 + \left( \frac{h g}{r} \right)^2}",
    control=false_world(VANILLA, exchange("model", "BN", "vanilla")),
)
def length_after_one_step(first_step: xr.Dataset) -> Verdict:
    """Simulated lengths against the law, g measured at unit length."""
    ratio = first_step["norm"].sel(model="BN", iteration=1) / first_step["norm_law"] - 1
    reason = "rounding of $g$, summed over 200 neurons, where $g$ is 1e-5 of its largest"
    return Verdict.from_tests(deviation(ratio, 1e-10, expected="the law", reason=reason))


def _critical_to_the(power: float) -> Callable[[xr.Dataset], xr.Dataset]:
    return lambda first_step: first_step.assign(critical=first_step["critical"] ** power)


@claim(
    "bnm-fig3-smaller-bigger",
    where="Section 4.3",
    words="The smaller the neuron is initially, the bigger it becomes after one iteration",
    line=410,
    kind_of_slip="missing hypothesis",
    kind="scaling",
    states="The smaller a neuron is initially, the bigger it is after one step.",
    correction=r"Only for $r < r^* = \sqrt{h g}$; the smallest result is $\sqrt{2 h g}$ at $r^*$, beyond it $r_1$ "
    "grows with $r$.",
    corrected_formula=(
        r"r_1 = \sqrt{r^2 + \left( \frac{h g}{r} \right)^2}, "
        r"\quad \frac{d r_1}{d r} < 0 \Leftrightarrow r < r^* = \sqrt{h g}"
    ),
    control={
        "below": wrong_formula("$r^* = (h g)^{1/4}$", _critical_to_the(0.5)),
        "above": wrong_formula("$r^* = h g$", _critical_to_the(2.0)),
    },
)
def smaller_becomes_bigger(first_step: xr.Dataset) -> Verdict:
    """Lengths of one neuron after one step from neighboring initial lengths."""
    norm = first_step["norm"].sel(model="BN", iteration=1).transpose("radius", "start", "step", "neuron")
    growth = (norm.values[1:] / norm.values[:-1]).reshape(norm.sizes["radius"] - 1, -1)
    critical = first_step["critical"].transpose("start", "step", "neuron").values.ravel()
    r = first_step["radius"].values[:, None]
    below, above = r[1:] <= critical, r[:-1] >= critical
    if not (below.any() and above.any()):
        raise NotEnoughDataError("first_step: pairs of lengths below r* and above it")
    return Verdict.from_tests(
        at_most(growth, 1, expected="$r_1$ falls in $r$", reason="monotone as stated"),
        all_of(
            below=at_most(growth[below], 1, expected="$r_1$ falls in $r$ below $r^*$", reason="monotone"),
            above=at_least(growth[above], 1, expected="$r_1$ grows in $r$ above $r^*$", reason="monotone"),
        ),
    )


LIMITS = {"30 degrees": 30.0, "45 degrees": 45.0, "60 degrees": 60.0}  # a turn that is called unstable
ITERATIONS = {"the second": slice(0, 1), "all from the second on": slice(None)}
UNSTABLE = "at 45 degrees a step is as long as the neuron; half and one and a half of it are tried as well"


def _first_counted(first_step: xr.Dataset) -> xr.Dataset:
    """Counts the first iteration among the later ones."""
    turns = first_step["turn_quantile"]
    return first_step.assign(turn_quantile=turns.shift(later=1).fillna(turns.isel(later=0)))


@claim(
    "bnm-fig3-stable",
    where="Section 4.3, Figure 3",
    words="starting from the second iteration, all neurons are large enough to avoid unstable dynamics",
    line=410,
    kind_of_slip="missing hypothesis",
    kind="qualitative",
    states="From the second iteration on all neurons are large enough to avoid unstable dynamics.",
    correction="True of the median neuron. A neuron that starts near a critical direction has a small gradient, is not "
    "amplified, and turns by up to 90 degrees in a later step, in which it is.",
    control=wrong_formula("the first iteration, in which small neurons turn by 90 degrees", _first_counted),
)
def stable_from_the_second_step(first_step: xr.Dataset) -> Verdict:
    """Turns per iteration from the second on, over all lengths, steps and starts."""
    turns = first_step["turn_quantile"].sel(model="BN").isel(later=slice(1, None))

    def test(quantile: float, expected: str) -> Test:
        def at(limit: float, iterations: slice) -> Test:
            largest = turns.sel(quantile=quantile).isel(later=iterations)
            return at_most(largest, limit, unit=" degree", expected=expected, reason=UNSTABLE)

        return over_readings(at, limit=LIMITS, iterations=ITERATIONS)

    return Verdict.from_tests(test(1.0, "no neuron turns so far"), test(0.5, "the median neuron does not turn so far"))


EXPONENTS = "borders half-way between 1/2 and 1 separate the exponents; the smallest batches are not yet asymptotic"


@claim(
    "bnm-finite-batch",
    where="Section 2.1, eq. (2) (ours)",
    kind="scaling",
    origin="ours",
    states="Population BN is the limit of BN over batches of size $B$: bias of order $1/B$, noise of order "
    "$1/\\sqrt{B}$.",
    control={
        part: wrong_formula("exponents of bias and noise exchanged", replace_variables(bias="noise", noise="bias"))
        for part in ("bias", "noise")
    },
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
        all_of(
            bias=mean_within(slopes["bias"], -1.25, -0.75, expected="-1", reason=EXPONENTS),
            noise=mean_within(slopes["noise"], -0.75, -0.25, expected="-1/2", reason=EXPONENTS),
        )
    )
