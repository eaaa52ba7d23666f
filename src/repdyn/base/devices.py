"""How a process computes: its device, decided once and recorded in the dataset, its threads, its garbage collector."""

from __future__ import annotations

import atexit
import gc
import os
from types import ModuleType

from repdyn.base.errors import DataError

DEVICES = ("auto", "cpu", "cuda")
SELDOM = 100_000  # new objects between two garbage collections; Python's 700 suit programs with few imports

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def pin_threads(count: int) -> None:
    """Fixes the number of threads of numerical libraries; call it before numpy or torch is imported.

    The number belongs to a job's environment: reductions split over threads round differently, so it must not depend on
    `--cores`.
    """
    for name in THREAD_VARIABLES:
        os.environ[name] = str(count)


def choose_device(wanted: str) -> str:
    """Name of the torch device for `wanted`: "cpu", "cuda", or "auto" (CUDA where there is a usable one).

    Raises:
        DataError: "cuda" was requested but torch finds none, or `wanted` is none of the three.
    """
    if wanted not in DEVICES:
        raise DataError(f"run.device: {wanted!r} is not one of {', '.join(DEVICES)}")
    if wanted == "cpu":
        return "cpu"
    import torch

    if torch.cuda.is_available():
        _full_precision(torch)
        return "cuda"
    if wanted == "cuda":
        raise DataError("run.device: cuda was requested but torch finds no CUDA device; use auto or cpu")
    return "cpu"


def _full_precision(torch: ModuleType) -> None:
    """Makes single-precision products and convolutions use all 24 bits; cuDNN's convolutions use 11 by default.

    Also selects cuDNN's deterministic algorithms, so that runs are reproducible.
    """
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True


def collect_seldom() -> None:
    """Collects garbage less often, and not at all when the process ends; for programs, never on import.

    Imports create hundreds of thousands of permanent objects; each collection, also those at exit, would visit all of
    them, which takes a third of a short job and half of an empty run.
    """
    gc.set_threshold(SELDOM)
    atexit.register(gc.freeze)
