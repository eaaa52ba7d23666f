"""Claims: a check must be able to fail, rows are complete; and the house's rules for every claim of every study."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

import repdyn
from repdyn.base.claims import claim, claims_of, decide, rows
from repdyn.base.errors import RepdynError
from repdyn.base.verdicts import KINDS, Verdict, deviation, mean_within, not_reproducible, not_testable
from repdyn.pipeline.run.loading import load_rooms

HEADER = (
    "id,where,kind,statement,verdict,correction,possible_ocr_error,formula,corrected_formula,printed_measured,"
    "printed_expected,printed_margin,measured,expected,margin,tolerance_reason,n,interval_low,interval_high,"
    "false_alarm,control,control_measured,control_margin,datasets,code,note"
)


def data(value):
    return xr.Dataset({"residual": ((), value)})


def near(value, target):
    return deviation(value - target, 0.5, expected=f"{target}", reason="half a unit")


def claimed(check, control=None, **further):
    """A claim about the datasets `first` (and `second`), decided by the check."""
    given = {"where": "Theorem 1", "kind": "identity", "states": "A statement.", "data": "first"} | further
    says = {"control_says": "another value"} if control else {}
    return claim("x-thm1", control=control, **given, **says)(check)


def holds(first):
    """Printed: the residual is 1."""
    return Verdict.from_tests(near(float(first["residual"]), 1))


def corrected(first):
    """Printed: the residual is 1; corrected: it is 2."""
    return Verdict.from_tests(near(float(first["residual"]), 1), near(float(first["residual"]), 2))


def put(value):
    return lambda *given: tuple(data(value) for _ in given) if len(given) > 1 else data(value)


# Negative controls


def test_a_claim_whose_control_is_rejected_is_decided():
    row = decide(claimed(holds, put(3.0)), {"first": data(1.25)})
    assert (row["verdict"], row["margin"], row["control_margin"]) == ("holds", "2", "0.25")
    assert row["control_measured"] == "largest deviation 2"


def test_a_control_that_is_not_rejected_is_an_error():
    message = r"the control \(another value\) should give a test that fails, but it passes with largest deviation"
    with pytest.raises(RepdynError, match=message):
        decide(claimed(holds, put(1.1)), {"first": data(1.0)})


def test_a_check_that_cannot_fail_is_an_error():
    always = claimed(lambda first: Verdict.from_tests(near(1, 1)), put(3.0))
    with pytest.raises(RepdynError, match="the check does not see the difference"):
        decide(always, {"first": data(1.0)})


def test_a_missing_control_is_an_error():
    with pytest.raises(RepdynError, match="claim x-thm1: no negative control"):
        decide(claimed(holds), {"first": data(1.0)})


def test_what_cannot_be_tested_needs_no_control():
    row = decide(claimed(lambda: not_testable("existence"), data=()), {})
    assert (row["verdict"], row["note"], row["n"], row["margin"]) == ("not testable", "existence", 0, "")


def test_a_control_without_a_test_is_an_error():
    def check(first):
        return (
            Verdict.from_tests(near(float(first["residual"]), 1))
            if first["residual"] < 2
            else not_testable("too large")
        )

    with pytest.raises(RepdynError, match="should give a test that fails, but gives no test, 'not testable'"):
        decide(claimed(check, put(3.0)), {"first": data(1.0)})


def test_a_corrected_claim_is_controlled_in_its_corrected_form():
    row = decide(claimed(corrected, put(4.0)), {"first": data(2.25)})
    assert row["verdict"] == "holds as corrected"
    assert (row["printed_margin"], row["margin"], row["control_margin"]) == ("0.4", "2", "0.25")
    with pytest.raises(RepdynError, match="a test that fails"):
        decide(claimed(corrected, put(2.1)), {"first": data(2.0)})


def test_a_control_under_which_the_printed_form_holds_does_not_reject():
    with pytest.raises(RepdynError, match="a test that fails, but it passes"):
        decide(claimed(corrected, put(1.0)), {"first": data(2.0)})


@pytest.mark.parametrize("check", [holds, corrected])
def test_a_claim_that_does_not_hold_wants_a_mended_control(check):
    mended = 1.0 if check is holds else 2.0
    row = decide(claimed(check, put(mended)), {"first": data(9.0)})
    assert (row["verdict"], row["control_margin"]) == ("does not hold", "1e+300")
    with pytest.raises(RepdynError, match=r"a test that passes, but it fails with largest deviation"):
        decide(claimed(check, put(8.0)), {"first": data(9.0)})


def test_what_is_undecided_needs_a_control_but_not_its_rejection():
    undecided = claimed(lambda first: not_reproducible("tried", near(float(first["residual"]), 1)), put(1.0))
    assert decide(undecided, {"first": data(1.0)})["control_margin"] == "1e+300"
    with pytest.raises(RepdynError, match="no negative control"):
        decide(claimed(undecided.check), {"first": data(1.0)})


def test_several_datasets_come_in_the_order_they_are_named():
    def check(first, second):
        return Verdict.from_tests(near(float(second["residual"] - first["residual"]), 1))

    both = claimed(check, lambda first, second: (second, first), data=("first", "second"))
    row = decide(both, {"second": data(3.0), "first": data(2.0), "third": data(9.0)})
    assert (row["verdict"], row["datasets"]) == ("holds", "first second")


@pytest.mark.parametrize("returned", [None, True, "holds"])
def test_a_check_returns_a_verdict(returned):
    with pytest.raises(RepdynError, match=r"claim x-thm1: the check returned .*, not a verdict"):
        decide(claimed(lambda first: returned, put(3.0)), {"first": data(1.0)})


def test_missing_datasets_are_named():
    wanting = claimed(holds, put(3.0), data=("first", "second"))
    message = "claim x-thm1 wants the datasets second, but the rule gives only first, other"
    with pytest.raises(RepdynError, match=message):
        decide(wanting, {"other": data(1.0), "first": data(1.0)})


# Declarations and rows


@pytest.mark.parametrize(
    ("further", "message"),
    [({"kind": "theorem"}, "kind 'theorem' is not one of identity"), ({"control": put(1)}, "say in control_says")],
)
def test_an_incomplete_declaration_is_refused(further, message):
    with pytest.raises(ValueError, match=f"claim x-1: {message}"):
        claim("x-1", **({"where": "Theorem 1", "kind": "identity", "states": "S."} | further))


def test_claims_of_a_module_keep_their_order_and_are_found_once():
    module = ModuleType("claims")
    for name in ("z", "a", "m"):
        setattr(module, name, claim(name, where="w", kind="bound", states="s")(holds))
    module.helper = holds
    assert [one.id for one in claims_of(module)] == ["z", "a", "m"]


def test_one_id_for_two_claims_is_refused_within_and_across_modules():
    modules = [ModuleType("claims.early"), ModuleType("claims.late")]
    for name, module in zip(("first", "second"), modules, strict=True):
        setattr(module, name, claimed(holds))
    with pytest.raises(RepdynError, match="two claims share the id x-thm1"):
        claims_of(*modules)
    modules[0].again = claimed(corrected)
    with pytest.raises(RepdynError, match="two claims share the id x-thm1"):
        claims_of(modules[0])


@pytest.mark.parametrize(
    "one",
    [claimed(holds, put(3.0)), claimed(corrected, put(4.0)), claimed(lambda: not_testable("existence"), data=())],
    ids=["plain", "corrected", "not testable"],
)
def test_every_row_has_every_column(one):
    (row,) = rows([one], {"first": data(2.0 if one.check is corrected else 1.0)})
    assert ",".join(row) == HEADER
    assert all(isinstance(value, str | int) for value in row.values())


def test_a_row_tells_the_correction_only_where_the_print_is_refuted():
    says = {"correction": "The residual is 2.", "at_hand": True}
    refuted, kept = (decide(claimed(corrected, put(4.0), **says), {"first": data(value)}) for value in (2.0, 1.0))
    assert (refuted["correction"], refuted["possible_ocr_error"]) == ("The residual is 2.", True)
    assert (kept["correction"], kept["measured"]) == ("", kept["printed_measured"])


def test_a_row_tells_the_corrected_formula_only_where_the_print_is_refuted():
    says = {"correction": "The residual is 2.", "formula": "r = 1", "corrected_formula": "r = 2"}
    refuted, kept = (decide(claimed(corrected, put(9.0), **says), {"first": data(value)}) for value in (2.0, 1.0))
    assert (refuted["formula"], refuted["corrected_formula"]) == ("r = 1", "r = 2")
    assert (kept["formula"], kept["corrected_formula"]) == ("r = 1", "")


def test_a_corrected_formula_needs_words():
    with pytest.raises(ValueError, match=r"x-thm1: say in correction, in words"):
        claimed(holds, corrected_formula="r = 2")


def test_a_row_names_the_check_and_its_interval():
    def sampled(first):
        return Verdict.from_tests(mean_within(first["residual"], 0, 2, expected="1", reason="why"))

    row = decide(
        claimed(sampled, lambda first: first + 9),
        {"first": xr.Dataset({"residual": ("i", np.array([0.9, 1.0, 1.1, 1.05]))})},
    )
    assert row["code"] == f"{sampled.__module__}:sampled"
    assert (row["n"], row["false_alarm"]) == (4, "0.001")
    assert float(row["interval_low"]) < 1.0125 < float(row["interval_high"])


# Every claim of every study

PACKAGE = Path(repdyn.__file__).parent
ROOT = Path(__file__).parents[2]
STUDIES = sorted({path.relative_to(PACKAGE).parts[0] for path in PACKAGE.glob("*/claims*")} - {"base", "pipeline"})
CLAIMS = [(study, one) for study in STUDIES for one in claims_of(*load_rooms(study, "claims"))]
PLACE = r"Abstract|Introduction|Section|Appendix|Discussion|Conclusion|Definition|Theorem|Lemma|Corollary|Proposition"
PLACE += r"|Assumption|Remark|Example|Figure|Table|Algorithm|Caption|eqs?\. \(|^\(\w+\)"
EVERY = pytest.mark.parametrize(("study", "one"), CLAIMS, ids=[one.id for _, one in CLAIMS])


def test_there_are_claims():
    assert "bnd-fig1-ablation" in {one.id for _, one in CLAIMS}


@EVERY
def test_an_id_is_the_studys_letters_and_words(study, one):
    letters = {other.id.split("-")[0] for home, other in CLAIMS if home == study}
    elsewhere = {other.id.split("-")[0] for home, other in CLAIMS if home != study}
    assert re.fullmatch(r"[a-z]{2,4}(-[A-Za-z0-9]+)+", one.id)
    assert len(letters) == 1
    assert not letters & elsewhere


@EVERY
def test_a_claim_says_where_it_stands_and_what_it_states(study, one):
    assert re.search(PLACE, one.where), "where: theorem, section, equation or figure of the paper"
    assert one.kind in KINDS
    assert one.states == one.states.strip()
    assert one.states.endswith(".")
    assert one.check.__doc__, "the check says in one line how it decides"
    assert not one.correction or one.correction.endswith(".")


@EVERY
def test_a_claim_has_a_control_unless_it_cannot_be_tested(study, one):
    if one.control is None:
        assert "not_testable" in one.check.__code__.co_names
        assert one.data or one().status == "not testable"
    else:
        assert one.control_says
        assert one.data, "a control spoils data"


@EVERY
def test_a_check_takes_the_datasets_by_their_names(study, one):
    parameters = one.check.__code__.co_varnames[: one.check.__code__.co_argcount]
    assert parameters == one.data


@pytest.fixture(scope="session")
def outputs(tmp_path_factory):
    """Names of the datasets that each study's rules make, and of those that all studies share."""
    command = [sys.executable, "-m", "snakemake", "--summary", "--snakefile", str(ROOT / "Snakefile")]
    folder = tmp_path_factory.mktemp("summary")
    listed = subprocess.run([*command, "--directory", str(folder)], capture_output=True, text=True)
    assert listed.returncode == 0, listed.stdout + listed.stderr
    files = re.findall(r"^results/\w+/(?:(\w+)/)?data/(\w+)(?:/[^/\t]+)?\.nc\t", listed.stdout, re.MULTILINE)
    return {study: {name for home, name in files if home in (study, "")} for study in STUDIES}


@pytest.mark.dag
@pytest.mark.xdist_group("summary")
@EVERY
def test_the_datasets_of_a_claim_are_made_by_rules(study, one, outputs):
    assert set(one.data) <= outputs[study]


def test_datasets_serve_claims_that_exist():
    """Ids that experiments write into their datasets, read from the sources."""
    ids = {one.id for _, one in CLAIMS}
    for study in STUDIES:
        letters = next(one.id for home, one in CLAIMS if home == study).split("-")[0]
        text = "".join(path.read_text() for path in (PACKAGE / study).rglob("*.py") if "claims" not in path.parts)
        assert set(re.findall(rf'"({letters}-[A-Za-z0-9-]+)"', text)) <= ids
