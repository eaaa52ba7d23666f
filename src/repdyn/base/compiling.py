"""Functions compiled by numba, cached on disk if there is a folder for this state of the sources.

In them, copy arrays in loops: `a[0] = b` takes two seconds to compile, for its messages about shapes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import caching

KEPT_IN = "NUMBA_CACHE_DIR"
NAMES = ("UserProvidedCacheLocator", "_UserProvidedCacheLocator")  # of numba's class, in current and earlier versions
UserProvided: Any = next(getattr(caching, name) for name in NAMES if hasattr(caching, name))


class ByModule(UserProvided):
    """numba's cache path by module, not by the folder of the checkout, so that checkouts share it."""

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """The path in the cache, from the path in the package."""
        return "_".join(Path(py_file).with_suffix("").parts[-3:])


def compiled(function: Callable[..., Any] | None = None, *, fastmath: bool | set[str] = False) -> Callable[..., Any]:
    """Decorator: compiles a function when it is first called; takes seconds, unless its code is cached.

    Division by zero gives infinity or NaN, as in numpy: a check at every division would prevent vectorization.

    Args:
        function: the function to compile; None if the decorator has arguments.
        fastmath: LLVM's names of the allowed changes in rounding.
    """
    make = njit(fastmath=fastmath, error_model="numpy", cache=KEPT_IN in os.environ)
    return make(function) if function else make
