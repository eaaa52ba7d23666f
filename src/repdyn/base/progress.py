"""Progress of long jobs: one plain line every few seconds, on standard error, which goes to the rule's log."""

from __future__ import annotations

import sys
import time


class Progress:
    """Writes "label: step 1200/5000 loss 0.031 eta 40 s" now and then.

    Args:
        label: what is being done.
        total: number of steps.
        every: minimum number of seconds between two lines.
    """

    def __init__(self, label: str, total: int, *, every: float = 10.0) -> None:
        self.label, self.total, self.every = label, total, every
        self.began = self.last = time.monotonic()

    def step(self, done: int, **values: float) -> None:
        """Reports that `done` steps are complete; prints at most every few seconds, and always at the end."""
        now = time.monotonic()
        if now - self.last < self.every and done < self.total:
            return
        self.last = now
        shown = "".join(f" {name} {value:.4g}" for name, value in values.items())
        left = (now - self.began) / max(done, 1) * (self.total - done)
        print(f"{self.label}: step {done}/{self.total}{shown} eta {left:.0f} s", file=sys.stderr, flush=True)
