"""What an open claim wants: how many trials, which settings, what it costs; a run that starts from another."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from repdyn.base.errors import DataError
from repdyn.pipeline import open_claims
from repdyn.pipeline.ask import decide
from repdyn.pipeline.ask.decide import Need
from repdyn.pipeline.run.declare.graph import read_study

COLUMNS = ("id", "form", "part", "reading", "outcome", "value", "interval_low", "interval_high", "region_low")
COLUMNS += ("region_high", "measured", "tolerance_reason", "n", "false_alarm")


def evidence(*rows):
    """Rows of evidence from (outcome, value, interval, region), with a part or a reading."""
    written = []
    for outcome, value, interval, region, *more in rows:
        numbers = [value, *(interval or ("", "")), *region]
        texts = ["" if number == "" or math.isinf(number) else str(number) for number in numbers]
        about = {"part": "", "reading": "", "n": "100"} | dict(more)
        written.append(
            ["x", "printed", about["part"], about["reading"], outcome, *texts, "measured", "why", about["n"], "0.001"]
        )
    return [dict(zip(COLUMNS, row, strict=True)) for row in written]


OWN_SETTINGS = ("lrn-literal", "lrn-sgd")
ABOVE_ZERO = (0.0, math.inf)


@pytest.mark.parametrize(
    ("value", "interval", "region", "doublings"),
    [
        (1.0, (-0.1, 2.1), ABOVE_ZERO, 1),  # 1.21 times as many would do
        (1.0, (-1.0, 3.0), ABOVE_ZERO, 3),  # four times, and two looks' wider intervals: eight
        (-1.0, (-3.0, 1.0), ABOVE_ZERO, 3),  # refuted by as many
        (1.0, (-6.0, 8.0), ABOVE_ZERO, None),  # 49 times
        (0.0, (-1.0, 1.0), ABOVE_ZERO, None),  # on the border
        (1e-9, (-1e300, 1e300), ABOVE_ZERO, None),  # of networks that have diverged
        (0.9, (0.0, 1.8), (0.3, 1.5), 2),  # 2.25 times as many and a later look
    ],
)
def test_how_often_trials_are_doubled(value, interval, region, doublings):
    wanted, reason = open_claims.doublings(evidence(("undecided", value, interval, region)), "")
    assert wanted == doublings
    assert ("border case" in reason) == (doublings is None)


def test_few_samples_shrink_faster_than_the_root_of_their_number():
    """Student's quantile falls as well: what a hundred samples decide with four times as many, eight do with twice."""
    row = ("undecided", 1.0, (-0.7, 2.7), ABOVE_ZERO)
    assert open_claims.doublings(evidence((*row, ("n", "100"))), "")[0] == 2
    assert open_claims.doublings(evidence((*row, ("n", "8"))), "")[0] == 1


def test_a_run_with_too_few_seeds_for_any_interval_gets_enough():
    note = "Needs more than this run has: paper_measures: 5 along seed, has 1."
    assert open_claims.of_too_few(note) == (5.0, 3, "5 along seed, has 1")
    assert open_claims.of_too_few(note.replace("has 1", "has 4"))[:2] == (1.25, 1)
    assert open_claims.of_too_few("an interval of a mean needs 2 samples or more, got 1")[0] == 2


@pytest.mark.parametrize("note", ["3 along layers, has 2", "5 along start, has 2", "2 samples or more, got 0", "MNIST"])
def test_what_more_trials_do_not_mend_is_not_too_few(note):
    """A study has no setting for more layers of the same trials; of networks of which none learned, more may not."""
    assert open_claims.of_too_few(note) is None


def test_the_part_that_is_least_sure_counts_and_decided_ones_do_not():
    rows = evidence(
        ("undecided", 1.0, (-0.1, 2.1), ABOVE_ZERO, ("part", "a")),
        ("undecided", 1.0, (-1.0, 3.0), ABOVE_ZERO, ("part", "b")),
        ("passes", 9.0, (1.0, 17.0), ABOVE_ZERO, ("part", "c")),
    )
    assert open_claims.doublings(rows, "")[0] == 3


@pytest.mark.parametrize("order", [1, -1])
def test_one_part_that_no_number_of_trials_decides_decides_for_all(order):
    parts = (
        ("undecided", 1.0, (-0.1, 2.1), ABOVE_ZERO, ("part", "a")),
        ("undecided", 1.0, None, ("", ""), ("part", "b")),
    )
    assert open_claims.doublings(evidence(*parts[::order]), "") == (None, "measured; why")


@pytest.mark.parametrize("region", [(0.3, 1.5), (0.3, 1e9), (-1e9, 1.5)])
def test_the_border_that_is_nearer_to_the_estimate_counts(region):
    """At 0.9 both borders are 0.6 away; at 1.2 the upper one is 0.3, a third of the reach: nine times as many."""
    assert open_claims.doublings(evidence(("undecided", 0.9, (0.0, 1.8), region)), "")[0] == 2
    nearer = open_claims.doublings(evidence(("undecided", 1.2, (0.3 - 1e-9, 2.1 + 1e-9), (0.3, 1.5))), "")[0]
    assert nearer == 4


@pytest.mark.parametrize("names", [("staged", "geodesics"), ("geodesics", "staged_measures")])
def test_a_claim_of_several_datasets_wants_the_trials_of_each(names):
    settings = {"discretized": {"staged_seeds": 7}, "geodesics": {"seeds": 6}}
    found = open_claims.knobs("leaky_resnets", names, settings)
    assert found == {("discretized", "staged_seeds"): 7, ("geodesics", "seeds"): 6}


def test_what_an_open_claim_wants_is_said_by_what_is_known_of_it():
    reason = "4 times as many trials"
    assert open_claims.Wanted(2, reason).says == "4 times as many trials."
    assert open_claims.Wanted(2, reason, seen=False).says == "Enough trials for an interval: 4 times as many trials."
    assert open_claims.Wanted(None, "a border case.").says == "More trials do not: a border case."


@pytest.mark.parametrize(
    ("options", "joined"),
    [
        ([], ["--configfile", "new"]),
        (["--cores", "2"], ["--configfile", "new", "--cores", "2"]),
        (["--configfile", "a"], ["--configfile", "a", "new"]),
        (["--configfile", "a", "b", "--cores", "2"], ["--configfile", "a", "b", "new", "--cores", "2"]),
        (["--cores", "2", "--configfile", "a"], ["--cores", "2", "--configfile", "a", "new"]),
    ],
)
def test_the_overlay_of_the_look_comes_last_among_overlays(options, joined):
    assert decide._with(iter(options), Path("new")) == joined


def test_settings_of_a_look_go_over_those_of_the_look_before_knob_by_knob():
    first = {"study": {"a": {"seeds": 5, "width": 3}, "b": 1}, "run": {"name": "x"}}
    second = {"study": {"a": {"seeds": 10}, "c": {"d": 2}}, "run": {"name": "y"}}
    joined = decide._joined(first, second)
    assert joined == {"study": {"a": {"seeds": 10, "width": 3}, "b": 1, "c": {"d": 2}}, "run": {"name": "y"}}
    assert first["study"]["a"]["seeds"] == 5


def test_nine_readings_in_ten_are_enough():
    readings = [("undecided", 1.0, (-0.1, 2.1), ABOVE_ZERO, ("reading", f"{k}")) for k in range(9)]
    hopeless = ("undecided", 0.0, (-1.0, 1.0), ABOVE_ZERO, ("reading", "the last"))
    whole = ("undecided", "", None, ("", ""))
    assert open_claims.doublings(evidence(whole, *readings, hopeless), "")[0] == 1
    assert open_claims.doublings(evidence(whole, *readings[:8], hopeless, hopeless), "")[0] is None


def test_what_no_number_of_trials_decides_says_why():
    assert open_claims.doublings(evidence(), "Needs more than this run has: MNIST.") == (
        None,
        "Needs more than this run has: MNIST.",
    )
    assert open_claims.doublings(evidence(("undecided", 1.0, None, ("", ""))), "")[1] == "measured; why"


@pytest.mark.parametrize(
    ("study", "experiment", "counts"),
    [
        ("leaky_resnets", "trained", [("trained", "blocks")]),
        ("leaky_resnets", "staged", [("discretized", "staged_seeds")]),
        ("leaky_resnets", "overregularized", [("restarts", "teachers")]),
        ("universality", "default_ensemble", [("default_ensemble", "seeds")]),
        ("universality", "image_training", [("image_training", "trials")]),
        ("bn_decomposed", "largest_norm", [("largest_norm", "runs")]),
    ],
)
def test_which_setting_counts_the_trials_of_an_experiment(study, experiment, counts):
    assert open_claims.counts(study, read_study(study), experiment) == counts


def test_an_analysis_has_as_many_trials_as_what_it_reads():
    settings = {"default_ensemble": {"seeds": 5}, "default_network": {"seeds": 2}}
    reads = read_study("universality").experiments["default_ensemble_fits"].reads
    assert "default_ensemble" in reads
    knobs = open_claims.knobs("universality", ["default_ensemble_fits"], settings)
    assert knobs == {("default_ensemble", "seeds"): 5}


def run(folder, monkeypatch, looks=None):
    """A finished run `mine` with two open claims of leaky_resnets, as far as planning asks."""
    monkeypatch.chdir(folder)
    configuration = {
        "run": {"name": "mine"} | ({"looks": looks} if looks else {}),
        "leaky_resnets": {"discretized": {"blocks": 2, "staged_seeds": 3}, "trained": {"blocks": 1}},
    }
    results = Path("results/mine")
    results.mkdir(parents=True)
    (results / "manifest.json").write_text(json.dumps({"configuration": configuration}))
    return results


def test_too_few_trials_are_first_made_as_many_as_have_an_interval(tmp_path, monkeypatch):
    """Five networks, not eight; the claim has not been looked at before, others on the same data have."""
    run(tmp_path, monkeypatch)
    knobs = {("paper_settings", "seeds"): 1}
    found = [Need(3, "5 along seed, has 1", knobs, 5.0, False, id, "leaky_resnets", 60.0) for id in OWN_SETTINGS]
    step = decide.plan("mine", 100.0, found)
    assert [need.id for need in step.chosen] == list(OWN_SETTINGS)
    assert step.settings["leaky_resnets"] == {"paper_settings": {"seeds": 5}}
    assert not set(OWN_SETTINGS) & set(step.settings["run"]["looks"])
    one = decide.plan("mine", 100.0, found[:1])
    assert one.settings["run"]["looks"] == {OWN_SETTINGS[1]: 4}


def test_a_run_at_default_scale_proposes_seeds_for_claims_on_one_network(tmp_path, monkeypatch):
    results = run(tmp_path, monkeypatch)
    configuration = {"leaky_resnets": {"paper_settings": {"seeds": 1}}}
    (results / "manifest.json").write_text(json.dumps({"configuration": configuration}))
    note = "Needs more than this run has: paper_measures: 5 along seed, has 1."
    row = {"verdict": decide.UNDECIDED, "note": note, "study": "leaky_resnets", "datasets": "paper_measures"}
    (results / "claims.csv").touch()
    monkeypatch.setattr(decide.ledger, "read", lambda _: pd.DataFrame([row | {"id": id} for id in OWN_SETTINGS]))
    monkeypatch.setattr(decide, "read_cells", lambda _: pd.DataFrame(columns=COLUMNS))
    costs = {
        "leaky_resnets/data/paper_settings.nc": decide.Cost("near_critical:paper_settings.nc", 50.0, True),
        "leaky_resnets/data/paper_measures.nc": decide.Cost("measures:paper_measures.nc", 2.0, False),
        "leaky_resnets/data/restarts.nc": decide.Cost("near_critical:restarts.nc", 500.0, True),
    }
    monkeypatch.setattr(decide, "_costs", lambda _: costs)
    found = decide.needs("mine")
    assert {(need.id, need.study) for need in found} == {(id, "leaky_resnets") for id in OWN_SETTINGS}
    for need in found:
        assert (need.factor, need.seen) == (5.0, False)
        assert need.knobs == {("paper_settings", "seeds"): 1}
        assert need.seconds == 4 * 50 + 5 * 2


def test_a_dataset_costs_what_its_member_took(tmp_path, monkeypatch):
    """A job of several members tells what each took, in what it keeps of them; where it does not, the job counts."""
    monkeypatch.chdir(tmp_path)
    kept = Path("logs/mine/leaky_resnets/near_critical.log.kept/member")
    kept.mkdir(parents=True)
    (kept / "digests.json").write_text(json.dumps({"paper_settings.nc": "abc", "cpu seconds": "50.000"}))
    files = {name: f"leaky_resnets/data/{name}.nc" for name in ("paper_settings", "restarts")}
    about = {"study": "leaky_resnets", "paper": "a paper"}
    record = {
        "log": "leaky_resnets/near_critical",
        "cpu_seconds": 900.0,
        "outputs": {f"results/mine/{files['paper_settings']}": "abc", f"results/mine/{files['restarts']}": "def"},
        "job": {"members": [about | {"function": f"m:{name}", "outputs": [file]} for name, file in files.items()]},
    }
    monkeypatch.setattr(decide.records, "of_run", lambda _: [record])
    costs = decide._costs("mine")
    assert costs[files["paper_settings"]] == decide.Cost(f"{record['log']}:{files['paper_settings']}", 50.0, True)
    assert costs[files["restarts"]] == decide.Cost(record["log"], 900.0, True)


def needs(*ids):
    """Claims that want one doubling each, of settings of their own."""
    knobs = {"lrn-fig2b": {("discretized", "staged_seeds"): 3}, "lrn-fig1b": {("trained", "blocks"): 1}}
    return [Need(1, "2 times", knobs[id], 2.0, True, id, "leaky_resnets", seconds) for id, seconds in ids]


def test_the_budget_buys_the_cheapest_and_every_claim_on_the_grown_data_is_looked_at_once_more(tmp_path, monkeypatch):
    run(tmp_path, monkeypatch, looks={"lrn-fig2b": 2})
    step = decide.plan("mine", 100.0, needs(("lrn-fig2b", 60.0), ("lrn-fig1b", 60.0)))
    assert [need.id for need in step.chosen] == ["lrn-fig2b"]
    assert step.settings["leaky_resnets"] == {"discretized": {"staged_seeds": 6}}
    looks = step.settings["run"]["looks"]
    assert looks["lrn-fig2b"] == 3
    readers = set(read_study("leaky_resnets").claims_of("staged"))
    assert readers <= set(looks)
    assert set(looks.values()) == {2, 3}
    assert decide.plan("mine", 10.0, needs(("lrn-fig2b", 60.0))).chosen == []


@pytest.mark.parametrize("order", [1, -1])
def test_claims_that_want_more_of_the_same_trials_get_the_larger_number_once(tmp_path, monkeypatch, order):
    """Four times as many serve one that wants twice as many, too, for nothing; they are two looks, not three."""
    run(tmp_path, monkeypatch)
    knobs = {("discretized", "staged_seeds"): 3}
    wants = [(2, 4.0, "lrn-fig2b", 30.0), (1, 2.0, "lrn-fig1b", 10.0)][::order]
    found = [Need(more, "", knobs, factor, True, id, "leaky_resnets", took) for more, factor, id, took in wants]
    step = decide.plan("mine", 30.0 if order == 1 else 40.0, found)
    assert [need.id for need in step.chosen] == [id for _, _, id, _ in wants]
    assert step.settings["leaky_resnets"] == {"discretized": {"staged_seeds": 12}}
    assert set(step.settings["run"]["looks"].values()) == {3}


def test_open_claims_come_by_cost_and_those_that_trials_do_not_decide_last(tmp_path, monkeypatch):
    results = run(tmp_path, monkeypatch)
    rows = [{"verdict": v, "note": "", "study": "leaky_resnets"} for v in (*[decide.UNDECIDED] * 3, "holds")]
    ledger = pd.DataFrame([row | {"id": f"x-{place}"} for place, row in enumerate(rows)])
    (results / "claims.csv").touch()
    costs = {"x-0": None, "x-1": 40.0, "x-2": 20.0}
    monkeypatch.setattr(decide.ledger, "read", lambda _: ledger)
    monkeypatch.setattr(decide, "read_cells", lambda _: pd.DataFrame(columns=COLUMNS))
    monkeypatch.setattr(decide, "_costs", lambda _: {})
    monkeypatch.setattr(
        decide, "wanted", lambda row, *_: decide.Wanted(costs[row["id"]] and 1, "", {}, costs[row["id"]])
    )
    monkeypatch.setattr(decide, "_seconds", lambda study, knobs, factor, costs: factor)
    assert [(need.id, need.seconds) for need in decide.needs("mine")] == [("x-2", 20.0), ("x-1", 40.0), ("x-0", 0.0)]


def test_of_a_job_that_keeps_trials_of_one_experiment_the_other_is_computed_anew(monkeypatch):
    parameters = {"kept": ("settings", "checkpoint"), "anew": ("settings",)}
    names = {name: SimpleNamespace(parameters=own, reads=()) for name, own in parameters.items()}
    monkeypatch.setattr(decide, "read_study", lambda _: SimpleNamespace(experiments=names))
    monkeypatch.setattr(decide, "member_seconds", lambda _: {(f"{name}.nc", name): 7.0 for name in names})
    members = [{"study": "s", "paper": "p", "function": f"m:{name}", "outputs": [f"s/{name}.nc"]} for name in names]
    made = record("s/both", "1", 10.0, outputs={f"s/{name}.nc": name for name in names}, job={"members": members})
    costs = {name: decide._cost(f"s/{name}.nc", made, f"s/{name}.nc", Path()) for name in names}
    assert costs == {name: decide.Cost(f"s/both:s/{name}.nc", 7.0, name == "kept") for name in names}


def test_an_overlay_goes_after_those_of_the_scale(tmp_path):
    file = Path("config/full-decided.yaml")
    assert decide._with(["--configfile", "full.yaml", "--config", "a=1"], file) == [
        *("--configfile", "full.yaml", str(file)),
        *("--config", "a=1"),
    ]
    assert decide._with(["--configfile", "full.yaml"], file) == ["--configfile", "full.yaml", str(file)]
    assert decide._with(["--config", "a=1"], file) == ["--configfile", str(file), "--config", "a=1"]


def test_a_run_that_is_not_finished_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="finish the run first"):
        decide.needs("mine")


def test_datasets_of_one_job_cost_what_the_job_did():
    """Trained blocks are jobs of their own; measures on them are one job with several datasets."""
    job = decide.Cost
    costs = {
        "leaky_resnets/data/trained/block0.nc": job("leaky_resnets/trained-block0", 30.0, True),
        "leaky_resnets/data/trained/block1.nc": job("leaky_resnets/trained-block1", 30.0, True),
        "leaky_resnets/data/chain_measures.nc": job("leaky_resnets/measures", 5.0, False),
        "leaky_resnets/data/scheme_measures.nc": job("leaky_resnets/measures", 5.0, False),
        "leaky_resnets/data/exact.nc": job("leaky_resnets/exact", 900.0, False),
    }
    seconds = decide._seconds("leaky_resnets", {("trained", "blocks"): 2}, 2.0, costs)
    assert seconds == 30 + 30 + 2 * 5


def test_more_trials_of_an_experiment_that_keeps_none_are_computed_anew(monkeypatch):
    """One experiment of a study takes a checkpoint and computes the new trials alone; its neighbor computes all."""
    parameters = {"kept": ("settings", "checkpoint"), "anew": ("settings",)}
    names = {name: SimpleNamespace(parameters=own, reads=()) for name, own in parameters.items()}
    monkeypatch.setattr(decide, "read_study", lambda _: SimpleNamespace(experiments=names))
    monkeypatch.setattr(decide, "counts", lambda study, graph, name: [(name, "seeds")])
    costs = {}
    for name in names:
        file = f"s/data/{name}.nc"
        member = {"study": "s", "paper": "a paper", "function": f"m:{name}", "outputs": [file]}
        made = record(f"s/{name}", "1", 10.0, outputs={file: "abc"}, job={"members": [member]})
        assert decide._keeps(member) is (name == "kept")
        costs[file] = decide._cost(file, made, file, Path("no logs"))
    assert [decide._seconds("s", {(name, "seeds"): 3}, 2.0, costs) for name in names] == [10.0, 20.0]


def test_what_a_look_took_is_that_of_the_jobs_that_ran():
    """A job that ran before, and dearer then, gives nothing back; one that read its trials took the rest."""
    before = [record("a", "1", 90.0), record("b", "1", 20.0)]
    after = [record("a", "2", 100.0, spared_cpu_seconds=90.0), record("b", "1", 20.0), record("c", "2", 5.0)]
    assert decide._spent(before, after) == 15.0
    assert decide._spent(before, before) == 0.0


def record(log, finished, seconds, **more):
    return {"log": log, "finished": finished, "cpu_seconds": seconds, **more}
