"""Costs of jobs: sizes and work computed by hand, extrapolation from records, memory, damaged records."""

import math
from dataclasses import replace

import pytest
from tests.conftest import ROOT

from repdyn.base.errors import DataError
from repdyn.pipeline import studies
from repdyn.pipeline.ask import plan
from repdyn.pipeline.run.declare import costs
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.declare.jobs import SOURCES, Job
from repdyn.truncation_flow import settings as flows
from repdyn.truncation_flow.experiments.all_layers import GROUP

HEAD = ",".join(costs.COLUMNS)
TRAININGS = {
    "across_papers/training",
    "bn_decomposed/largest_norm",
    "bn_decomposed/odd_point",
    "bn_decomposed/training-bn",
    "bn_decomposed/training-default",
    "bn_decomposed/training-he",
    "bn_decomposed/tree_limits",
    "leaky_resnets/discretized-block0",
    "leaky_resnets/near_critical",
    "leaky_resnets/trained-block0",
    "truncation_flow/general_flow",
    "universality/blobs",
    "universality/default_network",
    "universality/final_distances",
    "universality/table_1_networks",
    "universality/xor_and_images",
}


def job(name="s/train", run="smoke", **settings):
    member = {"inputs": {}, "outputs": ["x.nc"]} | ({"settings": {"settings": settings}} if settings else {})
    return Job(run, name, "simulate" if settings else "draw", [member], memory_mb=900)


def record(folder, *rows):
    file = folder / "costs.csv"
    file.write_text("\n".join([HEAD, *rows]) + "\n")
    return file


def cost(file, single):
    return plan.costs([single], [file])[0][1]


# Sizes and work


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({"a": 3, "b": 4, "seed": 9, "stride": 9, "every": 9, "record": 9, "look": 9}, 12),
        ({"widths": [10, 20], "seeds": 2}, 60),
        ({"widths": [2, 3, 5], "rates": [0.5, 0.25], "names": ["x", "y", "z"]}, 10 * 2 * 3),
        ({"step": 0.01, "horizon": 3.0}, 300),
        ({"horizon": 2.5, "time": 4.0, "counter_time": 0.5, "rate": 0.1}, 5),
        ({"tolerance": 1e-9, "flag": True, "off": False, "text": "a", "none": None, "low": -3, "zero": 0}, 1),
        ({"zeros": [0, 0], "mixed": [1, 2.5], "below": [-1, 4, 4], "empty": []}, 1 * 2 * 3),
        ({"by_variant": {"a": 7}, "n": 2}, 2),
        ({}, 1),
    ],
)
def test_size_is_the_product_of_the_settings(settings, size):
    assert costs.size([{"settings": {"settings": settings}}], (1, 1)) == [pytest.approx(size)]


@pytest.mark.parametrize("split", ["test", "both"])
def test_cost_grows_with_the_number_of_images(split, tmp_path):
    """Ten thousand images are 157 steps of 64, the digits' 1797 are 29."""
    settings = {"seeds": 500, "epochs": 3, "batch": 64, "width": 100, "depths": [1, 4]}
    member = {"study": "bn_decomposed", "function": "experiments.training:training", "arguments": {"mode": "he"}}
    member |= {"settings": {"settings": settings}, "inputs": {}, "outputs": ["x.nc"]}
    digits = Job("full", "s/train", "simulate", [member])
    (few,) = costs.size(digits.members, digits.images)
    file = record(tmp_path, f"full,s/train,{2 + few},300.0,{few:.6g}")
    assert cost(file, digits).recorded
    steps, layer = {"test": 157, "both": 1094}[split] / 29, 5e-5 + 6 * 64 * 100**2 / 1e11
    first = (5 * layer + 2 * 6 * 64 * 100 * 784 / 1e11) / (5 * layer + 2 * 6 * 64 * 100 * 64 / 1e11)
    estimate = cost(file, replace(digits, images=SOURCES["mnist"][split]))
    assert not estimate.recorded
    assert estimate.cpu_seconds - 2 == pytest.approx(few * steps * first, rel=1e-4)


def test_work_is_declared_for_existing_experiments_in_seconds():
    """Jobs took their work within a factor of 1.5 at every recorded scale, a second less or 8 s more: to compile."""
    assert flows.GROUP == GROUP  # copied, for the settings import no experiment
    for study, declared in studies.declared().items():
        assert set(declared.work) <= set(read_study(study, ROOT / "src").experiments), study
    rows = [row for file in costs.files(ROOT) for row in costs.rows(file) if row["job"] in TRAININGS]
    assert {row["job"] for row in rows if row["run"] == "default"} == TRAININGS
    for row in rows:
        assert float(row["sizes"]) / 1.5 - 1 < float(row["cpu_seconds"]) < 1.5 * float(row["sizes"]) + 8, row


# Extrapolation from records


def test_cost_of_another_size_is_a_power_law_fit(tmp_path):
    """Start-up 2 s, at most 4/5 of the least cost; the power is from 0 to 1; one record goes by the square root."""
    two = ("smoke,s/train,10.0,300.0,400", "default,s/train,50.0,310.0,4000")
    power = math.log(48 / 8) / math.log(10)
    cases = [  # records, size, seconds, whether they are recorded
        (two, 400, 10.0, True),
        (two, 4000, 50.0, True),
        (two, 40_000, 2 + 48 * 10**power, False),
        (two[:1], 1600, 2 + 8 * 2, False),
        (("smoke,s/train,10.0,1,400", "default,s/train,1000.0,1,800"), 1600, 2 + 998 * 2, False),
        (("smoke,s/train,10.0,1,400", "default,s/train,9.0,1,800"), 1600, 9, False),
        (("smoke,s/train,1.0,950.0,400",), 1600, 0.8 + 0.2 * 2, False),
        (("other,s/train,50.0,310.0,400.02",), 400, 50.0, True),  # a ten-thousandth is no other size
    ]
    for rows, size, seconds, recorded in cases:
        found = cost(record(tmp_path, *rows), job(a=size))
        assert (found.cpu_seconds, found.recorded) == (pytest.approx(seconds), recorded), (rows, size)
    assert not cost(record(tmp_path, "other,s/train,50.0,310.0,400.12"), job(a=400)).recorded


def test_job_without_a_size_costs_the_record_of_its_scale_and_one_without_record_is_unknown(tmp_path):
    file = record(tmp_path, "smoke,s/figures,2.0,1,", "default,s/figures,3.0,1,", "smoke,s/train,10.0,1,400 5")
    assert cost(file, job("s/figures", "default")) == plan.Cost(3.0, 1.0, True)
    assert not cost(file, job("s/figures", "full")).recorded
    assert cost(file, job("s/other", a=1)) is None
    assert cost(file, job(a=1)) is None  # recorded with two sections, planned with one
    assert cost(tmp_path / "none.csv", job(a=1)) is None


def test_memory_grows_at_most_with_the_square_root_of_size(tmp_path):
    """Base 400 MB; 500 MB at size 400 and 900 at 40,000: a power log 5 / log 100 of the size."""
    known = costs.recorded([record(tmp_path, "smoke,s/train,10.0,500.0,400", "default,s/train,50.0,900.0,40000")])
    expected = 400 + 500 * 10 ** (math.log(5) / math.log(100))
    assert costs.memory(job(a=400_000), known["s/train"]) == math.ceil(costs.ROOM * expected / 100) * 100
    assert costs.memory(job(a=40_000), known["s/train"]) == 1400
    assert costs.memory(job(a=400), known["s/train"]) == costs.memory(job(a=4), []) == 900  # what its rule says
    known = costs.recorded([record(tmp_path, "smoke,s/train,10.0,500.0,400", "default,s/train,50.0,1400.0,800")])
    assert costs.memory(job(a=3200), known["s/train"]) == math.ceil(costs.ROOM * (400 + 1000 * 2) / 100) * 100


KNOWN = {
    name: [{"run": run, "job": name, "sizes": "1", "cpu_seconds": "1", "peak_memory_mb": "1"} for run in runs]
    for name, runs in {
        "s/train": ["smoke"],
        "s/train-block0": ["smoke", "default"],
        "s/train-block12": ["full"],
        "s/trainer-block0": ["smoke"],
        "s/xor1": ["smoke"],
    }.items()
}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("s/train-block0", ["s/train-block0", "s/train-block0"]),
        ("s/train-block7", ["s/train-block0", "s/train-block0", "s/train-block12"]),
        ("s/train", ["s/train"]),
        ("s/xor", []),
        ("s/xor2", ["s/xor1"]),
        ("s/other3", []),
    ],
)
def test_unrecorded_block_is_estimated_from_the_others(name, found):
    assert [row["job"] for row in costs.of_job(Job("full", name, "simulate", []), KNOWN)] == found


def test_chunk_is_estimated_from_the_whole_job():
    chunk = Job("full", "s/train-block0", "simulate", [], part_of="s/train")
    assert [row["job"] for row in costs.of_job(chunk, KNOWN)] == ["s/train-block0", "s/train-block0", "s/train"]


def test_rows_of_several_files_are_joined_by_job_and_damaged_rows_named_with_their_line(tmp_path):
    for name, jobs in {"one": ["a", "b", "a"], "two": ["c", "a"]}.items():
        lines = [f"{name},{job},{k + 1},100,3" for k, job in enumerate(jobs)]
        (tmp_path / name).write_text("\n".join([HEAD, *lines]) + "\n")
    known = costs.recorded([tmp_path / "one", tmp_path / "two", tmp_path / "gone"])
    assert {job: [(row["run"], row["cpu_seconds"]) for row in rows] for job, rows in known.items()} == {
        "a": [("one", "1"), ("one", "3"), ("two", "2")],
        "b": [("one", "2")],
        "c": [("two", "1")],
    }
    sound = [f"mine,{name},9,100,3" for name in "abc"]
    for place, damaged in ((0, "mine,a,0,100,3"), (1, "mine,b,9,100,3 x"), (2, "mine,c,9,-1,3"), (1, "mine,b,ten,9,3")):
        file = record(tmp_path, *sound[:place], damaged, *sound[place + 1 :])
        with pytest.raises(DataError, match=f"costs.csv:{place + 2}: .*{damaged}"):
            costs.recorded([file])
