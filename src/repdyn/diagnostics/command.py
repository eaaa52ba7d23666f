"""The diagnostics without a script, on a network that a user's function returns::

python -m repdyn measure module:function --data file.npz --out diag.nc
python -m repdyn similarity module:function --against other --data file.npz --out similar.nc
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from torch import nn

from repdyn.base import datasets
from repdyn.base.errors import DataError, RepdynError
from repdyn.diagnostics import compare, measure, summary
from repdyn.diagnostics.figures.similarity import draw_similarity
from repdyn.diagnostics.methods import checkpoints as files
from repdyn.diagnostics.methods import recording
from repdyn.diagnostics.methods.catalog import MEASURES
from repdyn.diagnostics.methods.collecting import Interrupted
from repdyn.diagnostics.methods.reader import KINDS as FEATURES
from repdyn.diagnostics.methods.reader import Features
from repdyn.diagnostics.methods.targets import behind_links, check_figures, check_targets, source_of
from repdyn.diagnostics.methods.weights import load_weights
from repdyn.diagnostics.page import FIGURES, draw_all, write_page
from repdyn.diagnostics.settings import PAPER
from repdyn.diagnostics.theory.identity import Residual
from repdyn.diagnostics.theory.similarity import MEASURES as SIMILARITIES
from repdyn.diagnostics.theory.similarity import ON_REQUEST
from repdyn.diagnostics.training_summary import summarize_training
from repdyn.plotting import figures as plotting

DIGESTS = "checkpoint_digests"  # attribute of a recorded file: SHA-256 of the weights by checkpoint
TAKEN = "checkpoint_weights"  # attribute of a recorded file: what was taken of each checkpoint, and what was left
OF_SUMMARY = ("layers", "features", "output", "embeddings", "classifier", "batch_size", "batch_statistics")


def run(words: Sequence[str]) -> None:
    """The command `measure`."""
    parser = argparse.ArgumentParser(prog="repdyn measure", description="Apply the papers' measures to your network.")
    parser.add_argument("builder", help="module:function that returns the network")
    parser.add_argument("--data", type=Path, required=True, help="npz with inputs; optionally labels, targets, pairs")
    parser.add_argument("--out", type=Path, help="netCDF file to write; optional with --words, --page or --figures")
    parser.add_argument("--layers", nargs="+", help="names as in named_modules(), or input, output; default: all")
    parser.add_argument("--measures", nargs="+", help=f"some of {', '.join(MEASURES)}; default: all")
    parser.add_argument("--residual", nargs="+", help="layers of the residual stream, in order")
    parser.add_argument("--effective-depth", type=float, default=0.0, help="leak of the residual stream (default 0)")
    parser.add_argument("--output", help="key of the relevant part of what the network returns")
    parser.add_argument("--embeddings", help="layer that represents the inputs, where these are token ids")
    parser.add_argument("--classifier", help="the last linear map, for NC3 and NC4; default: found")
    parser.add_argument("--features", choices=FEATURES, default="flatten", help="rows of a layer")
    parser.add_argument("--channels", type=int, choices=(1, -1), help="axis of the channels, if points come first")
    parser.add_argument("--heads", type=int, help="heads of attention, as separate layers; with --channels -1")
    parser.add_argument("--batch-size", type=int, help="points per forward pass; default: all at once")
    parser.add_argument(
        "--batch-statistics", action="store_true", help="batch normalization uses these points' statistics"
    )
    parser.add_argument("--figures", type=Path, help="folder for figures")
    parser.add_argument(
        "--checkpoints", type=Path, help="folder of checkpoints, each of which is measured: step_100.pt, ..."
    )
    parser.add_argument("--words", action="store_true", help="describe what the network does, sentence by sentence")
    parser.add_argument("--page", type=Path, help="HTML page about the network to write: summary, figures, layers")
    parser.add_argument("--before", type=Path, help="weights before training, for --words and --page")
    parser.add_argument("--held-out", type=Path, help="npz with points that it was not trained on: inputs, labels")
    parser.add_argument("--other-form", type=Path, help="npz with the same points in another form, e.g. noisy")
    parser.add_argument(
        "--resume", action="store_true", help="measure the checkpoints that --out lacks or whose files have changed"
    )
    measure_and_save(**vars(parser.parse_args(words)), progress=sys.stderr.isatty())


def measure_and_save(
    builder: str,
    data: Path,
    out: Path | None = None,
    *,
    residual: Sequence[str] | None = None,
    effective_depth: float = 0.0,
    features: str = "flatten",
    channels: int | None = None,
    heads: int | None = None,
    figures: Path | None = None,
    checkpoints: Path | None = None,
    resume: bool = False,
    words: bool = False,
    page: Path | None = None,
    before: Path | None = None,
    held_out: Path | None = None,
    other_form: Path | None = None,
    **options: Any,
) -> None:
    """Measures the network that a user's function returns and saves the dataset.

    Arguments are the options of the command, as its help describes them; `options` are further arguments of `measure`.

    Raises:
        RepdynError: anything unusable, in one line.
        Interrupted: the user stopped it; what was measured until then is saved.
    """
    shown = words or page
    _check_options(out, figures or shown, residual, effective_depth, before and not shown, checkpoints, resume)
    out, page = out and behind_links(out), page and behind_links(page)
    sources = {"data": data, "before": before, "held_out": held_out, "other_form": other_form}
    sources |= {"checkpoints": checkpoints, "builder": source_of(builder)}
    check_targets({"out": out, "page": page}, sources, {"figures": figures})
    check_figures("figures", [figures / name for name in FIGURES] if figures else [])
    arrays = files.read_arrays(data)
    others = _held_out(held_out) if held_out else None
    form = files.read_arrays(other_form)["inputs"] if other_form else None
    model = files.build_network(builder)
    first = _loaded(model, before) if before else None
    settings = options | {"residual": residual, "effective_depth": effective_depth}
    settings["features"] = features, channels, heads
    try:
        arguments: dict[str, Any] = options | {name: arrays[name] for name in files.ANSWERS if name in arrays}
        arguments |= {"features": Features(features, channels, heads=heads), "held_out": others, "other_form": form}
        arguments["residual"] = Residual(tuple(residual), effective_depth) if residual else None
        if out and checkpoints:
            recorded = _recorded(model, arrays["inputs"], checkpoints, out, arguments, resume=resume)
            dataset = signed(recorded, builder, settings)
        else:
            dataset = _measured(model, arrays["inputs"], out, arguments, builder, settings)
        sentences: list[summary.Sentence] = []
        if shown:
            sentences += _sentences(model, arrays, first, arguments)
            sentences += summarize_training(dataset) if checkpoints else []
    except ValueError as error:
        raise RepdynError(str(error)) from error
    sizes = f"{dataset.sizes['layer']} layers, {dataset.sizes['point']} points, {len(dataset.data_vars)} diagnostics"
    _show(f"{out or builder}: {sizes}", dataset)
    if words:
        print(summary.words(sentences))
    if page:
        write_page(page, dataset, sentences)
        print(f"{page}: page")
    if figures:
        _draw(dataset, figures)


def _draw(dataset: xr.Dataset, folder: Path) -> None:
    """The figures that the measures allow."""
    with plotting.style():
        for name, figure in draw_all(dataset).items():
            plotting.save(figure, folder / name)
    print(f"{folder}: figures")


def _check_options(
    out: Path | None,
    shown: object,
    residual: object,
    effective_depth: float,
    before_alone: object,
    checkpoints: object,
    resume: bool,
) -> None:
    """Refuses options that lack those that they need.

    Raises:
        RepdynError: which option, and what to give.
    """
    if effective_depth and not residual:
        raise RepdynError(f"effective_depth is {effective_depth}, the leak of a residual stream; give its layers too")
    if not math.isfinite(effective_depth):
        raise RepdynError(f"effective_depth is {effective_depth}; give a finite number")
    if before_alone:
        raise RepdynError("before is for the words; give words or page, too")
    if resume and not checkpoints:
        raise RepdynError("resume is for checkpoints, of which it measures the new ones; give checkpoints, too")
    if not out and (checkpoints or not shown):
        why = "; checkpoints are measured into a file" if checkpoints else ", or ask for words, page or figures"
        raise RepdynError(f"out is missing: name a netCDF file to write{why}")


def _measured(
    model: nn.Module,
    inputs: object,
    out: Path | None,
    arguments: dict[str, Any],
    builder: str,
    settings: dict[str, object],
) -> xr.Dataset:
    """One moment, saved; what there is of it where the user stops."""
    try:
        dataset = signed(measure.measure(model, inputs, **arguments), builder, settings)
    except Interrupted as stop:
        if not out:
            raise
        datasets.write(signed(stop.dataset, builder, settings), out)
        print(f"{out}: what was measured until it was stopped")
        raise
    if out:
        datasets.write(dataset, out)
    return dataset


def _recorded(
    model: nn.Module, inputs: object, folder: Path, out: Path, arguments: dict[str, Any], *, resume: bool
) -> xr.Dataset:
    """Every checkpoint of a folder that the file does not have, or has of other weights, saved one by one."""
    steps = files.checkpoints(folder)
    if out.exists() and not resume:
        raise DataError(f"{out}: is there already; give --resume to measure what it lacks, or delete it")
    recorder = measure.Recorder(model, inputs, time="checkpoint", file=out, resume=resume, **arguments)
    attributes = recording.load(out).attrs if recorder.steps else {}
    known, weights = (json.loads(attributes.get(name, "{}")) for name in (DIGESTS, TAKEN))
    digests = {step: files.digest(path) for step, path in steps.items()}
    for step, path in steps.items():
        for number, value in known.items():
            if value == digests[step] and int(number) not in steps:
                raise DataError(
                    f"{path}: {out} has it as the checkpoint {number}, and now its name says {step}; give another --out"
                )
    for step, path in steps.items():
        if step in recorder.steps and known.get(str(step)) == digests[step]:
            continue
        taken = load_weights(model, path)
        changed = "its weights have changed" if str(step) in known else f"{out} does not say of which weights it has it"
        again = f" again, since {changed}" if step in recorder.steps else ""
        recorder.insert(step)
        known[str(step)], weights[str(step)] = digests[step], taken
        recording.annotate(out, **{DIGESTS: json.dumps(known), TAKEN: json.dumps(weights)})
        print(f"{path}: measured{again} ({taken})")
    load_weights(model, steps[max(steps)])  # the words are about this one
    return recorder.dataset()


def _held_out(path: Path) -> tuple[object, Any]:
    """Inputs and labels of points that the network was not trained on.

    Raises:
        DataError: an unusable file, or one without labels.
    """
    arrays = files.read_arrays(path)
    if "labels" not in arrays:
        raise DataError(f"{path}: holds no labels; held-out points need them: memorization is measured by accuracy")
    return arrays["inputs"], arrays["labels"]


def _sentences(
    model: nn.Module, arrays: dict[str, Any], before: nn.Module | None, arguments: dict[str, Any]
) -> list[summary.Sentence]:
    """What the network does, from the arguments of `measure` for running it."""
    how = {name: arguments[name] for name in (*OF_SUMMARY, "held_out") if name in arguments}
    return summary.summarize(model, arrays["inputs"], labels=arrays.get("labels"), before=before, **how)


def signed(dataset: xr.Dataset, builder: str, options: dict[str, object]) -> xr.Dataset:
    """The dataset with the attributes that the pipeline's files carry."""
    options = {name: value for name, value in options.items() if name != "progress"}
    return dataset.assign_attrs(
        study="diagnostics",
        experiment=builder,
        paper=PAPER,
        settings=json.dumps(options, sort_keys=True),
        seed=0,
        code_version="unversioned",
        versions=datasets.package_versions("numpy", "scipy", "torch", "xarray"),
        device="cpu",
    )


def run_similarity(words: Sequence[str]) -> None:
    """The command `similarity`."""
    network = (
        "module:function for another architecture, or a file of weights for another run or checkpoint of the first"
    )
    parser = argparse.ArgumentParser(
        prog="repdyn similarity",
        description="Compare the layers of your network with those of another run, seed or architecture.",
    )
    parser.add_argument("builder", help="module:function that returns the network")
    parser.add_argument(
        "--weights", type=Path, help="file of weights of the first; default: as the function returns it"
    )
    parser.add_argument("--against", help=f"{network}; default: the layers of the first among themselves")
    parser.add_argument(
        "--reruns", nargs="+", default=[], help="the first network from other seeds, to see the effect of chance"
    )
    parser.add_argument("--data", type=Path, required=True, help="npz with the inputs")
    parser.add_argument("--other-data", type=Path, help="npz with the same points in the form that --against takes")
    parser.add_argument("--out", type=Path, required=True, help="netCDF file to write")
    parser.add_argument("--layers", nargs="+", help="names as in named_modules(), or input, output; default: all")
    parser.add_argument("--other-layers", nargs="+", help="layers of the other network; default: those of the first")
    wanted = f"some of {', '.join((*SIMILARITIES, *ON_REQUEST))}; default: {', '.join(SIMILARITIES)}"
    parser.add_argument("--measures", nargs="+", default=list(SIMILARITIES), help=wanted)
    parser.add_argument("--batch-size", type=int, help="points at a time, a minibatch of cka_minibatch")
    parser.add_argument(
        "--most-points", type=int, help="points to compare at most; default: 2000, or all for cka_minibatch alone"
    )
    parser.add_argument("--device", help="torch device for the comparisons, cpu or cuda; default: numpy is used")
    parser.add_argument("--intervals", action="store_true", help="also compute 99 %% intervals")
    parser.add_argument("--features", choices=FEATURES, default="flatten", help="rows of a layer")
    parser.add_argument("--channels", type=int, choices=(1, -1), help="axis of the channels, if points come first")
    parser.add_argument("--figure", type=Path, help="heat map to write, without its suffix")
    compare_and_save(**vars(parser.parse_args(words)))


def compare_and_save(
    builder: str,
    data: Path,
    out: Path,
    *,
    weights: Path | None,
    against: str | None,
    other_data: Path | None = None,
    reruns: Sequence[str],
    layers: Sequence[str] | None,
    features: str,
    channels: int | None = None,
    figure: Path | None,
    **options: Any,
) -> None:
    """Compares layers of networks on the same points and saves the dataset; arguments are the command's options.

    Raises:
        RepdynError: anything unusable, in one line.
    """
    out = behind_links(out)
    runs_and_other = {"against": against, **{f"reruns {place}": file for place, file in enumerate(reruns)}}
    sources = {name: Path(file) for name, file in runs_and_other.items() if file and Path(file).is_file()}
    named = {"data": data, "other_data": other_data, "weights": weights, "builder": source_of(builder)}
    check_targets({"out": out}, named | sources, {"figure": figure and figure.parent})
    check_figures("figure", [figure] if figure else [])
    arrays: dict[str, Any] = files.read_arrays(data)
    others: dict[str, Any] = files.read_arrays(other_data) if other_data else {}
    if "labels" in others and "labels" in arrays and not np.array_equal(arrays["labels"], others["labels"]):
        raise RepdynError(f"{other_data}: its labels are not those of {data}; give the same points in the same order")
    first = files.build_network(builder)
    first = _loaded(first, weights) if weights else first
    runs = [_network(name, first) for name in reruns]
    other = _network(against, first) if against else None
    try:
        found = compare.compare(
            first, other, arrays["inputs"], layers, other_inputs=others.get("inputs"), reruns=runs,
            features=Features(features, channels), **options,
        )  # fmt: skip
    except ValueError as error:
        raise RepdynError(str(error)) from error
    settings = options | {"weights": str(weights) if weights else None, "against": against, "reruns": list(reruns)}
    settings |= {"layers": layers, "features": features, "other_data": str(other_data) if other_data else None}
    datasets.write(signed(found, builder, settings).assign_attrs(device=options["device"] or "cpu"), out)
    measures, sizes = options["measures"], f"{found.sizes['layer']} x {found.sizes['other_layer']} layers"
    _show(f"{out}: {sizes}, {', '.join(measures)}", found)
    shown = "cka_debiased" if "cka_debiased" in measures else measures[0]
    print(_table(found, shown))
    if figure:
        plotting.save(draw_similarity(found, shown), figure)
        print(f"{figure}: figure")


def _show(text: str, dataset: xr.Dataset) -> None:
    """What was saved, and what was left out."""
    print(text)
    if dataset.attrs["left_out"]:
        print(f"left out: {dataset.attrs['left_out']}")


def _network(name: str, first: nn.Module) -> nn.Module:
    """Another network by its function, or the first one with the weights of a file."""
    own = ":" in name and not Path(name).exists()
    return files.build_network(name) if own else _loaded(first, Path(name))


def _loaded(first: nn.Module, path: Path) -> nn.Module:
    """A copy of a network with the weights of a file."""
    model = copy.deepcopy(first)
    print(f"{path}: {load_weights(model, path)}")
    return model


def _table(found: xr.Dataset, name: str) -> str:
    """The same layer in both networks, next to the least and largest between runs of the first."""
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
