"""The tracer: what runs is noted under its definition, what only an import runs is not; held against a closure."""

import json
import sys
import threading
from textwrap import dedent

import pytest
from audits import tracing
from audits.tracing import executed_definitions, outside_closure

from repdyn.base import verdicts
from repdyn.base.streams import Stream

FILES = {
    "__init__": "",
    "job": """
        import functools

        from repdyn_traced import settings, tables

        def called_by_import(x):
            return x

        TABLE = [called_by_import(n) for n in range(3)]
        doubled = lambda x: 2 * x

        class Model:
            rate = called_by_import(1)

            @property
            def twice(self):
                return self.step(2)

            def step(self, x):
                return [doubled(y) for y in range(x)]

        @functools.cache
        def run(x):
            def inner():
                return hidden(x)

            return inner(), Model().twice, settings.Run().width, settings.limit()

        def hidden(x):
            from repdyn_traced import late

            return getattr(tables, "look" + "up")(x)

        def idle():
            return 1
    """,
    "tables": "def lookup(x): return x\ndef other(x): return x\n",
    "late": "from repdyn_traced.tables import other\nVALUE = other(1)\n",
    "settings": """
        class Run:
            def __init__(self):
                self.width = 3

        def limit():
            return 5
    """,
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package named as ours is, in a folder of its own, imported as `repdyn_traced`."""
    folder = tmp_path / "repdyn"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(dedent(text).replace("repdyn_traced", "repdyn"))
    kept = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "repdyn"}
    for name in kept:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == "repdyn"]:
        del sys.modules[name]
    sys.modules.update(kept)


WANTED = {
    *(("repdyn.job", name) for name in ("run", "hidden", "Model", "doubled")),
    ("repdyn.tables", "lookup"),
    ("repdyn.settings", "Run"),
    ("repdyn.settings", "limit"),
}


def test_what_a_job_executes_is_noted_but_not_what_imports_do(package):
    with executed_definitions(package) as executed:
        from repdyn import job

        assert executed == set()
        job.run(2)
    assert executed == WANTED
    job.idle()
    assert executed == WANTED, "nothing is noted after the block"


def test_executed_definitions_are_held_against_the_closure(package):
    from repdyn import job

    with executed_definitions(package) as executed:
        job.run(2)
    assert outside_closure(executed, ["repdyn.job:run"], package) == []
    assert outside_closure(executed, ["repdyn.job:idle"], package) == sorted(WANTED - {("repdyn.settings", "Run")})


def test_a_definition_that_nobody_names_is_outside(package):
    from repdyn import job

    job.Model.step = lambda self, x: job.idle()
    with executed_definitions(package) as executed:
        job.run(2)
    assert outside_closure(executed, ["repdyn.job:run"], package) == [("repdyn.job", "idle")]


def test_threads_are_followed_and_the_profiler_is_put_back():
    before = sys.getprofile()
    with executed_definitions() as executed:
        thread = threading.Thread(target=lambda: Stream(1).child("a").integer())
        thread.start()
        thread.join()
    assert executed == {("repdyn.base.streams", "Stream")}
    assert sys.getprofile() is before


def test_a_function_of_the_real_package_stays_inside_its_closure():
    with executed_definitions() as executed:
        verdicts.Verdict.from_tests(verdicts.deviation([0.1], 1.0, expected="x", reason="y"))
    assert ("repdyn.base.verdicts", "_within_tolerance") in executed
    roots = ["repdyn.base.verdicts:Verdict", "repdyn.base.verdicts:deviation"]
    assert outside_closure(executed, roots) == []
    assert ("repdyn.base.verdicts", "deviation") in outside_closure(executed, roots[:1])


def test_a_command_is_traced_into_a_file(tmp_path, capsys):
    assert tracing.main([str(tmp_path / "executed.json"), "--help"]) == 0
    executed = json.loads((tmp_path / "executed.json").read_text())
    assert ["repdyn.__main__", "main"] in executed
    assert ["repdyn.__main__", "_overview"] in executed
