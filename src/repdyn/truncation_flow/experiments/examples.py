"""Small data sets that decide statements by arithmetic, and counts of the renormalised domain of Theorem 5.1."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.linalg import lstsq

from repdyn.base.datasets import dataset, variable
from repdyn.base.streams import Stream
from repdyn.truncation_flow.methods.construction import ball_clusters, largest_radius, simplex_initial_data
from repdyn.truncation_flow.methods.events import event_flow
from repdyn.truncation_flow.methods.flow import integrate_flow
from repdyn.truncation_flow.methods.formula_audit import random_layers
from repdyn.truncation_flow.settings import Counterexamples
from repdyn.truncation_flow.theory import general, separated, truncation

ONE = np.eye(2)
Measured = dict[str, tuple[float, str]]


def fixed_points_of_tau() -> Measured:
    """Which points tau leaves alone: x = -beta lies in S- and yet stays, (2.14)."""
    beta = np.array([0.5, -0.25])
    apex = truncation.truncation_map(-beta[None], ONE, beta) + beta
    inside = np.array([[1.0, 2.0]]) - beta
    below = np.array([[-1.0, -2.0]]) - beta
    return {
        "apex_moved": (float(np.abs(apex).max()), "|tau(x) - x| at the apex x = -beta, which lies in S-"),
        "positive_sector_moved": (
            float(np.abs(truncation.truncation_map(inside, ONE, beta) - inside).max()),
            "|tau(x) - x| inside the positive sector",
        ),
        "negative_sector_missed": (
            float(np.abs(truncation.truncation_map(below, ONE, beta) + beta).max()),
            "|tau(x) + beta| inside the negative sector",
        ),
    }


def equal_first_moments() -> Measured:
    """Two clusters with equal sector masses and means but other second moments move differently (Corollary 3.5)."""
    yt, beta = np.array([0.3, 0.2]), np.array([0.1, 0.4])
    one = np.array([[1.0, -2.0], [2.0, -1.0]]) - beta
    other = np.array([[0.5, -2.5], [2.5, -0.5]]) - beta
    generators = [separated.effective_gradient(X, ONE, beta, yt).Omega[0, 1] for X in (one, other)]
    printed = [separated.effective_gradient(X, ONE, beta, yt, formula="printed").Omega[0, 1] for X in (one, other)]
    moments = [separated.sector_moments(X, yt, ONE, beta) for X in (one, other)]
    return {
        "equal_means_true": (abs(generators[0] - generators[1]), "difference of Omega_12, equal first moments"),
        "equal_means_printed": (abs(printed[0] - printed[1]), "the same for the printed Omega"),
        "second_moments": (float(np.abs(moments[0][1] - moments[1][1]).max()), "difference of the second moments S"),
    }


def truncated_is_no_equilibrium() -> Measured:
    """Proposition 4.1 and (4.10): velocities of a fully truncated and of an untruncated cluster."""
    yt, low = np.zeros(2), np.array([[-2.0, -1.0], [-1.0, -3.0]])
    beta = np.array([0.5, 0.7])
    truncated = separated.effective_gradient(low, ONE, beta, yt)
    at_label = separated.effective_gradient(low, ONE, np.zeros(2), yt)
    free = separated.effective_gradient(-low, ONE, beta, yt)
    J, _ = separated.sector_moments(-low, yt, ONE, beta)
    return {
        "truncated_speed": (float(np.linalg.norm(truncated.dbeta)), "|d(beta)/ds|, cluster fully truncated"),
        "truncated_formula": (float(np.abs(truncated.dbeta + beta).max()), "|d(beta)/ds + beta + yt|, the same"),
        "truncated_rotation": (float(np.abs(truncated.Omega).max()), "|Omega|, cluster fully truncated"),
        "truncated_at_label": (float(np.linalg.norm(at_label.dbeta)), "|d(beta)/ds| at beta = -yt, fully truncated"),
        "free_speed": (
            float(np.linalg.norm(free.dbeta) + np.linalg.norm(free.Omega)),
            "speed, cluster untruncated",
        ),
        "free_share": (float(np.max(1 - J)), "largest truncated share, cluster untruncated, (4.10) holds"),
    }


def release_time() -> Measured:
    """A truncated point whose R (x - yt) is not in the negative orthant is released: at log 2 in this example."""
    X, yt, beta = np.array([[0.5, 0.4]]), np.zeros(2), np.array([-1.0, -1.0])
    data = integrate_flow([X], ONE[None], beta[None], yt[None], [1.0], "events")
    stays = integrate_flow([-X], ONE[None], beta[None], yt[None], [10.0], "events")
    return {
        "release_time": (float(data["event_time"][0]), "time at which the point of (.5, .4) is released"),
        "kept_events": (float(stays.sizes["event"]), "releases of the point (-.5, -.4), kept by (4.16)"),
    }


def generator_bounds() -> Measured:
    """(4.25) for one point with u = (1, -1) and b = 0: the true Omega does not vanish."""
    H, u, b, w = np.array([[1.0, 0.0]]), np.array([[1.0, -1.0]]), np.zeros(2), np.ones(1)
    return {
        "bound_true": (float(np.linalg.norm(separated.generator(H, u, b, w), 2)), "||Omega||, u = (1, -1), b = 0"),
        "bound_printed": (separated.generator_bound_as_printed(H, u, b, w), "bound (4.25) as printed"),
        "bound_corrected": (separated.generator_bound(H, u, b, w), "bound (4.25), second moment added"),
    }


def composition_fails() -> Measured:
    """Definition 3.1 holds, composition (3.4) does not: tau_2 moves the image tau_1(x_1)."""
    R, beta = np.array([-ONE, ONE]), np.array([[0.5, 0.5], [0.0, 0.0]])
    x1, x2 = np.array([[1.0, 1.0]]), np.array([[-1.0, -1.0]])
    own = truncation.truncation_map(x1, R[0], beta[0])
    others = max(
        np.abs(truncation.truncation_map(x2, R[0], beta[0]) - x2).max(),
        np.abs(truncation.truncation_map(x1, R[1], beta[1]) - x1).max(),
    )
    moved = np.abs(truncation.truncation_map(own, R[1], beta[1]) - own).max()
    return {
        "composition_others": (float(others), "how far the two maps move the other cluster (Definition 3.1)"),
        "composition_moved": (float(moved), "how far tau_2 moves tau_1(x_1), (3.4) needs 0"),
    }


def projections(generator: np.random.Generator) -> Measured:
    """(5.12) on separated data: R_l^T H R_l x' = x' for x' of the own cluster, and H = 1 on other clusters."""
    Q = 3
    R, beta, _yt = simplex_initial_data(Q)
    X = ball_clusters(np.eye(Q), 20, 0.8 * largest_radius(Q), generator)
    own, other = 0.0, 0.0
    for layer in range(Q):
        for cluster in range(Q):
            H = truncation.sector_pattern(X[cluster], R[layer], beta[layer])
            if cluster != layer:
                other = max(other, float(np.max(1 - H)))
                continue
            projected = np.einsum("ba,kb,bc,jc->kja", R[layer], H, R[layer], X[np.arange(Q) != layer].reshape(-1, Q))
            own = max(own, float(np.abs(projected - X[np.arange(Q) != layer].reshape(-1, Q)).max()))
    return {
        "projection_own": (own, "|R^T H(x) R x' - x'|, x in the own cluster, x' in another"),
        "pattern_other": (other, "largest 1 - H on other clusters"),
    }


def renormalised_domain(draws: int, generator: np.random.Generator, networks: int = 10) -> Measured:
    """Points with P^-_1 != 0 for two layers in R^3, against (5.9) and against its mended form."""
    counts = np.zeros(3)
    for _ in range(networks):
        layers = random_layers(3, draws // networks, generator)
        passed = general.forward(layers.X, layers.R[:2], layers.beta[:2])
        products = [general.truncating_product(passed, layers.R[:2], 1, k) for k in range(len(layers.X))]
        acting = np.abs(products).max(axis=(1, 2)) > 1e-12
        first, second = passed.H
        printed = ~first.all(axis=1) & second.all(axis=1)
        mended = ~first.all(axis=1) & second.any(axis=1)
        counts += acting.sum(), (acting & ~printed).sum(), (acting & ~mended).sum()
    return {
        "domain_acting": (counts[0], "points with P^-_1 != 0, two layers, Q = 3"),
        "domain_violations": (counts[1], "of these outside D^- of (5.9)"),
        "domain_mended_violations": (counts[2], "of these outside the mended domain"),
    }


def sliding_point() -> Measured:
    """One point that sticks to a coordinate plane: the event-driven flow finds the sliding mode."""
    X, yt = np.array([[-0.2, -1.0]]), np.array([-1.0, -0.5])
    R, beta, events = event_flow(X, np.ones(1), yt, ONE, np.zeros(2), np.array([8.0]))
    u = R[0] @ (X[0] + beta[0])
    return {
        "sliding_begins": (events[0].time, "time at which the point begins to slide"),
        "sliding_distance": (float(abs(u[0])), "distance from the plane at the end"),
        "sliding_kind": (float(events[0].kind), "kind of the first event, 2 is sliding"),
    }


def sliding_ensemble(generator: np.random.Generator, runs: int = 40) -> Measured:
    """Share of small planar clusters that slide at some time."""
    count = 0
    for _ in range(runs):
        X, yt = generator.normal(size=(5, 2)), generator.normal(size=2)
        beta, angle = 0.5 * generator.normal(size=2), generator.uniform(0, 2 * np.pi)
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        events = event_flow(X, np.full(5, 0.2), yt, R, beta, np.array([5.0]))[2]
        count += any(event.kind == 2 for event in events)
    return {"sliding_runs": (float(count), f"of {runs} random planar clusters of 5 points, runs with sliding")}


def least_squares_weights(generator: np.random.Generator) -> Measured:
    """Minimisers of the cost with weights 1/N (9.3) and 1/N_j (2.22) differ where classes differ in size."""
    sizes = np.array([6, 5, 10, 9])
    X = generator.uniform(0.2, 1.5, size=(4, sizes.sum()))
    Y = np.repeat(np.eye(4), sizes, axis=1)
    root = np.sqrt(np.repeat(1.0 / sizes, sizes))
    plain = lstsq(X.T, Y.T)[0].T
    weighted = lstsq((X * root).T, (Y * root).T)[0].T
    return {"weights_differ": (float(np.abs(plain - weighted).max()), "difference of the minimisers, 1/N and 1/N_j")}


def counterexamples(settings: Counterexamples, stream: Stream) -> xr.Dataset:
    """All small examples in one dataset of scalars."""
    measured: Measured = {}
    for part in (
        fixed_points_of_tau(),
        equal_first_moments(),
        truncated_is_no_equilibrium(),
        release_time(),
        generator_bounds(),
        composition_fails(),
        projections(stream.generator("projections")),
        renormalised_domain(settings.draws, stream.generator("domain")),
        sliding_point(),
        sliding_ensemble(stream.generator("sliding")),
        least_squares_weights(stream.generator("weights")),
    ):
        measured |= part
    return dataset(
        {name: variable((), value, text) for name, (value, text) in measured.items()},
        {},
        title="Small examples that decide a statement by arithmetic",
    )
