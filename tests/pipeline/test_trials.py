"""The trial cache: location, size limit, forced jobs, output and removals of `store`."""

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from repdyn.__main__ import main
from repdyn.base.checkpoints import Store
from repdyn.base.errors import ConfigError, DataError
from repdyn.pipeline.ask import store as shown
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.run.execute import trials

JOB = Job("mine", "s/made", "simulate", [{"outputs": ["s/data/made.nc"]}])


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def fill(experiment="s/made", count=3, identity="all that it depends on"):
    """Stores trials of 1000 numbers, each used a minute after the one before."""
    kept = Store(trials.folder(Path()) / experiment).checkpoint(identity)
    for number in range(count):
        kept.put(f"trial {number}", {"x": np.random.default_rng(number).random(1000)})
        used = time.time() - 60 * (count - number)
        os.utime(kept._file(f"trial {number}"), (used, used))
    return kept


def test_trial_cache_is_next_to_results_or_set_by_environment(tmp_path, monkeypatch):
    assert trials.store(JOB, Path("results/mine")).folder == Path(".cache/trials")
    assert trials.store(JOB, tmp_path / "results/mine").folder == tmp_path / ".cache/trials"
    monkeypatch.setenv("REPDYN_TRIALS", "/scratch/trials")
    assert trials.store(JOB, tmp_path / "results/mine").folder == Path("/scratch/trials")


def test_least_recently_used_trials_are_removed_first():
    kept = fill(count=5)
    assert kept.get("trial 1") is not None  # just used
    size = kept._file("trial 0").stat().st_size
    assert trials.trim(trials.folder(Path()), 2.5 * size) == 3
    assert set(kept.trials) == {"trial 1", "trial 4"}
    assert trials.trim(trials.folder(Path()), 2.5 * size) == 0
    assert trials.trim(trials.folder(Path()), 1e12, longest=30.0) == 1  # unused for longer, whatever the limit
    assert set(kept.trials) == {"trial 1"}
    trials.trim(trials.folder(Path()), 0.0)
    assert not kept.path.exists()


@pytest.mark.parametrize("text", ["0", "-1", "many"])
def test_nonpositive_limit_is_rejected(text, monkeypatch):
    monkeypatch.setenv("REPDYN_TRIALS_GB", text)
    with pytest.raises(ConfigError, match=f"REPDYN_TRIALS_GB={text}"):
        trials.limit()


def test_job_that_computes_beyond_the_limit_removes_older_trials(monkeypatch):
    monkeypatch.setenv("REPDYN_TRIALS_GB", "2e-5")  # 20 kB; a trial has 8.5
    store = trials.store(JOB, Path("results/mine"))
    kept = Store(store.folder / "s" / "made", tally=store.tally).checkpoint("job")
    for number in range(4):
        kept.put(f"trial {number}", {"x": np.random.default_rng(number).random(1000)})
        os.utime(kept._file(f"trial {number}"), (number, number))
    trials.done(JOB, store)
    assert set(kept.trials) == {"trial 2", "trial 3"}


def test_forced_job_resumes_only_its_own_trials():
    fill(count=1)
    trials.force([JOB], ["s_data_made"])
    forced = trials.store(JOB, Path("results/mine"))
    kept = Store(forced.folder / "s" / "made", forced.since).checkpoint("all that it depends on")
    assert kept.get("trial 0") is None
    kept.put("trial 0", {"x": 1.0})
    assert kept.get("trial 0") is not None  # after a kill
    assert trials.store(JOB, Path("results/mine")).since > 0
    trials.done(JOB, forced)
    assert trials.store(JOB, Path("results/mine")).since == 0


@pytest.mark.parametrize(
    ("forced", "expected"),
    [
        (None, [True, True, True]),
        (["s_data_made"], [True, True, False]),
        (["results/mine/s/data/made.nc"], [True, False, False]),
        (["s_parts_made_1"], [False, False, True]),
        (["s_mad", "made"], [False, False, False]),
    ],
)
def test_forcing_a_rule_forces_its_variants_but_no_chunk(forced, expected):
    """Snakemake knows variants by their shared rule; a chunk that it does not run again is not forced."""
    jobs = [JOB, Job("mine", "s/made-depth2", "simulate", [{"outputs": ["s/data/made/depth2.nc"]}])]
    jobs += [Job("mine", "s/made-part1", "simulate", [{"outputs": ["s/parts/made/1.nc"]}], part_of="s/made")]
    trials.force(jobs, forced)
    assert [trials.store(job, Path("results/mine")).since > 0 for job in jobs] == expected


def test_force_options_select_targets_rules_or_all():
    cases = [
        ({"targets": {"all", "s"}}, set()),
        ({"targets": {"all", "s"}, "forcetargets": True}, {"all", "s"}),
        ({"targets": {"all"}, "forcerun": {"s_data_made", "a.nc"}}, {"s_data_made", "a.nc"}),
        ({"targets": {"s"}, "forcetargets": True, "forcerun": {"s_data_made"}}, {"s", "s_data_made"}),
        ({"targets": {"s"}, "forceall": True}, None),
    ]
    nothing = {"targets": set(), "forcetargets": False, "forcerun": set(), "forceall": False}
    assert [trials.forced_by(SimpleNamespace(**nothing | options)) for options, _ in cases] == [
        forced for _, forced in cases
    ]


def test_store_lists_experiments_by_size_and_the_key_of_one(capsys):
    assert main(["store"]) == 0
    fill("a/small", count=2)
    for identity, count in (("first", 1), ("second", 3), ("third", 1)):
        fill("t/states", count=count, identity=identity)
    large = fill("z/large", count=7)
    capsys.readouterr()
    assert main(["store"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()[:3]) for line in lines[1:4]] == ["z/large 7 1", "t/states 5 3", "a/small 2 1"]
    row = next(row for row in trials.contents(trials.folder(Path())) if row.experiment == "z/large")
    assert row.used == large._file("trial 6").stat().st_mtime
    assert row.bytes == sum(large._file(f"trial {number}").stat().st_size for number in range(7))
    assert main(["store", "t/states"]) == 0
    entries = dict(part.split("\n", 1) for part in capsys.readouterr().out.strip().split("\n\n"))
    assert list(entries) == sorted(path.name for path in (trials.folder(Path()) / "t/states").iterdir())
    assert sorted(json.loads(about)[0] for about in entries.values()) == ["first", "second", "third"]
    assert main(["store", "t/nothing"]) == 1
    assert "t/nothing" in capsys.readouterr().err


def test_store_removes_trials_by_days_and_gigabytes(capsys):
    for experiment, days in (("s/made", 0), ("s/other", 3.2)):
        kept = fill(experiment, count=1)
        used = time.time() - days * shown.DAY
        os.utime(kept._file("trial 0"), (used, used))

    def left():
        return [row.experiment for row in trials.contents(trials.folder(Path()))]

    for words, experiments in (
        ([], ["s/made", "s/other"]),
        (["--days", "4"], ["s/made", "s/other"]),
        (["--days", "3"], ["s/made"]),
        (["--gigabytes", "1"], ["s/made"]),
        (["--gigabytes", "0"], []),
    ):
        assert main(["store", "--clean", *words]) == 0
        assert sorted(left()) == experiments, words
    for gigabytes, days in ((-0.1, 1.0), (None, -0.1), (1.0, -0.1), (float("nan"), 0.0), (1.0, float("inf"))):
        with pytest.raises(DataError, match=f"{gigabytes} .*{days} "):
            shown.clean(Path(), gigabytes, days)
