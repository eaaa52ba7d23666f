"""Data that meet the hypotheses of Proposition 4.2 in the ball of (4.13), and along which its conclusions fail."""

from __future__ import annotations

import numpy as np

from repdyn.base.arrays import Array
from repdyn.truncation_flow.methods.events import event_flow
from repdyn.truncation_flow.theory import proposition

CORE, START, POINTS = (-30.0, -30.0), (20.0, 0.0), 10_800
OUTLIERS = {"": (-14.0, -150.0), "_near": (-14.0, -30.0)}
ETA_0, ETA_1, GAMMA = 0.001, 0.016, 0.0999
HORIZON = 5.0  # times the bound (4.30)
Measured = dict[str, tuple[float, str]]


def printed_radius() -> Measured:
    """All points but one at (-30, -30), one at (-14, -150): constants bounded over the ball, and the true flow.

    Label 0, R(0) = 1, beta(0) = (20, 0). The suffix `_near` has the one point at (-14, -30).
    """
    r = float(np.linalg.norm(START))
    eta_1_prime = proposition.BALL * r * ETA_1
    radius, _ = proposition.radii_as_printed(ETA_0, ETA_1, eta_1_prime, GAMMA)
    bound = float(np.log(1 / GAMMA)) / (1 - ETA_0 - eta_1_prime)
    measured: Measured = {
        "printed_radius": (radius, "eta_2 of (4.13) for eta_0 = .001, eta_1 = .016, gamma = .0999, |b(0)| = 20"),
        "sufficient_radius": (proposition.sufficient_radius(ETA_0, ETA_1, r), "eta_1 |b(0)|/(2 (1 - eta_0)) of these"),
    }
    for suffix, outlier in OUTLIERS.items():
        text = f"all points but one at (-30, -30), one at {outlier}"
        X = np.array([CORE] * (POINTS - 1) + [outlier])
        bounds = proposition.constants_in_ball(X, r, GAMMA, radius)
        turned, left = _flow(np.array([CORE, outlier]), bound)
        measured |= {
            f"radius_eta_0{suffix}": (bounds.eta_0 / ETA_0, f"share of (4.14) over eta_0 in that ball, {text}"),
            f"radius_eta_1{suffix}": (bounds.eta_1 / ETA_1, f"moment of (4.15) over eta_1 in that ball, {text}"),
            f"radius_highest{suffix}": (bounds.highest, f"largest coordinate under (4.16)-(4.17) in that ball, {text}"),
            f"radius_turned{suffix}": (turned, f"largest ||R(s) - R(0)|| along the flow, {text}"),
            f"radius_left{suffix}": (left, f"points not fully truncated at five times the bound (4.30), {text}"),
        }
    return measured


def _flow(X: Array, bound: float) -> tuple[float, float]:
    """Largest rotation of the event-driven flow, and how many points are left untruncated in some direction."""
    weights = np.array([POINTS - 1, 1]) / POINTS
    times = np.linspace(0.0, HORIZON * bound, 200)
    R, beta, _ = event_flow(X, weights, np.zeros(2), np.eye(2), np.array(START), times)
    left = np.any((X + beta[-1]) @ R[-1].T > 0, axis=1)
    return float(np.linalg.norm(R - np.eye(2), 2, axis=(1, 2)).max()), float(left @ np.array([POINTS - 1, 1]))
