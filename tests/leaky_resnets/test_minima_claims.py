"""Propositions 2, 3 and 5 with bias, geodesics that turn: theory by independent ways, claims on made-up data."""

import numpy as np
import pytest
import torch
import xarray as xr

from repdyn.base.claims import claims_of, decide_claim
from repdyn.leaky_resnets.claims import formula_audit, identity_cost, minima, theorem4
from repdyn.leaky_resnets.methods.audit_draws import kept_without_bias
from repdyn.leaky_resnets.theory import added_neuron
from repdyn.leaky_resnets.theory import minima as theory
from repdyn.leaky_resnets.theory.flows import symplectic_euler
from repdyn.leaky_resnets.theory.hamiltonian import force, hamiltonian, velocity
from repdyn.leaky_resnets.theory.identity_cost import activation, cost_of_identity
from repdyn.leaky_resnets.theory.lagrangian import least_norm_weights
from repdyn.leaky_resnets.theory.rotating_geodesic import rotating_path

CLAIMS = {claim.id: claim for claim in claims_of(formula_audit, identity_cost, minima, theorem4)}


def kept(seed: int, negative: float) -> tuple[np.ndarray, int]:
    """A representation whose least weights have no bias, its largest negative part as given, and where."""
    A = kept_without_bias(np.random.default_rng(seed))
    parts = np.linalg.norm(np.minimum(A, 0), axis=0)
    return A * negative / parts.max(), int(parts.argmax())


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_neuron_lowers_the_cost_with_and_without_bias(bias, seed):
    """At finite eps, the proof's neuron and ours: with bias the first raises the cost."""
    A, i = kept(seed, 0.3)
    S = activation(A, bias)
    if bias:
        assert np.abs(least_norm_weights(A, np.zeros_like(A), 1.0, bias)[:, -1]).max() < 1e-12
    changes = []
    for z in (S.T @ S[:, i], theory.positive_neuron(A, i)):
        eps = 1e-3 / np.linalg.norm(z)
        more = cost_of_identity(np.vstack([A, eps * z]), bias).value - cost_of_identity(A, bias).value
        changes.append(more / eps**2)
    assert changes[0] == pytest.approx(0.91 if bias else -0.09, abs=1e-3)
    assert changes[1] <= -0.09 + 1e-4


def test_a_negative_part_above_one_is_seen_by_the_proofs_neuron_too():
    A, i = kept(0, 3.0)
    assert theory.column_coefficients(A, True)[i] == pytest.approx(1 - 9, abs=1e-9)


def test_no_row_without_room_gets_a_negative_entry():
    assert theory.without_bias(np.ones((3, 2)) + np.eye(3, 2)) is None


@pytest.mark.parametrize("bias", [False, True])
def test_change_of_the_objective_by_an_added_neuron_is_autograds(bias):
    """Half the second derivative by eps of the enlarged objective; a change of the other weights drops out."""
    (w, N), L, rng = (5, 6), 8, np.random.default_rng(3)
    A0, B0 = rng.standard_normal((2, w, N))
    path = symplectic_euler(A0, 0.3 * B0 / np.linalg.norm(B0 @ activation(A0, bias).T), 1.3, bias, L)
    S = activation(path.A[:-1], bias)
    W, rho = 1.3 * path.B[1:] @ np.swapaxes(S, -1, -2), np.full(L, 1 / L)
    c, r, other = rng.standard_normal((L, w)), np.abs(rng.standard_normal((L, w + bias))), rng.standard_normal(W.shape)
    weights, out, into, rest, ones = (torch.tensor(x) for x in (W, c, r, other, np.ones((1, N))))
    target = torch.tensor(path.A[-1] + path.B[-1])

    def objective(eps: torch.Tensor) -> torch.Tensor:
        A, a, size = torch.tensor(path.A[0]), torch.zeros(N, dtype=torch.float64), torch.zeros((), dtype=torch.float64)
        for layer in range(L):
            active = torch.cat([torch.relu(A), ones]) if bias else torch.relu(A)
            old = weights[layer] - eps**2 * rest[layer]
            driven = old @ active + torch.outer(eps * out[layer], torch.relu(a))
            A, a = A + (driven - 1.3 * A) / L, a + (eps * into[layer] @ active - 1.3 * a) / L
            size = size + (old**2).sum() + eps**2 * ((out[layer] ** 2).sum() + (into[layer] ** 2).sum())
        return ((A - target) ** 2).sum() / 2 + size / (2 * 1.3 * L)

    added, activations = np.zeros(N), []
    for layer in range(L):
        activations.append(np.maximum(added, 0))
        added = added + (r[layer] @ S[layer] - 1.3 * added) / L
    small = torch.tensor(1e-5, dtype=torch.float64)  # beyond the kink of the neuron at 0
    second = torch.autograd.functional.hessian(objective, small).item()
    formula = added_neuron.objective_change(c, r, path.B[1:], np.array(activations), rho, 1.3)
    assert formula == pytest.approx(second / 2, rel=1e-6)


@pytest.mark.parametrize("rate", [0.0, 1 / 3, -0.7])
def test_turning_paths_solve_hamiltons_equations(rate):
    Lt, step = 7.0, 1e-6
    A, B = rotating_path(rate, Lt, np.array([0.3 - step, 0.3, 0.3 + step]), 5)
    assert A.min() > 0
    np.testing.assert_allclose((A[2] - A[0]) / (2 * step), velocity(A[1], B[1], Lt, False), atol=1e-7)
    np.testing.assert_allclose((B[2] - B[0]) / (2 * step), -force(A[1], B[1], Lt, False), atol=1e-7)
    assert -2 / Lt * hamiltonian(A[1], B[1], Lt, False) == pytest.approx(3 - 2 * rate**2)


# Claims on made-up data


def turning(gap: float, fixed: float = 0.004) -> xr.Dataset:
    """Turning geodesics: distance of those that turn by a fixed angle, and of those at a fixed rate."""
    depths = np.array([80.0, 1280.0])
    gaps = np.array([[0.08, fixed], [gap, gap]])
    lower = -((np.array([[0.01, 0.001], [0.47, 0.47]]) + np.sqrt(7 / depths)) ** 2)
    variables = {
        "turning_gap": gaps,
        "turning_lower": lower,
        "turning_lower_without": np.broadcast_to(-7 / depths, (2, 2)),
        "turning_c": np.full((2, 2), 7.0),
        "turning_flow": np.full((2, 2), 1e-12),
        "turning_flow_back": np.full((2, 2), 0.5),
    }
    coords = {"turn": ["1 / 2", "Lt / 3"], "deeper": depths}
    return xr.Dataset({name: (("turn", "deeper"), values) for name, values in variables.items()}, coords)


@pytest.mark.parametrize(
    ("gap", "fixed", "status"),
    [(-0.2, 0.004, "holds as corrected"), (-0.05, 0.004, "holds"), (-0.2, -0.06, "does not hold")],
)
def test_distance_of_turning_geodesics(gap, fixed, status):
    assert CLAIMS["lrn-thm4-close"](turning(gap, fixed)).status == status


def test_controls_of_the_turning_geodesics_turn():
    decision = decide_claim(CLAIMS["lrn-thm4-close"], {"scalar_geodesics": turning(-0.2)})
    assert decision.ledger["verdict"] == "holds as corrected"


def audit(error: float = 1e-9) -> xr.Dataset:
    names = ["Prop. 2 positive neuron", "Prop. 2 added neuron", "Prop. 5 objective", "Prop. 3 merged neurons"]
    errors = {
        form: ("equation", [1.0 if form == "control" else error] * len(names))
        for form in ("printed", "corrected", "control")
    }
    return xr.Dataset(errors, {"equation": names})


def costs(falls: float = -1.0, norm: float = -1.0) -> xr.Dataset:
    """Neurons at representations whose least weights have no bias; falls: by ours over the squared negative part."""
    dims, coords = ("bias", "negative_norm"), {"bias": [0, 1], "negative_norm": [0.3, 3.0], "rank": [2, 3]}
    printed = np.array([[-1.0, -1.0], [1 / 0.09 - 1, 1 / 9 - 1]])
    variables = {
        "kept_change": (dims, np.full((2, 2), falls)),
        "kept_change_printed": (dims, printed),
        "slow_norm_change": (dims, np.full((2, 2), norm)),
        "slow_norm_change_printed": (dims, printed),
        "scaling": (("bias", "shape"), [[0.0], [-0.1]]),
        "scaling_up": (("bias", "shape"), [[0.0], [0.1]]),
        "nonnegative_cost": (("bias", "rank", "row_space"), [[[2.0, 2], [3, 3]], [[2, 1.5], [3, 2.4]]]),
    }
    return xr.Dataset(variables, {**coords, "shape": ["9 x 4"], "row_space": ["without 1", "with 1"]})


def laboratory(gain: float = 1.0) -> xr.Dataset:
    """Paths whose weights gain what their biases give by Proposition 9, times a factor."""
    p, Lt = np.linspace(0, 1, 11), np.array([3.0, 24.0])
    bias = np.ones((1, 2, 1, 11))
    weights = 1e-9 + gain * 2 * Lt[None, :, None, None] * p
    dims = ("bias", "effective_depth", "seed", "p")
    return xr.Dataset(
        {"bias_sq": (dims, bias), "weight_sq": (dims, weights)}, {"bias": [1], "effective_depth": Lt, "p": p}
    )


def decided(id: str, **data: xr.Dataset) -> str:
    """The ledger's verdict, controls included."""
    return decide_claim(CLAIMS[id], data).ledger["verdict"]


@pytest.mark.parametrize(("falls", "status"), [(-1.0, "holds"), (-0.99, "does not hold"), (0.5, "does not hold")])
def test_proposition_2_needs_the_neuron_to_lower_the_cost(falls, status):
    verdict = CLAIMS["lrn-prop2"](audit(), costs(falls))
    assert verdict.status == status
    if status == "holds":
        assert decided("lrn-prop2", formula_audit=audit(), identity_costs=costs(falls)) == "holds"


def test_proposition_2_fails_where_costs_are_no_ranks_or_the_expansion_is_off():
    off = costs()
    off["nonnegative_cost"] = off["nonnegative_cost"] + 0.1
    assert CLAIMS["lrn-prop2"](audit(), off).status == "does not hold"
    assert CLAIMS["lrn-prop2"](audit(1e-3), costs()).status == "does not hold"
    flat = costs().assign(scaling=0 * costs()["scaling"])
    assert CLAIMS["lrn-prop2"](audit(), flat).status == "does not hold"


@pytest.mark.parametrize(("falls", "status"), [(-1.0, "holds as corrected"), (-0.9, "does not hold")])
def test_the_proofs_neuron_fails_with_bias_and_ours_does_not(falls, status):
    assert CLAIMS["lrn-prop2-neuron"](audit(), costs(falls)).status == status
    assert CLAIMS["lrn-prop5-neuron"](costs(norm=falls)).status == status
    without = costs(falls).assign(kept_change_printed=costs()["kept_change"])
    assert CLAIMS["lrn-prop2-neuron"](audit(), without).status == "holds"


@pytest.mark.parametrize(("error", "status"), [(1e-12, "holds"), (1e-6, "does not hold")])
def test_merged_neurons_keep_the_cost_or_not(error, status):
    assert CLAIMS["lrn-prop3"](audit(error)).status == status
    if status == "holds":
        assert decided("lrn-prop3", formula_audit=audit(error)) == status


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_zero_row_and_a_negative_part_are_no_minimum(bias, seed):
    """What the end of Proposition 3's path has: our neuron in the zero row lowers the cost, at every size tried."""
    A, i = kept(seed, 0.3)
    z, cost = theory.positive_neuron(A, i), cost_of_identity(A, bias).value
    sizes = [eps / np.linalg.norm(z) for eps in (1e-2, 1e-3)]
    assert cost_of_identity(np.vstack([A, 0 * z]), bias).value == pytest.approx(cost, abs=1e-9)
    assert all(cost_of_identity(np.vstack([A, size * z]), bias).value < cost for size in sizes)


@pytest.mark.parametrize(
    ("norm", "gain", "error", "status"),
    [
        (-1.0, 1.0, 1e-9, "holds"),
        (-0.9, 1.0, 1e-9, "does not hold"),
        (-1.0, 0.5, 1e-9, "does not hold"),  # the factor that Proposition 9 prints
        (-1.0, 1.0, 1e-3, "does not hold"),
    ],
)
def test_steps_of_proposition_5(norm, gain, error, status):
    data = {"formula_audit": audit(error), "identity_costs": costs(norm=norm), "geodesics": laboratory(gain)}
    assert CLAIMS["lrn-prop5"](*data.values()).status == status


@pytest.mark.parametrize(
    ("equation", "id"),
    [
        ("1.3 neurons", "lrn-lagr-neurons"),
        ("1.3 covariance", "lrn-lagr-kernel"),
        ("4 potential energy", "lrn-potential-inverse"),
    ],
)
def test_formulas_that_had_no_entry(equation, id):
    def errors(printed: float, corrected: float) -> xr.Dataset:
        forms = {"printed": printed, "corrected": corrected, "control": 1.0}
        return xr.Dataset({form: ("equation", [error]) for form, error in forms.items()}, {"equation": [equation]})

    claim = CLAIMS[id]
    assert claim(errors(0.0, 0.0)).status == "holds"
    assert claim(errors(0.1, 0.0)).status == "holds as corrected"
    assert claim(errors(0.1, 0.1)).status == "does not hold"


@pytest.mark.parametrize(("shift", "status"), [(0.0, "holds"), (1e-6, "does not hold")])
def test_cost_of_a_nonnegative_representation_is_its_rank_without_bias(shift, status):
    measured = costs()
    measured["nonnegative_closed"] = measured["nonnegative_cost"]
    changed = measured.assign(nonnegative_cost=measured["nonnegative_cost"] + shift)
    assert CLAIMS["lrn-coi-rank"](changed).status == status
    assert CLAIMS["lrn-coi-bias"](changed).status == status
    assert decided("lrn-coi-rank", identity_costs=measured) == "holds"
    assert decided("lrn-coi-bias", identity_costs=measured) == "holds"
