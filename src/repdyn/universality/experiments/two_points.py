"""Training runs on two points: Figures 2, 3, 5, 10, 11, 12, 15 and the data set as printed. Fits are made elsewhere.

The printed data set "dx = 0.5, dy = 1" leaves the default network on its plateau; the figures' own values dx^2 = 1,
dy^2 = 0.5 are used throughout, and the printed ones once, to show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, index, left_out, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.universality.methods.engines.frames import Task
from repdyn.universality.methods.networks import Net
from repdyn.universality.methods.two_point_training import train_two_points, two_points
from repdyn.universality.settings.two_points import (
    AdamRuns,
    Architectures,
    DefaultEnsemble,
    DefaultNetwork,
    FinalDistances,
    NetworkSettings,
    PrintedData,
    TwoPointRun,
)

DX, DY = 1.0, float(np.sqrt(0.5))
PAIRED = "two points"  # one shape, one trial, one draw in all experiments on them
TRAJECTORY = ("h", "y", "w", "loss", "offset2")


def architectures(
    settings: Architectures,
    networks: Mapping[str, NetworkSettings],
    stream: Stream,
    device: str,
    checkpoint: Checkpoint,
) -> xr.Dataset:
    """All networks of Table 1 on two points, H halfway; networks of one shape share their draws."""
    tasks: dict[str, Task] = {name: _task(settings, networks[name]) for name in settings.rows}
    runs = _trained(settings, tasks, stream, device, checkpoint)
    title = "Two points through the networks of Table 1"
    gathered = _gathered(runs, "network", "row of Table 1", title).assign(_described(settings.rows, networks))
    return _left_out(gathered, "architectures", tasks)


def default_network(
    settings: DefaultNetwork, default: NetworkSettings, stream: Stream, device: str, checkpoint: Checkpoint
) -> xr.Dataset:
    """The default network at the paper's width, all layers of the same run recorded."""
    return _all_layers("default_network", settings, default, stream, device, checkpoint)


def _all_layers(
    section: str,
    settings: DefaultNetwork | DefaultEnsemble,
    default: NetworkSettings,
    stream: Stream,
    device: str,
    checkpoint: Checkpoint,
) -> xr.Dataset:
    task = _task(settings, default, units=settings.units, layers=tuple(range(default.hidden)))
    runs = train_two_points(settings, task, stream.of(PAIRED), device=device, checkpoint=checkpoint, name="default")
    about = {
        "units": variable((), task.net.units, "neurons per hidden layer"),
        "gain": variable((), task.net.gain, "gain of the initial weights"),
        "halfway": variable((), task.net.halfway, "hidden layer halfway, from 0"),
    }
    recorded = dataset(
        {str(name): array.variable for name, array in runs.data_vars.items()} | about,
        {str(name): array.variable for name, array in runs.coords.items()},
        title="Two points through the default network, all hidden layers",
    )
    return left_out(recorded, _gone(recorded), f"{section}: {_rates({'default': task})}")


def default_ensemble(
    settings: DefaultEnsemble, default: NetworkSettings, stream: Stream, device: str, checkpoint: Checkpoint
) -> xr.Dataset:
    """The default network narrower and with many seeds, all layers of the same runs recorded."""
    return _all_layers("default_ensemble", settings, default, stream, device, checkpoint)


def adam_runs(
    settings: AdamRuns, default: NetworkSettings, stream: Stream, device: str, checkpoint: Checkpoint
) -> xr.Dataset:
    """The default network by Adam at several rates, from the weights it has in `architectures`."""
    tasks = {f"{rate:g}": _task(settings, default, rate=rate, optimizer="adam") for rate in settings.rates}
    runs = _trained(settings, tasks, stream, device, checkpoint)
    title = "The default network on two points, by Adam"
    units = variable((), default.units, "neurons per hidden layer")
    gathered = _gathered(runs, "rate", "learning rate of Adam", title).assign(units=units)
    return left_out(gathered, _gone(gathered), f"adam_runs.rates: {', '.join(tasks)}")


def printed_data(
    settings: PrintedData, networks: Mapping[str, NetworkSettings], stream: Stream, device: str, checkpoint: Checkpoint
) -> xr.Dataset:
    """Rows of Table 1 on the data set that section B.1 prints."""
    distances = settings.dx, settings.dy
    tasks: dict[str, Task] = {name: _task(settings, networks[name], distances=distances) for name in settings.rows}
    runs = _trained(settings, tasks, stream, device, checkpoint)
    title = "Two points as printed in section B.1, dx = 0.5 and dy = 1"
    gathered = _gathered(runs, "network", "row of Table 1", title).assign(_described(settings.rows, networks))
    return _left_out(gathered, "printed_data", tasks)


def final_distances(
    settings: FinalDistances, networks: Mapping[str, NetworkSettings], stream: Stream, checkpoint: Checkpoint
) -> xr.Dataset:
    """Start and end of training over a grid of input and target distances; every cell has networks of its own.

    It takes no device: the few networks of a cell do not fill a GPU; rows run side by side on CPUs instead.
    """
    shape = (len(settings.rows), len(settings.dx), len(settings.dy), settings.seeds)
    ends = {name: np.empty(shape) for name in ("h0", "y0", "h_end", "loss_end", "epochs")}
    gone, tasks = np.zeros(shape, bool), {}
    progress = Progress("final distances", int(np.prod(shape[:3])))
    for place in np.ndindex(shape[:3]):
        name, dx, dy = settings.rows[place[0]], settings.dx[place[1]], settings.dy[place[2]]
        rate = networks[name].learning_rate / settings.slower
        task = tasks[name] = _task(settings, networks[name], distances=(dx, dy), rate=rate)
        own, cell = stream.child(place[1], place[2]).of(PAIRED), f"{name} {dx} {dy}"
        run = train_two_points(settings, task, own, checkpoint=checkpoint, name=cell)
        for variable_name, values in _ends(run).items():
            ends[variable_name][place] = values
        gone[place] = _gone(run)
        progress.step(int(np.ravel_multi_index(place, shape[:3])) + 1)
    grid = _grid(settings, ends).assign(_described(settings.rows, networks))
    rows = [name for name, some in zip(settings.rows, gone.any(axis=(1, 2, 3)), strict=True) if some]  # type: ignore[arg-type]  # array
    return left_out(grid, gone, f"final_distances: {_rates({name: tasks[name] for name in rows})}")


def _task(
    settings: TwoPointRun,
    row: NetworkSettings,
    *,
    distances: tuple[float, float] = (DX, DY),
    units: int | None = None,
    rate: float | None = None,
    **more: Any,
) -> Task:
    """The training of a row of Table 1 on two points at the given distances, with another width or rate if named."""
    units = units or row.units
    net = Net(
        row.nonlinearity,
        row.gain,
        connections=row.connections,
        dropout=row.dropout,
        units=units,
        hidden=row.hidden,
        channels=row.channels,
        kernel=row.kernel,
    )
    X, Y = two_points(*distances)
    return Task(net, X, Y, rate or row.learning_rate, every=settings.every, stop=settings.stop, **more)


def _gone(runs: xr.Dataset) -> np.ndarray:
    """Whether each trial has diverged: its last loss is not finite."""
    return ~np.isfinite(runs["loss"].isel(epoch=-1).values)


def _left_out(gathered: xr.Dataset, section: str, tasks: Mapping[str, Task]) -> xr.Dataset:
    """Runs side by side, with what is said of the rows in which trials have diverged."""
    gone = xr.DataArray(_gone(gathered), gathered["loss"].isel(epoch=-1, drop=True).coords)
    rows = {name: task for name, task in tasks.items() if gone.sel(network=name).any()}
    return left_out(gathered, gone.values, f"{section}: {_rates(rows)}")


def _rates(tasks: Mapping[str, Task]) -> str:
    """Rows of the section `networks` that were trained, with rate and gain, in words."""
    rows = (f"{name}, learning_rate {task.rate:g}, gain {task.net.gain:g}" for name, task in tasks.items())
    return f"networks {'; '.join(rows)}"


def _trained(
    settings: TwoPointRun, tasks: Mapping[str, Task], stream: Stream, device: str, checkpoint: Checkpoint
) -> dict[str, xr.Dataset]:
    """An ensemble for each task, by name."""
    progress, runs, own = Progress("two points", len(tasks)), {}, stream.of(PAIRED)
    for done, (name, task) in enumerate(tasks.items(), 1):
        runs[name] = train_two_points(settings, task, own, device=device, checkpoint=checkpoint, name=name)
        progress.step(done)
    return runs


def _gathered(runs: Mapping[str, xr.Dataset], dim: str, long_name: str, title: str) -> xr.Dataset:
    """Runs side by side along a new dimension, one layer each."""
    each = [run.isel(layer=0, drop=True) if "layer" in run.dims else run for run in runs.values()]
    together = xr.concat(each, dim=xr.Variable(dim, list(runs), {"long_name": long_name, "units": "1"}))
    gathered = dataset(
        {str(name): array.variable for name, array in together.data_vars.items()},
        {str(name): array.variable for name, array in together.coords.items()},
        title=title,
    )
    for name in TRAJECTORY:
        gathered[name].attrs = each[0][name].attrs
    return gathered


def _described(names: Iterable[str], networks: Mapping[str, NetworkSettings]) -> dict[str, xr.Variable]:
    """Table 1 of the networks that were trained."""
    rows = [networks[name] for name in names]
    words = {
        "gain": "gain of the initial weights",
        "learning_rate": "learning rate",
        "units": "neurons per hidden layer",
        "hidden": "hidden layers",
    }
    return {name: variable("network", [getattr(row, name) for row in rows], word) for name, word in words.items()}


def _ends(run: xr.Dataset) -> dict[str, np.ndarray]:
    """First and last record of each trial; one that diverged at once ends with an infinite loss."""
    loss, h = run["loss"].values, run["h"].values[:, :, 0]
    counts = np.isfinite(loss).sum(axis=1)
    every, last = np.arange(len(loss)), np.maximum(counts - 1, 0)
    return {
        "h0": h[:, 0],
        "y0": run["y"].values[:, 0],
        "h_end": h[every, last],
        "loss_end": np.where(counts == 0, 1e300, loss[every, last]),
        "epochs": run["trained_epochs"].values,
    }


def _grid(settings: FinalDistances, ends: Mapping[str, np.ndarray]) -> xr.Dataset:
    dims = ("network", "dx", "dy", "seed")
    words = {
        "h0": ("squared representational distance at the start", "1"),
        "y0": ("squared output distance at the start", "1"),
        "h_end": ("squared representational distance at the end", "1"),
        "loss_end": ("training loss at the end", "1"),
        "epochs": ("epoch at which the trial ended", "epoch"),
    }
    grid = {name: variable(dims, ends[name], *word) for name, word in words.items()}
    return dataset(
        grid | {"converged": variable((), settings.converged, "largest loss of a trial that counts")},
        {
            "network": variable("network", np.array(settings.rows), "row of Table 1"),
            "dx": variable("dx", np.array(settings.dx), "input distance"),
            "dy": variable("dy", np.array(settings.dy), "target distance"),
            "seed": index("seed", settings.seeds, "independent network"),
        },
        title="Final distances over a grid of input and target distances",
    )
