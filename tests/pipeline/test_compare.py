"""`repdyn compare`: changed verdicts first; three strengths of equality."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from repdyn.__main__ import main
from repdyn.base import datasets
from repdyn.base.errors import DataError
from repdyn.pipeline.ask.compare import RESIDUE, SHOWN, Comparison, Deviation, compare, deviation, show
from repdyn.pipeline.run.kinds.manifest import build

ATTRS = dict.fromkeys(datasets.REQUIRED, "x")
LOSS = np.array([4.0, 2.0, 1.0])
DATA, TABLE, FIGURE, CAPTION = "s/data/loss.nc", "s/tables/t.csv", "s/figures/f.svg", "s/figures/f.json"
NUMBERS = "s/figures/f.csv"


def run(folder, *, loss=LOSS, dtype=float, verdict="holds", table="name,value\nbn,1.5\nhe,\n", picture="<svg/>"):
    """A results folder with one dataset, table, figure and claim."""
    variables = {"loss": datasets.variable("i", loss.astype(dtype), "loss")}
    dataset = datasets.dataset(variables, {"i": datasets.index("i", len(loss), "i")}, title="t")
    datasets.write(dataset.assign_attrs(ATTRS), folder / DATA)
    ledger = "" if verdict is None else f"id,verdict\nx-1,{verdict}\nx-2,holds\n"
    texts = {TABLE: table, FIGURE: picture, CAPTION: f'{{"caption": "{picture}"}}', "claims.csv": ledger}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    if verdict is None:
        (folder / "claims.csv").unlink()
    files = [DATA, *(name for name in texts if (folder / name).is_file())]
    build(files, folder, folder / "no logs", folder, {}, folder / "manifest.json")
    for page in ("report/index.html", "report/captions/s/figures/f.rst"):
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text("made with the rest")
    return folder


@pytest.fixture
def first(tmp_path):
    return run(tmp_path / "a")


def tiers(a, b):
    """At which tiers two runs are equal."""
    comparison = compare(a, b)
    return {tier for tier in ("identical", "rounding", "verdicts") if not comparison.differences(tier)}


def test_equal_runs_are_equal_in_every_sense_whatever_their_manifests(first, tmp_path):
    second = run(tmp_path / "b")
    (second / "manifest.json").write_text("{}")
    assert tiers(first, second) == {"identical", "rounding", "verdicts"}
    assert compare(first, second).equal == 5


def test_a_changed_verdict_counts_in_every_sense_and_comes_first(first, tmp_path):
    second = run(tmp_path / "b", verdict="does not hold", loss=LOSS * 2)
    assert tiers(first, second) == set()
    lines = show(compare(first, second), first, second, "verdicts").splitlines()
    assert lines[:2] == ["1 verdicts differ", "  x-1: holds -> does not hold"]
    assert lines[-1] == "tier verdicts: DIFFERENT (1 verdicts)"


def test_a_claim_that_is_gone_is_a_changed_verdict(first, tmp_path):
    second = run(tmp_path / "b")
    (second / "claims.csv").write_text("id,verdict\nx-2,holds\n")
    assert compare(first, second).verdicts == {"x-1": ("holds", "no such claim")}


def test_a_claim_that_is_new_is_a_changed_verdict(first, tmp_path):
    second = run(tmp_path / "b")
    (second / "claims.csv").write_text("id,verdict\nx-1,holds\nx-2,holds\nx-3,holds\n")
    assert compare(first, second).verdicts == {"x-3": ("no such claim", "holds")}


def test_parts_of_the_ledger_stand_in_for_it_until_it_is_there(first, tmp_path):
    for folder in (first, run(tmp_path / "b", verdict="does not hold")):
        (folder / "claims.csv").rename(folder / "s/claims.csv")
        for study in ("r", "t"):
            (folder / study).mkdir()
            (folder / study / "claims.csv").write_text(f"id,verdict\n{study}-1,{folder.name}\n{study}-2,holds\n")
    changed = {"r-1": ("a", "b"), "x-1": ("holds", "does not hold"), "t-1": ("a", "b")}
    assert compare(first, tmp_path / "b").verdicts == changed
    for folder in (first, tmp_path / "b"):
        (folder / "claims.csv").write_text("id,verdict\nr-2,holds\n")
    assert compare(first, tmp_path / "b").verdicts == {}


@pytest.mark.parametrize(
    ("change", "equal_at"),
    [
        ({"loss": LOSS * (1 + 1e-9)}, {"rounding", "verdicts"}),
        ({"loss": LOSS * (1 + 1e-7)}, {"verdicts"}),
        ({"table": "name,value\nbn,1.5000000001\nhe,\n"}, {"rounding", "verdicts"}),
        ({"table": "name,value\ngn,1.6\nhe,\n"}, {"rounding", "verdicts"}),
        ({"picture": "<svg>other</svg>"}, {"rounding", "verdicts"}),
        ({"loss": np.array([4.0, 2.0])}, {"verdicts"}),
    ],
)
def test_strengths_of_equality(first, tmp_path, change, equal_at):
    assert tiers(first, run(tmp_path / "b", **change)) == equal_at


def test_single_precision_has_the_wider_band(tmp_path):
    a, b = run(tmp_path / "a", dtype=np.float32), run(tmp_path / "b", dtype=np.float32, loss=LOSS * (1 + 1e-5))
    assert "rounding" in tiers(a, b)


def test_what_torch_made_is_single_precision_however_it_is_stored(tmp_path):
    a, b = run(tmp_path / "a"), run(tmp_path / "b", loss=LOSS * (1 + 1e-5))
    assert "rounding" not in tiers(a, b)
    datasets.write(datasets.read(a / DATA).assign_attrs(versions='{"torch": "2"}'), a / DATA)
    assert "rounding" in tiers(a, b)  # one of the two is enough, whichever it is
    assert "rounding" in tiers(b, a)


def test_numbers_behind_a_figure_are_compared_by_column(first, tmp_path):
    second = run(tmp_path / "b")
    for folder, height in ((first, 2.0), (second, 4.0)):
        (folder / NUMBERS).write_text(f"panel,kind,x,y,value\n1 (a),line,1,{height},\n1 (a),level,,3,\n")
    assert [(item.file, item.variable, item.size) for item in compare(first, second).deviations] == [
        (NUMBERS, "y", 0.5)
    ]
    assert tiers(first, second) == {"rounding", "verdicts"}


def test_columns_of_tables_are_shown(first, tmp_path):
    comparison = compare(first, run(tmp_path / "b", table="name,value\ngn,3.0\nhe,\n"))
    assert {(column.variable, column.size, column.note) for column in comparison.deviations} == {
        ("name", np.inf, "1 of 2 entries differ"),
        ("value", 0.5, ""),
    }
    assert f"{TABLE}: name: 1 of 2 entries differ; 1 more" in show(comparison, first, tmp_path / "b", "identical")


def test_files_on_one_side(first, tmp_path):
    second = run(tmp_path / "b")
    (second / "extra.txt").write_text("")
    assert tiers(first, second) == {"rounding", "verdicts"}
    shutil.copy(second / DATA, second / "s/data/more.nc")
    assert tiers(first, second) == {"verdicts"}
    assert f"only in {second}: extra.txt, s/data/more.nc" in show(compare(first, second), first, second, "identical")


def test_all_that_differs_is_told_and_counted_as_the_tier_asks():
    """Three variables of one file are beyond rounding; one is within, and tables and figures do not count."""
    verdicts = {"x-3": ("holds", "does not hold"), "a-1": ("no such claim", "holds"), "m-2": ("holds", "open")}
    deviations = [
        Deviation("s/data/b.nc", "loss", np.inf, 1.0, "only on one side"),
        Deviation("t/tables/t.csv", "value", 0.5, 1.5e-8),
        Deviation("s/data/b.nc", "rate", 0.02, 1.5e-8),
        Deviation("s/data/a.nc", "norm", 3e-4, 3.5e-4),
        Deviation("t/tables/t.csv", "name", np.inf, 1.0, "2 of 3 entries differ"),
        Deviation("s/data/b.nc", "gap", 1e-5, 1.5e-8),
        Deviation("s/figures/f.csv", "y", 0.25, 1.5e-8),
    ]
    only = (["s/data/c.nc", "s/data/d.nc", "s/note.txt"], ["t/data/e.nc", "t/f.svg"])
    outcome = Comparison(verdicts, deviations, only, [f"{place}.nc" for place in range(9)], 17)
    counted = {
        "identical": "3 verdicts, 5 files only on one side, 9 files with other digests",
        "rounding": "3 verdicts, 3 files only on one side, 3 variables beyond rounding",
        "verdicts": "3 verdicts",
    }
    for tier, differences in counted.items():
        assert show(outcome, Path("a"), Path("b"), tier).splitlines() == [
            "3 verdicts differ",
            "  x-3: holds -> does not hold",
            "  a-1: no such claim -> holds",
            "  m-2: holds -> open",
            "7 variables and columns differ, 3 beyond rounding; the largest:",
            "  s/data/b.nc: loss: only on one side; 2 more",
            "  t/tables/t.csv: value: 0.5 of its scale (rounding: up to 1.5e-08); 1 more",
            "  s/data/a.nc: norm: 0.0003 of its scale (rounding: up to 0.00035)",
            "  s/figures/f.csv: y: 0.25 of its scale (rounding: up to 1.5e-08)",
            "only in a: s/data/c.nc, s/data/d.nc, s/note.txt",
            "only in b: t/data/e.nc, t/f.svg",
            "17 files have equal digests, 9 differ",
            f"tier {tier}: DIFFERENT ({differences})",
        ]


@pytest.mark.parametrize("tier", ["identical", "rounding", "verdicts"])
@pytest.mark.parametrize("first", [True, False])
def test_files_on_either_side_count_and_data_among_them_beyond_digests(tier, first):
    only = (["s/a.nc", "s/b.csv"], []) if first else ([], ["s/a.nc", "s/b.csv"])
    expected = {"identical": ["2 files only on one side"], "rounding": ["1 files only on one side"], "verdicts": []}
    assert Comparison({}, [], only, [], 0).differences(tier) == expected[tier]


@pytest.mark.parametrize(("number", "end"), [(SHOWN, f"{SHOWN - 1:02}.nc"), (SHOWN + 1, f"{SHOWN - 1:02}.nc, ...")])
def test_of_many_files_on_one_side_the_first_are_told(number, end):
    outcome = Comparison({}, [], ([f"{place:02}.nc" for place in range(number)], []), [], 0)
    line = show(outcome, Path("a"), Path("b"), "identical").splitlines()[1]
    assert line.startswith("only in a: 00.nc, 01.nc, ")
    assert line.endswith(f", {end}")


def test_numbers_within_their_bands_and_columns_of_tables_are_not_beyond_rounding():
    shown = [Deviation("s/data/a.nc", "loss", 1e-8, 1e-8), Deviation("s/tables/t.csv", "loss", 0.5, 1e-8)]
    lines = show(Comparison({}, shown, ([], []), [], 0), Path("a"), Path("b"), "rounding").splitlines()
    assert lines[1] == "2 variables and columns differ, 0 beyond rounding; the largest:"
    assert lines[-1] == "tier rounding: equal"


def test_the_files_that_differ_come_in_the_order_of_the_alphabet(first, tmp_path):
    second = run(tmp_path / "b", loss=LOSS * 2, verdict="does not hold", table="name,value\n", picture="<svg>2</svg>")
    assert compare(first, second).differing == ["claims.csv", DATA, CAPTION, FIGURE, TABLE]


def test_the_largest_deviation_is_the_one_farthest_beyond_its_band(tmp_path):
    """Of what torch made a hundredth is less against rounding than 1e-5 of a table is."""
    a, b = run(tmp_path / "a"), run(tmp_path / "b", loss=LOSS * 1.01, table="name,value\nbn,1.500015\nhe,\n")
    for folder in (a, b):
        datasets.write(datasets.read(folder / DATA).assign_attrs(versions='{"torch": "2"}'), folder / DATA)
    assert [difference.file for difference in compare(a, b).deviations] == [TABLE, DATA]


@pytest.mark.parametrize(("number", "end"), [(SHOWN, f"s/data/{SHOWN - 1:02}.nc"), (SHOWN + 1, "... and 1 more files")])
def test_of_many_files_that_differ_the_first_are_told(number, end):
    deviations = [Deviation(f"s/data/{place:02}.nc", "loss", 0.5, 1e-8) for place in range(number)]
    lines = show(Comparison({}, deviations, ([], []), [], 0), Path("a"), Path("b"), "rounding").splitlines()
    assert lines[1] == f"{number} variables and columns differ, {number} beyond rounding; the largest:"
    assert lines[2] == "  s/data/00.nc: loss: 0.5 of its scale (rounding: up to 1e-08)"
    assert lines[-3].strip().startswith(end)
    assert lines[-1] == f"tier rounding: DIFFERENT ({number} variables beyond rounding)"


def test_a_variable_on_one_side(first, tmp_path):
    second = run(tmp_path / "b")
    dataset = datasets.read(second / DATA).rename(loss="cost")
    datasets.write(dataset, second / DATA)
    assert {difference.variable: difference.note for difference in compare(first, second).deviations} == {
        "loss": "only on one side",
        "cost": "only on one side",
    }


# Numbers

EPS = np.finfo(float).eps


def test_deviation_is_relative_to_the_largest_magnitude():
    size, band, _ = deviation(np.array([1e-3, -200.0]), np.array([2e-3, -200.0]))
    assert size == pytest.approx(1e-3 / 200)
    assert band == pytest.approx(EPS**0.5)
    single = pytest.approx(float(np.finfo(np.float32).eps) ** 0.5)
    assert deviation(np.float32([1.0]), np.array([2.0]))[1] == single
    assert deviation(np.array([1.0]), np.float32([2.0]))[1] == single


def test_what_rounding_left_of_zero_is_equal():
    assert deviation(np.array([1e-16, 0.0]), np.array([-3e-12, RESIDUE]))[0] == 0
    assert deviation(np.array([0.0]), np.array([2 * RESIDUE]))[0] == 1
    assert [deviation(np.array([0.0]), np.array([size]))[0] for size in (0.99e-9, 1.01e-9)] == [0, 1]


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ([1, 2, 3], [1, 5, 3], "1 of 3 entries differ"),
        (["a", "b"], ["a", "c"], "1 of 2 entries differ"),
        ([True], [False], "1 of 1 entries differ"),
        ([1.0, np.nan], [np.nan, 1.0], "not finite at other places"),
        ([np.inf], [-np.inf], "not finite at other places"),
        ([1.0], [1.0, 2.0], "shape (1,) against (2,)"),
    ],
)
def test_what_has_no_number_has_a_word(old, new, note):
    size, _, word = deviation(np.array(old), np.array(new))
    assert (size, word) == (np.inf, note)


@pytest.mark.parametrize("same", [[1.0, np.nan, np.inf], [1, 2], ["a", "b"], []])
def test_equal_arrays_do_not_deviate(same):
    assert deviation(np.array(same), np.array(same))[0] == 0
    column = pd.read_csv(pd.io.common.StringIO("a\nx\n\ny\n"), skip_blank_lines=False)["a"].to_numpy()
    assert deviation(column, column.copy())[0] == 0


def test_counts_beside_numbers_are_numbers():
    assert deviation(np.array([2, 4]), np.array([2.0, 3.0]))[0] == 0.25


# Command line


def test_manifests_stand_for_their_folders(first, tmp_path, capsys):
    second = run(tmp_path / "b", loss=LOSS * 2)
    assert main(["compare", str(first / "manifest.json"), str(second)]) == 1
    assert f"{DATA}: loss: 0.5 of its scale (rounding: up to 1.5e-08)" in capsys.readouterr().out
    assert main(["compare", str(first), str(second), "--tier", "verdicts"]) == 0
    assert capsys.readouterr().out.endswith("tier verdicts: equal\n")


def test_a_manifest_alone_has_digests_only(first, tmp_path, capsys):
    lone = tmp_path / "elsewhere.json"
    lone.write_text((first / "manifest.json").read_text())
    assert main(["compare", str(lone), str(first)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown == ["every verdict is equal", "5 files have equal digests, 0 differ", "tier identical: equal"]
    for sides in ((lone, first), (first, lone)):
        assert main(["compare", *map(str, sides), "--tier", "rounding"]) == 1
        told = f"error: {lone}: its files are not beside it, and tier rounding reads them; give the results folder\n"
        assert capsys.readouterr().err == told
    (first / TABLE).write_text("name,value\nbn,2.5\n")
    for sides in ((lone, first), (first, lone)):
        outcome = compare(*sides)
        assert (outcome.differing, outcome.deviations) == ([TABLE], [])


def test_a_manifest_beside_some_of_its_files_has_digests_only(first, tmp_path):
    second = run(tmp_path / "b")
    (second / TABLE).unlink()
    comparison = compare(second / "manifest.json", first)
    assert (comparison.equal, comparison.only) == (5, ([], []))
    with pytest.raises(DataError, match="its files are not beside it"):
        compare(second / "manifest.json", first, "rounding")


@pytest.mark.parametrize("alone", [True, False])
def test_a_side_without_verdicts_is_not_said_to_have_equal_ones(tmp_path, capsys, alone):
    a, b = run(tmp_path / "a", verdict=None), run(tmp_path / "b")
    if alone:
        shutil.move(a / "manifest.json", tmp_path / "alone.json")
        a = tmp_path / "alone.json"
    for sides in ((a, b), (b, a)):
        assert main(["compare", *map(str, sides)]) == 1
        assert capsys.readouterr().out.startswith("verdicts are not compared: one side has none")
        assert main(["compare", *map(str, sides), "--tier", "verdicts"]) == 1
        told = f"error: {a}: has no ledger (claims.csv), and tier verdicts compares ledgers; finish the run\n"
        assert capsys.readouterr().err == told


def test_a_caption_counts(first, tmp_path):
    second = run(tmp_path / "b")
    (second / CAPTION).write_text('{"caption": "another"}')
    assert compare(first, second).differing == [CAPTION]


def test_a_manifest_alone_can_tell_verdicts(first, tmp_path, capsys):
    lone, manifest = tmp_path / "elsewhere.json", json.loads((first / "manifest.json").read_text())
    lone.write_text(json.dumps(manifest | {"verdicts": {"x-1": "does not hold", "x-2": "holds"}}))
    assert main(["compare", str(lone), str(first), "--tier", "verdicts"]) == 1
    assert "x-1: does not hold -> holds" in capsys.readouterr().out


def test_a_half_written_file_is_no_result(first, tmp_path):
    second = run(tmp_path / "b")
    (second / "s/data/.loss.nc.host.1.part.nc").write_bytes(b"half")
    assert "identical" in tiers(first, second)


@pytest.mark.parametrize(
    "content",
    [
        *(None, "{", "[]", "{}", '{"content": [1]}', '{"content": {"a": 1, "b": "x"}}'),
        *('{"content": {"a": "x", "../../etc/passwd": "x"}}', '{"content": {"/etc/passwd": "x", "a": "x"}}'),
    ],
)
def test_what_is_no_run_is_told(first, tmp_path, content):
    path = tmp_path / "other"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match="neither a results folder nor a manifest"):
        compare(first, path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no results in this folder"):
        compare(first, tmp_path / "empty")
