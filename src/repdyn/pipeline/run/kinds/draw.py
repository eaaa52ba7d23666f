"""Plots a figure: SVG for print, PNG for the screen, CSV with its numbers, JSON with its texts and origin."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from repdyn.base import datasets
from repdyn.base.errors import NotEnoughDataError
from repdyn.pipeline.run.declare.jobs import Member
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.execute.members import arguments_of, origin, read_inputs
from repdyn.plotting import figures


def run(member: Member, results: Path, _trials: object) -> None:
    """Plots one figure of a job; if the run has too few data, the figure says so."""
    function = load_function(member["study"], member["function"])
    arguments = arguments_of(function, read_inputs(member, results))
    save(function, arguments, (results / member["outputs"][0]).with_suffix(""), origin(member))


def save(function: Callable[..., Figure], arguments: Mapping[str, Any], stem: Path, origin: Mapping[str, Any]) -> None:
    """Writes a figure's files.

    Args:
        function: the figure's function.
        arguments: its datasets; if data are missing, the figure names them; `failed` in its JSON file is any other
            error of the function.
        stem: path of the files without the suffix.
        origin: origin of the figure.
    """
    with figures.style():
        try:
            figures.save(function(**arguments), stem, origin)
        except NotEnoughDataError as error:
            figures.save(figures.placeholder(function.__name__, str(error)), stem, origin)
        except Exception as error:  # any error, so that the other figures are still created
            lost = datasets.without_a_number(arguments)
            if not lost:
                traceback.print_exc()
                origin = {**origin, "failed": f"{type(error).__name__}: {error}"}
            needs = f"a network that converged: no finite value in {lost}" if lost else "a function without an error"
            figures.save(figures.placeholder(function.__name__, needs), stem, origin)
