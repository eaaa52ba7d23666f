"""How far a measurement is, on one line of the terminal, and what is left of one that the user stops."""

from __future__ import annotations

import shutil
import sys
from types import TracebackType

import xarray as xr


class Interrupted(KeyboardInterrupt):
    """The user stopped a measurement with Ctrl-C.

    Attributes:
        dataset: what was measured until then; the rest is NaN.
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        super().__init__("stopped; what was measured until then is the attribute `dataset` of this error")
        self.dataset = dataset


class Progress:
    """Counts finished layers and shows the last one on standard error.

    Args:
        total: layers that there are.
        shown: whether anything is written.
    """

    def __init__(self, total: int, *, shown: bool) -> None:
        self.total, self.shown, self.done = total, shown, 0

    def __enter__(self) -> Progress:
        """Begins to count."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the line, if there is one."""
        if self.shown and self.done:
            print(file=sys.stderr)

    def finish(self, name: str) -> None:
        """One more layer is measured."""
        self.done += 1
        if self.shown:
            width = shutil.get_terminal_size().columns - 1
            text = f"{self.done} of {self.total} layers, {name}"
            print(f"\r{text[:width]:{width}}", end="", file=sys.stderr, flush=True)
