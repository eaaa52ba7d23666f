"""What was measured and what was not: every number starts as missing, every failure keeps its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import xarray as xr

from repdyn.diagnostics.methods.catalog import TEXTS, described
from repdyn.diagnostics.methods.forward import in_one_line


class Findings:
    """Numbers by diagnostic, and reasons for those that are missing.

    Args:
        measures: the measures that are wanted.
        sizes: length of each dimension.
    """

    def __init__(self, measures: Sequence[str], sizes: Mapping[str, int]) -> None:
        names = [name for measure in measures for name, text in TEXTS.items() if text.measure == measure]
        self.values = {name: np.full([sizes[dim] for dim in TEXTS[name].dims], np.nan) for name in names}
        self.reasons: dict[tuple[str, str], list[str]] = {}

    def put(self, measurements: Mapping[str, object], at: int | None = None) -> None:
        """Keeps numbers, at a place along their first dimension or as a whole."""
        for name, value in measurements.items():
            if name in self.values:
                self.values[name][... if at is None else at] = value

    def leave_out(self, measure: str, why: str, place: str = "") -> None:
        """Keeps a reason; equal ones of several places become one."""
        places = self.reasons.setdefault((measure, why), [])
        if place and place not in places:
            places.append(place)

    @contextmanager
    def isolated(self, measure: str, place: str = "") -> Iterator[None]:
        """An error inside is a reason, and no more than that."""
        try:
            with np.errstate(all="ignore"):
                yield
        except Exception as error:
            self.leave_out(measure, in_one_line(error), place)

    def variables(self) -> dict[str, xr.Variable]:
        """Every diagnostic as a variable."""
        return {name: described(name, values) for name, values in self.values.items()}

    def text(self) -> str:
        """All reasons as one text."""
        parts = [
            (measure, f" ({', '.join(places)})" * bool(places), why) for (measure, why), places in self.reasons.items()
        ]
        return "; ".join(f"{measure}{where}: {why}" for measure, where, why in parts)
