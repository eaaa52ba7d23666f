"""What the workflow's own view makes of the graph: code versions, inputs and seeds of members; checkpoints' folder."""

import json
from pathlib import Path

import pytest
from tests import small
from tests.conftest import ROOT, SMOKE

from repdyn.base.errors import ConfigError
from repdyn.base.fingerprint import code_version
from repdyn.pipeline.config import configuration
from repdyn.pipeline.run.declare.digests import CodeVersions
from repdyn.pipeline.run.declare.graph import Function, read_study
from repdyn.pipeline.run.declare.jobs import Job
from repdyn.pipeline.run.declare.workflow import ENTRY, RunJobs
from repdyn.pipeline.run.execute import entry
from repdyn.pipeline.run.execute.records import Spared

STUDY, SEED = "bn_mean_field", 7
VARIANT = {"blobs": "leaky_low", "image_training": "adam"}
OF_NETWORKS = ("architectures", "printed_data", "final_distances")
OF_THE_DEFAULT = ("default_network", "default_ensemble", "adam_runs")


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """All of a study declared, every experiment in a job of its own, the images' readers too."""
    config = configuration.load([ROOT / "config.yaml"], {"run": {"name": "mine", "seed": SEED}})
    declared = RunJobs(config, ROOT / "src", tmp_path_factory.mktemp("code") / "versions.json")
    for name in read_study(STUDY).experiments:
        declared.simulate(f"{STUDY}/{name}", name)
    declared.figures(STUDY)
    declared.tables(STUDY)
    declared.claims(STUDY)
    return declared.jobs


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    """A run on the small settings, whose jobs the tests declare."""
    config = configuration.load([ROOT / "config.yaml", ROOT / SMOKE, small.SMALL])
    return RunJobs(config, ROOT / "src", tmp_path_factory.mktemp("code") / "versions.json")


def members(jobs, kind):
    return [member for job in jobs.values() if job.kind == kind for member in job.members]


@pytest.mark.parametrize(
    ("kind", "part"), [("simulate", "experiments"), ("draw", "figures"), ("tabulate", "tables")], ids=str
)
def test_each_member_has_its_own_code_and_reads_what_its_function_reads(jobs, kind, part):
    functions = {candidate.path: candidate for candidate in getattr(read_study(STUDY), part).values()}
    assert {member["function"] for member in members(jobs, kind)} == set(functions)
    for member in members(jobs, kind):
        function = functions[member["function"]]
        assert member["code"] == code_version(function.root, f"repdyn.pipeline.run.kinds.{kind}:run", ENTRY)
        assert list(member["inputs"]) == list(function.reads)
        assert all(path == f"{STUDY}/data/{name}.nc" for name, path in member["inputs"].items())


def test_what_has_no_record_asks_for_the_memory_of_its_kind(tmp_path):
    config = configuration.load([ROOT / "config.yaml"])
    declared = RunJobs(config, ROOT / "src", tmp_path / "versions.json", records=())
    for name in read_study(STUDY).experiments:
        declared.simulate(f"{STUDY}/{name}", name)
    drawn = list(declared.figures(STUDY).values())
    products = [
        *drawn,
        declared.tables(STUDY),
        declared.claims(STUDY),
        declared.other("end", "manifest", outputs=["a"]),
    ]
    assert {(job.kind, job.memory_mb) for job in [*declared.jobs.values(), *products]} == {
        ("simulate", 800),
        ("draw", 1000),
        ("tabulate", 800),
        ("decide", 1000),
        ("manifest", 600),
    }
    assert [declared.memory(job.file) for job in products[-2:]] == [1000, 600]
    assert declared.memory("logs/other.job.json") == 800


def test_each_claim_has_its_own_code(jobs):
    checks = read_study(STUDY).claims
    (member,) = members(jobs, "decide")
    assert {id: claim["code"] for id, claim in member["claims"].items()} == {
        id: code_version(check.root) for id, check in checks.items()
    }
    assert set(member["inputs"]) == {name for check in checks.values() for name in check.reads}


@pytest.mark.parametrize(
    ("experiment", "knob", "value"), [("blobs", "rate", 0.001), ("image_training", "gain", 0.9)], ids=str
)
def test_a_knob_of_one_variant_changes_its_member_alone(tmp_path, experiment, knob, value):
    def declared(changes):
        config = configuration.load([ROOT / "config.yaml"], {"universality": {experiment: changes}})
        jobs = RunJobs(config, ROOT / "src", tmp_path / "versions.json")
        jobs.other("images", "images", outputs=["data/images.nc"])
        runs = type(getattr(config.universality, experiment).runs).model_fields
        return jobs.simulate("universality/all", *[(experiment, {"run": run}) for run in runs]).members

    before, after = declared({}), declared({"runs": {(run := VARIANT[experiment]): {knob: value}}})
    changed = [member["arguments"]["run"] for member, other in zip(before, after, strict=True) if member != other]
    assert changed == [run]
    assert all("runs" not in member["settings"]["settings"] for member in after)


@pytest.mark.parametrize(
    ("name", "key", "values", "labels", "form"),
    [
        ("bn_decomposed/training", "mode", ("bn", "he"), ["bn", "he"], "{mode}"),
        ("leaky_resnets/trained", "block", range(2), ["block0", "block1"], "block{block}"),
    ],
)
def test_variants_are_jobs_of_one_rule_with_a_wildcard_numbers_after_their_key(
    small_run, name, key, values, labels, form
):
    study, experiment = name.split("/")
    rule = small_run.variants(name, experiment, key, values)
    variants = [small_run.jobs[f"{name}-{label}"] for label in labels]
    assert [job.members[0]["arguments"] for job in variants] == [{key: value} for value in values]
    results, logs = f"results/{small_run.run}/{study}/data/{experiment}", f"logs/{small_run.run}/{name}"
    assert [job.outputs for job in variants] == [[f"{results}/{label}.nc"] for label in labels]
    assert rule["inputs"] == {"job": f"{logs}-{form}.job.json", "data": variants[0].inputs}
    assert (rule["outputs"], rule["log"]) == ({f"{experiment}_{key}": f"{results}/{form}.nc"}, f"{logs}-{form}.log")


def test_a_wildcard_of_numbers_takes_digits_alone(tmp_path):
    config = configuration.load([ROOT / "config.yaml", ROOT / SMOKE])
    run = RunJobs(config, ROOT / "src", tmp_path / "versions.json")
    run.other("images", "images", outputs=["data/images.nc"])
    found = {rule.log: rule.constraints for study in ("bn_decomposed", "leaky_resnets") for rule in run.data(study)}
    numbers = {log: {"block": r"\d+"} if "{block}" in log else {} for log in found}
    assert found == numbers
    assert {"{block}" in log for log in found} == {"{mode}" in log for log in found} == {True, False}


def test_an_experiment_gets_its_own_section_and_the_networks_that_it_names(small_run):
    declared = small_run.simulate("universality/two_points", *OF_NETWORKS, *OF_THE_DEFAULT).members
    wanted = small.members("universality")
    assert all(member | {"code": ""} == wanted[member["outputs"][0]] for member in declared)
    settings = {member["outputs"][0].split("/")[-1].removesuffix(".nc"): member["settings"] for member in declared}
    assert all(list(settings[name]["networks"]) == settings[name]["settings"]["rows"] for name in OF_NETWORKS)
    assert len({str(settings[name]["default"]) for name in OF_THE_DEFAULT}) == 1


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [("TwoPointRun", "sections architectures, default_network, .* of this class"), ("Nowhere", "no section of this")],
)
def test_settings_that_could_be_several_sections_or_none_are_refused(small_run, annotation, reason):
    function = Function(
        "universality", "repdyn.universality", "experiments.x", "made_up", "", (), {"settings": annotation}
    )
    with pytest.raises(
        ConfigError, match=f"universality: experiments.x:made_up wants settings: {annotation}; {reason}"
    ):
        small_run._settings("universality", function, {})


def test_code_versions_are_remembered_for_one_state_of_the_sources(tmp_path):
    module, kept = tmp_path / "src/repdyn/one.py", tmp_path / "versions.json"
    module.parent.mkdir(parents=True)
    module.write_text("def made():\n    return 1\n")
    versions = CodeVersions(module.parents[1], kept)
    version = versions.of("repdyn.one:made")
    versions.save()
    kept.write_text(kept.read_text().replace(version, "remembered"))
    assert CodeVersions(module.parents[1], kept).of("repdyn.one:made") == "remembered"
    module.write_text("def made():\n    return 2\n")
    assert CodeVersions(module.parents[1], kept).of("repdyn.one:made") != "remembered"


def test_code_versions_of_one_function_and_of_several_together_are_all_remembered(tmp_path):
    module, kept = tmp_path / "src/repdyn/one.py", tmp_path / "versions.json"
    module.parent.mkdir(parents=True)
    module.write_text("".join(f"def {name}():\n    return '{name}'\n" for name in "abc"))
    roots = [("repdyn.one:b",), ("repdyn.one:a",), ("repdyn.one:b", "repdyn.one:c"), ("repdyn.one:a", "repdyn.one:c")]
    versions = CodeVersions(tmp_path / "src", kept)
    told = [versions.of(*own) for own in roots]
    assert told == [code_version(*own, source=tmp_path / "src") for own in roots]
    assert len(set(told)) == 4
    versions.save()
    stored = json.loads(kept.read_text())
    assert stored == {"state": versions.state, "versions": dict(zip(map(" ".join, roots), told, strict=True))}
    again = CodeVersions(tmp_path / "src", kept)
    assert [again.of(*own) for own in roots] == told
    kept.unlink()
    again.save()
    assert not kept.exists(), "nothing is new"


def test_an_edit_of_any_package_is_another_state_of_the_sources(tmp_path):
    """Of this one and of three others; a file of another name or kind is one, or none."""
    folders = {"repdyn": "src/repdyn", "z.lab": "z/lab", "mine": "my/mine", "last": "last"}
    for package, folder in folders.items():
        (tmp_path / folder / "deep").mkdir(parents=True)
        (tmp_path / folder / "deep/one.py").write_text(f"A = {package!r}")
    outside = tuple((package, tmp_path / folder) for package, folder in folders.items() if package != "repdyn")

    def state(outside=outside):
        return CodeVersions(tmp_path / "src", tmp_path / "versions.json", outside).state

    states = [state(), state(outside[:2]), state(()), state((("other", outside[0][1]), *outside[1:]))]
    for folder in folders.values():
        file = tmp_path / folder / "deep/one.py"
        file.write_text(file.read_text() + "\n")
        states.append(state())
        states.append(file.rename(file.with_name("two.py")) and state())
        file.with_name("notes.txt").write_text("no code")
        assert state() == states[-1]
    assert len(set(states)) == len(states)


def test_a_memory_that_cannot_be_written_is_no_error(tmp_path):
    module, taken = tmp_path / "src/repdyn/one.py", tmp_path / "taken"
    module.parent.mkdir(parents=True)
    module.write_text("def made():\n    return 1\n")
    taken.write_text("a file, where a folder is wanted")
    versions = CodeVersions(module.parents[1], taken / "versions.json")
    version = versions.of("repdyn.one:made")
    versions.save()
    assert CodeVersions(module.parents[1], taken / "versions.json").of("repdyn.one:made") == version


def test_the_order_in_which_a_disk_lists_files_is_no_state_of_the_sources(tmp_path, monkeypatch):
    for name in "ab":
        (tmp_path / f"src/repdyn/{name}.py").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"src/repdyn/{name}.py").write_text(name)
    files = sorted((tmp_path / "src/repdyn").rglob("*.py"))
    states = set()
    for listed in (files, files[::-1]):
        monkeypatch.setattr(Path, "rglob", lambda *_, listed=listed: iter(listed))
        states.add(CodeVersions(tmp_path / "src", tmp_path / "versions.json").state)
    assert len(states) == 1


def test_the_seed_is_the_runs(jobs):
    assert {member["seed"] for member in members(jobs, "simulate")} == {SEED}


def test_members_get_the_store_of_finished_trials(tmp_path, monkeypatch):
    """Beside results and logs, one for all runs; what trials once took is told."""
    monkeypatch.chdir(tmp_path)
    seen = []

    def run(member, results, trials):
        (results / member["outputs"][0]).parent.mkdir(parents=True, exist_ok=True)
        (results / member["outputs"][0]).write_text("made")
        seen.append((member["function"], trials.folder))
        trials.tally.read += 1
        trials.tally.seconds += 2.5

    many = [{"function": name, "code": "1", "inputs": {}, "outputs": [f"s/{name}.txt"]} for name in ("a", "b")]
    job = Job("mine", "s/job", "simulate", many)
    spared = Spared()
    entry.run_members(job, Path(job.file), run, spared)
    assert seen == [("a", Path(".cache/trials")), ("b", Path(".cache/trials"))]
    assert (spared.trials, spared.seconds) == (2, 5.0)
    again = Spared()
    entry.run_members(job, Path(job.file), run, again)
    assert len(seen) == 2  # both members are as they were
    assert again.seconds == pytest.approx(5.0, abs=0.1)  # with what it took to run them
