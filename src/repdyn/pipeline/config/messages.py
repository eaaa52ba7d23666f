"""What a setting may be, in words, and what is wrong with a value, in one line.

The words come from the JSON schema of the models, so that messages and reference say the same.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from repdyn.pipeline.config.yaml_positions import Complaint, KeyPath, Position, key_text, kind_text, scalar_text

Schema = Mapping[str, Any]

NOUNS = {
    "integer": ("an integer", "integers"),
    "number": ("a number", "numbers"),
    "string": ("text", "texts"),
    "boolean": ("true or false", "booleans"),
    "null": ("null", "nulls"),
}


def resolved(node: Schema, root: Schema) -> Schema:
    """The schema that a `$ref` in `node` points to, or `node` itself."""
    return root["$defs"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node


def schema_at(path: KeyPath, root: Schema) -> Schema | None:
    """The schema of the value at a key path; None where there is no such key."""
    node: Schema | None = root
    for key in path:
        if node is None:
            return None
        node = node.get("items") if isinstance(key, int) else node.get("properties", {}).get(key)
        node = node and resolved(node, root)
    return node


def describe(node: Schema, root: Schema, many: bool = False) -> str:
    """What a value of this schema may be, as a noun phrase: `an integer from 1 to 8`."""
    node = resolved(node, root)
    if "anyOf" in node:
        return ", or ".join(describe(part, root, many) for part in node["anyOf"])
    if values := _allowed(node):
        lead = "values among " if many else "one of " if len(values) > 1 else ""
        return lead + ", ".join(map(str, values))
    kind = node.get("type")
    if kind == "array":
        lead = "lists of " if many else "a list of "
        return lead + _count(node) + describe(node["items"], root, many=True)
    if kind == "object":
        lead = "mappings" if many else "a mapping"
        return f"{lead} with the keys {', '.join(node.get('properties', {}))}"
    filled = "non-empty" if node.get("minLength") == 1 else ""
    noun = NOUNS[kind][many] if kind in NOUNS else "a value"
    return " ".join(filter(None, (filled, noun, _range(node), _form(node))))


def _allowed(node: Schema) -> list[Any]:
    if "anyOf" in node:
        return [value for part in node["anyOf"] for value in _allowed(part)]
    return [node["const"]] if "const" in node else list(node.get("enum", ()))


def _count(node: Schema) -> str:
    least, most = node.get("minItems"), node.get("maxItems")
    if least is not None and least == most:
        return f"{least} "
    low = "one or more" if least == 1 else f"at least {least}" if least else ""
    high = f"at most {most}" if most is not None else ""
    return " and ".join(filter(None, (low, high))) + (" " if low or high else "")


def _range(node: Schema) -> str:
    if "minimum" in node and "maximum" in node:
        return f"from {node['minimum']} to {node['maximum']}"
    words = {
        "exclusiveMinimum": "above",
        "minimum": "at least",
        "exclusiveMaximum": "below",
        "maximum": "at most",
    }
    text = " and ".join(f"{word} {node[key]}" for key, word in words.items() if key in node)
    return f"of {text}" if text.startswith("at") else text


def _form(node: Schema) -> str:
    pattern = node.get("pattern", "").removeprefix("^").removesuffix("$")
    form = f"of the form {pattern}" if pattern else ""
    least = f"of at least {node['minLength']} characters" if node.get("minLength", 0) > 1 else ""
    most = f"of at most {node['maxLength']} characters" if "maxLength" in node else ""
    return ", ".join(filter(None, (form, least, most)))


def kinds(node: Schema, root: Schema) -> set[str]:
    """The JSON types that a value of this schema may have."""
    node = resolved(node, root)
    if "anyOf" in node:
        return set().union(*(kinds(part, root) for part in node["anyOf"]))
    if values := _allowed(node):
        return {"string" if isinstance(value, str) else "integer" for value in values}
    return {node.get("type", "")}


def complaints(
    error: ValidationError, values: Any, positions: Mapping[KeyPath, Position], root: Schema
) -> Iterator[Complaint]:
    """Every problem that pydantic found, at its position and in our words."""
    for entry in error.errors():
        path = _written(entry["loc"], root)
        match entry["type"]:
            case "missing":
                yield _missing(path, positions, root)
            case "extra_forbidden":
                yield _unknown(entry["loc"], positions, root)
            case "problems":
                yield from (_broken(path, keys, text, positions) for keys, text in entry["ctx"]["problems"])
            case _:
                yield _misfit(path, _at(path, values), positions, root)


def _written(loc: tuple[int | str, ...], root: Schema) -> KeyPath:
    """The part of a pydantic location that stands in the file; the names of union members do not."""
    while loc and schema_at(loc, root) is None:
        loc = loc[:-1]
    return loc


def _at(path: KeyPath, values: Any) -> Any:
    for key in path:
        values = values[key]
    return values


def _position(path: KeyPath, positions: Mapping[KeyPath, Position]) -> Position:
    while path and path not in positions:
        path = path[:-1]
    return positions[path]


def _missing(path: KeyPath, positions: Mapping[KeyPath, Position], root: Schema) -> Complaint:
    wanted = describe(schema_at(path, root) or {}, root)
    return Complaint(_position(path, positions), path[:-1], f'missing key "{path[-1]}": {wanted}')


def _unknown(loc: KeyPath, positions: Mapping[KeyPath, Position], root: Schema) -> Complaint:
    known = list((schema_at(loc[:-1], root) or {}).get("properties", {}))
    near = nearest(str(loc[-1]), known)
    advice = f'did you mean "{near}"?' if near else f"known keys: {', '.join(known)}"
    return Complaint(_position(loc, positions), loc[:-1], f'unknown key "{loc[-1]}"; {advice}')


def not_one_of(value: object, known: Iterable[str]) -> str:
    """That a value is none of those known, with the nearest."""
    known = list(known)
    near = nearest(str(value), known)
    return f"{_shown(value)} is not one of {', '.join(known)}" + (f' (did you mean "{near}"?)' if near else "")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, if any is like it at all."""
    lower = {other.lower(): other for other in known}
    near = difflib.get_close_matches(word.lower(), lower, 1)
    return lower[near[0]] if near else None


def _broken(path: KeyPath, keys: tuple[str, ...], text: str, positions: Mapping[KeyPath, Position]) -> Complaint:
    first, *others = (_position((*path, key), positions) for key in keys)
    spots = [f"{key}: {_spot(position, (*path, key))}" for key, position in zip(keys[1:], others, strict=True)]
    return Complaint(first, (*path, keys[0]), text + (f" ({', '.join(spots)})" if spots else ""))


def _spot(position: Position, path: KeyPath) -> str:
    return f"--config {key_text(path)}" if position.line is None else f"{position.file}:{position.line}"


def _misfit(path: KeyPath, value: Any, positions: Mapping[KeyPath, Position], root: Schema) -> Complaint:
    node, position = schema_at(path, root) or {}, _position(path, positions)
    allowed = _allowed(node)
    near = nearest(value, map(str, allowed)) if isinstance(value, str) else None
    advice = f'did you mean "{near}"?' if near else _hint(value, position, node, root)
    text = f"{_shown(value)} is not {describe(node, root)}" + (f" ({advice})" if advice else "")
    return Complaint(position, path, text)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"a mapping with the keys {', '.join(map(str, value))}" if value else "an empty mapping"
    text = f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else scalar_text(value)
    return text if len(text) <= 80 else text[:76] + " ..."


def _hint(value: Any, position: Position, node: Schema, root: Schema) -> str:
    """How YAML came to read the value so, and what to write instead; empty where nothing is odd."""
    wanted = kinds(node, root)
    if "array" in wanted and not isinstance(value, list | dict) and value is not None:
        return f"a list, even of one value, stands in brackets: [{value}]"
    if isinstance(value, str):
        return _hint_text(value, position, wanted)
    if value is None:
        return "nothing stands after the colon" if position.raw == "" else ""
    if isinstance(value, float) and value.is_integer() and wanted == {"integer"}:
        return f"write {int(value)}"
    if "string" in wanted and not isinstance(value, list | dict):
        return f"YAML reads an unquoted {position.raw or value} as {kind_text(value)}: put it in quotes"
    return ""


def _hint_text(value: str, position: Position, wanted: set[str]) -> str:
    if "boolean" in wanted and value.lower() in ("true", "false"):
        return "remove the quotes"
    if not wanted & {"integer", "number"}:
        return ""
    is_number = re.fullmatch(r"[-+]?\d+(\.\d*)?", value)
    return "remove the quotes" if position.quoted and is_number else ""
