"""One mutant tried: what its fork imports and notices, which checks are asked, what claims of a run are decided."""

import ast
import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from repdyn.base.errors import ConfigError, RepdynError
from repdyn.pipeline.mutations import checks, command, mutants, operators, trial
from repdyn.pipeline.mutations.mutants import Mutant
from repdyn.pipeline.mutations.trial import Fate, Replaced, Stage

# Operators


def changed(text, names=()):
    """All changes of the outermost node of an expression, as code."""
    found = operators.changes(ast.parse(text, mode="eval").body, names)
    return [(operator, ast.unparse(ast.fix_missing_locations(other))) for operator, other in found]


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("x <= y", [("comparison", "x >= y")]),
        ("x == y", [("comparison", "x != y")]),
        ("x not in y", [("comparison", "x in y")]),
        ("x is None", [("comparison", "x is not None")]),
        ("x < y < z", [("comparison", "x > y < z")]),
        ("a and b", [("condition", "a or b")]),
        ("a or b or c", [("condition", "a and b and c")]),
        ("not a", [("condition", "a")]),
        ("a if b else c", [("condition", "c if b else a")]),
        ("x[2]", [("index", "x[3]")]),
        ("x[-3]", [("index", "x[0]")]),
        ("x['b']", [("key", "x['c']")]),
        ("x['c']", [("key", "x['a']")]),
        ("x['other']", []),
        ("x[::2]", [("order", "x[:]")]),
        ("x[1:3]", []),
        ("BLACK", [("color", "GREEN")]),
        ("PURPLE", [("color", "SKY")]),
        ("np.argmin(x)", [("statistic", "np.argmax(x)")]),
        ("any(x)", [("statistic", "all(x)")]),
        ("x.std()", [("statistic", "x.var()")]),
        ("sorted(x)", [("order", "x")]),
        ("sorted(x, y)", [("arguments", "sorted(y, x)")]),
        ("stream.generator('a', b)", [("stream", "stream.generator('a')")]),
        ("stream.child()", []),
        ("f(a, b, c)", [("arguments", "f(b, a, c)")]),
        ("f(a, a)", []),
        ("f(a, 1)", []),
        ("f(flag=True)", [("option", "f(flag=False)")]),
        ("f(n=4)", [("option", "f(n=5)")]),
        ("f(scale=0.5)", []),
        ("f(check=True, strict=False, exist_ok=True, parents=True)", []),
        ("f(fontsize=7, linewidth=2, zorder=3, ncols=2)", []),
        ("f(axis=k)", [("axis", "f()")]),
        ("f(dim='seed')", [("axis", "f()")]),
        ("f(where=mask)", [("axis", "f()")]),
        ("f(x, skipna=s)", [("axis", "f(x)")]),
        ("f(ddof=1)", [("option", "f(ddof=2)")]),
        ("f(low=a, high=b)", [("arguments", "f(low=b, high=a)")]),
        ("f(low=a, high=a)", []),
    ],
)
def test_changes_of_one_expression(text, changes):
    assert changed(text, ["a", "b", "c"]) == changes


def test_keys_are_the_texts_that_a_definition_uses_in_their_order():
    text = "def f(x):\n    y['b'] = x['a'] + x[0] + x[name] + x['b']\n    return 'c'\n"
    assert operators.keys(ast.parse(text).body[0]) == ["a", "b"]


def test_what_tells_progress_messages_and_defaults_are_left_as_they_are(tmp_path):
    file = tmp_path / "code.py"
    file.write_text(
        "def f(n=2 + 1):\n    progress = Progress('f', n + 1)\n    progress.step(n + 2)\n    Progress.say(n + 3)\n"
        "    assert n + 4\n    return n + 0.0, n * 0.5, f'{n + 5}'\n"
    )
    found = [mutant.change for mutant in mutants.mutants(file)]
    assert found == ["n + 0.0 -> n - 0.0", "n + 0.0 -> n + 0.1", "n * 0.5 -> n / 0.5", "n * 0.5 -> n * 0.55"]


# In a fork


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A module, one that imports it, one that imports that, and one that imports none of them."""
    texts = {
        "base": "VALUE = 1\n",
        "near": "from tried_base import VALUE\n",
        "far": "import tried_near\n",
        "apart": "X = 1\n",
    }
    for name, text in texts.items():
        (tmp_path / f"tried_{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in texts:
        sys.modules.pop(f"tried_{name}", None)


def tried(project, source, *stages):
    mutant = Mutant("f", 1, "", lambda: source)
    return trial.try_mutant("tried_base", project / "tried_base.py", mutant, stages, folders=[project], limit=60)


def values():
    near, far = importlib.import_module("tried_near"), importlib.import_module("tried_far")
    return near.VALUE, far.tried_near.VALUE


def test_a_fork_meets_the_changed_module_wherever_it_is_imported(project):
    """This process, which has imported it before, keeps its own."""
    assert values() == (1, 1)
    sees = Stage("claim", ["first", "second"], lambda check: check * (check == "second" and values() == (7, 7)), str)
    fate = tried(project, "VALUE = 7\n", sees)
    assert (fate.by, fate.first) == ("claim", "second")
    assert fate.seconds >= 0
    assert values() == (1, 1)
    assert tried(project, "VALUE = 8\n", sees)[:2] == ("survived", "")


def test_what_cannot_be_imported_and_what_dies_is_told_apart(project):
    nothing = Stage("test", ["x"], lambda _: "", str)
    assert tried(project, "VALUE = 1 / 0\n", nothing)[:2] == ("import", "")
    killed = Stage("test", ["x"], lambda _: trial.os.kill(trial.os.getpid(), 9), str)
    assert tried(project, "VALUE = 2\n", killed)[:2] == ("time", "")


@pytest.mark.parametrize(
    ("ends", "fate"),
    [
        ([(0, ""), (0, "")], ("survived", "")),
        ([(1, "a")], ("guard", "a")),
        ([(0, ""), (1, "b")], ("test", "b")),
        ([(trial.UNIMPORTABLE, "")], ("import", "")),
        ([(0, ""), (-9, "")], ("time", "")),
    ],
)
def test_stages_are_met_until_one_notices_and_those_without_checks_are_passed_over(monkeypatch, ends, fate):
    met, left, spent = [], iter(ends), iter([2.0, 9.5])
    monkeypatch.setattr(trial, "_in_fork", lambda limit, *more: met.append((limit, more[3].by)) or next(left))
    monkeypatch.setattr(trial, "_spent", lambda: next(spent))
    stages = [Stage(by, checked, str, str) for by, checked in (("guard", [1]), ("claim", []), ("test", [2]))]
    mutant = Mutant("f", 1, "", str)
    assert trial.try_mutant("m", Path("m.py"), mutant, stages, folders=[], limit=5) == Fate(*fate, 7.5)
    assert met == [(5, "guard"), (5, "test")][: len(ends)]


def test_a_fork_that_breaks_down_teaches_nothing(monkeypatch):
    monkeypatch.setattr(trial, "_in_fork", lambda *_: (1, ""))
    stage = Stage("test", [1], str, str)
    with pytest.raises(RepdynError, match="m: the process that tries its mutant broke down"):
        trial.try_mutant("m", Path("m.py"), Mutant("f", 1, "", str), [stage], folders=[], limit=5)


def test_modules_that_import_a_changed_one_are_imported_anew(project):
    """Those in the folders alone: what lies elsewhere is never changed."""
    for name in ("far", "apart"):
        importlib.import_module(f"tried_{name}")
    (project / "inner").mkdir()
    trial.forget("tried_base", [project / "inner"])
    assert "tried_base" not in sys.modules
    assert {"tried_near", "tried_far", "tried_apart"} <= set(sys.modules)
    trial.forget("tried_base", [project])
    assert {name for name in sys.modules if name.startswith("tried_")} == {"tried_apart"}


def test_the_changed_module_alone_is_replaced(project):
    finder = Replaced("tried_base", project / "tried_base.py", "VALUE = 3\nFILE = __file__\n")
    assert finder.find_spec("tried_near") is None
    spec = finder.find_spec("tried_base")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.VALUE == 3
    assert str(project / "tried_base.py") == module.FILE


def test_names_that_a_file_may_import(tmp_path):
    (tmp_path / "m.py").write_text("import a.b as c, d\nfrom e import f, g as h\nfrom . import i\n")
    assert trial._imported(str(tmp_path / "m.py")) == {"a.b", "d", "e", "e.f", "e.g"}


# Tests


@pytest.mark.parametrize(
    ("status", "names", "first"),
    [(0, [], ""), (5, [], ""), (1, ["a", "b"], "a"), (2, [], "test_x.py"), (3, ["b"], "b"), (0, ["a"], "")],
)
def test_the_first_of_a_files_failing_tests_is_told(monkeypatch, status, names, first):
    asked = []

    def main(words, plugins):
        asked.append(words)
        (plugin,) = plugins
        plugin.pytest_collectreport(SimpleNamespace(nodeid="collected", failed=False))
        for name in names:
            plugin.pytest_runtest_logreport(SimpleNamespace(nodeid=f"not {name}", failed=False))
            plugin.pytest_runtest_logreport(SimpleNamespace(nodeid=name, failed=True))
        print("said")
        return status

    monkeypatch.setattr(pytest, "main", main)
    assert checks.failing(Path("test_x.py"), "mine") == first
    assert asked[0] == [*checks.ONE_PROCESS, "-m", "mine", "test_x.py"]
    assert checks.failing_quietly(Path("test_x.py")) == (f"{first}\nsaid\n" if first else "")
    assert asked[1][-3:] == ["-m", "not slow", "test_x.py"]


def test_a_file_that_cannot_be_read_fails():
    failures = checks._Failures()
    failures.pytest_collectreport(SimpleNamespace(nodeid="test_x.py", failed=True))
    assert failures.names == ["test_x.py"]


def test_what_a_test_takes_from_the_packages(tmp_path):
    (tmp_path / "test_x.py").write_text(
        "import repdyn.a.b\nimport numpy\nfrom repdyn.c import d, e\nfrom mine import f\nfrom other.repdyn import g\n"
        "def test():\n    from repdyn import h\n"
    )
    found = set(checks._imports(tmp_path / "test_x.py", ["repdyn", "mine"]))
    wanted = {("repdyn.a.b",), ("repdyn.c.d", "repdyn.c:d"), ("repdyn.c.e", "repdyn.c:e"), ("mine.f", "mine:f")}
    assert found == wanted | {("repdyn.h", "repdyn:h")}


def test_files_that_reach_the_fewest_definitions_come_first(tmp_path, monkeypatch):
    reach = {"repdyn.a": ["1", "2", "3"], "repdyn.b:f": ["1"], "repdyn.c": ["1", "2"]}
    asked = []

    def reached(root, outside):
        asked.append((root, outside))
        if root not in reach:
            raise ValueError(root)
        return [("m", name) for name in reach[root]]

    monkeypatch.setattr(checks, "reached", reached)
    tests = [tmp_path / f"test_{name}.py" for name in ("many", "one", "two")]
    for test, line in zip(tests, ("import repdyn.a", "from repdyn.b import f", "import repdyn.c"), strict=True):
        test.write_text(f"{line}\nimport repdyn.gone\n")
    many, one, two = tests
    outside = (("mine", tmp_path),)
    found = checks.reaching_tests(tests, ["repdyn"], outside)
    assert found == {("m", "1"): [one, two, many], ("m", "2"): [two, many], ("m", "3"): [many]}
    assert ("repdyn.b.f", outside) in asked


# Claims of a run


@pytest.fixture
def claims(tmp_path, monkeypatch):
    """A run of three claims: one on a dataset made by changed code, one by changed code itself, one of neither."""
    (tmp_path / "s").mkdir()
    rows = [("on-data", "holds"), ("by-itself", "does not hold"), ("apart", "holds")]
    pd.DataFrame(rows, columns=["id", "verdict"]).to_csv(tmp_path / "s/claims.csv", index=False)
    reads = {"on-data": ["later"], "by-itself": ["other"], "apart": ["other"]}
    made = {
        "first": {"study": "s", "function": "e:first", "inputs": {}},
        "later": {"study": "s", "function": "e:later", "inputs": {"first": "first.nc"}},
        "other": {"study": "s", "function": "e:other", "inputs": {}},
    }
    reach = {"p.e:first": {("m", "f")}, "p.c:by-itself": {("m", "f"), ("m", "g")}}
    world = SimpleNamespace(now=dict(rows), decided=[], remade=[])
    remaker = SimpleNamespace(
        members=lambda name: [made[name]] if name in made else [],
        stored=lambda names: dict.fromkeys(names, "stored"),
        datasets=lambda names: world.remade.append(list(names)) or dict.fromkeys(names, "remade"),
    )
    graph = SimpleNamespace(
        experiments=dict.fromkeys([*made, "of no job"]),
        claims={id: SimpleNamespace(root=f"p.c:{id}") for id in reads},
    )

    def decide(claim, arguments):
        world.decided.append((claim.id, [arguments[name] for name in claim.data]))
        return SimpleNamespace(ledger={"verdict": world.now[claim.id]})

    monkeypatch.setattr(checks, "Remaker", lambda results, study: remaker)
    monkeypatch.setattr(checks, "read_study", lambda study: graph)
    monkeypatch.setattr(checks, "load_modules", lambda study, name: [])
    monkeypatch.setattr(checks, "claims_of", lambda *_: [SimpleNamespace(id=id, data=reads[id]) for id in reads])
    monkeypatch.setattr(checks, "decide_claim", decide)
    monkeypatch.setattr(checks, "package_of", lambda study: "p")
    monkeypatch.setattr(checks, "_reach", lambda root, outside: frozenset(reach.get(root, ())))
    return world


def test_claims_that_a_change_concerns_are_decided_on_data_made_again(claims, tmp_path):
    assert checks.other_verdict("s", tmp_path, ("m", "f")) == ""
    assert claims.remade == [["first", "later"]]
    assert claims.decided == [("on-data", ["remade"]), ("by-itself", ["stored"])]
    claims.decided.clear()
    assert checks.other_verdict("s", tmp_path, ("m", "g")) == ""
    assert claims.remade[1] == []
    assert claims.decided == [("by-itself", ["stored"])]


def test_without_a_change_all_are_decided(claims, tmp_path):
    assert checks.other_verdict("s", tmp_path) == ""
    assert claims.remade == [["first", "later", "other"]]
    assert [id for id, _ in claims.decided] == ["on-data", "by-itself", "apart"]


def test_the_first_claim_with_another_verdict_is_told(claims, tmp_path):
    claims.now |= {"by-itself": "holds", "apart": "does not hold"}
    assert checks.other_verdict("s", tmp_path) == "by-itself"
    claims.now |= {"by-itself": "does not hold"}
    assert checks.other_verdict("s", tmp_path) == "apart"
    assert checks.turned_claim("s", tmp_path, ("m", "f")) == ""


def test_a_claim_that_dies_of_a_change_has_turned(claims, tmp_path):
    del claims.now["on-data"]
    assert checks.turned_claim("s", tmp_path, ("m", "f")) == "s: KeyError"


# The command


def test_a_run_must_have_the_claims_and_come_to_its_verdicts(tmp_path, monkeypatch):
    files = {f"repdyn.{study}.theory.x": Path("x") for study in ("truncation_flow", "leaky_resnets")}
    verdicts = {"leaky_resnets": "", "truncation_flow": ""}
    monkeypatch.setattr(checks, "other_verdict", lambda study, results, outside: verdicts[study])
    (tmp_path / "truncation_flow").mkdir()
    (tmp_path / "truncation_flow/claims.csv").touch()
    missing = r"no finished run of leaky_resnets \(no leaky_resnets/claims.csv\)"
    with pytest.raises(ConfigError, match=missing):
        command._check_results(tmp_path, files)
    (tmp_path / "leaky_resnets").mkdir()
    (tmp_path / "leaky_resnets/claims.csv").touch()
    command._check_results(tmp_path, files)
    verdicts["truncation_flow"] = "tf-x"
    with pytest.raises(ConfigError, match=f"tf-x: unchanged code comes to another verdict than {tmp_path} has"):
        command._check_results(tmp_path, files)


def test_sources_and_folders_of_tests_must_stay_as_they_are(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b/test_x.py").touch()
    folders = command._folders([tmp_path / "a", tmp_path / "b/test_x.py"])
    assert folders == [command.SOURCE / "repdyn", tmp_path / "a", tmp_path / "b"]
