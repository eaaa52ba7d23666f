"""Flows of clusters recomputed by short scripts: collapse, snapshots, Proposition 4.2, ensembles, the general flow."""

from functools import cache

import numpy as np
import pytest
import torch
from scipy.stats import ortho_group
from tests.truncation_flow.reference import tau

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.datasets import REQUIRED, problems
from repdyn.base.streams import Stream
from repdyn.truncation_flow import settings as sizes
from repdyn.truncation_flow.experiments import all_layers, audits, cluster_flow, collapse, proposition
from repdyn.truncation_flow.methods.construction import ball_clusters, largest_radius, simplex_initial_data
from repdyn.truncation_flow.methods.flow import integrate_flow
from repdyn.truncation_flow.theory import separated

STREAM = Stream(8, ("truncation_flow", "recomputed"))
COLLAPSE = sizes.NeuralCollapse(dimensions=(2, 3), points=6, fill=0.8, start=0.0, horizon=8.0, samples=33, step=0.05)
PROPOSITION = sizes.Proposition(points=100, outliers=(0.03, 0.05), gamma=0.09, horizon=3.0, step=0.05)
GENERAL = sizes.GeneralFlow(points=4, seeds=2, horizon=0.4, step=0.1, rate=0.05, samples=10)


@cache
def collapse_run(Q, *, fill=0.8, start=0.0, samples=33):
    """Clusters, labels and path: balls of a share of the largest radius, the apex behind the mean."""
    X = ball_clusters(np.eye(Q), 6, fill * largest_radius(Q), STREAM.generator(Q))
    R, beta, yt = simplex_initial_data(Q, start=start)
    return X, yt, integrate_flow(list(X), R, beta, yt, np.linspace(0, 8.0, samples), step=0.05)


def images(X, path, t):
    """Every cluster under its own map, shape (Q, N, Q)."""
    return np.array([tau(X[c], path.R.values[t, c], path.beta.values[t, c]) for c in range(len(X))])


def composed(X, path, t):
    z = X.reshape(-1, X.shape[2])
    for rotation, offset in zip(path.R.values[t], path.beta.values[t], strict=True):
        z = tau(z, rotation, offset)
    return z.reshape(X.shape)


def kept(X, yt, R, beta):
    """Least coordinate of other clusters under each map, and of images under later maps, now and at -beta = yt."""
    Q, least = len(X), []
    for c in range(Q):
        for apex in (-beta[c], yt[c]):
            least += [((X[k] - apex) @ R[c].T).min() for k in range(Q) if k != c]
            image = tau(X[c], R[c], -apex)
            least += [((image - end) @ R[k].T).min() for k in range(c + 1, Q) for end in (-beta[k], yt[k])]
    return min(least)


@cache
def collapsed():
    return collapse.neural_collapse(COLLAPSE, STREAM)


@pytest.mark.parametrize("Q", [2, 3])
def test_series_of_neural_collapse(Q):
    X, yt, path = collapse_run(Q)
    data = collapsed().sel(dimension=Q)
    for t in (0, 9, 32):
        z = images(X, path, t)
        means = z.mean(axis=1)
        within = np.mean([((z[c] - means[c]) ** 2).sum(axis=1).mean() for c in range(Q)])
        between = ((means - means.mean(axis=0)) ** 2).sum(axis=1).mean()
        now = data.isel(time=t)
        assert float(now.margin) == pytest.approx(kept(X, yt, path.R.values[t], path.beta.values[t]), abs=1e-13)
        assert float(now.cost) == pytest.approx(sum(0.5 * ((z[c] - yt[c]) ** 2).sum(1).mean() for c in range(Q)))
        assert float(now.within) == pytest.approx(within, abs=1e-15)
        assert float(now.ratio) == pytest.approx(within / between, abs=1e-14)
        norms = [
            np.linalg.norm(separated.effective_gradient(X[c], path.R.values[t, c], path.beta.values[t, c], yt[c]).Omega)
            for c in range(Q)
        ]
        assert float(now.generator_norm) == pytest.approx(max(norms), abs=1e-13)
    np.testing.assert_allclose(data.time, np.linspace(0, 8, 33))


@pytest.mark.parametrize("Q", [2, 3])
def test_arrivals_and_shares_of_neural_collapse(Q):
    X, _, path = collapse_run(Q)
    data = collapsed().sel(dimension=Q)
    u = np.einsum("tcij,tckj->tcki", path.R.values, X + path.beta.values[:, :, None])
    share = (u <= 0).mean(axis=2)  # time, cluster, coordinate
    times = np.linspace(0, 8, 33)
    for c in range(Q):
        full = (share[:, c] == 1).all(axis=1)
        assert float(data.arrival[c]) == times[np.argmax(full)]
        assert float(data.start_share[c]) == pytest.approx(share[0, c].min())
    assert np.isnan(data.arrival[Q:]).all()
    late = times >= float(data.arrival.max())
    slope = np.polyfit(times[late], np.log(data.cost.values[late]), 1)[0]
    assert float(data.cost_rate) == pytest.approx(-slope)
    assert float(data.within_late) == data.within.values[late].max()


@pytest.mark.parametrize(
    ("suffix", "options"),
    [
        ("", {}),
        ("_untruncated", {"start": collapse.FAR_BEHIND, "samples": 25}),
        ("_too_wide", {"fill": None, "samples": 25}),
    ],
)
@pytest.mark.parametrize("Q", [2, 3])
def test_neural_collapse_and_its_counterexamples(Q, suffix, options):
    """Composition and margins at every time; `too_wide` has radii 4 and 1.6 times the largest."""
    if "fill" in options:
        options = options | {"fill": 4.0 if Q == 2 else 1.6}
    X, yt, path = collapse_run(Q, **options)
    data = collapsed().sel(dimension=Q)
    times, errors, least, within = path.time.values, [], [], []
    for t in range(len(times)):
        errors.append(np.abs(composed(X, path, t) - images(X, path, t)).max())
        R, beta, z = path.R.values[t], path.beta.values[t], images(X, path, t)
        within.append(np.mean([((z[c] - z[c].mean(0)) ** 2).sum(1).mean() for c in range(Q)]))
        least.append(kept(X, yt, R, beta))
    assert float(data["composed_error_largest" + suffix]) == pytest.approx(max(errors), abs=1e-13)
    assert float(data["margin_least" + suffix]) == pytest.approx(min(least), abs=1e-12)
    late = times >= float(data.arrival.max())
    assert float(data["within_late" + suffix]) == pytest.approx(np.max(np.array(within)[late]), abs=1e-14)
    cost = path.cost.sum("cluster").values
    rate = -np.polyfit(times[late], np.log(cost[late]), 1)[0]
    assert float(data["cost_rate" + suffix]) == pytest.approx(rate, abs=1e-9)


def test_snapshots_in_the_plane():
    data = collapse.truncation_in_the_plane(COLLAPSE, STREAM)
    for q, Q in enumerate((2, 3)):
        X, yt, path = collapse_run(Q)
        part, times = data.isel(dimension=q), np.linspace(0, 8, 33)
        first = int(np.flatnonzero(times == float(collapsed().sel(dimension=Q).arrival[0]))[0])
        chosen = [0, first // 4, first // 2, first, 32]
        np.testing.assert_array_equal(part.moment, times[chosen])
        np.testing.assert_array_equal(part.data.values[:Q, :, :Q], X)
        np.testing.assert_array_equal(part.label.values[:Q], yt[0])
        np.testing.assert_array_equal(part.apex.values[:, :Q], -path.beta.values[:, 0])
        for s, t in enumerate(chosen):
            np.testing.assert_array_equal(part.cone.values[s, :Q, :Q], path.R.values[t, 0])
            np.testing.assert_allclose(part.image.values[s, 0, :, :Q], images(X, path, t)[0], atol=1e-14)
            np.testing.assert_array_equal(part.image.values[s, 1:Q, :, :Q], X[1:])


@pytest.mark.parametrize(("Q", "share"), [(2, 0.03), (3, 0.05)])
@pytest.mark.parametrize("suffix", ["", "_beyond"])
def test_proposition_recomputed(Q, share, suffix):
    data = proposition_data().sel(dimension=Q)
    beyond, radius = suffix == "_beyond", {2: 0.5, 3: 0.6}[Q]
    generator = STREAM.generator(Q, "beyond") if beyond else STREAM.generator(Q)
    level, count = (0.3, 20) if beyond else (-0.3, round(share * 100))
    X = -1.0 + generator.uniform(-0.1, 0.1, size=(100, Q))
    for k in range(count):
        coordinate = k % Q if not beyond or k % 3 == 2 else 0
        X[k, coordinate] = level + generator.uniform(-0.04, 0.04)
    start = np.full(Q, radius / np.sqrt(Q))
    times = np.arange(61) * 0.05
    path = integrate_flow([X], np.eye(Q)[None], start[None], np.zeros((1, Q)), times, step=0.05).isel(cluster=0)
    b = np.linalg.norm(path.beta.values, axis=1)
    turned = np.array([np.linalg.svd(R - np.eye(Q))[1][0] for R in path.R.values])
    shares = np.array(
        [((X + o) @ R.T <= 0).mean(0).min() for R, o in zip(path.R.values, path.beta.values, strict=True)]
    )
    np.testing.assert_allclose(data["residual" + suffix], b, rtol=1e-12)
    np.testing.assert_allclose(data["rotation" + suffix], turned, atol=1e-13)
    np.testing.assert_allclose(data["truncated_share" + suffix], shares)
    np.testing.assert_allclose(data["cost" + suffix], path.cost)
    np.testing.assert_allclose(data["generator_norm" + suffix], path.generator_norm)
    rates = data["decay_rate" + suffix].values
    assert rates[30] == pytest.approx(-np.log(b[31] / b[29]) / 0.1)
    met = times[np.argmax(shares == 1)] if (shares == 1).any() else np.inf
    assert float(data["arrival" + suffix]) == pytest.approx(met)
    late = times >= float(data.arrival)  # of the data that meet the hypotheses, in both worlds
    assert float(data["late_rotation" + suffix]) == pytest.approx(np.ptp(turned[late]), abs=1e-13)
    assert float(data["late_generator" + suffix]) == pytest.approx(path.generator_norm.values[late].max())
    assert float(data["residual_rate" + suffix]) == pytest.approx(-np.polyfit(times[late], np.log(b[late]), 1)[0])
    slope = np.polyfit(times[late], np.log(path.cost.values[late]), 1)[0]
    assert float(data["cost_rate" + suffix]) == pytest.approx(-slope)


def test_bounds_without_a_gap_are_infinite_and_can_be_written():
    wide = PROPOSITION.model_copy(update={"outliers": (0.49, 0.49), "horizon": 0.5})
    data = proposition.proposition(wide, STREAM)
    for name in ("eta_2", "eta_2_printed", "arrival_bound", "sharp_arrival_bound"):
        assert np.isinf(data[name].values).any(), name
    assert problems(data.assign_attrs(dict.fromkeys(REQUIRED, ""))) == []  # the runner adds these


@cache
def proposition_data():
    return proposition.proposition(PROPOSITION, STREAM)


def test_directions_of_the_printed_flow():
    data = audits.gradient_audit(sizes.GradientAudit(dimensions=(2, 4), points=8, draws=2), STREAM)
    for Q, draw in ((2, 1), (4, 0)):
        generator = STREAM.generator(Q, draw)
        list(audits._all_errors(Q, 8, generator))  # what is drawn before
        X, yt = generator.normal(size=(8, Q)), generator.normal(size=Q)
        R = ortho_group.rvs(Q, random_state=generator)
        beta = 0.5 * generator.normal(size=Q)
        true, printed = (
            separated.effective_gradient(X, R, beta, yt, formula=form).Omega for form in ("corrected", "printed")
        )
        here = data.sel(dimension=Q, draw=draw)
        size = np.linalg.norm(true)
        assert float(here.relative_error) == pytest.approx(np.linalg.norm(printed - true) / size)
        assert float(here.cosine) == pytest.approx(np.vdot(printed, true) / size / np.linalg.norm(printed))
        weights = STREAM.generator(Q, draw, "weights")
        X, yt = weights.normal(size=(8, Q)), weights.normal(size=Q)
        R, beta = ortho_group.rvs(Q, random_state=weights), 0.5 * weights.normal(size=Q)
        left, right = ortho_group.rvs(Q, size=6, random_state=weights).reshape(2, 3, Q, Q)
        scales = weights.uniform(0.5, 2.0, (3, 1, Q))
        W_out = left[1] @ np.diag(scales[1, 0]) @ right[1]
        for name, g in (("cross_term", W_out.T @ W_out), ("cross_term_euclidean", np.eye(Q))):
            total = np.zeros(Q)
            for x in X:
                u = R @ (x + beta)
                total += R.T @ np.diag(u <= 0) @ R @ g @ R.T @ np.maximum(u, 0) / 8
            assert float(here[name]) == pytest.approx(np.linalg.norm(total), abs=1e-13)


def test_costs_of_the_ensemble_follow_both_formulas():
    settings = sizes.PrintedAndCorrected(horizon=2.0, samples=20, step=0.05, clusters=3, points=4)
    data = cluster_flow.printed_and_corrected(settings, STREAM)
    generator = STREAM.generator("clusters")
    X, yt = generator.normal(size=(3, 4, 2)), generator.normal(size=(3, 2))
    R = ortho_group.rvs(2, size=3, random_state=generator)
    beta = -yt + 0.1 * generator.normal(size=(3, 2))
    times, eye = np.linspace(0, 2, 20), np.eye(2)[None]
    for formula in ("printed", "corrected"):
        for c in (0, 2):
            one = (X[c : c + 1], R[c : c + 1], beta[c : c + 1], yt[c : c + 1])
            cost = integrate_flow(*one, times, step=0.05, formula=formula).cost.values[:, 0]
            np.testing.assert_allclose(data["cost"].sel(formula=formula, cluster=c), cost, rtol=1e-10)
        for name, (point, label) in {"rise": ((1, -1), (0.5, 0)), "spurious equilibrium": ((1, -1), (0, 0))}.items():
            one = (np.array([[point]]), eye, np.zeros((1, 2)), np.array([label]))
            cost = integrate_flow(*one, times, step=0.05, formula=formula).cost.values[:, 0]
            np.testing.assert_allclose(data["example_cost"].sel(formula=formula, example=name), cost, atol=1e-14)
    assert float(data["cost"].sel(formula="printed", cluster=1)[0]) == pytest.approx(
        0.5 * ((tau(X[1], R[1], beta[1]) - yt[1]) ** 2).sum(axis=1).mean()
    )


def test_cones_and_images_of_single_points():
    """The cost of one point is half the squared distance of its image to the label."""
    settings = sizes.PrintedAndCorrected(horizon=2.0, samples=20, step=0.05, clusters=2, points=2)
    data = cluster_flow.printed_and_corrected(settings, STREAM)
    along = ("formula", "example", "time")
    turn = np.radians(data["example_turn"].transpose(*along).values)
    assert (np.abs(turn).max(axis=2) > 0.1).any()
    np.testing.assert_allclose(data["example_point"], [[1, -1], [1, -1]])
    np.testing.assert_allclose(data["example_label"], [[0.5, 0], [0, 0]])
    apex, image = (data[f"example_{name}"].transpose(*along, "coordinate").values for name in ("apex", "image"))
    assert (np.abs(apex).max(axis=(2, 3)) > 0.1).any()
    for place in np.ndindex(turn.shape):
        c, s = np.cos(turn[place]), np.sin(turn[place])
        own = tau(np.array([[1, -1]]), np.array([[c, -s], [s, c]]), -apex[place])[0]
        np.testing.assert_allclose(image[place], own, atol=1e-12)
    cost = ((image - data["example_label"].values[:, None]) ** 2).sum(axis=-1) / 2
    np.testing.assert_allclose(data["example_cost"].transpose(*along), cost, atol=1e-12)


@cache
def general_data(seeds=2):
    settings = GENERAL.model_copy(update={"seeds": seeds})
    return all_layers.general_flow(settings, STREAM, Checkpoint(None, ""))


def start_of(kind, seed):
    generator = STREAM.generator(kind, seed)
    R, beta, yt = simplex_initial_data(3)
    X = ball_clusters(np.eye(3), 4, 0.35 if kind == "too wide" else 0.8 * largest_radius(3), generator)
    if kind == "random":
        R, beta = ortho_group.rvs(3, size=3, random_state=generator), 0.5 * generator.normal(size=(3, 3))
    if kind == "untruncated":
        R, beta = np.tile(np.eye(3), (3, 1, 1)), np.full((3, 3), 0.5)
    return X.reshape(-1, 3), R, beta, yt


def share_within(z):
    clusters = z.reshape(3, 4, 3)
    inner = np.mean([((c - c.mean(axis=0)) ** 2).sum(axis=1).mean() for c in clusters])
    return inner / max(((z - z.mean(axis=0)) ** 2).sum(axis=1).mean(), 1e-300)


@pytest.mark.parametrize("kind", all_layers.STARTS)
@pytest.mark.parametrize("seed", [0, 1])
def test_plain_descent_beside_the_general_flow(kind, seed):
    """Descent by autograd on layers W_l = R_l R_{l-1}^T that are the same function at first; 8 steps of 0.05."""
    X, R, beta, yt = start_of(kind, seed)
    data = general_data().sel(start=kind, seed=seed)
    z = X
    for rotation, offset in zip(R, beta, strict=True):
        z = tau(z, rotation, offset)
    flow, descent = data.sel(algorithm="flow"), data.sel(algorithm="descent")
    labels = np.repeat(yt, 4, axis=0)
    assert float(flow.cost[0]) == pytest.approx(0.5 * ((z - labels) ** 2).sum() / 4)
    assert float(flow.within[0]) == pytest.approx(share_within(z), abs=1e-14)
    before = [np.eye(3), *R[:-1]]
    offsets = [np.zeros(3), *beta[:-1]]
    W_out = np.linalg.inv(yt.T)
    weights = [a @ b.T for a, b in zip(R, before, strict=True)] + [W_out @ R[-1].T]
    biases = [a @ (now - old) for a, now, old in zip(R, beta, offsets, strict=True)] + [-W_out @ beta[-1]]
    parts = [torch.tensor(part, requires_grad=True) for part in (*weights, *biases)]
    y = torch.tensor(np.repeat(np.eye(3), 4, axis=0))
    costs, shares = [], []
    for _ in range(9):
        h = torch.tensor(X)
        for W, b in zip(parts[:3], parts[4:7], strict=True):
            h = torch.relu(h @ W.T + b)
        cost = 0.5 * ((h @ parts[3].T + parts[7] - y) ** 2).sum() / 4
        costs.append(cost.item())
        shares.append(share_within(h.detach().numpy()))
        slopes = torch.autograd.grad(cost, parts)
        parts = [(p - 0.05 * g).detach().requires_grad_() for p, g in zip(parts, slopes, strict=True)]
    steps = [round(time / 0.05) for time in np.linspace(0, 0.4, 10)]
    np.testing.assert_allclose(descent.cost, np.array(costs)[steps], rtol=1e-9)
    np.testing.assert_allclose(descent.within, np.array(shares)[steps], rtol=1e-9, atol=1e-14)


def test_more_seeds_of_the_general_flow_change_no_old_one():
    few, many = general_data(), general_data(9)
    np.testing.assert_array_equal(few.cost, many.cost[:, :, :2])
    for name in ("cost", "within"):
        last = many[name].isel(time=-1).sel(start="random", algorithm="flow").values
        assert len(set(last)) == 9


def test_more_draws_leave_the_old_ones_alone():
    few, many = (audits.gradient_audit(sizes.GradientAudit(points=8, **own), STREAM)
                 for own in ({"dimensions": (2,), "draws": 2}, {"dimensions": (2, 3), "draws": 3}))  # fmt: skip
    np.testing.assert_array_equal(few["printed"], many["printed"].isel(dimension=[0], draw=[0, 1]))
    short, long = (audits.random_clusters(sizes.RandomClusters(**own), STREAM)
                   for own in ({"dimensions": (2,), "points": (5,), "draws": 4},
                               {"dimensions": (2, 3), "points": (5, 5), "draws": 9}))  # fmt: skip
    np.testing.assert_array_equal(short["printed_rate"][0], long["printed_rate"][0, :4])
    alone = collapse.neural_collapse(COLLAPSE.model_copy(update={"dimensions": (3,)}), STREAM)
    np.testing.assert_array_equal(alone["cost"][0], collapsed()["cost"].sel(dimension=3))
