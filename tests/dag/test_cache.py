"""Snakemake's between-run cache: hits after results are deleted, misses after an edit, never another variant's file."""

import shutil
from pathlib import Path

import pytest
from tests.conftest import SMOKE, copy_checkout, snakemake

pytestmark = pytest.mark.slow
RATES = "{bn: [0.1], default: [0.1], he: [0.1]}"
TRAINING = f"{{depths: [1], epochs: 5, rank_points: 64, rates: {RATES}, seeds: 2, width: 16}}"
DATA = "results/{run}/bn_decomposed/data"
BN, HE = "training/bn.nc", "training/he.nc"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return copy_checkout(tmp_path_factory.mktemp("cached") / "checkout")


@pytest.fixture(scope="module")
def cached(checkout):
    """Results of a run whose files were made and put into the cache: two variants of a training."""
    run(checkout, "first", BN, HE)
    assert ran(checkout, "first") == {"images", "training-bn", "training-he"}
    assert (folder(checkout, "first") / BN).is_symlink()
    return {name: (folder(checkout, "first") / name).read_bytes() for name in (BN, HE)}


def folder(checkout, name) -> Path:
    return checkout / DATA.format(run=name)


def run(checkout, name, *files, training=TRAINING) -> str:
    """Creates files of a run with the cache; returns Snakemake's output."""
    config = [f"run={{name: {name}}}", f"bn_decomposed={{training: {training}}}"]
    cache = checkout.parent / "cache"
    cache.mkdir(exist_ok=True)
    options = ["--cache", "--cores", "2", "--configfile", SMOKE, "--config", *config]
    targets = [f"{DATA.format(run=name)}/{file}" for file in files]
    done = snakemake(checkout, *options, "--", *targets, variables={"SNAKEMAKE_OUTPUT_CACHE": str(cache)})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def ran(checkout, name) -> set[str]:
    """Jobs of a run that ran, rather than being fetched from the cache."""
    return {path.name.removesuffix(".log.cost.json") for path in (checkout / "logs" / name).rglob("*.cost.json")}


def test_cache_hit_in_a_run_with_another_name(checkout, cached):
    """And each variant gets its own file."""
    for name in ("results", ".snakemake", "logs"):
        shutil.rmtree(checkout / name)
    run(checkout, "second", BN, HE)
    assert ran(checkout, "second") <= {"images"}
    assert cached[BN] != cached[HE]
    assert {name: (folder(checkout, "second") / name).read_bytes() for name in cached} == cached


def test_cache_miss_after_a_changed_setting(checkout, cached):
    run(checkout, "wider", HE, training=TRAINING.replace("width: 16", "width: 17"))
    assert "training-he" in ran(checkout, "wider")
    assert (folder(checkout, "wider") / HE).read_bytes() != cached[HE]


def test_cache_miss_after_an_edit_of_imported_code(checkout, cached):
    path = checkout / "src/repdyn/bn_decomposed/methods/networks.py"
    before = path.read_text()
    assert "MEASURED_EVERY = 5" in before
    path.write_text(before.replace("MEASURED_EVERY = 5", "MEASURED_EVERY = 1"))
    try:
        run(checkout, "edited", HE)
    finally:
        path.write_text(before)
    assert "training-he" in ran(checkout, "edited")
    assert (folder(checkout, "edited") / HE).read_bytes() != cached[HE]
