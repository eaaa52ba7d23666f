"""Types: mypy with the settings in `pyproject.toml` finds no errors."""

import re
from pathlib import Path

import pytest
from mypy import api

import repdyn

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(repdyn.__file__).parent


@pytest.mark.slow
def test_packages_have_no_type_errors(tmp_path):
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path)]
    printed, failure, _ = api.run([*config, "--no-error-summary", "--hide-error-context", str(SOURCE)])
    assert failure == ""
    assert [line for line in printed.splitlines() if re.search(r"\.py:\d+: error: ", line)] == []
