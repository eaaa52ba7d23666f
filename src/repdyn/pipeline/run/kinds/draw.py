"""Draws a figure: SVG for print, PNG for the eye, CSV with its numbers, JSON with its words and its origin."""

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
    """Draws one member of a job; where the run lacks what the figure needs, the figure says so."""
    function = load_function(member["study"], member["function"])
    arguments = arguments_of(function, read_inputs(member, results))
    save(function, arguments, (results / member["outputs"][0]).with_suffix(""), origin(member))


def save(function: Callable[..., Figure], arguments: Mapping[str, Any], stem: Path, origin: Mapping[str, Any]) -> None:
    """Draws a figure into its files.

    Args:
        function: the figure's function.
        arguments: its datasets; where it cannot draw them, the figure names what is missing in them, and `failed` in
            its JSON file is the error of a function that had all it needs.
        stem: path of the files without the suffix.
        origin: who made the figure from what.
    """
    with figures.style():
        try:
            figures.save(function(**arguments), stem, origin)
        except NotEnoughDataError as error:
            figures.save(figures.placeholder(function.__name__, str(error)), stem, origin)
        except Exception as error:  # of any kind: it must not take the other figures down
            lost = datasets.without_a_number(arguments)
            if not lost:
                traceback.print_exc()
                origin = {**origin, "failed": f"{type(error).__name__}: {error}"}
            needs = f"a network that converged: no finite value in {lost}" if lost else "a function without an error"
            figures.save(figures.placeholder(function.__name__, needs), stem, origin)
