"""Tables of "Batch Normalization Decomposed"."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from repdyn.base.tables import Filled, table
from repdyn.bn_decomposed.figures.random_networks import REGIMES


@table(
    title="Table T1: each component of batch normalization on and off",
    caption="Batches of images after the last layer; medians over draws of batch and weights. With recentering, "
    "rescaling by std and by RMS are the same.",
)
def ablation(ablation: xr.Dataset) -> Filled:
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
    return Filled(
        pd.DataFrame(rows),
        {
            "images in a batch": int(ablation["point_count"]),
            "layers": int(ablation["layer"][-1]),
            "width": int(ablation["width"]),
            "draws": ablation.sizes["seed"],
        },
    )


@table(
    title="Figure 2 in numbers: accuracy after training, rank of the last hidden layer before it",
    caption="Plain stochastic gradient descent; medians over draws of weights and order. The tolerance of a rank is "
    "relative to the largest singular value.",
)
def training(training: dict[str, xr.Dataset]) -> Filled:
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
    return Filled(
        pd.DataFrame(rows),
        {
            "width": int(run["width"]),
            "epochs": int(run["epoch"][-1]),
            "batch size": int(run["batch"]),
            "draws": run.sizes["seed"],
        },
    )


@table(
    title="Discussion: one neuron per data point against He's initialization",
    caption="As many neurons as training images; medians over draws, each scheme at its best rate. off_diagonal: "
    "largest off-diagonal over smallest diagonal entry of the initial Gram matrix; activity: share of positive entries "
    "at the start; silent: share of test points for which no neuron fires.",
)
def point_neurons(point_neurons: xr.Dataset) -> Filled:
    """One neuron per data point against He's initialization."""
    middle = point_neurons.sel(rate=point_neurons["best_rate"]).median("seed")
    columns = ["rate", "off_diagonal", "activity", "steps", "train_accuracy", "test_accuracy", "silent"]
    return Filled(
        middle.to_dataframe().reset_index()[["scheme", *columns]],
        {"training images and neurons": int(point_neurons["points"]), "draws": point_neurons.sizes["seed"]},
    )


@table(
    title=r"Theorem 3: rows until $\mathrm{ReLU}(W X)$ has full rank, batch by batch",
    caption=r"Mean of $y$ over draws of the weights against $n/\gamma$, $\gamma$ exact, and against the bound of the "
    r"proof, the sum over $t$ of $1/\gamma$ of the first $t$ columns. Recentered: Gaussian points of mean 5 in every "
    r"coordinate, $\gamma$ of $X$ less its mean (Corollary 4).",
)
def full_rank(rows_to_full_rank: xr.Dataset) -> Filled:
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
    return Filled(
        pd.DataFrame({name: values.values for name, values in columns.items()}), {"draws of the weights": draws}
    )


@table(
    title="Theorems 10 and 11: the simplified model by batch size",
    caption="t0: first layer in which every row has at most three clusters. Ratio: limit of the norm of a clustered "
    "point over that of an extreme; angle: limit of the angle between them; the better of the two extremes, at its "
    "worst over the Gaussian batches, a symmetric one and one with a far point. Shorter/longer: limit of the ratio of "
    "the extremes' norms.",
)
def simplified_model(tree_limits: xr.Dataset) -> pd.DataFrame:
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
    return pd.DataFrame(rows)


@table(
    title="Table T3: fixed points of the expected Gram matrix with recentering and ReLU",
    caption=r"Infinite width. Odd point and cluster from the reduced map of one angle, beside the $n \times n$ map "
    r"iterated from an odd start, which for $n \le 6$ ends at equal points. Multiplier: derivative of the reduced "
    "map in the cosine; below 1 the fixed point is stable within one odd point and $n - 1$ equivalent ones.",
    digits=6,
)
def fixed_points(fixed_point: xr.Dataset) -> pd.DataFrame:
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
    return fixed_point[list(columns)].to_dataframe().reset_index().rename(columns={"batch": "n"} | columns)


@table(
    title="Table T2: which input becomes the odd point",
    caption="Shares of the batches of each kind. Recentering and ReLU. Odd point: largest norm in the last layer; "
    "longest: largest norm of the input; farthest: largest distance from the batch's mean. Unit norms: $k$ as in the "
    "last Gaussian batch.",
)
def largest_norm(largest_norm: xr.Dataset) -> Filled:
    """Table T2: how often the odd point is the longest input, and how often the one farthest from the mean."""
    rows, n = [], int(largest_norm["point_count"])
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
    return Filled(
        pd.DataFrame(rows),
        {
            "batches of a kind": largest_norm.sizes["run"],
            "points": n,
            "share by chance": 1 / n,
            "layers": int(largest_norm["depth"]),
            "layers at infinite width": int(largest_norm["limit_depth"]),
        },
    )


ORDER = ("ablation", "training", "point_neurons", "full_rank", "simplified_model", "fixed_points", "largest_norm")
"""The order of the paper, in which the report shows the tables."""
