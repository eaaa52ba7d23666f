"""Errors whose message tells a user what to do; commands show them without a traceback."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

TOO_LITTLE = (LookupError, ArithmeticError, ValueError, StopIteration)
"""What code dies of that meets fewer labels, samples or numbers than it was written for."""
UNFORESEEN = "ended with"


class RepdynError(Exception):
    """A problem that the user can fix; its text is all that is shown."""


class ConfigError(RepdynError):
    """The configuration is not valid; the text lists every problem, one per line."""


class DataError(RepdynError):
    """A data file is missing, damaged or not the one expected."""


class NotEnoughDataError(RepdynError):
    """A run lacks variants or samples that a claim or a figure needs; the text says what is needed."""


@contextmanager
def enough_data(reader: str) -> Iterator[None]:
    """Lets no reader of a finished run's data, a check, figure or table, stop the run for a size it did not foresee.

    Raises:
        NotEnoughDataError: in place of an error of data (`TOO_LITTLE`), which it names; the traceback is printed.
            At the scales that are shipped, tests forbid it.
    """
    try:
        yield
    except TOO_LITTLE as error:
        traceback.print_exc()
        raise NotEnoughDataError(f"{reader} {UNFORESEEN} {type(error).__name__}: {error}") from error
