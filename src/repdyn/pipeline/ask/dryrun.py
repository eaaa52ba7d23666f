"""What Snakemake would run, asked of its own dry run: rules, logs, commands. Snakemake is called, never imported."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from repdyn.base.errors import RepdynError
from repdyn.pipeline.run.records import option

STARTS = "python -m repdyn "
STATS = re.compile(r"^Job stats:\njob +count\n[- ]+\n(?P<rows>(?:\w+ +\d+\n)+)", re.M)
NOTHING = "Nothing to be done"
BLOCK = re.compile(  # indented where the job is in a group, but for its command
    r"^(?P<indent> *)(?:local)?rule (?P<rule>\w+):\n(?P<about>(?:(?P=indent) {4}.*\n)*)Shell command: (?P<command>.*)$",
    re.M,
)


@dataclass(frozen=True)
class Job:
    """One job of the workflow.

    Attributes:
        rule: its rule.
        log: its log file.
        arguments: what follows `python -m repdyn` on its command line.
        memory_mb: memory that the rule asks for.
    """

    rule: str
    log: str
    arguments: tuple[str, ...]
    memory_mb: int

    @property
    def name(self) -> str:
        """The log's path below `logs/<run>/`, without suffix: the same at every scale."""
        return self.log.split("/", 2)[2].removesuffix(".log")

    @property
    def outputs(self) -> list[str]:
        """Files that the job writes."""
        return option(self.arguments, "--output")


def planned(workflow: Path, options: Sequence[str], *, everything: bool = True) -> list[Job]:
    """The jobs that make all of a run, in an order in which they can run.

    Args:
        workflow: folder of the Snakefile.
        options: further options of Snakemake, e.g. `["--configfile", "mine.yaml"]`.
        everything: all jobs of the run; otherwise only those with something to do.

    Raises:
        RepdynError: Snakemake refuses the workflow or its configuration; with its own words. Or the jobs read from
            its words are not those that it counts.
    """
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(workflow / "Snakefile"), "--dry-run"]
    command += ["--printshellcmds", "--cores", "8", *(["--forceall"] if everything else []), *options, "--", "all"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = done.stdout + done.stderr
    if done.returncode:
        raise RepdynError("Snakemake refuses to plan this run:\n" + _complaint(told))
    blocks = list(BLOCK.finditer(told))
    _check(blocks, told)
    return [_job(match) for match in blocks if match["command"] != "None"]  # targets run nothing


def options(workflow: Path, run: str, configfiles: Sequence[Path] | None, settings: Sequence[str]) -> list[str]:
    """Snakemake's options for a run: the overlays given, or else the scale of the run's name, if it is one."""
    scale = workflow / "workflow" / "scales" / f"{run}.yaml"
    overlays = configfiles if configfiles is not None else [scale] if scale.is_file() else []
    found = ["--configfile", *map(str, overlays)] if overlays else []
    return [*found, *(["--config", *settings] if settings else [])]


def folder_of_workflow() -> Path:
    """The working directory where it is a checkout of this project, else the checkout of this package.

    A Snakefile of another project would run its Python by being read.
    """
    ours = Path("Snakefile").is_file() and Path("src/repdyn/pipeline/ask/dryrun.py").is_file()
    return Path() if ours else Path(__file__).resolve().parents[4]


def _check(blocks: Sequence[re.Match[str]], told: str) -> None:
    """Refuses a dry run whose words are not understood: the jobs found must be those of Snakemake's own count."""
    found, table = Counter(match["rule"] for match in blocks), STATS.search(told)
    counted = Counter({name: int(count) for name, count in map(str.split, table["rows"].splitlines())} if table else {})
    total = counted.pop("total", 0)
    if table and found == counted and found.total() == total:
        return
    if not table and not found and NOTHING in told:
        return
    differing = sorted(name for name in found | counted if found[name] != counted[name])
    what = f"{total} jobs counted, {found.total()} found" if table else "no table of job counts"
    raise _unread(f"{what}{': ' if differing else ''}{', '.join(differing[:5])}")


def _unread(what: str) -> RepdynError:
    version = metadata.version("snakemake")
    return RepdynError(
        f"the dry run of Snakemake {version} is not in the form that this version of repdyn reads ({what}); "
        "install the Snakemake named in envs/constraints.txt"
    )


def _job(match: re.Match[str]) -> Job:
    about, command = match["about"], match["command"]
    if not command.startswith(STARTS):
        raise RepdynError(f"rule {match['rule']}: its command does not start with {STARTS!r}: {command}")
    words = shlex.split(command)[3:]
    log = re.search(r"^ +log: (.*?)(?: \(check.*)?$", about, re.M)
    memory = re.search(r"\bmem_mb=(\d+)", about)
    if not (log and memory and "2>" in words):
        raise _unread(f"rule {match['rule']}: no log, memory or redirection")
    return Job(match["rule"], log[1], tuple(words[: words.index("2>")]), int(memory[1]))


def _complaint(told: str) -> str:
    """Snakemake's last words, without its greeting."""
    lines = [line for line in told.splitlines() if line.strip() and not line.startswith("Using ")]
    start = next((place for place, line in enumerate(lines) if re.match(r"\w*(Error|Exception)\b", line)), -8)
    return "\n".join(lines[start:])
