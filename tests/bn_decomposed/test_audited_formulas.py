"""Formulas of Appendix C on rows made by hand: what each error and each control is."""

import numpy as np
import pytest

from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments.formula_audit import formula_audit
from repdyn.bn_decomposed.methods import formula_audit as audit
from repdyn.bn_decomposed.settings.study import FormulaAudit


def made():
    """Last row 0, 0, 1, 3, 4 and the rows before: negative, positive, negative, each undone by hand."""
    last = np.array([0.0, 0, 1, 3, 4])
    share = last.sum() / 2
    before = np.where(last > 0, 4 - last, 4 + share)  # largest minus entry; what was above its mean by the share
    share = before.sum() / 1
    middle = np.where(before > 0, before + share, 0)
    share = middle.sum() / 1
    first = np.where(middle > 0, middle.max() - middle, middle.max() + share)
    return np.array([first, middle, before, last])


def rows():
    return audit.lossless_rows(np.array([2, 1, 1, 1]), np.array([1.0, 2.0, 1.0]), 1)


def test_rows_are_undone_by_hand():
    np.testing.assert_allclose(rows(), made())
    for before, after, sign in zip(made()[:-1], made()[1:], (-1, 1, -1), strict=True):
        np.testing.assert_allclose(np.maximum(sign * (before - before.mean()), 0), after, atol=1e-12)
    assert audit.loss_of_clusters(rows()) < 1e-12
    spoiled = rows()
    spoiled[2, 0] *= 1.1
    assert audit.loss_of_clusters(spoiled) > 0.01


def gaps(row):
    return np.diff(np.unique(np.round(row, 9)))


def change(values):
    return np.abs(np.array(values) - values[0]).max() / abs(values[0])


def test_errors_and_controls_by_hand():
    first, middle, before, last = made()
    mean = [row.mean() for row in made()]
    errors = audit.eq_31(rows())
    assert errors.corrected < 1e-12
    assert errors.control == pytest.approx(change([gaps(middle)[0], gaps(before)[0]]))
    errors = audit.eq_31_mixed(rows())
    assert errors.printed == pytest.approx(change([gaps(row)[1] for row in made()]))
    assert errors.corrected == pytest.approx(change([gaps(row)[1:-1].min() for row in made()]), abs=1e-12)
    errors = audit.eq_32(rows())
    assert errors.corrected == 0
    assert errors.control == pytest.approx(max(mean[0] / m for m in mean) - 1)
    share = (middle > 0).mean()
    errors = audit.eq_33(rows())
    assert errors.corrected < 1e-12
    assert errors.control == pytest.approx(abs(share * mean[1] / mean[2] - 1))
    errors = audit.eq_35b(rows())
    assert errors.corrected < 1e-12
    assert errors.control == pytest.approx(1)  # deviations from the mean add up to 0
    share = (last > 0).mean()
    errors = audit.eq_35c(rows())
    assert errors.corrected < 1e-12
    assert errors.control == pytest.approx(abs(share / (1 - share) - 1))
    height = [middle.max() - mean[1], before.max() - mean[2]]
    errors = audit.eq_35d(rows())
    assert errors.corrected == pytest.approx(max(0, height[1] / height[0] - 1))
    assert errors.control == pytest.approx(max(0, height[0] / height[1] - 1))
    assert audit.eq_35d(rows()[::-1]).corrected == errors.control > 0  # in the opposite order the height rises
    errors = audit.eq_35e(rows())
    assert errors.corrected < 1e-12
    assert errors.control == pytest.approx(abs(middle.max() - first.max()) / first.max())
    errors = audit.eq_35f(rows())
    assert errors.corrected == 0
    assert errors.control == pytest.approx(max(0, mean[3] / mean[0] * 5 / 2 - 1))


def test_draws_have_clusters_of_their_own_and_growing_numbers_of_transformations():
    own = Stream(21, ("bn_decomposed", "audit"))
    data = formula_audit(FormulaAudit(draws=20), own)
    assert data.positives.values.tolist() == [0, 1, 2, 3] * 5
    for draw in (6, 19):
        generator = own.generator(draw)
        count = generator.integers(5, 8)
        sizes = generator.integers(1, 4, count)
        drawn = audit.lossless_rows(sizes, generator.uniform(0.1, 1.0, count - 1), draw % 4)
        for equation in list(audit.FORMULAS)[::2]:
            cell = data.sel(draw=draw, equation=equation)
            expected = audit.FORMULAS[equation](drawn)
            np.testing.assert_allclose([cell.printed, cell.corrected, cell.control], expected, atol=1e-12)
    assert float(data.definition.max()) < 1e-9
