"""Decisions of many claims at once, for tests: every part has a control, and none only shifts a number."""

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
