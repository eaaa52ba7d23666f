"""Devices and threads: decided once, reported if missing."""

import os
import sys
from types import SimpleNamespace

import pytest

from repdyn.base.devices import THREAD_VARIABLES, choose_device, pin_threads
from repdyn.base.errors import DataError


@pytest.fixture
def torch_with(monkeypatch):
    """Replaces the installed torch by one with or without a usable GPU."""

    def install(usable):
        flags = {"cuda": SimpleNamespace(matmul=SimpleNamespace(allow_tf32=True))}
        flags["cudnn"] = SimpleNamespace(allow_tf32=True, deterministic=False)
        cuda, backends = SimpleNamespace(is_available=lambda: usable), SimpleNamespace(**flags)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, backends=backends))
        return backends

    return install


@pytest.mark.parametrize(
    ("wanted", "usable", "device"),
    [
        ("auto", True, "cuda"),
        ("auto", False, "cpu"),
        ("cuda", True, "cuda"),
        ("cpu", True, "cpu"),
        ("cpu", False, "cpu"),
    ],
)
def test_device_depends_on_setting_and_machine(torch_with, wanted, usable, device):
    torch_with(usable)
    assert choose_device(wanted) == device


def test_gpu_computes_in_full_precision(torch_with):
    """cuDNN's convolutions drop 13 of 24 bits by default, which no CPU does."""
    backends = torch_with(True)
    choose_device("auto")
    assert (backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32, backends.cudnn.deterministic) == (
        False,
        False,
        True,
    )


@pytest.mark.parametrize("wanted", ["gpu", "cuda:1", "", None])
def test_unknown_device_error_lists_the_choices(torch_with, wanted):
    torch_with(True)
    with pytest.raises(DataError, match=f"run.device.*{wanted!r}"):
        choose_device(wanted)


def test_missing_gpu_is_an_error_when_required(torch_with):
    torch_with(False)
    with pytest.raises(DataError, match=r"run\.device.*cuda"):
        choose_device("cuda")


def test_cpu_does_not_import_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # an import of torch would now fail
    assert choose_device("cpu") == "cpu"


def test_threads_are_pinned_for_every_library(monkeypatch):
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "7")
    pin_threads(2)
    assert {os.environ[name] for name in THREAD_VARIABLES} == {"2"}
    assert {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"} <= set(THREAD_VARIABLES)
