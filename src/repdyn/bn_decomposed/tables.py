"""Tables of "Batch Normalization Decomposed"."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from repdyn.base.tables import Table
from repdyn.bn_decomposed.figures.random_networks import REGIMES


def ablation(ablation: xr.Dataset) -> Table:
    """The geometry of every combination of the components at the last layer: medians over the draws."""
    last = ablation.isel(layer=-1)
    rows = []
    for recenter, rescale, _ in REGIMES:
        for relu in (0, 1):
            cell = last.sel(recenter=recenter, rescale=rescale, relu=relu)
            middle = cell.median("seed")
            rows.append(
                {
                    "RC": recenter,
                    "RS": rescale,
                    "ReLU": relu,
                    "median angle (degree)": float(cell["angle"].median()),
                    "odd against rest (degree)": float(middle["odd_angle"]),
                    "within rest (degree)": float(middle["intra_angle"]),
                    "2nd/1st norm": float(middle["second_to_first"]),
                    "rank (1e-6)": int(middle["numerical_rank"]),
                    "effective rank": float(middle["effective_rank"]),
                    "orthogonality gap": float(middle["orthogonality_gap"]),
                }
            )
    return Table(
        pd.DataFrame(rows),
        title="Table T1: each component of batch normalization on and off",
        caption=f"Batches of {int(ablation['point_count'])} images after {int(ablation['layer'][-1])} layers of width "
        f"{int(ablation['width'])}; medians over {ablation.sizes['seed']} draws of batch and weights. With "
        f"recentering, "
        "rescaling by std and by RMS are the same.",
    )


def training(training: dict[str, xr.Dataset]) -> Table:
    """Figure 2 in numbers: accuracy, ranks and learning rate for every mode and depth."""
    rows = []
    for mode, data in training.items():
        middle = data.median("seed")
        for depth in data["depth"].values:
            cell = middle.sel(depth=depth)
            rows.append(
                {
                    "mode": mode,
                    "hidden layers": int(depth),
                    "learning rate": float(data["rate"].sel(depth=depth)),
                    "training accuracy": float(cell["accuracy"].isel(epoch=-1)),
                    "rank (1e-2)": float(cell["r1"]),
                    "rank (1e-6)": float(cell["numerical_rank"]),
                    "stable rank": float(cell["stable_rank"]),
                    "effective rank": float(cell["effective_rank"]),
                }
            )
    run = next(iter(training.values()))
    return Table(
        pd.DataFrame(rows),
        title="Figure 2 in numbers: accuracy after training, rank of the last hidden layer before it",
        caption=f"Width {int(run['width'])}, {int(run['epoch'][-1])} epochs of plain stochastic gradient descent in "
        f"batches of {int(run['batch'])}; medians over {run.sizes['seed']} draws of weights and order. The tolerance "
        "of a rank is relative to the largest singular value.",
    )


def point_neurons(point_neurons: xr.Dataset) -> Table:
    """One neuron per data point against He's initialization."""
    middle = point_neurons.sel(rate=point_neurons["best_rate"]).median("seed")
    columns = ["rate", "off_diagonal", "activity", "steps", "train_accuracy", "test_accuracy", "silent"]
    return Table(
        middle.to_dataframe().reset_index()[["scheme", *columns]],
        title="Discussion: one neuron per data point against He's initialization",
        caption=f"{int(point_neurons['points'])} training images and neurons; medians over "
        f"{point_neurons.sizes['seed']} draws, each scheme at its best rate. off_diagonal: largest off-diagonal over "
        "smallest diagonal entry of the initial Gram matrix; activity: share of positive entries at the start; silent: "
        "share of test points for which no neuron fires.",
    )


def full_rank(rows_to_full_rank: xr.Dataset) -> Table:
    """Theorem 3 and Corollary 4 batch by batch: the bound on the mean number of rows and the mean itself."""
    data, draws = rows_to_full_rank, rows_to_full_rank.sizes["draw"]
    mean = data["y"].mean("draw")
    bound = data["bound"]
    columns = {
        "batch": data["kind"],
        "k": data["k"],
        "n": data["n"],
        "gamma": data["gamma"],
        "bound n/gamma": bound,
        "sum of 1/gamma by column": data["bound_by_column"],
        "mean of y": mean,
        "standard error": data["y"].std("draw", ddof=1) / draws**0.5,
        "mean/bound": mean / bound,
    }
    return Table(
        pd.DataFrame({name: values.values for name, values in columns.items()}),
        title=r"Theorem 3: rows until $\mathrm{ReLU}(W X)$ has full rank, batch by batch",
        caption=rf"Mean of $y$ over {draws} draws of the weights against $n/\gamma$, $\gamma$ exact, and against the "
        r"bound of the proof, the sum over $t$ of $1/\gamma$ of the first $t$ columns. Recentered: Gaussian points of "
        r"mean 5 in every coordinate, $\gamma$ of $X$ less its mean (Corollary 4).",
    )


def simplified_model(tree_limits: xr.Dataset) -> Table:
    """Theorems 10 and 11 by batch size: depth of stability, limits, printed and best possible bounds."""
    ratio = tree_limits[["ratio_first", "ratio_last"]].to_array().min("variable")
    angle = tree_limits[["angle_first", "angle_last"]].to_array().max("variable")
    columns = ["points", "kind", "stable_depth", "extremes", "ratio", "angle"]
    frame = tree_limits.assign(ratio=ratio, angle=angle)[columns].to_dataframe()
    rows = []
    for n, cases in frame.groupby("points"):
        gaussian, bounds = cases[cases["kind"] == "gaussian"], tree_limits.sel(bound_points=n)
        rows.append(
            {
                "n": n,
                "Gaussian batches": len(gaussian),
                "median t0": gaussian["stable_depth"].median(),
                "largest t0": int(gaussian["stable_depth"].max()),
                "largest ratio": cases["ratio"].max(),
                "best bound": float(bounds["sharp_ratio"]),
                "printed bound": float(bounds["printed_ratio"]),
                "smallest angle (degree)": cases["angle"].min(),
                "best bound (degree)": float(bounds["sharp_angle"]),
                "printed bound (degree)": float(bounds["printed_angle"]),
                "median shorter/longer": gaussian["extremes"].median(),
            }
        )
    return Table(
        pd.DataFrame(rows),
        title="Theorems 10 and 11: the simplified model by batch size",
        caption="t0: first layer in which every row has at most three clusters. Ratio: limit of the norm of a "
        "clustered point over that of an extreme; angle: limit of the angle between them; the better of the two "
        "extremes, at its worst over the Gaussian batches, a symmetric one and one with a far point. Shorter/longer: "
        "limit of the ratio of the extremes' norms.",
    )


def fixed_points(fixed_point: xr.Dataset) -> Table:
    """Table T3: where a batch comes to rest at infinite width with recentering and ReLU."""
    columns = {
        "odd_intra_angle": "within cluster (degree)",
        "iterated_intra_angle": "within cluster, iterated (degree)",
        "odd_angle": "odd point to cluster (degree)",
        "odd_norm_ratio": "(n-1) cluster / odd norm",
        "odd_multiplier": "multiplier, odd",
        "simplex_angle": "equal points (degree)",
        "simplex_multiplier": "multiplier, equal",
    }
    frame = fixed_point[list(columns)].to_dataframe().reset_index().rename(columns={"batch": "n"} | columns)
    return Table(
        frame,
        title="Table T3: fixed points of the expected Gram matrix with recentering and ReLU",
        caption=r"Infinite width. Odd point and cluster from the reduced map of one angle, beside the $n \times n$ map "
        r"iterated from an odd start, which for $n \le 6$ ends at equal points. Multiplier: derivative of the reduced "
        "map in the cosine; below 1 the fixed point is stable within one odd point and $n - 1$ equivalent ones.",
        digits=6,
    )


def largest_norm(largest_norm: xr.Dataset) -> Table:
    """Table T2: how often the odd point is the longest input, and how often the one farthest from the mean."""
    rows = []
    for kind in largest_norm["kind"].values.tolist():
        cell = largest_norm.sel(kind=kind)
        finite = {
            str(width): (cell["odd"].sel(width=width), cell["second_to_first"].sel(width=width))
            for width in cell["width"].values
        }
        for width, (odd, ratio) in (finite | {"infinite": (cell["limit_odd"], cell["limit_second_to_first"])}).items():
            rows.append(
                {
                    "batch": kind,
                    "width": width,
                    "odd point is the longest": float((odd == cell["longest"]).mean()),
                    "odd point is the farthest": float((odd == cell["farthest"]).mean()),
                    "2nd/1st norm below 1/2": float((ratio < 0.5).mean()),
                }
            )
    return Table(
        pd.DataFrame(rows),
        title="Table T2: which input becomes the odd point",
        caption=f"Shares of {largest_norm.sizes['run']} batches of {int(largest_norm['point_count'])} points; chance "
        f"is {1 / int(largest_norm['point_count']):g}. Recentering and ReLU through {int(largest_norm['depth'])} "
        f"layers, at infinite width {int(largest_norm['limit_depth'])}. Odd point: largest norm in the last layer; "
        "longest: largest norm of the input; farthest: largest distance from the batch's mean. Unit norms: $k$ as in "
        "the last Gaussian batch.",
    )


ORDER = (
    "ablation",
    "training",
    "point_neurons",
    "full_rank",
    "simplified_model",
    "fixed_points",
    "largest_norm",
)
"""The order of the paper, in which the report shows the tables."""
