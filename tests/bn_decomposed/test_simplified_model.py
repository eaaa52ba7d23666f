import numpy as np
import pytest
from pydantic import ValidationError
from tests.bn_decomposed.deciding import decided

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.claims import claims_of
from repdyn.base.streams import Stream
from repdyn.bn_decomposed import tables
from repdyn.bn_decomposed.claims import appendix_c, appendix_e
from repdyn.bn_decomposed.claims import simplified_limits as limits_claims
from repdyn.bn_decomposed.claims import simplified_model as rows_claims
from repdyn.bn_decomposed.experiments import formula_audit, simplified_limits, simplified_model
from repdyn.bn_decomposed.figures import simplified_model as figures
from repdyn.bn_decomposed.methods.formula_audit import eq_32, loss_of_clusters, lossless_rows, transformed
from repdyn.bn_decomposed.settings.study import (
    ClusterRows,
    FormulaAudit,
    InteriorAngles,
    NarrowGap,
    SeveralCoordinates,
    SplitAmplitudes,
    SplitRows,
    TreeExample,
    TreeLimits,
)
from repdyn.bn_decomposed.theory.cluster_tree import ClusterTree, enumerate_tree, integer_layer, simplified_layer
from repdyn.bn_decomposed.theory.tree_formulas import stable_depth_bound

CLAIMS = claims_of(rows_claims, limits_claims, appendix_c, appendix_e)
STREAM = Stream(7, ("bn_decomposed", "test"))
NOTHING_KEPT = Checkpoint(None, "")


@pytest.fixture(scope="module")
def datasets():
    limits = TreeLimits(points=(4, 5, 10), batches=(22, 42, 42), deep_batches=2, decay=40)
    return {
        "cluster_rows": simplified_model.cluster_rows(ClusterRows(points=(3, 4, 5), layers=8, batches=3), STREAM),
        "split_rows": simplified_model.split_rows(SplitRows(points=(4, 6), layers=6, draws=4), STREAM),
        "tree_example": simplified_model.tree_example(TreeExample(values=(0, 4, 7, 15, 24), layers=3)),
        "narrow_gap": simplified_model.narrow_gap(NarrowGap(decades=(2, 6, 12))),
        "tree_limits": simplified_limits.tree_limits(limits, STREAM, NOTHING_KEPT),
        "split_amplitudes": simplified_limits.split_amplitudes(
            SplitAmplitudes(points=(5, 6), batches=3, enumerated=6, decay=40), STREAM
        ),
        "interior_angles": simplified_model.interior_angles(InteriorAngles(points=6, layers=160, every=4), STREAM),
        "several_coordinates": simplified_limits.several_coordinates(
            SeveralCoordinates(points=14, coordinates=3, decay=40, draws=2), STREAM
        ),
        "formula_audit": formula_audit.formula_audit(FormulaAudit(draws=40), STREAM),
    }


def test_claims_are_decided_and_every_part_has_a_control_that_turns_it(datasets):
    corrected = ("bnd-fig8-tie", "bnd-appE-positive")
    expected = {claim.id: "holds as corrected" if claim.id in corrected else "holds" for claim in CLAIMS}
    assert decided(CLAIMS, datasets) == expected


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


def test_three_cluster_descendants_are_sorted_by_composition():
    # (0, u, 1, 1), mean (u + 2)/4 > u: the positive child is (0, 0, v, v) with v = (2 - u)/4, of composition 2, 2.
    squares = simplified_model._squares_from_three(4, 0.4, True, 1)
    np.testing.assert_allclose(squares[:, :, 0], [[0, 0], [0, 0.4**2]], atol=1e-15)


def test_the_drawn_tree_holds_the_rows_of_the_definition(datasets):
    example = datasets["tree_example"]
    rows = example["value"].values
    last = rows[example["layer"].values == 3]
    X = rows[:1]
    for _ in range(3):
        X = simplified_layer(X)
    order = np.lexsort(last.T), np.lexsort(X.T)
    np.testing.assert_allclose(last[order[0]], X[order[1]], atol=1e-13)
    parents = example["parent"].values[1:]
    assert parents.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    children = np.vstack([simplified_layer(rows[p][None, :]) for p in parents[::2]])
    np.testing.assert_allclose(rows[1:], children, atol=1e-13)


def test_limits_agree_with_the_amplitudes_of_deep_trees(datasets):
    limits = datasets["tree_limits"]
    for n in (4, 5, 10):
        cases, deep = limits.isel(case=limits["points"] == n), limits.isel(deep=limits["deep_points"] == n)
        ratios = (deep["deep_B"] / deep["deep_A"]).values
        # Both stop when what still feeds A and B is e^-40 of them.
        np.testing.assert_allclose(cases["amplitude_ratio"].values[: ratios.size], ratios, rtol=1e-12)
    symmetric = limits.isel(case=limits["kind"] == "symmetric")
    np.testing.assert_allclose(symmetric["amplitude_ratio"], 1, rtol=1e-12)
    assert limits.isel(case=limits["kind"] == "outlier")["odd_is_last"].values.all()


def test_more_batches_change_none_before():
    few, many = (
        simplified_limits.tree_limits(
            TreeLimits(points=(4,), batches=(b,), deep_batches=2, decay=40), STREAM, NOTHING_KEPT
        )
        for b in (4, 6)
    )
    np.testing.assert_array_equal(few["ratio_first"], many["ratio_first"][:4])


def test_a_shift_of_the_batch_changes_nothing():
    x = np.array([-3, 0, 1, 7, 12])
    before, after = ClusterTree(x.tolist()).limit(), ClusterTree((x + 1000).tolist()).limit()
    assert (before.ratio_first, before.angle_last) == (after.ratio_first, after.angle_last)


def test_equation_31_fails_with_negative_transformations_but_the_smallest_inner_gap_stays():
    before = np.array([0.0, 1.0, 3.0, 6.0, 100.0])
    after = np.sort(simplified_layer(before[None, :])[1])
    inner = [np.diff(row)[1:-1] for row in (before, after)]
    assert (inner[0][0], inner[1][0]) == (2.0, 3.0)
    assert inner[0].min() == inner[1].min() == 2.0


def test_figures_and_table(datasets):
    for figure in (
        figures.fig4_tree(datasets["tree_example"]),
        figures.thm11_limits(datasets["tree_limits"], datasets["interior_angles"]),
    ):
        assert set(figure.repdyn) == {"title", "caption", "alt"}
    frame = tables.simplified_model(datasets["tree_limits"]).frame
    assert frame["n"].tolist() == [4, 5, 10]
    assert (frame["largest ratio"] <= frame["best bound"] * (1 + 1e-9)).all()
    assert (frame["best bound"] < frame["printed bound"]).all()
    assert (frame["smallest angle (degree)"] > frame["printed bound (degree)"]).all()


def test_the_table_of_theorems_10_and_11_counts_gaussian_batches_apart_from_all(datasets):
    """Depths and extremes are told of Gaussian batches alone; ratios and angles, bounded for all batches, of all."""
    data = datasets["tree_limits"].copy(deep=True)
    count, gaussian = data["points"].size, data["kind"].values == "gaussian"
    assert 0 < gaussian.sum() < count
    for place, name in enumerate(("ratio_first", "ratio_last", "angle_first", "angle_last", "extremes")):
        data[name][:] = 1 + (7 * np.arange(count) + 3 * place) % 11 + place / 8
    data["stable_depth"][:] = np.where(gaussian, 2 + np.arange(count) % 5, 40 + np.arange(count))
    for row in tables.simplified_model(data).frame.to_dict("records"):
        of_n = data["points"].values == row["n"]
        ratio, angle = (
            choose(data[f"{name}_first"].values, data[f"{name}_last"].values)[of_n]
            for name, choose in (("ratio", np.minimum), ("angle", np.maximum))
        )
        drawn = {name: data[name].values[of_n & gaussian] for name in ("stable_depth", "extremes")}
        assert row["Gaussian batches"] == (of_n & gaussian).sum()
        assert (row["median t0"], row["largest t0"]) == (np.median(drawn["stable_depth"]), drawn["stable_depth"].max())
        assert row["median shorter/longer"] == np.median(drawn["extremes"])
        assert (row["largest ratio"], row["smallest angle (degree)"]) == (ratio.max(), angle.min())


def errorbar(panel):
    """Abscissae, lower ends, middles and upper ends of a panel's error bars."""
    (container,) = panel.containers
    (bars,) = container.lines[2]
    low, high = np.array([segment[:, 1] for segment in bars.get_segments()]).T
    return container.lines[0].get_xdata(), low, container.lines[0].get_ydata(), high


def test_limits_of_theorem_11_are_drawn_beside_both_bounds(datasets):
    data = datasets["tree_limits"]
    panels = figures.thm11_limits(data, datasets["interior_angles"]).axes
    best = {
        "ratio": np.minimum(data["ratio_first"], data["ratio_last"]),
        "angle": np.maximum(data["angle_first"], data["angle_last"]),
    }
    for panel, (name, values), scale in zip(panels, best.items(), ("log", "linear"), strict=False):
        batches = [values.values[data["points"].values == n] for n in (4, 5, 10)]
        wanted = [[4, 5, 10], *np.transpose([(b.min(), np.median(b), b.max()) for b in batches])]
        np.testing.assert_allclose(errorbar(panel), wanted)
        shown = {line.get_label(): line.get_ydata() for line in panel.get_lines()}
        np.testing.assert_array_equal(shown["bound as printed"], data[f"printed_{name}"])
        np.testing.assert_array_equal(shown["best possible bound"], data[f"sharp_{name}"])
        assert (panel.get_xscale(), panel.get_yscale()) == ("log", scale)
        assert [text.get_text() for text in panel.get_xticklabels()] == ["4", "5", "10"]
    assert panels[1].get_ylim()[1] < 100  # no angle is above 90 degrees


def test_angles_between_neighbors_are_drawn_with_their_predicted_decay(datasets):
    data = datasets["interior_angles"]
    panel = figures.thm11_limits(datasets["tree_limits"], data).axes[2]
    assert (panel.get_xscale(), panel.get_yscale()) == ("linear", "log")
    shown = {line.get_label(): line for line in panel.get_lines()}
    predictions = [line for line in panel.get_lines() if line.get_linestyle() == "--" and line.get_color() == "#000000"]
    for m, prediction in zip((2, 3), predictions, strict=True):
        x, y = shown[f"points {m}, {m + 1}"].get_data()
        np.testing.assert_array_equal(y, data["angle"].sel(layer=x, first=m, second=m + 1))
        slope = np.diff(np.log(prediction.get_ydata())) / np.diff(prediction.get_xdata())
        np.testing.assert_allclose(slope, np.log(float(data["kept"].sel(split=m))))
        assert prediction.get_ydata()[-1] == y[-1]


def test_the_shorter_extreme_is_drawn_with_10_to_90_percent_of_the_gaussian_batches(datasets):
    data = datasets["tree_limits"]
    figure = figures.thm11_limits(data, datasets["interior_angles"])
    panel = figure.axes[3]
    gaussian = data["kind"].values == "gaussian"
    batches = [data["extremes"].values[gaussian & (data["points"].values == n)] for n in (4, 5, 10)]
    assert errorbar(panel)[0].tolist() == [4, 5, 10]
    np.testing.assert_allclose(errorbar(panel)[1:], np.transpose([np.percentile(b, (10, 50, 90)) for b in batches]))
    assert "10-90 % ranges" in figure.repdyn["caption"]
    (line,) = (line for line in panel.get_lines() if line.get_label() == "one odd point")
    np.testing.assert_allclose(line.get_ydata(), 1 / (line.get_xdata() - 1))
    assert (panel.get_ylim(), panel.get_yscale()) == ((0, 1), "linear")


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
    with pytest.raises(ValueError, match="increasing order"):
        stable_depth_bound([0, 2, 1, 3])


def test_lossless_rows_follow_the_definition_and_keep_their_clusters():
    rows = lossless_rows(np.array([2, 1, 1, 3, 1]), np.array([0.3, 0.1, 0.7, 0.2]), positives=2)
    assert rows.shape == (5, 8)
    assert loss_of_clusters(rows) < 1e-13
    assert {len(np.unique(np.round(row / row.max(), 10))) for row in rows} == {5}
    assert (rows.min(axis=1) == 0).all()


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(ValidationError, match="64-bit"):
        ClusterRows(points=(3, 10), layers=13, batches=2)
    with pytest.raises(ValidationError, match="one for each"):
        TreeLimits(points=(4, 5), batches=(4,), deep_batches=2, decay=40)
    with pytest.raises(ValidationError, match="apart"):
        InteriorAngles(points=20, layers=400, every=4)


def test_the_first_gap_bounds_the_mean_along_a_mixed_sequence():
    """(0, 1, 3, 6, 100) has the gap 2, its negative child 3; both are inner gaps, and the means stay above 2/5."""
    row = np.array([0.0, 1.0, 3.0, 6.0, 100.0])
    child = transformed(row, negative=True)
    np.testing.assert_allclose(np.sort(child), [0, 16, 19, 21, 22])
    assert eq_32(np.array([row, child])).printed == 0
    assert eq_32(np.array([row, child * 0.4 / child.mean() * 0.99])).printed == pytest.approx(1 / 0.99 - 1)
