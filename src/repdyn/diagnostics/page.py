"""One network on one page of HTML: what was found in words, figures, layers, how it was measured.

    from repdyn.diagnostics.page import write_page

    dataset = measure(model, inputs, labels=labels)  # or recorder.dataset()
    write_page("network.html", dataset, summarize(model, inputs, labels=labels))

The page holds its pictures and styles and opens without a net.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from repdyn.base import markup
from repdyn.base.facts import shown_facts
from repdyn.base.files import write_text
from repdyn.diagnostics.figures.depth import NEEDED as OF_DEPTH
from repdyn.diagnostics.figures.depth import draw_depth
from repdyn.diagnostics.figures.held_out import draw_held_out
from repdyn.diagnostics.figures.shared import layer_names, moments, over_seeds
from repdyn.diagnostics.figures.stream import draw_stream
from repdyn.diagnostics.figures.training import NEEDED as OF_TRAINING
from repdyn.diagnostics.figures.training import draw_training
from repdyn.diagnostics.methods.arguments import check_kind
from repdyn.diagnostics.methods.catalog import HELD_OUT
from repdyn.diagnostics.summary import Sentence, words
from repdyn.diagnostics.theory.intervals import Interval
from repdyn.plotting import figures

COLUMNS = (
    "units", "angle", "norm_ratio", "effective_rank", "centered_effective_rank", "stable_cost_of_identity", "nc1",
    "within_over_between", "equiangle", "nearest_mean_accuracy", "class_effective_rank", "domain_shift",
    "transfer_accuracy", "class_mean_cosine", "form_distance", "form_cka",
)  # fmt: skip
NO_SENTENCES = "No sentences were given to this page; the numbers below say what was measured, not what it means."
MISSING = "\N{EN DASH}"


FIGURES = ("through_depth", "through_training", "held_out", "residual_stream")


def draw_all(dataset: xr.Dataset) -> dict[str, figures.DescribedFigure]:
    """The figures by the names of their files; those whose measures are missing are left out.

    Args:
        dataset: of `measure`, or of `Recorder.dataset`.
    """
    check_kind("the dataset", dataset, xr.Dataset, "that of measure or of Recorder.dataset")
    measured = set(dataset)
    drawn: dict[str, figures.DescribedFigure] = {}
    if measured.issuperset(OF_DEPTH):
        drawn["through_depth"] = draw_depth(dataset)
    if measured.issuperset(OF_TRAINING) and "time" in dataset.attrs and dataset.sizes[dataset.attrs["time"]] > 1:
        drawn["through_training"] = draw_training(dataset)
    if f"point{HELD_OUT}" in dataset.dims:
        drawn["held_out"] = draw_held_out(dataset)
    if measured & {"kinetic_energy", "radial_fraction"}:
        drawn["residual_stream"] = draw_stream(dataset)
    return drawn


class Column(NamedTuple):
    """A column of the table of layers."""

    name: str
    units: str
    text: str
    paper: str
    place: str
    missing: str


def write_page(path: Path | str, dataset: xr.Dataset, sentences: Sequence[Sentence] = ()) -> None:
    """Writes the page of one network.

    Args:
        path: HTML file to write.
        dataset: of `measure`, or of `Recorder.dataset`, whose first and last moment are shown.
        sentences: of `summarize`, and of `summarize_training` where there is a recording; they are the first paragraph.

    Raises:
        DataError: the file cannot be written.
    """
    write_text(path, page(dataset, sentences))


def page(dataset: xr.Dataset, sentences: Sequence[Sentence] = ()) -> str:
    """The page as text; arguments as `write_page` takes them."""
    columns = [_column(dataset, name) for name in _shown(dataset)]
    return _environment().get_template("page.html.j2").render(
        title=dataset.attrs["title"],
        style=Markup(markup.STYLE.read_text(encoding="utf-8")),
        summary=words(sentences) if sentences else NO_SENTENCES,
        sentences=sentences,
        figures=_pictures(dataset),
        columns=columns,
        tables=_tables(dataset, [column.name for column in columns]),
        whole=_whole(dataset),
        about=_about(dataset),
        left_out=[reason for reason in dataset.attrs["left_out"].split("; ") if reason],
    )  # fmt: skip


def _environment() -> Environment:
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"words": markup.words, "plain": markup.plain, "number": _number, "between": _between}
    environment.filters["readable"] = lambda name: name.replace("_", " ")
    return environment


def _shown(dataset: xr.Dataset) -> list[str]:
    """Columns of the dataset, each followed by that of held-out points."""
    names = (f"{name}{suffix}" for name in COLUMNS for suffix in ("", HELD_OUT))
    return [name for name in names if name in dataset]


def _number(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else MISSING if np.isnan(value) else f"{value}"


def _between(interval: Interval) -> str:
    return MISSING if np.isnan(interval.low) else f"{_number(interval.low)} to {_number(interval.high)}"


def _column(dataset: xr.Dataset, name: str) -> Column:
    attrs = dataset[name].attrs
    units, text = attrs["units"], attrs["long_name"]
    if name == "angle":
        units, text = "degree", "angle between two points, median over all pairs"
    if "class" in dataset[name].dims:
        text += ", median over classes"
    return Column(name, units, text, attrs["paper"], attrs["equation"], attrs["missing"].split("; or ")[0])


def _of_layers(moment: xr.Dataset, name: str) -> np.ndarray:
    """A diagnostic of every layer, shape (layers,)."""
    values = over_seeds(moment[name])
    if "class" in values.dims:
        return values.median("class").values
    return np.degrees(values.sel(quantile=0.5).values) if name == "angle" else values.values


def _tables(dataset: xr.Dataset, names: Sequence[str]) -> list[dict[str, Any]]:
    """The layers of the only moment, or of the first and of the last."""
    tables = []
    for label, _, _, moment in moments(dataset):
        columns = [_of_layers(moment, name) for name in names]
        cells = np.transpose(columns) if columns else np.empty((dataset.sizes["layer"], 0))
        rows = zip(layer_names(dataset["layer"]), cells.tolist(), strict=True)
        tables.append({"caption": label, "rows": list(rows)})
    unequal = [table for table in tables if repr(table["rows"]) != repr(tables[-1]["rows"])]  # NaN is as NaN
    return [*unequal, tables[-1]]


def _whole(dataset: xr.Dataset) -> list[dict[str, str]]:
    """Numbers of the network as a whole, from the first moment to the last."""
    shown = moments(dataset)
    entries = []
    for name, values in shown[-1][-1].data_vars.items():
        if not set(values.dims) - {"seed"}:
            numbers = dict.fromkeys(_number(float(over_seeds(moment[name]))) for *_, moment in shown)
            entries.append({"name": str(name), "shown": " to ".join(numbers), "text": values.attrs["long_name"]})
    return entries


def _about(dataset: xr.Dataset) -> list[tuple[str, str]]:
    """How it was measured, as far as the dataset says."""
    attrs = dataset.attrs
    rows = [("points", str(dataset.sizes["point"])), ("layers", str(dataset.sizes["layer"]))]
    if others := dataset.sizes.get(f"point{HELD_OUT}"):
        rows.insert(1, ("held-out points", str(others)))
    if "class" in dataset.dims:
        rows.append(("classes", str(dataset.sizes["class"])))
    if time := attrs.get("time"):
        steps = dataset[time].values
        rows.append(("moments", f"{len(steps)}, from {time} {steps[0]:g} to {steps[-1]:g}"))
    if weights := json.loads(attrs.get("checkpoint_weights", "{}")):
        rows.append(("weights of the checkpoints", " / ".join(dict.fromkeys(weights.values()))))
    if "seed" in dataset.dims:
        rows.append(("seeds", f"{dataset.sizes['seed']}, of which the means are shown"))
    rows.append(("normalized by", attrs["normalized_by"]))
    rows.append(("stable cost", f"regularized by {attrs['gamma']:g} of the operator norm"))
    named = {"experiment": "network", "settings": "arguments", "versions": "packages", "device": "device"}
    return rows + [(name, _plain(str(attrs[key]))) for key, name in named.items() if key in attrs]


def _plain(text: str) -> str:
    """JSON as words: what is not set is left out."""
    try:
        content = json.loads(text)
    except ValueError:
        return text
    if not isinstance(content, dict):
        return text
    return ", ".join(f"{name} {value}" for name, value in content.items() if value not in (None, False, [], ""))


def _pictures(dataset: xr.Dataset) -> list[dict[str, Any]]:
    """Figures as addresses that hold them, with title, caption, alternative text and facts."""
    pictures: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, figure in draw_all(dataset).items():
            stem = Path(folder) / name
            figures.save(figure, stem)
            facts = {
                key: value for key, value in figure.repdyn["facts"].items() if key != "dataset"
            }  # the page's title
            address = markup.data_address(stem.with_suffix(".svg"))
            pictures.append({**figure.repdyn, "facts": shown_facts(facts), "address": address})
    return pictures
