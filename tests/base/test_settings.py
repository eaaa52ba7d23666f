"""Strict models, canonical text and additions that re-run nothing."""

import json
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from repdyn.base.settings import (
    EACH,
    Many,
    Problem,
    Settings,
    addition,
    canonical,
    decreasing,
    distinct,
    increasing,
    of_one_trial,
)


class Inner(Settings):
    """A section."""

    rate: float = Field(gt=0)
    sizes: Many[int] = Field(min_length=1)
    kind: Literal["b", "a"]


class Grown(Inner):
    """The section with settings added later."""

    momentum: float = addition(0.0, ge=0, lt=1, description="Momentum.")
    extra: Many[int] = addition((1, 2), description="More sizes.")


INNER = {"rate": 0.1, "sizes": [3, 1], "kind": "a"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rate", "1e-3"),
        ("rate", "0.5"),
        ("rate", True),
        ("rate", None),
        ("rate", float("nan")),
        ("rate", float("inf")),
        ("sizes", [True]),
        ("sizes", [1.0]),
        ("sizes", ["1"]),
        ("sizes", 3),
        ("sizes", "12"),
        ("sizes", {"a": 1}),
        ("kind", True),
        ("other", 1),
    ],
)
def test_values_of_wrong_type_are_rejected(key, value):
    with pytest.raises(ValidationError):
        Inner.model_validate(INNER | {key: value})


def test_settings_are_frozen():
    inner = Inner.model_validate(INNER)
    with pytest.raises(ValidationError):
        inner.rate = 1.0
    assert inner.sizes == (3, 1)
    assert hash(inner) == hash(Inner.model_validate(INNER))


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False, allow_nan=False))
def test_canonical_text_round_trips(rate):
    inner = Inner.model_validate(INNER | {"rate": rate})
    assert Inner.model_validate(json.loads(canonical(inner))) == inner
    assert Inner.model_validate_json(canonical(inner)) == inner


@given(st.permutations(list(INNER)))
def test_canonical_text_does_not_depend_on_the_order_of_keys(keys):
    assert canonical(Inner.model_validate({key: INNER[key] for key in keys})) == canonical(Inner.model_validate(INNER))


def test_added_setting_at_its_old_value_keeps_the_text():
    before = canonical(Inner.model_validate(INNER))
    assert canonical(Grown.model_validate(INNER)) == before
    assert canonical(Grown.model_validate(INNER | {"momentum": 0, "extra": [1, 2]})) == before


def test_added_setting_at_a_new_value_changes_the_text():
    changed = Grown.model_validate(INNER | {"momentum": 0.9})
    assert json.loads(canonical(changed)) == INNER | {"momentum": 0.9}
    assert Grown.model_validate_json(canonical(changed)) == changed


def test_added_nested_setting_at_its_old_value_keeps_the_text():
    class Holder(Settings):
        inner: Grown

    assert canonical(Holder.model_validate({"inner": INNER})) == f'{{"inner":{canonical(Inner.model_validate(INNER))}}}'


def test_all_violated_rules_are_in_one_error():
    class Rules(Settings):
        low: int
        high: int
        steps: Many[int]

        def problems(self):
            yield from increasing("steps", self.steps)
            if self.low > self.high:
                yield Problem(("low", "high"), f"{self.low} is above high = {self.high}")

    Rules(low=1, high=2, steps=[1, 2, 3])
    with pytest.raises(ValidationError) as caught:
        Rules(low=3, high=2, steps=[2, 2])
    (error,) = caught.value.errors()
    assert [place for place, _ in error["ctx"]["problems"]] == [("steps",), ("low", "high")]


@given(st.lists(st.integers(0, 5), max_size=6))
def test_orders_agree_with_their_definitions(values):
    assert (list(increasing("x", values)) == []) == (values == sorted(set(values)))
    assert (list(decreasing("x", values)) == []) == (values == sorted(set(values), reverse=True))
    assert (list(distinct("x", tuple(values))) == []) == (len(values) == len(set(values)))


# What a single trial depends on


class Counted(Settings):
    """Numbers of trials next to settings on which each trial depends."""

    seeds: Annotated[int, EACH]
    rates: Annotated[Many[float], EACH]
    width: int
    inner: Grown
    damping: float = addition(0.5, description="Damping.")


COUNTED = {"seeds": 5, "rates": [0.1, 0.2], "width": 7, "inner": INNER}


def test_trial_does_not_depend_on_the_number_of_trials():
    own = of_one_trial(Counted.model_validate(COUNTED))
    assert own == {"width": 7, "inner": INNER}
    assert own == of_one_trial(Counted.model_validate(COUNTED | {"seeds": 50, "rates": [9.0], "damping": 0.5}))


@pytest.mark.parametrize("changed", [{"width": 8}, {"damping": 0.25}, {"inner": INNER | {"momentum": 0.5}}])
def test_trial_depends_on_everything_else(changed):
    own = of_one_trial(Counted.model_validate(COUNTED | changed))
    assert own == {"width": 7, "inner": INNER} | changed
