"""Studies of this package and of others: which are chosen, where their folders, files and code are."""

import os
import sys
from types import SimpleNamespace

import pytest

from repdyn.base.errors import ConfigError
from repdyn.pipeline import packages, studies
from repdyn.pipeline.packages import PACKAGE, package_of

STUDY = """from types import SimpleNamespace

STUDY = SimpleNamespace(order={order})


def paper():
    return {order}
"""


@pytest.fixture
def choose(tmp_path, monkeypatch):
    """Chooses studies of a project: `toy_apart` next to this package, and `toy_inner`, registered, in a package."""
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

    def choose(text):
        if text is not None:
            (tmp_path / "config.yaml").write_text(text)
        studies.choose(tmp_path)

    choose.project = tmp_path
    yield choose
    studies.declared.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] in ("toy_apart", "toy_group")]:
        del sys.modules[name]


def test_chosen_studies_are_sorted_and_have_their_own_folders(choose):
    for _ in range(2):
        choose("studies: [toy_inner, truncation_flow, toy_apart]\n")
    source = choose.project / "src"
    assert os.environ[studies.CHOICE] == "toy_inner,truncation_flow,toy_apart"
    assert sys.path.count(str(source)) == 1
    assert list(studies.declared()) == ["truncation_flow", "toy_apart", "toy_inner"]
    folders = {"toy_apart": source / "toy_apart", "toy_inner": source / "toy_group/inner"}
    assert studies.folders() == {"truncation_flow": PACKAGE / "truncation_flow"} | folders
    assert studies.outside() == tuple(zip(("toy_apart", "toy_group.inner"), folders.values(), strict=True))
    choose("studies: [truncation_flow]\n")
    assert studies.outside() == ()


@pytest.mark.parametrize("text", ["run: {}\n", "studies: null\n", None])
def test_without_a_choice_all_studies_of_this_package_are_used(choose, monkeypatch, text):
    monkeypatch.setenv(studies.CHOICE, "toy_apart")
    choose(text)
    assert os.environ[studies.CHOICE] == ""
    assert set(studies.declared()) == {path.parent.name for path in PACKAGE.glob("*/study.py")}


@pytest.mark.parametrize("names", ["toy_apart", "[]", "[1, 2]", "[toy_apart, 3]", "{a: 1}"])
def test_invalid_choice_of_studies_is_rejected(choose, names):
    with pytest.raises(ConfigError, match=r"config.yaml: studies"):
        choose(f"studies: {names}\n")


def test_only_existing_files_of_a_study_are_listed(choose):
    choose("studies: [toy_inner, toy_apart]\n")
    apart = choose.project / "src/toy_apart"
    assert studies.files("decided/a.yaml") == {"toy_apart": apart / "decided/a.yaml"}
    assert studies.files("study.py", {"x": apart, "y": choose.project}) == {"x": apart / "study.py"}
    assert [path.name for path in studies.every("decided/*.yaml")] == ["a.yaml", "b.yaml"]
    assert [path.parent.name for path in studies.every("study.py")] == ["toy_apart", "inner"]


def test_package_of_a_study_is_builtin_registered_or_of_its_name(choose):
    choose("studies: [toy_apart]\n")
    names = {"truncation_flow": "repdyn.truncation_flow", "toy_inner": "toy_group.inner", "toy_apart": "toy_apart"}
    assert {name: package_of(name) for name in names} == names
    for name in ("toy_gone", "json"):  # no package, and one without a module study
        with pytest.raises(ConfigError, match=rf"'{name}'.*\btoy_inner\b.*\btruncation_flow\b"):
            package_of(name)
    for package in ("json.decoder", "toy_nowhere"):  # a module, and nothing
        with pytest.raises(ConfigError, match=package):
            studies._folder(package)
