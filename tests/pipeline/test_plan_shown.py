"""The plan of a run with several studies and jobs, as it is printed; which files its costs are kept in."""

import pytest

from repdyn.pipeline.ask import plan
from repdyn.pipeline.run.declare.jobs import Job

JOBS = [  # name, what it reads, CPU seconds, MB, whether these are recorded
    ("b/fit", ["b/train"], 300.0, 1200.0, False),
    ("images", [], 24.0, 250.0, True),
    ("b/train", ["images"], 600.0, 900.0, True),
    ("a/one", [], 120.0, 400.0, True),
    ("manifest", ["b/fit", "a/two"], 6.0, 100.0, True),
    ("c/new", [], None, None, None),
    ("a/two", [], 180.0, 700.0, False),
    ("a/three", [], None, None, None),
    ("b/draw", ["b/fit"], 36.0, 300.0, True),
]


def test_the_whole_plan_of_three_studies_and_what_they_share():
    """On two cores the chain of 960 s leaves room for all else: 1266 s are 65.9 % of twice as long."""
    expected = []
    for name, reads, *cost in JOBS:
        member = {"inputs": {read: f"{read}.nc" for read in reads}, "outputs": [f"{name}.nc"]}
        expected.append((Job("mine", name, "k", [member]), None if cost[0] is None else plan.Cost(*cost)))
    assert plan.show(expected, "snakemake -- all", [1, 2, 64]).splitlines() == [
        "snakemake -- all",
        "",
        "study                     jobs  core-minutes  largest job (MB)",
        "a                            3           5.0               700   1 estimated   1 unknown",
        "b                            3          15.6              1200   1 estimated",
        "c                            1           0.0                 0   1 unknown",
        "all studies share            2           0.5               250",
        "all                          9          21.1              1200   2 estimated   2 unknown",
        "",
        "cores     minutes  efficiency",
        "    1        21.1       100 %",
        "    2        16.0      65.9 %",
        "   64        16.0       2.1 %",
        "",
        "No faster than 16.0 minutes on any number of cores: images (0.4), b/train (10.0), b/fit (5.0), b/draw (0.6).",
        "Estimated: no cost is recorded at these settings; extrapolated from the nearest records, trainings by "
        "their work, others by the size of their settings: take these as an order of magnitude.",
        "Unknown: never recorded; left out of the sum. Record a finished run: python -m repdyn costs RUN",
    ]


HEAD = "run,job,cpu_seconds,peak_memory_mb,sizes"


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """A finished run with jobs of three studies and of none; the costs that are kept of it and of others."""
    took = {"b/fit": 3.5, "a/two": 30.0, "images": 2.0, "a/one": 7.25, "c/new": 4.0, "b/train": 90.0}
    parts = {"b/fit": [{"a": 2, "b": 5}, {"a": 3}, {"c": 7}], "a/two": [{"a": 400}], "a/one": [{"x": 1}]}
    jobs = []
    for place, (name, seconds) in enumerate(took.items()):
        members = [
            {"inputs": {}, "outputs": [f"{name}{number}.nc"], "settings": {"settings": part}}
            for number, part in enumerate(parts.get(name, []))
        ]
        jobs.append((Job("smoke", name, "k", members), {"cpu_seconds": seconds, "peak_memory_mb": 100.5 + place}))
    asked = []
    monkeypatch.setattr(plan, "_finished", lambda run: asked.append(run) or jobs)
    monkeypatch.setattr(plan, "home", lambda study, checkout: checkout / f"{study or 'shared'}.csv")
    kept = {
        "a": ["default,a/two,50,300.0,800", "smoke,a/gone,1,1.0,1", "full,a/two,70,500.0,900", "smoke,a/two,9,1.0,4"],
        "b": ["full,b/train,3,300.0,", "smoke,b/train,50,3.0,"],
        "d": ["smoke,d/old,5,1.0,"],
    }
    for study, rows in kept.items():
        (tmp_path / f"{study}.csv").write_text("\n".join([HEAD, *rows]) + "\n")
    return tmp_path, asked


def test_costs_of_every_study_are_kept_beside_those_of_other_runs(finished):
    folder, asked = finished
    assert plan.keep("smoke", folder) == 6
    assert asked == ["smoke"]
    assert {path.stem: path.read_text().splitlines() for path in folder.iterdir()} == {
        "a": [
            *(HEAD, "default,a/two,50,300.0,800", "full,a/two,70,500.0,900"),
            *("smoke,a/two,30.0,101.5,400", "smoke,a/one,7.25,103.5,1"),
        ],
        "b": [HEAD, "full,b/train,3,300.0,", "smoke,b/fit,3.5,100.5,10 3 7", "smoke,b/train,90.0,105.5,"],
        "c": [HEAD, "smoke,c/new,4.0,104.5,"],
        "d": [HEAD, "smoke,d/old,5,1.0,"],
        "shared": [HEAD, "smoke,images,2.0,102.5,"],
    }


def test_what_a_plan_missed_is_told_of_jobs_that_every_file_knows(finished):
    """Of b/train 50 s were known, of a/two 9 s at a hundredth of its size: ten times as much above its start."""
    folder, _ = finished
    (folder / "shared.csv").write_text(f"{HEAD}\nsmoke,images,2.5,1.0,\n")
    (folder / "a.csv").write_text(f"{HEAD}\nsmoke,a/two,9,1.0,4\n")
    assert plan.missed("smoke", sorted(folder.glob("*.csv"))).splitlines() == [
        "planned 2.1 core-minutes, took 2.0; beyond a factor of 1.5: 2; never recorded before: 3",
        "  a/two: 72 s planned, 30 s taken",
        "  b/train: 50 s planned, 90 s taken",
    ]
