"""Studies of this package and of others: which are chosen, where their folders, files and code are."""

import os
import re
import sys
from types import SimpleNamespace

import pytest

from repdyn.base.errors import ConfigError
from repdyn.pipeline import packages, studies
from repdyn.pipeline.packages import PACKAGE, package_of
from repdyn.pipeline.report import listings

STUDY = """from types import SimpleNamespace

STUDY = SimpleNamespace(order={order})


def paper():
    return {order}
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project beside this package with a study `toy_apart` and one that is registered, `toy_inner` in a package."""
    for package, order in (("toy_apart", 3), ("toy_group/inner", 7)):
        folder = tmp_path / "src" / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
        (folder / "study.py").write_text(STUDY.format(order=order))
    (tmp_path / "src/toy_group/__init__.py").write_text("")
    (tmp_path / "src/toy_apart/decided").mkdir()
    for name in ("b.yaml", "a.yaml"):
        (tmp_path / "src/toy_apart/decided" / name).write_text("")
    registered = [SimpleNamespace(name="toy_inner", module="toy_group.inner.study")]
    monkeypatch.setattr(packages, "entry_points", lambda group: registered)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv(studies.CHOICE, "")
    yield tmp_path
    studies.declared.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] in ("toy_apart", "toy_group")]:
        del sys.modules[name]


def choose(project, text):
    (project / "config.yaml").write_text(text)
    studies.choose(project)


def test_chosen_studies_come_by_their_order_then_by_name(project):
    choose(project, "studies: [toy_inner, truncation_flow, toy_apart]\n")
    assert os.environ[studies.CHOICE] == "toy_inner,truncation_flow,toy_apart"
    assert sys.path[0] == str(project / "src")
    assert list(studies.declared()) == ["truncation_flow", "toy_apart", "toy_inner"]
    assert studies.folders() == {
        "truncation_flow": PACKAGE / "truncation_flow",
        "toy_apart": project / "src/toy_apart",
        "toy_inner": project / "src/toy_group/inner",
    }


def test_packages_outside_of_this_one_are_told_with_their_folders(project):
    choose(project, "studies: [toy_inner, truncation_flow, toy_apart]\n")
    assert studies.outside() == (
        ("toy_apart", project / "src/toy_apart"),
        ("toy_group.inner", project / "src/toy_group/inner"),
    )
    choose(project, "studies: [truncation_flow]\n")
    assert studies.outside() == ()


def test_a_path_is_added_once(project):
    for _ in range(2):
        choose(project, "studies: [toy_apart]\n")
    assert sys.path.count(str(project / "src")) == 1


@pytest.mark.parametrize("text", ["run: {}\n", "studies: null\n", None])
def test_without_a_choice_all_studies_of_this_package_are_meant(project, monkeypatch, text):
    monkeypatch.setenv(studies.CHOICE, "toy_apart")
    if text is None:
        studies.choose(project)
    else:
        choose(project, text)
    assert os.environ[studies.CHOICE] == ""
    assert set(studies.declared()) == {path.parent.name for path in PACKAGE.glob("*/study.py")}


@pytest.mark.parametrize("names", ["toy_apart", "[]", "[1, 2]", "[toy_apart, 3]", "{a: 1}"])
def test_what_is_no_list_of_names_is_refused(project, names):
    with pytest.raises(ConfigError, match=r"config.yaml: studies: .* is not a list of names of studies"):
        choose(project, f"studies: {names}\n")


def test_files_of_a_study_are_those_that_are_there(project):
    choose(project, "studies: [toy_inner, toy_apart]\n")
    assert studies.files("decided/a.yaml") == {"toy_apart": project / "src/toy_apart/decided/a.yaml"}
    assert studies.files("study.py", {"x": project / "src/toy_apart", "y": project}) == {
        "x": project / "src/toy_apart/study.py"
    }
    assert [path.name for path in studies.every("decided/*.yaml")] == ["a.yaml", "b.yaml"]
    assert [path.parent.name for path in studies.every("study.py")] == ["toy_apart", "inner"]


def test_a_package_is_of_this_one_or_registered_or_of_the_studys_name(project):
    choose(project, "studies: [toy_apart]\n")
    assert package_of("truncation_flow") == "repdyn.truncation_flow"
    assert package_of("toy_inner") == "toy_group.inner"
    assert package_of("toy_apart") == "toy_apart"
    for name in ("toy_gone", "json"):  # no package, and one without a module study
        with pytest.raises(ConfigError, match=f"no study '{name}': no package {name} with a module study") as caught:
            package_of(name)
        assert re.search(r"; known: .*\btoy_inner\b.*\btruncation_flow\b", str(caught.value))


def test_of_several_registered_studies_each_has_its_own_package_and_all_are_known(tmp_path, monkeypatch):
    places = {
        "beta": ("b_package.study", True),
        "gamma": ("c_package.inner.study", True),
        "alpha": ("a_package.study", False),
    }
    registered = [SimpleNamespace(name=name, module=module) for name, (module, _) in places.items()]
    there = {module for module, found in places.values() if found}
    monkeypatch.setattr(packages, "entry_points", lambda group: registered if group == "repdyn.studies" else [])
    monkeypatch.setattr(packages, "find_spec", lambda name: name if name in there else None)
    monkeypatch.setattr(packages, "PACKAGE", tmp_path)
    for name in ("zeta", "delta"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "study.py").touch()
    known = "known: alpha, beta, delta, gamma, zeta"
    names = {"gamma": "c_package.inner", "beta": "b_package", "delta": "repdyn.delta", "zeta": "repdyn.zeta"}
    assert {name: package_of(name) for name in names} == names
    for name, package in (("alpha", "a_package"), ("eta", "eta")):
        with pytest.raises(ConfigError) as caught:
            package_of(name)
        assert str(caught.value) == f"no study {name!r}: no package {package} with a module study; {known}"


@pytest.mark.parametrize("package", ["json.decoder", "toy_nowhere"])  # a module, and nothing
def test_a_study_is_a_package_in_a_folder(package):
    with pytest.raises(ConfigError) as caught:
        studies._folder(package)
    assert str(caught.value) == f"{package}: not a package in a folder; a study is a folder with a module study"


def test_code_outside_is_listed_from_its_own_folder(project):
    choose(project, "studies: [toy_inner, toy_apart]\n")
    for module, file, order in (
        ("toy_apart.study", "src/toy_apart/study.py", 3),
        ("toy_group.inner.study", "src/toy_group/inner/study.py", 7),
    ):
        found = listings.function(f"{module}:paper")
        assert (found.file, found.line, found.text) == (file, 6, f"def paper():\n    return {order}")
    assert listings.function("toy_apart.study:other") is None
    assert listings.function("toy_apart.gone:paper") is None
    own = listings.function("repdyn.truncation_flow.theory.staircase:bias_flow")
    assert own.file == "src/repdyn/truncation_flow/theory/staircase.py"
    assert own.text.startswith("def bias_flow(")
