"""Rules and jobs that the workflow declares for a made-up study, by hand, and for the studies of this package."""

from types import SimpleNamespace

import pytest
from tests import small
from tests.conftest import ROOT, SMOKE

from repdyn.base.declarations import Resources, Simulation, Study, Variants
from repdyn.base.errors import ConfigError
from repdyn.base.settings import Settings
from repdyn.pipeline import studies
from repdyn.pipeline.config import configuration
from repdyn.pipeline.run.declare import costs, workflow
from repdyn.pipeline.run.declare.digests import CodeVersions
from repdyn.pipeline.run.declare.workflow import ENTRY, RunJobs

SOURCES = {
    "settings/early.py": 'OTHER = "none"\n',
    "settings/study.py": 'OTHER = "none"\nPAPER = "T. Oy, On toys."\nLAST = 3\n',
    "experiments/first.py": """
def loss(settings: Loss, images: xr.Dataset, stream: Stream) -> xr.Dataset: ...
def _helper(loss: xr.Dataset) -> xr.Dataset: ...
def draw_any(loss: xr.Dataset) -> xr.Dataset: ...
def rates(stream: Stream, device: str, settings: Rates, *, loss: xr.Dataset, checkpoint: Checkpoint) -> xr.Dataset: ...
def slopes(loss: xr.Dataset, rates: xr.Dataset, start: float = 0.0) -> xr.Dataset: ...
""",
    "experiments/second.py": """
def trials(settings: Trials, stream: Stream) -> xr.Dataset: ...
def modes(settings: Knobs, run: str, model: Run) -> xr.Dataset: ...
def blocks(settings: Blocks, block: int, device: str) -> xr.Dataset: ...
def nets(settings: NetsRun, networks: Mapping[str, Net], default: Net, again: Size) -> xr.Dataset: ...
def twins(settings: Twin) -> xr.Dataset: ...
def whole(settings: Trials, networks: Mapping[str, Net]) -> xr.Dataset: ...
def ends(blocks: Mapping[str, xr.Dataset], modes: dict[str, xr.Dataset], images: xr.Dataset, device) -> xr.Dataset: ...
""",
    "figures/late.py": """
@figure()
def one(ends: xr.Dataset, loss: xr.Dataset) -> Figure: ...
@figure()
def two(rates: xr.Dataset) -> Figure: ...
""",
    "figures/early.py": "@figure()\ndef three(slopes: xr.Dataset, images: xr.Dataset) -> Figure: ...\n",
    "tables.py": """
@table()
def t_b(loss: xr.Dataset) -> Table: ...
@table()
def t_a(modes: Mapping[str, xr.Dataset], rates: xr.Dataset) -> Table: ...
""",
    "claims/sums.py": """
@claim("t-2", where="eq. (2)")
def second(loss, slopes): ...
@claim("t-9", where="eq. (9)")
def last(images): ...
""",
    "claims/rates.py": '@claim("t-5", where="eq. (5)")\ndef fifth(slopes, blocks): ...\n',
}


class Loss(Settings):
    width: int = 3
    rate: float = 0.5


class Rates(Loss):
    depth: int = 2


class Trials(Settings):
    seeds: int = 5


class Run(Settings):
    step: float


class Runs(Settings):
    low: Run = Run(step=0.1)
    high: Run = Run(step=0.9)
    mid: Run = Run(step=0.4)


class Knobs(Settings):
    epochs: int = 7


class Modes(Knobs):
    runs: Runs = Runs()
    other: int = 1


class Blocks(Settings):
    count: int = 3


class Net(Settings):
    units: int


class Nets(Settings):
    small: Net = Net(units=1)
    default: Net = Net(units=2)
    large: Net = Net(units=3)
    odd: Net = Net(units=4)


class NetsRun(Settings):
    rows: tuple[str, ...] = ("large", "small")


class Size(Settings):
    area: int = 6


class Twin(Settings):
    n: int = 1


class Toy(Settings):
    elder: Twin = Twin()
    younger: Twin = Twin(n=2)
    size: Size = Size()
    rates: Rates = Rates(width=4)
    loss: Loss = Loss()
    trials: Trials = Trials()
    modes: Modes = Modes()
    blocks: Blocks = Blocks()
    networks: Nets = Nets()
    nets: NetsRun = NetsRun()


RUNS = [("modes", {"run": run}) for run in ("mid", "high", "low")]
JOBS = (
    Simulation("first", "loss", memory_mb=900),
    Simulation("both", "rates", "slopes", minutes=7),
    Simulation("long", "trials", memory_mb=700, cut={"trials": ["seeds"]}),
    Simulation("every", *RUNS),
    Variants("parts", "blocks", "block", lambda settings: range(settings.blocks.count), memory_mb=300),
    Simulation("last", "nets", "ends", minutes=9),
)


def declared():
    return {"toy": Study("Toys", Toy, JOBS, work={"trials": lambda own, read: 300.0 * own["settings"]["seeds"]})}


@pytest.fixture
def source(tmp_path, monkeypatch):
    for name, text in SOURCES.items():
        (tmp_path / "src/repdyn/toy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src/repdyn/toy" / name).write_text(text)
    monkeypatch.setattr(studies, "declared", declared)
    monkeypatch.setattr(studies, "outside", lambda: ())
    monkeypatch.setattr(CodeVersions, "of", lambda _, *roots: " + ".join(roots))
    return tmp_path / "src"


def run(folder, *, records=(), looks=None, device="cpu", **data):
    about = SimpleNamespace(name="mine", seed=11, device=device, looks=looks or {})
    images = SimpleNamespace(**{"source": "digits", "split": "train"} | data)
    config = SimpleNamespace(run=about, data=images, toy=Toy())
    return RunJobs(config, folder, folder.parent / "versions.json", records)


def rules(made):
    made.other("images", "images", outputs=["data/images.nc"], source="digits", split="test")
    return made.data("toy")


def code(kind, *roots):
    return " + ".join([*(f"repdyn.toy.{root}" for root in roots), f"repdyn.pipeline.run.kinds.{kind}:run", ENTRY])


def below(*names):
    return [
        f"results/mine/{name}" if name.startswith("data/") else f"results/mine/toy/data/{name}.nc" for name in names
    ]


def test_record_of_another_user_is_named(source, monkeypatch):
    def refuse(run):
        raise PermissionError(13, "Permission denied", f"logs/{run}/toy/first.log.cost.json")

    monkeypatch.setattr(workflow.records, "of_run", refuse)
    with pytest.raises(ConfigError, match=r"logs/mine/toy/first.log.cost.json: permission denied"):
        run(source).write()


def test_rules_of_a_study(source):
    """Each job followed by its chunks; those that train have eight hours unless their study says otherwise."""
    made = rules(run(source))
    assert [(rule.name, rule.trains, rule.runtime) for rule in made] == [
        ("toy_data_first", False, 30),
        ("toy_data_both", True, 7),
        ("toy_data_long", False, 30),
        ("toy_parts_long_1", False, 30),
        ("toy_parts_long_2", False, 30),
        ("toy_data_every", False, 30),
        ("toy_data_parts", True, 480),
        ("toy_data_last", True, 9),
    ]
    files = ("first", "both", "long", "long-part1", "long-part2", "every", "parts-block{block}", "last")
    assert [rule.log for rule in made] == [f"logs/mine/toy/{file}.log" for file in files]
    assert [rule.inputs["job"] for rule in made] == [f"logs/mine/toy/{file}.job.json" for file in files]
    parts = [f"results/mine/toy/parts/long/{number}.nc" for number in (1, 2)]
    runs, blocks = ("mid", "high", "low"), (0, 1, 2)
    ends = [*(f"blocks/block{block}" for block in blocks), *(f"modes/{run}" for run in runs), "data/images.nc"]
    assert [rule.inputs["data"] for rule in made] == [
        below("data/images.nc"),
        below("loss", "rates"),
        parts[1:],
        [],
        parts[:1],
        [],
        [],
        below(*ends),
    ]
    assert [rule.outputs for rule in made] == [
        below("loss"),
        below("rates", "slopes"),
        below("trials"),
        *([path] for path in parts),
        below(*(f"modes/{run}" for run in runs)),
        below("blocks/block{block}"),
        below("nets", "ends"),
    ]
    assert [rule.constraints for rule in made] == [{}] * 6 + [{"block": r"\d+"}, {}]


@pytest.mark.parametrize(("device", "parts"), [("cpu", ["toy_parts_deep_1"]), ("cuda", []), ("auto", [])])
def test_trainings_are_split_only_on_a_cpu(source, monkeypatch, device, parts):
    """Its two trials take 1000 seconds, more than a chunk may; a chunk has at least two trials."""
    jobs = (Simulation("first", "loss"), Simulation("deep", "rates", cut={"rates": ["depth"]}))
    work = {"rates": lambda own, read: 500.0 * own["settings"]["depth"]}
    monkeypatch.setattr(studies, "declared", lambda: {"toy": Study("Toys", Toy, jobs, work=work)})
    made = rules(run(source, device=device))
    assert [rule.name for rule in made] == ["toy_data_first", "toy_data_deep", *parts]
    assert [rule.trains for rule in made[1:]] == [True] * (1 + len(parts))


RUNS_OF = ("mid", "high", "low")
BLOCKS_OF = {f"block{block}": f"toy/data/blocks/block{block}.nc" for block in range(3)}
PATHS = {name: f"toy/data/{name}.nc" for name in ("loss", "rates", "slopes", "ends")} | {"images": "data/images.nc"}
PATHS |= {"modes": {name: f"toy/data/modes/{name}.nc" for name in RUNS_OF}, "blocks": BLOCKS_OF}


def member(function, output, settings, reads=(), arguments=None, **more):
    """A task of the made-up study, as the workflow declares it."""
    about = {"study": "toy", "seed": 11, "paper": "T. Oy, On toys.", "function": f"experiments.{function}"}
    about |= {"code": code("simulate", f"experiments.{function}"), "settings": settings, "arguments": arguments or {}}
    return about | {"inputs": {read: PATHS[read] for read in reads}, "outputs": [f"toy/data/{output}.nc"]} | more


def test_experiments_of_a_study_are_in_its_jobs(source):
    made = run(source)
    rules(made)
    blocks = [
        member("second:blocks", f"blocks/block{k}", {"settings": {"count": 3}}, (), {"block": k}, device="cpu")
        for k in range(3)
    ]
    modes = [
        member("second:modes", f"modes/{name}", {"settings": {"epochs": 7}, "model": {"step": step}}, (), {"run": name})
        for name, step in zip(RUNS_OF, (0.4, 0.9, 0.1), strict=True)
    ]
    rates = {"settings": {"width": 4, "rate": 0.5, "depth": 2}}
    networks = {"networks": {"large": {"units": 3}, "small": {"units": 1}}, "default": {"units": 2}}
    nets = {"settings": {"rows": ["large", "small"]}} | networks | {"again": {"area": 6}}
    assert {name: list(job.members) for name, job in made.jobs.items() if name in ("toy/first", "toy/both")} == {
        "toy/first": [member("first:loss", "loss", {"settings": {"width": 3, "rate": 0.5}}, ["images"])],
        "toy/both": [
            member("first:rates", "rates", rates, ["loss"], device="cpu"),
            member("first:slopes", "slopes", {}, ["loss", "rates"]),
        ],
    }
    assert list(made.jobs["toy/every"].members) == modes
    assert [made.jobs[f"toy/parts-block{block}"].members for block in range(3)] == [[member] for member in blocks]
    assert list(made.jobs["toy/last"].members) == [
        member("second:nets", "nets", nets),
        member("second:ends", "ends", {}, ["blocks", "modes", "images"], device="cpu"),
    ]
    seeds = [made.jobs[f"toy/long{part}"].members[0]["settings"] for part in ("-part1", "-part2", "")]
    assert seeds == [{"settings": {"seeds": count}} for count in (3, 5, 5)]
    (whole,) = made.simulate("toy/x", "whole").members  # without chosen rows all entries
    assert list(whole["settings"]["networks"]) == ["default", "large", "odd", "small"]


def test_figures_tables_and_claims_are_in_jobs(source):
    made = run(source, looks={"t-5": 3, "t-9": 1})
    rules(made)
    figures, tables, claims = made.figures("toy"), made.tables("toy"), made.claims("toy")

    def product(path, *reads):
        kind = path.partition(".")[0].partition(":")[0]
        runner, suffixes = {"figures": ("draw", "svg png csv json"), "tables": ("tabulate", "csv tex json")}[kind]
        about = {"study": "toy", "function": path, "code": code(runner, path)}
        outputs = [f"toy/{kind}/{path.partition(':')[2]}.{suffix}" for suffix in suffixes.split()]
        return about | {"inputs": {read: PATHS[read] for read in reads}, "outputs": outputs}

    assert {module: (job.name, job.members) for module, job in figures.items()} == {
        "early": ("toy/figures_early", [product("figures.early:three", "slopes", "images")]),
        "late": (
            "toy/figures_late",
            [product("figures.late:one", "ends", "loss"), product("figures.late:two", "rates")],
        ),
    }
    assert (tables.name, tables.kind) == ("toy/tables", "tabulate")
    assert tables.members == [product("tables:t_b", "loss"), product("tables:t_a", "modes", "rates")]
    assert (claims.name, claims.kind) == ("toy/claims", "decide")
    checks = {"t-5": "claims.rates:fifth", "t-2": "claims.sums:second", "t-9": "claims.sums:last"}
    decided = {id: {"function": path, "code": f"repdyn.toy.{path}"} for id, path in checks.items()}
    decided["t-5"]["look"] = 3
    inputs = {name: PATHS[name] for name in ("slopes", "blocks", "loss", "images")}
    about = {"study": "toy", "claims": decided, "code": code("decide"), "inputs": inputs}
    assert claims.members == [about | {"outputs": ["toy/claims.csv", "toy/evidence.csv"]}]
    assert list(claims.members[0]["claims"]) == ["t-5", "t-2", "t-9"]


def test_unknown_names_are_rejected(source):
    made = run(source)
    for name, message in (
        ("gone", "toy.*'gone'.*loss, rates, slopes, trials, modes"),
        ("slopes", "toy.*'loss'"),
        ("twins", "twins.*Twin.*elder, younger"),
    ):
        with pytest.raises(ConfigError, match=message):
            made.simulate("toy/x", name)
    rules(made)
    with pytest.raises(ConfigError, match="images"):
        made.other("images", "images", outputs=["z"])
    (source / "repdyn/toy/settings/study.py").write_text('OTHER = "none"\n')
    workflow.paper_of.cache_clear()
    with pytest.raises(ConfigError, match=r"toy.*PAPER"):
        workflow.paper_of("toy", source)


# Memory


def test_memory_of_a_job_depends_on_its_records(source, tmp_path):
    file = tmp_path / "costs.csv"
    rows = [("toy/both", 3000, 8.0), ("toy/first", 2000, 3.0), ("toy/long", 1000, 1500.0)]
    lines = [f"mine,{name},9,{peak},{size}" for name, peak, size in rows]
    file.write_text("\n".join([",".join(costs.COLUMNS), *lines]) + "\n")
    made = run(source, records=[file])
    rules(made)
    asked = {name: job.memory_mb for name, job in made.jobs.items()}
    assert (asked["toy/first"], asked["toy/both"], asked["toy/every"]) == (3000, 4500, Resources().memory_mb)
    assert asked["toy/long"] == 1500  # it holds all trials, whoever computed them
    assert asked["toy/long-part1"] == 1500  # 1.5 * (800 + 200 * 0.6^0.5) = 1432
    assert asked["toy/long-part2"] == 1400  # 1.5 * (800 + 200 * 0.4^0.5) = 1390
    assert [made.memory(f"logs/mine/toy/{name}.job.json") for name in ("first", "every", "parts-block1")] == [
        3000, Resources().memory_mb, 300,
    ]  # fmt: skip


# Studies of this package

VARIANT = {"blobs": "leaky_low", "image_training": "adam"}
OF_NETWORKS = ("architectures", "printed_data", "final_distances")
OF_THE_DEFAULT = ("default_network", "default_ensemble", "adam_runs")


def real_run(folder, *overlays, **changes):
    config = configuration.load([ROOT / "config.yaml", *overlays], changes)
    made = RunJobs(config, ROOT / "src", folder / "versions.json", records=())
    made.other("images", "images", outputs=["data/images.nc"])
    return made


@pytest.mark.parametrize(
    ("experiment", "setting", "value"), [("blobs", "rate", 0.001), ("image_training", "gain", 0.9)]
)
def test_setting_of_one_variant_changes_only_that_variant(tmp_path, experiment, setting, value):
    def declared(changes):
        made = real_run(tmp_path, universality={experiment: changes})
        runs = type(getattr(made.config.universality, experiment).runs).model_fields
        return made.simulate("universality/all", *[(experiment, {"run": run}) for run in runs]).members

    before, after = declared({}), declared({"runs": {(run := VARIANT[experiment]): {setting: value}}})
    changed = [member["arguments"]["run"] for member, other in zip(before, after, strict=True) if member != other]
    assert changed == [run]
    assert all("runs" not in member["settings"]["settings"] for member in after)


def test_experiment_receives_its_section_and_its_variants_settings(tmp_path):
    made = real_run(tmp_path, ROOT / SMOKE, small.SMALL)
    declared = made.simulate("universality/two_points", *OF_NETWORKS, *OF_THE_DEFAULT).members
    wanted = small.members("universality")
    assert all(member | {"code": ""} == wanted[member["outputs"][0]] for member in declared)
    settings = {member["outputs"][0].split("/")[-1].removesuffix(".nc"): member["settings"] for member in declared}
    assert all(list(settings[name]["networks"]) == settings[name]["settings"]["rows"] for name in OF_NETWORKS)
    assert len({str(settings[name]["default"]) for name in OF_THE_DEFAULT}) == 1
