"""An edit reruns only what depends on it: the table of edits, its page, and the inputs of `all`."""

import re
from fnmatch import fnmatchcase

import pytest
from tests.conftest import SMOKE
from tests.dag import edits
from tests.dag.declared import copy_sources, declared

CHEAP = ("two imported names exchanged",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return copy_sources(tmp_path_factory.mktemp("edited") / "checkout")


@pytest.fixture(scope="module")
def before(folder):
    return declared(folder, SMOKE)


def matching(patterns, names):
    """The names that patterns of `edits.Edit` mean; each has to mean at least one."""
    meant = set()
    for pattern in patterns:
        full = (pattern if "|" in pattern else f"*|{pattern}") + ("" if ":" in pattern else ":*")
        matches = {name for name in names if fnmatchcase(name, full)}
        assert matches, f"no member is called {pattern}"
        meant |= matches
    return meant


def jobs_of(members):
    return {re.split("[|:]", member)[1] for member in members}


def check(folder, before, edit, *others):
    members, jobs = edits.effect(folder, before, edit, *others)
    expected = matching(edit.changes, before.members)
    assert members == expected
    assert jobs == jobs_of(expected | matching(edit.then, before.members))
    return members, jobs


@pytest.mark.parametrize("says", CHEAP)
def test_edit_runs_what_depends_on_it(folder, before, says):
    (edit,) = [edit for edit in edits.EDITS if edit.says == says]
    check(folder, before, edit)


@pytest.mark.slow
def test_new_or_edited_reply_updates_the_report(folder, before):
    """A study has no file of replies before its first; without one, nothing changes."""
    path = folder / "src/repdyn/truncation_flow/replies.yaml"
    report = matching(["report"], before.members)
    assert not path.exists()
    try:
        path.write_text("tf-thm32-omega: []\n", encoding="utf-8")
        first = declared(folder, SMOKE)
        path.write_text("tf-thm32-omega: [{}]\n", encoding="utf-8")
        second = declared(folder, SMOKE)
    finally:
        path.unlink()
    for earlier, later in ((before, first), (first, second)):
        assert earlier.changed_members(later) == report
        assert earlier.downstream(earlier.changed(later)) == {"report"}


@pytest.mark.slow
def test_edits_rerun_the_jobs_in_the_table(folder, before):
    """Every edit as expected, all failures reported together; the table of the page agrees."""
    effects, wrong = {}, {}
    for together in edits.groups():
        says = [edit.says for edit in together]
        try:
            effects |= dict.fromkeys(says, check(folder, before, *together))
        except AssertionError as error:
            wrong[", ".join(says)] = str(error)
    assert wrong == {}
    assert edits.PAGE.read_text(encoding="utf-8").endswith(edits.table(effects, before))


def test_page_on_reruns_has_a_row_for_every_edit():
    rows = re.findall(r"^\| (.+?) \|", edits.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == ["edit", "---", *(edit.says for edit in edits.EDITS)]


def test_every_product_is_a_target(before):
    """So that deleted files are created again."""
    outputs = [path for paths in before.outputs.values() for path in paths]
    assert sorted(before.wanted) == sorted(outputs)
