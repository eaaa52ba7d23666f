"""YAML 1.2 files read with every key's position, so that a message can name file and line; equal keys are refused."""

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from repdyn.base.errors import ConfigError

KeyPath = tuple[str | int, ...]
MOST_VALUES = 100_000  # a few aliases of aliases can stand for billions


class Position(NamedTuple):
    """Where a value was written: file by position and name, line (None: on the command line), and how."""

    order: int
    file: str
    line: int | None
    raw: str | None = None
    quoted: bool = False


class Complaint(NamedTuple):
    """One line of the report on a configuration."""

    position: Position
    path: KeyPath
    text: str

    def __str__(self) -> str:
        """`file:line: key.path: text`, without key path for the file as a whole."""
        path = key_text(self.path)
        if self.position.line is None:
            return f"--config {path}: {self.text}" if path else f"--config: {self.text}"
        where = f"{self.position.file}:{self.position.line}" if self.position.line else self.position.file
        return f"{where}: {path}: {self.text}" if path else f"{where}: {self.text}"


class Layer(NamedTuple):
    """What one file or the command line says: values, the position of each key path, and problems of form."""

    values: dict[str, Any]
    positions: dict[KeyPath, Position]
    complaints: list[Complaint]


def key_text(path: KeyPath) -> str:
    """A key path as written in messages: `study.experiment.list[2]`."""
    parts = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return parts.removeprefix(".")


def read(path: Path, order: int, under: str | None = None) -> Layer:
    """Values and positions of one YAML file, the `order`-th of those that are merged.

    Args:
        path: the file.
        order: its place among them.
        under: the key below which the whole file stands, if it is a part of the configuration alone.

    Raises:
        ConfigError: the file is missing or empty, is not valid YAML, or is not a mapping.
    """
    file = _shown(path)
    text = _text(path, file)
    try:
        yaml = YAML(typ="safe", pure=True)
        node = yaml.compose(text)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(
            f"{file}:{line}: a character that YAML forbids, U+{error.character:04X}: remove it"
        ) from error
    except MarkedYAMLError as error:
        raise ConfigError(_syntax(error, file, text)) from error
    except RecursionError as error:
        raise ConfigError(f"{file}: nested too deeply; the settings are a few levels deep") from error
    if node is None:
        raise ConfigError(f"{file}:1: the file is empty; a mapping of keys to values is expected")
    if not isinstance(node, MappingNode):
        kind = "list" if isinstance(node, SequenceNode) else "single value"
        wanted = "a mapping of keys to values (`key: value`) is expected"
        raise ConfigError(f"{file}:{node.start_mark.line + 1}: {wanted}, got a {kind}")
    walk = _Walk(yaml, order, file)
    values = walk.value(node, () if under is None else (under,), Position(order, file, 1))
    if under is None:
        return Layer(values, walk.positions, walk.complaints)
    return Layer({under: values}, {(): Position(order, file, 1), **walk.positions}, walk.complaints)


def values(path: Path) -> dict[str, Any]:
    """Values of a YAML file that stands alone.

    Raises:
        ConfigError: as `read`, or with every problem of form on a line of its own.
    """
    layer = read(path, 0)
    if layer.complaints:
        raise ConfigError("\n".join(map(str, layer.complaints)))
    return layer.values


def merged(layers: Sequence[Layer]) -> tuple[dict[str, Any], dict[KeyPath, Position]]:
    """Values and positions of all layers, later ones over earlier ones, key by key."""
    values: dict[str, Any] = {}
    positions: dict[KeyPath, Position] = {(): layers[0].positions[()]}
    for layer in layers:
        _merge(values, layer.values, (), positions, layer.positions)
    return values, positions


def _merge(
    into: dict[str, Any],
    new: Mapping[str, Any],
    path: KeyPath,
    positions: dict[KeyPath, Position],
    new_positions: Mapping[KeyPath, Position],
) -> None:
    for key, value in new.items():
        here = (*path, key)
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value, here, positions, new_positions)
            continue
        into[key] = value
        for old in [position for position in positions if position[: len(here)] == here]:
            del positions[old]
        positions.update({at: position for at, position in new_positions.items() if at[: len(here)] == here})


def _shown(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative


def _text(path: Path, file: str) -> str:
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        names = [other.name for other in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, names, 1)
        advice = f'; did you mean "{near[0]}"?' if near else ""
        raise ConfigError(f"{file}: no such file{advice}") from error
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        byte = f"byte 0x{raw[error.start]:02x}"
        raise ConfigError(f"{file}:{line}: not UTF-8 text ({byte}): save the file as UTF-8") from error


def _syntax(error: MarkedYAMLError, file: str, text: str) -> str:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1
    written = [*text.split("\n"), ""][mark.line]
    if "\t" in written[: mark.column + 1]:
        return f"{file}:{line}: a tab stands in the indentation or before a value: YAML wants spaces"
    about = f" ({error.context}, line {error.context_mark.line + 1})" if error.context_mark else ""
    return f"{file}:{line}: not valid YAML: {error.problem}, column {mark.column + 1}{about}"


class _Walk:
    """One pass over a tree of YAML nodes that collects values, positions and problems."""

    def __init__(self, yaml: YAML, order: int, file: str) -> None:
        self.construct, self.order, self.file = yaml.constructor.construct_object, order, file
        self.positions: dict[KeyPath, Position] = {}
        self.complaints: list[Complaint] = []
        self.open: list[Node] = []

    def value(self, node: Node, path: KeyPath, position: Position) -> Any:
        """The value of a node; a list or mapping item has the line it starts on."""
        self.positions[path] = position
        if len(self.positions) > MOST_VALUES:
            raise ConfigError(f"{self.file}: more than {MOST_VALUES} values, aliases counted where they are used")
        if isinstance(node, ScalarNode):
            return self.scalar(node, path, position)
        if any(node is outer for outer in self.open):
            self.complain(position, path, "the alias contains itself")
            return None
        self.open.append(node)
        value = self.mapping(node, path) if isinstance(node, MappingNode) else self.sequence(node, path)
        self.open.pop()
        return value

    def mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            position = self.position(key_node, value_node)
            if (key := self.key(key_node, path, position)) is None:
                continue
            if key in values:
                first = self.positions[(*path, key)].line
                self.complain(position, (*path, key), f"the key stands on line {first} already: keep one")
                continue
            values[key] = self.value(value_node, (*path, key), position)
        return values

    def sequence(self, node: Node, path: KeyPath) -> list[Any]:
        return [self.value(item, (*path, i), self.position(item, item)) for i, item in enumerate(node.value)]

    def key(self, node: Node, path: KeyPath, position: Position) -> str | None:
        if not isinstance(node, ScalarNode):
            self.complain(position, path, "a key must be plain text, not a list or mapping")
            return None
        value = self.scalar(node, path, position)
        if isinstance(value, str):
            return value
        read_as = f"keys are text, and YAML reads an unquoted {node.value} as {kind_text(value)}"
        self.complain(position, path, f'unknown key "{node.value}" ({read_as})')
        return None

    def scalar(self, node: ScalarNode, path: KeyPath, position: Position) -> Any:
        try:
            return self.construct(node)
        except (YAMLError, ValueError) as error:
            reason = getattr(error, "problem", None) or error
            text = f'"{node.value}" cannot be read ({reason}): put it in quotes if it is text'
            self.complain(position, path, text)
            return node.value

    def position(self, start: Node, value: Node) -> Position:
        raw = value.value if isinstance(value, ScalarNode) else None
        quoted = isinstance(value, ScalarNode) and value.style is not None
        return Position(self.order, self.file, start.start_mark.line + 1, raw, quoted)

    def complain(self, position: Position, path: KeyPath, text: str) -> None:
        self.complaints.append(Complaint(position, path, text))


def scalar_text(value: Any) -> str:
    """A value as a reader of YAML knows it."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)


def kind_text(value: Any) -> str:
    """What YAML took a scalar for."""
    if value is None or isinstance(value, bool):
        return scalar_text(value)
    return "a number" if isinstance(value, int | float) else "text" if isinstance(value, str) else "a date"
