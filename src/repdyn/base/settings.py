"""Typed settings: one model per section of the configuration, and a canonical text of its values.

Rules for a model derived from `Settings`:

- every setting has a description and a range (`Field(ge=..., le=...)`, a pattern, or `Literal`);
- no setting has a default: values are in `values/` of the study. Only a setting added after results exist may have one,
  by `addition`, so that nothing runs again;
- rules between settings go into `problems`;
- a setting that only says how many or which trials there are is marked by `EACH`, so that with more trials only the new
  ones are computed.
"""

import json
import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

Item = TypeVar("Item")
Many = Annotated[tuple[Item, ...], Strict(strict=False)]
"""A list in the configuration, a tuple in the model; its items are validated strictly, as all values."""


class Each:
    """Marks a setting that says how many or which trials there are, on which no single trial depends."""


EACH = Each()
"""Marks `Annotated[Count, EACH]`, so that a trial finished with five seeds is reused with ten. A trial's value from
such a list (its rate, its number of layers) must be in its name or in its cache key."""


class Problem(NamedTuple):
    """A violated rule between settings: the setting at fault, then those it was compared with."""

    keys: tuple[str, ...]
    text: str


class Settings(BaseModel):
    """A section of the configuration; unknown keys, text for numbers, booleans for integers are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    def problems(self) -> Iterable[Problem]:
        """Violated rules between values; models with such rules override this."""
        return ()

    @model_validator(mode="after")
    def _refuse_problems(self) -> Self:
        if faults := list(self.problems()):
            text = "; ".join(f"{problem.keys[0]}: {problem.text}" for problem in faults)
            raise PydanticCustomError("problems", "{text}", {"text": text, "problems": faults})
        return self


def increasing(key: str, values: Iterable[float]) -> Iterator[Problem]:
    """The problem that `values`, the list at `key`, do not increase strictly; empty if they do."""
    return _ordered(key, values, operator.lt, "increasing")


def decreasing(key: str, values: Iterable[float]) -> Iterator[Problem]:
    """The problem that `values`, the list at `key`, do not decrease strictly; empty if they do."""
    return _ordered(key, values, operator.gt, "decreasing")


def _ordered(
    key: str, values: Iterable[float], in_order: Callable[[float, float], bool], order: str
) -> Iterator[Problem]:
    for before, after in pairwise(values):
        if not in_order(before, after):
            yield Problem((key,), f"{after} comes after {before}: list each value once, in {order} order")
            return


def distinct(key: str, values: tuple[object, ...]) -> Iterator[Problem]:
    """The problem that `values`, the list at `key`, have duplicates."""
    if twice := [value for value in dict.fromkeys(values) if values.count(value) > 1]:
        yield Problem((key,), f"{twice[0]} is listed twice: list each value once")


def addition(value: Any, **field: Any) -> Any:
    """A setting added after results exist: `value` is what the code used before it could be set.

    Args:
        value: default, and the value at which `canonical` omits the setting.
        field: arguments of `pydantic.Field` (description, range).
    """
    return Field(default=value, json_schema_extra={"as_before": plain(value)}, **field)


def canonical(settings: Settings) -> str:
    """The values as JSON text, equal for equal settings: sorted keys, no spaces, shortest exact floats.

    A setting declared by `addition` is omitted at its old value, so that adding a setting reruns nothing.
    """
    return json_text(plain(settings))


def json_text(value: Any) -> str:
    """JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def plain(value: Any) -> Any:
    """Settings, or a value in them, as dicts, lists and scalars, without settings at their `as_before` value."""
    if isinstance(value, Settings):
        fields = type(value).model_fields
        parts = {name: plain(getattr(value, name)) for name in fields}
        return {name: part for name, part in parts.items() if not _as_before(fields[name], part)}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


def of_one_trial(settings: Settings) -> dict[str, Any]:
    """The values that a single trial depends on: all but those marked by `EACH`."""
    own = {}
    for name, field in type(settings).model_fields.items():
        value = getattr(settings, name)
        part = of_one_trial(value) if isinstance(value, Settings) else plain(value)
        if EACH not in field.metadata and not _as_before(field, part):
            own[name] = part
    return own


def _as_before(field: FieldInfo, part: Any) -> bool:
    extra = field.json_schema_extra
    if not isinstance(extra, dict) or "as_before" not in extra:
        return False
    return json_text(extra["as_before"]) == json_text(part)
