"""Writes a table: CSV for machines, LaTeX for papers, JSON with its title, caption and origin."""

from __future__ import annotations

import traceback
from pathlib import Path

from repdyn.base import tables
from repdyn.base.errors import NotEnoughDataError
from repdyn.pipeline.run.declare.jobs import Member
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.execute.members import arguments_of, origin, read_inputs


def run(member: Member, results: Path, _trials: object) -> None:
    """Writes one table of a job; if the run has too few data, its caption says so."""
    function = load_function(member["study"], member["function"])
    arguments = arguments_of(function, read_inputs(member, results))
    about, stem = origin(member), (results / member["outputs"][0]).with_suffix("")
    try:
        table = function(**arguments)
    except NotEnoughDataError as error:
        table = tables.placeholder(function.__name__, str(error))
    except Exception as error:  # any error, so that the other tables are still created
        traceback.print_exc()
        table = tables.placeholder(function.__name__, "a function without an error")
        about = {**about, "failed": f"{type(error).__name__}: {error}"}
    tables.save(table, stem, about)
