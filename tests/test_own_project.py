"""A new project for another paper: created from a wheel in an empty folder, run, queried, edited."""

import csv
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from tests.conftest import ROOT
from tests.installed import ask, environment

from repdyn.pipeline.new import project

BLOCKS = re.findall(
    r"^```sh\n(.*?)^```", (ROOT / "docs/own_paper.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)
DATA = {"own_paper_data_data", "own_paper_figures", "own_paper_tables", "own_paper_claims"}
CONDA_NAMES = {
    "pytorch-cpu": "torch",
    "pytorch-gpu": "torch",
    "matplotlib-base": "matplotlib",
    "ruamel.yaml": "ruamel-yaml",
}
END = {"claims", "manifest", "report"}


@pytest.fixture(scope="module")
def own(site, tmp_path_factory) -> Path:
    """A project created by `new`, after a complete run."""
    folder = tmp_path_factory.mktemp("empty")
    commands = BLOCKS[0]
    for installed_here in ("pip", "pytest"):  # the wheel is there already; the project's tests are run below
        commands = f"{installed_here}() {{ :; }}\n{commands}"
    bash = ["bash", "-euc", commands]
    done = subprocess.run(bash, cwd=folder, env=environment(site), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "holds as corrected" in done.stdout
    return folder / "own_paper"


def snakemake(folder, site, *words):
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *words]
    done = subprocess.run(command, cwd=folder, env=environment(site), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def due(folder, site):
    """Rules that would run."""
    shown = snakemake(folder, site, "--dry-run", "all")
    table = re.search(r"^Job stats:\n.*?\n-+.*?\n(.*?)\n\n", shown, re.MULTILINE | re.DOTALL)
    return {line.split()[0] for line in table[1].splitlines()} - {"all", "total"} if table else set()


@pytest.mark.slow
def test_example_project_has_the_accepted_verdicts(own):
    rows = {row["id"]: row for row in csv.DictReader((own / "results/default/claims.csv").open())}
    verdicts = {id: (row["verdict"], row["change"]) for id, row in rows.items()}
    assert verdicts == {"own-average-regret": ("holds as corrected", ""), "own-second-moment": ("holds", "")}
    assert "bnd-" not in (own / "results/default/report/ledger.html").read_text()


@pytest.mark.slow
def test_commands_work_in_the_project(own, site):
    assert "holds as corrected" in ask(own, site, "claim", "own-average-regret")
    assert re.search(r"\b(\d{2,}) of \1 files", ask(own, site, "verify"))
    assert "0 faults" in ask(own, site, "dev", "controls", "results/default")
    ask(own, site, "dev", "costs", "default")
    assert "0 unknown" not in ask(own, site, "plan")
    ask(own, site, "dev", "keep", "results/default")
    assert "2 of 2 verdicts are equal" in ask(own, site, "compare", "results/default", "reference/default")


@pytest.mark.slow
def test_edits_in_project_or_package_rerun_dependents(own, site):
    snakemake(own, site, "all")  # the report shows what was kept
    assert due(own, site) == set()
    edits = {
        own / "src/own_paper/methods.py": ("rate / np.sqrt(t)", "rate / t", DATA),
        own / "src/own_paper/verdicts.yaml": ("undecided_at: []", "undecided_at: [smoke]", set()),
        site / "repdyn/base/verdicts.py": ("LARGEST_MARGIN = 1e300", "LARGEST_MARGIN = 1e299", {"own_paper_claims"}),
    }
    for file, (old, new, wanted) in edits.items():
        before = file.read_text()
        assert old in before, file
        file.write_text(before.replace(old, new, 1))
        try:
            assert due(own, site) == wanted | END, file
        finally:
            file.write_text(before)


@pytest.mark.slow
def test_tests_of_the_project_pass(own, site):
    variables = environment(site) | {"PYTHONPATH": f"{site}{os.pathsep}{own / 'src'}"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=own, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.slow
def test_project_environments_pin_the_installed_versions(own):
    text = (own / "envs/constraints.txt").read_text()
    pins = dict(line.split("==") for line in text.splitlines() if "==" in line)
    assert {"torch", "snakemake", "pytest", "repdyn", "markupsafe"} <= set(pins)
    other = {name for name in set(pins) - {"repdyn"} if version(name).split("+")[0] != pins[name]}
    assert other == set()
    for name in ("repdyn", "repdyn-cuda"):
        listed = yaml.safe_load((own / f"envs/{name}.yaml").read_text())["dependencies"]
        assert listed[-1] == {"pip": [f"repdyn=={pins['repdyn']}"]}
        conda = dict(entry.split("=") for entry in listed[2:-1])
        ours = {CONDA_NAMES.get(name, name): pinned for name, pinned in conda.items()}
        assert ours == {name: pins[name].split(".post")[0] for name in ours}


def test_every_name_of_the_template_is_replaced(tmp_path):
    project.write("two_points_paper", tmp_path / "new")
    texts = [path.read_text() for path in (tmp_path / "new").rglob("*") if path.is_file()]
    assert len(texts) == 28
    assert [text for text in texts if "my_paper" in text or "MyPaper" in text] == []
    assert [text for text in texts if project.PLACEHOLDER.search(text)] == []
    assert "class TwoPointsPaper" in (tmp_path / "new/src/two_points_paper/settings.py").read_text()


CLAIM = '''

@claim(
    "own-more",
    where="Section 4",
    kind="comparison",
    origin="ours",
    states="After the last step the average regret of AMSGrad is below that of Adam.",
    control=wrong_formula("the last second moment in the denominator of both", replace_labels("optimizer", BOTH_ADAM)),
)
def amsgrad_is_below(regrets: xr.Dataset) -> Verdict:
    """Ratio of both."""
    last = regrets["average_regret"].isel(steps=-1)
    ratio = last.sel(optimizer="amsgrad") / last.sel(optimizer="adam")
    return Verdict.from_tests(at_most(float(ratio.max()), 0.5, expected="at most a half", reason="clearly below"))
'''
FIGURE = '''

@figure(title="A second moment", caption="One draw.", alt="A rough line that settles around one.")
def moments(second_moments: xr.Dataset):
    """One draw of the second moment."""
    drawn, axes = new()
    axes[0, 0].plot(second_moments["step"], second_moments["recursion"].isel(draw=0), color=CYCLE[0])
    axes[0, 0].set(xlabel="step", ylabel="second moment")
    return drawn
'''


@pytest.mark.slow
def test_adding_a_claim_or_figure_needs_one_function(own, site):
    added = {
        "src/own_paper/claims.py": CLAIM,
        "src/own_paper/verdicts.yaml": "own-more: {verdict: holds, undecided_at: []}\n",
        "src/own_paper/figures.py": FIGURE,
    }
    before = {name: (own / name).read_text() for name in added}
    for name, text in added.items():
        (own / name).write_text(before[name] + text)
    try:
        assert due(own, site) == {"own_paper_claims", "own_paper_figures"} | END
        snakemake(own, site, "all")
        rows = {row["id"]: row for row in csv.DictReader((own / "results/default/claims.csv").open())}
        assert (rows["own-more"]["verdict"], rows["own-more"]["change"]) == ("holds", "")
        assert (own / "results/default/own_paper/figures/moments.svg").is_file()
        assert "0 faults" in ask(own, site, "dev", "controls", "results/default")
    finally:
        for name, text in before.items():
            (own / name).write_text(text)
