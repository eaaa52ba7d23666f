"""A run against a reference with several claims, forms, parts, files and settings on either side."""

import pandas as pd
import pytest

from repdyn.base.errors import DataError
from repdyn.base.verdicts import UNDECIDED
from repdyn.pipeline import kept_runs
from repdyn.pipeline.ask.reproduces import hold_against

COLUMNS = ("id", "form", "part", "value", "interval_low", "interval_high", "region_low", "region_high")
THERE = [
    ("x-2", "printed", "", "1", "", "", "", ""),
    ("x-1", "printed", "sum", "4", "", "", "0", "2"),
    ("x-1", "corrected", "", "7", "", "", "0", "100"),
    ("x-3", "printed", "", "5", "4", "6", "", ""),
    ("x-1", "printed", "", "2.5", "2", "3", "", ""),
    ("x-5", "printed", "rest", "8", "", "", "", ""),
    ("x-4", "printed", "", "", "", "", "", ""),
    ("x-2", "printed", "low", "6", "5", "7", "", ""),
]
HERE = [
    ("x-1", "printed", "", "3.4", "2.9", "4", "", ""),
    ("x-4", "printed", "", "", "", "", "", ""),
    ("x-1", "corrected", "", "7.4", "", "", "0", "10"),
    ("x-6", "printed", "", "5", "4", "6", "", ""),
    ("x-1", "printed", "sum", "5.5", "", "", "0", "20"),
    ("x-2", "printed", "", "1", "", "", "", ""),
    ("x-2", "printed", "low", "4", "3.5", "4.5", "", ""),
    ("x-5", "printed", "rest", "", "", "", "", ""),
]
SETTINGS = {
    "run": {"name": "there", "seed": 1},
    "s": {"a": {"width": 3, "rates": [1, 2]}, "b": 1},
    "t": {"c": 5, "d": 6},
}


def reference(name, verdicts, numbers, digests, configuration):
    """What is kept of a run."""
    claims = pd.DataFrame({"id": verdicts.keys(), "verdict": verdicts.values()})
    run = {"configuration": configuration, "versions": {}, "machine": {}, "commit": "", "cpu_seconds": {}}
    return kept_runs.Reference(name, claims, pd.DataFrame(numbers, columns=COLUMNS), digests, run)


def test_claims_numbers_files_and_settings_are_each_held_against_their_own():
    """By hand: intervals reach the reference from 0.6 above and 0.5 below; regions here allow 0.5 and 1."""
    there = {"x-3": "does not hold", "x-1": "holds", "x-5": "holds", "x-2": "holds"}
    here = {"x-2": UNDECIDED, "x-1": "holds", "x-6": "does not hold", "x-5": "holds"}
    changed = {
        "run": {"name": "here", "seed": 2},
        "s": {"a": {"width": 3, "rates": [1, 3]}, "b": 1},
        "t": {"c": 7, "e": 6},
    }
    held = hold_against(
        reference("here", here, HERE, {"d": "4", "b": "9", "a": "1", "e": "5"}, changed),
        reference("there", there, THERE, {"a": "1", "b": "2", "c": "3", "d": "4", "f": "5"}, SETTINGS),
    )
    assert held.verdicts == {
        "x-3": ("does not hold", "no such claim"),
        "x-2": ("holds", UNDECIDED),
        "x-6": ("no such claim", "does not hold"),
    }
    assert (held.claims, held.missing, held.equal_files, held.files) == (5, 3, 2, 5)
    assert held.settings == ["run.seed", "s.a.rates", "t.c", "t.d", "t.e"]
    assert [(one.claim, one.part, one.here, one.reference, one.beyond) for one in held.numbers] == [
        ("x-1", "", 7.4, 7.0, False),
        ("x-1", "", 3.4, 2.5, False),
        ("x-1", "sum", 5.5, 4.0, True),
        ("x-2", "", 1.0, 1.0, False),
        ("x-2", "low", 4.0, 6.0, True),
    ]
    bands = [(6.5, 7.5), (2 - 0.6, 3 + 0.5), (3.0, 5.0), (1.0, 1.0), (5 - 0.5, 7 + 0.5)]
    assert [number.band for number in held.numbers] == [pytest.approx(band, abs=5e-3) for band in bands]
    assert not held.reproduced


@pytest.mark.parametrize(
    ("files", "is_one"),
    [(["run.json", "numbers.csv"], True), (["run.json"], False), (["numbers.csv"], False), ([], False)],
)
def test_a_reference_has_its_facts_and_its_numbers(tmp_path, files, is_one):
    for name in files:
        (tmp_path / name).touch()
    assert kept_runs.is_reference(tmp_path) is is_one


def kept(name, studies, *, seed=1, others=None, **facts):
    """A reference with a claim, a number, a file and a setting of each study, beside what all studies share."""
    verdicts = {f"{study}-1": "holds" for study in studies}
    claims = pd.DataFrame(dict.fromkeys(kept_runs.CLAIM_COLUMNS, name), index=range(len(studies)))
    numbers = pd.DataFrame(dict.fromkeys(kept_runs.NUMBER_COLUMNS, name), index=range(len(studies)))
    claims[["id", "study"]] = [[f"{study}-1", study] for study in studies]
    numbers["id"] = list(verdicts)
    digests = {"claims.csv": name, "data/images.nc": "same", **{f"{study}/a.nc": name for study in studies}}
    settings = {study: {"width": len(name)} for study in studies}
    run = {
        "configuration": {"run": {"name": name, "seed": seed}, "data": {"source": "mnist"}, **settings},
        "versions": {"numpy": name},
        "machine": {"cores": len(name)},
        "commit": name,
        "cpu_seconds": {"ledger": 1.0, **{study: float(len(name)) for study in studies}},
        **({"others": others} if others else {}),
        **facts,
    }
    return kept_runs.Reference(name, claims, numbers, digests, run)


def test_a_study_run_alone_comes_beside_those_that_ran_before():
    """Of three studies that stood there the run has one anew, and brings one more."""
    earliest = {"versions": {"numpy": "0"}, "machine": {"cores": 1}, "commit": "earliest"}
    former = kept("former", ["c", "b", "a"], others={"a": earliest, "b": earliest})
    joined = kept_runs.joined(former, kept("today", ["d", "b"]))
    assert joined.name == "today"
    owners = [("c", "former"), ("a", "former"), ("d", "today"), ("b", "today")]
    assert list(zip(joined.claims["study"], joined.claims["verdict"], strict=True)) == owners
    assert list(joined.claims["id"]) == ["c-1", "a-1", "d-1", "b-1"]
    assert list(zip(joined.numbers["id"], joined.numbers["value"], strict=True)) == [
        (f"{study}-1", owner) for study, owner in owners
    ]
    assert joined.digests == {"data/images.nc": "same", **{f"{study}/a.nc": owner for study, owner in owners}}
    assert list(joined.digests) == sorted(joined.digests)
    then = {"versions": {"numpy": "former"}, "machine": {"cores": 6}, "commit": "former"}
    assert joined.run == {
        "configuration": {
            "a": {"width": 6},
            "b": {"width": 5},
            "c": {"width": 6},
            "d": {"width": 5},
            "data": {"source": "mnist"},
            "run": {"name": "today", "seed": 1},
        },
        "versions": {"numpy": "today"},
        "machine": {"cores": 5},
        "commit": "today",
        "cpu_seconds": {"a": 6.0, "b": 5.0, "c": 6.0, "d": 5.0, "ledger": 1.0},
        "others": {"c": then, "a": earliest},
    }


def test_runs_of_other_settings_are_not_put_together():
    with pytest.raises(DataError) as caught:
        kept_runs.joined(kept("former", ["a"]), kept("today", ["b"], seed=2))
    assert str(caught.value) == "today: run.seed is 2, in former 1; keep it elsewhere"
    other = {"run": {"name": "today", "seed": 1}, "data": {"source": "digits"}}
    with pytest.raises(DataError) as caught:
        kept_runs.joined(kept("former", ["a"]), kept("today", ["b"], configuration=other))
    assert str(caught.value) == "today: data.source is 'digits', in former 'mnist'; keep it elsewhere"


def test_a_setting_that_came_later_sets_no_runs_apart():
    settings = {"run": {"name": "today", "seed": 1, "device": "cpu"}, "data": {"source": "mnist", "split": "test"}}
    joined = kept_runs.joined(kept("former", ["a"]), kept("today", ["b"], configuration=settings))
    assert joined.run["configuration"] == {"a": {"width": 6}, **settings}
