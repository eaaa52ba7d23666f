"""Why intervals leave points out and do not draw them with repetition: a point and its copy are alike in any layer."""

import numpy as np

from repdyn.diagnostics.theory.intervals import folds, jackknife
from repdyn.diagnostics.theory.similarity import shape_of, similarities

POINTS, WANTED, SEEDS = 60, ("cka_debiased",), range(12)


def unrelated(seed):
    """Debiased CKA, as a function of the points, of two layers that share nothing, so that it is 0."""
    X, Y = np.random.default_rng(seed).normal(size=(2, POINTS, 30))
    return lambda points: similarities(shape_of(X[points], WANTED), shape_of(Y[points], WANTED), WANTED)["cka_debiased"]


def drawn_with_repetition(seed):
    """Ends of the bootstrap's 99 % interval."""
    statistic, rng = unrelated(seed), np.random.default_rng(1000 + seed)
    return np.quantile([statistic(points) for points in rng.integers(POINTS, size=(60, POINTS))], [0.005, 0.995])


def test_intervals_of_unrelated_layers_hold_zero_where_those_of_the_bootstrap_lie_above_it():
    left_out = [jackknife(unrelated(seed), folds([np.arange(POINTS)]), POINTS) for seed in SEEDS]
    assert sum(low <= 0 <= high for _, low, high in left_out) >= len(SEEDS) - 1
    assert all(drawn_with_repetition(seed)[0] > 0.1 for seed in SEEDS)
