"""Programs search for cycles seldom; a library that is imported leaves that to who imports it."""

import subprocess
import sys

from repdyn.base.garbage import SELDOM

SAID = "import atexit, gc\natexit.register(lambda: print(gc.get_threshold()[0], gc.get_freeze_count() > 0))\n"


def output(lines: str) -> str:
    return subprocess.run([sys.executable, "-c", SAID + lines], capture_output=True, text=True, check=True).stdout


def test_a_program_searches_seldom_and_not_when_it_ends():
    assert output("from repdyn.base.garbage import collect_seldom\ncollect_seldom()").split() == [str(SELDOM), "True"]


def test_importing_changes_nothing():
    usual = output("")
    assert output("import repdyn.__main__, repdyn.diagnostics.measure") == usual
    assert usual.split()[1] == "False"
