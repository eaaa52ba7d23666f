"""Similarity of representations between layers, checkpoints and networks, with the band of chance::

    from repdyn.diagnostics.compare import compare
    from repdyn.diagnostics.figures.similarity import draw_similarity

    found = compare(model, other, inputs, reruns=[same_network_other_seed])
    draw_similarity(found).savefig("similarity.png")

Points are run as `measure` runs them, and nothing about the networks changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn

from repdyn.base.datasets import variable
from repdyn.diagnostics.methods import comparing
from repdyn.diagnostics.methods.arguments import as_answers, check_arguments, check_options, option_names
from repdyn.diagnostics.methods.batches import Batch
from repdyn.diagnostics.methods.comparing import ENDS, Comparison
from repdyn.diagnostics.methods.forward import unwrapped
from repdyn.diagnostics.methods.inputs import Inputs, check_labels, read_inputs
from repdyn.diagnostics.methods.layers import Plan, plan
from repdyn.diagnostics.methods.reader import INPUT, OUTPUT, NetworkReader, network_reader, reader_of
from repdyn.diagnostics.methods.similarity import Pair
from repdyn.diagnostics.methods.weights import with_weights
from repdyn.diagnostics.theory.similarity import FEWEST, MEASURES, MINIBATCH, OF_ALL_PAIRS

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
    if unknown := [repr(name) for name in measures if name not in TEXTS]:
        raise ValueError(f"measures: got {unknown[0]}, expected some of {', '.join(TEXTS)}")
    placed = comparing.placing(device)
    with ThreadpoolController().limit(limits=1, user_api="blas"):  # as in `measure`: more threads wait for each other
        if other is None and other_inputs is not None:
            other = network
        points = _Points(network, [other, *reruns], inputs, ids, options)
        first = plan(points.reader(network), _names(network, layers))
        others: list[tuple[str, Any, object, Sequence[str] | None]] = []
        if other is not None:
            usual = None if isinstance(other, Arrays) else layers
            others.append(("other", other, other_inputs, _names(other, other_layers or usual)))
        others += [(f"rerun {number}", run, None, first.layers) for number, run in enumerate(reruns)]
        rows = first.points * first.tokens
        if most_points is None:
            most_points = rows if set(measures) == {MINIBATCH} else comparing.MOST_POINTS
        many = min(most_points, rows) > comparing.MOST_POINTS and all(first.reader.inputs.sizes)
        _check_number(first, measures, most_points, intervals=intervals, many=many)
        compared = Comparison(["one", *(place for place, *_ in others)], measures, most_points, intervals, placed)
        if "cka_debiased" in measures and rows < FEWEST:
            compared.reasons["cka_debiased"] = f"it takes {FEWEST} points, and there are {rows}"

        def plans() -> Iterator[Plan]:
            yield first
            for place, source, own_inputs, names in others:
                planned = plan(points.reader(source, own_inputs, place), names)
                _check_points(place, first, planned, batches=many or MINIBATCH in measures)
                yield planned

        (compared.streamed if many else compared.in_memory)(plans())
        dataset = _matrices(compared, int(other is not None), len(reruns))
    name = "arrays" if isinstance(network, Arrays) else type(unwrapped(network)).__name__
    return dataset.assign_attrs(
        title=f"Similarity of {name} to {'itself' if other is None else 'another network'}",
        left_out="; ".join(f"{place}: {why}" for place, why in compared.reasons.items()),
    )


def _check_number(first: Plan, measures: Sequence[str], most_points: int, *, intervals: bool, many: bool) -> None:
    """Refuses more points than a measure or intervals can take, and minibatches of too few.

    Raises:
        ValueError: what cannot be computed, and the number to give.
    """
    whole = [*(name for name in OF_ALL_PAIRS if name in measures), *(["intervals"] if intervals else [])]
    if many and whole:
        most = comparing.MOST_POINTS
        raise ValueError(f"{' and '.join(whole)}: of {most} points at most; give most_points={most} or fewer")
    if MINIBATCH in measures:
        comparing.check_minibatches(first, most_points)


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


def _matrices(compared: Comparison, second: int, reruns: int) -> xr.Dataset:
    """Every layer of the first network against every layer of the second, and the same layer in every pair of runs.

    Args:
        compared: the networks.
        second: number of the second among them, 0 for the first itself.
        reruns: how many networks after it are reruns of the first.
    """

    def of(pairs: Sequence[Pair], dims: dict[str, int], ending: str = "", more: str = "") -> dict[str, xr.Variable]:
        values = compared.of(pairs)
        return {name + ending: _described(name, dims, values, more) for name in compared.names}

    rows, columns = compared.layers[0], compared.layers[second]
    pairs: list[Pair] = [((0, row), (second, column)) for row in rows for column in columns]
    dataset = xr.Dataset(of(pairs, {"layer": len(rows), "other_layer": len(columns)}))
    for dim, names, which in (("layer", rows, "first"), ("other_layer", columns, "second")):
        dataset[dim] = variable(dim, np.array(names, str), f"layer of the {which} network")
    if not reruns:
        return dataset
    runs = [0, *range(second + 1, second + 1 + reruns)]
    places = [(a, b) for b in range(len(runs)) for a in range(b)]
    pairs = [((runs[a], name), (runs[b], name)) for name in rows for a, b in places]
    dims = {"layer": len(rows), "runs": len(places)}
    dataset = dataset.assign(of(pairs, dims, "_of_runs", ", same layer in two runs"))
    texts = np.array([f"{a}-{b}" for a, b in places])
    return dataset.assign(runs=variable("runs", texts, "two runs of the first network"))


def _described(name: str, dims: dict[str, int], values: list[dict[str, float]], more: str) -> xr.Variable:
    measure, _, end = name.rpartition("_") if name not in TEXTS else (name, "", "")
    words, units, source = TEXTS[measure]
    words += f", {ENDS[end]} of its 99 % interval" if end else ""
    numbers = np.array([entry[name] for entry in values]).reshape(tuple(dims.values()))
    array = variable(tuple(dims), numbers, words + more, units)
    array.attrs |= {"source": source, "missing": "the layer could not be compared, for the reason in `left_out`"}
    return array
