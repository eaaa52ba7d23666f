"""Which device a computation runs on, decided once and recorded in the dataset."""

from __future__ import annotations

import os
from types import ModuleType

from repdyn.base.errors import DataError

DEVICES = ("auto", "cpu", "cuda")

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def pin_threads(count: int) -> None:
    """Fixes the number of threads of numerical libraries; call it before numpy or torch is imported.

    The number is part of a job's recipe: reductions split over threads round differently, so it must not follow
    what `--cores` happens to leave to the job.
    """
    for name in THREAD_VARIABLES:
        os.environ[name] = str(count)


def choose_device(wanted: str) -> str:
    """Name of the torch device for `wanted`: "cpu", "cuda", or "auto" (CUDA where there is a usable one).

    Raises:
        DataError: "cuda" was asked for and torch finds none, or `wanted` is none of the three.
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
        raise DataError("run.device: cuda was asked for but torch finds no CUDA device; use auto or cpu")
    return "cpu"


def _full_precision(torch: ModuleType) -> None:
    """Products and convolutions of single precision in all its 24 bits; cuDNN's convolutions keep 11 unless told.

    And cuDNN's algorithms are those whose sums have one order, so that a run repeats itself.
    """
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
