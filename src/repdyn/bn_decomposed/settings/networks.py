"""Knobs of the experiments on random and trained networks (Figures 1 to 6, Theorems 13 and 14)."""

from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import Field

from repdyn.base.settings import EACH, Many, Problem, Settings, increasing
from repdyn.bn_decomposed.settings.common import Batch, Depth, Rate, Seeds, Width


class Ablation(Settings):
    """All eight combinations of recentering, rescaling and ReLU on one batch of images (Figure 1)."""

    batch: Batch = Field(description="Data points in the batch, drawn from the image source.")
    width: Width = Field(description="Neurons per layer; time and memory grow in proportion.")
    depth: Depth = Field(
        description="Layers; time grows in proportion. The odd point of recentering with ReLU needs about 100."
    )
    seeds: Annotated[Seeds, EACH] = Field(
        description="Independent draws of the weights; two or more, so that a spread is seen."
    )
    record: Many[Annotated[int, Field(ge=0, le=2000)]] = Field(
        min_length=1, description="Layers whose geometry is stored, 0 being the input; increasing, the last is `depth`."
    )

    def problems(self) -> Iterator[Problem]:
        """The recorded layers increase and end with the last layer."""
        yield from increasing("record", self.record)
        if self.record[-1] != self.depth:
            text = f"the last entry is {self.record[-1]}, but depth is {self.depth}"
            yield Problem(("record", "depth"), f"{text}: let the list end with the depth")


class RecenteringDepth(Settings):
    """Recentering in every layer against recentering in the first alone, with the same weights (Section II)."""

    batch: Batch = Field(description="Data points in the batch, drawn from the image source.")
    width: Width = Field(description="Neurons per layer.")
    depth: Depth = Field(description="Layers.")
    seeds: Seeds = Field(description="Independent draws of batch and weights.")


class OrthogonalityGap(Settings):
    """Does rescaling alone make a batch orthonormal with depth (Section II on related work)?"""

    batch: Batch = Field(description="Data points in the Gaussian batch.")
    input_dim: Annotated[int, Field(ge=3, le=8192)] = Field(
        description="Input dimension; at least `batch`, so that the batch can have full rank."
    )
    widths: Many[Width] = Field(
        min_length=1,
        description="Neurons per layer, each at least `batch`, increasing; the gap falls as 1/sqrt(width).",
    )
    depth: Depth = Field(description="Layers; the gap has settled after about 100.")
    seeds: Seeds = Field(description="Independent draws of batch and weights.")

    def problems(self) -> Iterator[Problem]:
        """The batch fits into the input and into every layer with full rank."""
        yield from increasing("widths", self.widths)
        if self.input_dim < self.batch:
            text = f"{self.input_dim} is below batch = {self.batch}, so the batch cannot have full rank"
            yield Problem(("input_dim", "batch"), f"{text}: raise it")
        if min(self.widths) < self.batch:
            text = f"{min(self.widths)} is below batch = {self.batch}, so no such layer can be orthonormal"
            yield Problem(("widths", "batch"), f"{text}: raise it")


class LayerAngles(Settings):
    """Angles between data points with and without recentering (Figure 5)."""

    batches: Annotated[Many[Batch], EACH] = Field(
        min_length=1, description="Data points per batch, increasing; the angle near 75 degrees belongs to 9 points."
    )
    width: Width = Field(description="Neurons per layer; the angles scatter as 1/sqrt(width).")
    depth: Depth = Field(description="Layers; the figure shows layer 30.")
    seeds: Annotated[Seeds, EACH] = Field(description="Independent draws of the weights.")

    def problems(self) -> Iterable[Problem]:
        """The batch sizes increase."""
        return increasing("batches", self.batches)


class FixedPoint(Settings):
    """Fixed points of the expected Gram matrix with recentering and ReLU, at infinite width."""

    batches: Many[Annotated[int, Field(ge=3, le=1000)]] = Field(
        min_length=1,
        description="Data points per batch, increasing; the odd point exists from 7 on. Time grows steeply.",
    )

    def problems(self) -> Iterable[Problem]:
        """The batch sizes increase."""
        return increasing("batches", self.batches)


class Rates(Settings):
    """Learning rates of each mode, one per depth."""

    bn: Many[Rate] = Field(min_length=1, description="With batch normalization; deep networks explode at large rates.")
    default: Many[Rate] = Field(min_length=1, description="Without, at PyTorch's default initialization.")
    he: Many[Rate] = Field(min_length=1, description="Without, at He's initialization.")


class Training(Settings):
    """Training accuracy against the rank at initialization (Figure 2)."""

    width: Width = Field(description="Neurons per hidden layer.")
    depths: Annotated[Many[Annotated[int, Field(ge=1, le=256)]], EACH] = Field(
        min_length=1, description="Hidden layers, increasing; time grows in proportion to their sum."
    )
    rates: Annotated[Rates, EACH]
    batch: Annotated[int, Field(ge=2, le=8192)] = Field(description="Points per step of gradient descent.")
    epochs: Annotated[int, Field(ge=5, le=10_000, multiple_of=5)] = Field(
        description="Passes over the data, a multiple of 5: training accuracy is measured after every fifth."
    )
    seeds: Annotated[Seeds, EACH] = Field(
        description="Independent draws of weights and order; four or more decide the claim."
    )
    rank_points: Annotated[int, Field(ge=2, le=60_000)] = Field(
        description="Points on which the rank at initialization is measured."
    )

    def problems(self) -> Iterator[Problem]:
        """The depths increase and every mode has a rate for each."""
        yield from increasing("depths", self.depths)
        for mode in Rates.model_fields:
            if (count := len(getattr(self.rates, mode))) != len(self.depths):
                text = f"{count} rates for {mode}, but {len(self.depths)} depths: give one rate per depth"
                yield Problem(("rates", "depths"), text)


class PointNeurons(Settings):
    """One neuron per data point, the initialization of the Discussion, against He's."""

    points: Annotated[int, Field(ge=10, le=2000)] = Field(description="Training points, and neurons.")
    margins: Annotated[Many[Annotated[float, Field(gt=0, le=100)]], EACH] = Field(
        min_length=1,
        description="Thresholds, increasing: 0.5 half-way to the nearest neighbor, 1 at it, beyond 1 neighbors fire.",
    )
    rates: Annotated[Many[Rate], EACH] = Field(
        min_length=1,
        description="Learning rates of full-batch gradient descent, increasing; each scheme counts at its best.",
    )
    steps: Annotated[int, Field(ge=1, le=100_000)] = Field(description="Steps of gradient descent.")
    seeds: Annotated[Seeds, EACH] = Field(description="Independent draws of the training points.")

    def problems(self) -> Iterator[Problem]:
        """Margins and rates increase."""
        yield from increasing("margins", self.margins)
        yield from increasing("rates", self.rates)


class ReluMoments(Settings):
    """Expected inner products after a Gaussian layer: closed form, quadrature, explicit weights (eqs. 8, 98, 111)."""

    cosines: Many[Annotated[float, Field(ge=-1, le=1)]] = Field(
        min_length=2, description="Cosines between two input vectors, increasing from -1 to 1."
    )
    batch: Annotated[int, Field(ge=3, le=32)] = Field(description="Images in the batch of eq. (8).")
    width: Width = Field(description="Neurons of the sampled layer.")
    draws: Annotated[int, Field(ge=20, le=100_000)] = Field(description="Independent layers; errors fall as 1/sqrt.")

    def problems(self) -> Iterator[Problem]:
        """The cosines increase from opposite to collinear vectors."""
        yield from increasing("cosines", self.cosines)
        if (self.cosines[0], self.cosines[-1]) != (-1, 1):
            text = f"runs from {self.cosines[0]} to {self.cosines[-1]}: let it run from -1 to 1"
            yield Problem(("cosines",), text)


class GaussianLayer(Settings):
    """One Gaussian layer of recentering and ReLU on one odd point and a cluster (Theorems 13 and 14)."""

    batches: Annotated[Many[Batch], EACH] = Field(min_length=1, description="Data points per batch, increasing.")
    widths: Annotated[Many[Annotated[int, Field(ge=1, le=8192)]], EACH] = Field(
        min_length=1, description="Neurons of the layer, increasing; divisors of `rows`."
    )
    distance: Annotated[float, Field(gt=1, le=100)] = Field(
        description="R = ||x_1 - nu_c|| of Theorem 14 in units of n/(n-1); the theorem asks for more than 1."
    )
    rows: Annotated[int, Field(ge=100, le=10_000_000)] = Field(description="Neurons per block and width.")
    blocks: Annotated[int, Field(ge=10, le=10_000), EACH] = Field(
        description="Independent blocks of `rows` neurons; intervals are over their means."
    )

    def problems(self) -> Iterator[Problem]:
        """The lists increase and every width divides the rows."""
        yield from increasing("batches", self.batches)
        yield from increasing("widths", self.widths)
        for width in self.widths:
            if self.rows % width:
                yield Problem(("widths", "rows"), f"{width} does not divide rows = {self.rows}")


class Contraction(Settings):
    """Expected contraction of a cluster over one layer against its size (Theorem 14, item 4)."""

    batches: Annotated[Many[Annotated[int, Field(ge=7, le=512)]], EACH] = Field(
        min_length=1, description="Data points per batch, increasing; an odd point can rest from 7 on."
    )
    spreads: Many[Annotated[float, Field(gt=0, le=1e6)]] = Field(
        min_length=2,
        description="Root mean square distance of the cluster from its mean in units of 1/n^2, increasing.",
    )
    draws: Annotated[Seeds, EACH] = Field(description="Clusters drawn for each spread.")
    configurations: Annotated[Annotated[int, Field(ge=1, le=100_000)], EACH] = Field(
        description="Random configurations for the bound of item 4."
    )
    multiplier_up_to: Annotated[int, Field(ge=7, le=40)] = Field(
        description="Largest batch whose fixed point is tested against every perturbation; time grows as n^6."
    )

    def problems(self) -> Iterator[Problem]:
        """The lists increase and one batch is small enough for the stability test."""
        yield from increasing("batches", self.batches)
        yield from increasing("spreads", self.spreads)
        if self.batches[0] > self.multiplier_up_to:
            text = f"the first is {self.batches[0]}, above multiplier_up_to = {self.multiplier_up_to}"
            yield Problem(("batches", "multiplier_up_to"), f"{text}: no batch is tested for stability")


class OddPoint(Settings):
    """Recentering and ReLU without rescaling, layer by layer: the cluster and the odd point (Figure 3)."""

    batches: Annotated[Many[Annotated[int, Field(ge=3, le=512)]], EACH] = Field(
        min_length=1, description="Data points per batch, increasing; an odd point can rest from 7 on."
    )
    input_dim: Annotated[int, Field(ge=3, le=8192)] = Field(description="Dimension of the Gaussian batches.")
    width: Width = Field(description="Neurons per layer.")
    seeds: Annotated[Seeds, EACH] = Field(description="Independent draws of batch and weights.")
    record: Many[Depth] = Field(
        min_length=2, description="Layers whose geometry is stored, increasing; the last is the network's depth."
    )
    limit_record: Many[Depth] = Field(min_length=2, description="Layers stored at infinite width, increasing.")

    def problems(self) -> Iterator[Problem]:
        """The lists increase."""
        for key in ("batches", "record", "limit_record"):
            yield from increasing(key, getattr(self, key))


class SymmetricBatch(Settings):
    """How many layers a symmetric batch waits before one point breaks away (Section III)."""

    batches: Annotated[Many[Annotated[int, Field(ge=7, le=100)]], EACH] = Field(
        min_length=1, description="Data points per batch, increasing; an odd point can rest from 7 on."
    )
    widths: Annotated[Many[Width], EACH] = Field(
        min_length=1, description="Neurons per layer, increasing; the wait grows with them."
    )
    runs: Annotated[Annotated[int, Field(ge=2, le=100_000)], EACH] = Field(
        description="Independent draws of the weights."
    )
    depth: Depth = Field(description="Layers after which the wait is given up.")
    far: Annotated[float, Field(gt=1, le=100)] = Field(
        description="Length of the one point farther from the mean in the batch that is not symmetric."
    )

    def problems(self) -> Iterator[Problem]:
        """The lists increase."""
        for key in ("batches", "widths"):
            yield from increasing(key, getattr(self, key))


class LargestNorm(Settings):
    """Which point becomes the odd one: the longest, or the farthest from the mean (Remark in Section III)?"""

    batch: Annotated[int, Field(ge=7, le=512)] = Field(description="Data points in the batch.")
    dims: Many[Annotated[int, Field(ge=2, le=8192)]] = Field(
        min_length=1, description="Dimensions of the Gaussian batches, increasing; the last also of the unit vectors."
    )
    factors: Many[Annotated[float, Field(gt=1, le=100)]] = Field(
        min_length=1, description="Length of the one longer point among unit vectors, increasing."
    )
    widths: Annotated[Many[Width], EACH] = Field(min_length=1, description="Neurons per layer, increasing.")
    depth: Depth = Field(description="Layers at finite width.")
    limit_depth: Depth = Field(description="Layers at infinite width, where the odd point emerges later.")
    runs: Annotated[int, Field(ge=2, le=100_000), EACH] = Field(description="Independent draws of batch and weights.")

    def problems(self) -> Iterator[Problem]:
        """The lists increase."""
        for key in ("dims", "factors", "widths"):
            yield from increasing(key, getattr(self, key))


class Activity(Settings):
    """How many inputs a neuron responds to, without and with recentering (Figure 6)."""

    batch: Batch = Field(description="Data points in the batch, drawn from the image source.")
    width: Width = Field(description="Neurons per layer.")
    depth: Depth = Field(description="Layers.")
    seeds: Seeds = Field(description="Independent draws of batch and weights.")
