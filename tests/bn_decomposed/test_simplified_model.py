import numpy as np
import pytest

from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments import simplified_model
from repdyn.bn_decomposed.methods.formula_audit import eq_32, transformed
from repdyn.bn_decomposed.settings.study import ClusterRows
from repdyn.bn_decomposed.theory.cluster_tree import ClusterTree, enumerate_tree, integer_layer
from repdyn.bn_decomposed.theory.tree_formulas import stable_depth_bound

STREAM = Stream(7, ("bn_decomposed", "test"))


def test_integer_rows_are_those_of_the_exact_enumeration():
    x = np.array([-7, 0, 2, 11])
    X = x[None, :]
    for t in range(6):
        np.testing.assert_array_equal(X, enumerate_tree(x.tolist(), t).astype(int))
        X = integer_layer(X)


def test_counts_of_a_tie():
    # (0, 1, 2) has its middle at the mean: two children of two clusters, excess 1 lost, after which it stays 0.
    rows = simplified_model.cluster_rows(ClusterRows(points=(3,), layers=4, batches=2), STREAM).isel(points=0, batch=0)
    assert rows["excess"].values.tolist() == rows["excess_by_algorithm"].values.tolist() == [1, 0, 0, 0, 0]
    assert rows["three_split_otherwise"].values.tolist() == rows["three_tied"].values.tolist() == [1, 0, 0, 0, 0]
    assert rows["losing"].values.tolist() == [0, 2, 0, 0, 0]


def test_depth_of_stability_is_within_its_bound_and_the_bound_grows_with_the_gap():
    rng = np.random.default_rng(3)
    for n in (4, 5, 8, 12):
        for _ in range(20):
            x = np.sort(rng.standard_normal(n)).tolist()
            assert ClusterTree(x).stable_depth <= stable_depth_bound(x)
    assert stable_depth_bound([0, 5, 7]) == 0
    assert stable_depth_bound([0, 1, 2, 3]) == ClusterTree([0, 1, 2, 3]).stable_depth == 1
    gaps = [[0, 0.3, 0.5, 0.5 + gap, 1] for gap in (1e-2, 1e-4, 1e-6)]
    layers = np.log(100) / np.log(5 / 4)  # per factor 100 of the gap, by the contraction 1 - 1/n
    assert np.abs(np.diff([stable_depth_bound(x) for x in gaps]) - layers).max() <= 1


def test_the_first_gap_bounds_the_mean_along_a_mixed_sequence():
    """(0, 1, 3, 6, 100) has the gap 2, its negative child 3; both are inner gaps, and the means stay above 2/5."""
    row = np.array([0.0, 1.0, 3.0, 6.0, 100.0])
    child = transformed(row, negative=True)
    np.testing.assert_allclose(np.sort(child), [0, 16, 19, 21, 22])
    assert eq_32(np.array([row, child])).printed == 0
    assert eq_32(np.array([row, child * 0.4 / child.mean() * 0.99])).printed == pytest.approx(1 / 0.99 - 1)
