"""What heads the pages of refuted statements: message, cause and consequence for each; how a wrong file is told."""

import re

import pytest
import yaml
from tests.pipeline.test_report import CLAIM, CLAIMS, Page, make_run, make_source

from repdyn.base.claims import claims_of
from repdyn.base.errors import ConfigError
from repdyn.base.markup import mathml, plain
from repdyn.base.verdicts import REFUTED
from repdyn.pipeline import studies
from repdyn.pipeline.report import messages, titles, views
from repdyn.pipeline.report.build import build
from repdyn.pipeline.run.execute.loading import load_modules
from repdyn.pipeline.run.kinds.ledger import accepted_verdicts

MESSAGES = messages.of_studies()
REFUTED_IDS = [id for id, entry in accepted_verdicts().items() if entry["verdict"] in REFUTED]
DECLARED = {
    claim.id: claim for study in studies.files(studies.ACCEPTED) for claim in claims_of(*load_modules(study, "claims"))
}
GENERIC = ("As printed it fails", "no small correction repairs it")
ENTRY = "{message: Wrong <b>, cause: 'For $a^2$ alone (x-ours), and (x-none).', consequence: Nothing else changes.}"
VERDICTS = (
    "x-thm1: {verdict: holds as corrected, undecided_at: []}\nx-exists: {verdict: not testable, undecided_at: []}\n"
)


def long(count):
    return "{message: %s, cause: b, consequence: c}" % ("a" * count)


# What is written


def test_every_refuted_claim_has_its_texts():
    assert len(REFUTED_IDS) > 80
    assert sorted(MESSAGES) == sorted(REFUTED_IDS)


@pytest.mark.parametrize("id", REFUTED_IDS)
def test_a_message_says_something_else_than_the_statement(id):
    entry, claim = MESSAGES[id], DECLARED[id]
    assert len(entry["message"]) <= 70
    assert entry["message"].lower().rstrip(".") != plain(claim.states).lower().rstrip(".")
    assert "$" not in entry["message"]
    assert not entry["message"].endswith(".")
    for key in ("cause", "consequence"):
        assert entry[key].endswith("."), key
        assert not re.search(r"[.!?] [A-Z]", entry[key]), f"{id}: {key} is one sentence"
    assert ("In the text at hand" in entry["cause"]) == claim.possible_ocr_error


def test_every_message_is_of_one_claim():
    for key in ("message", "cause"):
        texts = [entry[key] for entry in MESSAGES.values()]
        assert sorted(texts) == sorted(set(texts)), key


def test_claims_that_are_named_are_there_and_formulas_are_typeset():
    for id, entry in MESSAGES.items():
        for text in entry.values():
            assert [name for name in messages.ID.findall(text) if name not in DECLARED] == [], id
            assert not [latex for latex in re.findall(r"\$(.+?)\$", text) if "<code>" in mathml(latex)], id


# How a wrong file is told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"x-b: {ENTRY}", r"x-a: missing: a refuted claim wants \{message: at most 70 characters, cause: "),
        (f"x-a: {ENTRY}\nx-b: {ENTRY}\nx-bb: {ENTRY}", r":3: x-bb: no claim that .* did you mean \"x-b\""),
        (
            "x-a: 1\nx-b: {message: a}",
            r":1: x-a: expected \{message: .*, got 1\n.*:2: x-b: missing: cause, consequence",
        ),
        (f"x-a: {ENTRY}\nx-b: {ENTRY[:-1]}, why: c}}", ":2: x-b.why: not one of the keys message, cause, consequence"),
        (f"x-a: {ENTRY}\nx-b: {{message: ' ', cause: b, consequence: 3}}", "x-b.message: expected text, got ' '"),
        (f"x-a: {ENTRY}\nx-b: {{message: a, cause: b, consequence: 3}}", "x-b.consequence: expected text, got 3"),
        (f"x-a: {ENTRY}\nx-b: {long(71)}", "x-b.message: at most 70 characters, got 71: 'aaa"),
    ],
)
def test_a_wrong_file_is_told_with_file_key_and_what_is_allowed(tmp_path, text, told):
    path = tmp_path / "messages.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=told) as error:
        messages.read(path, ["x-a", "x-b"])
    assert all("messages.yaml:" in line for line in str(error.value).splitlines())


def test_a_message_may_be_as_long_as_is_allowed(tmp_path):
    path = tmp_path / "messages.yaml"
    path.write_text(f"x-a: {long(70)}", encoding="utf-8")
    assert messages.read(path, ["x-a"])["x-a"] == {"message": "a" * 70, "cause": "b", "consequence": "c"}


def test_only_a_study_that_refutes_a_claim_needs_a_file(tmp_path):
    accepted = tmp_path / studies.ACCEPTED
    accepted.parent.mkdir()
    accepted.write_text("x-a: {verdict: holds, undecided_at: []}\n")
    assert messages.of_studies({"x": tmp_path}) == {}
    accepted.write_text("x-a: {verdict: does not hold, undecided_at: []}\n")
    with pytest.raises(ConfigError, match=r"messages\.yaml: no such file; .* 70 characters.*: x-a"):
        messages.of_studies({"x": tmp_path})


def test_of_three_studies_the_one_that_lacks_its_file_is_named_with_all_that_it_refutes(tmp_path):
    told = {
        "z": ("does not hold", "holds", "holds as corrected"),
        "a": ("holds", "not testable"),
        "m": ("does not hold",) * 3,
    }
    for name, verdicts in told.items():
        (tmp_path / name / "decided").mkdir(parents=True)
        rows = [f"{name}-{place}: {{verdict: {verdict}, undecided_at: []}}" for place, verdict in enumerate(verdicts)]
        (tmp_path / name / studies.ACCEPTED).write_text("\n".join(rows) + "\n")
    own = {
        id: {key: f" {key} of {id}  " for key in ("message", "cause", "consequence")} for id in ("z-2", "z-0", "m-1")
    }
    folders = {name: tmp_path / name for name in told}
    (tmp_path / "z" / studies.MESSAGES).write_text(
        yaml.safe_dump({id: own[id] for id in ("z-2", "z-0")}, sort_keys=False)
    )
    with pytest.raises(ConfigError) as caught:
        messages.of_studies(folders)
    form = "{message: at most 70 characters, cause: at most 320 characters, consequence: at most 320 characters}"
    file = tmp_path / "m" / studies.MESSAGES
    assert str(caught.value) == f"{file}: no such file; refuted claims want {form}: m-0, m-1, m-2"
    file.write_text(yaml.safe_dump(dict.fromkeys(("m-2", "m-1", "m-0"), own["m-1"])))
    assert messages.of_studies(folders) == {
        id: {key: text.strip() for key, text in own["m-1" if id[0] == "m" else id].items()}
        for id in ("z-2", "z-0", "m-0", "m-1", "m-2")
    }
    (tmp_path / "a" / studies.MESSAGES).write_text(yaml.safe_dump({"a-0": own["m-1"]}))
    with pytest.raises(
        ConfigError, match=r"a/decided/messages.yaml:1: a-0: no claim that this study refutes has this id"
    ):
        messages.of_studies(folders)


# What is shown


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Id -> the page of each claim of a report with one message."""
    root, checkout = (tmp_path_factory.mktemp(name) for name in ("results", "checkout"))
    files, source = make_run(root / "mine", CLAIMS), make_source(checkout)
    for name, text in ((studies.ACCEPTED, VERDICTS), (studies.MESSAGES, f"x-thm1: {ENTRY}\n")):
        (checkout / "x" / name).write_text(text, encoding="utf-8")
    build(root / "mine", files, root / "mine/report", source)
    shown = (root / "mine/report/claims").glob("*.html")
    return {path.stem: path.read_text(encoding="utf-8") for path in shown}


def test_a_message_heads_its_page_and_its_statement_stands_below(pages):
    page, text = Page(pages["x-thm1"]), pages["x-thm1"]
    assert re.search(r"<h1[^>]*>(.*?)</h1>", text)[1] == "Wrong &lt;b&gt;"
    assert re.search(r"<title>(.*?)</title>", text)[1].startswith("Wrong &lt;b&gt; · ")
    assert '<meta property="og:title" content="Wrong &lt;b&gt;">' in text
    assert text.index("</h1>") < text.index("Nothing else changes.") < text.index('<p class="statement">A statement on')
    assert not [words for words in GENERIC if words in page.words]
    assert 'alone (<a href="x-ours.html">x-ours</a>), and (x-none).' in text


def test_other_pages_are_headed_by_the_statement(pages):
    for id in ("x-exists", "x-ours"):
        assert re.search(r"<title>(.*?)</title>", pages[id])[1].startswith("A statement on a · "), id
        assert 'og:title" content="A statement on a">' in pages[id]


def test_every_page_of_a_claim_leads_to_the_settings_of_its_study(pages):
    assert [id for id, text in pages.items() if 'href="../settings/x_study.html"' not in text] == []


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("The sum of $a$ is 1.", "The sum of a is 1"),
        (
            r"With $\tilde L > \mathcal{H}/\alpha$ and $\|\bar b_k\|^2 \ge \frac{1}{2}$.",
            "With L̃ > H/α and ‖b̄_k‖² ≥ 1/2",
        ),
        (r"$\tfrac12 A_{high} + \sqrt{\frac{1}{4} A_{high}^2 + x}$", "1/2 A_high + √(1/4 A_high² + x)"),
        (r"$\left|\frac{a + b}{n}\right| \leftarrow e^{-2 t/\tau_{\bar y}}$", "|(a + b)/n| ← e^(-2 t/τ_y\u0304)"),
        (r"$\cos^2 \angle(b) \not\subset \sqrt{2}$, $x^{10}$, $\unknown{x}$", r"cos² ∠(b) ⊄ √2, x^10, \unknown{x}"),
        ("word " * 20, "word word word word word word word word word word word word word word…"),
        ("a" * 80, "a" * 69 + "…"),
        ("A" + "bc, de" * 11 + ", " + "more words", "A" + "bc, de" * 11 + "…"),
    ],
)
def test_a_title_is_the_beginning_in_whole_words(text, title):
    assert titles.title(text) == title
    assert len(title) <= 71


# Terms of the report


def test_terms_are_explained_next_to_the_tables_and_in_the_glossary(pages):
    page = Page(pages["x-thm1"])
    asked = {button["popovertarget"] for button in page.of("button")}
    assert asked == {"term-margin", "term-control", "term-wrong-formula", "term-interval"}
    assert asked == {box["id"] for box in page.of("div") if "popover" in box}
    assert {"how clearly", "tolerance over deviation"} <= set(
        re.findall(r"how clearly|tolerance over deviation", page.words.lower())
    )
    assert {f"../glossary.html#{name.removeprefix('term-')}" for name in asked} <= {
        link["href"] for link in page.of("a")
    }


def test_only_terms_that_are_used_are_explained():
    assert views.explained([], []) == []


@pytest.mark.slow
def test_a_tap_shows_a_term(browser, tmp_path):
    root = tmp_path / "mine"
    files = make_run(root, [CLAIM])
    build(root, files, root / "report", make_source(tmp_path / "checkout"))
    for address in ("claims/x-thm1.html", "single.html#/claims/x-thm1.html"):
        browser.open("about:blank")
        browser.open((root / "report").as_uri() + "/" + address)
        browser.ask("repdyn.shown")
        assert not browser.ask("document.getElementById('term-margin').matches(':popover-open')")
        browser.ask("document.querySelector('[popovertarget=term-margin]').click()")
        assert browser.ask("document.getElementById('term-margin').matches(':popover-open')")
        assert browser.complaints == []
