"""What the tests of the study share."""

from functools import cache

import pytest

from repdyn.bn_decomposed.claims import random_networks
from repdyn.bn_decomposed.theory.odd_cluster import rms_fixed_point

REMEMBERED = cache(rms_fixed_point)


@pytest.fixture(autouse=True)
def fixed_points_found_once(monkeypatch):
    """The claims on angles search the same fixed points, half a second each, on every made-up dataset."""
    monkeypatch.setattr(random_networks, "rms_fixed_point", REMEMBERED)
