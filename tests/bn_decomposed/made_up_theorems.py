"""Made-up data of the claims on rank and on the simplified model: all as it should be."""

import numpy as np
import xarray as xr
from tests.made_up import filled

from repdyn.base.formula_audit import FORMS
from repdyn.bn_decomposed.theory.tree_formulas import (
    angle_bound,
    ratio_bound,
    split_contribution,
    split_rate,
    three_cluster_sum,
)

DRAWS = 4000


def bernoulli(share, number=DRAWS):
    """So many zeros and ones with this share of ones."""
    return (np.arange(number) < round(share * number)).astype(float)


def cells(not_one=0.0):
    """Cells of Gaussian batches of 5 points and of circles of 3 and 5; signs changed by the printed steps."""
    count = np.array([10, 22, 6, 10])
    return xr.Dataset(
        filled(["batch"], [4], k=[2, 3, 2, 2], n=[5, 5, 3, 5], cell_count=count, patterns_seen=count, gamma=1 / count)
        | filled(["batch"], [4], volume_sum=1.0, strays=0, smallest_share=0.01, smallest_hits=10_000)
        | {"kind": ("batch", ["Gaussian", "Gaussian", "circle", "circle"])}
        | {"not_one": (("step", "shape"), [[not_one], [not_one], [0.0]])},
        {"draws": 1_000_000, "rows_tried": 1000, "step": ["printed", "printed, norm squared", "corrected"]},
    )


def rows(*, mean=0.5, recentered=0.5, later=0.5, by_column=0.5):
    """Rows until full rank: means over their bounds, waits over theirs, independent of each other."""
    scatter = 1 + 1e-3 * np.linspace(-1, 1, DRAWS)
    gamma = np.array([0.5, 0.25, 0.2])
    # y_2 is 0 or 8 in such a share of the draws that its mean over 1/gamma is `later`, y_1 its fellow or not.
    second = np.tile(bernoulli(later / gamma[1] / 8, DRAWS // 2) * 8, 2)
    one = 1 / gamma[0] + np.repeat([-1.0, 1.0], DRAWS // 2)
    waits = np.stack([one, second, 0.5 / gamma[2] * scatter], axis=-1)
    return xr.Dataset(
        filled(["batch"], [2], bound=10.0, bound_by_column=10 * max(mean, recentered) / by_column, recentered=[0, 1])
        | {
            "y": (("batch", "draw"), np.stack([10 * mean * scatter, 10 * recentered * scatter])),
            "wait": (("wait_batch", "wait_draw", "column"), waits[None]),
            "column_gamma": (("wait_batch", "column_or_next"), [[*gamma, 0.1]]),
            "wait_gamma": ("wait_batch", [0.9 / (1 / gamma).sum() * 3]),
        }
    )


def ranks():
    """Largest ranks of circles of 6 and 7 points, plain and recentered, and of layers."""
    limits, cells_rank = np.array([5, 10]), [5, 7, 7]
    return xr.Dataset(
        filled(["case"], [3], case_kind="circle", case_recentered=[0, 0, 1], points=[6, 7, 7])
        | filled(["case"], [3], pairs_used=[3, 0, 0], pairs_given=[3, 0, 0])
        | filled(["case"], [3], rank_cells=cells_rank, rank_sampled=cells_rank, rank_lines=cells_rank)
        | {
            "rank_normalized": (("way", "row"), [[1, 2], [1, 2], [1, 1]]),
            "product_rank": (("product", "factor"), [[5, 3, 3, 4]]),
            "product_bound": (("product", "bound"), [[5, 3]]),
            "image": (("draw", "image_row"), np.tile([2, 10], (12, 1))),
            "rank": (
                ("activation", "input_dim", "draw", "rows"),
                np.stack([np.full((1, 12, 2), 1.0) * limits, np.tile([2, 2], (1, 12, 1))]),
            ),
        },
        {"bound": ["printed", "corrected"], "factor": ["W", "X", "WX", "ReLU(WX)"], "activation": ["relu", "linear"]}
        | {"image_row": [2, 10], "rows": limits, "input_dim": [2], "layer_points": 10},
    )


def tails():
    """Exact tail over (7a) for alpha above 2 and below, (7b) over (7a), error of (28c), growth with gamma."""
    alpha, points = np.array([1.5, 3.0]), 5
    return xr.Dataset(
        {
            "log_tail": (("n", "alpha", "gamma"), np.full((1, 2, 2), np.log(0.9) - points)),
            "log_chernoff": (("alpha", "gamma"), np.full((2, 2), -1.0)),
            "exponent_a": (("alpha", "gamma"), np.ones((2, 2))),
            "exponent_b": ("alpha", np.full(2, 0.9)),
            "exponent_fine": (("alpha", "gamma_fine"), 1.1 ** np.arange(3) * np.ones((2, 1))),
        },
        {"n": [points], "alpha": alpha},
    )


def survivors(share, y):
    """Rows until full rank on the circle of three, `y` in this share of the draws and 3 in all others."""
    of_draw = np.where(bernoulli(share) > 0, y, 3)
    variables = {"y": (("batch", "draw"), of_draw[None])}
    return xr.Dataset(variables, {"kind": ("batch", ["circle"]), "n": ("batch", [3]), "gamma": ("batch", [1 / 6])})


def waiting(share):
    """Waits of two columns, the second endless in this share of the draws, gamma 0.1."""
    waits = np.stack([np.ones(DRAWS), np.where(bernoulli(share) > 0, 1000, 0)], axis=-1)
    variables = {"wait": (("wait_batch", "wait_draw", "column"), waits[None])}
    return xr.Dataset(variables | {"column_gamma": (("wait_batch", "column_or_next"), [[0.5, 0.1, 0.1]])})


def hexagon():
    """The same with a recentered batch that is antipodal, though no two of its columns were collinear before."""
    data = ranks()
    more = data.isel(case=[2]).assign(pairs_used=("case", [3]), pairs_given=("case", [0]), rank_cells=("case", [5]))
    return xr.concat([data, more], "case", data_vars="minimal", coords="minimal", compat="override")


def stalled():
    """Exact chance of the next row, twice gamma, and sampled frequencies around it."""
    probability = np.full((1, 50), 0.2)
    near = probability + 1e-4 * np.linspace(-1, 1, 50)
    dims = ("case", "configuration")
    return xr.Dataset(filled(dims, (1, 50), probability=probability, gamma=probability / 2, frequency=near))


def tree():
    """Counts of one tree of five points in layers 0 to 2."""
    per_layer = {
        **dict.fromkeys(("gaining", "shared_middles", "both_extremes", "ties"), 0),
        **dict.fromkeys(("excess", "excess_by_algorithm", "wide_rows"), 3),
        **dict.fromkeys(("interior_rows_least", "interior_rows_most", "three_split_otherwise", "three_tied"), 1),
        "gram_difference": 0.0,
    }
    variables = {name: (("batch", "layer"), np.full((1, 3), value)) for name, value in per_layer.items()}
    variables |= dict.fromkeys(("most_clusters", "most_by_algorithm"), (("batch", "layer"), [[5, 3, 3]]))
    return xr.Dataset(variables, {"points": ("batch", [5]), "layer": [0, 1, 2]})


def limits(which="theorem"):
    """Deep batches of 10 points: geometry at half of its bounds, symmetric ones at the sharp bounds."""
    n, number = 10, 400
    sharp_angle, bound = np.pi / 2 - angle_bound(n, "sharp"), np.pi / 2 - angle_bound(n, which)
    ratios = np.array([ratio_bound(n, "sharp"), ratio_bound(n, which) / 2])
    deep = {"ratio": ratios, "cosine": np.cos(np.pi / 2 - np.array([sharp_angle, bound / 2]))}
    variables = {
        f"deep_{name}_{end}": (("deep", "end"), np.stack([value, value], axis=1))
        for name, value in deep.items()
        for end in ("first", "last")
    }
    variables |= filled(["case"], [number], stable_depth=9.0, depth_bound=10.0, extremes=0.5)
    variables |= filled(["case"], [number], ratio_first=0.1, ratio_last=0.2, angle_first=89.0, angle_last=89.0)
    variables |= filled(["case"], [number], farther_is_last=1.0, longer_is_last=1.0, odd_is_last=bernoulli(0.7, number))
    kinds = ["symmetric", "gaussian"]
    return xr.Dataset(
        variables | filled(["deep"], [2], deep_points=n, deep_kind=kinds, deep_apart=1, deep_A=[1.0, 2.0], deep_B=1.0),
        {"kind": ("case", ["gaussian"] * number), "points": ("case", [n] * number), "end": ["least", "most"]},
    )


def amplitudes():
    """Norm ratios and cosines that follow from A = 2, B = 1 at 10 points."""
    A, B, n = np.array([2.0, 2.0]), np.array([1.0, 1.0]), 10
    square = {"first": (n - 1) ** 2 * A + B, "last": (n - 1) ** 2 * B + A}
    product = {"first": B, "last": A}
    variables = {}
    for end in ("first", "last"):
        cosine = product[end] / np.sqrt((A + B) * square[end])
        for name, value in (("ratio", np.sqrt((A + B) / square[end])), ("cosine", cosine)):
            variables[f"deep_{name}_{end}"] = (("deep", "end"), np.tile(value, (2, 1)))
    return xr.Dataset(variables | {"deep_A": ("deep", A), "deep_B": ("deep", B), "deep_points": ("deep", [n, n])})


def narrow():
    return xr.Dataset(
        {"stable_depth": ("gap", [5, 9.0]), "depth_bound": ("gap", [10.0, 10.0]), "decade": ("gap", [1, 2])}
    )


def interior():
    """Angles of six points that fall at the rates of their splits."""
    n, layers = 6, np.arange(0, 401, 4)
    angle = np.zeros((layers.size, n, n))
    for i in range(1, n + 1):
        for j in range(i + 1, n + 1):
            splits = [split_rate(m, n) for m in range(i, j)]
            decay = np.sqrt(max(splits) / split_rate(1, n)) if i > 1 and j < n else 1.0
            angle[:, i - 1, j - 1] = angle[:, j - 1, i - 1] = 60 * decay**layers
    points = np.arange(1, n + 1)
    return xr.Dataset(
        {"angle": (("layer", "first", "second"), angle)}, {"layer": layers, "first": points, "second": points}
    )


def all_batches():
    return xr.Dataset({"interior_angle": ("case", [1e-9, 1e-6])})


def coordinates():
    n = 16
    missing = 90 - np.degrees(angle_bound(n, "theorem"))
    shape = ("extremes", "draw"), (2, 1)
    variables = filled(*shape, extremes_angle=90.0, interior_angle=0.0, ratio=ratio_bound(n, "theorem") / 2)
    variables |= filled(*shape, odd_angle=90 - missing / 2)
    return xr.Dataset(variables, {"extremes": ["shared", "free"], "points": n})


def descendants():
    """Squares of the descendants of the two-cluster row (1, 3), half of (61), and (61) over (62)."""
    layers = [1, 2, 3]
    ends = np.array([[[split_contribution(1.0, own, 4, T) for T in layers] for own in (1, 3)]])
    sums = np.array([[three_cluster_sum(1.0, 8, T) for T in layers]])
    return xr.Dataset(
        {
            "square": (("split", "end", "layer"), ends),
            "parted_square": (("kept", "row", "layer", "point"), (sums / 2)[None, :, :, None]),
            "eq_61": ("sum", [0.9]),
            "eq_62": ("sum", [1.0]),
        },
        {"split_points": ("split", [4]), "split_zeros": ("split", [1]), "row_points": ("row", [8])}
        | {"layer": layers, "kept": ["2, n-2"]},
    )


EQUATIONS = ["31", "31 mixed", "32", "33", "35b", "35c", "35d", "35e", "35f"]


def audit():
    """Errors of all equations of Appendix C at round-off."""
    errors = ("equation", "draw"), np.full((len(EQUATIONS), 3), 1e-15)
    return xr.Dataset(dict.fromkeys(FORMS, errors), {"equation": EQUATIONS})


STEPS = np.arange(4)


def splits(zeros=0):
    """Ratios that come to rest at 1/2, 1 and 2, with intervals that close in on them; layers without an amplitude."""
    rest = np.array([0.5, 1.0, 2.0])[:, None, None] * np.ones((1, 2, 1))
    open_by = np.array([4.0, 1e-2, 1e-4, 0.0])
    shares = np.array([0.4, 0.3, 0.1, 0.05])
    dims, sides, extremes = ("case", "definition", "step"), ("case", "side"), ("case", "extreme")
    return xr.Dataset(
        filled(
            dims, (3, 2, 4), ratio=rest * (1 + np.array([1.0, 5e-3, 0.0, 0.0])), ratio_without_B=rest * np.exp(STEPS)
        )
        | filled(dims, (3, 2, 4), lowest=rest * (1 - open_by / 5), highest=rest * (1 + open_by))
        | filled(dims, (3, 2, 4), lowest_unfed=rest, highest_unfed=rest * (1 + 1e-12))
        | filled(sides, (3, 4), enumerated=shares, by_algorithm=shares, by_other_end=shares[::-1], zero_layers=zeros)
        | filled(extremes, (3, 2), first_layer=[[2.0, 3.0], [5.0, 4.0], [6.0, 7.0]])
        | filled(extremes, (3, 2), first_layer_bound=[[2.0, 4.0], [6.0, 4.0], [8.0, 9.0]])
        | filled(extremes, (3, 2), first_layer_bound_of_largest_gap=2.0),
        {"definition": ["(2, n-2)", "(1, 1, n-2)"], "step": STEPS, "side": ["A", "B", "C", "D"]},
    )
