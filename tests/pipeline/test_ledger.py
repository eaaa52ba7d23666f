"""The ledger: differences from the accepted verdicts, errors in their list, one claim as text."""

import csv
import os

import pytest
import yaml
from tests.conftest import ROOT

from repdyn.base.errors import ConfigError, DataError
from repdyn.base.verdicts import STATUSES, UNDECIDED
from repdyn.pipeline import studies
from repdyn.pipeline.run.kinds import ledger
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts, build, change, read_expected, run, show

ROW = {"study": "x_study", "id": "x-thm1", "statement": 'Two, "quoted".', "verdict": "holds as corrected"}
ROW |= {"possible_ocr_error": "True", "margin": "5", "n": "24", "facts": "", "why": ""}


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


def accept(folder, name="expected", **entries):
    """A list of accepted verdicts: id -> verdict and the runs at which it may be undecided."""
    lines = [
        f"{id.replace('_', '-')}: {{verdict: {verdict}, undecided_at: {runs}}}\n"
        for id, (verdict, runs) in entries.items()
    ]
    path = folder / f"{name}.yaml"
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize(
    ("verdict", "accepted", "undecided_at", "run", "changed"),
    [
        ("holds", "holds", [], "default", False),
        ("does not hold", "holds", [], "default", True),
        ("holds", "does not hold", ["smoke"], "smoke", True),
        (UNDECIDED, "holds", ["smoke"], "smoke", False),
        (UNDECIDED, "holds", ["smoke"], "default", True),
        (UNDECIDED, "holds", [], "smoke", True),
        (UNDECIDED, UNDECIDED, [], "default", False),
        ("holds", UNDECIDED, ["smoke"], "smoke", True),
    ],
)
def test_changes_are_verdicts_that_differ_from_the_accepted_ones(verdict, accepted, undecided_at, run, changed):
    found = change(verdict, {"verdict": accepted, "undecided_at": undecided_at}, run)
    assert bool(found) is changed
    assert accepted in found or not changed
    assert change("holds", None, "default")  # of a new claim


def test_ledgers_and_evidence_of_studies_are_joined_in_the_order_of_the_accepted_verdicts(tmp_path, monkeypatch):
    """Claims that are not accepted yet come last; evidence has the order of the inputs."""
    ids = {"z": ["z-1", "z-2"], "a": ["a-1"], "m": ["m-2", "m-3", "m-1"]}
    for study, own in ids.items():
        write(tmp_path / study / "claims.csv", *[ROW | {"study": study, "id": id, "verdict": "holds"} for id in own])
        write(
            tmp_path / study / "evidence.csv", *[{"study": study, "id": id, "value": "NA"} for id in own for _ in "ab"]
        )
    lists = [
        accept(tmp_path, "one", m_1=("holds", []), z_2=("does not hold", [])),
        accept(tmp_path, "two", x_gone=("holds", []), a_1=("holds", []), m_2=("not testable", [])),
        accept(tmp_path, "three", m_3=("holds", ["smoke"])),
    ]
    reads = [f"{study}/{name}.csv" for study in ids for name in ("evidence", "claims")]
    member = {"inputs": dict.fromkeys(reads), "outputs": ["claims.csv", "evidence.csv"], "run": "default"}
    monkeypatch.setattr(studies, "files", lambda name: dict(zip("abc", lists, strict=True)))
    run(member, tmp_path, None)
    rows = read(tmp_path / "claims.csv")
    assert [(row["id"], row["expected_verdict"], bool(row["change"])) for row in rows] == [
        ("m-1", "holds", False),
        ("z-2", "does not hold", True),
        ("a-1", "holds", False),
        ("m-2", "not testable", True),
        ("m-3", "holds", False),
        ("z-1", "", True),
    ]
    evidence = [(row["id"], row["value"]) for row in read(tmp_path / "evidence.csv")]
    assert evidence == [(id, "NA") for own in ids.values() for id in own for _ in "ab"]


@pytest.mark.parametrize("name", ["claims", "evidence"])
def test_studys_file_cut_within_a_line_stops_the_ledger(tmp_path, monkeypatch, name):
    reads = {f"s/{file}.csv": None for file in ("claims", "evidence")}
    for path in reads:
        write(tmp_path / path, ROW | {"study": "s", "id": "s-1"}, ROW | {"study": "s", "id": "s-2"})
    monkeypatch.setattr(studies, "files", lambda _: {})
    member = {"inputs": reads, "outputs": ["claims.csv", "evidence.csv"], "run": "default"}
    cut = tmp_path / "s" / f"{name}.csv"
    whole = cut.read_bytes()
    cut.write_bytes(whole[:-3])
    with pytest.raises(DataError, match=f"s/{name}.csv: cut off"):
        run(member, tmp_path, None)
    assert not (tmp_path / "claims.csv").exists()
    cut.write_bytes(whole)
    run(member, tmp_path, None)


def test_duplicate_ids_across_studies_are_rejected(tmp_path):
    own = {"x": ["x-9", "x-1", "x-3"], "y": ["x-3", "y-1"], "z": ["x-9", "z-1"]}
    parts = [write(tmp_path / f"{name}.csv", *[ROW | {"id": id} for id in ids]) for name, ids in own.items()]
    with pytest.raises(DataError, match="x-3, x-9"):
        build(parts, {}, "default", tmp_path / "claims.csv")
    assert not (tmp_path / "claims.csv").exists()
    files = [accept(tmp_path, "one", x_1=("holds", ["smoke"])), accept(tmp_path, "two", y_1=("holds", []))]
    assert accepted_verdicts(files)["x-1"] == {"verdict": "holds", "undecided_at": ["smoke"]}
    with pytest.raises(ConfigError, match=r"three.yaml.*x-1"):
        accepted_verdicts([*files, accept(tmp_path, "three", x_1=("holds", []))])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x-1: holds", "x-1.*'holds'"),
        ("x-1: {verdict: holds}", "x-1.*undecided_at"),
        ("x-1: {verdict: holds, undecided_at: [], why: so}", "x-1"),
        ("x-1: {verdict: true, undecided_at: []}", "x-1.*verdict True"),
        ("x-1: {verdict: hold, undecided_at: []}", "x-1.*verdict 'hold'"),
        ("x-1: {verdict: holds, undecided_at: smoke}", "x-1.*undecided_at 'smoke'"),
        ("- x-1", "expected.yaml:1: "),
        ("x-1: {verdict: holds", r"expected.yaml:\d+: "),
        ("x-1: {verdict: holds, undecided_at: []}\nx-1: {verdict: holds, undecided_at: []}", "expected.yaml:2: .*x-1"),
        ("", "expected.yaml:1: "),
        (None, "expected.yaml: "),
    ],
)
def test_invalid_accepted_verdicts_are_reported_with_their_place(tmp_path, text, message):
    if text is not None:
        (tmp_path / "expected.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_expected(tmp_path / "expected.yaml")


def test_list_of_this_repository_has_known_verdicts_and_scales():
    accepted = accepted_verdicts()
    scales = {path.stem for path in (ROOT / "workflow" / "scales").glob("*.yaml")}
    scales.add(yaml.safe_load((ROOT / "config.yaml").read_text())["run"]["name"])
    assert {entry["verdict"] for entry in accepted.values()} <= set(STATUSES)
    assert {run for entry in accepted.values() for run in entry["undecided_at"]} <= scales


# One claim


def test_claim_is_shown_in_every_run_the_latest_first(results):
    runs = show("x-thm1", results).split("\n\n")
    assert all(run in text for run, text in zip(("smoke", "default"), runs, strict=True))
    assert all(verdict in text for verdict, text in zip(("does not hold", "holds as corrected"), runs, strict=True))
    assert "workflow/scales/smoke.yaml" in runs[0]
    assert "results/default/x_study/claims.csv" in runs[1]


def test_claim_is_shown_from_the_folder_of_a_run(results):
    (results / "smoke/manifest.json").write_text("{}")
    write(results / "smoke/s/claims.csv", {"id": "x-thm1", "verdict": "holds"})  # a study's own ledger
    assert show("x-thm1", results / "smoke") == show("x-thm1", results).split("\n\n")[0]
    (results / "smoke/manifest.json").unlink()
    with pytest.raises(DataError, match=r"smoke/s/claims.csv.*no column change"):
        show("x-thm1", results / "smoke")


@pytest.fixture
def results(tmp_path):
    """Two runs that know x-thm1, the later one with a change."""
    columns = ("where", "kind", "correction", "printed_measured", "printed_expected", "printed_margin", "measured")
    columns += ("expected", "tolerance_reason", "control", "control_outcome", "control_margin", "assumes", "words")
    row = dict.fromkeys(columns, "") | ROW | {"expected_verdict": "holds as corrected", "change": ""}
    changed = {"verdict": "does not hold", "change": "was: holds as corrected"}
    old = write(tmp_path / "results/default/claims.csv", row, row | {"id": "x-exists"})
    os.utime(old, (1, 1))
    write(tmp_path / "results/smoke/claims.csv", row | changed)
    return tmp_path / "results"


@pytest.mark.parametrize(("id", "near"), [("x-thm", "x-thm1"), ("x-exist", "x-exists"), ("zzz", "x-exists, x-thm1")])
def test_unknown_claim_error_suggests_the_nearest_id(results, id, near):
    with pytest.raises(DataError, match=f"'{id}'.*{near}"):
        show(id, results)


@pytest.mark.parametrize(("columns", "missing"), [("study", "id, verdict"), ("id", "verdict"), ("verdict", "id")])
def test_table_without_ledger_columns_is_rejected(tmp_path, columns, missing):
    (tmp_path / "claims.csv").write_text(f"{columns}\nx\n")
    with pytest.raises(DataError, match=f"claims.csv.*{missing}"):
        ledger.read(tmp_path / "claims.csv")
    with pytest.raises(DataError):
        show("x-thm1", tmp_path / "empty")
