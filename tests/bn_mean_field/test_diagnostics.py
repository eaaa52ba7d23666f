"""The radial fraction on torch networks: zero without eps, the law eps / variance with it."""

import pytest
import torch

from repdyn.bn_mean_field.diagnostics import batchnorm_radial_fraction


def network(scale, eps):
    torch.manual_seed(0)
    first = torch.nn.Linear(3, 8, bias=False, dtype=torch.float64)
    with torch.no_grad():
        first.weight.mul_(scale)
    norm = torch.nn.BatchNorm1d(8, eps=eps, dtype=torch.float64)
    last = torch.nn.Linear(8, 1, dtype=torch.float64)
    return torch.nn.Sequential(first, norm, torch.nn.ReLU(), last)


def batch():
    x = torch.randn(256, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return x, x[:, 0]


def test_gradient_is_tangent_without_eps():
    fractions = batchnorm_radial_fraction(network(1.0, 1e-300), batch())["0"]
    assert fractions.max() < 1e-12  # rounding of sums over 256 samples


def test_eps_breaks_scale_invariance_for_small_rows():
    small, smaller = (batchnorm_radial_fraction(network(s, 1e-5), batch())["0"] for s in (1e-1, 1e-2))
    ratio = (smaller / small).mean()
    assert 50 < ratio < 150  # eps / variance grows a hundredfold while it is small


def test_network_without_batch_norm_is_refused():
    with pytest.raises(ValueError, match="batch norm"):
        batchnorm_radial_fraction(torch.nn.Linear(2, 2), (torch.ones(3, 2), torch.ones(3)))
