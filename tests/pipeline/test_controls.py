"""`repdyn controls`: kinds of change by number, controls that only shift a number, parts that no control turns."""

import pytest

from repdyn.__main__ import main
from repdyn.base.claims import NOT_SEEN
from repdyn.base.errors import DataError
from repdyn.pipeline.ask.controls import examine, show

LEDGER = {
    "x-1": ("", f"Three samples. {NOT_SEEN} the control of the sum."),
    "x-2": ("left, right", ""),
    "x-3": ("", f"{NOT_SEEN} the control of the check."),
    "x-4": ("top", "A note."),
}
EVIDENCE = [  # id, part, kind, change, control
    ("x-1", "", "wrong formula", "recomputed", "the wrong sign"),
    ("x-1", "sum", "wrong formula", "shifted number", "one more"),
    ("x-2", "", "false world", "recorded", "another network"),
    ("x-2", "rest", "wrong formula", "recomputed", "the wrong power"),
    ("x-3", "", "false world", "nothing", "the same"),
    ("x-3", "rest", "false world", "", "half of them"),
    ("x-3", "bare", "", "", ""),
]


@pytest.fixture
def results(tmp_path):
    ledger = ["id,uncontrolled_parts,note", *(f'{id},"{parts}",{note}' for id, (parts, note) in LEDGER.items())]
    evidence = ["id,part,control_kind,control_change,control", *(",".join(row) for row in EVIDENCE)]
    (tmp_path / "claims.csv").write_text("\n".join(ledger) + "\n")
    (tmp_path / "evidence.csv").write_text("\n".join(evidence) + "\n")
    return tmp_path


def test_weak_controls_bare_parts_and_controls_that_did_not_turn_are_faults(results):
    audit = examine(results)
    assert audit.faults == [
        "x-1, sum: shifted number (one more)",
        "x-3: nothing (the same)",
        "x-2: no control turns left, right",
        "x-4: no control turns top",
        f"x-1: Three samples. {NOT_SEEN} the control of the sum.",
        f"x-3: {NOT_SEEN} the control of the check.",
    ]
    assert show(audit).splitlines() == [
        "    1  false world, nothing",
        "    1  false world, recorded",
        "    1  false world, undecided",
        "    2  wrong formula, recomputed",
        "    1  wrong formula, shifted number",
        *audit.faults,
        "6 faults",
    ]


def test_the_command_ends_with_status_1_where_there_are_faults(results, capsys):
    assert main(["controls", str(results)]) == 1
    (results / "evidence.csv").write_text("id,part,control_kind,control_change,control\n")
    (results / "claims.csv").write_text("id,uncontrolled_parts,note\nx-1,,\n")
    assert not main(["controls", str(results)])
    assert capsys.readouterr().out.endswith("0 faults\n")
    (results / "evidence.csv").unlink()
    with pytest.raises(DataError, match=r"evidence\.csv: missing; name the folder of a finished run"):
        examine(results)
