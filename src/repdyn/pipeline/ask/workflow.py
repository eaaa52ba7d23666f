"""The jobs of a run as the workflow declares them today: Snakemake reads the Snakefile, which writes the job files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from repdyn.base.errors import ConfigError, RepdynError
from repdyn.pipeline.run.declare.jobs import Job, load_all
from repdyn.pipeline.studies import CHOICE

OUR_RULES = "src/repdyn/pipeline/rules"  # what our Snakefile includes
RUN_NAME = re.compile(r"^run: (?P<name>\S+)$", re.M)


def jobs(workflow: Path, options: Sequence[str]) -> list[Job]:
    """All jobs of a run, in an order in which they can run; nothing is run.

    Args:
        workflow: folder of the Snakefile.
        options: further options of Snakemake, e.g. `["--configfile", "mine.yaml"]`.

    Raises:
        RepdynError: Snakemake rejects the workflow or its configuration; with its message.
    """
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(workflow / "Snakefile"), "--cores", "1"]
    env = os.environ | {"REPDYN_TELL_RUN": "1"}  # the Snakefile then prints the name of its run
    done = subprocess.run([*command, *options, "--list-rules"], capture_output=True, text=True, check=False, env=env)
    text = done.stdout + done.stderr
    if done.returncode:
        raise RepdynError("Snakemake cannot plan this run:\n" + _complaint(text))
    return load_all(_run_name(text))


def options(workflow: Path, run: str, configfiles: Sequence[Path] | None, settings: Sequence[str]) -> list[str]:
    """Snakemake's options for a run: the given overlays, or else the scale of the run's name, if there is one.

    Raises:
        ConfigError: a setting has no value.
    """
    if bare := [setting for setting in settings if "=" not in setting]:
        raise ConfigError(f"--config: got {' '.join(bare)}, expected KEY=VALUE, e.g. run.name=mine")
    scale = workflow / "workflow" / "scales" / f"{run}.yaml"
    overlays = configfiles if configfiles is not None else [scale] if scale.is_file() else []
    overlay_options = ["--configfile", *map(str, overlays)] if overlays else []
    return [*overlay_options, *(["--config", *settings] if settings else [])]


def folder() -> Path:
    """The working directory if it is a checkout of this project, was created by `repdyn init` or names studies.

    Otherwise the checkout of this package: reading a Snakefile of another project would run its Python code.
    """
    file = Path("Snakefile")
    ours = file.is_file() and (
        Path("src/repdyn/pipeline/ask/workflow.py").is_file()
        or bool(os.environ.get(CHOICE))
        or OUR_RULES in file.read_text(encoding="utf-8", errors="replace")
    )
    return Path() if ours else Path(__file__).resolve().parents[4]


def _run_name(text: str) -> str:
    match = RUN_NAME.search(text)
    if not match:
        raise RepdynError(f"the workflow did not report the name of its run:\n{_complaint(text)}")
    return match["name"]


def _complaint(text: str) -> str:
    """The end of Snakemake's output, without its header."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("Using ")]
    start = next((place for place, line in enumerate(lines) if re.match(r"\w*(Error|Exception)\b", line)), -8)
    return "\n".join(lines[start:])
