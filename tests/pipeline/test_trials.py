"""The store of finished trials: its place, its limit, what `store` prints, forced jobs."""

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
from repdyn.pipeline.ask import store as asked
from repdyn.pipeline.run.declare.jobs import Job, Parted
from repdyn.pipeline.run.execute import trials
from repdyn.pipeline.run.execute.kept import Kept, forget

JOB = Job("mine", "s/made", "simulate", [{"outputs": ["s/data/made.nc"]}])


def fill(root, experiment="s/made", count=3, identity="all that it depends on"):
    """Keeps trials of 1000 numbers, each used a minute after the one before."""
    kept = Store(trials.folder(root) / experiment).checkpoint(identity)
    for number in range(count):
        kept.put(f"trial {number}", {"x": np.random.default_rng(number).random(1000)})
        used = time.time() - 60 * (count - number)
        os.utime(kept._file(f"trial {number}"), (used, used))
    return kept


def test_it_lies_beside_the_results_or_where_the_environment_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert trials.store(JOB, Path("results/mine")).folder == Path(".cache/trials")
    assert trials.store(JOB, tmp_path / "results/mine").folder == tmp_path / ".cache/trials"
    monkeypatch.setenv("REPDYN_TRIALS", "/scratch/trials")
    assert trials.store(JOB, tmp_path / "results/mine").folder == Path("/scratch/trials")


def test_what_was_used_longest_ago_goes_first(tmp_path):
    kept = fill(tmp_path, count=5)
    assert kept.get("trial 1") is not None  # just used
    size = kept._file("trial 0").stat().st_size
    assert trials.trim(trials.folder(tmp_path), 2.5 * size) == 3
    assert set(kept.trials) == {"trial 1", "trial 4"}
    assert trials.trim(trials.folder(tmp_path), 2.5 * size) == 0


def test_what_was_not_used_for_long_goes_whatever_the_limit(tmp_path):
    kept = fill(tmp_path, count=3)
    assert trials.trim(trials.folder(tmp_path), 1e12, longest=150.0) == 1
    assert set(kept.trials) == {"trial 1", "trial 2"}


def test_an_empty_state_leaves_no_folder(tmp_path):
    kept = fill(tmp_path)
    trials.trim(trials.folder(tmp_path), 0.0)
    assert not kept.path.exists()


@pytest.mark.parametrize("text", ["0", "-1", "many"])
def test_a_limit_that_is_none(text, monkeypatch):
    monkeypatch.setenv("REPDYN_TRIALS_GB", text)
    with pytest.raises(ConfigError, match=f"REPDYN_TRIALS_GB={text}: expected a number of gigabytes above 0"):
        trials.limit()


def test_a_job_that_computes_beyond_the_limit_makes_room(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REPDYN_TRIALS_GB", "2e-5")  # 20 kB; a trial has 8.5
    store = trials.store(JOB, Path("results/mine"))
    kept = Store(store.folder / "s" / "made", tally=store.tally).checkpoint("job")
    for number in range(4):
        kept.put(f"trial {number}", {"x": np.random.default_rng(number).random(1000)})
        os.utime(kept._file(f"trial {number}"), (number, number))
    trials.done(JOB, store)
    assert set(kept.trials) == {"trial 2", "trial 3"}


def test_a_forced_job_reads_nothing_older_and_resumes_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fill(tmp_path, count=1)
    trials.force([JOB], ["s_made"])
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
    [(None, True), (["s_made"], True), (["results/mine/s/data/made.nc"], True), (["other"], False)],
)
def test_which_jobs_are_forced(forced, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trials.force([JOB], forced)
    assert (trials.store(JOB, Path("results/mine")).since > 0) == expected


@pytest.mark.parametrize(
    ("forced", "expected"),
    [
        (None, [True, True, True]),
        (["s_made"], [True, True, False]),
        (["s_made-depth2"], [False, True, False]),
        (["s_made-part1"], [False, False, True]),
        (["s_mad", "made"], [False, False, False]),
    ],
)
def test_a_rule_forces_all_of_its_variants_and_no_part_of_its_job(forced, expected, tmp_path, monkeypatch):
    """Snakemake knows variants by the one rule that they share; a part that it does not run again is not forced."""
    monkeypatch.chdir(tmp_path)
    outputs = [{"outputs": ["s/data/made/depth2.nc"]}]
    jobs = [JOB, Job("mine", "s/made-depth2", "simulate", outputs)]
    jobs += [Parted("mine", "s/made-part1", "simulate", [{"outputs": ["s/parts/made/1.nc"]}], part_of="s/made")]
    for job in jobs:
        Kept(Path(job.log)).folder.mkdir(parents=True)
    trials.force(jobs, forced)
    forget(jobs, forced)
    assert [trials.store(job, Path("results/mine")).since > 0 for job in jobs] == expected
    assert [not Kept(Path(job.log)).folder.exists() for job in jobs] == expected


@pytest.mark.parametrize(
    ("asked", "forced"),
    [
        ({}, set()),
        ({"targets": {"all", "s"}}, set()),
        ({"targets": {"all", "s"}, "forcetargets": True}, {"all", "s"}),
        ({"targets": {"all"}, "forcerun": {"s_made", "a.nc"}}, {"s_made", "a.nc"}),
        ({"targets": {"s"}, "forcetargets": True, "forcerun": {"s_made"}}, {"s", "s_made"}),
        ({"targets": {"s"}, "forceall": True}, None),
    ],
)
def test_a_command_forces_its_targets_alone_the_rules_that_it_names_or_all(asked, forced):
    nothing = {"targets": set(), "forcetargets": False, "forcerun": set(), "forceall": False}
    assert trials.forced_by(SimpleNamespace(**nothing | asked)) == forced


def test_store_prints_what_is_kept_and_what_it_depends_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["store"]) == 0
    assert "no finished trials" in capsys.readouterr().out
    fill(tmp_path, count=3)
    fill(tmp_path, "s/other", count=1)
    assert main(["store"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["s/made", "3", "1"]
    assert lines[2].split()[:3] == ["s/other", "1", "1"]
    assert "of 10 GB" in lines[-1]
    assert main(["store", "s/made"]) == 0
    assert "all that it depends on" in capsys.readouterr().out
    assert main(["store", "s/nothing"]) == 1
    assert "no finished trials of 's/nothing'; it holds s/made, s/other" in capsys.readouterr().err


def test_states_of_an_experiment_come_by_the_names_of_their_folders(tmp_path, monkeypatch):
    for identity in ("one", "two", "three", "four"):
        fill(tmp_path, "s/made", count=1, identity=json.dumps({"seed": identity}))
    listed = Path.glob
    monkeypatch.setattr(Path, "glob", lambda path, pattern: sorted(listed(path, pattern), reverse=True))
    told = trials.identities(trials.folder(tmp_path), "s/made")
    assert [entry["folder"] for entry in told] == sorted(
        path.name for path in (trials.folder(tmp_path) / "s/made").iterdir()
    )
    assert len({json.dumps(entry["about"]) for entry in told}) == 4


def test_an_experiment_was_used_when_its_last_trial_was(tmp_path):
    kept = fill(tmp_path, count=9)
    (row,) = trials.contents(trials.folder(tmp_path))
    assert row.used == kept._file("trial 8").stat().st_mtime
    assert row.bytes == sum(kept._file(f"trial {number}").stat().st_size for number in range(9))


def test_experiments_come_by_size_with_their_trials_and_states(tmp_path, monkeypatch, capsys):
    """The largest is the last of the alphabet; one has five trials of three states."""
    monkeypatch.chdir(tmp_path)
    fill(tmp_path, "a/small", count=2)
    for identity, count in (("first", 1), ("second", 3), ("third", 1)):
        fill(tmp_path, "t/states", count=count, identity=identity)
    fill(tmp_path, "z/large", count=7)
    assert main(["store"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["experiment", "trials", "states", "MB", "last", "used"]
    assert [" ".join(line.split()[:3]) for line in lines[1:4]] == ["z/large 7 1", "t/states 5 3", "a/small 2 1"]
    assert main(["store", "t/states"]) == 0
    told = capsys.readouterr().out
    entries = dict(part.split("\n", 1) for part in told.strip().split("\n\n"))
    assert set(entries) == {path.name for path in (trials.folder(tmp_path) / "t/states").iterdir()}
    assert sorted(json.loads(about)[0] for about in entries.values()) == ["first", "second", "third"]


def test_what_is_removed_is_told_by_the_days_and_the_gigabytes_that_are_given(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fill(tmp_path, count=3)
    for words, message in (
        (["--gigabytes", "1", "--days", "-2"], "got 1.0 gigabytes and -2.0 days, expected numbers from 0 on"),
        (["--days", "-2"], "got None gigabytes and -2.0 days, expected numbers from 0 on"),
    ):
        assert main(["store", "--clean", *words]) == 1
        assert message in capsys.readouterr().err
    assert main(["store", "--clean"]) == 0
    assert capsys.readouterr().out == f"{trials.folder(Path())}: 0 trials removed\n"


def test_store_tells_days_and_the_sum_of_all(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    long_ago = time.time() - 3.2 * 86400
    for experiment, used in (("s/made", time.time()), ("s/other", long_ago)):
        kept = Store(trials.folder(tmp_path) / experiment).checkpoint("x")
        kept.put("trial", {"x": np.random.default_rng(0).random(750_000)})  # 6 MB
        os.utime(kept._file("trial"), (used, used))
    assert main(["store"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0]: line.split()[3:] for line in lines[1:3]} == {
        "s/made": ["6.0", "today"],
        "s/other": ["6.0", "3", "days", "ago"],
    }
    assert lines[-1].endswith("0.01 of 10 GB (REPDYN_TRIALS_GB sets the limit)")
    assert main(["store", "--clean", "--days", "4"]) == 0
    assert "0 trials removed" in capsys.readouterr().out
    assert main(["store", "--clean", "--days", "3"]) == 0
    assert "1 trials removed" in capsys.readouterr().out


def test_store_makes_room(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fill(tmp_path, count=3)
    assert main(["store", "--clean", "--gigabytes", "-1"]) == 1
    assert "expected numbers from 0 on" in capsys.readouterr().err
    assert main(["store", "--clean", "--gigabytes", "0"]) == 0
    assert "3 trials removed" in capsys.readouterr().out
    assert trials.contents(trials.folder(tmp_path)) == []


def test_store_shows_every_experiment_with_its_numbers_and_the_sum_of_all(monkeypatch):
    """1250 + 340 + 6.4 MB are 1.60 GB."""
    now = time.time()
    rows = [
        trials.Contents("t/large", 7, 1_250_000_000, now - 3.6 * asked.DAY, 2),
        trials.Contents("s/middle", 30, 340_000_000, now - 0.9 * asked.DAY, 4),
        trials.Contents("s/small", 5, 6_400_000, now - 1.1 * asked.DAY, 3),
    ]
    monkeypatch.setattr(trials, "contents", lambda place: rows if place == Path("here/.cache/trials") else [])
    monkeypatch.setenv("REPDYN_TRIALS_GB", "2.5")
    assert asked.show(Path("here")).splitlines() == [
        "experiment                                    trials  states        MB     last used",
        "t/large                                            7       2    1250.0    4 days ago",
        "s/middle                                          30       4     340.0         today",
        "s/small                                            5       3       6.4    1 days ago",
        "",
        "here/.cache/trials: 1.60 of 2.5 GB (REPDYN_TRIALS_GB sets the limit)",
    ]
    with pytest.raises(DataError) as caught:
        asked.show(Path("here"), "s/middl")
    known = "t/large, s/middle, s/small"
    assert str(caught.value) == f"here/.cache/trials: no finished trials of 's/middl'; it holds {known}"
    assert asked.show(Path("there")) == "there/.cache/trials: no finished trials"
    with pytest.raises(DataError, match=r"no finished trials of 's/small'; it holds nothing$"):
        asked.show(Path("there"), "s/small")


def test_store_shows_what_the_trials_of_one_experiment_depend_on_entry_by_entry(monkeypatch):
    names = ("s/first", "s/second", "s/third")
    monkeypatch.setattr(trials, "contents", lambda _: [trials.Contents(name, 1, 2, 3.0, 4) for name in names])
    monkeypatch.setattr(
        trials, "identities", lambda _, name: [{"folder": f"{k}{name}", "about": {"seed": k, "é": []}} for k in "cab"]
    )
    assert asked.show(Path(), "s/second") == "\n\n".join(
        f'{k}s/second\n{{\n "seed": "{k}",\n "é": []\n}}' for k in "cab"
    )


@pytest.mark.parametrize(
    ("gigabytes", "days", "trimmed"),
    [(None, 0.0, (3e9, 0.0)), (0.5, 2.0, (5e8, 172_800.0)), (0.0, 0.5, (0.0, 43_200.0))],
)
def test_store_makes_room_up_to_its_own_limit_or_the_one_that_is_given(gigabytes, days, trimmed, monkeypatch):
    monkeypatch.setenv("REPDYN_TRIALS_GB", "3")
    done = []
    monkeypatch.setattr(trials, "trim", lambda place, most, *, longest: done.append((place, most, longest)) or 17)
    assert asked.clean(Path("here"), gigabytes, days) == "here/.cache/trials: 17 trials removed"
    assert done == [(Path("here/.cache/trials"), *trimmed)]
    for wrong in ((-0.1, 1.0), (None, -0.1), (1.0, -0.1)):
        with pytest.raises(DataError, match=f"got {wrong[0]} gigabytes and {wrong[1]} days"):
            asked.clean(Path("here"), *wrong)
    assert len(done) == 1
