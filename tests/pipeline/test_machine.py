"""Set-up and checks before the first job: paths, the cache of this machine, GPU and images."""

import os
import sys
import urllib.request
from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.conftest import ROOT

from repdyn.base import images
from repdyn.base.errors import ConfigError, DataError
from repdyn.pipeline.config.configuration import load
from repdyn.pipeline.run.machine import checkout, readiness


def test_cache_is_separate_for_each_set_of_versions(monkeypatch, tmp_path):
    parts = set()
    for versions in ({"numpy": "1"}, {"numpy": "2"}):
        monkeypatch.setattr(checkout, "recipe", lambda versions=versions: {"versions": versions})
        monkeypatch.setenv(checkout.CACHE, str(tmp_path))
        checkout.separate_cache()
        part = os.environ[checkout.CACHE]
        assert Path(part).parent == tmp_path
        assert Path(part).is_dir()
        checkout.separate_cache()  # as a cluster's jobs do, which read the workflow again
        assert os.environ[checkout.CACHE] == part
        parts.add(part)
    assert len(parts) == 2


@pytest.mark.parametrize("value", [None, "", "s3://bucket/cache"])
def test_cache_path_that_is_no_folder_is_unchanged(monkeypatch, value):
    monkeypatch.delenv(checkout.CACHE, raising=False)
    if value is not None:
        monkeypatch.setenv(checkout.CACHE, value)
    checkout.separate_cache()
    assert os.environ.get(checkout.CACHE) == value


def test_uncreatable_cache_folder_is_reported(monkeypatch, tmp_path):
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv(checkout.CACHE, str(tmp_path / "taken"))
    with pytest.raises(ConfigError, match=f"{checkout.CACHE}={tmp_path / 'taken'}"):
        checkout.separate_cache()


def test_interpreter_and_checkout_are_first_in_the_path_once(monkeypatch, tmp_path):
    python = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join(["/a", python, "/b"]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/c", "", str(tmp_path)]))
    for _ in range(2):
        checkout.put_first(tmp_path)
        assert os.environ["PATH"].split(os.pathsep) == [python, "/a", "/b"]
        assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(tmp_path), "/c"]
    monkeypatch.delenv("PYTHONPATH")
    checkout.put_first(tmp_path)
    assert os.environ["PYTHONPATH"] == str(tmp_path)


# Readiness


def check(here=True, **settings):
    readiness.check(load([ROOT / "config.yaml"], settings), here=here)


@pytest.fixture
def requests(monkeypatch, tmp_path):
    """Requests of a machine without MNIST in its cache, without a GPU, whose network has only three.example."""
    monkeypatch.setattr(images, "_cache", lambda: tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    tried = []

    def answer(request, timeout):
        tried.append((request.full_url, request.method))
        if "three" not in request.full_url:
            raise OSError("no route to host")
        return nullcontext()

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    return tried


def test_local_cuda_runs_require_a_gpu(requests):
    check()
    check(here=False, run={"device": "cuda"})
    with pytest.raises(DataError, match="cuda"):
        check(run={"device": "cuda"})
    assert requests == []


def test_image_folder_must_contain_the_selected_split(requests, tmp_path):
    for data, message in (
        ({"mnist_folder": "/nowhere"}, "/nowhere.*t10k-images-idx3-ubyte"),
        ({"mnist_folder": str(tmp_path), "split": "train"}, "train-images-idx3-ubyte, train-labels-idx1-ubyte"),
    ):
        with pytest.raises(DataError, match=message):
            check(data={"source": "mnist"} | data)


def test_download_tries_mirrors_in_turn_and_cached_files_need_no_network(requests, tmp_path):
    mirrors = [f"https://{name}.example/mnist/" for name in ("one", "two", "three", "four")]
    check(data={"source": "mnist", "mnist_mirrors": mirrors})
    assert requests == [(f"{mirror}t10k-images-idx3-ubyte.gz", "HEAD") for mirror in mirrors[:3]]
    with pytest.raises(DataError, match=r"one\.example.*two\.example"):
        check(data={"source": "mnist", "mnist_mirrors": mirrors[:2]})
    count = len(requests)
    for name in images.not_downloaded("test"):
        (tmp_path / name).write_text("kept by an earlier download")
    check(data={"source": "mnist", "mnist_mirrors": mirrors[:2]})
    assert len(requests) == count
