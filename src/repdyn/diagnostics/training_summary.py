"""What a network did while it was trained, in words, from a recording alone::

    from repdyn.diagnostics.summary import words
    from repdyn.diagnostics.training_summary import summarize_training

    print(words(summarize_training(recorder.dataset())))

A recording does not hold the layers of its points, so that only shares of points have an interval of confidence. Other
intervals are ranges over moments, pairs or seeds, or come from how successive moments scatter; each source says which.
Several seeds are one training each: something is so where it is so of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from repdyn.base.arrays import Array
from repdyn.diagnostics.methods import effective_theory
from repdyn.diagnostics.methods.arguments import check_kind
from repdyn.diagnostics.methods.forward import in_one_line
from repdyn.diagnostics.methods.layer_facts import before_the_end
from repdyn.diagnostics.methods.measures import IGNORED
from repdyn.diagnostics.methods.reader import INPUT
from repdyn.diagnostics.summary import COLLAPSED, NARROW, NOTHING, Sentence, memorized, unknown
from repdyn.diagnostics.theory.intervals import (
    CONFIDENCE,
    Interval,
    between,
    change,
    share,
    since,
    smallest_share_by_chance,
)

MOMENTS = 4  # fewest that show a change
CHANCE = 1 - CONFIDENCE  # of as many moments at the end
NEAR = 0.1  # relative distance from an angle of the theory
FOLLOWS, OUTLINE = 0.9, 0.5  # explained variance of distances h and y
MOST_PAIRS = 10  # to which the two-point theory is fitted


def summarize_training(recorded: xr.Dataset) -> list[Sentence]:
    """When it learned, when classes collapsed and ranks fell, what theory expected, what it memorized.

    Args:
        recorded: dataset of `Recorder.dataset`, several seeds along `seed` where there are any.

    Returns:
        One sentence per topic; those whose measures were not recorded cannot decide. A single one where the recording
        has too few moments, or the same numbers at all of them.

    Raises:
        ValueError: the dataset has no dimension of training.
    """
    check_kind("recorded", recorded, xr.Dataset, "the dataset of Recorder.dataset")
    if recorded.attrs.get("time") not in recorded.dims:
        raise ValueError("the dataset has one moment only and no dimension of training; give one of Recorder.dataset")
    recording = _Recording(recorded)
    if why := recording.why_silent():
        return [unknown("training", "training changes anything", why)]
    sentences = []
    for topic, (_, function, needed) in TOPICS.items():
        why = recording.lacks(needed, layers=topic not in WITHOUT_LAYERS)
        sentences.append(_silent(topic, why) if why else function(topic, recording))
    return sentences


class _Recording:
    """A recording as the sentences read it.

    Args:
        recorded: dataset of `Recorder.dataset`.
    """

    def __init__(self, recorded: xr.Dataset) -> None:
        self.time = recorded.attrs["time"]
        self.recorded = recorded if "seed" in recorded.dims else recorded.expand_dims("seed")
        names = before_the_end(recorded["layer"].values.tolist(), recorded.attrs.get("last_map"))
        self.hidden = [name for name in names if not self._ends(name)]

    def _ends(self, name: str) -> bool:
        """Whether a layer is what the network returns, whose pairs are as far apart as the outputs."""
        if not {"representation_distance", "prediction_distance"} <= set(self.recorded):
            return False
        h = self.recorded["representation_distance"].sel(layer=name, drop=True)
        y = self.recorded["prediction_distance"].transpose(*h.dims)
        return bool(np.allclose(h, y, rtol=1e-5, atol=0, equal_nan=True))

    def why_silent(self) -> str:
        """Why the whole recording shows nothing; empty where it shows something."""
        if (moments := self.recorded.sizes[self.time]) < MOMENTS:
            return f"it takes {MOMENTS} moments and there {'is' if moments == 1 else 'are'} {moments}"
        changing = [values for values in self.recorded.data_vars.values() if self.time in values.dims]
        same = [values.isnull() | (values == values.isel({self.time: 0})) for values in changing]
        return "nothing changes from moment to moment" if all(bool(flags.all()) for flags in same) else ""

    def at(self, moment: int) -> str:
        """A moment in words."""
        return f"{self.time} {float(self.recorded[self.time][moment]):g}"

    def of(self, name: str, layer: str | None = None) -> Array:
        """A diagnostic of a layer or of the network, shape (moments, seeds)."""
        values = self.recorded[name] if layer is None else self.recorded[name].sel(layer=layer)
        return values.transpose(self.time, "seed").values.astype(float)

    def lacks(self, names: Sequence[str], *, layers: bool) -> str:
        """Which of the diagnostics, or whether a hidden layer, was not recorded."""
        if missing := [name for name in names if name not in self.recorded]:
            return f"{', '.join(missing)} {'was' if len(missing) == 1 else 'were'} not recorded"
        return "no hidden layer was recorded" if layers and not self.hidden else ""

    def classes(self, ending: str = "") -> np.ndarray:
        """Labels of the points that have a class; none where there are no labels."""
        labels = self.recorded[f"label{ending}"].values if f"label{ending}" in self.recorded.coords else np.array([])
        return labels[labels != IGNORED]


def _silent(topic: str, why: str, **numbers: Any) -> Sentence:
    return unknown(topic, TOPICS[topic][0], why, **numbers)


def _range(values: Array) -> Interval:
    """The last value, in the middle of seeds, with the range over moments and seeds; shape (moments, seeds)."""
    return Interval(float(np.median(values[-1])), float(values.min()), float(values.max()))


def _of_seeds(intervals: Sequence[Interval]) -> Interval:
    """The interval that holds those of all seeds, around the value in the middle."""
    values, low, high = np.transpose(intervals)
    return Interval(float(np.median(values)), float(np.min(low)), float(np.max(high)))


def _of_all_seeds(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where something is so of all seeds, which are the last axis."""
    return np.logical_and.reduce(flags, axis=-1)


def _accuracies(recording: _Recording, ending: str = "") -> tuple[list[Interval], float]:
    """Accuracy of the worst seed at each moment, and the share of the largest class."""
    labels = recording.classes(ending)
    worst = recording.of(f"accuracy{ending}").min(axis=1)
    intervals = [NOTHING if np.isnan(a) else share(round(a * len(labels)), len(labels)) for a in worst]
    return intervals, float(np.unique(labels, return_counts=True)[1].max() / len(labels))


def _accuracy(topic: str, recording: _Recording) -> Sentence:
    intervals, chance = _accuracies(recording)
    numbers: dict[str, Any] = {"interval": intervals[-1], "threshold": chance, "source": "last accuracy; Wilson 1927"}
    first, _ = since(np.array([interval.low > chance for interval in intervals]))
    if first == len(intervals):
        return _silent(topic, "at the end the largest class alone would be as often right", **numbers)
    when = f"from {recording.at(first)} on" if first else "at every moment"
    return Sentence(topic, "yes", f"More points are right than the largest class has {when}", **numbers)


def _collapse(topic: str, recording: _Recording) -> Sentence:
    last = recording.hidden[-1]
    shares = {name: _within_share(recording, name) for name in _with_input(recording)}
    below = {name: _of_all_seeds(values < COLLAPSED) for name, values in shares.items()}
    first, chance = since(below[last])
    run = shares[last][first if first < len(below[last]) else len(below[last]) // 2 :]
    source = "share of variance within classes, range over the moments meant; as NC1 of Papyan, Han, Donoho 2020; "
    source += "Chen, Proposition 4.2"
    numbers: dict[str, Any] = {"interval": _range(run), "threshold": COLLAPSED, "source": source}
    if smallest_share_by_chance(recording.classes()) < COLLAPSED:
        return _silent(topic, "so few points may collapse by chance", **numbers)
    if (run > COLLAPSED).all():
        return Sentence(topic, "no", f"Classes do not collapse in {last!r} by the end", **numbers)
    if below.get(INPUT, np.array([False])).any():
        return _silent(topic, "the inputs are collapsed already", **numbers)
    if below[last][0]:
        return _silent(topic, f"{last!r} is collapsed at {recording.at(0)} already", **numbers)
    if chance > CHANCE:
        return _silent(topic, f"in {last!r} too few moments at the end lie on one side of the threshold", **numbers)
    start = next(
        name for at, name in enumerate(recording.hidden) if all(below[n][first:].all() for n in recording.hidden[at:])
    )
    at_first = float(np.median(shares[last][0]))
    where = f"in {last!r}" if start == last else f"in {start!r} and all layers after it to {last!r}"
    text = f"Classes collapse {where} from {recording.at(first)} on; in {last!r}, from {at_first:.2g} before"
    return Sentence(topic, "yes", text, **numbers)


def _with_input(recording: _Recording) -> list[str]:
    there = recording.recorded["layer"].values.tolist()
    return [name for name in (INPUT, *recording.hidden) if name in there]


def _within_share(recording: _Recording, name: str) -> Array:
    within, between_classes = recording.of("within", name), recording.of("between", name)
    with np.errstate(invalid="ignore"):
        return within / (within + between_classes)


def _rank(topic: str, recording: _Recording) -> Sentence:
    ranks = {name: recording.of("effective_rank", name) for name in recording.hidden}
    changes = {name: _of_seeds([change(of_seed, len(ranks)) for of_seed in ranks[name].T]) for name in ranks}
    changes = {name: found for name, found in changes.items() if np.isfinite(found.low)}
    if not changes:
        return _silent(topic, "in every layer it is missing at some moment")
    name = max(changes, key=lambda layer: max(changes[layer].low, 1 / changes[layer].high))
    found, values = changes[name], np.exp(np.log(ranks[name]).mean(axis=1))
    source = "effective rank at first over that at the end, interval from the scatter between successive moments; "
    numbers: dict[str, Any] = {
        "interval": found, "threshold": NARROW, "source": source + "Leaky ResNets, Section 1.2",
    }  # fmt: skip
    falls = found.low > NARROW
    if falls or found.high < 1 / NARROW:
        start, end = between(values)
        way = "falls" if falls else "rises"
        text = f"The effective rank of {name!r} {way} from {values[0]:.3g} to {values[-1]:.3g} between "
        text += f"{recording.at(start)} and {recording.at(end)}"
        return Sentence(topic, "yes", text, **numbers | {"threshold": NARROW if falls else 1 / NARROW})
    unsure = {layer: entry for layer, entry in changes.items() if not 1 / NARROW < entry.low <= entry.high < NARROW}
    if not unsure:
        text = f"The effective rank of no layer changes by a factor of {NARROW:g}; most in {name!r}"
        return Sentence(topic, "no", text, **numbers)
    name = max(unsure, key=lambda layer: unsure[layer].high / unsure[layer].low)
    why = f"the rank of {name!r} scatters too much from moment to moment"
    return _silent(topic, why, **numbers | {"interval": unsure[name]})


def _task_rank(topic: str, recording: _Recording) -> Sentence:
    ranks = {name: recording.of("centered_effective_rank", name) for name in recording.hidden}
    ranks = {name: values for name, values in ranks.items() if np.isfinite(values).all()}
    if not ranks:
        return _silent(topic, "in every layer the rank is missing at some moment")
    name = min(ranks, key=lambda layer: float(np.median(ranks[layer][-1])))
    task = float(recording.recorded["task_rank"].max())
    threshold = NARROW * task
    near = _of_all_seeds(ranks[name] < threshold)
    first, chance = since(near)
    run = ranks[name][first if first < len(near) else len(near) // 2 :]
    source = f"centered effective rank, range over the moments meant, threshold {NARROW:g} times that of the targets; "
    numbers: dict[str, Any] = {
        "interval": _range(run), "threshold": threshold, "source": source + "Leaky ResNets, Section 1.2",
    }  # fmt: skip
    if (run > threshold).all():
        text = f"No layer comes down to the rank of the task, {task:g}; nearest to it is {name!r}"
        return Sentence(topic, "no", text, **numbers)
    if near[0]:
        return _silent(topic, f"{name!r} has it at {recording.at(0)} already", **numbers)
    if chance > CHANCE:
        return _silent(topic, f"the rank of {name!r} lies around the threshold", **numbers)
    text = f"{name!r} comes down to the rank of the task, {task:g}, from {recording.at(first)} on"
    return Sentence(topic, "yes", text, **numbers)


def _odd_point(topic: str, recording: _Recording) -> Sentence:
    expected = float(recording.recorded["expected_norm_ratio"].min())
    leads = {name: recording.of("norm_ratio", name) for name in _with_input(recording)}
    if not np.isfinite(expected):
        return _silent(topic, "the theory has one from seven points on")
    hidden = np.stack([leads[name] for name in recording.hidden])
    if not np.isfinite(hidden).all():
        return _silent(topic, "in some layer all points but one are zero at some moment")
    at, moment = np.unravel_index(hidden.max(axis=2).argmax(), hidden.shape[:2])
    name, most = recording.hidden[at], hidden[at, moment]
    share_of_it = 100 * np.median(most) / expected
    percent = f"{recording.at(int(moment))} has {share_of_it:.0f} % of the lead that theory expects"
    source = "largest norm over the second, range over seeds, threshold half of the theory's; Batch Normalization "
    numbers: dict[str, Any] = {
        "interval": _range(most[None]), "threshold": expected / 2, "source": source + "Decomposed, Definition 12",
    }  # fmt: skip
    odd: NDArray[np.bool_] = np.logical_or.reduce(_of_all_seeds(hidden > expected / 2), axis=0)
    if (hidden < expected / 2).all():
        text = f"No point is odd at any moment; the largest, in {name!r} at {percent}"
        return Sentence(topic, "no", text, **numbers)
    if (leads.get(INPUT, np.zeros(1)) > expected / 2).any():
        return _silent(topic, "the inputs have one already", **numbers)
    if odd.all():
        return Sentence(topic, "yes", f"One point is odd at every moment; in {name!r} at {percent}", **numbers)
    for flags, words in ((odd, "from {} on"), (~odd, "before {} and not after")):
        first, chance = since(flags)
        if chance <= CHANCE:
            text = f"One point is odd {words.format(recording.at(first))}; in {name!r} at {percent}"
            return Sentence(topic, "yes", text, **numbers)
    return _silent(topic, "it comes and goes from moment to moment", **numbers)


def _angles(topic: str, recording: _Recording) -> Sentence:
    if recording.recorded.attrs.get("normalized_by") != "batch statistics":
        return _silent(topic, "it holds for the statistics of a batch, and these are running ones")
    name, expected = recording.hidden[-1], float(recording.recorded["expected_angle"].min())
    angles = recording.recorded["angle"].sel(layer=name).isel({recording.time: 0})
    low, middle, high = (
        float(f(angles.sel(quantile=q))) for f, q in ((np.min, 0.05), (np.median, 0.5), (np.max, 0.95))
    )
    numbers: dict[str, Any] = {
        "interval": Interval(middle, low, high), "threshold": expected,
        "source": "rad, interval over nine in ten pairs, threshold the symmetric fixed point's; Batch Normalization "
        "Decomposed, Section III",
    }  # fmt: skip
    if not np.isfinite([low, high]).all():
        return _silent(topic, f"{name!r} has points without a direction", **numbers)
    percent = f"{100 * middle / expected:.0f} % of the angle that theory expects"
    if (1 - NEAR) * expected < low and high < (1 + NEAR) * expected:
        return Sentence(topic, "yes", f"At {recording.at(0)} the points of {name!r} are at {percent}", **numbers)
    if high < (1 - NEAR) * expected or low > (1 + NEAR) * expected:
        return Sentence(topic, "no", f"At {recording.at(0)} the points of {name!r} are at {percent}", **numbers)
    return _silent(topic, f"the pairs of {name!r} differ too much", **numbers)


def _pairs(topic: str, recording: _Recording) -> Sentence:
    name, part = recording.hidden[-1], recording.recorded.isel(pair=slice(MOST_PAIRS))
    try:
        fitted = effective_theory.fit(part, name)
    except ValueError as error:
        return _silent(topic, in_one_line(error))
    learned = fitted["learned"].values == 1
    if not learned.any():
        return _silent(topic, "no pair was learned")
    explained = _explained(fitted)[learned]
    numbers: dict[str, Any] = {
        "interval": Interval(*(float(f(explained)) for f in (np.median, np.min, np.max))), "threshold": FOLLOWS,
        "source": f"explained variance of distances h and y in {name!r}, range over {len(explained)} fits; van Rossem "
        "and Saxe, eq. (7)",
    }  # fmt: skip
    if explained.min() > FOLLOWS:
        return Sentence(topic, "yes", "Pairs follow the two-point theory", **numbers)
    until = _follow_until(recording, part, name, fitted, learned)
    if until:
        text = f"Pairs follow the two-point theory until {recording.at(until)} and not to the end"
        return Sentence(topic, "no", text, **numbers)
    if explained.max() < OUTLINE:
        return Sentence(topic, "no", "Pairs do not follow the two-point theory", **numbers | {"threshold": OUTLINE})
    if explained.min() > OUTLINE and explained.max() < FOLLOWS:
        return Sentence(topic, "no", "The two-point theory describes pairs in outline only", **numbers)
    return _silent(topic, "it describes some pairs better than others", **numbers)


def _explained(fitted: xr.Dataset) -> Array:
    """The smaller of the explained variances of h and y, shape (pairs, seeds)."""
    return fitted["explained"].sel(curve=["h", "y"]).min("curve").values


def _follow_until(
    recording: _Recording, part: xr.Dataset, name: str, fitted: xr.Dataset, learned: NDArray[np.bool_]
) -> int:
    """The last moment of the longest start, of three quarters or half of the moments, that the theory describes.

    By then each output distance has gone half of its way; 0 where there is none.
    """
    y = fitted["y_measured"].transpose("pair", "seed", recording.time).values[learned]
    for moments in (part.sizes[recording.time] * 3 // 4, part.sizes[recording.time] // 2):
        if moments < MOMENTS or (np.ptp(y[:, :moments], axis=1) < np.ptp(y, axis=1) / 2).any():
            continue
        start = effective_theory.fit(part.isel({recording.time: slice(moments)}), name)
        if _explained(start)[learned].min() > FOLLOWS:
            return moments - 1
    return 0


def _memorized(topic: str, recording: _Recording) -> Sentence:
    others, chance = _accuracies(recording, "_held_out")
    found = memorized(_accuracy("accuracy over time", recording), (others[-1], chance))
    return replace(found, topic=topic)


TOPICS: dict[str, tuple[str, Callable[[str, _Recording], Sentence], Sequence[str]]] = {
    "accuracy over time": ("the network learned these points", _accuracy, ["accuracy"]),
    "collapse over time": ("training collapses classes", _collapse, ["within", "between"]),
    "rank over time": ("training changes ranks", _rank, ["effective_rank"]),
    "rank of the task": (
        "training brings a layer to the rank of the task", _task_rank, ["centered_effective_rank", "task_rank"],
    ),
    "odd point over time": ("there is an odd point", _odd_point, ["norm_ratio", "expected_norm_ratio"]),
    "angles and theory": (
        "the angles before training are those of the theory", _angles, ["angle", "expected_angle"],
    ),
    "pairs and theory": ("pairs follow the two-point theory", _pairs, effective_theory.WANTED),
    "memorized over time": ("it memorized these points", _memorized, ["accuracy", "accuracy_held_out"]),
}  # fmt: skip
"""What each sentence decides, the function that does, and the diagnostics that it needs."""
WITHOUT_LAYERS = ("accuracy over time", "memorized over time")  # topics that need no hidden layer
