"""Whether a network has learned and is at rest, against cases whose answer is known."""

import numpy as np
import pytest
import torch

from repdyn.across_papers.methods import networks, rest
from repdyn.base.streams import Stream

OPTIONS = {"rate": 0.02, "decay": 0.005, "momentum": 0.9}


def network():
    return networks.build("plain", 3, 4, 2, 2, gain=1.0, leak=1.0, stream=Stream(1, ("t",)), seeds=2)


def descended(points, targets, steps, **changes):
    """The networks' parameters before and after the last step."""
    trained = network()
    seen = [
        rest.parameters(trained)
        for _ in networks.descend(trained, points, targets, steps=steps, moments={steps - 1}, **OPTIONS | changes)
    ]
    return seen[-2:]


def test_the_mean_of_the_targets_has_nothing_learned():
    Y = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]]).double()
    constant = (Y - Y.mean(dim=0)).pow(2).sum(dim=1).mean().item() / 2
    np.testing.assert_allclose(rest.unlearned(np.array([0.0, constant, 2 * constant]), Y), [0, 1, 2])


def test_decay_alone_has_the_imbalance_of_one():
    """Points and targets of zero have no gradient: weights shrink freely."""
    nothing = torch.zeros(4, 3).double(), torch.zeros(4, 2).double()
    moved = rest.imbalance(*descended(*nothing, 400), **OPTIONS)
    np.testing.assert_allclose(moved, 1, rtol=0.06)  # 1 + a share of rate decay / (1 - momentum), which is 0.05
    np.testing.assert_allclose(
        rest.imbalance(*descended(*nothing, 400, momentum=0), **OPTIONS | {"momentum": 0}), 1, rtol=0.01
    )


def test_the_imbalance_is_the_gradient_of_the_objective_over_decay():
    """By automatic differentiation, without momentum: 0 at a critical point."""
    rng, options = np.random.default_rng(0), OPTIONS | {"momentum": 0.0}
    X, Y = torch.from_numpy(rng.normal(size=(4, 3))), torch.from_numpy(rng.normal(size=(4, 2)))
    before, after = descended(X, Y, 31, **options)
    trained = network()
    list(networks.descend(trained, X, Y, steps=30, **options))
    single = trained.single(1)
    squared = sum(part.pow(2).sum() for part in single.parameters())
    loss = ((single(X) - Y) ** 2).sum(dim=-1).mean() / 2 + options["decay"] / 2 * squared
    loss.backward()
    gradient = sum(part.grad.pow(2).sum().item() for part in single.parameters()) ** 0.5
    wanted = gradient / (options["decay"] * after[1].norm().item())
    assert rest.imbalance(before, after, **options)[1] == pytest.approx(wanted, rel=1e-9)
    theta = rest.parameters(trained)
    assert rest.objective(np.array([loss.item() - options["decay"] / 2 * squared.item()] * 2), theta, options["decay"])[
        1
    ] == pytest.approx(loss.item(), rel=1e-12)


def test_without_decay_the_imbalance_is_unknown():
    theta = torch.ones(2, 3)
    assert np.isnan(rest.imbalance(theta, theta, rate=0.1, decay=0.0, momentum=0.0)).all()


@pytest.mark.parametrize(
    ("moved", "rank", "resting"),
    [
        (0.09, 8.8, True),
        (0.11, 8.8, False),
        (0.09, 10 * 2**-0.21, False),
        (0.09, 10 * 2**0.19, True),
        (np.nan, 10.0, False),
    ],
)
def test_rest_needs_balance_and_a_rank_that_stays(moved, rank, resting):
    assert rest.at_rest(np.array([moved]), np.array([10.0]), np.array([rank])) == [resting]
