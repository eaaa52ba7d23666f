"""Proposition 1, the formula of Theorem 2 and the isometry with the round sphere on random covariances."""

from __future__ import annotations

from itertools import product

import numpy as np
import scipy
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.formula_audit import relative_error
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.starts_and_targets import ANISOTROPIC, circle
from repdyn.bn_mean_field.settings import MetricAudit
from repdyn.bn_mean_field.theory import manifold

TICKS = 36
MEASURES = {
    "asymmetry": "relative asymmetry of the metric on the tangent space, h(p, q) - h(q, p)",
    "asymmetry_oblique": "the same for (I - b b^T Sigma) Sigma in place of G",
    "smallest": "smallest eigenvalue of ||b||^2 G on the tangent space",
    "smallest_in_space": "smallest eigenvalue of ||b||^2 G on the whole space",
    "others": "largest distance of its other tangent eigenvalues from 1",
    "others_unscaled": "the same for G without the factor ||b||^2",
    "alignment": "squared cosine of the angle between b and Sigma b",
    "kantorovich": "Kantorovich's lower bound of that cosine, 4 k/(k+1)^2",
    "round_gap": "relative gap between G and the round metric on the tangent space",
    "chord_gap": "relative gap between G and the Euclidean metric on the tangent space",
    "formula_gap": "relative gap between ||b||^2 A grad and G^+ P grad",
    "formula_gap_unscaled": "the same without the factor ||b||^2",
    "pairing": "relative gap between the pairing of ||b||^2 A grad with tangents and the derivative",
    "pairing_printed": "the same for the gradient with the printed sign of Theorem 2",
    "ascent": "smallest <t, A t>/|t|^2 over tangents t, with A = (I - b b^T Sigma)(I - Sigma b b^T)",
    "ascent_in_space": "the same over all vectors",
}


def metric_audit(settings: MetricAudit, stream: Stream) -> xr.Dataset:
    """The paper's G, formed literally, on random covariances and points of Omega."""
    shape = (len(settings.dimensions), len(settings.conditions), settings.draws)
    values = {name: np.empty(shape) for name in MEASURES}
    for i, j, draw in product(*map(range, shape)):
        dimension, condition = settings.dimensions[i], settings.conditions[j]
        rng = stream.generator(dimension, repr(condition), draw)
        for name, value in _measures(dimension, condition, rng).items():
            values[name][i, j, draw] = value
    ticks, lengths, chords = _ticks()
    dims = ("dimension", "condition", "draw")
    return dataset(
        {name: variable(dims, values[name], long_name) for name, long_name in MEASURES.items()}
        | {
            "tick_position": variable(("tick", "coordinate"), ticks, "points of Omega at equal angles of b/||b||"),
            "tick_length": variable("tick", lengths, "length in G of Omega from the tick to the next", "radian"),
            "tick_euclidean": variable("tick", chords, "Euclidean length of Omega from the tick to the next"),
        },
        {
            "tick": index("tick", len(ticks), "point of Omega, Sigma = diag(5, 1)"),
            "coordinate": variable("coordinate", np.array([1, 2]), "coordinate"),
            "dimension": variable("dimension", np.array(settings.dimensions), "input dimension"),
            "condition": variable("condition", np.array(settings.conditions), "condition number of Sigma"),
            "draw": index("draw", settings.draws, "draw of Sigma and b"),
        },
        title="The metric of section 2.2 on random covariances",
    )


def random_covariance(dimension: int, condition: float, rng: np.random.Generator) -> Array:
    """A covariance with random axes and eigenvalues spread evenly in the logarithm from 1 to `condition`."""
    basis = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
    cov = basis * np.geomspace(1, condition, dimension) @ basis.T
    return (cov + cov.T) / 2


def _ticks() -> tuple[Array, Array, Array]:
    """Points of the ellipse at equal angles, and the arcs between them measured with the paper's G.

    The arc is followed in the parameter s of (cos s / sqrt 5, sin s), which is not the angle, by Gauss quadrature.
    """
    ticks = manifold.normalize(circle(TICKS), ANISOTROPIC)
    axes = 1 / np.sqrt(np.diag(ANISOTROPIC))
    ends = np.unwrap(np.arctan2(*(np.concatenate([ticks, ticks[:1]]) / axes).T[::-1]))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    half = np.diff(ends)[:, None] / 2
    s = (ends[:-1, None] + half) + half * nodes
    points, velocity = (np.stack(part, axis=-1) * axes for part in ((np.cos(s), np.sin(s)), (-np.sin(s), np.cos(s))))
    speed = np.sqrt(np.einsum("tni,tnij,tnj->tn", velocity, manifold.bn_metric(points, ANISOTROPIC), velocity))
    euclidean = np.linalg.norm(velocity, axis=-1)
    return ticks, np.sum(half * speed * weights, axis=-1), np.sum(half * euclidean * weights, axis=-1)


def _measures(dimension: int, condition: float, rng: np.random.Generator) -> dict[str, float]:
    cov = random_covariance(dimension, condition, rng)
    b = manifold.normalize(rng.standard_normal((1, dimension)), cov)
    G, squared = manifold.bn_metric(b, cov)[0], float(np.sum(b**2))
    T = scipy.linalg.null_space(b @ cov)
    on_tangents = squared * T.T @ G @ T
    eigenvalues = np.linalg.eigvalsh((on_tangents + on_tangents.T) / 2)
    return {
        "asymmetry": _asymmetry(on_tangents),
        "asymmetry_oblique": _asymmetry(T.T @ (np.eye(dimension) - b.T @ b @ cov) @ cov @ T),
        "smallest": eigenvalues[0],
        "smallest_in_space": np.linalg.eigvalsh(squared * (G + G.T) / 2)[0],
        "others": np.abs(eigenvalues[1:] - 1).max(initial=0.0),
        "others_unscaled": np.abs(eigenvalues[1:] / squared - 1).max(initial=0.0),
        "alignment": manifold.smallest_metric_eigenvalue(b, cov)[0],
        "kantorovich": float(manifold.kantorovich_bound(condition)),
        "round_gap": relative_error(on_tangents, squared * T.T @ manifold.round_metric(b)[0] @ T),
        "chord_gap": relative_error(on_tangents, np.eye(dimension - 1)),
        **_ascent(cov, b, T),
        **_gradient_measures(cov, b, G, T, rng.standard_normal((1, dimension))),
    }


def _gradient_measures(cov: Array, b: Array, G: Array, T: Array, grad: Array) -> dict[str, float]:
    """A linear function of gradient `grad`: its derivative along a tangent t is t^T grad, whatever the metric."""
    formula = manifold.riemannian_gradient(grad, b, cov)[0]
    derivative, literal = T.T @ grad[0], manifold.gradient_by_metric(grad, b, cov)[0]
    return {
        "formula_gap": relative_error(formula, literal),
        "formula_gap_unscaled": relative_error(formula / np.sum(b**2), literal),
        "pairing": relative_error(T.T @ G @ formula, derivative),
        "pairing_printed": relative_error(-T.T @ G @ formula, derivative),
    }


def _ascent(cov: Array, b: Array, T: Array) -> dict[str, float]:
    A = manifold.condition_operator(b, cov)[0]
    return {"ascent": np.linalg.eigvalsh(T.T @ A @ T)[0], "ascent_in_space": np.linalg.eigvalsh(A)[0]}


def _asymmetry(matrix: Array) -> float:
    return float(np.abs(matrix - matrix.T).max() / np.abs(matrix).max())
