"""Plots a figure: SVG for print, PNG for the screen, CSV with its numbers, JSON with its texts and origin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from repdyn.pipeline.run.declare.jobs import Member
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.execute.members import arguments_of, make, origin, read_inputs
from repdyn.plotting import figures


def run(member: Member, results: Path, _trials: object) -> None:
    """Plots one figure of a job; if the run has too few data, the figure says so."""
    function = load_function(member["study"], member["function"])
    arguments = arguments_of(function, read_inputs(member, results))
    save(function, arguments, (results / member["outputs"][0]).with_suffix(""), origin(member))


def save(function: Callable[..., Figure], arguments: Mapping[str, Any], stem: Path, origin: Mapping[str, Any]) -> None:
    """Writes the files of a figure of datasets, `stem` without suffix, or those of a placeholder."""
    with figures.style():
        make(
            function, arguments, figures.placeholder, lambda drawn, more: figures.save(drawn, stem, {**origin, **more})
        )
