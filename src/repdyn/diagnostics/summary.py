"""What a network does, in words: each sentence with its number, interval, threshold and source::

    from repdyn.diagnostics.summary import summarize, words

    print(words(summarize(model, inputs, labels=labels, before=first_weights, held_out=(others, their_labels))))

A sentence says that something is so, that it is not, or that these points cannot tell. Intervals are two-sided, 99 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn

from repdyn.diagnostics.methods.arguments import check_kind, check_options, option_names
from repdyn.diagnostics.methods.forward import in_one_line
from repdyn.diagnostics.methods.layer_facts import RecordedLayers, lead, likeness, rank, record_layers, within_share
from repdyn.diagnostics.methods.measures import IGNORED, labels_of_rows
from repdyn.diagnostics.methods.moment import inputs_and_answers
from repdyn.diagnostics.methods.reader import network_reader
from repdyn.diagnostics.methods.weights import with_weights
from repdyn.diagnostics.theory.angles import expected_norm_ratio
from repdyn.diagnostics.theory.intervals import Interval, share

Verdict = Literal["yes", "no", "cannot tell"]
COLLAPSED = 0.1  # share of the variance that is within classes
NARROW = 1.5  # ranks before and after a bottleneck over its rank
LAZY, RICH = 0.95, 0.8  # debiased CKA with the layer before training
FEWEST = 8  # points from which ranks and similarities have an interval of any use
NOTHING = Interval(np.nan, np.nan, np.nan)


@dataclass(frozen=True)
class Sentence:
    """One statement on a network.

    Attributes:
        topic: "learned", "collapse", "bottleneck", "odd point", "features" or "memorized"; of a training as
            `training_summary` has them.
        verdict: whether it is so.
        text: in words.
        interval: the number that decides, with its interval; NaN where there is none.
        threshold: what it is compared with.
        source: paper and place.
    """

    topic: str
    verdict: Verdict
    text: str
    interval: Interval = NOTHING
    threshold: float = np.nan
    source: str = ""

    def __str__(self) -> str:
        """The sentence with all that it rests on."""
        if np.isnan(self.interval.value):
            return f"{self.text}."
        value, low, high = self.interval
        numbers = f"{value:.3g}, interval {low:.3g} to {high:.3g}, threshold {self.threshold:.3g}"
        return f"{self.text} ({numbers}; {self.source})."


def summarize(
    model: nn.Module,
    inputs: object,
    layers: Sequence[str] | None = None,
    *,
    labels: ArrayLike | None = None,
    before: nn.Module | Mapping[str, Tensor] | None = None,
    held_out: tuple[object, ArrayLike] | None = None,
    embeddings: str | None = None,
    classifier: str | None = None,
    **options: Any,
) -> list[Sentence]:
    """Whether it learned, collapses classes, has a bottleneck or an odd point, learned features, memorized.

    Args:
        model: as `measure` takes it.
        inputs: as `measure` takes them; read once for all networks.
        layers: as `measure` takes them, in the order of the network.
        labels: class of each point; None takes those of a loader. Without any only bottleneck and odd point are
            decided.
        before: the same network before training, or its `state_dict`, for lazy and rich.
        held_out: inputs and labels of points that it was not trained on, for what it memorized.
        embeddings: layer that stands for the inputs where these are token ids, which are not described.
        classifier: the last linear map, before which layers are hidden; None takes the one that `measure` finds.
        options: `features`, `output`, `axes`, `batch_size`, `unpack`, `batch_statistics`, `memory` as `measure` takes
            them.

    Returns:
        One sentence per topic.

    Raises:
        TypeError: an option of another name.
        ValueError: unusable inputs, labels or names.
    """
    check_options(options, option_names(network_reader))
    with ThreadpoolController().limit(limits=1, user_api="blas"):

        def recorded_of(network: nn.Module, points: object) -> RecordedLayers:
            return record_layers(network_reader(network, points, **options), layers, embeddings, classifier)

        reader = network_reader(model, inputs, **options)
        record = record_layers(reader, layers, embeddings, classifier)
        if labels is None and record.output is not None:  # those of the loader, where they are of points
            found, _ = reader.inputs.labels_and_targets()
            labels = found if found is not None and found.shape == (len(record.output),) else None
        classes = None if labels is None else _classes(labels, record)
        learned = _learned(record, classes)
        sentences = [learned, _collapse(record, classes), _bottleneck(record), _odd_point(record)]
        start = None if before is None else recorded_of(with_weights(model, before, "before"), reader.inputs)
        sentences.append(_features(record, start, learned))
        other = None
        if held_out is not None:
            points, answers = inputs_and_answers(held_out)
            others = recorded_of(model, points)
            other = _accuracy(others, _classes(answers, others))
        return [*sentences, memorized(learned, other)]


def words(sentences: Sequence[Sentence]) -> str:
    """One paragraph: what is so, what is not, what cannot be decided."""
    for sentence in sentences if isinstance(sentences, Iterable) and not isinstance(sentences, str) else [sentences]:
        check_kind("sentences", sentence, Sentence, "what summarize and summarize_training return")
    order = ("yes", "no", "cannot tell")
    return " ".join(str(sentence) for verdict in order for sentence in sentences if sentence.verdict == verdict)


def _classes(labels: ArrayLike, record: RecordedLayers) -> np.ndarray:
    points = len(record.output) if record.output is not None else len(np.asarray(labels))
    return labels_of_rows(labels, points, 1, None)


def unknown(topic: str, whether: str, why: str, **numbers: Any) -> Sentence:
    """A sentence on what these points cannot decide, and why.

    Args:
        topic: as `Sentence` has it.
        whether: what it would decide.
        why: what prevents it.
        numbers: interval, threshold and source, where there are any.
    """
    return Sentence(topic, "cannot tell", f"Cannot tell whether {whether}: {why}", **numbers)


def _accuracy(record: RecordedLayers, labels: np.ndarray | None) -> tuple[Interval, float] | None:
    """Share of points whose largest output is their label, or whose one logit has its sign; and of the largest class.

    One output per point that is always between 0 and 1 may be a probability or a logit, so it has none.
    """
    if record.output is None or labels is None:
        return None
    counted = labels != IGNORED
    names, counts = np.unique(labels[counted], return_counts=True)
    outputs = record.output[counted]
    if outputs.shape[1] == 1 and ((outputs < 0) | (outputs > 1)).any():
        outputs = np.concatenate([np.zeros_like(outputs), outputs], axis=1)
    if names[0] < 0 or names[-1] >= outputs.shape[1]:
        return None
    hits = outputs.argmax(axis=1) == labels[counted]
    return share(int(hits.sum()), len(hits)), float(counts.max() / counts.sum())


def _learned(record: RecordedLayers, labels: np.ndarray | None) -> Sentence:
    whether, accuracy = "it has learned these points", _accuracy(record, labels)
    if accuracy is None:
        return unknown("learned", whether, "there are no labels that the outputs could be compared with")
    numbers: dict[str, Any] = {"interval": accuracy[0], "threshold": accuracy[1], "source": "accuracy; Wilson 1927"}
    if accuracy[0].low > accuracy[1]:
        text = "It has learned these points: more are right than the largest class has"
        return Sentence("learned", "yes", text, **numbers)
    return unknown("learned", whether, "the largest class alone would be as often right", **numbers)


def _collapse(record: RecordedLayers, labels: np.ndarray | None) -> Sentence:
    whether = "classes collapse"
    if labels is None or not record.hidden:
        return unknown("collapse", whether, "there are no labels" if labels is None else "there is no hidden layer")
    labels_recorded = labels[record.points]
    counted = labels_recorded != IGNORED
    if np.unique(labels_recorded[counted], return_counts=True)[1].min() < 2:
        return unknown("collapse", whether, "a class has a single point")
    shares = {
        name: within_share(F[counted], labels_recorded[counted])
        for name, F in record.layers.items()
        if name in (record.inputs, *record.hidden)
    }
    last, at_last = record.hidden[-1], shares[record.hidden[-1]]
    if not record.passed(last):
        why = f"{last!r} is a branch; name what goes into the last map in layers=, as 'head:input'"
        return unknown("collapse", whether, why)
    source = "share of variance within classes; as NC1 of Papyan, Han, Donoho 2020; Chen, Proposition 4.2"
    numbers: dict[str, Any] = {"interval": at_last, "threshold": COLLAPSED, "source": source}
    if at_last.low > COLLAPSED:
        return Sentence("collapse", "no", f"Classes do not collapse in {last!r}", **numbers)
    if not at_last.high < COLLAPSED:
        why = "holds the threshold" if np.isfinite(at_last.high) else "cannot be had: other points would make it flat"
        return unknown("collapse", whether, f"the interval in {last!r} {why}", **numbers)
    first = last
    for name in reversed(list(shares)):
        if not shares[name].high < COLLAPSED:
            break
        first = name
    if first == record.inputs:
        return unknown("collapse", "the network collapses classes", "the inputs are collapsed already", **numbers)
    return Sentence("collapse", "yes", f"Classes collapse from {first!r} on; in {last!r}", **numbers)


def _bottleneck(record: RecordedLayers) -> Sentence:
    whether = "there is a bottleneck"
    names = list(record.layers)  # the last map is compared with, too: it may widen what an autoencoder made narrow
    if len(record.points) < FEWEST or len(names) < 3:
        return unknown("bottleneck", whether, f"it takes {FEWEST} points and three layers")
    ranks = {name: rank(record.layers[name]) for name in names}
    if flat := [name for name in names if not np.isfinite(ranks[name].value)]:
        return unknown("bottleneck", whether, f"{flat[0]!r} is the same for all points")
    like = [_narrower(name, ranks, record.kinds) for name in record.hidden]
    found = [entry for entry in like if entry]
    branches = [entry for entry in found if entry[0] > NARROW and not record.passed(entry[2])]
    found = [entry for entry in found if entry not in branches]
    if branches and max(found, default=(0.0,))[0] <= NARROW:
        why = f"{max(branches)[2]!r} is narrow, but not all that the network returns passes through it"
        return unknown("bottleneck", whether, why)
    if not found:  # a bottleneck among layers of all kinds proves nothing, that there is none does
        found = [(0.0, *entry[1:]) for name in record.hidden if (entry := _narrower(name, ranks, {}))]
    if not found:
        return unknown("bottleneck", whether, "no hidden layer has layers before and after it")
    surest = max(found)
    name = surest[2]
    threshold = surest[3] / NARROW
    numbers: dict[str, Any] = {
        "interval": ranks[name],
        "threshold": threshold,
        "source": "centered effective rank, at most the lower end of those of its kind before and after over 1.5; "
        "Leaky ResNets, Section 1.2",
    }
    if surest[0] > NARROW:
        return Sentence("bottleneck", "yes", f"There is a bottleneck in {name!r}", **numbers)
    if max(entry[1] for entry in found) < NARROW:
        return Sentence("bottleneck", "no", f"There is no bottleneck; the narrowest place is {name!r}", **numbers)
    return unknown("bottleneck", whether, f"the intervals around {name!r} overlap too far", **numbers)


def _narrower(
    name: str, ranks: Mapping[str, Interval], kinds: Mapping[str, str]
) -> tuple[float, float, str, float] | None:
    """By which factor ranks before and after a layer surely, and at most, exceed its own; its name; their lower end.

    The input and layers of its kind are compared; None where there are none on a side.
    """
    names = list(ranks)
    at, kind = names.index(name), kinds.get(name)
    sides = [
        [ranks[other] for other in part if kinds.get(other, kind) == kind] for part in (names[:at], names[at + 1 :])
    ]
    if not all(sides):
        return None
    low, high = (min(max(getattr(entry, bound) for entry in side) for side in sides) for bound in ("low", "high"))
    return low / ranks[name].high, high / ranks[name].low, name, low


def _odd_point(record: RecordedLayers) -> Sentence:
    whether, expected = "there is an odd point", expected_norm_ratio(len(record.points))
    if not np.isfinite(expected) or not record.hidden:
        return unknown("odd point", whether, "the theory has one from seven points and a hidden layer on")
    leads = {name: lead(record.layers[name]) for name in record.hidden}
    leads = {name: found for name, found in leads.items() if np.isfinite(found.value)}
    if not leads:
        return unknown("odd point", whether, "all points but one are zero in every layer")
    name = max(leads, key=lambda layer: leads[layer].value)
    source = "largest norm over the second, interval over all others, threshold half of the theory's; Batch "
    source += "Normalization Decomposed, Definition 12"
    numbers: dict[str, Any] = {"interval": leads[name], "threshold": expected / 2, "source": source}
    if not leads[name].value > expected / 2:
        return Sentence("odd point", "no", f"No point is odd; nearest to it in {name!r}", **numbers)
    if record.inputs in record.layers and lead(record.layers[record.inputs]).value > expected / 2:
        return unknown("odd point", "the network makes an odd point", "the inputs have one already", **numbers)
    return Sentence("odd point", "yes", f"One point is odd in {name!r}", **numbers)


def _features(record: RecordedLayers, start: RecordedLayers | None, learned: Sentence) -> Sentence:
    whether = "training was lazy or rich"
    if start is None or learned.verdict != "yes":
        why = "the network before training is not given" if start is None else "it may have learned nothing"
        return unknown("features", whether, why)
    shared = [name for name in record.hidden if name in start.layers]
    if not shared or len(record.points) < FEWEST:
        return unknown("features", whether, f"it takes a hidden layer and {FEWEST} points")
    try:
        found = {name: likeness(record.layers[name], start.layers[name]) for name in shared}
    except ValueError as error:
        return unknown("features", whether, in_one_line(error))
    name = min(found, key=lambda layer: found[layer].value)
    source = "debiased CKA with the same layer before training; Kornblith et al. 2019; van Rossem and Saxe"
    numbers: dict[str, Any] = {"interval": found[name], "source": source}
    if found[name].high < RICH:
        return Sentence("features", "yes", f"It learned features (rich), most in {name!r}", threshold=RICH, **numbers)
    if all(entry.low > LAZY for entry in found.values()):
        text = f"It kept its first features (lazy); least like them is {name!r}"
        return Sentence("features", "no", text, threshold=LAZY, **numbers)
    return unknown("features", whether, f"{name!r} lies between", threshold=RICH, **numbers)


def memorized(learned: Sentence, other: tuple[Interval, float] | None) -> Sentence:
    """Whether points that a network was not trained on are right less often than those that it has learned.

    Args:
        learned: whether it has learned its own points, with its accuracy on them.
        other: accuracy on the others and the share of their largest class; None where there are none.
    """
    whether = "it memorized these points"
    if other is None or learned.verdict != "yes":
        why = "points that it was not trained on are not given" if other is None else "it may have learned nothing"
        return unknown("memorized", whether, why)
    accuracy, chance = other
    source = "accuracy on held-out points, threshold the share of their largest class; Wilson 1927"
    numbers: dict[str, Any] = {"interval": accuracy, "threshold": chance, "source": source}
    if accuracy.low > chance:
        return Sentence("memorized", "no", "It did not memorize alone: held-out points are right more often", **numbers)
    if learned.interval.low > accuracy.high:
        text = "It memorized these points: held-out ones are right less often, and not surely more often than by chance"
        return Sentence("memorized", "yes", text, **numbers)
    return unknown("memorized", whether, "accuracies on these and on held-out points may be the same", **numbers)
