"""Knobs of exact statements: audited formulas, the cost of identity, exact geodesics, discrete critical paths."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from repdyn.base.settings import EACH, Many, Problem, Settings, increasing

Draws = Annotated[int, Field(ge=2, le=100_000)]
Depth = Annotated[float, Field(gt=0, le=60)]
Seeds = Annotated[int, Field(ge=2, le=1000)]


class FormulaAudit(Settings):
    """Every formula as printed and as corrected against an independent derivation."""

    draws: Annotated[Draws, EACH] = Field(description="Random draws per formula, with and without bias.")


class IdentityCosts(Settings):
    """Propositions 1 and 3, ranks, feasibility over random representations."""

    draws: Annotated[Draws, EACH] = Field(description="Random representations per shape, with and without bias.")
    searches: Annotated[Draws, EACH] = Field(description="Starts of the search for the least ratio of cost and bound.")


class Descents(Settings):
    """Proposition 2: descent of the cost of identity from random starts with spare neurons."""

    starts: Draws = Field(description="Random starts per case.")
    steps: Annotated[int, Field(ge=10, le=100_000)] = Field(description="Adam steps, with cosine decay to 0.")
    rate: Annotated[float, Field(gt=0, le=1)] = Field(description="First Adam rate.")
    ridge: Annotated[float, Field(gt=0, le=1e-2)] = Field(description="Added to K, in units of its entries.")


class GeodesicLaboratory(Settings):
    """Exact geodesics through a bottleneck, for a range of effective depths."""

    effective_depths: Annotated[Many[Depth], EACH] = Field(min_length=3, description="Effective depths, increasing.")
    seeds: Annotated[Seeds, EACH] = Field(description="Bottlenecks drawn; every effective depth shares them.")
    rank: Annotated[int, Field(ge=1, le=20)] = Field(description="Rank k of the bottleneck.")
    width: Annotated[int, Field(ge=2, le=200)] = Field(description="Neurons w.")
    points: Annotated[int, Field(ge=2, le=500)] = Field(description="Points N.")
    positions: Annotated[int, Field(ge=21, le=5001)] = Field(description="Positions p stored, odd, with the middle.")
    gamma_0: Annotated[float, Field(gt=0, lt=1)] = Field(description="gamma_p over the operator norm of K_p.")
    perturbation: Annotated[float, Field(gt=0, le=1)] = Field(description="Relative kick at p = 1/2 before decay.")
    decay: Annotated[float, Field(ge=0, le=1)] = Field(description="The kick falls as exp(-decay * effective depth).")

    def problems(self) -> Iterator[Problem]:
        """Depths increase; the rank fits into width and points; the middle is a position."""
        yield from increasing("effective_depths", self.effective_depths)
        if self.rank >= min(self.width, self.points):
            yield Problem(("rank", "width", "points"), f"{self.rank} is no bottleneck: keep it below width and points")
        if self.positions % 2 == 0:
            yield Problem(("positions",), f"{self.positions} leaves out the middle: give an odd number")


class RandomGeodesics(Settings):
    """Theorem 4, Proposition 9 and the conservation of H along random exact trajectories."""

    draws: Annotated[Draws, EACH] = Field(description="Random trajectories, with and without bias.")
    positions: Annotated[int, Field(ge=21, le=5001)] = Field(description="Positions p per trajectory.")
    tolerances: Many[Annotated[float, Field(ge=1e-13, le=1e-3)]] = Field(
        min_length=2, description="Relative tolerances of the integrator, increasing; the least one decides."
    )
    grid: Annotated[int, Field(ge=11, le=401)] = Field(description="Values of u and of gamma of the scalar geodesic.")

    def problems(self) -> Iterator[Problem]:
        """Tolerances increase."""
        yield from increasing("tolerances", self.tolerances)


class CriticalPaths(Settings):
    """Critical points of the discrete network: conservation and balancedness up to the step."""

    layers: Annotated[Many[Annotated[int, Field(ge=10, le=10_000)]], EACH] = Field(
        min_length=4, description="Numbers of layers L, increasing; the order is fitted from 40 on."
    )
    seeds: Annotated[Seeds, EACH] = Field(description="Random starts, with and without bias.")

    def problems(self) -> Iterator[Problem]:
        """Layers increase, three of them from 40 on."""
        yield from increasing("layers", self.layers)
        if sum(L >= 40 for L in self.layers) < 3:
            yield Problem(("layers",), "fewer than three numbers of layers from 40 on: the order cannot be fitted")


class StepSchemes(Settings):
    """Sums, caps and symmetry of the irregular layer steps, in exact fractions."""

    largest: Annotated[int, Field(ge=4, le=200)] = Field(description="Layers L = 2 .. largest.")
    irregularities: Many[Annotated[float, Field(ge=0, lt=1)]] = Field(
        min_length=2, description="Values of a, increasing."
    )

    def problems(self) -> Iterator[Problem]:
        """Values increase."""
        yield from increasing("irregularities", self.irregularities)
