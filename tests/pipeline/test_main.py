"""`python -m repdyn`: which command runs with which words, what a failure of each kind ends with."""

import errno
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import repdyn.__main__ as program
from repdyn.__main__ import COMMANDS, main
from repdyn.base.errors import ConfigError, DataError
from repdyn.pipeline import studies


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Three commands of one module; `asked` has what was called with which words, `answer` what a call gives."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(studies.CHOICE, raising=False)
    command = SimpleNamespace(asked=[], answer=None)

    def function(name):
        def asked(words):
            command.asked.append((name, words))
            if isinstance(command.answer, BaseException):
                raise command.answer
            return command.answer

        return asked

    names = ("claim", "keep", "plan")
    monkeypatch.setitem(sys.modules, "made_up", SimpleNamespace(**{f"to_{name}": function(name) for name in names}))
    for name in names:
        monkeypatch.setitem(COMMANDS, name, (f"made_up:to_{name}", f"what {name} is for"))
    return command


def test_a_command_gets_the_words_after_it_and_gives_its_status(command, monkeypatch):
    assert main(["keep", "claim", "--into", "x"]) == 0
    command.answer = 3
    assert main(("plan",)) == 3
    monkeypatch.setattr(sys, "argv", ["repdyn", "claim", "a", "b"])
    assert main() == 3
    assert command.asked == [("keep", ["claim", "--into", "x"]), ("plan", []), ("claim", ["a", "b"])]


def test_the_overview_names_every_command_with_its_purpose(command, monkeypatch, capsys):
    monkeypatch.setattr(program, "COMMANDS", {name: COMMANDS[name] for name in ("keep", "false-alarms", "plan")})
    overview = (
        f"{program.__doc__}\n\n"
        "  keep          what keep is for\n"
        "  false-alarms  how often other seeds refute cheap sampled claims\n"
        "  plan          what plan is for\n"
        "\npython -m repdyn <command> --help shows a command's arguments.\n"
    )
    for words, status, head in ((["-h"], 0, ""), (["--help", "x"], 0, ""), ([], 2, ""), (["kep", "-h"], 2, "kep")):
        assert main(words) == status
        told = overview if not head else f"error: no command '{head}'\n{overview}"
        assert capsys.readouterr() == ((told, "") if status == 0 else ("", told)), words
    assert command.asked == []


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ConfigError("a.yaml:1: x: no\na.yaml:2: y: no"), "a.yaml:1: x: no\na.yaml:2: y: no"),
        (DataError("results/mine: no run"), "results/mine: no run"),
        (OSError(errno.ENOENT, "No such file", "a.nc"), "a.nc: No such file"),
        (OSError(errno.EISDIR, "Is a directory", "b"), "b: Is a directory"),
        (OSError(errno.ENOTDIR, "Not a directory", "c/d"), "c/d: Not a directory"),
        (OSError(errno.EACCES, "Permission denied", "e"), "e: Permission denied"),
        (OSError(errno.ENOSPC, "No space", "f.nc"), "f.nc: cannot be written (No space); free the place"),
        (OSError(errno.EDQUOT, "Quota", "g.nc"), "g.nc: cannot be written (Quota); free the place"),
        (OSError(errno.EFBIG, "Too large", "h.nc"), "h.nc: cannot be written (Too large); free the place"),
        (OSError(errno.EROFS, "Read-only"), "a file: cannot be written (Read-only); free the place"),
    ],
)
def test_what_a_user_can_mend_is_told_in_a_line_and_ends_with_status_1(command, capsys, failure, told):
    command.answer = failure
    assert main(["claim"]) == 1
    assert capsys.readouterr() == ("", f"error: {told}\n")


@pytest.mark.parametrize("failure", [OSError(errno.EIO, "I/O error", "a.nc"), OSError("no number"), KeyError("a")])
def test_other_failures_keep_their_traceback(command, failure):
    command.answer = failure
    with pytest.raises(type(failure)):
        main(["claim"])


@pytest.mark.parametrize(
    ("chosen", "file", "asked"), [(None, True, 1), (None, False, 0), ("mine", True, 0), ("", True, 0)]
)
def test_studies_are_those_of_the_configuration_here_unless_they_are_chosen(command, monkeypatch, chosen, file, asked):
    """A job of a run is told the choice of its run."""
    choices = []
    monkeypatch.setattr(studies, "choose", lambda project: choices.append(os.fspath(project)))
    if chosen is not None:
        monkeypatch.setenv(studies.CHOICE, chosen)
    if file:
        Path("config.yaml").write_text("run: {}\n")
    assert main(["keep"]) == 0
    assert choices == ["."] * asked
    assert command.asked == [("keep", [])]
