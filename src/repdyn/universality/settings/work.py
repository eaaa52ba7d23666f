"""How long the trainings take, in CPU seconds of a core with AVX-512, from their settings as job files hold them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Sections = Mapping[str, Any]

CACHE = 2e6  # bytes next to a core
NEAR, FAR = 5e10, 3e10  # bytes per second of weights that stay there, and of others
SINGLE = 1.3e11  # operations per second of products in single precision
CONVOLVED = {"float32": (4.6e10, 135), "float64": (2.3e10, 63)}
"""Operations per second of compiled convolutions of long signals, and the length at which half are lost at the ends."""
CALL = 2e-6  # seconds per layer, step and network of what is no product
UNIT = 1.6e-8  # seconds per neuron and epoch on two points, of what is no product
BENT = {"elu": 1.8e-8, "tanh": 3.5e-8, "swish": 1.6e-8}  # more where the nonlinearity takes an exponential
DRAWN = 3e-8  # more where a dropout is drawn for it
DECADE = 430  # epochs, at the rates of Table 1, in which the loss falls by a factor of ten
LONGER = {"none": 1.4, "swish": 1.3, "elu": 1.4, "tanh": 1.4}  # times as many with other nonlinearities
ADAM = 2.0  # times an epoch of descent: two moments more, a root and a quotient per weight


def _epoch(row: Sections, dtype: str, units: int | None = None) -> float:
    """Seconds per epoch of one network on two points."""
    units, hidden, size = units or row["units"], row["hidden"], 8 if dtype == "float64" else 4
    if row["connections"] == "convolution":
        length = units - (hidden + 1) * (row["kernel"] - 1) / 2
        speed, ends = CONVOLVED[dtype]
        return 12 * hidden * row["channels"] ** 2 * row["kernel"] * (length + ends) / speed
    weights = size * (hidden - 1) * units**2
    neuron = UNIT + BENT.get(row["nonlinearity"], 0.0) + (DRAWN if row["dropout"] else 0.0)
    return 3 * weights / (NEAR if weights < CACHE else FAR) + neuron * hidden * units


def _descent(settings: Sections, row: Sections, units: int | None = None) -> float:
    stops = settings["stop"] and not row["dropout"]  # whose loss keeps its noise
    decade = DECADE * LONGER.get(row["nonlinearity"], 1.0) * settings.get("slower", 1.0)
    last = max(1.0, -math.log10(settings["stop"])) * decade if stops else math.inf
    return settings["seeds"] * min(settings["epochs"], last) * _epoch(row, settings["dtype"], units)


def _default(sections: Sections, _: Sections) -> float:
    return _descent(sections["settings"], sections["default"], sections["settings"]["units"])


def _rows(sections: Sections, _: Sections) -> float:
    return sum(_descent(sections["settings"], sections["networks"][name]) for name in sections["settings"]["rows"])


def _adam(sections: Sections, _: Sections) -> float:
    return ADAM * len(sections["settings"]["rates"]) * _descent(sections["settings"], sections["default"])


def _grid(sections: Sections, arguments: Sections) -> float:
    return len(sections["settings"]["dx"]) * len(sections["settings"]["dy"]) * _rows(sections, arguments)


def _steps(network: Sections, ends: int, trials: int, steps: float, batch: int) -> float:
    """Seconds of minibatch steps; `ends` is the number of inputs and outputs."""
    weights = trials * ((network["hidden"] - 1) * network["units"] ** 2 + ends * network["units"])
    moved = 4 * weights * (7 if network["optimizer"] == "adam" else 3)
    return steps * (6 * weights * batch / SINGLE + moved / FAR + CALL * trials * (network["hidden"] + 1))


def _xor(sections: Sections, _: Sections) -> float:
    settings = sections["settings"]
    return sum(_steps(run, 3, settings["trials"], run["epochs"], 4) for run in settings["runs"].values())


def _gains(sections: Sections, _: Sections) -> float:
    usual, gains = sections["usual"], sections["settings"]["gains"]
    run = usual["runs"]["adam_intermediate"]
    return len(gains) * _steps(run, 3, usual["trials"], run["epochs"], 4)


def _blobs(sections: Sections, _: Sections) -> float:
    settings, run = sections["settings"], sections["network"]
    passes = math.ceil(2 * settings["positions"] ** 2 / settings["batch"])
    return _steps(run, settings["pixels"] ** 2 + 3, settings["trials"], run["epochs"] * passes, settings["batch"])


def _images(sections: Sections, read: Sections) -> float:
    settings, run = sections["settings"], sections["network"]
    return _steps(run, read["pixels"] + 10, settings["trials"], run["steps"], settings["batch"])


WORK = {
    "default_network": _default,
    "default_ensemble": _default,
    "printed_data": _rows,
    "architectures": _rows,
    "adam_runs": _adam,
    "final_distances": _grid,
    "xor": _xor,
    "xor_gains": _gains,
    "blobs": _blobs,
    "image_training": _images,
}
"""Experiment -> its seconds, from its sections of settings and its further arguments."""
