"""What the two-point jobs ask for: more where ensembles train side by side."""

import pytest

from repdyn.universality.settings.two_points import AdamRuns, DefaultNetwork

WIDE = {"connections": "dense", "dropout": 0.0, "units": 500, "hidden": 20}
RUN = {"epochs": 10, "every": 1, "dtype": "float64", "engine": "auto"}


@pytest.mark.parametrize(("seeds", "peak"), [(6, 1868), (12, 3831)])
def test_adam_asks_for_what_it_took(seeds, peak):
    """Peak memory in MB of an ensemble of the default network by Adam, measured."""
    asked = AdamRuns(seeds=seeds, rates=[1e-4], **RUN).memory([WIDE], gpu=False)
    assert peak < asked < 2.5 * peak


def test_an_ensemble_grows_where_it_trains_side_by_side():
    few, many = (DefaultNetwork(seeds=seeds, units=500, **RUN) for seeds in (2, 50))
    assert few.memory([WIDE], gpu=False) == many.memory([WIDE], gpu=False)
    assert many.memory([WIDE], gpu=True) > 5 * few.memory([WIDE], gpu=True) / 2
    assert many.memory([WIDE | {"dropout": 0.2}], gpu=False) > 10_000
