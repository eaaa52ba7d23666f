"""What the tests of the study share."""

import pytest
from tests.bn_decomposed.made_up_layers import found_once

from repdyn.bn_decomposed.claims import random_networks


@pytest.fixture(autouse=True)
def fixed_points_found_once(monkeypatch):
    """The claims on angles search the same fixed points, half a second each, on every made-up dataset."""
    monkeypatch.setattr(random_networks, "rms_fixed_point", found_once)
