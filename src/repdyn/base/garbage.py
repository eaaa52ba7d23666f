"""Fewer runs of Python's garbage collector, which otherwise take a third of a short job and half of an empty run."""

from __future__ import annotations

import atexit
import gc

SELDOM = 100_000  # new objects between two collections; Python's 700 suit programs with few imports


def collect_seldom() -> None:
    """Collects garbage less often, and not at all when the process ends; for programs, never on import.

    Imports create hundreds of thousands of permanent objects; each collection, also those at exit, would visit all of
    them.
    """
    gc.set_threshold(SELDOM)
    atexit.register(gc.freeze)
