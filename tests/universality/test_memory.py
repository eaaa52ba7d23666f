"""What the two-point jobs ask for: more where ensembles train side by side."""

import pytest

from repdyn.universality.methods.memory import ensemble_memory
from repdyn.universality.methods.networks import Net

WIDE = Net("leaky relu", 1.0, 500, 20)


@pytest.mark.parametrize(("seeds", "peak"), [(6, 1868), (12, 3831)])
def test_adam_asks_for_what_it_took(seeds, peak):
    """Peak memory in MB of an ensemble of the default network by Adam, measured."""
    assert peak < ensemble_memory([WIDE], seeds, optimizer="adam") < 2.5 * peak


def test_an_ensemble_grows_where_it_trains_side_by_side():
    assert ensemble_memory([WIDE], 2) == ensemble_memory([WIDE], 50)
    assert ensemble_memory([WIDE], 50, gpu=True) > 5 * ensemble_memory([WIDE], 2, gpu=True) / 2
    assert ensemble_memory([Net("leaky relu", 1.0, 500, 20, dropout=0.2)], 50) > 10_000
