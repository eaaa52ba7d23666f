"""Verdicts on networks whose behavior is known, on noise, and just inside and outside of each threshold."""

import random
from math import comb

import numpy as np
import pytest
import torch
from scipy import stats
from tests.diagnostics.networks import debiased_cka, effective_rank, leaving_folds_out
from torch import nn

from repdyn.diagnostics import summary
from repdyn.diagnostics.methods.layer_facts import RecordedLayers, lead, likeness, rank, record_layers, within_share
from repdyn.diagnostics.methods.reader import network_reader
from repdyn.diagnostics.summary import Sentence, summarize
from repdyn.diagnostics.theory.intervals import Interval, folds, jackknife, share

CODES = np.array([[1, 1, 1, 1, 1, 1], [1, -1, 1, -1, 1, -1], [-1, -1, 1, 1, -1, -1]], float)  # of three classes


def blobs(seed, noise=0.35, points=60):
    """Points around three corners of a cube, and their classes."""
    labels = np.arange(points) % 3
    X = CODES[labels] + noise * np.random.default_rng(seed).normal(size=(points, 6))
    return torch.tensor(X), labels


def fitted(hidden, X, labels):
    """A network of these hidden layers, its last map by least squares."""
    hidden = hidden.double().eval()
    with torch.no_grad():
        H = hidden(X).numpy()
        last = nn.Linear(H.shape[1], 3).double()
        targets = np.eye(3)[labels]
        solution = np.linalg.lstsq(np.hstack([H, np.ones((len(H), 1))]), targets, rcond=None)[0]
        last.weight.copy_(torch.tensor(solution[:-1].T))
        last.bias.copy_(torch.tensor(solution[-1]))
    return nn.Sequential(*hidden, last)


def signs(steepness=20.0):
    """Each coordinate to its sign: the corner of the cube."""
    first = nn.Linear(6, 6)
    with torch.no_grad():
        first.weight.copy_(steepness * torch.eye(6))
        first.bias.zero_()
    return nn.Sequential(first, nn.Tanh())


def random_features(seed, width=200, inputs=6):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU())


def nudged(network, size):
    """The same weights but for small random changes."""
    torch.manual_seed(9)
    weights = {name: part + size * part.std() * torch.randn_like(part) for name, part in network.state_dict().items()}
    other = random_features(0, len(weights["0.bias"]))
    other.double().load_state_dict(weights)
    return other


def untrained(seed):
    torch.manual_seed(seed)
    return nn.Sequential(*random_features(seed), nn.Linear(200, 3)).double()


def collapsed():
    X, labels = blobs(0, noise=0.3)
    return fitted(signs(), X, labels), X, labels, {}


def collapsed_inputs():
    X, labels = blobs(0, noise=0.02)
    return fitted(nn.Sequential(nn.Linear(6, 6)), X, labels), X, labels, {}


def spread_out():
    X, labels = blobs(0, noise=1.0)
    return fitted(random_features(0), X, labels), X, labels, {}


def lazy():
    X, labels = blobs(0)
    start = random_features(0).double()
    return (
        fitted(nudged(start, 0.01), X, labels),
        X,
        labels,
        {"before": nn.Sequential(*start, nn.Linear(200, 3).double())},
    )


def rich():
    X, labels = blobs(0, noise=0.6)
    decide = fitted(signs(0.01), X, labels)[-1]  # a linear decision, made steep: three units, one per class
    first = nn.Linear(6, 3).double()
    with torch.no_grad():
        first.weight.copy_(200 * decide.weight @ (0.01 * torch.eye(6).double()))
        first.bias.copy_(200 * (decide.bias - 0.5))
    torch.manual_seed(3)
    before = nn.Sequential(nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 3)).double()
    return fitted(nn.Sequential(first, nn.Tanh()), X, labels), X, labels, {"before": before}


def untouched():
    X, labels = blobs(0, noise=3.0)
    network = untrained(4)
    return network, X, labels, {"before": untrained(4), "held_out": blobs(1, noise=3.0)}


def random_labels(seed):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.normal(size=(60, 6))), rng.permutation(np.arange(60) % 3)


def memorizing():
    X, labels = random_labels(0)
    return fitted(random_features(0, 600), X, labels), X, labels, {"held_out": random_labels(1)}


def generalizing():
    X, labels = blobs(0, noise=0.3)
    return fitted(signs(), X, labels), X, labels, {"held_out": blobs(1)}


def bottleneck():
    torch.manual_seed(0)
    X, labels = torch.randn(80, 20, dtype=torch.float64), np.arange(80) % 3
    return (
        fitted(nn.Sequential(nn.Linear(20, 2), nn.Linear(2, 60), nn.Tanh(), nn.Linear(60, 60), nn.ReLU()), X, labels),
        X,
        labels,
        {},
    )


def odd():
    """Points of equal length in orthogonal directions; every unit reads the first: batch normalization makes it odd."""
    X = torch.eye(12, dtype=torch.float64)
    torch.manual_seed(0)
    hidden = nn.Sequential(nn.Linear(12, 50, bias=False), nn.BatchNorm1d(50), nn.ReLU()).double()
    with torch.no_grad():
        hidden[0].weight.mul_(0.1)
        hidden[0].weight[:, 0] = 1.0
    return fitted(hidden, X, np.arange(12) % 3), X, np.arange(12) % 3, {"batch_statistics": True}


def dead():
    X, labels = blobs(0)
    network = untrained(0)
    with torch.no_grad():
        network[0].bias.fill_(-1e3)
    return network, X, labels, {"before": untrained(0)}


EXPECTED = {
    collapsed: {"learned": "yes", "collapse": "yes", "bottleneck": "no", "odd point": "no"},
    collapsed_inputs: {"learned": "yes", "collapse": "cannot tell"},
    spread_out: {"learned": "yes", "collapse": "no"},
    lazy: {"learned": "yes", "collapse": "no", "features": "no"},
    rich: {"learned": "yes", "features": "yes"},
    untouched: {"learned": "cannot tell", "features": "cannot tell", "memorized": "cannot tell", "collapse": "no"},
    memorizing: {"learned": "yes", "memorized": "yes", "collapse": "no"},
    generalizing: {"learned": "yes", "memorized": "no", "collapse": "yes"},
    bottleneck: {"bottleneck": "yes", "odd point": "no"},
    odd: {"odd point": "yes", "features": "cannot tell"},
    dead: {"learned": "cannot tell", "collapse": "cannot tell", "bottleneck": "cannot tell", "features": "cannot tell"},
}


@pytest.mark.parametrize("make", EXPECTED, ids=lambda make: make.__name__)
def test_verdicts_on_networks_of_known_behavior(make):
    network, X, labels, options = make()
    sentences = summarize(network, X, labels=labels, **options)
    verdicts = {sentence.topic: sentence.verdict for sentence in sentences}
    assert {topic: verdicts[topic] for topic in EXPECTED[make]} == EXPECTED[make]
    decided = [sentence for sentence in sentences if sentence.verdict != "cannot tell"]
    assert all(sentence.interval.low <= sentence.interval.value <= sentence.interval.high for sentence in decided)
    assert all(np.isfinite(sentence.threshold) for sentence in decided)


@pytest.mark.parametrize("make", [collapsed, lazy, rich, memorizing], ids=lambda make: make.__name__)
def test_a_softmax_or_a_factor_after_the_last_map_changes_no_verdict(make):
    network, X, labels, options = make()

    class Scaled(nn.Sequential):
        def forward(self, X):
            return 8 * super().forward(X)

    plain = summarize(network, X, labels=labels, **options)
    assert summarize(Scaled(*network), X, labels=labels, **options) == plain
    if "before" in options:
        options["before"] = nn.Sequential(*options["before"], nn.LogSoftmax(dim=1))
    others = summarize(nn.Sequential(*network, nn.LogSoftmax(dim=1)), X, labels=labels, **options)
    assert others == [plain[0], plain[1], others[2], *plain[3:]]  # a bottleneck depends on the layers after it


def test_a_bottleneck_that_only_the_last_map_widens_is_one():
    torch.manual_seed(0)
    X = torch.randn(100, 20, dtype=torch.float64)
    decoder = nn.Sequential(nn.Linear(20, 2), nn.Linear(2, 60), nn.ReLU()).double()
    with torch.no_grad():
        H = decoder(X)
        _, values, directions = torch.linalg.svd(H - H.mean(dim=0), full_matrices=False)
        kept = values > 1e-3 * values[0]
        last = nn.Linear(60, int(kept.sum()), bias=False).double()
        last.weight.copy_(directions[kept] / values[kept, None])  # as far in every direction
    sentence = summarize(nn.Sequential(*decoder, last), X)[2]
    assert (sentence.topic, sentence.verdict) == ("bottleneck", "yes")
    assert sentence.interval.value <= 2 < len(last.weight) / 1.5


class Beside(nn.Module):
    """A narrow branch, twice, with a skip connection around it or none."""

    def __init__(self, *, skip):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.narrow, self.wide = nn.Linear(20, 20), nn.Linear(20, 2), nn.Linear(2, 60)
        self.norm, self.middle, self.last = nn.Tanh(), nn.Linear(60, 60), nn.Linear(60, 3)
        self.around, self.skip = nn.Linear(20, 60), skip

    def forward(self, X):
        X = self.first(X)
        return self.last(self.norm(self.middle(self.norm(3 * self.wide(self.narrow(X)) + self.skip * self.around(X)))))


@pytest.mark.parametrize(("skip", "verdict"), [(0, "yes"), (1, "cannot tell")])
def test_a_branch_next_to_a_skip_connection_is_no_bottleneck(skip, verdict):
    X = torch.randn(80, 20, dtype=torch.float64)
    network = Beside(skip=skip).double()
    layers = ["input", "first", "narrow", "norm", "middle", "norm#2", "last"]
    assert summarize(network, X, layers)[2].verdict == verdict
    seen = record_layers(network_reader(network, X), layers)
    passed = {name: seen.passed(name) for name in layers[1:]}
    assert passed == {name: name != "narrow" or not skip for name in layers[1:]}
    assert not network.narrow._forward_hooks


def test_collapse_is_decided_on_the_input_of_the_last_map_and_not_on_a_branch():
    class Stream(nn.Module):
        def __init__(self):
            super().__init__()
            self.signs, self.branch, self.head = signs(), nn.Linear(6, 6, bias=False), nn.Linear(6, 3)

        def hidden(self, X):
            corners = self.signs(X)
            return 0.01 * X + corners + 0.1 * self.branch(corners)

        def forward(self, X):
            return self.head(self.hidden(X))

    X, labels = blobs(0, noise=0.3)
    torch.manual_seed(0)
    network = Stream().double()
    assert summarize(network, X, labels=labels)[1].verdict == "cannot tell"
    sentence = summarize(network, X, ["input", "head:input"], labels=labels)[1]
    with torch.no_grad():
        H = network.hidden(X).numpy()
    assert sentence.verdict == "yes"
    assert sentence.interval.value == pytest.approx(within_share(H, labels).value)


def of_tokens(table, *layers):
    """A network on token ids: row by row of a table, then these layers."""
    return nn.Sequential(nn.Embedding.from_pretrained(torch.tensor(table)), *layers).double()


def test_embeddings_stand_for_the_inputs_where_these_are_token_ids():
    torch.manual_seed(0)
    labels = np.arange(60) % 3
    classes = of_tokens(CODES, *signs(), nn.Linear(6, 3))
    assert summarize(classes, torch.tensor(labels), labels=labels, embeddings="0")[1].verdict == "cannot tell"
    long = np.eye(12)
    long[0] *= 100
    odd_inputs = of_tokens(long, nn.Linear(12, 12), nn.Linear(12, 3))
    assert summarize(odd_inputs, torch.arange(12), embeddings="0")[3].verdict == "cannot tell"
    table = np.random.default_rng(0).normal(size=(80, 20))
    narrow = of_tokens(table, nn.Linear(20, 2), nn.Linear(2, 60), nn.Tanh(), nn.Linear(60, 60), nn.ReLU())
    assert summarize(narrow, torch.arange(80), embeddings="0")[2].verdict == "yes"  # wider than maps of any kind
    assert summarize(narrow, torch.arange(80))[2].verdict != "yes"


def test_layers_are_hidden_before_the_last_linear_map_that_is_named():
    class Reversed(nn.Sequential):
        def forward(self, X):
            return -super().forward(X)

    network, X, labels, _ = collapsed()
    network = Reversed(*network)
    with torch.no_grad():
        outputs = {name: network[: int(name) + 1](X) for name in "12"}
        outputs["2"] = network[2](outputs["1"])
    for options, layer in (({}, "2"), ({"classifier": "2"}, "1")):
        sentence = summarize(network, X, labels=labels, **options)[1]
        assert sentence.interval.value == pytest.approx(within_share(outputs[layer].numpy(), labels).value)


@pytest.mark.parametrize("seed", range(10))
def test_no_verdict_is_yes_on_an_untrained_network_on_noise(seed):
    X, labels = random_labels(seed)
    held_out = random_labels(100 + seed)
    sentences = summarize(untrained(seed), X, labels=labels, before=untrained(50 + seed), held_out=held_out)
    assert [sentence for sentence in sentences if sentence.verdict == "yes"] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "tokens"}, "rows"),
        ({"before": {}}, "before"),
        ({"classifier": "head"}, "'head'"),
        ({"embeddings": "head"}, "'head'"),
    ],
)
def test_options_of_a_summary_that_cannot_be_used_are_refused(options, message):
    network, X, labels, _ = collapsed()
    with pytest.raises(ValueError, match=message):
        summarize(network, X, labels=labels, **options)


# intervals


def test_the_interval_of_a_share_holds_it_as_often_as_it_says():
    """Exactly, by summing over all outcomes of 40 points: the score interval is within a percent of 99."""
    for p in (0.2, 0.5, 0.7):
        chances = [comb(40, k) * p**k * (1 - p) ** (40 - k) for k in range(41)]
        held = sum(chance for k, chance in enumerate(chances) if share(k, 40).low <= p <= share(k, 40).high)
        assert abs(held - 0.99) < 0.01


def test_the_jackknife_of_a_mean_is_the_standard_error_with_students_quantile():
    x = np.random.default_rng(0).normal(size=10)
    found = jackknife(lambda indices: float(x[indices].mean()), folds([np.arange(10)]), 10)
    half = 3.2498355 * x.std(ddof=1) / np.sqrt(10)  # 99.5 % quantile of Student's distribution with 9 degrees
    np.testing.assert_allclose([found.value, found.low, found.high], [x.mean(), x.mean() - half, x.mean() + half])


def spread(points=23, units=4, seed=0):
    return np.random.default_rng(seed).lognormal(size=(points, units))


def test_the_rank_of_a_layer_has_the_interval_of_the_jackknife_but_is_never_below_one():
    F = spread()
    value, half = leaving_folds_out(lambda points: effective_rank(F[points] - F[points].mean(axis=0)), 23)
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
        inner = np.mean(np.sum((F[indices] - means[labels[indices]]) ** 2, axis=1))
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
    value, half = leaving_folds_out(lambda points: debiased_cka(F[points], G[points]), 23)
    np.testing.assert_allclose(likeness(F, G), [value, value - half, value + half], rtol=1e-7)


# thresholds: layers and intervals written down by hand

NAMES = ("input", "a", "b", "c", "last")
LABELS = np.arange(12) % 3
NAN = (np.nan, np.nan, np.nan)


def seen(names=NAMES, points=12, output=None):
    """A network whose layers hold their place in `NAMES` and nothing else."""
    layers = {name: np.full((points, 1), NAMES.index(name)) for name in names}
    hidden = [name for name in names if name not in ("input", "last")]
    return RecordedLayers(layers, hidden, output, np.arange(points))


def intervals(monkeypatch, statistic, **by_layer):
    """A statistic of a layer that is given by the layer's name."""
    monkeypatch.setattr(summary, statistic, lambda F, *_: Interval(*by_layer[NAMES[int(F[0, 0])]]))


def decided(sentence):
    return sentence.verdict, sentence.interval, sentence.threshold


def learned(verdict="yes"):
    return Sentence("learned", verdict, "", Interval(0.9, 0.6, 1.0), 0.5)


def test_accuracy_is_of_the_points_that_have_a_class_and_chance_the_share_of_the_largest_class():
    labels = np.array([0, 0, 0, 1, 1, 2, -100, -100])
    decisions = np.array([0, 0, 1, 1, 1, 0, 2, 2])
    accuracy, chance = summary._accuracy(seen(output=np.eye(3)[decisions]), labels)
    assert (accuracy.value, chance) == (4 / 6, 3 / 6)
    z = stats.norm.ppf(0.995)
    middle, half = (4 / 6 + z**2 / 12) / (1 + z**2 / 6), z * np.sqrt(2 / 9 / 6 + z**2 / 144) / (1 + z**2 / 6)
    np.testing.assert_allclose(accuracy[1:], [middle - half, middle + half])
    for other, there in (([0, 1, 2, 2], True), ([1, 2, 3, 3], False), ([-1, 0, 1, 1], False), (None, False)):
        outcome = summary._accuracy(seen(output=np.eye(4, 3)), None if other is None else np.array(other))
        assert (outcome is not None) == there


@pytest.mark.parametrize(
    ("held_out", "verdict"),
    [((0.7, 0.41, 0.8), "no"), ((0.45, 0.4, 0.59), "yes"), ((0.3, 0.2, 0.5), "yes"), ((0.45, 0.3, 0.6), "cannot tell")],
)
def test_points_are_memorized_where_held_out_points_are_not_above_chance(held_out, verdict):
    accuracy = Interval(*held_out)
    assert decided(summary.memorized(learned(), (accuracy, 0.4))) == (verdict, accuracy, 0.4)
    assert summary.memorized(learned("cannot tell"), (accuracy, 0.4)).verdict == "cannot tell"
    assert summary.memorized(learned(), None).verdict == "cannot tell"


WIDER = (9, 8, 10)
FAR, NEAR, OPEN, EDGE = (0.5, 0.4, 0.6), (0.05, 0.02, 0.09), (0.1, 0.05, 0.2), (0.05, 0.02, 0.1)


JUDGED = {
    "collapse": ("within_share", lambda facts: summary._collapse(facts, LABELS)),
    "bottleneck": ("rank", summary._bottleneck),
    "odd point": ("lead", summary._odd_point),
    "features": ("likeness", lambda facts: summary._features(facts, facts, learned())),
}
"""The statistic that each sentence rests on, and its function."""


@pytest.mark.parametrize(
    ("topic", "verdict", "at", "threshold", "values"),
    [
        ("collapse", "yes", "c", 0.1, (FAR, FAR, NEAR, NEAR)),
        ("collapse", "yes", "c", 0.1, (FAR, NEAR, FAR, NEAR)),
        ("collapse", "yes", "c", 0.1, (FAR, OPEN, EDGE, NEAR)),
        ("collapse", "cannot tell", "c", 0.1, (NEAR, NEAR, NEAR, NEAR)),  # the inputs are collapsed already
        ("collapse", "no", "c", 0.1, (NEAR, NEAR, NEAR, FAR)),
        ("collapse", "cannot tell", "c", 0.1, (FAR, NEAR, NEAR, OPEN)),
        ("collapse", "cannot tell", "c", 0.1, (FAR, FAR, FAR, EDGE)),
        ("collapse", "cannot tell", "c", 0.1, (FAR, FAR, FAR, (0.2, 0.1, 0.3))),
        ("collapse", "cannot tell", "c", 0.1, (FAR, FAR, FAR, (0.05, np.nan, np.nan))),
        ("bottleneck", "cannot tell", "a", 5 / 1.5, ((9, 8, 10), (3, 2, 4), (6, 5, 7))),
        ("bottleneck", "yes", "a", 7 / 1.5, ((9, 8, 10), (3, 2, 4), (8, 7, 9))),
        ("bottleneck", "yes", "a", 6 / 1.5, ((7, 6, 8), (3, 2, 3.9), (20, 18, 22))),
        ("bottleneck", "cannot tell", "a", 6 / 1.5, ((9, 8, 10), (3, 2, 4), (7, 6, 8))),
        ("bottleneck", "no", "a", 5 / 1.5, ((9, 8, 10), (8, 7, 9), (6, 5, 7))),
        ("bottleneck", "cannot tell", "a", 8 / 1.5, ((9, 8, 9), (7, 6, 8), (9, 8, 9))),
        ("bottleneck", "cannot tell", "a", 9 / 1.5, ((10, 9, 11), (7, 4, 10), (9.5, 9, 10), (10, 9, 11))),
        ("bottleneck", "yes", "b", 8 / 1.5, ((9, 8, 10), (7, 6, 8), (3, 2, 4), (9, 8, 10))),
        ("bottleneck", "yes", "a", 8 / 1.5, ((9, 8, 10), (3, 2, 4), (7, 6, 8), (9, 8, 10))),
        ("bottleneck", "yes", "c", 7 / 1.5, (WIDER, WIDER, WIDER, (3, 2, 4), (8, 7, 9))),  # widened by the last map
        ("bottleneck", "no", "b", 7 / 1.5, (WIDER, (8, 7, 9), (8, 7, 9), (8, 7, 9), (2, 1, 3))),  # which is none itself
        ("odd point", "yes", "b", 4, ((1.1, 1, 2), (2, 2, 3), (4.1, 4.1, 9), (3, 3, 9))),
        ("odd point", "no", "b", 4, ((1.1, 1, 2), (2, 2, 3), (4, 4, 9), (3, 3, 9))),
        ("odd point", "cannot tell", "c", 4, ((4.1, 4, 5), (2, 2, 3), (3, 3, 4), (5, 5, 9))),  # so are the inputs
        ("odd point", "yes", "c", 4, ((4, 4, 5), (2, 2, 3), (3, 3, 4), (5, 5, 9))),
        ("odd point", "no", "b", 4, ((1, 1, 1), NAN, (3, 3, 4), (2, 2, 9))),
        ("features", "yes", "b", 0.8, (NAN, (0.9, 0.88, 0.92), (0.5, 0.4, 0.79), (0.7, 0.6, 0.75))),
        ("features", "no", "a", 0.95, (NAN, (0.97, 0.96, 0.98), (0.99, 0.98, 1.0), (0.98, 0.951, 1.0))),
        ("features", "cannot tell", "a", 0.8, (NAN, (0.97, 0.96, 0.98), (0.99, 0.98, 1.0), (0.98, 0.94, 1.0))),
        ("features", "cannot tell", "b", 0.8, (NAN, (0.9, 0.88, 0.92), (0.5, 0.4, 0.8), (0.7, 0.6, 0.75))),
        ("features", "cannot tell", "a", 0.8, (NAN, (0.97, 0.95, 0.98), (0.99, 0.98, 1.0), (0.98, 0.951, 1.0))),
        ("features", "cannot tell", "b", 0.8, (NAN, (0.9, 0.7, 0.95), (0.7, 0.5, 0.81), (0.9, 0.8, 0.95))),
    ],
)
def test_verdicts_on_either_side_of_the_thresholds(topic, verdict, at, threshold, values, monkeypatch):
    statistic, function = JUDGED[topic]
    names = NAMES[: len(values)]
    by_layer = dict(zip(names, values, strict=True))
    intervals(monkeypatch, statistic, **by_layer)
    monkeypatch.setattr(summary, "expected_norm_ratio", lambda points: 8.0)
    sentence = function(seen(names))
    np.testing.assert_equal(decided(sentence), (verdict, Interval(*by_layer[at]), threshold))


def test_what_an_odd_point_and_features_need(monkeypatch):
    intervals(monkeypatch, "lead", a=(2, 2, 3), b=(3, 3, 4), c=(5, 5, 9))
    monkeypatch.setattr(summary, "expected_norm_ratio", lambda points: 8.0 if points == 12 else np.nan)
    assert summary._odd_point(seen(NAMES[1:])).verdict == "yes"  # without inputs none of theirs is known
    for facts in (seen(points=5), seen(["input", "last"])):
        assert summary._odd_point(facts).verdict == "cannot tell"
    intervals(monkeypatch, "lead", **dict.fromkeys(NAMES, NAN))
    assert summary._odd_point(seen()).verdict == "cannot tell"
    intervals(monkeypatch, "likeness", **dict.fromkeys(NAMES, (0.5, 0.4, 0.6)))
    few, without = seen(points=7), seen(["input", "last"])
    assert summary._features(seen(), seen(), learned()).verdict == "yes"
    for arguments in (
        (seen(), seen(), learned("cannot tell")),
        (seen(), None, learned()),
        (few, few, learned()),
        (seen(), without, learned()),
    ):
        assert summary._features(*arguments).verdict == "cannot tell"


def test_collapse_needs_two_recorded_points_of_every_class(monkeypatch):
    intervals(monkeypatch, "within_share", input=FAR, a=NEAR, b=NEAR, c=NEAR)
    labels = np.array([0, 0, 1, 1, 2, -100, -100, 2, 0, 1, -100, 1])  # two points of the last one
    assert summary._collapse(seen(), labels).verdict == "yes"
    whole = seen()
    few = RecordedLayers({name: F[:5] for name, F in whole.layers.items()}, whole.hidden, None, np.arange(5))
    for facts, classes in ((few, labels), (whole, None), (seen(["input", "last"]), labels)):
        assert summary._collapse(facts, classes).verdict == "cannot tell"


def test_collapse_is_of_the_recorded_points_that_have_a_class():
    labels, kept = np.array([0, -100, 1, 1, 0, -100, 2, 2, 0, 1, 2, 1, 0, 2]), np.array([0, 1, 2, 4, 5, 6, 7, 8, 9, 11])
    F = np.array([1.0, 50, 4.2, 1.5, -70, 9, 9.1, 0.8, 4.9, 4.5])[:, None]
    inputs = np.random.default_rng(0).normal(size=(10, 1))
    sentence = summary._collapse(RecordedLayers({"input": inputs, "a": F}, ["a"], None, kept), labels)
    classes = np.array([[1.0, 1.5, 0.8], [4.2, 4.9, 4.5], [9, 9.1, 9.05]])
    means, squares = classes.mean(axis=1), classes.var(axis=1)
    squares[2], means[2] = 0.05**2, 9.05  # of its two points
    within = squares @ [3, 3, 2] / 8
    assert sentence.verdict == "yes"
    assert sentence.interval.value == pytest.approx(within / (within + means.var()))


LINEAR = {"a": "Linear", "b": "ReLU", "c": "Linear", "last": "Linear"}
WIDE = {"input": (5, 5, 5), "a": (5, 5, 5), "b": (2, 2, 2), "c": (4, 3.9, 4.1), "last": (9, 8, 10)}
ALONE = {"input": (9, 9, 9), "a": (8.6, 8, 9), "last": (9, 9, 9)}


@pytest.mark.parametrize(
    ("ranks", "kinds", "verdict", "at", "threshold"),
    [
        (WIDE | {"input": (8, 7, 9)}, LINEAR, "yes", "c", 7 / 1.5),  # `b` has none of its kind after it
        (WIDE | {"a": (8, 7, 9)}, LINEAR, "yes", "c", 7 / 1.5),
        (WIDE | {"a": (8, 7, 9)}, LINEAR | {"last": "ReLU"}, "yes", "b", None),
        (ALONE | {"b": (4, 3.9, 4.1)}, {"a": "Linear", "b": "Tanh", "last": "Softmax"}, "cannot tell", "b", 6),
        (ALONE | {"b": (8, 7.5, 8.5)}, {"a": "Linear", "b": "Tanh", "last": "Softmax"}, "no", "b", 6),
        (
            {"a": (3, 3, 3), "b": (8, 8, 8), "c": (4, 4, 4), "last": (9, 9, 9)},  # nothing before the narrowest
            dict.fromkeys(NAMES, "Linear"), "yes", "c", 8 / 1.5,
        ),
    ],
)  # fmt: skip
def test_a_layer_is_compared_with_those_of_its_kind_and_the_input(ranks, kinds, verdict, at, threshold, monkeypatch):
    intervals(monkeypatch, "rank", **ranks)
    whole = seen(tuple(name for name in NAMES if name in ranks))
    sentence = summary._bottleneck(RecordedLayers(whole.layers, whole.hidden, None, whole.points, kinds))
    assert (sentence.verdict, sentence.interval) == (verdict, Interval(*ranks[at]))
    assert threshold is None or sentence.threshold == threshold


def test_a_bottleneck_needs_eight_points_three_layers_and_a_rank_of_each(monkeypatch):
    wide = (9, 8, 10)
    intervals(monkeypatch, "rank", input=wide, a=(3, 2, 4), b=wide, c=NAN, last=wide)
    assert summary._bottleneck(seen(NAMES[:3], points=8)).verdict == "yes"
    without = RecordedLayers(seen(NAMES[:3]).layers, [], None, np.arange(12))
    for facts in (seen(NAMES[:3], points=7), seen(NAMES[:2]), without, seen()):
        assert summary._bottleneck(facts).verdict == "cannot tell"


def test_held_out_points_are_compared_with_their_labels():
    model = nn.Linear(2, 2, bias=False).double()
    with torch.no_grad():
        model.weight.copy_(torch.eye(2))
    own, theirs = np.arange(60) % 2, np.repeat([0, 1, -100], [14, 9, 4])
    X, Y = np.eye(2)[own], np.eye(2)[theirs % 2]
    Y[:3] = [0, 1]  # wrong
    found = {
        sentence.topic: sentence
        for sentence in summarize(model, torch.tensor(X), labels=own, held_out=(torch.tensor(Y), theirs))
    }
    assert (found["learned"].interval.value, found["learned"].threshold) == (1, 0.5)
    assert (found["memorized"].interval.value, found["memorized"].threshold) == (20 / 23, 14 / 23)


# loaders


def shuffled_by_python(X, labels):
    """Batches in an order that Python's generator draws anew each time."""

    class Data(torch.utils.data.IterableDataset):
        def __iter__(self):
            yield from ((X[at], labels[at]) for at in random.sample(range(len(X)), len(X)))

    return torch.utils.data.DataLoader(Data(), batch_size=9)


def test_labels_of_a_loader_count_and_the_network_before_sees_the_same_points():
    network, X, labels, _ = collapsed()
    alone = summarize(network, X, labels=labels, before=network)
    loaded = summarize(network, shuffled_by_python(X, labels), before=network.state_dict())
    assert [(entry.topic, entry.verdict) for entry in loaded] == [(entry.topic, entry.verdict) for entry in alone]
    assert {entry.topic: entry.verdict for entry in loaded}["learned"] == "yes"
    assert {entry.topic: entry.verdict for entry in loaded}["features"] == "no"  # lazy: it did not change at all
