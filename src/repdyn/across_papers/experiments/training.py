r"""Three questions to four networks, through the diagnostics; what is estimated was fixed before it was computed.

All networks of a seed share the numbers behind their weights; intervals are Student's over seeds at a false-alarm rate
of 0.001. Rates and steps were chosen on the loss alone.

1. *Does the effective two-point theory fit with batch normalization and with leakage?* The theory's two rates are
   fitted to h, y, w of the layer at half depth. U = mean over the three curves of 1 - max(R^2, 0), the unexplained
   share (cut off at 1 after a first run, where a curve that hardly moves gave U = 1e8 with batch normalization).
   Estimand: mean over seeds of log2(U of the network / U of the plain one). The theory fits as well if it is at most
   1, at most twice the unexplained share. On the two points alone, the theory's own setting; on pairs of digits in a
   batch (mean over pairs of log2 U) beside it, for description. Summed fit losses, eq. (49), go with the size of h and
   are not compared. A first choice of depth, gain and moments was given up, because the theory failed for the plain
   network itself (U from 0.3 to 1.2), which left nothing to compare with; the present one was made on the plain
   network alone, at small initial weights, with moments evenly spaced as eq. (49) counts them.
2. *Does a bottleneck of the task's rank show?* r(task) = rank at half depth without the mean over points, after
   training to rest under weight decay, over the rank of the centered targets; two tasks on the same images, of ranks 9
   and 2. Estimand: mean over seeds that have learned and are at rest (`methods.rest`) of log2 r. A bottleneck of the
   task's rank shows if it lies within [-1, 1], a factor of two, in both. Readings: how a rank is counted where the
   spectrum has a tail.
3. *Does an odd point survive training?* Largest over second largest norm in the last layers of deep networks on a small
   batch. Estimand: mean over seeds of log2 of that ratio, before training and, of those that have learned with nothing
   left, after it. An odd point is there if it is at least 1, the largest norm twice the second; there is none if it is
   at most 1. Readings: three times instead of twice, the last quarter of the layers instead of the last. Batch
   normalization in full is known to make none, so recentering without rescaling runs beside the four.

Momentum came with the demand that networks rest: at the rates of plain descent that reach a rest within minutes, steps
beyond the edge of stability threw trained networks off their task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from repdyn.across_papers.methods import networks, rest
from repdyn.across_papers.methods.names import ENDS, FOUR, HALF, middle_layer, named
from repdyn.across_papers.methods.networks import Kind
from repdyn.across_papers.methods.recording import PairRecorder, SpectrumRecorder
from repdyn.across_papers.settings import Digits, OddBatch, Training, TwoPoints
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import dataset, left_out, variable
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.diagnostics.experiments.network import first_of_each_class, standardized
from repdyn.diagnostics.measure import Recorder

POINTS, TARGETS = ((-1.0,), (0.0,)), ((0.6,), (1.3071,))  # dx^2 = 1, dy^2 = 0.5: the public setting of universality
PIXELS = 64  # of the images on which rates were chosen
POINTS_FIRST = {"input": 0}  # batch normalization lets points change each other
PROFILE = (
    "effective_rank",
    "centered_effective_rank",
    "stable_cost_of_identity",
    "norm_ratio",
    "odd_point",
    "within_over_between",
)
ODD_PARTS = ("norm_ratio", "odd_point", "odd_angle", "intra_angle")


def two_points(settings: TwoPoints, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Two points alone: h, y, w at half depth through the training of every network and seed."""
    by_network = {
        kind: checkpoint.of(_rate(settings, kind)).dataset(kind, partial(_two_points_of, kind, settings, stream))
        for kind in FOUR
    }
    joined = _joined(by_network, "network", title="Two points alone in four networks")  # type: ignore[arg-type]
    return _without_diverged(joined, "two_points", settings)


def _two_points_of(kind: Kind, settings: TwoPoints, stream: Stream) -> xr.Dataset:
    X, Y = torch.tensor(POINTS, dtype=torch.float64), torch.tensor(TARGETS, dtype=torch.float64)
    moments = {round(moment) for moment in np.linspace(0, settings.steps, settings.moments)}
    network, pairs = _network(kind, settings, X.shape[1], Y.shape[1], stream), PairRecorder(X, Y, [(0, 1)])
    for step, losses in _descent(network, X, Y, settings, kind, moments):  # noqa: B007 (the last ones are kept)
        pairs(network, step)
    return pairs.dataset().assign(final_loss=("seed", losses))


def digits(settings: Digits, images: xr.Dataset, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """A small batch of digits, two tasks: every layer before and after training, pairs at half depth through it."""
    X, labels = _batch_of_digits(images, settings.per_class)
    grouped = np.repeat(np.arange(len(settings.groups)), settings.groups)[labels]
    tasks = {"10 classes": labels, f"{len(settings.groups)} classes": grouped}
    firsts = [int(np.flatnonzero(grouped == group)[0]) for group in range(len(settings.groups))]
    pairs = list(combinations(firsts, 2))[:3]  # of different classes in both tasks
    progress, done, stacks = Progress("digits", len(tasks) * len(FOUR)), 0, {}
    for task, classes in tasks.items():
        Y = torch.eye(int(classes.max()) + 1, dtype=torch.float64)[torch.from_numpy(classes)]
        of_kind: dict[str, xr.Dataset] = {}
        for kind in FOUR:
            make = partial(_digits_of, kind, X, Y, classes, pairs, settings, stream)
            of_kind[kind] = checkpoint.of(_rate(settings, kind)).dataset(f"{task}, {kind}", make)
            progress.step(done := done + 1, loss=float(of_kind[kind]["final_loss"].mean()))
        stacks[task] = _stacked(of_kind, "network")
    joined = _joined(stacks, "task", title="Digits in four networks, two tasks")
    return _without_diverged(joined, "digits", settings)


def _digits_of(
    kind: Kind,
    X: Tensor,
    Y: Tensor,
    classes: np.ndarray,
    pairs: list[tuple[int, int]],
    settings: Digits,
    stream: Stream,
) -> xr.Dataset:
    network, X = _in_span(_network(kind, settings, X.shape[1], Y.shape[1], stream), X)
    names = ["input", *(f"layers.{number}" for number in range(settings.depth)), "output"]
    ends = _recorders(network, X, names, classes, settings.seeds)
    looks = dict(zip((0, settings.steps // 2, settings.steps), (ENDS[0], HALF, ENDS[1]), strict=True))
    moments = {0, *(round(moment) for moment in np.geomspace(1, settings.steps, settings.moments - 1))}
    recorder, spectra, resting = PairRecorder(X, Y, pairs), SpectrumRecorder(X), rest.RestRecorder(Y, settings.decay)
    stops = moments | looks.keys() | {settings.steps - 1}
    for step, losses in _descent(network, X, Y, settings, kind, stops):
        resting.stop(network)
        if step in moments:
            recorder(network, step)
        if step in looks:
            _record(ends, network, step)
            spectra(network)
            resting.look(losses)
    profile = _over_seeds(ends, list(looks.values()))
    task_ranks = profile[["task_rank", "centered_task_rank"]].isel(seed=0, drop=True)
    parts = [profile[[*PROFILE, "accuracy"]], recorder.dataset(), spectra.dataset(list(looks.values())), task_ranks]
    trained = xr.merge(parts, compat="override", join="exact").assign(final_loss=("seed", losses))
    ranks = profile["centered_effective_rank"].sel(layer=middle_layer(names))
    half_way, end = (ranks.sel(end=name).values for name in (HALF, ENDS[1]))
    rate = _rate(settings, kind)
    return trained.assign(resting.variables(half_way, end, rate=rate, momentum=settings.momentum))


def _in_span(network: networks.Network, X: Tensor) -> tuple[networks.Network, Tensor]:
    """The networks on the points' coordinates in their own span: as many inputs as points, the same training.

    Finer images count as ones of `PIXELS`: the points are shorter and the first weights longer by as much, so that a
    rate means the same at every resolution.
    """
    basis, scale = torch.linalg.svd(X, full_matrices=False).Vh.T, (PIXELS / X.shape[1]) ** 0.5
    return network.within(basis / scale), X @ basis * scale


def odd_batch(settings: OddBatch, images: xr.Dataset, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """A batch of digits through deep networks: norms and angles by layer, before and after training."""
    X, labels = _batch_of_digits(images, 2 + settings.batch // 10)
    chosen = np.sort(stream.generator("batch").choice(len(X), settings.batch, replace=False))
    X, classes = X[chosen], labels[chosen]
    by_network = {
        kind: checkpoint.of(_rate(settings, kind)).dataset(  # type: ignore[arg-type]
            kind,
            partial(_odd_batch_of, kind, X, classes, settings, stream),  # type: ignore[arg-type]
        )
        for kind in (*FOUR, "recentered")
    }
    joined = _joined(by_network, "network", title="A batch of digits in deep networks")
    joined = _without_diverged(joined, "odd_batch", settings)
    return joined.assign_coords(point_count=variable((), settings.batch, "points of the batch"))


def _odd_batch_of(kind: Kind, X: Tensor, classes: np.ndarray, settings: OddBatch, stream: Stream) -> xr.Dataset:
    Y = torch.eye(10, dtype=torch.float64)[torch.from_numpy(classes)]
    network, X = _in_span(_network(kind, settings, X.shape[1], 10, stream), X)
    shown = sorted({0, *range(4, settings.depth, 5), settings.depth - 1})
    names = [f"layers.{number}" for number in shown]
    ends = _recorders(network, X, names, classes, settings.seeds)
    for step, losses in _descent(network, X, Y, settings, kind, {0}):  # noqa: B007 (the last ones are kept)
        _record(ends, network, step)
    left = rest.unlearned(losses, Y)
    judged = {
        "unlearned": variable("seed", left, "loss over that of the best constant"),
        "learned": variable("seed", (left <= rest.NOTHING_LEFT).astype(int), "1 where the network has learned"),
    }
    return _over_seeds(ends, ENDS)[[*ODD_PARTS]].assign({"final_loss": ("seed", losses), **judged})


def _network(kind: Kind, settings: Training, inputs: int, outputs: int, stream: Stream) -> networks.Network:
    torch.set_num_threads(1)
    sizes = (inputs, settings.width, settings.depth, outputs)
    return networks.build(kind, *sizes, gain=settings.gain, leak=settings.leak, stream=stream, seeds=settings.seeds)


def _rate(settings: TwoPoints | Digits | OddBatch, kind: Kind) -> float:
    return getattr(settings.rates, kind.replace(" ", "_"))


def _without_diverged(joined: xr.Dataset, section: str, settings: TwoPoints | Digits | OddBatch) -> xr.Dataset:
    """The dataset with gaps where networks have diverged, which says at which rates and gain."""
    gone = joined["final_loss"].isnull()
    kinds = joined["network"].values[gone.any([dim for dim in gone.dims if dim != "network"]).values]
    rates = ", ".join(f"{kind.replace(' ', '_')} {_rate(settings, kind):g}" for kind in kinds)
    return left_out(joined, gone.values, f"{section}.rates: {rates}; {section}.gain: {settings.gain:g}")


def _descent(
    network: networks.Network,
    X: Tensor,
    Y: Tensor,
    settings: TwoPoints | Digits | OddBatch,
    kind: Kind,
    moments: Collection[int],
) -> Iterator[tuple[int, np.ndarray]]:
    """Descent as the settings want it; the recentered network of the odd batch takes steps of its own number."""
    steps = settings.steps
    if kind == "recentered" and isinstance(settings, OddBatch):
        steps = settings.recentered_steps
    options = {name: getattr(settings, name, 0.0) for name in ("decay", "momentum")}
    rate = _rate(settings, kind)
    return networks.descend(network, X, Y, rate=rate, steps=steps, moments=moments, **options)


def _recorders(
    network: networks.Network, X: Tensor, layers: list[str], classes: np.ndarray, seeds: int
) -> list[Recorder]:
    """One of each seed's own network, which `_record` brings up to date."""
    alone = (network.single(seed) for seed in range(seeds))
    return [Recorder(single, X, layers, labels=classes, axes=POINTS_FIRST) for single in alone]


def _record(recorders: list[Recorder], network: networks.Network, step: int) -> None:
    for seed, recorder in enumerate(recorders):
        networks.follow(recorder.model, network, seed)
        recorder(step)


def _over_seeds(recorders: list[Recorder], ends: Sequence[str]) -> xr.Dataset:
    """What was recorded of all seeds, along the ends of training rather than steps."""
    trained = _stacked({seed: recorder.dataset() for seed, recorder in enumerate(recorders)}, "seed")
    return trained.assign_coords(end=("step", list(ends))).swap_dims(step="end").drop_vars("step")


def _stacked(parts: Mapping[Any, xr.Dataset], dim: str) -> xr.Dataset:
    """Datasets of one shape along a new dimension, attributes of the variables kept."""
    joined = xr.concat(
        parts.values(),
        dim,
        data_vars="all",
        coords="minimal",
        compat="override",
        join="exact",
        combine_attrs="override",
    )
    return joined.assign_coords({dim: list(parts)})


def _joined(parts: Mapping[str, xr.Dataset], dim: str, *, title: str) -> xr.Dataset:
    """The experiment's dataset, every variable and dimension with its words."""
    stacked = _stacked(parts, dim)
    stacked["final_loss"].attrs |= {"long_name": "half the squared error per point at the end", "units": "1"}
    coords = named({str(name): stacked[name].values for name in stacked.dims})
    return dataset({str(name): array.variable for name, array in stacked.data_vars.items()}, coords, title=title)


def _batch_of_digits(images: xr.Dataset, per_class: int) -> tuple[Tensor, np.ndarray]:
    """The first images of every digit, shape (points, pixels), overall mean and deviation taken out, and the digits."""
    values, labels = standardized(images)
    chosen = first_of_each_class(labels, per_class)
    return torch.from_numpy(values[chosen].reshape(len(chosen), -1)).double(), labels[chosen]
