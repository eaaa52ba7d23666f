"""Where theorems could fail inside their hypotheses: kinks, zero points, dependent rows, least sizes, rates."""

import numpy as np
import pytest
from scipy.integrate import quad, trapezoid
from scipy.special import expit
from tests.leaky_resnets.test_recomputed_exact import LABORATORY

from repdyn.base.streams import Stream
from repdyn.leaky_resnets.experiments.geodesics import kicked
from repdyn.leaky_resnets.theory.added_neuron import added_activation
from repdyn.leaky_resnets.theory.flows import hamiltonian_flow, symplectic_euler
from repdyn.leaky_resnets.theory.hamiltonian import hamiltonian
from repdyn.leaky_resnets.theory.identity_cost import activation, cost_of_identity
from repdyn.leaky_resnets.theory.minima import added_neuron_coefficient, positive_neuron
from repdyn.leaky_resnets.theory.rotating_geodesic import rotating_path
from repdyn.leaky_resnets.theory.scalar_geodesic import growing_geodesic, growing_path

BIASES = pytest.mark.parametrize("bias", [False, True])


# Proposition 1


@BIASES
@pytest.mark.parametrize("A", [[[2.0]], [[2.0], [-1.0]], [[1.0, 2.0, 3.0]], [[1.0, 0.0], [1.0, 0.0]], [[0.0, 3.0]]])
def test_cost_bounds_the_stable_rank_at_the_least_sizes(A, bias):
    A = np.array(A)
    bound = np.linalg.norm(A, "nuc") ** 2 / (np.sum(A**2) + bias * A.shape[1])
    assert cost_of_identity(A, bias).value >= bound * (1 - 1e-12)


# Proposition 2


DEPENDENT = np.array([[1.0, -0.2, 2.0, 1.0], [-0.1, 1.0, -0.2, -0.1]])  # rank 2 of 4 points, the first and last equal
ZERO = np.hstack([DEPENDENT, np.zeros((2, 1))])


@pytest.mark.parametrize("A", [DEPENDENT, ZERO], ids=["equal points", "a point at 0"])
def test_neuron_lowers_the_cost_where_activations_are_dependent_or_zero(A):
    before, eps = cost_of_identity(A, False).value, 1e-3
    for i, size in enumerate(np.sum(np.minimum(A, 0) ** 2, axis=0)):
        z = positive_neuron(A, i)
        change = (cost_of_identity(np.vstack([A, eps * z]), False).value - before) / eps**2
        assert change == pytest.approx(added_neuron_coefficient(A, z, False), abs=1e-4)
        assert change <= -size + 1e-4


@pytest.mark.parametrize("a", [0.3, 1.0, 4.0])
def test_one_neuron_and_one_point_have_the_minima_that_the_proposition_allows(a):
    """Without bias every a > 0 costs 1, its rank, also beside a second neuron; with bias only 0 is a minimum."""
    others = np.linspace(-1, 1, 41)[:, None]
    costs = [cost_of_identity(np.array([[a], b]), False).value for b in others]
    assert min(costs) == pytest.approx(1.0)
    for size in (0.999 * a, a):
        assert cost_of_identity(np.array([[size]]), True).value == pytest.approx(size**2 / (1 + size**2))


# Theorem 4


@BIASES
@pytest.mark.parametrize("A", [np.zeros((1, 1)), -np.ones((2, 1)), np.ones((1, 3)), np.array([[0.0, -1.0, 2.0]])])
def test_identity_of_theorem_4_where_the_kernel_is_singular_or_zero(A, bias):
    B, gamma, S = np.full(A.shape, 0.7), 1e-3, activation(A, bias)
    inverse = np.linalg.inv(S.T @ S + gamma * np.eye(A.shape[1]))
    speed = B @ S.T @ S - A + gamma * B
    right = np.trace(A @ inverse @ A.T) - np.trace(speed @ inverse @ speed.T) + gamma * np.sum(B**2)
    assert -2 * hamiltonian(A, B, 1.0, bias) == pytest.approx(right, rel=1e-9, abs=1e-12)


def test_growing_geodesic_costs_least_of_all_paths_between_its_ends():
    """(A + v)^2 / K >= 2 B(A) v - e, equal at the path's v alone: the sum over a path depends on its ends only."""
    e = 1.25
    A, v = np.meshgrid(np.linspace(-3, 6, 181), np.linspace(-9, 9, 181), indexing="ij")
    K, own = np.maximum(A, 0) ** 2 + 1, np.sqrt(e * (np.maximum(A, 0) ** 2 + 1) + A**2)
    slack = (A + v) ** 2 / K - 2 * (A + own) / K * v + e
    np.testing.assert_allclose(slack, (v - own) ** 2 / K, atol=1e-10)
    path, B = growing_path(e, 1.0, 2.0, np.linspace(0, 1, 5))
    np.testing.assert_allclose(B, (path + np.sqrt(e * (path**2 + 1) + path**2)) / (path**2 + 1), rtol=1e-12)


@pytest.mark.parametrize("start", [1.0, 3.0])
def test_length_of_the_growing_geodesic_by_quadrature(start):
    e, Lt, gamma = 1.25, 3.0, 0.2
    geodesic = growing_geodesic(e, start, Lt, gamma)
    end = growing_path(e, start, Lt, np.ones(1))[0][0]
    length = quad(lambda A: 1 / np.sqrt(A**2 + 1 + gamma), start, end)[0]
    momenta = growing_path(e, start, Lt, np.linspace(0, 1, 50))[1]
    assert [geodesic.length, geodesic.c] == pytest.approx([length, np.max(momenta**2)])
    assert geodesic.least_cost == pytest.approx(start**2 / (start**2 + 1 + gamma))


def test_path_that_turns_more_than_once_is_no_minimum():
    """The same ends, turned by less: 427 against .59 rad at Lt = 1280."""
    Lt, p = 1280.0, np.linspace(0, 1, 3)
    rates = 1 / 3, (Lt / 3) % (2 * np.pi) / Lt
    far, near = (rotating_path(rate, Lt, p, 5) for rate in rates)
    np.testing.assert_allclose(far[0][[0, -1]], near[0][[0, -1]], atol=1e-9)
    costs = [Lt**2 * np.sum((B[1] @ A[1].T) ** 2) for A, B in (far, near)]
    assert costs == pytest.approx([5.279e6, 4.915e6], rel=1e-3)


# Proposition 9 and conservation


def test_bias_of_a_neuron_that_is_off_grows_twice_as_fast_as_printed():
    """A' = -Lt A + b from 0: least squares over b, no mechanics, gives |b_p|^2 - |b_0|^2 = 2 Lt int b^2."""
    Lt, L = 1.7, 4000
    p = (np.arange(L) + 0.5) / L
    response = np.exp(-Lt * (1 - p))[None] / L
    b = np.linalg.lstsq(response, [-1.0], rcond=None)[0]
    gain = (b[-1] ** 2 - b[0] ** 2) / (Lt * trapezoid(b**2, p))
    assert gain == pytest.approx(2, rel=1e-6)


def test_kinks_change_neither_the_hamiltonian_nor_the_growth_of_weights():
    """Where an entry is 0 it meets its own momentum's rate only as 0 times that rate, whatever slope ReLU has there."""
    generator = np.random.default_rng(3)
    A, B = generator.standard_normal((2, 4, 6))
    A[generator.random(A.shape) < 0.4] = 0.0
    S = activation(A, True)
    for slope in (0.0, 0.5, 1.0):
        gate = np.where(A > 0, 1.0, np.where(A < 0, 0.0, slope))
        dA, dB = B @ S.T @ S - A, B - gate * (S[:4] @ B.T @ B)
        assert np.sum(dA * B + A * dB) == pytest.approx(np.sum(B.sum(axis=1) ** 2), rel=1e-12)


@pytest.mark.parametrize(("u", "Lt"), [(0.5, 1.0), (1.4, 3.0)])
def test_one_neuron_without_bias_varies_less_than_one_over_the_layers(u, Lt):
    """B_l A_{l-1} is conserved there, exactly: of order 1 / L is a bound."""
    path = symplectic_euler(np.array([[2.0]]), np.array([[u / 2.0]]), Lt, False, 40)
    H = [hamiltonian(a, b, Lt, False) for a, b in zip(path.A[:-1], path.B[1:], strict=True)]
    assert np.ptp(H) < 1e-12


# Proposition 5


@pytest.mark.parametrize("Lt", [4.0, 12.0])
def test_one_neuron_between_negative_ends_tends_to_zero_inside(Lt):
    """A = -cosh(Lt (p - 1/2)) / cosh(Lt / 2) is the path of least bias from -1 to -1; it never reaches the kink."""
    p, root = np.linspace(0, 1, 101), np.cosh(Lt / 2)
    A, B = -np.cosh(Lt * (p - 0.5)) / root, -np.exp(Lt * (p - 0.5)) / root
    flow = hamiltonian_flow([[A[0]]], [[B[0]]], Lt, True, p, 1e-10)
    np.testing.assert_allclose(flow.A[:, 0, 0], A, atol=1e-6)
    np.testing.assert_allclose(flow.B[:, 0, 0], B, rtol=1e-6)
    assert -A[50] == pytest.approx(2 * np.exp(-Lt / 2) * expit(Lt))


@pytest.mark.parametrize(("radius", "last"), [(0.4, np.exp(-4.0)), (0.5, 1.0)])
def test_added_neuron_ends_small_also_where_its_triangle_reaches_the_end(radius, last):
    """Of order exp(-Lt (1 - p_0 - r)) below 1, and still of order 1 / (Lt r) where p_0 + r = 1."""
    end = added_activation(1.0, 1.0, 0.5, radius, 40.0)
    assert 0 < end <= last / (40.0 * radius)


@pytest.mark.parametrize(("decay", "vanishes"), [(0.3, True), (0.2, False)])
def test_negative_part_at_a_quarter_vanishes_for_kicks_smaller_than_its_root(decay, vanishes):
    """A kick grows by exp(Lt / 4) from p = 1/2 to 1/4, so it has to fall faster than exp(-Lt / 4)."""
    settings = LABORATORY.model_copy(update={"rank": 3, "width": 8, "points": 10, "decay": decay})
    largest = []
    for seed in (0, 1):
        A, B = kicked(settings, 36.0, True, Stream(1, ("rate",)), seed)
        path = hamiltonian_flow(A, B, 36.0, True, np.array([0.25, 0.5, 0.75]), 1e-6, start=0.5).A
        largest.append(np.max(np.sum(np.minimum(path, 0) ** 2, axis=(1, 2)) / np.sum(path**2, axis=(1, 2))))
    assert max(largest) < 1e-4 if vanishes else min(largest) > 0.1
