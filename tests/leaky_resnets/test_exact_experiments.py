"""Experiments of the exact part at a few draws: conventions, repeatability, pairing, invariants."""

import inspect

import numpy as np
import pytest
import xarray as xr
from pydantic import ValidationError

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import problems
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.experiments import closed_geodesics, descents, formula_audit, geodesics, identity_costs
from repdyn.leaky_resnets.settings import theory as sizes

NOTHING_STORED = Checkpoint(None, "")

TINY = {
    "formula_audit": (formula_audit.formula_audit, sizes.FormulaAudit(draws=2)),
    "step_schemes": (formula_audit.step_schemes, sizes.StepSchemes(largest=9, irregularities=(0.0, 0.9))),
    "identity_costs": (identity_costs.identity_costs, sizes.IdentityCosts(draws=4, searches=2)),
    "descents": (descents.descents, sizes.Descents(starts=4, steps=50, rate=0.02, ridge=1e-7)),
    "geodesics": (
        geodesics.geodesics,
        sizes.GeodesicLaboratory(
            effective_depths=(3.0, 6.0, 9.0),
            seeds=2,
            rank=2,
            width=5,
            points=6,
            positions=21,
            gamma_0=1e-3,
            perturbation=0.3,
            decay=0.45,
        ),
    ),
    "random_geodesics": (
        geodesics.random_geodesics,
        sizes.RandomGeodesics(draws=3, positions=41, tolerances=(1e-9, 1e-6), grid=11),
    ),
    "scalar_geodesics": (
        closed_geodesics.scalar_geodesics,
        sizes.RandomGeodesics(draws=3, positions=41, tolerances=(1e-9, 1e-6), grid=11),
    ),
    "critical_paths": (geodesics.critical_paths, sizes.CriticalPaths(layers=(20, 40, 80, 160), seeds=2)),
}


def run(name, seed=1, **changes):
    function, settings = TINY[name]
    arguments = {"settings": settings.model_copy(update=changes)}
    if "stream" in inspect.signature(function).parameters:
        arguments["stream"] = Stream(seed, ("leaky_resnets", name))
    if "checkpoint" in inspect.signature(function).parameters:
        arguments["checkpoint"] = NOTHING_STORED
    return function(**arguments)


@pytest.mark.parametrize("name", TINY)
def test_datasets_follow_the_conventions_and_repeat(name):
    dataset = run(name)
    added = ("attribute",)  # by the runner
    assert [problem for problem in problems(dataset) if not problem.startswith(added)] == []
    xr.testing.assert_identical(dataset, run(name))


@pytest.mark.parametrize(("name", "key", "more"), [("random_geodesics", "draws", 4), ("critical_paths", "seeds", 3)])
def test_more_draws_change_no_old_one(name, key, more):
    few, many = run(name), run(name, **{key: more})
    dim = "draw" if key == "draws" else "seed"
    xr.testing.assert_identical(few.drop_attrs(), many.isel({dim: slice(few.sizes[dim])}).drop_attrs())


def test_another_depth_shares_the_bottleneck():
    settings = TINY["geodesics"][1]
    stream = Stream(1, ("leaky_resnets", "geodesics"))
    deep = geodesics.kicked(settings, 40.0, False, stream, 0)
    deeper = geodesics.kicked(settings, 60.0, False, stream, 0)
    np.testing.assert_allclose(deep[0], deeper[0], atol=1e-6)  # kicks of relative size .3 e^{-18}


@pytest.mark.parametrize("bias", [False, True])
def test_bottleneck_is_a_fixed_point_of_its_rank(bias):
    settings = TINY["geodesics"][1]
    A, B = geodesics.bottleneck(settings, bias, np.random.default_rng(0))
    K = A.T @ A + bias
    np.testing.assert_allclose(B @ K, A, atol=1e-9)
    np.testing.assert_allclose((A @ B.T) @ B, B, atol=1e-9)  # no force
    assert 2 * np.sum(A * B) - np.trace(B @ K @ B.T) == pytest.approx(settings.rank, abs=1e-9)


def test_measured_quantities_agree_with_the_theory():
    from repdyn.leaky_resnets.theory import flows, hamiltonian, identity_cost

    settings = TINY["geodesics"][1]
    A, B = geodesics.kicked(settings, 3.0, True, Stream(1, ("x",)), 0)
    path = flows.hamiltonian_flow(A, B, 3.0, True, [0.0, 0.1, 0.2])
    gamma = geodesics.layer_gammas(path, True, 1e-2)
    measures = geodesics.measure(path, 3.0, True, gamma)
    for n in range(3):
        S, dA = identity_cost.activation(path.A[n], True), hamiltonian.velocity(path.A[n], path.B[n], 3.0, True)
        energies = hamiltonian.stable_energies(path.A[n], dA, 3.0, True, gamma[n])
        H = hamiltonian.hamiltonian(path.A[n], path.B[n], 3.0, True)
        W = 3.0 * path.B[n] @ S.T
        wanted = (-2 * H / 3, energies.cost, np.sqrt(energies.kinetic), np.linalg.norm(dA) / np.linalg.norm(path.A[n]))
        assert [part[n] for part in list(measures.values())[:4]] == pytest.approx(wanted, rel=1e-9)
        assert measures["momentum_sq"][n] == pytest.approx(np.sum(path.B[n] ** 2))
        assert (measures["weight_sq"][n], measures["bias_sq"][n]) == pytest.approx(
            (np.sum(W**2), np.sum(W[:, -1] ** 2))
        )
        negative = path.A[n][path.A[n] < 0]
        assert measures["negative_mass"][n] == pytest.approx(np.sum(negative**2) / np.sum(path.A[n] ** 2))
        assert measures["gamma"][n] == pytest.approx(1e-2 * np.linalg.norm(S, 2) ** 2)
    assert measures["sign_changes"][1] == np.sum(np.sign(path.A[1]) != np.sign(path.A[0]))


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


def test_settings_that_make_no_experiment_are_refused():
    laboratory = TINY["geodesics"][1].model_dump()
    for model, values, names in (
        (sizes.CriticalPaths, {"layers": (10, 20, 40, 80), "seeds": 2}, "layers.*40"),
        (sizes.StepSchemes, {"largest": 9, "irregularities": (0.5, 0.5)}, "irregularities.*0.5"),
        (sizes.RandomGeodesics, TINY["random_geodesics"][1].model_dump() | {"tolerances": (1e-6, 1e-9)}, "tolerances"),
        (sizes.FormulaAudit, {"draws": 1}, "draws.*1"),
        (sizes.GeodesicLaboratory, laboratory | {"rank": 5}, "rank.*5"),
        (sizes.GeodesicLaboratory, laboratory | {"positions": 22}, "positions.*22"),
    ):
        with pytest.raises(ValidationError, match=f"(?s){names}"):
            model(**values)


def test_a_search_whose_first_draw_has_infinite_cost_ends_at_the_bound():
    stream = Stream(27, ("leaky_resnets", "identity_costs"))
    first = stream.generator("search", 0).standard_normal(np.prod(identity_costs.SEARCHED))
    assert identity_costs.SEARCHES["no bias, printed"](first) == identity_costs.INFEASIBLE
    data = identity_costs.identity_costs(sizes.IdentityCosts(draws=2, searches=2), stream, NOTHING_STORED)
    assert 1 - 1e-9 <= float(data["least_ratio"].sel(search="no bias, printed")[0]) < 1.1
