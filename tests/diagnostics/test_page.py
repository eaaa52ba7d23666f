"""The page of one network: numbers of the dataset in its tables, verdicts in its summary, nothing from elsewhere."""

import html.parser

import numpy as np
import torch
from tests.diagnostics import test_summary as known
from torch import nn

from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.page import page, write_page
from repdyn.diagnostics.summary import summarize


class Read(html.parser.HTMLParser):
    """Rows of the tables and what the page loads."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.loads, self.cell = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.loads += [value for name, value in attributes if name in ("src", "href")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
            self.cell = True

    def handle_endtag(self, tag):
        self.cell = self.cell and tag not in ("th", "td")

    def handle_data(self, data):
        if self.cell:
            self.rows[-1][-1] += data


def test_the_tables_hold_the_numbers_of_the_dataset_and_the_verdicts(tmp_path):
    network, X, labels, options = known.bottleneck()
    others = {"held_out": (X[:40] + 1, labels[:40]), "other_form": X + 0.1}
    dataset, sentences = measure(network, X, labels=labels, **others), summarize(network, X, labels=labels, **options)
    write_page(tmp_path / "network.html", dataset, sentences)
    read = Read((tmp_path / "network.html").read_text(encoding="utf-8"))
    assert all(lead.startswith(("#", "data:")) for lead in read.loads)
    rows = {row[0]: row for row in read.rows}
    for sentence in sentences:
        assert rows[sentence.topic][1] == sentence.verdict
    kinds = {name: type(module).__name__ for name, module in network.named_modules()}
    for name in dataset["layer"].values.tolist():
        shown = f"{name} {kinds[name]}" if name.isdigit() else name
        degrees = np.degrees(float(dataset["angle"].sel(layer=name, quantile=0.5)))
        numbers = {f"{float(dataset[column].sel(layer=name)):.4g}" for column in ("units", "effective_rank", "nc1")}
        numbers |= {f"{float(dataset[column].sel(layer=name)):.4g}" for column in ("domain_shift", "form_distance")}
        of_classes = np.median(dataset["class_effective_rank"].sel(layer=name))
        assert numbers | {f"{degrees:.4g}", f"{of_classes:.4g}"} <= set(rows[shown])
    assert rows["accuracy"][1] == f"{float(dataset['accuracy']):.4g}"


def test_the_first_and_the_last_moment_are_shown_and_names_are_escaped(monkeypatch):
    monkeypatch.setattr("repdyn.diagnostics.page._pictures", lambda _dataset: [])
    torch.manual_seed(0)
    model, X, labels = nn.Sequential(), torch.randn(9, 3), np.arange(9) % 3
    model.add_module("<b>", nn.Linear(3, 4))
    recorder = Recorder(model, X, labels=labels, held_out=(X[:6] + 1, labels[:6]))
    for step in (0, 5, 10):
        recorder(step)
        with torch.no_grad():
            model[0].weight += torch.randn(4, 3)
    dataset = recorder.dataset()
    read = Read(page(dataset))
    for name in ("effective_rank", "effective_rank_held_out"):
        values = [f"{float(value):.4g}" for value in dataset[name].sel(layer="<b>")]
        shown = [row for row in read.rows if row[0] == "<b>"]
        assert [value in row for value, row in zip(values[::2], shown, strict=True)] == [True, True]


def test_missing_numbers_are_no_numbers_on_the_page(monkeypatch):
    monkeypatch.setattr("repdyn.diagnostics.page._pictures", lambda _dataset: [])
    network = nn.Sequential(nn.Linear(3, 4), nn.Threshold(1e9, np.nan))
    rows = {row[0]: row for row in Read(page(measure(network, torch.randn(9, 3), measures=["ranks"]))).rows}
    assert all(any(sign.isdigit() for sign in cell) for cell in rows["0 Linear"][1:])
    assert not any(sign.isdigit() for cell in rows["1 Threshold"][1:] for sign in cell)
