"""`python -m repdyn <command>`: every job by hand, and questions about a run's results."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from repdyn.base.errors import RepdynError
from repdyn.base.garbage import collect_seldom

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}  # what a disk says that takes no more
ASK = "repdyn.pipeline.ask.commands"
COMMANDS = {
    "claim": (f"{ASK}:claim", "show one claim: statement, numbers, verdict, command"),
    "compare": (f"{ASK}:compare", "compare two runs, or a run with a reference: verdicts, then numbers"),
    "decide": (f"{ASK}:decide", "more trials for the claims that a run leaves open, the cheapest first"),
    "init": ("repdyn.pipeline.new.folder:run", "write a folder from which the studies of this package run"),
    "measure": ("repdyn.diagnostics.command:run", "the papers' diagnostics on your own network"),
    "new": ("repdyn.pipeline.new.project:run", "write a project of your own, with one small study"),
    "plan": (f"{ASK}:plan", "jobs, core-minutes and memory of a run before it starts"),
    "progress": (f"{ASK}:progress", "show the last line of every running job"),
    "run": ("repdyn.pipeline.run.execute.entry:run", "run one job by hand: its job file under logs/"),
    "similarity": ("repdyn.diagnostics.command:run_similarity", "layers of your network beside those of another"),
    "store": (f"{ASK}:store", "list finished trials on disk; `--clean` makes room"),
    "verify": (f"{ASK}:verify", "list results that are older than today's code or settings, changed or missing"),
}
"""Command -> the function that runs it, which takes the words after the command, and what it is for."""
DEV = {
    "controls": (f"{ASK}:controls", "list claims whose controls only shift a number, and parts without a control"),
    "costs": (f"{ASK}:costs", "record what the jobs of a finished run took in the studies' costs.csv, for `plan`"),
    "false-alarms": (f"{ASK}:false_alarms", "how often other seeds refute cheap sampled claims"),
    "keep": (f"{ASK}:keep", "write a run's ledger, key numbers and digests under reference/, to compare with"),
    "pages": ("repdyn.pipeline.pages.generate:run", "rewrite the generated pages under docs/"),
    "site": (f"{ASK}:site", "write a run's report as a site, ready for a host of static files"),
}
DEV_TITLE = "`python -m repdyn dev <command>`: for maintainers of a repository of studies."


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; a user's mistake ends with one readable line and exit status 1, not with a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    commands = COMMANDS
    if words[:1] == ["dev"]:
        commands, words = DEV, words[1:]
    if not words or words[0] not in commands:
        return _overview(words, commands)
    module, _, function = commands[words[0]][0].partition(":")
    try:
        if "REPDYN_STUDIES" not in os.environ and Path("config.yaml").is_file():
            importlib.import_module("repdyn.pipeline.studies").choose(Path())
        status = getattr(importlib.import_module(module), function)(words[1:]) or 0
        sys.stdout.flush()  # a closed pipe is noticed here, not when Python ends
        return status
    except RepdynError as error:
        print(f"error: {error}", file=sys.stderr)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        if error.errno not in FULL:
            raise
        place = error.filename or "a file"
        print(f"error: {place}: cannot be written ({error.strerror}); free the place", file=sys.stderr)
    return 1


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
    print("\nA command's arguments: --help after it.", file=out)
    return 0 if asked else 2


if __name__ == "__main__":
    collect_seldom()
    sys.exit(main())
