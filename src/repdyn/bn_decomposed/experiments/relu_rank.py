"""Experiments on what rank ReLU gives a layer: the rank that is reached in the end, by layers and by products."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.settings.study import ReluRank
from repdyn.bn_decomposed.theory.full_rank import relu_rank_profile
from repdyn.bn_decomposed.theory.largest_rank import largest_rank, largest_rank_by_lines
from repdyn.bn_decomposed.theory.layers import bn_components
from repdyn.bn_decomposed.theory.rank import (
    circle_batch,
    collinear_pairs,
    rank_product_bound,
    rank_product_bound_as_printed,
)

SHIFT = np.array([[5.0], [1.7]])
PRODUCT_SHAPE = (10, 12)
PRODUCT_WIDTHS = (2, 5, 10, 40)
PRODUCT_RANKS = (1, 2, 3, 8)
RANK_TOLERANCE = 1e-10


def relu_rank(settings: ReluRank, stream: Stream) -> xr.Dataset:
    """Ranks of ReLU(W X): in the end, with collinear columns and after recentering; layer by layer; of products."""
    variables: dict[str, xr.Variable] = {}
    coordinates: dict[str, xr.Variable] = {}
    for part in (_in_the_end, _recentered_layers, _one_layer, _image, _products):
        measured, held = part(settings, stream)
        variables |= measured
        coordinates |= held
    return dataset(variables, coordinates, title="Rank of one layer with ReLU")


Part = tuple[dict[str, xr.Variable], dict[str, xr.Variable]]


def _cases(settings: ReluRank, stream: Stream) -> list[tuple[str, bool, np.ndarray]]:
    """Name, whether it is recentered, and X: circles, antipodal pairs in three dimensions, circles off the origin."""
    circles = range(3, settings.largest_circle + 1)
    cases = [("circle", False, circle_batch(n)) for n in circles]
    for m in settings.antipodal_pairs:
        D = stream.generator("pairs", m).standard_normal((3, m + 2))
        cases.append(("antipodal pairs", False, np.hstack([D, -2 * D[:, :m]])))
    return cases + [("shifted circle", True, circle_batch(n) + SHIFT) for n in circles]


def _in_the_end(settings: ReluRank, stream: Stream) -> Part:
    """Largest rank by three ways: from the cells, from the lines, and with many rows."""
    cases = _cases(settings, stream)
    used = [X - X.mean(axis=1, keepdims=True) if recentered else X for _, recentered, X in cases]
    many = [relu_rank_profile(X, stream.generator("many", i), settings.rows)[0, -1] for i, X in enumerate(used)]
    columns = {
        "points": ([X.shape[1] for X in used], "points in the batch"),
        "rank_cells": ([largest_rank(X) for X in used], "largest rank, from the cells"),
        "rank_lines": ([largest_rank_by_lines(X) for X in used], "largest rank, from the lines"),
        "rank_sampled": (many, f"rank with {settings.rows} rows"),
        "rank_linear": ([np.linalg.matrix_rank(X, rtol=RANK_TOLERANCE) for X in used], "largest rank without ReLU"),
        "pairs_given": ([len(collinear_pairs(X)) for _, _, X in cases], "collinear pairs of columns of X"),
        "pairs_used": ([len(collinear_pairs(X)) for X in used], "collinear pairs after recentering, where recentered"),
    }
    return {name: variable("case", np.array(values), text) for name, (values, text) in columns.items()}, {
        "case": index("case", len(cases), "batch"),
        "case_kind": variable("case", np.array([kind for kind, _, _ in cases]), "kind of batch"),
        "case_recentered": variable(
            "case", np.array([int(recentered) for _, recentered, _ in cases]), "1 if recentered"
        ),
        "rows_many": variable((), settings.rows, "rows of W at which the rank is sampled"),
    }


def _recentered_layers(settings: ReluRank, stream: Stream) -> Part:
    """The same rows through batch normalization, W (X - mean), and rescaling without recentering: ranks row by row."""
    rows, n = 12, 6
    ranks = np.empty((3, settings.draws, rows), np.int32)
    for draw in range(settings.draws):
        rng = stream.generator("recentred", draw)  # the name that recorded ones were drawn under
        X, W = rng.standard_normal((2, n)) + SHIFT, rng.standard_normal((rows, 2))
        recentered = np.maximum(W @ (X - X.mean(axis=1, keepdims=True)), 0)
        layers = bn_components(X, W, True, "std", True), recentered, bn_components(X, W, False, "std", True)
        for place, layer in enumerate(layers):
            ranks[place, draw] = [np.linalg.matrix_rank(layer[:d], rtol=RANK_TOLERANCE) for d in range(1, rows + 1)]
    return {"rank_normalized": variable(("way", "draw", "row"), ranks, "rank of the first rows after ReLU")}, {
        "way": variable("way", np.array(["BN(W X)", "W (X - mean)", "W X / sigma"]), "what ReLU is applied to"),
        "row": variable("row", np.arange(1, rows + 1), "rows of W"),
    }


def _one_layer(settings: ReluRank, stream: Stream) -> Part:
    """Rank of a Gaussian batch after one layer against the number of rows, with ReLU and without."""
    shape = (len(settings.input_dims), settings.draws, len(settings.record))
    ranks = np.empty((2, *shape), np.int32)
    for (i, k), draw in product(enumerate(settings.input_dims), range(settings.draws)):
        rng = stream.generator("layer", k, draw)
        X = rng.standard_normal((k, settings.points))
        profile = relu_rank_profile(X, rng, settings.record[-1])[0]
        ranks[0, i, draw] = profile[np.array(settings.record) - 1]
        W = rng.standard_normal((settings.record[-1], k))
        ranks[1, i, draw] = [np.linalg.matrix_rank(W[:d] @ X, rtol=RANK_TOLERANCE) for d in settings.record]
    return {"rank": variable(("activation", "input_dim", "draw", "rows"), ranks, "rank after one layer")}, {
        "activation": variable("activation", np.array(["relu", "linear"]), "with ReLU or without"),
        "input_dim": variable("input_dim", np.array(settings.input_dims), "input dimension, the rank of X"),
        "draw": index("draw", settings.draws, "draw of batch and weights"),
        "rows": variable("rows", np.array(settings.record), "rows of W"),
        "layer_points": variable((), settings.points, "points in the batch"),
    }


def _image(settings: ReluRank, stream: Stream) -> Part:
    """Dimension of the span of the image of x -> ReLU(W x) with two inputs: the largest rank with W' for X."""
    spans = np.empty((2, settings.draws, len(settings.image_rows)), np.int32)
    for draw, (i, d) in product(range(settings.draws), enumerate(settings.image_rows)):
        W = stream.generator("image", d, draw).standard_normal((2, d))
        spans[:, draw, i] = largest_rank(W), np.linalg.matrix_rank(W, rtol=RANK_TOLERANCE)
    words = "dimension of the span of the image"
    return {
        "image": variable(("draw", "image_row"), spans[0], words),
        "image_linear": variable(("draw", "image_row"), spans[1], f"{words} without ReLU"),
    }, {"image_row": variable("image_row", np.array(settings.image_rows), "rows of W")}


def _products(settings: ReluRank, stream: Stream) -> Part:
    """Ranks of W, X, W X and ReLU(W X) for batches of low rank, and the bounds on that of W X."""
    k, n = PRODUCT_SHAPE
    ranks = []
    for width, rank, draw in product(PRODUCT_WIDTHS, PRODUCT_RANKS, range(settings.draws)):
        rng = stream.generator("product", width, rank, draw)
        W = rng.standard_normal((width, k))
        X = rng.standard_normal((k, rank)) @ rng.standard_normal((rank, n))
        factors = (W, X, W @ X, np.maximum(W @ X, 0))
        ranks.append([np.linalg.matrix_rank(M, rtol=RANK_TOLERANCE) for M in factors])
    bounds = [[bound(w, x) for bound in (rank_product_bound_as_printed, rank_product_bound)] for w, x, *_ in ranks]
    return {
        "product_rank": variable(("product", "factor"), np.array(ranks), "rank"),
        "product_bound": variable(("product", "bound"), np.array(bounds), "bound on the rank of W X"),
    }, {
        "bound": variable("bound", np.array(["printed", "corrected"]), "maximum or minimum of the factors' ranks"),
        "product": index("product", len(ranks), "pair of weights and batch"),
        "factor": variable("factor", np.array(["W", "X", "WX", "ReLU(WX)"]), "matrix"),
    }
