"""Figures of synthetic datasets, and what their panels show, for tests of their content."""

import warnings
from functools import cache

import numpy as np
from tests.drawn import given, makers, read, synthetic_dataset

from repdyn.pipeline.run.execute.loading import load_function

shapes = cache(read)


def dataset_of(study, name):
    """A synthetic dataset of a recorded shape, which tests may change."""
    file = f"{study}/data/{name}.nc"
    return synthetic_dataset(shapes(study)[file], file).copy(deep=True)


def axes_of(figure, *arguments, **datasets):
    """Panels of a plotted figure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return figure(*arguments, **datasets).axes


def points_of(panel):
    """Points of every line and scatter of a panel, each of shape (points, 2)."""
    lines = [np.array([line.get_xdata(), line.get_ydata()], float).T for line in panel.get_lines()]
    return lines + [np.ma.filled(np.ma.asarray(c.get_offsets(), float), np.nan) for c in panel.collections]


def is_shown(panel, x, y):
    """Whether a line or scatter has these points; without x, these ordinates or cells, without y, these abscissas."""
    wanted = [(k, np.ravel(np.asarray(values, float))) for k, values in enumerate((x, y)) if values is not None]
    size = max(values.size for _, values in wanted)
    shown = points_of(panel)
    if x is None:
        cells = (c.get_array() for c in panel.collections)
        shown += [np.ma.filled(c.astype(float), np.nan).reshape(-1, 1)[:, [0, 0]] for c in cells if c is not None]
    return any(
        len(points) == size and all(np.allclose(points[:, k], values, equal_nan=True) for k, values in wanted)
        for points in shown
    )


def assert_shown(places):
    """Each of the (panel, x, y) is shown in its panel, and there is one."""
    shown = [is_shown(*place) for place in places]
    assert shown
    assert all(shown), [number for number, there in enumerate(shown) if not there]


def assert_figure_shows(study, name, wanted):
    """A figure of a study shows each (number of a panel, x, y) that `wanted` makes of its datasets."""
    made = makers(study, "figures")[name]
    datasets = given(study, made, shapes(study))
    axes = axes_of(load_function(study, made.path), **datasets)
    assert_shown((axes[panel], x, y) for panel, x, y in wanted(**datasets))
