"""Writes a table: CSV for machines, LaTeX for papers, JSON with its title, caption and origin."""

from __future__ import annotations

from pathlib import Path

from repdyn.base import tables
from repdyn.pipeline.run.declare.jobs import Member
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.execute.members import arguments_of, make, origin, read_inputs


def run(member: Member, results: Path, _trials: object) -> None:
    """Writes one table of a job; if the run has too few data, its caption says so."""
    function = load_function(member["study"], member["function"])
    arguments = arguments_of(function, read_inputs(member, results))
    stem, about = (results / member["outputs"][0]).with_suffix(""), origin(member)
    make(function, arguments, tables.placeholder, lambda table, more: tables.save(table, stem, {**about, **more}))
