"""Sentences on networks whose behavior is known, and silence on noise."""

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.measure import network_reader
from repdyn.diagnostics.methods import layer_facts
from repdyn.diagnostics.methods.layer_facts import likeness, rank, within_share
from repdyn.diagnostics.summary import Sentence, summarize, words
from repdyn.diagnostics.theory.intervals import folds, jackknife, share

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
def test_a_network_of_known_behavior_is_told_as_it_is(make):
    network, X, labels, options = make()
    sentences = summarize(network, X, labels=labels, **options)
    verdicts = {sentence.topic: sentence.verdict for sentence in sentences}
    assert {topic: verdicts[topic] for topic in EXPECTED[make]} == EXPECTED[make], words(sentences)


@pytest.mark.parametrize("make", [collapsed, lazy, rich, memorizing], ids=lambda make: make.__name__)
def test_sentences_stay_what_they_are_where_a_softmax_or_a_factor_follows_the_last_map(make):
    network, X, labels, options = make()

    class Scaled(nn.Sequential):
        def forward(self, X):
            return 8 * super().forward(X)

    told = summarize(network, X, labels=labels, **options)
    assert summarize(Scaled(*network), X, labels=labels, **options) == told
    if "before" in options:
        options["before"] = nn.Sequential(*options["before"], nn.LogSoftmax(dim=1))
    others = summarize(nn.Sequential(*network, nn.LogSoftmax(dim=1)), X, labels=labels, **options)
    assert others == [told[0], told[1], others[2], *told[3:]]  # a bottleneck is of layers before and after it


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
def test_a_branch_beside_a_skip_connection_is_no_bottleneck(skip, verdict):
    X = torch.randn(80, 20, dtype=torch.float64)
    network = Beside(skip=skip).double()
    layers = ["input", "first", "narrow", "norm", "middle", "norm#2", "last"]
    sentence = summarize(network, X, layers)[2]
    assert sentence.verdict == verdict, sentence
    if skip:
        assert "'narrow' is narrow, but not all that the network returns passes through it" in sentence.text
    look = layer_facts.look(network_reader(network, X), layers)
    passed = {name: look.passed(name) for name in layers[1:]}
    assert passed == {name: name != "narrow" or not skip for name in layers[1:]}
    assert not network.narrow._forward_hooks


def test_nothing_passes_alone_through_attention_beside_its_stream():
    torch.manual_seed(0)
    block = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).double()
    network = nn.Sequential(block, nn.Flatten(), nn.Linear(64, 3).double())
    look = layer_facts.look(network_reader(network, torch.randn(20, 4, 16, dtype=torch.float64)), None)
    through = {"0.norm1", "0.norm2", "1", "2"}
    assert {name for name in look.layers if name != "input" and look.passed(name)} == through


def test_collapse_is_not_told_of_a_branch_but_of_what_enters_the_last_map():
    class Stream(nn.Module):
        def __init__(self):
            super().__init__()
            self.signs, self.branch, self.head = signs(), nn.Linear(6, 6, bias=False), nn.Linear(6, 3)

        def forward(self, X):
            corners = self.signs(X)
            return self.head(0.01 * X + corners + 0.1 * self.branch(corners))

    X, labels = blobs(0, noise=0.3)
    torch.manual_seed(0)
    network = Stream().double()
    told = summarize(network, X, labels=labels)[1]
    assert (told.verdict, "'branch' is a branch" in told.text) == ("cannot tell", True)
    told = summarize(network, X, ["input", "head:input"], labels=labels)[1]
    assert told.text == "Classes collapse from 'head:input' on; in 'head:input'"
    with torch.no_grad():
        H = network.signs(X)
        H = (0.01 * X + H + 0.1 * network.branch(H)).numpy()
    means = np.array([H[labels == c].mean(axis=0) for c in range(3)])
    within, between = np.sum((H - means[labels]) ** 2) / len(H), np.sum((means - means.mean(axis=0)) ** 2) / 3
    assert told.interval.value == pytest.approx(within / (within + between))


def of_tokens(table, *layers):
    """A network on token ids: row by row of a table, then these layers."""
    return nn.Sequential(nn.Embedding.from_pretrained(torch.tensor(table)), *layers).double()


def test_embeddings_stand_for_the_inputs_where_these_are_token_ids():
    torch.manual_seed(0)
    labels = np.arange(60) % 3
    found = summarize(of_tokens(CODES, *signs(), nn.Linear(6, 3)), torch.tensor(labels), labels=labels, embeddings="0")
    assert "the inputs are collapsed already" in found[1].text

    long = np.eye(12)
    long[0] *= 100
    found = summarize(of_tokens(long, nn.Linear(12, 12), nn.Linear(12, 3)), torch.arange(12), embeddings="0")
    assert "the inputs have one already" in found[3].text

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
    given = {"labels": labels, "before": network, "held_out": (X, labels)}
    assert "in '2'" in summarize(network, X, **given)[1].text
    assert "in '1'" in summarize(network, X, classifier="2", **given)[1].text
    for name in ("classifier", "embeddings"):
        with pytest.raises(ValueError, match="no layer 'head'"):
            summarize(network, X, **{name: "head"})


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_so_of_an_untrained_network_on_noise(seed):
    X, labels = random_labels(seed)
    held_out = random_labels(100 + seed)
    sentences = summarize(untrained(seed), X, labels=labels, before=untrained(50 + seed), held_out=held_out)
    assert [str(sentence) for sentence in sentences if sentence.verdict == "yes"] == []


def test_where_collapse_begins_and_where_a_bottleneck_is_are_named():
    network, X, labels, _ = collapsed()
    assert "Classes collapse from '1' on; in '1'" in words(summarize(network, X, labels=labels))
    network, X, labels, _ = bottleneck()
    assert "There is a bottleneck in '0'" in words(summarize(network, X, labels=labels))


def test_sentences_hold_number_interval_threshold_and_source_and_what_is_so_comes_first():
    network, X, labels, options = memorizing()
    sentences = summarize(network, X, labels=labels, **options)
    text = words(sentences)
    assert text.index("It memorized") < text.index("Classes do not collapse") < text.index("Cannot tell")
    for sentence in sentences:
        if sentence.verdict != "cannot tell":
            assert sentence.interval.low <= sentence.interval.value <= sentence.interval.high
            assert np.isfinite(sentence.threshold)
            assert f"threshold {sentence.threshold:.3g}; {sentence.source})." in str(sentence)
    accuracy = next(sentence for sentence in sentences if sentence.topic == "memorized").interval.value
    with torch.no_grad():
        X, labels = options["held_out"]
        assert accuracy == np.mean(network(X).numpy().argmax(axis=1) == labels)


def test_without_labels_there_are_topics_that_cannot_be_told():
    network, X, _, _ = bottleneck()
    verdicts = {sentence.topic: sentence.verdict for sentence in summarize(network, X)}
    assert verdicts["bottleneck"] == "yes"
    assert [verdicts[topic] for topic in ("learned", "collapse", "features", "memorized")] == ["cannot tell"] * 4
    assert str(Sentence("a", "cannot tell", "Cannot tell whether b: c")) == "Cannot tell whether b: c."


# intervals


def test_the_interval_of_a_share_holds_it_as_often_as_it_says():
    """Exactly, by summing over all outcomes of 40 points: the score interval is within a percent of 99."""
    from math import comb

    for p in (0.2, 0.5, 0.7):
        chances = [comb(40, k) * p**k * (1 - p) ** (40 - k) for k in range(41)]
        held = sum(chance for k, chance in enumerate(chances) if share(k, 40).low <= p <= share(k, 40).high)
        assert abs(held - 0.99) < 0.01


def test_the_jackknife_of_a_mean_is_the_standard_error_with_students_quantile():
    x = np.random.default_rng(0).normal(size=10)
    found = jackknife(lambda indices: float(x[indices].mean()), folds([np.arange(10)]), 10)
    half = 3.2498355 * x.std(ddof=1) / np.sqrt(10)  # 99.5 % quantile of Student's distribution with 9 degrees
    np.testing.assert_allclose([found.value, found.low, found.high], [x.mean(), x.mean() - half, x.mean() + half])


def test_statistics_of_layers_are_those_written_out():
    X, labels = blobs(0)
    F = X.numpy()
    means = np.array([F[labels == k].mean(axis=0) for k in range(3)])
    within = np.mean([np.sum((F[labels == k] - means[k]) ** 2) / 20 for k in range(3)])
    between = np.mean(np.sum((means - means.mean(axis=0)) ** 2, axis=1))
    np.testing.assert_allclose(within_share(F, labels).value, within / (within + between))
    s = np.linalg.svd(F - F.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(rank(F).value, np.exp(-np.sum(s / s.sum() * np.log(s / s.sum()))))
    np.testing.assert_allclose(likeness(F, 3 * F[:, ::-1]).value, 1)


def test_few_points_give_no_sure_rank():
    """Twelve orthogonal points, one of which a layer blows up: its rank is near one, or not, by that one point."""
    network, X, labels, options = odd()
    found = {s.topic: s for s in summarize(network, X, labels=labels, **options)}
    assert found["bottleneck"].verdict == "cannot tell"
    assert found["bottleneck"].interval.low == 1


def test_several_rows_of_a_point_are_refused():
    network, X, labels, _ = collapsed()
    with pytest.raises(ValueError, match="makes several rows of a point"):
        summarize(network, X, labels=labels, features="tokens")


def test_weights_of_another_network_before_training_are_refused():
    network, X, labels, _ = collapsed()
    with pytest.raises(ValueError, match="before does not fit the network"):
        summarize(network, X, labels=labels, before={})
