"""Where compiled functions are kept: per state of the sources, in a checkout only."""

import os
import subprocess
import sys

import pytest
from tests.conftest import ROOT

from repdyn.base.compiling import KEPT_IN
from repdyn.pipeline.run.declare.digests import compiled_code

CALL = "from repdyn.leaky_resnets.theory.compiled_rates import rates; import numpy as np; a = np.ones((2, 2));"
SHOW = CALL + "r = rates(a, a, 1.0, True); print(float(r.sum()), sum(rates.stats.cache_hits.values()))"


def test_an_edit_leads_to_another_folder(tmp_path):
    source = tmp_path / "src"
    (source / "repdyn").mkdir(parents=True)
    module = source / "repdyn" / "one.py"
    module.write_text("A = 1\n")
    assert compiled_code(source) is None  # no checkout
    assert not (tmp_path / ".cache").exists()
    (tmp_path / "Snakefile").touch()
    before = compiled_code(source)
    assert before.is_dir()
    assert before.parent == tmp_path / ".cache" / "numba"
    assert compiled_code(source) == before
    module.write_text("A = 2\n")
    assert compiled_code(source) != before


def test_a_folder_that_cannot_be_made_is_done_without(tmp_path):
    (tmp_path / "src" / "repdyn").mkdir(parents=True)
    (tmp_path / "Snakefile").touch()
    (tmp_path / ".cache").write_text("a file in its place")
    assert compiled_code(tmp_path / "src") is None


@pytest.mark.slow
def test_kept_code_gives_the_same_numbers(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    environment.pop(KEPT_IN, None)
    plain, first, again = (
        subprocess.run([sys.executable, "-c", SHOW], env=environment | kept, capture_output=True, text=True, check=True)
        for kept in ({}, {KEPT_IN: str(tmp_path)}, {KEPT_IN: str(tmp_path)})
    )
    assert {process.stdout.split()[0] for process in (plain, first, again)} == {plain.stdout.split()[0]}
    assert [int(process.stdout.split()[1]) for process in (plain, first, again)] == [0, 0, 1]
