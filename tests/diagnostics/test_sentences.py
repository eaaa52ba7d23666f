"""Which number decides a sentence, against which threshold, and where: layers and intervals written down by hand."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from repdyn.diagnostics import summary
from repdyn.diagnostics.measure import network_reader
from repdyn.diagnostics.methods import layer_facts
from repdyn.diagnostics.methods.layer_facts import Seen, lead, likeness, look, rank, within_share
from repdyn.diagnostics.summary import Sentence
from repdyn.diagnostics.theory.intervals import Interval

NAMES = ("input", "a", "b", "c", "last")
LABELS = np.arange(12) % 3


def seen(names=NAMES, points=12, output=None):
    """A network whose layers hold their place in `NAMES` and nothing else."""
    layers = {name: np.full((points, 1), NAMES.index(name)) for name in names}
    hidden = [name for name in names if name not in ("input", "last")]
    return Seen(layers, hidden, output, np.arange(points))


def intervals(monkeypatch, statistic, **by_layer):
    """A statistic of a layer that is given by the layer's name."""
    monkeypatch.setattr(summary, statistic, lambda F, *_: Interval(*by_layer[NAMES[int(F[0, 0])]]))


def decided(sentence):
    return sentence.verdict, sentence.interval, sentence.threshold


# accuracy


def test_accuracy_is_of_the_points_that_have_a_class_beside_the_share_of_the_largest_one():
    labels = np.array([0, 0, 0, 1, 1, 2, -100, -100])
    decisions = np.array([0, 0, 1, 1, 1, 0, 2, 2])
    accuracy, chance = summary._accuracy(seen(output=np.eye(3)[decisions]), labels)
    assert (accuracy.value, chance) == (4 / 6, 3 / 6)
    z = stats.norm.ppf(0.995)
    middle, half = (4 / 6 + z**2 / 12) / (1 + z**2 / 6), z * np.sqrt(2 / 9 / 6 + z**2 / 144) / (1 + z**2 / 6)
    np.testing.assert_allclose(accuracy[1:], [middle - half, middle + half])


@pytest.mark.parametrize(("labels", "there"), [([0, 1, 2, 2], True), ([1, 2, 3, 3], False), ([-1, 0, 1, 1], False)])
def test_labels_that_are_no_outputs_have_no_accuracy(labels, there):
    outcome = summary._accuracy(seen(output=np.eye(4, 3)), np.array(labels))
    assert (outcome is not None) == there
    assert summary._accuracy(seen(output=None), np.array(labels)) is None
    assert summary._accuracy(seen(output=np.eye(4, 3)), None) is None


def test_labels_are_one_for_each_row_of_the_output():
    assert summary._classes([0, 1, 1, 0], seen(output=np.eye(4, 2))).tolist() == [0, 1, 1, 0]
    assert summary._classes([0, 1, 1], seen(output=None)).tolist() == [0, 1, 1]
    with pytest.raises(ValueError, match="give 4 integers"):
        summary._classes([0, 1, 1], seen(output=np.eye(4, 2)))


@pytest.mark.parametrize(("low", "verdict"), [(0.51, "yes"), (0.5, "cannot tell"), (0.2, "cannot tell")])
def test_it_has_learned_where_the_interval_lies_above_the_largest_class(low, verdict, monkeypatch):
    accuracy = Interval(0.8, low, 0.9)
    monkeypatch.setattr(summary, "_accuracy", lambda *_: (accuracy, 0.5))
    assert decided(summary._learned(seen(), LABELS)) == (verdict, accuracy, 0.5)


def sure(topic="learned", low=0.6):
    return Sentence(topic, "yes", "It has learned", Interval(0.9, low, 1.0), 0.5)


@pytest.mark.parametrize(
    ("held_out", "verdict"),
    [
        ((0.7, 0.41, 0.8), "no"),
        ((0.45, 0.4, 0.59), "yes"),
        ((0.3, 0.2, 0.5), "yes"),
        ((0.45, 0.3, 0.6), "cannot tell"),
    ],
)
def test_memorized_is_what_held_out_points_do_not_have(held_out, verdict):
    accuracy = Interval(*held_out)
    assert decided(summary.memorized(sure(), (accuracy, 0.4))) == (verdict, accuracy, 0.4)
    start = "Cannot tell whether it memorized these points: "
    unsure = Sentence("learned", "cannot tell", "")
    assert summary.memorized(unsure, (accuracy, 0.4)).text == start + "it may have learned nothing"
    assert summary.memorized(sure(), None).text == start + "points that it was not trained on are not given"


# collapse

FAR, NEAR, OPEN = (0.5, 0.4, 0.6), (0.05, 0.02, 0.09), (0.1, 0.05, 0.2)


@pytest.mark.parametrize(
    ("shares", "verdict", "place"),
    [
        ((FAR, FAR, NEAR, NEAR), "yes", "from 'b' on; in 'c'"),
        ((FAR, NEAR, FAR, NEAR), "yes", "from 'c' on; in 'c'"),
        ((FAR, NEAR, NEAR, NEAR), "yes", "from 'a' on; in 'c'"),
        ((NEAR, NEAR, NEAR, NEAR), "cannot tell", "the inputs are collapsed already"),
        ((NEAR, NEAR, NEAR, FAR), "no", "do not collapse in 'c'"),
        ((FAR, NEAR, NEAR, OPEN), "cannot tell", "the interval in 'c' holds the threshold"),
        ((FAR, OPEN, (0.05, 0.02, 0.1), NEAR), "yes", "from 'c' on"),
        ((FAR, FAR, FAR, (0.05, 0.02, 0.1)), "cannot tell", "in 'c' holds"),
        ((FAR, FAR, FAR, (0.2, 0.1, 0.3)), "cannot tell", "in 'c' holds"),
        ((FAR, FAR, FAR, (0.05, np.nan, np.nan)), "cannot tell", "cannot be had"),
    ],
)
def test_collapse_is_decided_in_the_last_hidden_layer_and_begins_where_it_stays(shares, verdict, place, monkeypatch):
    intervals(monkeypatch, "within_share", **dict(zip(NAMES, shares, strict=False)))
    sentence = summary._collapse(seen(), LABELS)
    assert place in sentence.text
    np.testing.assert_equal(decided(sentence), (verdict, Interval(*shares[3]), 0.1))


def test_collapse_takes_two_points_of_every_class_among_those_that_are_kept(monkeypatch):
    intervals(monkeypatch, "within_share", input=FAR, a=NEAR, b=NEAR, c=NEAR)
    labels = np.array([0, 0, 1, 1, 2, -100, -100, 2, 0, 1, -100, 1])  # two points of the last one
    assert summary._collapse(seen(), labels).verdict == "yes"
    some = seen()
    few = Seen({name: F[:5] for name, F in some.layers.items()}, some.hidden, None, np.arange(5))
    assert "a class has a single point" in summary._collapse(few, labels).text
    assert "there are no labels" in summary._collapse(some, None).text
    assert "there is no hidden layer" in summary._collapse(seen(["input", "last"]), labels).text


def test_collapse_is_of_the_kept_points_that_have_a_class():
    labels, kept = np.array([0, -100, 1, 1, 0, -100, 2, 2, 0, 1, 2, 1, 0, 2]), np.array([0, 1, 2, 4, 5, 6, 7, 8, 9, 11])
    F = np.array([1.0, 50, 4.2, 1.5, -70, 9, 9.1, 0.8, 4.9, 4.5])[:, None]
    inputs = np.random.default_rng(0).normal(size=(10, 1))
    sentence = summary._collapse(Seen({"input": inputs, "a": F}, ["a"], None, kept), labels)
    classes = np.array([[1.0, 1.5, 0.8], [4.2, 4.9, 4.5], [9, 9.1, 9.05]])
    means, squares = classes.mean(axis=1), classes.var(axis=1)
    squares[2], means[2] = 0.05**2, 9.05  # of its two points
    assert sentence.verdict == "yes"
    assert sentence.interval.value == pytest.approx(squares.mean() / (squares.mean() + means.var()))


# bottleneck


@pytest.mark.parametrize(
    ("ranks", "verdict", "at", "threshold"),
    [
        (((9, 8, 10), (3, 2, 4), (6, 5, 7)), "cannot tell", "a", 5 / 1.5),
        (((9, 8, 10), (3, 2, 4), (8, 7, 9)), "yes", "a", 7 / 1.5),
        (((7, 6, 8), (3, 2, 3.9), (20, 18, 22)), "yes", "a", 6 / 1.5),
        (((9, 8, 10), (3, 2, 4), (7, 6, 8)), "cannot tell", "a", 6 / 1.5),
        (((9, 8, 10), (8, 7, 9), (6, 5, 7)), "no", "a", 5 / 1.5),
        (((9, 8, 9), (7, 6, 8), (9, 8, 9)), "cannot tell", "a", 8 / 1.5),
        (((10, 9, 11), (7, 4, 10), (9.5, 9, 10), (10, 9, 11)), "cannot tell", "a", 9 / 1.5),
        (((9, 8, 10), (7, 6, 8), (3, 2, 4), (9, 8, 10)), "yes", "b", 8 / 1.5),
        (((9, 8, 10), (3, 2, 4), (7, 6, 8), (9, 8, 10)), "yes", "a", 8 / 1.5),
        (((9, 8, 10), (9, 8, 10), (9, 8, 10), (3, 2, 4), (8, 7, 9)), "yes", "c", 7 / 1.5),  # widened by the last map
        (((9, 8, 10), (8, 7, 9), (8, 7, 9), (8, 7, 9), (2, 1, 3)), "no", "b", 7 / 1.5),  # which is none itself
    ],
)
def test_a_bottleneck_is_narrower_than_what_is_widest_on_both_of_its_sides(ranks, verdict, at, threshold, monkeypatch):
    names = NAMES[: len(ranks)]
    by_layer = dict(zip(names, ranks, strict=True))
    intervals(monkeypatch, "rank", **by_layer)
    sentence = summary._bottleneck(seen(names))
    assert decided(sentence) == (verdict, Interval(*by_layer[at]), threshold)
    assert f"{at!r}" in sentence.text


def test_a_bottleneck_takes_eight_points_three_layers_and_a_rank_of_each(monkeypatch):
    wide, flat = (9, 8, 10), (np.nan, np.nan, np.nan)
    intervals(monkeypatch, "rank", input=wide, a=(3, 2, 4), b=wide, c=flat, last=wide)
    assert summary._bottleneck(seen(NAMES[:3], points=8)).verdict == "yes"
    assert "it takes 8 points" in summary._bottleneck(seen(NAMES[:3], points=7)).text
    assert "three layers" in summary._bottleneck(seen(NAMES[:2])).text
    assert "no hidden layer" in summary._bottleneck(Seen(seen(NAMES[:3]).layers, [], None, np.arange(12))).text
    assert "'c' is the same for all points" in summary._bottleneck(seen()).text
    intervals(monkeypatch, "rank", input=wide, a=wide, b=flat, c=flat, last=flat)
    assert "'b' is the same for all points" in summary._bottleneck(seen()).text


# odd point


@pytest.mark.parametrize(
    ("leads", "verdict", "words", "at"),
    [
        ({"input": (1.1, 1, 2), "a": (2, 2, 3), "b": (4.1, 4.1, 9), "c": (3, 3, 9)}, "yes", "is odd in 'b'", "b"),
        ({"input": (1.1, 1, 2), "a": (2, 2, 3), "b": (4, 4, 9), "c": (3, 3, 9)}, "no", "nearest to it in 'b'", "b"),
        ({"input": (4.1, 4, 5), "a": (2, 2, 3), "b": (3, 3, 4), "c": (5, 5, 9)}, "cannot tell", "inputs have one", "c"),
        ({"input": (4, 4, 5), "a": (2, 2, 3), "b": (3, 3, 4), "c": (5, 5, 9)}, "yes", "is odd in 'c'", "c"),
        ({"input": (1, 1, 1), "a": (np.nan,) * 3, "b": (3, 3, 4), "c": (2, 2, 9)}, "no", "'b'", "b"),
    ],
)
def test_the_odd_point_is_held_against_half_of_the_theory(leads, verdict, words, at, monkeypatch):
    intervals(monkeypatch, "lead", **leads)
    monkeypatch.setattr(summary, "expected_norm_ratio", lambda points: 8.0 if points == 12 else np.nan)
    sentence = summary._odd_point(seen())
    assert decided(sentence) == (verdict, Interval(*leads[at]), 4.0)
    assert words in sentence.text
    assert "from seven points" in summary._odd_point(seen(points=5)).text
    assert "and a hidden layer on" in summary._odd_point(seen(["input", "last"])).text
    without_inputs = {"yes": "yes", "no": "no", "cannot tell": "yes"}[verdict]
    assert summary._odd_point(seen(NAMES[1:])).verdict == without_inputs


def test_an_odd_point_of_layers_that_are_zero_cannot_be_told(monkeypatch):
    intervals(monkeypatch, "lead", **dict.fromkeys(NAMES, (np.nan,) * 3))
    monkeypatch.setattr(summary, "expected_norm_ratio", lambda _points: 8.0)
    assert "all points but one are zero" in summary._odd_point(seen()).text


# features


@pytest.mark.parametrize(
    ("a", "b", "c", "verdict", "at", "threshold"),
    [
        ((0.9, 0.88, 0.92), (0.5, 0.4, 0.79), (0.7, 0.6, 0.75), "yes", "b", 0.8),
        ((0.97, 0.96, 0.98), (0.99, 0.98, 1.0), (0.98, 0.951, 1.0), "no", "a", 0.95),
        ((0.97, 0.96, 0.98), (0.99, 0.98, 1.0), (0.98, 0.94, 1.0), "cannot tell", "a", 0.8),
        ((0.9, 0.88, 0.92), (0.5, 0.4, 0.8), (0.7, 0.6, 0.75), "cannot tell", "b", 0.8),
        ((0.97, 0.95, 0.98), (0.99, 0.98, 1.0), (0.98, 0.951, 1.0), "cannot tell", "a", 0.8),
        ((0.9, 0.7, 0.95), (0.7, 0.5, 0.81), (0.9, 0.8, 0.95), "cannot tell", "b", 0.8),
    ],
)
def test_features_are_judged_where_the_network_has_changed_most(a, b, c, verdict, at, threshold, monkeypatch):
    by_layer = {"a": a, "b": b, "c": c}
    intervals(monkeypatch, "likeness", **by_layer)
    sentence = summary._features(seen(), seen(), sure())
    assert decided(sentence) == (verdict, Interval(*by_layer[at]), threshold)
    assert f"{at!r}" in sentence.text
    unsure = Sentence("learned", "cannot tell", "")
    start = "Cannot tell whether training was lazy or rich: "
    assert summary._features(seen(), seen(), unsure).text == start + "it may have learned nothing"
    assert summary._features(seen(), None, sure()).text == start + "the network before training is not given"


def test_layers_are_compared_with_themselves_before_training(monkeypatch):
    pairs = []
    monkeypatch.setattr(summary, "likeness", lambda F, G: pairs.append((F[0, 0], G[0, 0])) or Interval(0.5, 0.4, 0.6))
    before = seen(("input", "b", "c"))
    before = Seen({name: 10.0 + F for name, F in before.layers.items()}, before.hidden, None, before.kept)
    summary._features(seen(), before, sure())
    assert pairs == [(2, 12), (3, 13)]
    assert summary._features(seen(points=8), seen(points=8), sure()).verdict == "yes"
    assert "8 points" in summary._features(seen(points=7), seen(points=7), sure()).text
    assert "it takes a hidden layer" in summary._features(seen(), seen(["input", "last"]), sure()).text


def test_layers_that_cannot_be_compared_with_themselves_are_told_with_the_reason(monkeypatch):
    def likeness(F, _):
        if F[0, 0] == NAMES.index("b"):
            raise ValueError("all points are the same\nmore of it")
        return Interval(0.5, 0.4, 0.6)

    monkeypatch.setattr(summary, "likeness", likeness)
    told = summary._features(seen(), seen(), sure()).text
    assert told == "Cannot tell whether training was lazy or rich: all points are the same"


def test_held_out_points_are_held_against_labels_of_their_own():
    model = nn.Linear(2, 2, bias=False).double()
    with torch.no_grad():
        model.weight.copy_(torch.eye(2))
    own, theirs = np.arange(60) % 2, np.repeat([0, 1, -100], [14, 9, 4])
    X, Y = np.eye(2)[own], np.eye(2)[theirs % 2]
    Y[:3] = [0, 1]  # wrong
    found = {
        sentence.topic: sentence
        for sentence in summary.summarize(model, torch.tensor(X), labels=own, held_out=(torch.tensor(Y), theirs))
    }
    assert (found["learned"].interval.value, found["learned"].threshold) == (1, 0.5)
    assert (found["memorized"].interval.value, found["memorized"].threshold) == (20 / 23, 14 / 23)


# what the sentences rest on


def spread(points=23, units=4, seed=0):
    return np.random.default_rng(seed).lognormal(size=(points, units))


def leaving_folds_out(statistic, points, folds=10):
    """Value and half width of the interval of 99 % that the jackknife gives, a fold being every tenth point."""
    parts = [statistic(np.delete(np.arange(points), np.arange(fold, points, folds))) for fold in range(folds)]
    error = np.sqrt((folds - 1) / folds * np.sum((parts - np.mean(parts)) ** 2))
    return statistic(np.arange(points)), stats.t.ppf(0.995, folds - 1) * error


def test_the_rank_of_a_layer_has_the_interval_of_the_jackknife_but_is_never_below_one():
    F = spread()

    def effective(indices):
        s = np.linalg.svd(F[indices] - F[indices].mean(axis=0), compute_uv=False)
        return np.exp(-np.sum(s / s.sum() * np.log(s / s.sum())))

    value, half = leaving_folds_out(effective, 23)
    np.testing.assert_allclose(rank(F), [value, max(1, value - half), value + half])
    almost = np.outer(np.arange(23.0) ** 2, [1.0, 2, 0, 0]) + 1e-3 * F
    almost[4] += [0, 0, 300, 0]  # one point makes a second direction
    assert rank(almost).low == 1.0


def test_the_share_within_classes_leaves_out_points_of_every_class():
    labels = np.repeat([0, 1, 2], [11, 12, 10])
    F = spread(33, seed=1) + 2 * labels[:, None]

    def within(indices):
        parts = [F[indices][labels[indices] == name] for name in range(3)]
        means = np.array([part.mean(axis=0) for part in parts])
        inner = np.mean([np.mean(np.sum((part - mean) ** 2, axis=1)) for part, mean in zip(parts, means, strict=True)])
        return inner / (inner + np.mean(np.sum((means - means.mean(axis=0)) ** 2, axis=1)))

    places = np.concatenate([np.arange(11), np.arange(12), np.arange(10)]) % 10
    parts = np.array([within(np.flatnonzero(places != fold)) for fold in range(10)])
    half = stats.t.ppf(0.995, 9) * np.sqrt(9 / 10 * np.sum((parts - parts.mean()) ** 2))
    value = within(np.arange(33))
    np.testing.assert_allclose(within_share(F, labels), [value, max(0, value - half), min(1, value + half)])


def test_the_lead_is_over_the_second_norm_and_its_range_over_all_others():
    F = np.array([[3.0, 0], [0, 0.5], [12.0, 0], [0, 4]])
    assert lead(F) == Interval(3.0, 3.0, 24.0)
    assert lead(0.0 + F * [[1], [0], [1], [0]]) == Interval(4.0, 4.0, np.inf)
    assert np.isnan(lead(F * [[0], [0], [1], [0]])).all()


def test_likeness_is_of_the_same_points_in_both_layers():
    F, G = spread(), spread(seed=2) + spread()

    def debiased(indices):
        """From Gram matrices without their diagonals (Song et al., eq. (5))."""
        K, L = (A[indices] @ A[indices].T for A in (F, G))
        n = len(indices)
        K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))

        def hsic(K, L):
            return np.sum(K * L) + K.sum() * L.sum() / (n - 1) / (n - 2) - 2 * np.sum(K @ L) / (n - 2)

        return hsic(K, L) / np.sqrt(hsic(K, K) * hsic(L, L))

    value, half = leaving_folds_out(debiased, 23)
    np.testing.assert_allclose(likeness(F, G), [value, value - half, value + half], rtol=1e-7)


def test_a_look_keeps_some_points_of_the_layers_and_all_of_the_output(monkeypatch):
    monkeypatch.setattr(layer_facts, "MOST_POINTS", 4)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).double()
    X = torch.randn(10, 3, dtype=torch.float64)
    some = look(network_reader(model, X), None)
    assert some.kept.tolist() == [0, 3, 6, 9]
    assert list(some.layers) == ["input", "0", "1", "2"]
    assert list(some.hidden) == ["0", "1"]  # neither the input nor the last linear map
    with torch.no_grad():
        np.testing.assert_allclose(some.output, model(X))
        for name, A in (("input", X), ("0", model[0](X)), ("1", model[:2](X))):
            kept = A.numpy()[[0, 3, 6, 9]]
            np.testing.assert_allclose(some.layers[name] @ some.layers[name].T, kept @ kept.T)


class Lost(nn.Module):
    """One number of one point is lost."""

    def forward(self, x):
        return torch.where(torch.arange(x.numel()).view(x.shape) == 7, torch.nan, x)


def test_a_look_leaves_out_layers_with_a_number_that_is_not_finite_or_with_other_rows():
    model = nn.Sequential(Lost(), nn.Linear(3, 2))
    some = look(network_reader(model, torch.randn(10, 3)), None)
    assert list(some.layers) == ["input"]
    assert some.output is None


class Called(nn.Module):
    """An embedding, an activation called three times, a function, a map called twice and a second one after it."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.first, self.act = nn.Linear(3, 5), nn.Linear(5, 5), nn.Tanh()
        self.map, self.last = nn.Linear(5, 5), nn.Linear(5, 2)

    def forward(self, x):
        x = self.act(self.first(self.embed(x)))
        x = self.act(self.map(x) + x)
        return self.last(self.act(self.map(x))).flip(-1)


def test_a_look_names_what_stands_for_the_inputs_what_is_hidden_and_what_each_layer_is():
    names = ["input", "embed", "first", "act", "map", "add", "last", "output"]
    reader = network_reader(Called(), torch.randn(9, 3))
    calls = ["input", "embed", "first", "act", "map", "add", "act#2", "map#2", "act#3", "last"]
    some = look(reader, names, embeddings="embed", classifier="map")
    assert list(some.layers) == calls
    assert some.inputs == "embed"
    assert some.hidden == ["first", "act", "add", "act#2"]  # before the map is called for the last time
    assert some.kinds == {
        "first": "Linear", "act": "Tanh", "map": "Linear", "add": "add", "act#2": "Tanh", "map#2": "Linear",
        "act#3": "Tanh", "last": "Linear",
    }  # fmt: skip
    assert look(reader, names, embeddings="act_1", classifier="last").inputs == "act#2"
    assert look(reader, names, embeddings="act_1", classifier="last").hidden == [
        name for name in calls if name not in ("input", "act#2", "last")
    ]
    whole = look(reader, names)
    assert (whole.inputs, whole.hidden) == ("input", calls[1:])  # no last map is known
    assert whole.output.shape == (9, 2)
    with pytest.raises(ValueError, match="no layer 'mip'"):
        look(reader, names, classifier="mip")


def test_hidden_layers_end_where_the_last_map_is_called_for_the_last_time():
    names = ["input", "a", "m:input", "m", "b", "m#2:input", "m#2", "m#2[head 0]", "c", "output"]
    assert layer_facts.before_the_end(names, "m") == ["a", "m:input", "b", "m#2:input"]
    assert layer_facts.before_the_end(names, "m#2") == ["a", "m:input", "b", "m#2:input"]
    for other in (None, "z"):
        assert layer_facts.before_the_end(names, other) == names[1:-1]


class Passing(nn.Module):
    """Points on the second axis; of a call's three parts the first one goes on, or all of them."""

    def __init__(self, *, around):
        super().__init__()
        torch.manual_seed(0)
        self.twice, self.memory, self.head, self.around = nn.Linear(4, 4), nn.LSTM(4, 5), nn.Linear(5, 2), around

    def forward(self, x):
        hidden = self.twice(x.transpose(0, 1))
        hidden = self.twice(hidden).tanh() + self.around * hidden
        hidden, (state, _) = self.memory(hidden)
        return self.head(hidden + self.around * state)


@pytest.mark.parametrize("around", [0, 1])
def test_what_passes_through_a_call_or_the_first_of_its_parts(around):
    reader = network_reader(Passing(around=around).double(), torch.randn(6, 3, 4, dtype=torch.float64))
    some = look(reader, ["twice", "memory", "head"])
    assert list(some.layers) == ["twice", "twice#2", "memory", "head"]
    passed = {name: some.passed(name) for name in some.layers}
    assert passed == {"twice": True, "twice#2": not around, "memory": not around, "head": True}
