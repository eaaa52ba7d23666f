"""Every kind of mistake in a configuration: the error names file, line, key and value."""

from pathlib import Path
from typing import Literal

import pytest
import yaml
from pydantic import Field
from tests.conftest import ROOT

from repdyn.base.errors import ConfigError
from repdyn.base.settings import Many, Problem, Settings, increasing
from repdyn.pipeline import studies
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.config.configuration import Config, Run, Workflow, checked, load
from repdyn.pipeline.config.messages import resolved, schema_at
from repdyn.pipeline.run.declare.graph import read_study

SCALES = sorted(path.stem for path in (ROOT / "workflow" / "scales").glob("*.yaml"))
SMOKE = yaml_positions.values(studies.files(studies.VALUES.format("smoke"))["truncation_flow"])


class Training(Settings):
    """Settings of every kind."""

    scheme: Literal["equidistant", "irregular", "adaptive"]
    lr: float = Field(gt=0, le=1)
    epochs: int = Field(ge=1, le=500)
    shuffle: bool
    layers: Many[int] = Field(min_length=1)
    note: str | None = Field(min_length=1)
    warmup: int | Literal["auto"]

    def problems(self):
        yield from increasing("layers", self.layers)


class Study(Settings):
    """A section in a section."""

    training: Training


class Toy(Settings):
    """A small configuration whose line numbers do not change with the real one."""

    run: Run
    study: Study


TEXT = """\
run:
  name: toy
  seed: 1
  device: cpu
study:
  training:
    scheme: adaptive
    lr: 0.001
    epochs: 10
    shuffle: true
    layers: [1, 2, 5]
    note: null
    warmup: auto
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def check(text=TEXT, overlay=None, overrides=None):
    Path("config.yaml").write_text(text)
    paths = [Path("config.yaml")]
    if overlay is not None:
        Path("small.yaml").write_text(overlay)
        paths.append(Path("small.yaml"))
    return checked(Toy, paths, overrides)


def complaints(text=TEXT, overlay=None, overrides=None):
    with pytest.raises(ConfigError) as caught:
        check(text, overlay, overrides)
    return str(caught.value).splitlines()


def refused(lines, where, *words):
    """Whether a line of an error begins with a position and contains all these words."""
    return any(line.startswith(where) and all(word in line for word in words) for line in lines)


PATH = "study.training"
MISTAKES = [  # old text, new text, line, key, what the message contains
    # values outside the allowed ones
    ("scheme: adaptive", "scheme: adaptiv", 7, f"{PATH}.scheme", '"adaptiv"', '"adaptive"?'),
    ("warmup: auto", "warmup: atuo", 13, f"{PATH}.warmup", '"atuo"', '"auto"?'),
    ("lr: 0.001", "lr: 0", 8, f"{PATH}.lr: 0 "),
    ("lr: 0.001", "lr: 1.5", 8, f"{PATH}.lr: 1.5 "),
    ("lr: 0.001", "lr: .nan", 8, f"{PATH}.lr: nan "),
    ("epochs: 10", "epochs: 501", 9, f"{PATH}.epochs: 501 ", "1 to 500"),
    ("seed: 1", "seed: -1", 3, "run.seed: -1 "),
    ("name: toy", "name: ../toy", 2, 'run.name: "../toy"'),
    ("layers: [1, 2, 5]", "layers: []", 11, f"{PATH}.layers: []"),
    ("note: null", "note: ''", 12, f'{PATH}.note: ""'),
    # wrong types
    ("epochs: 10", "epochs: 10.5", 9, f"{PATH}.epochs: 10.5"),
    ("epochs: 10", "epochs: true", 9, f"{PATH}.epochs: true"),
    ("epochs: 10", "epochs: ten", 9, f'{PATH}.epochs: "ten"'),
    ("epochs: 10", "epochs: [10]", 9, f"{PATH}.epochs: [10]"),
    ("epochs: 10", "epochs: {a: 1}", 9, f"{PATH}.epochs: "),
    ("shuffle: true", "shuffle: 1", 10, f"{PATH}.shuffle: 1 "),
    ("[1, 2, 5]", "[1, two, 5]", 11, f'{PATH}.layers[1]: "two"'),
    ("[1, 2, 5]", "\n    - 1\n    - 2.5", 13, f"{PATH}.layers[1]: 2.5"),
    ("  training:\n", "  training: 5\n  x:\n", 6, f"{PATH}: 5 "),
    # traps of YAML
    ("lr: 0.001", "lr: yes", 8, f'{PATH}.lr: "yes"'),
    ("shuffle: true", "shuffle: 'true'", 10, f'{PATH}.shuffle: "true"'),
    ("epochs: 10", "epochs: 1:30", 9, f'{PATH}.epochs: "1:30"'),
    ("epochs: 10", "epochs: 1e2", 9, f"{PATH}.epochs: 100.0"),
    ("epochs: 10", "epochs: '10'", 9, f'{PATH}.epochs: "10"'),
    ("epochs: 10", "epochs:", 9, f"{PATH}.epochs: ", "null"),
    ("name: toy", "name: 2024_01", 2, "run.name: 202401 "),
    ("layers: [1, 2, 5]", "layers: 5", 11, f"{PATH}.layers: 5 "),
    # keys
    ("warmup: auto", "warmup: auto\n    epochz: 1", 14, f"{PATH}: ", '"epochz"', '"epochs"?'),
    ("warmup: auto", "warmup: auto\n    LR: 1", 14, f"{PATH}: ", '"LR"', '"lr"?'),
    ("warmup: auto", "warmup: auto\n    quux: 1", 14, f"{PATH}: ", '"quux"', "scheme, lr, epochs"),
    ("warmup: auto", "warmup: auto\n    true: 1", 14, f"{PATH}: ", "True"),
    ("warmup: auto", "warmup: auto\n    3: 1", 14, f"{PATH}: ", "3"),
    ("warmup: auto", "warmup: auto\n    ? [a]\n    : 1", 14, f"{PATH}: "),
    ("warmup: auto", "warmup: auto\n    lr: 0.002", 14, "", 'duplicate key "lr"'),
    ("  seed: 1\n", "", 1, "run: ", '"seed"'),
    ("run:\n", "extra: 1\nrun:\n", 1, "", '"extra"', "run, study"),
    (TEXT[TEXT.index("study:") :], "", 1, "", '"study"'),
    # rules between settings
    ("[1, 2, 5]", "[1, 5, 5]", 11, f"{PATH}.layers: 5 comes after 5"),
]


def test_each_error_is_reported_with_line_key_and_value():
    wrong = []
    for old, new, line, key, *words in MISTAKES:
        assert TEXT.count(old) == 1, old
        lines = complaints(TEXT.replace(old, new))
        if not refused(lines, f"config.yaml:{line}: {key}", *words):
            wrong.append((new, lines))
    assert wrong == []


def test_all_missing_files_are_reported_together():
    Path("config.yaml").write_text(TEXT)
    Path("scales").mkdir()
    with pytest.raises(ConfigError) as caught:
        checked(Toy, ["config.yaml", "scales/smok.yaml", "elsewhere/full.yaml", "scales"])
    first, second, third = str(caught.value).splitlines()
    assert refused([first], "scales/smok.yaml: ")
    assert refused([second], "elsewhere/full.yaml: ")
    assert refused([third], "scales: ")
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        load([])


def test_all_problems_are_reported_at_once_by_file_and_line():
    text = TEXT.replace("seed: 1", "seed: x").replace("name: toy", "name: toy\n  nmae: x")
    overlay = "study:\n  training:\n    lr: 2\n    shuffle: false\nmore: 1\n"
    lines = complaints(text, overlay, {"run": {"device": "gpu"}})
    wanted = [
        ("config.yaml:3: run: ", '"nmae"', '"name"?'),
        ("config.yaml:4: run.seed: ", '"x"'),
        (f"small.yaml:3: {PATH}.lr: ", "2 "),
        ("small.yaml:5: ", '"more"'),
        ("--config run.device: ", '"gpu"', '"cpu"?'),
    ]
    assert [refused([line], *words) for line, words in zip(lines, wanted, strict=True)] == [True] * 5


@pytest.mark.parametrize(
    ("overlay", "overrides", "words"),
    [
        ("run:\nstudy:\n", {}, ("small.yaml:1: run: ", "null")),
        ("study: {training: 3}", {}, (f"small.yaml:1: {PATH}: 3 ",)),
        ("\nstudy:\n  training:\n    layers: [4, 4]", {}, (f"small.yaml:4: {PATH}.layers: 4 ",)),
        ("", {}, ("small.yaml:1: ",)),
        (None, {"run": {"name": "a/b"}}, ("--config run.name: ", '"a/b"')),
        (None, {"run.seed": "5.5"}, ("--config run.seed: 5.5 ",)),
        (None, {"run": {"sed": "5"}}, ("--config run: ", '"sed"', '"seed"?')),
        (None, {"run": "x"}, ('--config run: "x" ',)),
        (None, {"more": 1}, ("--config: ", '"more"')),
        (None, {"study": {"training": {"layers": ["2", "1"]}}}, (f"--config {PATH}.layers: 1 comes after 2",)),
    ],
)
def test_errors_in_overlays_and_options_are_reported_at_their_origin(overlay, overrides, words):
    assert refused(complaints(overlay=overlay, overrides=overrides), *words)


def test_overlays_and_options_change_the_named_settings():
    toy = check(overlay="study: {training: {lr: 0.5, layers: [3]}}\nrun: {name: small}")
    assert (toy.run.name, toy.run.seed) == ("small", 1)
    assert (toy.study.training.lr, toy.study.training.layers, toy.study.training.epochs) == (0.5, (3,), 10)
    overrides = {"run": {"name": "7", "seed": "5"}, "study": {"training": {"note": "null", "layers": ["1", "4"]}}}
    toy = check(overrides=overrides | {"study.training.shuffle": "false", "study.training.note": "~"})
    assert (toy.run.name, toy.run.seed) == ("7", 5)
    assert (toy.study.training.note, toy.study.training.layers) == (None, (1, 4))
    assert toy.study.training.shuffle is False


class Box(Settings):
    """Three settings with rules between them."""

    width: int
    height: int
    depth: int

    def problems(self):
        yield Problem(("width", "height", "depth"), "too large")
        yield Problem(("depth",), "too deep")


class Boxes(Settings):
    """Two sections of one kind."""

    left: Box
    right: Box


def test_violated_rule_names_each_setting_with_its_origin():
    Path("a.yaml").write_text("left:\n  width: 1\n  height: 2\n  depth: 3\nright: {width: 4, height: 5, depth: 6}\n")
    Path("b.yaml").write_text("\nright:\n  height: 7\nleft:\n\n  height: 8\n")
    with pytest.raises(ConfigError) as caught:
        checked(Boxes, ["a.yaml", "b.yaml"], {"right.depth": "9"})
    assert str(caught.value).splitlines() == [
        "a.yaml:4: left.depth: too deep",
        "b.yaml:6: left.width: too large (width: a.yaml:2, height: b.yaml:6, depth: a.yaml:4)",
        "--config right.width: too large (width: a.yaml:5, height: b.yaml:3, depth: --config right.depth)",
        "--config right.depth: too deep",
    ]


# The real configuration


def repository(scale=None):
    overlays = [ROOT / "workflow" / "scales" / f"{scale}.yaml"] if scale else []
    return [ROOT / "config.yaml", *overlays]


def test_real_configuration_and_every_scale_are_valid():
    assert [load(repository(scale)).run.name for scale in (None, *SCALES)] == ["default", *SCALES]


@pytest.mark.parametrize("name", [{"run": {"name": "mine"}}, {"run.name": "mine"}], ids=["nested", "dotted"])
def test_scale_option_requires_a_run_name_and_loads_the_scale_values(name):
    with pytest.raises(ConfigError, match="name"):
        checked(Workflow, repository(), {"scale": "smoke"})
    with pytest.raises(ConfigError, match=r'scale.*"smok".*"smoke"'):
        checked(Workflow, repository(), {"scale": "smok"} | name)
    settings = load(repository(), {"scale": "smoke"} | name)
    assert settings.run.name == "mine"
    assert settings.truncation_flow.random_clusters.draws == SMOKE["random_clusters"]["draws"]


def test_scale_values_override_earlier_files_but_not_later_ones():
    own = "truncation_flow: {random_clusters: {draws: 7}}\n"
    Path("first.yaml").write_text(own)
    Path("same.yaml").write_text(f"scale: smoke\n{own}")
    scale, draws = {"scale": "smoke", "run.name": "mine"}, "truncation_flow.random_clusters.draws"
    for file, overrides, wanted in (
        ("first.yaml", scale, SMOKE["random_clusters"]["draws"]),
        ("same.yaml", {}, 7),
        ("same.yaml", scale | {draws: "9"}, 9),
    ):
        settings = load([*repository(), file], overrides)
        assert settings.truncation_flow.random_clusters.draws == wanted
        assert list(settings.truncation_flow.gradient_audit.dimensions) == SMOKE["gradient_audit"]["dimensions"]


def test_violated_rule_between_settings_names_both():
    Path("mine.yaml").write_text("data:\n  source: mnist\n  mnist_mirrors: []\n")
    with pytest.raises(ConfigError, match=r"mine.yaml:2: data.mnist_folder: .*mnist_folder: .*config.yaml:\d+"):
        load([*repository(), "mine.yaml"])
    cases = [  # section, change, key, values found
        ("ablation", {"depth": 7, "record": [0, 3]}, "record", "3.*7"),
        ("ablation", {"depth": 7, "record": [3, 3, 7]}, "record", "3 comes after 3"),
        ("orthogonality_gap", {"batch": 8, "input_dim": 7}, "input_dim", "7.*batch = 8"),
        ("orthogonality_gap", {"batch": 20, "widths": [16, 32]}, "widths", "16.*batch = 20"),
        ("layer_angles", {"batches": [64, 9]}, "batches", "9 comes after 64"),
    ]
    for section, change, key, values in cases:
        with pytest.raises(ConfigError, match=rf"--config bn_decomposed\.{section}\.{key}: .*{values}"):
            load(repository(), {"bn_decomposed": {section: change}})


def test_looks_are_at_claims_that_exist():
    claim = next(iter(read_study("truncation_flow").claims))
    assert load(repository(), {"run": {"looks": {claim: 2}}}).run.looks == {claim: 2}
    for id, words in ((claim[:-1], f'did you mean "{claim}"'), ("zzz", "known are .* more")):
        with pytest.raises(ConfigError, match=f'run.looks: no claim "{id}"; {words}'):
            load(repository(), {"run": {"looks": {id: 2}}})


def leaves(model, path=()):
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Settings):
            yield from leaves(kind, (*path, name))
        else:
            yield (*path, name), field


def test_every_setting_has_description_range_and_value_at_the_default_scale_and_no_default():
    values, schema, wrong = yaml.safe_load((ROOT / "config.yaml").read_text()), Config.model_json_schema(), []
    values |= {study: yaml.safe_load(path.read_text()) for study, path in studies.files("values/default.yaml").items()}
    for path, field in leaves(Config):
        name, later = ".".join(path), isinstance(field.json_schema_extra, dict) and field.json_schema_extra
        part = values
        for key in path:
            part = part.get(key) if isinstance(part, dict) else None
        wrong += [f"{name}: value"] * (part is None and path[-1] != "mnist_folder" and not later)
        wrong += [f"{name}: description"] * (not field.description)
        wrong += [f"{name}: default"] * (not field.is_required() and "as_before" not in (later or {}))
        wrong += [f"{name}: range"] * (not bounded(schema_at(path, schema), schema))
    assert wrong == []


def bounded(node, root):
    node = resolved(node, root)
    if "anyOf" in node:
        return all(bounded(part, root) for part in node["anyOf"])
    if node.get("type") == "array":
        return bounded(node["items"], root)
    if node.get("type") in ("integer", "number"):
        low, high = {"minimum", "exclusiveMinimum"}, {"maximum", "exclusiveMaximum"}
        return bool(low & set(node)) and bool(high & set(node))
    if node.get("type") == "string":
        return bool({"enum", "const", "pattern", "minLength"} & set(node))
    return True
