"""Knobs of the theory and of the two-point experiments: one model per experiment."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from repdyn.base.settings import EACH, Many, Problem, Settings, decreasing, distinct, increasing

Rate = Annotated[float, Field(gt=0, le=10)]
Distance = Annotated[float, Field(gt=0, le=1e3)]
Units = Annotated[int, Field(ge=2, le=10_000)]
Hidden = Annotated[int, Field(ge=2, le=200)]
Epochs = Annotated[int, Field(ge=1, le=10_000_000)]
Seeds = Annotated[int, Field(ge=2, le=10_000)]


class FormulaAudit(Settings):
    """Equations (5) to (43) against complex steps and solvers."""

    draws: Seeds = Field(description="Random networks, rates and initial values per equation.")


class FinalDistribution(Settings):
    """Equations (44) to (48), the distribution of the final distance, against draws."""

    draws: Annotated[int, Field(ge=1000, le=100_000_000)] = Field(description="Draws of the initial ratios per cell.")


class TheoryMaps(Settings):
    """Predictions of the theory over ranges of initial weights; dx = 1 throughout."""

    eta_h: Rate = Field(description="Effective rate of the encoder, 1/epoch.")
    eta_y: Rate = Field(description="Effective rate of the decoder, 1/epoch.")
    dy2: Distance = Field(description="Squared target distance.")
    scales: Many[Distance] = Field(min_length=4, description="Scales of the start, decreasing, for the plateau.")
    large_scales: Many[Annotated[float, Field(gt=1, le=1e4)]] = Field(
        min_length=3, description="Scales of large starts, increasing, for the decay without a plateau."
    )
    horizon: Annotated[float, Field(gt=0, le=1e8)] = Field(description="Time that the solutions run, epochs.")
    times: Annotated[int, Field(ge=50, le=100_000)] = Field(description="Times at which solutions are stored.")
    rhos: Many[Distance] = Field(min_length=3, description="Ratios eta_h/eta_y for rich and lazy, increasing.")
    sizes: Annotated[int, Field(ge=13, le=10_000)] = Field(description="Sizes of the initial ratios, 1e-6 to 1e6.")
    plane_high: Annotated[float, Field(ge=-10, le=10)] = Field(description="A_high of the phase plane.")
    cells: Annotated[int, Field(ge=5, le=200)] = Field(description="Grid of the phase plane along each axis.")

    def problems(self) -> Iterator[Problem]:
        """The lists are ordered."""
        yield from decreasing("scales", self.scales)
        yield from increasing("large_scales", self.large_scales)
        yield from increasing("rhos", self.rhos)


class NetworkSettings(Settings):
    """A row of Table 1."""

    nonlinearity: Literal["leaky relu", "relu", "tanh", "elu", "swish", "none"] = Field(
        description="Nonlinearity; leaky ReLU has slope 0.01 below zero."
    )
    connections: Literal["dense", "skip", "convolution"] = Field(description="What joins the hidden layers.")
    gain: Annotated[float, Field(gt=0, le=10)] = Field(description="Gain of the Xavier-normal weights.")
    learning_rate: Rate = Field(description="Learning rate of full-batch descent.")
    units: Units = Field(description="Neurons per hidden layer; of a convolution, its length at the start.")
    hidden: Hidden = Field(description="Hidden layers.")
    dropout: Annotated[float, Field(ge=0, lt=1)] = Field(description="Probability that an input of a map is dropped.")
    channels: Annotated[int, Field(ge=1, le=1000)] = Field(description="Channels of a convolution.")
    kernel: Annotated[int, Field(ge=1, le=101)] = Field(description="Kernel size of a convolution.")

    def problems(self) -> Iterator[Problem]:
        """Something is left of the length after all convolutions."""
        used = (self.hidden + 1) * (self.kernel - 1)
        if self.connections == "convolution" and self.units <= used:
            yield Problem(("units", "hidden", "kernel"), f"{self.hidden + 1} convolutions use up {used} units")


class Networks(Settings):
    """The networks of Table 1, and the gains of Figure 3."""

    default: NetworkSettings
    convolution: NetworkSettings
    skip: NetworkSettings
    shallow: NetworkSettings
    narrow: NetworkSettings
    dropout: NetworkSettings
    linear: NetworkSettings
    relu: NetworkSettings
    elu: NetworkSettings
    tanh: NetworkSettings
    swish: NetworkSettings
    low: NetworkSettings
    intermediate: NetworkSettings
    high: NetworkSettings
    very_high: NetworkSettings


NetworkName = Literal[
    "default",
    "convolution",
    "skip",
    "shallow",
    "narrow",
    "dropout",
    "linear",
    "relu",
    "elu",
    "tanh",
    "swish",
    "low",
    "intermediate",
    "high",
    "very_high",
]
"""The fields of `Networks`."""


class TwoPointRun(Settings):
    """What the two-point ensembles share; the data set is dx = 1, dy2 = 0.5 unless said otherwise."""

    seeds: Annotated[Annotated[int, Field(ge=1, le=10_000)], EACH] = Field(
        description="Independent networks per row of Table 1."
    )
    epochs: Epochs = Field(description="Full-batch steps.")
    every: Epochs = Field(description="Epochs between two records.")
    stop: Annotated[float, Field(ge=0, le=1)] = Field(
        description="A trial ends at the first record below this loss, which then stands for all later ones; 0: never."
    )
    dtype: Literal["float64", "float32"] = Field(description="Number format of the training.")
    engine: Literal["auto", "compiled", "batched", "autograd"] = Field(
        description="Training engine; auto chooses by network and device, the dataset says which."
    )

    def problems(self) -> Iterator[Problem]:
        """A trajectory has the three records that a fit of the theory needs; no row is trained twice."""
        if self.epochs <= 2 * self.every:
            text = f"{self.epochs} epochs with a record every {self.every} are fewer than three records: train longer"
            yield Problem(("epochs", "every"), text)
        yield from distinct("rows", getattr(self, "rows", ()))


class Architectures(TwoPointRun):
    """Figures 2, 3, 12 and 15: all rows of Table 1 by gradient descent, and the default network by Adam."""

    rows: Annotated[Many[NetworkName], EACH] = Field(min_length=1, description="Rows of Table 1 that are trained.")


class DefaultNetwork(TwoPointRun):
    """Figures 1, 10, 11: the default network with all layers recorded."""

    units: Units = Field(description="Neurons per hidden layer.")


class DefaultEnsemble(DefaultNetwork):
    """Figures 10, 11: the same, narrower and with many seeds; statements on fits are decided here."""


class AdamRuns(TwoPointRun):
    """Figure 15: the default network by Adam at several rates, from the weights of `architectures`."""

    rates: Annotated[Many[Rate], EACH] = Field(min_length=1, description="Learning rates of Adam, increasing.")

    def problems(self) -> Iterator[Problem]:
        """The rates increase."""
        yield from super().problems()
        yield from increasing("rates", self.rates)


class PrintedData(TwoPointRun):
    """Section B.1 as printed, dx = 0.5 and dy = 1, with the learning rates and epochs of Table 1."""

    rows: Annotated[Many[NetworkName], EACH] = Field(min_length=1, description="Rows of Table 1 that are trained.")
    dx: Annotated[Distance, EACH] = Field(description="Input distance.")
    dy: Annotated[Distance, EACH] = Field(description="Target distance.")


class FinalDistances(TwoPointRun):
    """Figure 5: final distances over a grid of input and target distances."""

    rows: Annotated[Many[NetworkName], EACH] = Field(min_length=1, description="Rows of Table 1 that are trained.")
    dx: Annotated[Many[Distance], EACH] = Field(min_length=2, description="Input distances, increasing.")
    dy: Annotated[Many[Annotated[float, Field(ge=0, le=10)]], EACH] = Field(
        min_length=2, description="Target distances, increasing."
    )
    converged: Annotated[Annotated[float, Field(gt=0, le=1)], EACH] = Field(
        description="Trials that end above this loss are dropped."
    )
    slower: Annotated[Annotated[float, Field(ge=1, le=100)], EACH] = Field(
        description="Divides the learning rates of Table 1."
    )

    def problems(self) -> Iterator[Problem]:
        """The distances increase."""
        yield from super().problems()
        yield from increasing("dx", self.dx)
        yield from increasing("dy", self.dy)


class Fits(Settings):
    """Fits of the effective rates to stored trajectories."""

    converged: Annotated[float, Field(gt=0, le=1)] = Field(
        description="Largest final loss of a trial that is fitted; others are counted as dropped."
    )
