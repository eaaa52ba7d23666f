"""`python -m repdyn measure module:function --data file.npz --out diag.nc`: the diagnostics without a script."""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr
    from torch import nn

    from repdyn.diagnostics.summary import Sentence


STOPPED = 130  # exit status of a command that the user stopped


def run(words: Sequence[str]) -> int:
    """The command `measure`; its exit status."""
    from repdyn.diagnostics.methods.catalog import MEASURES
    from repdyn.diagnostics.methods.collecting import Interrupted

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
    parser.add_argument("--heads", type=int, help="heads of attention, layers of their own; with --channels -1")
    parser.add_argument("--batch-size", type=int, help="points per forward pass; default: all at once")
    parser.add_argument("--batch-statistics", action="store_true", help="batch normalization by these points")
    parser.add_argument("--figures", type=Path, help="folder for figures")
    parser.add_argument(
        "--checkpoints", type=Path, help="folder of weights, each measured: step_100.pt, step_200.pt, ..."
    )
    parser.add_argument("--words", action="store_true", help="say what the network does, sentence by sentence")
    parser.add_argument("--page", type=Path, help="HTML page of the network to write: in words, figures, layers")
    parser.add_argument("--before", type=Path, help="weights before training, for --words and --page")
    parser.add_argument("--held-out", type=Path, help="npz of points it was not trained on: inputs, labels")
    parser.add_argument("--resume", action="store_true", help="measure the checkpoints that --out lacks")
    try:
        run_arguments(parser.parse_args(words))
    except Interrupted:
        return STOPPED
    return 0


def run_arguments(arguments: argparse.Namespace) -> None:
    """Measures what the command line says."""
    measure_and_save(
        arguments.maker,
        arguments.data,
        arguments.out,
        residual=arguments.residual,
        effective_depth=arguments.effective_depth,
        features=(arguments.features, arguments.channels, arguments.heads),
        figures=arguments.figures,
        layers=arguments.layers,
        measures=arguments.measures,
        output=arguments.output,
        embeddings=arguments.embeddings,
        classifier=arguments.classifier,
        batch_size=arguments.batch_size,
        batch_statistics=arguments.batch_statistics,
        checkpoints=arguments.checkpoints,
        resume=arguments.resume,
        words=arguments.words,
        page=arguments.page,
        before=arguments.before,
        held_out=arguments.held_out,
        progress=sys.stderr.isatty(),
    )


def measure_and_save(
    maker: str,
    data: Path,
    out: Path,
    *,
    residual: Sequence[str] | None = None,
    effective_depth: float = 0.0,
    features: tuple[str, int | None, int | None] = ("flatten", None, None),
    figures: Path | None = None,
    checkpoints: Path | None = None,
    resume: bool = False,
    words: bool = False,
    page: Path | None = None,
    before: Path | None = None,
    held_out: Path | None = None,
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
        features: kind, axis of the channels and number of heads.
        figures: folder for the figures, None for none.
        checkpoints: folder of weights, each of which is measured in the network, along the dimension `checkpoint`.
        resume: go on with a file of checkpoints, after its last one.
        words: print what the network does in words, of checkpoints the last one and what changed until then.
        page: HTML file with these words, figures and layers, None for none.
        before: weights before training, with which the words compare.
        held_out: npz file of points that the network was not trained on, with `inputs` and `labels`; measured beside
            the others, and for the words on what was memorized.
        options: further arguments of `measure`.

    Raises:
        RepdynError: anything unusable, in one line.
        Interrupted: the user stopped it; what was measured until then is saved.
    """
    from repdyn.base.errors import RepdynError
    from repdyn.diagnostics import summary
    from repdyn.diagnostics.methods.checkpoints import ANSWERS, made_by, read_arrays
    from repdyn.diagnostics.methods.reader import Features
    from repdyn.diagnostics.page import write_page
    from repdyn.diagnostics.theory.identity import Residual
    from repdyn.diagnostics.training_summary import summarize_training

    if effective_depth and not residual:
        raise RepdynError(f"effective_depth is {effective_depth}, the leak of a residual stream; give its layers too")
    if not math.isfinite(effective_depth):
        raise RepdynError(f"effective_depth is {effective_depth}; give a finite number")
    if before and not (words or page):
        raise RepdynError("before is for the words; give words or page, too")
    arrays = read_arrays(data)
    others = _held_out(held_out) if held_out else None
    model = made_by(maker)
    try:
        stream = Residual(tuple(residual), effective_depth) if residual else None
        answers: dict[str, Any] = {name: arrays[name] for name in ANSWERS if name in arrays}
        kind, channels, heads = features
        rows = Features(kind, channels, heads=heads)
        arguments = options | answers | {"residual": stream, "features": rows, "held_out": others}
        settings = {"residual": residual, "effective_depth": effective_depth, "features": features} | options
        if checkpoints:
            recorded = _recorded(model, arrays["inputs"], checkpoints, out, arguments, resume=resume)
            dataset = signed(recorded, maker, settings)
        else:
            dataset = _measured(model, arrays["inputs"], out, arguments, maker, settings)
        sentences = _sentences(model, arrays, arguments, before, others) if words or page else []
        if sentences and checkpoints:
            sentences += summarize_training(dataset)
    except ValueError as error:
        raise RepdynError(str(error)) from error
    print(
        f"{out}: {dataset.sizes['layer']} layers, {dataset.sizes['point']} points, {len(dataset.data_vars)} diagnostics"
    )
    if dataset.attrs["left_out"]:
        print(f"left out: {dataset.attrs['left_out']}")
    if words:
        print(summary.words(sentences))
    if page:
        write_page(page, dataset, sentences)
        print(f"{page}: page")
    if figures:
        _draw(dataset, figures)


def _measured(
    model: nn.Module, inputs: object, out: Path, arguments: dict[str, Any], maker: str, settings: dict[str, object]
) -> xr.Dataset:
    """One moment, saved; what there is of it where the user stops."""
    from repdyn.base import datasets
    from repdyn.diagnostics.measure import measure
    from repdyn.diagnostics.methods.collecting import Interrupted

    try:
        dataset = signed(measure(model, inputs, **arguments), maker, settings)
    except Interrupted as stop:
        datasets.write(signed(stop.dataset, maker, settings), out)
        print(f"{out}: what was measured until it was stopped")
        raise
    datasets.write(dataset, out)
    return dataset


def _recorded(
    model: nn.Module, inputs: object, folder: Path, out: Path, arguments: dict[str, Any], *, resume: bool
) -> xr.Dataset:
    """Every checkpoint of a folder that the file does not have, saved one by one."""
    from repdyn.base.errors import DataError
    from repdyn.diagnostics.measure import Recorder
    from repdyn.diagnostics.methods.checkpoints import checkpoints, load_weights

    steps = checkpoints(folder)
    if out.exists() and not resume:
        raise DataError(f"{out}: is there already; give --resume to measure what it lacks, or delete it")
    recorder = Recorder(model, inputs, time="checkpoint", file=out, resume=resume, **arguments)
    for step, path in steps.items():
        if not recorder.steps or step > recorder.steps[-1]:
            load_weights(model, path)
            recorder(step)
            print(f"{path}: measured")
    load_weights(model, steps[max(steps)])  # with nothing left to measure it has weights of its own
    return recorder.dataset()


def _held_out(path: Path) -> tuple[object, Any]:
    """Inputs and labels of points that the network was not trained on.

    Raises:
        DataError: an unusable file, or one without labels.
    """
    from repdyn.base.errors import DataError
    from repdyn.diagnostics.methods.checkpoints import read_arrays

    arrays = read_arrays(path)
    if "labels" not in arrays:
        raise DataError(f"{path}: holds no labels; held-out points need them: what was memorized is told by accuracy")
    return arrays["inputs"], arrays["labels"]


def _sentences(
    model: nn.Module,
    arrays: dict[str, Any],
    arguments: dict[str, Any],
    before: Path | None,
    held_out: tuple[object, Any] | None,
) -> list[Sentence]:
    """What the network does, from the arguments of `measure` that say how it is run."""
    from repdyn.diagnostics.methods.checkpoints import load_weights
    from repdyn.diagnostics.summary import summarize

    how = ("layers", "features", "output", "embeddings", "classifier", "batch_size", "batch_statistics")
    options = {name: arguments[name] for name in how if name in arguments}
    first = None
    if before:
        first = copy.deepcopy(model)
        load_weights(first, before)
    return summarize(model, arrays["inputs"], labels=arrays.get("labels"), before=first, held_out=held_out, **options)


def signed(dataset: xr.Dataset, maker: str, options: dict[str, object]) -> xr.Dataset:
    """The dataset with the attributes that the pipeline's files carry."""
    from repdyn.base.datasets import package_versions
    from repdyn.diagnostics.settings import PAPER

    options = {name: value for name, value in options.items() if name != "progress"}
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
    from repdyn.diagnostics.page import draw_all

    with figures.style():
        for name, figure in draw_all(dataset).items():
            figures.save(figure, folder / name)
    print(f"{folder}: figures")
