"""Shapes of datasets: content of `tests/golden/*/shapes.json`, from which `tests.drawn` creates data.

    python -m tests.shapes    # after a change of a dataset: shapes, and the resulting figures, tables and claims

A shape holds, for every dataset that figures, tables and claims read, attributes, dimensions and the range of each
variable. Which variables there are, their dimensions, units and types follow the experiments on small settings
(`tests.small`); sizes, labels and ranges stay those that are recorded, which came from the default scale, so that
claims have enough to decide. What is new has the range of the small experiment, and `ENOUGH` entries along what is
sampled. Nothing here needs a finished run.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import xarray as xr
from tests.drawn import GOLDEN, KINDS, SAMPLED, makers, read, rewrite
from tests.small import make, members

from repdyn.pipeline.config.configuration import STUDIES

Entry = Mapping[str, object]
Shape = Mapping[str, Mapping[str, object]]

VERBATIM, COORDINATES = 16, 64  # variables of at most this many numbers are stored unchanged; texts always
MEMBERSHIP = 512  # likewise for whole numbers, which often are indices
MAKING = ("code_version", "versions", "Conventions", "paper", "seed", "settings")
LONG = 200  # other attributes describe the origin of the data
ENOUGH = 8
FOUND = {"method"}  # texts that say which of several ways was taken, in a small experiment perhaps another


def shape(data: xr.Dataset) -> Shape:
    """What `synthetic_dataset` needs of a dataset."""
    return {
        "attrs": {n: v for n, v in _plain(data.attrs).items() if n not in MAKING and len(str(v)) <= LONG},
        "coords": {name: _variable(variable, COORDINATES) for name, variable in data.coords.items()},
        "variables": {name: _variable(variable, VERBATIM) for name, variable in data.data_vars.items()},
    }


def _variable(variable: xr.DataArray, verbatim: int) -> Entry:
    values, kind = variable.values, variable.dtype.kind
    attrs = {name: variable.attrs[name] for name in ("units",) if name in variable.attrs}
    about = {"dims": list(variable.dims), "sizes": list(variable.shape), "attrs": attrs, "dtype": values.dtype.str}
    even = kind in "fiu" and values.ndim == 1 and values.size > 2
    if even and np.allclose(np.diff(values), values[1] - values[0], rtol=1e-6, atol=0):
        return about | {"from": _round(values[0]), "to": _round(values[-1])}
    if kind not in "fiu" or values.size <= (MEMBERSHIP if kind in "iu" else verbatim) or np.isnan(values).all():
        return about | {"values": [_round(value) for value in values.ravel()]}
    finite = values[np.isfinite(values)]
    if kind in "iu" and len(choices := np.unique(finite)) <= verbatim:
        return about | {"choices": choices.tolist()}
    return about | {"least": _round(finite.min()), "largest": _round(finite.max())}


def _round(value: object) -> object:
    if not isinstance(value, np.floating):
        return value.item() if isinstance(value, np.generic) else value
    return float(f"{value:.6g}") if np.isfinite(value) else str(float(value))


def _plain(attrs: Mapping[str, object]) -> dict[str, object]:
    return {name: np.asarray(value).tolist() if not isinstance(value, str) else value for name, value in attrs.items()}


# a recorded shape and the current one


def followed(recorded: Shape | None, made: Shape) -> Shape:
    """A recorded shape with the variables, dimensions, units and types that a small experiment has today."""
    recorded = recorded or {"attrs": {}, "coords": {}, "variables": {}}
    old = {**recorded["coords"], **recorded["variables"]}
    sizes = _sizes(old, made)
    entries = {
        kind: {name: _resized(_entry(name, old.get(name), entry), sizes) for name, entry in made[kind].items()}
        for kind in ("coords", "variables")
    }
    return {"attrs": {n: recorded["attrs"].get(n, v) for n, v in made["attrs"].items()}, **entries}


def _sizes(old: Mapping[str, Entry], made: Shape) -> dict[str, int]:
    """Sizes of the dimensions: those recorded, unless the labels along one are others now."""
    recorded = {dim: size for entry in old.values() for dim, size in zip(entry["dims"], entry["sizes"], strict=True)}
    sizes: dict[str, int] = {}
    for name, entry in (*made["variables"].items(), *made["coords"].items()):
        for dim, size in zip(entry["dims"], entry["sizes"], strict=True):
            sizes[dim] = recorded.get(dim, max(size, ENOUGH) if dim in SAMPLED else size)
            if name == dim and name in old and not _has_labels(name, old[name], entry):
                sizes[dim] = size
    return sizes


def _entry(name: str, old: Entry | None, new: Entry) -> Entry:
    """The recorded range or labels of a variable that is still of the same dimensions, type and labels."""
    same = old and old["dims"] == new["dims"] and np.dtype(old["dtype"]).kind == np.dtype(new["dtype"]).kind
    return {**old, "attrs": new["attrs"]} if old and same and _has_labels(name, old, new) else new


def _has_labels(name: str, old: Entry, new: Entry) -> bool:
    """Whether all texts are among those recorded; numbers in them are those of the settings."""
    if np.dtype(new["dtype"]).kind in "fiub" or name in FOUND:
        return True
    before, now = ({re.sub(r"\d+", "#", str(text)) for text in entry.get("values", ())} for entry in (old, new))
    return now <= before


def _resized(entry: Entry, sizes: Mapping[str, int]) -> Entry:
    """A variable with other sizes: texts come again, a coordinate counts on, numbers become their range."""
    wanted = [sizes[dim] for dim in entry["dims"]]
    if wanted == entry["sizes"]:
        return entry
    about = {key: value for key, value in entry.items() if key != "values"} | {"sizes": wanted}
    if "values" not in entry:
        counts = "from" in entry and np.dtype(entry["dtype"]).kind in "iu"
        return about | ({"to": entry["from"] + wanted[0] - 1} if counts else {})
    if np.dtype(entry["dtype"]).kind not in "fiu":
        return about | {"values": list(itertools.islice(itertools.cycle(entry["values"]), math.prod(wanted)))}
    numbers = [number for number in map(float, entry["values"]) if np.isfinite(number)] or [0.0]
    return about | {"least": min(numbers), "largest": max(numbers)}


# the studies


def files(study: str) -> list[str]:
    """Datasets that a study's figures, tables and claims read, variants in the order of their jobs."""
    names = {name for kind in KINDS for made in makers(study, kind).values() for name in made.reads}
    known = [*members("data"), *members(study)]
    return [file for name in sorted(names) for file in known if re.search(rf"/data/{name}(/[^/]*)?\.nc$", f"/{file}")]


def shapes(study: str, folder: Path) -> Iterator[tuple[str, Shape]]:
    """Dataset's file and its shape today; datasets are made in the folder where they do not stand there yet."""
    recorded = read(study)
    for file in files(study):
        yield file, followed(recorded.get(file), shape(make(file, folder)))


def write() -> None:
    """Writes the shapes of all studies, and what figures, tables and claims make of them."""
    with TemporaryDirectory() as folder:
        for study in STUDIES:
            text = _lines(dict(shapes(study, Path(folder))))
            (GOLDEN / study).mkdir(parents=True, exist_ok=True)
            (GOLDEN / study / "shapes.json").write_text(text + "\n", encoding="utf-8")
            rewrite(study)


def _lines(shapes: Mapping[str, Shape]) -> str:
    """JSON with a line per variable, one for a dataset's attributes and one for its coordinates."""
    files = []
    for file, entry in shapes.items():
        parts = [f' "{kind}": {json.dumps(entry[kind], ensure_ascii=False)}' for kind in ("attrs", "coords")]
        lines = [f"  {json.dumps(n)}: {json.dumps(v, ensure_ascii=False)}" for n, v in entry["variables"].items()]
        parts.append(' "variables": {\n' + ",\n".join(lines) + "\n }")
        files.append(f"{json.dumps(file)}: {{\n" + ",\n".join(parts) + "\n}")
    return "{\n" + ",\n".join(files) + "\n}"


if __name__ == "__main__":
    write()
