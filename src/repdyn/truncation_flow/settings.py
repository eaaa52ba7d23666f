"""Settings of the study `truncation_flow`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from repdyn.base.settings import EACH, Many, Problem, Settings, increasing

PAPER = (
    "T. Chen, Derivation of effective gradient flow equations and dynamical truncation of training data in Deep"
    " Learning"
)

Dimension = Annotated[int, Field(ge=2, le=8)]
Points = Annotated[int, Field(ge=1, le=20_000)]
Draws = Annotated[int, Field(ge=2, le=100_000)]
Time = Annotated[float, Field(gt=0, le=100)]
StepLength = Annotated[float, Field(gt=0, le=0.1)]


class GradientAudit(Settings):
    """Every formula as printed and as corrected against an independent derivative."""

    dimensions: Many[Dimension] = Field(min_length=1, description="Dimensions Q = number of layers, increasing.")
    points: Points = Field(description="Points per draw, shared out among Q clusters where there are layers.")
    draws: Draws = Field(description="Random draws of data and parameters per dimension.")

    def problems(self) -> Iterator[Problem]:
        """Dimensions increase, and every cluster has a point."""
        yield from increasing("dimensions", self.dimensions)
        if self.points < max(self.dimensions):
            yield Problem(("points", "dimensions"), f"{self.points} points leave a cluster empty: raise it")


class RandomClusters(Settings):
    """How often the printed weight flow raises the cost of a random cluster."""

    dimensions: Many[Dimension] = Field(min_length=1, description="Dimension of each case.")
    points: Many[Points] = Field(min_length=1, description="Points of each case, as many entries as `dimensions`.")
    draws: Draws = Field(description="Random clusters per case.")

    def problems(self) -> Iterator[Problem]:
        """Cases pair a dimension with a number of points, each pair once."""
        if len(self.points) != len(self.dimensions):
            yield Problem(("points", "dimensions"), "the lists differ in length: give one number of points per case")
        elif len(set(zip(self.dimensions, self.points, strict=True))) < len(self.points):
            yield Problem(("points", "dimensions"), "a case is listed twice: give every pair once")


class Counterexamples(Settings):
    """Small data sets that decide a statement by arithmetic."""

    draws: Annotated[int, Field(ge=10, le=100_000)] = Field(
        description="Random points where the renormalized domain (5.9) is counted, shared out to ten networks."
    )


class Staircase(Settings):
    """The bias flow at fixed weights, coordinate by coordinate (Section 4.3)."""

    horizon: Time = Field(description="Last flow time.")
    samples: Annotated[int, Field(ge=20, le=20_000)] = Field(description="Output times, equally spaced.")


class PrintedAndCorrected(Settings):
    """The cost along the weight flow as printed and as corrected."""

    horizon: Time = Field(description="Last flow time; the printed flow rises after 1.")
    samples: Annotated[int, Field(ge=20, le=5000)] = Field(description="Output times, equally spaced.")
    step: StepLength = Field(description="Step of the occupation scheme.")
    clusters: Draws = Field(description="Random planar clusters in the ensemble.")
    points: Points = Field(description="Points per random cluster.")


class NeuralCollapse(Settings):
    """Cluster separated truncations for simplex data, collapse of every cluster."""

    dimensions: Many[Dimension] = Field(min_length=1, description="Dimensions Q, increasing; 2 .. 8 in the figure.")
    points: Points = Field(description="Points per cluster.")
    fill: Annotated[float, Field(gt=0, lt=1)] = Field(description="Cluster radius over the largest separable one.")
    start: Annotated[float, Field(gt=-1, lt=1)] = Field(
        description="Apex at the start on the line from mean (0) to label (1); negative lies behind the mean."
    )
    horizon: Time = Field(description="Last flow time.")
    samples: Annotated[int, Field(ge=20, le=5000)] = Field(description="Output times, equally spaced.")
    step: StepLength = Field(description="Step of the occupation scheme.")

    def problems(self) -> Iterable[Problem]:
        """The dimensions increase."""
        return increasing("dimensions", self.dimensions)


class Proposition(Settings):
    """Proposition 4.2 on data that meet its hypotheses."""

    points: Annotated[int, Field(ge=100, le=20_000)] = Field(description="Points of the cluster.")
    outliers: Many[Annotated[float, Field(gt=0, lt=0.5)]] = Field(
        min_length=2, max_length=2, description="Share of points near a coordinate plane, for Q = 2 and Q = 3."
    )
    gamma: Annotated[float, Field(gt=0, lt=0.1)] = Field(description="Constant of (4.17).")
    horizon: Time = Field(description="Last flow time.")
    step: StepLength = Field(description="Step of the occupation scheme.")


class CollapsedClusters(Settings):
    """Section 8: matrix flow of collapsed clusters with a trained output."""

    dimension: Dimension = Field(description="Number of clusters and dimension Q.")
    seeds: Draws = Field(description="Random starts per sign of the integral of motion.")
    horizon: Time = Field(description="Last flow time.")
    samples: Annotated[int, Field(ge=20, le=5000)] = Field(description="Output times, equally spaced.")
    euler_steps: Many[Annotated[float, Field(gt=0, le=0.1)]] = Field(
        min_length=2, description="Steps of the Euler scheme whose drift is shown, increasing."
    )
    nodes: Annotated[int, Field(ge=101, le=20_001)] = Field(description="Nodes of the integrals (8.16), (8.17).")

    def problems(self) -> Iterable[Problem]:
        """The Euler steps increase."""
        return increasing("euler_steps", self.euler_steps)


class ReducedNetwork(Settings):
    """Section 8: the reduced cost against the real network."""

    points: Points = Field(description="Points per cluster (Q = 3).")
    horizon: Time = Field(description="Last flow time.")
    samples: Annotated[int, Field(ge=20, le=5000)] = Field(description="Output times, equally spaced.")
    step: StepLength = Field(description="Step of the midpoint scheme.")


class OutputLayer(Settings):
    """Section 9: the output layer alone is trained."""

    dimension: Dimension = Field(description="Dimension Q and number of classes.")
    points: Annotated[int, Field(ge=20, le=10_000)] = Field(description="Points in all classes together.")
    horizon: Annotated[float, Field(gt=0, le=1e4)] = Field(description="Last flow time.")


class GeneralFlow(Settings):
    """The corrected flow of Theorem 5.1 without separation, beside plain gradient descent."""

    points: Points = Field(description="Points per cluster (Q = L = 3).")
    seeds: Annotated[Draws, EACH] = Field(description="Random draws per kind of start.")
    horizon: Time = Field(description="Last flow time.")
    step: StepLength = Field(description="Step of the midpoint scheme.")
    rate: Annotated[float, Field(gt=0, le=0.1)] = Field(description="Learning rate of gradient descent.")
    samples: Annotated[int, Field(ge=10, le=1000)] = Field(description="Output times, equally spaced.")


class OwnClusters(Settings):
    """The largest margins of separation of clusters that are not a simplex."""

    points: Points = Field(description="Points per synthetic cluster.")
    widths: Many[Annotated[float, Field(gt=0, le=1)]] = Field(
        min_length=2, description="Radii of the synthetic clusters, increasing."
    )
    classes: Many[Annotated[int, Field(ge=0, le=9)]] = Field(
        min_length=2, max_length=8, description="Digits to separate, increasing; their number is the dimension."
    )

    def problems(self) -> Iterator[Problem]:
        """Widths and classes increase."""
        yield from increasing("widths", self.widths)
        yield from increasing("classes", self.classes)


class Integrators(Settings):
    """Accuracy of the integrators against the number of right sides; the sliding example."""

    dimension: Dimension = Field(description="Dimension Q of the rotating cluster.")
    points: Annotated[int, Field(ge=2, le=20_000)] = Field(
        description="Points of the rotating cluster; one alone would start at its own truncation."
    )
    steps: Many[StepLength] = Field(min_length=3, description="Steps of the fixed-step schemes, increasing.")
    tolerances: Many[Annotated[float, Field(gt=0, lt=0.1)]] = Field(
        min_length=2, description="Relative tolerances of solve_ivp, increasing."
    )
    evaluations: Annotated[int, Field(ge=100, le=10_000_000)] = Field(description="Cap on right sides of solve_ivp.")
    horizon: Time = Field(description="Last flow time of the rotating cluster.")

    def problems(self) -> Iterator[Problem]:
        """Lists increase."""
        yield from increasing("steps", self.steps)
        yield from increasing("tolerances", self.tolerances)


class TruncationFlow(Settings):
    """Effective gradient flow and dynamical truncation of training data."""

    gradient_audit: GradientAudit
    random_clusters: RandomClusters
    counterexamples: Counterexamples
    staircase: Staircase
    printed_and_corrected: PrintedAndCorrected
    neural_collapse: NeuralCollapse
    proposition: Proposition
    collapsed_clusters: CollapsedClusters
    reduced_network: ReducedNetwork
    output_layer: OutputLayer
    general_flow: GeneralFlow
    own_clusters: OwnClusters
    integrators: Integrators


GROUP = 8
"""Seeds of `general_flow` that move, and are kept, together."""


def _flows(sections: Mapping[str, Any], _: Mapping[str, Any]) -> float:
    """CPU seconds of a core with AVX-512: steps of the flow and of the descent, each over all points of all seeds."""
    s = sections["settings"]
    return 5e-6 * s["seeds"] * s["points"] * s["horizon"] * (1 / s["step"] + 1 / s["rate"])


WORK = {"general_flow": _flows}
"""Experiment -> its seconds, from its section of settings and its further arguments."""
