"""YAML 1.2 files read with the position of every key, so that a message can name file and line."""

import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import RoundTripConstructor, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.reader import ReaderError

from repdyn.base.errors import ConfigError

KeyPath = tuple[str | int, ...]
MOST_VALUES = 100_000  # a few aliases of aliases can stand for billions


class Position(NamedTuple):
    """Where a value was written: the file, by position among all and name, and the line (None: command line)."""

    order: int
    file: str
    line: int | None

    def __str__(self) -> str:
        """`file:line`."""
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Complaint(NamedTuple):
    """One problem in a configuration."""

    position: Position
    path: KeyPath
    text: str

    def __str__(self) -> str:
        """`file:line: key.path: text`, without key path for the file as a whole."""
        separator = " " if self.position.line is None else ": "
        where = separator.join(filter(None, (str(self.position), key_text(self.path))))
        return f"{where}: {self.text}"


class Layer(NamedTuple):
    """What one file or the command line says: values, and the position of each key path."""

    values: dict[str, Any]
    positions: dict[KeyPath, Position]


class _Constructor(RoundTripConstructor):
    """Mappings and lists with positions; scalars are plain, and dates are text."""

    def construct_text(self, node: ScalarNode) -> str:
        """A scalar as it is written."""
        return str(self.construct_scalar(node))


for _kind in ("null", "bool", "int", "float"):
    _Constructor.add_constructor(f"tag:yaml.org,2002:{_kind}", getattr(SafeConstructor, f"construct_yaml_{_kind}"))
for _kind in ("str", "timestamp"):
    _Constructor.add_constructor(f"tag:yaml.org,2002:{_kind}", _Constructor.construct_text)
_Constructor.add_constructor(None, SafeConstructor.construct_undefined)  # an unknown tag


def key_text(path: KeyPath) -> str:
    """A key path as written in messages: `study.experiment.list[2]`."""
    parts = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return parts.removeprefix(".")


def read(path: Path, order: int, under: str | None = None, end: str | None = None) -> Layer:
    """Values and positions of one YAML file, the `order`-th of those that are merged.

    Args:
        path: the file.
        order: its position among them.
        under: the key below which the file's content belongs, if it is only a part of the configuration.
        end: the line that ends the YAML, if other text follows it.

    Raises:
        ConfigError: the file is missing or empty, is not valid YAML, has a key twice, or is not a mapping.
    """
    relative = os.path.relpath(path)
    file = str(path) if relative.startswith("..") else relative
    parser = YAML(typ="rt", pure=True)
    parser.Constructor = _Constructor
    try:
        text = path.read_text(encoding="utf-8-sig", errors="surrogateescape")  # characters that YAML forbids unescaped
        content = parser.load(text if end is None else text.partition(f"\n{end}")[0])
    except OSError as error:
        raise ConfigError(f"{file}: {str(error.strerror).lower()}") from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{file}:{line}: a control character, or not UTF-8 text: U+{error.character:04X}") from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = textwrap.shorten(str(error.problem or error.context), 120)
        raise ConfigError(f"{file}:{mark.line + 1}: {problem}, column {mark.column + 1}") from error
    except (RecursionError, ValueError) as error:
        raise ConfigError(f"{file}: not valid YAML: {error}") from error
    if not isinstance(content, CommentedMap):
        line = content.lc.line + 1 if isinstance(content, CommentedSeq) else 1
        wanted = "expected a mapping of keys to values (`key: value`)"
        raise ConfigError(f"{file}:{line}: {wanted}, got {content!r:.40}")
    positions: dict[KeyPath, Position] = {}
    start = Position(order, file, 1)
    values = _plain(content, () if under is None else (under,), start, positions)
    return Layer(values if under is None else {under: values}, {(): start, **positions})


def values(path: Path) -> dict[str, Any]:
    """Values of a YAML file alone; raises `ConfigError` as `read`."""
    return read(path, 0).values


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
        else:
            into[key] = value
            positions.update({at: position for at, position in new_positions.items() if at[: len(here)] == here})


def _plain(value: Any, path: KeyPath, position: Position, positions: dict[KeyPath, Position]) -> Any:
    """A value of plain mappings and lists; notes the positions of all that is in it.

    What a merge key (`<<`) brings in has the position of the mapping that has the merge key.
    """
    positions[path] = position
    if len(positions) > MOST_VALUES:
        raise ConfigError(f"{position.file}: more than {MOST_VALUES} values, aliases counted where they are used")
    if not isinstance(value, CommentedMap | CommentedSeq):
        return value
    lines = value.lc.data or {}

    def plain(key: str | int, item: Any) -> Any:
        at = position._replace(line=lines[key][0] + 1) if key in lines else position
        return _plain(item, (*path, key), at, positions)

    if isinstance(value, CommentedSeq):
        return [plain(index, item) for index, item in enumerate(value)]
    if odd := [key for key in value if not isinstance(key, str)]:
        line = lines[odd[0]][0] + 1
        raise ConfigError(f"{position.file}:{line}: {key_text(path)}: a key is text, got {odd[0]!r}: put it in quotes")
    return {key: plain(key, item) for key, item in value.items()}
