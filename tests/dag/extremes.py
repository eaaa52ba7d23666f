"""The smallest settings that the models accept, derived from the settings of a scale.

No setting is named, so new ones are covered: lists lose every item they can, counts become the smallest valid value,
and rejected changes are not made.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from pydantic import ValidationError
from tests.conftest import ROOT, SMOKE

from repdyn.base.settings import Settings
from repdyn.pipeline.config.configuration import STUDIES, load

Path = tuple[str | int, ...]
Values = dict[str, Any]


def of_smoke(study: str) -> tuple[type[Settings], Values]:
    """The model of a study's settings and their values at smoke scale."""
    settings = getattr(load([ROOT / "config.yaml", ROOT / SMOKE]), study)
    return type(settings), settings.model_dump(mode="json")


def smallest() -> Values:
    """An overlay with the smallest settings of all studies."""
    return {study: shrunk(*of_smoke(study)) for study in STUDIES}


def shrunk(model: type[Settings], values: Values) -> Values:
    """The shortest lists and smallest values that the model and the rules between settings accept."""
    while True:
        before = values
        for path, length in [(path, len(at(values, path))) for path in lists(values)]:
            for position in reversed(range(length)):
                values = _without(model, values, path, position)
        for path in [path for path in _leaves(values) if type(at(values, path)) is int]:
            values = lowered(model, values, path)
        if values == before:
            return values


def lowered(model: type[Settings], values: Values, path: Path) -> Values:
    """The values with the count at a path as low as is accepted."""
    refused, accepted = -1, at(values, path)
    while accepted - refused > 1:
        middle = (accepted + refused) // 2
        if accepts(model, with_value(values, path, middle)):
            accepted = middle
        else:
            refused = middle
    return with_value(values, path, accepted)


def accepts(model: type[Settings], values: Values) -> bool:
    """Whether the model takes the values."""
    try:
        model.model_validate(values)
    except ValidationError:
        return False
    return True


def at(values: Values, path: Path) -> Any:
    """The value at a path."""
    for key in path:
        values = values[key]
    return values


def with_value(values: Values, path: Path, value: Any) -> Values:
    """A copy with another value at a path."""
    copy = deepcopy(values)
    at(copy, path[:-1])[path[-1]] = value
    return copy


def _without(model: type[Settings], values: Values, path: Path, position: int) -> Values:
    """Values without one item of a list, alone or with the items in parallel lists of the section."""
    items = at(values, path)
    if position >= len(items):
        return values
    alone = with_value(values, path, items[:position] + items[position + 1 :])
    together = deepcopy(values)
    for other in list(lists(together)):
        if other[0] == path[0] and len(at(together, other)) == len(items):
            del at(together, other)[position]
    return next((option for option in (alone, together) if accepts(model, option)), values)


def lists(values: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(values, list):
        yield path
    for key, value in values.items() if isinstance(values, dict) else enumerate(values):
        if isinstance(value, dict | list):
            yield from lists(value, (*path, key))


def _leaves(values: Any, path: Path = ()) -> Iterator[Path]:
    for key, value in values.items() if isinstance(values, dict) else enumerate(values):
        if isinstance(value, dict | list):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key)
