"""Snakemake's between-run cache: hits after results are gone, misses after an edit, never another variant's file."""

import shutil
from pathlib import Path

import pytest
from tests.conftest import SMOKE, copy_checkout, snakemake

pytestmark = pytest.mark.slow
RATES = "{bn: [0.1], default: [0.1], he: [0.1]}"
TRAINING = f"{{depths: [1], epochs: 5, rank_points: 64, rates: {RATES}, seeds: 2, width: 16}}"
DATA = "results/{run}/bn_decomposed/data"
BN, HE, SEVERAL = "training/bn.nc", "training/he.nc", "cluster_rows.nc"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return copy_checkout(tmp_path_factory.mktemp("cached") / "checkout")


@pytest.fixture(scope="module")
def cached(checkout):
    """A run whose results were made and kept in the cache: two variants of a training, and a job with several files."""
    run(checkout, "first", BN, HE, SEVERAL)
    assert ran(checkout, "first") == {"images", "training-bn", "training-he", "simplified_model"}
    return {name: (folder(checkout, "first") / name).read_bytes() for name in (BN, HE, SEVERAL)}


def folder(checkout, name) -> Path:
    return checkout / DATA.format(run=name)


def run(checkout, name, *files, training=TRAINING) -> str:
    """Makes files of a run with the cache; what Snakemake said."""
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


def test_the_variants_are_in_the_cache_as_what_they_are(checkout, cached):
    assert cached[BN] != cached[HE]
    assert (folder(checkout, "first") / BN).is_symlink()


def test_a_hit_after_all_results_are_deleted(checkout, cached):
    shutil.rmtree(checkout / "results")
    shutil.rmtree(checkout / ".snakemake")
    shutil.rmtree(checkout / "logs")
    output = run(checkout, "first", BN, HE, SEVERAL)
    assert ran(checkout, "first") <= {"images"}
    assert "Symlinking output file" in output
    assert {name: (folder(checkout, "first") / name).read_bytes() for name in cached} == cached


def test_a_hit_for_another_run_with_equal_settings(checkout, cached):
    run(checkout, "second", HE)
    assert (folder(checkout, "second") / HE).read_bytes() == cached[HE]
    assert ran(checkout, "second") <= {"images"}


def test_a_miss_after_a_setting_is_changed(checkout, cached):
    run(checkout, "wider", HE, training=TRAINING.replace("width: 16", "width: 17"))
    assert "training-he" in ran(checkout, "wider")
    assert (folder(checkout, "wider") / HE).read_bytes() != cached[HE]


def test_a_miss_after_an_edit_of_imported_code(checkout, cached):
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
