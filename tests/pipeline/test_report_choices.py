"""What people chose for the report and keep in git: findings, sources of settings, interactive figures."""

import pytest
import yaml
from tests.conftest import ROOT
from tests.pipeline.test_report import CLAIM, OURS

from repdyn.base.claims import claims_of
from repdyn.base.errors import ConfigError
from repdyn.base.settings import plain
from repdyn.pipeline import studies
from repdyn.pipeline.config import configuration
from repdyn.pipeline.report import findings, latex
from repdyn.pipeline.report import settings_sources as listed
from repdyn.pipeline.report.errata import errata
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.execute.loading import load_modules
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts

CONFIGURATION = plain(configuration.load([ROOT / "config.yaml"]))
FINDINGS = findings.read_all(studies.files(studies.FINDINGS))
SOURCES = listed.read_all(ROOT / listed.SHARED, studies.files(studies.SOURCES))
EXPLORERS = {name: study.explorer for name, study in studies.declared().items() if study.explorer}

# Findings


def test_there_is_a_finding_per_paper():
    studies = [entry["figure"].split("/")[0] for entry in FINDINGS.values()]
    assert sorted(studies) == sorted(EXPLORERS)


def test_findings_name_claims_and_figures_with_their_accepted_verdict():
    accepted = accepted_verdicts()
    for id, entry in FINDINGS.items():
        study, _, figure = entry["figure"].partition("/")
        graph = read_study(study)
        assert id in graph.claims
        assert figure in graph.figures
        assert accepted[id]["verdict"] == entry["verdict"], (
            f"{id}: the accepted verdict has changed; write the card anew"
        )


def test_no_finding_is_possibly_an_ocr_error():
    for id, entry in FINDINGS.items():
        claims = claims_of(*load_modules(entry["figure"].split("/")[0], "claims"))
        assert not next(claim for claim in claims if claim.id == id).possible_ocr_error, id


WANTS = "x: wants the keys figure, headline, sentence, show, verdict; has"
AMONG = "x: show is one of all, top, bottom, verdict one of holds, holds as corrected"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{figure: a/b}", f"{WANTS} {{'figure': 'a/b'}}"),
        ("1", f"{WANTS} 1"),
        ("{figure: a, show: all, verdict: holds, headline: a, sentence: b, more: c}", WANTS),
        ("{figure: a, show: left, verdict: holds, headline: a, sentence: b}", AMONG),
        ("{figure: a, show: top, verdict: hold, headline: a, sentence: b}", AMONG),
    ],
)
def test_a_malformed_finding_is_told_among_good_ones(tmp_path, entry, message):
    good = "{figure: a/b, show: bottom, verdict: not testable, headline: a, sentence: b}"
    path = tmp_path / "findings.yaml"
    path.write_text(f"first: {good}\nx: {entry}\nlast: {good}\n")
    with pytest.raises(ConfigError) as caught:
        findings.read(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_findings_of_three_studies_are_read_with_their_summaries_apart(tmp_path):
    said = {key: f"{key * 9}"[:159] + "." for key in ("survives", "claims", "breaks")} | {"breaks": "b" * 159 + "."}
    card = {"figure": "a/b", "show": "top", "verdict": "holds", "headline": "h", "sentence": "s"}
    files = {name: tmp_path / f"{name}.yaml" for name in ("z", "m", "a")}
    files["z"].write_text(
        yaml.safe_dump({"z-2": card | {"show": "all"}, "summary": said, "z-1": card}, sort_keys=False)
    )
    files["m"].write_text(yaml.safe_dump({"m-1": card}))
    files["a"].write_text(yaml.safe_dump({"summary": said | {"claims": "It is."}}))
    cards = findings.read_all(files)
    assert cards == {"z-2": card | {"show": "all"}, "z-1": card, "m-1": card}
    summaries = findings.summaries(files)
    assert summaries == {"z": said, "a": said | {"claims": "It is."}}
    assert list(summaries["z"]) == ["claims", "breaks", "survives"]


def test_every_paper_has_its_three_sentences():
    summaries = findings.summaries(studies.files(studies.FINDINGS))
    assert set(summaries) == set(EXPLORERS)
    assert len(summaries) == 5
    for sentences in summaries.values():
        assert list(sentences) == ["claims", "breaks", "survives"]
    assert len({says for sentences in summaries.values() for says in sentences.values()}) == 15


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("{claims: It rises.}", r"summary: wants the keys claims, breaks, survives; has \{'claims': 'It rises\.'\}"),
        ("all is well", "summary: wants the keys claims, breaks, survives; has 'all is well'"),
        ("{claims: A., breaks: B., survives: 3}", "summary.survives: expected a sentence of at most 160 .*; has 3"),
        ("{claims: A, breaks: B., survives: C.}", "summary.claims: .* with a period at its end; has 'A'"),
        (f"{{claims: A., breaks: {'b' * 160}., survives: C.}}", "summary.breaks: expected a sentence of at most 160"),
    ],
)
def test_a_malformed_summary_is_told(tmp_path, entry, says):
    path = tmp_path / "findings.yaml"
    path.write_text(f"summary: {entry}\n")
    with pytest.raises(ConfigError, match=f"findings.yaml: {says}"):
        findings.summaries({"x": path})


def test_a_study_without_a_summary_has_none(tmp_path):
    path = tmp_path / "findings.yaml"
    path.write_text("x: {figure: a/b, show: all, verdict: holds, headline: a, sentence: b}\n")
    assert findings.summaries({"x": path}) == {}
    assert list(findings.read(path)) == ["x"]


# Settings


def test_every_setting_has_a_source():
    settings = listed.settings(CONFIGURATION, SOURCES)
    assert len(settings) > 500
    assert [setting.key for setting in settings if setting.reason == "no reason is on record"] == []


def test_every_source_is_of_a_setting():
    keys = {".".join(part) for setting in listed.settings(CONFIGURATION, SOURCES) for part in starts(setting.key)}
    assert [key for key in SOURCES if key not in keys] == []
    for key, entry in SOURCES.items():
        stated = entry.get("stated")
        inner = [f"{key}.{name}" for name in stated] if isinstance(stated, dict) else []
        assert [path for path in inner if path not in keys] == []


def starts(key):
    parts = key.split(".")
    return [parts[:end] for end in range(1, len(parts) + 1)]


def test_the_longest_key_counts_and_stated_mappings_cover_their_keys():
    known = {
        "a": {"chosen": "why"},
        "a.b": {"stated": {"c": 1, "d": {"e": 2}}, "where": "Table 1"},
        "a.b.f": {"chosen": "so"},
    }
    assert listed.source_of("a.x", known) == ("a", None)
    assert listed.source_of("a.b.c", known) == ("a.b", 1)
    assert listed.source_of("a.b.d.e", known) == ("a.b", 2)
    assert listed.source_of("a.b.x", known) == ("a", None)
    assert listed.source_of("a.b.f", known) == ("a.b.f", None)
    assert listed.source_of("z", known) == ("", None)


def test_only_what_the_paper_states_can_differ_from_it():
    known = {"a": {"chosen": "why"}, "a.b": {"stated": 1, "where": "Table 1"}}
    by_key = {setting.key: setting for setting in listed.settings({"a": {"b": 2, "c": 3}, "run": {"name": "x"}}, known)}
    assert list(by_key) == ["a.b", "a.c"]
    assert (by_key["a.b"].differs, by_key["a.c"].differs) == (True, False)
    assert not next(iter(listed.settings({"a": {"b": 1}}, known))).differs


def test_settings_of_the_workflow_itself_are_left_out_and_no_study_whose_name_begins_alike():
    own = {"width": 2, "names": {}, "rates": []}
    configuration = {"run": {"seed": 1}, "runs_of_mine": own, "data": {"mnist_folder": None, "split": "test"}}
    keys = [f"runs_of_mine.{name}" for name in own]  # empty ones, too
    assert [setting.key for setting in listed.settings(configuration, {})] == [*keys, "data.split"]


@pytest.mark.parametrize(
    "entry", [{"stated": 1}, {"chosen": "a", "where": "b"}, {"chosen": "a", "stated": 1}, 3, ["chosen"]]
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_malformed_source_is_told_among_good_ones(tmp_path, entry, place):
    entries = [("a", {"chosen": "so"}), ("b.c", {"stated": [1, 2], "where": "Table 1"})]
    entries.insert(place, ("x.y", entry))
    path = tmp_path / "sources.yaml"
    path.write_text(yaml.safe_dump(dict(entries), sort_keys=False))
    with pytest.raises(ConfigError) as caught:
        listed.read(path)
    assert str(caught.value) == f"{path}: x.y: wants either stated and where, or chosen; has {entry!r}"


# Interactive figures


def test_every_interactive_figure_has_a_script_and_a_still_picture():
    assert set(studies.files(studies.EXPLORER)) == set(EXPLORERS)
    for study, explorer in EXPLORERS.items():
        assert explorer.still in read_study(study).figures, study


# LaTeX


def test_errata_as_latex():
    claims = [CLAIM | {"possible_ocr_error": "False", "statement": "γ is 50 % of $\\frac{a}{b}$ & x_1."}, CLAIM]
    text = latex.document("Title", "A. Author, X.", errata(claims, "default", {}))
    assert text.isascii()
    assert r"\ensuremath{\gamma} is 50 \% of $\frac{a}{b}$ \& x\_1." in text
    assert text.count(r"\[") == text.count(r"\]") == 4
    assert text.count("{") == text.count("}")
    assert text.index("Possibly OCR errors") > text.index("50") > text.index("Results that change")
    assert r"``for every $a > 0$ the sum'' (line 31 of the text that we had)" in text
    assert r"\textbf{Assumed there.} a is small" in text
    assert text.rstrip().endswith(r"\end{document}")


def test_a_statement_that_does_not_hold_has_no_correct_form():
    text = latex.document("Title", "Paper", errata([OURS | {"origin": "paper", "note": "Because."}], "default", {}))
    assert r"\textbf{Does not hold.} Because." in text
    assert "Correct." not in text


def test_an_entry_tells_words_print_assumption_and_correction_in_this_order():
    names = ("words", "statement", "formula", "assumes", "printed_measured", "printed_expected", "correction")
    names += ("corrected_formula", "measured", "expected", "note")
    claim = CLAIM | {name: f"its {name.replace('_', ' ')}" for name in names}
    claim |= {"where": "Section 9", "id": "x-9", "line": "77", "verdict": "holds as corrected"}
    text = latex.document("Title", "Paper", errata([claim], "default", {}))
    entry = text[text.index("Section 9") :]
    wanted = (
        r"Section 9 \normalfont(\texttt{x-9})", "``its words'' (line 77", r"\textbf{Printed.} its statement",
        "its formula", r"\textbf{Assumed there.} its assumes", "Measured: its printed measured; required: its printed "
        "expected.", r"\textbf{Correct.} its correction", "its corrected formula",
        "Measured: its measured; required: its expected.",
    )  # fmt: skip
    places = [entry.index(words) for words in wanted]
    assert places == sorted(places)
    assert entry.count(r"\[") == 2
    without = {"words": "", "assumes": "", "formula": "", "corrected_formula": ""}
    text = latex.document("Title", "Paper", errata([claim | without], "default", {}))
    assert not [
        words for words in ("``", "Assumed", r"\[") if words in text.split("maketitle")[-1].split("Section 9")[1]
    ]
