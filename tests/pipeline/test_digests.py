"""Versions of code: what they depend on, how they are remembered; where compiled functions are cached."""

import json
import os
import subprocess
import sys

import pytest
from tests.conftest import ROOT

from repdyn.base.compiling import KEPT_IN
from repdyn.pipeline.run.declare.digests import CodeVersions, compiled_code
from repdyn.pipeline.versions.fingerprint import code_version


@pytest.fixture
def module(tmp_path):
    """A module of three functions, in the sources of a package."""
    module = tmp_path / "src/repdyn/module.py"
    module.parent.mkdir(parents=True)
    module.write_text("".join(f"def {name}():\n    return '{name}'\n" for name in "abc"))
    return module


def test_versions_of_one_function_and_of_several_together_are_remembered(module, tmp_path):
    stored = tmp_path / "versions.json"
    roots = [("b",), ("a",), ("b", "c"), ("a", "c")]
    roots = [tuple(f"repdyn.module:{name}" for name in names) for names in roots]
    versions = CodeVersions(tmp_path / "src", stored)
    found = [versions.of(*names) for names in roots]
    assert found == [code_version(*names, source=tmp_path / "src") for names in roots]
    assert len(set(found)) == 4
    versions.save()
    wanted = {"state": versions.state, "versions": dict(zip(map(" ".join, roots), found, strict=True))}
    assert json.loads(stored.read_text()) == wanted
    stored.write_text(stored.read_text().replace(found[0], "remembered"))
    again = CodeVersions(tmp_path / "src", stored)
    assert [again.of(*names) for names in roots] == ["remembered", *found[1:]]
    module.write_text("def b():\n    return 2\n")
    assert CodeVersions(tmp_path / "src", stored).of("repdyn.module:b") != "remembered"


def test_unwritable_version_store_is_no_error(module, tmp_path):
    (tmp_path / "file").write_text("where a folder is wanted")
    versions = CodeVersions(tmp_path / "src", tmp_path / "file/versions.json")
    version = versions.of("repdyn.module:a")
    versions.save()
    assert CodeVersions(tmp_path / "src", tmp_path / "file/versions.json").of("repdyn.module:a") == version


def test_edit_of_any_package_changes_the_state_of_the_sources(tmp_path):
    """Of this package and of three others; other files do not matter."""
    folders = {"repdyn": "src/repdyn", "z.lab": "z/lab", "mine": "my/mine", "last": "last"}
    for package, folder in folders.items():
        (tmp_path / folder / "deep").mkdir(parents=True)
        (tmp_path / folder / "deep/one.py").write_text(f"A = {package!r}")
    outside = tuple((package, tmp_path / folder) for package, folder in folders.items() if package != "repdyn")

    def state(outside=outside):
        return CodeVersions(tmp_path / "src", tmp_path / "versions.json", outside).state

    states = [state(), state(outside[:2]), state(()), state((("other", outside[0][1]), *outside[1:]))]
    for folder in folders.values():
        file = tmp_path / folder / "deep/one.py"
        file.write_text(file.read_text() + "\n")
        states.append(state())
        states.append(file.rename(file.with_name("two.py")) and state())
        file.with_name("notes.txt").write_text("no code")
        assert state() == states[-1]
    assert len(set(states)) == len(states)


CALL = "from repdyn.leaky_resnets.theory.compiled_rates import rates; import numpy as np; a = np.ones((2, 2));"
SHOW = CALL + "r = rates(a, a, 1.0, True); print(float(r.sum()), sum(rates.stats.cache_hits.values()))"


def test_compiled_functions_are_cached_per_state_of_the_sources_of_a_checkout(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    source = tmp_path / "src"
    (source / "repdyn").mkdir(parents=True)
    module = source / "repdyn" / "one.py"
    module.write_text("A = 1\n")
    assert compiled_code(source) is None  # no checkout
    assert not (tmp_path / ".cache").exists()
    (tmp_path / "Snakefile").touch()
    before = compiled_code(source)
    assert before.is_dir()
    assert before.parent == tmp_path / ".cache" / "numba"
    assert compiled_code(source) == before
    module.write_text("A = 2\n")
    assert compiled_code(source) != before
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "named"))
    assert compiled_code(source).parent == tmp_path / "named"


def test_compiled_functions_are_not_cached_where_no_folder_can_be_created(tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "src" / "repdyn").mkdir(parents=True)
    (tmp_path / "Snakefile").touch()
    (tmp_path / ".cache").write_text("a file in its place")
    assert compiled_code(tmp_path / "src") is None


@pytest.mark.slow
def test_cached_code_gives_the_same_numbers(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    environment.pop(KEPT_IN, None)
    plain, first, again = (
        subprocess.run(
            [sys.executable, "-c", SHOW], env=environment | cache, capture_output=True, text=True, check=True
        )
        for cache in ({}, {KEPT_IN: str(tmp_path)}, {KEPT_IN: str(tmp_path)})
    )
    assert {process.stdout.split()[0] for process in (plain, first, again)} == {plain.stdout.split()[0]}
    assert [int(process.stdout.split()[1]) for process in (plain, first, again)] == [0, 0, 1]
