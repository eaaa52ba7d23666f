"""One moment of a network: its points, held-out ones and other forms, from the arguments of `measure`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import xarray as xr
from numpy.typing import NDArray
from torch import nn

from repdyn.base.datasets import index, variable
from repdyn.diagnostics.methods.arguments import as_answers, check_arguments, option_names
from repdyn.diagnostics.methods.catalog import HELD_OUT, OF_HELD_OUT
from repdyn.diagnostics.methods.collecting import Collector, Interrupted, Request
from repdyn.diagnostics.methods.inputs import Inputs, check_labels
from repdyn.diagnostics.methods.layers import Plan, plan
from repdyn.diagnostics.methods.reader import NetworkReader, network_reader, reader_of
from repdyn.diagnostics.theory.identity import Residual


def measurement(
    model: nn.Module,
    inputs: object,
    layers: Sequence[str] | None = None,
    *,
    held_out: object = None,
    other_form: object = None,
    **options: Any,
) -> Measurement:
    """What one moment of a network takes, with arguments as `measure` takes them: checked once, measured often.

    Raises:
        ValueError: as `measure`.
    """
    check_arguments(**options)
    reading = reading_of(options)
    reader = network_reader(model, inputs, **reading)
    labels, targets = (as_answers(name, reading.get(name)) for name in ("labels", "targets"))
    if labels is None and targets is None:
        labels, targets = reader.inputs.labels_and_targets()
    options = {name: option for name, option in options.items() if name not in option_names(network_reader)}
    residual = options.pop("residual", None)
    request = Request(
        layers, labels, targets, held_out=held_out is not None, other_form=other_form is not None,
        residual=residual if isinstance(residual, Residual | None) else Residual(tuple(residual)), **options,
    )  # fmt: skip
    for name, others in (("held_out", held_out), ("other_form", other_form)):
        if others is not None and (reader.features.mask is not None or reader.mask is not None):
            raise ValueError(f"{name}: the mask of features is one of the points; measure the others on their own")
    collector = Collector(reader, request)
    collector.planned.check_axes()
    if other_form is not None:
        if "forms" not in collector.measures:
            raise ValueError(f"other_form: the measures {', '.join(collector.measures)} lack forms; add it")
        collector.put_beside("forms", _in_other_form(collector, other_form, reading))
    return Measurement(collector, None if held_out is None else _held_out(collector, held_out, reading))


def reading_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the arguments of `measure` that say how a network and its inputs are read."""
    return {name: options[name] for name in option_names(network_reader) if name in options}


def read_once(model: nn.Module, inputs: object, options: Mapping[str, Any]) -> tuple[Inputs, dict[str, Any]]:
    """Inputs, and options with held-out points and other forms, read from where they are: loaders are gone through.

    Args:
        model: the network.
        inputs: as `measure` takes them.
        options: further arguments of `measure`.
    """
    reading, read = reading_of(options), dict(options)
    points = network_reader(model, inputs, **reading).inputs
    if options.get("held_out") is not None:
        others, answers = inputs_and_answers(options["held_out"])
        read["held_out"] = _reader_of_held_out(model, others, answers, reading).inputs, answers
    if options.get("other_form") is not None:
        read["other_form"] = reader_of("other_form", model, options["other_form"], reading).inputs
    return points, read


def _in_other_form(collector: Collector, other_form: object, reading: Mapping[str, Any]) -> Plan:
    """The network on the same points in another form.

    Raises:
        ValueError: another number of points, or labels of a loader that are not theirs.
    """
    other = plan(reader_of("other_form", collector.reader.model, other_form, reading), collector.request.layers)
    if other.points != collector.planned.points:
        raise ValueError(f"other_form has {other.points} points; give the {collector.planned.points} of inputs")
    check_labels("other_form", collector.reader.inputs, other.reader.inputs)
    return other


def inputs_and_answers(held_out: object) -> tuple[object, NDArray[Any]]:
    """Inputs and their labels or targets.

    Raises:
        ValueError: anything but a pair.
    """
    if not isinstance(held_out, tuple) or len(held_out) != 2:
        given = f"{len(held_out)} parts" if isinstance(held_out, tuple) else f"a {type(held_out).__name__}"
        raise ValueError(f"held_out has {given}; give (inputs, labels) or (inputs, targets)")
    if held_out[1] is None:
        raise ValueError("held_out has None as its labels; give (inputs, labels) or (inputs, targets)")
    return held_out[0], as_answers("labels of held_out", held_out[1])


def _reader_of_held_out(
    model: nn.Module, inputs: object, answers: NDArray[Any], reading: Mapping[str, Any]
) -> NetworkReader:
    return reader_of("held_out", model, inputs, {**reading, "labels": answers, "targets": None})


def _held_out(collector: Collector, held_out: object, reading: Mapping[str, Any]) -> Collector:
    """What measures the held-out points.

    Raises:
        ValueError: none of the measures is of these.
    """
    others, answers = inputs_and_answers(held_out)
    measures = [name for name in collector.measures if name in OF_HELD_OUT]
    if not measures and "domains" not in collector.measures:
        text = f"of the measures {', '.join(collector.measures)} it has none; add some of {', '.join(OF_HELD_OUT)}"
        raise ValueError(f"held_out: {text}")
    floating = answers.dtype.kind == "f"
    request = replace(
        collector.request, labels=None if floating else answers, targets=answers if floating else None, pairs=None,
        residual=None, measures=measures, embeddings=None, classifier=None, held_out=False, other_form=False,
    )  # fmt: skip
    other = Collector(_reader_of_held_out(collector.reader.model, others, answers, reading), request)
    if "domains" in collector.measures:
        collector.put_beside("domains", other.planned, other.labels)
    return other


class Measurement:
    """One moment of a network, and every later one: what does not change with the weights is found once.

    Args:
        collector: measures the points.
        held_out: measures those that the network was not trained on; None for none.
    """

    def __init__(self, collector: Collector, held_out: Collector | None) -> None:
        self.collector, self.held_out = collector, held_out

    @property
    def model(self) -> nn.Module:
        """The network that is measured."""
        return self.collector.reader.model

    @property
    def lost(self) -> list[dict[str, str]]:
        """Layers that had no row per point last time, and why: of the points and of held-out ones."""
        return [part.lost for part in (self.collector, self.held_out) if part is not None]

    def dataset(self) -> xr.Dataset:
        """Measures the network as it is now.

        Raises:
            Interrupted: the user stopped it; the error holds what was measured until then.
        """
        dataset = self.collector.dataset()
        if self.held_out is None:
            return dataset
        try:
            return _with_held_out(dataset, self.held_out.dataset())
        except Interrupted as stop:
            raise Interrupted(_with_held_out(dataset, stop.dataset)) from stop


def _with_held_out(dataset: xr.Dataset, other: xr.Dataset) -> xr.Dataset:
    """A dataset with the numbers of held-out points under their names and `_held_out`."""
    added = {
        f"{name}{HELD_OUT}": values.drop_vars(set(values.coords) - {"layer"}).assign_attrs(
            long_name=f"{values.attrs['long_name']}, of held-out points"
        )
        for name, values in other.data_vars.items()
    }
    dim = f"point{HELD_OUT}"
    coordinates = {dim: index(dim, other.sizes["point"], "held-out point")}
    if "label" in other.coords:
        coordinates[f"label{HELD_OUT}"] = variable(dim, other["label"].values, "class of the held-out point")
    why, why_other = dataset.attrs["left_out"], other.attrs["left_out"]
    text = "; ".join(filter(None, (why, why_other and f"held-out points, {why_other}")))
    return dataset.assign(added).assign_coords(coordinates).assign_attrs(left_out=text)
