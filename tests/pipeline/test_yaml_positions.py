"""Values and positions of keys in YAML files, merging of files, and errors with file and line."""

import pytest

from repdyn.base.errors import ConfigError
from repdyn.pipeline.config.yaml_positions import Position, merged, read, values


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def lines(positions):
    return {path: position.line for path, position in positions.items()}


def test_values_are_plain_and_every_key_has_its_line(tmp_path):
    text = "# head\na: {b: 1e-3, c: [010, 'x']}\nd:\n  - yes\n  - e: 0x1F\n    f: 2026-12-01\ng: >-\n  k\n  l\n"
    (tmp_path / "a.yaml").write_text(text)
    layer = read(tmp_path / "a.yaml", 0)
    assert layer.values == {"a": {"b": 1e-3, "c": [10, "x"]}, "d": ["yes", {"e": 31, "f": "2026-12-01"}], "g": "k l"}
    kinds = [type(value) for value in (layer.values["a"], *layer.values["a"].values(), *layer.values["d"][1].values())]
    assert kinds == [dict, float, list, int, str]
    assert lines(layer.positions) == {
        **{(): 1, ("a",): 2, ("a", "b"): 2, ("a", "c"): 2, ("a", "c", 0): 2, ("a", "c", 1): 2},
        **{("d",): 3, ("d", 0): 4, ("d", 1): 5, ("d", 1, "e"): 5, ("d", 1, "f"): 6, ("g",): 7},
    }


def test_explicit_keys_override_merge_keys(tmp_path):
    (tmp_path / "a.yaml").write_text("base: &base {rate: 1, depth: 2}\nsame: *base\nother:\n  <<: *base\n  depth: 3\n")
    layer = read(tmp_path / "a.yaml", 0)
    assert layer.values["same"] == {"rate": 1, "depth": 2}
    assert layer.values["other"] == {"rate": 1, "depth": 3}
    assert lines(layer.positions)[("other", "depth")] == 5
    assert lines(layer.positions)[("other", "rate")] == 3


def test_later_files_replace_lists_and_scalars_and_extend_mappings(tmp_path):
    (tmp_path / "a.yaml").write_text("a: {b: [1, 2], c: 1}\nd: 3\n")
    (tmp_path / "b.yaml").write_text("\na:\n  b: [5]\nd: {e: 1}\n")
    content, positions = merged([read(tmp_path / "a.yaml", 0), read(tmp_path / "b.yaml", 1)])
    assert content == {"a": {"b": [5], "c": 1}, "d": {"e": 1}}
    written = {path: (position.order, position.line) for path, position in positions.items()}
    assert [written[path] for path in (("a",), ("a", "b", 0), ("a", "c"), ("d", "e"))] == [
        (0, 1),
        (1, 3),
        (0, 1),
        (1, 4),
    ]


def test_file_of_one_study_is_placed_below_the_study(tmp_path):
    (tmp_path / "a.yaml").write_text("\nrate: 1\n")
    layer = read(tmp_path / "a.yaml", 4, under="study")
    assert layer.values == {"study": {"rate": 1}}
    assert layer.positions[("study", "rate")] == Position(4, "a.yaml", 2)


ALIASES = [b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 9)]
MILLIONS = b"".join([b"a0: &a0 [1]\n", *ALIASES])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "a.yaml:1: expected a mapping"),
        (b"- a\n", "a.yaml:1: expected a mapping"),
        (b"a: 1\nb:\n  c: 1\n  c: 2\n", 'a.yaml:4: found duplicate key "c"'),
        (b"a: 1\na: b: c\n", "a.yaml:2: mapping values are not allowed here"),
        (b"a:\n\tb: 1\n", "a.yaml:2: found character '\\t'"),
        (b"a: 1\n---\nb: 2\n", "a.yaml:2: but found another document"),
        (b"a: *b\n", "a.yaml:1: found undefined alias 'b'"),
        (b"a: 1\nb: !odd 1\n", "a.yaml:2: could not determine a constructor for the tag"),
        (b"a: !!int x\n", "a.yaml: not valid YAML: invalid literal"),
        (b"a:\n  3: 1\n", "a.yaml:2: a: a key is text, got 3"),
        (b"a: 1\nb: \xff\n", "a.yaml:2: a control character, or not UTF-8"),
        ("ä: é\nb: \0\n".encode(), "a.yaml:2: a control character, or not UTF-8"),
        (b"a: " + 400 * b"[" + 400 * b"]", "a.yaml: not valid YAML: maximum recursion"),
        (MILLIONS, "a.yaml: more than 100000 values"),
    ],
    ids=range(14),
)  # fmt: skip
def test_invalid_files_are_reported_with_file_and_line(tmp_path, text, message):
    (tmp_path / "a.yaml").write_bytes(text)
    with pytest.raises(ConfigError) as caught:
        values(tmp_path / "a.yaml")
    assert str(caught.value).startswith(message)
