"""Audits of formulas on a small draw: what is off by a sign or a factor has just that error, the rest is rounding."""

from functools import cache

import numpy as np
import pytest
import torch

from repdyn.base.streams import Stream
from repdyn.bn_mean_field import settings as sizes
from repdyn.bn_mean_field.experiments.formula_audit import formula_audit
from repdyn.bn_mean_field.methods import formula_audit as audit
from repdyn.bn_mean_field.methods.formula_audit import FORMULAS, random_draw

WIDTH, RADII = 4, (0.5, 3.0)
FACTORS = {  # printed error, control: of a lost sign 2, of a lost factor c |c - 1| or 1 - 1/c
    "bn_outer": (2, None),
    "bn_inner": (2, None),
    "normalized_outer": (2, None),
    "normalized_inner": (RADII[1] ** 2 - 1, None),
    "vanilla_outer": (2, None),
    "velocity_field_on_manifold": (0, 1 - 1 / WIDTH),
    "velocity_field_of_bn": (0, 1 - 1 / WIDTH),
    "velocity_field_of_vanilla": (0, 1 - 1 / WIDTH),
    "longer_neuron_of_bn": (0, 0.9),
    "longer_neuron_of_vanilla": (0, 9),
    "direction_of_longer_neuron_of_bn": (0, 0.9),
    "direction_of_longer_neuron_of_vanilla": (0, 0.9),
    "gradient_outer": (2, None),
    "gradient_inner": (2, None),
    "euclidean_gradient": (WIDTH - 1, None),
}


@cache
def draw(seed=0):
    return random_draw(60, 3, WIDTH, RADII, np.random.default_rng(seed))


@pytest.mark.parametrize("name", FACTORS)
def test_lost_signs_and_factors_are_seen_in_full(name):
    errors, (printed, control) = getattr(audit, name)(draw()), FACTORS[name]
    assert errors.printed == pytest.approx(printed, abs=1e-9)
    assert errors.corrected < 1e-9
    assert errors.control == pytest.approx(printed if control is None else control)


@pytest.mark.parametrize("equation", FORMULAS)
@pytest.mark.parametrize("seed", [1, 2])
def test_corrected_formulas_are_right_and_controls_are_not(equation, seed):
    errors = FORMULAS[equation](draw(seed))
    assert errors.corrected < 1e-8
    assert errors.control > 1e-2


def test_velocities_by_autograd():
    d = draw(3)
    for normalize, flow in ((audit.batch_norm, d.bn), (audit.IDENTITY, d.vanilla)):
        a, b = (torch.tensor(part, requires_grad=True) for part in (d.a, d.b))
        z = torch.tensor(d.x) @ b.T
        if normalize is audit.batch_norm:
            z = (z - z.mean(dim=0)) / z.std(dim=0, correction=0)
        loss = 0.5 * ((torch.relu(z) @ a / WIDTH - torch.tensor(d.y)) ** 2).mean()
        for own, part in zip(torch.autograd.grad(loss, (a, b)), flow, strict=True):
            np.testing.assert_allclose(part, -own, atol=1e-12)
    np.testing.assert_allclose(d.cov, np.cov(d.x.T, bias=True))
    np.testing.assert_allclose(np.linalg.norm(d.b, axis=1), 1)
    np.testing.assert_allclose((d.x @ d.bbar.T).std(axis=0), 1)
    assert d.rate == 1 / WIDTH


def test_controls_by_hand():
    d = draw(4)
    z = d.x @ d.b.T
    shifted = (d.x + 1) @ d.bbar.T
    wanted = (z - z.mean(axis=0)) / z.std(axis=0)
    largest = np.abs(wanted).max()
    assert audit.normalizer(d).control == pytest.approx(np.abs(shifted - wanted).max() / largest)
    f, plain = (np.maximum(part, 0) @ d.a for part in (wanted, z))
    assert audit.equal_functions(d).control == pytest.approx(np.abs(plain - f).max() / np.abs(f).max())
    radial = np.abs((d.b * d.vanilla[1]).sum(axis=1)) / np.linalg.norm(d.vanilla[1], axis=1)
    assert audit.kept_length(d).control == pytest.approx(radial.max())
    sizes_ = np.sqrt((z**2).mean(axis=0))
    off = np.abs(np.abs(z.mean(axis=0)) - sizes_).max() / sizes_.max()
    assert audit.size_in_a_direction(d).printed == pytest.approx(off)
    assert audit.radial_fraction(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0]])).tolist() == [0.6]


def test_the_dataset_holds_each_formula_on_each_draw():
    own = Stream(20, ("bn_mean_field", "audit"))
    data = formula_audit(sizes.FormulaAudit(draws=2, samples=60, dimension=3, width=WIDTH, radii=RADII), own)
    for number in (0, 1):
        drawn = random_draw(60, 3, WIDTH, RADII, own.generator(number))
        for equation in list(FORMULAS)[::5]:
            cell = data.sel(equation=equation, draw=number)
            errors = FORMULAS[equation](drawn)
            np.testing.assert_allclose([cell.printed, cell.corrected, cell.control], errors, atol=1e-12)
