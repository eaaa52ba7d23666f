"""The ledger: what differs from the accepted verdicts, what is wrong with the list, one claim as text."""

import csv
import os

import pytest
import yaml
from tests.conftest import ROOT

from repdyn.base.claims import claim, decide_claim
from repdyn.base.errors import ConfigError, DataError
from repdyn.base.verdicts import STATUSES, UNDECIDED, not_testable
from repdyn.pipeline.run.kinds import ledger
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts, build, change, read_expected, run, show

ROW = {
    "study": "x_study",
    "id": "x-thm1",
    "where": "Theorem 1",
    "kind": "identity",
    "origin": "paper",
    "statement": 'Two, "quoted".',
    "verdict": "holds as corrected",
    "correction": "Three.",
    "possible_ocr_error": "True",
    "kind_of_slip": "misprint",
    "words": "two apples",
    "line": "7",
    "assumes": "",
    "formula": "x = 2",
    "corrected_formula": "x = 3",
    "printed_measured": "largest deviation 3",
    "printed_expected": "2",
    "printed_margin": "0.25",
    "measured": "largest deviation 0.1",
    "expected": "3",
    "margin": "5",
    "tolerance_reason": "tolerance 0.5: half a unit",
    "n": "24",
    "interval_low": "",
    "interval_high": "",
    "false_alarm": "0.001",
    "control": "the wrong sign",
    "control_outcome": "rejected",
    "control_margin": "0.0833333",
    "uncontrolled_parts": "",
    "datasets": "loss",
    "code": "repdyn.x_study.claims:two",
    "note": "",
}
UNTESTED = dict.fromkeys(ROW, "") | {
    "study": "x_study",
    "id": "x-exists",
    "where": "Theorem 2",
    "kind": "limit",
    "origin": "paper",
    "statement": "There is one.",
    "verdict": "not testable",
    "possible_ocr_error": "False",
    "n": "0",
    "code": "repdyn.x_study.claims:there_is_one",
    "note": "existence",
}


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def expected(folder, text):
    path = folder / "expected.yaml"
    path.write_text(text)
    return path


# Differences from the accepted verdicts


@pytest.mark.parametrize(
    ("verdict", "accepted", "undecided_at", "run", "notice"),
    [
        ("holds", "holds", [], "default", ""),
        ("does not hold", "holds", [], "default", "was: holds"),
        ("holds", "does not hold", ["smoke"], "smoke", "was: does not hold"),
        (UNDECIDED, "holds", ["smoke"], "smoke", ""),
        (UNDECIDED, "holds", ["smoke"], "default", "was: holds"),
        (UNDECIDED, "holds", [], "smoke", "was: holds"),
        (UNDECIDED, UNDECIDED, [], "default", ""),
        ("holds", UNDECIDED, ["smoke"], "smoke", f"was: {UNDECIDED}"),
    ],
)
def test_a_change_is_a_verdict_that_nobody_accepted(verdict, accepted, undecided_at, run, notice):
    assert change(verdict, {"verdict": accepted, "undecided_at": undecided_at}, run) == notice


def test_a_claim_that_is_not_in_the_list_is_new():
    assert change("holds", None, "default") == "new claim"


def test_ledgers_are_joined_in_the_order_of_the_list(tmp_path):
    parts = [
        write(tmp_path / "x.csv", ROW, ROW | {"id": "x-new"}, UNTESTED),
        write(tmp_path / "y.csv", ROW | {"study": "y_study", "id": "y-thm1", "verdict": "holds"}),
    ]
    accepted = expected(
        tmp_path,
        "y-thm1: {verdict: does not hold, undecided_at: []}\n"
        "x-gone: {verdict: holds, undecided_at: []}\n"
        "x-exists: {verdict: not testable, undecided_at: []}\n"
        "x-thm1: {verdict: holds as corrected, undecided_at: [smoke]}\n",
    )
    build(parts, read_expected(accepted), "default", tmp_path / "claims.csv")
    rows = read(tmp_path / "claims.csv")
    assert list(rows[0]) == [*ROW, "expected_verdict", "change"]
    assert [(row["id"], row["expected_verdict"], row["change"]) for row in rows] == [
        ("y-thm1", "does not hold", "was: does not hold"),
        ("x-exists", "not testable", ""),
        ("x-thm1", "holds as corrected", ""),
        ("x-new", "", "new claim"),
    ]


@pytest.mark.parametrize("below", [UNTESTED, ROW | {"id": "x-2", "margin": "1e+300", "possible_ocr_error": "False"}])
def test_every_cell_is_carried_over_as_it_was_written(tmp_path, below):
    """Text that looks like a number, a missing value or a truth keeps its spelling, whatever stands below it."""
    rows = [ROW | {"note": "NA"}, below, ROW | {"id": "x-3", "margin": "0.25", "note": "None"}]
    accepted = expected(tmp_path, "x-thm1: {verdict: holds, undecided_at: []}\n")
    build([write(tmp_path / "x.csv", *rows)], read_expected(accepted), "default", tmp_path / "claims.csv")
    for before, after in zip(rows, read(tmp_path / "claims.csv"), strict=True):
        assert {name: after[name] for name in before} == before


def test_one_id_in_two_studies_is_refused(tmp_path):
    parts = [write(tmp_path / f"{name}.csv", ROW | {"study": name}) for name in "xy"]
    accepted = expected(tmp_path, "x-thm1: {verdict: holds, undecided_at: []}\n")
    with pytest.raises(DataError, match="two studies share the claim ids x-thm1"):
        build(parts, read_expected(accepted), "default", tmp_path / "claims.csv")
    assert not (tmp_path / "claims.csv").exists()


def test_the_job_joins_ledgers_and_evidence_of_the_studies(tmp_path):
    for study, id in (("x_study", "x-thm1"), ("y_study", "y-thm1")):
        write(tmp_path / study / "claims.csv", ROW | {"study": study, "id": id, "verdict": UNDECIDED})
        write(tmp_path / study / "evidence.csv", {"study": study, "id": id, "value": "NA"})
    expected(
        tmp_path,
        "x-thm1: {verdict: holds, undecided_at: [smoke]}\ny-thm1: {verdict: holds, undecided_at: []}\n",
    )
    reads = [f"{study}/{name}.csv" for study in ("x_study", "y_study") for name in ("claims", "evidence")]
    outputs = ["joined/claims.csv", "joined/evidence.csv"]
    member = {"inputs": dict(zip(reads, reads, strict=True)), "outputs": outputs, "run": "smoke"}
    run(member | {"expected": [str(tmp_path / "expected.yaml")]}, tmp_path, None)
    joined, evidence = (read(tmp_path / path) for path in outputs)
    assert list(evidence[0]) == ["study", "id", "value"]
    assert [(row["id"], row["change"]) for row in joined] == [("x-thm1", ""), ("y-thm1", "was: holds")]
    assert [(row["id"], row["value"]) for row in evidence] == [("x-thm1", "NA"), ("y-thm1", "NA")]


def test_three_studies_are_joined_with_their_evidence_in_the_order_of_the_inputs(tmp_path):
    """Claims in the order of the accepted verdicts, which is that of no study; what is not among them comes last."""
    ids = {"z": ["z-1", "z-2"], "a": ["a-1"], "m": ["m-2", "m-3", "m-1"]}
    for study, own in ids.items():
        write(tmp_path / study / "claims.csv", *[ROW | {"study": study, "id": id, "verdict": "holds"} for id in own])
        write(tmp_path / study / "evidence.csv", *[{"study": study, "id": id, "value": id} for id in own for _ in "ab"])
    accepted = {"one": ["m-1: holds", "z-2: does not hold"], "two": ["a-1: holds", "m-2: not testable"], "three": []}
    for name, entries in accepted.items():
        text = "".join(f"{entry.replace(': ', ': {verdict: ')}, undecided_at: []}}\n" for entry in entries)
        (tmp_path / f"{name}.yaml").write_text(text or "m-3: {verdict: holds, undecided_at: [smoke]}\n")
    reads = [f"{study}/{name}.csv" for study in ids for name in ("evidence", "claims")]
    member = {"inputs": dict.fromkeys(reads), "outputs": ["claims.csv", "evidence.csv"], "run": "default"}
    run(member | {"expected": [str(tmp_path / f"{name}.yaml") for name in accepted]}, tmp_path, None)
    assert [(row["id"], row["change"]) for row in read(tmp_path / "claims.csv")] == [
        ("m-1", ""),
        ("z-2", "was: does not hold"),
        ("a-1", ""),
        ("m-2", "was: not testable"),
        ("m-3", ""),
        ("z-1", "new claim"),
    ]
    assert [row["value"] for row in read(tmp_path / "evidence.csv")] == [
        id for own in ids.values() for id in own for _ in "ab"
    ]


def test_all_ids_that_studies_share_are_named(tmp_path):
    own = {"x": ["x-9", "x-1", "x-3"], "y": ["x-3", "y-1"], "z": ["x-9", "z-1"]}
    parts = [write(tmp_path / f"{name}.csv", *[ROW | {"id": id} for id in ids]) for name, ids in own.items()]
    with pytest.raises(DataError) as caught:
        build(parts, {}, "default", tmp_path / "claims.csv")
    assert str(caught.value) == "two studies share the claim ids x-3, x-9"


# The list of accepted verdicts


def test_a_claim_that_two_studies_decide_is_named_with_the_later_file(tmp_path):
    files = [tmp_path / f"{name}.yaml" for name in ("first", "second", "third")]
    for file, ids in zip(files, (("x-3", "x-1", "x-2"), ("y-1", "y-2"), ("z-1", "x-3", "x-2")), strict=True):
        file.write_text("".join(f"{id}: {{verdict: holds, undecided_at: [{file.stem}]}}\n" for id in ids))
    accepted = accepted_verdicts(files[:2])
    assert list(accepted) == ["x-3", "x-1", "x-2", "y-1", "y-2"]
    assert accepted["x-2"] == {"verdict": "holds", "undecided_at": ["first"]}
    with pytest.raises(ConfigError) as caught:
        accepted_verdicts(files)
    assert str(caught.value) == f"{files[2]}: x-2, x-3: decided by another study already"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x-1: holds", "x-1: wants the keys verdict and undecided_at, has 'holds'"),
        ("x-1: {verdict: holds}", "x-1: wants the keys verdict and undecided_at"),
        ("x-1: {verdict: holds, undecided_at: [], why: so}", "x-1: wants the keys verdict and undecided_at"),
        ("x-1: {verdict: true, undecided_at: []}", "x-1: verdict True is not one of holds, holds as corrected"),
        ("x-1: {verdict: hold, undecided_at: []}", "x-1: verdict 'hold' is not one of"),
        ("x-1: {verdict: holds, undecided_at: smoke}", r"x-1: undecided_at 'smoke' is not a list of runs: \[smoke\]"),
        ("- x-1", "expected.yaml:1: expected a mapping"),
        ("x-1: {verdict: holds", r"expected.yaml:\d+: "),
        (
            "x-1: {verdict: holds, undecided_at: []}\nx-1: {verdict: holds, undecided_at: []}",
            r'expected.yaml:2: found duplicate key "x-1"',
        ),
        ("", "expected.yaml:1: expected a mapping"),
    ],
)
def test_a_list_that_is_wrong_is_refused_with_its_place(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        read_expected(expected(tmp_path, text))


def test_a_list_that_is_missing_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nolist.yaml: no such file"):
        read_expected(tmp_path / "nolist.yaml")


def test_the_list_of_this_repository_is_right_and_knows_its_scales():
    accepted = accepted_verdicts()
    scales = {path.stem for path in (ROOT / "workflow" / "scales").glob("*.yaml")} | {
        yaml.safe_load((ROOT / "config.yaml").read_text())["run"]["name"]
    }
    assert {entry["verdict"] for entry in accepted.values()} <= set(STATUSES)
    assert {run for entry in accepted.values() for run in entry["undecided_at"]} <= scales


# One claim as text


@pytest.fixture
def results(tmp_path):
    """Two runs that know x-thm1, the younger one with a change."""
    unchanged = {"expected_verdict": "holds as corrected", "change": ""}
    changed = {"verdict": "does not hold", "change": "was: holds as corrected"}
    old = write(tmp_path / "results" / "default" / "claims.csv", ROW | unchanged, UNTESTED | unchanged)
    os.utime(old, (1, 1))
    write(tmp_path / "results" / "smoke" / "claims.csv", ROW | unchanged | changed)
    return tmp_path / "results"


def test_a_claim_is_told_in_words(results):
    young, old = show("x-thm1", results).split("\n\n")
    assert old.splitlines() == [
        "x-thm1  (x_study, Theorem 1; identity)",
        'states    Two, "quoted".',
        "verdict   holds as corrected  [run default]",
        "correct   Three. (possibly an OCR error)",
        "printed   largest deviation 3; asked: 2; margin 0.25",
        "corrected largest deviation 0.1; asked: 3; margin 5",
        "why       tolerance 0.5: half a unit; n = 24",
        "control   the wrong sign: rejected; margin 0.0833333",
        "shown by  snakemake --cores 1 results/default/x_study/claims.csv",
    ]
    assert "verdict   does not hold  [run smoke, was: holds as corrected]" in young
    assert young.endswith("results/smoke/x_study/claims.csv --configfile workflow/scales/smoke.yaml")


def test_a_claim_that_holds_as_printed_is_told_once(tmp_path):
    row = ROW | {"verdict": "holds", "correction": "", "measured": ROW["printed_measured"], "change": ""}
    write(tmp_path / "mine" / "claims.csv", row)
    text = show("x-thm1", tmp_path)
    assert text.count("largest deviation 3") == 1
    assert "corrected " not in text
    assert text.endswith("results/mine/x_study/claims.csv")


def test_a_slip_of_the_paper_is_not_told_as_the_scans(tmp_path):
    write(tmp_path / "mine" / "claims.csv", ROW | {"possible_ocr_error": "False", "change": ""})
    assert show("x-thm1", tmp_path).splitlines()[3] == "correct   Three."


def test_samples_are_told_where_there_are_any(tmp_path):
    for name, n in (("with", "24"), ("without", "0")):
        write(tmp_path / name / "claims.csv", ROW | {"n": n, "change": ""})
    reasons = {
        text.splitlines()[2].split("[run ")[1]: text.splitlines()[6] for text in show("x-thm1", tmp_path).split("\n\n")
    }
    why = "why       tolerance 0.5: half a unit"
    assert reasons == {"with]": f"{why}; n = 24", "without]": why}


@pytest.mark.parametrize(("columns", "missing"), [("study", "id, verdict"), ("id", "verdict"), ("verdict", "id")])
def test_a_table_that_is_no_ledger_is_told_with_what_it_lacks(tmp_path, columns, missing):
    (tmp_path / "claims.csv").write_text(f"{columns}\nx\n")
    with pytest.raises(DataError, match=rf"claims.csv: not a ledger \(no column {missing}\); name the claims.csv"):
        ledger.read(tmp_path / "claims.csv")


def test_a_claim_that_cannot_be_tested_has_no_empty_lines(results):
    assert show("x-exists", results).splitlines()[2:] == [
        "verdict   not testable  [run default]",
        "note      existence",
        "shown by  snakemake --cores 1 results/default/x_study/claims.csv",
    ]


@pytest.mark.parametrize(("id", "near"), [("x-thm", "x-thm1"), ("x-exist", "x-exists"), ("zzz", "x-exists, x-thm1")])
def test_an_unknown_claim_is_told_with_the_nearest(results, id, near):
    with pytest.raises(DataError, match=f"no claim '{id}' in 2 runs under .*; the nearest: {near}"):
        show(id, results)


def test_runs_that_know_a_claim_come_by_their_age_the_youngest_first(tmp_path):
    for name, age in (("beta", 3), ("alpha", 1), ("gamma", 2)):
        ledger_of_run = write(tmp_path / name / "claims.csv", ROW | {"change": ""})
        os.utime(ledger_of_run, (1000 - age, 1000 - age))
    runs = [text.splitlines()[2].split("[run ")[1] for text in show("x-thm1", tmp_path).split("\n\n")]
    assert runs == ["alpha]", "gamma]", "beta]"]


def test_of_many_claims_three_are_named_where_none_is_near(tmp_path):
    rows = [ROW | {"id": f"x-claim{place}"} for place in (4, 3, 2, 1)]
    write(tmp_path / "mine" / "claims.csv", *rows)
    with pytest.raises(DataError) as caught:
        show("zzz", tmp_path)
    nearest = "x-claim1, x-claim2, x-claim3"
    assert str(caught.value) == f"no claim 'zzz' in 1 runs under {tmp_path}; the nearest: {nearest}"


def test_no_run_yet_is_told_with_the_command(tmp_path):
    with pytest.raises(DataError, match="no ledger here yet; make one with: snakemake --cores 8 all"):
        show("x-thm1", tmp_path)


def test_the_columns_are_those_of_a_study():
    """What these tests feed to the ledger is what a study's claims make."""
    untested = claim("x-1", where="Theorem 1", kind="limit", states="S.")(lambda: not_testable("existence"))
    assert {"study", *decide_claim(untested, {}).ledger} == set(ROW)
