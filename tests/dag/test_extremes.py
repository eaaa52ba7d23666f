"""Extreme settings are really extreme, not unchanged because of rejections."""

import pytest
from tests.dag.extremes import accepts, at, lists, lowered, of_smoke, shrunk, with_value

from repdyn.base.settings import Many, Problem, Settings, increasing
from repdyn.pipeline.config.configuration import STUDIES


class Small(Settings):
    """Lists and counts that depend on each other."""

    sizes: Many[int]
    rates: Many[float]
    record: Many[int]
    depth: int
    seeds: int

    def problems(self):
        """As in the studies."""
        yield from increasing("sizes", self.sizes)
        if len(self.rates) != len(self.sizes):
            yield Problem(("rates", "sizes"), "one rate per size")
        if not self.sizes or self.record[-1:] != (self.depth,) or self.seeds < 2:
            yield Problem(("record", "depth"), "the last is depth")


class Study(Settings):
    """One section."""

    part: Small


VALUES = {"sizes": [3, 7, 9], "rates": [0.1, 0.2, 0.3], "record": [1, 5, 40], "depth": 40, "seeds": 8}


def test_smallest_settings_are_valid():
    part = shrunk(Study, {"part": VALUES})["part"]
    assert accepts(Small, part)
    assert (len(part["sizes"]), len(part["rates"]), part["record"]) == (1, 1, [40])
    assert (part["sizes"], part["seeds"]) == ([0], 2)


def test_each_count_can_be_minimized_separately():
    assert lowered(Small, VALUES, ("seeds",)) == VALUES | {"seeds": 2}
    assert lowered(Small, VALUES, ("depth",)) == VALUES


@pytest.mark.parametrize("study", STUDIES)
def test_duplicates_are_rejected_in_lists_of_choices(study):
    """Each list of a study's settings with its first item twice: rejected, or every value has a separate role."""
    model, values = of_smoke(study)
    twice = {
        ".".join(map(str, path)): with_value(values, path, [at(values, path)[0], *at(values, path)])
        for path in lists(values)
    }
    assert [name for name, other in twice.items() if accepts(model, other)] == []
