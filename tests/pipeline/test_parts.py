"""Long jobs split into chunks: which, by what, and that the joining job writes identical bytes."""

import typing
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.small import interpreted, make, maker
from tests.test_more_trials import changed, marked

from repdyn.base.checkpoints import Store
from repdyn.base.errors import ConfigError
from repdyn.pipeline import studies
from repdyn.pipeline.ask import plan
from repdyn.pipeline.config import configuration
from repdyn.pipeline.run.declare import costs, parts
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.declare.jobs import SOURCES, Job, load_all, write_all
from repdyn.pipeline.run.declare.workflow import RunJobs
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.kinds import simulate

CUT = {
    (study, experiment): keys
    for study, declared in studies.declared().items()
    for job in declared.jobs
    for experiment, keys in getattr(job, "cut", {}).items()
}
QUICK = {"adam_runs", "staged", "paper_settings"}
SMALL = {"connections": "dense", "nonlinearity": "relu", "gain": 1.0, "learning_rate": 0.05, "units": 8, "hidden": 2}
SMALL |= {"dropout": 0.0, "channels": 1, "kernel": 1}
ENLARGED = {
    "paper_settings": {"seeds": 4},
    "odd_point": {"seeds": 4},
    "largest_norm": {"runs": 4},
    "general_flow": {"seeds": 20},
    "refinement": {"seeds": 4},
    "convergence": {"seeds": 4},
    "final_distances": {"rows": ["shallow", "default"], "networks.default": SMALL},
    "xor": {"trials": 4},
    "sgd": {"trials": 16},
    "adam_runs": {"seeds": 4},
    "staged": {"staged_seeds": 4},
    "high": {"trials": 4},
}
"""Changes of the small settings, which have too few trials to be split."""
FILES = {("universality", "image_training"): "image_training/sgd", ("universality", "blobs"): "blobs/high"}


def member(**changes):
    """A task of the study `universality` whose work is proportional to rows and seeds."""
    row = {"connections": "dense", "dropout": 0.0, "units": 100, "hidden": 20, "nonlinearity": "relu"}
    names = ["tanh", "elu", "skip", "relu"]
    settings = {"seeds": 4, "epochs": 9000, "stop": 0.0, "dtype": "float64", "rows": names} | changes
    return {
        "study": "universality",
        "function": "experiments.two_points:architectures",
        "code": "",
        "settings": {"settings": settings, "networks": dict.fromkeys(names, row)},
        "arguments": {},
        "inputs": {"images": "data/images.nc"},
        "outputs": ["universality/data/architectures.nc"],
    }


def job(*members):
    return Job("r", "universality/long", "simulate", members or [member()], memory_mb=900)


def settings_of(jobs, key):
    return [single.members[0]["settings"]["settings"][key] for single in jobs]


ROW = costs.work([member(rows=["tanh"])], SOURCES["digits"]["test"])
"""Seconds of one row with four seeds."""


def test_list_is_split_into_parallel_chunks_of_neighbors():
    pieces, whole = parts.cut(job(), {"architectures": ["rows"]}, 2 * ROW * 1.01)
    assert settings_of(pieces, "rows") == [["tanh", "elu"], ["skip", "relu"]]
    assert [piece.name for piece in pieces] == ["universality/long-part1", "universality/long-part2"]
    assert [piece.outputs for piece in pieces] == [[f"results/r/universality/parts/long/{k}.nc"] for k in (1, 2)]
    assert all(piece.inputs == ["results/r/data/images.nc"] and piece.part_of == whole.name for piece in pieces)
    assert whole.inputs == ["results/r/data/images.nc", *pieces[0].outputs, *pieces[1].outputs]
    assert (whole.text(), whole.members) == (job().text(), job().members)


def test_count_is_split_into_a_chain_of_growing_chunks():
    pieces, whole = parts.cut(job(), {"architectures": ["rows", "seeds"]}, ROW / 2 * 1.01)
    assert settings_of(pieces, "rows") == [[row] for row in ["tanh", "elu", "skip", "relu"] for _ in range(2)]
    assert settings_of(pieces, "seeds") == [2, 4] * 4
    assert [piece.after for piece in pieces[:2]] == [(), ("universality/parts/long/1.nc",)]
    assert whole.after == tuple(f"universality/parts/long/{k}.nc" for k in (2, 4, 6, 8))


@pytest.mark.parametrize(
    ("changes", "keys", "seconds", "seeds"),
    [
        ({}, ["rows"], 4 * ROW * 1.01, None),  # short enough
        ({"rows": ["tanh"], "seeds": 3}, ["seeds"], ROW / 40, [2, 3]),  # two trials at least, if there are two
        ({"seeds": 1}, ["seeds"], ROW / 40, [1]),
        ({"seeds": 20}, [("seeds", 8)], 20 * ROW / 3, [8, 16, 20]),  # trials that are stored in groups
        ({}, [], ROW, [4]),  # an experiment that is not split is one chunk
    ],
)
def test_number_of_trials_of_each_chunk(changes, keys, seconds, seeds):
    whole = job(member(**changes))
    pieces, joined = parts.cut(whole, {"architectures": keys}, seconds)
    assert settings_of(pieces, "seeds") == (seeds or [])
    assert (joined == whole) is (seeds is None)


def test_unsplittable_job_is_rejected():
    with pytest.raises(ConfigError, match=r"universality/long.*rows"):
        parts.cut(job(), {"rows": []}, ROW)
    unknown = member() | {"function": "experiments.theory_maps:theory_maps"}
    with pytest.raises(ConfigError, match="theory_maps"):
        parts.cut(job(member(), unknown), {"theory_maps": []}, ROW)
    reader = member() | {"inputs": {"architectures": "universality/data/architectures.nc"}, "outputs": ["x"]}
    with pytest.raises(ConfigError, match="architectures"):
        parts.cut(job(member(), reader), {"architectures": []}, ROW)


# What they cost


def test_chunk_costs_its_new_trials_and_the_job_only_its_start(tmp_path):
    """100 s per row by the record of the whole job; the joining job costs only its start-up."""
    pieces, whole = parts.cut(job(), {"architectures": ["rows", "seeds"]}, ROW / 2 * 1.01)
    file = tmp_path / "costs.csv"
    file.write_text(",".join(costs.COLUMNS) + f"\nbefore,universality/long,402,300,{4 * ROW:.6g}\n")
    took = [cost.cpu_seconds for _, cost in plan.costs([*pieces, whole], [file])]
    assert took[:8] == [pytest.approx(52, rel=1e-3), pytest.approx(52, rel=1e-3)] * 4
    assert took[8] == pytest.approx(plan.START_UP, abs=0.01)


def test_chunk_requires_the_memory_of_its_own_trials():
    """3 GB at the work of one row, 6 at four: the later part of a chain trains no more at once than the first."""
    pieces, _ = parts.cut(job(), {"architectures": ["rows", "seeds"]}, ROW / 2 * 1.01)
    made = {path: piece for piece in pieces for path in piece.members[0]["outputs"]}
    recorded = ((3000, ROW), (6000, 4 * ROW))
    known = [{"run": "a", "peak_memory_mb": f"{peak}", "sizes": f"{size:.6g}"} for peak, size in recorded]
    shares = [parts.share(piece, made) for piece in pieces[:2]]
    assert shares == [1.0, pytest.approx(0.5)]
    alone = [Job("r", "s/x", "simulate", piece.members) for piece in pieces[:2]]
    first, second = (costs.memory(piece, known, share) for piece, share in zip(alone, shares, strict=True))
    assert first == second < costs.memory(alone[1], known)


# Declared by the studies


def declared(scale, tmp_path, **run):
    overlays = [ROOT / f"workflow/scales/{scale}.yaml"] if scale else []
    config = configuration.load([ROOT / "config.yaml", *overlays], {"run": run} if run else {})
    made = RunJobs(config, ROOT / "src", tmp_path / "versions.json")
    made.other("images", "images", outputs=["data/images.nc"])
    rules = [rule for study in studies.declared() for rule in made.data(study)]
    return made, rules


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    return declared("paper", tmp_path_factory.mktemp("paper"))


def test_only_the_paper_scale_is_split_into_jobs_of_half_an_hour(paper, tmp_path):
    made, rules = paper
    pieces = [single for single in made.jobs.values() if single.part_of]
    makers = {path: single for single in made.jobs.values() for path in single.members[0]["outputs"]}
    own = {
        single.name: costs.work(single.members, single.images) * parts.share(single, makers)
        for single in made.jobs.values()
    }
    assert len(pieces) > 50
    assert not {name for name, seconds in own.items() if seconds > 1800}
    assert {single.rule for single in pieces} <= {rule.name for rule in rules}
    assert not {path for single in pieces for path in single.members[0]["outputs"]} & set(made.outputs())
    assert not {single.name for single in pieces} & set(made.rule_outputs())
    assert {single.images for single in made.jobs.values() if single.kind == "simulate"} == {(10_000, 784)}
    for single in pieces:  # settings that their experiments take
        (own,) = single.members
        simulate._typed(load_function(own["study"], own["function"]), {**own["arguments"], **own["settings"]})
    for scale in ("", "smoke"):
        assert not any(single.part_of or single.after for single in declared(scale, tmp_path)[0].jobs.values())


@pytest.mark.parametrize(("study", "experiment"), CUT, ids=str)
def test_trials_do_not_depend_on_split_settings(study, experiment):
    function = load_function(study, read_study(study).experiments[experiment].path)
    names = {key if isinstance(key, str) else key[0] for key in CUT[study, experiment]}
    assert names <= marked(function) & set(typing.get_type_hints(function)["settings"].model_fields)


def test_job_index_has_the_order_of_chunks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pieces, whole = parts.cut(job(), {"architectures": ["rows"]}, 2 * ROW)
    other = Job("r", "end", "manifest", [{"code": "", "inputs": {}, "outputs": ["a"]}], memory_mb=5)
    write_all([*pieces, whole, other], {})
    assert load_all("r") == [*pieces, whole, other]
    assert [single.inputs for single in load_all("r")] == [*(p.inputs for p in pieces), whole.inputs, []]


# The same bytes


def cases():
    for study, experiment in CUT:
        file = f"{study}/data/{FILES.get((study, experiment), experiment)}.nc"
        yield pytest.param(file, CUT[study, experiment], marks=[] if experiment in QUICK else [pytest.mark.slow])


@pytest.mark.parametrize(("file", "keys"), list(cases()), ids=str)
def test_split_job_writes_identical_bytes(file, keys, tmp_path):
    whole = changed(maker(file)[1], ENLARGED.get(Path(file).stem, {}))
    for other in whole["inputs"].values():
        if not (tmp_path / other).is_file():
            make(other, tmp_path)
    name = whole["function"].rpartition(":")[2]
    single = Job("r", f"{whole['study']}/long", "simulate", [whole])
    pieces, joined = parts.cut(single, {name: keys}, costs.work([whole], single.images) / 2.5)
    assert len(pieces) > 1

    def run(one, store):
        used = Store(tmp_path / store)
        load_function(one["study"], one["function"])
        with interpreted(one["study"]):
            simulate.run(one, tmp_path, used)
        return (tmp_path / one["outputs"][0]).read_bytes(), used.tally

    computed = [run(piece.members[0], "kept")[1].computed for piece in pieces]
    result, tally = run(joined.members[0], "kept")
    expected, alone = run(whole, "fresh")
    assert result == expected
    assert (tally.computed, alone.read) == (0, 0)
    assert all(computed)
    assert sum(computed) == alone.computed
