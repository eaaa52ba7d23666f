"""Decisions for tests: outcomes by name, and of many claims at once whether every part has a control that counts."""

from repdyn.base.claims import decide_claim

TOO_WEAK = ("shifted number", "not recorded", "nothing")


def decided(claims, datasets):
    """Verdict of every claim by id; fails with the list of parts whose control is missing, weak or not rejected."""
    decisions = {claim.id: decide_claim(claim, datasets) for claim in claims}
    weak = [
        (id, row["part"], row["control_outcome"], row["control_change"])
        for id, decision in decisions.items()
        for row in decision.evidence
        if row["control"] and (row["control_outcome"] != "rejected" or row["control_change"] in TOO_WEAK)
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
