"""Training: accuracy against the rank at initialization (Figure 2)."""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr

from repdyn.base.checkpoints import Checkpoint, Trial
from repdyn.base.datasets import dataset, index, left_out, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.methods import networks
from repdyn.bn_decomposed.settings.study import Training

RANKS = {
    "r1": "singular values above 1e-2 of the largest",
    "numerical_rank": "singular values above 1e-6 of the largest",
    "stable_rank": "squared Frobenius over squared spectral norm",
    "effective_rank": "exponential of the entropy of the normalized singular values",
}


def training(
    settings: Training, images: xr.Dataset, stream: Stream, device: str, checkpoint: Checkpoint, mode: str
) -> xr.Dataset:
    """Training accuracy and rank of the last hidden layer at initialization against depth, for one mode (Figure 2)."""
    torch.set_num_threads(1)
    X, y = _standardized(images, device)
    rates = getattr(settings.rates, mode)
    trials = [
        (depth, rate, seed)
        for depth, rate in zip(settings.depths, rates, strict=True)
        for seed in range(settings.seeds)
    ]
    progress = Progress(f"training {mode}", len(trials))
    runs: list[Trial] = []
    for depth, rate, seed in trials:
        name, own = f"depth {depth}, seed {seed}", checkpoint.of(rate)
        runs.append(
            own.get(name) or own.put(name, _trial(settings, X, y, depth, mode, rate, stream.child(depth, seed)))
        )
        progress.step(len(runs), accuracy=float(runs[-1]["accuracy"][-1]))
    shape = (len(settings.depths), settings.seeds)
    dims = ("depth", "seed")
    epochs = np.arange(networks.MEASURED_EVERY, settings.epochs + 1, networks.MEASURED_EVERY)
    trained = dataset(
        {
            "accuracy": variable(
                (*dims, "epoch"), np.reshape([trial["accuracy"] for trial in runs], (*shape, -1)), "training accuracy"
            )
        }
        | {
            name: variable(
                dims,
                np.reshape([trial[name] for trial in runs], shape),
                f"last hidden layer at initialization: {words}",
            )
            for name, words in RANKS.items()
        },
        {
            "depth": variable("depth", np.array(settings.depths), "hidden layers"),
            "seed": index("seed", settings.seeds, "draw of weights and order of the data"),
            "epoch": variable("epoch", epochs, "passes over the data"),
            "rate": variable("depth", np.array(rates), "learning rate"),
            "width": variable((), settings.width, "neurons per hidden layer"),
            "batch": variable((), settings.batch, "points per step"),
            "point_count": variable((), len(X), "training points"),
        },
        title=f"Training accuracy and initial rank against depth, mode {mode}",
    )
    gone = trained["accuracy"].isel(epoch=-1).isnull().values
    return left_out(trained, gone, f"training.rates.{mode}: {', '.join(f'{rate:g}' for rate in rates)}")


def _trial(
    settings: Training, X: torch.Tensor, y: torch.Tensor, depth: int, mode: str, rate: float, stream: Stream
) -> Trial:
    classes = int(y.max()) + 1
    network = networks.mlp(X.shape[1], settings.width, depth, classes, mode, stream.generator("weights")).to(X.device)
    ranks = networks.rank_profile(network, X[: settings.rank_points])
    order = stream.generator("order")
    steps = networks.train(network, X, y, rate=rate, batch=settings.batch, epochs=settings.epochs, rng=order)
    return {"accuracy": np.array(list(steps))} | {name: np.array(float(value)) for name, value in ranks.items()}


def _standardized(images: xr.Dataset, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """All images as float32 rows, their overall mean and standard deviation taken out, and their labels."""
    flat = images["image"].values.reshape(images.sizes["point"], -1)
    flat = (flat - flat.mean()) / flat.std()
    labels = images["label"].values.astype(np.int64)
    return torch.from_numpy(flat).float().to(device), torch.from_numpy(labels).to(device)
