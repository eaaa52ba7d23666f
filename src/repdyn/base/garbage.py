"""Python's search for cycles of objects, which without this is a third of a short job and half of an empty run."""

from __future__ import annotations

import atexit
import gc

SELDOM = 100_000  # new objects between two searches; Python's 700 suit programs that import little


def collect_seldom() -> None:
    """Searches for cycles less often, and not at all when the process ends; for programs, never on import.

    Imports make hundreds of thousands of objects that stay to the end; each search on the way, and the last ones
    after the work is done, would go through all of them.
    """
    gc.set_threshold(SELDOM)
    atexit.register(gc.freeze)
