"""Small data sets that decide statements by arithmetic, and counts of the renormalized domain of Theorem 5.1."""

from __future__ import annotations

import numpy as np
import scipy
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, variable
from repdyn.base.streams import Stream
from repdyn.truncation_flow.experiments import beyond_alignment
from repdyn.truncation_flow.experiments.cluster_flow import SLIDING
from repdyn.truncation_flow.experiments.printed_radius import printed_radius
from repdyn.truncation_flow.methods.construction import ball_clusters, largest_radius, simplex_initial_data
from repdyn.truncation_flow.methods.events import event_flow
from repdyn.truncation_flow.methods.flow import integrate_flow
from repdyn.truncation_flow.methods.formula_audit import random_layers
from repdyn.truncation_flow.settings import Counterexamples
from repdyn.truncation_flow.theory import general, separated, standard_cost, truncation

ONE = np.eye(2)
Measured = dict[str, tuple[float, str]]


def fixed_points_of_tau(draws: int, generator: np.random.Generator) -> Measured:
    """(2.14), (2.15) on points of all sectors and of their borders: u is chosen, then x = R^T u - beta.

    The wrong map leaves out the last term of tau, -beta.
    """
    counts = np.zeros(5)
    for Q in (2, 3, 4):
        R, beta = scipy.stats.ortho_group.rvs(Q, random_state=generator), generator.normal(size=Q)
        u = generator.choice([-1.0, 0.0, 1.0], size=(draws, Q)) * generator.uniform(0.1, 1.0, size=(draws, Q))
        x = u @ R - beta
        image = truncation.truncation_map(x, R, beta)
        positive, above, below = (u > 0).all(axis=1), (u >= 0).all(axis=1), (u <= 0).all(axis=1)
        counts += [
            np.sum(_equal(image, x) != positive),
            np.sum(_equal(image, x) != above),
            np.sum(_equal(image, -beta) != below),
            np.sum(_equal(image + beta, x) != above),
            np.sum(_equal(image + beta, -beta) != below),
        ]
    texts = {
        "fixed_mismatch_open": "points with tau(x) = x and not all u > 0, or the reverse",
        "fixed_mismatch": "points with tau(x) = x and not all u >= 0, or the reverse",
        "apex_mismatch": "points with tau(x) = -beta and not all u <= 0, or the reverse",
        "fixed_mismatch_wrong": "points that R^T sigma(R (x + beta)) fixes and not all u >= 0, or the reverse",
        "apex_mismatch_wrong": "points it takes to -beta and not all u <= 0, or the reverse",
    }
    return {name: (count, text) for (name, text), count in zip(texts.items(), counts, strict=True)}


def _equal(image: Array, wanted: Array) -> Array:
    """Which points coincide, to rounding; shape (N,)."""
    return np.abs(image - wanted).max(axis=1) < 1e-12


def equal_first_moments() -> Measured:
    """Two clusters with equal sector masses and means but other second moments move differently (Corollary 3.5)."""
    yt, beta, points = np.array([0.3, 0.2]), np.array([0.1, 0.4]), np.array([[1.0, -2.0], [2.0, -1.0]])
    first, other = points - beta, np.array([[0.5, -2.5], [2.5, -0.5]]) - beta
    turn = np.array([[np.cos(0.1), np.sin(0.1)], [-np.sin(0.1), np.cos(0.1)]])
    plain, turned = yt + points, yt + turn @ points

    def difference(first: Array, second: Array, formula: str = "corrected") -> float:
        flows = (separated.effective_gradient(X, ONE, beta, yt, formula=formula) for X in (first, second))
        return abs(np.subtract(*(flow.Omega[0, 1] for flow in flows)))

    moments = [separated.sector_moments(X, yt, ONE, beta)[1] for X in (first, other)]
    return {
        "equal_means_true": (difference(first, other), "difference of Omega_12, equal first moments"),
        "equal_means_printed": (difference(first, other, "printed"), "the same for the printed Omega"),
        "equal_second_true": (difference(plain, turned), "difference of Omega_12, equal second moments and masses"),
        "equal_second_means": (float(np.abs(plain.mean(0) - turned.mean(0)).max()), "difference of their means"),
        "second_moments": (float(np.abs(moments[0] - moments[1]).max()), "difference of the second moments S"),
    }


def truncated_is_no_equilibrium() -> Measured:
    """Proposition 4.1 and (4.10): velocities of a fully truncated, an untruncated and a partly truncated cluster."""
    yt, low = np.zeros(2), np.array([[-2.0, -1.0], [-1.0, -3.0]])
    beta, label = np.array([0.5, 0.7]), np.zeros(2)
    clusters = {"truncated": low, "free": -low, "partial": np.array([[2.0, -1.0], [-1.0, 3.0]])}
    words = {"truncated": "fully truncated", "free": "untruncated", "partial": "partly truncated"}
    measured: Measured = {}
    for name, X in clusters.items():
        moved, at_label = (separated.effective_gradient(X, ONE, offset, yt) for offset in (beta, label))
        text = f"cluster {words[name]}"
        measured |= {
            f"{name}_speed": (_speed(moved), f"|d(beta)/ds| + |Omega|, {text}"),
            f"{name}_formula": (float(np.abs(moved.dbeta + beta).max()), f"|d(beta)/ds + beta + yt|, {text}"),
            f"{name}_rotation": (float(np.abs(moved.Omega).max()), f"|Omega|, {text}"),
            f"{name}_at_label": (_speed(at_label), f"|d(beta)/ds| + |Omega| at beta = -yt, {text}"),
        }
    for name, X in (clusters | {"one_direction": np.array([[2.0, 1.0], [-1.0, 3.0]])}).items():
        J, _ = separated.sector_moments(X, yt, ONE, beta)
        measured[f"{name}_share"] = (float(np.min(1 - J)), f"least truncated share over directions, {name}")
    on_border = np.array([[-0.5, 1.0], [1.0, 2.0]])  # u = (0, 1.7) and (1.5, 2.7), b = (.5, .7)
    measured["border_speed"] = (
        _speed(separated.effective_gradient(on_border, ONE, beta, yt)),
        "|d(beta)/ds| + |Omega|, cluster untruncated but for a point on a border of the positive sector",
    )
    return measured


def _speed(velocity: separated.EffectiveGradient) -> float:
    return float(np.linalg.norm(velocity.dbeta) + np.linalg.norm(velocity.Omega))


def releases(generator: np.random.Generator, runs: int = 6) -> Measured:
    """Truncated clusters: the first release against u(s) = e^{-s} u(0) + (1 - e^{-s}) R (x - yt), and without yt.

    The last entry is the point (.5, .4) with yt = 0 and apex (1, 1), which comes to a plane at log 2.
    """
    errors, wrong, kept, released = [], [], 0, 0
    for run in range(runs):
        X, yt, beta, R = _truncated_cluster(2 + run % 2, generator)
        w, wanted = np.full(len(X), 1 / len(X)), separated.release_time(X, R, beta, yt)
        events = event_flow(X, w, yt, R, beta, np.array([1.01 * wanted]))[2]
        errors.append(abs(events[0].time - wanted))
        wrong.append(abs(separated.release_time(X, R, beta, np.zeros_like(yt)) - wanted))
        released += len(events) > 0
        start = -yt - np.abs(beta) @ R  # R (start + yt) in the negative orthant too
        below = yt - np.abs(X - yt) @ R  # R (x - yt) in the negative orthant
        kept += len(event_flow(below, w, yt, R, start, np.array([5.0]))[2])
    X, beta = np.array([[0.5, 0.4]]), np.array([-1.0, -1.0])
    data = integrate_flow([X], ONE[None], beta[None], np.zeros((1, 2)), [1.0], "events")
    return {
        "release_time": (float(data["event_time"][0]), "time at which the point of (.5, .4) comes to a plane"),
        "release_error": (max(errors), "first arrival at a plane, event-driven, minus the formula"),
        "release_error_wrong": (max(wrong), "the same for the formula without yt"),
        "released_runs": (
            float(released),
            f"of {runs} truncated clusters with R (x - yt) > 0 somewhere, come to a plane",
        ),
        "kept_events": (float(kept), f"releases from {runs} clusters with R (x - yt) <= 0, kept by (4.16)"),
    }


def _truncated_cluster(Q: int, generator: np.random.Generator) -> tuple[Array, Array, Array, Array]:
    """X, yt, beta, R with all u < 0 and R (x - yt) > 0 for the first point."""
    R = scipy.stats.ortho_group.rvs(Q, random_state=generator)
    yt, v = generator.normal(size=Q), generator.normal(size=(4, Q))
    v[0] = np.abs(v[0])
    b = -generator.uniform(1.0, 2.0, size=Q) - np.maximum(v.max(axis=0), 0.0)
    return v @ R + yt, yt, b @ R - yt, R


def generator_bounds(draws: int, generator: np.random.Generator) -> Measured:
    """(4.25): largest ||Omega||/(|b| int_off |u|) over random clusters with R (x - yt) <= 0, and without that."""
    ratios = {"bound_ratio": 0.0, "bound_ratio_outside": 0.0}
    for draw in range(draws):
        Q, N = 2 + draw % 5, 1 + draw % 7
        b, w = generator.normal(size=Q) * np.exp(generator.normal()), np.full(N, 1.0 / N)
        v = generator.normal(size=(N, Q)) * np.exp(generator.normal(size=(N, 1)))
        for name, inside in (("bound_ratio", -np.abs(v)), ("bound_ratio_outside", v)):
            u = inside + b
            H = (u > 0).astype(np.float64)
            bound = separated.generator_bound(H, u, b, w)
            if bound > 0:
                ratios[name] = max(ratios[name], float(np.linalg.norm(separated.generator(H, u, b, w), 2)) / bound)
    text = "largest ||Omega|| over bound (4.25), "
    return {
        "bound_ratio": (ratios["bound_ratio"], text + "clusters with R (x - yt) <= 0, as (4.16) asks"),
        "bound_ratio_outside": (ratios["bound_ratio_outside"], text + "clusters that break (4.16)"),
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


def data_remain() -> Measured:
    """Definition 3.1 and (5.12) hold, (5.13) does not: the cone of tau_2, turned by 45 degrees, cuts tau_1(x_1) off."""
    turned = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)
    x1, x2, image = np.array([[1.0, -1.0]]), np.array([[5.0, 0.0]]), np.array([1.0, 0.0])
    apex = turned.T @ (turned @ image + np.array([0.2, -1.0]))
    R, beta = np.array([ONE, turned]), np.array([np.zeros(2), -apex])
    others = max(
        np.abs(truncation.truncation_map(x, R[layer], beta[layer]) - x).max() for layer, x in enumerate((x2, x1))
    )
    kept = max(
        np.abs(x @ R[layer].T * truncation.sector_pattern(own, R[layer], beta[layer]) @ R[layer] - x).max()
        for layer, (own, x) in enumerate(((x1, x2), (x2, x1)))
    )
    return {
        "cross_product_moved": (_cross_product(x1[None], R, beta), "largest |(P^-)^T P^+ z|, Definition 3.1 alone"),
        "cross_product_others": (float(others), "how far the two maps of that example move the other cluster"),
        "cross_product_512": (float(kept), "how far (5.12) is from holding in that example"),
    }


def projections(generator: np.random.Generator) -> Measured:
    """(5.12), (5.13) on separated data, and on clusters twice as wide as can be separated."""
    R, beta, _ = simplex_initial_data(3)

    def clusters(fill: float) -> Array:
        return ball_clusters(np.eye(3), 20, fill * largest_radius(3), generator)

    measured: Measured = {}
    for suffix, fill, text in (("", 0.8, "separated"), ("_wide", 2.5, "too wide to be separated")):
        own, other = _projections(clusters(fill), R, beta)
        measured |= {
            f"projection_own{suffix}": (own, f"|R^T H(x) R x' - x'|, x in the own cluster, x' in another, {text}"),
            f"pattern_other{suffix}": (other, f"largest 1 - H on other clusters, {text}"),
        }
    separated_product, layers = _cross_product(clusters(0.8), R, beta), random_layers(3, 20, generator)
    random_product, text = _cross_product(layers.X, layers.R, layers.beta), "largest |(P^-)^T P^+ z|, (5.13), "
    return measured | {
        "cross_product": (separated_product, text + "separated"),
        "cross_product_random": (random_product, text + "random truncation maps"),
    }


def _projections(X: Array, R: Array, beta: Array) -> tuple[float, float]:
    own, other, Q = 0.0, 0.0, len(X)
    for layer in range(Q):
        outside = X[np.arange(Q) != layer].reshape(-1, Q)
        H = truncation.sector_pattern(X[layer], R[layer], beta[layer])
        projected = np.einsum("ba,kb,bc,jc->kja", R[layer], H, R[layer], outside)
        own = max(own, float(np.abs(projected - outside).max()))
        other = max(other, float(np.max(1 - truncation.sector_pattern(outside, R[layer], beta[layer]))))
    return own, other


def _cross_product(X: Array, R: Array, beta: Array) -> float:
    """Largest |(P^-_l)^T P^+_l z_{l-1}| over points and layers, the term that (5.13) says vanishes."""
    points, Q = X.reshape(-1, len(R)), len(R)
    passed = general.forward(points, R, beta)
    return max(
        float(
            np.abs(
                general.truncating_product(passed, R, layer, k).T
                @ general.forward_product(passed, R, layer, k)
                @ passed.z[layer - 1][k]
            ).max()
        )
        for layer in range(1, Q + 1)
        for k in range(len(points))
    )


def renormalized_domain(draws: int, generator: np.random.Generator, networks: int = 10) -> Measured:
    """Points with P^-_1 != 0 for two layers in R^3, against (5.9) and against its corrected form."""
    counts = np.zeros(3)
    for _ in range(networks):
        layers = random_layers(3, draws // networks, generator)
        passed = general.forward(layers.X, layers.R[:2], layers.beta[:2])
        products = [general.truncating_product(passed, layers.R[:2], 1, k) for k in range(len(layers.X))]
        acting = np.abs(products).max(axis=(1, 2)) > 1e-12
        first, second = passed.H
        printed = ~first.all(axis=1) & second.all(axis=1)
        corrected = ~first.all(axis=1) & second.any(axis=1)
        counts += acting.sum(), (acting & ~printed).sum(), (acting & ~corrected).sum()
    return {
        "domain_acting": (counts[0], "points with P^-_1 != 0, two layers, Q = 3"),
        "domain_violations": (counts[1], "of these outside D^- of (5.9)"),
        "domain_corrected_violations": (counts[2], "of these outside the corrected domain"),
    }


def sliding_point() -> Measured:
    """One point that sticks to a coordinate plane: the event-driven flow finds the sliding mode."""
    X, yt = SLIDING
    R, beta, events = event_flow(X, np.ones(1), yt, ONE, np.zeros(2), np.array([8.0]))
    u = R[0] @ (X[0] + beta[0])
    return {
        "sliding_begins": (events[0].time, "time at which the point begins to slide"),
        "sliding_distance": (float(abs(u[0])), "distance from the plane at the end"),
        "sliding_kind": (float(events[0].kind), "kind of the first event, 2 is sliding"),
    }


def sliding_ensemble(generator: np.random.Generator, runs: int = 16) -> Measured:
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
    """Minimizers of the cost with weights 1/N (9.3) and 1/N_j (2.22) differ where classes differ in size."""
    sizes = np.array([6, 5, 10, 9])
    X = generator.uniform(0.2, 1.5, size=(4, sizes.sum()))
    Y = np.repeat(np.eye(4), sizes, axis=1)
    plain = standard_cost.least_squares_minimizer(X, Y)
    weighted = standard_cost.least_squares_minimizer(X, Y, np.repeat(1.0 / sizes, sizes))
    return {"weights_differ": (float(np.abs(plain - weighted).max()), "difference of the minimizers, 1/N and 1/N_j")}


def counterexamples(settings: Counterexamples, stream: Stream) -> xr.Dataset:
    """All small examples in one dataset of scalars."""
    measured: Measured = {}
    for part in (
        fixed_points_of_tau(settings.draws, stream.generator("fixed points")),
        equal_first_moments(),
        truncated_is_no_equilibrium(),
        releases(stream.generator("releases")),
        generator_bounds(settings.draws, stream.generator("generator bound")),
        composition_fails(),
        data_remain(),
        projections(stream.generator("projections")),
        renormalized_domain(settings.draws, stream.generator("domain")),
        sliding_point(),
        sliding_ensemble(stream.generator("sliding")),
        least_squares_weights(stream.generator("weights")),
        printed_radius(),
        beyond_alignment.alignment_is_lost(settings.draws, stream.generator("alignment")),
        beyond_alignment.collapse_without_alignment(stream.generator("unaligned")),
        beyond_alignment.cumulative_are_free(settings.draws, stream.generator("cumulative")),
        beyond_alignment.layer_flow_differs(),
    ):
        measured |= part
    return dataset(
        {name: variable((), value, text) for name, (value, text) in measured.items()},
        {},
        title="Small examples that decide a statement by arithmetic",
    )
