"""Training runs on two points: Figures 2, 3, 5, 10, 11, 12, 15 and the data set as printed. Fits are made elsewhere.

The printed data set "dx = 0.5, dy = 1" leaves the default network on its plateau; the figures' own values dx^2 = 1,
dy^2 = 0.5 are used throughout, and the printed ones once, to show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.universality.methods.networks import Net
from repdyn.universality.methods.training import train_two_points, two_points
from repdyn.universality.settings.two_points import (
    AdamRuns,
    Architectures,
    DefaultNetwork,
    FinalDistances,
    NetworkSettings,
    PrintedData,
    TwoPointRun,
)

DX, DY = 1.0, float(np.sqrt(0.5))
TRAJECTORY = ("h", "y", "w", "loss", "offset2")


def _rows(networks: Mapping[str, dict], names: Iterable[str]) -> dict[str, NetworkSettings]:
    """The rows of Table 1 that an experiment trains; a rule hands over these alone."""
    return {name: NetworkSettings.model_validate(networks[name]) for name in names}


def net_of(row: NetworkSettings, units: int | None = None) -> Net:
    """The network of a row of Table 1, with another width if one is given."""
    return Net(
        row.nonlinearity,
        row.gain,
        units or row.units,
        row.hidden,
        row.connections,
        row.dropout,
        channels=row.channels,
        kernel=row.kernel,
    )


def _train(
    name: str,
    row: NetworkSettings,
    settings: TwoPointRun,
    stream: Stream,
    device: str,
    checkpoint: Checkpoint,
    *,
    distances: tuple[float, float] = (DX, DY),
    units: int | None = None,
    **more: object,
) -> xr.Dataset:
    arguments = {"learning_rate": row.learning_rate} | more
    paired = Stream(stream.seed, (stream.key[0], "two points", *stream.key[2:]))  # one shape, one trial: one draw
    return train_two_points(
        net_of(row, units),
        *two_points(*distances),
        epochs=settings.epochs,
        trials=settings.seeds,
        stream=paired,
        dtype=settings.dtype,
        engine=settings.engine,
        device=device,
        every=settings.every,
        checkpoint=checkpoint,
        name=name,
        **arguments,
    )


def _gathered(runs: Mapping[str, xr.Dataset], dim: str, long_name: str, **about: object) -> xr.Dataset:
    """Runs side by side along a new dimension, one layer each; `about` goes to `dataset`."""
    each = [run.isel(layer=0, drop=True) if "layer" in run.dims else run for run in runs.values()]
    together = xr.concat(each, dim=xr.Variable(dim, list(runs), {"long_name": long_name, "units": "1"}))
    made = dataset(dict(together.data_vars), dict(together.coords), **about)
    for name in TRAJECTORY:
        made[name].attrs = each[0][name].attrs
    return made


def _described(rows: Iterable[NetworkSettings]) -> dict[str, xr.Variable]:
    """Table 1 of the networks that were trained."""
    rows = list(rows)
    words = {
        "gain": "gain of the initial weights",
        "learning_rate": "learning rate",
        "units": "neurons per hidden layer",
        "hidden": "hidden layers",
    }
    return {name: variable("network", [getattr(row, name) for row in rows], word) for name, word in words.items()}


def architectures(
    settings: Architectures, networks: dict, stream: Stream, device: str, checkpoint: Checkpoint
) -> xr.Dataset:
    """All networks of Table 1 on two points, H halfway; networks of one shape share their draws."""
    rows = _rows(networks, settings.rows)
    progress, runs = Progress("architectures", len(rows)), {}
    for done, (name, row) in enumerate(rows.items(), 1):
        runs[name] = _train(name, row, settings, stream, device, checkpoint)
        progress.step(done)
    made = _gathered(
        runs,
        "network",
        "row of Table 1",
        title="Two points through the networks of Table 1",
    )
    return made.assign(_described(rows.values()))


def default_network(
    settings: DefaultNetwork, networks: dict, stream: Stream, device: str, checkpoint: Checkpoint
) -> xr.Dataset:
    """The default network at the paper's width, all layers of the same run recorded."""
    return _all_layers(settings, networks, stream, device, checkpoint)


def default_ensemble(
    settings: DefaultNetwork, networks: dict, stream: Stream, device: str, checkpoint: Checkpoint
) -> xr.Dataset:
    """The default network narrower and with many seeds, all layers of the same runs recorded."""
    return _all_layers(settings, networks, stream, device, checkpoint)


def _all_layers(
    settings: DefaultNetwork, networks: dict, stream: Stream, device: str, checkpoint: Checkpoint
) -> xr.Dataset:
    row = _rows(networks, ("default",))["default"]
    made = _train("default", row, settings, stream, device, checkpoint, units=settings.units, layers=range(row.hidden))
    net = net_of(row, settings.units)
    about = {
        "units": variable((), net.units, "neurons per hidden layer"),
        "gain": variable((), net.gain, "gain of the initial weights"),
        "halfway": variable((), net.halfway, "hidden layer halfway, from 0"),
    }
    return dataset(
        dict(made.data_vars) | about,
        dict(made.coords),
        title="Two points through the default network, all hidden layers",
    )


def adam_runs(settings: AdamRuns, networks: dict, stream: Stream, device: str, checkpoint: Checkpoint) -> xr.Dataset:
    """The default network by Adam at several rates, from the weights it has in `architectures`."""
    row = _rows(networks, ("default",))["default"]
    runs = {
        f"{rate:g}": _train(
            f"adam {rate}",
            row,
            settings,
            stream,
            device,
            checkpoint,
            learning_rate=rate,
            optimiser="adam",
        )
        for rate in settings.rates
    }
    return _gathered(
        runs,
        "rate",
        "learning rate of Adam",
        title="The default network on two points, by Adam",
    ).assign(units=variable((), row.units, "neurons per hidden layer"))


def printed_data(
    settings: PrintedData, networks: dict, stream: Stream, device: str, checkpoint: Checkpoint
) -> xr.Dataset:
    """Rows of Table 1 on the data set that section B.1 prints."""
    rows = _rows(networks, settings.rows)
    at = (settings.dx, settings.dy)
    runs = {name: _train(name, row, settings, stream, device, checkpoint, distances=at) for name, row in rows.items()}
    made = _gathered(
        runs,
        "network",
        "row of Table 1",
        title="Two points as printed in section B.1, dx = 0.5 and dy = 1",
    )
    return made.assign(_described(rows.values()))


def final_distances(
    settings: FinalDistances, networks: dict, stream: Stream, device: str, checkpoint: Checkpoint
) -> xr.Dataset:
    """Start and end of training over a grid of input and target distances; every cell has networks of its own."""
    rows, names = _rows(networks, settings.rows), settings.rows
    shape = (len(names), len(settings.dx), len(settings.dy), settings.seeds)
    found = {name: np.empty(shape) for name in ("h0", "y0", "h_end", "loss_end", "epochs")}
    progress = Progress("final distances", len(names) * len(settings.dx) * len(settings.dy))
    for place in np.ndindex(shape[:3]):
        dx, dy = settings.dx[place[1]], settings.dy[place[2]]
        row = rows[names[place[0]]]
        run = _train(
            f"{names[place[0]]} {dx} {dy}",
            row,
            settings,
            stream.child(place[1], place[2]),
            device,
            checkpoint,
            distances=(dx, dy),
            learning_rate=row.learning_rate / settings.slower,
            stop=settings.stop,
        )
        for name, values in _ends(run).items():
            found[name][place] = values
        progress.step(int(np.ravel_multi_index(place, shape[:3])) + 1)
    return _grid(settings, found).assign(_described(rows.values()))


def _ends(run: xr.Dataset) -> dict[str, np.ndarray]:
    """First and last record of each trial; a diverged trial ends with an infinite loss."""
    loss, h = run["loss"].values, run["h"].values[:, :, 0]
    last = np.isfinite(loss).sum(axis=1) - 1
    every = np.arange(len(loss))
    return {
        "h0": h[:, 0],
        "y0": run["y"].values[:, 0],
        "h_end": h[every, last],
        "loss_end": np.where(last < 0, 1e300, loss[every, last]),
        "epochs": run["epoch"].values[last],
    }


def _grid(settings: FinalDistances, found: Mapping[str, np.ndarray]) -> xr.Dataset:
    dims = ("network", "dx", "dy", "seed")
    words = {
        "h0": ("squared representational distance at the start", "1"),
        "y0": ("squared output distance at the start", "1"),
        "h_end": ("squared representational distance at the end", "1"),
        "loss_end": ("training loss at the end", "1"),
        "epochs": ("epoch at which the trial ended", "epoch"),
    }
    made = {name: variable(dims, found[name], *word) for name, word in words.items()}
    return dataset(
        made | {"converged": variable((), settings.converged, "largest loss of a trial that counts")},
        {
            "network": variable("network", np.array(settings.rows), "row of Table 1"),
            "dx": variable("dx", np.array(settings.dx), "input distance"),
            "dy": variable("dy", np.array(settings.dy), "target distance"),
            "seed": index("seed", settings.seeds, "independent network"),
        },
        title="Final distances over a grid of input and target distances",
    )
