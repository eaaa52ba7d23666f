"""Rows by split and the ratio (A + C)/(B + D) of Appendix E: theory, and made-up data that turns the claims."""

import numpy as np
import pytest
import xarray as xr
from tests.bn_decomposed.deciding import decided

from repdyn.bn_decomposed.claims.appendix_e import ratio_of_amplitudes_converges, rows_of_the_extremes_exist
from repdyn.bn_decomposed.theory.cluster_tree import ClusterTree, enumerate_tree
from repdyn.bn_decomposed.theory.tree_formulas import later_amplitude_ratios, parted_depth_bound

CASES, STEPS = 3, 4


def test_equally_spaced_points_are_stable_before_any_row_parts_an_extreme():
    """(0, 0, 0, 1, 2) and (2, 1, 0, 0, 0): three clusters each, so A = B = C = D = 0 in the first stable layer."""
    assert enumerate_tree([0, 1, 2, 3, 4], 1).tolist() == [[0, 0, 0, 5, 10], [10, 5, 0, 0, 0]]
    tree = ClusterTree([0, 1, 2, 3, 4])
    assert tree.stable_depth == 1
    assert not tree.step().split_squares().any()
    assert tree.wide_square() == pytest.approx(2 * 2**2 / np.exp(2 * tree.log_scale))


def test_split_squares_by_hand():
    """(0, 1, 5): mean 2, children (0, 0, 3) and (2, 1, 0); then (0, 0, 2), (1, 1, 0), (1, 0, 0), (0, 0, 1)."""
    tree = ClusterTree([0, 1, 5]).step()
    assert tree.split_squares() * np.exp(2 * tree.log_scale) == pytest.approx([0, 9])
    assert tree.wide_square() * np.exp(2 * tree.log_scale) == pytest.approx(4)
    tree.step()
    assert tree.split_squares() * np.exp(2 * tree.log_scale) == pytest.approx([1, 1 + 2**2 + 1**2])


@pytest.mark.parametrize("seed", range(5))
def test_later_ratios_stay_in_the_interval(seed):
    n = 8
    tree = ClusterTree(np.random.default_rng(seed).standard_normal(n))
    tree.step(tree.stable_depth)
    while not tree.split_squares().all():
        tree.step()
    A, C, *_, D, B = tree.split_squares()
    low, high = later_amplitude_ratios(A, B, C, D, tree.wide_square(), n)
    for _ in range(60):
        tree.step()
        A, C, *_, D, B = tree.split_squares()
        assert low * (1 - 1e-12) <= (A + C) / (B + D) <= high * (1 + 1e-12)


def test_interval_by_hand():
    assert later_amplitude_ratios(2.0, 4.0, 1.0, 3.0, 0.5, 3) == (2 / 9, 5 / 4)  # (n - 1)^2 wide = 2


@pytest.mark.parametrize("n", [3, 5, 12])
def test_extreme_points_are_parted_within_the_bound(n):
    for seed in range(10):
        x = np.sort(np.random.default_rng(seed).standard_normal(n))
        mean = np.maximum(x - x.mean(), 0).mean()
        tree, bound = ClusterTree(x), [parted_depth_bound(gap, mean, n) for gap in np.diff(x)[[0, -1]]]
        for layer in range(1, max(bound) + 1):
            parted = np.array(tree.step().amplitudes()) > 0
            assert parted[layer >= np.array(bound)].all()


def test_bound_on_the_parting_by_hand():
    assert parted_depth_bound(1.0, 0.5, 4) == 2  # log(2)/log(2) = 1
    assert parted_depth_bound(10.0, 0.5, 4) == 1  # parted at once
    with pytest.raises(ValueError, match="3"):
        parted_depth_bound(1.0, 1.0, 2)


def amplitudes(*, change=0.0, leaves=0.0, width=0.0, miscount=0.0, zeros=0, late=0.0):
    """Ratios that come to rest at 1/2, 1 and 2, with intervals that close in on them; what is given spoils a part."""
    rest = np.array([0.5, 1.0, 2.0])[:, None, None] * np.ones((1, 2, 1))
    open_by = np.array([4.0, 1e-2, 1e-4, width])
    ratio = rest * (1 + np.array([1.0, 5e-3, 0.0, change]))
    ratio[..., 1] *= 1 + leaves
    shares = np.tile([0.4, 0.3, 0.1, 0.05], (CASES, 1))
    dims = ("case", "definition", "step")
    return xr.Dataset(
        {
            "ratio": (dims, ratio),
            "lowest": (dims, rest * (1 - open_by / 5)),
            "highest": (dims, rest * (1 + open_by)),
            "lowest_unfed": (dims, rest * np.ones(STEPS)),
            "highest_unfed": (dims, rest * np.ones(STEPS) * (1 + 1e-12)),
            "ratio_without_B": (dims, rest * np.exp(np.arange(STEPS))),
            "enumerated": (("case", "side"), shares + miscount),
            "by_algorithm": (("case", "side"), shares),
            "by_other_end": (("case", "side"), shares[:, ::-1]),
            "zero_layers": (("case", "side"), np.full((CASES, 4), zeros)),
            "first_layer": (("case", "extreme"), np.array([[2.0, 3.0], [5.0, 4.0], [6.0, 7.0]]) * (1 + late)),
            "first_layer_bound": (("case", "extreme"), np.array([[2.0, 4.0], [6.0, 4.0], [8.0, 9.0]])),
            "first_layer_bound_of_largest_gap": (("case", "extreme"), np.full((CASES, 2), 2.0)),
        },
        {"definition": ["(2, n-2)", "(1, 1, n-2)"], "step": np.arange(STEPS), "side": ["A", "B", "C", "D"]},
    )


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (amplitudes(), "holds"),
        (amplitudes(change=9e-7, width=8e-7), "holds"),
        (amplitudes(change=1.1e-6, width=8e-7), "does not hold"),
        (amplitudes(leaves=3.9), "holds"),  # the interval of the first layer ends at five times the limit
        (amplitudes(leaves=4.1), "does not hold"),
        (amplitudes(width=7e-7), "holds"),
        (amplitudes(width=1e-6), "does not hold"),  # 1.2e-6 between the ends
        (amplitudes(miscount=9e-13), "holds"),
        (amplitudes(miscount=2e-12), "does not hold"),
    ],
)
def test_convergence_turns_with_the_ratios(data, status):
    data = data.copy(deep=True)
    data["ratio"][..., 3] = np.clip(data["ratio"][..., 3], data["lowest"][..., 2], data["highest"][..., 2])
    assert ratio_of_amplitudes_converges(data).status == status


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (amplitudes(zeros=0), "holds"),
        (amplitudes(zeros=1), "holds as corrected"),
        (amplitudes(zeros=1, late=0.01), "does not hold"),
    ],
)
def test_rows_of_the_extremes_turn_with_their_layers(data, status):
    assert rows_of_the_extremes_exist(data).status == status


def test_every_part_has_a_control_that_it_rejects():
    verdicts = decided(
        [ratio_of_amplitudes_converges, rows_of_the_extremes_exist], {"split_amplitudes": amplitudes(zeros=1)}
    )
    assert set(verdicts.values()) == {"holds", "holds as corrected"}
