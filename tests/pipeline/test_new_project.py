"""`repdyn new` and `repdyn init`: every file and placeholder of a template, filled and unchanged folders."""

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from repdyn.base import files
from repdyn.base.decisions import decide_claim
from repdyn.base.errors import ConfigError
from repdyn.pipeline.new import added_claim, environments, project

TEMPLATE = {
    "README.md.in": "my_paper by my_paper: MyPaper, MyPaper; numpy @NUMPY@, python @PYTHON@, numpy @NUMPY@; my-other\n",
    "src/my_paper/my_paper.py.in": "class MyPaper: ...\nids = 'my-average', 'my-second', 'dummy-average', 'my-first'\n",
    ".github/my_paper/a.yml.in": "@NUMPY@ @python@ user@example.org\n",
    "envs/apart.txt": "no template",
}


@pytest.fixture
def template(tmp_path, monkeypatch):
    """A template of three files and one other file, in a working directory."""
    for name, text in TEMPLATE.items():
        path = tmp_path / "template" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(project, "TEMPLATE", tmp_path / "template")
    monkeypatch.setattr(environments, "placeholders", lambda: {"NUMPY": "2.1", "PYTHON": "3.11"})
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def written(place):
    return {path.relative_to(place).as_posix(): path.read_text() for path in Path(place).rglob("*") if path.is_file()}


@pytest.mark.parametrize(("words", "place"), [(["two_points"], "two_points"), (["two_points", "--into", "a/b"], "a/b")])
def test_project_has_every_file_with_names_and_versions_replaced(template, words, place):
    project.run(words)
    assert written(place) == {
        "README.md": "two_points by two_points: TwoPoints, TwoPoints; numpy 2.1, python 3.11, numpy 2.1; my-other\n",
        "src/two_points/two_points.py": (
            "class TwoPoints: ...\nids = 'two-average', 'two-second', 'dummy-average', 'my-first'\n"
        ),
        ".github/two_points/a.yml": "2.1 @python@ user@example.org\n",
    }


@pytest.mark.parametrize(
    "name",
    ["Paper", "1st", "_a", "a-b", "a b", "class", "", "ab\n", "json", "numpy", "universality", "base", "all", "true"],
)
def test_invalid_or_existing_project_names_are_rejected(template, name):
    with pytest.raises(ConfigError) as caught:
        project.write(name, Path("new"))
    assert str(caught.value).startswith(repr(name))
    assert not Path("new").exists()


@pytest.mark.parametrize("exists", [True, False])
def test_folder_is_filled_completely_or_not_at_all(tmp_path, exists):
    place = tmp_path / "a/new"
    if exists:
        place.mkdir(parents=True)

    def fill(stopped=False):
        for name in ("one", "s/two", "s/t/three"):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(name)
        if stopped:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), files.fresh(place):
        fill(stopped=True)
    assert [*(tmp_path / "a").rglob("*")] == ([place] if exists else [])
    with files.fresh(place):
        fill()
    for taken in (place, place / "one"):
        with pytest.raises(ConfigError, match=str(taken)), files.fresh(taken):
            pass
    assert set(written(place)) == {"one", "s/two", "s/t/three"}


@pytest.fixture
def one_study(tmp_path):
    """A project with one study that has no claim yet."""
    study = tmp_path / "src/adam"
    (tmp_path / "tests").mkdir()
    study.mkdir(parents=True)
    (study / "claims.py").write_text('"""Claims."""\n\nimport numpy as np\n\nLIMIT = np.pi\n')
    (study / "verdicts.yaml").write_text("adam-1: {verdict: holds, undecided_at: []}")
    return tmp_path


def test_added_claim_fails_until_it_is_filled_in(one_study, capsys):
    added_claim.write("adam-theorem-3", one_study)
    module = {}
    exec((one_study / "src/adam/claims.py").read_text(), module)
    claim = module["theorem_3"]
    row = decide_claim(claim, {name: xr.Dataset() for name in claim.data}).ledger
    assert (claim.id, module["LIMIT"], row["verdict"]) == ("adam-theorem-3", np.pi, "check failed")
    accepted = yaml.safe_load((one_study / "src/adam/verdicts.yaml").read_text())
    assert accepted["adam-theorem-3"] == accepted["adam-1"] == {"verdict": "holds", "undecided_at": []}
    test = {}
    exec((one_study / "tests/test_theorem_3.py").read_text().replace("from adam.claims import theorem_3", ""), test)
    with pytest.raises(pytest.fail.Exception):
        test["test_theorem_3_at_the_border"](1.1, "does not hold")


@pytest.mark.parametrize("id", ["Adam-3", "adam", "adam 3", "adam-theorem-3"])
def test_invalid_or_existing_claims_are_not_added(one_study, id):
    added_claim.write("adam-theorem-3", one_study)
    before = written(one_study)
    with pytest.raises(ConfigError, match=re.escape(repr(id))):
        added_claim.write(id, one_study)
    assert written(one_study) == before
