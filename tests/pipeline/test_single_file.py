"""The report as one file, and the captions and labels for Snakemake's own report: links, order and words by hand."""

import base64
import gzip
import json
import re
from types import SimpleNamespace

import pytest

from repdyn.pipeline.report import captions, single

PAGES = dict.fromkeys(["index.html", "ledger.html", "studies/x.html", "claims/x-1.html"], "")


@pytest.mark.parametrize(
    ("attribute", "address", "path", "link"),
    [
        ("href", "studies/x.html", "index.html", ' href="#/studies/x.html"'),
        ("href", "studies/x.html#fig1", "index.html", ' href="#/studies/x.html#fig1"'),
        ("href", "../claims/x-1.html", "studies/x.html", ' href="#/claims/x-1.html"'),
        ("href", "x-1.html#part", "claims/x-1.html", ' href="#/claims/x-1.html#part"'),
        ("href", "#part", "studies/x.html", ' href="#/studies/x.html#part"'),
        ("action", "../ledger.html", "studies/x.html", ' action="#/ledger.html"'),
        ("src", "../figures/x/f.svg", "studies/x.html", ' data-picture="figures/x/f.svg"'),
        ("src", "figures/x/f.svg", "index.html", ' data-picture="figures/x/f.svg"'),
        ("href", "../../x/data/a.nc", "studies/x.html", ""),  # a file of the run, which does not travel
        ("href", "https://example.org/a#b", "index.html", ' href="https://example.org/a#b"'),
        ("src", "data:,", "index.html", ' src="data:,"'),
    ],
)
def test_links_lead_to_pages_inside_the_file(attribute, address, path, link):
    assert single._rewritten(f'<a {attribute}="{address}">', path, PAGES) == f"<a{link}>"


def shell(name, body):
    bar = '<header class="bar"><a href="ledger.html">all</a></header>'
    head = f"<head>\n<title>Page {name}</title>\n<style>head of {name}</style></head>"
    return f'{head}<body>{bar}<div class="frame wide"><main>{body}</main>\n</div><footer>foot</footer></body>'


def unpacked(letters):
    packed = base64.b64decode(letters, validate=True)
    assert packed[4:8] == bytes(4)  # no clock: the same report is the same file
    return gzip.decompress(packed).decode()


def test_every_page_is_a_template_under_its_path_and_title(tmp_path):
    drawn = {f"figures/{name}.svg": f"<svg>{name}</svg>" for name in ("x/f", "a/f", "x/e")}
    files = {path: tmp_path / f"{place}.svg" for place, path in enumerate(drawn)}
    for path, file in files.items():
        file.write_text(drawn[path])
    pages = {
        "index.html": shell("first", '<a href="studies/x.html">x</a>'),
        "ledger.html": shell("second", "claims"),
        "studies/x.html": shell("third", '<img src="../figures/x/f.svg"><a href="../index.html">up</a>'),
    }
    names = ("late", "stage", "theory", "site")
    assets = {f"assets/{name}.js": f"script {name}" for name in names}
    assets |= {f"assets/{name}.css": f"{name} of it" for name in ("size", "colors", "math")}
    text = single.page(pages, assets, files)
    templates = re.findall(r'<template data-page="(.*?)" data-title="(.*?)">(.*?)</template>', text)
    assert [(path, title) for path, title, _ in templates] == [
        ("index.html", "Page first"),
        ("ledger.html", "Page second"),
        ("studies/x.html", "Page third"),
    ]
    start, end = '<div class="frame wide"><main>', "</main>\n</div>"
    third = '<img data-picture="figures/x/f.svg"><a href="#/index.html">up</a>'
    bodies = ['<a href="#/studies/x.html">x</a>', "claims", third]
    assert [unpacked(body) for *_, body in templates] == [f"{start}{body}{end}" for body in bodies]
    assert "<title>Page first</title>" in text
    assert text.count('<header class="bar"><a href="#/ledger.html">all</a></header>') == 1
    assert "<style>\nsize of it\ncolors of it\nmath of it\n</style>" in text
    assert re.findall(r"script (\w+)", text) == ["site", "theory", "stage", "late"]  # what others build on comes first
    pictures = json.loads(re.search(r"pictures: (\{.*?\}) \};", text)[1])
    assert {path: unpacked(letters) for path, letters in pictures.items()} == drawn


def test_a_page_of_another_form_is_refused():
    with pytest.raises(ValueError, match="has nothing that fits"):
        single.page({"index.html": "<title>no bar</title>"}, {}, {})


# Snakemake's own report

TITLES = {
    ("figures", "Figure 3: losses $\\mathcal{F}$ of $\\alpha$"): {"figure": "Figure 3", "title": "losses F of alpha"},
    ("tables", "Table T2: which: where"): {"table": "Table T2", "title": "which: where"},
    ("figures", "Discussion: one neuron"): {"figure": "new", "title": "Discussion: one neuron"},
    ("tables", "Gradient audit"): {"table": "new", "title": "Gradient audit"},
    ("tables", "Figures of merit: all"): {"table": "new", "title": "Figures of merit: all"},
}
VERDICTS = {"p0": ["does not hold", "holds", "holds"], "p2": ["not testable"]}


def test_labels_have_number_title_and_the_verdicts_of_the_claims(tmp_path):
    products = [
        SimpleNamespace(study="x", kind=kind, name=f"p{place}", title=title, caption=f"Caption {place}.")
        for place, (kind, title) in enumerate(TITLES)
    ]

    def claims_on(product):
        return [{"verdict": verdict} for verdict in VERDICTS.get(product.name, [])]

    captions.write(SimpleNamespace(products=products, claims_on=claims_on), tmp_path)
    labels = json.loads((tmp_path / "labels.json").read_text(encoding="utf-8"))
    counted = {"p0": "2 holds, 1 does not hold", "p2": "1 not testable"}
    assert labels == {
        f"x/{kind}/p{place}": label | {"claims": counted.get(f"p{place}", "none")}
        for place, ((kind, _), label) in enumerate(TITLES.items())
    }
    assert (tmp_path / "x/tables/p3.rst").read_text(encoding="utf-8") == "**Gradient audit**\n\nCaption 3.\n"
