"""Figures of networks that have all diverged are plotted, and say so."""

import warnings

import numpy as np
import pytest
import xarray as xr
from tests.drawn import given, makers, read

from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.kinds import draw
from repdyn.plotting import figures
from repdyn.plotting.figures import NOTHING, new, say_what_is_missing, style

EVERY = [(study, name) for study in STUDIES for name in sorted(makers(study, "figures"))]


def without_numbers(data):
    """A dataset, or those of variants, in which every number is missing."""
    if not isinstance(data, xr.Dataset):
        return {variant: without_numbers(part) for variant, part in data.items()}
    return data.map(lambda values: values.where(False) if values.dtype.kind == "f" else values, keep_attrs=True)


@pytest.mark.parametrize(("study", "name"), EVERY)
def test_figure_without_finite_values_is_saved(study, name, tmp_path, monkeypatch):
    made, shapes, saved = makers(study, "figures")[name], read(study), []
    data = {dataset: without_numbers(part) for dataset, part in given(study, made, shapes).items()}

    def settle(figure, *_):
        say_what_is_missing(figure)
        figure.set_layout_engine("none")  # the layout takes most of the time
        figure.draw_without_rendering()
        saved.append(figure)

    monkeypatch.setattr(figures, "save", settle)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of means over nothing
        draw.save(load_function(study, made.path), data, tmp_path / name, {})
    assert len(saved) == 1


def test_placeholder_names_what_is_missing(tmp_path, monkeypatch):
    """Where plotting ends with an error because numbers are missing."""
    data = {"loss": xr.Dataset({"a": ("x", [np.nan], {"missing": "diverged"}), "b": ("x", [1.0])})}
    reasons = []
    monkeypatch.setattr(figures, "placeholder", lambda name, reason: reasons.append(reason) or new()[0])
    monkeypatch.setattr(figures, "save", lambda *_: None)

    def fragile(loss):
        raise ValueError("Axis limits cannot be NaN or Inf")

    draw.save(fragile, data, tmp_path / "fragile", {})
    assert len(reasons) == 1
    assert "a of loss (diverged)" in reasons[0]


def test_panel_of_missing_numbers_says_so_and_others_keep_their_axes():
    with style():
        figure, axes = new(1, 3)
        for panel, values in zip(axes[0], ([1.0, 10.0], [np.nan, np.nan], [1.0, np.nan]), strict=True):
            panel.plot([1, 2], values)
            panel.axhline(1)
            panel.set(xscale="log", yscale="log")
        say_what_is_missing(figure)
        say_what_is_missing(figure)
    assert [[text.get_text() for text in panel.texts] for panel in axes[0]] == [[], [NOTHING], []]
    assert [panel.get_xscale() for panel in axes[0]] == ["log"] * 3
