"""Threads pinned for all tests; one finished run at smoke scale, made once and shared by all tests of results."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"  # before numpy is imported: two workers on two cores

from repdyn.pipeline.run.declare.digests import compiled_code  # noqa: E402
from repdyn.pipeline.versions.fingerprint import SOURCE  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
os.environ["NUMBA_CACHE_DIR"] = str(compiled_code(SOURCE))  # shared with the jobs of the checkouts that tests make
os.environ["NUMBA_CACHE_LOCATOR_CLASSES"] = "repdyn.base.compiling.ByModule"
SMOKE = "workflow/scales/smoke.yaml"
TRAVELS = ("Snakefile", "config.yaml", "workflow", "profiles", "envs", "src", "docs", "README.md")


HANGING = 6 * 3600  # seconds; no test depends on time
LONG = ("test_diverging.py", "test_extremes.py", "test_init.py", "test_reruns.py", "test_types.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Minutes in one test come first, so that no worker is left alone with them in the end."""
    items.sort(key=lambda item: item.path.name not in LONG)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m slow` imports the modules alone that have slow tests, which halves the collection."""
    without = collection_path.suffix == ".py" and "slow" not in collection_path.read_text(encoding="utf-8")
    return True if config.option.markexpr == "slow" and without else None


def copy_checkout(target: Path) -> Path:
    """A copy of everything the pipeline needs, without results."""
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in TRAVELS:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=ignored)
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)
    return target


def snakemake(
    folder: Path,
    *arguments: str,
    prefix: tuple[str, ...] = (),
    python: str = sys.executable,
    variables: dict[str, str] | None = None,
    **run,
) -> subprocess.CompletedProcess:
    """Runs Snakemake in a folder as a user would, output captured; `variables` are set in its environment.

    A GPU is hidden, so that results do not depend on whether the machine has one.
    """
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "OMP_NUM_THREADS")}
    environment |= {"CUDA_VISIBLE_DEVICES": ""} | (variables or {})
    command = [*prefix, python, "-m", "snakemake", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=HANGING, **run)


@pytest.fixture(scope="session")
def smoke_run(tmp_path_factory) -> Path:
    """A checkout with a finished smoke run, made once for all workers; not to be changed."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    folder = shared / "smoke" / "checkout"
    with (shared / "smoke.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "results/smoke/manifest.json").is_file():
            shutil.rmtree(folder, ignore_errors=True)
            copy_checkout(folder)
            done = snakemake(folder, "--cores", "2", "--configfile", SMOKE, "--", "all")
            assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def finished(smoke_run, tmp_path) -> Path:
    """A copy of the finished run with its modification times, which a test may change."""
    folder = tmp_path / "checkout"
    shutil.copytree(smoke_run, folder, copy_function=shutil.copy2, symlinks=True)
    return folder


@pytest.fixture(scope="session")
def wheel_source(tmp_path_factory) -> Path:
    """A copy of all that a wheel is built from, without results."""
    from repdyn.pipeline.new import folder as to_write

    folder = tmp_path_factory.mktemp("wheel") / "source"
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", *to_write.files()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def site(wheel_source) -> Path:
    """A folder with the package as a wheel installs it."""
    folder = wheel_source.with_name("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), str(wheel_source)]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
