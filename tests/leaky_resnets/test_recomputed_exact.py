"""Exact experiments recomputed by short scripts: costs of identity, descents, geodesics, critical paths, steps."""

from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import scipy
import torch
import xarray as xr
from tests.leaky_resnets.reference import active, stable

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.experiments import closed_geodesics, descents, formula_audit, geodesics, identity_costs
from repdyn.leaky_resnets.methods.audit_draws import kept_without_bias
from repdyn.leaky_resnets.settings import theory as sizes
from repdyn.leaky_resnets.theory import minima
from repdyn.leaky_resnets.theory.flows import hamiltonian_flow
from repdyn.leaky_resnets.theory.scalar_geodesic import scalar_geodesic

STREAM = Stream(15, ("leaky_resnets", "recomputed"))
NOTHING_STORED = Checkpoint(None, "")
close = np.testing.assert_allclose


@cache
def costs():
    return identity_costs.identity_costs(sizes.IdentityCosts(draws=3, searches=2), STREAM, NOTHING_STORED)


@pytest.mark.parametrize(("bias", "shape"), [(0, (3, 6)), (1, (9, 4)), (1, (3, 3)), (0, (12, 40))])
def test_costs_of_gaussian_representations(bias, shape):
    generator, data = STREAM.generator("random", *shape), costs().sel(bias=bias, shape=f"{shape[0]} x {shape[1]}")
    for draw in range(3):
        A, cell = generator.standard_normal(shape), data.sel(draw=draw)
        S, s = active(A, bias), np.linalg.svd(A)[1]
        plain = np.sum((A @ np.linalg.pinv(S)) ** 2)
        gap = np.linalg.norm(A - A @ np.linalg.pinv(S) @ S) / np.linalg.norm(A)
        close([cell.plain_cost, cell.gap], [plain, gap], rtol=1e-7, atol=1e-9)
        assert bool(cell.feasible) == (gap < 1e-5)
        nuclear, size = s.sum() ** 2, (s**2).sum()
        close([cell.bound_printed, cell.nuclear_rank], 2 * [nuclear / size])
        close(cell.bound_corrected, nuclear / (size + bias * shape[1]))
        close([cell.spectral_rank, cell.full_rank], [size / s[0] ** 2, (s > 1e-9).sum()])
        for name, c in (("scaling", 0.9), ("scaling_up", 1.1)):
            scaled = np.sum((c * A @ np.linalg.pinv(active(c * A, bias))) ** 2)
            close(cell[name], scaled / plain - 1, rtol=1e-6, atol=1e-9)
        kept = np.abs(A)
        kept[0, 0] = -0.3
        S = active(kept, bias)
        close(cell.neuron_change_short, (S[:, 0] ** 2).sum() - (kept[:, 0] ** 2).sum())
        z, root = S.T @ S[:, 0], np.linalg.pinv(S)
        # |A S^+|^2 of A and S with a row eps z added, at order eps^2, where z lies in the row space of S
        change = np.sum((z @ root) ** 2) - np.sum((kept @ root @ root.T @ z) ** 2)
        close(cell.neuron_change, change, rtol=1e-6, atol=1e-9)


def test_costs_of_nonnegative_representations():
    """Rank; with bias less x / (1 + x) where 1 is in the rows, x the cost of its weights."""
    for k in (1, 3):
        generator = STREAM.generator("non-negative", k)
        for draw in range(3):
            left, right = generator.uniform(size=(9, k)), generator.uniform(size=(k, 8))
            for ones in (0, 1):
                if ones:
                    right[0] = 1.0
                A = left @ right
                for bias in (0, 1):
                    value = np.sum((A @ np.linalg.pinv(active(A, bias), rcond=1e-10)) ** 2)
                    cell = costs().isel(row_space=ones).sel(bias=bias, rank=k, draw=draw)
                    close([cell.nonnegative_cost, cell.nonnegative_closed], 2 * [value], rtol=1e-6)


def test_perturbed_and_constant_representations():
    generator = STREAM.generator("perturbed")
    for draw in range(3):
        A = generator.uniform(size=(9, 3)) @ generator.uniform(size=(3, 4))
        kick = generator.standard_normal(A.shape)
        kick /= np.linalg.norm(kick)

        def nuclear(M):
            s = np.linalg.svd(M)[1]
            return s.sum() / np.sqrt((s**2).sum())

        def root_of_cost(M):
            return np.linalg.norm(M @ np.linalg.pinv(np.maximum(M, 0), rcond=1e-10))

        for size in (1e-2, 1e-4):
            near, cell = A + size * np.linalg.norm(A) * kick, costs().sel(draw=draw, kick=size)
            close(cell.rank_change, nuclear(near) - nuclear(A), rtol=1e-5, atol=1e-11)
            close(cell.cost_change, root_of_cost(near) - root_of_cost(A), rtol=1e-5, atol=1e-10)
            close(cell.rank_modulus, size * (2 + nuclear(A)) / (1 - size))
    for c in (0.1, 3.0):
        cell = costs().sel(constant=c)
        close(cell.constant_cost, c**2 / (1 + c**2))  # [A; 1] of rank 1, A = c 1^T of norm c sqrt(5)
        close(cell.constant_bound, 5 * c**2 / (5 * c**2 + 5))
        close(cell.constant_bound_printed, 1)
    assert (costs().least_ratio >= 1 - 1e-9).sel(search=["no bias, printed", "bias, corrected"]).all()
    assert float(costs().least_bias.max()) < 1e-9


@pytest.mark.parametrize(("bias", "size", "draw"), [(0, 0.3, 1), (1, 3.0, 0), (1, 0.3, 2)])
def test_neurons_added_where_least_weights_have_no_bias(bias, size, draw):
    A = kept_without_bias(STREAM.generator("slow", draw))
    parts = np.linalg.norm(np.minimum(A, 0), axis=0)
    i, A = int(parts.argmax()), A * size / parts.max()
    S, cell = active(A, bias), costs().sel(bias=bias, negative_norm=size, draw=draw)
    root, plus = np.linalg.pinv(S), np.maximum(A, 0)
    for name, z in (("kept_change_printed", S.T @ S[:, i]), ("kept_change", plus.T @ plus[:, i])):
        change = np.sum((z @ root) ** 2) - np.sum((A @ root @ root.T @ z) ** 2)
        close(cell[name], change / size**2, rtol=1e-6)
    incoming = (plus[:, i] ** 2).sum() - (A[:, i] ** 2).sum()
    close(cell.slow_norm_change, incoming / size**2, rtol=1e-3)
    close(cell.slow_norm_change_printed, (incoming + bias) / size**2, rtol=1e-3)


def test_ends_of_descents():
    settings = sizes.Descents(starts=2, steps=30, rate=0.02, ridge=1e-3)
    data = descents.descents(settings, STREAM)
    for w, N, bias in ((12, 5, 0), (8, 3, 1)):
        first = STREAM.generator(w, N, 0).standard_normal((2, w, N))
        last = descents.adam_descent(first, bool(bias), settings)
        for start in (0, 1):
            cell = data.sel(case=f"w = {w}, N = {N}, {'bias' if bias else 'no bias'}", start=start)
            A, s = last[start], np.linalg.svd(last[start])[1]

            def cost(A, bias=bias):
                return stable(A, A, bias, 1e-3 * 1.0)

            assert float(cell.end_rank) == (s > 1e-3 * s[0]).sum()
            close(cell.negative_mass, (np.minimum(A, 0) ** 2).sum() / (A**2).sum())
            begun = first[start]
            close(cell.negative_mass_at_start, (np.minimum(begun, 0) ** 2).sum() / (begun**2).sum())
            close(cell.end_cost, cost(A), rtol=1e-8)
            slope = np.array(
                [
                    [(cost(A + 1e-6 * E) - cost(A - 1e-6 * E)) / 2e-6 for E in row]
                    for row in np.eye(w * N).reshape(w, N, w, N)
                ]
            )
            close(cell.slope, np.linalg.norm(slope) * np.linalg.norm(A), rtol=1e-3)


LABORATORY = sizes.GeodesicLaboratory(
    effective_depths=(3.0, 6.0, 9.0),
    seeds=2,
    rank=2,
    width=4,
    points=5,
    positions=21,
    gamma_0=1e-3,
    perturbation=0.3,
    decay=0.45,
)


def along(path, Lt, bias, gammas):
    """Scaled Hamiltonian, cost, speed, squared sizes of momenta, of B S^T and its last column, and others, by place."""
    rows = []
    for A, B, gamma in zip(path.A, path.B, gammas, strict=True):
        S = active(A, bias)
        V = B @ S.T
        dA = Lt * (V @ S - A)
        energies = 2 * (A * B).sum() - (V**2).sum(), stable(A, A, bias, gamma), np.sqrt(stable(dA, A, bias, gamma))
        sizes_ = (B**2).sum(), (V**2).sum(), (V[:, len(A) :] ** 2).sum(), np.linalg.norm(dA) / np.linalg.norm(A)
        rows.append((*energies, *sizes_, (np.minimum(A, 0) ** 2).sum() / (A**2).sum(), (A * B).sum()))
    return np.array(rows).T


@cache
def laboratory():
    return geodesics.geodesics(LABORATORY, STREAM, NOTHING_STORED)


@pytest.mark.parametrize(("bias", "Lt", "seed"), [(0, 3.0, 1), (1, 6.0, 0)])
def test_geodesics_through_a_bottleneck(bias, Lt, seed):
    p, generator = np.linspace(0, 1, 21), STREAM.generator(seed)
    A = generator.uniform(size=(4, 2)) @ generator.uniform(size=(2, 5))
    S = active(A, bias)
    B = A @ np.linalg.pinv(S.T @ S, rcond=1e-10)
    kicks = generator.standard_normal((2, 4, 5))
    size = 0.3 * np.exp(-0.45 * Lt)
    start = [M + size * np.sqrt((M**2).mean()) * kick for M, kick in zip((A, B), kicks, strict=True)]
    path = hamiltonian_flow(*start, Lt, bool(bias), p, 1e-10, start=0.5)
    data = laboratory().sel(bias=bias, effective_depth=Lt, seed=seed)
    gamma = np.array([1e-3 * np.linalg.norm(active(A, bias), 2) ** 2 for A in path.A])
    H, cost, speed, momentum, V_sq, offset, plain, negative, _ = along(path, Lt, bias, gamma)
    close([data.weight_sq, data.bias_sq], [Lt**2 * V_sq, Lt**2 * offset], rtol=1e-5)
    close([data.plain_speed, data.negative_mass], [plain, negative], rtol=1e-4, atol=1e-7)
    close(data.scaled_hamiltonian, H, rtol=1e-5)
    close(data.cost, cost, rtol=1e-5)
    close(data.speed, speed, rtol=1e-4, atol=1e-7)
    gamma_c, length = (gamma * momentum).max(), np.trapezoid(speed, p)
    close([data.middle, data.upper], [H.mean() - cost.min(), gamma_c], rtol=1e-4, atol=1e-7)
    close(data.lower, -((length / Lt + np.sqrt(gamma_c)) ** 2), rtol=1e-4)
    root, scale = Lt * np.sqrt(np.maximum(cost - H, 0)), Lt * np.sqrt(gamma * momentum)
    for name, count in (("speed_gap", 1), ("speed_gap_doubled", 2), ("speed_gap_without", 0)):
        close(data[name], (speed - count * root) / scale, rtol=1e-3, atol=1e-4)
    other = -H - 2 * V_sq
    close(data.wrong_drift, np.ptp(other) / np.abs(other).max(), rtol=1e-4, atol=1e-7)
    assert float(data.drift) < 1e-5
    close(data["product"], H + V_sq, rtol=1e-5)
    assert float(data.share_near_rank) == (cost < 2.5).mean()
    close(data.proportion, np.corrcoef(cost - H, speed**2)[0, 1], rtol=1e-3)
    close(data.mirrored_proportion, np.corrcoef(cost - H, speed[::-1] ** 2)[0, 1], rtol=1e-3, atol=1e-4)


RANDOM = sizes.RandomGeodesics(draws=2, positions=41, tolerances=(1e-9, 1e-6), grid=11)
CRITICAL = sizes.CriticalPaths(layers=(20, 40, 80, 160), seeds=2)


@pytest.mark.parametrize("bias", [0, 1])
def test_random_geodesics(bias):
    data = geodesics.random_geodesics(RANDOM, STREAM, NOTHING_STORED).sel(bias=bias, draw=1)
    start, p = geodesics.random_start(STREAM.child(1).generator(), bool(bias)), np.linspace(0, 1, 41)
    Lt, gamma = start.effective_depth, start.gamma
    path = hamiltonian_flow(start.A, start.B, Lt, bool(bias), p, 1e-9)
    H, cost, speed, momentum, V_sq, offset, _, _, product = along(path, Lt, bias, np.full(41, gamma))
    weight, offset, changes = Lt**2 * V_sq, Lt**2 * offset, (np.diff(path.A < 0, axis=0) != 0).sum()
    c, length = momentum.max(), scipy.integrate.simpson(speed, x=p)
    wanted = {"effective_depth": Lt, "gamma": gamma, "c": c, "length": length, "middle": H[0] - cost.min()}
    wanted |= {"upper": gamma * c, "lower": -((length / Lt + np.sqrt(gamma * c)) ** 2), "sign_changes": changes}
    wanted |= {"lower_printed": -((length / Lt + np.sqrt(gamma) * c) ** 2), "lower_without": -((length / Lt) ** 2)}
    root, scale = Lt * np.sqrt(np.maximum(cost - H[0], 0)), Lt * np.sqrt(gamma * c)
    wanted |= {"slowest": ((speed - root) / scale).min(), "fastest": ((speed - root) / scale).max()}
    wanted |= {"slowest_doubled": ((speed - 2 * root) / scale).min(), "fastest_without": (speed / scale).max()}
    wrong = weight / (2 * Lt) + Lt * product
    wanted |= {"wrong_drift": np.ptp(wrong) / np.abs(wrong).max(), "norm_range": np.ptp(weight) / weight.mean()}
    gain = weight[-1] - weight[0]
    wanted["norm_gain"] = gain / (Lt * scipy.integrate.simpson(offset, x=p)) if bias else 0
    wanted["norm_gain_all"] = gain / (Lt * scipy.integrate.simpson(weight, x=p))
    wanted["lagrangian_middle"] = np.mean(cost + (speed / Lt) ** 2) - cost.min()
    for name, value in wanted.items():
        close(data[name], value, rtol=1e-5, atol=1e-7, err_msg=name)
    assert float(data.drift[0]) < 1e-6


def test_scalar_geodesics_in_closed_form():
    data = closed_geodesics.scalar_geodesics(RANDOM)
    assert 0 not in data.u
    for u, c in ((-3.0, 1e-4), (float(data.u[7]), float(data.c[6]))):
        cell, least = data.sel(u=u, c=c), abs(u) / np.sqrt(c)
        path = scalar_geodesic(u, least * np.exp(max(0.05 * (u - 1), 0)), 0.05, least**2)
        H, gamma_c = float(path.scaled_hamiltonian), least**2 * float(path.c)
        close(cell.middle, H - float(path.least_cost))
        close(cell.other_sign_middle, -H - float(path.least_cost))
        close([cell.upper, cell.lower], [gamma_c, -((float(path.length) / 0.05 + np.sqrt(gamma_c)) ** 2)])
        close(cell.lower_printed, -((float(path.length) / 0.05 + least * float(path.c)) ** 2))
        close(float(path.c), c, rtol=1e-9)
    example = dict(zip(data.quantity.values, data.example.values, strict=True))
    close(
        [example["middle by the flow"], example["lower by the closed form"]],
        [example["middle"], example["lower"]],
        rtol=1e-4,
    )
    assert example["lower"] <= example["middle"] <= example["upper"]


@pytest.mark.parametrize("turn", ["1 / 2", "Lt / 3"])
@pytest.mark.parametrize("Lt", [5.0, 80.0])
def test_rotating_geodesics_by_their_singular_values(turn, Lt):
    """Five points on a circle of radius r about (1, 1, 1)/sqrt(3): singular values sqrt(5) and twice r sqrt(5/2)."""
    here = closed_geodesics.scalar_geodesics(RANDOM).sel(turn=turn, deeper=Lt)
    rate, gamma, r = {"1 / 2": 0.5 / Lt, "Lt / 3": 1 / 3}[turn], 1 / Lt, 0.35
    axis, across = 5.0, 5 * r**2 / 2
    cost = axis / (axis + gamma) + 2 * across / (across + gamma)
    length, c = rate * np.sqrt(2 * across / (across + gamma)), 1 / axis + 2 * (1 + rate**2) / across
    close(here.turning_size, axis + 2 * across)
    close(here.turning_c, c)
    close(here.turning_length, length)
    close(here.turning_gap, 3 - 2 * rate**2 - cost)
    close(here.turning_lower, -((length + np.sqrt(c * gamma)) ** 2))
    close(here.turning_lower_without, -c * gamma)
    assert float(here.turning_flow) < 1e-6 < float(here.turning_flow_back)


@pytest.mark.parametrize("Lt", [5.0, 1280.0])
def test_growing_geodesics_by_their_energy(Lt):
    """Energy 5/4 from A = 1: squared momentum at the start, A_1 = sqrt(5) / 3 sinh(3 Lt / 2 + asinh(3 / sqrt(5)))."""
    here, gamma = closed_geodesics.scalar_geodesics(RANDOM).sel(deeper=Lt), 1 / Lt
    c = ((1 + np.sqrt(1 + 2 * 1.25)) / 2) ** 2
    log_end = 1.5 * Lt + np.arcsinh(3 / np.sqrt(5)) + np.log(np.sqrt(5) / 6)
    length = (log_end + np.log(2 / np.sqrt(1 + gamma)) - np.arcsinh(1 / np.sqrt(1 + gamma))) / Lt
    close(here.growing_gap, -1.25 - 1 / (2 + gamma))
    close(here.growing_c, c)
    close(here.growing_length, length, rtol=1e-6)
    close(here.growing_lower, -((length + np.sqrt(c * gamma)) ** 2), rtol=1e-6)
    close(here.growing_lower_without, -c * gamma)
    assert float(here.growing_flow) < 1e-9


def test_critical_paths_of_discrete_networks():
    """A_{l+1} = A_l + Lt/L (B_{l+1} K - A_l), implicit in B; here by fixed-point iteration."""
    data = geodesics.critical_paths(CRITICAL, STREAM, NOTHING_STORED)
    for bias, L, seed in ((1, 40, 1), (0, 20, 0)):
        A, B = STREAM.generator(seed).standard_normal((2, 6, 8))
        B = B / (2 * np.linalg.norm(B @ active(A, bias).T))
        paths, weights, h = [(A, B)], [], 1 / L
        for _ in range(L):
            S, new = active(A, bias), B
            for _ in range(200):
                new = B - h * (np.where(A > 0, ((S @ new.T) @ new)[:6], 0) - new)
            weights.append(new @ S.T)
            A, B = A + h * (new @ S.T @ S - A), new
            paths.append((A, B))
        H = []
        for (A, _), (_, B) in pairwise(paths):
            H.append(((B @ active(A, bias).T) ** 2).sum() / 2 - (A * B).sum())
        cell = data.sel(bias=bias, layer_count=L, seed=seed)
        close(cell.spread, np.ptp(H) / np.abs(H).mean(), rtol=1e-6)
        norms = np.array([(W**2).sum() for W in weights])
        close(cell.norm_gain_all, (norms[-1] - norms[0]) / norms.mean(), rtol=1e-6)
        offsets = sum((W[:, -1] ** 2).sum() for W in weights[1:]) / L if bias else np.inf
        assert float(cell.momenta) < 1e-9
        assert (float(cell.norm_gain) == 0) == (bias == 0)
        if bias:
            close(cell.norm_gain, (norms[-1] - norms[0]) / offsets, rtol=0.1)
        momenta = np.array([B for _, B in paths])
        back = [momenta[-1]]
        for (A, _), W in zip(reversed(paths[:-1]), reversed(weights), strict=True):
            back.append((1 - h) * back[-1] + h * np.where(A > 0, W[:, :6].T @ back[-1], 0))
        back = np.array(back[::-1])
        shifted = np.linalg.norm(back[:-1] - momenta[1:]) / np.linalg.norm(momenta)
        close(cell.momenta_shifted, shifted, rtol=1e-5)


def test_layer_steps_in_fractions():
    data = formula_audit.step_schemes(sizes.StepSchemes(largest=6, irregularities=(0.0, 0.5)))
    for L in (3, 6):
        a = Fraction(1, 2)
        steps = [
            Fraction(1, L) + a / L * (Fraction(1, 4) - abs(Fraction(k, L) - Fraction(1, 2))) for k in range(1, L + 1)
        ]
        cell = data.sel(layer_count=L, irregularity=0.5)
        close(cell.excess, float(sum(steps) - 1), atol=1e-15)
        close(cell.cap, float(max(steps) * L - 1 - a / 4), atol=1e-15)
        close(cell.asymmetry, float((steps[0] - steps[-1]) * L), atol=1e-15)
        centers = 1 + 0.5 * (0.25 - np.abs((np.arange(L) + 0.5) / L - 0.5))
        corrected = centers / centers.sum()
        close(cell.symmetric_error, np.abs(corrected - np.array(steps, float)).max(), atol=1e-15)
        assert float(cell.float_error) < 1e-15
        assert abs(float(cell.corrected_asymmetry)) < 1e-14


def test_the_added_neuron_at_the_end_of_a_path():
    """a' = Lt (t(p) - a) with a triangle about 1/2 of half-width 1/4, by small steps."""
    ends = formula_audit._ends()
    for row, Lt in ((0, 5.0), (2, 20.0)):
        p = np.linspace(0, 1, 40001)
        t = np.maximum(0, 1 - np.abs(p - 0.5) / 0.25)
        kernel = Lt * np.exp(-Lt * (1 - p)) * t
        end = np.trapezoid(kernel, p)
        half = p <= 0.5
        middle = np.trapezoid(Lt * np.exp(-Lt * (0.5 - p[half])) * t[half], p[half])
        close(ends[row], [end, end, middle], rtol=1e-5)


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
