"""`repdyn compare A B --pictures FOLDER`: figures that differ, side by side."""

import re

import pytest

from repdyn.__main__ import main

MOVED, SAME, GONE, NEW = (f"s/figures/{name}.png" for name in ("moved", "same", "gone", "new"))


@pytest.fixture
def runs(tmp_path):
    """Two runs of four figures: one differs, one is equal, one is gone, one is new; data and verdicts are equal."""
    first, second = tmp_path / "a", tmp_path / "b"
    contents = {first: {MOVED: "1", SAME: "2", GONE: "3"}, second: {MOVED: "x", SAME: "2", NEW: "4"}}
    for folder, files in contents.items():
        for name, text in {**files, "s/figures/moved.svg": files[MOVED], "claims.csv": "id,verdict\nx,holds\n"}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return first, second


def compared(first, second, folder):
    return main(["compare", str(first), str(second), "--tier", "verdicts", "--pictures", str(folder)])


def test_figures_that_differ_are_shown_and_no_others(runs, tmp_path, capsys):
    folder = tmp_path / "moved"
    assert compared(*runs, folder) == 0
    assert f"{folder}/index.html: 3 figures differ" in capsys.readouterr().out
    page = (folder / "index.html").read_text()
    assert re.findall("<h2>(.*)</h2>", page) == [GONE, MOVED, NEW]
    shown = re.findall('src="([^"]*)"', page)
    assert shown == [f"old/{GONE}", f"old/{MOVED}", f"new/{MOVED}", f"new/{NEW}"]
    assert [(folder / path).read_text() for path in shown] == ["3", "1", "x", "4"]
    assert page.count("not in this run") == 2


def test_equal_runs_have_an_empty_page(runs, tmp_path):
    assert compared(runs[0], runs[0], tmp_path / "moved") == 0
    assert "0 figures differ" in (tmp_path / "moved/index.html").read_text()
    assert [path.name for path in (tmp_path / "moved").iterdir()] == ["index.html"]


def test_a_name_is_no_markup(runs, tmp_path):
    first = runs[0].rename(tmp_path / "a<b>&")
    compared(first, runs[1], tmp_path / "moved")
    assert "a&lt;b&gt;&amp;" in (tmp_path / "moved/index.html").read_text()


def test_a_reference_has_no_pictures(runs, tmp_path, capsys):
    reference = tmp_path / "reference"
    reference.mkdir()
    (reference / "run.json").write_text("{}")
    (reference / "numbers.csv").write_text("")
    assert compared(runs[0], reference, tmp_path / "moved") == 1
    assert f"{reference}: a reference has no pictures" in capsys.readouterr().err
    assert not (tmp_path / "moved").exists()


def test_a_manifest_alone_has_no_pictures(runs, tmp_path, capsys):
    manifest = tmp_path / "manifest.json"
    manifest.write_text('{"content": {"s/figures/moved.png": "0"}, "verdicts": {"x": "holds"}}')
    assert compared(manifest, runs[1], tmp_path / "moved") == 1
    assert "manifest.json: --pictures shows files of two runs" in capsys.readouterr().err


def test_a_folder_with_something_in_it_is_left_alone(runs, tmp_path, capsys):
    (tmp_path / "moved").mkdir()
    (tmp_path / "moved/mine").write_text("x")
    assert compared(*runs, tmp_path / "moved") == 1
    assert "not an empty folder" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "moved").iterdir()] == ["mine"]
