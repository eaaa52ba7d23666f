"""What a workflow sets and checks before its first job: paths, GPU and images; on what machine trials depend."""

import os
import platform
import sys
import urllib.request
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.conftest import ROOT

from repdyn.base import images
from repdyn.base.errors import DataError
from repdyn.pipeline.config.configuration import load
from repdyn.pipeline.run.machine import environment, readiness


def test_interpreter_and_checkout_are_first_in_the_path_once(monkeypatch, tmp_path):
    python = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join(["/a", python, "/b"]))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/c", "", str(tmp_path)]))
    for _ in range(2):
        environment.put_first(tmp_path)
        assert os.environ["PATH"].split(os.pathsep) == [python, "/a", "/b"]
        assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(tmp_path), "/c"]
    monkeypatch.delenv("PYTHONPATH")
    environment.put_first(tmp_path)
    assert os.environ["PYTHONPATH"] == str(tmp_path)


def test_numbers_depend_on_machine_kernels_python_device_and_the_model_of_a_gpu(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    monkeypatch.setattr(environment, "processor", lambda: "a CPU")
    cpu = {"machine": platform.machine(), "processor": "a CPU", "kernels": "Nehalem", "device": "cpu", "gpu": ""}
    python = tuple(platform.python_version().split(".")[:2])
    assert environment.numerics("cpu") == cpu | {"python": python}
    torch = SimpleNamespace(cuda=SimpleNamespace(get_device_name=lambda device: f"model of {device}"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    devices = ("cuda", "cuda:2", "cpu", "mps")
    assert [environment.gpu_model(device) for device in devices] == ["model of cuda", "model of cuda:2", "", ""]
    assert environment.numerics("cuda:1")["gpu"] == "model of cuda:1"


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
