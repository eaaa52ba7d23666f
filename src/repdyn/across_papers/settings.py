"""Settings of `across_papers`: four networks, three questions, the diagnostics of all papers."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from repdyn.base.settings import EACH, Many, Problem, Settings

PAPER = "Across the papers: batch normalization, leakage and residual streams through one set of diagnostics"

Rate = Annotated[float, Field(gt=0, le=10)]
Moments = Annotated[int, Field(ge=4, le=10_000)]
Momentum = Annotated[float, Field(ge=0, lt=1)]
Steps = Annotated[int, Field(ge=3, le=1_000_000)]


class Rates(Settings):
    """Rate of each network, chosen on the loss alone: it falls smoothly, in about as many steps in each."""

    plain: Rate = Field(description="Multilayer perceptron.")
    batch_norm: Rate = Field(description="The same with batch normalization.")
    residual: Rate = Field(description="Residual network.")
    leaky: Rate = Field(description="Leaky residual network.")


class RatesWithRecentering(Rates):
    """Rates of the four networks and of the recentered one."""

    recentered: Rate = Field(description="Batch normalization without its rescaling.")


class Training(Settings):
    """What the experiments have in common."""

    width: Annotated[int, Field(ge=2, le=4096)] = Field(description="Neurons per hidden layer.")
    depth: Annotated[int, Field(ge=2, le=1000)] = Field(description="Hidden layers L, even.")
    gain: Annotated[float, Field(gt=0, le=10)] = Field(
        description="Initial weights over He's, in networks without a stream."
    )
    leak: Annotated[float, Field(gt=0, le=100)] = Field(description="Leak Lt of the leaky network, below `depth`.")
    steps: Steps = Field(description="Steps of full-batch descent.")
    seeds: Annotated[int, Field(ge=2, le=1000)] = Field(description="Draws of the weights, shared by all networks.")

    def problems(self) -> Iterable[Problem]:
        """The leak keeps the sign of the stream; half the depth is a layer."""
        if self.leak >= self.depth:
            yield Problem(("leak", "depth"), f"{self.leak:g} over {self.depth} layers reverses the stream: lower it")
        if self.depth % 2:
            yield Problem(("depth",), f"{self.depth} layers have no middle: take an even number")


class TwoPoints(Training):
    """The two points of `universality`, alone: inputs -1 and 0, outputs 0.6 and 1.3071."""

    rates: Annotated[Rates, EACH]
    moments: Moments = Field(description="Recorded moments, evenly spaced.")


class Digits(Training):
    """A few images per digit, told apart as ten classes or as three groups of digits."""

    rates: Annotated[Rates, EACH]
    moments: Moments = Field(description="Recorded moments, spaced evenly in the logarithm of the step.")
    per_class: Annotated[int, Field(ge=2, le=100)] = Field(description="Images per digit; all are the batch.")
    groups: Many[Annotated[int, Field(ge=1, le=9)]] = Field(
        min_length=2, description="Sizes of the groups of digits, in order: [4, 3, 3] is 0-3, 4-6, 7-9."
    )
    decay: Annotated[float, Field(ge=0, le=1)] = Field(description="Weight decay.")
    momentum: Momentum = Field(description="Share of the last step in the next one.")

    def problems(self) -> Iterator[Problem]:
        """Groups share out ten digits."""
        yield from super().problems()
        if sum(self.groups) != 10:
            yield Problem(("groups",), f"{sum(self.groups)} digits are shared out: there are ten")


class OddBatch(Training):
    """A small batch of images through networks deep enough for an odd point."""

    rates: Annotated[RatesWithRecentering, EACH]
    momentum: Momentum = Field(description="Share of the last step in the next one.")
    recentered_steps: Steps = Field(description="Steps of the recentered network, which waits long at a constant.")
    batch: Annotated[int, Field(ge=7, le=1000)] = Field(
        description="Points; without rescaling an odd point exists from seven on."
    )


class AcrossPapers(Settings):
    """The same four networks through the diagnostics of all papers."""

    two_points: TwoPoints
    digits: Digits
    odd_batch: OddBatch


def _work(
    sections: Mapping[str, Any], _: Mapping[str, Any], *, networks: int, records: float, points: int = 0
) -> float:
    """CPU seconds of a core with AVX-512: compiled steps in double precision, and records of whole networks."""
    s = sections["settings"]
    points = points or s.get("batch") or 10 * s["per_class"]
    step = s["depth"] * (6 * s["width"] ** 2 * points / 4e10 + 2e-6)
    steps = (networks - 1) * s["steps"] + s.get("recentered_steps", s["steps"])
    return s["seeds"] * (steps * step + 0.1 * networks * records)


WORK = {
    "two_points": partial(_work, networks=4, records=0, points=2),
    "digits": partial(_work, networks=8, records=3),
    "odd_batch": partial(_work, networks=5, records=2),
}
"""Experiment -> its seconds, from its section of settings and its further arguments."""
