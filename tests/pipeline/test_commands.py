"""Commands that ask about runs: what each passes on, prints and ends with."""

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.conftest import ROOT, SMOKE
from tests.pipeline.test_reproduces import run

from repdyn.base.errors import ConfigError, DataError
from repdyn.pipeline import kept_runs
from repdyn.pipeline.ask import commands, decide, false_alarms, plan, site, store, verify, workflow
from repdyn.pipeline.run.declare.costs import files
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.studies import CHOICE, COSTS

MEMBER = {"inputs": {}, "settings": {"settings": {"a": 4}}}
JOBS = [Job("mine", f"s/{name}", "k", [MEMBER | {"outputs": [f"{name}.nc"]}]) for name in ("done", "due")]


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """A checkout in the working directory whose workflow declares two jobs; the options it was asked with."""
    asked = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workflow, "folder", lambda: tmp_path)
    monkeypatch.setattr(workflow, "jobs", lambda folder, options: asked.append((folder, options)) or JOBS)
    (tmp_path / "workflow/scales").mkdir(parents=True)
    (tmp_path / "workflow/scales/smoke.yaml").touch()
    (tmp_path / "workflow" / COSTS).write_text("run,job,cpu_seconds,peak_memory_mb,sizes\nsmoke,s/done,60.0,300.0,4\n")
    return asked


# Runs side by side


def test_two_runs_are_compared_at_the_tier_asked_for(tmp_path, capsys):
    first, other = run(tmp_path / "one"), run(tmp_path / "other", value="2.6")
    assert commands.compare([str(first), str(first)]) == 0
    assert commands.compare([str(first), str(other)]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("tier identical: DIFFERENT (")
    assert commands.compare([str(first), str(other), "--tier", "verdicts"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "tier verdicts: equal"


def test_a_run_or_a_reference_is_held_against_a_reference(tmp_path, capsys):
    for name, verdicts in (("one", ("holds", "holds")), ("other", ("holds", "does not hold"))):
        commands.keep([str(run(tmp_path / name, verdicts=verdicts)), "--into", str(tmp_path / "reference" / name)])
    reference, other = tmp_path / "reference/one", tmp_path / "reference/other"
    assert capsys.readouterr().out == f"{reference}: kept\n{other}: kept\n"
    for first in (tmp_path / "one", reference):
        assert commands.compare([str(first), str(reference)]) == 0
        assert commands.compare([str(first), str(other)]) == 1
        output = capsys.readouterr().out
        assert f"{first} reproduces {reference}: 2 of 2 verdicts" in output
        assert f"{first} does NOT reproduce {other}: 1 of 2 verdicts" in output
        assert "x-1: does not hold -> holds" in output


@pytest.mark.parametrize(("option", "value", "what"), [("--tier", "rounding", "data"), ("--pictures", "x", "pictures")])
def test_a_reference_has_neither_data_nor_pictures(option, value, what, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reference = tmp_path / "reference/one"
    commands.keep([str(run(tmp_path / "one")), "--into", str(reference)])
    with pytest.raises(DataError) as caught:
        commands.compare([str(tmp_path / "one"), str(reference), option, value])
    assert str(caught.value) == f"{reference}: a reference has no {what}; give {option} two results folders"


def test_a_run_is_kept_under_its_own_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(tmp_path / "results/mine")
    commands.keep(["results/mine"])
    assert capsys.readouterr().out == "reference/mine: kept\n"
    assert (tmp_path / "reference/mine/claims.csv").is_file()


def test_a_run_is_kept_in_place_of_another_or_beside_it(tmp_path):
    reference = tmp_path / "reference"
    for name in ("mine", "other"):
        claims = run(tmp_path / name) / "claims.csv"
        claims.write_text(claims.read_text().replace("x-0", f"{name}-0").replace(",s,", f",{name},"))
    commands.keep([str(tmp_path / "mine"), "--into", str(reference)])
    commands.keep([str(tmp_path / "other"), "--into", str(reference), "--beside"])
    assert set(kept_runs.read(reference).claims["study"]) == {"mine", "other"}
    commands.keep([str(tmp_path / "mine"), "--into", str(reference)])
    assert set(kept_runs.read(reference).claims["study"]) == {"mine"}


def test_a_run_is_kept_beside_others_only_where_there_are_some(tmp_path):
    with pytest.raises(DataError, match="not a reference"):
        commands.keep([str(run(tmp_path / "mine")), "--into", str(tmp_path / "reference"), "--beside"])
    assert not (tmp_path / "reference").exists()


def test_a_claim_is_looked_for_in_the_folder_of_results(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("repdyn.pipeline.run.kinds.ledger.show", lambda id, results: asked.append((id, results)) or "")
    commands.claim(["x-1"])
    commands.claim(["x-1", "--results", str(tmp_path)])
    assert asked == [("x-1", Path("results")), ("x-1", tmp_path)]


# What is to be done


@pytest.mark.parametrize(("wrong", "status"), [("", 0), ("older code", 1)])
def test_results_are_verified_by_the_workflow_of_their_scale(tmp_path, asked, monkeypatch, capsys, wrong, status):
    reasons = {path: "" for job in JOBS for path in job.outputs} | {JOBS[1].outputs[0]: wrong}
    monkeypatch.setattr(verify, "examine", lambda run, jobs: reasons if (run, jobs) == ("smoke", JOBS) else {})
    assert commands.verify(["smoke"]) == status
    scale = ["--configfile", str(tmp_path / "workflow/scales/smoke.yaml")]
    assert asked == [(tmp_path, scale)]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"results/smoke: {2 - status} of 2 files are what today's code and settings make"
    again = f"to make them again: snakemake --cores 8 {' '.join(scale)} --forcerun {JOBS[1].outputs[0]} -- all"
    assert lines[1:] == (["older code: due.nc", again] if wrong else [])


def test_the_default_run_is_verified_where_none_is_named(tmp_path, asked, monkeypatch):
    runs = []
    monkeypatch.setattr(verify, "examine", lambda run, jobs: runs.append(run) or {})
    monkeypatch.setattr(verify, "remedy", lambda reasons, jobs: [])
    commands.verify([])
    commands.verify(["mine", "--configfile", "a.yaml", "b.yaml", "--config", "run={seed: 2}"])
    assert runs == ["default", "mine"]
    assert asked[1][1] == ["--configfile", "a.yaml", "b.yaml", "--config", "run={seed: 2}"]


def test_a_plan_is_of_all_jobs_or_of_those_that_remain(tmp_path, asked, monkeypatch, capsys):
    commands.plan(["--configfile", "mine.yaml"])
    lines = capsys.readouterr().out.splitlines()
    assert asked == [(tmp_path, ["--configfile", "mine.yaml"])]
    assert lines[0] == "snakemake --configfile mine.yaml -- all"
    assert lines[3].split()[:3] == ["s", "2", "1.0"]  # the minute that is recorded
    monkeypatch.setattr(verify, "due", lambda jobs: jobs[1:])
    commands.plan(["--remaining"])
    assert capsys.readouterr().out.splitlines()[3].split()[:3] == ["s", "1", "0.0"]
    monkeypatch.setattr(verify, "due", lambda jobs: [])
    commands.plan(["--remaining"])
    assert capsys.readouterr().out == "snakemake -- all: nothing to be done\n"


def test_a_plan_is_held_to_what_a_run_took_before_its_costs_are_kept_in_the_checkout(
    tmp_path, asked, monkeypatch, capsys
):
    done = []
    monkeypatch.setattr(plan, "missed", lambda run, files: done.append(("missed", run, files)) or "planned 3")
    monkeypatch.setattr(plan, "keep", lambda run, folder: done.append(("keep", run, folder)) or 7)
    commands.costs(["mine"])
    assert done == [("missed", "mine", files(tmp_path)), ("keep", "mine", tmp_path)]
    assert capsys.readouterr().out == "planned 3\ncosts of 7 jobs of mine are kept\n"


@pytest.mark.parametrize("run", ["smoke", "smoke-decided"])
def test_claims_are_decided_by_the_workflow_of_their_scale_for_the_minutes_that_are_given(
    tmp_path, asked, monkeypatch, run
):
    done = []
    monkeypatch.setattr(decide, "decide", lambda *words, say, **named: done.append((words, named)) or say("said"))
    commands.decide([run, "--budget", "2", "--looks", "3", "--cores", "5", "--config", "run={seed: 2}"])
    commands.decide([run, "--budget", "0.5", "--configfile", "mine.yaml"])
    scale = ["--configfile", str(tmp_path / "workflow/scales/smoke.yaml"), "--config", "run={seed: 2}"]
    assert done == [
        ((run, scale), {"budget": 120.0, "looks": 3, "cores": 5}),
        ((run, ["--configfile", "mine.yaml"]), {"budget": 30.0, "looks": None, "cores": 2}),
    ]


def test_without_a_budget_what_open_claims_want_is_said_alone(asked, monkeypatch, capsys):
    monkeypatch.setattr(decide, "needs", lambda run: [decide.Need(None, f"of {run}", id="x-1", study="s")])
    commands.decide(["mine"])
    assert capsys.readouterr().out.splitlines()[1].split() == ["x-1", "-", "of", "mine"]
    assert asked == []


def test_running_jobs_are_looked_for_in_the_folder_of_logs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands.progress([])
    commands.progress(["--logs", "elsewhere"])
    assert capsys.readouterr().out == "logs: no job is running\nelsewhere: no job is running\n"


def test_a_plan_says_how_long_it_takes_on_each_number_of_cores(asked, capsys):
    """One job takes the minute that is recorded, the other is unknown."""
    commands.plan(["--cores", "64,1, 8"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    at = lines.index(["cores", "minutes", "efficiency"])
    assert lines[at + 1 : at + 5] == [
        *(["64", "1.0", "1.6", "%"], ["1", "1.0", "100", "%"], ["8", "1.0", "12.5", "%"]),
        [],
    ]


def test_the_store_is_shown_or_cleaned_as_asked(monkeypatch, capsys):
    done = []
    monkeypatch.setattr(store, "show", lambda *words: done.append(("show", *words)) or "shown")
    monkeypatch.setattr(store, "clean", lambda *words: done.append(("clean", *words)) or "cleaned")
    words = ([], ["s/trained"], ["--clean"], ["--clean", "--gigabytes", "2.5"], ["--days", "3", "--clean"])
    for asked in words:
        commands.store(asked)
    assert done == [
        ("show", Path(), None),
        ("show", Path(), "s/trained"),
        ("clean", Path(), None, 0.0),
        ("clean", Path(), 2.5, 0.0),
        ("clean", Path(), None, 3.0),
    ]
    assert capsys.readouterr().out == "shown\nshown\ncleaned\ncleaned\ncleaned\n"


def test_a_site_is_made_from_the_run_into_the_folder_for_the_address_with_the_documentation(monkeypatch, capsys):
    done = []
    monkeypatch.setattr(site, "publish", lambda *words: done.append(words) or 6 + len(done))
    url = "https://example.org/repdyn"
    commands.site(["results/mine", "--url", url])
    commands.site(["r", "--docs", "build/docs", "--url", "https://b.org", "--into", "out"])
    assert done == [
        (Path("results/mine"), Path("site"), url, None),
        (Path("r"), Path("out"), "https://b.org", Path("build/docs")),
    ]
    assert capsys.readouterr().out == "site: 7 pages\nout: 8 pages\n"
    with pytest.raises(SystemExit):
        commands.site(["results/mine"])
    assert "required: --url" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "text", "chosen", "here"),
    [
        ("Snakefile", "rule all:\n", "", False),
        ("Snakefile", f'include: "{workflow.OUR_RULES}/common.smk"\n', "", True),
        ("Snakefile", "rule all:\n", "my_paper", True),
        ("src/repdyn/pipeline/ask/workflow.py", "", "", True),
        (None, "", "my_paper", False),
    ],
)
def test_a_folder_with_a_snakefile_is_ours_by_its_code_its_rules_or_its_studies(
    tmp_path, monkeypatch, file, text, chosen, here
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CHOICE, chosen)
    if file:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path("Snakefile").touch()
        Path(file).write_text(text)
    assert workflow.folder() == (Path() if here else ROOT)


def test_options_are_all_overlays_and_settings_that_are_given_or_the_scale_of_the_run(tmp_path):
    scales = tmp_path / "workflow/scales"
    scales.mkdir(parents=True)
    for name in ("smoke", "full"):
        (scales / f"{name}.yaml").touch()
    overlays, settings = [Path("c.yaml"), Path("a.yaml"), Path("b.yaml")], ["x=1", "run={seed: 2}", "y=3"]
    given = ["--configfile", "c.yaml", "a.yaml", "b.yaml", "--config", *settings]
    assert workflow.options(tmp_path, "full", overlays, settings) == given
    assert workflow.options(tmp_path, "full", None, []) == ["--configfile", str(scales / "full.yaml")]
    assert workflow.options(tmp_path, "full", [], settings) == ["--config", *settings]
    assert workflow.options(tmp_path, "paper", None, settings) == ["--config", *settings]


# Checks


def test_false_alarms_are_printed_and_written(tmp_path, monkeypatch, capsys):
    asked = []
    counted = pd.DataFrame({"claim": ["x-1"], "refuted": [2]})
    monkeypatch.setattr(false_alarms, "measure", lambda *words: asked.append(words) or counted)
    commands.false_alarms(["results/smoke"])
    commands.false_alarms(["r", "--seeds", "1", "--seconds", "0", "--output", str(tmp_path / "made.csv")])
    assert asked == [(Path("results/smoke"), 200, 1.0), (Path("r"), 1, 0.0)]
    assert capsys.readouterr().out.splitlines() == ["claim  refuted", "  x-1        2"] * 2
    assert (tmp_path / "made.csv").read_text() == "claim,refuted\nx-1,2\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("false_alarms results/smoke --seeds 0", "argument --seeds: got 0, expected 1 or more"),
        ("false_alarms results/smoke --seeds 1.5", "argument --seeds: invalid int value: '1.5'"),
        ("false_alarms results/smoke --seconds -0.1", "argument --seconds: got -0.1, expected 0 or more"),
        ("false_alarms results/smoke --seconds nan", "argument --seconds: got nan, expected 0 or more"),
        ("decide smoke --budget -1", "argument --budget: got -1, expected 0 or more"),
        ("decide smoke --looks 0", "argument --looks: got 0, expected 1 or more"),
        ("decide smoke --cores 0", "argument --cores: got 0, expected 1 or more"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(words, message, capsys):
    command, *rest = words.split()
    with pytest.raises(SystemExit):
        getattr(commands, command)(rest)
    assert message in capsys.readouterr().err


def test_configuration_files_are_checked(tmp_path, monkeypatch, capsys):
    config = str(ROOT / "config.yaml")
    commands.check_config([config, str(ROOT / SMOKE)])
    monkeypatch.chdir(ROOT)
    commands.check_config([])
    assert capsys.readouterr().out == "smoke: the configuration is valid\ndefault: the configuration is valid\n"
    (tmp_path / "mine.yaml").write_text(json.dumps({"run": {"sed": 1}}))
    with pytest.raises(ConfigError, match='did you mean "seed"'):
        commands.check_config([config, str(tmp_path / "mine.yaml")])
