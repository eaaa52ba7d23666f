"""Matrix flows of Sections 8 and 9 recomputed by short scripts: orbits, bounds, propagators, the trained output."""

from functools import cache

import numpy as np
import pytest
import scipy
import torch

from repdyn.base.streams import Stream
from repdyn.truncation_flow import settings as sizes
from repdyn.truncation_flow.experiments import collapsed_clusters, propagators, trained_output
from repdyn.truncation_flow.methods.construction import ball_clusters, simplex_initial_data
from repdyn.truncation_flow.methods.cost_audit import collapse_margin, collapsing_weights

STREAM = Stream(9, ("truncation_flow", "matrices"))
ORBITS = sizes.CollapsedClusters(dimension=3, seeds=2, horizon=3.0, samples=20, euler_steps=(0.02, 0.1), nodes=201)
NETWORK = sizes.ReducedNetwork(points=3, horizon=1.0, samples=20, step=0.01)
OUTPUT = sizes.OutputLayer(dimension=3, points=20, horizon=4.0)
TIMES = np.linspace(0, 3.0, 20)
NORM = {"ord": 2, "axis": (-2, -1)}


def flow(B, W, Y, times):
    """dB = -W^T E, dW = -E B^T with E = W B + Y."""

    def rate(_, state):
        b, w = state.reshape(2, *B.shape)
        E = w @ b + Y
        return np.array([-w.T @ E, -E @ b.T]).ravel()

    start = np.array([B, W]).ravel()
    solved = scipy.integrate.solve_ivp(rate, (0, times[-1]), start, t_eval=times, rtol=1e-11, atol=1e-13)
    return solved.y.T.reshape(-1, 2, *B.shape).swapaxes(0, 1)


def start(sign, *key):
    generator = STREAM.generator(*key)
    B, W = 0.6 * generator.normal(size=(2, 3, 3))
    if sign == "indefinite":
        return B, W
    left, _, right = np.linalg.svd(B if sign == "positive" else W)
    large = left @ np.diag(generator.uniform(1.5, 2.5, size=3)) @ right
    return (large, 0.3 * W) if sign == "positive" else (0.3 * B, large)


@cache
def orbits():
    return collapsed_clusters.collapsed_clusters(ORBITS, STREAM)


@pytest.mark.parametrize("sign", ["positive", "negative", "indefinite"])
@pytest.mark.parametrize("seed", [0, 1])
def test_orbits_recomputed(sign, seed):
    B0, W0 = start(sign, sign, seed)
    B, W = flow(B0, W0, np.eye(3), TIMES)
    data = orbits().sel(sign=sign, seed=seed)
    cost = 0.5 * ((W @ B + np.eye(3)) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(data.cost, cost, rtol=1e-7, atol=1e-13)
    swapped = B.mT @ B - W @ W.mT
    np.testing.assert_allclose(data.drift_swapped, np.linalg.norm(swapped - swapped[0], **NORM), atol=1e-8)
    assert float(data.drift.max()) < 1e-9
    if sign == "indefinite":
        assert float(orbits().indefinite_ratio[seed]) == pytest.approx(cost[-1] / cost[0], rel=1e-6)
        assert np.isnan(data.gap)
        assert np.isnan(data.rate_excess).all()
        return
    gap = np.abs(np.linalg.eigvalsh(B0 @ B0.T - W0.T @ W0)).min()
    assert float(data.gap) == pytest.approx(gap)
    early = cost > 1e-9 * cost[0]
    for name, factor in (("rate_excess", 2), ("rate_excess_faster", 4)):
        excess = np.log(cost / cost[0]) + factor * gap * TIMES
        np.testing.assert_allclose(data[name].values[early], excess[early], atol=1e-4)
    ends = flow(B0, W0, np.eye(3), np.array([0.0, 1.0]))
    assert float(data.early_motion) == pytest.approx(np.abs(ends[:, 1] - ends[:, 0]).max(), rel=1e-7)
    assert float(data.late_motion) < 1e-6


@pytest.mark.parametrize("sign", ["positive", "negative"])
def test_ratios_of_the_spectral_gap(sign):
    """For I < 0 the parts of B and W are exchanged; c = 2 C(0)."""
    B0, W0 = start(sign, sign, 1)
    B, W = flow(B0, W0, np.eye(3), TIMES)
    spectrum = np.abs(np.linalg.eigvalsh(B0 @ B0.T - W0.T @ W0))
    gap, c = spectrum.min(), ((W0 @ B0 + np.eye(3)) ** 2).sum()
    large, small = (B, W) if sign == "positive" else (W, B)
    gram = large @ large.mT if sign == "positive" else large.mT @ large
    size, top = np.linalg.norm(small, **NORM), np.linalg.norm(large, **NORM).max() ** 2
    falling = np.sqrt(c / gap) * np.exp(-gap * TIMES)
    inverse = np.linalg.norm(np.linalg.inv(large), **NORM)  # Y = 1
    floor = np.linalg.eigvalsh(gram).min()
    E = W @ B + np.eye(3)
    speeds = {"W": np.linalg.norm(E @ B.mT, **NORM), "B": np.linalg.norm(W.mT @ E, **NORM)}
    others = {"W": np.linalg.norm(B, **NORM).max(), "B": np.linalg.norm(W, **NORM).max()}
    wanted = {
        "gram_floor": floor / gap,
        "gram_floor_largest": floor / spectrum.max(),
        "weight_size": (size / (inverse + falling)).max(),
        "weight_size_without_Y": (size / falling).max(),
        "bias_size": top / (spectrum.max() + size.max() ** 2),
        "bias_size_without_I": top / size.max() ** 2,
        "output_error_other": np.linalg.norm(W[-1] @ B[-1] - np.eye(3)) / np.linalg.norm(W0 @ B0 - np.eye(3)),
    }
    above = np.exp(-gap * TIMES) > 1e-6
    for name, speed in speeds.items():
        for suffix, factor in (("", 1), ("_twice", 2)):
            bound = np.sqrt(c) * others[name] * np.exp(-factor * gap * TIMES)
            wanted[f"speed_of_{name}{suffix}"] = (speed / bound)[above].max()
    data = orbits().sel(sign=sign, seed=1)
    for name, value in wanted.items():
        assert float(data[name]) == pytest.approx(value, rel=1e-4), name
    ends = np.linalg.norm(E[[0, -1]], axis=(1, 2))
    assert float(data.output_error) == pytest.approx(ends[1] / ends[0], rel=1e-3)


def test_euler_drift_slow_run_and_saddle():
    data = orbits()
    for seed in (0, 1):
        for step in (0.02, 0.1):
            B, W = start("positive", "positive", seed)
            before = B @ B.T - W.T @ W
            for _ in range(round(1 / step)):
                E = W @ B + np.eye(3)
                B, W = B - step * W.T @ E, W - step * E @ B.T
            drift = np.linalg.norm(B @ B.T - W.T @ W - before, 2)
            assert float(data.euler_drift.sel(euler_step=step, seed=seed)) == pytest.approx(drift)
    b, w = flow(np.eye(1), 0.01 * np.eye(1), np.zeros((1, 1)), TIMES)[:, :, 0, 0]  # four equal copies
    gap, cost = 1 - 0.01**2, 4 * 0.5 * 0.01**2
    np.testing.assert_allclose(data.weight_norm, w, rtol=1e-6)
    np.testing.assert_allclose(data.weight_speed, w * b**2, rtol=1e-6)
    np.testing.assert_allclose(data.slow_cost, 2 * (w * b) ** 2, rtol=1e-6)
    assert float(data.slow_gap) == pytest.approx(gap)
    falling = np.exp(-gap * TIMES)
    np.testing.assert_allclose(data.weight_bound_printed, 2 * cost / np.sqrt(gap) * falling**2)
    np.testing.assert_allclose(data.weight_bound_corrected, np.sqrt(2 * cost / gap) * falling)
    np.testing.assert_allclose(data.speed_bound_printed, 2 * cost * b.max() * falling)
    np.testing.assert_allclose(data.speed_bound_corrected, np.sqrt(2 * cost) * b.max() * falling)
    w2 = 1 / (2 * np.exp(2 * TIMES[-1]) - 1)  # w' = -w (1 + w^2), w(0) = 1
    assert float(data.saddle_ratio) == pytest.approx((1 + w2) ** 2)


@cache
def propagated():
    return propagators.propagators(ORBITS, STREAM)


def propagator(B0, W0, which, times):
    """U' = -U B B^T or U' = -W^T W U from 1, as (8.9) prints them."""

    def rate(_, state):
        b, w, u = state.reshape(3, 3, 3)
        E = w @ b + np.eye(3)
        return np.array([-w.T @ E, -E @ b.T, -u @ b @ b.T if which == "B" else -w.T @ w @ u]).ravel()

    solved = scipy.integrate.solve_ivp(
        rate, (0, times[-1]), np.array([B0, W0, np.eye(3)]).ravel(), t_eval=times, rtol=1e-10, atol=1e-13
    )
    return solved.y.T.reshape(-1, 3, 3, 3)[:, 2]


@pytest.mark.parametrize("seed", [0, 1])
def test_rates_of_propagators_and_products(seed):
    data, longer = propagated().sel(seed=seed), np.linspace(0, 3, 61)
    for sign, which, name in (("positive", "B", "propagator_rate"), ("negative", "W", "propagator_rate_W")):
        B0, W0 = start(sign, seed)
        norms = np.linalg.norm(propagator(B0, W0, which, longer)[1:], **NORM)
        spectrum = np.abs(np.linalg.eigvalsh(B0 @ B0.T - W0.T @ W0))
        least = (-np.log(norms) / longer[1:]).min()
        assert float(data[name]) == pytest.approx(least / spectrum.min(), rel=1e-5)
        assert float(data[name + "_largest"]) == pytest.approx(least / spectrum.max(), rel=1e-5)
    A, B = STREAM.generator(seed, "pairs").normal(size=(2, 200, 3, 3))
    values = np.linalg.svd(B)[1]
    ratio = np.linalg.norm(A @ B, **NORM) / np.linalg.norm(A, **NORM)
    assert float(data.product_ratio) == pytest.approx((ratio / values[:, -1]).min())
    assert float(data.product_ratio_largest) == pytest.approx((ratio / values[:, 0]).min())
    assert float(data.free_directions) == 9  # dW = -W dB B^{-1} for every dB
    assert float(data.free_directions_W_known) == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_the_error_equation_takes_rates_in_their_order(seed):
    """(8.8): E' = -E B^T B - W W^T E; control exchanges the Gram matrices."""
    B0, W0 = start("positive", seed)
    times = np.linspace(0, 1, 201)
    B, W = flow(B0, W0, np.eye(3), times)
    E = W @ B + np.eye(3)
    right, swapped = -W @ W.mT @ E - E @ B.mT @ B, -W.mT @ W @ E - E @ B @ B.mT
    data = propagated().sel(seed=seed).isel(equation=0)
    assert np.abs(E[0] + np.trapezoid(right, times, axis=0) - E[-1]).max() < 1e-3
    control = np.abs(E[0] + np.trapezoid(swapped, times, axis=0) - E[-1]).max()
    assert float(data.control) == pytest.approx(control, rel=1e-3)
    assert float(data.printed) < 1e-3


def network_cost(clusters, V, beta, W, y, times, *, aligned):
    """Standard cost along its gradient flow by autograd and small midpoint steps; rotations by exponentials."""
    N, Q = clusters.shape[1:]
    X, labels = torch.tensor(clusters.reshape(-1, Q)), torch.tensor(np.repeat(y, N, axis=0))

    def cost(V, beta, W):
        z = X
        for weight, offset in zip(V, beta, strict=True):
            z = torch.relu((z + offset) @ weight.T) @ torch.linalg.inv(weight).T - offset
        return 0.5 * ((z @ W.T - labels) ** 2).sum() / N

    def slopes(state):
        parts = [part.detach().requires_grad_() for part in state]
        return torch.autograd.grad(cost(*parts), parts)

    def moved(state, slope, h):
        G = slope[0] @ state[0].mT
        turn = torch.linalg.matrix_exp(-h * 0.5 * (G - G.mT)) @ state[0]
        return (turn if aligned else state[0] - h * slope[0]), state[1] - h * slope[1], state[2] - h * slope[2]

    state, costs, h = [torch.tensor(part) for part in (V, beta, W)], [], times[1] / 10
    for t in range(len(times)):
        costs.append(cost(*state).item())
        for _ in range(10 if t + 1 < len(times) else 0):
            half = moved(state, slopes(state), h / 2)
            state = moved(state, slopes(half), h)
    return np.array(costs)


def test_reduced_network_against_autograd():
    data = trained_output.reduced_network(NETWORK, STREAM)
    times = np.linspace(0, 1.0, 20)
    R, _, yt = simplex_initial_data(3, shift=0.22)
    X = ball_clusters(np.eye(3), 3, 0.05, STREAM.generator("points"))
    V = collapsing_weights(X, R, -yt, STREAM.generator("weights"))
    W0 = 1.15 * np.linalg.inv(yt.T)
    cases = {"benign": np.eye(3), "adverse": 1.5 * np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])}
    for name, y in cases.items():
        part = data.sel(labels=name)
        B, W = flow(-yt.T, W0, y.T, times)
        np.testing.assert_allclose(part.cost_reduced, 0.5 * ((W @ B + y.T) ** 2).sum(axis=(1, 2)), rtol=1e-7)
        margins = [collapse_margin(X, R, b.T) for b in B]
        np.testing.assert_allclose(part.margin, margins, atol=1e-8)
        for weights, key in ((R, "lost"), (V, "lost_free")):
            below = np.array([collapse_margin(X, weights, b.T) for b in B]) < 0
            assert float(part[key]) == (times[np.argmax(below)] if below.any() else np.inf)
        frozen = W0
        for _ in range(1000):  # B at rest, up to the second output time
            middle = frozen - 0.5 * times[1] / 1000 * (frozen @ -yt.T + y.T) @ -yt
            frozen = frozen - times[1] / 1000 * (middle @ -yt.T + y.T) @ -yt
        cost = 0.5 * ((frozen @ -yt.T + y.T) ** 2).sum()
        assert float(part.cost_frozen[1]) == pytest.approx(cost, rel=1e-6)
        for key, weights in (("cost_network", R), ("cost_network_free", V)):
            costs = network_cost(X, weights, -yt, W0, y, times, aligned=key == "cost_network")
            np.testing.assert_allclose(part[key], costs, rtol=2e-2)  # points that cross planes scatter the errors


def test_output_layer_recomputed():
    data = trained_output.output_layer(OUTPUT, STREAM)
    generator = STREAM.generator("points")
    X, W0 = generator.uniform(0.2, 1.5, size=(3, 20)), generator.normal(size=(3, 3))
    cluster = np.sort(np.concatenate((np.arange(3), generator.integers(0, 3, 17))))
    Y = np.eye(3)[:, cluster]
    weights = {"1/N": np.full(20, 1 / 20), "1/N_j": 1 / np.bincount(cluster)[cluster]}
    best = {name: (Y * w) @ X.T @ np.linalg.inv((X * w) @ X.T) for name, w in weights.items()}
    plain = Y @ X.T @ np.linalg.inv(X @ X.T)
    for name, w in weights.items():
        part = data.sel(weighting=name)
        assert float(part.formula_error.max()) < 1e-8
        assert float(part.limit_error) < 1e-8
        assert float(part.crossed_error) == pytest.approx(np.abs(best["1/N"] - best["1/N_j"]).max())
        for t in (1, 20):
            s = t * 4.0 / 20
            right = best[name] + (W0 - best[name]) @ scipy.linalg.expm(-s * (X * w) @ X.T)
            wrong = plain + (W0 - plain) @ scipy.linalg.expm(-s * X @ X.T)
            assert float(part.formula_error_unweighted[t]) == pytest.approx(np.abs(right - wrong).max(), rel=1e-6)
    gram = X.T @ X
    assert float(data.gram_defect) == pytest.approx(np.abs(gram @ gram - gram).max())
    assert float(data.gram_range_error) == pytest.approx(np.abs(gram @ X.T - X.T).max())
    assert float(data.projector_defect) < 1e-12
    assert float(data.range_error) < 1e-12
    assert [int(data[name]) for name in ("rows_of_P", "columns_of_P", "columns_of_Y")] == [20, 3, 3]
