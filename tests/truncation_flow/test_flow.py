"""Integrators on R^Q x O(Q): agreement, order, invariants, sliding."""

import numpy as np
import pytest
from scipy.stats import ortho_group

from repdyn.truncation_flow.methods import occupation
from repdyn.truncation_flow.methods.events import event_flow
from repdyn.truncation_flow.methods.flow import exact_bias_flow, integrate_flow, scipy_flow
from repdyn.truncation_flow.theory.staircase import bias_flow

SLIDING = (np.array([[-0.2, -1.0]]), np.eye(2), np.zeros(2), np.array([-1.0, -0.5]))


def rotating(Q, N, seed):
    g = np.random.default_rng((Q, N, seed))
    X = g.normal(size=(N, Q)) * np.linspace(0.5, 1.5, Q) @ ortho_group.rvs(Q, random_state=g).T
    return X, ortho_group.rvs(Q, random_state=g), -X.mean(axis=0), np.full(Q, 0.8)


def run(start, times, method="occupation", **options):
    X, R, beta, yt = start
    return integrate_flow([X], R[None], beta[None], yt[None], times, method, **options)


def distance(first, other):
    return max(float(np.abs(first[name] - other[name]).max()) for name in ("R", "beta"))


def order(Q, N, seeds=3):
    steps, errors = np.array([0.04, 0.02, 0.01, 0.005]), []
    for seed in range(seeds):
        start = rotating(Q, N, seed)
        reference = run(start, [1.5], "events")
        errors.append([distance(run(start, [1.5], step=h), reference) for h in steps])
    return np.polyfit(np.log(steps), np.log(np.mean(errors, axis=0)), 1)[0]


@pytest.mark.parametrize(("Q", "N"), [(2, 60), (3, 60), (4, 120)])
def test_occupation_scheme_is_of_second_order_across_crossings(Q, N):
    assert order(Q, N) > 1.7  # crossings scatter the errors of single runs by factors of 2 over a range of 64


def test_linear_interpolation_alone_would_be_of_first_order(monkeypatch):
    linear = occupation.occupation
    monkeypatch.setattr(occupation, "occupation", lambda u0, u1, rate0, rate1: linear(u0, u1))
    assert order(3, 60) < 1.5


@pytest.mark.parametrize("Q", [2, 3, 5])
def test_events_do_not_depend_on_the_tolerance(Q):
    start = rotating(Q, 40, 1)
    loose, tight = (run(start, [1.0, 2.0], "events", tolerance=tolerance) for tolerance in (1e-9, 1e-13))
    assert distance(loose, tight) < 1e-6  # some hundred steps of local error 1e-9, amplified by crossings
    assert loose.sizes["event"] == tight.sizes["event"]
    np.testing.assert_allclose(loose["event_time"], tight["event_time"], atol=1e-6)


def test_scipy_comes_close_where_nothing_slides():
    start = rotating(2, 20, 3)
    assert distance(run(start, [1.0], "scipy", tolerance=1e-8), run(start, [1.0], "events")) < 1e-3


@pytest.mark.parametrize("method", ["occupation", "events"])
def test_rotations_stay_orthogonal(method):
    data = run(rotating(4, 60, 2), np.linspace(0.5, 6, 12), method)
    defect = data["R"].values @ np.swapaxes(data["R"].values, -1, -2) - np.eye(4)
    assert np.abs(defect).max() < 1e-12
    determinants = np.linalg.det(data["R"].values)
    assert np.ptp(determinants) < 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_cost_never_rises(seed):
    start, times = rotating(3, 12, seed), np.linspace(0, 5, 101)
    exact = run(start, times, "events")["cost"].values[:, 0]
    assert np.diff(exact).max() < 1e-9  # local error 1e-11 per step, a few steps between outputs
    h = 0.01
    assert np.diff(run(start, times, step=h)["cost"].values[:, 0]).max() < 0.1 * h  # O(h) while sliding


@pytest.mark.parametrize("seed", range(3))
def test_fixed_rotation_is_integrated_exactly(seed):
    X, R, beta, yt = rotating(3, 25, seed)
    times = np.linspace(0.1, 4, 9)
    path = exact_bias_flow(X, R, beta, yt, times)
    flow = run((X, R, beta, yt), times, "exact")["beta"].values[:, 0]
    np.testing.assert_array_equal(path, flow)
    for r in range(3):
        wanted = bias_flow(X @ R[r], -(R @ beta)[r], (R @ yt)[r], times)
        np.testing.assert_allclose(-(path @ R.T)[:, r], wanted, atol=1e-12)


def test_one_dimension_is_the_staircase():
    x = np.array([[0.0], [1.0], [2.0], [3.0]])
    _, beta, events = event_flow(x, np.full(4, 0.25), np.array([4.0]), np.eye(1), np.zeros(1), np.array([2.0, 5.0]))
    np.testing.assert_allclose(-beta[:, 0], bias_flow(x[:, 0], 0.0, 4.0, [2.0, 5.0]), atol=1e-10)
    crossings = [event.time for event in events if event.time > 0]
    np.testing.assert_allclose(crossings, [1.1507282898, 1.9616585061, 2.8858547468], atol=1e-9)


def test_sliding_point_stays_on_its_plane():
    times = np.linspace(0.5, 8, 16)
    data = run(SLIDING, times, "events")
    assert data["event_kind"].values.tolist() == [2]
    u = (data["R"].values[:, 0] @ (SLIDING[0][0] + data["beta"].values[:, 0])[..., None])[:, 0, 0]
    assert np.abs(u).max() < 1e-10
    final = data["cost"].sel(time=8.0).item()
    assert final == pytest.approx(0.0060964, abs=1e-6)
    exact = run(SLIDING, [1.0], "events")["cost"].item()
    errors = [abs(run(SLIDING, [1.0], step=h)["cost"].item() - exact) for h in (0.02, 0.00125)]
    assert errors[1] < errors[0] / 4  # first order in h, 16 times finer, cost oscillates within the error


def test_sliding_stalls_the_adaptive_solver_and_the_cap_stops_it():
    X, R, beta, yt = SLIDING
    _, path, used = scipy_flow(X, R, beta, yt, np.linspace(0.1, 8, 80), rtol=1e-6, evaluations=4000)
    assert used == 4001
    assert np.isnan(path[-1]).all()
    assert np.isfinite(path[0]).all()


def test_crossings_are_those_of_their_cluster_point_and_coordinate():
    """Of truncated points the bias decays: u_i = x_i - e^{-t} of the second point is 0 at the time -log x_i."""
    far, near = np.array([[5.0, 5.0]]), np.array([[-2.0, -2.0], [0.4, -2.0]])
    eyes, apexes = np.array([np.eye(2)] * 2), np.ones((2, 2))
    data = integrate_flow([far, near], eyes, -apexes, np.zeros((2, 2)), [1.0], "events")
    first = data.isel(event=0)
    assert float(first["event_time"]) == pytest.approx(-np.log(0.4))
    named = {name: int(first[f"event_{name}"]) for name in ("cluster", "point", "coordinate")}
    assert named == {"cluster": 1, "point": 1, "coordinate": 0}


def test_the_kind_of_a_crossing_is_where_the_point_goes_next():
    """Until the same entry crosses again: below its plane if truncated, above if released, on it while it slides."""
    seen = []
    for seed in range(6):
        X, R, beta, _ = rotating(3, 17, seed)
        start = X, R, beta - 0.5, np.linspace(-1.5, 1.0, 3)
        events = run(start, [2.0], "events")
        times, points, kinds = (events[f"event_{name}"].values for name in ("time", "point", "kind"))
        entries = 3 * points + events["event_coordinate"].values
        ends = [times[(entries == entry) & (times > time)] for time, entry in zip(times, entries, strict=True)]
        middle = (times + [end.min(initial=2.0) for end in ends]) / 2
        path = run(start, np.unique(middle), "events").isel(cluster=0)
        for time, entry, kind in zip(middle, entries, kinds, strict=True):
            now = path.sel(time=time)
            u = now["R"].values[entry % 3] @ (X[entry // 3] + now["beta"].values)
            assert np.sign(u.round(9)) == {0: -1, 1: 1, 2: 0}[kind]
        seen += kinds.tolist()
    assert set(seen) == {0, 1, 2}


def test_clusters_of_different_size_move_by_themselves():
    first, second = rotating(3, 17, 0), rotating(3, 40, 1)
    both = integrate_flow(*[[a, b] for a, b in zip(first, second, strict=True)], [0.5, 2.0])
    for index, start in enumerate((first, second)):
        alone = run(start, [0.5, 2.0])
        np.testing.assert_allclose(both["R"].isel(cluster=index), alone["R"].isel(cluster=0), atol=1e-12)
        np.testing.assert_allclose(both["cost"].isel(cluster=index), alone["cost"].isel(cluster=0), atol=1e-12)


def test_occupation_fraction_and_cayley():
    u0, u1 = np.array([1.0, -1.0, 1.0, -1.0, 0.0]), np.array([2.0, -2.0, -3.0, 1.0, 0.0])
    np.testing.assert_allclose(occupation.occupation(u0, u1), [1.0, 0.0, 0.25, 0.5, 0.0])
    slow_then_fast = occupation.occupation(np.array([-1.0]), np.array([1.0]), np.array([1.0]), np.array([3.0]))
    np.testing.assert_allclose(slow_then_fast, [0.25])
    A = np.array([[0.0, -0.3], [0.3, 0.0]])
    Q = occupation.cayley(A)
    np.testing.assert_allclose(Q @ Q.T, np.eye(2), atol=1e-15)
    assert np.arctan2(Q[1, 0], Q[0, 0]) == pytest.approx(2 * np.arctan(0.15))


def test_bad_input_is_refused_with_its_name_and_value():
    arguments = {"X": [np.ones((3, 2))], "R0": np.eye(2)[None], "beta0": np.zeros((1, 2)), "yt": np.ones((1, 2))}
    for change, message in (
        ({"method": "rk4"}, "rk4"),
        ({"formula": "wrong"}, "wrong"),
        ({"formula": "printed", "method": "events"}, "events"),
        ({"step": 0.0}, "step.*0"),
        ({"times": [1.0, 0.5]}, "times.*0.5"),
        ({"times": [-1.0]}, "times.*-1"),
        ({"X": [np.zeros((0, 2))]}, r"X.*\(0, 2\)"),
        ({"X": [np.ones((3, 2)), np.ones((3, 3))]}, "X.*3"),
        ({"R0": np.eye(2)}, r"R0.*\(2, 2\)"),
        ({"R0": 1.1 * np.eye(2)[None]}, "R0"),
        ({"yt": np.full((1, 2), np.nan)}, "yt.*2"),
    ):
        with pytest.raises(ValueError, match=message):
            integrate_flow(**(arguments | {"times": [1.0]} | change))
