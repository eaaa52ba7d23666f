"""The paper's velocities against automatic differentiation of its loss with torch's own batch normalisation.

The data are neither Gaussian nor isotropic; their empirical law is mu, for which section 2 holds exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr

from repdyn.base.checks import Array
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.settings import GradientAudit
from repdyn.bn_mean_field.theory import flows, manifold
from repdyn.bn_mean_field.theory.bounds import first_step_norm
from repdyn.bn_mean_field.theory.velocity import empirical_velocity

NO_EPS = 1e-300  # torch refuses eps = 0; this vanishes beside any variance
SCALE = 10.0  # c of section 4.2
STEP = 0.1  # mean-field step of the scan over eps

MEASURES = {
    "normaliser_gap": "bbar^T x against BatchNorm1d(b^T x), centred data",
    "normaliser_gap_off_centre": "the same for data of mean 1",
    "bn_a_printed": "eq. (6), a-line as printed, against autograd",
    "bn_b_printed": "eq. (6), b-line as printed, against autograd",
    "bn_a": "eq. (6), a-line corrected, against autograd",
    "bn_b": "eq. (6), b-line corrected, against autograd",
    "vanilla_a_printed": "eq. (8), a-line as printed, against autograd",
    "vanilla_a": "eq. (8), a-line corrected, against autograd",
    "vanilla_b": "eq. (8), b-line as printed, against autograd",
    "mean_field_bn": "eq. (21) against m times autograd",
    "mean_field_vanilla": "eq. (22) against m times autograd",
    "mean_field_without_m": "eq. (21) against autograd without the factor m",
    "radial": "largest radial fraction of the b-gradient of the BN model",
    "radial_vanilla": "largest radial fraction of the b-gradient of the vanilla model",
    "scaled_bn": "largest |c b2'/b1' - 1| of the BN model for b2 = c b1, c = 10",
    "scaled_vanilla": "largest |b2'/b1' - 1| of the vanilla model",
    "turned_bn": "speed of direction of b2 over that of b1, BN",
    "turned_vanilla": "speed of direction of b2 over that of b1, vanilla",
}


@dataclass(frozen=True)
class Case:
    """Centred inputs, targets, particles of unit length and the covariance of one draw."""

    x: Array
    y: Array
    a: Array
    b: Array
    cov: Array


def gradient_audit(settings: GradientAudit, stream: Stream) -> xr.Dataset:
    """Printed and corrected equations (2) to (8), (21), (22) against autograd; relative to the largest entry."""
    found = {name: np.empty(settings.draws) for name in MEASURES}
    chain = {form: np.empty((settings.draws, len(settings.radii))) for form in ("printed", "corrected")}
    tilt, norm = (np.empty((2, settings.draws, len(settings.eps_radii))) for _ in range(2))
    for draw in range(settings.draws):
        case = _case(settings, stream.generator(draw))
        for name, value in {**_velocities(case), **_scalings(case)}.items():
            found[name][draw] = value
        for r, radius in enumerate(settings.radii):
            for form, value in _chain_rule(case, radius).items():
                chain[form][draw, r] = value
        for r, radius in enumerate(settings.eps_radii):
            for e, eps in enumerate((NO_EPS, settings.eps)):
                tilt[e, draw, r], norm[e, draw, r] = _with_eps(case, radius, eps)
    return _gradient_dataset(settings, found, chain, tilt, norm)


def _gradient_dataset(
    settings: GradientAudit, found: dict[str, Array], chain: dict[str, Array], tilt: Array, norm: Array
) -> xr.Dataset:
    by_eps = ("with_eps", "draw", "eps_radius")
    return dataset(
        {name: variable("draw", found[name], long_name) for name, long_name in MEASURES.items()}
        | {
            f"chain_{form}": variable(("draw", "radius"), values, f"eq. (7), b-line {form}, against the chain rule")
            for form, values in chain.items()
        }
        | {
            "eps_radial": variable(by_eps, tilt, "median radial fraction of the b-gradient"),
            "eps_norm": variable(by_eps, norm, "median norm after one step over the norm of eps = 0"),
        },
        {
            "draw": index("draw", settings.draws, "draw of data and network"),
            "radius": variable("radius", np.array(settings.radii), "length of the inner weights"),
            "with_eps": variable("with_eps", np.array([0, 1]), "0: eps = 0, 1: eps of the settings"),
            "eps_radius": variable("eps_radius", np.array(settings.eps_radii), "length of the inner weights"),
            "eps": variable((), settings.eps, "eps added to the variance"),
            "samples": variable((), settings.samples, "inputs per data set"),
            "width": variable((), settings.width, "neurons"),
        },
        title="The paper's velocities against automatic differentiation",
    )


def autograd_flow(
    x: Array, y: Array, a: Array, b: Array, *, batch_norm: bool, eps: float = NO_EPS
) -> tuple[Array, Array]:
    """-dL/da and -dL/db of the ReLU network of eq. (1), half the mean squared error, by torch."""
    a, b = (torch.tensor(value, requires_grad=True) for value in (a, b))
    hidden = torch.relu(_preactivation(torch.tensor(x) @ b.T, batch_norm, eps))
    (((hidden @ a / len(a) - torch.tensor(y)) ** 2).mean() / 2).backward()
    return -a.grad.numpy(), -b.grad.numpy()


def _preactivation(z: torch.Tensor, batch_norm: bool, eps: float) -> torch.Tensor:
    if not batch_norm:
        return z
    return torch.nn.BatchNorm1d(z.shape[1], eps=eps, affine=False, dtype=torch.float64).train()(z)


def _case(settings: GradientAudit, rng: np.random.Generator) -> Case:
    """Log-normal inputs, mixed and centred; a noisy target; unit weights in random directions."""
    d, m = settings.dimension, settings.width
    x = np.exp(rng.standard_normal((settings.samples, d)) / 2) @ (np.eye(d) + rng.standard_normal((d, d)) / 2)
    x = x - x.mean(axis=0)
    y = np.sin(x[:, 0]) + x[:, 1] + 0.1 * rng.standard_normal(len(x))
    b = rng.standard_normal((m, d))
    return Case(x, y, rng.standard_normal(m), b / np.linalg.norm(b, axis=1, keepdims=True), x.T @ x / len(x))


def _moments(case: Case, v: Array) -> tuple[Array, Array]:
    """E l' sigma and E l' sigma' x at the weights v, written out."""
    hidden = np.maximum(case.x @ v.T, 0)
    residual = (hidden @ case.a / len(case.a) - case.y)[:, None] / len(case.x)
    return np.sum(residual * hidden, axis=0), ((hidden > 0) * residual).T @ case.x


def _velocities(case: Case) -> dict[str, float]:
    m, bbar = len(case.a), manifold.normalize(case.b, case.cov)
    bn, vanilla = (autograd_flow(case.x, case.y, case.a, case.b, batch_norm=on) for on in (True, False))
    moments, plain = _moments(case, bbar), _moments(case, case.b)
    printed = flows.bn_flow_as_printed(*moments, case.a, case.b, case.cov, 1 / m)
    corrected = flows.bn_flow(*moments, case.a, case.b, case.cov, 1 / m)
    printed_vanilla = flows.vanilla_flow_as_printed(*plain, case.a, 1 / m)
    fast = flows.bn_flow(*moments, case.a, case.b, case.cov)
    fast_vanilla = flows.vanilla_flow(*plain, case.a)
    return {
        **_normaliser(case, bbar),
        "bn_a_printed": _gap(printed[0], bn[0]),
        "bn_b_printed": _gap(printed[1], bn[1]),
        "bn_a": _gap(corrected[0], bn[0]),
        "bn_b": _gap(corrected[1], bn[1]),
        "vanilla_a_printed": _gap(printed_vanilla[0], vanilla[0]),
        "vanilla_a": _gap(-printed_vanilla[0], vanilla[0]),
        "vanilla_b": _gap(printed_vanilla[1], vanilla[1]),
        "mean_field_bn": max(_gap(f, m * g) for f, g in zip(fast, bn, strict=True)),
        "mean_field_vanilla": max(_gap(f, m * g) for f, g in zip(fast_vanilla, vanilla, strict=True)),
        "mean_field_without_m": max(_gap(f, g) for f, g in zip(fast, bn, strict=True)),
        "radial": _radial(case.b, bn[1]).max(),
        "radial_vanilla": _radial(case.b, vanilla[1]).max(),
    }


def _normaliser(case: Case, bbar: Array) -> dict[str, float]:
    found = {}
    for name, x in (("normaliser_gap", case.x), ("normaliser_gap_off_centre", case.x + 1)):
        z = _preactivation(torch.tensor(x @ case.b.T), True, NO_EPS).numpy()
        found[name] = _gap(x @ bbar.T, z)
    return found


def _chain_rule(case: Case, radius: float) -> dict[str, float]:
    """Velocity of bbar = b/||b||_Sigma pushed forward from autograd's b', against eq. (7)."""
    b = radius * case.b
    bbar, m = manifold.normalize(b, case.cov), len(case.a)
    db = autograd_flow(case.x, case.y, case.a, b, batch_norm=True)[1]
    along = np.sum((bbar @ case.cov) * db, axis=1, keepdims=True)
    pushed = (db - bbar * along) / manifold.sigma_norm(b, case.cov)[:, None]
    moments = _moments(case, bbar)
    corrected = flows.normalized_flow(*moments, case.a, bbar, case.cov, 1 / m, radius)[1]
    printed = flows.normalized_flow_as_printed(*moments, case.a, bbar, case.cov, 1 / m)[1]
    return {"printed": _gap(printed, pushed), "corrected": _gap(corrected, pushed)}


def _scalings(case: Case) -> dict[str, float]:
    """Two neurons with the same a, the second c times the first, in one model (section 4.2)."""
    a = np.concatenate([case.a[:1], case.a])
    b = np.concatenate([SCALE * case.b[:1], case.b])
    found = {}
    for name, on, factor in (("bn", True, SCALE), ("vanilla", False, 1.0)):
        db = autograd_flow(case.x, case.y, a, b, batch_norm=on)[1]
        found[f"scaled_{name}"] = _gap(factor * db[0], db[1])
        speed = flows.tangential_speed(b[:2], db[:2]) / np.linalg.norm(b[:2], axis=1)
        found[f"turned_{name}"] = speed[0] / speed[1]
    return found


def _with_eps(case: Case, radius: float, eps: float) -> tuple[float, float]:
    """Median radial fraction, and median norm after one step over the law sqrt(r^2 + (h g / r)^2) of eps = 0."""
    b, m = radius * case.b, len(case.a)
    db = m * autograd_flow(case.x, case.y, case.a, b, batch_norm=True, eps=eps)[1]
    unit = np.linalg.norm(empirical_velocity(case.a, case.b, case.x, case.y)[1], axis=1)
    grown = np.linalg.norm(b + STEP * db, axis=1) / first_step_norm(radius, unit, STEP)
    return float(np.median(_radial(b, db))), float(np.median(grown))


def _radial(b: Array, db: Array) -> Array:
    along = np.abs(np.sum(b * db, axis=1)) / np.linalg.norm(b, axis=1)
    return along / np.linalg.norm(db, axis=1)


def _gap(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max() / np.abs(other).max())
