"""Arguments and results of theory functions have the annotated shapes, which are not checked at run time."""

import inspect
from typing import get_type_hints

import jaxtyping
import numpy as np
import pytest

from repdyn.bn_decomposed.theory.cluster_tree import simplified_layer
from repdyn.bn_mean_field.theory.bounds import lags
from repdyn.leaky_resnets.theory.added_neuron import enlarged_weights
from repdyn.truncation_flow.theory.derivatives import complex_truncation
from repdyn.universality.theory.distribution import final_distance_cdf

KINDS = {kind: getattr(jaxtyping, kind) for kind in ("Bool", "Float", "Inexact", "Int", "Shaped")}


def array(*shape):
    return np.random.default_rng(0).uniform(0.1, 0.9, shape)


@pytest.mark.parametrize(
    ("function", "arguments", "shape"),
    [
        (simplified_layer, [array(3, 5)], (6, 5)),
        (lags, [array(4)], (4, 4)),
        (enlarged_weights, [array(3, 4), array(3), array(4), 0.1, 0.1, 1.0], (4, 5)),
        (complex_truncation, [array(5, 3), array(3, 3), array(3)], (5, 3)),
        (final_distance_cdf, [array(2, 3), 1.0, 1.0, 0.1, 1.0], (2, 3)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_arguments_and_results_have_the_annotated_shapes(function, arguments, shape):
    hints = get_type_hints(function, localns={**KINDS, "ArrayLike": np.ndarray})
    values = inspect.signature(function).bind(*arguments).arguments | {"return": function(*arguments)}
    with jaxtyping.jaxtyped("context"):
        wrong = [
            name
            for name, value in values.items()
            if isinstance(value, np.ndarray) and not isinstance(value, hints[name])
        ]
    assert wrong == []
    assert values["return"].shape == shape
