"""Knobs of the experiments on Theorem 3 (full rank) and on the simplified model (Theorems 10 and 11)."""

from collections.abc import Iterable, Iterator
from typing import Annotated

from pydantic import Field

from repdyn.base.settings import EACH, Many, Problem, Settings, increasing
from repdyn.bn_decomposed.settings.common import Batch, Points, Seeds


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
        min_length=1, description="Columns t already independent, increasing; two input dimensions."
    )
    spatial: Many[Annotated[int, Field(ge=2, le=10)]] = Field(
        min_length=1, description="Columns t already independent, increasing; three input dimensions."
    )
    configurations: Annotated[int, Field(ge=2, le=100_000)] = Field(description="Stalled configurations per t.")
    draws: Annotated[int, Field(ge=100, le=10**7)] = Field(description="Next rows sampled per configuration.")

    def problems(self) -> Iterator[Problem]:
        """The numbers of columns increase."""
        yield from increasing("planar", self.planar)
        yield from increasing("spatial", self.spatial)


class RowsToFullRank(Settings):
    """Rows until ReLU(W X) has full rank (Theorem 3, Corollary 4)."""

    circles: Points = Field(min_length=1, description="Odd numbers of points on the circle, increasing.")
    planar: Points = Field(min_length=1, description="Points per Gaussian batch in two dimensions, increasing.")
    spatial: Points = Field(min_length=1, description="Points per Gaussian batch in three dimensions, increasing.")
    recentered: Annotated[Points, EACH] = Field(
        min_length=1, description="Points per recentered Gaussian batch in two dimensions, increasing."
    )
    batches: Annotated[int, Field(ge=1, le=1000)] = Field(description="Gaussian batches per number of points.")
    draws: Annotated[int, Field(ge=20, le=10**6)] = Field(description="Draws of the weights per batch.")
    wait_points: Annotated[int, Field(ge=3, le=15)] = Field(
        description="Points of the batches whose waiting times are followed column by column; odd."
    )
    wait_draws: Annotated[int, Field(ge=100, le=10**7)] = Field(description="Draws of the weights for these.")

    def problems(self) -> Iterator[Problem]:
        """The numbers of points increase; on the circle they are odd."""
        for key in ("circles", "planar", "spatial", "recentered"):
            yield from increasing(key, getattr(self, key))
        for key, values in (("circles", self.circles), ("wait_points", (self.wait_points,))):
            if even := [n for n in values if n % 2 == 0]:
                text = f"{even[0]} is even, so points on the circle are antipodal and the rank is never full"
                yield Problem((key,), f"{text}: give odd numbers")


class FullRankTail(Settings):
    """Grid on which the tail bounds of Theorem 3 are held against the exact tail."""

    points: Many[Annotated[int, Field(ge=1, le=1000)]] = Field(
        min_length=1, description="Points in the batch, increasing."
    )
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
            yield Problem(("alphas",), f"the largest is {self.alphas[-1]}: the theorem is about more than 2, add one")


class ReluRank(Settings):
    """Rank of one layer with ReLU (Section I), with collinear columns (Theorem 3) and recentering (Corollary 4)."""

    largest_circle: Annotated[int, Field(ge=6, le=40)] = Field(
        description="Points on the circle: all numbers from 3; from 6 on the even ones never reach full rank."
    )
    antipodal_pairs: Many[Annotated[int, Field(ge=1, le=8)]] = Field(
        min_length=1,
        description="Antipodal pairs among points in three dimensions, increasing; three are harmless, four not.",
    )
    rows: Annotated[int, Field(ge=100, le=10**6)] = Field(description="Rows with which the largest rank is sampled.")
    input_dims: Many[Annotated[int, Field(ge=1, le=1000)]] = Field(
        min_length=1, description="Input dimensions, increasing."
    )
    points: Batch = Field(description="Points of the batch whose rank is followed with the rows.")
    record: Many[Annotated[int, Field(ge=1, le=10_000)]] = Field(
        min_length=1, description="Numbers of rows at which the rank is stored, increasing."
    )
    image_rows: Many[Annotated[int, Field(ge=2, le=200)]] = Field(
        min_length=1,
        description="Rows for which the span of the image is computed exactly, increasing; two input dimensions.",
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


class FormulaAudit(Settings):
    """Formulas of Appendix C on random rows that lose no cluster, each by its own derivation."""

    draws: Annotated[int, Field(ge=20, le=100_000)] = Field(description="Random sequences of transformations.")


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

    points: Annotated[Many[Annotated[int, Field(ge=4, le=200)]], EACH] = Field(
        min_length=1, description="Data points per batch, increasing; time grows steeply."
    )
    batches: Annotated[Many[Annotated[int, Field(ge=4, le=100_000)]], EACH] = Field(
        min_length=1,
        description="Batches for each entry of `points`: one symmetric, one with a far point, the others Gaussian.",
    )
    deep_batches: Annotated[int, Field(ge=2, le=1000), EACH] = Field(
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


class SplitAmplitudes(Settings):
    """Squares of the rows by split, layer by layer: A, B, C and D of Appendix E."""

    points: Many[Annotated[int, Field(ge=5, le=100)]] = Field(
        min_length=1, description="Data points per batch, increasing; time grows steeply."
    )
    batches: Annotated[int, Field(ge=3, le=10_000)] = Field(
        description="Batches for each entry of `points`: one symmetric, one with a far point, the others Gaussian."
    )
    enumerated: Annotated[int, Field(ge=4, le=12)] = Field(
        description="Layer whose rows are enumerated, all 2^enumerated of them."
    )
    decay: Decay = Field(
        description="Great depth: the squares of the second slowest split have lost e^decay against the slowest."
    )

    def problems(self) -> Iterator[Problem]:
        """The points increase."""
        yield from increasing("points", self.points)


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
