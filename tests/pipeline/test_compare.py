"""`repdyn compare`: changed verdicts, three tiers of equality, figures side by side."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from repdyn.__main__ import main
from repdyn.base import datasets
from repdyn.base.errors import DataError
from repdyn.pipeline.ask.compare import RESIDUE, compare, deviation
from repdyn.pipeline.run.kinds.manifest import build

ATTRS = dict.fromkeys(datasets.REQUIRED, "x")
LOSS = np.array([4.0, 2.0, 1.0])
DATA, TABLE, FIGURE, CAPTION = "s/data/loss.nc", "s/tables/t.csv", "s/figures/f.svg", "s/figures/f.json"
NUMBERS = "s/figures/f.csv"
TIERS = ("identical", "rounding", "verdicts")


def run(folder, *, loss=LOSS, dtype=float, verdict="holds", table="name,value\nbn,1.5\nhe,\n", picture="<svg/>"):
    """A results folder with one dataset, table, figure and claim."""
    variables = {"loss": datasets.variable("i", loss.astype(dtype), "loss")}
    dataset = datasets.dataset(variables, {"i": datasets.index("i", len(loss), "i")}, title="t")
    datasets.write(dataset.assign_attrs(ATTRS), folder / DATA)
    texts = {TABLE: table, FIGURE: picture, CAPTION: f'{{"caption": "{picture}"}}'}
    if verdict is not None:
        texts["claims.csv"] = f"id,verdict\nx-1,{verdict}\nx-2,holds\n"
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    build([DATA, *texts], folder, folder / "no logs", folder, {}, folder / "manifest.json")
    for page in ("report/index.html", "report/captions/s/figures/f.rst"):
        (folder / page).parent.mkdir(parents=True, exist_ok=True)
        (folder / page).write_text("made with the rest")
    return folder


@pytest.fixture
def first(tmp_path):
    return run(tmp_path / "a")


def equal_at(a, b):
    """Tiers at which two runs are equal."""
    comparison = compare(a, b)
    return {tier for tier in TIERS if not comparison.differences(tier)}


def test_equal_runs_are_identical_despite_manifests_and_partial_files(first, tmp_path):
    second = run(tmp_path / "b")
    (second / "manifest.json").write_text("{}")
    (second / "s/data/.loss.nc.host.1.part.nc").write_bytes(b"half")
    assert equal_at(first, second) == set(TIERS)
    assert compare(first, second).equal == 5


@pytest.mark.parametrize(
    ("change", "tiers"),
    [
        ({"loss": LOSS * (1 + 1e-9)}, {"rounding", "verdicts"}),
        ({"loss": LOSS * (1 + 1e-7)}, {"verdicts"}),
        ({"table": "name,value\nbn,1.5000000001\nhe,\n"}, {"rounding", "verdicts"}),
        ({"table": "name,value\ngn,1.6\nhe,\n"}, {"rounding", "verdicts"}),
        ({"picture": "<svg>other</svg>"}, {"rounding", "verdicts"}),
        ({"loss": np.array([4.0, 2.0])}, {"verdicts"}),
        ({"verdict": "does not hold"}, set()),
    ],
)
def test_tiers_of_equality(first, tmp_path, change, tiers):
    assert equal_at(first, run(tmp_path / "b", **change)) == tiers


def test_single_precision_and_torch_results_have_the_wider_band(tmp_path):
    a, b = run(tmp_path / "a", dtype=np.float32), run(tmp_path / "b", dtype=np.float32, loss=LOSS * (1 + 1e-5))
    assert "rounding" in equal_at(a, b)
    a, b = run(tmp_path / "c"), run(tmp_path / "d", loss=LOSS * (1 + 1e-5))
    assert "rounding" not in equal_at(a, b)
    datasets.write(datasets.read(a / DATA).assign_attrs(versions='{"torch": "2"}'), a / DATA)
    assert "rounding" in equal_at(a, b)  # one of the two is enough, whichever it is
    assert "rounding" in equal_at(b, a)


def test_changed_missing_and_new_verdicts_are_found(first, tmp_path):
    second = run(tmp_path / "b")
    for rows, verdicts in (
        ("x-1,does not hold\nx-2,holds\n", {"x-1": ("holds", "does not hold")}),
        ("x-2,holds\n", {"x-1": ("holds", "no such claim")}),
        ("x-1,holds\nx-2,holds\nx-3,holds\n", {"x-3": ("no such claim", "holds")}),
    ):
        (second / "claims.csv").write_text(f"id,verdict\n{rows}")
        assert compare(first, second).verdicts == verdicts
    for folder in (first, second):
        (folder / "claims.csv").unlink()
        for study in ("r", "t"):
            (folder / study).mkdir()
            (folder / study / "claims.csv").write_text(f"id,verdict\n{study}-1,{folder.name}\n{study}-2,holds\n")
    assert compare(first, second).verdicts == {"r-1": ("a", "b"), "t-1": ("a", "b")}
    for folder in (first, second):
        (folder / "claims.csv").write_text("id,verdict\nr-2,holds\n")
    assert compare(first, second).verdicts == {}


def test_numbers_of_figures_and_columns_of_tables_are_compared(first, tmp_path):
    second = run(tmp_path / "b", table="name,value\ngn,3.0\nhe,\n")
    for folder, height in ((first, 2.0), (second, 4.0)):
        (folder / NUMBERS).write_text(f"panel,kind,x,y,value\n1 (a),line,1,{height},\n1 (a),level,,3,\n")
    found = {(item.file, item.variable, item.size) for item in compare(first, second).deviations}
    assert found == {(NUMBERS, "y", 0.5), (TABLE, "name", np.inf), (TABLE, "value", 0.5)}
    assert equal_at(first, second) == {"rounding", "verdicts"}


def test_variables_and_files_of_one_side_are_found(first, tmp_path):
    second = run(tmp_path / "b")
    (second / "extra.txt").write_text("")
    assert equal_at(first, second) == {"rounding", "verdicts"}
    shutil.copy(second / DATA, second / "s/data/more.nc")
    assert equal_at(first, second) == {"verdicts"}
    assert compare(first, second).only == ([], ["extra.txt", "s/data/more.nc"])
    datasets.write(datasets.read(second / DATA).rename(loss="cost"), second / DATA)
    assert {item.variable for item in compare(first, second).deviations} == {"loss", "cost"}


# Numbers

EPS, SINGLE = np.finfo(float).eps ** 0.5, float(np.finfo(np.float32).eps) ** 0.5


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [
        ([1e-3, -200.0], [2e-3, -200.0], 1e-3 / 200),  # relative to the largest magnitude
        ([1e-16, 0.0], [-3e-12, RESIDUE], 0),  # zero up to rounding
        ([0.0], [2 * RESIDUE], 1),
        ([0.0], [0.99e-9], 0),
        ([0.0], [1.01e-9], 1),
        ([2, 4], [2.0, 3.0], 0.25),
        ([1.0, np.nan, np.inf], [1.0, np.nan, np.inf], 0),
        (["a", "b"], ["a", "b"], 0),
        ([], [], 0),
        ([1, 2, 3], [1, 5, 3], np.inf),
        (["a", "b"], ["a", "c"], np.inf),
        ([True], [False], np.inf),
        ([1.0, np.nan], [np.nan, 1.0], np.inf),
        ([np.inf], [-np.inf], np.inf),
        ([1.0], [1.0, 2.0], np.inf),
    ],
)
def test_deviation_of_two_arrays(old, new, size):
    assert deviation(np.array(old), np.array(new))[0] == pytest.approx(size)


def test_band_is_the_root_of_the_precision():
    assert deviation(np.array([1.0]), np.array([2.0]))[1] == pytest.approx(EPS)
    assert deviation(np.float32([1.0]), np.array([2.0]))[1] == pytest.approx(SINGLE)
    assert deviation(np.array([1.0]), np.float32([2.0]))[1] == pytest.approx(SINGLE)


# Manifests and the command line


def test_manifest_next_to_its_files_represents_them(first, tmp_path, capsys):
    second = run(tmp_path / "b", loss=LOSS * 2)
    assert main(["compare", str(first / "manifest.json"), str(second)]) == 1
    assert f"{DATA}: loss: 0.5 " in capsys.readouterr().out
    assert main(["compare", str(first), str(second), "--tier", "verdicts"]) == 0
    (second / TABLE).unlink()
    outcome = compare(second / "manifest.json", first)
    assert (outcome.deviations, outcome.only) == ([], ([], []))
    with pytest.raises(DataError, match="manifest"):
        compare(second / "manifest.json", first, "rounding")


def test_manifest_alone_has_digests_and_verdicts_only(first, tmp_path, capsys):
    lone, manifest = tmp_path / "elsewhere.json", json.loads((first / "manifest.json").read_text())
    lone.write_text(json.dumps(manifest))
    assert main(["compare", str(lone), str(first)]) == 0
    (first / TABLE).write_text("name,value\nbn,2.5\n")
    for sides in ((lone, first), (first, lone)):
        assert main(["compare", *map(str, sides), "--tier", "rounding"]) == 1
        assert "elsewhere.json" in capsys.readouterr().err
        assert (compare(*sides).differing, compare(*sides).deviations) == ([TABLE], [])
    lone.write_text(json.dumps(manifest | {"verdicts": {"x-1": "does not hold", "x-2": "holds"}}))
    assert compare(lone, first).verdicts == {"x-1": ("does not hold", "holds")}


def test_side_without_verdicts_is_not_equal_in_verdicts(tmp_path, capsys):
    a, b = run(tmp_path / "a", verdict=None), run(tmp_path / "b")
    for sides in ((a, b), (b, a)):
        assert main(["compare", *map(str, sides)]) == 1
        assert main(["compare", *map(str, sides), "--tier", "verdicts"]) == 1
        assert f"{a}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        *(None, "{", "[]", "{}", '{"content": [1]}', '{"content": {"a": 1, "b": "x"}}'),
        *('{"content": {"a": "x", "../../etc/passwd": "x"}}', '{"content": {"/etc/passwd": "x", "a": "x"}}'),
    ],
)
def test_path_without_a_run_is_rejected(first, tmp_path, content):
    path = tmp_path / "other"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match="other"):
        compare(first, path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty"):
        compare(first, tmp_path / "empty")


# Figures side by side

MOVED, SAME, GONE, NEW = (f"s/figures/{name}.png" for name in ("moved", "same", "gone", "new"))


@pytest.fixture
def drawn(tmp_path):
    """Two runs of four figures: one differs, one is equal, one is missing, one is new; data and verdicts are equal."""
    folders = tmp_path / "a<b>&", tmp_path / "b"
    for folder, files in zip(
        folders, ({MOVED: "1", SAME: "2", GONE: "3"}, {MOVED: "x", SAME: "2", NEW: "4"}), strict=True
    ):
        for name, text in {**files, "s/figures/moved.svg": files[MOVED], "claims.csv": "id,verdict\nx,holds\n"}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return folders


def pictures(first, second, folder):
    return main(["compare", str(first), str(second), "--tier", "verdicts", "--pictures", str(folder)])


def test_figures_that_differ_are_shown_and_no_others(drawn, tmp_path):
    folder = tmp_path / "moved"
    assert pictures(*drawn, folder) == 0
    page = (folder / "index.html").read_text()
    shown = re.findall('src="([^"]*)"', page)
    assert shown == [f"old/{GONE}", f"old/{MOVED}", f"new/{MOVED}", f"new/{NEW}"]
    assert [(folder / path).read_text() for path in shown] == ["3", "1", "x", "4"]
    assert "a&lt;b&gt;&amp;" in page
    assert pictures(drawn[0], drawn[0], tmp_path / "equal") == 0
    assert [path.name for path in (tmp_path / "equal").iterdir()] == ["index.html"]


def test_figure_comparison_requires_two_runs_and_an_empty_folder(drawn, tmp_path):
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference/run.json").write_text("{}")
    (tmp_path / "reference/numbers.csv").write_text("")
    manifest = tmp_path / "manifest.json"
    manifest.write_text(f'{{"content": {{"{MOVED}": "0"}}, "verdicts": {{"x": "holds"}}}}')
    for first, second in ((drawn[0], tmp_path / "reference"), (manifest, drawn[1])):
        assert pictures(first, second, tmp_path / "moved") == 1
        assert not (tmp_path / "moved").exists()
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved/mine").write_text("x")
    assert pictures(*drawn, tmp_path / "moved") == 1
    assert [path.name for path in Path(tmp_path / "moved").iterdir()] == ["mine"]
