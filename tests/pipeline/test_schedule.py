"""`repdyn plan --cores`: schedules computed by hand, bounds of every list schedule."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repdyn.pipeline.ask import plan, schedule
from repdyn.pipeline.run.declare.jobs import Job

CHAIN = {"a": [], "b": ["a"], "c": ["b"]}
FORK = {"start": [], "left": ["start"], "right": ["start"], "end": ["left", "right"]}
FOUR = {"middle": [], "also middle": [], "short": [], "long": ["short"]}


def job(name, reads=(), makes=(), run="default"):
    member = {"inputs": {path: path for path in reads}, "outputs": list(makes), "code": ""}
    return Job(run, name, "simulate", [member])


@pytest.mark.parametrize(
    ("seconds", "needs", "cores", "total"),
    [
        ((1.0, 2.0, 4.0), CHAIN, 1, 7),
        ((1.0, 2.0, 4.0), CHAIN, 100, 7),
        ((1.0, 5.0, 3.0, 2.0), FORK, 1, 11),
        ((1.0, 5.0, 3.0, 2.0), FORK, 2, 8),
        ((1.0, 5.0, 3.0, 2.0), FORK, 64, 8),
        ((3.0, 3.0, 1.0, 8.0), FOUR, 2, 9),  # the longest chain first, or it would be 11
        ((1.0,) * 5, {str(k): [] for k in range(5)}, 2, 3),
        ((), {}, 8, 0),
    ],
)
def test_schedules_equal_hand_computed_ones(seconds, needs, cores, total):
    times = dict(zip(needs, seconds, strict=True))
    assert schedule.schedule(times, needs, cores) == total


def test_critical_path_is_the_longest_chain():
    assert schedule.critical_path({"a": 1.0, "b": 2.0, "c": 4.0}, CHAIN) == ["a", "b", "c"]
    times = {"start": 1.0, "left": 5.0, "right": 3.0, "end": 2.0}
    assert schedule.critical_path(times, FORK) == ["start", "left", "end"]
    assert schedule.critical_path({}, {}) == []


def test_dependencies_follow_from_files():
    jobs = [job("a", makes=["x", "y"]), job("b", reads=["x", "there"], makes=["z"]), job("c", reads=["x", "y", "z"])]
    assert schedule.needs(jobs) == {"a": [], "b": ["a"], "c": ["a", "b"]}
    assert schedule.needs([job("a", reads=["x"], makes=["x"])]) == {"a": []}  # a task that reads another of its job


def test_cycles_and_zero_cores_are_rejected():
    with pytest.raises(ValueError, match="cycle"):
        schedule.schedule({"a": 1, "b": 1, "c": 1}, {"a": ["b"], "b": ["a"], "c": []}, 2)
    with pytest.raises(ValueError, match="0 cores"):
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
def test_schedules_are_between_the_lower_bounds_and_grahams_bound(graph, cores):
    seconds, needs = graph
    path = schedule.critical_path(seconds, needs)
    assert all(earlier in needs[later] for earlier, later in pairwise(path))
    longest, work = sum(seconds[name] for name in path), sum(seconds.values())
    took = schedule.schedule(seconds, needs, cores)
    assert max(longest, work / cores) - 1e-9 <= took <= work / cores + (1 - 1 / cores) * longest + 1e-9
    assert schedule.schedule(seconds, needs, 1) == pytest.approx(work)
    assert schedule.schedule(seconds, needs, len(seconds)) == pytest.approx(longest)


def test_chunks_of_a_job_wait_for_each_other():
    """Two chunks in a chain, the job that joins them, and what reads it: 2 + 3 + 1 + 0.5 minutes on any cores."""
    member = {"inputs": {}, "outputs": ["1.nc"], "code": ""}
    first = Job("default", "s/long-part1", "simulate", [member], part_of="s/long")
    second = replace(first, name="s/long-part2", members=[member | {"outputs": ["2.nc"]}], after=("1.nc",))
    whole = Job("default", "s/long", "simulate", [member | {"outputs": ["long.nc"]}], after=("2.nc",))
    jobs = [first, second, whole, job("s/fit", reads=["long.nc"])]
    costs = [plan.Cost(60 * minutes, 1.0, True) for minutes in (2.0, 3.0, 1.0, 0.5)]
    text = plan.show(list(zip(jobs, costs, strict=True)), "snakemake", [64])
    assert [line.split()[1] for line in text.splitlines() if line.split()[:1] == ["64"]] == ["6.5"]
