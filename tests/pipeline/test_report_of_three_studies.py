"""A run of three studies, all different and in no order: each page shows what its own study and claim have."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import yaml
from tests.pipeline.test_report import CLAIM, PART, Page
from tests.pipeline.test_report_contents import figure

from repdyn.base.declarations import Explorer, Opening, Study
from repdyn.base.settings import Settings
from repdyn.pipeline import kept_runs, studies
from repdyn.pipeline.report import build, openings, rests_on
from repdyn.pipeline.report.contents import Contents

NAMES = ("m_study", "z_study", "a_study")  # as the ledger has them; no study declares a_study
HOLDS, CORRECTED, REFUTED, UNDECIDED = (
    "holds",
    "holds as corrected",
    "does not hold",
    "not decidable at this scale",
)
PUBLISHED = ("z-2", "a-3", "a-1", "z-3")
VERDICTS = {
    "z-1": CORRECTED, "m-1": REFUTED, "a-1": HOLDS, "z-2": REFUTED, "a-2": CORRECTED, "a-3": REFUTED, "m-2": HOLDS,
    "a-4": "not testable", "z-3": HOLDS,
}  # fmt: skip
IDS = ("m-1", "z-1", "z-2", "a-1", "m-2", "a-2", "a-3", "a-4", "z-3")
SLIPS = {"z-1": "misprint", "m-1": "conclusion fails", "z-2": "result changes", "a-2": "misprint", "a-3": "misprint"}
WITH_CARDS = {"m_study": ["m-2"], "z_study": ["z-3", "z-1"], "a_study": ["a-2"]}
LARGER = {  # reference run -> claim -> verdict, sample and note
    "full": {"z-1": (HOLDS, "31", "of full"), "m-1": (REFUTED, "32", ""), "z-2": (UNDECIDED, "33", "Needs more.")},
    "smoke": {"z-2": (REFUTED, "11", "of smoke"), "a-2": (CORRECTED, "12", "")},
    "default": {"z-2": (REFUTED, "21", "of default"), "m-1": (HOLDS, "22", "")},
}
TITLES = {"z_study": "The title of z", "m_study": "The title of m", "a_study": "a_study"}


def study_of(id):
    return f"{id[0]}_study"


def claims():
    """Each with a statement and a place of its own; the dataset that it reads is called after it."""
    own = {"correction": "", "possible_ocr_error": "False", "note": "", "change": "", "kind_of_slip": ""}
    return [
        CLAIM | own | {"id": id, "study": study_of(id), "where": f"Lemma {place}", "statement": f"Of {id}."}
        | {"verdict": VERDICTS[id], "kind_of_slip": SLIPS.get(id, ""), "datasets": f"data_{id}"}
        | {"kind": "published number" if id in PUBLISHED else "bound"}
        | {"correction": f"Right of {id}." if VERDICTS[id] == CORRECTED else ""}
        for place, id in enumerate(IDS, 1)
    ]  # fmt: skip


def products(root):
    """Three figures of z and one of each other study; before or after each a table of the same name."""
    shown = {"m_fig": ("m-2",), "z_one": ("z-1",), "z_two": ("z-3", "z-1"), "z_far": ("z-2",), "a_fig": ("a-1", "a-3")}
    made = []
    for name, ids in shown.items():
        study = f"{name[0]}_study"
        (root / f"{name}.svg").write_text(f"picture of {name}")
        data = [f"data_{id}" for id in ids]
        drawn = figure(name, *data, title=f"Title of {name}", study=study)
        place = {"picture": f"figures/{study}/{name}.svg", "source": root / f"{name}.svg", "size": (30, len(made))}
        both = [replace(drawn, **place), figure(name, *data, title="A table", kind="tables", study=study)]
        made += both if name in ("z_two", "m_fig") else both[::-1]
    return made


def contents(root):
    jobs = {"z_study/claims.csv": "z_study/claims", "m_study/claims.csv": "m_study/claims", "out": "b-unrecorded"}
    logs = (("z_study/claims", 30.0), ("images", 6.0), ("a_study/claims", 90.0))
    costs = [{"log": log, "cpu_seconds": cpu, "peak_memory_mb": 9.0, "wall_seconds": 1} for log, cpu in logs]
    settings = {"m_study": {"width": 3}, "z_study": {"depth": 5, "rate": 0.5}, "a_study": {"seeds": 7, "depth": 6}}
    manifest = {
        "content": {f"{study_of(id)}/data/data_{id}.nc": f"digest of {id}" for id in IDS},
        "configuration": {"run": {"name": "mine"}, "data": {"source": "digits"}} | settings,
        "costs": [record | {"job": {"threads": 1}} for record in costs],
        "machine": {"processor": "p", "cores": 3, "system": "s"},
        "versions": {"numpy": "2"},
        "made": "today",
        "commit": "c0",
        "verdicts": None,
    }
    evidence = {id: [PART | {"id": id, "part": f"part of {id}", "form": "printed"}] for id in IDS}
    made = Contents(claims(), evidence, manifest, products(root), jobs, root)
    about = {"title": "", "code_version": "", "experiment": "x:x", "settings": '{"settings": {}}', "job": ""}
    made.__dict__["data"] = {
        study: [
            about | {"file": file, "digest": digest, "paper": f"Paper of {study}"}
            for file, digest in manifest["content"].items()
            if file.startswith(study)
        ]
        for study in NAMES
    }
    return made


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))


def card(study, id):
    name = {"m-2": "m_fig", "z-3": "z_two", "z-1": "z_two", "a-2": "a_fig"}[id]
    words = {"headline": f"Headline of {id}", "sentence": f"Sentence of {id}"}
    return {"figure": f"{study}/{name}", "show": "all", "verdict": VERDICTS[id]} | words


def message(id):
    return {"message": f"Wrong in {id}", "cause": f"Cause of {id}.", "consequence": f"Follows from {id}."}


def reply(id, day):
    words = {"words": f"Words on {id} of day {day}.", "source": "a letter"}
    return {"author": "A. Author", "date": f"2026-12-0{day}", "verdict": HOLDS, "stance": "comments"} | words


def checkout(root):
    """Files of the three studies, each with texts of its own; not every study has every file."""
    for study in NAMES:
        own, ids = root / study, [id for id in IDS if study_of(id) == study]
        told = "".join(f'Why <a id="{id}">of {id}</a>.\n\n' for id in ids)
        write(root / f"docs/{study}.md", f"# Page of {study}\n\nSummary of {study}.\n\n## Notes of {study}\n\n{told}")
        write(own / studies.ACCEPTED, {id: {"verdict": VERDICTS[id], "undecided_at": []} for id in ids})
        said = {key: f"The {key} of {study}." for key in ("claims", "breaks", "survives")}
        write(own / studies.FINDINGS, {"summary": said} | {id: card(study, id) for id in WITH_CARDS[study]})
        refuted = [id for id in ids if VERDICTS[id] in (CORRECTED, REFUTED)]
        write(own / studies.MESSAGES, {id: message(id) for id in refuted})
        write(own / studies.SOURCES, {"study": {"chosen": f"Reason of {study}"}})
        write(own / studies.LABELS, {id: {f"part of {id}": f"label of {id}"} for id in ids[:2]})
        write(own / studies.GLOSSARY, {f"{study[0]}-term": {"term": f"{study[0]} term", "says": f"Of {study}."}})
    for study, name in (("z_study", "z_two"), ("a_study", "a_fig")):
        write(root / study / studies.STORY, f"Lead of {study}.\n\n## Section of {study}\n\n![]({name})\n")
        concept = {"question": f"Question of {study}?", "formula": "a", "says": f"Of {study}.", "figure": name}
        write(root / study / studies.CONCEPT, concept)
    for study in ("m_study", "z_study"):
        write(root / study / studies.EXPLORER, f"explorer of {study}")
    for study in ("z_study", "a_study"):
        write(root / study / studies.OPENING, f"opening of {study}")
    write(root / "z_study" / studies.REPLIES, {"z-2": [reply("z-2", 3), reply("z-2", 1), reply("z-2", 2)]})
    write(root / "a_study" / studies.REPLIES, {"a-3": [reply("a-3", 4)]})
    chosen = {"z_study": [("one", ["z-2", "z-1"]), ("two", ["z-2"])], "m_study": [("three", ["m-1"])]}
    for study, entries in chosen.items():
        listed = [{"chosen": text, "claims": ids} for text, ids in entries]
        write(root / study / studies.CHOSEN, {"after_looking": listed})
    write(root / "workflow/settings_sources.yaml", {"data.source": {"stated": "mnist", "where": "Table 9"}})
    write(root / "z_study" / studies.SOURCES, {"depth": {"stated": 4, "where": "Table 1"}, "study": {"chosen": "So."}})
    write(root / "reference/exceptions.yaml", {"z-2": "Why z-2 changes.", "a-1": "Why a-1 changes."})
    for run, rows in LARGER.items():
        frame = pd.DataFrame(
            [{"id": id, "study": study_of(id), "verdict": v, "n": n, "note": note} for id, (v, n, note) in rows.items()]
        ).assign(origin="paper", where="w")
        write(root / f"reference/{run}/claims.csv", frame.to_csv(index=False))
        write(root / f"reference/{run}/numbers.csv", ",".join(kept_runs.NUMBER_COLUMNS) + "\n")
        write(root / f"reference/{run}/digests.csv", "file,sha256\n")
        write(root / f"reference/{run}/run.json", "{}")
    write(
        root / "q_study" / studies.FINDINGS,
        {"summary": dict.fromkeys(("claims", "breaks", "survives"), "Of no run.")},
    )
    return build.Checkout(root, {}, {study: root / study for study in ("q_study", *NAMES)})


def opening(study):
    return Opening("data", {}, (), f"{study[0]}-3", f"Caption of {study}.", f"Label of {study}")


def declared():
    explorers = {name: Explorer(f"Explorer of {name}", f"It shows {name}.", f"{name[0]}_two") for name in TITLES}
    return {
        name: Study(
            TITLES[name], Settings, (), explorer=explorers[name], opening=opening(name) if "z" in name else None
        )
        for name in ("z_study", "m_study")
    }


def animation(study, said, contents):
    claim = next(row for row in contents.ledger if row["id"] == said.claim)
    yield openings.Animation(study, claim, said.says, said.label, {"time": [0, len(study)]})


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("three")


@pytest.fixture(scope="module")
def site(root):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(studies, "declared", declared)
        patch.setattr(studies, "outside", lambda: ())
        patch.setattr(openings, "_animation", animation)
        patch.setattr(rests_on, "read_study", lambda _: SimpleNamespace(experiments={}))
        (root / "results").mkdir()
        yield build.Site(contents(root / "results"), checkout(root / "checkout"))


@pytest.fixture(scope="module")
def written(site, root):
    site.write(root / "report")
    return root / "report"


def study(site, name):
    return next(shown for shown in site.studies if shown["name"] == name)


def claim(site, id):
    return site._claim(site.contents.ledger[IDS.index(id)], IDS.index(id))


def test_each_study_has_its_own_title_paper_notes_figures_and_claims(site):
    assert [shown["name"] for shown in site.studies] == list(NAMES)
    told = {shown["name"]: (shown["title"], shown["paper"], shown["notes"].title) for shown in site.studies}
    assert told == {name: (TITLES[name], f"Paper of {name}", f"Page of {name}") for name in NAMES}
    figures = {"m_study": ["m_fig"], "z_study": ["z_one", "z_two", "z_far"], "a_study": ["a_fig"]}
    for kind in ("figures", "tables"):
        assert {shown["name"]: [product.name for product in shown[kind]] for shown in site.studies} == figures
    for shown in site.studies:
        own = [id for id in IDS if study_of(id) == shown["name"]]
        assert [row["id"] for row in shown["claims"]] == own
        assert (shown["total"], sum(count for _, count in shown["counts"])) == (len(own), len(own))
    assert dict(study(site, "a_study")["counts"]) | {HOLDS: 1, CORRECTED: 1, REFUTED: 1, "not testable": 1} == dict(
        study(site, "a_study")["counts"]
    )
    assert [shown["severities"] for shown in site.studies] == [
        [("conclusion fails", 1)],
        [("result changes", 1), ("misprint", 1)],
        [("misprint", 2)],
    ]


def test_published_numbers_of_a_study_stand_with_the_parts_of_their_checks(site):
    shown = {
        one["name"]: [(row["id"], [p.name for p in parts]) for row, parts in one["published"]] for one in site.studies
    }
    wanted = {"m_study": (), "z_study": ("z-2", "z-3"), "a_study": ("a-1", "a-3")}
    assert shown == {name: [(id, [f"part of {id}"]) for id in ids] for name, ids in wanted.items()}


def test_each_study_has_its_own_explorer_story_and_concept(site):
    theory = {shown["name"]: shown["theory"] for shown in site.studies}
    assert theory["a_study"] is None
    assert (theory["m_study"]["title"], theory["m_study"]["still"]) == ("Explorer of m_study", None)
    assert (theory["z_study"]["says"], theory["z_study"]["still"].name) == ("It shows z_study.", "z_two")
    assert theory["z_study"]["still"].kind == "figures"
    stories = {shown["name"]: shown["story"] and shown["story"].headings for shown in site.studies}
    sections = {name: [(f"story-section-of-{name.replace('_', '-')}", f"Section of {name}")] for name in NAMES[1:]}
    assert stories == {"m_study": None} | sections
    concepts = {shown["name"]: shown["concept"] and shown["concept"].question for shown in site.studies}
    assert concepts == {"m_study": None} | {name: f"Question of {name}?" for name in NAMES[1:]}
    assert study(site, "a_study")["concept"].figure.name == "a_fig"


def test_each_study_has_its_own_settings_and_those_of_the_images(site):
    listed = {
        shown["name"]: [(one.key, one.value, one.where or one.reason) for one in shown["settings"]]
        for shown in site.studies
    }
    images = ("data.source", "digits", "Table 9")
    assert listed == {
        "m_study": [("m_study.width", 3, "Reason of m_study"), images],
        "z_study": [("z_study.depth", 5, "Table 1"), ("z_study.rate", 0.5, "So."), images],
        "a_study": [("a_study.seeds", 7, "Reason of a_study"), ("a_study.depth", 6, "Reason of a_study"), images],
    }
    differing = {shown["name"]: [one.key for one in shown["differing"]] for shown in site.studies}
    assert differing == {
        "m_study": ["data.source"], "z_study": ["z_study.depth", "data.source"], "a_study": ["data.source"],
    }  # fmt: skip


def test_errata_are_those_that_the_full_scale_confirms(site):
    found = {shown["name"]: shown["errata"] for shown in site.studies}
    assert {name: [row["id"] for row in errata.rows] for name, errata in found.items()} == {
        "m_study": ["m-1"], "z_study": [], "a_study": [],
    }  # fmt: skip
    assert {name: [row["id"] for row in errata.awaiting] for name, errata in found.items()} == {
        "m_study": [], "z_study": ["z-1", "z-2"], "a_study": ["a-2", "a-3"],
    }  # fmt: skip


def test_cards_of_an_animated_claim_come_first_and_the_others_as_they_are_written(site):
    """The opening of z is of claim z-3, whose card is the second of three studies."""
    assert [card.claim["id"] for card in site.findings] == ["z-3", "m-2", "z-1", "a-2"]
    assert [(one.study, one.claim["id"]) for one in site.animations] == [("z_study", "z-3")]
    assert [card.figure.name for card in site.findings] == ["z_two", "m_fig", "z_two", "a_fig"]
    assert {name: said["breaks"] for name, said in site.summaries.items()} == {
        name: f"The breaks of {name}." for name in NAMES
    }


@pytest.mark.parametrize(
    ("id", "scales"),
    [
        (
            "z-2",
            [("smoke", REFUTED, "11", ""), ("default", REFUTED, "21", ""), ("full", UNDECIDED, "33", "Needs more.")],
        ),
        ("m-1", [("default", HOLDS, "22", ""), ("full", REFUTED, "32", "")]),
        ("z-1", [("full", HOLDS, "31", "")]),
        ("m-2", []),
    ],
)
def test_a_claim_in_the_reference_runs(site, id, scales):
    """The remark is that of an open claim alone."""
    shown = claim(site, id)["scales"]
    assert [(one["run"], one["verdict"], one["n"], one["remark"]) for one in shown] == scales


def test_a_claim_has_its_own_message_replies_labels_and_choices(site):
    shown = {id: claim(site, id) for id in IDS}
    refuted = [id for id in IDS if VERDICTS[id] in (CORRECTED, REFUTED)]
    assert {id: one["message"] for id, one in shown.items() if one["message"]} == {id: message(id) for id in refuted}
    assert {id: one["headline"] for id, one in shown.items()} == {
        id: f"Wrong in {id}" if id in refuted else f"Of {id}" for id in IDS
    }
    assert {id: one["exception"] for id, one in shown.items() if one["exception"]} == {
        "z-2": "Why z-2 changes.", "a-1": "Why a-1 changes.",
    }  # fmt: skip
    assert {id: one["chosen"] for id, one in shown.items() if one["chosen"]} == {
        "z-2": ["one", "two"], "z-1": ["one"], "m-1": ["three"],
    }  # fmt: skip
    assert {id: [said.words for said in one["replies"]] for id, one in shown.items() if one["replies"]} == {
        "z-2": [f"Words on z-2 of day {day}." for day in (1, 2, 3)],
        "a-3": ["Words on a-3 of day 4."],
    }
    labeled = {"m-1", "m-2", "z-1", "z-2", "a-1", "a-2"}
    assert {id: one["labels"] for id, one in shown.items()} == {
        id: {f"part of {id}": f"label of {id}"} if id in labeled else {} for id in IDS
    }


def test_a_claim_leads_to_its_neighbors_figures_data_and_job(site):
    shown = {id: claim(site, id) for id in IDS}
    for place, id in enumerate(IDS):
        before, after = (shown[id][name] and shown[id][name]["id"] for name in ("before", "after"))
        assert (before, after) == (IDS[place - 1] if place else None, IDS[place + 1] if id != IDS[-1] else None)
    led = {id: one["leading"].name for id, one in shown.items() if one["leading"]}
    assert led == {
        "z-3": "z_two", "m-2": "m_fig", "z-1": "z_two", "a-2": "a_fig", "z-2": "z_far", "a-1": "a_fig", "a-3": "a_fig",
    }  # fmt: skip
    others = {id: [one.name for one in shown[id]["figures"]] for id in IDS if shown[id]["figures"]}
    assert others == {"z-1": ["z_one"]}  # a person chose the other for its card
    assert {id: one["data"] for id, one in shown.items()} == {id: [f"{study_of(id)}/data/data_{id}.nc"] for id in IDS}
    assert {id: one["passage"].striptags() for id, one in shown.items()} == {id: f"Why of {id}." for id in IDS}
    jobs = {"z_study": "z_study/claims", "m_study": "m_study/claims", "a_study": ""}
    assert {id: one["job"] for id, one in shown.items()} == {id: jobs[study_of(id)] for id in IDS}
    assert shown["m-2"]["command"] == "snakemake --cores 1 results/mine/m_study/claims.csv"


def test_the_files_of_the_report(written, site):
    """No page of errata where nothing is confirmed or awaits it; a script for every explorer and opening."""
    files = sorted(path.relative_to(written).as_posix() for path in written.rglob("*") if path.is_file())
    own = [
        f"{place}.html" for name in NAMES for place in (f"studies/{name}", f"studies/{name}-notes", f"settings/{name}")
    ]
    own += [f"errata/{name}.{suffix}" for name in NAMES for suffix in ("html", "tex")]
    own += [f"claims/{id}.html" for id in IDS]
    own += [f"figures/{product.study}/{product.name}.svg" for product in site.contents.products if product.picture]
    assert sorted(set(files) - set(own)) == sorted([
        *(f"{name}.html" for name in ("index", "ledger", "errata", "concepts", "glossary", "provenance", "single")),
        *(f"assets/{path.name}" for path in build.ASSETS.iterdir()),
        *("assets/site.css", "assets/math.css", "assets/search.js", "assets/openings.js", "assets/z_study-opening.js"),
        *("assets/m_study.js", "assets/z_study.js"),
    ])  # fmt: skip
    assert set(own) <= set(files)
    for name in ("m_study", "z_study"):
        assert (written / f"assets/{name}.js").read_text() == f"explorer of {name}"
    assert (written / "assets/z_study-opening.js").read_text() == "opening of z_study"
    numbers = re.search(r"openings = (.*);\n$", (written / "assets/openings.js").read_text(), re.DOTALL)[1]
    assert json.loads(numbers) == {"z_study": {"time": [0, 7]}}
    for product in site.contents.products:
        assert not product.picture or (written / product.picture).read_text() == f"picture of {product.name}"


def test_terms_of_all_studies_stand_in_the_glossary_by_their_letters(site, written):
    own = [slug for slug in site.terms if slug.endswith("-term")]
    assert own == ["a-term", "m-term", "z-term"]
    assert site.terms["m-term"] == ("m term", "Of m_study.")
    words = Page((written / "glossary.html").read_text()).words
    assert all(f"Of {name}." in words for name in NAMES)


def test_pages_name_the_studies_by_their_titles(written):
    for name in NAMES:
        (heading,) = re.findall(r"<h1>(.*?)</h1>", (written / f"studies/{name}.html").read_text())
        assert heading == TITLES[name]
        notes = Page((written / f"studies/{name}-notes.html").read_text()).words
        assert f"Notes of {name}" in notes
        assert f"Title of {name}" not in notes
    provenance = Page((written / "provenance.html").read_text()).words
    assert "3 recorded jobs took 2.1 core-minutes" in provenance
    assert "a_study 1 1.50 9 The title of z 1 0.50 9 all studies 1 0.10 9" in provenance
    assert Path(written / "errata/m_study.tex").read_text().count(r"\subsection*") == 1
    assert r"\section*{Errata: The title of m}" in (written / "errata/m_study.tex").read_text()
    assert "Paper of m\\_study" in (written / "errata/m_study.tex").read_text()
