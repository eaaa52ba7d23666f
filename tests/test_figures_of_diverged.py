"""Figures of networks that have all diverged say what they need; of some, they draw the rest."""

import numpy as np
import pytest
from tests.drawn import read, synthetic_dataset

from repdyn.base.datasets import require_finite
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.figures import style
from repdyn.bn_mean_field.figures.first_steps import fig3_first_step
from repdyn.bn_mean_field.figures.neuron_directions import fig1_anisotropy
from repdyn.bn_mean_field.figures.particle_limit import global_minimum
from repdyn.diagnostics.figures.training import draw_training
from repdyn.pipeline.run.declare.graph import read_study


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
