"""`python -m repdyn measure module:function --data file.npz --out diag.nc`: the diagnostics without a script."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr


def run(words: Sequence[str]) -> None:
    """The command `measure`."""
    from repdyn.diagnostics.methods.catalog import MEASURES

    parser = argparse.ArgumentParser(prog="repdyn measure", description="The papers' diagnostics on your own network.")
    parser.add_argument("maker", help="module:function that returns the network")
    parser.add_argument("--data", type=Path, required=True, help="npz: inputs and, as wanted, labels, targets, pairs")
    parser.add_argument("--out", type=Path, required=True, help="netCDF file to write")
    parser.add_argument("--layers", nargs="+", help="names as in named_modules(), input, output; default: all")
    parser.add_argument("--measures", nargs="+", help=f"some of {', '.join(MEASURES)}; default: all")
    parser.add_argument("--residual", nargs="+", help="layers of the residual stream, in order")
    parser.add_argument("--effective-depth", type=float, default=0.0, help="leak of the residual stream (default 0)")
    parser.add_argument("--output", help="key of the part that counts of what the network returns")
    parser.add_argument("--embeddings", help="layer that stands for the inputs, where these are token ids")
    parser.add_argument("--classifier", help="the last linear map, for NC3 and NC4; default: found")
    parser.add_argument("--features", choices=("flatten", "pool", "tokens"), default="flatten", help="rows of a layer")
    parser.add_argument("--channels", type=int, help="axis of the channels, points first: 1 or -1")
    parser.add_argument("--batch-size", type=int, help="points per forward pass; default: all at once")
    parser.add_argument("--batch-statistics", action="store_true", help="batch normalization by these points")
    parser.add_argument("--figures", type=Path, help="folder for figures")
    run_arguments(parser.parse_args(words))


def run_arguments(arguments: argparse.Namespace) -> None:
    """Measures what the command line says."""
    measure_and_save(
        arguments.maker,
        arguments.data,
        arguments.out,
        residual=arguments.residual,
        effective_depth=arguments.effective_depth,
        features=(arguments.features, arguments.channels),
        figures=arguments.figures,
        layers=arguments.layers,
        measures=arguments.measures,
        output=arguments.output,
        embeddings=arguments.embeddings,
        classifier=arguments.classifier,
        batch_size=arguments.batch_size,
        batch_statistics=arguments.batch_statistics,
    )


def measure_and_save(
    maker: str,
    data: Path,
    out: Path,
    *,
    residual: Sequence[str] | None = None,
    effective_depth: float = 0.0,
    features: tuple[str, int | None] = ("flatten", None),
    figures: Path | None = None,
    **options: Any,
) -> None:
    """Measures the network that a user's function returns and saves the dataset.

    Args:
        maker: `module:function`; the module is looked for in the current folder first, the function takes nothing.
        data: npz file with `inputs`, or arrays `input_NAME` for keyword inputs, and as wanted `labels`, `targets`,
            `pairs`.
        out: netCDF file to write.
        residual: names of the layers of the residual stream.
        effective_depth: its leak.
        features: kind and axis of the channels.
        figures: folder for the figures, None for none.
        options: further arguments of `measure`.

    Raises:
        RepdynError: anything unusable, in one line.
    """
    from repdyn.base import datasets
    from repdyn.base.errors import RepdynError
    from repdyn.diagnostics.measure import measure
    from repdyn.diagnostics.methods.features import Features
    from repdyn.diagnostics.methods.own_network import ANSWERS, made_by, read_arrays
    from repdyn.diagnostics.theory.identity import Residual

    if effective_depth and not residual:
        raise RepdynError(f"effective_depth is {effective_depth}, the leak of a residual stream; give its layers too")
    if not math.isfinite(effective_depth):
        raise RepdynError(f"effective_depth is {effective_depth}; give a finite number")
    arrays = read_arrays(data)
    model = made_by(maker)
    try:
        stream = Residual(tuple(residual), effective_depth) if residual else None
        answers: dict[str, Any] = {name: arrays[name] for name in ANSWERS if name in arrays}
        dataset = measure(model, arrays["inputs"], residual=stream, features=Features(*features), **answers, **options)
    except ValueError as error:
        raise RepdynError(str(error)) from error
    arguments = {"residual": residual, "effective_depth": effective_depth, "features": features} | options
    datasets.write(_signed(dataset, maker, arguments), out)
    print(
        f"{out}: {dataset.sizes['layer']} layers, {dataset.sizes['point']} points, {len(dataset.data_vars)} diagnostics"
    )
    if dataset.attrs["left_out"]:
        print(f"left out: {dataset.attrs['left_out']}")
    if figures:
        _draw(dataset, figures)


def _signed(dataset: xr.Dataset, maker: str, options: dict[str, object]) -> xr.Dataset:
    """The dataset with the attributes that the pipeline's files carry."""
    from repdyn.base.datasets import package_versions
    from repdyn.diagnostics.settings import PAPER

    return dataset.assign_attrs(
        study="diagnostics",
        experiment=maker,
        paper=PAPER,
        settings=json.dumps(options, sort_keys=True),
        seed=0,
        code_version="unversioned",
        versions=package_versions("numpy", "scipy", "torch", "xarray"),
        device="cpu",
    )


def _draw(dataset: xr.Dataset, folder: Path) -> None:
    """The figures that the measures allow."""
    from repdyn.base import figures
    from repdyn.diagnostics.figures.depth import draw_depth
    from repdyn.diagnostics.figures.stream import draw_stream

    with figures.style():
        if {"angle", "centered_effective_rank", "stable_cost_of_identity"} <= set(dataset):
            figures.save(draw_depth(dataset), folder / "through_depth")
        if "kinetic_energy" in dataset or "radial_fraction" in dataset:
            figures.save(draw_stream(dataset), folder / "residual_stream")
    print(f"{folder}: figures")
