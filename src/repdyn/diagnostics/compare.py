"""Similarity of representations between layers, checkpoints and networks, with the band of chance::

    from repdyn.diagnostics.compare import compare
    from repdyn.diagnostics.figures.similarity import draw_similarity

    found = compare(model, other, inputs, reruns=[same_network_other_seed])
    draw_similarity(found).savefig("similarity.png")

Points are run as `measure` runs them, and nothing about the networks changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn

from repdyn.base.datasets import variable
from repdyn.diagnostics.measure import network_reader
from repdyn.diagnostics.methods.forward import in_one_line, unwrapped, with_weights
from repdyn.diagnostics.methods.inputs import spread
from repdyn.diagnostics.methods.streaming import plan, stream
from repdyn.diagnostics.theory.similarity import Shape, shape_of, similarities

MOST_POINTS = 2000  # compared at most: what is kept of a layer is points x min(points, units)
TEXTS = {
    "cka": ("linear CKA, biased", "1", "Kornblith, Norouzi, Lee, Hinton 2019"),
    "cka_debiased": ("linear CKA with unbiased HSIC", "1", "Song, Smola, Gretton, Bedo, Borgwardt 2012"),
    "procrustes": ("Procrustes distance of centered representations of norm one", "1", "Schonemann 1966"),
    "angular": ("angular shape distance", "rad", "Williams, Kunz, Kornblith, Linderman 2021"),
}


def compare(
    network: nn.Module,
    other: nn.Module | Mapping[str, Tensor] | None,
    inputs: object,
    layers: Sequence[str] | None = None,
    *,
    other_layers: Sequence[str] | None = None,
    reruns: Sequence[nn.Module | Mapping[str, Tensor]] = (),
    most_points: int = MOST_POINTS,
    **options: object,
) -> xr.Dataset:
    """Similarity of every layer of one network to every layer of another, on the same points.

    Args:
        network: a network.
        other: another network, a checkpoint of the first (its `state_dict`), or None for the layers of the first among
            themselves.
        inputs: as `measure` takes them.
        layers: of the first, as `measure` takes them.
        other_layers: of the second; None takes `layers`.
        reruns: the first network trained from other seeds, as networks or checkpoints. How similar the same layer of
            two of these runs is shows what chance does: a network that is less similar than its own reruns differs.
        most_points: points compared at most, evenly spread; what is kept of a layer grows as its square.
        options: `features`, `axes`, `batch_size`, `unpack`, `batch_statistics`, `memory` as `measure` takes them.

    Returns:
        Dataset over `layer` and `other_layer` of `cka`, `cka_debiased`, `procrustes`, `angular`; with reruns
        `<name>_of_runs` over `layer` and `runs`, pairs of runs of the first network. A layer that cannot be compared is
        NaN, with its reason in the attribute `left_out`.

    Raises:
        ValueError: unusable inputs or names.

    Example:
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        >>> dataset = compare(model, None, torch.randn(20, 4), ["input", "0"])
        >>> dataset["cka"].sel(layer="0", other_layer="0").round(6).item()
        1.0
    """
    with ThreadpoolController().limit(limits=1, user_api="blas"):  # as in `measure`: more threads wait for each other
        return _compared(network, other, inputs, layers, other_layers, reruns, most_points, options)


def _compared(
    network: nn.Module,
    other: nn.Module | Mapping[str, Tensor] | None,
    inputs: object,
    layers: Sequence[str] | None,
    other_layers: Sequence[str] | None,
    reruns: Sequence[nn.Module | Mapping[str, Tensor]],
    most_points: int,
    options: Mapping[str, Any],
) -> xr.Dataset:
    """`compare`, with the arguments of the same names."""
    reasons: dict[str, str] = {}
    first = _shapes(network, inputs, layers, most_points, options, "one", reasons)
    second = first
    if other is not None:
        own = layers if other_layers is None else other_layers
        second = _shapes(
            with_weights(network, other, "the checkpoint"), inputs, own, most_points, options, "other", reasons
        )
    dataset = xr.Dataset(_matrices(first, second), _layer_coordinates(first, second))
    if reruns:
        runs = [first]
        for number, run in enumerate(reruns):
            name = f"rerun {number}"
            runs.append(
                _shapes(
                    with_weights(network, run, "the checkpoint"),
                    inputs,
                    list(first),
                    most_points,
                    options,
                    name,
                    reasons,
                )
            )
        dataset = dataset.assign(_chance(runs))
    text = "; ".join(f"{place}: {why}" for place, why in reasons.items())
    title = f"Similarity of {type(unwrapped(network)).__name__} to {'itself' if other is None else 'another network'}"
    return dataset.assign_attrs(title=title, left_out=text)


def _shapes(
    model: nn.Module,
    inputs: object,
    layers: Sequence[str] | None,
    most_points: int,
    options: Mapping[str, Any],
    place: str,
    reasons: dict[str, str],
) -> dict[str, Shape | None]:
    """Every layer of a network prepared for comparisons, None where it cannot be."""
    planned = plan(network_reader(model, inputs, **options), layers)
    shapes: dict[str, Shape | None] = dict.fromkeys(planned.layers)

    def keep(name: str, A: NDArray[np.floating]) -> None:
        try:
            if not np.isfinite(A).all():
                raise ValueError("values that are NaN or infinite")
            shapes[name] = shape_of(A[spread(len(A), most_points)])
        except (ValueError, np.linalg.LinAlgError) as error:
            reasons[f"{place}, {name}"] = in_one_line(error)

    failed = stream(planned, (), keep)
    reasons.update({f"{place}, {name}": why for name, why in failed.items()})
    return shapes


def _similarities(first: Shape | None, second: Shape | None) -> dict[str, float]:
    if first is None or second is None or len(first.F) != len(second.F):
        return dict.fromkeys(TEXTS, np.nan)
    return similarities(first, second)


def _matrices(first: Mapping[str, Shape | None], second: Mapping[str, Shape | None]) -> dict[str, xr.Variable]:
    rows = [[_similarities(row, column) for column in second.values()] for row in first.values()]
    return {name: _described(name, ("layer", "other_layer"), rows) for name in TEXTS}


def _chance(runs: Sequence[Mapping[str, Shape | None]]) -> dict[str, xr.Variable]:
    """The same layer in every pair of runs, and the names of the pairs."""
    pairs = [(a, b) for b in range(len(runs)) for a in range(b)]
    rows = [[_similarities(runs[a][name], runs[b].get(name)) for a, b in pairs] for name in runs[0]]
    variables = {
        f"{name}_of_runs": _described(name, ("layer", "runs"), rows, ", same layer in two runs") for name in TEXTS
    }
    names = np.array([f"{a}-{b}" for a, b in pairs])
    return variables | {"runs": variable("runs", names, "two runs of the first network")}


def _described(name: str, dims: tuple[str, ...], rows: list[list[dict[str, float]]], more: str = "") -> xr.Variable:
    words, units, source = TEXTS[name]
    array = variable(dims, np.array([[values[name] for values in row] for row in rows]), words + more, units)
    array.attrs |= {"source": source, "missing": "the layer could not be compared, for the reason in `left_out`"}
    return array


def _layer_coordinates(first: Mapping[str, object], second: Mapping[str, object]) -> dict[str, xr.Variable]:
    return {
        "layer": variable("layer", np.array(list(first), str), "layer of the first network"),
        "other_layer": variable("other_layer", np.array(list(second), str), "layer of the second network"),
    }
