"""What the theory refuses, each part of each condition alone, and what stands at its border and is taken."""

import re

import numpy as np
import pytest

from repdyn.universality.theory import alternatives, distribution, domain, effective, final, identical

RATES = (0.1, 0.2, 1.0)


def rng():
    return np.random.default_rng(0)


REFUSED = [
    (lambda: domain.rates([1.0, 0.0], 1.0, 1.0), "eta_h.*0"),
    (lambda: domain.rates(1.0, -1.0, 1.0), "eta_y.*-1"),
    (lambda: domain.rates(1.0, 1.0, [0.0, 2.0]), "dx2.*0"),
    (lambda: domain.realizable([1.0, 0.0], 1.0, 1.0, 1.0), "h.*0"),
    (lambda: domain.realizable(1.0, -0.5, 1.0, 1.0), "y.*-0.5"),
    (lambda: domain.realizable(1.0, 1.0, np.nan, 1.0), "w.*1"),
    (lambda: domain.realizable(1.0, 1.0, 1.0, -1.0), "dy2.*-1"),
    (lambda: domain.realizable(1.0, [1.0, 1.0], [0.0, -1.0], 1.0), "y.*w.*3"),
    (lambda: effective.two_point_observables([1.0, 2], [1.0], [0.0], [0.0], [0.0], [1.0]), "h1, h2"),
    (lambda: effective.two_point_observables([1.0], [1.0], [0.0, 1], [0.0], [0.0], [1.0]), "o1, o2"),
    (lambda: effective.two_point_observables([1.0], [1.0], [0.0], [0.0], [0.0, 1], [1.0]), "y1, y2"),
    (lambda: effective.two_point_observables([1.0], [2.0], [0.0, 1], [0.0, 1], [0.0], [1.0]), "2.*1"),
    (lambda: effective.conserved([1.0, 0.0], 1.0, *RATES), "h.*0"),
    (lambda: effective.conserved(1.0, np.inf, *RATES), "y.*1"),
    (lambda: effective.mean_prediction(1.0, np.nan, 0.0, 0.1), "mean0.*1"),
    (lambda: effective.mean_prediction(1.0, 0.0, np.inf, 0.1), "target_mean.*1"),
    (lambda: effective.effective_loss(0.0, 1.0, 1.0, 1.0, -1.0, 0.1), "offset2.*-1"),
    (lambda: effective.effective_loss(0.0, 1.0, 1.0, -1.0, 1.0, 0.1), "dy2.*-1"),
    (lambda: final.amplitudes(-1.0, 1.0, 1.0, 1.0, 1.0), "h0.*-1"),
    (lambda: final.amplitudes(1.0, -1.0, 1.0, 1.0, 1.0), "y0.*-1"),
    (lambda: final.amplitudes(1.0, 1.0, -1.0, 1.0, 1.0), "dx.*-1"),
    (lambda: final.amplitudes(1.0, 1.0, 1.0, -1.0, 1.0), "dy.*-1"),
    (lambda: final.amplitudes(1.0, 1.0, 1.0, 1.0, 0.0), "rho.*0"),
    (lambda: final.amplitudes([0.0, 1.0], 1.0, [1.0, 0.0], 1.0, 1.0), "h0.*0"),
    (lambda: final.from_amplitudes(np.nan, 1.0), "high.*1"),
    (lambda: final.from_amplitudes(1.0, -1.0), "low.*-1"),
    (lambda: final.stable_point(-1.0, 0.0, *RATES), "A_high = -1, A_low = 0"),
    (lambda: final.stable_point(0.0, 0.0, *RATES), "A_high = 0, A_low = 0"),
    (lambda: final.large_weight_limit([1.0, np.nan]), "high.*1"),
    (lambda: identical.identical_solution([0.0, -1.0], 1.0, 0.0, *RATES), "t.*-1"),
    (lambda: identical.identical_solution(1.0, 0.0, 0.0, *RATES), "h.*0"),
    (lambda: identical.identical_solution(1.0, 1.0, -1.0, *RATES), "y.*-1"),
    (lambda: identical.identical_solution(1.0, 1.0, 0.0, 0.0, 0.2, 1.0), "eta_h.*0"),
    (lambda: identical.identical_solution(1.0, 1.0, 0.0, 0.1, 0.0, 1.0), "eta_y.*0"),
    (lambda: identical.identical_solution(1.0, 1.0, 0.0, 0.1, 0.2, 0.0), "dx2.*0"),
    (lambda: alternatives.altered_solution("cube", 3, 1, np.ones(3), 1e-3, 1e-2, 1.0, 0.5), "cube"),
    *(
        (lambda law=law, change=change: law(**{"q": 1.0, "dx": 1.0, "dy": 1.0, "rho": 1.0, "G": 1.0} | change), message)
        for law in (
            distribution.final_distance_cdf,
            distribution.final_distance_cdf_as_printed,
            distribution.final_distance_density,
            distribution.final_distance_density_as_printed,
        )
        for change, message in (
            ({"q": [1.0, 0.0]}, "q.*0"),
            ({"dx": 0.0}, "dx.*0"),
            ({"dy": -1.0}, "dy.*-1"),
            ({"rho": 0.0}, "rho.*0"),
            ({"G": 0.0}, "G.*0"),
        )
    ),
    (lambda: distribution.sample_final_distance(3, 0.0, 1.0, 1.0, 1.0, rng()), "dx.*0"),
    (lambda: distribution.sample_final_distance(3, 1.0, 1.0, 1.0, -1.0, rng()), "G.*-1"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_each_bad_argument_is_refused_with_its_value(call, message):
    with pytest.raises(ValueError, match=re.escape(message).replace(r"\.\*", ".*")):
        call()


def test_arguments_at_the_limit_are_accepted():
    # Cauchy-Schwarz as an equality: y - w = -sqrt(y dy2) or +sqrt(y dy2).
    domain.realizable(1.0, [4.0, 4.0], [6.0, 2.0], 1.0)
    domain.realizable(1.0, 0.0, 0.0, 0.0)
    assert final.final_distance(0.0, 3.0, 0.0, 1.0, 1.0) == 0  # a point and itself
    assert final.final_distance(2.0, 0.0, 1.0, 0.0, 1.0) == 2  # equal targets, no output: nothing moves
    assert final.stable_point(1.0, 0.0, *RATES).h == 1
    assert final.stable_point(-1.0, 1e-3, *RATES).h > 0
    h, y = identical.identical_solution([0.0, 5.0], 0.5, 0.0, *RATES)  # no output: h is A_high from the start
    np.testing.assert_allclose(h, 0.5)
    np.testing.assert_allclose(y, 0, atol=1e-15)
    assert effective.effective_loss(0.0, 1.0, 0.0, 1.0, 0.0, 0.1) == 0
    assert distribution.final_distance_cdf(1e9, 1.0, 0.0, 1.0, 1.0) == pytest.approx(1)
