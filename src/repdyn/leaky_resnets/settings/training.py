"""Knobs of trained networks: Figures 1, 2 and 3, the paper's own settings, distance to critical points."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from repdyn.base.settings import Many, Problem, Settings, increasing

Size = Annotated[int, Field(ge=2, le=1000)]
Layers = Annotated[int, Field(ge=2, le=400)]
Steps = Annotated[int, Field(ge=1, le=200_000)]
Rate = Annotated[float, Field(gt=0, le=1)]
Penalty = Annotated[float, Field(gt=0, le=10)]
Depth = Annotated[float, Field(gt=0, le=60)]
Maps = Literal["decayed maps", "free maps", "fixed maps", "decayed maps, no bias"]


class Shape(Settings):
    """Sizes of data and networks."""

    dimension: Size = Field(description="Dimension of inputs and outputs; 30 in the paper.")
    points: Annotated[int, Field(ge=10, le=100_000)] = Field(
        description="Training points, and as many test points; 1000 in the paper."
    )
    width: Size = Field(description="Neurons per layer; 100 in the paper.")

    def problems(self) -> Iterator[Problem]:
        """Representations hold the data."""
        if self.width < self.dimension:
            text = f"{self.width} is below the dimension {self.dimension}: give a width that holds inputs and outputs"
            yield Problem(("width", "dimension"), text)


class Bottleneck(Shape):
    """A teacher through a narrow middle and how its networks are trained."""

    rank: Annotated[int, Field(ge=1, le=100)] = Field(description="Inner dimension k* of the teacher.")
    hidden: Size = Field(description="Neurons in the hidden layer of each of the teacher's two parts.")
    penalty: Penalty = Field(
        description="lam Lt where the cost is averaged over outputs: lam is this over Lt; 0.001 in the paper."
    )
    rate: Rate = Field(description="First Adam rate over (1 + Lt); it falls to 0 along a cosine.")

    def problems(self) -> Iterator[Problem]:
        """The teacher narrows."""
        yield from super().problems()
        if self.rank >= self.dimension:
            yield Problem(("rank", "dimension"), f"{self.rank} is no bottleneck: keep it below {self.dimension}")


class Recipe(Bottleneck):
    """How networks are brought near a critical point of a strong penalty."""

    first_penalty: Penalty = Field(
        description="The penalty while a fresh network is fitted; a strong one would take it to 0."
    )
    first_steps: Steps = Field(description="Adam steps of that fit, at 1.5 times the first rate.")


class Trained(Recipe):
    """Figures 1 and 3: networks along a chain of effective depths, each trained from the one before."""

    maps: Many[Maps] = Field(min_length=1, description="Linear maps in and out, decayed, free or fixed; bias or none.")
    effective_depths: Many[Depth] = Field(min_length=3, description="Effective depths Lt of a chain, increasing.")
    layers: Layers = Field(description="Layers L; 20 in the paper.")
    steps: Steps = Field(description="Adam steps per effective depth; 5000 in the paper.")
    blocks: Annotated[int, Field(ge=1, le=1000)] = Field(description="Jobs, each with a block of seeds of its own.")
    seeds: Annotated[int, Field(ge=1, le=1000)] = Field(description="Seeds per block; more blocks re-train none.")

    def problems(self) -> Iterator[Problem]:
        """Depths increase and stay below the number of layers."""
        yield from super().problems()
        yield from increasing("effective_depths", self.effective_depths)
        if self.effective_depths[-1] >= self.layers:
            text = f"{self.effective_depths[-1]} needs more than {self.layers} layers: steps times Lt must stay below 1"
            yield Problem(("effective_depths", "layers"), text)


class Measures(Settings):
    """What is measured on trained networks."""

    gammas: Many[Annotated[float, Field(gt=0, lt=1)]] = Field(
        min_length=1, description="gamma_p over the operator norm of K_p, increasing; the first one carries the claims."
    )
    values: Annotated[int, Field(ge=6, le=100)] = Field(description="Singular values kept per spectrum.")

    def problems(self) -> Iterator[Problem]:
        """Values increase."""
        yield from increasing("gammas", self.gammas)


class Criticality(Recipe):
    """What lies between a trained network and a geodesic: the number of layers, the number of steps."""

    effective_depth: Depth = Field(description="Effective depth Lt.")
    layers: Layers = Field(description="Layers of the coarsest network.")
    doublings: Annotated[int, Field(ge=2, le=6)] = Field(description="How often all layers are halved and retrained.")
    refinement_steps: Steps = Field(description="Adam steps at each number of layers.")
    steps: Many[Steps] = Field(min_length=3, description="Adam steps of runs from one start, increasing.")
    seeds: Annotated[int, Field(ge=2, le=1000)] = Field(description="Seeds.")

    def problems(self) -> Iterator[Problem]:
        """Steps increase; the coarsest network keeps its sign."""
        yield from super().problems()
        yield from increasing("steps", self.steps)
        if self.effective_depth >= self.layers:
            yield Problem(("layers", "effective_depth"), f"{self.layers} layers: give more than {self.effective_depth}")


class PaperSettings(Bottleneck):
    """The paper's own settings of Figure 1b and 1c, nothing changed: Adam, then gradient descent at a smaller rate."""

    maps: Many[Literal["free maps", "fixed maps"]] = Field(min_length=1, description="Linear maps in and out.")
    effective_depth: Depth = Field(description="Effective depth Lt; 7 in the paper.")
    layers: Layers = Field(description="Layers L; 20 in the paper.")
    records: Many[Steps] = Field(min_length=2, description="Adam steps after which the network is kept; the last ends.")
    descent_steps: Steps = Field(description="Steps of gradient descent after that; 1000 in the paper.")
    descent_rate: Rate = Field(description="Their rate, for the cost averaged over outputs.")

    def problems(self) -> Iterator[Problem]:
        """Records increase; the network keeps its sign."""
        yield from super().problems()
        yield from increasing("records", self.records)
        if self.effective_depth >= self.layers:
            yield Problem(("layers", "effective_depth"), f"{self.layers} layers: give more than {self.effective_depth}")


class Discretised(Shape):
    """Figure 2: three ways to choose layer steps, over numbers of layers."""

    inner: Many[Size] = Field(min_length=1, description="Inner dimensions of the teacher of random ResNets; 6, 3.")
    maps: Many[Literal["decayed maps", "free maps", "fixed maps"]] = Field(
        min_length=1, description="Linear maps in and out."
    )
    effective_depth: Depth = Field(description="Effective depth Lt; 3 in the paper.")
    layers: Many[Layers] = Field(min_length=2, description="Numbers of layers L, increasing; spectra are of the last.")
    penalty: Penalty = Field(description="lam Lt with the cost averaged over outputs; 0.001 in the paper.")
    strong_penalty: Penalty = Field(description="The same for the spectra and paths of a more regular network.")
    steps: Steps = Field(description="Adam steps; 5000 in the paper.")
    rate: Rate = Field(description="First Adam rate; it falls to 0 along a cosine.")
    irregularity: Annotated[float, Field(ge=0, lt=1)] = Field(description="a of the irregular steps.")
    every: Steps = Field(description="Adam steps between two updates of adaptive layer steps.")
    damping: Annotated[float, Field(ge=0, lt=1)] = Field(description="Weight of the present layer steps in an update.")
    frozen: Annotated[float, Field(ge=0, lt=1)] = Field(description="Last share of training without updates.")
    blocks: Annotated[int, Field(ge=1, le=1000)] = Field(description="Jobs, each with a block of seeds of its own.")
    seeds: Annotated[int, Field(ge=1, le=1000)] = Field(description="Seeds per block; more blocks re-train none.")

    def problems(self) -> Iterator[Problem]:
        """Layers increase and suffice for the irregular steps, rho Lt < 1."""
        yield from super().problems()
        yield from increasing("layers", self.layers)
        least = (1 + self.irregularity / 4) * self.effective_depth
        if self.layers[0] <= least:
            yield Problem(("layers", "effective_depth"), f"{self.layers[0]} layers: give more than {least:g}")


class NetworkAudit(Settings):
    """Identities of the discrete network with any weights, against finite differences."""

    draws: Annotated[int, Field(ge=2, le=10_000)] = Field(description="Random networks, with and without bias.")
