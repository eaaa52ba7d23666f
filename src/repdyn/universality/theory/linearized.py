"""The linearized network before the reduction: loss (16), its gradient flow (17) in both forms, condition (19).

Shapes: x1, x2 (inputs,), y1, y2 (outputs,), D_h (units, inputs), D_y (outputs, units), ybar (outputs,).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from repdyn.base.arrays import Array

if TYPE_CHECKING:
    from repdyn.base.arrays import Float, Inexact


class Linearized(NamedTuple):
    """Mean output and the two Jacobians."""

    ybar: Array
    D_h: Array
    D_y: Array


class Points(NamedTuple):
    """Two points with their targets."""

    x1: Array
    x2: Array
    y1: Array
    y2: Array


def linear_outputs(state: Linearized, points: Points) -> tuple[Inexact[Array, "outputs"], Inexact[Array, "outputs"]]:
    """y(x_i) = ybar + D_y D_h (x_i - x_other)/2, equations (5), (15)."""
    half = state.D_y @ state.D_h @ (points.x2 - points.x1) / 2
    return state.ybar - half, state.ybar + half


def linear_loss(state: Linearized, points: Points) -> complex:
    """L = 1/2 mean_i ||y(x_i) - y_i||^2, equation (16); analytic, so that complex steps differentiate it exactly."""
    first, second = linear_outputs(state, points)
    return (((first - points.y1) ** 2).sum() + ((second - points.y2) ** 2).sum()) / 4


def loss_gradient(state: Linearized, points: Points) -> Linearized:
    r"""Gradient of (16): dL/dybar = ybar - (y1 + y2)/2, dL/dD_h = D_y^T e d^T/4, dL/dD_y = e dh^T/4.

    d = x2 - x1, dh = D_h d, e = D_y dh - (y2 - y1). Corrects the last lines of (17), whose factor is 1/2.
    """
    return _gradient(state, points, 1 / 4)


def loss_gradient_as_printed(state: Linearized, points: Points) -> Linearized:
    """The last lines of (17) with the factor 1/2; its own middle lines, averaged, give 1/4."""
    return _gradient(state, points, 1 / 2)


def _gradient(state: Linearized, points: Points, factor: float) -> Linearized:
    d = points.x2 - points.x1
    dh = state.D_h @ d
    error = state.D_y @ dh - (points.y2 - points.y1)
    return Linearized(
        state.ybar - (points.y1 + points.y2) / 2,
        factor * np.outer(state.D_y.T @ error, d),
        factor * np.outer(error, dh),
    )


def middle_lines(state: Linearized, points: Points) -> Linearized:
    """The averages in the middle lines of (17), term by term; they are right."""
    d = points.x2 - points.x1
    total = [np.zeros_like(part) for part in state]
    for sign, target in ((-1, points.y1), (1, points.y2)):
        step = sign * d
        dy, dh, error = state.D_y @ state.D_h @ step, state.D_h @ step, state.ybar - target
        total[0] += (state.ybar + dy / 2 - target) / 2
        total[1] += np.outer(state.D_y.T @ (dy / 2 + error), step) / 4
        total[2] += np.outer(dy / 2 + error, dh) / 4
    return Linearized(*total)


def aligned(
    dh: Float[Array, "units"], v: Float[Array, "outputs"], d: Float[Array, "inputs"]
) -> tuple[Float[Array, "units inputs"], Float[Array, "outputs units"]]:
    """Jacobians that meet (19): D_h = dh d^T/||d||^2 and D_y = v dh^T/||dh||^2, so that dy = v; (D_h, D_y)."""
    return np.outer(dh, d) / (d @ d), np.outer(v, dh) / (dh @ dh)
