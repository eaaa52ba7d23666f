"""Knobs of the study "Batch Normalization Decomposed" (Nachum, Bondaschi, Gastpar, Khina)."""

from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import Field

from repdyn.base.settings import Many, Problem, Settings, increasing

PAPER = "Nachum, Bondaschi, Gastpar, Khina: Batch Normalization Decomposed"

Width = Annotated[int, Field(ge=8, le=8192)]
Batch = Annotated[int, Field(ge=3, le=512)]
Depth = Annotated[int, Field(ge=1, le=2000)]
Seeds = Annotated[int, Field(ge=2, le=10_000)]


class Ablation(Settings):
    """All eight combinations of recentring, rescaling and ReLU on one batch of images (Figure 1)."""

    batch: Batch = Field(description="Data points in the batch, drawn from the image source.")
    width: Width = Field(description="Neurons per layer; time and memory grow in proportion.")
    depth: Depth = Field(
        description="Layers; time grows in proportion. The odd point of recentring with ReLU needs about 100."
    )
    seeds: Seeds = Field(description="Independent draws of the weights; two or more, so that a spread is seen.")
    record: Many[Annotated[int, Field(ge=0, le=2000)]] = Field(
        min_length=1,
        description="Layers whose geometry is stored, 0 being the input; increasing, the last is `depth`.",
    )

    def problems(self) -> Iterator[Problem]:
        """The recorded layers increase and end with the last layer."""
        yield from increasing("record", self.record)
        if self.record[-1] != self.depth:
            text = f"the last entry is {self.record[-1]}, but depth is {self.depth}"
            yield Problem(("record", "depth"), f"{text}: let the list end with the depth")


class RecentringDepth(Settings):
    """Recentring in every layer against recentring in the first alone, with the same weights (Section II)."""

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
    """Angles between data points with and without recentring (Figure 5)."""

    batches: Many[Batch] = Field(
        min_length=1,
        description="Data points per batch, increasing; the angle near 75 degrees belongs to 9 points.",
    )
    width: Width = Field(description="Neurons per layer; the angles scatter as 1/sqrt(width).")
    depth: Depth = Field(description="Layers; the figure shows layer 30.")
    seeds: Seeds = Field(description="Independent draws of the weights.")

    def problems(self) -> Iterable[Problem]:
        """The batch sizes increase."""
        return increasing("batches", self.batches)


class FixedPoint(Settings):
    """Fixed points of the expected Gram matrix with recentring and ReLU, at infinite width."""

    batches: Many[Annotated[int, Field(ge=3, le=1000)]] = Field(
        min_length=1,
        description="Data points per batch, increasing; the odd point exists from 7 on. Time grows steeply.",
    )

    def problems(self) -> Iterable[Problem]:
        """The batch sizes increase."""
        return increasing("batches", self.batches)


class BnDecomposed(Settings):
    """What recentring, rescaling and ReLU each do to the geometry of a batch."""

    ablation: Ablation
    recentring_depth: RecentringDepth
    orthogonality_gap: OrthogonalityGap
    layer_angles: LayerAngles
    fixed_point: FixedPoint
