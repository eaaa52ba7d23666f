"""The page of one network: the sentences first and word by word, figures inside, nothing from elsewhere."""

import copy
import html.parser
import re

import numpy as np
import pytest
import torch
from tests.diagnostics import test_summary as known
from torch import nn

from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.page import NOTHING_SAID, page, write_page
from repdyn.diagnostics.summary import summarize, words

LEADS = {"href", "src", "srcset", "action", "data", "poster", "xlink:href"}


class Read(html.parser.HTMLParser):
    """Text of each paragraph and cell, attributes that lead somewhere, and elements that are never closed."""

    VOID = ("meta", "link", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.paragraphs, self.rows, self.leads, self.ids, self.images = [], [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.leads += [value for name, value in attributes if name in LEADS]
        self.ids += [value for name, value in attributes if name == "id"]
        if tag == "img":
            self.images.append(dict(attributes))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "p":
            self.paragraphs.append("")
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "p" in self.open:
            self.paragraphs[-1] += data
        if {"th", "td"} & set(self.open):
            self.rows[-1][-1] += data


def told(make):
    network, X, labels, options = make()
    how = {name: options[name] for name in ("batch_statistics",) if name in options}
    return measure(network, X, labels=labels, **how), summarize(network, X, labels=labels, **options)


@pytest.mark.parametrize("make", known.EXPECTED, ids=lambda make: make.__name__)
def test_the_first_paragraph_is_what_is_known_of_the_network(make, monkeypatch):
    monkeypatch.setattr("repdyn.diagnostics.page._pictures", lambda _dataset: [])  # they take a second each
    dataset, sentences = told(make)
    read = Read(page(dataset, sentences))
    assert read.open == []
    assert read.paragraphs[0] == words(sentences)
    for sentence in sentences:
        assert str(sentence) in read.paragraphs[0]
    verdicts = {row[0]: row[1] for row in read.rows if row[0] in known.EXPECTED[make]}
    assert verdicts == known.EXPECTED[make]


def test_a_page_opens_without_a_net_and_its_links_lead_to_its_own_places(tmp_path):
    dataset, sentences = told(known.odd)
    write_page(tmp_path / "network.html", dataset, sentences)
    text = (tmp_path / "network.html").read_text(encoding="utf-8")
    read = Read(text)
    assert all(lead.startswith(("#", "data:")) for lead in read.leads)
    assert {lead[1:] for lead in read.leads if lead.startswith("#")} <= set(read.ids)
    outside = re.sub(r'"data:[^"]*"', "", text)  # the names in a vector graphic are no addresses to load
    assert not re.search(r"url\((?!\"?data:)|@import|<script|https?://(?!www\.w3\.org)", outside)
    assert len(read.images) == 2  # through depth, and the map in front of batch normalization
    assert all(image["src"].startswith("data:image/svg+xml,") and image["alt"] for image in read.images)
    write_page(tmp_path / "again.html", dataset, sentences)
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == text


def test_the_table_holds_the_numbers_of_the_dataset():
    dataset, sentences = told(known.bottleneck)
    rows = {row[0]: row for row in Read(page(dataset, sentences)).rows}
    head = rows["Layer"]
    for name in dataset["layer"].values.tolist():
        cells = dict(zip(head, rows[name], strict=True))
        assert cells["units"] == str(int(dataset["units"].sel(layer=name)))
        degrees = np.degrees(float(dataset["angle"].sel(layer=name, quantile=0.5)))
        assert cells["angle (degree)"] == f"{degrees:.4g}"
        assert cells["nc1"] == f"{float(dataset['nc1'].sel(layer=name)):.4g}"
    assert rows["accuracy"][1] == f"{float(dataset['accuracy']):.4g}"
    assert rows["nc1"][1:3] == [dataset["nc1"].attrs["long_name"], dataset["nc1"].attrs["paper"]]


def test_of_several_moments_the_first_and_the_last_are_shown():
    network, X, labels, options = known.rich()
    model = copy.deepcopy(options["before"])
    recorder = Recorder(model, X, labels=labels)
    recorder(0)
    model.load_state_dict(network.state_dict())
    recorder(10)
    dataset = recorder.dataset()
    read = Read(page(dataset))
    assert read.paragraphs[0] == NOTHING_SAID
    assert len(read.images) == 2  # through depth and through training
    ranks = [row[read.rows[0].index("effective rank")] for row in read.rows if row[0] == "1"]
    assert ranks == [f"{float(value):.4g}" for value in dataset["effective_rank"].sel(layer="1")]
    accuracy = next(row for row in read.rows if row[0] == "accuracy")[1]
    assert accuracy == " to ".join(f"{float(value):.4g}" for value in dataset["accuracy"])


def test_what_is_missing_is_a_dash_with_its_reason_and_names_are_escaped():
    class Odd(nn.Module):
        def forward(self, x):
            return x * torch.tensor(float("nan"))

    model = nn.Sequential()
    model.add_module("<b>", nn.Linear(3, 4))
    model.add_module("lost", Odd())
    text = page(measure(model, torch.randn(9, 3), ["<b>", "lost"], measures=["ranks"]))
    read = Read(text)
    assert "<b>" not in re.sub(r"<b>[^<]*</b>", "", text.split("</style>")[1])
    rows = {row[0]: row for row in read.rows}
    assert set(rows["lost"][1:]) == {"–"}
    assert "–" not in rows["<b>"]
    assert "36 of 36 values are NaN or infinite" in text.split("Left out")[1]
