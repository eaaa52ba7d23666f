"""The leaky ResNet that trains in leaky_resnets' explorer, in a headless Chromium: numbers, words, handles, ticks."""

import json

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from tests.pipeline.test_report_training import BOX, press, said, trained, view, wait

from repdyn.leaky_resnets.methods.networks import LeakyResNet
from repdyn.leaky_resnets.methods.training import Trainer
from repdyn.leaky_resnets.theory.hamiltonian import hamiltonian, stable_energies
from repdyn.leaky_resnets.theory.layers import criticality
from repdyn.leaky_resnets.theory.scalar_geodesic import scalar_path

pytestmark = pytest.mark.slow
STUDY = "leaky_resnets"  # whose explorer the page holds
THEORY = "repdyn.theory.leaky_resnets"
FIRST = {
    "inputs": 4,
    "kept": 2,
    "target": 1,
    "ratio": 1,
    "depth": 7,
    "layers": 20,
    "penalty": 0.02,
    "rate": 1,
    "steps": 6000,
    "noise": 0.1,
    "spare": 2,
    "gamma": 0.01,
    "b1": -0.4,
    "b2": 0.4,
    "b3": 0,
    "o1": 0.2,
    "o2": -0.5,
    "o3": -1,
    "seed": 1,
}
CASES = {
    "bottleneck": {},
    "noisy": {"noise": 0.5, "seed": 3, "spare": 4},
    "shallow": {"depth": 2, "inputs": 3, "kept": 1, "target": 1.5, "rate": 0.3},
    "the paper's penalty": {"penalty": 0.001, "layers": 10},
    "no spare neuron": {"spare": 0, "ratio": 0.4, "inputs": 6, "kept": 4, "layers": 40},
}


def ready(page):
    wait(page, "view.prepared")
    page.ask("new Promise(done => setTimeout(done, 100))")


def slide(page, place, name, value):
    """Moves a slider of a part of the figure to a value, or to its end "min" or "max"."""
    wanted = f"one.{value}" if isinstance(value, str) else value
    page.ask(
        f"{{ const one = document.querySelector('{place} input[name={name}]'); one.value = {wanted};"
        " one.dispatchEvent(new Event('input')); }"
    )


# Numbers


@pytest.mark.parametrize("depth", [0.5, 2, 7, 9])
@pytest.mark.parametrize("target", [0, 0.3, 1, 1.5])
def test_the_geodesic_of_a_direction_costs_least(page, target, depth):
    """Against scipy on the objective of the package's own scalar path that starts at 1."""
    for penalty in (1e-4, 0.02, 0.3):
        strength = penalty * 4 / depth

        def cost(u, strength=strength):
            end = np.exp(depth * (u - 1))
            assert scalar_path(u, end, depth, 0.0)[0] == pytest.approx(1)
            return (target - end) ** 2 / 4 + strength * depth * u**2 / 2

        got = page.ask(f"{THEORY}.cheapest({target}, {depth}, {strength}, 4)")
        wanted = min(cost(u) for u in np.linspace(-12, 1.6, 3001))
        near = minimize_scalar(
            cost, bounds=got["u"] + np.array([-0.1, 0.1]), method="bounded", options={"xatol": 1e-12}
        )
        assert got["cost"] <= wanted + 1e-12
        np.testing.assert_allclose([got["u"], got["cost"]], [near.x, near.fun], rtol=1e-6, atol=1e-6)
        momentum = 2 / (strength * 4) * (target - got["end"])  # Hamilton's condition at the end, u = A B
        np.testing.assert_allclose(got["end"] * momentum, got["u"], atol=1e-9)


def network(page, settings, steps):
    """First weights, and weights, A, momenta and look before each of some steps of the page's network."""
    got = page.ask(
        f"(one => Array.from({{ length: {steps} }}, (_, k) => {{ const seen = one.look();"
        " const all = name => one[name].map(part => [...part]);"
        f" const kept = {{ W: all('W'), A: all('A'), E: all('E'), ...seen }}; one.descend({settings['rate']});"
        f" return k % 20 === 0 ? kept : null; }}).filter(Boolean))({THEORY}.network({json.dumps(settings)}))"
    )
    w, N, L = settings["inputs"] + settings["spare"], settings["inputs"], settings["layers"]
    for one in got:
        one |= {"W": np.reshape(one["W"], (L, w, w))}
        one |= {name: np.reshape(one[name], (L + 1, w, N)) for name in "AE"}
    return got


@pytest.mark.parametrize("case", CASES)
def test_the_network_of_the_page_follows_the_package(page, case):
    """200 steps in float64 against the study's own trainer, and all that is shown against the package's measures."""
    settings = FIRST | CASES[case]
    N, L, Lt = settings["inputs"], settings["layers"], settings["depth"]
    w, lam, rho = N + settings["spare"], settings["penalty"] * N / Lt, np.full(L, 1 / L)
    got = network(page, settings, 201)
    Y = np.diag([settings["target"] * settings["ratio"] ** i if i < settings["kept"] else 0.0 for i in range(N)])
    net = LeakyResNet(got[0]["W"], rho, float(Lt), np.eye(w, N), np.eye(N, w))
    run = Trainer([net], np.eye(N)[None], Y[None], penalty=lam, learned=False, dtype=torch.float64)
    for k, one in enumerate(got):
        np.testing.assert_allclose(one["W"], run.trained()[0].W, rtol=1e-6, atol=1e-9, err_msg=f"step {20 * k}")
        if k in (0, 10):
            _agrees(one, run.trained()[0], Y, lam, settings)
        run.descend(np.full(20, settings["rate"] * L))
    assert got[-1]["objective"] < got[0]["objective"]


def _agrees(one, net, Y, lam, settings):
    Lt, L = float(settings["depth"]), settings["layers"]
    A = net.forward(np.eye(settings["inputs"]))
    B = net.momenta(A, Y, lam)
    np.testing.assert_allclose(one["A"], A, atol=1e-8)
    np.testing.assert_allclose(one["E"] / lam, B, rtol=1e-6, atol=1e-6)
    momenta = [2 / Lt * hamiltonian(A[k], B[k + 1], Lt, bias=False) for k in range(L)]
    np.testing.assert_allclose(one["momenta"], momenta, rtol=1e-6, atol=1e-6)
    for k in range(L):
        energies = stable_energies(A[k], (A[k + 1] - A[k]) * L, Lt, bias=False, gamma=settings["gamma"])
        wanted = [energies.kinetic / Lt**2, -energies.cost, 2 / Lt * energies.hamiltonian]
        got = [one[name][k] for name in ("kinetic", "potential", "total")]
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)
    cost = ((Y - net.output(np.eye(settings["inputs"]))) ** 2).sum() / settings["inputs"]
    objective = cost + lam / (2 * Lt) * (net.W**2).sum() / L
    np.testing.assert_allclose([one["cost"], one["objective"]], [cost, objective], rtol=1e-6)
    np.testing.assert_allclose(one["distance"], criticality(net.W, A, B, net.rho, Lt).relative, rtol=1e-6)


def test_the_drawn_path_is_where_the_network_starts(page):
    """Without noise: the sizes and energies that follow a handle at once are those of the worker's first look."""
    settings = json.dumps(FIRST | {"noise": 0})
    shown = page.ask(f"{THEORY}.start({settings})")
    first = page.ask(f"{THEORY}.network({settings}).look()")
    for name in ("sizes", "kinetic", "potential", "total"):
        np.testing.assert_allclose(shown[name], first[name], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.log10([row[-1] for row in shown["sizes"]]), [0, 0, -1, -1], atol=1e-12)


# Words and presets


def test_training_straightens_the_path_onto_the_geodesic(page):
    trained(page, "Bottleneck")
    total = np.array(view(page, "view.records.at(-1).total"))
    assert np.ptp(view(page, "view.records[0].total")) > 2
    assert np.abs(total + 2).max() < 0.05
    u = np.log10(np.array(view(page, "view.records.at(-1).sizes"))[:2])
    assert np.abs(u).max() < 0.02  # from dents of 0.4
    kinetic, potential = (np.array(view(page, f"view.records.at(-1).{name}")) for name in ("kinetic", "potential"))
    assert kinetic[0] > 1.9 > 0.1 > kinetic[-1]
    assert potential[0] < -3.9 < -2.1 < potential[-1]
    assert "The theory holds here: the network keeps 2" in said(page)


def test_the_failure_fails_by_number_and_in_words(page):
    """The paper's penalty: fitted, yet far from a critical point; a hundred thousand steps reach it."""
    trained(page, "Show me the failure")
    last = view(page, "view.records.at(-1)")
    assert view(page, "view.state.penalty") == 0.001
    assert last["cost"] < 1e-4
    assert np.ptp(last["total"]) > 1
    assert last["distance"] > 0.3
    assert "The theory fails here: the data are fitted" in said(page)
    page.ask(
        "{ const list = document.querySelector('.theory select[name=steps]'); list.value = '100000';"
        " list.dispatchEvent(new Event('change')); }"
    )
    wait(page, "view.prepared")
    page.ask(f"{BOX}.training.seek(1e6)")
    wait(page, "view.finished")
    page.ask("new Promise(done => setTimeout(done, 100))")
    assert "The theory holds here" in said(page)


@pytest.mark.parametrize(
    ("preset", "predicted", "words"),
    [
        ("Shallow", 2, "The theory holds here"),
        ("Rank jump", 1, "The theory holds here: the network keeps 1"),
        ("Another minimum: one", 1, "which keeps 2 instead of 1"),
        ("Another minimum: started", 2, "which keeps 0 instead of 2"),
    ],
)
def test_other_presets_say_what_they_show(page, preset, predicted, words):
    trained(page, preset)
    assert f"the network keeps {predicted};" in said(page)
    assert words in said(page)


# Controls


def test_the_theory_is_drawn_before_training(page):
    ready(page)
    assert view(page, "view.records.length") == 0
    lines = "[...document.querySelectorAll('.theory path')].map(path => path.getAttribute('stroke-width'))"
    assert page.ask(lines).count("8") == 4 + 3 + 1 + 1
    assert "Predicted from the geodesics, before training" in said(page)
    assert "Press Play" in said(page)
    assert view(page, "view.link.kind") == "worker"
    assert page.complaints == []


def test_a_handle_bends_the_path_and_its_energies_at_once(page):
    ready(page)
    before = page.ask("document.querySelectorAll('.theory .panel')[1].innerHTML"), said(page)
    page.ask("document.querySelector('.theory .handle').focus()")
    page.press("arrow_up")
    page.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert view(page, "view.state.b1") > -0.4
    assert page.ask("document.querySelectorAll('.theory .panel')[1].innerHTML") != before[0]
    assert said(page) != before[1]
    ready(page)
    assert view(page, "view.records.length") == 0
    assert f"b1={view(page, 'view.state.b1')}" in page.ask("location.hash")


def test_the_address_restores_the_same_picture(page, browser):
    press(page, "Show me the failure")
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


@pytest.mark.parametrize("end", ["min", "max"])
def test_sliders_at_their_ends_draw_numbers(page, end):
    sliders = page.ask("[...document.querySelectorAll('.theory > .sliders input')].map(one => one.name)")
    assert len(sliders) == 10
    for name in sliders:
        press(page, "Bottleneck")
        slide(page, ".theory > .sliders", name, end)
        wait(page, "view.prepared")
        page.ask(f"{BOX}.training.seek(30)")
        wait(page, "view.records.length === 30 || view.finished")
        page.ask("new Promise(done => setTimeout(done, 60))")
        shown = page.ask("document.querySelector('.theory').innerHTML")
        assert not [word for word in ("NaN", "Infinity", "undefined") if word in shown], name
    for name in page.ask("[...document.querySelectorAll('.beside input')].map(one => one.name)"):
        slide(page, ".beside", name, end)
        shown = page.ask("document.querySelector('.theory').innerHTML")
        assert not [word for word in ("NaN", "Infinity", "undefined") if word in shown], name
    assert page.complaints == []


# The closed form below


def test_a_steep_path_is_straight_and_its_ticks_keep_their_sign(page):
    """u = 3, depth 20, A_1 = 100: log A is a straight line below 1e-12; bounds near 1e65 have whole labels in view."""
    ready(page)
    for name, value in (("u", 3), ("depth", "max"), ("end", "max")):
        slide(page, ".beside", name, value)
    d = page.ask("document.querySelector('.beside .panel path').getAttribute('d')")
    points = np.array([pair.split() for pair in d[1:].split("L")], dtype=float)
    slopes = np.diff(points[:, 1]) / np.diff(points[:, 0])
    np.testing.assert_allclose(slopes, slopes.mean(), rtol=0.03)  # two decimals of a pixel
    labels = page.ask(
        "[...document.querySelectorAll('.beside .panel:nth-child(2) svg g:first-child text')].map(one => {"
        " const box = one.getBBox(); return [one.textContent, box.x]; })"
    )
    up = [(text, left) for text, left in labels if left < 44]
    assert min(left for _, left in up) >= 0
    assert any(text.startswith("\u2212") for text, _ in up)
    assert all("e" not in text for text, _ in up)
    assert any(text.startswith("\u00d710") for text, _ in labels)
