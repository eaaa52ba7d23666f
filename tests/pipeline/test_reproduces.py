"""`repdyn keep` and `repdyn compare` with a reference: verdicts, key numbers within their bands, files."""

import json
from types import SimpleNamespace

import pandas as pd
import pytest
from tests.conftest import ROOT

from repdyn.__main__ import main
from repdyn.base.errors import ConfigError, DataError
from repdyn.base.verdicts import UNDECIDED
from repdyn.pipeline import kept_runs
from repdyn.pipeline.ask import reproduces
from repdyn.pipeline.ask.compare import SHOWN
from repdyn.pipeline.ask.reproduces import Number, Reproduction, hold_against, show
from repdyn.pipeline.run.kinds import manifest
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts

CLAIM = dict.fromkeys(kept_runs.CLAIM_COLUMNS, "") | {"study": "s", "n": "8"}
NUMBER = dict.fromkeys([*kept_runs.NUMBER_COLUMNS, "reading"], "") | {"form": "printed", "outcome": "passes"}


def run(folder, *, verdicts=("holds", "does not hold"), value="2.5", interval=("2", "3"), region=("", ""), seed=1):
    """A finished run of two claims, the first with an interval, the second exact."""
    claims = [CLAIM | {"id": f"x-{place}", "verdict": verdict} for place, verdict in enumerate(verdicts)]
    ends = dict(zip(("interval_low", "interval_high", "region_low", "region_high"), (*interval, *region), strict=True))
    numbers = [
        NUMBER | {"id": "x-0", "value": value} | ends,
        NUMBER | {"id": "x-1", "value": "1e-12"},
    ]
    folder.mkdir(parents=True)
    pd.DataFrame(claims).to_csv(folder / "claims.csv", index=False)
    pd.DataFrame(numbers).to_csv(folder / "evidence.csv", index=False)
    configuration = {"run": {"name": folder.name, "seed": seed}, "data": {"mnist_folder": str(folder)}}
    files = ["claims.csv", "evidence.csv"]
    manifest.build(files, folder, folder / "logs", ROOT, configuration, folder / "manifest.json")
    return folder


def held(here, there):
    """A run held against a reference, and what is said of it."""
    reproduction = hold_against(kept_runs.of_run(here), kept_runs.of_run(there))
    return reproduction, show(reproduction, kept_runs.of_run(here), kept_runs.of_run(there))


def test_a_kept_run_is_read_back_and_reproduces_itself(tmp_path, capsys):
    here = run(tmp_path / "default")
    assert not main(["keep", str(here), "--into", str(tmp_path / "reference")])
    assert not main(["compare", str(here), str(tmp_path / "reference")])
    output = capsys.readouterr().out
    assert "reproduces" in output
    assert "2 of 2 verdicts" in output
    assert "2 of 2 key numbers" in output
    assert "2 of 2 files identical" in output


def test_a_reference_tells_how_and_at_what_cost_its_run_was_made(tmp_path):
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


def test_a_reference_names_no_folder_of_the_machine(tmp_path):
    kept_runs.keep(run(tmp_path / "default"), tmp_path / "reference")
    texts = [path.read_text() for path in (tmp_path / "reference").iterdir()]
    assert len(texts) == 4
    assert not any(str(tmp_path) in text for text in texts)


@pytest.mark.parametrize(
    ("value", "interval", "reproduced"),
    [
        ("2.5", ("2.4", "2.6"), True),
        ("3.5", ("2.9", "4"), True),
        ("3.5", ("3.1", "4"), False),
        ("1.5", ("1", "2.1"), True),
        ("1.5", ("1", "1.9"), False),
        ("3.1", ("3.1", "3.1"), False),
    ],
)
def test_a_sampled_number_reproduces_where_its_interval_meets_that_of_the_reference(
    tmp_path, value, interval, reproduced
):
    reproduction, report = held(run(tmp_path / "a", value=value, interval=interval), run(tmp_path / "b"))
    assert reproduction.reproduced is reproduced
    assert ("x-0, whole" in report) is not reproduced


def test_of_the_numbers_beyond_their_bands_the_farthest_comes_first(tmp_path):
    here = run(tmp_path / "a", value="3.1", interval=("3.1", "3.1"))
    text = (here / "evidence.csv").read_text()
    (here / "evidence.csv").write_text(text.replace("1e-12", "5.0"))
    _, report = held(here, run(tmp_path / "b"))
    assert [line.split(",")[0] for line in report.splitlines()[1:]] == ["  x-1", "  x-0"]


@pytest.mark.parametrize("number", [SHOWN, SHOWN + 1])
def test_of_many_numbers_and_settings_the_first_are_told(number):
    numbers = [Number("x-1", f"part {place}", 2.0 + place, 1.0, (0.5, 1.5)) for place in range(number)]
    settings = [f"s.knob{place:02}" for place in range(number)]
    reproduction = Reproduction({}, 3, [*numbers, Number("x-2", "", 1.0, 1.0, (1.0, 1.0))], 0, 1, 2, settings)
    first, second, *others = show(
        reproduction, SimpleNamespace(name="here"), SimpleNamespace(name="there")
    ).splitlines()
    assert first.startswith("here does NOT reproduce there: 3 of 3 verdicts are equal, 1 of ")
    assert first.endswith(f" {number + 1} key numbers within their bands, 1 of 2 files identical")
    assert second.startswith(f"{number} settings differ: s.knob00, ")
    assert second.endswith("s.knob11" if number == SHOWN else "s.knob11, ...")
    assert others[0] == f"  x-1, part {number - 1}: {number + 1}, reference 1 (band 0.5 to 1.5)"
    assert others[SHOWN:] == ([] if number == SHOWN else ["  ... and 1 more"])


def test_all_that_does_not_reproduce_is_told_claim_by_claim():
    """Beyond their bands by 4 of 2, by 1 of 4 and by 0.5 of 10."""
    verdicts = {"x-3": ("holds", "does not hold"), "a-1": ("no such claim", "holds"), "m-2": ("holds", UNDECIDED)}
    numbers = [
        Number("x-1", "rest", 8.5, 10.0, (9.0, 11.0)),
        Number("x-2", "", 3.0, 3.1, (2.0, 4.0)),
        Number("x-3", "", 9.0, 2.0, (1.0, 5.0)),
        Number("x-4", "sum", 6.0, 4.0, (3.0, 5.0)),
        Number("x-5", "sum", 7.0, 7.0, (7.0, 7.0)),
    ]
    reproduction = Reproduction(verdicts, 17, numbers, 6, 8, 11, ["run.seed", "s.width", "t.rates"])
    lines = show(reproduction, SimpleNamespace(name="here"), SimpleNamespace(name="there")).splitlines()
    assert lines == [
        "here does NOT reproduce there: 14 of 17 verdicts are equal, 2 of 5 key numbers within their bands,"
        " 8 of 11 files identical",
        "3 settings differ: run.seed, s.width, t.rates",
        "  x-3: holds -> does not hold",
        "  a-1: no such claim -> holds",
        f"  m-2: holds -> {UNDECIDED}",
        "6 key numbers on one side only",
        "  x-3, whole: 9, reference 2 (band 1 to 5)",
        "  x-4, sum: 6, reference 4 (band 3 to 5)",
        "  x-1, rest: 8.5, reference 10 (band 9 to 11)",
    ]


@pytest.mark.parametrize(
    ("verdicts", "missing", "here", "reproduced"),
    [({}, 0, 2.0, True), ({"x-1": ("a", "b")}, 0, 2.0, False), ({}, 1, 2.0, False), ({}, 0, 4.0, False)],
)
def test_a_run_reproduces_by_its_verdicts_and_numbers_whatever_its_settings(verdicts, missing, here, reproduced):
    numbers = [Number("x-1", "", 1.0, 1.0, (1.0, 1.0)), Number("x-2", "", here, 2.0, (1.0, 3.0))]
    for ordered in (numbers, numbers[::-1]):
        held = Reproduction(verdicts, 2, ordered, missing, 0, 1, ["run.seed"])
        assert held.reproduced is reproduced
        word = "reproduces" if reproduced else "does NOT reproduce"
        sides = SimpleNamespace(name="here"), SimpleNamespace(name="there")
        assert show(held, *sides).startswith(f"here {word} there: {2 - len(verdicts)} of 2 verdicts")


def test_how_far_a_number_is_outside_counts_relative_to_the_reference():
    """By a tenth of 1 below, by a hundredth of 100 above: the smaller reference is missed by more."""
    numbers = [Number("x-1", "", 102.0, 100.0, (99.0, 101.0)), Number("x-2", "", 0.8, 1.0, (0.9, 1.1))]
    reproduction = Reproduction({}, 2, numbers, 0, 0, 0, [])
    lines = show(reproduction, SimpleNamespace(name="here"), SimpleNamespace(name="there")).splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["  x-2", "  x-1"]


@pytest.mark.parametrize(("value", "reproduced"), [("2.5004", True), ("2.51", False)])
def test_a_number_without_interval_reproduces_up_to_rounding(tmp_path, value, reproduced):
    none = ("", "")
    reproduction, _ = held(run(tmp_path / "a", value=value, interval=none), run(tmp_path / "b", interval=none))
    assert reproduction.reproduced is reproduced


@pytest.mark.parametrize(
    ("value", "region", "reproduced"),
    [
        ("2.7", ("0", "5"), True),
        ("2.8", ("0", "5"), False),
        ("2.2", ("-inf", "5"), False),
        ("2.3", ("-inf", "5"), True),
        ("2.58", ("2", "inf"), True),
        ("2.7", ("2", "inf"), False),
        ("2.7", ("-inf", "-5"), True),
        ("2.8", ("-inf", "-5"), False),
        ("2.5004", ("-inf", "inf"), True),
        ("2.6", ("-inf", "inf"), False),
    ],
)
def test_a_number_without_interval_reproduces_within_a_twentieth_of_what_its_claim_allows(
    tmp_path, value, region, reproduced
):
    there = run(tmp_path / "b", interval=("", ""))
    assert held(run(tmp_path / "a", value=value, interval=("", ""), region=region), there)[0].reproduced is reproduced


def test_numbers_near_nothing_are_equal(tmp_path):
    here = run(tmp_path / "a")
    text = (here / "evidence.csv").read_text()
    (here / "evidence.csv").write_text(text.replace("1e-12", "9e-11"))
    assert held(here, run(tmp_path / "b"))[0].reproduced


def test_a_changed_verdict_is_named_and_does_not_reproduce(tmp_path):
    reproduction, report = held(run(tmp_path / "a", verdicts=("holds", "holds")), run(tmp_path / "b"))
    assert not reproduction.reproduced
    assert "x-1: does not hold -> holds" in report
    assert "1 of 2 verdicts" in report


def test_a_number_that_one_side_lacks_does_not_reproduce(tmp_path):
    reproduction, report = held(run(tmp_path / "a", value=""), run(tmp_path / "b"))
    assert not reproduction.reproduced
    assert reproduction.missing == 1
    assert "one side only" in report


@pytest.mark.parametrize("extra", ["a", "b"])
def test_a_claim_and_a_number_that_either_side_has_alone_do_not_reproduce(tmp_path, extra):
    for name in ("a", "b"):
        folder = run(tmp_path / name, verdicts=("holds",) * (3 if name == extra else 2))
        if name == extra:
            with (folder / "evidence.csv").open("a") as file:
                file.write((folder / "evidence.csv").read_text().splitlines()[-1].replace("x-1", "x-2") + "\n")
    reproduction, report = held(tmp_path / "a", tmp_path / "b")
    assert (reproduction.claims, reproduction.missing, len(reproduction.numbers)) == (3, 1, 2)
    assert list(reproduction.verdicts) == ["x-2"]
    assert ": 2 of 3 verdicts are equal, 2 of 2 key numbers" in report


@pytest.mark.parametrize(("here", "there"), [(("", ""), ("2", "3")), (("2", "3"), ("", ""))])
@pytest.mark.parametrize(("value", "reproduced"), [("2.5004", True), ("2.6", False)])
def test_where_one_side_alone_has_an_interval_the_numbers_are_compared_without(
    tmp_path, here, there, value, reproduced
):
    first, second = run(tmp_path / "a", value=value, interval=here), run(tmp_path / "b", interval=there)
    assert held(first, second)[0].reproduced is reproduced


@pytest.mark.parametrize(("value", "reproduced"), [("inf", True), ("-inf", False), ("2.5", False)])
def test_an_infinite_number_reproduces_as_that_infinity_alone(tmp_path, value, reproduced):
    """Of networks that have diverged."""
    here, there = (run(tmp_path / name, value=own, interval=("", "")) for name, own in (("a", value), ("b", "inf")))
    assert held(here, there)[0].reproduced is reproduced


@pytest.mark.parametrize(("here", "there"), [({"s": {"rate": 1, "new": 2}}, {"s": {"rate": 1}}), ({}, {"s": 1})])
def test_a_setting_that_one_side_alone_has_is_named(here, there):
    expected = ["s.new"] if here else ["s"]
    assert reproduces._differences(there, here) == reproduces._differences(here, there) == expected


def test_other_settings_are_named(tmp_path):
    reproduction, report = held(run(tmp_path / "a", seed=2), run(tmp_path / "b"))
    assert reproduction.settings == ["run.seed"]
    assert "run.seed" in report


def test_an_unfinished_run_and_a_damaged_reference_are_refused(tmp_path):
    with pytest.raises(DataError, match="no finished run"):
        kept_runs.of_run(tmp_path)
    kept_runs.keep(run(tmp_path / "default"), tmp_path / "reference")
    (tmp_path / "reference" / "digests.csv").unlink()
    with pytest.raises(DataError, match=r"not a reference.*digests\.csv"):
        kept_runs.read(tmp_path / "reference")


@pytest.mark.parametrize(
    ("file", "column"), [("claims.csv", "verdict"), ("numbers.csv", "value"), ("digests.csv", "file")]
)
def test_a_reference_without_a_column_is_refused(tmp_path, file, column):
    kept_runs.keep(run(tmp_path / "default"), tmp_path / "reference")
    path = tmp_path / "reference" / file
    pd.read_csv(path, dtype=str, keep_default_na=False).drop(columns=column).to_csv(path, index=False)
    with pytest.raises(DataError, match=rf"not a reference.*{column}"):
        kept_runs.read(tmp_path / "reference")


def test_ledgers_come_by_scale_and_others_by_name_after_them(tmp_path):
    for name in ("zeta", "full", "paper", "default", "alpha", "smoke"):
        kept_runs.keep(run(tmp_path / name / name), tmp_path / "reference" / name)
    (tmp_path / "reference" / "none").mkdir()
    ledgers = kept_runs.ledgers(tmp_path / "reference")
    assert list(ledgers) == ["smoke", "default", "full", "paper", "alpha", "zeta"]
    verdicts = {"x-0": "holds", "x-1": "does not hold"}
    assert kept_runs.verdicts(tmp_path / "reference") == dict.fromkeys(ledgers, verdicts)
    assert kept_runs.ledgers(tmp_path / "nowhere") == {}


def test_readings_of_a_part_are_no_key_numbers(tmp_path):
    here = run(tmp_path / "a")
    evidence = pd.read_csv(here / "evidence.csv", dtype=str, keep_default_na=False)
    reading = evidence.iloc[[0]].assign(reading="window: first half", value="9")
    pd.concat([reading, evidence]).to_csv(here / "evidence.csv", index=False)
    kept = kept_runs.of_run(here).numbers
    assert list(kept.columns) == kept_runs.NUMBER_COLUMNS
    assert kept[["id", "value"]].values.tolist() == [["x-0", "2.5"], ["x-1", "1e-12"]]


def test_exceptions_are_texts(tmp_path):
    assert kept_runs.exceptions(tmp_path) == {}
    for wrong in ("3", "''"):
        (tmp_path / "exceptions.yaml").write_text(f"x-1: It grows.\nx-0: {wrong}\n")
        with pytest.raises(ConfigError, match="claim: text"):
            kept_runs.exceptions(tmp_path)
    (tmp_path / "exceptions.yaml").write_text("x-1: It grows.\nx-0: So.\n")
    assert kept_runs.exceptions(tmp_path) == {"x-1": "It grows.", "x-0": "So."}


def test_no_claim_is_decided_otherwise_at_another_scale_without_a_reason():
    """A verdict may become decided as sizes grow; any other change has its paragraph, and no paragraph is idle."""
    ledgers = kept_runs.ledgers(ROOT / kept_runs.FOLDER)
    assert {"smoke", "default"} <= set(ledgers)
    verdicts = pd.concat([frame["verdict"] for frame in ledgers.values()])
    verdicts = verdicts[verdicts != UNDECIDED]
    changed = verdicts.index[verdicts.groupby(level=0).transform("nunique") > 1]
    assert set(changed) == set(kept_runs.exceptions(ROOT / kept_runs.FOLDER))


def test_references_are_of_todays_claims_and_verdicts():
    accepted = accepted_verdicts()
    for name, frame in kept_runs.ledgers(ROOT / kept_runs.FOLDER).items():
        assert set(frame.index) <= set(accepted), name
        assert name in ("full", "paper") or set(frame.index) == set(accepted), name  # see docs/reproducibility.md
    default = kept_runs.ledgers(ROOT / kept_runs.FOLDER)["default"]["verdict"]
    open_there = {id for id, entry in accepted.items() if "default" in entry["undecided_at"]}
    differs = {id for id, verdict in default.items() if verdict != accepted[id]["verdict"]}
    assert differs <= open_there
    assert set(default[list(differs)]) <= {"not decidable at this scale"}


def test_references_are_kept_from_a_commit():
    for path in (ROOT / kept_runs.FOLDER).glob("*/run.json"):
        assert json.loads(path.read_text())["commit"] != "not a git checkout"
