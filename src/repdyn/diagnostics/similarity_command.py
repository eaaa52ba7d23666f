"""`python -m repdyn similarity module:function --against other --data file.npz --out similar.nc`: networks compared."""

from __future__ import annotations

import argparse
import copy
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr
    from torch import nn


def run(words: Sequence[str]) -> None:
    """The command `similarity`."""
    from repdyn.diagnostics.theory.similarity import MEASURES, ON_REQUEST

    network = (
        "module:function for another architecture, or a file of weights for another run or checkpoint of the first"
    )
    parser = argparse.ArgumentParser(
        prog="repdyn similarity",
        description="Layers of your network beside those of another run, seed or architecture.",
    )
    parser.add_argument("maker", help="module:function that returns the network")
    parser.add_argument(
        "--weights", type=Path, help="file of weights of the first; default: as the function returns it"
    )
    parser.add_argument("--against", help=f"{network}; default: the first one's own layers")
    parser.add_argument("--reruns", nargs="+", default=[], help="the first from other seeds, for the band of chance")
    parser.add_argument("--data", type=Path, required=True, help="npz with the inputs")
    parser.add_argument("--out", type=Path, required=True, help="netCDF file to write")
    parser.add_argument("--layers", nargs="+", help="names as in named_modules(), input, output; default: all")
    parser.add_argument("--other-layers", nargs="+", help="of the other one; default: those of the first")
    wanted = f"some of {', '.join((*MEASURES, *ON_REQUEST))}; default: {', '.join(MEASURES)}"
    parser.add_argument("--measures", nargs="+", default=list(MEASURES), help=wanted)
    parser.add_argument("--batch-size", type=int, help="points at a time, a minibatch of cka_minibatch")
    parser.add_argument(
        "--most-points", type=int, help="points compared at most; default: 2000, for cka_minibatch alone all"
    )
    parser.add_argument("--device", help="of torch, cpu or cuda, that computes the comparisons; default: numpy does")
    parser.add_argument("--intervals", action="store_true", help="also their 99 %% intervals")
    parser.add_argument("--features", choices=("flatten", "pool", "tokens"), default="flatten", help="rows of a layer")
    parser.add_argument("--figure", type=Path, help="heat map to write, without its suffix")
    arguments = parser.parse_args(words)
    compare_and_save(
        arguments.maker,
        arguments.data,
        arguments.out,
        weights=arguments.weights,
        against=arguments.against,
        reruns=arguments.reruns,
        layers=arguments.layers,
        other_layers=arguments.other_layers,
        measures=arguments.measures,
        intervals=arguments.intervals,
        batch_size=arguments.batch_size,
        most_points=arguments.most_points,
        device=arguments.device,
        features=arguments.features,
        figure=arguments.figure,
    )


def compare_and_save(
    maker: str,
    data: Path,
    out: Path,
    *,
    weights: Path | None = None,
    against: str | None = None,
    reruns: Sequence[str] = (),
    layers: Sequence[str] | None = None,
    other_layers: Sequence[str] | None = None,
    measures: Sequence[str],
    intervals: bool = False,
    batch_size: int | None = None,
    most_points: int | None = None,
    device: str | None = None,
    features: str = "flatten",
    figure: Path | None = None,
) -> None:
    """Compares layers of networks on the same points and saves the dataset.

    Args:
        maker: `module:function` of the first network.
        data: npz file with `inputs`, or arrays `input_NAME` for keyword inputs.
        out: netCDF file to write.
        weights: file of its weights.
        against: `module:function` of another one, or a file of weights for the first; None for its own layers.
        reruns: more runs of the first, in either form.
        layers: of the first.
        other_layers: of the other one.
        measures: as `compare` takes them.
        intervals: also their intervals.
        batch_size: points at a time, as `compare` takes them.
        most_points: points compared at most.
        device: where the comparisons are computed, as `compare` takes it.
        features: rows of a layer.
        figure: heat map to write, without its suffix; None for none.

    Raises:
        RepdynError: anything unusable, in one line.
    """
    from repdyn.base import datasets, figures
    from repdyn.base.errors import RepdynError
    from repdyn.diagnostics.command import signed
    from repdyn.diagnostics.compare import compare
    from repdyn.diagnostics.figures.similarity import draw_similarity
    from repdyn.diagnostics.methods.checkpoints import read_arrays
    from repdyn.diagnostics.methods.reader import Features

    inputs, first = read_arrays(data)["inputs"], _network(maker, None)
    if weights:
        first = _network(str(weights), first)
    others = [_network(name, first) for name in reruns]
    other = _network(against, first) if against else None
    how: dict[str, Any] = {
        "other_layers": other_layers,
        "measures": measures,
        "intervals": intervals,
        "batch_size": batch_size,
        "most_points": most_points,
        "device": device,
        "features": Features(features, None),
    }
    try:
        found = compare(first, other, inputs, layers, reruns=others, **how)
    except ValueError as error:
        raise RepdynError(str(error)) from error
    settings: dict[str, object] = {"weights": str(weights) if weights else None, "against": against}
    settings |= how | {"reruns": list(reruns), "layers": layers, "features": features}
    datasets.write(signed(found, maker, settings).assign_attrs(device=device or "cpu"), out)
    print(f"{out}: {found.sizes['layer']} x {found.sizes['other_layer']} layers, {', '.join(measures)}")
    if found.attrs["left_out"]:
        print(f"left out: {found.attrs['left_out']}")
    shown = "cka_debiased" if "cka_debiased" in measures else measures[0]
    print(_table(found, shown))
    if figure:
        figures.save(draw_similarity(found, shown), figure)
        print(f"{figure}: figure")


def _network(name: str, first: nn.Module | None) -> nn.Module:
    """Another network by its function, or the first one with the weights of a file."""
    from repdyn.diagnostics.methods.checkpoints import load_weights, made_by

    if first is None or (":" in name and not Path(name).exists()):
        return made_by(name)
    model = copy.deepcopy(first)
    load_weights(model, Path(name))
    return model


def _table(found: xr.Dataset, name: str) -> str:
    """The same layer in both networks, beside the least and largest between runs of the first."""
    lines = [f"{found[name].attrs['long_name']}, same layer in both networks"]
    for layer in found["layer"].values:
        if layer not in found["other_layer"].values:
            continue
        value = float(found[name].sel(layer=layer, other_layer=layer))
        text = f"  {layer:24}{value:8.3f}"
        if f"{name}_of_runs" in found:
            runs = found[f"{name}_of_runs"].sel(layer=layer)
            text += f"   between runs {float(runs.min()):.3f} to {float(runs.max()):.3f}"
        lines.append(text)
    return "\n".join(lines)
