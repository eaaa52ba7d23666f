"""Errors whose message tells a user what to do; commands show them without a traceback."""

from __future__ import annotations


class RepdynError(Exception):
    """A problem that the user can fix; only its text is shown."""


class ConfigError(RepdynError):
    """The configuration is not valid; the text lists every problem, one per line."""


class DataError(RepdynError):
    """A data file is missing, damaged or not the one expected."""


class NotEnoughDataError(RepdynError):
    """A run lacks variants or samples that a claim or a figure needs; the text says what is needed.

    Attributes:
        trials: number of independent trials needed and present, if there are too few.
    """

    def __init__(self, text: str, trials: tuple[int, int] | None = None) -> None:
        super().__init__(text)
        self.trials = trials


class NotFiniteError(RepdynError):
    """A check received numbers that are not finite, for example of diverged networks."""
