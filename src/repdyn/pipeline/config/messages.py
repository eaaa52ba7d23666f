"""Descriptions of allowed values, and error messages of one line.

The words come from the JSON schema of the models, so that messages and reference say the same.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import getitem
from typing import Any

from pydantic import ValidationError

from repdyn.pipeline.config.yaml_positions import Complaint, KeyPath, Position, key_text

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
        node = resolved(node["anyOf"][0], root) if "anyOf" in node else node
        of_key = node.get("properties", {}).get(key) or node.get("additionalProperties") or None
        node = node.get("items") if isinstance(key, int) else of_key
        node = node and resolved(node, root)
    return node


def describe(node: Schema, root: Schema, many: bool = False) -> str:
    """Allowed values of this schema, as a noun phrase: `an integer from 1 to 8`."""
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
        if isinstance(entries := node.get("additionalProperties"), dict):
            return f"{lead} from names to {describe(entries, root, many=True)}"
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
    words = {"exclusiveMinimum": "above", "minimum": "at least", "exclusiveMaximum": "below", "maximum": "at most"}
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
    """Every problem that pydantic found, with position and our message."""
    for entry in error.errors():
        path, position = entry["loc"], _position(entry["loc"], positions)
        match entry["type"]:
            case "missing":
                wanted = describe(schema_at(path, root) or {}, root)
                yield Complaint(position, path[:-1], f'missing key "{path[-1]}": {wanted}')
            case "extra_forbidden":
                known = list((schema_at(path[:-1], root) or {}).get("properties", {}))
                near = nearest(str(path[-1]), known)
                advice = f'did you mean "{near}"?' if near else f"known keys: {', '.join(known)}"
                yield Complaint(position, path[:-1], f'unknown key "{path[-1]}"; {advice}')
            case "problems":
                for keys, text in entry["ctx"]["problems"]:
                    places = [(_latest((*path, key), positions), (*path, key)) for key in keys]
                    lead = max(places, key=lambda place: place[0].order)  # a user's file, not the values it changes
                    shown = places[lead == places[0] :]
                    spots = ", ".join(f"{at[-1]}: {_spot(position, at)}" for position, at in shown)
                    yield Complaint(lead[0], places[0][1], text + (f" ({spots})" if spots else ""))
            case _:
                while path and schema_at(path, root) is None:  # the name of a type in a union
                    path = path[:-1]
                value, node = reduce(getitem, path, values), schema_at(path, root) or {}
                yield Complaint(position, path, _misfit(value, node, root))


def _position(path: KeyPath, positions: Mapping[KeyPath, Position]) -> Position:
    while path not in positions:
        path = path[:-1]
    return positions[path]


def _latest(path: KeyPath, positions: Mapping[KeyPath, Position]) -> Position:
    """Where a value was changed last, or the first of its values that the last file has."""
    inside = [position for at, position in positions.items() if at[: len(path)] == path]
    return max(inside, key=lambda position: position.order, default=_position(path, positions))


def _spot(position: Position, path: KeyPath) -> str:
    return f"{position} {key_text(path)}" if position.line is None else str(position)


def not_one_of(value: object, known: Iterable[str]) -> str:
    """Message that a value is not among those known, with the nearest."""
    known = list(known)
    near = nearest(str(value), known)
    return f"{_shown(value)} is not one of {', '.join(known)}" + (f' (did you mean "{near}"?)' if near else "")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most similar to `word`, if any is similar."""
    lower = {other.lower(): other for other in known}
    near = difflib.get_close_matches(word.lower(), lower, 1)
    return lower[near[0]] if near else None


def _misfit(value: Any, node: Schema, root: Schema) -> str:
    near = nearest(value, map(str, _allowed(node))) if isinstance(value, str) else None
    return f"{_shown(value)} is not {describe(node, root)}" + (f' (did you mean "{near}"?)' if near else "")


def _shown(value: Any) -> str:
    """A value in YAML terms."""
    if isinstance(value, dict):
        return f"a mapping with the keys {', '.join(map(str, value))}" if value else "an empty mapping"
    if isinstance(value, list):
        text = f"[{', '.join(map(_shown, value))}]"
    elif isinstance(value, bool):
        text = str(value).lower()
    else:
        text = "nothing (null)" if value is None else f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:76] + " ..."
