"""Counting false alarms over seeds: what is counted, and that too many are noticed."""

import csv
import inspect
import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from tests.pipeline import jobs_for_tests

from repdyn.base import claims, datasets
from repdyn.base.errors import RepdynError
from repdyn.base.verdicts import Verdict, deviation
from repdyn.pipeline.ask import false_alarms, remake
from repdyn.pipeline.ask.remake import Remaker

STUDY = "x_study"


@pytest.fixture
def remaker(tmp_path):
    """The study of a run whose records know one dataset alone, one of two variants, and one with a longer name."""
    files = [f"{STUDY}/data/{name}.nc" for name in ("loss", "training/bn", "training/he", "training_more")]
    members = [{"study": STUDY, "inputs": {}, "outputs": [file]} for file in files]
    record = tmp_path / "logs/mine" / STUDY / "made.log.cost.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"job": {"kind": "simulate", "members": members}, "outputs": {}}))
    return Remaker(tmp_path / "results/mine", STUDY)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("loss", ["loss.nc"]),
        ("training", ["training/bn.nc", "training/he.nc"]),
        ("training_more", ["training_more.nc"]),
        ("nothing", []),
    ],
)
def test_what_made_a_dataset_is_one_member_or_one_per_variant(remaker, name, files):
    outputs = [member["outputs"] for member in remaker.members(name)]
    assert outputs == [[f"{STUDY}/data/{file}"] for file in files]


RUN_SEED = 5
COSTS = {"loss": 100.0, "slopes": 1.0, "training/bn": 2.0, "training/he": 2.5, "training/default": 3.0, "mean": 1.0}
COSTS |= {"joint": 4.0, "mixed/a": 1.0, "mixed/b": 1.0, "mixed/c": 1.0}


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """A run with a job per dataset: slopes from the loss, the loss from the images, a mean over variants, all joint.

    Each study has these, and a dataset of which another study made a variant; what runs again is told by file and seed.
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
            owner = "another" if name == "mixed/b" else study
            member = {"study": owner, "seed": RUN_SEED, "inputs": reads, "outputs": [file]}
            job = {"kind": "simulate", "members": [member]}
            record = {"job": job, "outputs": {f"results/mine/{file}": "digest"}, "cpu_seconds": cost}
            log = tmp_path / f"logs/mine/{study}/{name}.log.cost.json"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(json.dumps(record))
    ran = []

    def simulated(member, folder, checkpoints):
        inputs = remake.members.read_inputs(member, folder)
        ran.append((member["outputs"][0], member["seed"]))
        datasets.write(jobs_for_tests.images(2 + len(inputs)), folder / member["outputs"][0])

    monkeypatch.setattr(remake.simulate, "run", simulated)
    return SimpleNamespace(remaker=Remaker(run, STUDY), ran=ran, root=run)


def test_a_dataset_is_made_again_after_those_it_reads_each_once(finished):
    assert list(finished.remaker.datasets(["slopes", "mean", "loss"])) == ["slopes", "mean", "loss"]
    files = ("loss", "slopes", "training/bn", "training/default", "training/he", "mean")
    assert finished.ran == [(f"{STUDY}/data/{name}.nc", RUN_SEED) for name in files]
    assert list(finished.remaker.datasets(["training"])["training"]) == ["bn", "default", "he"]


def test_another_seed_is_that_of_all_that_is_made_again(finished):
    finished.remaker.datasets(["slopes"], 0)
    assert finished.ran == [(f"{STUDY}/data/{name}.nc", 0) for name in ("loss", "slopes")]


@pytest.mark.parametrize(
    ("name", "dearest"), [("loss", 100.0), ("slopes", 100.0), ("training", 3.0), ("mean", 3.0), ("joint", 100.0)]
)
def test_only_what_recorded_costs_allow_is_tried(finished, name, dearest):
    """A record may be of a job that made 30 datasets and took 10 s to start; the dearest job behind counts."""
    allowed = (dearest - 10) / 30
    assert not finished.remaker.cheap([name], allowed - 0.001)
    assert finished.ran == []
    finished.remaker.cheap([name], allowed + 0.001)
    assert finished.ran != []


def test_a_job_that_took_just_what_is_allowed_is_tried_and_one_in_part_of_another_study_is_not(finished):
    assert not finished.remaker.cheap(["mixed"], 600)
    assert finished.ran == []
    finished.remaker.cheap(["loss"], 3.0)
    assert finished.ran == [(f"{STUDY}/data/loss.nc", RUN_SEED)]


def test_what_is_cheap_was_tried_once(finished):
    assert finished.remaker.cheap(["slopes", "mean"], 600)
    tried = list(finished.ran)
    assert finished.remaker.cheap(["mean", "slopes"], 600)
    assert finished.ran == tried
    assert not finished.remaker.cheap(["slopes", "elsewhere"], 600)


def test_the_time_of_all_datasets_together_counts(finished, monkeypatch):
    clock = iter([0.0, 2.0, 2.0, 5.0])  # two seconds for the first, three for the second
    monkeypatch.setattr(remake, "time", SimpleNamespace(process_time=clock.__next__))
    assert finished.remaker.cheap(["training", "mean"], 5.0)
    assert not finished.remaker.cheap(["training", "mean"], 4.9)


def test_stored_datasets_are_those_of_the_run_with_all_variants(finished, monkeypatch):
    variants = {"training": ["bn", "default", "he"], "mixed": ["a", "b", "c"]}
    names = [f"{name}/{variant}" for name, own in variants.items() for variant in own]
    for number, name in enumerate(["loss", "slopes", *names], start=2):
        datasets.write(jobs_for_tests.images(number), finished.root / STUDY / f"data/{name}.nc")
    monkeypatch.chdir(finished.root.parent)
    stored = Remaker(Path("mine"), STUDY).stored(["training", "slopes", "mixed", "loss"])
    assert list(stored) == ["training", "slopes", "mixed", "loss"]
    assert {name: list(stored[name]) for name in variants} == variants
    sizes = [stored["loss"], stored["slopes"], *(data for name in variants for data in stored[name].values())]
    assert [data.sizes["point"] for data in sizes] == list(range(2, 10))
    assert finished.ran == []


OPEN = "not decidable at this scale"
LEDGER = [  # study, id, verdict, false alarm
    ("t", "t-1", "holds", "0.001"),
    ("s", "s-3", "does not hold", "0.003"),
    ("v", "v-1", "holds", "0.004"),
    ("s", "s-2", "holds", ""),
    ("t", "t-2", "holds", "0.001"),
    ("s", "s-1", "holds", "0.002"),
    ("s", "s-4", OPEN, "0.001"),
    ("u", "u-1", "holds", "0.001"),
    ("s", "s-5", "holds", "0"),
]
CLAIMS = {  # by the number of the seed, ten times it in `rate`, a hundred times in `gap`
    "s": {
        "s-1": lambda loss: "holds" if loss > 2 else "does not hold",
        "s-2": lambda loss: "holds",
        "s-3": lambda gap, rate: "does not hold" if gap == 10 * rate < 500 else "holds",
        "s-4": lambda rate: OPEN,
        "s-5": lambda rate: "does not hold",
    },
    "t": {
        "t-2": lambda dear: "holds",
        "t-1": lambda rate: {30: "does not hold", 40: OPEN, 50: OPEN}.get(rate, "holds"),
    },
    "u": {"u-1": lambda loss, dear: "holds"},
    "v": {"v-1": lambda loss: "holds"},
}


class Made:
    """Makes numbers for datasets; `asked` has which, of which study, with which seeds."""

    asked: ClassVar[list] = []

    def __init__(self, root, study):
        self.root, self.study = root, study

    def cheap(self, names, seconds):
        return (600.0 if "dear" in names else 2.0) <= seconds

    def datasets(self, names, seed):
        self.asked.append((self.root, self.study, names, seed))
        return {name: (seed - 10_000) * {"loss": 1, "rate": 10, "gap": 100}[name] for name in names}


def declared(study, kind):
    """A module with the claims of a study."""

    def claim(id, status):
        function = lambda *numbers: Verdict(status(*numbers))  # noqa: E731
        function.__signature__ = inspect.signature(status)
        return claims.claim(id, where="Theorem 1", kind="identity", states="S.")(function)

    assert kind == "claims"
    return [SimpleNamespace(**{id: claim(id, status) for id, status in CLAIMS[study].items()})]


def test_claims_that_are_sampled_decided_and_cheap_are_counted_study_by_study(tmp_path, monkeypatch):
    with (tmp_path / "claims.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("study", "id", "verdict", "false_alarm"), *LEDGER])
    monkeypatch.setattr(false_alarms, "load_modules", declared)
    monkeypatch.setattr(false_alarms, "Remaker", Made)
    monkeypatch.setattr(Made, "asked", [])
    counted = false_alarms.measure(tmp_path, seeds=5, seconds=2.0)
    assert counted[["claim", "verdict", "derived_rate", "seeds", "refuted", "undecided"]].values.tolist() == [
        ["t-1", "holds", 0.001, 5, 1, 2],
        ["s-3", "does not hold", 0.003, 5, 1, 0],
        ["s-1", "holds", 0.002, 5, 2, 0],
        ["v-1", "holds", 0.004, 5, 0, 0],
    ]
    names = {"t": ["rate"], "s": ["gap", "loss", "rate"], "v": ["loss"]}
    assert Made.asked == [(tmp_path, study, own, 10_000 + k) for study, own in names.items() for k in range(1, 6)]
    with pytest.raises(RepdynError) as caught:
        false_alarms.measure(tmp_path, seeds=5, seconds=1.5)
    assert str(caught.value) == f"{tmp_path}: no sampled claim is decided and takes at most 1.5 s to make again"


@pytest.mark.slow
def test_cheap_sampled_claims_are_counted(smoke_run):
    counted = false_alarms.measure(smoke_run / "results/smoke", seeds=1, seconds=3.0).set_index("claim")
    assert "bnd-eq98" in counted.index  # its data are relu_moments alone, a third of a second
    assert (counted["seeds"] == 1).all()
    assert (counted["derived_rate"] > 0).all()
    assert counted["compatible"].all()


@pytest.mark.slow
def test_another_seed_makes_other_data_and_the_same_seed_the_same(smoke_run):
    remaker = Remaker(smoke_run / "results/smoke", "bn_decomposed")
    first, again, other = (remaker.datasets(["relu_moments"], seed)["relu_moments"] for seed in (1, 1, 2))
    kept = datasets.read(smoke_run / "results/smoke/bn_decomposed/data/relu_moments.nc")
    assert first.identical(again)
    assert first.equals(kept)  # the run's own seed
    assert not first.equals(other)


@pytest.mark.slow
def test_data_made_from_variants_are_made_again_with_all_variants(smoke_run):
    remaker = Remaker(smoke_run / "results/smoke", "universality")
    replicas = remaker.datasets(["digit_pairs", "image_training"])  # from the images, which stay
    kept = smoke_run / "results/smoke/universality/data"
    assert set(replicas) == {"digit_pairs", "image_training"}
    assert set(replicas["image_training"]) == {path.stem for path in (kept / "image_training").glob("*.nc")} != set()
    assert replicas["digit_pairs"].equals(datasets.read(kept / "digit_pairs.nc"))
    assert remaker.cheap(["digit_pairs"], 600)
    assert not remaker.cheap(["relu_moments"], 600)  # another study's


@pytest.mark.slow
def test_what_a_long_job_made_is_not_tried(smoke_run, monkeypatch):
    monkeypatch.setattr(Remaker, "_make", lambda *_: pytest.fail("made again"))
    remaker = Remaker(smoke_run / "results/smoke", "universality")
    assert remaker._recorded("xor") > 1
    assert not remaker.cheap(["xor"], -1)


@pytest.mark.parametrize(("refuted", "compatible"), [(0, True), (1, True), (4, False)])
def test_more_refutations_than_the_rate_allows_are_noticed(refuted, compatible):
    # binomial(200, .001): P(>= 1) = .18, P(>= 4) = 5e-5
    counts = Counter({"holds": 200 - refuted - 5, "does not hold": refuted, "not decidable at this scale": 5})
    row = false_alarms._row("x-1", 0.001, counts, "holds", 200)
    assert (row["refuted"], row["undecided"], row["compatible"]) == (refuted, 5, compatible)


def test_fewer_refutations_than_the_rate_allows_are_none_too_many():
    """A rate is an upper limit: none of 200 is compatible with one half."""
    row = false_alarms._row("x-1", 0.5, Counter({"holds": 200}), "holds", 200)
    assert (row["refuted"], row["compatible"]) == (0, True)


@pytest.mark.parametrize(
    ("refuted", "limit"),
    [(0, 1 - 0.01 ** (1 / 20)), (19, 0.99 ** (1 / 20)), (20, 1.0)],
    ids=["none", "all but one", "all"],
)
def test_the_upper_limit_is_clopper_and_pearsons(refuted, limit):
    """By hand: at the limit p, P(no refutation of 20) = (1 - p)^20 and P(at most 19) = 1 - p^20 are 1 %."""
    counts = Counter({"holds": 20 - refuted, "does not hold": refuted})
    row = false_alarms._row("x-1", 0.001, counts, "holds", 20)
    assert row["upper_limit"] == pytest.approx(limit, abs=5e-5)


def test_verdicts_are_counted_over_seeds_up_to_the_last(remaker, monkeypatch, capsys):
    tried = []

    def datasets(names, seed):
        tried.append((names, seed))
        return {"loss": seed % 2}

    def odd(loss):
        return Verdict.from_tests(deviation(float(loss - 1), 0.5, expected="1", reason=""))

    monkeypatch.setattr(remaker, "datasets", datasets)
    declared = claims.claim("x-odd", where="Theorem 1", kind="identity", states="S.")
    counts = false_alarms._count(remaker, {"x-odd": declared(odd)}, 3)
    assert counts == {"x-odd": {"holds": 2, "does not hold": 1}}
    assert tried == [(["loss"], seed) for seed in range(10_001, 10_004)]
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"seeds of {STUDY}: step 3/3 ")


def test_a_run_that_is_none_is_told(tmp_path):
    with pytest.raises(RepdynError) as caught:
        false_alarms.measure(tmp_path, 1, 1.0)
    advice = "no ledger here; give the results folder of a finished run, e.g. results/smoke"
    assert str(caught.value) == f"{tmp_path}: {advice}"
