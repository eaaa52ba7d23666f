"""Words for what a setting may be, on schemas by hand: every form of range, list, text and choice."""

import pytest
from tests.conftest import ROOT

from repdyn.base.errors import ConfigError
from repdyn.base.settings import Problem, Settings
from repdyn.pipeline import studies
from repdyn.pipeline.config import configuration, yaml_positions
from repdyn.pipeline.config.messages import describe, kinds, nearest, not_one_of, schema_at
from repdyn.pipeline.config.yaml_positions import Complaint, Position, key_text, kind_text, merged, scalar_text

WORD, COUNT, SHARE = {"type": "string"}, {"type": "integer"}, {"type": "number"}
SCHEMA = {
    "$defs": {
        "Part": {"type": "object", "properties": {"rate": SHARE, "sizes": {"type": "array", "items": COUNT}}},
        "Size": COUNT | {"minimum": 1},
    },
    "properties": {
        "part": {"$ref": "#/$defs/Part"},
        "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
        "size": {"$ref": "#/$defs/Size"},
    },
}


def many(**bounds):
    return {"type": "array", "items": COUNT, **bounds}


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (COUNT, "an integer"),
        (SHARE, "a number"),
        (WORD, "text"),
        ({"type": "boolean"}, "true or false"),
        ({}, "a value"),
        (COUNT | {"minimum": 1, "maximum": 8}, "an integer from 1 to 8"),
        (SHARE | {"minimum": 0}, "a number of at least 0"),
        (SHARE | {"maximum": 2}, "a number of at most 2"),
        (SHARE | {"exclusiveMinimum": 0}, "a number above 0"),
        (SHARE | {"exclusiveMaximum": 3}, "a number below 3"),
        (SHARE | {"exclusiveMinimum": 0, "exclusiveMaximum": 1}, "a number above 0 and below 1"),
        (SHARE | {"exclusiveMinimum": 0, "maximum": 1}, "a number above 0 and at most 1"),
        (SHARE | {"minimum": 0, "exclusiveMaximum": 1}, "a number of at least 0 and below 1"),
        (WORD | {"minLength": 1}, "non-empty text"),
        (WORD | {"minLength": 3}, "text of at least 3 characters"),
        (WORD | {"maxLength": 9}, "text of at most 9 characters"),
        (WORD | {"pattern": "^[a-z]+$", "maxLength": 9}, "text of the form [a-z]+, of at most 9 characters"),
        ({"enum": ["a", "b"]}, "one of a, b"),
        ({"enum": ["a"]}, "a"),
        ({"const": "auto"}, "auto"),
        ({"anyOf": [COUNT, {"const": "auto"}]}, "an integer, or auto"),
        (many(), "a list of integers"),
        (many(minItems=1), "a list of one or more integers"),
        (many(minItems=2), "a list of at least 2 integers"),
        (many(maxItems=4), "a list of at most 4 integers"),
        (many(minItems=1, maxItems=4), "a list of one or more and at most 4 integers"),
        (many(minItems=3, maxItems=3), "a list of 3 integers"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "a list of values among a, b"),
        ({"type": "array", "items": many(minItems=2, maxItems=2)}, "a list of lists of 2 integers"),
        ({"type": "array", "items": {"$ref": "#/$defs/Part"}}, "a list of mappings with the keys rate, sizes"),
        ({"$ref": "#/$defs/Part"}, "a mapping with the keys rate, sizes"),
        ({"$ref": "#/$defs/Size"}, "an integer of at least 1"),
    ],
)
def test_what_a_value_may_be(node, words):
    assert describe(node, SCHEMA) == words


@pytest.mark.parametrize(
    ("path", "node"),
    [
        ((), SCHEMA),
        (("size",), COUNT | {"minimum": 1}),
        (("part", "rate"), SHARE),
        (("parts", 3, "sizes", 0), COUNT),
        (("parts", "rate"), None),
        (("part", 0), None),
        (("other",), None),
        (("other", "rate"), None),
    ],
)
def test_schemas_are_found_by_their_path(path, node):
    assert schema_at(path, SCHEMA) == node


@pytest.mark.parametrize(
    ("node", "types"),
    [
        (COUNT, {"integer"}),
        ({"$ref": "#/$defs/Part"}, {"object"}),
        ({"anyOf": [SHARE, {"type": "null"}]}, {"number", "null"}),
        ({"enum": ["a", "b"]}, {"string"}),
        ({"enum": [1, 2]}, {"integer"}),
        ({"anyOf": [{"const": "auto"}, {"$ref": "#/$defs/Size"}]}, {"string", "integer"}),
        ({}, {""}),
    ],
)
def test_types_of_a_value(node, types):
    assert kinds(node, SCHEMA) == types


def test_the_nearest_word_is_found_in_any_case_and_written_as_it_is_known():
    assert nearest("ADAPTIV", ["equidistant", "Adaptive"]) == "Adaptive"
    assert nearest("quux", ["equidistant", "adaptive"]) is None
    assert not_one_of("smok", ["default", "smoke"]) == '"smok" is not one of default, smoke (did you mean "smoke"?)'
    assert not_one_of(7, ["default", "smoke"]) == "7 is not one of default, smoke"


@pytest.mark.parametrize(("letters", "shown"), [(78, '"' + 78 * "x" + '"'), (79, '"' + 75 * "x" + " ...")])
def test_long_values_are_cut(letters, shown):
    assert not_one_of(letters * "x", ["a"]) == f"{shown} is not one of a"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": 2}, "a mapping with the keys a, b"),
        ({}, "an empty mapping"),
        ([1, None, "x"], '[1, nothing (null), "x"]'),
    ],
)
def test_values_that_are_no_scalars_are_shown(value, text):
    assert not_one_of(value, ["y"]).startswith(f"{text} is not one of y")


@pytest.mark.parametrize(
    ("value", "text", "kind"),
    [
        (None, "nothing (null)", "nothing (null)"),
        (True, "true", "true"),
        (False, "false", "false"),
        ("a", '"a"', "text"),
        (1, "1", "a number"),
        (0.5, "0.5", "a number"),
    ],
)
def test_scalars_are_told_as_yaml_knows_them(value, text, kind):
    assert (scalar_text(value), kind_text(value)) == (text, kind)


@pytest.mark.parametrize(
    ("file", "line", "path", "text"),
    [
        ("a.yaml", 3, ("x", 2, "y"), "a.yaml:3: x[2].y: no"),
        ("a.yaml", 3, (), "a.yaml:3: no"),
        ("a.yaml", 0, ("x",), "a.yaml: x: no"),
        ("a.yaml", 0, (), "a.yaml: no"),
        ("--config", None, ("x", "y"), "--config x.y: no"),
        ("--config", None, (), "--config: no"),
    ],
)
def test_a_complaint_says_where_it_belongs(file, line, path, text):
    assert str(Complaint(Position(0, file, line), path, "no")) == text


def test_a_path_begins_with_a_place_in_a_list_or_a_key():
    assert (key_text((0, "a")), key_text(("a", 0, 1)), key_text(())) == ("[0].a", "a[0][1]", "")


def test_a_later_layer_replaces_lists_and_mappings_that_were_none(tmp_path):
    texts = ("a: {b: [1, 2], c: 1}\nd: 3\n", "\na:\n  b: [5]\nd: {e: 1}\n")
    files = [tmp_path / name for name in ("first.yaml", "second.yaml")]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    values, positions = merged([yaml_positions.read(file, order) for order, file in enumerate(files)])
    assert values == {"a": {"b": [5], "c": 1}, "d": {"e": 1}}
    assert ("a", "b", 1) not in positions  # the second value of a list that has one
    where = {path: (position.order, position.line) for path, position in positions.items()}
    assert where[("a", "b", 0)] == (1, 3)
    assert where[("a", "c")] == (0, 1)
    assert where[("d", "e")] == where[("d",)] == (1, 4)
    assert where[()] == (0, 1)


def test_a_part_of_the_configuration_stands_under_its_key(tmp_path):
    (tmp_path / "part.yaml").write_text("\nrate: 1\n")
    layer = yaml_positions.read(tmp_path / "part.yaml", 4, under="study")
    assert layer.values == {"study": {"rate": 1}}
    assert layer.positions[("study", "rate")][:3:2] == (4, 2)
    assert layer.positions[()].line == 1


def test_a_file_that_stands_alone_has_its_values_or_all_its_problems(tmp_path):
    file = tmp_path / "alone.yaml"
    file.write_text("a: 1\nb: [2]\n")
    assert yaml_positions.values(file) == {"a": 1, "b": [2]}
    file.write_text("a: 1\na: 2\nb: 1\nb: 2\n")
    with pytest.raises(ConfigError) as caught:
        yaml_positions.values(file)
    assert [line.rpartition("alone.yaml:")[2] for line in str(caught.value).splitlines()] == [
        "2: a: the key stands on line 1 already: keep one",
        "4: b: the key stands on line 3 already: keep one",
    ]


@pytest.mark.parametrize("name", [{"run": {"name": "mine"}}, {"run.name": "mine"}], ids=["nested", "dotted"])
def test_a_scale_from_the_command_line_wants_a_name_for_the_run(name):
    with pytest.raises(ConfigError, match="name the run, too"):
        configuration.checked(configuration.Workflow, [ROOT / "config.yaml"], {"scale": "smoke"})
    with pytest.raises(ConfigError, match="is not one of"):  # the next step: nothing keeps values for a scale here
        configuration.checked(configuration.Workflow, [ROOT / "config.yaml"], {"scale": "smok"} | name)


def test_a_scale_from_the_command_line_brings_the_studies_values():
    settings = configuration.load([ROOT / "config.yaml"], {"scale": "smoke", "run.name": "mine"})
    kept = yaml_positions.values(studies.files(studies.VALUES.format("smoke"))["truncation_flow"])
    assert settings.run.name == "mine"
    assert settings.truncation_flow.random_clusters.draws == kept["random_clusters"]["draws"]
    assert list(settings.truncation_flow.gradient_audit.dimensions) == kept["gradient_audit"]["dimensions"]


def test_values_of_a_scale_lie_over_files_before_and_below_what_the_same_file_or_the_command_says(tmp_path):
    kept = yaml_positions.values(studies.files(studies.VALUES.format("smoke"))["truncation_flow"])
    first, same = tmp_path / "first.yaml", tmp_path / "same.yaml"
    own = "truncation_flow: {random_clusters: {draws: 7}}\n"
    first.write_text(own)
    same.write_text(f"scale: smoke\n{own}")
    asked, draws = {"scale": "smoke", "run.name": "mine"}, "truncation_flow.random_clusters.draws"
    for file, overrides, wanted in (
        (first, asked, kept["random_clusters"]["draws"]),
        (same, {}, 7),
        (same, asked | {draws: "9"}, 9),
    ):
        settings = configuration.load([ROOT / "config.yaml", file], overrides)
        assert settings.truncation_flow.random_clusters.draws == wanted
        assert list(settings.truncation_flow.gradient_audit.dimensions) == kept["gradient_audit"]["dimensions"]


def test_a_scale_that_no_study_keeps_is_told_where_it_is_asked_for_with_those_that_there_are():
    known = sorted({path.stem for path in (ROOT / "src/repdyn").glob("*/values/*.yaml")})
    with pytest.raises(ConfigError) as caught:
        configuration._of_scale("smok", Position(1, "mine.yaml", 3), lambda name: {})
    text = f'mine.yaml:3: scale: "smok" is not one of {", ".join(known)} (did you mean "smoke"?)'
    assert str(caught.value) == text


class Box(Settings):
    """Three knobs with rules between them."""

    width: int
    height: int
    depth: int

    def problems(self):
        yield Problem(("width", "height", "depth"), "too large")
        yield Problem(("depth",), "too deep")
        yield Problem(("height", "width"), "too flat")


class Boxes(Settings):
    """Two sections of one kind."""

    left: Box
    right: Box


def test_every_rule_that_is_broken_names_every_knob_where_it_was_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(
        "left:\n  width: 1\n  height: 2\n  depth: 3\nright: {width: 4, height: 5, depth: 6}\n"
    )
    (tmp_path / "b.yaml").write_text("\nright:\n  height: 7\nleft:\n\n  height: 8\n")
    with pytest.raises(ConfigError) as caught:
        configuration.checked(Boxes, ["a.yaml", "b.yaml"], {"right.depth": "9"})
    assert str(caught.value).splitlines() == [
        "a.yaml:2: left.width: too large (height: b.yaml:6, depth: a.yaml:4)",
        "a.yaml:4: left.depth: too deep",
        "a.yaml:5: right.width: too large (height: b.yaml:3, depth: --config right.depth)",
        "b.yaml:3: right.height: too flat (width: a.yaml:5)",
        "b.yaml:6: left.height: too flat (width: a.yaml:2)",
        "--config right.depth: too deep",
    ]


def test_words_of_the_command_line_go_to_every_knob_dotted_or_nested(tmp_path):
    (tmp_path / "a.yaml").write_text("left: {width: 1, height: 2, depth: 3}\nright: {width: 4, height: 5, depth: 6}\n")

    class Free(Box):
        def problems(self):
            yield from ()

    class Pair(Settings):
        left: Free
        right: Free

    overrides = {"left.height": "7", "right": {"depth": "8", "width": 9}, "left": {"depth": "10"}, "left.width": "11"}
    pair = configuration.checked(Pair, [tmp_path / "a.yaml"], overrides)
    assert pair.model_dump() == {
        "left": {"width": 11, "height": 7, "depth": 10},
        "right": {"width": 9, "height": 5, "depth": 8},
    }


def test_what_cannot_be_read_is_told_once_and_not_as_a_wrong_value_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    right = "right: {width: 2024-15-01, height: x, depth: 3}\n"
    (tmp_path / "a.yaml").write_text(f"left:\n  width: 2024-13-01\n  height: &h [*h]\n  depth: 2024-14-01\n{right}")
    unread = "cannot be read (month must be in 1..12): put it in quotes if it is text"
    with pytest.raises(ConfigError) as caught:
        configuration.checked(Boxes, ["a.yaml"])
    assert str(caught.value).splitlines() == [
        f'a.yaml:2: left.width: "2024-13-01" {unread}',
        "a.yaml:3: left.height[0]: the alias contains itself",
        "a.yaml:3: left.height: [nothing (null)] is not an integer",
        f'a.yaml:4: left.depth: "2024-14-01" {unread}',
        f'a.yaml:5: right.width: "2024-15-01" {unread}',
        'a.yaml:5: right.height: "x" is not an integer',
    ]


def test_files_are_named_and_all_that_cannot_be_read_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        configuration.checked(Boxes, [])
    assert str(caught.value) == "no configuration file was given: name config.yaml"
    (tmp_path / "a.yaml").write_text("left: {width: 1}\n")
    (tmp_path / "b.yaml").write_text("- a\n")
    with pytest.raises(ConfigError) as caught:
        configuration.checked(Boxes, ["c.yaml", "a.yaml", "b.yaml", "d.yml"])
    assert str(caught.value).splitlines() == [
        'c.yaml: no such file; did you mean "b.yaml"?',
        "b.yaml:1: a mapping of keys to values (`key: value`) is expected, got a list",
        'd.yml: no such file; did you mean "b.yaml"?',
    ]
