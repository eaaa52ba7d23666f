"""Types: mypy with the settings in `pyproject.toml` finds no errors."""

import re
from collections import defaultdict
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


@pytest.fixture(scope="module")
def errors(tmp_path_factory) -> dict[str, list[str]]:
    """Package -> what mypy says of it, with file and line."""
    cache = tmp_path_factory.mktemp("mypy")
    config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(cache)]
    printed, failure, _ = api.run([*config, "--no-error-summary", "--hide-error-context", str(SOURCE)])
    assert failure == ""
    found = defaultdict(list)
    for line in printed.splitlines():
        if match := re.match(r".*?repdyn[/\\](\w+)[/\\]\S+\.py:\d+: error: ", line):
            found[match[1]].append(line)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_packages_have_no_type_errors(errors, package):
    assert errors.get(package, []) == []


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
