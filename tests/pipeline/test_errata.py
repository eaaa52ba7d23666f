"""The errata: each script shows what is wrong with numpy alone, and the documents to send are typeset."""

import numpy as np
import pytest
from tests.test_claims import of_paper

from repdyn.base.verdicts import REFUTED
from repdyn.pipeline.report import typeset
from repdyn.pipeline.report.errata import scripts
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts

SCRIPTS = scripts()
PAPERS = ("bn_decomposed", "truncation_flow", "bn_mean_field", "leaky_resnets", "universality")


@pytest.mark.parametrize("id", SCRIPTS)
def test_script_shows_that_the_printed_value_is_wrong_and_the_correct_one_right(id):
    code = SCRIPTS[id].code
    assert max(map(len, code.splitlines())) <= typeset.LONGEST_LINE
    assert [line for line in code.splitlines() if "import" in line] in (
        ["import numpy as np"],
        ["import numpy as np", "from math import erf"],
        ["from math import erf", "import numpy as np"],
    )
    found = {}
    exec(code, found)
    truth, printed, correct = (np.asarray(found[name], float) for name in ("truth", "printed", "correct"))
    scale = max(np.abs(truth).max(), np.abs(printed).max())
    assert np.abs(printed - truth).max() >= 0.005 * scale
    assert np.abs(correct - truth).max() <= 0.01 * np.abs(printed - truth).max()


def test_scripts_belong_to_refuted_claims_and_cover_the_results_that_change():
    accepted = accepted_verdicts()
    claims = {claim.id: claim for study in PAPERS for claim in of_paper(study)}
    refuted = {id for id in claims if accepted[id]["verdict"] in REFUTED}
    assert set(SCRIPTS) <= refuted
    changed = {id for id in refuted if claims[id].kind_of_slip in ("result changes", "conclusion fails")}
    assert changed - set(SCRIPTS) <= {"lrn-fig3"}  # which takes trained networks


@pytest.mark.parametrize(
    ("latex", "wanted"),
    [
        (r"\frac{a}{b}", "frac(a, b)"),
        (r"x_i^2", "attach(x, b: i, t: 2)"),
        (r"\tilde x", "accent(x, tilde)"),
        (r"\operatorname{ReLU}(x, y)", r'op("ReLU") \( x \, y \)'),
        (r"\left( \frac{1}{2} \right)", r"lr(\( frac(1, 2) \))"),
        (r"\sqrt{2}", "sqrt(2)"),
    ],
)
def test_formulas_in_the_notation_of_typst(latex, wanted):
    assert typeset.formula(latex) == wanted


@pytest.mark.slow
def test_documents_of_all_papers_are_typeset(smoke_run):
    """One PDF per paper, and every formula and quotation of a claim in one more."""
    pytest.importorskip("typst", reason="the documents need the extra repdyn[pdf]")
    sources = sorted((smoke_run / "results/smoke/report/errata").glob("*.typ"))
    assert [path.stem for path in sources] == sorted(PAPERS)
    for path in sources:
        assert path.with_suffix(".pdf").read_bytes().startswith(b"%PDF-")
    claims = [claim for study in PAPERS for claim in of_paper(study)]
    formulas = [text for claim in claims for text in (claim.formula, claim.corrected_formula) if text]
    every = [f"$ {typeset.formula(text)} $" for text in formulas] + [typeset.text(claim.words) for claim in claims]
    assert typeset.pdf("\n\n".join(every))
