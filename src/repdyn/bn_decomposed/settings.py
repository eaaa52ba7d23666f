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
Rate = Annotated[float, Field(gt=0, le=10)]
Points = Many[Annotated[int, Field(ge=3, le=50)]]


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


class Rates(Settings):
    """Learning rates of each mode, one per depth."""

    bn: Many[Rate] = Field(min_length=1, description="With batch normalization; deep networks explode at large rates.")
    default: Many[Rate] = Field(min_length=1, description="Without, at PyTorch's default initialization.")
    he: Many[Rate] = Field(min_length=1, description="Without, at He's initialization.")


class Training(Settings):
    """Training accuracy against the rank at initialization (Figure 2)."""

    width: Width = Field(description="Neurons per hidden layer.")
    depths: Many[Annotated[int, Field(ge=1, le=256)]] = Field(
        min_length=1, description="Hidden layers, increasing; time grows in proportion to their sum."
    )
    rates: Rates
    batch: Annotated[int, Field(ge=2, le=8192)] = Field(description="Points per step of gradient descent.")
    epochs: Annotated[int, Field(ge=5, le=10_000, multiple_of=5)] = Field(
        description="Passes over the data, a multiple of 5: training accuracy is measured after every fifth."
    )
    seeds: Seeds = Field(description="Independent draws of weights and order; four or more decide the claim.")
    rank_points: Annotated[int, Field(ge=2, le=60_000)] = Field(
        description="Points on which the rank at initialization is measured."
    )

    def problems(self) -> Iterator[Problem]:
        """The depths increase and every mode has a rate for each."""
        yield from increasing("depths", self.depths)
        for mode in Rates.model_fields:
            if (given := len(getattr(self.rates, mode))) != len(self.depths):
                text = f"{given} rates for {mode}, but {len(self.depths)} depths: give one rate per depth"
                yield Problem(("rates", "depths"), text)


class PointNeurons(Settings):
    """One neuron per data point, the initialization of the Discussion, against He's."""

    points: Annotated[int, Field(ge=10, le=2000)] = Field(description="Training points, and neurons.")
    margins: Many[Annotated[float, Field(gt=0, le=100)]] = Field(
        min_length=1,
        description="Thresholds: 0.5 half-way to the nearest neighbour, 1 at it, beyond 1 neighbours fire.",
    )
    rates: Many[Rate] = Field(
        min_length=1,
        description="Learning rates of full-batch gradient descent, increasing; each scheme is judged at its best.",
    )
    steps: Annotated[int, Field(ge=1, le=100_000)] = Field(description="Steps of gradient descent.")
    seeds: Seeds = Field(description="Independent draws of the training points.")

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
    """One Gaussian layer of recentring and ReLU on one odd point and a cluster (Theorems 13 and 14)."""

    batches: Many[Batch] = Field(min_length=1, description="Data points per batch, increasing.")
    widths: Many[Annotated[int, Field(ge=1, le=8192)]] = Field(
        min_length=1, description="Neurons of the layer, increasing; divisors of `rows`."
    )
    distance: Annotated[float, Field(gt=1, le=100)] = Field(
        description="R = ||x_1 - nu_c|| of Theorem 14 in units of n/(n-1); the theorem asks for more than 1."
    )
    rows: Annotated[int, Field(ge=100, le=10_000_000)] = Field(description="Neurons per block and width.")
    blocks: Annotated[int, Field(ge=10, le=10_000)] = Field(
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

    batches: Many[Annotated[int, Field(ge=7, le=512)]] = Field(
        min_length=1, description="Data points per batch, increasing; an odd point can rest from 7 on."
    )
    spreads: Many[Annotated[float, Field(gt=0, le=1e6)]] = Field(
        min_length=2,
        description="Root mean square distance of the cluster from its mean in units of 1/n^2, increasing.",
    )
    draws: Seeds = Field(description="Clusters drawn for each spread.")
    configurations: Annotated[int, Field(ge=1, le=100_000)] = Field(
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
    """Recentring and ReLU without rescaling, layer by layer: the cluster and the odd point (Figure 3)."""

    batches: Many[Annotated[int, Field(ge=7, le=512)]] = Field(
        min_length=1, description="Data points per batch, increasing; an odd point can rest from 7 on."
    )
    input_dim: Annotated[int, Field(ge=3, le=8192)] = Field(description="Dimension of the Gaussian batches.")
    width: Width = Field(description="Neurons per layer.")
    seeds: Seeds = Field(description="Independent draws of batch and weights.")
    record: Many[Depth] = Field(
        min_length=2, description="Layers whose geometry is stored, increasing; the last is the network's depth."
    )
    limit_record: Many[Depth] = Field(min_length=2, description="Layers stored at infinite width, increasing.")

    def problems(self) -> Iterator[Problem]:
        """The lists increase."""
        for key in ("batches", "record", "limit_record"):
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
    widths: Many[Width] = Field(min_length=1, description="Neurons per layer, increasing.")
    depth: Depth = Field(description="Layers at finite width.")
    limit_depth: Depth = Field(description="Layers at infinite width, where the odd point emerges later.")
    runs: Annotated[int, Field(ge=2, le=100_000)] = Field(description="Independent draws of batch and weights.")

    def problems(self) -> Iterator[Problem]:
        """The lists increase."""
        for key in ("dims", "factors", "widths"):
            yield from increasing(key, getattr(self, key))


class Activity(Settings):
    """How many inputs a neuron responds to, without and with recentring (Figure 6)."""

    batch: Batch = Field(description="Data points in the batch, drawn from the image source.")
    width: Width = Field(description="Neurons per layer.")
    depth: Depth = Field(description="Layers.")
    seeds: Seeds = Field(description="Independent draws of batch and weights.")


class SignCells(Settings):
    """Cells of constant signs, exact and sampled (Definition 1), and steps across one hyperplane (Lemma 2)."""

    largest_circle: Annotated[int, Field(ge=3, le=99)] = Field(
        description="Equally spaced points on the circle: all numbers from 3 to this one and the next are tried."
    )
    planar: Points = Field(min_length=1, description="Points per Gaussian batch in two dimensions, increasing.")
    spatial: Points = Field(
        min_length=1, description="Points per Gaussian batch in three dimensions, increasing; cells grow as n^2."
    )
    batches: Annotated[int, Field(ge=1, le=1000)] = Field(description="Gaussian batches per number of points.")
    draws: Annotated[int, Field(ge=1000, le=10**8)] = Field(
        description="Rows sampled per batch; the smallest cells must be hit some hundred times over all batches."
    )
    steps: Annotated[int, Field(ge=100, le=10**7)] = Field(description="Rows from which the step of (19) is tried.")

    def problems(self) -> Iterator[Problem]:
        """The numbers of points increase."""
        yield from increasing("planar", self.planar)
        yield from increasing("spatial", self.spatial)


class StalledRows(Settings):
    """Chance that one more row raises the rank (Lemma 2)."""

    planar: Many[Annotated[int, Field(ge=1, le=30)]] = Field(
        min_length=1, description="Columns t already independent, two input dimensions."
    )
    spatial: Many[Annotated[int, Field(ge=2, le=10)]] = Field(
        min_length=1, description="Columns t already independent, three input dimensions."
    )
    configurations: Annotated[int, Field(ge=2, le=100_000)] = Field(description="Stalled configurations per t.")
    draws: Annotated[int, Field(ge=100, le=10**7)] = Field(description="Next rows sampled per configuration.")


class RowsToFullRank(Settings):
    """Rows until ReLU(W X) has full rank (Theorem 3, Corollary 4)."""

    circles: Points = Field(min_length=1, description="Odd numbers of points on the circle, increasing.")
    planar: Points = Field(min_length=1, description="Points per Gaussian batch in two dimensions, increasing.")
    spatial: Points = Field(min_length=1, description="Points per Gaussian batch in three dimensions, increasing.")
    recentred: Points = Field(
        min_length=1, description="Points per recentred Gaussian batch in two dimensions, increasing."
    )
    batches: Annotated[int, Field(ge=1, le=1000)] = Field(description="Gaussian batches per number of points.")
    draws: Annotated[int, Field(ge=20, le=10**6)] = Field(description="Draws of the weights per batch.")
    wait_points: Annotated[int, Field(ge=3, le=15)] = Field(
        description="Points of the batches whose waiting times are followed column by column; odd."
    )
    wait_draws: Annotated[int, Field(ge=100, le=10**7)] = Field(description="Draws of the weights for these.")

    def problems(self) -> Iterator[Problem]:
        """The numbers of points increase; on the circle they are odd."""
        for key in ("circles", "planar", "spatial", "recentred"):
            yield from increasing(key, getattr(self, key))
        for key, values in (("circles", self.circles), ("wait_points", (self.wait_points,))):
            if even := [n for n in values if n % 2 == 0]:
                text = f"{even[0]} is even, so points on the circle are antipodal and the rank is never full"
                yield Problem((key,), f"{text}: give odd numbers")


class FullRankTail(Settings):
    """Grid on which the tail bounds of Theorem 3 are held against the exact tail."""

    points: Many[Annotated[int, Field(ge=1, le=1000)]] = Field(min_length=1, description="Points in the batch.")
    alphas: Many[Annotated[float, Field(gt=1, le=1000)]] = Field(
        min_length=1, description="Rows over n/gamma, increasing; the paper asks for more than 2, 1 is enough."
    )
    gammas: Many[Annotated[float, Field(ge=1e-5, le=0.5)]] = Field(
        min_length=1, description="Smallest volumes of a cell, increasing."
    )

    def problems(self) -> Iterator[Problem]:
        """The lists increase and alpha passes 2."""
        for key in ("points", "alphas", "gammas"):
            yield from increasing(key, getattr(self, key))
        if self.alphas[-1] <= 2:
            yield Problem(("alphas",), f"the largest is {self.alphas[-1]}: the theorem speaks of more than 2, add one")


class ReluRank(Settings):
    """Rank of one layer with ReLU (Section I), with collinear columns (Theorem 3) and recentring (Corollary 4)."""

    largest_circle: Annotated[int, Field(ge=6, le=40)] = Field(
        description="Points on the circle: all numbers from 3; from 6 on the even ones never reach full rank."
    )
    antipodal_pairs: Many[Annotated[int, Field(ge=1, le=8)]] = Field(
        min_length=1, description="Antipodal pairs among points in three dimensions; three are harmless, four not."
    )
    rows: Annotated[int, Field(ge=100, le=10**6)] = Field(description="Rows with which the largest rank is sampled.")
    input_dims: Many[Annotated[int, Field(ge=1, le=1000)]] = Field(min_length=1, description="Input dimensions.")
    points: Batch = Field(description="Points of the batch whose rank is followed with the rows.")
    record: Many[Annotated[int, Field(ge=1, le=10_000)]] = Field(
        min_length=1, description="Numbers of rows at which the rank is stored, increasing."
    )
    image_rows: Many[Annotated[int, Field(ge=2, le=200)]] = Field(
        min_length=1, description="Rows for which the span of the image is computed exactly, two input dimensions."
    )
    draws: Seeds = Field(description="Independent draws of batches and weights.")

    def problems(self) -> Iterator[Problem]:
        """The lists increase."""
        for key in ("antipodal_pairs", "input_dims", "record", "image_rows"):
            yield from increasing(key, getattr(self, key))


Decay = Annotated[int, Field(ge=40, le=400)]


class ClusterRows(Settings):
    """All rows of small trees of the simplified model, enumerated in integers (Lemma 7, Appendices C to E)."""

    points: Many[Annotated[int, Field(ge=3, le=10)]] = Field(
        min_length=1, description="Data points per batch, increasing."
    )
    layers: Annotated[int, Field(ge=4, le=16)] = Field(description="Layers; time and memory double with each.")
    batches: Annotated[int, Field(ge=2, le=1000)] = Field(
        description="Batches per number of points; the first is equally spaced, so that clusters meet the mean."
    )

    def problems(self) -> Iterator[Problem]:
        """The points increase and the integers of the last layer fit into 64 bits."""
        yield from increasing("points", self.points)
        if max(self.points) ** self.layers > 10**12:
            text = f"{max(self.points)} points through {self.layers} layers need more than 64-bit integers"
            yield Problem(("layers", "points"), f"{text}: take fewer of either")


class SplitRows(Settings):
    """Descendants of two- and three-cluster rows by enumeration (Appendices D and E, Figures 7 and 8)."""

    points: Many[Annotated[int, Field(ge=4, le=30)]] = Field(
        min_length=1, description="Data points per row, increasing; eq. (62) needs 4."
    )
    layers: Annotated[int, Field(ge=3, le=14)] = Field(description="Layers; time and memory double with each.")
    draws: Annotated[int, Field(ge=1, le=1000)] = Field(description="Three-cluster rows per number of points.")

    def problems(self) -> Iterable[Problem]:
        """The points increase."""
        return increasing("points", self.points)


class TreeExample(Settings):
    """The batch whose tree is drawn (Figures 4, 7 and 8)."""

    values: Many[Annotated[int, Field(ge=-1000, le=1000)]] = Field(
        min_length=3, max_length=7, description="Data points, increasing integers."
    )
    layers: Annotated[int, Field(ge=1, le=3)] = Field(description="Layers drawn; the paper shows three.")

    def problems(self) -> Iterable[Problem]:
        """The values increase."""
        return increasing("values", self.values)


class NarrowGap(Settings):
    """Five points of which two are close: how deep until every row has three clusters (Theorem 10)."""

    decades: Many[Annotated[int, Field(ge=1, le=200)]] = Field(
        min_length=3, description="-log10 of the gap, increasing."
    )

    def problems(self) -> Iterable[Problem]:
        """The decades increase."""
        return increasing("decades", self.decades)


class TreeLimits(Settings):
    """Limits of the simplified model over many batches (Theorems 10 and 11)."""

    points: Many[Annotated[int, Field(ge=4, le=200)]] = Field(
        min_length=1, description="Data points per batch, increasing; time grows steeply."
    )
    batches: Many[Annotated[int, Field(ge=4, le=100_000)]] = Field(
        min_length=1,
        description="Batches for each entry of `points`: one symmetric, one with a far point, the others Gaussian.",
    )
    deep_batches: Annotated[int, Field(ge=2, le=1000)] = Field(
        description="Batches per number of points whose Gram matrix is followed to great depth."
    )
    decay: Decay = Field(
        description="Great depth: the squares of the second slowest split have lost e^decay against the slowest."
    )

    def problems(self) -> Iterator[Problem]:
        """The points increase and each has its number of batches."""
        yield from increasing("points", self.points)
        if len(self.batches) != len(self.points):
            text = f"{len(self.batches)} entries for {len(self.points)} entries of points"
            yield Problem(("batches", "points"), f"{text}: give one for each")


class InteriorAngles(Settings):
    """Angles between the interior points of one batch with depth (Theorem 11, item 2)."""

    points: Annotated[int, Field(ge=5, le=30)] = Field(description="Data points in the batch.")
    layers: Annotated[int, Field(ge=100, le=5000)] = Field(
        description="Layers, at least 4 points^2; the rates are read from the last quarter."
    )
    every: Annotated[int, Field(ge=1, le=20)] = Field(description="Layers between two that are stored.")

    def problems(self) -> Iterator[Problem]:
        """The splits 1/2 and next to it, whose rates differ by 4/n^2, can be told apart."""
        if self.layers < 4 * self.points**2:
            text = f"{self.layers} layers do not tell the splits of {self.points} points apart"
            yield Problem(("layers", "points"), f"{text}: take {4 * self.points**2} or more")


class SeveralCoordinates(Settings):
    """Theorem 11 for an input of several coordinates, with and without shared extremes (Remark in Section III)."""

    points: Annotated[int, Field(ge=5, le=50)] = Field(description="Data points in the batch.")
    coordinates: Annotated[int, Field(ge=2, le=50)] = Field(description="Coordinates of the input.")
    decay: Decay = Field(
        description="Depth: the squares of the second slowest split have lost e^decay against the slowest."
    )
    draws: Annotated[int, Field(ge=2, le=1000)] = Field(description="Batches.")


class BnDecomposed(Settings):
    """What recentring, rescaling and ReLU each do to the geometry of a batch."""

    ablation: Ablation
    recentring_depth: RecentringDepth
    orthogonality_gap: OrthogonalityGap
    layer_angles: LayerAngles
    fixed_point: FixedPoint
    sign_cells: SignCells
    stalled_rows: StalledRows
    rows_to_full_rank: RowsToFullRank
    full_rank_tail: FullRankTail
    relu_rank: ReluRank
    relu_moments: ReluMoments
    gaussian_layer: GaussianLayer
    contraction: Contraction
    odd_point: OddPoint
    largest_norm: LargestNorm
    activity: Activity
    training: Training
    point_neurons: PointNeurons
    cluster_rows: ClusterRows
    split_rows: SplitRows
    tree_example: TreeExample
    narrow_gap: NarrowGap
    tree_limits: TreeLimits
    interior_angles: InteriorAngles
    several_coordinates: SeveralCoordinates
