"""Numbers in captions that no other test works out again, from made-up datasets with numbers of their own."""

import numpy as np
from tests.titled import drawn, made_up

STUDY = "bn_decomposed"


def captioned(name, data=None):
    data = data or made_up(STUDY, name)
    return drawn(STUDY, name, data).repdyn["caption"], *data.values()


def test_captions_of_networks_name_points_depth_width_and_draws():
    caption, ablation = captioned("fig1_ablation")
    n, depth, width = (int(ablation[name].max()) for name in ("point_count", "layer", "width"))
    assert caption.startswith(f"Angles of all pairs of a batch of {n} images after {depth} layers of width {width} at")
    caption, gaps = captioned("orthogonality_gap")
    assert f"Gram matrix of {int(gaps['point_count'])} Gaussian points from $I/n$ through" in caption
    assert f"range of {gaps.sizes['seed']} draws" in caption
    assert f"Medians after {int(gaps['layer'].max())} layers, by width" in caption


def test_one_neuron_per_point_tells_steps_draws_and_the_median_of_every_scheme():
    data = made_up(STUDY, "disc_point_neurons")
    neurons = data["point_neurons"]
    figure = drawn(STUDY, "disc_point_neurons", data)
    caption = figure.repdyn["caption"]
    assert f"{int(neurons['points'])} neurons for as many training images" in caption
    assert f"{int(neurons['steps_made'])} steps of full-batch gradient descent" in caption
    assert f"one of {neurons.sizes['seed']} draws" in caption
    best = neurons["best_rate"].values
    words = []
    for place, scheme in enumerate(neurons["scheme"].values):
        own = neurons["test_accuracy"].sel(scheme=scheme, rate=best[place]).values
        words.append(f"{np.median(own):.2f} ({str(scheme).replace('he', 'He')})")
    assert f"Median test accuracy: {', '.join(words)}." in caption
    low, high = figure.axes[0].get_ylim()
    assert low > high, "the first scheme is the top one"


def test_theorem_3_tells_the_largest_standard_error_over_its_mean():
    data = made_up(STUDY, "thm3_full_rank")
    rows = data["rows_to_full_rank"]
    draws = np.arange(rows.sizes["draw"])
    y = np.array([100 + (batch + 1) * (draws % 5) for batch in range(rows.sizes["batch"])])
    rows["y"] = (("batch", "draw"), y, rows["y"].attrs)
    largest = (y.std(axis=1) / y.mean(axis=1)).max() / np.sqrt(y.shape[1])
    caption, _ = captioned("thm3_full_rank", data)
    assert f"standard errors are up to {largest:.1%} of the mean" in caption


def test_theorem_11_tells_the_median_of_gaussian_batches_alone():
    data = made_up(STUDY, "thm11_limits")
    limits = data["tree_limits"]
    gaussian = limits["kind"].values == "gaussian"
    half = gaussian.sum() // 2
    limits["extremes"][:] = 0.01
    limits["extremes"][gaussian] = [0.2] * half + [0.4] * (gaussian.sum() % 2) + [0.6] * half
    caption, *_ = captioned("thm11_limits", data)
    assert "over all batches a median of 0.4. " in caption


def test_theorem_14_tells_clusters_and_the_largest_difference_of_their_factors():
    data = made_up(STUDY, "thm14_contraction")
    contraction = data["contraction"]
    factor = contraction["factor"].transpose(..., "draw")
    draws = factor.sizes["draw"]
    factor[:] = 1 + 0.02 * np.arange(draws)
    factor[{dim: 1 for dim in factor.dims if dim != "draw"}] = 2 + 0.1 * np.arange(draws)
    contraction["factor"] = factor
    caption, *_ = captioned("thm14_contraction", data)
    most = 0.1 * (draws - 1) / (2 + 0.05 * (draws - 1))
    assert f"mean of {draws} clusters, whose factors differ by up to {most:.1%}." in caption


def test_the_tree_tells_its_batch_and_the_clusters_beyond_two():
    caption, tree = captioned("fig4_tree")
    n, layers = tree.sizes["point"], int(tree["layer"].max())
    values = ", ".join(f"{value:g}" for value in tree["value"].values[0])
    assert caption.startswith(
        f"All rows of the first {layers} layers of the simplified model from the batch ({values})."
    )
    assert f"stays n - 2 = {n - 2}: however deep, no more than {n - 2} rows have more" in caption


def test_figure_3_tells_of_batches_of_images_in_their_last_layer_alone():
    """Earlier layers, Gaussian batches and batches below seven points, which have no odd point, would say otherwise."""
    data = made_up(STUDY, "fig3_odd_point")
    odd = data["odd_point"]
    odd["odd_angle"][:], odd["intra_angle"][:] = 50.0, 0.1
    large = odd["batch"].values[odd["batch"].values >= 7]
    last = {"source": "images", "layer": odd["layer"].values[-1], "batch": large}
    odd["odd_angle"].loc[last] = 88.0
    odd["intra_angle"].loc[last] = 540 / odd["batch"].loc[{"batch": large}]
    figure = drawn(STUDY, "fig3_odd_point", data)
    words = "one odd point ends at nearly a right angle to the others, which do not become one point"
    assert figure.repdyn["title"].endswith(words)
    assert figure.repdyn["alt"].endswith("The odd point ends at 88 degrees to the others.")
    assert figure.axes[3].get_title("left") == "(d) the others end at 540$/n$ degrees"
