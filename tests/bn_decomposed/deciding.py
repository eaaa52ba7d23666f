"""Decisions for tests: outcomes by name, and of many claims at once whether the control of every part is rejected."""

from repdyn.base.decisions import decide_claim


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


def changed(datasets, variable, place, value):
    """The datasets with one place of a variable at another value, or what a function makes of the one there.

    A variable that several datasets hold is called with the dataset's position: `stable_depth@1`.
    """
    name, _, position = variable.partition("@")
    (home,) = [int(position)] if position else [i for i, data in enumerate(datasets) if name in data]
    copies = [data.copy(deep=True) for data in datasets]
    array = copies[home][name].values.astype(float)
    array[place] = value(array[place]) if callable(value) else value
    copies[home][name] = (copies[home][name].dims, array)
    return copies


def failing(verdict):
    """Names of the parts of the deciding form that do not pass, "" for a form without parts."""
    parts = verdict.decisive.parts or {"": verdict.decisive}
    return {name for name, test in parts.items() if test.outcome != "passes"}


def check_boundary(claim, datasets, status, case, turned="does not hold"):
    """Fails unless one value outside its region changes the verdict, in the named parts and no others."""
    parts, variable, place, inside, outside = case
    before, after = (claim(*changed(datasets, variable, place, value)) for value in (inside, outside))
    assert not failing(before) & parts, (variable, "inside")
    assert failing(after) == failing(before) | parts, (variable, "outside")
    assert failing(before) or before.status == status, (variable, "inside")
    assert after.status == turned, (variable, "outside")
