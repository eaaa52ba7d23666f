"""Numbers on the page of a network: means over seeds, the first and the last moment, how it was measured."""

from urllib.parse import unquote

import numpy as np
import pytest
from tests.diagnostics.test_page import Read
from tests.made_up_cells import dataset

from repdyn.diagnostics import page
from repdyn.diagnostics.summary import Sentence
from repdyn.diagnostics.theory.intervals import Interval

LAYERS = ["input", "a", "b"]
WORDS = {"units": "activation", "long_name": "in words", "paper": "by somebody", "equation": "(1)"}


@pytest.fixture
def recorded():
    """Two measures of three layers and two of the network, at three moments and of four seeds."""
    data = dataset(
        {"layer": LAYERS, "quantile": [0.05, 0.5, 0.95], "step": [0, 10, 40], "seed": range(4), "point": range(9)},
        {
            "angle": "layer quantile step seed",
            "nc1": "step layer seed",
            "accuracy": "seed step",
            "loss": "step seed",
            "expected_angle": "",
        },
    ).assign_coords({"class": range(5)})
    for name in data.data_vars:
        data[name].attrs = WORDS | {"missing": f"no {name}; or it failed", "long_name": f"{name} in words"}
    about = {"title": "Made up", "time": "step", "gamma": 0.001, "normalized_by": "batch statistics", "left_out": ""}
    return data.assign_attrs(about)


def test_layers_have_means_over_seeds_and_angles_their_median_over_pairs_in_degrees(recorded):
    tables = page._tables(recorded, ["angle", "nc1"])
    assert [table["caption"] for table in tables] == ["step 0", "step 40"]
    for table, step in zip(tables, (0, 2), strict=True):
        angles = recorded["angle"].values[:, 1, step].mean(axis=1) * 180 / np.pi
        nc1 = recorded["nc1"].values[step].mean(axis=1)
        assert [name for name, _ in table["rows"]] == LAYERS
        np.testing.assert_allclose([cells for _, cells in table["rows"]], np.stack([angles, nc1], axis=1))


def test_what_is_the_same_at_both_ends_is_shown_once(recorded):
    recorded["nc1"][2] = recorded["nc1"][0]
    assert [table["caption"] for table in page._tables(recorded, ["nc1"])] == ["step 40"]
    assert [table["caption"] for table in page._tables(recorded, ["nc1", "angle"])] == ["step 0", "step 40"]


def test_a_recording_of_one_moment_has_one_table_though_numbers_are_missing(recorded):
    recorded["nc1"].loc[{"layer": "a"}] = np.nan
    (only,) = page._tables(recorded.isel(step=[1]), ["nc1", "angle"])
    assert only["caption"] == "step 10"
    assert np.isnan([row for _, row in only["rows"]]).tolist() == [[False, False], [True, False], [False, False]]


def test_numbers_of_the_network_go_from_the_first_moment_to_the_last(recorded):
    accuracy, loss = recorded["accuracy"].values[:, [0, 2]].mean(axis=0), recorded["loss"].values[[0, 2]].mean(axis=1)
    assert page._whole(recorded) == [
        {"name": "accuracy", "shown": f"{accuracy[0]:.4g} to {accuracy[1]:.4g}", "text": "accuracy in words"},
        {"name": "loss", "shown": f"{loss[0]:.4g} to {loss[1]:.4g}", "text": "loss in words"},
        {
            "name": "expected_angle",
            "shown": f"{float(recorded['expected_angle']):.4g}",
            "text": "expected_angle in words",
        },
    ]


def test_how_it_was_measured_counts_what_the_dataset_holds(recorded):
    settings = '{"layers": ["a", "b"], "residual": null, "batch_size": 0, "flag": false, "output": ""}'
    named = {"experiment": "my:net", "settings": settings, "versions": "torch 2", "device": "cpu"}
    hourly = recorded.rename(step="hour").assign_attrs(named | {"time": "hour"})
    assert page._about(hourly) == [
        ("points", "9"),
        ("layers", "3"),
        ("classes", "5"),
        ("moments", "3, from hour 0 to 40"),
        ("seeds", "4, of which the means are shown"),
        ("normalized by", "batch statistics"),
        ("stable cost", "regularized by 0.001 of the operator norm"),
        ("network", "my:net"),
        ("arguments", "layers ['a', 'b']"),
        ("packages", "torch 2"),
        ("device", "cpu"),
    ]
    single = recorded.isel(step=0, seed=0, drop=True).drop_vars("class")
    del single.attrs["time"]
    assert [name for name, _ in page._about(single)] == ["points", "layers", "normalized by", "stable cost"]


def test_a_column_says_where_it_comes_from_and_angles_are_told_in_degrees(recorded):
    assert page._column(recorded, "nc1") == ("nc1", "activation", "nc1 in words", "by somebody", "(1)", "no nc1")
    angle = page._column(recorded, "angle")
    assert (angle.name, angle.units) == ("angle", "degree")
    assert "median" in angle.text


def test_numbers_and_intervals_in_words():
    assert [page._number(value) for value in (0.123456, 12345.6, np.nan, np.inf)] == ["0.1235", "1.235e+04", "–", "inf"]
    assert page._between(Interval(0.5, 0.25, 0.75)) == "0.25 to 0.75"
    assert page._between(Interval(0.5, np.nan, np.nan)) == "–"


def test_words_of_settings_leave_out_what_is_not_set():
    assert page._plain('{"a": 1, "b": null, "c": [2], "d": []}') == "a 1, c [2]"
    assert page._plain("[1, 2]") == "[1, 2]"
    assert page._plain("no json") == "no json"


def test_units_of_a_column_are_those_of_the_measure_and_reasons_end_before_the_general_one(recorded):
    recorded["nc1"].attrs["missing"] = "no class; or one alone; or it failed"
    assert page._column(recorded, "nc1").missing == "no class"
    columns = [page._column(recorded, name) for name in page._shown(recorded)]
    assert [column.name for column in columns] == ["angle", "nc1"]
    assert [column.units for column in columns] == ["degree", "activation"]


def test_held_out_columns_stand_beside_their_own_and_held_out_points_are_counted_after_the_points(recorded):
    recorded["nc1_held_out"] = recorded["nc1"] + 1
    recorded["effective_rank"] = recorded["nc1"] + 2
    recorded = recorded.assign_coords(point_held_out=range(6))
    assert page._shown(recorded) == ["angle", "effective_rank", "nc1", "nc1_held_out"]
    assert page._about(recorded)[:3] == [("points", "9"), ("held-out points", "6"), ("layers", "3")]


def test_a_page_without_columns_names_its_layers_all_the_same(recorded):
    (only,) = page._tables(recorded, [])
    assert only == {"caption": "step 40", "rows": [(name, []) for name in LAYERS]}


def cells(*values):
    return [f"{float(value):.4g}" for value in values]


SENTENCES = [
    Sentence("learned", "yes", "It has learned", Interval(0.75, 0.5, 0.875), 0.25, "accuracy"),
    Sentence("features", "cannot tell", "Cannot tell: it may have learned nothing"),
    Sentence("collapse", "no", "Classes do not collapse", Interval(0.6, 0.55, 0.7), 0.1, "share"),
    Sentence("odd point", "cannot tell", "Cannot tell: it scatters", Interval(3.0, 1.5, np.inf), 4.0, "norm"),
]
REASONS = ["layer (a, b): 3 of 45 values are NaN", "pairs: no labels", "held-out points, loss: no labels"]


def test_a_whole_page_holds_every_sentence_layer_column_and_reason(recorded, monkeypatch):
    monkeypatch.setattr(page, "_pictures", lambda _dataset: [])
    recorded["angle"].attrs["paper"], recorded["nc1"].attrs["equation"] = "by others", "(7)"
    recorded["nc1"].loc[{"layer": "a", "step": 0}] = np.nan
    text = page.page(recorded.assign_attrs(left_out="; ".join(REASONS)), SENTENCES)
    read = Read(text)
    assert read.open == []
    degrees = np.degrees(recorded["angle"].sel(quantile=0.5).mean("seed"))
    nc1 = recorded["nc1"].mean("seed")
    head = ["Layer", "angle (degree)", "nc1 (activation)"]
    layers = [
        [name, *cells(degrees.sel(layer=name, step=step), nc1.sel(layer=name, step=step))]
        for step in (0, 40)
        for name in LAYERS
    ]
    layers[1][2] = page.MISSING
    whole = [
        [
            name,
            " to ".join(cells(*(recorded[name].mean("seed").sel(step=step) for step in (0, 40)))),
            f"{name} in words",
        ]
        for name in ("accuracy", "loss")
    ]
    angle = "angle between two points, median over all pairs"
    assert read.rows == [
        ["Topic", "So", "Measured", "Interval", "Threshold", "Source"],
        ["learned", "yes", "0.75", "0.5 to 0.875", "0.25", "accuracy"],
        ["features", "cannot tell", page.MISSING, page.MISSING, page.MISSING, ""],
        ["collapse", "no", "0.6", "0.55 to 0.7", "0.1", "share"],
        ["odd point", "cannot tell", "3", "1.5 to inf", "4", "norm"],
        head, *layers[:3], head, *layers[3:], *whole,
        ["expected angle", *cells(recorded["expected_angle"]), "expected_angle in words"],
        ["Column", "What", "Paper", "Place", "Missing where"],
        ["angle", angle, "by others", "(1)", "no angle"],
        ["nc1", "nc1 in words", "by somebody", "(7)", "no nc1"],
    ]  # fmt: skip
    assert read.paragraphs[0].split(". ") == [
        "It has learned (0.75, interval 0.5 to 0.875, threshold 0.25; accuracy)",
        "Classes do not collapse (0.6, interval 0.55 to 0.7, threshold 0.1; share)",
        "Cannot tell: it may have learned nothing",
        "Cannot tell: it scatters (3, interval 1.5 to inf, threshold 4; norm).",
    ]
    assert text.split('<ul class="reasons">')[1].split("</ul>")[0] == "".join(f"<li>{why}</li>" for why in REASONS)
    captions = [part.split("</h3>")[0] for part in text.split("<h3>")[1:]]
    assert captions == ["step 0", "step 40", "Left out", "What the columns are"]


def test_every_picture_has_its_own_words_and_address(recorded, monkeypatch):
    def save(figure, stem):
        stem.with_suffix(".svg").write_text(f"<svg>{figure}</svg>")
        stem.with_suffix(".json").write_text(
            f'{{"title": "{figure} in\\n short", "caption": "About {figure}", "alt": "Lines\\n  of {figure}"}}'
        )

    monkeypatch.setattr(page.figures, "save", save)
    monkeypatch.setattr(page, "draw_all", lambda _dataset: {"b": "ranks", "a": "angles", "c": "energies"})
    pictures = page._pictures(recorded)
    addresses = [picture.pop("address") for picture in pictures]
    assert pictures == [
        {"title": f"{name} in short", "caption": f"About {name}", "alt": f"Lines of {name}"}
        for name in ("ranks", "angles", "energies")
    ]
    for name, address in zip(("ranks", "angles", "energies"), addresses, strict=True):
        assert unquote(address) == f"data:image/svg+xml,<svg>{name}</svg>"
