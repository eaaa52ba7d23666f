"""What a workflow sets before its first job: this checkout's code in every job, a part of the cache of its own."""

import os
import sys
from pathlib import Path

import pytest

from repdyn.base.errors import ConfigError
from repdyn.pipeline.run.machine import checkout


def test_each_lock_and_machine_has_its_part(monkeypatch, tmp_path):
    parts = set()
    for versions in ({"numpy": "1"}, {"numpy": "2"}):
        monkeypatch.setattr(checkout, "recipe", lambda versions=versions: {"versions": versions})
        monkeypatch.setenv("SNAKEMAKE_OUTPUT_CACHE", str(tmp_path))
        checkout.separate_cache()
        part = Path(os.environ["SNAKEMAKE_OUTPUT_CACHE"])
        assert part.is_dir()
        assert part.parent == tmp_path
        parts.add(part)
    assert len(parts) == 2


@pytest.mark.parametrize("value", [None, "", "s3://bucket/cache"])
def test_without_a_folder_nothing_is_separated(monkeypatch, value):
    monkeypatch.delenv("SNAKEMAKE_OUTPUT_CACHE", raising=False)
    if value is not None:
        monkeypatch.setenv("SNAKEMAKE_OUTPUT_CACHE", value)
    checkout.separate_cache()
    assert os.environ.get("SNAKEMAKE_OUTPUT_CACHE") == value


def test_what_is_separate_already_stays(monkeypatch, tmp_path):
    monkeypatch.setenv(checkout.CACHE, str(tmp_path))
    checkout.separate_cache()
    before = os.environ[checkout.CACHE]
    checkout.separate_cache()  # as a cluster's jobs do, which read the workflow again
    assert os.environ[checkout.CACHE] == before


def test_this_interpreter_and_this_checkout_come_first_and_once(monkeypatch, tmp_path):
    python = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join(["/a", python, "/b"]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/c", "", str(tmp_path)]))
    for _ in range(2):
        checkout.put_first(tmp_path)
        assert os.environ["PATH"].split(os.pathsep) == [python, "/a", "/b"]
        assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(tmp_path), "/c"]


def test_without_a_path_the_checkout_is_all_of_it(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    checkout.put_first(tmp_path)
    assert os.environ["PYTHONPATH"] == str(tmp_path)


def test_a_cache_that_cannot_be_made_is_named(monkeypatch, tmp_path):
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv(checkout.CACHE, str(tmp_path / "taken"))
    with pytest.raises(ConfigError) as caught:
        checkout.separate_cache()
    assert str(caught.value) == (
        f"SNAKEMAKE_OUTPUT_CACHE={tmp_path / 'taken'}: no folder can be made there (Not a directory); name another"
    )
