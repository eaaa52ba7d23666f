"""Errors whose message tells a user what to do; commands show them without a traceback."""


class RepdynError(Exception):
    """A problem that the user can fix; its text is all that is shown."""


class ConfigError(RepdynError):
    """The configuration is not valid; the text lists every problem, one per line."""


class DataError(RepdynError):
    """A data file is missing, damaged or not the one expected."""


class NotEnoughDataError(RepdynError):
    """A run lacks variants or samples that a claim or a figure needs; the text says what is needed."""
