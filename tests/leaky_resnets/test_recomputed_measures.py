"""Measures of networks by hand, and datasets of measures network by network: each reads its own weights and data."""

import numpy as np
import pytest
import xarray as xr
from tests.leaky_resnets.test_networks import random_net

from repdyn.base.checkpoints import Checkpoint
from repdyn.leaky_resnets.experiments import network_measures as analysis
from repdyn.leaky_resnets.methods.measures import measure
from repdyn.leaky_resnets.methods.network_datasets import arrays_of, network_variables, task_variables
from repdyn.leaky_resnets.methods.teachers import Task
from repdyn.leaky_resnets.settings.training import Measures

SETTINGS = Measures(gammas=(1e-3, 1e-2), values=6)
NOTHING_STORED = Checkpoint(None, "")
close = np.testing.assert_allclose


def made(seed=0, bias=True, L=5):
    """A network, its path and momenta, activations, and points."""
    rng = np.random.default_rng(seed)
    net = random_net(rng, bias, L=L)
    X, Y, X_test, Y_test = rng.standard_normal((4, 4, 12))
    A = net.forward(X)
    S = [np.vstack([np.maximum(a, 0), np.ones((int(bias), 12))]) for a in A[:-1]]
    return net, A, net.momenta(A, Y, 0.3), S, Task(X, Y, X_test, Y_test)


@pytest.mark.parametrize("bias", [True, False])
def test_measures_layer_by_layer(bias):
    net, A, B, S, task = made(1, bias)
    found = measure(net, task, 0.3, (1e-3, 1e-2), 6)
    Lt, rho = 2.3, net.rho
    offsets = [(W[:, 7:] ** 2).sum() for W in net.W]
    first = (net.W[0] ** 2).sum()
    for k in range(5):
        pulled, gamma = B[k + 1] @ S[k].T, 1e-3 * np.linalg.norm(S[k], 2) ** 2
        inverse = np.linalg.inv(S[k].T @ S[k] + gamma * np.eye(12))
        close(found["hamiltonian"][k], 2 * np.sum(B[k + 1] * A[k]) - np.sum(pulled**2))
        close(found["cost"][0, k], np.trace(A[k] @ inverse @ A[k].T), rtol=1e-6)
        speed = (A[k + 1] - A[k]) / rho[k] / Lt
        close(found["kinetic"][0, k], np.trace(speed @ inverse @ speed.T), rtol=1e-6)
        close(found["activation"][k], np.linalg.norm(S[k], 2))
        close(found["momentum"][k], np.linalg.norm(B[k + 1]))
        close(found["alignment"][k], np.linalg.norm(pulled))
        off = net.W[k] - Lt * pulled
        close(found["off_critical"][k], np.linalg.norm(off) / np.linalg.norm(net.W[k]))
        outside = A[k] - A[k] @ np.linalg.pinv(S[k]) @ S[k]
        close(found["image_gap"][k], np.linalg.norm(outside) / np.linalg.norm(A[k]), atol=1e-9)
        close(found["weight_sq"][k], (net.W[k] ** 2).sum())
        step = np.linalg.norm(A[k + 1] - A[k])
        close(found["speed"][k], step / rho[k] / np.sqrt(12))
        close(found["relative_speed"][k], step / rho[k] / np.linalg.norm(A[k + 1]))
        s = np.linalg.svd(net.W[k])[1]
        assert found["weight_dimension"][k] == (s > 0.25 * s[0]).sum()
    for k in range(6):
        s = np.linalg.svd(A[k])[1]
        close(found["size"][k], np.linalg.norm(A[k]) / np.sqrt(12))
        close(found["stable_rank"][k], s.sum() ** 2 / (s**2).sum())
        close(found["p"][k], rho[:k].sum())
        close(found["spectrum"][k], s[:6] / np.sqrt(12))
        centered = np.linalg.svd(A[k] - A[k].mean(axis=1, keepdims=True))[1]
        close(found["centered_spectrum"][k], centered[:6] / np.sqrt(12), atol=1e-12)
    if not bias:
        close(found["balance_printed"], first)
    gained = np.diff(found["balance"]) / np.diff(found["balance_printed"]) if bias else [2]
    close(gained, 2)
    rates = Lt * rho * np.array(offsets)
    close(found["balance_printed"][-1] - first, rates.sum() - (rates[0] + rates[-1]) / 2, atol=1e-12)
    products = (A * B).sum(axis=(1, 2))
    sizes = np.linalg.norm(A[1:], axis=(1, 2)) * np.linalg.norm(B[1:], axis=(1, 2))
    close(found["identity_error_without"], np.abs(np.diff(products) / sizes).max(), atol=1e-14)
    off = np.array([net.W[k] - Lt * B[k + 1] @ S[k].T for k in range(5)])
    weighed = [np.sqrt(sum(r * (M**2).sum() for r, M in zip(rho, stack, strict=True))) for stack in (off, net.W)]
    close(found["relative_distance"], weighed[0] / weighed[1])
    error = task.Y_test - net.out @ net.forward(task.X_test)[-1]
    close(found["test_error"], (error**2).mean() / task.Y_test.var())
    close(found["train_error"], ((task.Y - net.out @ A[-1]) ** 2).mean() / task.Y.var())
    close(found["stable_hamiltonian"], found["cost"] - found["kinetic"])
    close(found["stable_length"], Lt * (rho * np.sqrt(found["kinetic"])).sum(axis=1))
    close(found["length"], np.linalg.norm(np.diff(A, axis=0), axis=(1, 2)).sum() / np.sqrt(12))
    penalty = 0.3 / (2 * Lt * 4) * np.sum(rho[:, None, None] * net.W**2)
    close(found["objective"], np.mean((task.Y - net.out @ A[-1]) ** 2) + penalty)
    close(found["gradient"], np.linalg.norm(net.gradient(task.X, task.Y, 0.3)[0]))
    close(found["negative"], (np.minimum(A, 0) ** 2).sum((1, 2)) / (A**2).sum((1, 2)))
    for k in range(5):
        close(found["weight_spectrum"][k], np.linalg.svd(net.W[k])[1][:6] / Lt)


def test_summaries_bounds_and_separations():
    net, A, B, S, task = made(2)
    found = measure(net, task, 0.3, (1e-3, 1e-2), 6)
    H = found["hamiltonian"]
    close(found["median_hamiltonian"], np.median(H))
    close(found["hamiltonian_range"], H.max() - H.min())
    close(found["median_stable"], np.median(found["stable_hamiltonian"], axis=1))
    close(found["least_cost"], found["cost"].min(axis=1))
    close(found["largest_momentum"], max(np.linalg.norm(b) for b in B[1:]))
    close(found["median_alignment"], np.median([np.linalg.norm(b @ s.T) for b, s in zip(B[1:], S, strict=True)]))
    close(found["least_negative"], min((np.minimum(a, 0) ** 2).sum() / (a**2).sum() for a in A))
    largest = max(np.linalg.norm(s, 2) ** 2 * (b**2).sum() for b, s in zip(B[1:], S, strict=True))
    for g, gamma in enumerate((1e-3, 1e-2)):
        close(found["bound_high"][g], gamma * largest)
        close(found["bound_low"][g], -((found["stable_length"][g] / 2.3 + np.sqrt(gamma * largest)) ** 2))
        close(found["gap"][g], np.median(H) - found["cost"][g].min())
    for place, name in enumerate(("spectrum", "centered_spectrum", "weight_spectrum", "centered_weight_spectrum")):
        for prefix, layer in (("", len(found[name]) // 2), ("first_", 0)):
            s = found[name][layer]
            steps = np.log(s[:-1] / np.maximum(s[1:], 1e-12 * s[0]))
            close(found[f"{prefix}separation_step"][place], steps.max())
            assert found[f"{prefix}separation_place"][place] == steps.argmax() + 1
    count = int(5 / 2.3) + 1
    close(found["merged_step"], count * 2.3 / 5)
    before = net.output(task.X)
    for place, first in enumerate((0, (5 - count) // 2, 5 - count)):
        A, layer = net.into @ task.X, 0
        while layer < 5:
            many = count if layer == first else 1
            rho = net.rho[layer : layer + many]
            W = np.average(net.W[layer : layer + many], axis=0, weights=rho)
            A = (1 - rho.sum() * 2.3) * A + rho.sum() * W @ np.vstack([np.maximum(A, 0), np.ones((1, 12))])
            layer += many
        change = np.linalg.norm(net.out @ A - before) / np.linalg.norm(before)
        close(found["merged_change"][place], change)


def test_kinks_and_centered_weights():
    net, A, _, _, task = made(3)
    found = measure(net, task, 0.3, (1e-3,), 6)
    close(found["kinks"], np.mean([np.abs(a) < 1e-4 * np.sqrt((a**2).mean()) for a in A]), atol=1e-3)
    mean = np.append(np.maximum(A[2], 0).mean(axis=1), 1.0)
    unit = mean / np.linalg.norm(mean)
    s = np.linalg.svd(net.W[2] - np.outer(net.W[2] @ unit, unit))[1]
    close(found["centered_weight_spectrum"][2], s[:6] / 2.3, atol=1e-10)


def stored(dims, shape, extra, task_dims, task_shape):
    """Networks of their own over `dims`, tasks of their own over `task_dims`."""
    cells = [made(10 + k) for k in range(int(np.prod(shape)))]
    tasks = [made(50 + k)[-1] for k in range(int(np.prod(task_shape)))]
    variables = network_variables(dims, shape, [arrays_of(cell[0]) for cell in cells])
    return xr.Dataset(variables | task_variables(task_dims, tasks, task_shape), extra), cells, tasks


@pytest.mark.parametrize(
    ("function", "dims", "task_dims"),
    [
        ("chain_measures", ("maps", "seed", "effective_depth"), ("seed",)),
        ("convergence_measures", ("maps", "seed", "steps"), ("seed",)),
        ("paper_measures", ("maps", "seed", "stop"), ("seed",)),
        ("restart_measures", ("teacher", "start"), ("teacher",)),
        ("excess_measures", ("teacher", "excess"), ("teacher",)),
        ("staged_measures", ("teacher", "seed"), ("teacher", "seed")),
    ],
)
def test_every_network_is_measured_on_its_points_at_its_penalty(function, dims, task_dims):
    shape = (2,) * len(dims)
    extra = {dim: [0, 1] for dim in dims} | {"effective_depth": 2.3, "lam": 0.3}
    if "maps" in dims:
        extra["maps"] = ["free maps", "fixed maps"]
    if "effective_depth" in dims:
        extra |= {"effective_depth": [2.3, 2.3], "lam": ("effective_depth", [0.3, 0.6])}
    if "excess" in dims:
        extra["lam"] = ("excess", [0.3, 0.6])
    if function == "staged_measures":
        extra["lam"] = ("teacher", [0.3, 0.6])
    data, cells, tasks = stored(dims, shape, extra, task_dims, (2,) * len(task_dims))
    argument = {"block": data} if function == "chain_measures" else data
    found = getattr(analysis, function)(SETTINGS, argument, NOTHING_STORED)
    for place in np.ndindex(shape):
        at = dict(zip(dims, place, strict=True))
        net = cells[np.ravel_multi_index(place, shape)][0]
        own = tasks[np.ravel_multi_index(tuple(at[dim] for dim in task_dims), (2,) * len(task_dims))]
        lam = 0.3 * (2 if any(at.get(dim) for dim in np.atleast_1d(data["lam"].dims)) else 1)
        expected = measure(net, own, lam, (1e-3, 1e-2), 6)
        cell = found.isel(at)
        for name in ("test_error", "hamiltonian", "cost", "weight_spectrum", "objective"):
            close(cell[name].values, expected[name], rtol=1e-3, err_msg=f"{name} {at}")
    close(found.gamma, [1e-3, 1e-2])


def test_schemes_have_errors_relative_to_equidistant_steps_and_paths_in_a_plane():
    dims, names = ("maps", "scheme", "seed"), ["equidistant", "irregular", "adaptive"]
    extra = {"maps": ["decayed maps"], "scheme": names, "seed": [0, 1], "layers": [4, 5]}
    data, cells, _ = stored(dims, (1, 3, 2), extra | {"effective_depth": 2.3, "lam": 0.3}, ("seed",), (2,))
    scores = np.random.default_rng(4).uniform(1, 2, (1, 3, 2, 2))
    for name in ("test_error", "train_error", "unevenness", "longest_step", "distance"):
        data[name] = ((*dims[:2], "layers", "seed"), scores)
    found = analysis.scheme_measures(SETTINGS, {"block": data}, NOTHING_STORED)
    close(found["test_error_by_layers"], scores)
    close(found["test_ratio_by_layers"], scores / scores[:, :1])
    for place in np.ndindex(3, 2):
        net, cell = cells[np.ravel_multi_index(place, (3, 2))][0], found.isel(maps=0, scheme=place[0], seed=place[1])
        p = np.concatenate([[0], np.cumsum(net.rho)])
        nearest = np.abs((p[1:] + p[:-1]) / 2 - 0.3).argmin()
        close(cell["stage_dimension"], cell["weight_dimension"][nearest])
        close(cell["first_fifth"], np.interp(0.2, p, range(6)), rtol=1e-6)  # over one layer in each fifth
        close(cell["last_fifth"], 5 - np.interp(0.8, p, range(6)), rtol=1e-6)
        flat = net.forward(data["X"].values[place[1]].astype(float)).reshape(6, -1) / np.sqrt(12)
        values, axes = np.linalg.eigh(np.cov(flat.T, bias=True))
        steps = np.linalg.norm(np.diff(flat @ axes[:, -2:], axis=0), axis=1)
        close(cell["plane_share"], values[-2:].sum() / values.sum(), rtol=1e-3)
        close(cell["plane_step"], steps / steps.mean(), rtol=1e-3)
        close(cell["plane_unevenness"], steps.std() / steps.mean(), rtol=1e-3)


def test_factors_of_refined_networks_read_the_last_layer_of_each():
    nets = [random_net(np.random.default_rng(k), True, L=L) for k, L in enumerate((3, 6))]
    variables = network_variables(("seed", "layers"), (1, 2), [arrays_of(net) for net in nets])
    variables |= task_variables(("seed",), [made(9)[-1]], (1,))
    data = xr.Dataset(variables, {"layers": [3, 6], "effective_depth": 2.3, "lam": 0.3})
    found = analysis.refinement_measures(SETTINGS, data, NOTHING_STORED)
    for place, net in enumerate(nets):
        cell, L = found.isel(seed=0, layers=place), len(net.W)
        gains = [float(cell[name][L - 1] - cell[name][0]) for name in ("weight_sq", "balance_printed")]
        close(cell["balance_factor"], gains[0] / gains[1])
        assert np.isfinite(cell["hamiltonian"][:L]).all()
        assert np.isnan(cell["hamiltonian"][L:]).all()
