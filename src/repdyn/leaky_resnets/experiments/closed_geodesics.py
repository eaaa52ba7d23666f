"""Theorem 4 on geodesics in closed form: one neuron and one point, growing too, and three neurons that turn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
import xarray as xr

from repdyn.base.datasets import dataset, variable
from repdyn.leaky_resnets.experiments.geodesics import measure
from repdyn.leaky_resnets.settings.theory import RandomGeodesics
from repdyn.leaky_resnets.theory.flows import Trajectory, hamiltonian_flow
from repdyn.leaky_resnets.theory.hamiltonian import theorem4_bounds, theorem4_bounds_as_printed
from repdyn.leaky_resnets.theory.rotating_geodesic import rotating_path
from repdyn.leaky_resnets.theory.scalar_geodesic import growing_geodesic, growing_path, scalar_geodesic

SCALAR_DEPTH = 0.05  # Lt of the scalar geodesics, short enough for the printed bound to bite


def scalar_geodesics(settings: RandomGeodesics) -> xr.Dataset:
    """Theorem 4 on geodesics of one neuron and one point over u and c, in closed form, with gamma = min A^2."""
    u = np.linspace(-3, 3, settings.grid)
    u = u[u != 0]  # u = 0 has B = 0 and bounds of 0
    c = np.geomspace(1e-4, 1e2, settings.grid)
    U, C = np.meshgrid(u, c, indexing="ij")
    least = np.abs(U) / np.sqrt(C)  # min A; at p = 1 for u < 1, at p = 0 for u > 1
    end = least * np.exp(np.maximum(SCALAR_DEPTH * (U - 1), 0))
    path = scalar_geodesic(U, end, SCALAR_DEPTH, least**2)
    corrected = theorem4_bounds(path.length, SCALAR_DEPTH, least**2 * path.c)
    printed = theorem4_bounds_as_printed(path.length, SCALAR_DEPTH, least**2, path.c).lower
    H, cost = path.scaled_hamiltonian, path.least_cost
    values = {
        "middle": (H - cost, "-2 H / Lt - min COI_gamma"),
        "upper": (corrected.upper, "upper bound"),
        "lower": (corrected.lower, "corrected lower bound"),
        "lower_printed": (printed, "printed lower bound"),
        "other_sign_middle": (-H - cost, "2 H / Lt - min COI_gamma, the other sign of H"),
    }
    example, turning = _scalar_example(), _turning()
    return dataset(
        {name: variable(("u", "c"), value, text) for name, (value, text) in values.items()}
        | turning
        | _growing()
        | {"example": variable("quantity", np.array(list(example.values())), "the example of the study's page")},
        {
            "u": variable("u", u, "conserved product u = A B"),
            "c": variable("c", c, "sup |B|^2"),
            "quantity": variable("quantity", np.array(list(example)), "quantity of the example"),
            "effective_depth": variable((), SCALAR_DEPTH, "effective depth Lt"),
            "turn": variable("turn", np.array(list(TURNS)), "angle that a path turns by in all"),
            "deeper": variable(
                "deeper", np.array(TURNING_DEPTHS), "effective depth Lt of the turning and growing paths"
            ),
        },
        title="Theorem 4 on scalar geodesics in closed form",
    )


TURNS: dict[str, Callable[[float], float]] = {"1 / 2": lambda Lt: 0.5 / Lt, "Lt / 3": lambda Lt: 1 / 3}
TURNING_DEPTHS = (5.0, 20.0, 80.0, 320.0, 1280.0)
TURNING_POINTS = 5


def _turning() -> dict[str, xr.Variable]:
    """Geodesics that rotate about (1, 1, 1), with gamma = 1 / Lt: bounded A and B, length finite or as Lt."""
    rows = np.array([[_turning_at(rate(Lt), Lt) for Lt in TURNING_DEPTHS] for rate in TURNS.values()])
    names = {
        "turning_gap": "-2 H / Lt minus the least stable cost of identity at gamma = 1 / Lt",
        "turning_length": "path length in K + gamma I over Lt",
        "turning_c": "sup |B|^2",
        "turning_size": "sup |A|^2",
        "turning_flow": "distance from the integrated flow over a first stretch of Lt p = 5, relative",
        "turning_flow_back": "the same of the path that turns the other way",
        "turning_lower": "corrected lower bound of Theorem 4",
        "turning_lower_without": "the same without the length",
    }
    return {name: variable(("turn", "deeper"), rows[..., at], words) for at, (name, words) in enumerate(names.items())}


def _turning_at(rate: float, Lt: float) -> list[float]:
    p = np.linspace(0, 1, 101)
    A, B = rotating_path(rate, Lt, p, TURNING_POINTS)
    along = measure(Trajectory(p, A, B, 0), Lt, False, np.full(len(p), 1 / Lt))
    first = np.linspace(0, min(1.0, 5 / Lt), 11)
    closed = rotating_path(rate, Lt, first, TURNING_POINTS)
    flow = hamiltonian_flow(closed[0][0], closed[1][0], Lt, False, first, 1e-11)
    off, back = (
        max(float(np.abs(x - y).max() / np.abs(x).max()) for x, y in zip((flow.A, flow.B), other, strict=True))
        for other in (closed, rotating_path(-rate, Lt, first, TURNING_POINTS))
    )
    c, length = along["momentum_sq"].max(), float(np.trapezoid(along["speed"], p))
    gap = float(along["scaled_hamiltonian"].mean() - along["cost"].min())
    lower, without = (float(theorem4_bounds(part, Lt, c / Lt).lower) for part in (length, 0.0))
    return [gap, length / Lt, c, float(np.sum(A**2, axis=(1, 2)).max()), off, back, lower, without]


GROWING = (1.25, 1.0)  # 2 H / Lt and A_0 of the growing geodesics, whose logarithm gains 3/2 per unit of Lt p


def _growing() -> dict[str, xr.Variable]:
    """Geodesics of least norm that grow, one neuron and one point with bias, gamma = 1 / Lt: length as Lt."""
    rows = np.array([_growing_at(Lt) for Lt in TURNING_DEPTHS])
    names = {
        "growing_gap": "-2 H / Lt minus the least stable cost of identity at gamma = 1 / Lt, growing geodesics",
        "growing_length": "path length in K + gamma I over Lt, growing geodesics",
        "growing_c": "sup |B|^2, growing geodesics",
        "growing_flow": "distance from the integrated flow over Lt p = 5, relative, growing geodesics",
        "growing_lower": "corrected lower bound of Theorem 4, growing geodesics",
        "growing_lower_without": "the same without the length",
    }
    return {name: variable("deeper", rows[:, at], words) for at, (name, words) in enumerate(names.items())}


def _growing_at(Lt: float) -> list[float]:
    path = growing_geodesic(*GROWING, Lt, 1 / Lt)
    first = np.linspace(0, min(1.0, 5 / Lt), 11)
    A, B = growing_path(*GROWING, Lt, first)
    flow = hamiltonian_flow([[A[0]]], [[B[0]]], Lt, True, first, 1e-11)
    off = max(float(np.abs(x[:, 0, 0] / y - 1).max()) for x, y in ((flow.A, A), (flow.B, B)))
    lower, without = (float(theorem4_bounds(part, Lt, path.c / Lt).lower) for part in (path.length, 0.0))
    gap = float(path.scaled_hamiltonian - path.least_cost)
    return [gap, float(path.length) / Lt, float(path.c), off, lower, without]


def _scalar_example() -> dict[str, float]:
    """The case u = -1, a = 10, Lt = .05, gamma = 100, in closed form and by the general flow at w = N = 1."""
    u, end, gamma = -1.0, 10.0, 100.0
    closed = scalar_geodesic(u, end, SCALAR_DEPTH, gamma)
    p = np.linspace(0, 1, 201)
    path = hamiltonian_flow([[end]], [[u / end]], SCALAR_DEPTH, False, p, 1e-12, start=1.0)
    along = measure(path, SCALAR_DEPTH, False, np.full(len(p), gamma))
    length, c = float(scipy.integrate.simpson(along["speed"], x=p)), float(along["momentum_sq"].max())
    printed = theorem4_bounds_as_printed(length, SCALAR_DEPTH, gamma, c)
    bounds = theorem4_bounds(length, SCALAR_DEPTH, gamma * c)
    return {
        "middle": float(closed.scaled_hamiltonian - closed.least_cost),
        "middle by the flow": float(along["scaled_hamiltonian"][0] - along["cost"].min()),
        "lower": float(bounds.lower),
        "lower as printed": float(printed.lower),
        "lower by the closed form": float(theorem4_bounds(closed.length, SCALAR_DEPTH, gamma * closed.c).lower),
        "upper": float(bounds.upper),
        "c": c,
    }
