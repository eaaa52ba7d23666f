"""The jobs of a run as the workflow declares them today, which also writes their job files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from repdyn.base.errors import ConfigError, RepdynError
from repdyn.pipeline.run.declare.jobs import Job, load_all
from repdyn.pipeline.studies import CHOICE

OUR_RULES = "src/repdyn/pipeline/rules"  # what our Snakefile includes


def jobs(workflow: Path, options: Sequence[str]) -> list[Job]:
    """All jobs of a run, in an order in which they can run; nothing is run.

    A process of its own reads the studies and the code beside the Snakefile, whatever this one has imported.

    Args:
        workflow: folder of the Snakefile.
        options: Snakemake's options for the configuration, e.g. `["--configfile", "mine.yaml"]`.

    Raises:
        RepdynError: the studies or the configuration are wrong, with one line per problem.
    """
    source = os.pathsep.join(filter(None, [str((workflow / "src").absolute()), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "repdyn.pipeline.run.declare.whole", str(workflow), *options],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": source},
    )
    if done.returncode:
        raise RepdynError(f"this run cannot be planned:\n{done.stderr.strip()}")
    return load_all(done.stdout.strip())


def options(workflow: Path, run: str, configfiles: Sequence[Path] | None, settings: Sequence[str]) -> list[str]:
    """Snakemake's options for a run: the given overlays, or else the scale of the run's name, if there is one.

    Raises:
        ConfigError: a setting has no value or no key that Snakemake takes.
    """
    if odd := [text for text in settings if "=" not in text or not text.partition("=")[0].isidentifier()]:
        raise ConfigError(f"--config: got {' '.join(odd)}, expected KEY=VALUE, e.g. 'run={{name: mine}}'")
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
