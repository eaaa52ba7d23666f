"""The ReLU layer that trains in truncation flow's explorer, in a headless Chromium: numbers, words, handles."""

import json

import numpy as np
import pytest
import torch
from tests.pipeline.test_report_training import BOX, press, said, trained, view, wait

from repdyn.truncation_flow.experiments.beyond_alignment import misalignment
from repdyn.truncation_flow.methods.flow import integrate_flow
from repdyn.truncation_flow.theory.separated import FORMULAS, effective_gradient
from repdyn.truncation_flow.theory.truncation import sector_pattern, truncation_map, truncation_map_of_weights

pytestmark = pytest.mark.slow
STUDY = "truncation_flow"  # whose explorer the page holds
THEORY = "repdyn.theory.truncation_flow"
ALIGNED, FREE = "rotation and bias, aligned", "weights and biases, free"
START = {
    "layer": ALIGNED,
    "points": 10,
    "spread": 0.5,
    "turn": 0,
    "rate": 0.02,
    "cx": 1,
    "cy": -1,
    "lx": 0.5,
    "ly": 0,
    "ax": 0,
    "ay": 0,
    "seed": 1,
}
CASES = {
    "beside": {},
    "one point": {"points": 1, "spread": 0, "lx": 0},
    "on all sides": {"spread": 2, "cx": 0.1, "cy": -0.1, "turn": 70, "lx": 0.4, "ly": 0.3, "seed": 4},
    "opposite": {"cx": -0.8, "cy": -0.8, "lx": 0.8, "ly": 0.6},
    "turned": {"turn": -130, "ax": 0.2, "ay": -0.3, "spread": 1.5, "rate": 0.05, "seed": 2},
}


def rotation(turn):
    return np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])


def start_of(page, settings):
    """X, R, beta and the label from which the page's layer starts."""
    start = page.ask(f"{THEORY}.experiment({json.dumps(settings)})")
    X, beta, label = (np.array(start[name], dtype=float) for name in ("X", "beta", "label"))
    return X, rotation(start["turn"]), beta, label


# Numbers


def test_formulas_are_those_of_the_package(page):
    X = np.array([[1.0, -1.0], [0.4, 0.9], [-0.6, 0.1], [0.05, -0.02]])
    label = [0.5, 0.3]
    for turn in (0.0, 0.7, 2.5, -1.9):
        for beta in ([0.0, 0.0], [0.2, -0.1], [-0.5, 0.4]):
            R = rotation(turn)
            W = R @ [[1.3, 0.4], [-0.2, 0.7]]
            arguments = f"{beta}))"
            image = page.ask(f"{X.tolist()}.map(x => {THEORY}.truncationMap(x, {turn}, {arguments}")
            np.testing.assert_allclose(image, truncation_map(X, R, beta), atol=1e-14)
            image = page.ask(f"{X.tolist()}.map(x => {THEORY}.truncationOfWeights(x, {W.tolist()}, {arguments}")
            np.testing.assert_allclose(image, truncation_map_of_weights(X, W, beta), atol=1e-13)
            patterns = sector_pattern(X, R, beta).sum(axis=1)
            counts = page.ask(f"{THEORY}.sectors({X.tolist()}, {R.tolist()}, {beta})")
            assert [counts[name] for name in ("truncated", "partly", "inside")] == [
                sum(patterns == k) for k in range(3)
            ]
            for formula in FORMULAS:
                call = f"{THEORY}.effectiveGradient({X.tolist()}, {turn}, {beta}, {label}, '{formula}')"
                got, wanted = page.ask(call), effective_gradient(X, R, beta, label, formula=formula)
                np.testing.assert_allclose(got["beta"], wanted.dbeta, atol=1e-14)
                np.testing.assert_allclose([got["turn"], got["cost"]], [wanted.Omega[1, 0], wanted.cost], atol=1e-14)


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("case", CASES)
def test_the_lines_are_the_flows_of_the_package(page, case, formula):
    """Costs along the page's flow against `integrate_flow`: equal to a step times the fastest fall of the cost.

    A midpoint that samples the pattern is off by at most a step for a point that crosses a border.
    """
    settings = json.dumps(START | CASES[case])
    path = page.ask(
        f"(start => {THEORY}.flow(start.X, start.turn, start.beta, start.label, '{formula}'))"
        f"({THEORY}.experiment({settings}))"
    )
    X, R, beta, label = start_of(page, START | CASES[case])
    times, got = (np.array([one[name] for one in path]) for name in ("time", "cost"))
    data = integrate_flow([X], [R], [beta], [label], times, step=0.005, formula=formula)
    wanted = data["cost"].values[:, 0]
    step = (times[1] - times[0]) / 7
    fastest = max(np.abs(np.diff(wanted)).max() / (times[1] - times[0]), 1e-3 * wanted[0])
    np.testing.assert_allclose(got, wanted, rtol=0, atol=step * fastest)


def layer_in_torch(X, R, beta, label, settings, steps):
    """W, beta and cost before each step, by torch's own gradients in float64."""
    X, label = torch.tensor(X), torch.tensor(label)
    aligned = settings["layer"] == ALIGNED
    W = torch.tensor(R, requires_grad=True)
    b = torch.tensor(beta if aligned else R @ beta, requires_grad=True)
    looks = []
    for _ in range(steps):
        offset = W @ b if aligned else b
        raised = torch.relu(X @ W.T + offset) - offset
        image = raised @ W if aligned else torch.linalg.solve(W, raised.T).T
        cost = ((image - label) ** 2).sum(dim=1).mean() / 2
        G, g = torch.autograd.grad(cost, (W, b))
        with torch.no_grad():
            pulled_back = b if aligned else torch.linalg.solve(W, b)
            looks.append([*W.flatten().tolist(), *pulled_back.tolist(), cost.item()])
            if aligned:  # the tangent part of the gradient, then the nearest rotation
                A = G @ W.T
                left, _, right = torch.linalg.svd(W - settings["rate"] * (A - A.T) / 2 @ W)
                W.copy_(left @ right)
            else:
                W -= settings["rate"] * G
            b -= settings["rate"] * g
    return np.array(looks)


@pytest.mark.parametrize("layer", [ALIGNED, FREE])
@pytest.mark.parametrize("case", CASES)
def test_the_layer_of_the_page_follows_torch(page, case, layer):
    """200 steps in float64 from the page's own points: weights, bias and cost to 1e-6 of torch's."""
    settings, steps = START | CASES[case] | {"layer": layer}, 200
    got = page.ask(
        f"(one => Array.from({{ length: {steps} }}, () => {{ const {{ W, beta, cost }} = one.look();"
        f" one.step({settings['rate']}); return [...W.flat(), ...beta, cost]; }}))"
        f"({THEORY}.network({json.dumps(settings)}))"
    )
    wanted = layer_in_torch(*start_of(page, settings), settings, steps)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-9)
    assert wanted[-1, -1] < 0.9 * wanted[0, -1]  # it does descend


# Words


def test_the_printed_cost_rises_and_the_layer_follows_the_corrected_flow(page):
    """The failure by the package's own integrator, and in words."""
    trained(page, "Show me the failure")
    state = view(page, "view.state")
    X, R, beta, label = start_of(page, state)
    times, got = (np.array(view(page, f"view.records.map(one => one.{name})")) for name in ("time", "cost"))
    flows = {
        formula: integrate_flow([X], [R], [beta], [label], times, formula=formula)["cost"].values[:, 0]
        for formula in FORMULAS
    }
    assert flows["printed"][-1] > 2 * got[0] > 2 * got[-1]
    assert np.abs(flows["corrected"] - got).max() < 0.05 * got[0] < np.abs(flows["printed"] - got).max()
    assert "The printed flow fails here: its cost rises, the layer's falls. The layer follows the corrected" in said(
        page
    )


def test_free_weights_lose_alignment(page):
    trained(page, "Free weights")
    W = np.array(view(page, "view.records.at(-1).W"))
    assert misalignment(W) > 0.1
    rows = W / np.linalg.norm(W, axis=1, keepdims=True)
    opening = 180 - np.degrees(np.arccos(rows[0] @ rows[1]))
    assert f"Alignment is lost: the cone, at right angles at the start, ends with an opening of {opening:.0f}" in said(
        page
    )
    assert "do not follow the corrected flow" in said(page)


def test_a_cluster_inside_the_cone_rests_and_says_why(page):
    """Size 2 at 90 degrees: every pattern is (1, 1)."""
    press(page, "At rest")
    wait(page, "view.prepared")
    X, R, beta, _ = start_of(page, view(page, "view.state"))
    assert np.all(sector_pattern(X, R, beta) == 1)
    assert "All 10 points lie inside the cone, the positive sector with pattern (1, 1)" in said(page)
    assert "everything rests (Proposition 4.1, case 1)" in said(page)
    assert page.ask("[...document.querySelectorAll('.theory text')].some(one => one.textContent.startsWith('At rest'))")
    trained(page, "At rest")
    assert len(set(view(page, "view.records.map(one => one.cost)"))) == 1
    assert "Nothing has moved" in said(page)


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("Collapse", ("negative sector with pattern (0, 0)", "follows both flows")),
        ("One point", ("makes the printed flow zero", "The layer follows the corrected flow")),
    ],
)
def test_other_presets_say_what_they_show(page, preset, words):
    trained(page, preset)
    assert all(part in said(page) for part in words)


# Controls


def test_the_flows_are_drawn_before_training(page):
    wait(page, "view.prepared")
    assert view(page, "view.records.length") == 0
    lines = (
        "[...document.querySelectorAll('.theory .panel:first-child path')].map(path => path.getAttribute('d') || '')"
    )
    assert [len(path) > 1000 for path in page.ask(lines)] == [True, True, False]  # two flows, no dots
    assert "printed 0.562, corrected 0.0035. Press Play" in said(page)
    assert page.complaints == []


def test_the_address_restores_the_same_picture(page, browser):
    press(page, "Free weights")
    wait(page, "view.prepared")
    page.ask(f"{BOX}.training.seek(40)")
    wait(page, "view.records.length === 40")
    page.ask("new Promise(done => setTimeout(done, 100))")
    paths = "[...document.querySelectorAll('.theory path')].map(path => path.getAttribute('d'))"
    before = view(page, "view.records"), page.ask(paths), said(page)
    address = page.ask("location.href")
    browser.open("about:blank")
    browser.open(address)
    wait(page, "view.records.length === 40")
    page.ask("new Promise(done => setTimeout(done, 100))")
    assert (view(page, "view.records"), page.ask(paths), said(page)) == before


def test_sliders_at_their_ends_draw_numbers(page):
    """Both ends of each slider, for both layers; the coarsest step leaves the corrected flow and says so."""
    for layer in (ALIGNED, FREE):
        for name in ("spread", "turn", "points", "rate"):
            for end in ("min", "max"):
                press(page, "Show me the failure")
                page.ask(
                    f"{{ const list = document.querySelector('.theory select'); list.value = '{layer}';"
                    " list.dispatchEvent(new Event('change'));"
                    f" const one = document.querySelector('.theory input[name={name}]'); one.value = one.{end};"
                    " one.dispatchEvent(new Event('input')); }"
                )
                wait(page, "view.prepared")
                page.ask(f"{BOX}.training.seek(1e6)")
                wait(page, "view.finished")
                page.ask("new Promise(done => setTimeout(done, 60))")
                shown = page.ask("document.querySelector('.theory').innerHTML")
                assert not [word for word in ("NaN", "Infinity", "undefined") if word in shown], (layer, name, end)
        assert "leaves the corrected flow" in said(page) or layer == FREE
    assert page.complaints == []


def test_a_handle_moves_the_cluster_and_trains_nothing(page):
    """The right arrow on a handle drags; elsewhere in the figure it would train a step."""
    wait(page, "view.prepared")
    page.ask("document.querySelector('.theory .handle').focus()")
    page.press("arrow_right")
    wait(page, "view.prepared && view.state.cx !== 1")
    assert view(page, "view.state.cx") > 1
    assert view(page, "view.records.length") == 0
    assert f"cx={view(page, 'view.state.cx')}" in page.ask("location.hash")
