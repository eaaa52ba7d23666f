"""The report of a run: a folder of pages that opens offline, findings first, a page per claim, and all in one file."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from repdyn.base import markup
from repdyn.base.errors import ConfigError
from repdyn.base.files import named
from repdyn.base.verdicts import REFUTED, UNDECIDED
from repdyn.pipeline import kept_runs, studies
from repdyn.pipeline.config.messages import not_one_of
from repdyn.pipeline.report import (
    captions,
    evidence,
    first_page,
    listings,
    page_md,
    replies,
    searching,
    settings_sources,
    single,
    stories,
    titles,
    typeset,
    views,
)
from repdyn.pipeline.report.contents import Contents, Row, read
from repdyn.pipeline.report.errata import scripts, severities
from repdyn.pipeline.report.notes import Notes, notes
from repdyn.pipeline.report.texts import FOLDERS, MEANINGS, PLURALS, TERMS, WARNINGS, linked

PAGE = Path(__file__).parent / "page"
ASSETS = PAGE / "assets"


@dataclass(frozen=True)
class Checkout:
    """What the report takes from the checkout.

    Attributes:
        workflow: folder of the checkout, with `reference/` and `workflow/`.
        outputs: job -> files it creates in the run's results.
        folders: study -> its folder.
    """

    workflow: Path = Path()
    outputs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    folders: Mapping[str, Path] = field(default_factory=studies.folders)


def build(root: Path, files: Iterable[Path], output: Path, source: Checkout) -> None:
    """Writes the report, with captions and labels for Snakemake's report below it.

    Args:
        root: the run's results folder, with `claims.csv`, `evidence.csv` and `manifest.json`.
        files: files of figures and tables, with their JSON files; other files are ignored.
        output: folder of the report; replaced.
        source: parts of the checkout to show.
    """
    site = Site(read(root, files, source.outputs), source)
    unfinished = output.with_name(f".{output.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        with named(output):
            site.write(unfinished)
        captions.write(site.contents, unfinished / "captions")
        shutil.rmtree(output, ignore_errors=True)
        unfinished.replace(output)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


class Site:
    """All pages of a run's report."""

    def __init__(self, contents: Contents, source: Checkout) -> None:
        self.contents, self.folders, workflow = contents, source.folders, source.workflow
        declared = studies.declared()
        self.titles = {name: declared[name].title if name in declared else name for name in contents.studies}
        self.explorers = {name: study.explorer for name, study in declared.items()}
        opened = {name: study.opening for name, study in declared.items() if study.opening}
        self.animations = first_page.animations(opened, contents)
        self.pages_of_studies = page_md.pages(self.folders)
        self.notes = {study: self._notes(study) for study in contents.studies}
        own = studies.files(studies.SOURCES, self.folders)
        self.sources = settings_sources.read_all(workflow / settings_sources.SHARED, own)
        self.references = kept_runs.ledgers(workflow / kept_runs.FOLDER)
        self.exceptions = kept_runs.exceptions(workflow / kept_runs.FOLDER)
        self.chosen = page_md.chosen_by_claim(self.pages_of_studies.values())
        self.replies = replies.of_studies(self.folders)
        self.scripts = scripts(self.folders)
        animated = {one.claim["id"] for one in self.animations}
        cards = first_page.cards(self.pages_of_studies, contents)
        self.findings = sorted(cards, key=lambda card: card.claim["id"] not in animated)
        self.terms = page_md.terms(self.pages_of_studies, TERMS)
        self._larger = {name: kept_runs.verdicts_of(frame) for name, frame in self.references.items()}
        self.studies = [self._study(name) for name in contents.studies]
        self._settings = {study["name"]: study["settings"] for study in self.studies}
        self._environment = self._make_environment()

    def write(self, folder: Path) -> None:
        """Writes pages, pictures, styles and scripts, and all of them in `single.html`."""
        pages, assets = dict(self.pages()), self.assets()
        pictures = {product.picture: product.source for product in self.contents.products if product.picture}
        html = {path: text for path, text in pages.items() if path.endswith(".html")}
        texts = pages | assets | {"single.html": single.page(html, assets, pictures)}
        for parent in {folder / name for name in FOLDERS} | {(folder / path).parent for path in [*texts, *pictures]}:
            parent.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            (folder / path).write_text(text, encoding="utf-8", newline="\n")
            if path.endswith(".typ") and (document := typeset.pdf(text)):
                (folder / path).with_suffix(".pdf").write_bytes(document)
        for path, file in pictures.items():
            shutil.copyfile(file, folder / path)

    def pages(self) -> Iterable[tuple[str, str]]:
        """Path in the report and text of every page."""
        yield self._page("index.html", "index", **self._overview())
        yield self._page("ledger.html", "ledger", **self._ledger())
        yield self._page("errata.html", "errata", template="errata_index.html.j2", studies=self.studies)
        yield self._page("concepts.html", "concepts", studies=self.studies)
        yield self._page("glossary.html", "glossary")
        yield self._page("provenance.html", "provenance", **self._provenance())
        for study in self.studies:
            name = study["name"]
            yield self._page(f"studies/{name}.html", "study", **study)
            yield self._page(f"studies/{name}-notes.html", "study", template="notes.html.j2", **study)
            yield self._page(f"settings/{name}.html", "study", template="settings.html.j2", **study)
            if study["errata"].rows or study["errata"].awaiting:
                yield self._page(f"errata/{name}.html", "errata", template="errata.html.j2", **study)
                yield f"errata/{name}.typ", self._document(study)
        for place, claim in enumerate(self.contents.ledger):
            yield self._page(f"claims/{claim['id']}.html", "claim", **self._claim(claim, place))

    def _document(self, study: views.Shown) -> str:
        source = study["source"]
        paper = (
            " ".join([f"{source.authors}: {source.title}, {source.link}.", source.note]) if source else study["paper"]
        )
        return typeset.document(study["title"], paper, study["errata"], self.scripts, self.contents.rows)

    def assets(self) -> dict[str, str]:
        """Path inside the report and text of styles and scripts."""
        files = sorted([*ASSETS.iterdir(), markup.STYLE], key=lambda path: path.name)
        assets = {f"assets/{path.name}": path.read_text(encoding="utf-8") for path in files}
        explorers = studies.files(studies.EXPLORER, self.folders)
        assets |= {f"assets/{study}.js": path.read_text(encoding="utf-8") for study, path in explorers.items()}
        assets |= self._animated()
        font = base64.b64encode((PAGE / "math.woff2").read_bytes()).decode()
        face = f'@font-face {{ font-family: "repdyn math"; src: url("data:font/woff2;base64,{font}"); }}\n'
        hits = searching.hits(self.contents, self.pages_of_studies, self.titles, self.terms)
        search = _script("texts", {key: hit.searched for key, hit in hits.items()})
        search += _script("hits", {key: hit.shown for key, hit in hits.items()})
        return assets | {"assets/math.css": face, "assets/search.js": search}

    def _animated(self) -> dict[str, str]:
        """Scripts of the animations, and their numbers."""
        scripts = studies.files(studies.OPENING, self.folders)
        texts = {f"assets/{one.study}-opening.js": scripts[one.study] for one in self.animations}
        numbers = {one.study: one.numbers for one in self.animations}
        shown = {"assets/openings.js": _script("openings", numbers)} if numbers else {}
        return shown | {path: file.read_text(encoding="utf-8") for path, file in texts.items()}

    def _page(self, path: str, here: str, *, template: str = "", **shown: object) -> tuple[str, str]:
        page = self._environment.get_template(template or f"{here}.html.j2")
        return path, page.render(here=here, up="../" * path.count("/"), **shown)

    def _make_environment(self) -> Environment:
        loader = PackageLoader("repdyn.pipeline.report", "page")
        environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
        environment.filters |= {"mathml": markup.mathml, "words": markup.words, "quoted": markup.quoted}
        environment.filters |= {"plain": markup.plain, "numbers": markup.numbers}
        environment.filters |= {"margin": evidence.margin, "counted": lambda counts, status: dict(counts)[status]}
        environment.filters["linked"] = partial(linked, known=self.contents.rows)
        environment.filters["json"] = partial(json.dumps, ensure_ascii=False)
        environment.filters["pretty"] = partial(json.dumps, ensure_ascii=False, indent=1)
        environment.globals |= {"run": self.contents.run, "titles": self.titles, "refuted": REFUTED}
        environment.globals |= {"terms": self.terms, "plurals": PLURALS, "scripts": self.scripts}
        environment.globals |= {"errata_suffix": "pdf" if typeset.is_installed() else "typ"}
        environment.globals |= {"meanings": MEANINGS, "longest_cell": evidence.LONGEST_CELL}
        environment.globals |= {"listing_of": listings.function, "files_of": self.contents.files_of}
        environment.globals |= {"claims_of_product": self.contents.claims_on}
        return environment

    def _notes(self, study: str) -> Notes:
        if study not in self.pages_of_studies:
            return Notes()
        pictures = {
            figure.name: (figure.picture, *figure.size) for figure in self.contents.products_of(study, "figures")
        }
        return notes(
            page_md.with_facts(self.pages_of_studies[study].notes, self.contents.rows), self.contents.rows, pictures
        )

    def _study(self, name: str) -> views.Shown:
        study = views.study(
            name, self.titles[name], self.explorers.get(name), self.contents, self.notes[name], self._larger
        )
        page = self.pages_of_studies.get(name)
        figures = {figure.name: figure for figure in study["figures"]}
        concept = page.items.concept if page else None
        if page and concept and concept.figure not in figures:
            raise ConfigError(f"{page.path}: concept.figure: {not_one_of(concept.figure, figures)}")
        configuration = {name: self.contents.manifest["configuration"].get(name, {})}
        configuration |= {"data": self.contents.manifest["configuration"].get("data", {})}
        settings = settings_sources.settings(configuration, self.sources)
        return {
            **study,
            "heading": page.title if page else self.titles[name],
            "story": stories.story(page, self.contents.rows, figures, self.terms) if page else None,
            "source": page.items.paper if page else None,
            "concept": concept,
            "illustration": figures[concept.figure] if concept else None,
            "settings": settings,
            "differing": [setting for setting in settings if setting.differs],
        }

    def _claim(self, claim: Row, place: int) -> views.Shown:
        before, after = self._neighbors(place)
        chosen = next((card.figure for card in self.findings if card.claim["id"] == claim["id"]), None)
        return {
            **views.claim(claim, self.contents, self.notes[claim["study"]], chosen),
            "scales": self._scales(claim["id"]),
            "exception": self.exceptions.get(claim["id"], ""),
            "chosen": self.chosen.get(claim["id"], []),
            "replies": self.replies.get(claim["id"], []),
            "headline": titles.title(claim["message"] or claim["statement"]),
            "rests_on": settings_sources.behind_claim(claim, self.contents, self._settings[claim["study"]]),
            "before": before,
            "after": after,
        }

    def _overview(self) -> views.Shown:
        ledger = self.contents.ledger
        own = [claim for claim in ledger if claim["origin"] != "ours"]
        return {
            "heading": views.heading(ledger, self.titles, "" if studies.outside() else " of deep learning theory"),
            "own": own,
            "said": views.tally(own or ledger),
            "severities": [(slip, count) for slip, count in severities(own) if count],
            "ours": len(ledger) - len(own),
            "changes": [claim for claim in ledger if claim["change"]],
            "warning": WARNINGS.get(self.contents.run, ""),
            "summaries": self._summaries(),
            "sources": {study["name"]: study["source"] for study in self.studies},
            "animations": self.animations,
            "findings": self.findings,
            "studies": self.studies,
            "counts": views.counts(own or ledger),
        }

    def _summaries(self) -> dict[str, dict[str, str]]:
        """Study of the run -> what its paper claims, what breaks, what survives."""
        return {
            name: {key: page_md.with_facts(sentence, self.contents.rows) for key, sentence in page.items.summary}
            for name, page in self.pages_of_studies.items()
            if name in self.titles and page.items.summary
        }

    def _ledger(self) -> views.Shown:
        ledger = self.contents.ledger
        return {
            "ledger": ledger,
            "counts": views.counts(ledger),
            "claimed": list(dict.fromkeys(claim["study"] for claim in ledger)),
            "slips": [slip for slip, count in severities(ledger) if count],
            "kinds": sorted({claim["kind"] for claim in ledger}),
        }

    def _provenance(self) -> views.Shown:
        records = self.contents.manifest["costs"]
        return {
            "manifest": self.contents.manifest,
            "costs": views.costs(records, self.titles),
            "total_cpu": sum(record["cpu_seconds"] for record in records),
            "unrecorded": sorted(set(self.contents.jobs.values()) - {record["log"] for record in records}),
        }

    def _scales(self, id: str) -> list[dict[str, str]]:
        """The claim in each reference run: verdict, samples, and what an undecided one needs."""
        rows = [(name, frame.loc[id]) for name, frame in self.references.items() if id in frame.index]
        return [
            {
                "run": name,
                "verdict": str(row["verdict"]),
                "n": str(row["n"]),
                "remark": str(row["why"]) if row["verdict"] == UNDECIDED else "",
            }
            for name, row in rows
        ]

    def _neighbors(self, place: int) -> tuple[Row | None, Row | None]:
        """The claims of its study before and after a position in the ledger."""
        ledger = self.contents.ledger
        study = ledger[place]["study"]
        around = (ledger[at] if 0 <= at < len(ledger) else None for at in (place - 1, place + 1))
        before, after = (row if row and row["study"] == study else None for row in around)
        return before, after


def _script(name: str, value: object) -> str:
    """A script that sets a variable, so that pages need not read files."""
    text = json.dumps(value, ensure_ascii=True, indent=0).replace("<", "\\u003c")  # no text of it is markup
    return f'"use strict";\nwindow.repdyn = window.repdyn || {{}};\nwindow.repdyn.{name} = {text};\n'
