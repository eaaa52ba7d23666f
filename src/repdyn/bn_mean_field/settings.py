"""Knobs of the study "A Riemannian Mean Field Formulation ..." (Ma and Ying): one model per experiment."""

from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import Field

from repdyn.base.settings import EACH, Many, Problem, Settings, increasing

PAPER = "Ma and Ying: A Riemannian Mean Field Formulation for Two-layer Neural Networks with Batch Normalization"

Neurons = Annotated[int, Field(ge=4, le=1_000_000)]
Length = Annotated[float, Field(gt=0, le=1e3)]
Step = Annotated[float, Field(gt=0, le=1)]
Time = Annotated[float, Field(gt=0, le=1e4)]
Tolerance = Annotated[float, Field(ge=1e-13, le=1e-3)]
Iteration = Annotated[int, Field(ge=0, le=1_000_000)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Seeds = Annotated[int, Field(ge=2, le=10_000)]


class FormulaAudit(Settings):
    """Equations (2) to (8), (14), (21), (22), Theorem 2 against automatic differentiation on random data."""

    draws: Seeds = Field(description="Independent data sets and networks.")
    samples: Annotated[int, Field(ge=50, le=100_000)] = Field(description="Inputs per data set.")
    dimension: Annotated[int, Field(ge=2, le=100)] = Field(description="Input dimension.")
    width: Neurons = Field(description="Neurons.")
    radii: Many[Length] = Field(min_length=2, description="Lengths of the inner weights for eq. (7), increasing.")

    def problems(self) -> Iterable[Problem]:
        """The lengths increase."""
        return increasing("radii", self.radii)


class BatchNormEps(Settings):
    """The eps of library batch norms over the length of the weights."""

    draws: Seeds = Field(description="Independent data sets and networks.")
    samples: Annotated[int, Field(ge=50, le=100_000)] = Field(description="Inputs per data set.")
    dimension: Annotated[int, Field(ge=2, le=100)] = Field(description="Input dimension.")
    width: Neurons = Field(description="Neurons.")
    eps: Annotated[float, Field(gt=0, le=1)] = Field(description="eps added to the variance.")
    radii: Many[Length] = Field(min_length=2, description="Lengths of the inner weights, increasing.")

    def problems(self) -> Iterable[Problem]:
        """The lengths increase."""
        return increasing("radii", self.radii)


class MetricAudit(Settings):
    """Proposition 1, Theorem 2 and the isometry with the round sphere on random covariances."""

    dimensions: Many[Annotated[int, Field(ge=2, le=100)]] = Field(
        min_length=1, description="Input dimensions, increasing."
    )
    conditions: Many[Annotated[float, Field(ge=1, le=1e5)]] = Field(
        min_length=1, description="Condition numbers of the covariance, increasing."
    )
    draws: Seeds = Field(description="Covariances per cell, with one point of the manifold each.")

    def problems(self) -> Iterator[Problem]:
        """The lists increase."""
        yield from increasing("dimensions", self.dimensions)
        yield from increasing("conditions", self.conditions)


class Equivalence(Settings):
    """Theorems 2 and 3: BN flow, flow on the manifold and vanilla flow from the same start."""

    width: Neurons = Field(description="Neurons.")
    dimensions: Many[Annotated[int, Field(ge=2, le=20)]] = Field(
        min_length=1, description="Input dimensions, increasing; 2 has the covariance diag(5, 1)."
    )
    radii: Many[Length] = Field(min_length=2, description="Lengths of the BN model's weights, increasing, with 1.")
    time: Time = Field(description="Mean-field time.")
    frames: Annotated[int, Field(ge=3, le=1000)] = Field(description="Recorded times.")
    tolerance: Tolerance = Field(description="Relative tolerance of the solver.")

    def problems(self) -> Iterator[Problem]:
        """Unit length is among the lengths."""
        yield from increasing("dimensions", self.dimensions)
        yield from increasing("radii", self.radii)
        if 1.0 not in self.radii:
            yield Problem(("radii",), "1.0 is missing, the length for which the paper derives the flow: add it")


class Propagation(Settings):
    """Theorem 4: particle systems of growing width."""

    widths: Annotated[Many[Neurons], EACH] = Field(
        min_length=3, description="Neurons of the low-discrepancy starts, increasing."
    )
    random_widths: Annotated[Many[Neurons], EACH] = Field(
        min_length=3, description="Neurons of the i.i.d. starts, increasing."
    )
    seeds: Annotated[Seeds, EACH] = Field(description="i.i.d. starts per width.")
    reference: Annotated[Neurons, EACH] = Field(
        description="Neurons of the reference of low-discrepancy starts, itself one."
    )
    random_reference: Annotated[Neurons, EACH] = Field(
        description="Neurons of the reference of i.i.d. starts, of low discrepancy."
    )
    times: Many[Annotated[float, Field(ge=0, le=1e3)]] = Field(
        min_length=2, description="Mean-field times compared, increasing, the first one 0."
    )
    tolerance: Tolerance = Field(description="Relative tolerance of the solver.")

    def problems(self) -> Iterator[Problem]:
        """The references are wider than what is measured against them and the clock starts at 0."""
        for key in ("widths", "random_widths", "times"):
            yield from increasing(key, getattr(self, key))
        for key, widths in (("reference", "widths"), ("random_reference", "random_widths")):
            if getattr(self, key) < 4 * max(getattr(self, widths)):
                text = f"{getattr(self, key)} is below four times the largest width, so it is no limit: raise it"
                yield Problem((key, widths), text)
        if self.times[0] != 0:
            yield Problem(("times",), f"the first time is {self.times[0]}: start at 0.0")


class Equicontinuity(Settings):
    """The equicontinuity display and the weak form in the proof of Theorem 4, along one flow."""

    width: Neurons = Field(description="Neurons.")
    time: Time = Field(description="Mean-field time.")
    frames: Annotated[int, Field(ge=41, le=10_001)] = Field(description="Recorded times.")
    pair_stride: Count = Field(description="Every which frame enters the pairs of times.")
    transport_stride: Count = Field(description="Every which frame enters exact transport, a multiple of pair_stride.")

    def problems(self) -> Iterator[Problem]:
        """The frames with transport are among the frames with pairs."""
        if self.transport_stride % self.pair_stride:
            text = f"{self.transport_stride} is no multiple of pair_stride = {self.pair_stride}: make it one"
            yield Problem(("transport_stride", "pair_stride"), text)


class ExitTimes(Settings):
    """The exit-time bound (18) and its sum (19) on bounded data."""

    width: Neurons = Field(description="Neurons.")
    start_radius: Length = Field(description="Bound of |a| at the start.")
    radii: Many[Length] = Field(min_length=2, description="Radii to be left, increasing, above start_radius.")
    slope: Length = Field(description="The target is slope times the first input.")
    time: Time = Field(description="Mean-field time of the search.")
    frames: Annotated[int, Field(ge=101, le=100_001)] = Field(description="Recorded times.")

    def problems(self) -> Iterator[Problem]:
        """The radii lie outside the start."""
        yield from increasing("radii", self.radii)
        if self.radii[0] <= self.start_radius:
            text = f"the first is {self.radii[0]}, not above start_radius = {self.start_radius}: raise it"
            yield Problem(("radii", "start_radius"), text)


class WellPosedness(Settings):
    """Section 3.2: flows from neighboring starts, and the bounded-Lipschitz estimate before (20)."""

    gaps: Many[Annotated[float, Field(gt=0, le=0.1)]] = Field(
        min_length=2, description="Angles between two starts, increasing."
    )
    time: Time = Field(description="Mean-field time.")
    radii: Many[Length] = Field(min_length=1, description="Bounds of |a|, increasing.")
    draws: Seeds = Field(description="Pairs of points of the manifold per bound.")

    def problems(self) -> Iterator[Problem]:
        """The lists increase."""
        yield from increasing("gaps", self.gaps)
        yield from increasing("radii", self.radii)


class Minimization(Settings):
    """Theorem 5: separating starts reach the minimum, counter-examples without separation do not."""

    width: Neurons = Field(description="Neurons of the separating starts.")
    erf_width: Neurons = Field(description="Neurons of the separating starts with erf; cost grows with the square.")
    time: Time = Field(description="Mean-field time of the separating starts.")
    counter_time: Time = Field(description="Mean-field time of the counter-examples.")
    frames: Annotated[int, Field(ge=11, le=10_001)] = Field(description="Recorded times.")


class Anisotropy(Settings):
    """Figure 1: models with and without BN on anisotropic data, and the same at matched loss."""

    directions: Annotated[int, Field(ge=8, le=100_000)] = Field(description="Directions, each with a = +1 and a = -1.")
    step: Step = Field(description="Mean-field step of the figure, one of `steps`.")
    steps: Many[Step] = Field(min_length=1, description="Mean-field steps of the comparison of speeds, increasing.")
    record: Many[Iteration] = Field(min_length=2, description="Iterations recorded, increasing, with `look`.")
    look: Iteration = Field(description="Iteration at which the speeds are read.")
    early: Iteration = Field(description="Iterations of the comparison of speeds, at least `look`.")
    stride: Count = Field(description="Every which iteration of it is recorded.")
    seeds: Seeds = Field(description="Starts with i.i.d. signs of a.")

    def problems(self) -> Iterator[Problem]:
        """What is looked at is recorded."""
        yield from increasing("steps", self.steps)
        yield from increasing("record", self.record)
        if self.step not in self.steps:
            yield Problem(("step", "steps"), f"{self.step} is not one of steps: add it there")
        if self.look not in self.record:
            yield Problem(("look", "record"), f"{self.look} is not one of record: add it there")
        if self.early < self.look or self.look % self.stride:
            yield Problem(("look", "early", "stride"), "look must be a multiple of stride and at most early")


class TargetScan(Settings):
    """Speeds of the BN model over the direction of a linear target, from x1 (0 degrees) to x2 (90)."""

    angles: Many[Annotated[float, Field(ge=0, le=90)]] = Field(
        min_length=2, description="Directions of the target in degrees, increasing, from 0 to 90."
    )
    directions: Annotated[int, Field(ge=12, le=100_000)] = Field(description="Half the number of neurons.")
    step: Step = Field(description="Mean-field step.")
    look: Iteration = Field(description="Iteration at which the speeds are read.")
    seeds: Seeds = Field(description="Starts with i.i.d. signs of a.")

    def problems(self) -> Iterator[Problem]:
        """The scan runs from one axis to the other."""
        yield from increasing("angles", self.angles)
        if (self.angles[0], self.angles[-1]) != (0.0, 90.0):
            yield Problem(("angles",), f"from {self.angles[0]:g} to {self.angles[-1]:g}: begin at 0.0, end at 90.0")


class LearningRates(Settings):
    """Section 4.1 and 4.2: iterations to learn y = x1, and the range of steps that learn, with and without BN."""

    directions: Annotated[int, Field(ge=4, le=100_000)] = Field(description="Half the number of neurons.")
    smallest_step: Annotated[float, Field(gt=0, le=1)] = Field(description="Smallest mean-field step.")
    largest_step: Annotated[float, Field(gt=0, le=1e6)] = Field(description="Largest mean-field step.")
    steps_per_decade: Annotated[int, Field(ge=2, le=100)] = Field(description="Steps per factor of ten.")
    iterations: Annotated[int, Field(ge=10, le=1_000_000)] = Field(description="Iterations allowed.")
    learned: Annotated[float, Field(gt=0, lt=1)] = Field(description="Learned: loss over the loss of f = 0 at most.")
    spread: Annotated[float, Field(gt=1, le=1e3)] = Field(
        description="Lengths of neurons are spread from 1/spread to spread in the starts of many lengths."
    )
    seeds: Annotated[Seeds, EACH] = Field(description="Starts with i.i.d. signs of a.")

    def problems(self) -> Iterator[Problem]:
        """The steps are a range."""
        if self.largest_step <= self.smallest_step:
            text = f"{self.largest_step:g} is not above smallest_step = {self.smallest_step:g}: raise it"
            yield Problem(("largest_step", "smallest_step"), text)


class FeatureLearning(Settings):
    """Sections 4.1 and 4.2: a single index that needs directions, learned with parts of BN switched off."""

    dimension: Annotated[int, Field(ge=3, le=1000)] = Field(description="Input dimension.")
    width: Neurons = Field(description="Neurons; few enough that the target needs directions.")
    smallest_step: Annotated[float, Field(gt=0, le=1)] = Field(description="Smallest mean-field step.")
    largest_step: Annotated[float, Field(gt=0, le=1e6)] = Field(description="Largest mean-field step.")
    steps_per_decade: Annotated[int, Field(ge=2, le=100)] = Field(description="Steps per factor of ten.")
    step_of_a: Step = Field(description="Mean-field step of the output weights where the step of b alone is varied.")
    iterations: Annotated[int, Field(ge=10, le=1_000_000)] = Field(description="Iterations allowed.")
    spread: Annotated[float, Field(gt=1, le=1e3)] = Field(
        description="Lengths of neurons: from 1/spread to spread, or 1 and spread, in the starts of several lengths."
    )
    seeds: Annotated[Seeds, EACH] = Field(description="Starts.")

    def problems(self) -> Iterator[Problem]:
        """The steps are a range."""
        if self.largest_step <= self.smallest_step:
            text = f"{self.largest_step:g} is not above smallest_step = {self.smallest_step:g}: raise it"
            yield Problem(("largest_step", "smallest_step"), text)


class Concentration(Settings):
    """Section 4.1: where neurons gather, over the direction of a linear target, with equal speeds too."""

    angles: Annotated[Many[Annotated[float, Field(ge=0, le=90)]], EACH] = Field(
        min_length=2, description="Directions of the target in degrees, increasing, from 0 to 90."
    )
    directions: Annotated[int, Field(ge=6, le=100_000)] = Field(description="Half the number of neurons.")
    step: Step = Field(description="Mean-field step.")
    record: Many[Iteration] = Field(min_length=2, description="Iterations recorded, increasing, the first one 0.")
    seeds: Annotated[Seeds, EACH] = Field(description="Starts with i.i.d. signs of a.")

    def problems(self) -> Iterator[Problem]:
        """The scan runs from one axis to the other, the record from the start."""
        yield from increasing("angles", self.angles)
        yield from increasing("record", self.record)
        if (self.angles[0], self.angles[-1]) != (0.0, 90.0):
            yield Problem(("angles",), f"from {self.angles[0]:g} to {self.angles[-1]:g}: begin at 0.0, end at 90.0")
        if self.record[0] != 0:
            yield Problem(("record",), f"the first iteration is {self.record[0]}: start at 0")


class Magnitudes(Settings):
    """Figure 2: small and tenfold larger neurons in one BN model."""

    directions: Annotated[int, Field(ge=4, le=100_000)] = Field(
        description="Directions, each with both sizes and both signs."
    )
    radii: Many[Length] = Field(min_length=2, max_length=2, description="Lengths of the two groups, increasing.")
    step: Step = Field(description="Mean-field step.")
    iterations: Iteration = Field(description="Iterations, a multiple of `stride`.")
    stride: Count = Field(description="Every which iteration is recorded.")
    seeds: Seeds = Field(description="Starts with i.i.d. signs of a.")

    def problems(self) -> Iterator[Problem]:
        """The last iteration is recorded."""
        yield from increasing("radii", self.radii)
        if self.iterations % self.stride:
            yield Problem(("iterations", "stride"), f"{self.iterations} is no multiple of stride: change one")


class FirstStep(Settings):
    """Figure 3: the first steps of gradient descent over the length of the neurons."""

    directions: Annotated[int, Field(ge=8, le=100_000)] = Field(description="Directions, each with a = +1 and a = -1.")
    radii: Many[Length] = Field(min_length=4, description="Lengths of the neurons, increasing.")
    steps: Many[Step] = Field(min_length=1, description="Mean-field steps, increasing.")
    iterations: Annotated[int, Field(ge=4, le=100_000)] = Field(description="Iterations followed.")
    seeds: Seeds = Field(description="Starts with i.i.d. signs of a.")
    stability_radii: Many[Length] = Field(min_length=1, description="Lengths of the long runs, increasing.")
    stability_steps: Many[Step] = Field(min_length=1, description="Steps of the long runs, increasing.")
    stability_iterations: Iteration = Field(description="Iterations of the long runs.")

    def problems(self) -> Iterator[Problem]:
        """The lists increase."""
        for key in ("radii", "steps", "stability_radii", "stability_steps"):
            yield from increasing(key, getattr(self, key))


class FiniteBatch(Settings):
    """Gradient of finite-batch BN against the population's."""

    width: Neurons = Field(description="Neurons.")
    batches: Many[Annotated[int, Field(ge=3, le=100_000)]] = Field(min_length=3, description="Batch sizes, increasing.")
    repeats: Annotated[int, Field(ge=20, le=10_000_000)] = Field(description="Batches per size and group.")
    groups: Seeds = Field(description="Independent groups of batches, for the intervals.")

    def problems(self) -> Iterable[Problem]:
        """The batch sizes increase."""
        return increasing("batches", self.batches)


class BnMeanField(Settings):
    """Batch normalization as a metric, from particles to the mean-field limit."""

    formula_audit: FormulaAudit
    batch_norm_eps: BatchNormEps
    metric_audit: MetricAudit
    equivalence: Equivalence
    propagation: Propagation
    equicontinuity: Equicontinuity
    exit_times: ExitTimes
    well_posedness: WellPosedness
    minimization: Minimization
    anisotropy: Anisotropy
    target_scan: TargetScan
    learning_rates: LearningRates
    feature_learning: FeatureLearning
    concentration: Concentration
    magnitudes: Magnitudes
    first_step: FirstStep
    finite_batch: FiniteBatch
