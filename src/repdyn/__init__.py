"""repdyn: representation dynamics, reproduced and audited.

The papers' measures on a network of your own, loaded when they are first used (torch is slow to import):

    import repdyn

    data = repdyn.measure(network, inputs, labels=labels)
    for sentence in repdyn.summarize(network, inputs, labels=labels): print(sentence.verdict)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from repdyn.diagnostics.compare import compare
    from repdyn.diagnostics.measure import Recorder, measure
    from repdyn.diagnostics.summary import summarize

__all__ = ["Recorder", "compare", "measure", "summarize"]

HOMES = {"Recorder": "measure", "compare": "compare", "measure": "measure", "summarize": "summary"}


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module 'repdyn' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f"repdyn.diagnostics.{HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
