"""Adam's constants."""

import torch

from repdyn.base.adam import BETAS, EPSILON


def test_the_constants_are_those_of_torch():
    defaults = torch.optim.Adam([torch.zeros(1)]).defaults
    assert (defaults["betas"], defaults["eps"]) == (BETAS, EPSILON)
