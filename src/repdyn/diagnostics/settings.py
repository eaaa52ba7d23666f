"""Settings of `diagnostics`: the papers' measures on one small network that none of them uses."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from repdyn.base.settings import Many, Problem, Settings, increasing

PAPER = "Diagnostics of all five papers on one network"


class ConvolutionalNetwork(Settings):
    """A residual convolutional network with batch normalization, trained on the images of all studies."""

    channels: Annotated[int, Field(ge=2, le=256)] = Field(description="Channels of every convolution.")
    blocks: Annotated[int, Field(ge=1, le=50)] = Field(description="Residual blocks `x + conv(relu(x))`.")
    width: Annotated[int, Field(ge=2, le=4096)] = Field(description="Neurons of the dense layer behind the blocks.")
    gain: Annotated[float, Field(gt=0, le=10)] = Field(
        description="Initial weights over He's; a small gain learns features, a large one keeps the first ones."
    )
    rate: Annotated[float, Field(gt=0, le=10)] = Field(description="Learning rate of plain stochastic descent.")
    batch: Annotated[int, Field(ge=2, le=4096)] = Field(description="Points per step.")
    record: Many[Annotated[int, Field(ge=0, le=1_000_000)]] = Field(
        min_length=4,  # as many as a fit of the two-point theory needs
        description="Steps at which the network is measured, increasing; the last one ends training.",
    )
    per_class: Annotated[int, Field(ge=2, le=100)] = Field(
        description="Measured points per class, held out of training."
    )
    seeds: Annotated[int, Field(ge=1, le=100)] = Field(description="Draws of weights and order of the data.")

    def problems(self) -> Iterator[Problem]:
        """Steps increase and begin before training."""
        yield from increasing("record", self.record)
        if self.record[0] != 0:
            yield Problem(("record",), f"starts at {self.record[0]}: the first measurement is before training, 0")


class TwoPoints(Settings):
    """The two-point effective theory, fitted to pairs of the convolutional network's points."""

    layer: Literal["input", "conv", "norm", "pool", "dense", "dense_norm", "relu"] = Field(
        description="Layer whose representations count."
    )


class Diagnostics(Settings):
    """The papers' diagnostics on a network of the user's choice."""

    convolutional_network: ConvolutionalNetwork
    two_points: TwoPoints
