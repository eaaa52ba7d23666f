"""Edit -> exactly what depends on it runs again. One table of edits, each on a copy of a finished run, as dry runs."""

import json
import os
import re
import shutil
import time
from pathlib import Path

import pytest
from tests.conftest import SMOKE, snakemake

pytestmark = pytest.mark.dag
TARGETS = {
    "all",
    "bn_decomposed",
    "truncation_flow",
    "bn_mean_field",
    "leaky_resnets",
    "universality",
    "diagnostics",
    "across_papers",
}
END = {"ledger", "manifest", "report"}
SHOWN = {"manifest", "report"}
JUDGED = {"bn_decomposed_claims"} | END
STUDY = "src/repdyn/bn_decomposed"


@pytest.fixture(scope="module")
def rules(finished) -> set[str]:
    """Every rule of the workflow."""
    return jobs(finished, "--forceall")


def jobs(folder: Path, *arguments: str) -> set[str]:
    """Rules that a dry run would run, without targets that only gather."""
    shown = snakemake(folder, "-n", "--cores", "1", "--configfile", SMOKE, *arguments, "--", "all")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    text = shown.stdout + shown.stderr
    table = text.split("Job stats:")[1].split("total")[0] if "Job stats:" in text else ""
    return set(re.findall(r"^(\w+)\s+\d+\s*$", table, re.MULTILINE)) - TARGETS


def replace(folder: Path, file: str, old: str, new: str) -> str:
    """Replaces one occurrence and returns the text as it was."""
    path = folder / file
    before = path.read_text()
    assert before.count(old) >= 1, f"{old!r} is not in {file}: the table of edits is out of date"
    path.write_text(before.replace(old, new, 1))
    return before


def kind(rules: set[str], *words: str) -> set[str]:
    """Rules whose name holds one of the words."""
    return {rule for rule in rules if any(word in rule for word in words)}


def bn(*names: str) -> set[str]:
    """Rules of the study, and the manifest and report that show what they make."""
    return {f"bn_decomposed_{name}" for name in names} | SHOWN


def drawn(rules: set[str]) -> set[str]:
    """All figures and what shows them."""
    return kind(rules, "_figures") | SHOWN


# what is edited: (file, old text, new text, rules that must run again)
EDITS = {
    "comment": (f"{STUDY}/theory/layers.py", "def as_batch", "# a remark\ndef as_batch", set()),
    "docstring": (f"{STUDY}/theory/layers.py", '"""Check a batch', '"""Look at a batch', set()),
    "layout": (
        f"{STUDY}/experiments/random_networks.py",
        'RESCALES = (None, "std", "rms")',
        'RESCALES = (\n    None, "std",\n    "rms")',
        set(),
    ),
    "help text of a knob": (
        f"{STUDY}/settings_networks.py",
        'description="Layers.',
        'description="Number of layers.',
        set(),
    ),
    "new knob": (
        f"{STUDY}/settings_networks.py",
        "class FixedPoint(Settings):",
        "class FixedPoint(Settings):\n    extra: int = addition(3, ge=1, description='unused so far')\n",
        set(),
    ),
    "formula of the fixed point": (
        f"{STUDY}/theory/odd_cluster.py",
        "return 3 * np.pi / n",
        "return 3.1 * np.pi / n",
        bn("gaussian_layers", "odd_point", "figures_networks", "figures_gaussian", "tables")
        | {"diagnostics_figures", "across_papers_figures"}
        | JUDGED,
    ),
    "formula that claims reach": (
        f"{STUDY}/theory/odd_cluster.py",
        "np.arccos(arccos_kernel(-1.0 / (n - 1)))",
        "np.arccos(arccos_kernel(-1.0 / n))",
        bn("gaussian_layers", "figures_networks", "figures_gaussian", "tables") | {"diagnostics_figures"} | JUDGED,
    ),
    "layer that random networks are made of": (
        f"{STUDY}/theory/layers.py",
        "return np.maximum(out, 0.0) if relu else out",
        "return np.maximum(out, 1e-9) if relu else out",
        bn("ablation", "random_networks", "orthogonality_gap", "largest_norm", "odd_point", "gaussian_layers")
        | bn("figures_networks", "figures_gaussian", "tables")
        | JUDGED,
    ),
    "one figure": (
        f"{STUDY}/figures/random_networks.py",
        'panel.set_xlabel("layer")',
        'panel.set_xlabel("depth")',
        bn("figures_networks") | SHOWN,
    ),
    "a claim's region": (f"{STUDY}/claims/random_networks.py", "57.5, 62.5", "58, 62", JUDGED),
    "a table": (f"{STUDY}/tables.py", '"effective rank"', '"eff. rank"', bn("tables") | SHOWN),
    "the runner of claims": (
        "src/repdyn/pipeline/runners.py",
        '{"study": study} | row',
        '{"study": f"{study}"} | row',
        lambda rules: kind(rules, "_claims") | END,
    ),
    "shared way of writing datasets": (
        "src/repdyn/base/datasets.py",
        '"complevel": 4',
        '"complevel": 5',
        lambda rules: rules,
    ),
    "shared style of figures": ("src/repdyn/base/figures.py", '"font.size": 8', '"font.size": 9', drawn),
    "another study's knob": (
        "src/repdyn/pipeline/config.py",
        "class Run(Settings):",
        "class Spare(Settings):\n    pass\n\n\nclass Run(Settings):",
        set(),
    ),
    "a leaf of the configuration": (
        "config.yaml",
        "depth: 50 ",
        "depth: 40 ",
        bn("random_networks", "figures_networks") | JUDGED,
    ),
    "an accepted verdict": ("workflow/expected_verdicts.yaml", "undecided_at: []", "undecided_at: [smoke]", END),
    "the report's page": (
        "src/repdyn/pipeline/report/page/ledger.html.j2",
        "Claims ledger",
        "Ledger of claims",
        {"report"},
    ),
    "a derivation": ("docs/truncation_flow.md", "## Notation", "## Symbols", {"report"}),
}


@pytest.fixture(scope="module")
def finished(smoke_run, tmp_path_factory):
    """A copy of the finished run, times kept, to be edited and mended."""
    folder = tmp_path_factory.mktemp("edits") / "checkout"
    shutil.copytree(smoke_run, folder, copy_function=shutil.copy2, symlinks=True)
    return folder


def test_nothing_to_do_after_a_copy_with_times_kept(finished):
    assert jobs(finished) == set()


@pytest.mark.parametrize("edit", EDITS)
def test_edit_runs_exactly_what_depends_on_it(finished, rules, edit):
    file, old, new, expected = EDITS[edit]
    expected = expected(rules) if callable(expected) else expected
    before = replace(finished, file, old, new)
    if edit == "new knob":
        replace(finished, file, "import Many,", "import addition, Many,")
    try:
        assert jobs(finished) == expected
    finally:
        stamp = time.time() - 86400  # inputs of rules are compared by content when their time says "older or equal"
        (finished / file).write_text(before)
        os.utime(finished / file, (stamp, stamp))


def test_undone_edits_leave_nothing_to_do(finished):
    before = replace(finished, f"{STUDY}/theory/odd_cluster.py", "return 3 * np.pi / n", "return 4 * np.pi / n")
    assert jobs(finished)
    (finished / f"{STUDY}/theory/odd_cluster.py").write_text(before)
    assert jobs(finished) == set()


def test_touched_inputs_leave_nothing_to_do(finished):
    (finished / "workflow/expected_verdicts.yaml").touch()
    (finished / "src/repdyn/bn_decomposed/experiments/random_networks.py").touch()
    assert jobs(finished) == set()


def test_every_declared_output_exists_and_is_in_the_manifest(smoke_run):
    root = smoke_run / "results/smoke"
    content = json.loads((root / "manifest.json").read_text())["content"]
    files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    beside = {file for file in files - set(content) if not file.startswith("report/captions/")}
    assert beside == {"manifest.json", "report/index.html"}
    assert set(content) <= files
