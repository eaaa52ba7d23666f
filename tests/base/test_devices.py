"""Devices and threads: decided once, named when they are not there."""

import os
import sys
from types import SimpleNamespace

import pytest

from repdyn.base.devices import THREAD_VARIABLES, choose_device, pin_threads
from repdyn.base.errors import DataError


@pytest.fixture
def torch_with(monkeypatch):
    """Puts a torch with or without a usable GPU in place of the installed one."""

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
def test_the_device_follows_wish_and_machine(torch_with, wanted, usable, device):
    torch_with(usable)
    assert choose_device(wanted) == device


def test_a_gpu_computes_in_full_precision(torch_with):
    """cuDNN's convolutions drop 13 of 24 bits unless told, which no CPU does."""
    backends = torch_with(True)
    choose_device("auto")
    assert (backends.cuda.matmul.allow_tf32, backends.cudnn.allow_tf32, backends.cudnn.deterministic) == (
        False,
        False,
        True,
    )


def test_the_flags_of_the_stand_in_are_those_of_torch():
    from torch import backends

    assert isinstance(backends.cuda.matmul.allow_tf32, bool)
    assert isinstance(backends.cudnn.allow_tf32, bool)
    assert isinstance(backends.cudnn.deterministic, bool)


@pytest.mark.parametrize("wanted", ["gpu", "cuda:1", "", None])
def test_an_unknown_device_is_refused_with_the_choice(torch_with, wanted):
    torch_with(True)
    with pytest.raises(DataError) as caught:
        choose_device(wanted)
    assert str(caught.value) == f"run.device: {wanted!r} is not one of auto, cpu, cuda"


def test_a_job_for_a_gpu_stops_in_one_line_where_there_is_none(tmp_path, monkeypatch, capsys):
    import torch
    from tests.pipeline import jobs_for_tests as jobs

    from repdyn.__main__ import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    file = jobs.write(tmp_path, jobs.gap(device="cuda"))
    assert main(["run", str(file)]) == 1
    message = "error: run.device: cuda was asked for but torch finds no CUDA device; use auto or cpu\n"
    assert capsys.readouterr().err == message
    assert not list(tmp_path.rglob("*.nc"))


def test_a_missing_gpu_is_named_when_it_was_asked_for(torch_with):
    torch_with(False)
    with pytest.raises(DataError, match="cuda was asked for but torch finds no CUDA device; use auto or cpu"):
        choose_device("cuda")


def test_the_cpu_needs_no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # an import of torch would now fail
    assert choose_device("cpu") == "cpu"


def test_threads_are_pinned_for_every_library(monkeypatch):
    for name in THREAD_VARIABLES:
        monkeypatch.setenv(name, "7")
    pin_threads(2)
    assert {os.environ[name] for name in THREAD_VARIABLES} == {"2"}
    assert {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"} <= set(THREAD_VARIABLES)
