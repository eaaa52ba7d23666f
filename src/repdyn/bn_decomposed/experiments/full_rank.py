"""Experiments on the rank of ReLU(W X): cells, Lemma 2, Theorem 3 and its proof; settings in, one dataset out.

Batches are circles of equally spaced points, Gaussian batches of rank 2 and 3, where gamma is exact, and the same
moved away from the origin and recentered. `gamma` of a recentered batch is that of X - mean (Corollary 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy
import xarray as xr
from scipy.special import logsumexp

from repdyn.base.checkpoints import Checkpoint, Trial, stacked
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.settings.study import FullRankTail, RowsToFullRank, SignCells, StalledRows
from repdyn.bn_decomposed.theory import full_rank
from repdyn.bn_decomposed.theory.full_rank import expected_rows_bound_by_column, tail_exponent
from repdyn.bn_decomposed.theory.largest_rank import exact_method, success_probability
from repdyn.bn_decomposed.theory.rank import (
    cell_volume_min,
    cells,
    circle_batch,
    circle_cells,
    flip_one_sign,
    flip_one_sign_as_printed,
    signs_changed,
)

OFFSET = 5.0
DRAWN_AS = {"recentered": "recentred"}  # the name that recorded batches were drawn under
SHAPES = ((2, 3), (3, 6), (8, 12))
OVERSHOOT = 1.5
ANTIPODAL = 6  # points of the circle whose rank stays at 5
NEVER = f"{ANTIPODAL} points on the circle; one more than were drawn if never"
ALPHA = np.linspace(0, 3, 271)
STEPS = {
    "printed": flip_one_sign_as_printed,
    "printed, norm squared": lambda w, X: flip_one_sign_as_printed(w, X, squared_norm=True),
    "corrected": flip_one_sign,
    "overshot": lambda w, X: flip_one_sign(w, X, epsilon=OVERSHOOT),
}


class Batch(NamedTuple):
    """A batch with its kind; of the kind "recentered" `X` is already less its mean."""

    kind: str
    X: np.ndarray


def gamma(X: np.ndarray) -> float:
    """Smallest volume of a cell, eq. (5), exactly; 1/2 for a single column, whose cells are two half-spaces."""
    return 0.5 if X.shape[1] == 1 else cell_volume_min(X, exact_method(X))


def gaussian_batches(kind: str, k: int, points: tuple[int, ...], batches: int, stream: Stream) -> Iterator[Batch]:
    """Gaussian batches in k dimensions; "recentered" ones have mean 5 in every coordinate before recentering."""
    for n in points:
        for b in range(batches):
            X = stream.generator(DRAWN_AS.get(kind, kind), k, n, b).standard_normal((k, n))
            if kind == "recentered":
                X += OFFSET
                X = X - X.mean(axis=1, keepdims=True)
            yield Batch(kind, X)


def sign_cells(settings: SignCells, stream: Stream) -> xr.Dataset:
    """Cells of Definition 1, exact against sampled; and the step of (18)-(20) across one hyperplane."""
    circles = [Batch("circle", circle_batch(n)) for n in range(3, settings.largest_circle + 2)]
    planar = gaussian_batches("Gaussian k=2", 2, settings.planar, settings.batches, stream)
    spatial = gaussian_batches("Gaussian k=3", 3, settings.spatial, settings.batches, stream)
    batches = [*circles, *planar, *spatial]
    counted = [_count(b.X, settings.draws, stream.generator("rows", i)) for i, b in enumerate(batches)]
    words = {
        "cell_count": "cells of positive volume, from the arrangement",
        "patterns_seen": "sign patterns among the sampled rows",
        "strays": "sampled rows whose pattern is none of the arrangement's",
        "volume_sum": "sum of the cells' volumes",
        "gamma": "smallest volume of a cell",
        "smallest_hits": "sampled rows in the smallest cells",
        "smallest_share": "volume of the smallest cells together",
        "smallest_count": "number of the smallest cells",
        "pair_count": "cells of positive volume, w and -w taken for one",
        "volume_sum_without_smallest": "sum of the cells' volumes without the smallest cells",
        "strays_of_reflection": "sampled rows with a pattern that the arrangement lacks, its last point reflected",
    }
    crossed = np.stack([_crossings(k, n, settings.steps, stream.generator("steps", k)) for k, n in SHAPES], axis=1)
    return dataset(
        {name: variable("batch", np.array([counts[name] for counts in counted]), text) for name, text in words.items()}
        | {
            "not_one": variable(
                ("step", "shape"), crossed, "rows whose step does not change exactly one sign, of all rows tried"
            )
        },
        _batch_coordinates(batches)
        | {
            "draws": variable((), settings.draws, "rows sampled per batch"),
            "step": variable("step", np.array(list(STEPS)), "form of the step"),
            "shape": variable("shape", np.array([f"k={k}, n={n}" for k, n in SHAPES]), "dimensions and columns"),
            "rows_tried": variable((), settings.steps, "rows tried per form and shape"),
        },
        title="Cells of constant signs: counts and volumes, exact and sampled; steps from one cell to the next",
    )


def _count(X: np.ndarray, draws: int, rng: np.random.Generator) -> dict[str, float]:
    signs, volumes = cells(X, exact_method(X))
    sampled = np.packbits(rng.standard_normal((draws, len(X))) @ X > 0, axis=1)
    seen, counts = np.unique(sampled, axis=0, return_counts=True)
    hits = {pattern.tobytes(): int(count) for pattern, count in zip(seen, counts, strict=True)}
    by_cell = np.array([hits.get(pattern.tobytes(), 0) for pattern in np.packbits(signs > 0, axis=1)])
    smallest = volumes <= volumes.min() * (1 + 1e-6)
    return {
        "cell_count": len(volumes),
        "patterns_seen": len(seen),
        "strays": draws - int(by_cell.sum()),
        "volume_sum": volumes.sum(),
        "gamma": volumes.min(),
        "smallest_hits": int(by_cell[smallest].sum()),
        "smallest_share": volumes[smallest].sum(),
        "smallest_count": int(smallest.sum()),
        "pair_count": len(np.unique(signs * signs[:, :1], axis=0)),
        "volume_sum_without_smallest": volumes[~smallest].sum(),
        "strays_of_reflection": draws - sum(hits.get(pattern.tobytes(), 0) for pattern in _reflected(signs)),
    }


def _reflected(signs: np.ndarray) -> np.ndarray:
    """Sign patterns, packed, of the cells of the batch with -x_n for x_n."""
    return np.packbits(signs * np.append(np.ones(signs.shape[1] - 1), -1) > 0, axis=1)


def _crossings(k: int, n: int, rows: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.standard_normal((k, n)) * rng.uniform(0.2, 5.0, n)
    w = rng.standard_normal((rows, k))
    return np.array([np.count_nonzero(signs_changed(w, step(w, X), X) != 1) for step in STEPS.values()])


def stalled_rows(settings: StalledRows, stream: Stream) -> xr.Dataset:
    """Lemma 2: rows that have full rank on t columns but not on t + 1, and the chance of the next row."""
    cases = [(2, t) for t in settings.planar] + [(3, t) for t in settings.spatial]
    shape = (len(cases), settings.configurations)
    measured = {name: np.empty(shape) for name in ("probability", "frequency", "gamma")}
    for c, (k, t) in enumerate(cases):
        for i in range(settings.configurations):
            rng = stream.generator(k, t, i)
            X, W = _stalled(k, t, rng)
            measured["probability"][c, i] = success_probability(X, W)
            measured["frequency"][c, i] = full_rank.success_frequency(X, W, rng, settings.draws)
            measured["gamma"][c, i] = gamma(X)
    words = {
        "probability": "probability that the next row raises the rank, from the cells",
        "frequency": f"frequency in {settings.draws} next rows",
        "gamma": "smallest volume of a cell",
    }
    return dataset(
        {name: variable(("case", "configuration"), measured[name], text) for name, text in words.items()},
        {
            "case": variable("case", np.array([f"k={k}, t={t}" for k, t in cases]), "input dimension and columns"),
            "configuration": index("configuration", settings.configurations, "stalled configuration"),
            "draws": variable((), settings.draws, "next rows sampled per configuration"),
        },
        title="Chance that one more row raises the rank of ReLU(W X)",
    )


def _stalled(k: int, t: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian batch of t + 1 columns and the rows up to the first of rank t on t columns, still of rank t on all."""
    while True:
        X = rng.standard_normal((k, t + 1))
        W = np.empty((0, k))
        while _rank(W @ X[:, :t]) < t:
            W = np.vstack([W, rng.standard_normal((1, k))])
        if _rank(W @ X) == t:
            return X, W


def _rank(Z: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(np.maximum(Z, 0.0), rtol=1e-10)) if len(Z) else 0


def rows_to_full_rank(settings: RowsToFullRank, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Theorem 3 and Corollary 4: draws of y and of the waiting times by column, with their bounds."""
    batches = [
        *(Batch("circle", circle_batch(n)) for n in settings.circles),
        *gaussian_batches("Gaussian k=2", 2, settings.planar, settings.batches, stream),
        *gaussian_batches("Gaussian k=3", 3, settings.spatial, settings.batches, stream),
        *gaussian_batches("recentered", 2, settings.recentered, settings.batches, stream),
    ]
    runs: list[Trial] = []
    progress = Progress("rows_to_full_rank", len(batches))
    for b, batch in enumerate(batches):
        own, name = checkpoint.of(batch.X), f"batch {b}"  # the weights are drawn by the batch's place among all
        runs.append(own.get(name) or own.put(name, _rows_drawn(batch.X, stream.generator("rows", b), settings.draws)))
        progress.step(b + 1)
    gammas = stacked(runs, "gamma")
    circles = checkpoint.get("circles") or checkpoint.put("circles", _followed(settings, stream))
    waits, of_columns = circles["waits"], circles["gammas"]
    sizes = np.array([batch.X.shape[1] for batch in batches])
    return dataset(
        {
            "y": variable(("batch", "draw"), stacked(runs, "y"), "rows until ReLU(W X) has full rank"),
            "gamma": variable("batch", gammas, "smallest volume of a cell"),
            "bound": variable(
                "batch", full_rank.expected_rows_bound(gammas, sizes), "n / gamma, bound on the mean of y"
            ),
            "bound_by_column": variable(
                "batch", stacked(runs, "bound_by_column"), "sum over t of 1/gamma of the first t columns"
            ),
            "wait": variable(("wait_batch", "wait_draw", "column"), waits, "rows that column t waits for, y_t"),
            "column_gamma": variable(("wait_batch", "column_or_next"), of_columns, "gamma of the first t columns"),
            "wait_gamma": variable("wait_batch", of_columns[:, -2], "gamma of all columns whose waits are followed"),
            "y_antipodal": variable("draw", circles["y_antipodal"], f"rows until full rank for {NEVER}"),
            "wait_antipodal": variable("wait_draw", circles["wait_antipodal"], f"wait of the last of {NEVER}"),
            "tail_bound": variable(
                ("circle_points", "form", "alpha"),
                np.array([_tail_curves(n) for n in settings.circles]),
                "bound on the probability that alpha n / gamma rows do not give full rank",
            ),
        },
        _batch_coordinates(batches)
        | {
            "draw": index("draw", settings.draws, "draw of the weights"),
            "wait_batch": index("wait_batch", len(waits), "batch; 0 is the circle"),
            "wait_draw": index("wait_draw", settings.wait_draws, "draw of the weights"),
            "column": variable("column", np.arange(1, waits.shape[-1] + 1), "column t"),
            "circle_points": variable("circle_points", np.array(settings.circles), "points on the circle"),
            "form": variable("form", np.array(["geometric", "7a", "7b"]), "geometric: sum of geometric variables"),
            "alpha": variable("alpha", ALPHA, "rows over n / gamma"),
            "antipodal_points": variable((), ANTIPODAL, "points on the circle of `y_antipodal`"),
            "column_or_next": variable("column_or_next", np.arange(1, of_columns.shape[-1] + 1), "number of columns"),
        },
        title="Rows until ReLU(W X) has full rank, by batch and by column",
    )


def _rows_drawn(X: np.ndarray, rng: np.random.Generator, draws: int) -> Trial:
    """Draws of y for one batch, the smallest volume of its cells and the bound by column."""
    columns = [gamma(X[:, :t]) for t in range(1, X.shape[1] + 1)]
    return {
        "y": full_rank.rows_to_full_rank(X, rng, draws).astype(np.int32),
        "gamma": np.array(columns[-1]),
        "bound_by_column": np.array(expected_rows_bound_by_column(np.array(columns))),
    }


def _followed(settings: RowsToFullRank, stream: Stream) -> Trial:
    """Waits by column, and what the theorem excludes: a circle with antipodal points, whose rank is never full."""
    waits, gammas = _waits_by_column(settings, stream)
    return {
        "waits": waits,
        "gammas": gammas,
        "y_antipodal": 1 + _rows_below_full_rank(settings.draws, stream, 0),
        "wait_antipodal": 1 + _rows_below_full_rank(settings.wait_draws, stream, ANTIPODAL - 1),
    }


def _rows_below_full_rank(draws: int, stream: Stream, least: int) -> np.ndarray:
    """Rows at ranks from `least` to below full, on a circle with antipodal points, followed beyond alpha = 2."""
    rows = int(3 * ANTIPODAL / circle_cells(ANTIPODAL)[1])
    ranks = full_rank.relu_rank_profile(circle_batch(ANTIPODAL), stream.generator("antipodal"), rows, draws)
    return ((ranks >= least) & (ranks < ANTIPODAL)).sum(axis=1)


def _tail_curves(n: int) -> list[np.ndarray]:
    """Exact tail of the geometric sum, (7a) and (7b) on the circle of n points along `ALPHA`; 1 below alpha = 1."""
    volume, possible = gamma(circle_batch(n)), np.maximum(ALPHA, 1.0)
    bounds = [1 - full_rank.full_rank_tail_bound(possible, volume, n, form) for form in ("a", "b")]
    return [full_rank.geometric_sum_tail(ALPHA * n / volume + 1e-9, volume, n), *bounds]


def _waits_by_column(settings: RowsToFullRank, stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    """y_t for n points on the circle and Gaussian batches, and gamma of 1 to n + 1 columns, the last a further one."""
    n = settings.wait_points
    beside_the_first = [[np.cos(np.radians(1))], [np.sin(np.radians(1))]]
    batches = [np.hstack([np.roll(circle_batch(n), 1, axis=1), beside_the_first])]
    batches += [batch.X for batch in gaussian_batches("waits", 2, (n + 1,), settings.batches, stream)]
    reached = [
        full_rank.rows_to_rank_by_column(X[:, :n], stream.generator("waits", b), settings.wait_draws)
        for b, X in enumerate(batches)
    ]
    gammas = [[gamma(X[:, :t]) for t in range(1, n + 2)] for X in batches]
    return np.diff(np.array(reached, np.int32), axis=-1, prepend=np.int32(0)), np.array(gammas)


def _batch_coordinates(batches: list[Batch]) -> dict[str, xr.Variable]:
    return {
        "batch": index("batch", len(batches), "batch"),
        "kind": variable("batch", np.array([kind for kind, _ in batches]), "kind of batch"),
        "k": variable("batch", np.array([len(X) for _, X in batches]), "input dimension"),
        "n": variable("batch", np.array([X.shape[1] for _, X in batches]), "points in the batch"),
        "recentered": variable(
            "batch", np.array([int(kind == "recentered") for kind, _ in batches]), "1 if recentered"
        ),
    }


def full_rank_tail(settings: FullRankTail) -> xr.Dataset:
    """Theorem 3, item 2: the bounds against the exact tail of the sum of geometric variables they come from."""
    n, alpha, volume = np.array(settings.points), np.array(settings.alphas), np.array(settings.gammas)
    exact = np.array([[[_log_tail(m * a / g, g, m) for g in volume] for a in alpha] for m in n])
    least = np.array([[_chernoff_minimum(a, g) for g in volume] for a in alpha])
    fine = np.linspace(0.001, 0.999, 999)
    return dataset(
        {
            "log_tail": variable(("n", "alpha", "gamma"), exact, "logarithm of P(g_1 + ... + g_n > alpha n / gamma)"),
            "log_chernoff": variable(("alpha", "gamma"), least, "logarithm per column of the minimum in (28b)"),
            "exponent_a": variable(
                ("alpha", "gamma"), tail_exponent(alpha[:, None], volume, "a"), "exponent per column of (7a)"
            ),
            "exponent_b": variable("alpha", tail_exponent(alpha, 0.5, "b"), "exponent per column of (7b)"),
            "exponent_fine": variable(
                ("alpha", "gamma_fine"), tail_exponent(alpha[:, None], fine, "a"), "exponent per column of (7a)"
            ),
            **_wrong_exponents(alpha, volume, fine),
        },
        {
            "n": variable("n", n, "points in the batch"),
            "alpha": variable("alpha", alpha, "rows over n / gamma"),
            "gamma": variable("gamma", volume, "smallest volume of a cell"),
            "gamma_fine": variable("gamma_fine", fine, "smallest volume of a cell"),
        },
        title="Tail of the rows until full rank: exact, by Chernoff's inequality, and in closed form",
    )


def _wrong_exponents(alpha: np.ndarray, volume: np.ndarray, fine: np.ndarray) -> dict[str, xr.Variable]:
    """Exponents with log(alpha) for log(1/alpha) in (7a), + log(alpha) for - log(alpha) in (7b)."""
    twice = 2 * np.log(alpha)[:, None]
    words = "with the sign of log(alpha) reversed"
    return {
        "wrong_exponent_a": variable(
            ("alpha", "gamma"), tail_exponent(alpha[:, None], volume) + twice * alpha[:, None] / volume, f"(7a) {words}"
        ),
        "wrong_exponent_b": variable("alpha", tail_exponent(alpha, 0.5, "b") + twice[:, 0], f"(7b) {words}"),
        "wrong_exponent_fine": variable(
            ("alpha", "gamma_fine"),
            tail_exponent(alpha[:, None], fine) + twice * alpha[:, None] / fine,
            f"(7a) {words}",
        ),
    }


def _log_tail(d: float, gamma: float, n: int) -> float:
    """Logarithm of P(g_1 + ... + g_n > d) for Geometric(gamma) variables: fewer than n successes in d trials."""
    return float(logsumexp(scipy.stats.binom.logpmf(np.arange(n), np.floor(d), gamma)))


def _chernoff_minimum(alpha: float, gamma: float) -> float:
    """Minimum over s of the logarithm per column of (28b), found by search."""
    upper = -np.log1p(-gamma)
    minimum = scipy.optimize.minimize_scalar(
        full_rank.chernoff_log_bound,
        bounds=(0, upper * (1 - 1e-12)),
        args=(alpha, gamma),
        method="bounded",
        options={"xatol": 1e-10 * upper},
    )
    return float(minimum.fun)
