"""Experiment on symmetric batches: how many random layers pass before one point breaks away (Section III)."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint, groups
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.settings.study import SymmetricBatch
from repdyn.bn_decomposed.theory.kernel import expected_gram_step
from repdyn.bn_decomposed.theory.layers import propagate
from repdyn.bn_decomposed.theory.rank import circle_batch

GROUP = 10  # draws that are kept together when they are finished
TIMES_AS_LONG = (2.0, 4.0)
WITH_RELU_ALONE = {"recenter": True, "rescale": None, "relu": True}
STARTS = {
    "equal angles": "all pairs of points at one angle",
    "circle": "equally spaced points on a circle",
    "one point far": "equal angles, but one point farther from the mean",
}


def symmetric_batch(settings: SymmetricBatch, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """First layer in which one point is longer than all others, from symmetric batches and from one that is not."""
    factors = np.array(TIMES_AS_LONG)
    shape = (len(STARTS), len(settings.batches), len(settings.widths), settings.runs)
    wait, odd = np.empty((*shape, factors.size), np.int32), np.empty(shape, np.int16)
    limit = np.empty((*shape[:2], factors.size), np.int32)
    progress = Progress("symmetric_batch", int(np.prod(shape[:2])))
    for done, ((s, start), (b, n)) in enumerate(product(enumerate(STARTS), enumerate(settings.batches))):
        X = _batch(start, n, settings.far)
        limit[s, b] = _wait_in_the_limit(X.T @ X, factors, settings.depth)
        for (w, width), runs in product(enumerate(settings.widths), groups(settings.runs, GROUP)):
            name = f"{start}, {n} points, width {width}, runs {runs.start} to {runs.stop - 1}"
            kept = checkpoint.get(name)
            if kept is None:
                weights = (stream.generator(run, n, width, "weights") for run in runs)
                waits, longest = zip(*(_wait(X, width, factors, settings.depth, rng) for rng in weights), strict=True)
                kept = checkpoint.put(name, {"wait": waits, "odd": longest})
            own = slice(runs.start, runs.stop)
            wait[s, b, w, own], odd[s, b, w, own] = kept["wait"], kept["odd"]
        progress.step(done + 1)
    dims = ("start", "batch", "width", "run")
    never = f"{settings.depth + 1}: in none of the {settings.depth} layers"
    return dataset(
        {
            "wait": variable((*dims, "factor"), wait, f"first layer with a point so many times as long; {never}"),
            "odd": variable(dims, odd, "index of the longest point in the last layer followed"),
            "wait_in_the_limit": variable(("start", "batch", "factor"), limit, f"the same at infinite width; {never}"),
        },
        {
            "start": variable("start", np.array(list(STARTS)), "the input"),
            "batch": variable("batch", np.array(settings.batches), "data points in the batch"),
            "width": variable("width", np.array(settings.widths), "neurons per layer"),
            "run": index("run", settings.runs, "draw of the weights"),
            "factor": variable("factor", factors, "length of the longest point over that of the next"),
            "depth": variable((), settings.depth, "layers followed at most"),
        },
        title="Layers until a symmetric batch has an odd point",
    )


def _batch(start: str, n: int, far: float) -> np.ndarray:
    if start == "circle":
        return circle_batch(n)
    X = np.eye(n)
    X[0, 0] = far if start == "one point far" else 1.0
    return X


def _wait(
    X: np.ndarray, width: int, factors: np.ndarray, depth: int, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """First layers in which the longest point is so many times as long as the next, and which point that is."""
    wait = np.full(factors.size, depth + 1)
    for layer in range(1, depth + 1):
        X = propagate(X, width, 1, rng, **WITH_RELU_ALONE)  # type: ignore[arg-type, assignment]  # no record
        wait = _first(wait, layer, (X**2).sum(axis=0), factors)
        if wait.max() <= layer:
            break
    return wait, int(np.argmax((X**2).sum(axis=0)))


def _wait_in_the_limit(G: np.ndarray, factors: np.ndarray, depth: int) -> np.ndarray:
    """The same where layers have no randomness: the expected Gram matrix, layer by layer."""
    wait = np.full(factors.size, depth + 1)
    for layer in range(1, depth + 1):
        G = expected_gram_step(G)
        G /= np.trace(G)
        wait = _first(wait, layer, np.diag(G), factors)
    return wait


def _first(wait: np.ndarray, layer: int, squares: np.ndarray, factors: np.ndarray) -> np.ndarray:
    second, first = np.sqrt(np.sort(squares)[-2:])
    return np.where((first >= factors * second) & (wait > layer), layer, wait)
