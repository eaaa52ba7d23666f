"""What a row of docs/performance.md is and how it is measured: equal results first, then rounds in which all run once.

Times are processor times of all threads of this process, so what others do on the machine takes the caches and the
memory's speed, but is not counted.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

OURS = "ours"
PACKAGES = ("numpy", "scipy", "numba", "torch", "jax", "jaxlib")


class Way(NamedTuple):
    """One way to do a row's work.

    `result` is called once, before anything is timed, and gives what all ways must agree in; `run` is what is timed,
    and does the work `units` times.
    """

    result: Callable[[], np.ndarray]
    run: Callable[[], object]
    units: float = 1


class Limit(NamedTuple):
    """What the machine needs for a part of the work that no program can do without.

    The fastest of `ways` counts; a unit of work takes `share` runs of it.
    """

    kind: str
    ways: Sequence[Callable[[], object]]
    share: float


class Race(NamedTuple):
    """All ways to a row's work, one of them `OURS`, the first one the reference.

    `close` is how far results may be apart, over the largest entry of the reference.
    """

    ways: Mapping[str, Way]
    close: float
    limits: Sequence[Limit] = ()


@dataclass(frozen=True)
class Row:
    """A row of the page.

    Attributes:
        engine: study and engine, the title of the row's table.
        name: the row's own name within it.
        work: what is computed, at which size.
        unit: what a time is the time of.
        build: makes the race from the entries of a size.
        size: the size that is measured.
        tiny: a size at which a test can compare the results.
        dtype: number format.
        goal: how many times faster than the fastest peer it is to be.
    """

    engine: str
    name: str
    work: str
    unit: str
    build: Callable[..., Race]
    size: Mapping[str, Any]
    tiny: Mapping[str, Any]
    dtype: str = "float64"
    goal: float = 2.0
    key: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"{self.engine}: {self.name}, {self.dtype}")


class DisagreementError(Exception):
    """Two ways to one result differ."""


def differences(race: Race) -> dict[str, float]:
    """How far each way's result is from the first one's, over its largest entry.

    Raises:
        DisagreementError: a way that is further away than `close`, or gives another shape.
    """
    results = {name: np.asarray(way.result(), dtype=float) for name, way in race.ways.items()}
    wanted = next(iter(results.values()))
    if shapes := {name: value.shape for name, value in results.items() if value.shape != wanted.shape}:
        raise DisagreementError(f"results of shape {wanted.shape} and {shapes}")
    apart = {name: float(np.abs(value - wanted).max() / np.abs(wanted).max()) for name, value in results.items()}
    if not all(value <= race.close for value in apart.values()):
        raise DisagreementError(f"results differ by more than {race.close:g}: {apart}")
    return apart


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one run."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def measure(race: Race, rounds: int) -> dict[str, Any]:
    """Compares, runs everything once to warm up, then times in rounds.

    Returns:
        `differences` by way, `seconds` of a unit by way and round, `limits` by kind and round.
    """
    apart = differences(race)
    repeats = [[_repeats(way) for way in limit.ways] for limit in race.limits]
    for way in race.ways.values():
        way.run()
    times: dict[str, list[float]] = {name: [] for name in race.ways}
    limits: dict[str, list[float]] = {limit.kind: [] for limit in race.limits}
    for _ in range(rounds):
        for name, way in race.ways.items():
            times[name].append(seconds(way.run) / way.units)
        for limit, counts in zip(race.limits, repeats, strict=True):
            fastest = min(_each(way, count) for way, count in zip(limit.ways, counts, strict=True))
            limits[limit.kind].append(fastest * limit.share)
    return {"differences": apart, "seconds": times, "limits": limits}


def _repeats(work: Callable[[], object], least: float = 3e-3) -> int:
    work()
    return max(1, int(least / max(seconds(work), 1e-7)))


def _each(work: Callable[[], object], count: int) -> float:
    return seconds(lambda: [work() for _ in range(count)]) / count


def products(shapes: Sequence[tuple[int, int, int]], times: float = 1, dtype: str = "float32") -> Limit:
    """The matrix products (m, k, n) alone, each `times` in a unit, by the faster BLAS of torch's and numpy's."""
    rng = np.random.default_rng(0)
    drawn = [[rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n), (m, n))] for m, k, n in shapes]
    tensors = [[torch.from_numpy(part.copy()) for part in three] for three in drawn]

    def by_numpy() -> None:
        for a, b, c in drawn:
            np.matmul(a, b, out=c)

    def by_torch() -> None:
        for a, b, c in tensors:
            torch.mm(a, b, out=c)

    return Limit("products", (by_numpy, by_torch), times)


def copy(moved: float, block: int) -> Limit:
    """The traffic of a unit in bytes at the speed of a plain copy inside a block of that many bytes."""
    source = np.ones(max(block // 16, 1))
    target = np.empty_like(source)
    return Limit("copy", (lambda: np.copyto(target, source),), moved / (2 * source.nbytes))


def machine() -> dict[str, Any]:
    """Processor, cores and versions."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    flags = next((set(line.partition(":")[2].split()) for line in lines if line.startswith("flags")), set())
    wide = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    processor = " ".join(part for part in (models[0] if models else platform.machine(), wide) if part)
    return {"processor": processor, "cores": os.cpu_count(), "versions": versions()}


def versions() -> dict[str, str]:
    """Of Python and of the packages that the ways are made of."""
    found = {"Python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
