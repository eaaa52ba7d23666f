"""Figures of networks that have all diverged say what they need; of some, they draw the rest."""

import json
import re
import warnings

import numpy as np
import pytest
import xarray as xr
from tests.drawn import given, makers, read, synthetic_dataset

from repdyn.base import figures
from repdyn.base.datasets import require_finite
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.figures import NOTHING, new, say_what_is_missing, style
from repdyn.bn_mean_field.figures.first_steps import fig3_first_step
from repdyn.bn_mean_field.figures.neuron_directions import fig1_anisotropy
from repdyn.bn_mean_field.figures.particle_limit import global_minimum
from repdyn.diagnostics.figures.training import draw_training
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.kinds import draw as draw_job


def made(study, name):
    file = f"{study}/data/{name}.nc"
    return synthetic_dataset(read(study)[file], file)


def draw(function, data):
    with style():
        figure = function(data)
        figure.canvas.draw()
        return figure


def diverged(data):
    """All measured numbers unknown."""
    return data.map(lambda values: values.where(False) if values.dtype.kind == "f" and values.ndim else values)


@pytest.mark.parametrize(
    ("function", "name", "needed"),
    [
        (global_minimum, "minimization", "a flow that has not diverged"),
        (fig1_anisotropy, "anisotropy", "that has not diverged"),
        (fig3_first_step, "first_step", "that have not diverged"),
    ],
)
def test_where_all_have_diverged_the_figure_says_what_it_needs(function, name, needed):
    with pytest.raises(NotEnoughDataError, match=needed):
        draw(function, diverged(made("bn_mean_field", name)))


def test_one_neuron_that_diverged_leaves_the_others():
    data = made("bn_mean_field", "anisotropy")
    for name in ("angle", "a"):
        data[name].loc[{"neuron": data["neuron"][-1]}] = np.nan
    assert draw(fig1_anisotropy, data).axes


def test_a_network_that_diverged_has_no_logarithmic_axis():
    name = next(iter(read_study("diagnostics").figures["through_training"].reads))
    data = made("diagnostics", name)
    figure = draw(draw_training, diverged(data))
    assert {panel.get_yscale() for panel in figure.axes if panel.get_visible()} == {"linear"}


def test_one_finite_value_is_enough():
    values = made("bn_mean_field", "first_step")["norm"].where(False)
    with pytest.raises(NotEnoughDataError, match=r"^a value$"):
        require_finite(values, "a value")
    values[(0,) * values.ndim] = 1.0
    require_finite(values, "a value")


# every figure of every study


EVERY = [(study, name) for study in STUDIES for name in sorted(makers(study, "figures"))]
KNOWN = {"fig1_ablation", "fig6_activity", "integrators", "fig1_two_points", "n6_fit_losses"}
"""What is left there is known: counts, whole numbers, positions given by the task, published values."""


def without_numbers(data):
    """A dataset, or those of variants, in which every number is missing."""
    if not isinstance(data, xr.Dataset):
        return {variant: without_numbers(part) for variant, part in data.items()}
    return data.map(lambda values: values.where(False) if values.dtype.kind == "f" else values, keep_attrs=True)


@pytest.fixture(scope="module")
def shapes():
    return {study: read(study) for study in STUDIES}


@pytest.mark.parametrize(("study", "name"), EVERY)
def test_a_figure_without_a_number_is_drawn_and_says_so(study, name, shapes, tmp_path, monkeypatch):
    made = makers(study, "figures")[name]
    data = {dataset: without_numbers(part) for dataset, part in given(study, made, shapes[study]).items()}
    seen = []

    def settle(figure, *_):
        say_what_is_missing(figure)
        figure.draw_without_rendering()
        seen.append(figure)

    monkeypatch.setattr(figures, "save", settle)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of means over nothing
        draw_job.save(load_function(study, made.path), data, tmp_path / name, {})
    figure = seen[-1]
    said = " ".join(text.get_text() for panel in figure.axes for text in panel.texts)
    assert "ended with" not in figure.repdyn["caption"]
    assert name in KNOWN or re.search("converged|diverged|Needs more than this run has", said)


def test_the_figure_names_what_is_missing(tmp_path):
    """Where the drawing dies of missing numbers, the figure says which they are and why."""
    data = {"loss": xr.Dataset({"a": ("x", [np.nan], {"missing": "diverged"}), "b": ("x", [1.0])})}

    def fragile(loss):
        raise ValueError("Axis limits cannot be NaN or Inf")

    draw_job.save(fragile, data, tmp_path / "fragile", {})
    about = json.loads((tmp_path / "fragile.json").read_text())
    assert "a network that converged: no finite value in a of loss (diverged)" in about["caption"]


def test_a_panel_of_missing_numbers_says_so_and_others_keep_their_axes(tmp_path):
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
