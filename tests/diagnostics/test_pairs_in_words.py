"""What is told of pairs beside the two-point theory, decided on fits that are given."""

import numpy as np
import pytest
import xarray as xr
from tests.diagnostics.test_training_summary import CURVES, of_pairs, told

LEARNED = np.array([[1, 0], [1, 1], [0, 1]])  # of three pairs and two seeds


def fitted(explained, y):
    """A fit of three pairs and two seeds: explained variances of those that are learned, of h or y; of others any."""
    curves = np.ones((3, 2, 3))
    curves[:, :, 2] = -3  # w does not count
    curves[LEARNED == 0] = -9
    for place, (at, value) in enumerate(zip(np.argwhere(LEARNED), explained, strict=True)):
        curves[(*at, place % 2)] = value
    return xr.Dataset(
        {
            "explained": (("pair", "seed", "curve"), curves),
            "learned": (("pair", "seed"), LEARNED),
            "y_measured": (("pair", "seed", "step"), y),
        },
        {"curve": ["h", "y", "w"]},
    )


def with_fits(monkeypatch, explained, starts=None, late=(), moments=21):
    """What is told where fits of all moments explain this much and fits of a start what `starts` has for its length.

    Args:
        explained: of the four fits that count.
        starts: the same by number of moments.
        late: pair and seed of outputs that change after 12 moments alone; the others do in the first four.
    """
    y = np.tile(np.where(np.arange(moments) < min(4, moments // 4), 0.0, 1.0), (3, 2, 1))
    for at in late:
        y[at] = np.arange(moments) > 12
    asked = []

    def fit(part, layer):
        count = part.sizes["step"]
        asked.append((count, layer))
        return fitted(explained if count == moments else (starts or {})[count], y[:, :, :count])

    monkeypatch.setattr("repdyn.diagnostics.training_summary.effective_theory.fit", fit)
    sentence = told(of_pairs(*CURVES).isel(step=slice(moments)), "pairs and theory")
    assert {layer for _, layer in asked} == {"7"}
    return sentence


WORST = dict.fromkeys((15, 10), (-1, -1, -1, -1))


@pytest.mark.parametrize(
    ("explained", "verdict", "text", "threshold"),
    [
        ((0.95, 0.92, 0.99, 0.91), "yes", "Pairs follow the two-point theory", 0.9),
        ((0.6, 0.7, 0.55, 0.89), "no", "The two-point theory describes pairs in outline only", 0.9),
        ((0.1, 0.3, -0.2, 0.45), "no", "Pairs do not follow the two-point theory", 0.5),
        ((0.3, 0.7, 0.6, 0.8), "cannot tell", "", 0.9),
        ((0.6, 0.95, 0.7, 0.99), "cannot tell", "", 0.9),
        ((0.3, 0.2, 0.4, 0.99), "cannot tell", "", 0.9),
    ],
)
def test_pairs_are_told_by_the_worst_and_the_best_of_those_that_were_learned(
    monkeypatch, explained, verdict, text, threshold
):
    sentence = with_fits(monkeypatch, explained, WORST)
    why = "Cannot tell whether pairs follow the two-point theory: it describes some pairs better than others"
    assert (sentence.verdict, sentence.text, sentence.threshold) == (verdict, text or why, threshold)
    np.testing.assert_allclose(sentence.interval, (np.median(explained), min(explained), max(explained)))
    assert sentence.source == (
        "explained variance of distances h and y in '7', range over 4 fits; van Rossem and Saxe, eq. (7)"
    )


GOOD, ONE_BAD = (0.91, 0.99, 0.95, 0.92), (0.99, 0.99, 0.89, 0.99)


@pytest.mark.parametrize(
    ("starts", "late", "until"),
    [
        ({15: GOOD, 10: GOOD}, (), 700),
        ({15: ONE_BAD, 10: GOOD}, (), 450),
        ({15: ONE_BAD, 10: ONE_BAD}, (), None),
        ({15: GOOD}, [(1, 1)], 700),
        ({15: ONE_BAD}, [(1, 1)], None),  # of a start of 10 moments that output knows nothing
        ({15: ONE_BAD, 10: GOOD}, [(0, 1)], 450),  # which was not learned
    ],
)
def test_a_start_is_followed_where_every_output_has_changed_and_every_fit_is_good(monkeypatch, starts, late, until):
    sentence = with_fits(monkeypatch, (0.1, 0.3, -0.2, 0.45), starts, late)
    follow = f"Pairs follow the two-point theory until step {until} and not to the end"
    assert sentence.text == (follow if until else "Pairs do not follow the two-point theory")


def test_a_start_of_fewer_than_four_moments_is_not_fitted(monkeypatch):
    sentence = with_fits(monkeypatch, (0.1, 0.3, -0.2, 0.45), {}, moments=5)
    assert sentence.text == "Pairs do not follow the two-point theory"
