"""Compiled functions: numba's, kept on disk where a job has named a folder for this state of the sources.

Inside them, copy arrays by loops: `a[0] = b` compiles two seconds of error texts about shapes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from numba import njit

KEPT_IN = "NUMBA_CACHE_DIR"


def compiled(function: Callable[..., Any] | None = None, *, fastmath: bool | set[str] = False) -> Callable[..., Any]:
    """Decorator: compiles a function when it is first called; takes seconds, unless its code is kept.

    Division by zero gives infinity or NaN, as in numpy: a check at every division would keep loops off the vector unit.

    Args:
        function: what to compile; None where the decorator has arguments.
        fastmath: liberties with rounding, as LLVM names them.
    """
    make = njit(fastmath=fastmath, error_model="numpy", cache=KEPT_IN in os.environ)
    return make(function) if function else make
