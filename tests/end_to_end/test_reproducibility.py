"""Two tiers of reproducibility, each by `repdyn compare`, on a part of the pipeline that takes seconds."""

import platform
import shutil
from pathlib import Path

import pytest
from tests.conftest import SMOKE, copy_checkout, snakemake

from repdyn.__main__ import main
from repdyn.pipeline.ask.compare import compare

pytestmark = pytest.mark.slow
PART = (
    "bn_mean_field/data/exit_times.nc",
    "bn_mean_field/data/formula_audit.nc",
    "bn_decomposed/data/cluster_rows.nc",
    "bn_decomposed/data/orthogonality_gap.nc",
    "truncation_flow/data/general_flow.nc",
)
OTHER_CPU = {
    "OPENBLAS_CORETYPE": "Nehalem",  # kernels of a CPU of 2008, without AVX or fused multiply-add
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4",
    "NUMBA_CPU_NAME": "nehalem",
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
}


def part_of(run: Path, target: Path) -> Path:
    """A results folder with only this part."""
    for name in PART:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(run / "results/smoke" / name, target / name)
    return target


def make(folder: Path, cores: str, *options: str, **run) -> Path:
    """Creates this part in a fresh checkout."""
    copy_checkout(folder)
    targets = [f"results/smoke/{name}" for name in PART]
    done = snakemake(folder, "--cores", cores, "--configfile", SMOKE, *options, "--", *targets, **run)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_identical_on_one_core_in_another_order_and_folder(smoke_run, tmp_path):
    """The finished run was made on two cores; here the jobs run in the opposite order."""
    last_first = [f"results/smoke/{name}" for name in reversed(PART)]
    other = make(tmp_path / "other place", "1", "--prioritize", *last_first)
    first, second = part_of(smoke_run, tmp_path / "a"), part_of(other, tmp_path / "b")
    assert main(["compare", str(first), str(second), "--tier", "identical"]) == 0


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the kernels named here are those of x86 processors")
def test_rounding_with_the_kernels_of_another_cpu(smoke_run, tmp_path):
    other = make(tmp_path / "checkout", "2", variables=OTHER_CPU)
    first, second = part_of(smoke_run, tmp_path / "a"), part_of(other, tmp_path / "b")
    comparison = compare(first, second)
    if not comparison.differing:
        pytest.skip("this CPU has no other kernels to choose: every digest is equal")
    assert comparison.differences("rounding") == [], comparison.deviations
    assert main(["compare", str(first), str(second), "--tier", "rounding"]) == 0
