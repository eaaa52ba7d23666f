"""Types: mypy with the settings in `pyproject.toml` finds no errors."""

import re
from pathlib import Path

import pytest
from mypy import api

import repdyn

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(repdyn.__file__).parent
PACKAGES = (
    "bn_decomposed",
    "truncation_flow",
    "bn_mean_field",
    "leaky_resnets",
    "universality",
    "across_papers",
    "diagnostics",
    "base",
    "plotting",
    "pipeline",
)


@pytest.mark.slow
def test_packages_have_no_type_errors(tmp_path):
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path)]
    printed, failure, _ = api.run([*config, "--no-error-summary", "--hide-error-context", str(SOURCE)])
    assert failure == ""
    assert [line for line in printed.splitlines() if re.search(r"\.py:\d+: error: ", line)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_type_errors_are_ignored_only_by_code(package):
    """An `ignore` names the code of the one error that it hides."""
    silenced = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in sorted((SOURCE / package).rglob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"#\s*(type:\s*ignore(?!\[)|mypy:)", line)
    ]
    assert silenced == []
