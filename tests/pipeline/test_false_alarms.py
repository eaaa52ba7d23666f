"""Counting false alarms over seeds: which data are recomputed, what is counted, rates that are too high."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.pipeline import jobs_for_tests

from repdyn.base import datasets
from repdyn.base.verdicts import UNDECIDED
from repdyn.pipeline.ask import false_alarms
from repdyn.pipeline.ask.false_alarms import Remaker

STUDY, RUN_SEED = "x_study", 5
COSTS = {"loss": 100.0, "slopes": 1.0, "training/bn": 2.0, "training/he": 2.5, "training/default": 3.0, "mean": 1.0}
COSTS |= {"joint": 4.0, "training_more": 9.0}


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """A run with a job per dataset: slopes from the loss, the loss from the images, a mean over variants, all joint.

    Each of two studies has these; rerun jobs are listed by file and seed.
    """
    run = tmp_path / "results/mine"
    datasets.write(jobs_for_tests.images(), run / jobs_for_tests.IMAGES)
    for study in (STUDY, "a_study"):
        variants = {name: f"{study}/data/training/{name}.nc" for name in ("bn", "default", "he")}
        inputs = {"slopes": {"loss": f"{study}/data/loss.nc"}, "mean": {"training": variants}}
        inputs["joint"] = {name: f"{study}/data/{name}.nc" for name in ("mean", "slopes")} | {"training": variants}
        for name, cost in COSTS.items():
            file = f"{study}/data/{name}.nc"
            reads = inputs.get(name, {"images": jobs_for_tests.IMAGES} if name == "loss" else {})
            member = {"study": study, "seed": RUN_SEED, "inputs": reads, "outputs": [file]}
            job = {"kind": "simulate", "members": [member]}
            record = {
                "job": job,
                "outputs": {f"results/mine/{file}": "digest"},
                "file_cpu_seconds": {f"results/mine/{file}": cost},
            }
            log = tmp_path / f"logs/mine/{study}/{name}.log.cost.json"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(json.dumps(record))
    ran = []

    def simulated(member, folder, checkpoints):
        inputs = false_alarms.members.read_inputs(member, folder)
        ran.append((member["outputs"][0], member["seed"]))
        datasets.write(jobs_for_tests.images(2 + len(inputs)), folder / member["outputs"][0])

    monkeypatch.setattr(false_alarms.simulate, "run", simulated)
    return SimpleNamespace(remaker=Remaker(run, STUDY), ran=ran, root=run)


def test_dataset_is_recomputed_with_its_inputs_once_per_seed(finished):
    assert list(finished.remaker.datasets(["slopes", "mean", "loss"], 3)) == ["slopes", "mean", "loss"]
    files = ("loss", "slopes", "training/bn", "training/default", "training/he", "mean")
    assert finished.ran == [(f"{STUDY}/data/{name}.nc", 3) for name in files]
    assert list(finished.remaker.datasets(["training"], 3)["training"]) == ["bn", "default", "he"]


def test_recorded_seconds_count_inputs_and_variants_once(finished):
    wanted = {"loss": 100, "slopes": 101, "training": 7.5, "mean": 8.5, "joint": 113.5, "elsewhere": float("inf")}
    assert {name: finished.remaker.seconds([name]) for name in wanted} == wanted
    assert finished.remaker.seconds(["training", "mean", "slopes"]) == 109.5


@pytest.mark.parametrize(
    ("rate", "refuted", "compatible"), [(0.001, 0, True), (0.001, 1, True), (0.001, 4, False), (0.5, 0, True)]
)
def test_more_refutations_than_the_rate_allows_are_found(rate, refuted, compatible):
    """Binomial(200, .001): P(>= 1) = .18, P(>= 4) = 5e-5; a rate is an upper limit."""
    counts = Counter({"holds": 200 - refuted - 5, "does not hold": refuted, UNDECIDED: 5})
    row = false_alarms._row("x-1", rate, counts, "holds", 200)
    assert (row["refuted"], row["undecided"], row["compatible"]) == (refuted, 5, compatible)


@pytest.mark.parametrize(("refuted", "limit"), [(0, 1 - 0.01 ** (1 / 20)), (19, 0.99 ** (1 / 20)), (20, 1.0)])
def test_upper_limit_is_the_clopper_pearson_limit(refuted, limit):
    """By hand: at the limit p, P(no refutation of 20) = (1 - p)^20 and P(at most 19) = 1 - p^20 are 1 %."""
    counts = Counter({"holds": 20 - refuted, "does not hold": refuted})
    row = false_alarms._row("x-1", 0.001, counts, "holds", 20)
    assert row["upper_limit"] == pytest.approx(limit, abs=5e-5)


@pytest.mark.slow
def test_false_alarms_of_a_finished_run(smoke_run):
    results = smoke_run / "results/smoke"
    counted = false_alarms.measure(results, seeds=1, seconds=1.0).set_index("claim")
    assert "bnd-eq98" in counted.index  # its data are relu_moments alone, a third of a second
    assert (counted["derived_rate"] > 0).all()
    assert counted["compatible"].all()
    remaker = Remaker(results, "bn_decomposed")
    first, again, other = (remaker.datasets(["relu_moments"], seed)["relu_moments"] for seed in (1, 1, 2))
    assert first.identical(again)
    assert first.equals(datasets.read(results / "bn_decomposed/data/relu_moments.nc"))  # the run's own seed
    assert not first.equals(other)
    remaker, stored = Remaker(results, "universality"), results / "universality/data"
    replicas = remaker.datasets(["digit_pairs", "image_training"], 1)  # from the images, which are unchanged
    assert set(replicas["image_training"]) == {Path(path).stem for path in (stored / "image_training").glob("*.nc")}
    assert replicas["digit_pairs"].equals(datasets.read(stored / "digit_pairs.nc"))
    assert 0 < remaker.seconds(["digit_pairs"]) < 600
    assert remaker.seconds(["relu_moments"]) == float("inf")  # another study's
