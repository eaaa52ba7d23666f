"""One neuron per data point, training of a two-layer network from there (Discussion)."""

from __future__ import annotations

from itertools import product

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint, Trial, stacked
from repdyn.base.datasets import dataset, index, left_out, variable
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.settings.study import PointNeurons
from repdyn.bn_decomposed.theory.initialization import point_neuron_init, unit_columns

STARTS = ("off_diagonal", "activity", "silent")
ENDS = ("steps", "train_accuracy", "test_accuracy")


def point_neurons(settings: PointNeurons, images: xr.Dataset, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """One neuron per data point against He's initialization, same data, width and training (Discussion)."""
    margins = (*settings.margins, None)
    schemes = ["he" if margin is None else f"margin {margin:g}" for margin in margins]
    runs: list[Trial] = []
    for margin, rate, seed in product(margins, settings.rates, range(settings.seeds)):
        own, name = checkpoint.of(margin, rate), f"seed {seed}"
        runs.append(own.get(name) or own.put(name, _trained(settings, margin, rate, images, stream.child(seed))))
    shape = (len(schemes), len(settings.rates), settings.seeds)
    starts = {name: stacked(runs, name, *shape)[:, 0] for name in STARTS}
    ends = {name: stacked(runs, name, *shape) for name in ENDS}
    best = np.nan_to_num(ends["test_accuracy"].mean(axis=2), nan=-1.0).argmax(axis=1)
    words = {
        "off_diagonal": "largest off-diagonal over smallest diagonal entry of the Gram matrix at initialization",
        "activity": "share of positive entries of the representation at initialization",
        "steps": "steps until all training points are right; one more than the steps made if never",
        "train_accuracy": "training accuracy at the end",
        "test_accuracy": "test accuracy at the end",
        "silent": "share of test points for which no neuron fires at initialization",
    }
    trained = dataset(
        {name: variable(("scheme", "seed"), values, words[name]) for name, values in starts.items()}
        | {name: variable(("scheme", "rate", "seed"), values, words[name]) for name, values in ends.items()},
        {
            "scheme": variable(
                "scheme", np.array(schemes), "initialization: threshold margin of one neuron per point, or He"
            ),
            "seed": index("seed", settings.seeds, "draw of the training points"),
            "best_rate": variable("scheme", np.array(settings.rates)[best], "rate of the highest mean test accuracy"),
            "points": variable((), settings.points, "training points and neurons"),
            "steps_made": variable((), settings.steps, "steps of full-batch gradient descent"),
            "rate": variable("rate", np.array(settings.rates), "learning rate"),
        },
        title="One neuron per data point against He's initialization on a small data set",
    )
    rates = ", ".join(f"{rate:g}" for rate in settings.rates)
    return left_out(trained, np.isnan(ends["test_accuracy"]), f"point_neurons.rates: {rates}")


def _trained(settings: PointNeurons, margin: float | None, rate: float, images: xr.Dataset, stream: Stream) -> Trial:
    """One network before and after training, names of `STARTS` and `ENDS`; without a margin it starts as He's."""
    cut = settings.points
    U, labels = _drawn(images, stream.generator("points"))
    if margin is None:
        U = U * np.sqrt(len(U))  # He's choice wants entries of root mean square 1
        W, b = _he(U[:, :cut], stream.generator("weights"))
    else:
        W, b = point_neuron_init(U[:, :cut], margin)
    silent = np.mean((W @ U[:, cut:] + b[:, None] <= 0).all(axis=0))
    values = (*_sparsity(W, b, U[:, :cut]), silent, *_descend(W, b, U, labels, rate, settings))
    return {name: np.array(float(value)) for name, value in zip((*STARTS, *ENDS), values, strict=True)}


def _drawn(images: xr.Dataset, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """All images in a random order as columns of unit norm, shape (pixels, points), and their labels."""
    order = rng.permutation(images.sizes["point"])
    flat = images["image"].values.reshape(images.sizes["point"], -1)
    return unit_columns(flat[order].T), images["label"].values[order]


def _he(U: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Weights and biases as He et al. draw them, as many neurons as points."""
    inputs, neurons = U.shape
    return rng.standard_normal((neurons, inputs)) * np.sqrt(2 / inputs), np.zeros(neurons)


def _sparsity(W: np.ndarray, b: np.ndarray, U: np.ndarray) -> tuple[float, float]:
    """Largest off-diagonal over smallest diagonal entry of the Gram matrix, and the share of positive entries."""
    H = np.maximum(W @ U + b[:, None], 0.0)
    G = H.T @ H
    return float((G - np.diag(np.diag(G))).max() / np.diag(G).min()), float(np.mean(H > 0))


def _descend(
    W: np.ndarray, b: np.ndarray, U: np.ndarray, labels: np.ndarray, rate: float, settings: PointNeurons
) -> tuple[float, float, float]:
    """Full-batch descent of both layers on the mean cross-entropy from a zero head; NaN where it has diverged."""
    cut, X, Y = settings.points, U[:, : settings.points], np.eye(10)[labels[: settings.points]].T
    V, c = np.zeros((10, len(W))), np.zeros(10)
    reached = settings.steps + 1
    for step in range(1, settings.steps + 1):
        Z = W @ X + b[:, None]
        H = np.maximum(Z, 0.0)
        logits = V @ H + c[:, None]
        P = np.exp(logits - logits.max(axis=0))
        error = (P / P.sum(axis=0) - Y) / cut
        back = (V.T @ error) * (Z > 0)
        V, c = V - rate * error @ H.T, c - rate * error.sum(axis=1)
        W, b = W - rate * back @ X.T, b - rate * back.sum(axis=1)
        if reached > step and np.mean(_predict(W, b, V, c, X) == labels[:cut]) == 1:
            reached = step
    if not all(np.isfinite(part).all() for part in (W, b, V, c)):
        return np.nan, np.nan, np.nan
    right = _predict(W, b, V, c, U) == labels
    return reached, float(right[:cut].mean()), float(right[cut:].mean())


def _predict(W: np.ndarray, b: np.ndarray, V: np.ndarray, c: np.ndarray, X: np.ndarray) -> np.ndarray:
    return (V @ np.maximum(W @ X + b[:, None], 0.0) + c[:, None]).argmax(axis=0)
