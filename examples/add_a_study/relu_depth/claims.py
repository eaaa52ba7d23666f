"""Claims: datasets in, verdicts out; each with a control that its check must reject."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, wrong_formula
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Verdict, deviation
from repdyn.relu_depth.theory import RATE, next_cosine


def without_relu(overlaps: xr.Dataset) -> xr.Dataset:
    """A linear layer keeps the inner products."""
    return overlaps.assign(overlap=overlaps["cosine"] + 0 * overlaps["overlap"])


def one_power_less(gaps: xr.Dataset) -> xr.Dataset:
    """A gap that falls as 1 / l."""
    return gaps.assign(gap=gaps["gap"] * gaps["layer"])


@claim(
    "rd-kernel",
    where="Cho and Saul 2009, n = 1",
    kind="identity",
    states="A random ReLU layer takes the cosine rho of two points to the arc-cosine kernel of degree one.",
    formula=r"\kappa(\rho) = \frac{1}{\pi} \left( \sqrt{1 - \rho^2} + (\pi - \arccos \rho) \rho \right)",
    control=false_world("a layer without ReLU", without_relu, recomputes=True),
)
def layer_is_the_kernel(overlaps: xr.Dataset) -> Verdict:
    """The mean inner product over draws, against the closed form, at every cosine."""
    tests = {
        f"rho_{cosine:g}": mean_within(
            overlaps["overlap"].sel(cosine=cosine) - next_cosine(cosine),
            -0.02,
            0.02,
            expected="a mean difference within 0.02",
            reason="a tenth of the largest distance of the kernel from a straight line between its ends",
            false_alarm=1e-3 / overlaps.sizes["cosine"],
        )
        for cosine in overlaps["cosine"].values
    }
    return Verdict.from_tests(tests)


@claim(
    "rd-rate",
    where="Hayou, Doucet and Rousseau 2019, ReLU",
    kind="limit",
    states="Through depth l the gap falls as 9 pi^2 / (2 l^2), from any start.",
    formula=r"1 - \rho_l \sim \frac{9 \pi^2}{2 l^2}",
    control=wrong_formula("one power of the depth less", one_power_less, recomputes=True),
)
def gap_falls_as_depth_squared(gaps: xr.Dataset) -> Verdict:
    """l^2 (1 - rho_l) at the last layer, relative to its limit."""
    depth = int(gaps["layer"][-1])
    relative = depth**2 * gaps["gap"].isel(layer=-1) / RATE - 1
    tolerance = 10 * np.log(depth) / depth
    return Verdict.from_tests(
        deviation(relative, tolerance, expected="zero", reason="10 log(l)/l; the next term is of order log(l)/l")
    )
