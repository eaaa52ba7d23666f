"""Compiled functions: numba's, cached on disk where a folder is named for this state of the sources.

Inside them, copy arrays by loops: `a[0] = b` compiles two seconds of error texts about shapes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import caching

KEPT_IN = "NUMBA_CACHE_DIR"
NAMES = ("UserProvidedCacheLocator", "_UserProvidedCacheLocator")  # of numba's class, today and formerly
UserProvided: Any = next(getattr(caching, name) for name in NAMES if hasattr(caching, name))


class ByModule(UserProvided):
    """Where numba puts a function's code: by module, not by the folder of the checkout, so that checkouts share it."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The place below the cache's folder, from the path below the package's."""
        return "_".join(Path(py_file).with_suffix("").parts[-3:])


def compiled(function: Callable[..., Any] | None = None, *, fastmath: bool | set[str] = False) -> Callable[..., Any]:
    """Decorator: compiles a function when it is first called; takes seconds, unless its code is cached.

    Division by zero gives infinity or NaN, as in numpy: a check at every division would keep loops off the vector unit.

    Args:
        function: what to compile; None where the decorator has arguments.
        fastmath: liberties with rounding, as LLVM names them.
    """
    make = njit(fastmath=fastmath, error_model="numpy", cache=KEPT_IN in os.environ)
    return make(function) if function else make
