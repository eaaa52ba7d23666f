"""Tables: all digits for machines, the requested ones for papers, equal bytes from any process."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import repdyn
from repdyn.base.tables import Table, read_cells, rows, save, write_csv

HERE, SOURCE = Path(__file__).parent, Path(repdyn.__file__).parents[1]
SUFFIXES = ("csv", "json", "tex")


def make():
    """A table with text that LaTeX would misread; other processes import it from this file."""
    rows = {"kind": ["x_y & z", "50 %"], "loss (nat)": [1 / 3, np.nan], "gap": [1e-9, 123456.789], "n": [3, 40]}
    return Table(
        pd.DataFrame(rows), title="Table T1: a_b", caption=r"95 % of a_b & c, $x_1$ #1 {x} ~ ^ \ – all.", digits=3
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    stem = tmp_path_factory.mktemp("tables") / "t1_losses"
    save(make(), stem)
    return stem


def test_csv_has_every_digit(saved):
    read = pd.read_csv(f"{saved}.csv", dtype=str, keep_default_na=False)
    assert [float(cell) if cell else None for cell in read["loss (nat)"]] == [1 / 3, None]
    assert [float(cell) for cell in read["gap"]] == [1e-9, 123456.789]
    assert read["kind"].tolist() == ["x_y & z", "50 %"]
    assert read["n"].tolist() == ["3", "40"]


def test_latex_has_the_requested_digits_and_no_bare_special_character(saved):
    """A formula between dollars is unchanged."""
    text = Path(f"{saved}.tex").read_text(encoding="utf-8")
    assert r"x\_y \& z & 0.333 & 1e-09 & 3 \\" in text
    assert r"50 \% & NaN & 1.23e+05 & 40 \\" in text
    escaped = r"95 \% of a\_b \& c, $x_1$ \#1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} – all."
    assert rf"\caption{{{escaped}}}" in text
    assert r"\label{tab:t1_losses}" in text


def test_bytes_do_not_depend_on_process_and_folder(saved, tmp_path):
    environment = {"PYTHONPATH": os.pathsep.join([str(SOURCE), str(HERE)]), "PYTHONHASHSEED": "5", "LC_ALL": "C"}
    code = "import test_tables; test_tables.save(test_tables.make(), 't1_losses')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    for suffix in SUFFIXES:
        assert (tmp_path / f"t1_losses.{suffix}").read_bytes() == Path(f"{saved}.{suffix}").read_bytes()


def test_cells_are_read_as_written(tmp_path):
    """Numbers with all their zeros, words such as NaN and NA, and what is empty."""
    (tmp_path / "cells.csv").write_text("id,n,value,note\nx-1,007,1.50,NA\nx-2,,NaN,\n")
    cells = read_cells(tmp_path / "cells.csv")
    first, second = rows(cells)
    assert first == {"id": "x-1", "n": "007", "value": "1.50", "note": "NA"}
    assert second == {"id": "x-2", "n": "", "value": "NaN", "note": ""}
    write_csv(tmp_path / "again.csv", cells)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "cells.csv").read_bytes()
