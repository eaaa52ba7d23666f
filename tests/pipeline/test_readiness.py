"""What a run needs is looked at before its first job."""

import urllib.request
from contextlib import nullcontext

import pytest
from tests.conftest import ROOT

from repdyn.base import images
from repdyn.base.errors import DataError
from repdyn.pipeline.config.configuration import load
from repdyn.pipeline.run.machine import readiness


def check(here=True, **settings):
    readiness.check(load([ROOT / "config.yaml"], settings), here=here)


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch, tmp_path):
    """No MNIST in the cache folder, no GPU, no network."""
    monkeypatch.setattr(images, "_cache", lambda: tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    tried = []

    def refuse(request, timeout):
        assert timeout == 10
        tried.append((request.full_url, request.method))
        raise OSError("no route to host")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    return tried


def test_the_default_run_needs_nothing(empty_cache):
    check()
    assert empty_cache == []


def test_cuda_without_a_gpu_is_refused_here_and_not_on_a_cluster():
    with pytest.raises(DataError, match="cuda was asked for but torch finds no CUDA device"):
        check(run={"device": "cuda"})
    check(here=False, run={"device": "cuda"})


def test_a_missing_folder_is_refused():
    with pytest.raises(DataError, match=r"/nowhere does not exist .*: put t10k-images-idx3-ubyte"):
        check(data={"source": "mnist", "mnist_folder": "/nowhere"})


def test_a_folder_is_asked_for_the_split_that_is_read(tmp_path):
    with pytest.raises(DataError, match="put train-images-idx3-ubyte, train-labels-idx1-ubyte there"):
        check(data={"source": "mnist", "mnist_folder": str(tmp_path), "split": "train"})


def test_a_download_without_a_network_is_refused_after_all_mirrors(empty_cache, tmp_path):
    mirrors = ["https://one.example/mnist/", "https://two.example"]
    data = {"source": "mnist", "mnist_mirrors": mirrors}
    with pytest.raises(DataError, match=r"MNIST cannot be downloaded .*one.example.*no route to host.*two.example"):
        check(data=data)
    file = "t10k-images-idx3-ubyte.gz"
    assert empty_cache == [(f"https://one.example/mnist/{file}", "HEAD"), (f"https://two.example/{file}", "HEAD")]
    for name in images.not_downloaded("test"):
        (tmp_path / name).write_text("kept by an earlier download")
    check(data=data)
    assert len(empty_cache) == 2, "what is in the cache needs no network"


def test_the_first_mirror_that_answers_is_enough(monkeypatch):
    tried = []

    def answer(request, timeout):
        tried.append(request.full_url)
        if "three" not in request.full_url:
            raise OSError("no route to host")
        return nullcontext()

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    check(
        data={
            "source": "mnist",
            "mnist_mirrors": [f"https://{name}.example" for name in ("one", "two", "three", "four")],
        }
    )
    assert [url.split("/")[2] for url in tried] == ["one.example", "two.example", "three.example"]
