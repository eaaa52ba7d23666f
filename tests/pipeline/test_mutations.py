"""The mutation audit without a fork: what is drawn, which checks a mutant meets and in which order, what is told."""

from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from repdyn.base.errors import ConfigError
from repdyn.pipeline import studies
from repdyn.pipeline.mutations import audit, checks, command
from repdyn.pipeline.mutations.audit import Site
from repdyn.pipeline.mutations.command import _studies_of
from repdyn.pipeline.mutations.mutants import Mutant
from repdyn.pipeline.mutations.trial import Fate, Stage

HERE = Path(__file__)


def site(number, operator="sign", module="a.theory.b"):
    return Site(module, Path("b.py"), Mutant("f", number, f"{number} -> x", str, operator))


EVERY = [site(number, "sign" if number % 3 else "axis") for number in range(30)]


def test_a_sample_is_drawn_without_repeats_and_a_longer_one_is_another():
    drawn = audit.sample(EVERY, 10, 1, "theory")
    assert len({one.mutant.line for one in drawn}) == 10
    assert drawn == audit.sample(EVERY, 10, 1, "theory")
    assert drawn != audit.sample(EVERY, 10, 2, "theory")
    assert drawn != audit.sample(EVERY, 10, 1, "claims")
    assert [one.mutant.line for one in drawn] != sorted(one.mutant.line for one in drawn), "in the order drawn"


@pytest.mark.parametrize("count", [0, 30, 31])
def test_all_are_tried_where_no_number_or_as_many_are_asked_for(count):
    assert audit.sample(EVERY, count, 1, "theory") == EVERY
    assert len(audit.sample(EVERY, 29, 1, "theory")) == 29


def test_of_each_operator_so_many_are_drawn():
    drawn = audit.of_each_operator(EVERY, 4, 1, "theory")
    assert [one.mutant.operator for one in drawn] == ["axis"] * 4 + ["sign"] * 4
    assert len({one.mutant.line for one in drawn}) == 8


def test_in_theory_arithmetic_alone_is_changed(tmp_path):
    file = tmp_path / "code.py"
    file.write_text("def f(x):\n    return x < 2 + 1\n")
    changes = {name: [one.mutant.operator for one in audit.sites({name: file})] for name in ("a.theory.b", "a.claims")}
    assert changes["a.theory.b"] == ["sign", "constant", "constant"]
    assert set(changes["a.claims"]) == {"comparison", "sign", "constant"}


@pytest.fixture
def tried(monkeypatch):
    """Calls of `try_mutant`: line of the mutant and the stage; what notices is told by the stage's checks."""
    calls = []

    def try_mutant(module, file, mutant, stages, *, folders, limit):
        (stage,) = stages
        calls.append((mutant.line, stage.by))
        first = next((check for check in stage.checks if check == mutant.line), "")
        return Fate(stage.by if first else "survived", str(first), 1.25)

    monkeypatch.setattr(audit, "try_mutant", try_mutant)
    return calls


def stages(*checks_by_name, baseline=lambda _: ""):
    return [Stage(by, checks, lambda _: "", baseline) for by, checks in checks_by_name]


def test_a_mutant_meets_its_checks_until_one_notices(tried, tmp_path):
    said = []
    fates = audit.audit(
        [site(1), site(2), site(3)],
        lambda one: stages(("guard", [1]), ("test", [2]), ("claim", [])),
        folders=[tmp_path],
        limit=5,
        say=said.append,
    )
    assert tried == [(1, "guard"), (2, "guard"), (2, "test"), (3, "guard"), (3, "test")]
    assert fates[["line", "fate", "first", "seconds"]].to_numpy().tolist() == [
        [1, "guard", "1", 1.2],
        [2, "test", "2", 2.5],
        [3, "survived", "", 2.5],
    ]
    assert fates.columns.tolist() == ["module", "function", "line", "operator", "change", "fate", "first", "seconds"]
    assert said[2] == "3/3 survived   2.5 s  a.theory.b:3 3 -> x"


def test_a_mutant_that_meets_no_check_is_untested(tried):
    fates = audit.audit([site(1)], lambda one: stages(("test", [])), folders=[], limit=5, say=lambda _: None)
    assert fates["fate"].tolist() == ["untested"]
    assert tried == []


def test_a_check_is_tried_once_on_unchanged_code(tried):
    seen = []
    audit.audit(
        [site(1), site(2)],
        lambda one: stages(("test", [7, 8]), baseline=lambda check: seen.append(check) or ""),
        folders=[],
        limit=5,
        say=lambda _: None,
    )
    assert seen == [7, 8]


def test_a_check_that_fails_on_unchanged_code_ends_the_audit(tried):
    failing = stages(("test", ["sound", "test_a.py"]), baseline=lambda check: "E  1 == 2" * (check == "test_a.py"))
    with pytest.raises(ConfigError, match=r"^test_a.py: fails on unchanged code; correct that first\nE  1 == 2$"):
        audit.audit([site(1)], lambda one: failing, folders=[], limit=5, say=lambda _: None)


@pytest.mark.parametrize("edit", ["changed", "new", "gone"])
def test_sources_that_are_edited_meanwhile_end_the_audit(tried, tmp_path, edit):
    for name in ("old.py", "other.py"):
        (tmp_path / name).write_text("x = 1\n")

    def edited(check):
        if edit == "gone":
            (tmp_path / "old.py").unlink()
        else:
            (tmp_path / ("old.py" if edit == "changed" else "fresh.py")).write_text("x = 12\n")
        return ""

    with pytest.raises(ConfigError, match=f"{'fresh' if edit == 'new' else 'old'}.py: edited while mutants were tried"):
        audit.audit(
            [site(1)], lambda one: stages(("test", [7]), baseline=edited), folders=[tmp_path], limit=5, say=print
        )


FATES = pd.DataFrame(
    {
        "fate": ["test", "survived", "untested", "import", "guard", "time"],
        "module": ["b", "a", "a", "a", "a", "b"],
        "operator": ["sign", "sign", "axis", "axis", "sign", "sign"],
        "function": "f",
        "line": range(6),
        "change": "x -> y",
        "seconds": 30.0,
    }
)


def test_fates_are_counted_by_module_and_operator_without_what_cannot_be_imported():
    assert audit.by_operator(FATES).to_numpy().tolist() == [
        ["a", "axis", 1, 0],
        ["a", "sign", 2, 1],
        ["b", "sign", 2, 2],
    ]
    assert audit.survivors(FATES)["line"].tolist() == [1, 2]
    shown = command.show(FATES)
    assert "Noticed by nothing" in shown
    assert shown.splitlines()[-1].startswith("3 of 5 caught: 60.0%")
    assert "Noticed by nothing" not in command.show(FATES[FATES["fate"] == "test"])


@pytest.mark.parametrize(
    ("fates", "text"),
    [
        (["test"] * 4, "4 of 4 caught: 100.0% [39.8%, 100.0%]"),  # 0.025^(1/4)
        (["survived"] * 4, "0 of 4 caught: 0.0% [0.0%, 60.2%]"),
        (["import"], "0 of 0 caught: nan%"),
    ],
)
def test_the_interval_of_a_share_at_its_ends(fates, text):
    assert audit.summary(pd.DataFrame({"fate": fates, "seconds": 1.0})).startswith(text)


def test_parts_name_studies_and_modules_of_one_or_of_all():
    theory = command.modules(["truncation_flow/theory"])
    assert set(command.modules(["truncation_flow"])) > set(theory)
    assert all(name.startswith("repdyn.truncation_flow.theory.") for name in theory)
    assert set(command.modules(["theory"])) > set(theory)
    assert len({name.split(".")[1] for name in command.modules(["theory"])}) > 4
    one = command.modules(["truncation_flow/theory/staircase"])
    assert list(one) == ["repdyn.truncation_flow.theory.staircase"]
    assert one["repdyn.truncation_flow.theory.staircase"].name == "staircase.py"
    both = command.modules(["truncation_flow/theory/staircase", "claims"])
    assert next(iter(both)) == "repdyn.truncation_flow.theory.staircase"
    every = command.modules([])
    assert set(every) >= {*both, *command.modules(["truncation_flow"])}
    inside = {name.removeprefix("repdyn.").split(".")[1] for name in every}
    assert not inside & {"settings", "study", "__init__"}


@pytest.mark.parametrize(
    ("part", "advice"),
    [("truncation_flw", "did you mean 'truncation_flow'?"), ("qqq", f"the studies are {', '.join(studies.folders())}")],
)
def test_a_part_that_is_none_is_told_with_the_nearest(part, advice):
    with pytest.raises(ConfigError) as caught:
        command.modules(["theory", part])
    assert str(caught.value) == f"{part!r} is no study, nor a module of one; {advice}"


def test_tests_are_files_in_folders_or_those_named(tmp_path):
    for name in ("b/test_one.py", "b/two_test.py", "b/deep/test_three.py", "b/helper.py", "empty/helper.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    named = tmp_path / "b/helper.py"
    found = command.files_with_tests([named, tmp_path / "b"])
    assert [file.name for file in found] == ["helper.py", "test_three.py", "test_one.py", "two_test.py"]
    for place in ("empty", "missing"):
        with pytest.raises(ConfigError, match=f"{place}: no tests there"):
            command.files_with_tests([tmp_path / place])


@pytest.mark.parametrize(("most", "names"), [(0, ["near", "far", "other"]), (1, ["near"]), (2, ["near", "far"])])
def test_test_files_that_reach_a_definition_come_first_and_claims_last(monkeypatch, most, names):
    tests = [Path(name) for name in ("far", "near", "other")]
    one = Site("repdyn.truncation_flow.theory.staircase", HERE, Mutant("bias_flow", 3, "", str))
    reach = {(one.module, "bias_flow"): [Path("near")], (one.module, "other"): [Path("other")]}
    options = SimpleNamespace(most=most, marked="not slow", results=None)
    (stage,) = command._stages(one, reach, tests, options)
    assert (stage.by, [test.name for test in stage.checks]) == ("test", names)
    _, claims = command._stages(one, reach, tests, SimpleNamespace(**vars(options) | {"results": Path("results/mine")}))
    assert (claims.by, claims.checks) == ("claim", ["truncation_flow"])
    asked = []
    monkeypatch.setattr(checks, "other_verdict", lambda *given, **more: asked.append((given, more)) or "")
    assert claims.notices.keywords["changed"] == (one.module, "bias_flow")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sample", "-1"], "--sample: got -1, expected 0 or more"),
        (["--each", "-1"], "--each: got -1, expected 0 or more"),
        (["--most", "-2"], "--most: got -2, expected 0 or more"),
        (["--limit", "0"], "--limit: got 0, expected 1 or more"),
    ],
)
def test_numbers_out_of_range_are_refused(words, message, capsys):
    with pytest.raises(SystemExit):
        command._arguments(words)
    assert message in capsys.readouterr().err


def test_numbers_at_the_end_of_their_range_are_taken():
    options = command._arguments(["--sample", "0", "--each", "0", "--most", "0", "--limit", "1", "theory"])
    assert (options.sample, options.each, options.most, options.limit, options.parts) == (0, 0, 0, 1, ["theory"])
    usual = command._arguments([])
    assert (usual.sample, usual.seed, usual.tests, usual.results) == (30, 1, [Path("tests")], None)


def test_modules_of_several_studies_have_the_results_of_each_looked_at():
    files = {"repdyn.universality.theory.final": Path("a"), "repdyn.leaky_resnets.figures.exact": Path("b")}
    assert set(_studies_of(files)) == {"universality", "leaky_resnets"}
    assert _studies_of({"repdyn.base.verdicts": Path("c")}) == []
