"""Every command of the README and of the pages on use works: cheap ones are run, long ones as dry runs.

They run in a checkout with a finished smoke run, where `results/default` does not exist; there `smoke` stands for it.
"""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import ROOT, SMOKE, snakemake

PAGES = ("README.md", "docs/usage.md", "docs/reproducibility.md", "docs/verdicts.md")
TEXT = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
FIRST_WORDS = ("snakemake", "python", "python3", "pip", "pytest", "from", "import", "--config", "repdyn")
PLACEHOLDERS = {
    "compare A B --tier ...": "compare results/smoke results/smoke --tier identical",
    "decide default --budget 60": "decide smoke --budget 0",  # buys nothing
    "--tests tests/truncation_flow": "--tests tests/truncation_flow/test_general.py",
}
QUESTIONS = {
    "claim": "verdict ",
    "plan": "core-minutes",
    "progress": "no job is running",
    "verify": "up to date with code and settings",
    "compare": "equal",
    "decide": "core-minutes  needs",
}
NETWORK = (
    "from torch import nn\n\ndef build():\n    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))\n"
)


def commands(text: str) -> list[str]:
    """Lines of `sh` blocks, split at `&&`; all code in the column "command"; elsewhere code that starts like a command.

    The text of a link is a file's name, not a command.
    """
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    snippets = [part.strip() for block in blocks for line in block.splitlines() for part in line.split("&&")]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    table = re.search(r"^\| goal \| command \|\n\|.*\n((?:\|.*\n)+)", prose, re.MULTILINE)
    done = [row.split("|")[2] for row in table[1].splitlines()]
    snippets += [code for cell in done for code in re.findall(r"(?<!\[)`([^`]+)`", cell)]
    return list(dict.fromkeys([*snippets, *(code for code in re.findall(r"`([^`]+)`", prose) if _starts_as_one(code))]))


def _starts_as_one(code: str) -> bool:
    first, _, rest = code.partition(" ")
    return bool(rest) and Path(first).name in FIRST_WORDS


def test_commands_in_blocks_tables_and_prose_are_found():
    head = "| goal | command |\n|---|---|\n"
    text = f"```sh\na -b && c\n```\n{head}| x | `d` or [`e`](e) |\n\n`snakemake all`, `--cores`, `from`, `g h`\n"
    assert commands(text) == ["a -b", "c", "d", "snakemake all"]


def test_stated_cost_agrees_with_the_plan(tmp_path):
    """To within a quarter of the recorded costs of the default run."""
    stated = re.search(r"about (\d+) core-minutes", (ROOT / "README.md").read_text(encoding="utf-8"))
    planned = re.search(r"^all +\d+ +([\d.]+)", run(["-m", "repdyn", "plan"], tmp_path), re.MULTILINE)
    assert float(stated[1]) == pytest.approx(float(planned[1]), rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("command", commands(TEXT))
def test_documented_command_works(command, smoke_run, tmp_path):
    for placeholder, meant in PLACEHOLDERS.items():
        command = command.replace(placeholder, meant)
    words = [Path(word).name if word.startswith(".venv/bin/") else word for word in shlex.split(command)]
    match words:
        case ["snakemake", *options]:
            dry_run(smoke_run, options)
        case ["--config", _]:
            dry_run(smoke_run, ["--cores", "1", "all", *words])
        case ["python", "-m", "repdyn", question, *options] if question in QUESTIONS:
            options = [option.replace("results/default", "results/smoke") for option in options]
            options = [str(tmp_path / option) if option == "moved" else option for option in options]
            if "reference/default" in options:
                run(["-m", "repdyn", "dev", "keep", "results/smoke", "--into", str(tmp_path / "reference")], smoke_run)
                options[options.index("reference/default")] = str(tmp_path / "reference")
            output = run(["-m", "repdyn", question, *options], smoke_run)
            assert QUESTIONS[question] in output
            assert "no rule makes" not in output
        case ["python", "-m", "repdyn", "measure", *_]:
            (tmp_path / "my_network.py").write_text(NETWORK)
            np.savez(tmp_path / "points.npz", inputs=np.random.default_rng(0).normal(size=(12, 6)))
            run(words[1:], tmp_path)
            assert (tmp_path / "diag.nc").is_file()
        case ["python", "-m", "repdyn", "dev", "site", _, *options]:
            run(["-m", "repdyn", "dev", "site", str(smoke_run / "results/smoke"), *options], tmp_path)
            assert (tmp_path / "site/report/index.html").is_file()
        case ["python", "-m", "repdyn", "new", name]:
            run(words[1:], tmp_path)
            assert (tmp_path / name / "Snakefile").is_file()
        case ["from", *_]:
            run(["-c", command], smoke_run)
        case ["python3", "-m", "venv", ".venv"]:
            run([*words[1:3], "--without-pip", ".venv"], tmp_path)
            assert (tmp_path / ".venv/bin/python").exists()
        case ["pip", "install", *lock, "-e", here]:  # .ci/run installs with it
            extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            assert lock == [] or (lock[0] == "-c" and (ROOT / lock[1]).is_file())
            assert here in {".", *(f".[{extra}]" for extra in extras)}
        case ["pytest", *options]:
            assert options in ([], ["-m", "slow"])  # the second runs this very test
        case _:
            pytest.fail(f"the README has a command that this test does not know how to run: {command}")


def dry_run(folder: Path, options: list[str]) -> None:
    """With the executor's plugin, where the profile names one; a finished run has nothing left to do."""
    done = snakemake(folder, "--dry-run", *options)
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    assert ("Nothing to be done" if SMOKE in options else "This was a dry-run") in output, output


def run(arguments: list[str], folder: Path) -> str:
    """Output of Python in a folder."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
