"""Questions of the study's page whose quick answer is wrong: the quick answer and the right one, computed."""

import numpy as np
import pytest


def test_right_angled_cones_hold_two_directions_only_below_90_degrees():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(200_000, 3, 3))
    acute = np.ones(len(means), bool)
    for vertex in range(3):
        first, second = (means[:, other] - means[:, vertex] for other in range(3) if other != vertex)
        acute &= (first * second).sum(-1) > 0
    share = 3 * np.sqrt(3) / (4 * np.pi)
    assert acute.mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / len(means)))
    obtuse = np.array([[1.0, 0.1, 0.0], [-1.0, 0.1, 0.0]])  # from the third mean to the two others
    rotations = np.linalg.qr(rng.normal(size=(20_000, 3, 3)))[0]
    assert (np.einsum("rij,kj->rki", rotations, obtuse).min(axis=(1, 2)) < 0).all()
