"""Figures of synthetic datasets, for tests of their content, titles and captions."""

import warnings

import numpy as np
from tests.drawn import given, makers, read, synthetic_dataset

from repdyn.pipeline.run.execute.loading import load_function
from repdyn.plotting.figures import style

SHAPES = {
    study: read(study)
    for study in ("universality", "bn_decomposed", "leaky_resnets", "truncation_flow", "bn_mean_field", "across_papers")
}


def dataset_of(study, name):
    """A synthetic dataset of a recorded shape, which tests may change."""
    file = f"{study}/data/{name}.nc"
    return synthetic_dataset(SHAPES[study][file], file).copy(deep=True)


def named(panel, label):
    return [line for line in panel.get_lines() if line.get_label() == label]


def drawn_as(line, x, y):
    np.testing.assert_allclose(np.asarray(line.get_xdata(), float), np.asarray(x, float))
    np.testing.assert_allclose(np.asarray(line.get_ydata(), float), np.asarray(y, float))


def made_up(study, name):
    data = given(study, makers(study, "figures")[name], SHAPES[study])
    return {
        key: {variant: one.copy(deep=True) for variant, one in part.items()}
        if isinstance(part, dict)
        else part.copy(deep=True)
        for key, part in data.items()
    }


def drawn(study, name, data):
    with style(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_function(study, makers(study, "figures")[name].path)(**data)


def panel_titles(figure):
    return [panel.get_title("left") for panel in figure.axes]


def title_of(study, name, data):
    return drawn(study, name, data).repdyn["title"]
