"""What a job runs on, and its numbers depend on: the checkout, package versions, processor, kernels, GPU."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "numpy",
    "scipy",
    "xarray",
    "netCDF4",
    "pandas",
    "matplotlib",
    "scikit-learn",
    "torch",
    "numba",
    "pydantic",
    "snakemake",
)
WITHOUT_NUMBERS = ("python", "pydantic", "snakemake")  # recorded, but no result depends on their versions
MISSING = "not installed"


def numerics(device: str) -> dict[str, object]:
    """The machine that the numbers of a trial depend on; the trial itself records the versions of packages."""
    return {
        "machine": platform.machine(),
        "processor": processor(),
        "kernels": kernels(),
        "python": platform.python_version_tuple()[:2],
        "device": device,
        "gpu": gpu_model(device),
    }


def gpu_model(device: str) -> str:
    """The GPU model of a device, empty for a CPU: other models round differently."""
    if not device.startswith("cuda"):
        return ""
    import torch

    return str(torch.cuda.get_device_name(device))


def versions() -> dict[str, str]:
    """Versions of Python and of the packages whose numerics or drawing results depend on."""
    return {"python": platform.python_version()} | {name: version_of(name) for name in PACKAGES}


def version_of(package: str) -> str:
    """Version of a package, or `MISSING`."""
    try:
        return version(package)
    except PackageNotFoundError:
        return MISSING


def kernels() -> str:
    """The kernels that the environment names to OpenBLAS."""
    return os.environ.get("OPENBLAS_CORETYPE", "chosen by OpenBLAS")


def processor() -> str:
    """The processor's model name, as far as the system reports it."""
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")),
        "unknown",
    )


def put_first(source: Path) -> None:
    """Makes `python -m repdyn` in every job use this interpreter and the package under `source`."""
    _put_first("PYTHONPATH", str(source))
    _put_first("PATH", str(Path(sys.executable).parent))


def _put_first(name: str, folder: str) -> None:
    others = [part for part in os.environ.get(name, "").split(os.pathsep) if part and part != folder]
    os.environ[name] = os.pathsep.join([folder, *others])
