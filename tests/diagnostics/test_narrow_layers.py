"""Bottlenecks among layers of several kinds, and beside layers that something goes around."""

import pytest
from tests.diagnostics.test_sentences import decided, intervals, seen

from repdyn.diagnostics import summary
from repdyn.diagnostics.methods.layer_facts import Seen
from repdyn.diagnostics.theory.intervals import Interval


@pytest.mark.parametrize(
    ("ranks", "beside", "verdict", "text"),
    [
        (((3, 2.9, 3.1), (4, 3.9, 4.1)), "a", "yes", "There is a bottleneck in 'b'"),
        (((4, 3.9, 4.1), (3, 2.9, 3.1)), "ab", "cannot tell", "'b' is narrow, but not all that the network returns"),
        (((3, 2.9, 3.1), (8, 7.9, 8.1)), "a", "cannot tell", "'a' is narrow, but not all that the network returns"),
        (((8, 7, 9), (8.5, 8, 9)), "a", "no", "There is no bottleneck; the narrowest place is 'a'"),
        (((7, 6.5, 7.4), (7, 4.6, 8.9)), "", "cannot tell", "the intervals around 'a' overlap too far"),
    ],
)
def test_of_several_narrow_layers_those_beside_others_are_no_bottlenecks(ranks, beside, verdict, text, monkeypatch):
    """Between an input and an output of rank nine; `beside` are the layers that something goes around."""
    intervals(monkeypatch, "rank", **dict(zip("ab", ranks, strict=True)), input=(9, 9, 9), last=(9, 9, 9))
    names = ("input", "a", "b", "last")
    whole = seen(names)
    sentence = summary._bottleneck(
        Seen(whole.layers, whole.hidden, None, whole.kept, passed=lambda name: name not in beside)
    )
    assert sentence.verdict == verdict
    assert text in sentence.text


KINDS = {"a": "Linear", "b": "ReLU", "c": "Linear", "last": "Linear"}


def of_kinds(ranks, kinds, monkeypatch):
    """What is told of layers of these ranks and kinds."""
    intervals(monkeypatch, "rank", **ranks)
    whole = seen(tuple(ranks))
    return summary._bottleneck(Seen(whole.layers, whole.hidden, None, whole.kept, kinds))


@pytest.mark.parametrize("wider", ["input", "a"])
def test_a_layer_is_held_against_those_of_its_kind_and_the_input(wider, monkeypatch):
    """The map in the middle has the least rank and none of its kind after it; before the last map one layer is wide."""
    ranks = {"input": (5, 5, 5), "a": (5, 5, 5), "b": (2, 2, 2), "c": (4, 3.9, 4.1), "last": (9, 8, 10)}
    ranks[wider] = (8, 7, 9)
    sentence = of_kinds(ranks, KINDS, monkeypatch)
    assert sentence.text == "There is a bottleneck in 'c'"
    assert decided(sentence) == ("yes", Interval(4, 3.9, 4.1), 7 / 1.5)
    both = of_kinds(ranks, KINDS | {"last": "ReLU"}, monkeypatch)
    assert (both.verdict, both.text) == ("yes", "There is a bottleneck in 'b'")


@pytest.mark.parametrize(
    ("narrow", "verdict", "text"),
    [
        ((4, 3.9, 4.1), "cannot tell", "the intervals around 'b' overlap too far"),
        ((8, 7.5, 8.5), "no", "There is no bottleneck; the narrowest place is 'b'"),
    ],
)
def test_layers_without_others_of_their_kind_have_no_bottleneck_or_cannot_be_told(narrow, verdict, text, monkeypatch):
    ranks = {"input": (9, 9, 9), "a": (8.6, 8, 9), "b": narrow, "last": (9, 9, 9)}
    sentence = of_kinds(ranks, {"a": "Linear", "b": "Tanh", "last": "Softmax"}, monkeypatch)
    assert decided(sentence) == (verdict, Interval(*narrow), 9 / 1.5)
    assert sentence.text.endswith(text)


def test_a_layer_with_nothing_before_it_is_no_bottleneck(monkeypatch):
    ranks = {"a": (3, 3, 3), "b": (8, 8, 8), "c": (4, 4, 4), "last": (9, 9, 9)}
    kinds = dict.fromkeys(ranks, "Linear")
    sentence = of_kinds(ranks, kinds, monkeypatch)
    assert (sentence.text, sentence.threshold) == ("There is a bottleneck in 'c'", 8 / 1.5)
