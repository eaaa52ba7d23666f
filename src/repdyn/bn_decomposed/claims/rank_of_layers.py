"""Claim on the rank that one layer with ReLU gives a batch: Section I."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, replace_variables
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Verdict, equal


@claim(
    "bnd-sec1-rank",
    where="Section I, text before Definition 1 and after Corollary 4",
    line=133,
    assumes="Theorem 3: enough distinct points, rows i.i.d. Gaussian; linear layers keep the rank",
    words="in fact, the image dimension scales linearly with the number of rows",
    kind="scaling",
    states="One layer with ReLU raises the rank of a batch of low rank, and the dimension of its image grows "
    "linearly with the number of rows; a linear layer does not raise it.",
    control={
        "image of two inputs": false_world("a layer without ReLU", replace_variables(image="image_linear")),
        "batch rank over its limit": false_world("a layer without ReLU", exchange("activation", "relu", "linear")),
        "linear layer": false_world("a layer with ReLU", exchange("activation", "relu", "linear")),
    },
    labels={"linear layer": "rank after a linear layer, against rows or input dimension"},
    remark="The batch must be large: in a finite one of rank 2 the rank lags behind, since thin cells are hit late.",
    sought=r"Proof for the image: the functions $x \mapsto (w_i x)_+$ of Gaussian rows have their kinks on different "
    "lines with probability one, so they are independent, and the image of the plane spans as many dimensions"
    " as there are rows. Tried: one input, outside the statement, where the image never spans more than 2; 60"
    " points on rays of a plane, whose thin cells make the batch lag behind its rows; more rows than points, "
    "where the rank stops at the batch.",
)
def rank_grows_with_rows(relu_rank: xr.Dataset) -> Verdict:
    """Span of the image with two inputs, exactly; rank of a batch by rows, with ReLU and without."""
    rows, n = relu_rank["rows"], int(relu_rank["layer_points"])
    highest = relu_rank["rank"].isel(input_dim=-1) / np.minimum(rows, n)
    linear = relu_rank["rank"].sel(activation="linear")
    image, wanted = relu_rank["image"], relu_rank["image_row"]
    return Verdict.from_tests(
        {
            "image of two inputs": equal(
                image.min("draw").values, wanted, expected="the number of rows, in every draw"
            ),
            "batch rank over its limit": mean_within(
                highest.sel(activation="relu").min("rows"),
                0.95,
                np.inf,
                expected=f"rank of {n} points in {int(relu_rank['input_dim'][-1])} dimensions: min(rows, {n})",
                reason="5 % below the limit: a few rows more than $n$ are needed now and then",
            ),
            "linear layer": equal(
                linear.max("draw").values.tolist(),
                np.minimum.outer(relu_rank["input_dim"].values, rows.values),
                expected="min(rows, input dimension)",
            ),
        }
    )
