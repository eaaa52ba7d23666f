"""Notes of claims give the numbers that their words name, worked out again from made-up datasets."""

import re

import numpy as np
from tests.noted import data_of, note_of

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
