"""Decisions for tests: outcomes of parts by name, and verdicts on both sides of a boundary."""

from tests.made_up import changed, claims_by_id

CLAIMS = claims_by_id("bn_decomposed")


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
