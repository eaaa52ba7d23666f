"""`repdyn plan --cores`: schedules known by hand, bounds that every list schedule keeps."""

import argparse
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repdyn.pipeline.ask import commands, plan, schedule
from repdyn.pipeline.run.declare.jobs import Job, Parted

CHAIN = {"a": [], "b": ["a"], "c": ["b"]}
FORK = {"start": [], "left": ["start"], "right": ["start"], "end": ["left", "right"]}


def job(name, reads=(), makes=(), run="default"):
    member = {"inputs": {path: path for path in reads}, "outputs": list(makes), "code": ""}
    return Job(run, name, "simulate", [member])


def test_a_chain_takes_its_sum_on_any_number_of_cores():
    seconds = {"a": 1.0, "b": 2.0, "c": 4.0}
    for cores in (1, 2, 100):
        assert schedule.schedule(seconds, CHAIN, cores) == schedule.Schedule(cores, 7.0, 1 / cores)
    assert schedule.critical_path(seconds, CHAIN) == ["a", "b", "c"]


def test_a_fork_takes_its_longer_side():
    seconds = {"start": 1.0, "left": 5.0, "right": 3.0, "end": 2.0}
    assert schedule.schedule(seconds, FORK, 1).seconds == 11
    two = schedule.schedule(seconds, FORK, 2)
    assert (two.seconds, two.efficiency) == (8, pytest.approx(11 / 16))
    assert schedule.schedule(seconds, FORK, 64).seconds == 8
    assert schedule.critical_path(seconds, FORK) == ["start", "left", "end"]


def test_the_longest_way_to_the_end_goes_first():
    """On two cores a short job that a long one waits for goes before two of middle length: 9 s, not 11."""
    needs = {"middle": [], "also middle": [], "short": [], "long": ["short"]}
    seconds = {"middle": 3.0, "also middle": 3.0, "short": 1.0, "long": 8.0}
    assert schedule.schedule(seconds, needs, 2).seconds == 9


def test_independent_jobs_share_the_cores():
    """Five jobs of 1 s on two cores: three rounds."""
    needs = {str(k): [] for k in range(5)}
    three = schedule.schedule(dict.fromkeys(needs, 1.0), needs, 2)
    assert (three.seconds, three.efficiency) == (3, pytest.approx(5 / 6))


def test_nothing_takes_no_time():
    assert schedule.schedule({}, {}, 8) == schedule.Schedule(8, 0.0, 1.0)
    assert schedule.critical_path({}, {}) == []


def test_who_waits_for_whom_follows_from_files():
    jobs = [job("a", makes=["x", "y"]), job("b", reads=["x", "there"], makes=["z"]), job("c", reads=["x", "y", "z"])]
    assert schedule.needs(jobs) == {"a": [], "b": ["a"], "c": ["a", "b"]}
    assert schedule.needs([job("a", reads=["x"], makes=["x"])]) == {"a": []}  # a member that reads another of its job


def test_jobs_that_wait_for_each_other_and_no_cores_are_refused():
    with pytest.raises(ValueError, match="wait for each other: a, b"):
        schedule.schedule({"a": 1, "b": 1, "c": 1}, {"a": ["b"], "b": ["a"], "c": []}, 2)
    with pytest.raises(ValueError, match="got 0 cores, expected at least 1"):
        schedule.schedule({}, {}, 0)


@st.composite
def graphs(draw):
    """Times of up to 12 jobs, and for each some earlier ones that it needs."""
    count = draw(st.integers(1, 12))
    seconds = {str(k): float(draw(st.integers(0, 20))) for k in range(count)}
    needs = {str(k): sorted(draw(st.sets(st.sampled_from(range(k)))) if k else []) for k in range(count)}
    return seconds, {name: [str(maker) for maker in before] for name, before in needs.items()}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(graphs(), st.integers(1, 6))
def test_between_the_lower_bounds_and_grahams(graph, cores):
    seconds, needs = graph
    path = schedule.critical_path(seconds, needs)
    assert all(earlier in needs[later] for earlier, later in pairwise(path))
    longest, work = sum(seconds[name] for name in path), sum(seconds.values())
    took = schedule.schedule(seconds, needs, cores).seconds
    assert max(longest, work / cores) - 1e-9 <= took <= work / cores + (1 - 1 / cores) * longest + 1e-9
    assert schedule.schedule(seconds, needs, 1).seconds == pytest.approx(work)
    assert schedule.schedule(seconds, needs, len(seconds)).seconds == pytest.approx(longest)


# What `plan` prints


def test_the_table_says_time_and_efficiency_and_which_jobs_hold_it():
    jobs = [job("s/a", makes=["x"]), job("s/b", reads=["x"]), job("s/c"), job("s/new")]
    costs = [plan.Cost(60 * minutes, 1.0, True) for minutes in (100.0, 20.0, 120.0)]
    lines = plan.show(list(zip(jobs, [*costs, None], strict=True)), "snakemake", [1, 2, 64]).splitlines()
    table = [line.split() for line in lines[lines.index("cores     minutes  efficiency") + 1 :][:3]]
    assert table == [["1", "240", "100", "%"], ["2", "120", "100", "%"], ["64", "120", "3.1", "%"]]
    assert "No faster than 120.0 minutes on any number of cores: s/a (100.0), s/b (20.0)." in lines


def test_a_job_and_its_parts_are_one_station_of_the_chain_that_counts_the_parts_alone():
    """Two parts in a chain, the job that joins them, and what reads it; another job's single part is shorter."""
    member = {"inputs": {}, "outputs": ["1.nc"], "code": ""}
    first = Parted("default", "s/long-part1", "simulate", [member], part_of="s/long")
    second = replace(first, name="s/long-part2", members=[member | {"outputs": ["2.nc"]}], after=("1.nc",))
    whole = Parted("default", "s/long", "simulate", [member | {"outputs": ["long.nc"]}], after=("2.nc",))
    other = replace(first, name="s/other-part1", members=[member | {"outputs": ["3.nc"]}], part_of="s/other")
    jobs = [first, second, whole, other, job("s/fit", reads=["long.nc"])]
    costs = [plan.Cost(60 * minutes, 1.0, True) for minutes in (2.0, 3.0, 1.0, 5.0, 0.5)]
    lines = plan.show(list(zip(jobs, costs, strict=True)), "snakemake").splitlines()
    assert "No faster than 6.5 minutes on any number of cores: s/long with 2 parts (6.0), s/fit (0.5)." in lines
    lines = plan.show([(other, costs[3])], "snakemake").splitlines()
    assert "No faster than 5.0 minutes on any number of cores: s/other with 1 part (5.0)." in lines


def test_no_table_where_no_cores_are_asked_for():
    lines = plan.show([(job("s/a"), plan.Cost(60.0, 1.0, True))], "snakemake").splitlines()
    assert not any(line.startswith("cores") for line in lines)


@pytest.mark.parametrize(("text", "cores"), [("8", [8]), ("1,8, 64", [1, 8, 64])])
def test_numbers_of_cores_are_read(text, cores):
    assert commands.numbers_of_cores(text) == cores


@pytest.mark.parametrize("text", ["", "0", "8,-1", "2.5", "many"])
def test_other_numbers_of_cores_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match=f"got '{text}', expected numbers above 0, e.g. 1,8,64"):
        commands.numbers_of_cores(text)
