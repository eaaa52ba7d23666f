"""Random streams: numbers follow from the name alone and names do not share numbers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repdyn.base.streams import Stream

KEYS = st.lists(st.integers() | st.text(max_size=4), max_size=4).map(tuple)


def draws(stream, *key, count=5):
    return stream.generator(*key).standard_normal(count)


def test_stream_depends_on_the_names_not_on_the_calls():
    root = Stream(3)
    ways = [root.child("a", 1).generator("w"), root.child("a").child(1).generator("w"), root.generator("a", 1, "w")]
    ways += [Stream(3, ("a", 1, "w")).generator()]
    assert len({way.integers(2**63) for way in ways}) == 1


def test_other_streams_do_not_change_a_stream():
    alone = draws(Stream(3), "trial", 1)
    stream = Stream(3)
    for key in [("trial", 0), ("trial", 2), ("another", "width", 64)]:
        draws(stream, *key)
    assert np.array_equal(draws(stream, "trial", 1), alone)


@given(KEYS, KEYS, st.integers(0, 2**32), st.integers(0, 2**32))
def test_different_names_are_different_streams(first, other, seed, another):
    same = repr((seed, first)) == repr((another, other))
    assert (Stream(seed, first).entropy == Stream(another, other).entropy) == same


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ((1,), ("1",)),
        (("ab", "c"), ("a", "bc")),
        (("a",), ("a", "")),
        ((), ("",)),
        (("a", "b"), ("b", "a")),
        ((1, 12), (11, 2)),
        (("a', 'b",), ("a", "b")),
    ],
)
def test_similar_names_give_different_streams(first, other):
    assert Stream(1, first).entropy != Stream(1, other).entropy


def test_streams_of_two_experiments_differ_only_in_the_name():
    """What two experiments of a study draw from it is the same, trial by trial."""
    stream = Stream(4, ("study", "first", 3, "weights"))
    assert stream.of("other") == Stream(4, ("study", "other", 3, "weights"))
    assert stream.of("first") == stream
    assert np.array_equal(draws(stream.of("other")), draws(Stream(4, ("study", "other")), 3, "weights"))


def test_first_values_are_pinned():
    """Every number of every study depends on these: after a change, no stored result can be reproduced."""
    stream = Stream(1, ("bn_decomposed", "ablation"))
    assert stream.entropy == 27780889880314216152654507300655005160
    assert stream.integer("weights") == 2864099021856950605
    assert stream.generator(0, "weights").integers(2**63, size=2).tolist() == [3805478819295834533, 6618139545046586355]
    assert stream.generator(0, "weights").standard_normal(2).tolist() == [-0.3515134144218915, -1.8593491378812668]


def test_neighboring_streams_are_uncorrelated():
    """Correlation of n pairs of independent normals has standard error 1/sqrt(n); five of them for 66 pairs."""
    n = 20_000
    keys = [(), *((trial,) for trial in range(6)), ("weights",), (0, "weights"), ("0",)]
    streams = [*(Stream(1, key) for key in keys), Stream(0), Stream(2)]
    samples = [draws(stream, count=n) for stream in streams]
    correlations = [np.corrcoef(a, b)[0, 1] for a, b in itertools.combinations(samples, 2)]
    assert np.abs(correlations).max() < 5 / np.sqrt(n)


def test_first_numbers_of_many_streams_are_uniform():
    """One number per trial, as a sampling over trials sees it: mean and variance within five standard errors."""
    n = 4000
    first = np.array([Stream(1).generator("trial", trial).random() for trial in range(n)])
    assert abs(first.mean() - 1 / 2) < 5 * np.sqrt(1 / 12 / n)
    assert abs(first.var() - 1 / 12) < 5 * np.sqrt(1 / 180 / n)  # variance of (u - 1/2)^2 is 1/180
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 5 / np.sqrt(n)
