"""Which axis of each layer counts the points of the data.

A first forward pass on two points and one on three show which axis of every layer grows with the points, however long
the other axes are, and whether a point's rows change with the other points, as they do where the inputs' axis
counts moments instead.

Attention within windows has several consecutive rows per point, (points x windows, tokens, units). No shape separates
such layers from those whose windows come first, (windows x points, ...). What does is where the numbers of a point are
in two passes that hold the points in different orders.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from repdyn.diagnostics.methods.batches import spread
from repdyn.diagnostics.methods.forward import Unusual, in_one_line, named_modules, same_numbers
from repdyn.diagnostics.methods.reader import INPUT, OUTPUT, NetworkReader, shape_text
from repdyn.diagnostics.methods.untouched import BATCH_NORMS

TWO, THREE = (2, 0), (0, 1, 2)  # points of the first passes, in an order that recurrent layers notice
TRIED_ON = 8  # points whose rows are followed from a pass to another in reverse order


@dataclass(frozen=True)
class LayerShape:
    """The shape of a layer as the first passes saw it.

    Attributes:
        axis: the axis that counts points; None where there is none, and `why` says so.
        units: real numbers per point.
        row_units: real numbers per point in the rows of the features, for pooled layers fewer.
        why: reason why it cannot be measured, empty if it can.
        tokens: rows of a point.
        is_complex: whether its numbers are complex; real and imaginary parts are separate units.
        of_nodes: whether it has a row per node where graphs are the points; the mean over a graph's nodes is its row.
        windows: consecutive entries of a point along the first axis, 1 where a point has a single one.
        lengths: lengths of the axes of a point.
        eps: relative rounding of its numbers.
        failed: whether there is no value, but an error of what makes the output of what the network returns.
    """

    axis: int | None
    units: int = 0
    row_units: int = 0
    why: str = ""
    tokens: int = 1
    is_complex: bool = False
    of_nodes: bool = False
    windows: int = 1
    lengths: tuple[int, ...] = ()
    eps: float = 0.0
    failed: bool = False

    def points_first(self, value: Tensor, channels: int | None) -> Tensor:
        """A value of the layer with its points first; windows get an axis that leaves the channels where they are."""
        if self.windows == 1:
            return value.movedim(cast("int", self.axis), 0)
        parts = value.unflatten(0, (-1, self.windows))
        return parts if channels is None or channels < 0 else parts.movedim(1, -1)


def find_shapes(reader: NetworkReader, functions: bool) -> tuple[dict[str, LayerShape], str | None, list[str]]:
    """Shapes of all layers, the last linear map, and the layers that return the output, or take it as the input.

    The map is the one whose result the network returns, or else the last one where it orders the outputs as they are.
    """
    passes = _small_passes(reader, functions)
    first, last = passes[0], passes[-1]
    output = last.get(OUTPUT)
    sizes = (2, 3) if len(passes) == 2 else (reader.inputs.sizes[0],)
    if sizes[-1] is None:
        sizes = (len(output) if isinstance(output, Tensor) and output.ndim else None,)
    graphs = reader.inputs.batches[0].graphs()
    nodes = None if graphs is None else len(graphs)
    shapes = {
        name: _shape(name, [seen.get(name) for seen in passes], sizes, reader, nodes) for name in last if name in first
    }
    if len(passes) == 2:
        shapes |= _with_windows(shapes, first, last, reader, functions)
    if len(passes) == 2 and INPUT not in reader.axes and not depends_on_the_batch(reader):
        _check_independence(shapes, first, last, reader)
    modules = dict(named_modules(reader.model))
    calls = [name for name in last if name not in (INPUT, OUTPUT) and not name.endswith(":input")]
    same = [name for name in calls if same_numbers(last[name], output)]
    linear = [name for name in calls if name == whole(name) and is_linear(modules.get(base(name)))]
    ends = [name for name in linear if name in same]
    ends = ends or [name for name in linear[-1:] if _ordered_alike(last[name], output)]
    same = [INPUT, *same] if same_numbers(last.get(INPUT), output) else same
    return shapes, (ends[-1] if ends else None), same


def _small_passes(reader: NetworkReader, functions: bool) -> list[dict[str, object]]:
    """What all points return for two and for three points; for the first batch where points cannot be taken alone."""
    inputs = reader.inputs
    if inputs.sliceable:
        try:
            return [reader.values(inputs.some(indices), functions=functions) for indices in (TWO, THREE)]
        except ValueError:
            pass  # some networks take batches of one size only
    return [reader.values(inputs.batches[0], functions=functions)]


def _shape(
    name: str, values: list[Any], sizes: tuple[int | None, ...], reader: NetworkReader, nodes: int | None
) -> LayerShape:
    """The axis of points of one layer, or why it has none."""
    value = values[-1]
    if isinstance(value, Exception):
        return LayerShape(None, why=in_one_line(value), failed=True)
    if not all(isinstance(part, Tensor) for part in values):
        verb = "is" if name == INPUT else "returns"
        text = "which has no number at each place" if isinstance(value, Unusual) else "not a tensor"
        return LayerShape(None, why=f"it {verb} {shape_text(value)}, {text}")
    if not value.is_floating_point() and not value.is_complex():
        kind = str(value.dtype).removeprefix("torch.")
        return LayerShape(None, why=f"it returns {kind}, which has no distances")
    axis = reader.axes.get(whole(name), reader.inputs.axis if name == INPUT else None)
    of_nodes = False
    if axis is None:
        shapes = [tuple(part.shape) for part in values]
        axis, why = point_axis(shapes, sizes)
        rows_are_nodes = bool(why or shapes[0][:1] == (nodes,)) and nodes not in sizes
        if nodes is not None and rows_are_nodes and len(shapes[0]) > 1:  # even with as many units as graphs
            of_nodes = shapes[0].count(nodes) == 1
            axis, why = point_axis(shapes, (nodes,)) if of_nodes else (axis, why)
        if why:
            return LayerShape(None, why=f"it returns {why}")
    elif not -value.ndim <= axis < value.ndim:
        return LayerShape(None, why=f"it returns {shape_text(value)}, which has no axis {axis}")
    return _described(name, LayerShape(axis, is_complex=value.is_complex(), of_nodes=of_nodes), value, reader)


def point_axis(shapes: Sequence[tuple[int, ...]], sizes: Sequence[int | None]) -> tuple[int | None, str]:
    """The axis whose length is the number of points in every pass, or None and why.

    Example:
        >>> point_axis([(5, 2, 4), (5, 3, 4)], (2, 3))
        (1, '')
        >>> point_axis([(8, 8)], (8,))[1]
        'shape (8, 8) for 8 points, which may be any of its axes 0, 1: say which with axes={name: axis}'
    """
    if len({len(shape) for shape in shapes}) > 1:
        return None, f"shapes {' and '.join(map(str, shapes))} for {' and '.join(map(str, sizes))} points"
    axes = [k for k, lengths in enumerate(zip(*shapes, strict=True)) if lengths == tuple(sizes)]
    if len(axes) == 1:
        return axes[0], ""
    words = f"shape {shapes[-1]} for {sizes[-1]} points, which"
    if axes:
        return None, f"{words} may be any of its axes {', '.join(map(str, axes))}: say which with axes={{name: axis}}"
    return None, f"{words} is no row per point"


def _described(name: str, shape: LayerShape, value: Tensor, reader: NetworkReader) -> LayerShape:
    """The shape with its numbers per point."""
    points_first = shape.points_first(value, reader.features.channels)
    units = value.numel() // max(1, len(points_first)) * (1 + shape.is_complex)
    row_units, tokens = _row_units(name, points_first, reader, units), reader.features.per_point(points_first)
    lengths, eps = tuple(points_first.shape[1:]), torch.finfo(value.dtype).eps
    return replace(shape, units=units, row_units=row_units, tokens=tokens, lengths=lengths, eps=eps)


def _row_units(name: str, points_first: Tensor, reader: NetworkReader, units: int) -> int:
    """Real numbers per point among the rows that the features make; all where they fail, which is reported later."""
    if reader.features.kind == "flatten":
        return units
    try:
        rows = reader.features.rows(name, points_first)
    except Exception:  # features may be the user's code
        return units
    return rows.numel() // max(1, len(points_first)) * (1 + rows.is_complex())


def depends_on_the_batch(reader: NetworkReader) -> bool:
    """Whether points are normalized, or rounded to int8, by all points of the batch."""
    if any(_quantized(module, ".dynamic") for module in reader.model.modules()):
        return True
    norms = [module for module in reader.model.modules() if isinstance(module, BATCH_NORMS)]
    return reader.batch_statistics or not all(norm.track_running_stats for norm in norms)


def _quantized(module: nn.Module, kind: str = "") -> bool:
    return type(module).__module__.startswith(f"torch.ao.nn.quantized{kind}")


def _check_independence(
    shapes: Mapping[str, LayerShape], two: Mapping[str, Any], three: Mapping[str, Any], reader: NetworkReader
) -> None:
    """Refuses an axis of the inputs along which points change each other.

    Raises:
        ValueError: a layer's rows of the same points differ between the two passes by more than rounding.
    """
    for name, shape in shapes.items():
        if shape.axis is None or shape.windows > 1:
            continue
        double = torch.complex128 if shape.is_complex else torch.float64
        first = two[name].movedim(shape.axis, 0).to(double)
        other = three[name].movedim(shape.axis, 0)[list(TWO)].to(double)
        rounding = torch.finfo(three[name].dtype).eps ** 0.5
        if first.shape == other.shape and (first - other).norm() > rounding * other.norm():
            axis = reader.inputs.axis
            raise ValueError(
                f"layer {name!r} of a point changes with the points beside it, or is random: axis {axis} of the inputs "
                f"may count moments or tokens; say which axis counts points, axes={{'input': {axis}}} to keep this one"
            )


def _with_windows(
    shapes: Mapping[str, LayerShape],
    two: Mapping[str, Any],
    three: Mapping[str, Any],
    reader: NetworkReader,
    functions: bool,
) -> dict[str, LayerShape]:
    """Layers whose consecutive rows belong to one point, as these move with the points and no others do."""
    lacking = [name for name, shape in shapes.items() if shape.axis is None and name not in (INPUT, OUTPUT)]
    counts = {
        name: count
        for name in lacking
        if (count := rows_per_point([two[name], three[name]], (2, 3)))
        and rows_follow(two[name], three[name], TWO, count)
    }
    if counts and reader.features.kind == "tokens":
        why = 'its tokens are in windows, not in the order of other layers; features="pool" or "flatten" measure it'
        return {name: LayerShape(None, why=why) for name in counts}
    size = reader.inputs.sizes[0]
    if not counts or size is None:
        return {}
    order = spread(size, TRIED_ON)
    passes = [
        reader.values(reader.inputs.some(indices.tolist()), functions=functions) for indices in (order, order[::-1])
    ]
    back = range(len(order))[::-1]
    found = {}
    for name, count in counts.items():
        values: list[Any] = [seen.get(name) for seen in passes]
        same_number = rows_per_point(values, [len(order)] * 2) == count
        if same_number and rows_follow(values[0], values[1], back, count):
            found[name] = _described(name, LayerShape(0, windows=count), three[name], reader)
    return found


def rows_per_point(values: Sequence[object], sizes: Sequence[int]) -> int:
    """How many rows a point has on the first axis, the same number in every pass; 0 if there is none.

    Args:
        values: a layer in every pass.
        sizes: points of every pass.

    Example:
        >>> rows_per_point([torch.zeros(8, 5), torch.zeros(12, 5)], (2, 3))
        4
        >>> rows_per_point([torch.zeros(8, 5), torch.zeros(8, 5)], (2, 3))
        0
    """
    tensors = [part for part in values if isinstance(part, Tensor) and part.ndim > 1]
    if len(tensors) < len(values) or len({part.shape[1:] for part in tensors}) > 1:
        return 0
    if not all(part.is_floating_point() for part in tensors):
        return 0
    counts = {len(part) / size for part, size in zip(tensors, sizes, strict=True)}
    count = counts.pop()
    return int(count) if not counts and count > 1 and count.is_integer() else 0


def rows_follow(first: Tensor, other: Tensor, places: Sequence[int], count: int) -> bool:
    """Whether consecutive rows move with their points from one pass to another, and only these do.

    Where rows that are not consecutive do as well, as in a layer of zeros, their points are unknown.

    Args:
        first: a layer in one pass, shape (points x count, ...).
        other: the same in another pass.
        places: where the points of the first pass are in the other.
        count: rows of a point.
    """
    consecutive = first.unflatten(0, (-1, count)), other.unflatten(0, (-1, count))
    apart = first.unflatten(0, (count, -1)).movedim(1, 0), other.unflatten(0, (count, -1)).movedim(1, 0)
    return _same(*consecutive, places) and not _same(*apart, places)


def _same(first: Tensor, other: Tensor, places: Sequence[int]) -> bool:
    """Whether these points have the same numbers, but for rounding."""
    there = other[list(places)].double()
    rounding = torch.finfo(other.dtype).eps ** 0.5
    return bool((first.double() - there).norm() <= rounding * there.norm())


def is_linear(module: nn.Module | None) -> bool:
    """Whether this is a linear map, in floating point or quantized."""
    if module is None or isinstance(module, nn.Linear):
        return module is not None
    return _quantized(module) and type(module).__name__ == "Linear"


def _ordered_alike(logits: object, output: object) -> bool:
    """Whether outputs are in the order of a map's results point by point, as after a softmax or a positive factor.

    A tenth of unequal neighbors may become equal by rounding; more do so in a ReLU.
    """
    if not isinstance(logits, Tensor) or not isinstance(output, Tensor) or logits.numel() != output.numel():
        return False
    if not logits.ndim or not logits.is_floating_point() or not output.is_floating_point():
        return False
    ordered, order = logits.sort(dim=-1)
    steps = output.reshape(logits.shape).gather(-1, order).diff(dim=-1)
    eps = torch.finfo(output.dtype).eps
    unequal = ordered.diff(dim=-1) > eps**0.5 * ordered.abs().max()
    falls = (steps < -eps * output.abs().max()).any()
    return not falls and int((unequal & (steps <= 0)).sum()) <= int(unequal.sum()) / 10


def base(name: str) -> str:
    """The module behind the name of a call, of its input, or of a part or head of what it returns."""
    return re.sub(r"(#\d+)?(:input)?(\[[^\]]*\])*$", "", name)


def whole(name: str) -> str:
    """The layer that a head is a part of, and any other layer itself.

    Example:
        >>> whole("block.query#2[head 3]"), whole("block.query")
        ('block.query#2', 'block.query')
    """
    return re.sub(r"\[head \d+\]$", "", name)
