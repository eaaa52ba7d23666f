"""`repdyn dev keep` and `repdyn compare` with a reference: verdicts, key numbers, files, settings."""

import json

import pandas as pd
import pytest
from tests.conftest import ROOT

from repdyn.base.errors import DataError
from repdyn.base.verdicts import UNDECIDED
from repdyn.pipeline import kept_runs
from repdyn.pipeline.ask.reproduces import hold_against
from repdyn.pipeline.run.kinds import manifest
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts

CLAIM = dict.fromkeys(kept_runs.CLAIM_COLUMNS, "") | {"study": "s", "n": "8"}
NUMBER = dict.fromkeys([*kept_runs.NUMBER_COLUMNS, "reading"], "") | {"form": "printed", "outcome": "passes"}
NONE = ("", "")


def run(folder, *, verdicts=("holds", "does not hold"), value="2.5", interval=("2", "3"), region=NONE, seed=1):
    """A finished run of two claims, the first with an interval, the second exact."""
    claims = [CLAIM | {"id": f"x-{place}", "verdict": verdict} for place, verdict in enumerate(verdicts)]
    ends = dict(zip(("interval_low", "interval_high", "region_low", "region_high"), (*interval, *region), strict=True))
    numbers = [NUMBER | {"id": "x-0", "value": value} | ends, NUMBER | {"id": "x-1", "value": "1e-12"}]
    folder.mkdir(parents=True)
    pd.DataFrame(claims).to_csv(folder / "claims.csv", index=False)
    pd.DataFrame(numbers).to_csv(folder / "evidence.csv", index=False)
    configuration = {"run": {"name": folder.name, "seed": seed}, "data": {"mnist_folder": str(folder)}}
    files = ["claims.csv", "evidence.csv"]
    manifest.build(files, folder, folder / "logs", ROOT, configuration, folder / "manifest.json")
    return folder


def held(here, there):
    return hold_against(kept_runs.of_run(here), kept_runs.of_run(there))


def test_reference_has_configuration_versions_and_cost_but_no_local_paths(tmp_path):
    here = run(tmp_path / "default")
    made = json.loads((here / "manifest.json").read_text())
    jobs = [("s/a", 1.26, 5.0), ("t/b", 3.0, 1.0), ("s/c", 2.0, 9.0), ("images", 4.04, 2.0)]
    made["costs"] = [{"log": log, "cpu_seconds": took, "peak_memory_mb": peak} for log, took, peak in jobs]
    made |= {"versions": {"numpy": "2"}, "machine": {"cores": 3}, "commit": "abc"}
    (here / "manifest.json").write_text(json.dumps(made))
    kept_runs.keep(here, tmp_path / "reference")
    facts = kept_runs.read(tmp_path / "reference").run
    assert facts["cpu_seconds"] == {"images": 4.0, "s": 3.3, "t": 3.0}
    assert (facts["versions"], facts["machine"], facts["commit"]) == ({"numpy": "2"}, {"cores": 3}, "abc")
    assert facts["configuration"] == {"run": {"name": "default", "seed": 1}, "data": {"mnist_folder": None}}
    assert kept_runs.read(tmp_path / "reference").digests == made["content"]
    assert not any(str(tmp_path) in path.read_text() for path in (tmp_path / "reference").iterdir())


def test_numbers_at_the_boundaries_of_their_band(tmp_path):
    """Intervals must overlap; without one, a twentieth of the allowed region; without that, rounding."""
    cases = [  # of the run: value, interval, region; interval of the reference around 2.5; whether it reproduces
        ("2.5", ("2.4", "2.6"), NONE, ("2", "3"), True),
        ("3.5", ("2.9", "4"), NONE, ("2", "3"), True),
        ("3.5", ("3.1", "4"), NONE, ("2", "3"), False),
        ("1.5", ("1", "2.1"), NONE, ("2", "3"), True),
        ("1.5", ("1", "1.9"), NONE, ("2", "3"), False),
        ("2.5004", NONE, NONE, NONE, True),
        ("2.51", NONE, NONE, NONE, False),
        ("2.5004", ("2", "3"), NONE, NONE, True),
        ("2.6", ("2", "3"), NONE, NONE, False),
        ("2.6", NONE, NONE, ("2", "3"), False),
        ("2.7", NONE, ("0", "5"), NONE, True),
        ("2.8", NONE, ("0", "5"), NONE, False),
        ("2.3", NONE, ("-inf", "5"), NONE, True),
        ("2.2", NONE, ("-inf", "5"), NONE, False),
        ("2.7", NONE, ("-inf", "-5"), NONE, True),
        ("2.8", NONE, ("-inf", "-5"), NONE, False),
        ("2.5004", NONE, ("-inf", "inf"), NONE, True),
        ("2.6", NONE, ("-inf", "inf"), NONE, False),
    ]
    wrong = []
    for place, (value, interval, region, other, reproduced) in enumerate(cases):
        here = run(tmp_path / f"{place}-here", value=value, interval=interval, region=region)
        if held(here, run(tmp_path / f"{place}-there", interval=other)).reproduced is not reproduced:
            wrong.append((value, interval, region, other))
    assert wrong == []


def test_infinite_tiny_and_missing_numbers_are_compared(tmp_path):
    there = run(tmp_path / "there", value="inf", interval=NONE)
    for value, reproduced in (("inf", True), ("-inf", False), ("2.5", False)):
        assert held(run(tmp_path / value, value=value, interval=NONE), there).reproduced is reproduced
    tiny = run(tmp_path / "tiny")
    (tiny / "evidence.csv").write_text((tiny / "evidence.csv").read_text().replace("1e-12", "9e-11"))
    assert held(tiny, run(tmp_path / "exact")).reproduced
    missing = held(run(tmp_path / "missing", value=""), tmp_path / "exact")
    assert (missing.reproduced, missing.missing) == (False, 1)
    recorded_since = held(tmp_path / "exact", tmp_path / "missing")  # a count that earlier runs did not record
    assert (recorded_since.reproduced, recorded_since.missing) == (True, 0)


COLUMNS = ("id", "form", "part", "value", "interval_low", "interval_high", "region_low", "region_high")
THERE = [
    ("x-2", "printed", "", "1", "", "", "", ""),
    ("x-1", "printed", "sum", "4", "", "", "0", "2"),
    ("x-1", "corrected", "", "7", "", "", "0", "100"),
    ("x-3", "printed", "", "5", "4", "6", "", ""),
    ("x-1", "printed", "", "2.5", "2", "3", "", ""),
    ("x-2", "printed", "low", "6", "5", "7", "", ""),
]
HERE = [
    ("x-1", "printed", "", "3.4", "2.9", "4", "", ""),
    ("x-1", "corrected", "", "7.4", "", "", "0", "10"),
    ("x-6", "printed", "", "5", "4", "6", "", ""),
    ("x-1", "printed", "sum", "5.5", "", "", "0", "20"),
    ("x-2", "printed", "", "1", "", "", "", ""),
    ("x-2", "printed", "low", "4", "3.5", "4.5", "", ""),
]


def reference(name, verdicts, numbers, digests, configuration):
    claims = pd.DataFrame({"id": verdicts.keys(), "verdict": verdicts.values()})
    facts = {"configuration": configuration, "versions": {}, "machine": {}, "commit": "", "cpu_seconds": {}}
    return kept_runs.Reference(name, claims, pd.DataFrame(numbers, columns=COLUMNS), digests, facts)


def test_claims_numbers_files_and_settings_are_matched_by_name():
    """By hand: intervals extend to the reference from 0.6 above and 0.5 below; regions have sizes 0.5 and 1."""
    there = {"x-3": "does not hold", "x-1": "holds", "x-2": "holds"}
    here = {"x-2": UNDECIDED, "x-1": "holds", "x-6": "does not hold"}
    settings = {"run": {"name": "there", "seed": 1}, "s": {"a": {"width": 3, "rates": [1, 2]}}, "t": {"c": 5, "d": 6}}
    changed = {"run": {"name": "here", "seed": 2}, "s": {"a": {"width": 3, "rates": [1, 3]}}, "t": {"c": 7, "e": 6}}
    found = hold_against(
        reference("here", here, HERE, {"d": "4", "b": "9", "a": "1", "e": "5"}, changed),
        reference("there", there, THERE, {"a": "1", "b": "2", "c": "3", "d": "4"}, settings),
    )
    assert set(found.verdicts) == {"x-3", "x-2", "x-6"}
    assert found.verdicts["x-2"] == ("holds", UNDECIDED)
    assert (found.claims, found.equal_files, found.files) == (4, 2, 4)
    assert (found.missing, found.reproduced) == (2, False)
    assert found.settings == ["run.seed", "s.a.rates", "t.c", "t.d", "t.e"]
    assert [(number.claim, number.part, number.here, number.reference, number.beyond) for number in found.numbers] == [
        ("x-1", "", 7.4, 7.0, False),
        ("x-1", "", 3.4, 2.5, False),
        ("x-1", "sum", 5.5, 4.0, True),
        ("x-2", "", 1.0, 1.0, False),
        ("x-2", "low", 4.0, 6.0, True),
    ]
    bands = [(6.5, 7.5), (2 - 0.6, 3 + 0.5), (3.0, 5.0), (1.0, 1.0), (5 - 0.5, 7 + 0.5)]
    assert [number.band for number in found.numbers] == [pytest.approx(band, abs=5e-3) for band in bands]


def test_unfinished_runs_and_damaged_references_are_rejected(tmp_path):
    with pytest.raises(DataError):
        kept_runs.of_run(tmp_path)
    for file, column in (("claims.csv", "verdict"), ("numbers.csv", "value"), ("digests.csv", "file")):
        folder = tmp_path / file
        kept_runs.keep(run(tmp_path / column), folder)
        frame = pd.read_csv(folder / file, dtype=str, keep_default_na=False).drop(columns=column)
        frame.to_csv(folder / file, index=False)
        with pytest.raises(DataError, match=column):
            kept_runs.read(folder)
        (folder / file).unlink()
        with pytest.raises(DataError, match=file):
            kept_runs.read(folder)
    kept_runs.keep(run(tmp_path / "whole"), tmp_path / "reference")
    for content in (b"", b"[{}]", b"3", b"{}", b"\xff"):
        (tmp_path / "reference/run.json").write_bytes(content)
        with pytest.raises(DataError, match=r"reference/run\.json"):
            kept_runs.read(tmp_path / "reference")


def test_list_of_digests_that_ends_early_is_rejected(tmp_path):
    kept_runs.keep(run(tmp_path / "whole"), tmp_path / "reference")
    listed = tmp_path / "reference/digests.csv"
    listed.write_text("".join(listed.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(DataError, match=r"digests\.csv: 1 of 2 files"):
        kept_runs.read(tmp_path / "reference")


def test_ledgers_are_sorted_by_scale_then_name(tmp_path):
    for name in ("zeta", "full", "paper", "default", "alpha", "smoke"):
        kept_runs.keep(run(tmp_path / name / name), tmp_path / "reference" / name)
    (tmp_path / "reference" / "none").mkdir()
    ledgers = kept_runs.ledgers(tmp_path / "reference")
    assert list(ledgers) == ["smoke", "default", "full", "paper", "alpha", "zeta"]
    verdicts = {"x-0": "holds", "x-1": "does not hold"}
    assert kept_runs.verdicts(tmp_path / "reference") == dict.fromkeys(ledgers, verdicts)
    assert kept_runs.ledgers(tmp_path / "nowhere") == {}


def test_readings_are_not_key_numbers(tmp_path):
    here = run(tmp_path / "a")
    evidence = pd.read_csv(here / "evidence.csv", dtype=str, keep_default_na=False)
    reading = evidence.iloc[[0]].assign(reading="window: first half", value="9")
    pd.concat([reading, evidence]).to_csv(here / "evidence.csv", index=False)
    numbers = kept_runs.of_run(here).numbers
    assert numbers[["id", "value"]].values.tolist() == [["x-0", "2.5"], ["x-1", "1e-12"]]


def kept(name, studies, *, others=None, **facts):
    """A reference with a claim, a number, a file and a setting of each study, and of the shared jobs."""
    claims, numbers = (
        pd.DataFrame(dict.fromkeys(columns, name), index=range(len(studies)))
        for columns in (kept_runs.CLAIM_COLUMNS, kept_runs.NUMBER_COLUMNS)
    )
    claims[["id", "study"]] = [[f"{study}-1", study] for study in studies]
    numbers["id"] = [f"{study}-1" for study in studies]
    digests = {"claims.csv": name, "data/images.nc": "same", **{f"{study}/a.nc": name for study in studies}}
    settings = {study: {"width": len(name)} for study in studies}
    configuration = {"run": {"name": name, "seed": 1}, "data": {"source": "mnist"}, **settings}
    made = {"versions": {"numpy": name}, "machine": {"cores": len(name)}, "commit": name}
    costs = {"cpu_seconds": {"ledger": 1.0, **{study: float(len(name)) for study in studies}}}
    about = {"configuration": configuration} | made | costs | ({"others": others} if others else {}) | facts
    return kept_runs.Reference(name, claims, numbers, digests, about)


def test_run_of_one_study_replaces_its_part_of_a_reference():
    """Of three stored studies the run replaces one, and it adds another."""
    earliest = {"versions": {"numpy": "0"}, "machine": {"cores": 1}, "commit": "earliest"}
    former = kept("former", ["c", "b", "a"], others={"a": earliest, "b": earliest})
    joined = kept_runs.joined(former, kept("today", ["d", "b"]))
    owners = [("c", "former"), ("a", "former"), ("d", "today"), ("b", "today")]
    assert joined.name == "today"
    assert list(zip(joined.claims["study"], joined.claims["verdict"], strict=True)) == owners
    assert list(zip(joined.numbers["id"], joined.numbers["value"], strict=True)) == [(f"{s}-1", o) for s, o in owners]
    assert joined.digests == {"data/images.nc": "same", **{f"{study}/a.nc": owner for study, owner in owners}}
    widths = {study: {"width": len(owner)} for study, owner in owners}
    shared = {"data": {"source": "mnist"}, "run": {"name": "today", "seed": 1}}
    assert joined.run["configuration"] == widths | shared
    then = {"versions": {"numpy": "former"}, "machine": {"cores": 6}, "commit": "former"}
    assert (joined.run["others"], joined.run["commit"]) == ({"c": then, "a": earliest}, "today")
    assert joined.run["cpu_seconds"] == {study: float(len(owner)) for study, owner in owners} | {"ledger": 1.0}


@pytest.mark.parametrize(
    ("run_settings", "source", "message"),
    [({"seed": 2}, "mnist", "run.seed.*2.*1"), ({"seed": 1}, "digits", "data.source.*'digits'.*'mnist'")],
)
def test_runs_with_different_shared_settings_are_not_merged(run_settings, source, message):
    other = {"run": {"name": "today"} | run_settings, "data": {"source": source}}
    with pytest.raises(DataError, match=message):
        kept_runs.joined(kept("former", ["a"]), kept("today", ["b"], configuration=other))


def test_later_added_shared_setting_does_not_prevent_merging():
    settings = {"run": {"name": "today", "seed": 1, "device": "cpu"}, "data": {"source": "mnist", "split": "test"}}
    joined = kept_runs.joined(kept("former", ["a"]), kept("today", ["b"], configuration=settings))
    assert joined.run["configuration"] == {"a": {"width": 6}, **settings}


# References of this repository


def test_scales_contradict_each_other_only_in_listed_exceptions():
    """A verdict may become decided as sizes grow; any other change is listed, and nothing else is."""
    ledgers = kept_runs.ledgers(ROOT / kept_runs.FOLDER)
    assert {"smoke", "default"} <= set(ledgers)
    verdicts = pd.concat([frame["verdict"] for frame in ledgers.values()])
    verdicts = verdicts[verdicts != UNDECIDED]
    changed = verdicts.index[verdicts.groupby(level=0).transform("nunique") > 1]
    assert set(changed) == set(kept_runs.exceptions(ROOT / kept_runs.FOLDER))


def test_references_have_current_claims_verdicts_and_a_commit():
    accepted, folder = accepted_verdicts(), ROOT / kept_runs.FOLDER
    ledgers = kept_runs.ledgers(folder)
    for name, frame in ledgers.items():
        assert set(frame.index) <= set(accepted), name
        assert name in ("full", "paper") or set(frame.index) == set(accepted), name  # see docs/reproducibility.md
    default = ledgers["default"]["verdict"]
    open_there = {id for id, entry in accepted.items() if "default" in entry["undecided_at"]}
    differs = {id for id, verdict in default.items() if verdict != accepted[id]["verdict"]}
    assert differs <= open_there
    assert set(default[list(differs)]) <= {UNDECIDED}
    assert not [path for path in folder.glob("*/run.json") if "not a git" in json.loads(path.read_text())["commit"]]
