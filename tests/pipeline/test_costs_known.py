"""What is known of a job's cost: its own records, those of the whole, of other blocks; and where they are kept."""

import json
from pathlib import Path

import pytest
from tests.pipeline.test_plan import job, recorded

from repdyn.base.errors import DataError
from repdyn.pipeline.ask import plan
from repdyn.pipeline.run.declare import costs
from repdyn.pipeline.run.declare.jobs import Job, Parted


def rows(name, *runs):
    return [{"run": run, "job": name, "sizes": "1", "cpu_seconds": "1.0", "peak_memory_mb": "1"} for run in runs]


KNOWN = {
    "s/train": rows("s/train", "smoke"),
    "s/train-block0": rows("s/train-block0", "smoke", "default"),
    "s/train-block12": rows("s/train-block12", "full"),
    "s/trainer-block0": rows("s/trainer-block0", "smoke"),
    "s/xor1": rows("s/xor1", "smoke"),
}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("s/train-block0", [("s/train-block0", "smoke"), ("s/train-block0", "default")]),
        ("s/train-block7", [("s/train-block0", "smoke"), ("s/train-block0", "default"), ("s/train-block12", "full")]),
        ("s/train", [("s/train", "smoke")]),
        ("s/xor", []),
        ("s/xor2", [("s/xor1", "smoke")]),
        ("s/other3", []),
    ],
)
def test_a_block_that_was_never_recorded_is_known_by_the_others(name, found):
    assert [(row["job"], row["run"]) for row in costs.of_job(Job("full", name, "simulate", []), KNOWN)] == found


def test_a_part_is_known_by_the_whole_too():
    own = Parted("full", "s/train-block0", "simulate", [], part_of="s/train")
    assert [row["job"] for row in costs.of_job(own, KNOWN)] == ["s/train-block0", "s/train-block0", "s/train"]


@pytest.mark.parametrize(
    ("seconds", "share", "left"),
    [(100.0, 1, 100.0), (100.0, 0.25, 2 + 0.25 * 98), (100.0, 0.0, 2.0), (2.0, 0.25, 1.6 + 0.1), (2.5, 0.0, 2.0)],
)
def test_of_a_job_whose_work_others_do_starting_and_its_share_are_left(seconds, share, left):
    whole = plan.Cost(seconds, 300.0, True)
    assert plan._of_its_own(whole, share) == plan.Cost(pytest.approx(left), 300.0, True)
    assert plan._of_its_own(None, share) is None


@pytest.mark.parametrize(("name", "folder"), [("s/train", "home"), ("s-images", "workflow"), ("other/x", "workflow")])
def test_costs_are_kept_beside_their_study_and_of_no_study_in_the_workflow(name, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("repdyn.pipeline.studies.folders", lambda: {"s": tmp_path / "home"})
    Path("out.nc").write_text("")
    for place in ("home", "workflow"):
        Path(place).mkdir()
    record = {"job": json.loads(job(a=400).text()), "cpu_seconds": 9.5, "peak_memory_mb": 200.5, "finished": "2"}
    path = Path(f"logs/smoke/{name}.log.cost.json")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record | {"outputs": {"out.nc": "digest"}}))
    assert plan.keep("smoke", tmp_path) == 1
    assert [place for place in ("home", "workflow") if Path(place, "costs.csv").is_file()] == [folder]


@pytest.mark.parametrize(("steps", "same"), [(1.00005, True), (1.0003, False)])
def test_sizes_that_differ_by_less_than_a_ten_thousandth_are_the_same(steps, same, tmp_path):
    file = recorded(tmp_path, f"other,s/train,50.0,310.0,{400 * steps}")
    assert plan.costs([job(a=400)], [file])[0][1].recorded is same


def test_a_damaged_row_among_others_is_told_with_its_line(tmp_path):
    rows = [f"mine,{name},9,100,3" for name in ("a", "b", "c")]
    file = tmp_path / "costs.csv"
    for place, damaged in ((0, "mine,a,0,100,3"), (1, "mine,b,9,100,3 x"), (2, "mine,c,9,-1,3"), (1, "mine,b,9,100")):
        wrong = [*rows[:place], damaged, *rows[place + 1 :]]
        file.write_text("\n".join([",".join(costs.COLUMNS), *wrong]) + "\n")
        told = damaged if damaged.count(",") == 4 else f"{damaged},None"
        with pytest.raises(DataError) as caught:
            costs.recorded([file])
        assert str(caught.value) == (
            f"{file}:{place + 2}: got {told!r}, expected run,job,cpu_seconds,peak_memory_mb,sizes with numbers above 0"
        )


def test_rows_of_several_files_are_known_by_their_job(tmp_path):
    told = {"one": ["a", "b", "a"], "two": ["c", "a"], "three": ["b"]}
    for name, jobs in told.items():
        lines = [f"{name},{job},{k + 1},100,3" for k, job in enumerate(jobs)]
        (tmp_path / name).write_text("\n".join([",".join(costs.COLUMNS), *lines]) + "\n")
    known = costs.recorded([*(tmp_path / name for name in told), tmp_path / "gone"])
    assert {job: [(row["run"], row["cpu_seconds"]) for row in rows] for job, rows in known.items()} == {
        "a": [("one", "1"), ("one", "3"), ("two", "2")],
        "b": [("one", "2"), ("three", "1")],
        "c": [("two", "1")],
    }


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({"a": 3, "b": 4, "seed": 9, "stride": 9, "every": 9, "record": 9, "look": 9}, 12),
        ({"widths": [2, 3, 5], "rates": [0.5, 0.25], "names": ["x", "y", "z"]}, 10 * 2 * 3),
        ({"horizon": 2.5, "time": 4.0, "counter_time": 0.5, "rate": 0.1}, 5),
        ({"step": 0.25, "count": 3}, 12),
        ({"flag": True, "off": False, "text": "a", "none": None, "low": -3, "zero": 0, "empty": []}, 1),
        ({"zeros": [0, 0], "mixed": [1, 2.5], "below": [-1, 4, 4]}, 1 * 2 * 3),
        ({"by_variant": {"a": 7}, "n": 2}, 2),
        ({}, 1),
    ],
)
def test_the_size_of_settings_by_hand(settings, size):
    assert costs.size([{"settings": {"settings": settings}}], (1, 1)) == [pytest.approx(size)]


def test_the_size_of_several_members_is_one_per_section():
    members = [{"settings": {"settings": {"n": 2}, "own": {"n": 3}}}, {}, {"settings": {"settings": {"n": 5}}}]
    assert costs.size(members, (1, 1)) == [2, 3, 5]
