"""Small examples recomputed by hand: staircase, counterexamples, integrators, triangles of means, digits."""

from functools import cache

import numpy as np
import pytest
import scipy
import xarray as xr
from scipy.stats import ortho_group
from tests.truncation_flow.reference import tau

from repdyn.base.streams import Stream
from repdyn.truncation_flow import settings as sizes
from repdyn.truncation_flow.experiments import beyond_alignment, cluster_flow, coordinates, examples, own_clusters
from repdyn.truncation_flow.methods.construction import ball_clusters, largest_radius, simplex_initial_data
from repdyn.truncation_flow.methods.events import event_flow
from repdyn.truncation_flow.methods.separation import cluster_separated_initial_data, procrustes_initial_data
from repdyn.truncation_flow.theory import separated

STREAM = Stream(10, ("truncation_flow", "examples"))


@cache
def counted(draws=30):
    return examples.counterexamples(sizes.Counterexamples(draws=draws), STREAM)


@cache
def stairs():
    return cluster_flow.staircase(sizes.Staircase(horizon=6.0, samples=61))


def test_times_and_first_and_decay():
    times = np.array([0.0, 0.5, 1.0, 2.0])
    assert coordinates.first_time(times, np.array([False, True, False, True])) == 0.5
    assert coordinates.first_time(times, np.zeros(4, bool)) == np.inf
    assert coordinates.decay_rate(times, 3 * np.exp(-0.7 * times)) == pytest.approx(0.7)


@pytest.mark.parametrize("case", list(cluster_flow.STAIRCASES))
def test_staircase_by_small_steps(case):
    """Euler steps of db/ds = n(b)/N (y - b)."""
    x, b, y = cluster_flow.STAIRCASES[case]
    x, h, data = np.array(x), 1e-3, stairs().sel(case=case)
    path, rates = [], []
    for step in range(6001):
        if step % 100 == 0:
            path.append(b)
            rates.append(0.0 if y < b <= x.min() else (x <= b).mean())
        b += h * (x <= b).mean() * (y - b)
    np.testing.assert_allclose(data.b, path, atol=5e-3)
    np.testing.assert_allclose(data.b_by_events, path, atol=5e-3)
    assert (np.abs(data.rate - rates) > 1e-9).sum() <= 4  # the moment of a jump, and the stop at the lowest point
    assert float(data.label) == y
    np.testing.assert_array_equal(data.x, x)


def test_meetings_and_stages_of_the_staircase():
    """Beyond all points n/N = 1/4, 1/2, 3/4, 1: waiting times log((4 - x_n)/(4 - x_{n+1})) N/n."""
    data = stairs().sel(case="beyond")
    waiting = np.array([4 * np.log(4 / 3), 2 * np.log(3 / 2), 4 / 3 * np.log(2)])
    met = [*np.cumsum(waiting), np.inf]
    np.testing.assert_allclose(data.meeting, met)
    np.testing.assert_allclose(data.meeting_by_events, met, atol=1e-8)
    next_rate = np.cumsum(waiting * np.array([1 / 2, 2 / 3, 3 / 4]))
    np.testing.assert_allclose(data.meeting_at_next_rate, [*next_rate, np.inf])
    np.testing.assert_allclose(data.printed_time, [0, *met[:3]])
    np.testing.assert_allclose(data.printed_time_at_next_rate, [0, *next_rate])
    np.testing.assert_allclose(data.stage_rate, [0.25, 0.5, 0.75, 1, np.nan])
    np.testing.assert_allclose(data.stage_rate_untruncated, [0.75, 0.5, 0.25, 0, np.nan])
    np.testing.assert_allclose(data.stage_slope, [0.25, 0.5, 0.75, 1, np.nan], atol=1e-7)
    between = stairs().sel(case="between")
    assert np.isfinite(between.meeting.values).tolist() == [True, False, False, False]
    assert float(between.meeting[0]) == pytest.approx(4 * np.log(1.5 / 0.5))


def test_fixed_points_are_those_of_closed_sectors():
    data = counted()
    for name in ("fixed_mismatch", "apex_mismatch"):
        assert int(data[name]) == 0
    generator, wrong = STREAM.generator("fixed points"), np.zeros(3)
    for Q in (2, 3, 4):
        R, beta = ortho_group.rvs(Q, random_state=generator), generator.normal(size=Q)
        u = generator.choice([-1.0, 0.0, 1.0], size=(30, Q)) * generator.uniform(0.1, 1.0, size=(30, Q))
        x, open_sector = u @ R - beta, (u > 0).all(axis=1)
        image = np.maximum(u, 0) @ R
        wrong[0] += (np.isclose(image - beta, x, atol=1e-12).all(axis=1) != open_sector).sum()
        wrong[1] += (np.isclose(image, x, atol=1e-12).all(axis=1) != (u >= 0).all(axis=1)).sum()
        wrong[2] += (np.isclose(image, -beta, atol=1e-12).all(axis=1) != (u <= 0).all(axis=1)).sum()
    got = [int(data[name]) for name in ("fixed_mismatch_open", "fixed_mismatch_wrong", "apex_mismatch_wrong")]
    assert got == wrong.tolist()
    assert min(got) > 0


def generator_of(X, beta, yt, *, printed=False):
    """Omega at R = 1: the mean over points of the commutator of H with the symmetric part of u b^T, less u u^T/2."""
    total = np.zeros((2, 2))
    for u in X + beta:
        b, H = beta + yt * 1.0, np.diag((u > 0).astype(float))
        M = 0.5 * (np.outer(u, b) + np.outer(b, u)) - (0 if printed else 0.5 * np.outer(u, u))
        total += (H @ M - M @ H) / len(X)
    return total


def test_equal_first_moments_by_hand():
    yt, beta, points = np.array([0.3, 0.2]), np.array([0.1, 0.4]), np.array([[1.0, -2.0], [2.0, -1.0]])
    pair = [points - beta, np.array([[0.5, -2.5], [2.5, -0.5]]) - beta]
    c, s = np.cos(0.1), np.sin(0.1)
    turned = np.array([[c, s], [-s, c]]) @ points  # mixes the points, keeps the second moment
    data = counted()
    for name, printed in (("equal_means_true", False), ("equal_means_printed", True)):
        first, other = (generator_of(X, beta, yt, printed=printed)[0, 1] for X in pair)
        assert float(data[name]) == pytest.approx(abs(first - other), abs=1e-14)
    first, other = (generator_of(yt + X, beta, yt)[0, 1] for X in (points, turned))
    assert float(data.equal_second_true) == pytest.approx(abs(first - other), abs=1e-13)
    assert float(data.equal_second_means) == pytest.approx(np.abs(points.mean(0) - turned.mean(0)).max())
    moments = [(X - yt).T @ (X - yt) / 2 for X in pair]  # both coordinates' sectors: first on, second off
    assert float(data.second_moments) <= np.abs(moments[0] - moments[1]).max() + 1e-12
    assert float(data.second_moments) > 0.1


@pytest.mark.parametrize(
    ("name", "X"),
    [
        ("truncated", [[-2.0, -1.0], [-1.0, -3.0]]),
        ("free", [[2.0, 1.0], [1.0, 3.0]]),
        ("partial", [[2.0, -1.0], [-1.0, 3.0]]),
        ("one_direction", [[2.0, 1.0], [-1.0, 3.0]]),
    ],
)
def test_velocities_of_clusters_by_hand(name, X):
    """d(beta)/ds = -(share truncated) beta at R = 1, yt = 0."""
    X, beta, data = np.array(X), np.array([0.5, 0.7]), counted()
    share = (X + beta <= 0).mean(axis=0)
    assert float(data[f"{name}_share"]) == pytest.approx(share.min())
    if name == "one_direction":
        return
    Omega, moved = generator_of(X, beta, np.zeros(2)), -share * beta
    assert float(data[f"{name}_speed"]) == pytest.approx(np.linalg.norm(moved) + np.linalg.norm(Omega))
    assert float(data[f"{name}_formula"]) == pytest.approx(np.abs(moved + beta).max())
    assert float(data[f"{name}_rotation"]) == pytest.approx(np.abs(Omega).max())
    at_label = generator_of(X, np.zeros(2), np.zeros(2))
    assert float(data[f"{name}_at_label"]) == pytest.approx(np.linalg.norm(at_label))
    border = generator_of(np.array([[-0.5, 1.0], [1.0, 2.0]]), beta, np.zeros(2))
    assert float(data.border_speed) == pytest.approx(np.linalg.norm([0.25, 0]) + np.linalg.norm(border))


def test_releases_by_the_line_between_start_and_label():
    """u(s) = e^{-s} u(0) + (1 - e^{-s}) R (x - yt): zero at e^{-s} = v/(v - u), v = R (x - yt)."""
    generator, wrong = STREAM.generator("releases"), []
    for run in range(6):
        Q = 2 + run % 2
        R, yt, v = ortho_group.rvs(Q, random_state=generator), generator.normal(size=Q), generator.normal(size=(4, Q))
        v[0] = np.abs(v[0])
        b = -generator.uniform(1.0, 2.0, size=Q) - np.maximum(v.max(axis=0), 0.0)
        u, plain = v + b, v + R @ yt  # R x where the label is left out
        assert u.max() < 0
        ends = [np.log(1 - u[w > 0] / w[w > 0]).min() for w in (v, plain) if (w > 0).any()]
        if len(ends) == 2:
            wrong.append(abs(ends[1] - ends[0]))
    data = counted()
    assert float(data.release_time) == pytest.approx(np.log(2))
    assert float(data.release_error) < 1e-8
    assert float(data.release_error_wrong) >= max(wrong) - 1e-9
    assert int(data.released_runs) == 6
    assert int(data.kept_events) == 0


def test_bound_on_the_generator_over_draws():
    generator, largest = STREAM.generator("generator bound"), [0.0, 0.0]
    for draw in range(30):
        Q, N = 2 + draw % 5, 1 + draw % 7
        b = generator.normal(size=Q) * np.exp(generator.normal())
        v = generator.normal(size=(N, Q)) * np.exp(generator.normal(size=(N, 1)))
        for case, inside in enumerate((-np.abs(v), v)):
            u = inside + b
            H = u > 0
            partly = H.any(axis=1) & ~H.all(axis=1)
            bound = np.linalg.norm(b) * (np.linalg.norm(u, axis=1) * partly).mean()
            Omega = np.zeros((Q, Q))
            for h, point in zip(H, u, strict=True):
                M = 0.5 * (np.outer(point, b) + np.outer(b, point) - np.outer(point, point))
                Omega += (np.diag(h) @ M - M @ np.diag(h)) / N
            if bound > 0:
                largest[case] = max(largest[case], np.linalg.norm(Omega, 2) / bound)
    data = counted()
    scale = float(data.bound_ratio) / largest[0]
    assert float(data.bound_ratio_outside) / largest[1] == pytest.approx(scale)
    assert scale in (pytest.approx(1), pytest.approx(2))  # (4.25) with or without a half


def test_compositions_and_projections_by_hand():
    data = counted()
    assert float(data.composition_others) == 0
    assert float(data.composition_moved) == pytest.approx(0.5)  # tau_1 takes (1, 1) to (-.5, -.5), tau_2 to 0
    R, beta, _ = simplex_initial_data(3)
    generator = STREAM.generator("projections")
    for suffix, fill in (("", 0.8), ("_wide", 2.5)):
        X, own, off = ball_clusters(np.eye(3), 20, fill * largest_radius(3), generator), 0.0, 0.0
        for layer in range(3):
            outside = np.concatenate([X[k] for k in range(3) if k != layer])
            off = max(off, ((outside + beta[layer]) @ R[layer].T <= 0).max())
            for x in X[layer]:
                H = np.diag(R[layer] @ (x + beta[layer]) > 0)
                own = max(own, np.abs(outside @ (R[layer].T @ H @ R[layer]).T - outside).max())
        assert float(data[f"projection_own{suffix}"]) == pytest.approx(own)
        assert float(data[f"pattern_other{suffix}"]) == off


def test_the_renormalized_domain_counted_by_hand():
    """P^-_1 of two layers is R_1^T (1 - H_1) R_1 P_2: it acts where H_1 is not all on and H_2 is not all off."""
    data, generator, counts = counted(), STREAM.generator("domain"), np.zeros(2, int)
    for _ in range(10):
        R = ortho_group.rvs(3, size=3, random_state=generator)
        beta, _, X = 0.5 * generator.normal(size=(3, 3)), generator.normal(size=(3, 3)), generator.normal(size=(3, 3))
        first = (X + beta[0]) @ R[0].T > 0
        second = (tau(X, R[0], beta[0]) + beta[1]) @ R[1].T > 0
        acts = ~first.all(axis=1) & second.any(axis=1)
        counts += acts.sum(), (acts & ~second.all(axis=1)).sum()
    assert int(data.domain_acting) == counts[0]
    assert int(data.domain_violations) == counts[1]
    assert int(data.domain_corrected_violations) == 0


def test_sliding_and_least_squares():
    data, generator = counted(), STREAM.generator("sliding")
    assert float(data.sliding_kind) == 2
    assert float(data.sliding_distance) < 1e-9
    count = 0
    for _ in range(16):
        X, yt = generator.normal(size=(5, 2)), generator.normal(size=2)
        beta, angle = 0.5 * generator.normal(size=2), generator.uniform(0, 2 * np.pi)
        c, s = np.cos(angle), np.sin(angle)
        start = (X, np.full(5, 0.2), yt, np.array([[c, -s], [s, c]]), beta)
        count += 2 in [event.kind for event in event_flow(*start, np.array([5.0]))[2]]
    assert int(data.sliding_runs) == count
    sizes_of = np.array([6, 5, 10, 9])
    X = STREAM.generator("weights").uniform(0.2, 1.5, size=(4, 30))
    Y, w = np.repeat(np.eye(4), sizes_of, axis=1), np.repeat(1 / sizes_of, sizes_of)
    plain, weighted = (Y * v @ X.T @ np.linalg.inv(X * v @ X.T) for v in (np.ones(30), w))
    assert float(data.weights_differ) == pytest.approx(np.abs(plain - weighted).max())


def test_alignment_is_lost_by_hand():
    """W at R = 1 by autograd's formula: median over draws of leaving over turning part."""
    data, generator, ratios = counted(), STREAM.generator("alignment"), []
    for draw in range(30):
        Q = 2 + draw % 3
        R, yt = ortho_group.rvs(Q, random_state=generator), generator.normal(size=Q)
        v, b = -np.abs(generator.normal(size=(10, Q))), generator.normal(size=Q)
        X, beta = v @ R + yt, b @ R - yt
        slope = beyond_alignment.unaligned.velocity(X, R, beta, yt).weight_speed @ R.T
        turning, leaving = np.linalg.norm(slope - slope.T), np.linalg.norm((slope + slope.T) * (1 - np.eye(Q)))
        if turning > 0:
            ratios.append(leaving / turning)
    assert float(data.misaligning) == pytest.approx(np.median(ratios))
    assert float(data.misaligning_truncated) == 0


def test_free_weights_collapse_a_cluster_by_another_integration():
    data, generator = counted(), STREAM.generator("unaligned")
    for suffix, level, share in (("", -0.3, 0.02), ("_beyond", 0.3, 0.2)):
        left, angles = [], []
        for Q, radius in ((2, 0.5), (3, 0.6)):
            X = examples.beyond_alignment.cluster_near_planes(Q, 400, share, level, generator)
            W, beta, yt, h = np.eye(Q), np.full(Q, radius / np.sqrt(Q)), np.zeros(Q), 2e-3
            for _ in range(2000):
                speed = beyond_alignment.unaligned.velocity(X, W, beta, yt)
                W, beta = W + h * speed.weight_speed, beta + h * speed.bias_speed
            left.append(((X + beta) @ W.T > 0).any(axis=1).mean())
            gram = W @ W.T
            angles.append(np.abs(gram - np.diag(np.diag(gram))).max())
        assert float(data[f"unaligned_left{suffix}"]) == pytest.approx(max(left), abs=0.0026)
        assert float(data[f"unaligned_angle{suffix}"]) == pytest.approx(min(angles), rel=0.05)


def test_cumulative_parameters_are_free():
    data, generator, tied = counted(), STREAM.generator("cumulative"), []
    for draw in range(30):
        Q = 2 + draw % 3
        W, beta = generator.normal(size=(Q, Q, Q)) + 2 * np.eye(Q), generator.normal(size=(Q, Q))
        product, total, worst, before = np.eye(Q), np.zeros(Q), 0.0, np.zeros(Q)
        for layer in range(Q):
            product = W[0] @ product
            total = total + np.linalg.solve(product, W[layer] @ (beta[layer] - before))
            before = beta[layer]
            worst = max(worst, np.abs(product - W[layer]).max(), np.abs(total - beta[layer]).max())
        tied.append(worst / max(map(np.linalg.cond, W)))
    assert float(data.cumulative_error) < 1e-9
    assert float(data.cumulative_error_tied) == pytest.approx(min(tied))


def test_triangles_of_means_and_acute_sets(monkeypatch):
    for name, value in {"ANGLES": (60.0, 100.0), "RANDOM_TRIANGLES": 2, "CONFIGURATIONS": 300}.items():
        monkeypatch.setattr(own_clusters, name, value)
    monkeypatch.setattr(own_clusters, "SHRINKS", np.array([0.0, 0.5]))
    settings = sizes.OwnClusters(points=4, widths=(0.1, 0.6), classes=(0, 1, 2))
    data = own_clusters.own_clusters(settings, digits(), STREAM)
    unit = ball_clusters(np.zeros((3, 3)), 4, 1.0, STREAM.generator("points"))
    for row, width in enumerate((0.1, 0.6)):
        X = [m + width * u for m, u in zip(own_clusters.MEANS, unit, strict=True)]
        np.testing.assert_allclose(data.margin[row], cluster_separated_initial_data(X, require=False).margin)
    random = np.eye(3) + 0.3 * STREAM.generator("triangles").normal(size=(2, 3, 3))
    for row, means in enumerate((own_clusters.triangle(60.0), own_clusters.triangle(100.0), *random)):
        arms = [[means[j] - means[i] for j in range(3) if j != i] for i in range(3)]
        cosines = [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in arms]
        assert float(data.triangle_angle[row]) == pytest.approx(np.degrees(np.arccos(min(cosines))))
        bound = np.sqrt(max(min(a @ b for a, b in arms), 0) / 12)
        assert float(data.triangle_bound[row]) == pytest.approx(bound, abs=1e-9)
        best = cluster_separated_initial_data(list(means[:, None]), require=False).margin
        quick = procrustes_initial_data(list(means[:, None])).margin
        assert float(data.triangle_margin[row]) == pytest.approx(min(best))
        assert float(data.triangle_margin_procrustes[row]) == pytest.approx(min(quick))
        assert float(data.triangle_margin_general[row]) == own_clusters.general_margin(means)
    for column, Q in ((0, 2), (1, 3), (3, 5)):
        acute = 0
        for means in STREAM.generator("means", Q).normal(size=(300, Q, Q)):
            arms = [np.delete(means, i, axis=0) - means[i] for i in range(Q)]
            acute += all((a @ a.T > 0).all() for a in arms)
        assert float(data.acute_share[column]) == pytest.approx(acute / 300)
    assert int(data.digit_points) == 24
    assert data.shrink.values.tolist() == [0, 0.5]


@pytest.mark.parametrize("degrees", [60.0, 120.0])
def test_cones_that_are_not_aligned_hold_their_means(degrees):
    """W_l = P D^-1 with rows of length 1; columns of D point to other means, and from the own one."""
    means, margins = own_clusters.triangle(degrees), []
    P, center = 0.7 * np.eye(3) + 0.1, means.mean(axis=0)
    for layer in range(3):
        label = means[layer] + 0.1 * (center - means[layer]) + np.array([0, 0, 0.1])
        D = np.array([label - means[k] if k == layer else means[k] - label for k in range(3)]).T
        W = P @ np.linalg.inv(D)
        lengths = np.linalg.norm(W, axis=1)
        margins.append((P / lengths[:, None]).min())
    assert own_clusters.general_margin(means) == pytest.approx(min(margins))


def digits():
    """Eight noisy pictures of 3 by 3 of each of four digits."""
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 8)
    pictures = generator.normal(size=(4, 3, 3))[labels] + 0.2 * generator.normal(size=(32, 3, 3))
    return xr.Dataset({"image": (("sample", "row", "column"), pictures), "label": ("sample", labels)})


def test_digits_in_reduced_coordinates_have_their_class_means_and_variance():
    images = digits()
    reduced, explained = own_clusters.digit_clusters(images, (0, 2, 3))
    np.testing.assert_allclose([cluster.mean(axis=0) for cluster in reduced], np.eye(3), atol=1e-10)
    assert [cluster.shape for cluster in reduced] == [(8, 3)] * 3
    pictures = np.array([images.image.values[images.label == digit].reshape(8, 9) for digit in (0, 2, 3)])
    means = pictures.mean(axis=1)
    inner, centered = (pictures - means[:, None]).reshape(24, 9), (pictures - means.mean(axis=0)).reshape(24, 9)
    within = inner.T @ inner / 24 + 0.01 * np.eye(9)
    basis = scipy.linalg.orth(np.linalg.inv(within) @ (means - means.mean(axis=0)).T, rcond=1e-8)
    assert basis.shape == (9, 2)
    left = inner - inner @ basis @ basis.T
    frame = np.column_stack((basis, np.linalg.eigh(left.T @ left)[1][:, -1]))
    assert explained == pytest.approx(((centered @ frame) ** 2).sum() / (centered**2).sum())
    offsets = np.concatenate([cluster - cluster.mean(axis=0) for cluster in reduced])
    along = offsets.sum(axis=1, keepdims=True) / 3  # on the axis (1, 1, 1), as wide as on the other two on average
    assert (along**2).mean() == pytest.approx(((offsets - along) ** 2).mean())


def test_integrators_against_the_reference():
    """Errors are largest entries of R and beta at the end; the start is an anisotropic cluster around its label."""
    settings = sizes.Integrators(
        dimension=3, points=10, steps=[0.025, 0.05, 0.1], tolerances=[1e-6, 1e-4], evaluations=1000, horizon=0.4
    )
    data, generator = cluster_flow.integrators(settings, STREAM), STREAM.generator("cluster")
    X = generator.normal(size=(10, 3)) * np.array([0.5, 1.0, 1.5])
    X = X @ ortho_group.rvs(3, random_state=generator).T
    R, beta, yt = ortho_group.rvs(3, random_state=generator), -X.mean(axis=0), np.full(3, 0.8)
    exact_R, exact_beta, events = event_flow(X, np.full(10, 0.1), yt, R, beta, np.array([0.4]))
    assert int(data.crossings) == len(events)
    for n, h in enumerate((0.025, 0.05, 0.1)):
        turned, offset = R, beta
        for _ in range(round(0.4 / h)):
            flow = separated.effective_gradient(X, turned, offset, yt)
            half = 0.5 * h * flow.Omega
            offset = offset + h * flow.dbeta
            turned = np.linalg.solve(np.eye(3) - half, np.eye(3) + half) @ turned
        error = max(np.abs(turned - exact_R[0]).max(), np.abs(offset - exact_beta[0]).max())
        assert float(data.euler_error[n]) == pytest.approx(error, rel=1e-6)
    assert (data.occupation_error.values < data.euler_error.values / 3).all()
    np.testing.assert_array_equal(data.euler_cost, [16, 8, 4])
    after_first = data.scipy_cost.values - 2  # RK45 takes two right sides before the first step and six in each
    assert not (after_first % 6).any()
    assert (np.diff(after_first) < 0).all()
    np.testing.assert_array_equal(data.occupation_cost, [7 * 16, 7 * 8, 7 * 4])  # an end, three times middle and end
    assert (data.scipy_error.values < 0.02).all()
    assert data.step.values.tolist() == [0.025, 0.05, 0.1]
    path = data.sliding_u.values
    assert path[0] == pytest.approx(-0.2)
    np.testing.assert_allclose(data.sliding_u_occupation, path, atol=0.05)
    assert float(data.sliding_error[2]) == pytest.approx(np.abs(data.sliding_u_occupation - path).max())
    reached = np.isfinite(data.sliding_u_scipy.values)
    assert float(data.sliding_reached) == data.time.values[reached].max()
    assert int(data.sliding_cap) == 1000


@pytest.mark.parametrize(("row", "factor"), [(0, 0.25), (1, 1.0)])
def test_margins_of_digits_at_a_share_of_their_distance_from_their_means(row, factor, monkeypatch):
    small = {"ANGLES": (70.0,), "RANDOM_TRIANGLES": 1, "CONFIGURATIONS": 40, "SHRINKS": np.array([0.25, 1.0])}
    for name, value in small.items():
        monkeypatch.setattr(own_clusters, name, value)
    data = own_clusters.own_clusters(sizes.OwnClusters(points=3, widths=(0.1, 0.2), classes=(0, 3)), digits(), STREAM)
    reduced, explained = own_clusters.digit_clusters(digits(), (0, 3))
    shrunk = [factor * X + (1 - factor) * X.mean(axis=0) for X in reduced]
    margin = cluster_separated_initial_data(shrunk, require=False).margin
    np.testing.assert_allclose(data.digit_margin[row], margin, atol=1e-12)
    assert float(data.digit_explained) == pytest.approx(explained)
    assert int(data.digit_points) == 16
    assert data.condition.values.tolist() == list(margin._fields)
