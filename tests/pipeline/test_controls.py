"""`repdyn dev controls`: controls that only shift a number, parts that no control changes."""

import pytest

from repdyn.__main__ import main
from repdyn.base.errors import DataError
from repdyn.pipeline.ask.controls import examine

LEDGER = {"x-1": ("", "not rejected"), "x-2": ("left, right", "rejected"), "x-3": ("", ""), "x-4": ("top", "undecided")}
EVIDENCE = [  # id, part, kind, change, control
    ("x-1", "", "wrong formula", "recomputed", "the wrong sign"),
    ("x-1", "sum", "wrong formula", "shifted number", "one more"),
    ("x-2", "", "false world", "recorded", "another network"),
    ("x-3", "", "false world", "nothing", "the same"),
    ("x-3", "rest", "false world", "", "half of them"),
    ("x-3", "bare", "", "", ""),
    ("x-4", "", "wrong formula", "recomputed", "the wrong sign"),
]


def write(folder, ledger, evidence):
    rows = ["id,uncontrolled_parts,control_outcome"]
    rows += [f'{id},"{parts}",{outcome}' for id, (parts, outcome) in ledger.items()]
    (folder / "claims.csv").write_text("\n".join(rows) + "\n")
    rows = ["id,part,control_kind,control_change,control", *(",".join(row) for row in evidence)]
    (folder / "evidence.csv").write_text("\n".join(rows) + "\n")


def test_weak_controls_and_uncontrolled_parts_end_with_status_1(tmp_path):
    write(tmp_path, LEDGER, EVIDENCE)
    faults = examine(tmp_path).faults
    wanted = [("x-1", "sum", "shifted number"), ("x-3", "nothing"), ("x-2", "left, right"), ("x-4", "top"), ("x-1",)]
    assert len(faults) == len(wanted)
    assert all(word in fault for fault, words in zip(faults, wanted, strict=True) for word in words)
    assert main(["dev", "controls", str(tmp_path)]) == 1
    write(tmp_path, LEDGER, EVIDENCE[:-1])
    with pytest.raises(DataError, match=r"evidence\.csv: lacks the controls of x-4"):
        examine(tmp_path)
    write(tmp_path, {"x-1": ("", "")}, [])
    assert main(["dev", "controls", str(tmp_path)]) == 0
    (tmp_path / "evidence.csv").unlink()
    with pytest.raises(DataError, match=r"evidence\.csv"):
        examine(tmp_path)
