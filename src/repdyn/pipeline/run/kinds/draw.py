"""Draws a figure: SVG for print, PNG for the eye, JSON with its title, caption, alternative text and origin."""

from __future__ import annotations

from pathlib import Path

from repdyn.base import figures
from repdyn.base.errors import NotEnoughDataError, enough_data
from repdyn.pipeline.run.declare.jobs import Member
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.execute.members import arguments_of, origin, read_inputs


def run(member: Member, results: Path, _trials: object) -> None:
    """Draws one member of a job; where the run lacks what the figure needs, the figure says so."""
    function = load_function(member["study"], member["function"])
    arguments = arguments_of(function, read_inputs(member, results))
    stem = (results / member["outputs"][0]).with_suffix("")
    with figures.style():
        try:
            with enough_data("the figure"):
                figures.save(function(**arguments), stem, origin(member))
        except NotEnoughDataError as error:
            figures.save(figures.placeholder(function.__name__, str(error)), stem, origin(member))
