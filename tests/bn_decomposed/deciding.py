"""Decisions for tests: outcomes by name, and of many claims at once whether the control of every part is rejected."""

from tests.made_up import changed, claims_by_id

from repdyn.base.decisions import decide_claim

CLAIMS = claims_by_id("bn_decomposed")


def decided(claims, datasets):
    """Verdict of every claim by id; fails with the list of parts whose control is missing or not rejected."""
    decisions = {claim.id: decide_claim(claim, datasets) for claim in claims}
    weak = [
        (id, row["part"], row["control_outcome"])
        for id, decision in decisions.items()
        for row in decision.evidence
        if row["control"] and row["control_outcome"] != "rejected"
    ]
    missing = {id: parts for id, decision in decisions.items() if (parts := decision.ledger["uncontrolled_parts"])}
    assert not weak, f"controls that do not turn their part: {weak}"
    assert not missing, f"parts without a control: {missing}"
    return {id: decision.ledger["verdict"] for id, decision in decisions.items()}


def outcome(verdict, form, part):
    """Outcome of a form's part, or of the whole form."""
    test = getattr(verdict, form)
    return test.parts[part].outcome if part else test.outcome


def on(*data):
    """The datasets that a claim reads."""
    return data


def failing(verdict):
    """Names of the parts of the deciding form that do not pass, "" for a form without parts."""
    parts = verdict.decisive.parts or {"": verdict.decisive}
    return {name for name, test in parts.items() if test.outcome != "passes"}


def check_borders(claim, datasets, status, turned, rows):
    """Fails unless a value outside its region changes the verdict, in the named parts and no others.

    A row holds the parts, the variable, the place, a value just inside and one just outside.
    """
    assert claim(*datasets).status == status
    for parts, variable, place, inside, outside in rows:
        before, after = (claim(*changed(datasets, place, **{variable: value})) for value in (inside, outside))
        assert not failing(before) & parts, (variable, "inside")
        assert failing(after) == failing(before) | parts, (variable, "outside")
        assert failing(before) or before.status == status, (variable, "inside")
        assert after.status == turned, (variable, "outside")
