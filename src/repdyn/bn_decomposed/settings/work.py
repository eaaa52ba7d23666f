"""How long deep random networks take: CPU seconds of a core with AVX-512, from settings as job files hold them.

The weights of a layer are not drawn: its products with the batch are, width times points Gaussian numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Sections = Mapping[str, Any]

LAYER = 4e-5  # seconds per layer
DRAWN, MIXED = 1.5e-8, 3.2e-10  # seconds per neuron and point, and per neuron and pair of points
LIMIT, OF_PAIR = 5e-5, 2e-8  # seconds per layer at infinite width, and per pair of points
TREE = 2.8e-3  # seconds per point of a batch whose tree is followed to its limit
STEP, SINGLE = 5e-5, 1e11  # seconds per layer and step of torch, operations per second in single precision
NORMALIZED = 1.4  # times a step without batch normalization
SOURCES = 2  # images and Gaussian points


def _layer(width: int, points: int) -> float:
    return LAYER + width * points * (DRAWN + MIXED * points)


def _limit(points: int) -> float:
    return LIMIT + OF_PAIR * points**2


def _odd_point(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    depth, limit_depth = s["record"][-1], s["limit_record"][-1]
    return SOURCES * s["seeds"] * sum(depth * _layer(s["width"], n) + limit_depth * _limit(n) for n in s["batches"])


def _largest_norm(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    kinds, n = len(s["dims"]) + len(s["factors"]) + 1, s["batch"]
    deep = s["depth"] * sum(_layer(width, n) for width in s["widths"])
    return s["runs"] * kinds * (deep + s["limit_depth"] * _limit(n))


def _tree_limits(sections: Sections, _: Sections) -> float:
    s = sections["settings"]
    return TREE * sum(n * count for n, count in zip(s["points"], s["batches"], strict=True))


def _training(sections: Sections, read: Sections) -> float:
    s = sections["settings"]
    steps = s["seeds"] * s["epochs"] * math.ceil(read["images"] / s["batch"])
    layers = sum(depth * (STEP + _product(s, s["width"])) + _product(s, read["pixels"]) for depth in s["depths"])
    return steps * layers * (NORMALIZED if read["mode"] == "bn" else 1.0)


def _product(s: Sections, inputs: int) -> float:
    """Seconds of a layer's three products in one step: forward, and back to its weights and its inputs."""
    return 6 * s["batch"] * s["width"] * inputs / SINGLE


WORK = {"training": _training, "tree_limits": _tree_limits, "odd_point": _odd_point, "largest_norm": _largest_norm}
"""Experiment -> its seconds, from its sections of settings and its further arguments."""
