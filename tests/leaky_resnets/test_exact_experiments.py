"""Experiments of the exact part at a few draws: pairing, invariants, searches, settings."""

import numpy as np
import pytest
import xarray as xr

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.experiments import descents, geodesics, identity_costs
from repdyn.leaky_resnets.settings import theory as sizes

NOTHING_STORED = Checkpoint(None, "")


RANDOM = sizes.RandomGeodesics(draws=3, positions=41, tolerances=(1e-9, 1e-6), grid=11)
CRITICAL = sizes.CriticalPaths(layers=(20, 40, 80, 160), seeds=2)


@pytest.mark.parametrize(
    ("function", "settings", "key", "dim"),
    [(geodesics.random_geodesics, RANDOM, "draws", "draw"), (geodesics.critical_paths, CRITICAL, "seeds", "seed")],
)
def test_more_draws_change_no_old_one(function, settings, key, dim):
    few = function(settings, Stream(1, ("draws",)), NOTHING_STORED)
    more = settings.model_copy(update={key: getattr(settings, key) + 1})
    many = function(more, Stream(1, ("draws",)), NOTHING_STORED)
    xr.testing.assert_identical(few.drop_attrs(), many.isel({dim: slice(few.sizes[dim])}).drop_attrs())


def test_adam_is_torchs():
    import torch

    from repdyn.leaky_resnets.theory import minima

    settings = sizes.Descents(starts=2, steps=30, rate=0.03, ridge=1e-3)
    first = np.random.default_rng(0).standard_normal((2, 6, 3))
    x = torch.tensor(first, requires_grad=True)
    optimizer = torch.optim.Adam([x], lr=settings.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, settings.steps)
    for _ in range(settings.steps):
        x.grad = torch.tensor(minima.ridge_cost_gradient(x.detach().numpy(), False, settings.ridge))
        optimizer.step()
        schedule.step()
    np.testing.assert_allclose(descents.adam_descent(first, False, settings), x.detach(), atol=1e-9)


def test_a_search_whose_first_draw_has_infinite_cost_ends_at_the_bound():
    stream = Stream(27, ("leaky_resnets", "identity_costs"))
    first = stream.generator("search", 0).standard_normal(np.prod(identity_costs.SEARCHED))
    assert identity_costs.SEARCHES["no bias, printed"](first) == identity_costs.INFEASIBLE
    data = identity_costs.identity_costs(sizes.IdentityCosts(draws=2, searches=2), stream, NOTHING_STORED)
    assert 1 - 1e-9 <= float(data["least_ratio"].sel(search="no bias, printed")[0]) < 1.1
