"""Similarity of representations between layers, checkpoints and networks, with the band of chance::

    from repdyn.diagnostics.compare import compare
    from repdyn.diagnostics.figures.similarity import draw_similarity

    found = compare(model, other, inputs, reruns=[same_network_other_seed])
    draw_similarity(found).savefig("similarity.png")

Points are run as `measure` runs them, and nothing about the networks changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn

from repdyn.base.datasets import variable
from repdyn.diagnostics.methods.arguments import as_answers, check_arguments, check_options, option_names
from repdyn.diagnostics.methods.batches import Batch, spread
from repdyn.diagnostics.methods.forward import in_one_line, unwrapped
from repdyn.diagnostics.methods.inputs import Inputs, check_labels, read_inputs, split
from repdyn.diagnostics.methods.layers import Plan, plan, stream
from repdyn.diagnostics.methods.reader import INPUT, OUTPUT, NetworkReader, network_reader, reader_of
from repdyn.diagnostics.methods.shapes import depends_on_the_batch
from repdyn.diagnostics.methods.similarity import WIDE, ChosenRows, Minibatches, Pair, Streamed
from repdyn.diagnostics.methods.weights import with_weights
from repdyn.diagnostics.theory.intervals import folds, of_parts
from repdyn.diagnostics.theory.similarity import (
    FEWEST,
    MEASURES,
    MINIBATCH,
    OF_ALL_PAIRS,
    Shape,
    shape_of,
    similarities,
)

MOST_POINTS = 2000  # up to which layers stay in memory, points x min(points, units) numbers each; more are streamed
BATCH = 256  # points of a minibatch, and at a time of what is streamed, at most where the inputs come in one batch
ENDS = {"low": "lower end", "high": "upper end"}
TEXTS = {
    "cka": ("linear CKA, biased", "1", "Kornblith, Norouzi, Lee, Hinton 2019"),
    "cka_debiased": ("linear CKA with unbiased HSIC", "1", "Song, Smola, Gretton, Bedo, Borgwardt 2012"),
    "procrustes": ("Procrustes distance of centered representations of norm one", "1", "Schonemann 1966"),
    "angular": ("angular shape distance", "rad", "Williams, Kunz, Kornblith, Linderman 2021"),
    "cka_minibatch": ("linear CKA, unbiased HSIC summed over minibatches", "1", "Nguyen, Raghu, Kornblith 2021"),
    "cka_rbf": ("CKA of Gaussian kernels", "1", "Kornblith, Norouzi, Lee, Hinton 2019"),
    "rsa": ("Spearman correlation of distances between points", "1", "Kriegeskorte, Mur, Bandettini 2008"),
}


def compare(
    network: nn.Module | Arrays,
    other: nn.Module | Arrays | Mapping[str, Tensor] | None,
    inputs: object = None,
    layers: Sequence[str] | None = None,
    *,
    other_inputs: object = None,
    other_layers: Sequence[str] | None = None,
    ids: ArrayLike | None = None,
    reruns: Sequence[nn.Module | Arrays | Mapping[str, Tensor]] = (),
    measures: Sequence[str] = MEASURES,
    intervals: bool = False,
    most_points: int | None = None,
    device: str | torch.device | None = None,
    **options: Any,
) -> xr.Dataset:
    """Similarity of every layer of one network to every layer of another, on the same points.

    Args:
        network: a network, or `Arrays` of another program.
        other: another network, a checkpoint of the first (its `state_dict`), `Arrays`, or None for the layers of the
            first among themselves.
        inputs: as `measure` takes them; read once, so that all networks see the same points whatever a loader draws.
        layers: of the first, as `measure` takes them.
        other_inputs: the same points, in the same order, in the form that the second network takes: another size,
            tokenizer or noise. None takes `inputs`. With `other=None` the second network is the first.
        other_layers: of the second; None takes `layers`, of `Arrays` all.
        ids: of the points of `inputs`, needed where they are compared with `Arrays`.
        reruns: the first network trained from other seeds, as networks or checkpoints. How similar the same layer of
            two of these runs is shows what chance does: a network that is less similar than its own reruns differs.
        measures: some of `cka`, `cka_debiased`, `procrustes`, `angular`, `cka_minibatch` and, of 2,000 points at most,
            `cka_rbf`, `rsa`. The distances take a singular value decomposition for every pair of layers, the others
            need none. The minibatches of `cka_minibatch` are the batches of `inputs`; what comes in one batch is cut
            into equal ones of 256 points at most. Shuffle the points and drop a small last batch, which would count as
            much as any other.
        intervals: also `<name>_low` and `<name>_high`, 99 %, by leaving out a tenth of the points at a time
            (jackknife); of 2,000 points at most.
        most_points: points compared at most, evenly spread; None takes 2,000, and all of them for `cka_minibatch`
            alone. Up to 2,000 stay in memory. More are streamed: memory stays within `memory`, and the networks run
            several times, once per block of points that it holds, for `cka_minibatch` once. Then layers of more than
            2,000 units have CKA alone.
        device: where the comparisons are computed, by torch in double precision: "cpu", "cuda" or another device of
            torch; the layers stay there. None computes with numpy. The networks run where they are.
        options: `features`, `axes`, `batch_size`, `unpack`, `batch_statistics`, `memory` as `measure` takes them.

    Returns:
        Dataset over `layer` and `other_layer` of the measures; with reruns `<name>_of_runs` over `layer` and `runs`,
        pairs of runs of the first network. A layer that cannot be compared is NaN, with its reason in the attribute
        `left_out`.

    Raises:
        ValueError: unusable inputs, names of layers or of measures, number of points, or device; points that are not
            the same for all networks: another number, ids, or labels of the loaders.
        TypeError: an option of another name.

    Example:
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        >>> dataset = compare(model, None, torch.randn(20, 4), ["input", "0"])
        >>> dataset["cka"].sel(layer="0", other_layer="0").round(6).item()
        1.0
    """
    check_options(options, option_names(compare, network_reader))
    check_arguments(
        layers=layers, other_layers=other_layers, measures=measures, most_points=most_points, reruns=reruns,
        intervals=intervals,
    )  # fmt: skip
    unknown = [repr(name) for name in measures if name not in TEXTS]
    if unknown:
        raise ValueError(f"measures: got {unknown[0]}, expected some of {', '.join(TEXTS)}")
    placed = _placing(device)
    with ThreadpoolController().limit(limits=1, user_api="blas"):  # as in `measure`: more threads wait for each other
        if other is None and other_inputs is not None:
            other = network
        others = [("other", other, other_inputs, other_layers)] if other is not None else []
        shared = _Points(network, [other, *reruns], inputs, ids, options)
        first = plan(shared.reader(network), _names(network, layers))
        others += [(f"rerun {number}", run, None, first.layers) for number, run in enumerate(reruns)]

        def plans() -> Iterator[Plan]:
            yield first
            for place, source, own_inputs, names in others:
                names = names or (_names(source, None) if isinstance(source, Arrays) else layers)
                planned = plan(shared.reader(source, own_inputs, place), names)
                _check_points(place, first, planned, batches=many or MINIBATCH in measures)
                yield planned

        points = first.points * first.tokens
        if most_points is None:
            most_points = points if set(measures) == {MINIBATCH} else MOST_POINTS
        many = min(most_points, points) > MOST_POINTS and all(first.reader.inputs.sizes)
        whole = [*(name for name in OF_ALL_PAIRS if name in measures), *(["intervals"] if intervals else [])]
        if many and whole:
            raise ValueError(
                f"{' and '.join(whole)}: of {MOST_POINTS} points at most; give most_points={MOST_POINTS} or fewer"
            )
        if MINIBATCH in measures:
            _check_minibatches(first, most_points)
        reasons: dict[str, str] = {}
        if "cka_debiased" in measures and points < FEWEST:
            reasons["cka_debiased"] = f"it takes {FEWEST} points, and there are {points}"
        places = ["one", *(place for place, *_ in others)]
        if many:
            compared = _streamed(plans(), places, measures, most_points, reasons, placed)
        else:
            compared = _in_memory(plans(), places, measures, most_points, reasons, placed, intervals=intervals)
        second = int(other is not None)
        coordinates = {
            "layer": variable("layer", np.array(compared.layers[0], str), "layer of the first network"),
            "other_layer": variable(
                "other_layer", np.array(compared.layers[second], str), "layer of the second network"
            ),
        }
        dataset = xr.Dataset(_matrices(compared, second), coordinates)
        if reruns:
            dataset = dataset.assign(_chance(compared, [0, *range(second + 1, len(compared.layers))]))
        text = "; ".join(f"{place}: {why}" for place, why in reasons.items())
        second_name = "itself" if other is None else "another network"
        name = "arrays" if isinstance(network, Arrays) else type(unwrapped(network)).__name__
        title = f"Similarity of {name} to {second_name}"
        return dataset.assign_attrs(title=title, left_out=text)


@dataclass(frozen=True)
class Arrays:
    """Representations that were computed elsewhere, for `compare`.

    Attributes:
        layers: array by name of layer, shape (points, ...).
        ids: of the points, all different, shape (points,): what else is compared must have the same in the same order.

    Raises:
        ValueError: no layers, names that a network's layers cannot have, or not as many points as ids.

    Example:
        >>> features = np.random.default_rng(0).normal(size=(20, 4))
        >>> dataset = compare(Arrays({"theirs": features}, range(20)), Arrays({"ours": 3 * features}, range(20)))
        >>> dataset["cka"].round(6).item()
        1.0
    """

    layers: Mapping[str, ArrayLike]
    ids: ArrayLike

    def __post_init__(self) -> None:
        """Refuses what is no series of points."""
        ids = as_answers("ids of arrays", self.ids)
        if ids is None or ids.ndim != 1 or len(np.unique(ids)) != len(ids):
            raise ValueError(f"ids of arrays have shape {np.shape(self.ids)}; give one per point, all different")
        if not isinstance(self.layers, Mapping) or not self.layers:
            raise ValueError("layers of arrays hold none; give a dictionary, an array by name")
        for name, values in self.layers.items():
            if not isinstance(name, str) or set(name) & set("#:[") or name in ("", INPUT, OUTPUT):
                raise ValueError(f"arrays have the name {name!r}; give one without #, : and [, and not input or output")
            array = as_answers(f"the array {name!r}", values)
            if array is None or array.ndim < 2 or len(array) != len(ids):
                raise ValueError(f"the array {name!r} has shape {np.shape(array)} where there are {len(ids)} ids")
            if array.dtype.kind not in "biufc":
                raise ValueError(f"the array {name!r} has type {array.dtype}; give numbers")

    def network(self) -> nn.Module:
        """A network that takes numbers of points and has these layers."""
        return _Shown(
            {  # copies: torch shares no memory that is read-only or goes backwards
                name: values.detach() if isinstance(values, Tensor) else torch.tensor(np.ascontiguousarray(values))
                for name, values in self.layers.items()
            }
        )


class _Shown(nn.Module):
    """A network whose layers look up their values."""

    def __init__(self, layers: Mapping[str, Tensor]) -> None:
        super().__init__()
        self._modules |= {name: _Values(values) for name, values in layers.items()}  # `add_module` takes no dots

    def forward(self, at: Tensor) -> Tensor:
        return [cast("_Values", part)(at) for part in self._modules.values()][-1]


class _Values(nn.Module):
    """Values of a layer by the number of the point."""

    def __init__(self, values: Tensor) -> None:
        super().__init__()
        self.of_points = values if values.is_floating_point() or values.is_complex() else values.double()

    def forward(self, at: Tensor) -> Tensor:
        return self.of_points[at]


class _Points:
    """The points that are compared, read once for all networks.

    Args:
        network: the first.
        others: all that is compared with it.
        inputs: of every network that has none of its own.
        ids: of these; None where they have none.
        options: of `network_reader`.

    Raises:
        ValueError: `Arrays` of other points, or next to inputs without ids.
    """

    def __init__(
        self, network: nn.Module | Arrays, others: Sequence[Any], inputs: object, ids: ArrayLike | None, options: dict
    ) -> None:
        self.network, self.options = network, options
        for part in (network, *others):
            if isinstance(part, np.ndarray | Tensor) or (part is network and isinstance(part, Mapping)):
                raise ValueError(f"a network is a {type(part).__name__}; give arrays as Arrays({{'name': array}}, ids)")
        modules = [part for part in (network, *others) if isinstance(part, nn.Module)]
        self.inputs = self.read(modules[0], inputs) if modules else None
        known = None if ids is None else np.asarray(ids)
        sizes = [] if self.inputs is None else self.inputs.sizes
        if known is not None and sizes and all(sizes) and sum(map(int, filter(None, sizes))) != known.size:
            raise ValueError(f"ids has shape {known.shape} where inputs come in {sizes} points; give one per point")
        for part in (network, *others):
            if isinstance(part, Arrays):
                if known is None and modules:
                    raise ValueError("ids: give those of the points of inputs, which are compared with arrays")
                known = np.asarray(part.ids) if known is None else known
                _check_ids(known, np.asarray(part.ids))

    def read(self, model: nn.Module, inputs: object) -> Inputs:
        names = ("batch_size", "unpack")
        how = {name: self.options[name] for name in names if name in self.options}
        axis = (self.options.get("axes") or {}).get(INPUT, 0)
        return inputs if isinstance(inputs, Inputs) else read_inputs(unwrapped(model), inputs, axis=axis, **how)

    def reader(
        self, source: nn.Module | Arrays | Mapping[str, Tensor], own_inputs: object = None, place: str = "network"
    ) -> NetworkReader:
        """A network on its form of the points."""
        if isinstance(source, Arrays):
            sizes = self.inputs.sizes if self.inputs and all(self.inputs.sizes) else [np.asarray(source.ids).size]
            numbers = torch.arange(sum(size or 0 for size in sizes)).split([size or 0 for size in sizes])
            return network_reader(source.network(), Inputs([Batch((part,), {}) for part in numbers]), **self.options)
        if not isinstance(source, nn.Module) and isinstance(self.network, Arrays):
            raise ValueError("other is a checkpoint, and the first is no network but arrays; give a network")
        model = with_weights(cast("nn.Module", self.network), source, place)
        if own_inputs is None:
            return network_reader(model, self.inputs, **self.options)
        try:
            inputs = self.read(model, own_inputs)
        except ValueError as error:
            raise ValueError(f"other_inputs: {error}") from error
        check_labels("other_inputs", cast("Inputs", self.inputs), inputs)
        return reader_of("other_inputs", model, inputs, self.options)


def _names(source: object, layers: Sequence[str] | None) -> Sequence[str] | None:
    """The names as given; all of arrays."""
    return list(source.layers) if layers is None and isinstance(source, Arrays) else layers


def _check_ids(ids: NDArray[Any], others: NDArray[Any]) -> None:
    """Refuses other points, or the same in another order.

    Raises:
        ValueError: which differ.
    """
    if ids.shape == others.shape and (ids == others).all():
        return
    lacking = np.setdiff1d(ids, others), np.setdiff1d(others, ids)
    if not any(part.size for part in lacking):
        raise ValueError("ids of the second are those of the first in another order; bring both into the same order")
    texts = [
        f"{part.size} of them, as {part.tolist()[0]!r}, are in the {place} alone"
        for place, part in zip(("first", "second"), lacking, strict=True)
        if part.size
    ]
    raise ValueError(f"ids of the first and the second are not the same: {', '.join(texts)}")


def _check_points(place: str, first: Plan, planned: Plan, *, batches: bool) -> None:
    """Refuses another number of points, or other batches where these are compared one by one.

    Raises:
        ValueError: how many there are.
    """
    if planned.points != first.points:
        raise ValueError(f"{place}: {planned.points} points where the first network has {first.points}; give the same")
    if batches and planned.sizes != first.sizes:
        raise ValueError(
            f"{place}: batches of {planned.sizes} points where the first network has {first.sizes}; give the same"
        )


def _placing(device: str | torch.device | None) -> Callable[[NDArray[np.floating]], Any]:
    """Takes rows to a device; leaves them to numpy without one.

    Raises:
        ValueError: torch cannot compute in double precision there.
    """
    if device is None:
        return lambda A: A
    try:
        float(torch.ones((), dtype=torch.float64, device=device))
    except Exception as error:
        raise ValueError(
            f"device: got {device!r}, where torch cannot compute in double precision here ({in_one_line(error)}); "
            "give 'cpu', 'cuda' with a GPU, or None for numpy"
        ) from error
    return lambda A: torch.as_tensor(A, device=device)


class _Compared(NamedTuple):
    """Layers of each network, and the measures of pairs of them."""

    layers: list[list[str]]
    measures: Sequence[str]
    of: Callable[[Sequence[Pair]], list[dict[str, float]]]


def _in_memory(
    plans: Iterable[Plan],
    places: Sequence[str],
    measures: Sequence[str],
    most_points: int,
    reasons: dict[str, str],
    placed: Callable[[NDArray[np.floating]], Any],
    *,
    intervals: bool,
) -> _Compared:
    """Every layer prepared for comparisons, in memory, one network after another."""

    def prepared(A: NDArray[np.floating], minibatch: NDArray[np.int64]) -> list[Shape]:
        here = spread(len(A), most_points)
        parts = [here, *(here[part] for part in folds([np.arange(len(here))]))] if intervals else [here]
        return [shape_of(placed(A[part]), measures, minibatch[part]) for part in parts]

    shapes = [_shapes(planned, place, prepared, reasons) for place, planned in zip(places, plans, strict=True)]

    def of(pairs: Sequence[Pair]) -> list[dict[str, float]]:
        return [_similarities(shapes[i].get(a), shapes[j].get(b), measures) for (i, a), (j, b) in pairs]

    return _Compared([list(part) for part in shapes], [*measures, *(_bounds(measures) if intervals else [])], of)


def _shapes(
    planned: Plan,
    place: str,
    prepared: Callable[[NDArray[np.floating], NDArray[np.int64]], list[Shape]],
    reasons: dict[str, str],
) -> dict[str, list[Shape]]:
    """Every layer prepared for comparisons, of all points and without each fold; none where it cannot be."""
    shapes: dict[str, list[Shape]] = {name: [] for name in planned.layers}
    mask = planned.reader.features.mask
    minibatch = _minibatches(planned)

    def prepare(name: str, A: NDArray[np.floating]) -> None:
        of_rows = minibatch[np.arange(len(A)) * len(minibatch) // len(A)]  # rows of a point follow each other
        if mask is not None and len(A) == mask.size:
            A, of_rows = A[mask.reshape(-1)], of_rows[mask.reshape(-1)]
        try:
            if not np.isfinite(A).all():
                raise ValueError("values that are NaN or infinite")
            shapes[name] = prepared(A, of_rows)
        except (ValueError, RuntimeError) as error:  # torch's are of the second kind
            reasons[f"{place}, {name}"] = in_one_line(error)

    failed = stream(planned, (), prepare)
    reasons.update({f"{place}, {name}": why for name, why in failed.items()})
    return shapes


def _minibatches(planned: Plan) -> NDArray[np.int64]:
    """Number of the minibatch of each point."""
    if len(planned.sizes) > 1:
        return np.repeat(np.arange(len(planned.sizes)), planned.sizes)
    return np.arange(planned.points) // _equal(planned.points)


def _equal(points: int) -> int:
    """Size of equal batches of `BATCH` points at most."""
    return -(-points // -(-points // BATCH))


def _check_minibatches(planned: Plan, most_points: int) -> None:
    """Refuses minibatches of which none has enough points.

    Raises:
        ValueError: the number of points of the largest, and what to do.
    """
    minibatch = np.repeat(_minibatches(planned), planned.tokens)
    most = np.bincount(minibatch[spread(len(minibatch), most_points)]).max()
    if most < FEWEST:
        raise ValueError(
            f"{MINIBATCH}: the {len(planned.sizes)} batches of the inputs have {most} of the compared points each at "
            f"most, where it takes {FEWEST}; give larger batches or more most_points"
        )


def _streamed(
    plans: Iterable[Plan],
    places: Sequence[str],
    measures: Sequence[str],
    most_points: int,
    reasons: dict[str, str],
    placed: Callable[[NDArray[np.floating]], Any],
) -> _Compared:
    """Sums over blocks of points, of all networks at once."""
    networks = [replace(planned, reader=_in_batches(planned.reader)) for planned in plans]
    mask, memory = networks[0].reader.features.mask, networks[0].reader.memory
    counted = np.arange(networks[0].points * networks[0].tokens) if mask is None else np.flatnonzero(mask)
    rows = ChosenRows(networks, counted[spread(len(counted), most_points)], placed)
    of_batches = Minibatches(rows, memory) if MINIBATCH in measures else None
    others = [name for name in measures if name != MINIBATCH]
    streamed = Streamed(rows, memory) if others else None

    def of(pairs: Sequence[Pair]) -> list[dict[str, float]]:
        values: list[dict[str, float]] = (
            [{} for _ in pairs] if streamed is None else list(streamed.similarities(pairs, others))
        )
        if of_batches is not None:
            for value, cka in zip(values, of_batches.similarities(pairs), strict=True):
                value[MINIBATCH] = cka
        whys = dict.fromkeys(streamed.wide if streamed else (), WIDE)
        whys |= (of_batches.reasons if of_batches else {}) | rows.reasons
        reasons.update({f"{places[at]}, {name}": why for (at, name), why in whys.items()})
        return values

    for place, planned in zip(places, networks, strict=True):
        reasons.update({f"{place}, {name}": why for name, why in planned.left_out.items()})
    return _Compared([planned.layers for planned in networks], measures, of)


def _in_batches(reader: NetworkReader) -> NetworkReader:
    """The same points in batches that can be run one by one.

    Raises:
        ValueError: points of one batch that change each other.
    """
    if len(reader.inputs.batches) > 1:
        return reader
    if depends_on_the_batch(reader):
        raise ValueError(
            f"more than {MOST_POINTS} points are compared in batches, and this network normalizes the points of a "
            f"batch by each other; give most_points={MOST_POINTS} or fewer"
        )
    return replace(reader, inputs=split(reader.inputs, _equal(sum(size or 0 for size in reader.inputs.sizes))))


def _similarities(
    first: Sequence[Shape] | None, second: Sequence[Shape] | None, measures: Sequence[str]
) -> dict[str, float]:
    """The measures of two layers and, where they are prepared without each fold, their bounds."""
    if not first or not second or len(first[0].squared) != len(second[0].squared):
        return dict.fromkeys([*measures, *_bounds(measures)], np.nan)
    whole, *parts = (similarities(one, other, measures) for one, other in zip(first, second, strict=True))
    intervals = {name: of_parts(whole[name], [part[name] for part in parts]) for name in measures}
    ends = {f"{name}_{end}": getattr(intervals[name], end) for name in measures for end in ENDS}
    return whole | ends


def _bounds(measures: Iterable[str]) -> list[str]:
    return [f"{name}_{end}" for name in measures for end in ENDS]


def _matrices(compared: _Compared, second: int) -> dict[str, xr.Variable]:
    """Every layer of the first network against every layer of the second, or of itself."""
    rows, columns = compared.layers[0], compared.layers[second]
    values = compared.of([((0, row), (second, column)) for row in rows for column in columns])
    shape = len(rows), len(columns)
    return {name: _described(name, ("layer", "other_layer"), values, shape) for name in compared.measures}


def _chance(compared: _Compared, runs: Sequence[int]) -> dict[str, xr.Variable]:
    """The same layer in every pair of runs, and the names of the pairs."""
    pairs = [(a, b) for b in range(len(runs)) for a in range(b)]
    names = compared.layers[0]
    values = compared.of([((runs[a], name), (runs[b], name)) for name in names for a, b in pairs])
    variables = {
        f"{name}_of_runs": _described(
            name, ("layer", "runs"), values, (len(names), len(pairs)), ", same layer in two runs"
        )
        for name in compared.measures
    }
    texts = np.array([f"{a}-{b}" for a, b in pairs])
    return variables | {"runs": variable("runs", texts, "two runs of the first network")}


def _described(
    name: str, dims: tuple[str, ...], values: list[dict[str, float]], shape: tuple[int, int], more: str = ""
) -> xr.Variable:
    measure, _, end = name.rpartition("_") if name not in TEXTS else (name, "", "")
    words, units, source = TEXTS[measure]
    words += f", {ENDS[end]} of its 99 % interval" if end else ""
    array = variable(dims, np.array([entry[name] for entry in values]).reshape(shape), words + more, units)
    array.attrs |= {"source": source, "missing": "the layer could not be compared, for the reason in `left_out`"}
    return array
