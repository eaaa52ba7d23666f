"""How long the trainings take, in CPU seconds of a core with AVX-512, from their settings as job files hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Sections = Mapping[str, Any]

RATE = 9e9  # operations per second of a compiled step in single precision, over the root of the width


def _trained(settings: Sections, layers: float) -> float:
    """Seconds of that many steps times layers of one network."""
    return layers * 6 * settings["width"] ** 2 * settings["points"] / (RATE * settings["width"] ** 0.5)


def _settled(settings: Sections, steps: float) -> float:
    """Steps of Adam and of the descent after it."""
    return steps + settings.get("descent_steps", 0)  # absent where there is none


def _chain(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    depths, fits = len(s["effective_depths"]), len(s["effective_depths"]) if s.get("from_scratch") else 1
    steps = fits * s["first_steps"] + depths * _settled(s, s["steps"])
    return _trained(s, s["seeds"] * len(s["maps"]) * s["layers"] * steps)


def _schemes(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    return _trained(s, s["seeds"] * len(s["maps"]) * 3 * sum(s["layers"]) * _settled(s, s["steps"]))


def _staged(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    return _trained(s, s["staged_seeds"] * 4 * s["layers"][-1] * _settled(s, s["steps"]))


def _refinement(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    doubled = 2 ** (s["doublings"] + 1) - 1
    return _trained(s, s["seeds"] * s["layers"] * (s["first_steps"] + doubled * _settled(s, s["refinement_steps"])))


def _convergence(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    steps = s["first_steps"] + sum(_settled(s, steps) for steps in s["steps"])
    return _trained(s, 2 * s["seeds"] * 2 * s["layers"] * steps)


def _paper(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    steps = s["records"][-1] + len(s["descent_rates"]) * s["descent_steps"]
    return _trained(s, s["seeds"] * len(s["maps"]) * s["layers"] * steps)


def _restarts(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    return _trained(s, s["teachers"] * s["starts"] * s["layers"] * (s["first_steps"] + _settled(s, s["steps"])))


def _excess(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    runs = 1 + len(s["excess"])
    return _trained(s, s["teachers"] * s["layers"] * (s["first_steps"] + runs * _settled(s, s["steps"])))


def _growth(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    return 1.5e-5 * s["seeds"] * s["layers"] * s["records"][-1]


WORK = {
    "trained": _chain,
    "discretized": _schemes,
    "staged": _staged,
    "refinement": _refinement,
    "convergence": _convergence,
    "paper_settings": _paper,
    "restarts": _restarts,
    "overregularized": _excess,
    "output_growth": _growth,
    "network_audit": lambda sections, _: 0.02 * sections["settings"]["draws"],
}
"""Experiment -> its seconds, from its sections of settings and its further arguments."""
