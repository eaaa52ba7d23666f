"""`python -m repdyn <command>`: run a job by hand, or ask about a run's results."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from repdyn.base.devices import collect_seldom
from repdyn.base.errors import RepdynError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}  # what a disk says that takes no more
STOPPED = 130  # exit status of a command that the user stopped
ASK = "repdyn.pipeline.ask.commands"
COMMANDS = {
    "claim": (f"{ASK}:claim", "show one claim: statement, numbers, verdict, command"),
    "compare": (f"{ASK}:compare", "compare two runs, or a run with a reference: verdicts, then numbers"),
    "decide": (f"{ASK}:decide", "run more trials for the claims that a run leaves open, the cheapest first"),
    "init": ("repdyn.pipeline.new.folder:run", "write a folder from which the studies of this package run"),
    "measure": ("repdyn.diagnostics.command:run", "apply the papers' measures to your own network"),
    "new": ("repdyn.pipeline.new.project:run", "write a project of your own, with one small study"),
    "plan": (f"{ASK}:plan", "show the jobs, core-minutes and memory of a run before it starts"),
    "progress": (f"{ASK}:progress", "show the last line of every running job"),
    "run": ("repdyn.pipeline.run.execute.entry:run", "run one job by hand: its job file under logs/"),
    "similarity": ("repdyn.diagnostics.command:run_similarity", "compare the layers of two networks"),
    "store": (f"{ASK}:store", "list the finished trials on disk; `--clean` frees space"),
    "verify": (f"{ASK}:verify", "list results that are older than today's code or settings, changed or missing"),
}
"""Command -> the function that runs it, which takes the words after the command, and what it is for."""
DEV = {
    "controls": (f"{ASK}:controls", "list claims whose controls only shift a number, and parts without a control"),
    "costs": (f"{ASK}:costs", "record the costs of a finished run's jobs in each study's costs.csv, for `plan`"),
    "false-alarms": (f"{ASK}:false_alarms", "count how often other seeds refute cheap sampled claims"),
    "keep": (f"{ASK}:keep", "write a run's ledger, key numbers and digests under reference/, to compare with"),
    "pages": ("repdyn.pipeline.pages.generate:run", "rewrite the generated pages under docs/"),
    "site": (f"{ASK}:site", "write a run's report as a static site, ready to be hosted"),
}
DEV_TITLE = "`python -m repdyn dev <command>`: for maintainers of a repository of studies."


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; a user's mistake ends with one readable line and exit status 1, not with a traceback."""
    # HDF5 fails in folders without file locks; our files are written under another name and never changed.
    os.environ.setdefault("HDF5_USE_FILE_LOCKING", "FALSE")
    words = list(sys.argv[1:] if arguments is None else arguments)
    commands = COMMANDS
    if words[:1] == ["dev"]:
        commands, words = DEV, words[1:]
    try:
        if not words or words[0] not in commands:
            status = _overview(words, commands)
            sys.stdout.flush()
            return status
        if words[0] == "run":
            _keep_compiled_code_apart()
        module, _, function = commands[words[0]][0].partition(":")
        if "REPDYN_STUDIES" not in os.environ and Path("config.yaml").is_file():
            importlib.import_module("repdyn.pipeline.studies").choose(Path())
        status = getattr(importlib.import_module(module), function)(words[1:]) or 0
        sys.stdout.flush()  # a closed pipe is noticed here, not when Python ends
        return status
    except RepdynError as error:
        print(f"error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        problem = error.strerror or str(error)
        text = f"cannot be written ({problem}); free some space" if error.errno in FULL else problem
        print(": ".join(["error", *filter(None, (error.filename2 or error.filename,)), text]), file=sys.stderr)
    return 1


def _keep_compiled_code_apart() -> None:
    """Gives each user a folder of compiled code where nobody else can write, since numba runs what it finds.

    It is done here since every function that a job calls first is part of the code versions of all results.

    Raises:
        RepdynError: the folder is another user's, or others can write there.
    """
    checkout, user = Path(__file__).resolve().parents[2], os.getuid()
    usual = checkout / ".cache" / "numba" if (checkout / "Snakefile").is_file() else None
    if not (shared := os.environ.get("NUMBA_CACHE_DIR") or usual):
        return
    own = Path(shared) / f"user-{user}"
    try:
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = own.stat()
    except OSError:  # a folder that cannot be written: nothing is kept
        return
    if about.st_uid != user or about.st_mode & 0o022:
        advice = "remove it, or set NUMBA_CACHE_DIR to a folder of your own"
        raise RepdynError(f"{own}: others can write here, and compiled code found here is run; {advice}")
    os.environ["NUMBA_CACHE_DIR"] = str(own)


def _overview(words: Sequence[str], commands: Mapping[str, tuple[str, str]]) -> int:
    asked = bool(words) and words[0] in ("-h", "--help")
    out = sys.stdout if asked else sys.stderr
    if words and not asked:
        print(f"error: no command {words[0]!r}", file=out)
    print(f"{__doc__ if commands is COMMANDS else DEV_TITLE}\n", file=out)
    for name, (_, purpose) in commands.items():
        print(f"  {name:14}{purpose}", file=out)
    if commands is COMMANDS:
        print("\n  dev           for maintainers of a repository of studies: python -m repdyn dev --help", file=out)
    print("\nFor a command's arguments, add --help after it.", file=out)
    return 0 if asked else 2


if __name__ == "__main__":
    collect_seldom()
    sys.exit(main())
