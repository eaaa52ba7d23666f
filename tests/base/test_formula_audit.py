"""Formula audits: errors measured, stored with names, decided; a wrong formula changes the verdict."""

import numpy as np
import pytest

from repdyn.base.claims import claim
from repdyn.base.controls import kind_of_change
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.decisions import decide_claim
from repdyn.base.formula_audit import (
    Errors,
    audit_variables,
    decide_formula,
    fixed,
    formula_claim,
    holds,
    largest_errors,
    relative_error,
    with_wrong_formula,
)

EQUATIONS = ("1.1 slope", "1.2 sign", "1.3 lost")
SETS = [holds(1e-12, 0.4), fixed(0.3, 1e-12), Errors(0.2, 0.1, 0.5)]


def audit(seeds=3):
    """Three equations: right as printed, right as corrected, never right; errors vary with the seed."""
    errors = np.array([[np.array(triple) * (1 + 0.1 * seed) for triple in SETS] for seed in range(seeds)])
    coords = {
        "seed": index("seed", seeds, "draw"),
        "equation": variable("equation", np.array(EQUATIONS), "equation of the paper"),
    }
    return dataset(audit_variables(errors, ("seed", "equation"), unit="nat"), coords, title="An audit")


@pytest.mark.parametrize(
    ("value", "wanted", "error"),
    [([1.0, 2.0], [1.0, 4.0], 0.5), (3.0, 2.0, 0.5), (0.0, [[1.0, -4.0]], 1.0), ([1, -1], [-1, 1], 2.0)],
)
def test_error_is_relative_to_the_largest_size(value, wanted, error):
    assert relative_error(value, wanted) == error


def test_mismatched_shapes_and_zero_scale_are_rejected():
    with pytest.raises(ValueError, match=r"value.*\(2,\)"):
        relative_error([1.0, 2.0], [[1.0], [2.0]])
    with pytest.raises(ValueError, match="wanted"):
        relative_error([1e-9], [0.0])


@pytest.mark.parametrize(
    ("equation", "status"), list(zip(EQUATIONS, ["holds", "holds as corrected", "does not hold"], strict=True))
)
def test_audit_decides_claims(equation, status):
    verdict = decide_formula(audit(), equation, 1e-9, "finite differences")
    assert verdict.status == status
    assert verdict.printed.value == pytest.approx(1.2 * SETS[EQUATIONS.index(equation)].printed)


@pytest.mark.parametrize("equation", EQUATIONS[:2])
def test_wrong_formula_is_rejected_and_recorded(equation):
    control = with_wrong_formula("another sign", equation)
    declare = claim("x-1", where="eq. (1)", kind="identity", states="S.", control=control)
    decided = decide_claim(declare(lambda audit: decide_formula(audit, equation, 1e-9, "rounding")), {"audit": audit()})
    assert decided.ledger["control_outcome"] == "rejected"
    assert decided.evidence[-1]["control_change"] == "recorded"


def row(equation, **says):
    return formula_claim(
        "x-1",
        where="eq. (1)",
        states="S.",
        audit=("slopes", equation, 1e-9, "finite differences"),
        control="another sign",
        decided="Against differences.",
        **says,
    )


@pytest.mark.parametrize(("equation", "status"), list(zip(EQUATIONS[:2], ["holds", "holds as corrected"], strict=True)))
def test_formula_claim_is_decided_like_a_claim_function(equation, status):
    declared = row(equation, correction="T.")
    assert (declared.kind, declared.data, declared.decided) == ("identity", ("slopes",), "Against differences.")
    decided = decide_claim(declared, {"slopes": audit()}).ledger
    assert (decided["verdict"], decided["datasets"]) == (status, "slopes")
    assert decided["control_outcome"] == "rejected"


def test_control_changes_only_the_named_equations():
    spoilt = with_wrong_formula("another sign", "1.1 slope", "1.3 lost").data(audit())
    for equation, changed in zip(EQUATIONS, (True, False, True), strict=True):
        row, control = spoilt.sel(equation=equation), audit()["control"].sel(equation=equation)
        assert bool((row["printed"] == control).all()) is (changed or equation == "1.2 sign")
        assert bool((row["corrected"] == control).all()) is changed
    assert kind_of_change(with_wrong_formula("x", *EQUATIONS), (audit(),), (spoilt,)) == "recorded"


def test_largest_errors_are_over_all_draws_and_places():
    """Two draws of three equations at two depths; the largest are at different draws and depths for each."""
    errors = np.zeros((2, 3, 2, 3))
    errors[0, :, 1] = [[0.5, 0.1, 9.0], [0.2, 0.7, 9.0], [0.3, 0.3, 9.0]]
    errors[1, :, 0] = [[0.4, 0.2, 9.0], [0.6, 0.1, 9.0], [0.1, 0.8, 9.0]]
    ds = dataset(audit_variables(errors, ("seed", "equation", "depth")), {}, title="t")
    largest = largest_errors(ds.assign_coords(equation=list(EQUATIONS)))
    assert {name: array.values.tolist() for name, array in largest.data_vars.items()} == {
        "printed": [0.5, 0.6, 0.3],
        "corrected": [0.2, 0.7, 0.8],
    }
