"""The layers of a network: which there are, which are measured, and each of them to a consumer.

In one batch each layer is passed on during the forward pass and not stored; in several batches the network runs once
per group of layers that fit into `memory` together.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from repdyn.diagnostics.methods.arguments import check_arguments
from repdyn.diagnostics.methods.batches import groups_within
from repdyn.diagnostics.methods.forward import has_no_parts, in_one_line, named_modules, readable
from repdyn.diagnostics.methods.reader import INPUT, KINDS, OUTPUT, NetworkReader
from repdyn.diagnostics.methods.shapes import LayerShape, base, find_shapes, whole

NEVER = (
    "its hook never fired: the forward pass goes around it (unused, scripted, or called by its weights alone), or none "
    "of the points reaches it"
)
TRIED_ON = 8  # points
ROUNDING = 1e-3  # of the difference between outputs
Consume = Callable[[str, NDArray[np.floating]], None]


@dataclass(frozen=True)
class Plan:
    """Which layers are measured, and how.

    Attributes:
        reader: network and inputs.
        layers: names in the order in which they finish, "input" first, "output" last.
        shapes: shape of every layer there is, measured or not.
        left_out: layers that cannot be measured and were not requested, with the reason.
        functions: whether functional code has some of the layers.
        classifier: the last linear map, if the network returns what it returns or in its order (softmax, a positive
            factor); else None.
        same: layers whose numbers are the output's.
        resolved: the name of a call for each requested name.
        sizes: points of each batch.
    """

    reader: NetworkReader
    layers: list[str]
    shapes: dict[str, LayerShape]
    left_out: dict[str, str]
    functions: bool
    classifier: str | None
    same: list[str]
    resolved: dict[str, str]
    sizes: list[int]

    def call(self, name: str) -> str:
        """The call that a name means."""
        return self.resolved.get(name, name)

    @property
    def ends_in(self) -> list[nn.Module]:
        """The modules that return what the network returns."""
        modules = dict(named_modules(self.reader.model))
        return [modules[base(name)] for name in self.same if base(name) in modules and name != INPUT]

    def check_axes(self) -> None:
        """Refuses an axis of a layer that the network lacks.

        Raises:
            ValueError: its name.
        """
        modules = [name for name, _ in named_modules(self.reader.model) if name]
        known = {INPUT, OUTPUT, *modules, *self.shapes}
        lacking = [name for name in self.reader.axes if name not in known and base(name) not in known]
        if lacking and (lacking := [n for n in lacking if n not in find_shapes(self.reader, functions=True)[0]]):
            raise ValueError(f"axes: {_unknown(lacking, [INPUT, *modules, OUTPUT])}")

    @property
    def points(self) -> int:
        """Points of all batches."""
        return sum(self.sizes)

    @property
    def tokens(self) -> int:
        """Rows of a point in the first layer that has several; 1 where none has."""
        return next((self.shapes[name].tokens for name in self.layers if self.shapes[name].tokens > 1), 1)


def plan(
    reader: NetworkReader, layers: Sequence[str] | None, also: Iterable[str] = (), hidden: Iterable[str] = ()
) -> Plan:
    """Which layers there are and which of them are measured.

    Args:
        reader: network and inputs.
        layers: names as in the module `layers`; None takes every module without submodules, the input and the
            output.
        also: further names to measure.
        hidden: further names to find without measuring them.

    Raises:
        ValueError: unknown names, or named layers that cannot be measured.
    """
    check_arguments(layers=layers)
    measured = [*(layers or ()), *also]
    requested = [*measured, *hidden]
    modules = {name: module for name, module in named_modules(reader.model) if name}
    functions = any(base(name) not in modules and name not in (INPUT, OUTPUT) for name in requested)
    shapes, classifier, same = find_shapes(reader, functions)
    if reader.adapter is not None and OUTPUT in shapes and shapes[OUTPUT].failed:
        raise ValueError(shapes[OUTPUT].why)
    resolved = {name: shape for name in requested if (shape := _resolved(name, shapes))}
    known = {*modules, *resolved}
    if unknown := [
        name for name in requested if name not in known and (name != whole(name) or base(name) not in modules)
    ]:
        raise ValueError(_unknown(unknown, [INPUT, *modules, *shapes, OUTPUT]))
    shapes |= {name: LayerShape(None, why=NEVER) for name in modules if name not in shapes}
    wanted = set(_wanted(measured, resolved, shapes))
    if layers is None:
        wanted |= {INPUT, *_leaves(shapes, modules), *([] if same else [OUTPUT])}
    wanted.update(_heads(reader, wanted, shapes))
    named = {resolved.get(name, name) for name in requested}
    if refused := [f"{name!r}: {shapes[name].why}" for name in named if name in shapes and shapes[name].why]:
        raise ValueError("layer " + "; layer ".join(sorted(refused)) + ". Name a module around it or after it")
    usable = [name for name, shape in shapes.items() if name in wanted and not shape.why]
    _check_channels(reader, {name: shapes[name].lengths for name in usable})
    left_out = {name: shape.why for name, shape in shapes.items() if name in wanted and shape.why}
    return Plan(reader, usable, shapes, left_out, functions, classifier, same, resolved, _sizes(reader))


def _check_channels(reader: NetworkReader, lengths: Mapping[str, tuple[int, ...]]) -> None:
    """Refuses features of tokens or channels without the axis of channels, which a layer needs.

    Raises:
        ValueError: the axis is not given.
    """
    kind, deep = reader.features.kind, [name for name, axes in lengths.items() if len(axes) > 1]
    if deep and kind in KINDS and kind != "flatten" and reader.features.channels is None:
        axes = ", ".join(map(str, lengths[deep[0]]))
        raise ValueError(
            f"features is {kind!r} and channels is None, the axis of the channels, which layer {deep[0]!r} of shape "
            f"(points, {axes}) needs: give channels=1 (convolutions) or channels=-1 (transformers)"
        )


def _heads(reader: NetworkReader, wanted: Collection[str], shapes: Mapping[str, LayerShape]) -> list[str]:
    """The heads of the layers that are measured.

    Raises:
        ValueError: heads are requested and none of these layers has them.
    """
    heads = [name for name in shapes if name != whole(name) and whole(name) in wanted]
    if reader.features.heads and not heads and not any(name != whole(name) for name in wanted):
        raise ValueError(f"heads is {reader.features.heads}, which divides the channels of none of the layers measured")
    return heads


def _sizes(reader: NetworkReader) -> list[int]:
    """Points of each batch; where only the output shows how many, the network runs once for it.

    Raises:
        ValueError: nothing shows how many.
    """
    sizes: list[int] = []
    for number, size in enumerate(reader.inputs.sizes):
        if size is None:
            batch = reader.inputs.batches[number]
            output = reader.output(reader.run(batch, lambda *_: None))
            if not output.ndim:
                raise ValueError(
                    f"inputs of shapes {batch.shapes()} have no common axis and the network returns shape (), so "
                    "nothing says how many points there are; give labels or targets, one per point"
                )
            size = len(output)
        sizes.append(size)
    return sizes


def _leaves(shapes: Mapping[str, LayerShape], modules: Mapping[str, nn.Module]) -> list[str]:
    """Whole calls of modules inside which no module ran; what computes or holds weights alone is none."""
    ran = {base(name) for name, shape in shapes.items() if shape.why != NEVER and not _of_weights(name)}
    inner = {".".join(parts[:k]) for parts in (name.split(".") for name in ran) for k in range(1, len(parts))}
    names = [name for name in shapes if name not in (INPUT, OUTPUT) and not _of_weights(name)]
    calls = [name for name in names if re.sub(r"#\d+$", "", name) in modules]
    return [name for name in calls if base(name) not in inner and (base(name) in ran or has_no_parts(modules[name]))]


def _of_weights(name: str) -> bool:
    return ".parametrizations" in name or name.endswith("._packed_params")


def _resolved(name: str, shapes: Mapping[str, LayerShape]) -> str | None:
    """The call that a name means: itself, or torchvision's `relu_1` for `relu#2`."""
    if name in shapes:
        return name
    base, _, number = name.rpartition("_")
    other = f"{base}#{int(number) + 1}" if base and number.isdecimal() else ""
    return other if other in shapes else None


def _wanted(requested: Sequence[str], resolved: Mapping[str, str], shapes: Mapping[str, LayerShape]) -> list[str]:
    """Named calls; a module named without a number means all of its calls."""
    calls = []
    for name in requested:
        call = resolved.get(name, name)
        more = [] if call in (INPUT, OUTPUT) else shapes
        calls += [call, *(other for other in more if re.fullmatch(re.escape(call) + r"#\d+", other))]
    return calls


def _unknown(unknown: Iterable[str], known: Sequence[str]) -> str:
    plain = [name for name in dict.fromkeys(known) if not name.endswith(":input")]
    hints = []
    for name in unknown:
        near = difflib.get_close_matches(name, plain, 3)
        hints.append(f"{name!r}" + (f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""))
    return f"the network has no layer {', '.join(hints)}; it has {', '.join(plain)}"


def stream(planned: Plan, also: Iterable[str], consume: Consume) -> dict[str, str]:
    """Runs all points and passes each layer to a consumer, in order.

    Args:
        planned: network, inputs and what is measured.
        also: further names to pass on.
        consume: called with a layer's name and rows, shape (rows, units), single or double precision.

    Returns:
        Layers that are not passed on, with the reason: those that the plan leaves out and those that failed this time.
    """
    names = list(dict.fromkeys([*planned.layers, *map(planned.call, also)]))
    names = [name for name in names if name in planned.shapes and not planned.shapes[name].why]
    failed, inputs = dict(planned.left_out), planned.reader.inputs
    if len(inputs.batches) == 1:
        _pass(planned, 0, names, consume, failed)
        return failed
    points = sum(size or 1 for size in inputs.sizes)
    sizes = [4 * points * planned.shapes[name].row_units for name in names]  # in single precision
    for group in groups_within(planned.reader.memory, zip(names, sizes, strict=True)):
        _collect(planned, group, consume, failed)
    return failed


def _collect(planned: Plan, group: list[str], consume: Consume, failed: dict[str, str]) -> None:
    """One group of layers over all batches."""
    parts: dict[str, list[NDArray[np.floating]]] = {name: [] for name in group}
    batches = len(planned.reader.inputs.batches)
    for number in range(batches):
        for name, rows in batch_rows(planned, number, group, failed).items():
            parts[name].append(rows)
    for name in group:
        found = parts.pop(name)
        if len(found) == batches and len({part.shape[1] for part in found}) == 1:
            joined = np.concatenate(found)
            found.clear()
            consume(name, joined)
        else:
            failed.setdefault(name, "it did not return the same number of units in every batch")


def batch_rows(
    planned: Plan, number: int, names: Sequence[str], failed: dict[str, str]
) -> dict[str, NDArray[np.floating]]:
    """Rows of layers for one batch, shape (rows, units) each.

    Args:
        planned: network and inputs.
        number: of the batch.
        names: of the layers.
        failed: gets the reasons why layers have none.
    """
    rows: dict[str, NDArray[np.floating]] = {}
    if names:
        _pass(planned, number, names, lambda name, A: rows.update({name: A.copy()}), failed)
    return rows


def _pass(planned: Plan, number: int, names: Sequence[str], consume: Consume, failed: dict[str, str]) -> None:
    """One batch: the rows of these layers to the consumer, whose errors are not caught."""
    reader, wanted = planned.reader, set(names)
    batch, seen = reader.inputs.batches[number], set()
    graphs, mask = batch.graphs(), reader.tokens_of(number)

    def pass_on(name: str, value: object) -> None:
        try:
            rows = as_rows(_rows(planned, name, value, graphs, mask))
        except Exception as error:
            failed[name] = in_one_line(error)
        else:
            consume(name, rows)

    if INPUT in wanted and len(batch.args) == 1:
        pass_on(INPUT, readable(batch.args[0]))

    def emit(name: str, value: object) -> None:
        if name in wanted and name not in seen:
            seen.add(name)
            pass_on(name, value)
        elif failed.get(name) == NEVER:  # the first passes on a few points did not reach it
            failed[name] = "not every point reaches it: it did not run for the first three"

    returned = reader.run(batch, emit, functions=planned.functions)
    if OUTPUT in wanted:
        try:
            output = reader.output(returned)
        except Exception as error:
            failed[OUTPUT] = in_one_line(error)
        else:
            pass_on(OUTPUT, output)
    for name in wanted - seen - {INPUT, OUTPUT}:
        failed.setdefault(name, "it did not run this time")


def _rows(planned: Plan, name: str, value: Any, graphs: Tensor | None, mask: Tensor | None) -> Tensor:
    """A layer's rows, of graphs the means of their nodes.

    Raises:
        ValueError: the features make none of it.
    """
    shape, features = planned.shapes[name], planned.reader.features
    if (packed := getattr(value, "tokens", None)) is not None:
        mask = packed
        if features.kind == "tokens" and features.mask is None and not bool(packed.all()):
            raise ValueError('it returns a packed sequence; give Features("tokens", ..., mask=mask)')
    rows = features.rows(name, shape.points_first(value, features.channels), mask)
    return _mean_by_graph(rows, graphs) if shape.of_nodes and graphs is not None else rows


def as_rows(tensor: Tensor) -> NDArray[np.floating]:
    """A tensor as an array on the CPU, in double or single precision as it came; a complex unit as two real ones."""
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj()).flatten(1)
    return tensor.to("cpu", tensor.dtype if tensor.dtype == torch.float64 else torch.float32).numpy()


def _mean_by_graph(rows: Tensor, graphs: Tensor) -> Tensor:
    """Mean over the nodes of each graph, shape (graphs, units); zero of a graph without nodes."""
    sizes = torch.bincount(graphs)
    sums = rows.new_zeros(len(sizes), rows.shape[1]).index_add(0, graphs, rows.detach())
    return sums / sizes.clamp(min=1)[:, None]


def passes_through(planned: Plan, name: str) -> bool:
    """Whether points exchange their outputs when their values of a layer are exchanged.

    They do not where a skip connection leads around the layer. Tried on at most `TRIED_ON` points, in reverse.

    Args:
        planned: network, inputs and layers.
        name: of what a module returns; of others, as functions, windows, nodes of graphs and what goes into a module,
            nothing is known: True.
    """
    module = dict(named_modules(planned.reader.model)).get(base(name))
    shapes = [planned.shapes[layer] for layer in (name, OUTPUT)]
    axes = [None if shape.of_nodes or shape.windows > 1 else shape.axis for shape in shapes]
    if module is None or name.endswith((":input", "]")) or None in axes:
        return True
    as_it_is, exchanged = _output(planned, None, "", 0), _output(planned, module, name, axes[0] or 0)
    wanted = as_it_is.flip(axes[1] or 0)
    return bool((exchanged - wanted).norm() <= ROUNDING * (as_it_is - wanted).norm())


def _output(planned: Plan, module: nn.Module | None, name: str, axis: int) -> Tensor:
    """What the network returns, in double precision, with the points of a call of a module in reverse."""
    reader, calls = planned.reader, 0
    wanted = int(name.partition("#")[2] or 1)

    def reverse(_module: nn.Module, _inputs: object, value: object) -> object:
        nonlocal calls
        calls += 1
        if calls != wanted:
            return value
        if isinstance(value, tuple) and isinstance(value[0], Tensor):
            return (value[0].flip(axis), *value[1:])
        return value.flip(axis) if isinstance(value, Tensor) else value

    handle = module.register_forward_hook(reverse) if module else None
    try:
        batch, _ = reader.inputs.spread(TRIED_ON)
        return reader.output(reader.run(batch, lambda *_: None)).detach().to(torch.float64)
    finally:
        if handle:
            handle.remove()
