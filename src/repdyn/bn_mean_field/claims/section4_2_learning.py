"""Claims of sections 4.1 and 4.2 of Ma and Ying on learning: speed, learning rates, lengths of neurons; Figure 2."""

from __future__ import annotations

from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, knock_out, replace_labels
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict
from repdyn.bn_mean_field.claims.section4_1_speeds import UNSTATED

FROZEN = "BN, b frozen"
STEP_OF_B = ", step of b"  # at the end of a network's name: the output weights keep one step
COMPARED = {
    "vanilla, unit weights": "vanilla",
    "vanilla, same function": "vanilla, same function",
    "BN without the effect, equal speeds": "BN, equal speeds",
}
SETTING = (
    "Single index along the largest of the variances, few neurons, four pairs of target and covariance, losses that no "
    "output weights reach with b frozen"
)


def _tasks(feature_learning: xr.Dataset) -> dict[str, str]:
    return {name: name for name in feature_learning["task"].values.tolist()}


def _thresholds(feature_learning: xr.Dataset) -> dict[str, float]:
    return {f"{100 * value:g} %": value for value in feature_learning["threshold"].values.tolist()}


def _require_directions(feature_learning: xr.Dataset) -> None:
    """A task that can be learned with b frozen cannot show what moving b does."""
    least = feature_learning["frozen"].min("start")
    if (least <= feature_learning["threshold"].max()).any():
        raise NotEnoughDataError("feature_learning: tasks whose loss stays above the threshold with b frozen")


def _at_equal_step(name: np.ndarray, base: np.ndarray, allowed: int) -> np.ndarray:
    """Mean log10 ratio of iterations over the steps that both learn with; at least all iterations if there are none."""
    logs = np.subtract(*(np.log10(np.where(np.isfinite(needed), needed, np.nan)) for needed in (name, base)))
    least = np.log10(allowed / np.minimum(base.min(axis=-1), allowed))
    both = np.asarray(np.isfinite(logs).any(axis=-1))
    return np.where(both, np.nanmean(np.where(both[..., None], logs, 0.0), axis=-1), least)


def _at_best_step(name: np.ndarray, base: np.ndarray, allowed: int) -> np.ndarray:
    """log10 ratio of the fewest iterations over the steps, (start,)."""
    return np.log10(np.minimum(name.min(axis=-1), allowed) / np.minimum(base.min(axis=-1), allowed))


RATES = {"equal for both": _at_equal_step, "each at its best": _at_best_step}


@claim(
    "bnm-sec41-speedup",
    where="Section 4.1",
    words="speeds up the learning of the features along these significant directions",
    line=388,
    assumes="neither the learning rate nor the object of comparison is stated",
    kind="causal",
    states="The anisotropic speed effect of BN speeds up the learning of features along directions where data are "
    "large.",
    control=knock_out("the BN network with b frozen, which trains the rest", replace_labels("network", {"BN": FROZEN})),
    remark=f"{SETTING}.",
)
def learning_is_sped_up(feature_learning: xr.Dataset) -> Verdict:
    """Iterations to learn a single index along the largest variance, over those without BN or without the effect."""
    _require_directions(feature_learning)
    needed, allowed = feature_learning["needed"].transpose(..., "start", "step"), int(feature_learning["iterations"])

    def samples(rate: str, compared_with: str, task: str, learned: float) -> np.ndarray:
        own = needed.sel(task=task, threshold=learned)
        return RATES[rate](own.sel(network="BN").values, own.sel(network=compared_with).values, allowed)

    def faster(rate: str, compared_with: str, task: str, learned: float) -> Test:
        expected = "log10 of iterations over those without below 0"
        return mean_within(
            samples(rate, compared_with, task, learned), -np.inf, 0, expected=expected, reason="0 is no gain"
        )

    tasks, thresholds = _tasks(feature_learning), _thresholds(feature_learning)

    def ratio(rate: str, base: str) -> float:
        logs = [samples(rate, base, task, learned) for task in tasks for learned in thresholds.values()]
        return 10 ** float(np.mean(logs))

    choices = {"rate": {name: name for name in RATES}, "compared_with": COMPARED}
    return Verdict.from_tests(
        over_readings(faster, **choices, task=tasks, learned=thresholds),
        facts={
            f"iterations of BN over those of {name} (step {rate})": ratio(rate, base)
            for name, base in (("vanilla", "vanilla"), ("BN with equal speeds", "BN, equal speeds"))
            for rate in RATES
        },
    )


def _log_ratio(needed: xr.DataArray, name: str, base: str) -> np.ndarray:
    """Mean over the steps that both networks learn with of log10(iterations), `name` over `base`, by start."""
    pair = [needed.sel(network=network).isel(start=slice(1, None)) for network in (name, base)]
    logs = [np.log10(values.where(np.isfinite(values))) for values in pair]
    means = cast("xr.DataArray", logs[0] - logs[1]).mean("step").values
    if np.isfinite(means).sum() < 2:
        raise NotEnoughDataError(f"learning_rates: 2 starts with steps at which {name} and {base} both learn")
    return means[np.isfinite(means)]


def _slower(learning_rates: xr.Dataset, base: str) -> Test:
    samples = _log_ratio(learning_rates["needed"], "BN", base)
    return mean_within(
        samples, 0, np.inf, expected="log10 of iterations with BN over those without above 0", reason="0 is no loss"
    )


EXCHANGED = replace_labels("network", {"BN": "vanilla", "vanilla": "BN", "vanilla, same function": "BN"})


@claim(
    "bnm-sec41-linear",
    where="Section 4.1 (ours)",
    kind="comparison",
    origin="ours",
    assumes="ReLU, squared loss, Gaussian inputs, all weights trained with one step; steps at which both models learn",
    states="At equal step $y = x_1$, which can be learned with b frozen, takes more iterations with BN than without "
    r"on data with $\Sigma = \mathrm{diag}(5, 1)$.",
    control={
        part: false_world("networks with and without BN exchanged", EXCHANGED)
        for part in ("equal step", "equal step and function")
    },
    labels={"equal step": "decades of iterations that batch normalization adds, at equal step"},
    remark=f"{UNSTATED}. The units of the data matter: the factor falls with them, below 1 at variances thirty or a "
    "hundred times smaller.",
)
def linear_target_takes_longer(learning_rates: xr.Dataset) -> Verdict:
    """Iterations to a hundredth of the loss, over all steps at which both learn; unit weights, or equal functions."""
    fewest = learning_rates["fewest"].median("start")
    bn, vanilla = (float(fewest.sel(network=name)) for name in ("BN", "vanilla"))
    ratio = 10 ** float(_log_ratio(learning_rates["needed"], "BN", "vanilla").mean())
    return Verdict.from_tests(
        {
            "equal step": _slower(learning_rates, "vanilla"),
            "equal step and function": _slower(learning_rates, "vanilla, same function"),
        },
        facts={
            "iterations of BN over those of vanilla at equal step": ratio,
            "fewest iterations over the steps, BN (median)": bn,
            "fewest iterations over the steps, vanilla (median)": vanilla,
        },
    )


WIDER = "0 is no gain; the grid of steps is shifted at random from start to start, so counts have no bias"


def _gain(feature_learning: xr.Dataset, wide: str, narrow: str, task: str, learned: float) -> np.ndarray:
    """Range of steps that learn, in decades, `wide` less `narrow`, by start."""
    needed = feature_learning["needed"].sel(task=task, threshold=learned)
    counts = [cast("xr.DataArray", np.isfinite(needed.sel(network=name))).sum("step") for name in (wide, narrow)]
    return ((counts[0] - counts[1]) * float(feature_learning["spacing"])).values


def _wider(feature_learning: xr.Dataset, wide: str, narrow: str, task: str, learned: float) -> Test:
    samples = _gain(feature_learning, wide, narrow, task, learned)
    return mean_within(samples, 0, np.inf, expected="range of steps that learn is wider", reason=WIDER, unit=" decades")


def _mean_gain(feature_learning: xr.Dataset, wide: str, narrow: str) -> float:
    cells = [
        _gain(feature_learning, wide, narrow, task, learned)
        for task in _tasks(feature_learning)
        for learned in _thresholds(feature_learning).values()
    ]
    return float(np.mean(cells))


@claim(
    "bnm-sec42-rate",
    where="Section 4.2",
    words="hence less sensitivity to the choice of learning rate",
    line=406,
    assumes="compared with models without BN; data of the scale of Figure 1, whose largest variance is 5",
    kind="comparison",
    states="The BN model is less sensitive to the choice of learning rate: it learns over a wider range of steps.",
    control=false_world(
        "networks with and without BN exchanged",
        replace_labels(
            "network",
            {
                "BN": "vanilla",
                "vanilla": "BN",
                "BN, many lengths": "vanilla, many lengths",
                "vanilla, many lengths": "BN, many lengths",
            },
        ),
    ),
    remark=f"{SETTING}. The units of the data matter: with variances a hundred times smaller the network without BN "
    "has the wider range.",
)
def range_of_steps_is_wider(feature_learning: xr.Dataset) -> Verdict:
    """Range of steps that learn a single index, in decades, with BN less without, for equal and for many lengths."""
    _require_directions(feature_learning)
    lengths = {"unit": ("BN", "vanilla"), "many": ("BN, many lengths", "vanilla, many lengths")}
    return Verdict.from_tests(
        over_readings(
            lambda lengths, task, learned: _wider(feature_learning, lengths[0], lengths[1], task, learned),
            lengths=lengths,
            task=_tasks(feature_learning),
            learned=_thresholds(feature_learning),
        ),
        facts={
            f"gain of range, {name} lengths (decades)": _mean_gain(feature_learning, *pair)
            for name, pair in lengths.items()
        },
    )


SEVERAL = {"spread over two decades": "BN, many lengths", "1 and 10, as in Figure 2": "BN, two lengths"}
VARIED = {"of all weights": "", "of b alone": STEP_OF_B}
_lengths_switched_off = replace_labels(
    "network", {f"{name}{step}": FROZEN for name in SEVERAL.values() for step in VARIED.values()}
)


@claim(
    "bnm-sec42-adaptivity",
    where="Section 4.2",
    words='This effect gives the BN model an "adaptivity" to select the right learning rate',
    line=406,
    assumes="neurons of different lengths; the sentence continues with less sensitivity to the learning rate; "
    "whether the output weights share the learning rate is not stated",
    kind="causal",
    states="That neurons of different lengths learn at different rates makes the BN model less sensitive to the "
    "choice of learning rate.",
    control=knock_out("b frozen where lengths differ, so that they set no rate", _lengths_switched_off),
    remark=f"{SETTING}. The largest step of all weights is set by the output weights, which do not see the lengths of "
    "b; long neurons then move too little at small steps. If b alone has the step, the shortest neurons learn at steps "
    "at which those of length 1 do not move; it is being short that widens the range, not being different: equal "
    "lengths of 0.1 reach two decades further down, by the step $h / c^2$, and 1 and 10 have no short ones.",
)
def many_lengths_widen_the_range(feature_learning: xr.Dataset) -> Verdict:
    """Range of steps that learn a single index, BN with several lengths less BN with one, by what has the step."""
    _require_directions(feature_learning)
    return Verdict.from_tests(
        over_readings(
            lambda lengths, step, task, learned: _wider(
                feature_learning, f"{lengths}{step}", f"BN{step}", task, learned
            ),
            lengths=SEVERAL,
            step=VARIED,
            task=_tasks(feature_learning),
            learned=_thresholds(feature_learning),
        ),
        facts={
            f"gain of range, lengths {words}, step {varied} (decades)": _mean_gain(
                feature_learning, f"{name}{step}", f"BN{step}"
            )
            for words, name in SEVERAL.items()
            for varied, step in VARIED.items()
        },
    )


@claim(
    "bnm-fig2",
    where="Section 4.2, Figure 2",
    words="blue neurons converge faster than purple neurons, i.e. shorter neurons moves faster than long neurons",
    line=392,
    assumes="purple neurons start ten times longer",
    kind="qualitative",
    states="In one BN model the short neurons converge faster than the tenfold longer ones.",
    control=false_world(
        "small and large neurons exchanged", lambda data: exchange("radius", *data["radius"].values.tolist())(data)
    ),
    remark=f"$y = x_1$. {UNSTATED}. Targets at 45 and 90 degrees, and steps from a quarter to five times this one, "
    "give the same.",
)
def small_neurons_converge_first(magnitudes: xr.Dataset) -> Verdict:
    """Short less long neurons, starts with random signs as samples: shares near the axis, and turns since the start."""
    drawn = magnitudes.isel(start=slice(1, None))
    small, large = magnitudes["radius"].values
    measures = {
        f"share within {width:g} degrees of $x_1$": (drawn["axis_angle"] < width).mean("neuron")
        for width in (10.0, 15.0, 30.0)
    }
    measures |= {"mean turn": drawn["turned"].mean("neuron"), "median turn": drawn["turned"].median("neuron")}

    def faster(measure: xr.DataArray, read_at: float) -> Test:
        at = measure.isel(iteration=round(read_at * (measure.sizes["iteration"] - 1)))
        gain = (at.sel(radius=small) - at.sel(radius=large)).values
        return mean_within(gain, 0, np.inf, expected="more for the short neurons", reason="0 is no difference")

    last = drawn.isel(iteration=-1)
    return Verdict.from_tests(
        over_readings(faster, measure=measures, read_at={f"iteration {k}000": k / 10 for k in (2, 4, 6, 8, 10)}),
        facts={
            "mean turn at the end, short neurons (degree)": float(last["mean_turn"].sel(radius=small).mean()),
            "mean turn at the end, long neurons (degree)": float(last["mean_turn"].sel(radius=large).mean()),
        },
    )
