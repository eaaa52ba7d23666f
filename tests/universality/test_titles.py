"""Titles of figures say what their data say: with another outcome another title, without a finite value neither."""

import numpy as np
import pytest
import xarray as xr
from tests.titled import drawn, made_up, title_of

from repdyn.universality.theory.published import FIGURE_2, FIGURE_3, FIT_LOSSES


@pytest.mark.parametrize(("name", "prefix"), [("fig6_xor", ""), ("fig16_xor_adam", "adam_")])
def test_titles_of_xor_count_the_merged_pairs_of_every_run(name, prefix):
    data = made_up("universality", name)
    nets = data["xor_structure"]
    nets["learned"][:] = 1
    for run, ratios in (("low", (0.1, 0.2)), ("intermediate", (0.1, 0.5)), ("high", (0.9, 0.8))):
        nets["merged"].loc[{"run": f"{prefix}{run}"}] = np.array(ratios)
    nets["learned"].loc[{"run": f"{prefix}two_layers"}] = 0
    merged = "merged both pairs of equal target"
    assert title_of("universality", name, data).endswith(f": only 20 layers and small weights {merged}")
    assert (
        "both (20 layers, small), one (20 layers, middle), none (20 layers, large), none learned (2 layers, small)"
        in drawn("universality", name, data).repdyn["caption"]
    )
    nets["merged"][:] = 0.5
    assert title_of("universality", name, data).endswith(f": none of 3 {merged}")
    nets["learned"][:] = 0
    assert title_of("universality", name, data).endswith(f": ? {merged}")


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("fig8_blob_structure", ("high", "low", "very_low")),
        ("fig17_blob_structure_adam", ("adam_high", "adam_low", "leaky_high", "leaky_low")),
    ],
)
def test_blobs_say_whether_contexts_collapse_more_at_smaller_weights(name, runs):
    data = made_up("universality", name)
    blobs = data["blob_structure"]
    gains = {"high": 2.0, "low": 0.5, "very_low": 0.3, "adam_high": 2.0, "adam_low": 0.5, "leaky_high": 2.0}
    blobs = data["blob_structure"] = blobs.assign_coords(
        gain=("run", [gains.get(str(run), 0.5) for run in blobs["run"].values])
    )
    typical = blobs["typical_collapse"]
    for run in runs:
        typical.loc[{"run": run}] = gains.get(run, 0.5) / 2
    assert title_of("universality", name, data).endswith(": contexts collapse more at smaller weights")
    typical.loc[{"run": runs[-1]}] = 9
    assert title_of("universality", name, data).endswith(": contexts do not collapse more at smaller weights")
    typical[:] = np.nan
    assert title_of("universality", name, data).endswith("is not known")


@pytest.mark.parametrize("name", ["fig9_structure", "fig18_structure_adam"])
def test_distances_say_where_the_prediction_fits_them_less(name):
    data = made_up("universality", name)
    correlation = data["representational_structure"]["correlation_of_mean"]
    cases = (
        (0.9, 0.4, "fits distances worse between digits than over all pairs"),
        (0.4, 0.9, "fits distances no worse between digits than over all pairs"),
        (np.nan, np.nan, "to an unknown degree"),
    )
    for total, between, words in cases:
        correlation[:] = total
        correlation.loc[{"part": "between classes"}] = between
        assert title_of("universality", name, data).endswith(words)


def test_figure_11_says_whether_an_altered_dynamics_fits_better():
    data = made_up("universality", "fig11_alternatives")
    losses = data["default_network_fits"]["alternative_loss"]
    cases = (
        (1.0, "the theory fits better than the altered dynamics"),
        (3.0, "an altered dynamics fits better than the theory"),
        (np.nan, "not compared"),
    )
    for theory, words in cases:
        losses[:] = 5.0
        losses.loc[{"alternative": "square"}] = 2.0
        losses.loc[{"alternative": "theory"}] = theory
        figure = drawn("universality", "fig11_alternatives", data)
        assert figure.repdyn["title"].endswith(words)
        assert "at best 2 (square)" in figure.repdyn["caption"]
    losses[:] = np.nan
    assert title_of("universality", "fig11_alternatives", data).endswith("not compared")


def test_figure_15_compares_adam_with_descent():
    data = made_up("universality", "fig15_adam")
    adam, descent = data["adam_fits"]["r2"], data["architecture_fits"]["r2"]
    descent[:] = 0.5
    for level, words in ((0.1, "worse with Adam than"), (0.9, "no worse with Adam at some rate"), (np.nan, "unknown")):
        adam[:] = level
        assert words in title_of("universality", "fig15_adam", data)


def shown_r2(fits, levels):
    """All trials have converged, with the same explained variances of h, y, w in each network."""
    fits["shown"][:] = 0
    for network, r2 in levels.items():
        fits["r2"].loc[{"network": network}] = xr.DataArray(np.array(r2, float), {"curve": list("hyw")}, "curve")


def test_figure_2_counts_the_networks_that_the_theory_explains():
    data = made_up("universality", "fig2_architectures")
    fits, names = data["architecture_fits"], FIGURE_2
    shown_r2(fits, dict.fromkeys(names, (0.9, 0.8, 0.7)))
    words = "Figure 2: the theory explains 80% of "
    assert title_of("universality", "fig2_architectures", data) == (
        f"{words}$h$ in all {len(names)}, of $y$ in all {len(names)} and of $w$ in 0 of {len(names)} networks"
    )
    shown_r2(fits, {"relu": (0.7, 0.9, 0.9)})
    title = title_of("universality", "fig2_architectures", data)
    assert f"$h$ in {len(names) - 1} of {len(names)}, of $y$ in all" in title
    assert title.endswith(f"of $w$ in 1 of {len(names)} networks")
    fits["r2"][:] = np.nan
    assert "$h$ in none known, " in title_of("universality", "fig2_architectures", data)


def test_figure_3_names_the_gains_at_which_the_theory_explains_every_curve():
    data = made_up("universality", "fig3_initial_weights")
    fits, runs = data["architecture_fits"], data["architectures"]
    start = "Figure 3: the theory explains 80% of each of $h, y, w$ for "
    shown_r2(fits, dict.fromkeys(FIGURE_3, (0.9, 0.8, 0.9)))
    assert title_of("universality", "fig3_initial_weights", data) == f"{start}all 5"
    shown_r2(fits, dict.fromkeys([name for name in FIGURE_3 if name != "low"], (0.9, 0.9, 0.7)))
    gain = float(runs["gain"].sel(network="low"))
    assert title_of("universality", "fig3_initial_weights", data) == f"{start}only gain {gain:g}"
    fits["r2"][:] = np.nan
    assert title_of("universality", "fig3_initial_weights", data) == f"{start}?"


def test_formula_47_fits_the_draws_as_printed_and_as_corrected():
    data = made_up("universality", "n2_final_distribution")
    drawn_shares = data["final_distribution"]
    start = "Final distance over random initial weights: (47) as printed fits the draws for "
    for kind in ("printed", "corrected"):
        drawn_shares[kind] = drawn_shares["level"] + 0 * drawn_shares[kind]
    assert title_of("universality", "n2_final_distribution", data) == f"{start}all 3, as corrected for all 3"
    rho = drawn_shares["rho"].values
    drawn_shares["printed"].loc[{"rho": rho[1:]}] += 0.02
    one = rf"only $\tau_y/\tau_h$ = {rho[0]:g}"
    assert title_of("universality", "n2_final_distribution", data) == f"{start}{one}, as corrected for all 3"
    drawn_shares["printed"][:] = np.nan
    assert title_of("universality", "n2_final_distribution", data) == f"{start}?, as corrected for all 3"


def test_the_printed_limit_of_the_lazy_regime_is_reached_or_not():
    data = made_up("universality", "n3_rich_to_lazy")
    maps = data["theory_maps"]
    maps["regime_h"][:] = maps["regime_printed"][:] = 2.0
    assert title_of("universality", "n3_rich_to_lazy", data).endswith(": the printed limit is reached for all 3")
    maps["regime_printed"].loc[{"rho": maps["rho"][1:]}] = -2.0
    assert title_of("universality", "n3_rich_to_lazy", data).endswith(
        rf"reached for only $\tau_y/\tau_h$ = {float(maps['rho'][0]):g}"
    )
    maps["regime_h"][:] = np.nan
    assert title_of("universality", "n3_rich_to_lazy", data).endswith("reached for ?")


def test_weighing_raises_the_correlation_or_not():
    data = made_up("universality", "n4_correlations")
    levels = data["representational_structure"]["correlation_of_mean"]
    for over_all, between, words in (
        (0.9, 0.4, "rises over all entries, does not rise between classes"),
        (0.4, 0.9, "does not rise over all entries, rises between classes"),
        (np.nan, np.nan, "may change over all entries, may change between classes"),
    ):
        levels.loc[{"prediction": "pair alone"}] = 0.5
        levels.loc[{"prediction": "weighed (50)", "part": "all entries"}] = over_all
        levels.loc[{"prediction": "weighed (50)", "part": "between classes"}] = between
        assert title_of("universality", "n4_correlations", data).endswith(f"the correlation {words}")


def test_the_closed_form_explains_a_network_or_not():
    data = made_up("universality", "n5_closed_form")
    fits = data["default_network_fits"]
    fits["shown"][...] = 0
    for level, words in (
        (0.9, "explains 80% of each of $h, y, w$ of a trained network"),
        (0.7, "explains less than 80% of $h$, $y$ or $w$ of a trained network"),
        (np.nan, "is not compared with a network"),
    ):
        fits["r2"][:] = 0.95
        fits["r2"].loc[{"curve": "w"}] = level
        if level != level:
            fits["r2"][:] = np.nan
        assert title_of("universality", "n5_closed_form", data).endswith(f"closed form of the theory {words}")


def test_figure_14_counts_the_times_at_which_the_ratio_falls():
    data = made_up("universality", "fig14_taylor")
    ratio, looks = data["taylor_ratios"]["ratio"], data["taylor_ratios"].sizes["look"]
    falling = xr.DataArray(np.linspace(2, 1, ratio.sizes["bin"]), dims="bin")
    ratio[:] = falling.broadcast_like(ratio).transpose(*ratio.dims)
    start = "Figure 14: with distance the ratio of Taylor orders falls in the encoder at "
    title = title_of("universality", "fig14_taylor", data)
    assert title == f"{start}all {looks} times, in the decoder at all {looks}"
    ratio.loc[{"look": ratio["look"][0], "map": "encoder"}] = 1 / falling
    title = title_of("universality", "fig14_taylor", data)
    assert title == f"{start}{looks - 1} of {looks} times, in the decoder at all {looks}"
    ratio[:] = np.nan
    title = title_of("universality", "fig14_taylor", data)
    assert title == f"{start}none known times, in the decoder at none known"


def test_figure_1_says_how_the_points_move_in_the_hidden_layer():
    data = made_up("universality", "fig1_two_points")
    h = data["default_network_fits"]["shown_curves"].sel(source="network", curve="h")
    for start, end, way in ((0.01, 0.1, "move apart"), (0.5, 0.02, "come together")):
        h[:] = start
        h[-1] = end
        title = title_of("universality", "fig1_two_points", data)
        assert title == f"Figure 1: two points {way} in the hidden layer, $h$ from {start:g} to {end:g}"


def test_figure_4_counts_the_kinds_of_pairs_that_the_theory_explains():
    data = made_up("universality", "fig4_digit_pairs")
    r2 = data["digit_pairs"]["r2"]
    r2[:] = 0.9
    start = "Figure 4: 80% explained of "
    title = title_of("universality", "fig4_digit_pairs", data)
    assert title == f"{start}$h$ in all 3, $y$ in all 3, $w$ in all 3 kinds of pairs"
    r2.loc[{"curve": "y", "weighting": "equation (49)", "kind": "same"}] = 0.7
    title = title_of("universality", "fig4_digit_pairs", data)
    assert title == f"{start}$h$ in all 3, $y$ in 2 of 3, $w$ in all 3 kinds of pairs"
    r2[:] = np.nan
    assert "$h$ in none known" in title_of("universality", "fig4_digit_pairs", data)


def test_figure_5_counts_the_networks_in_which_the_equation_tells_more():
    data = made_up("universality", "fig5_final_distances")
    predictions = data["final_predictions"]
    count = predictions.sizes["network"]
    predictions["correlation_dy"][:] = 0.5
    for worse, words in ((0, f"all {count}"), (1, f"{count - 1} of {count}")):
        predictions["correlation"][:] = 0.9
        predictions["correlation"][:worse] = 0.1
        title = title_of("universality", "fig5_final_distances", data)
        assert title == f"Figure 5: equation (10) tells more than $dy$ alone in {words} networks"


def test_figure_7_compares_contexts_with_features():
    data = made_up("universality", "fig7_blobs")
    for between, words in ((2.0, "more"), (0.1, "less")):
        data["blob_structure"]["input_between"] = between
        data["blob_structure"]["input_along"] = 0.5
        title = title_of("universality", "fig7_blobs", data)
        assert title == f"Figure 7: in the data set the context parts inputs {words} than a feature does"


def test_figure_10_compares_the_halves_of_the_network():
    data = made_up("universality", "fig10_depth")
    fits = data["default_network_fits"]
    fits["halfway"] = fits.sizes["layer"] // 2
    for first, second, words in ((0.2, 0.9, "more in"), (0.9, 0.2, "no more in")):
        fits["r2"][:] = xr.where(np.arange(fits.sizes["layer"]) < int(fits["halfway"]), first, second).reshape(
            [-1 if dim == "layer" else 1 for dim in fits["r2"].dims]
        )
        title = title_of("universality", "fig10_depth", data)
        assert title == f"Figure 10: the theory explains {words} the second half of the layers"


def test_the_phase_plane_says_whether_small_starts_rest_longer():
    data = made_up("universality", "n1_phase_plane")
    maps = data["theory_maps"]
    for power, words in (
        (-1, "the smaller the start, the longer the plateau"),
        (1, "a smaller start does not always rest longer"),
    ):
        half = maps["scale"].astype(float) ** power
        maps["plateau_half"] = half.broadcast_like(maps["plateau_half"]).transpose(*maps["plateau_half"].dims)
        assert title_of("universality", "n1_phase_plane", data) == f"Phase plane and plateau: {words}"
    maps["plateau_half"] = maps["plateau_half"] * np.nan
    assert title_of("universality", "n1_phase_plane", data).endswith("how long plateaus last is not known")


def test_published_fit_losses_within_our_trials_are_counted():
    data = made_up("universality", "n6_fit_losses")
    units = [int(fits["units"]) for fits in data.values()]
    for least, largest, words in ((0.01, 100, "all 5"), (2, 3, "0 of 5"), (0.3, 0.5, "0 of 5")):
        for fits in data.values():
            published = np.array([FIT_LOSSES.get(str(name), 1.0) for name in fits["alternative"].values])
            share = np.linspace(least, largest, fits.sizes["seed"])
            losses = xr.DataArray(np.outer(published, share), dims=("alternative", "seed"))
            fits["alternative_loss"][:] = losses.transpose(*fits["alternative_loss"].dims)
        title = title_of("universality", "n6_fit_losses", data)
        assert title == "Published fit losses within our range: " + ", ".join(f"{words} at {n} units" for n in units)
