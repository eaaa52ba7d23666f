"""`repdyn plan`: recorded costs given back, other sizes extrapolated and marked; a factor of two at smoke."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import ROOT, SMOKE
from tests.dag.declared import copy_sources, declared

from repdyn.base.errors import DataError
from repdyn.base.images import load_images
from repdyn.bn_decomposed.settings import work as random_networks
from repdyn.pipeline import studies
from repdyn.pipeline.ask import plan, verify, workflow
from repdyn.pipeline.run.declare import costs
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.declare.jobs import SOURCES, Job, load_all, write_all
from repdyn.truncation_flow import settings as flows
from repdyn.truncation_flow.experiments.all_layers import GROUP
from repdyn.universality.settings import work as universality

DIGITS = SOURCES["digits"]["test"]
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


def recorded(tmp_path, *rows):
    file = tmp_path / "costs.csv"
    file.write_text("\n".join([HEAD, *rows]) + "\n")
    return file


def cost(file, single):
    return plan.costs([single], [file])[0][1]


# Sizes


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({"seeds": 4, "width": 100}, 400),
        ({"widths": [10, 20], "seeds": 2}, 60),
        ({"rates": [0.1, 0.2, 0.3], "radii": [0.5, 1.0]}, 6),
        ({"step": 0.01, "horizon": 3.0}, 300),
        ({"tolerance": 1e-9, "seed": 7, "stride": 100, "record": [1, 50], "name": "a", "on": True, "none": None}, 1),
        ({"rates": {"bn": [1, 2]}}, 1),
        ({"points": [0], "empty": []}, 1),
    ],
)
def test_the_size_is_the_product_of_the_settings(settings, size):
    assert costs.size(job(**settings).members, DIGITS) == [pytest.approx(size)]


def test_a_job_of_several_parts_has_several_sizes():
    members = [{"settings": {"settings": {"a": 2}}}, {"settings": {"settings": {"a": 3, "b": 5}}}]
    assert costs.size(members, DIGITS) == [2, 15]
    assert costs.size([{"inputs": {}}], DIGITS) == []


TRAINED = {"width": 30, "points": 300, "layers": 20, "first_steps": 600, "steps": 1500, "maps": ["decayed maps"]}


def chain(**settings):
    """A job that trains leaky ResNets: its work is known."""
    values = TRAINED | {"effective_depths": [2.0, 4.0], "seeds": 3} | settings
    member = {"study": "leaky_resnets", "function": "experiments.chains:trained", "settings": {"settings": values}}
    return Job("full", "s/chain", "simulate", [member | {"inputs": {}, "outputs": ["x.nc"]}], memory_mb=900)


def test_work_counts_steps_not_settings():
    (once,) = costs.size(chain().members, DIGITS)
    assert once == pytest.approx(3 * 20 * (600 + 2 * 1500) * 6 * 30**2 * 300 / (9e9 * 30**0.5))
    assert costs.size(chain(seeds=6).members, DIGITS) == [pytest.approx(2 * once)]
    assert costs.size(chain(descent_steps=1500).members, DIGITS) == [pytest.approx(once * 6600 / 3600)]
    assert costs.size(chain(from_scratch=True).members, DIGITS) == [pytest.approx(once * 4200 / 3600)]


def test_work_sees_nested_networks_and_runs():
    row = {"connections": "dense", "dropout": 0.0, "units": 100, "hidden": 20, "nonlinearity": "tanh"}
    settings = {"seeds": 4, "epochs": 9000, "stop": 0.0, "dtype": "float64", "rows": ["tanh"]}

    def work(**changed):
        sections = {"settings": settings, "networks": {"tanh": row | changed}}
        return universality.WORK["architectures"](sections, {})

    assert 3 < work(units=200) / work() < 9  # from what stays in the cache to what does not
    adam = universality.WORK["adam_runs"]({"settings": settings | {"rates": [0.1, 0.2]}, "default": row}, {})
    assert adam == pytest.approx(4 * work())  # twice descent, at each rate
    run = {"units": 100, "hidden": 4, "epochs": 10, "optimizer": "sgd"}
    blobs = {"trials": 6, "batch": 64, "positions": 30, "pixels": 5}
    networks = (run, run | {"epochs": 20})
    low, high = (universality.WORK["blobs"]({"settings": blobs, "network": network}, {}) for network in networks)
    assert high == pytest.approx(2 * low)


def test_work_of_two_points_by_hand():
    """Three networks of 4 layers of 50: weights read three times an epoch, and each neuron; a loss falls by decades."""
    row = {"connections": "dense", "dropout": 0.0, "units": 50, "hidden": 4, "nonlinearity": "relu"}
    settings = {"seeds": 3, "epochs": 9000, "stop": 1e-10, "dtype": "float32", "rows": ["one"]}

    def work(changed, **others):
        sections = {"settings": settings | others, "networks": {"one": row | changed}}
        return universality.WORK["architectures"](sections, {})

    weights, neurons = 3 * 4 * 3 * 50**2 / 5e10, 4 * 50
    assert work({}) == pytest.approx(3 * 4300 * (weights + neurons * 1.6e-8))
    assert work({}, epochs=1000) == pytest.approx(3 * 1000 * (weights + neurons * 1.6e-8))
    assert work({}, stop=1e-4) == pytest.approx(work({}) * 0.4)
    assert work({}, stop=1.0) == pytest.approx(work({}) * 0.1)  # ends at once, and still costs something
    assert work({"nonlinearity": "tanh"}) == pytest.approx(3 * 1.4 * 4300 * (weights + neurons * 5.1e-8))
    assert work({"dropout": 0.1}) == pytest.approx(3 * 9000 * (weights + neurons * 4.6e-8))  # never that low


def test_cost_is_in_proportion_to_work(tmp_path):
    (once,) = costs.size(chain().members, DIGITS)
    file = recorded(tmp_path, f"default,s/chain,52.0,300.0,{once}", f"smoke,s/chain,9.0,300.0,{once / 100}")
    assert cost(file, chain()) == plan.Cost(52.0, 300.0, True)
    assert cost(file, chain(seeds=60)).cpu_seconds == pytest.approx(2 + 50 * 20)


def test_every_work_is_of_an_experiment():
    for study, declared_study in studies.declared().items():
        assert set(declared_study.work) <= set(read_study(study, ROOT / "src").experiments), study


def test_work_is_in_seconds():
    """Jobs took their work within a factor of 1.5 at every recorded scale, a second less or 8 s more: to compile."""
    rows = [row for file in costs.files(ROOT) for row in costs.rows(file)]
    known = [row for row in rows if row["job"] in TRAININGS]
    assert {row["job"] for row in known if row["run"] == "default"} == TRAININGS
    for row in known:
        assert float(row["sizes"]) / 1.5 - 1 < float(row["cpu_seconds"]) < 1.5 * float(row["sizes"]) + 8, row


def test_work_of_deep_random_networks_by_hand():
    """Two sources, three seeds; 50 layers of 100 neurons and 20 at infinite width, 10 points."""
    odd = {"seeds": 3, "width": 100, "batches": [10], "record": [1, 50], "limit_record": [1, 20]}
    layer, limit = 4e-5 + 1000 * (1.5e-8 + 3.2e-9), 5e-5 + 100 * 2e-8
    assert random_networks.WORK["odd_point"]({"settings": odd}, {}) == pytest.approx(6 * (50 * layer + 20 * limit))
    norm = {"runs": 2, "dims": [3, 5], "factors": [2.0], "batch": 10, "depth": 50, "widths": [100], "limit_depth": 20}
    tree = {"points": [4, 10], "batches": [100, 20]}
    assert random_networks.WORK["tree_limits"]({"settings": tree}, {}) == pytest.approx(2.8e-3 * 600)
    expected = 2 * 4 * (50 * layer + 20 * limit)  # four kinds of batches: two Gaussian, one of unit norms, images
    assert random_networks.WORK["largest_norm"]({"settings": norm}, {}) == pytest.approx(expected)


@pytest.mark.parametrize(("mode", "slower"), [("bn", 1.4), ("default", 1), ("he", 1)])
def test_work_of_trained_perceptrons_by_hand(mode, slower):
    """Two seeds, three passes over 130 images of 50 pixels: three steps a pass; networks of one and of four layers."""
    settings = {"seeds": 2, "epochs": 3, "batch": 64, "width": 100, "depths": [1, 4]}
    hidden, first = 5e-5 + 6 * 64 * 100 * 100 / 1e11, 6 * 64 * 100 * 50 / 1e11
    estimate = random_networks.WORK["training"]({"settings": settings}, {"mode": mode, "images": 130, "pixels": 50})
    assert estimate == pytest.approx(slower * 2 * 3 * 3 * (5 * hidden + 2 * first))


@pytest.mark.parametrize("split", ["test", "both"])
def test_a_run_on_more_images_trains_longer(split, tmp_path):
    """Jobs of one run, planned from its images; ten thousand images are 157 steps of 64, the digits' 1797 are 29."""
    settings = {"seeds": 500, "epochs": 3, "batch": 64, "width": 100, "depths": [1, 4]}
    member = {"study": "bn_decomposed", "function": "experiments.training:training", "arguments": {"mode": "he"}}
    member |= {"settings": {"settings": settings}, "inputs": {}, "outputs": ["x.nc"]}
    digits = Job("full", "s/train", "simulate", [member])
    (few,) = costs.size(digits.members, digits.images)
    file = recorded(tmp_path, f"full,s/train,{2 + few},300.0,{few:.6g}")
    assert cost(file, digits).recorded
    many = replace(digits, images=SOURCES["mnist"][split])
    steps, layer = {"test": 157, "both": 1094}[split] / 29, 5e-5 + 6 * 64 * 100**2 / 1e11
    first = (5 * layer + 2 * 6 * 64 * 100 * 784 / 1e11) / (5 * layer + 2 * 6 * 64 * 100 * 64 / 1e11)
    estimate = cost(file, many)
    assert not estimate.recorded
    assert estimate.cpu_seconds - 2 == pytest.approx(few * steps * first, rel=1e-4)


@pytest.mark.parametrize(
    ("source", "split", "images"), [("digits", "test", (1797, 64)), ("mnist", "both", (70_000, 784))]
)
def test_jobs_that_are_read_again_know_what_their_run_reads(source, split, images, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved = {"code": "a", "inputs": {}, "outputs": ["data/images.nc"], "source": source, "split": split}
    write_all([Job("smoke", "images", "images", [saved]), job(a=1)], {})
    assert [single.images for single in load_all("smoke")] == [images] * 2


def test_a_source_holds_what_is_said_of_it():
    assert load_images("digits")["image"].sizes == {"point": 1797, "row": 8, "column": 8}


def test_work_of_the_general_flow_by_hand():
    """Ten seeds of 40 points; 2000 steps of the flow and 1000 of the descent."""
    settings = {"seeds": 10, "points": 40, "horizon": 20.0, "step": 0.01, "rate": 0.02}
    assert flows.WORK["general_flow"]({"settings": settings}, {}) == pytest.approx(5e-6 * 400 * 3000)
    assert flows.GROUP == GROUP


# Costs


def test_a_recorded_size_costs_what_was_recorded(tmp_path):
    file = recorded(tmp_path, "smoke,s/train,10.0,300.0,400", "default,s/train,50.0,310.0,4000")
    assert cost(file, job(seeds=4, width=100)) == plan.Cost(10.0, 300.0, True)
    assert cost(file, job(seeds=40, width=100)) == plan.Cost(50.0, 310.0, True)  # a run's name does not matter


def test_another_size_is_a_power_through_two_records_above_the_start(tmp_path):
    """Start-up 2 s, then 8 s at size 400 and 48 s at 4000."""
    file = recorded(tmp_path, "smoke,s/train,10.0,300.0,400", "default,s/train,50.0,310.0,4000")
    power = math.log(48 / 8) / math.log(10)
    estimate = cost(file, job(seeds=400, width=100))
    assert estimate.cpu_seconds == pytest.approx(2 + 48 * 10**power)
    assert (estimate.memory_mb, estimate.recorded) == (900, False)


def test_memory_asked_for_grows_with_the_settings(tmp_path):
    """Base 400 MB; 500 MB at size 400 and 900 at 40,000: a power log 5 / log 100 of the size."""
    rows = ("smoke,s/train,10.0,500.0,400", "default,s/train,50.0,900.0,40000")
    known = costs.recorded([recorded(tmp_path, *rows)])["s/train"]
    expected = 400 + 500 * 10 ** (math.log(5) / math.log(100))
    assert costs.memory(job(seeds=4000, width=100), known) == math.ceil(costs.ROOM * expected / 100) * 100
    assert costs.memory(job(seeds=400, width=100), known) == 1400
    assert costs.memory(job(seeds=4, width=100), known) == 900  # what its rule says
    assert costs.memory(job(seeds=4), known[:0]) == 900


def test_memory_grows_at_most_with_the_square_root(tmp_path):
    rows = ("smoke,s/train,10.0,500.0,400", "default,s/train,50.0,1400.0,800")
    known = costs.recorded([recorded(tmp_path, *rows)])["s/train"]
    expected = 400 + 1000 * 2  # four times the size
    assert costs.memory(job(seeds=32, width=100), known) == math.ceil(costs.ROOM * expected / 100) * 100


@pytest.mark.parametrize("row", ["smoke,s/train,10.0,0,400", "smoke,s/train,ten,500.0,400", "smoke,s/train,10.0"])
def test_a_damaged_record_is_named(tmp_path, row):
    file = recorded(tmp_path, "smoke,s/other,1.0,1.0,", row)
    with pytest.raises(DataError, match=r"costs.csv:3: got 'smoke,s/train,.*', expected run,job,.* above 0"):
        costs.recorded([file])


def test_one_record_is_scaled_by_the_square_root(tmp_path):
    file = recorded(tmp_path, "smoke,s/train,10.0,300.0,400")
    assert cost(file, job(seeds=16, width=100)).cpu_seconds == pytest.approx(2 + 8 * 2)


def test_the_power_is_at_most_one_and_never_negative(tmp_path):
    steep = recorded(tmp_path, "smoke,s/train,10.0,1,400", "default,s/train,1000.0,1,800")
    assert cost(steep, job(a=1600)).cpu_seconds == pytest.approx(2 + 998 * 2)
    falling = recorded(tmp_path, "smoke,s/train,10.0,1,400", "default,s/train,9.0,1,800")
    assert cost(falling, job(a=1600)).cpu_seconds == pytest.approx(9)


def test_drawing_costs_what_it_cost_at_this_scale_or_else_is_an_estimate(tmp_path):
    file = recorded(tmp_path, "smoke,s/figures,2.0,1,", "default,s/figures,3.0,1,")
    assert cost(file, job("s/figures", "default")) == plan.Cost(3.0, 1.0, True)
    assert not cost(file, job("s/figures", "full")).recorded


def test_what_was_never_recorded_is_unknown(tmp_path):
    file = recorded(tmp_path, "smoke,s/train,10.0,1,400 5")
    assert cost(file, job("s/other", a=1)) is None
    assert cost(file, job(a=1)) is None  # recorded with two parts, planned with one
    assert cost(tmp_path / "none.csv", job(a=1)) is None


# Table


def test_the_table_sums_per_study_and_says_what_is_not_recorded(tmp_path):
    file = recorded(tmp_path, "smoke,s/train,60.0,300.0,400", "smoke,t/train,120.0,500.0,1", "smoke,images,6.0,1,")
    jobs = [job(a=400), job("t/train", a=4), job("t/new", a=1), job("images")]
    lines = plan.show(plan.costs(jobs, [file]), "snakemake").splitlines()
    table = {line[:24].strip(): line[24:].split() for line in lines[3:7]}
    assert table["s"] == ["1", "1.0", "300"]
    assert table["t"] == ["2", "4.0", "900", "1", "estimated", "1", "unknown"]
    assert table[plan.SHARED] == ["1", "0.1", "1"]
    assert table["all"][:3] == ["4", "5.1", "900"]
    assert "No faster than 4.0 minutes on any number of cores: t/train (4.0)." in lines
    assert any(line.startswith("Estimated:") for line in lines)
    assert any(line.startswith("Unknown:") for line in lines)


def test_studies_come_by_name_and_what_they_share_last(tmp_path):
    jobs = [job("images"), job("t/train", a=4), job("b/train", a=4), job("manifest")]
    lines = plan.show(plan.costs(jobs, [tmp_path / "none.csv"]), "snakemake").splitlines()
    assert [line[:24].strip() for line in lines[3:7]] == ["b", "t", plan.SHARED, "all"]
    assert [line.split()[-1] for line in lines[3:7]] == ["unknown"] * 4
    assert not any(line.startswith(("No faster", "Estimated")) for line in lines)


@pytest.mark.parametrize(("minutes", "shown"), [(99.94, "99.9"), (100.4, "100")])
def test_from_a_hundred_minutes_on_tenths_are_left_out(minutes, shown):
    lines = plan.show([(job(), plan.Cost(60 * minutes, 1.0, True))], "snakemake").splitlines()
    assert lines[3].split() == ["s", "1", shown, "1"]
    assert lines[-1] == f"No faster than {minutes:.1f} minutes on any number of cores: s/train ({minutes:.1f})."


@pytest.mark.parametrize(
    ("seconds", "named"), [((3, 120), "s/b (2.0)"), ((3, 2), "s/a (0.1)"), ((6, 12), "s/a (0.1), s/b (0.2)")]
)
def test_short_jobs_of_the_chain_count_and_are_named_only_where_all_are_short(seconds, named):
    names = ("a", "b")
    chain = [Job("smoke", f"s/{name}", "k", [{"inputs": {}, "outputs": [f"{name}.nc"]}]) for name in names]
    chain[1].members[0]["inputs"] = {"a": "a.nc"}
    lines = plan.show([(job, plan.Cost(time, 1.0, True)) for job, time in zip(chain, seconds, strict=True)], "x")
    assert lines.splitlines()[-1] == (
        f"No faster than {sum(seconds) / 60:.1f} minutes on any number of cores: {named}."
    )


def test_starting_takes_at_most_four_fifths_of_the_least_cost(tmp_path):
    file = recorded(tmp_path, "smoke,s/train,1.0,950.0,400")
    assert cost(file, job(a=1600)) == plan.Cost(pytest.approx(0.8 + 0.2 * 2), 950.0, False)


# Keeping


def test_costs_of_a_run_replace_its_former_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workflow").mkdir()
    file = recorded(tmp_path / "workflow", "smoke,s/gone,1.0,1,", "default,s/train,50.0,310.0,4000")
    with pytest.raises(DataError, match="logs/smoke: no job of this run left a record"):
        plan.keep("smoke", tmp_path)
    finish("train", 9.5, "out.nc")
    finish("former", 9.5, "gone.nc")
    Path("gone.nc").unlink()
    assert plan.keep("smoke", tmp_path) == 1
    assert file.read_text().splitlines() == [HEAD, "default,s/train,50.0,310.0,4000", "smoke,s/train,9.5,200.5,400"]


def finish(name, seconds, output, ran=None):
    Path(output).write_text("")
    content = json.loads((ran or job(a=400)).text())
    record = {"job": content, "cpu_seconds": seconds, "peak_memory_mb": 200.5, "finished": "2"}
    path = Path(f"logs/smoke/{name if ran else f's/{name}'}.log.cost.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record | {"outputs": {output: "digest"}}))


def test_costs_of_a_run_are_by_its_own_images(tmp_path, monkeypatch):
    """Ten thousand images of MNIST are 157 steps of 64."""
    monkeypatch.chdir(tmp_path)
    settings = {"seeds": 2, "epochs": 3, "batch": 64, "width": 100, "depths": [4]}
    member = {"study": "bn_decomposed", "function": "experiments.training:training", "arguments": {"mode": "he"}}
    member |= {"settings": {"settings": settings}, "inputs": {}, "outputs": ["x.nc"]}
    saved = {"code": "a", "inputs": {}, "outputs": ["data/images.nc"], "source": "mnist", "split": "test"}
    finish("images", 2.0, "images.nc", Job("smoke", "images", "images", [saved]))
    finish("s/train", 9.5, "out.nc", Job("smoke", "s/train", "simulate", [member]))
    plan.keep("smoke", tmp_path)
    (kept,) = (row for row in costs.rows(tmp_path / "workflow" / "costs.csv") if row["job"] == "s/train")
    step = 4 * (5e-5 + 6 * 64 * 100**2 / 1e11) + 6 * 64 * 100 * 784 / 1e11
    assert float(kept["sizes"]) == pytest.approx(2 * 3 * 157 * step, rel=1e-5)
    assert "beyond a factor of 1.5: no job" in plan.missed("smoke", [tmp_path / "workflow" / "costs.csv"])


def test_a_plan_is_true_where_its_jobs_took_what_it_said_within_a_factor_of_a_half_more(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("much", "more", "as_said", "less", "little")
    file = recorded(tmp_path, *(f"smoke,s/{name},30,310.0,400" for name in names))
    for name, seconds in zip((*names, "a_new"), (46.0, 44.0, 30.0, 21.0, 19.0, 5.0), strict=True):
        finish(name, seconds, f"{name}.nc")
    head, *beyond = plan.missed("smoke", [file]).splitlines()
    assert head == "planned 2.5 core-minutes, took 2.7; beyond a factor of 1.5: 2; never recorded before: 1"
    assert beyond == ["  s/little: 30 s planned, 19 s taken", "  s/much: 30 s planned, 46 s taken"]
    assert "beyond a factor of 1.5: no job" in plan.missed("smoke", [recorded(tmp_path, "smoke,s/less,20,1,400")])
    with pytest.raises(DataError, match="logs/default: no job of this run left a record"):
        plan.missed("default", [file])


# The real workflow


@pytest.mark.slow
def test_every_job_of_the_smoke_scale_is_recorded(tmp_path):
    names = set(declared(copy_sources(tmp_path / "checkout"), SMOKE).texts)
    recorded = {row["job"] for file in costs.files(ROOT) for row in costs.rows(file) if row["run"] == "smoke"}
    assert names == recorded, "after a finished smoke run: python -m repdyn costs smoke"


@pytest.mark.slow
def test_nothing_remains_after_a_finished_run(finished, monkeypatch):
    monkeypatch.chdir(finished)
    jobs = workflow.jobs(finished, ["--configfile", SMOKE])
    assert verify.due(jobs) == []
    Path("results/smoke/report/index.html").unlink()
    assert [job.name for job in verify.due(jobs)] == ["report"]
