"""Networks trained on blobs with two features, one of which counts (Section 4.5, Figures 8, 13 and 17)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, index, left_out, variable
from repdyn.base.streams import Stream
from repdyn.universality.methods import minibatch_loop, minibatch_training
from repdyn.universality.methods.blob_task import blob_images
from repdyn.universality.methods.minibatch_training import Trainer
from repdyn.universality.settings.data_sets import BlobNetwork, BlobTraining


def blobs(
    settings: BlobTraining, network: BlobNetwork, stream: Stream, device: str, checkpoint: Checkpoint, run: str
) -> xr.Dataset:
    """Trained representations of all blobs for one run, and the loss on the way."""
    inputs, targets, features = blob_images(settings.positions, settings.pixels)
    inputs[:, : settings.pixels**2] *= network.brightness
    looks = minibatch_loop.evenly(network.epochs, settings.looks)

    def begin(trials: Sequence[int]) -> Trainer:
        return minibatch_loop.start(network, inputs, targets, trials, stream, device, batch=settings.batch)

    def watch(trainer: Trainer, _trials: Sequence[int], epoch: int) -> minibatch_loop.Records:
        layers = minibatch_training.layers(trainer.networks, trainer.X)
        loss = 0.5 * ((layers[-1] - trainer.Y).double() ** 2).mean(dim=(1, 2)).cpu().numpy()
        last = {"h": layers[minibatch_loop.halfway(network)].cpu().numpy()} if epoch == network.epochs else {}
        return {"loss": loss} | last

    records = minibatch_loop.run(run, begin, settings.trials, looks, stream, watch, checkpoint)
    recorded = dataset(
        {
            "h": variable(("trial", "point", "neuron"), records["h"][0], "representation after training"),
            "loss": variable(("epoch", "trial"), records["loss"], "half the mean squared error"),
            "feature": variable(("point", "axis"), features[:, :2], "center of the blob", "half width of the image"),
            "context": variable("point", features[:, 2].astype(int), "context: the feature that is the target"),
        },
        {
            "trial": index("trial", settings.trials, "draw of weights and order of the points"),
            "point": index("point", len(inputs), "data point"),
            "neuron": index("neuron", network.units, "neuron of the hidden layer halfway"),
            "axis": index("axis", 2, "feature: x-position, y-position"),
            "epoch": variable("epoch", np.array(looks), "passes over the data", "epoch"),
            "epochs": variable((), network.epochs, "passes over the data"),
            "positions": variable((), settings.positions, "positions of the blob along each axis"),
            "pixels": variable((), settings.pixels, "pixels along each axis"),
            "brightness": variable((), network.brightness, "factor on the images, which sum to 1"),
        }
        | minibatch_loop.described(network, "gain", "rate", "hidden", "nonlinearity", "optimizer"),
        title=f"Blobs with two features: trained representations, run {run}",
    )
    gone = ~np.isfinite(recorded["loss"].values[-1])
    return left_out(recorded, gone, minibatch_loop.rates(f"blobs.runs {run}", network))
