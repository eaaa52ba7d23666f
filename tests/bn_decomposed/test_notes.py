"""Notes of claims give the numbers that their words name, worked out again from made-up datasets."""

import re

import numpy as np
from tests.drawn import makers
from tests.noted import data_of, note_of
from tests.titled import dataset_of

from repdyn.pipeline.run.execute.loading import load_function

STUDY = "bn_decomposed"


def noted(id, data=None):
    data = data or data_of(STUDY, id)
    return note_of(STUDY, id, data), *data.values()


def gaussian_by_n(limits, name):
    chosen = limits["kind"].values == "gaussian"
    points, values = limits["points"].values[chosen], limits[name].values[chosen]
    return {int(n): values[points == n] for n in np.unique(points)}


def test_limits_of_the_ratio_are_those_of_the_last_step():
    note, splits = noted("bnd-appE-ratio")
    last = splits["ratio"].isel(step=-1, definition=0).values
    assert note.startswith(f"Limits from {last.min():.2g} to {last.max():.2g} over {last.size} batches.")


def test_depths_of_stability_are_those_of_gaussian_batches_by_size():
    note, *data = noted("bnd-thm10")
    limits, gaps = (next(one for one in data if name in one) for name in ("kind", "decade"))
    depths = gaussian_by_n(limits, "stable_depth")
    assert ", ".join(f"{n}: {np.median(own):g} ({int(own.max())})" for n, own in depths.items()) in note
    depth, decade = gaps["stable_depth"].values, gaps["decade"].values
    slope = (depth[-1] - depth[0]) / (decade[-1] - decade[0])
    assert f"needs {slope:.2f} layers per decade of the gap, {int(depth[-1])} at 1e-{int(decade[-1])}." in note


def test_the_slowest_pair_of_interior_points():
    data = data_of(STUDY, "bnd-thm11-2")
    angles = data["interior_angles"]
    layer, n = angles["layer"].values, angles.sizes["first"]
    keeps = 0.5 + 0.01 * (7 * angles["first"] + 3 * angles["second"]) % 0.4
    angles["angle"] = (keeps ** (0.01 * angles["layer"])).transpose(*angles["angle"].dims)
    note, *_ = noted("bnd-thm11-2", data)
    start = 3 * layer.size // 4
    pairs = [(i, j) for i in range(2, n) for j in range(i + 1, n)]
    ratios = [
        float(angles["angle"].sel(first=i, second=j)[-1] / angles["angle"].sel(first=i, second=j)[start])
        for i, j in pairs
    ]
    slowest = max(ratios) ** (1 / (layer[-1] - layer[start]))
    assert f"$n = {n}$: the slowest pair keeps {slowest:.4f} of its angle" in note


def test_how_often_the_far_and_the_longer_extreme_are_odd():
    data = data_of(STUDY, "bnd-thm11-which")
    limits = data["tree_limits"]
    place = np.arange(limits["kind"].size)
    for number, name in enumerate(("odd_is_last", "farther_is_last", "longer_is_last")):
        limits[name][:] = (place * (number + 3)) % (number + 2) == 0
    note, limits = noted("bnd-thm11-which", data)
    odd, far, long = (gaussian_by_n(limits, name) for name in ("odd_is_last", "farther_is_last", "longer_is_last"))
    words = ", ".join(f"{n}: {(odd[n] == far[n]).mean():.2f} ({(odd[n] == long[n]).mean():.2f})" for n in odd)
    assert f"modulus in the input: {words}." in note


def test_waits_from_equal_angles_and_from_a_far_point():
    note, batches = noted("bnd-symmetric-wait")
    wait = batches["wait"].sel(factor=2.0 if 2.0 in batches["factor"].values else batches["factor"][0])
    for n in batches["batch"].values:
        for width in batches["width"].values:
            cell = wait.sel(batch=n, width=width)
            equal = cell.sel(start="equal angles").values
            far = cell.sel(start=next(start for start in batches["start"].values if "far" in str(start))).values
            words = f"$n = {n}$, width {width}: {np.median(equal):g} ({int(equal.max())}), {np.median(far):g}"
            assert words in note


def test_what_untypical_neurons_make_up_of_the_difference_between_60_and_75():
    note, angles = noted("bnd-fig6-cause")
    mean = angles["mean_angle"].mean("seed")
    gap = (mean.sel(normalization="full") - mean.sel(normalization="rms")).transpose("batch").values
    told = [tuple(map(int, pair)) for pair in re.findall(r"(\d+)% of the neurons, (-?\d+)%", note)]
    wanted = []
    for kind in angles["untypical"].values:
        own = angles["angle_without"].sel(untypical=kind).mean("seed")
        change = (own.sel(left_out="untypical") - own.sel(left_out="none")).transpose("batch").values
        neurons = angles["untypical_share"].sel(untypical=kind).values.mean()
        wanted.append((round(100 * neurons), round(100 * float((change / gap).mean()))))
    assert sorted(told) == sorted(wanted)


def test_shares_of_the_farthest_input_are_by_kind_and_width():
    """Of a kind as many runs more, and at the wider width twice as many, find the farthest input odd."""
    data = data_of(STUDY, "bnd-remark-largest")
    runs = data["largest_norm"]
    odd, kinds, widths = runs["odd"], runs["kind"].values.tolist(), runs["width"].values
    odd[:] = (runs["farthest"] + 1).broadcast_like(odd).transpose(*odd.dims)
    shares = {kind: [3 * (place + 1) * (k + 1) for k in range(len(widths))] for place, kind in enumerate(kinds)}
    for kind, counts in shares.items():
        for width, count in zip(widths, counts, strict=True):
            place = {"kind": kind, "width": width, "run": runs["run"][:count]}
            odd.loc[place] = runs["farthest"].sel(kind=kind, run=runs["run"][:count])
    note, _ = noted("bnd-remark-largest", data)
    words = "; ".join(f"{kind}: " + ", ".join(f"{n / runs.sizes['run']:.2f}" for n in shares[kind]) for kind in kinds)
    width = ", ".join(map(str, widths))
    assert note.endswith(f"Share in which the farthest input is odd at width {width}: {words}.")


def test_angles_of_figure_5_are_means_of_their_own_normalization():
    for id, normalization, degrees in (("bnd-fig5-60", "rms", 60.0), ("bnd-fig5-75", "full", 75.0)):
        data = data_of(STUDY, id)
        angles = data["layer_angles"]["mean_angle"]
        scatter = 0.01 * np.arange(angles.sizes["seed"])
        angles[:] = 30.0 + scatter
        angles.loc[{"normalization": normalization}] = degrees - 5.0 + scatter
        angles.loc[{"normalization": normalization, "batch": 9}] = degrees + scatter
        note, angles = noted(id, data)
        means = angles["mean_angle"].sel(normalization=normalization).transpose("batch", "seed").values.mean(axis=1)
        cells = zip(means, angles["batch"].values, strict=True)
        words = ", ".join(f"{mean:.2f} degrees at $n = {n}$" for mean, n in cells)
        assert f"Measured: {words}." in note


def test_the_longest_time_at_zero_is_that_of_each_side():
    data = data_of(STUDY, "bnd-appE-positive")
    zero = data["split_amplitudes"]["zero_layers"]
    for place, side in enumerate(zero["side"].values):
        zero.loc[{"side": side}] = 0
        zero.loc[{"side": side}][place] = 5 + place
    note, _ = noted("bnd-appE-positive", data)
    assert "in layers: A: 5, B: 6, C: 7, D: 8. " in note


def test_the_odd_point_is_decided_at_the_last_layer():
    note, odd = noted("bnd-fig3")
    assert note.startswith(f"Decided at layer {int(odd['layer'].max())}. ")


def test_points_at_zero_are_those_of_the_smallest_large_batch_in_the_first_and_the_last_layer():
    note, odd = noted("bnd-sec3-signs")
    n = next(int(size) for size in odd["batch"].values if size >= 20)
    layers = odd["layer"].values
    words = []
    for layer in (layers[0], layers[-1]):
        above, below = (
            odd[f"zeros_if_cluster_{side}"].sel(batch=n, layer=layer).values.mean() for side in ("above", "below")
        )
        words.append(f"layer {layer}: {above:.1f} above, {below:.1f} below")
    assert note == f"Points at zero, $n = {n}$, {', '.join(words)}."


def test_quiet_neurons_are_below_a_tenth_for_two_thirds_of_the_inputs():
    data = data_of(STUDY, "bnd-fig6-b")
    neurons = data["activity"].sizes["neuron"]
    for name in ("above_twentieth", "above_tenth", "above_fifth"):
        for recentering, quiet in (("with", 0.75), ("without", 0.25)):
            quiet = quiet if name == "above_tenth" else 0.5
            share = np.where(np.arange(neurons) < quiet * neurons, 0.33, 0.34)
            data["activity"][name].loc[{"recentering": recentering}] = share
    note, _ = noted("bnd-fig6-b", data)
    assert "for two thirds of the inputs: 75% with, 25% without recentering." in note


def test_the_largest_ratio_and_the_smallest_angle_stand_beside_both_bounds():
    """At the worst interior point of each batch the better extreme; the bounds in closed form."""
    data = data_of(STUDY, "bnd-thm11-sharp")
    limits = data["tree_limits"]
    place = np.arange(limits.sizes["deep"])
    for name, least, most in (
        ("ratio_first", 0.2, 0.3 + 0.001 * place),
        ("ratio_last", 0.1, 0.5),
        ("cosine_first", 0.1, 0.2 + 0.001 * place),
        ("cosine_last", 0.0, 0.4),
    ):
        limits[f"deep_{name}"].loc[{"end": "least"}] = least
        limits[f"deep_{name}"].loc[{"end": "most"}] = most
    note, _ = noted("bnd-thm11-sharp", data)
    points = limits["deep_points"].values
    words = []
    for n in np.unique(points):
        last, beyond = place[points == n].max(), (n - 1) ** 2 + 1
        ratios, missing = (np.sqrt(2 / beyond), 3 / (n - 2)), np.sqrt(2) * np.pi / (n - 2)
        angles = np.degrees([np.arccos(1 / np.sqrt(2 * beyond)), np.pi / 2 - missing])
        words.append(f"$n = {n}$: {0.3 + 0.001 * last:.4f} ({ratios[0]:.4f}, {ratios[1]:.4f}), ")
        words[-1] += f"{np.degrees(np.arccos(0.2 + 0.001 * last)):.2f} ({angles[0]:.2f}, {angles[1]:.2f})"
    assert f"the sharp and the printed bound: {'; '.join(words)}. " in note


def test_two_escape_where_both_extremes_are_long_and_far_from_the_cluster():
    data = data_of(STUDY, "bnd-thm11-ntwo")
    limits = data["tree_limits"]
    place = np.arange(limits.sizes["case"])
    short, narrow = place % 3 == 0, place % 4 == 0
    limits["ratio_first"][:], limits["ratio_last"][:] = 0.1, np.where(short, 0.51, 0.49)
    limits["angle_first"][:], limits["angle_last"][:] = np.where(narrow, 44.0, 46.0), 80.0
    note, _ = noted("bnd-thm11-ntwo", data)
    both = gaussian_by_n(limits.assign(both=("case", ~(short | narrow))), "both")
    extremes = gaussian_by_n(limits, "extremes")
    words = ", ".join(f"{n}: {both[n].mean():.0%} ({np.median(extremes[n]):.2f})" for n in both)
    assert f"the median of the shorter over the longer: {words}. " in note


def test_ties_are_counted_over_all_rows():
    note, rows = noted("bnd-fig8-tie")
    assert note.startswith(f"{int(rows['three_tied'].values.sum())} ties, ")


def test_the_cosine_with_the_mean_of_the_new_cluster_is_the_largest_of_far_points():
    data = data_of(STUDY, "bnd-thm14-3")
    cosine = data["gaussian_layer"]["cluster_mean_cosine"]
    cosine[:] = 0.5
    cosine[{"start": 1}] = [1e-5, -3e-4, 0.0][: cosine.sizes["batch"]]
    note, _ = noted("bnd-thm14-3", data)
    assert "the expected cosine is up to 3.0e-04 here." in note


def test_numerical_ranks_are_those_of_the_deepest_of_he():
    he, others = (dataset_of(STUDY, f"training/{mode}") for mode in ("he", "default"))
    he["numerical_rank"][:] = 300.0
    he["numerical_rank"][{"depth": -1}] = np.linspace(17, 41, he.sizes["seed"])
    called = load_function(STUDY, makers(STUDY, "claims")["bnd-fig2-he"].path)
    note = called({"he": he, "default": others, "bn": others}).note
    assert "at 1e-6 the numerical rank of the deepest is 17 to 41. " in note


def test_longest_points_are_compared_with_one_component_off():
    note, ablation = noted("bnd-fig1-cause")
    last = ablation["second_to_first"].isel(layer=-1).sel(rescale="none")
    both, linear, mean = (
        float((1 / last.sel(recenter=recenter, relu=relu).values).mean()) for recenter, relu in ((1, 1), (1, 0), (0, 1))
    )
    assert f": both {both:.2f}, without recentering {mean:.2f}, without ReLU {linear:.2f}." in note
