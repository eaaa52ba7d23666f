"""Every kind of mistake in a configuration, with the line that a user reads."""

# ruff: noqa: E501 (messages stand here as they are read, on one line)

import subprocess
import sys
from pathlib import Path
from typing import Literal

import pytest
import yaml
from pydantic import Field
from tests.conftest import ROOT

from repdyn.base.errors import ConfigError
from repdyn.base.settings import Many, Settings, increasing
from repdyn.pipeline import studies
from repdyn.pipeline.config.configuration import Config, Run, checked, load
from repdyn.pipeline.config.messages import resolved, schema_at

SCALES = sorted(path.stem for path in (ROOT / "workflow" / "scales").glob("*.yaml"))


class Training(Settings):
    """Knobs of every kind."""

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
    """A small configuration whose lines do not move when the real one grows."""

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


def test_a_sound_configuration_passes():
    toy = check()
    assert toy.study.training.layers == (1, 2, 5)
    assert toy.study.training.lr == 0.001


PATH = "study.training"
NUMBER = "a number above 0 and at most 1"
EPOCHS = "an integer from 1 to 500"
SCHEMES = "one of equidistant, irregular, adaptive"
NAME = "text of the form [A-Za-z0-9][A-Za-z0-9_.-]*, of at most 100 characters"
KNOBS = "scheme, lr, epochs, shuffle, layers, note, warmup"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        # values outside the allowed ones
        ("scheme: adaptive", "scheme: adaptiv", 7, f'{PATH}.scheme: "adaptiv" is not {SCHEMES} (did you mean "adaptive"?)'),
        ("warmup: auto", "warmup: atuo", 13, f'{PATH}.warmup: "atuo" is not an integer, or auto (did you mean "auto"?)'),
        ("lr: 0.001", "lr: 0", 8, f"{PATH}.lr: 0 is not {NUMBER}"),
        ("lr: 0.001", "lr: 1.5", 8, f"{PATH}.lr: 1.5 is not {NUMBER}"),
        ("lr: 0.001", "lr: .nan", 8, f"{PATH}.lr: nan is not {NUMBER}"),
        ("epochs: 10", "epochs: 501", 9, f"{PATH}.epochs: 501 is not {EPOCHS}"),
        ("seed: 1", "seed: -1", 3, "run.seed: -1 is not an integer from 0 to 4294967295"),
        ("name: toy", "name: ../toy", 2, f'run.name: "../toy" is not {NAME}'),
        ("layers: [1, 2, 5]", "layers: []", 11, f"{PATH}.layers: [] is not a list of one or more integers"),
        ("note: null", "note: ''", 12, f'{PATH}.note: "" is not non-empty text, or null'),
        # wrong types, no trap
        ("epochs: 10", "epochs: 10.5", 9, f"{PATH}.epochs: 10.5 is not {EPOCHS}"),
        ("epochs: 10", "epochs: true", 9, f"{PATH}.epochs: true is not {EPOCHS}"),
        ("epochs: 10", "epochs: ten", 9, f'{PATH}.epochs: "ten" is not {EPOCHS}'),
        ("epochs: 10", "epochs: [10]", 9, f"{PATH}.epochs: [10] is not {EPOCHS}"),
        ("epochs: 10", "epochs: {a: 1}", 9, f"{PATH}.epochs: a mapping with the keys a is not {EPOCHS}"),
        ("shuffle: true", "shuffle: 1", 10, f"{PATH}.shuffle: 1 is not true or false"),
        ("[1, 2, 5]", "[1, two, 5]", 11, f'{PATH}.layers[1]: "two" is not an integer'),
        ("[1, 2, 5]", "\n    - 1\n    - 2.5", 13, f"{PATH}.layers[1]: 2.5 is not an integer"),
        ("  training:\n", "  training: 5\n  x:\n", 6, f"{PATH}: 5 is not a mapping with the keys {KNOBS}"),
        # traps of YAML
        ("lr: 0.001", "lr: yes", 8, f'{PATH}.lr: "yes" is not {NUMBER}'),
        ("shuffle: true", "shuffle: 'true'", 10, f'{PATH}.shuffle: "true" is not true or false (remove the quotes)'),
        ("epochs: 10", "epochs: 1:30", 9, f'{PATH}.epochs: "1:30" is not {EPOCHS}'),
        ("epochs: 10", "epochs: 1e2", 9, f"{PATH}.epochs: 100.0 is not {EPOCHS} (write 100)"),
        ("epochs: 10", "epochs: 1.0e+2", 9, f"{PATH}.epochs: 100.0 is not {EPOCHS} (write 100)"),
        ("epochs: 10", "epochs: '10'", 9, f'{PATH}.epochs: "10" is not {EPOCHS} (remove the quotes)'),
        ("epochs: 10", "epochs:", 9, f"{PATH}.epochs: nothing (null) is not {EPOCHS} (nothing stands after the colon)"),
        ("name: toy", "name: 2024_01", 2, f"run.name: 202401 is not {NAME} (YAML reads an unquoted 2024_01 as a number: put it in quotes)"),
        ("note: null", "note: 2024-01-01", 12, f"{PATH}.note: 2024-01-01 is not non-empty text, or null (YAML reads an unquoted 2024-01-01 as a date: put it in quotes)"),
        ("name: toy", "name: 2024-13-01", 2, 'run.name: "2024-13-01" cannot be read (month must be in 1..12): put it in quotes if it is text'),
        ("layers: [1, 2, 5]", "layers: 5", 11, f"{PATH}.layers: 5 is not a list of one or more integers (a list, even of one value, stands in brackets: [5])"),
        ("[1, 2, 5]", "&all [1, *all]", 11, f"{PATH}.layers[1]: the alias contains itself"),
        # keys
        ("warmup: auto", "warmup: auto\n    epochz: 1", 14, f'{PATH}: unknown key "epochz"; did you mean "epochs"?'),
        ("warmup: auto", "warmup: auto\n    LR: 1", 14, f'{PATH}: unknown key "LR"; did you mean "lr"?'),
        ("warmup: auto", "warmup: auto\n    quux: 1", 14, f'{PATH}: unknown key "quux"; known keys: {KNOBS}'),
        ("warmup: auto", "warmup: auto\n    true: 1", 14, f'{PATH}: unknown key "true" (keys are text, and YAML reads an unquoted true as true)'),
        ("warmup: auto", "warmup: auto\n    null: 1", 14, f'{PATH}: unknown key "null" (keys are text, and YAML reads an unquoted null as nothing (null))'),
        ("warmup: auto", "warmup: auto\n    3: 1", 14, f'{PATH}: unknown key "3" (keys are text, and YAML reads an unquoted 3 as a number)'),
        ("warmup: auto", "warmup: auto\n    ? [a]\n    : 1", 14, f"{PATH}: a key must be plain text, not a list or mapping"),
        ("warmup: auto", "warmup: auto\n    lr: 0.002", 14, f"{PATH}.lr: the key stands on line 8 already: keep one"),
        ("  seed: 1\n", "", 1, 'run: missing key "seed": an integer from 0 to 4294967295'),
        ("run:\n", "extra: 1\nrun:\n", 1, 'unknown key "extra"; known keys: run, study'),
        # rules between knobs
        ("[1, 2, 5]", "[1, 5, 5]", 11, f"{PATH}.layers: 5 comes after 5: list each value once, in increasing order"),
    ],
)  # fmt: skip
def test_one_mistake_one_line(old, new, line, message):
    assert TEXT.count(old) == 1
    assert f"config.yaml:{line}: {message}" in complaints(TEXT.replace(old, new))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "config.yaml:1: the file is empty; a mapping of keys to values is expected"),
        ("# only a comment\n", "config.yaml:1: the file is empty; a mapping of keys to values is expected"),
        ("\n- a\n", "config.yaml:2: a mapping of keys to values (`key: value`) is expected, got a list"),
        ("5", "config.yaml:1: a mapping of keys to values (`key: value`) is expected, got a single value"),
        ("run:\n\tseed: 1\n", "config.yaml:2: a tab stands in the indentation or before a value: YAML wants spaces"),
        ("run: {\n  seed: 1\nstudy: [\n", "config.yaml:3: not valid YAML: expected ',' or '}', but got ':', column 6 (while parsing a flow mapping, line 1)"),
        ("run: name: toy\n", "config.yaml:1: not valid YAML: mapping values are not allowed here, column 10"),
        ("run: 1\n---\nrun: 2\n", "config.yaml:2: not valid YAML: but found another document, column 1 (expected a single document in the stream, line 1)"),
    ],
)  # fmt: skip
def test_what_is_no_mapping_in_yaml(text, message):
    assert complaints(text) == [message]


def test_bytes_that_are_no_text():
    Path("config.yaml").write_bytes(b"run:\n  name: \xff\n")
    with pytest.raises(ConfigError, match=r"config.yaml:2: not UTF-8 text \(byte 0xff\): save the file as UTF-8"):
        load(["config.yaml"])


@pytest.mark.parametrize(("text", "value"), [("1e-3", 1e-3), ("0.001", 1e-3), ("1E-3", 1e-3)])
def test_numbers_are_those_of_yaml_1_2(text, value):
    assert check(TEXT.replace("lr: 0.001", f"lr: {text}")).study.training.lr == value
    assert check(TEXT.replace("epochs: 10", "epochs: 010")).study.training.epochs == 10
    assert check(TEXT.replace("name: toy", "name: on")).run.name == "on"


def test_aliases_of_aliases_are_refused_at_once():
    levels = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
    assert complaints(f"a0: &a0 [1]\n{levels}") == [
        "config.yaml: more than 100000 values, aliases counted where they are used"
    ]


def test_control_characters_are_refused():
    text = "run:\n  name: \x00\n"
    assert complaints(text) == ["config.yaml:2: a character that YAML forbids, U+0000: remove it"]


def test_missing_files_are_named_together_with_a_near_one():
    Path("config.yaml").write_text(TEXT)
    Path("scales").mkdir()
    Path("scales/smoke.yaml").write_text(TEXT)
    with pytest.raises(ConfigError) as caught:
        checked(Toy, ["config.yaml", "scales/smok.yaml", "elsewhere/full.yaml", "scales"])
    assert str(caught.value).splitlines() == [
        'scales/smok.yaml: no such file; did you mean "smoke.yaml"?',
        "elsewhere/full.yaml: no such file",
        "scales: cannot be read: Is a directory",
    ]


def test_a_file_outside_the_working_directory_has_its_full_path(tmp_path, monkeypatch):
    Path("inner").mkdir()
    monkeypatch.chdir("inner")
    with pytest.raises(ConfigError) as caught:
        load([tmp_path / "config.yaml"])
    assert str(caught.value) == f"{tmp_path / 'config.yaml'}: no such file"


def test_no_file_at_all():
    with pytest.raises(ConfigError, match=r"name config\.yaml"):
        load([])


def test_all_problems_at_once_by_file_and_line():
    text = (
        TEXT.replace("seed: 1", "seed: x").replace("[1, 2, 5]", "[2, 1]").replace("name: toy", "name: toy\n  nmae: x")
    )
    overlay = "study:\n  training:\n    lr: 2\n    lr: 3\n    shuffle: false\nmore: 1\n"
    assert complaints(text, overlay, {"run": {"device": "gpu"}}) == [
        'config.yaml:3: run: unknown key "nmae"; did you mean "name"?',
        'config.yaml:4: run.seed: "x" is not an integer from 0 to 4294967295',
        f"small.yaml:3: {PATH}.lr: 2 is not {NUMBER}",
        f"small.yaml:4: {PATH}.lr: the key stands on line 3 already: keep one",
        'small.yaml:6: unknown key "more"; known keys: run, study',
        '--config run.device: "gpu" is not one of auto, cpu, cuda (did you mean "cpu"?)',
    ]


def test_an_overlay_changes_what_it_names():
    toy = check(overlay="study: {training: {lr: 0.5, layers: [3]}}\nrun: {name: small}")
    assert (toy.run.name, toy.run.seed) == ("small", 1)
    assert (toy.study.training.lr, toy.study.training.layers, toy.study.training.epochs) == (0.5, (3,), 10)


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ("run:\nstudy:\n", "small.yaml:1: run: nothing (null) is not a mapping with the keys name, seed, device, looks (nothing stands after the colon)"),
        ("study: {training: 3}", f"small.yaml:1: {PATH}: 3 is not a mapping with the keys {KNOBS}"),
        ("\nstudy:\n  training:\n    layers: [4, 4]", f"small.yaml:4: {PATH}.layers: 4 comes after 4: list each value once, in increasing order"),
        ("", "small.yaml:1: the file is empty; a mapping of keys to values is expected"),
    ],
)  # fmt: skip
def test_a_mistake_in_an_overlay_is_reported_there(overlay, message):
    assert complaints(overlay=overlay)[0] == message


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"run": {"name": "a/b"}}, f'--config run.name: "a/b" is not {NAME}'),
        ({"run.seed": "5.5"}, "--config run.seed: 5.5 is not an integer from 0 to 4294967295"),
        ({"run": {"sed": "5"}}, '--config run: unknown key "sed"; did you mean "seed"?'),
        ({"run": "x"}, '--config run: "x" is not a mapping with the keys name, seed, device, looks'),
        ({"more": 1}, '--config: unknown key "more"; known keys: run, study'),
        ({"study": {"training": {"layers": ["2", "1"]}}}, f"--config {PATH}.layers: 1 comes after 2: list each value once, in increasing order"),
    ],
)  # fmt: skip
def test_a_mistake_on_the_command_line_names_the_option(overrides, message):
    assert complaints(overrides=overrides) == [message]


def test_text_from_the_command_line_becomes_what_the_knob_wants():
    overrides = {"run": {"name": "7", "seed": "5"}, "study": {"training": {"note": "null", "layers": ["1", "4"]}}}
    toy = check(overrides=overrides | {"study.training.shuffle": "false", "study.training.note": "~"})
    assert (toy.run.name, toy.run.seed) == ("7", 5)
    assert (toy.study.training.note, toy.study.training.layers) == (None, (1, 4))
    assert toy.study.training.shuffle is False


def repository(scale=None):
    overlays = [ROOT / "workflow" / "scales" / f"{scale}.yaml"] if scale else []
    return [ROOT / "config.yaml", *overlays]


def test_the_real_configuration_and_every_scale_are_valid():
    names = [load(repository(scale)).run.name for scale in (None, *SCALES)]
    assert names == ["default", *SCALES]


def test_mnist_needs_a_folder_or_a_mirror():
    Path("mine.yaml").write_text("data:\n  source: mnist\n  mnist_mirrors: []\n")
    with pytest.raises(ConfigError) as caught:
        load([*repository(), "mine.yaml"])
    lines = (ROOT / "config.yaml").read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.startswith("  mnist_folder:"))
    text = "null without mnist_mirrors, but source is mnist: name the folder with its IDX files"
    where = f"{ROOT / 'config.yaml'}:{line}: data.mnist_folder"
    assert str(caught.value) == f"{where}: {text} (source: mine.yaml:2)"


@pytest.mark.parametrize(
    ("section", "change", "message"),
    [
        ("ablation", {"depth": 7, "record": [0, 3]}, "record: the last entry is 3, but depth is 7: let the list end with the depth (depth: --config bn_decomposed.ablation.depth)"),
        ("ablation", {"depth": 7, "record": [3, 3, 7]}, "record: 3 comes after 3: list each value once, in increasing order"),
        ("orthogonality_gap", {"batch": 8, "input_dim": 7}, "input_dim: 7 is below batch = 8, so the batch cannot have full rank: raise it (batch: --config bn_decomposed.orthogonality_gap.batch)"),
        ("orthogonality_gap", {"batch": 20, "widths": [16, 32]}, "widths: 16 is below batch = 20, so no such layer can be orthonormal: raise it (batch: --config bn_decomposed.orthogonality_gap.batch)"),
        ("orthogonality_gap", {"widths": [64, 64]}, "widths: 64 comes after 64: list each value once, in increasing order"),
        ("layer_angles", {"batches": [64, 9]}, "batches: 9 comes after 64: list each value once, in increasing order"),
        ("fixed_point", {"batches": [5, 4]}, "batches: 4 comes after 5: list each value once, in increasing order"),
    ],
)  # fmt: skip
def test_rules_between_the_knobs_of_bn_decomposed(section, change, message):
    with pytest.raises(ConfigError) as caught:
        load(repository(), {"bn_decomposed": {section: change}})
    assert str(caught.value) == f"--config bn_decomposed.{section}.{message}"


def leaves(model, path=()):
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Settings):
            yield from leaves(kind, (*path, name))
        else:
            yield (*path, name), field


def test_every_knob_has_a_value_at_the_default_scale():
    values = yaml.safe_load((ROOT / "config.yaml").read_text())
    files = studies.files("values/default.yaml")
    values |= {study: yaml.safe_load(path.read_text()) for study, path in files.items()}
    for path, field in leaves(Config):
        part = values
        for key in path:
            if field.json_schema_extra and key not in part:
                break  # a later knob, which may keep what was done before
            assert key in part, f"no value of {'.'.join(path)}"
            part = part[key]


def test_every_knob_has_description_and_range_and_no_default():
    schema = Config.model_json_schema()
    for path, field in leaves(Config):
        name = ".".join(path)
        assert field.description, f"{name} has no description"
        has_value = isinstance(field.json_schema_extra, dict) and "as_before" in field.json_schema_extra
        assert field.is_required() or has_value, f"{name} has a default: make it with addition()"
        assert bounded(schema_at(path, schema), schema), f"{name} has no range"


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


def test_reading_the_configuration_imports_nothing_heavy():
    code = "import sys, repdyn.pipeline.config.configuration; print([m for m in HEAVY if m in sys.modules])"
    heavy = ["numpy", "scipy", "torch", "xarray", "pandas", "matplotlib", "sklearn"]
    command = [sys.executable, "-c", code.replace("HEAVY", str(heavy))]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_missing_section_is_told_at_the_head_of_the_file():
    (complaint,) = complaints(TEXT.split("study:")[0])
    assert complaint.startswith('config.yaml:1: missing key "study": ')


def test_the_folder_of_mnist_has_a_name():
    def folder(name):
        return load([ROOT / "config.yaml"], {"data": {"source": "mnist", "mnist_folder": name}}).data.mnist_folder

    assert folder("m") == "m"
    with pytest.raises(ConfigError, match=r"mnist_folder: .* is not non-empty text, or null"):
        folder("")
