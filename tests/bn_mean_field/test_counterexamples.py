"""Data inside looser hypotheses for which statements of ours would be false."""

import numpy as np
import pytest

from repdyn.bn_mean_field.theory.velocity import empirical_velocity, minibatch_velocity

CORNERS = np.sqrt(2) * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
LABELS = np.array([0.0, 0.0, 1.0, 0.0])


@pytest.mark.parametrize("size", [64, 1024])
def test_batches_of_points_on_an_edge_do_not_approach_the_population(size):
    """The mean of a batch moves the points on the edge of a neuron across its kink, in every second batch."""
    neuron = np.array([1.0]), np.array([[1.0, 0.0]])
    assert empirical_velocity(*neuron, CORNERS, LABELS)[1] == pytest.approx(0.0)
    rng, found = np.random.default_rng(0), []
    for _ in range(400):
        drawn = rng.integers(0, 4, size)
        found.append(minibatch_velocity(*neuron, CORNERS[drawn], LABELS[drawn])[1][0, 1])
    assert 0.15 < np.mean(found) < 0.2
    assert np.std(found) > 0.15


def test_printed_bound_of_equicontinuity_holds_until_the_loss_has_halved():
    """One weight with L = (a - 1)^2 / 2 + 0.6 from a = 0 learns, and W2^2 stays below (t' - t) L(t')."""
    times = np.linspace(0.01, 20, 400)
    a = 1 - np.exp(-times)
    loss = (a - 1) ** 2 / 2 + 0.6
    assert np.max(a**2 / (times * loss)) < 0.7
