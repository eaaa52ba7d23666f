"""Knobs of trained networks: Figures 1, 2 and 3, the paper's own settings, distance to critical points."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from repdyn.base.settings import EACH, Many, Problem, Settings, addition, distinct, increasing

Size = Annotated[int, Field(ge=2, le=1000)]
Layers = Annotated[int, Field(ge=2, le=400)]
Steps = Annotated[int, Field(ge=1, le=200_000)]
Count = Annotated[int, Field(ge=1, le=1000)]
NoSteps = Annotated[int, Field(ge=0, le=200_000)]
Rate = Annotated[float, Field(gt=0, le=1)]
Penalty = Annotated[float, Field(gt=0, le=10)]
Depth = Annotated[float, Field(gt=0, le=60)]
Maps = Literal["decayed maps", "free maps", "fixed maps", "decayed maps, no bias"]


def few_enough(key: str, depth: float, layers: int) -> Iterator[Problem]:
    """The problem that equidistant steps times the effective depth at `key` do not stay below 1."""
    if depth >= layers:
        yield Problem((key, "layers"), f"{depth:g} needs more than {layers} layers: steps times Lt must stay below 1")


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
    first_steps: NoSteps = Field(description="Adam steps of that fit, at 1.5 times the first rate; 0 leaves it out.")
    descent_steps: NoSteps = addition(
        0, ge=0, le=200_000, description="Steps of gradient descent after each run of Adam; 1000 in the paper."
    )
    descent_rate: Rate = addition(0.3, gt=0, le=1, description="Their rate, for the cost averaged over outputs.")


class Trained(Recipe):
    """Figures 1 and 3: networks along a chain of effective depths, each trained from the one before."""

    maps: Annotated[Many[Maps], EACH] = Field(
        min_length=1, description="Linear maps in and out, decayed, free or fixed; bias or none."
    )
    effective_depths: Annotated[Many[Depth], EACH] = Field(
        min_length=3, description="Effective depths Lt of a chain, increasing."
    )
    layers: Layers = Field(description="Layers L; 20 in the paper.")
    steps: Steps = Field(description="Adam steps per effective depth; 5000 in the paper.")
    from_scratch: bool = addition(
        False, description="Every effective depth from fresh networks, as in the paper, not from the one before."
    )
    blocks: Annotated[Count, EACH] = Field(description="Jobs, each with a block of seeds of its own.")
    seeds: Annotated[Count, EACH] = Field(description="Seeds per block; more blocks re-train none.")

    def problems(self) -> Iterator[Problem]:
        """Depths increase and stay below the number of layers."""
        yield from super().problems()
        yield from distinct("maps", self.maps)
        yield from increasing("effective_depths", self.effective_depths)
        yield from few_enough("effective_depths", self.effective_depths[-1], self.layers)


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
    doublings: Annotated[Annotated[int, Field(ge=2, le=6)], EACH] = Field(
        description="How often all layers are halved and retrained."
    )
    refinement_steps: Steps = Field(description="Adam steps at each number of layers.")
    steps: Annotated[Many[Steps], EACH] = Field(
        min_length=3, description="Adam steps of runs from one start, increasing."
    )
    seeds: Annotated[Annotated[int, Field(ge=2, le=1000)], EACH] = Field(description="Seeds.")

    def problems(self) -> Iterator[Problem]:
        """Steps increase; the coarsest network keeps its sign."""
        yield from super().problems()
        yield from increasing("steps", self.steps)
        yield from few_enough("effective_depth", self.effective_depth, self.layers)


class PaperSettings(Bottleneck):
    """The paper's own settings of Figure 1b and 1c, nothing changed: Adam, then gradient descent at a smaller rate."""

    maps: Annotated[Many[Literal["free maps", "fixed maps"]], EACH] = Field(
        min_length=1, description="Linear maps in and out."
    )
    effective_depth: Depth = Field(description="Effective depth Lt; 7 in the paper.")
    layers: Layers = Field(description="Layers L; 20 in the paper.")
    records: Many[Steps] = Field(
        min_length=2, description="Adam steps after which the network is kept, increasing; the last ends."
    )
    descent_steps: Steps = Field(description="Steps of gradient descent after that; 1000 in the paper.")
    descent_rates: Annotated[Many[Rate], EACH] = Field(
        min_length=1, description="Their rates, for the cost averaged over outputs, increasing; each from Adam's end."
    )
    seeds: Annotated[Count, EACH] = Field(description="Seeds.")

    def problems(self) -> Iterator[Problem]:
        """Records increase; the network keeps its sign."""
        yield from super().problems()
        yield from distinct("maps", self.maps)
        yield from increasing("descent_rates", self.descent_rates)
        yield from increasing("records", self.records)
        yield from few_enough("effective_depth", self.effective_depth, self.layers)


class Discretized(Shape):
    """Figure 2: three ways to choose layer steps, over numbers of layers."""

    inner: Many[Size] = Field(min_length=1, description="Inner dimensions of the teacher of random ResNets; 6, 3.")
    maps: Annotated[Many[Literal["decayed maps", "free maps", "fixed maps"]], EACH] = Field(
        min_length=1, description="Linear maps in and out."
    )
    effective_depth: Depth = Field(description="Effective depth Lt; 3 in the paper.")
    layers: Annotated[Many[Layers], EACH] = Field(
        min_length=2, description="Numbers of layers L, increasing; spectra are of the last."
    )
    scheme_penalty: Penalty = Field(
        description="lam Lt with the cost averaged over outputs, where schemes are compared; 0.001 in the paper."
    )
    penalty: Penalty = Field(description="The same for the spectra of Figure 2b; 0.001 in the paper.")
    strong_penalty: Penalty = Field(description="The same for the spectra of more regular networks.")
    steps: Steps = Field(description="Adam steps; 5000 in the paper.")
    rate: Rate = Field(description="First Adam rate; it falls to 0 along a cosine.")
    descent_steps: NoSteps = addition(
        0, ge=0, le=200_000, description="Steps of gradient descent after Adam; 1000 in the paper."
    )
    descent_rate: Rate = addition(0.3, gt=0, le=1, description="Their rate, for the cost averaged over outputs.")
    irregularity: Annotated[float, Field(ge=0, lt=1)] = Field(description="a of the irregular steps.")
    every: Steps = Field(description="Adam steps between two updates of adaptive layer steps.")
    damping: Annotated[float, Field(ge=0, lt=1)] = Field(description="Weight of the present layer steps in an update.")
    frozen: Annotated[float, Field(ge=0, lt=1)] = Field(description="Last share of training without updates.")
    blocks: Annotated[Count, EACH] = Field(description="Jobs, each with a block of seeds of its own.")
    seeds: Annotated[Count, EACH] = Field(description="Seeds per block; more blocks re-train none.")
    staged_seeds: Annotated[Count, EACH] = Field(description="Seeds of the spectra of Figure 2b.")

    def problems(self) -> Iterator[Problem]:
        """Layers increase and suffice for the irregular steps, rho Lt < 1."""
        yield from super().problems()
        yield from distinct("maps", self.maps)
        yield from distinct("inner", self.inner)
        yield from increasing("layers", self.layers)
        least = (1 + self.irregularity / 4) * self.effective_depth
        if self.layers[0] <= least:
            yield Problem(("layers", "effective_depth"), f"{self.layers[0]} layers: give more than {least:g}")


class Restarts(Recipe):
    """Section 2.1 and Appendix B: networks of one teacher from several starts; penalties that are too large."""

    effective_depth: Depth = Field(description="Effective depth Lt.")
    layers: Layers = Field(description="Layers L.")
    steps: Steps = Field(description="Adam steps from the first fit.")
    teachers: Annotated[Count, EACH] = Field(description="Teachers, with data of their own.")
    starts: Annotated[int, Field(ge=2, le=1000)] = Field(description="Initial weights per teacher.")
    excess: Annotated[Many[Annotated[float, Field(gt=1, le=1000)]], EACH] = Field(
        min_length=1, description="Factors on the penalty, increasing: the first start is trained with each as well."
    )

    def problems(self) -> Iterator[Problem]:
        """Factors increase; the network keeps its sign."""
        yield from super().problems()
        yield from increasing("excess", self.excess)
        yield from few_enough("effective_depth", self.effective_depth, self.layers)


class OutputGrowth(Settings):
    """Section 1.2: outputs of plain ResNets trained on cross-entropy, which have no finite minimum."""

    dimension: Size = Field(description="Inputs.")
    classes: Annotated[int, Field(ge=2, le=100)] = Field(description="Classes, one per region of inputs.")
    points: Annotated[int, Field(ge=10, le=100_000)] = Field(description="Training points.")
    width: Size = Field(description="Neurons per layer.")
    layers: Layers = Field(description="Layers L.")
    rate: Annotated[float, Field(gt=0, le=10)] = Field(description="Rate of full-batch gradient descent.")
    records: Many[Steps] = Field(min_length=4, description="Steps after which outputs are measured, increasing.")
    seeds: Annotated[Count, EACH] = Field(description="Seeds.")

    def problems(self) -> Iterator[Problem]:
        """Records increase."""
        yield from increasing("records", self.records)


class NetworkAudit(Settings):
    """Audit of the discrete network with any weights, against finite differences."""

    draws: Annotated[int, Field(ge=2, le=10_000)] = Field(description="Random networks, with and without bias.")
