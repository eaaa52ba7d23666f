"""Knobs of the experiments on data sets: XOR, blobs with two features, images of digits."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from repdyn.base.settings import EACH, Many, Problem, Settings, addition, increasing

Trials = Annotated[int, Field(ge=2, le=1000)]
Batch = Annotated[int, Field(ge=1, le=100_000)]
Steps = Annotated[int, Field(ge=1, le=100_000_000)]
Moments = Many[Annotated[int, Field(ge=0, le=100_000_000)]]


class TrainedPerceptron(Settings):
    """A perceptron and how it is trained, but for how long."""

    nonlinearity: Literal["leaky relu", "relu", "tanh", "none"] = Field(
        description="After every hidden layer; the paper and the authors' notebooks differ on it."
    )
    gain: float = Field(gt=0, le=10, description="Factor on the standard deviation of Xavier's normal weights.")
    rate: float = Field(gt=0, le=10, description="Learning rate.")
    units: int = Field(ge=1, le=4096, description="Neurons per hidden layer.")
    hidden: int = Field(ge=1, le=100, description="Hidden layers; the representation is read at half of them.")
    optimizer: Literal["sgd", "adam"] = Field(description="Gradient descent, or Adam at its usual constants.")


class TrainedNetwork(TrainedPerceptron):
    """One row of Table 2."""

    epochs: int = Field(ge=1, le=1_000_000, description="Passes over the data.")


class BlobNetwork(TrainedNetwork):
    """One row of Table 2 on images of blobs."""

    brightness: float = addition(
        1.0, gt=0, le=100, description="Factor on the images, which sum to 1; the context stays one-hot."
    )


class ImageNetwork(TrainedPerceptron):
    """One row of Table 2, its length in steps, so that it means the same on any number of images."""

    steps: Steps = Field(description="Minibatch steps, rounded up to whole passes over the images, at least two.")


class XorRuns(Settings):
    """The networks of Figures 6 and 16."""

    low_as_printed: TrainedNetwork = Field(description="Small weights as in Table 2.")
    low: TrainedNetwork = Field(description="Small weights as in the authors' public settings.")
    intermediate: TrainedNetwork = Field(description="Weights in between, Table 2.")
    high: TrainedNetwork = Field(description="Large weights, Table 2.")
    two_layers: TrainedNetwork = Field(description="One hidden layer at small weights, Table 2.")
    relu_low: TrainedNetwork = Field(description="Small weights with ReLU, as in the authors' notebook.")
    adam_low: TrainedNetwork = Field(description="Small weights with Adam; the paper states no rate.")
    adam_intermediate: TrainedNetwork = Field(description="Weights in between with Adam.")
    adam_high: TrainedNetwork = Field(description="Large weights with Adam.")
    adam_two_layers: TrainedNetwork = Field(description="One hidden layer at small weights with Adam.")


class Xor(Settings):
    """Representations of the XOR task at several initial weights (Figures 6 and 16)."""

    trials: Annotated[Trials, EACH] = Field(
        description="Networks per run, each with weights of its own; runs share them."
    )
    looks: Annotated[int, Field(ge=2, le=1000)] = Field(
        description="Epochs at which distances and loss are stored, evenly spaced, first and last included."
    )
    runs: Annotated[XorRuns, EACH] = Field(description="Networks by name.")


class XorGains(Settings):
    """More initial weights for Figure 16: the network of `adam_intermediate` at other gains."""

    gains: Annotated[Many[Annotated[float, Field(gt=0, le=10)]], EACH] = Field(
        min_length=1, description="Gains of the initial weights, increasing."
    )

    def problems(self) -> Iterable[Problem]:
        """The gains increase."""
        return increasing("gains", self.gains)


class BlobRuns(Settings):
    """The networks of Figures 8, 13 and 17."""

    high: BlobNetwork = Field(description="Large weights, Table 2.")
    low: BlobNetwork = Field(description="Small weights, Table 2.")
    very_low: BlobNetwork = Field(description="Very small weights, Table 2.")
    leaky_high: BlobNetwork = Field(description="Large weights with leaky ReLU, as in the authors' notebook.")
    leaky_low: BlobNetwork = Field(description="Small weights with leaky ReLU.")
    adam_high: BlobNetwork = Field(description="Large weights with Adam; the paper states no rate.")
    adam_low: BlobNetwork = Field(description="Small weights with Adam.")
    bright: BlobNetwork = Field(
        description="Small weights; images so bright that features differ as much in the input as contexts do."
    )


class BlobTraining(Settings):
    """What the runs on images of blobs share."""

    trials: Annotated[Trials, EACH] = Field(
        description="Networks per run, each with weights and an order of the points of its own."
    )
    batch: Batch = Field(description="Points per step.")
    positions: Annotated[int, Field(ge=3, le=100)] = Field(description="Positions of the blob along each axis.")
    pixels: Annotated[int, Field(ge=2, le=64)] = Field(description="Pixels along each axis.")
    looks: Annotated[int, Field(ge=2, le=1000)] = Field(description="Epochs at which the loss is stored.")


class Blobs(BlobTraining):
    """Images of blobs of which one of two features counts, by context (Figures 7, 8, 13 and 17)."""

    runs: BlobRuns = Field(description="Networks by name.")


class BlobStructure(Settings):
    """Distances of the trained representations in few dimensions, and how far features collapsed."""

    method: Literal["classical", "smacof"] = Field(
        description="`classical`: the best linear picture, exact; `smacof`: metric MDS by majorization, as the paper."
    )
    shown: Annotated[int, Field(ge=10, le=20_000)] = Field(
        description="Points in the picture, at even steps; SMACOF needs time and memory that grow with its square."
    )


class ImageRuns(Settings):
    """The networks of Figures 4, 9, 14 and 18."""

    sgd: ImageNetwork = Field(description="Gradient descent; rate times steps as in Table 2.")
    adam: ImageNetwork = Field(description="Adam; the paper states no rate.")


class ImageTraining(Settings):
    """What the runs on images of digits share."""

    trials: Annotated[Trials, EACH] = Field(
        description="Networks per run, each with weights and an order of the images of its own."
    )
    batch: Batch = Field(description="Images per step.")
    tracked: Annotated[int, Field(ge=20, le=1000)] = Field(
        description="First images of the file whose representations are stored; the paper takes 100."
    )
    pairs: Annotated[int, Field(ge=1, le=100)] = Field(description="Tracked pairs of each kind and network.")
    stored_steps: Moments = Field(
        min_length=2,
        description="Steps of the gradient descent after which representations are stored, from 0; increasing.",
    )
    parameters_at: Moments = Field(
        min_length=2, description="Steps after which its parameters are stored, some of `stored_steps`; increasing."
    )
    parameters_of: Annotated[int, Field(ge=2, le=100), EACH] = Field(
        description="Networks whose parameters are stored, at most `trials`; half a megabyte each and epoch."
    )

    def problems(self) -> Iterator[Problem]:
        """Looks increase; parameters are stored at some of them."""
        yield from increasing("parameters_at", self.parameters_at)
        if extra := sorted(set(self.parameters_at) - set(self.stored_steps)):
            text = f"{extra[0]} is not one of stored_steps: choose from them"
            yield Problem(("parameters_at", "stored_steps"), text)
        yield from increasing("stored_steps", self.stored_steps)
        if self.parameters_of > self.trials:
            text = f"{self.parameters_of} networks, but trials is {self.trials}"
            yield Problem(("parameters_of", "trials"), f"{text}: lower it")


class Images(ImageTraining):
    """Perceptrons on images of digits (Figures 4, 9, 14 and 18)."""

    runs: ImageRuns = Field(description="Networks by name.")

    def problems(self) -> Iterator[Problem]:
        """Looks also go from the start to the end of the gradient descent."""
        yield from super().problems()
        first, last = self.stored_steps[0], self.stored_steps[-1]
        if first != 0 or last != self.runs.sgd.steps:
            text = f"it goes from {first} to {last}, runs.sgd.steps is {self.runs.sgd.steps}"
            yield Problem(("stored_steps", "runs"), f"{text}: let it begin with 0 and end with the last step")


class RepresentationalStructure(Settings):
    """Distances between representations of digits against equation (50) and simpler predictions (Figures 9, 18)."""

    length_scales: Many[Annotated[float, Field(gt=0, le=1e6)]] = Field(
        min_length=2, description="Length scales of the weighing, in units of the mean prediction; increasing."
    )
    resamples: Annotated[int, Field(ge=100, le=1_000_000)] = Field(
        description="Bootstrap draws of pairs of classes for the intervals."
    )

    def problems(self) -> Iterable[Problem]:
        """The scales increase."""
        return increasing("length_scales", self.length_scales)


class TrajectoryFits(Settings):
    """The theory fitted to pairs of digits (Figure 4)."""

    steps: Annotated[int, Field(ge=10, le=100_000_000)] = Field(
        description="Steps of the trajectory that the fit sees; rate times steps as in Table 2."
    )


class TaylorRatios(Settings):
    """First against second order of encoder and decoder for pairs of digits (Figure 14)."""

    pairs: Annotated[int, Field(ge=50, le=100_000)] = Field(description="Random pairs of images per network.")
    bins: Annotated[int, Field(ge=3, le=100)] = Field(description="Bins of equal count by representational distance.")

    def problems(self) -> Iterator[Problem]:
        """Every bin has five pairs or more."""
        if self.pairs < 5 * self.bins:
            yield Problem(("pairs", "bins"), f"{self.pairs} pairs leave bins below five pairs: raise it")
