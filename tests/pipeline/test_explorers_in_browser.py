"""Explorers of the report, in a headless Chromium from file://: their numbers against closed forms and the package."""

import json
import shutil
import time

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from tests.browser import Browser

from repdyn.base.markup import STYLE
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.theory.geometry import geometry
from repdyn.bn_decomposed.theory.kernel import expected_gram_step
from repdyn.bn_decomposed.theory.layers import bn_components
from repdyn.bn_mean_field.methods.particle_flows import gradient_descent
from repdyn.bn_mean_field.methods.starts_and_targets import MODELS, linear_along
from repdyn.bn_mean_field.theory.flows import tangential_speed
from repdyn.bn_mean_field.theory.velocity import Population
from repdyn.leaky_resnets.methods.networks import LeakyResNet
from repdyn.leaky_resnets.methods.training import Trainer
from repdyn.leaky_resnets.theory.hamiltonian import hamiltonian, stable_energies
from repdyn.leaky_resnets.theory.layers import criticality
from repdyn.leaky_resnets.theory.scalar_geodesic import scalar_path
from repdyn.pipeline import studies
from repdyn.pipeline.report.build import ASSETS
from repdyn.truncation_flow.experiments.cluster_flow import printed_and_corrected
from repdyn.truncation_flow.methods.flow import integrate_flow
from repdyn.truncation_flow.settings import PrintedAndCorrected
from repdyn.truncation_flow.theory.separated import FORMULAS
from repdyn.universality.methods.engines import autograd
from repdyn.universality.methods.engines.frames import Task
from repdyn.universality.methods.fit import fit_effective_rates
from repdyn.universality.methods.networks import NONLINEARITIES, Net
from repdyn.universality.theory.effective import two_point_observables

pytestmark = pytest.mark.slow
EXPLORERS = studies.files(studies.EXPLORER)
SCRIPTS = ("site.js", "theory.js", "training.js", "stage.js")
BOX = "document.querySelector('[data-theory]')"
PATHS = "[...document.querySelectorAll('.theory path, .theory circle')].map(one => one.outerHTML)"
SETTLED = "new Promise(done => setTimeout(done, 100))"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens a page with an element and the scripts that fill it, optionally with given numbers."""

    def open_page(study, script, element, before=""):
        for path in (*ASSETS.iterdir(), STYLE):
            shutil.copy(path, tmp_path)
        shutil.copy(script, tmp_path / f"{study}.js")
        scripts = "".join(f'<script src="{name}" defer></script>' for name in (*SCRIPTS, f"{study}.js"))
        head = f'<meta charset="utf-8"><link rel="icon" href="data:,"><script>{before}</script>{scripts}'
        file = tmp_path / "page.html"
        file.write_text(f"<!doctype html><html lang=en><head>{head}</head><body><main>{element}</main></body></html>")
        reopen(browser, file.as_uri())
        return browser

    return open_page


@pytest.fixture
def explorer(open_page):
    return lambda study: open_page(study, EXPLORERS[study], f'<div class="theory" data-theory="{study}"></div>')


def reopen(browser, address):
    """Opens an address and waits for its scripts."""
    browser.open("about:blank")
    browser.open(address)
    while not browser.ask("document.readyState === 'complete' && 'repdyn' in window"):
        time.sleep(0.02)


def wait(page, condition):
    """Waits in the page until a condition on the explorer's state `view` is met."""
    page.ask(
        "new Promise((met, failed) => { const until = Date.now() + 50000; (function look() {"
        f" const view = {BOX}.training; if ({condition}) met(); else if (Date.now() > until)"
        f" failed(new Error('never: ' + {json.dumps(condition)})); else setTimeout(look, 20); }})(); }})"
    )


def view(page, expression):
    return page.ask(f"(view => {expression})({BOX}.training)")


def seek(page, record):
    wait(page, "view.prepared")
    page.ask(f"{BOX}.training.seek({record})")
    wait(page, f"view.records.length === {record} || view.finished")
    page.ask(SETTLED)


def press(page, preset):
    page.ask(f"[...document.querySelectorAll('button')].find(one => one.textContent.startsWith('{preset}')).click()")


def arrays(page, expression, *names):
    """Arrays of an object of the page, by name."""
    parts = ", ".join(f"[...one.{name}]" for name in names)
    return [np.array(part, dtype=float) for part in page.ask(f"(one => [{parts}])({expression})")]


def line(page, selector):
    """Pixels of a path that consists of straight pieces, shape (points, 2)."""
    d = page.ask(f"document.querySelector('{selector}').getAttribute('d')")
    return np.array([pair.replace(",", " ").split() for pair in d[1:].split("L")], dtype=float)


def assert_drawn(pixels, values):
    """That pixels are the values up to shift and scale, to a pixel."""
    for pixel, value in zip(pixels.T, values, strict=True):
        slope, start = np.polyfit(value, pixel, 1)
        np.testing.assert_allclose(pixel, start + slope * np.asarray(value), atol=1)


# Every explorer


@pytest.mark.parametrize("study", EXPLORERS)
def test_theory_is_plotted_before_training_and_the_address_restores_the_state(explorer, study):
    page = explorer(study)
    wait(page, "view.prepared")
    page.ask(SETTLED)
    assert view(page, "view.records.length") == 0
    assert view(page, "view.link.kind") == "worker"
    assert sum(len(path) > 300 for path in page.ask(PATHS)) >= 2
    name = page.ask("document.querySelector('.theory > .sliders input, .theory input').name")
    page.ask(
        f"{{ const one = document.querySelector('.theory input[name={name}]'); one.value = one.max;"
        " one.dispatchEvent(new Event('input')); }"
    )
    seek(page, 15)
    before, address = (view(page, "view.records"), page.ask(PATHS)), page.ask("location.href")
    assert len(before[0]) == 15
    assert f"{name}=" in address
    reopen(page, address)
    wait(page, "view.records.length === 15")
    page.ask(SETTLED)
    assert (view(page, "view.records"), page.ask(PATHS)) == before
    assert page.complaints == []


@pytest.mark.parametrize("study", EXPLORERS)
def test_address_is_held_to_the_ranges_steps_and_choices_of_the_controls(explorer, study):
    page = explorer(study)
    address, defaults = page.ask("location.href.split('#')[0]"), page.ask(f"{BOX}.training.state")
    numbers = [name for name, value in defaults.items() if not isinstance(value, str)]

    def state(value, among=defaults):
        reopen(page, f"{address}#train-{study}&{'&'.join(f'{name}={value}' for name in among)}&toString=1&__proto__=2")
        return page.ask(f"{BOX}.training.state")

    def sliders(end):
        box = "document.querySelector('.theory > .sliders')"
        return dict(page.ask(f"[...{box}.querySelectorAll('input')].map(one => [one.name, Number(one.{end})])"))

    for nothing in ("NaN", "", "%20", "__proto__", "%3Cb%3E"):
        assert state(nothing) == defaults, nothing
    for value, end, seed in (("1e308", "max", 2**32 - 1), ("-1e308", "min", 0)):
        held, ends = state(value), sliders(end)
        assert {name: held[name] for name in ends} == {
            name: pytest.approx(limit if abs(held[name] - limit) < 1e-9 else 10**limit) for name, limit in ends.items()
        }
        assert held["seed"] == seed
        assert all(abs(held[name]) < 2**32 for name in numbers)
    whole = [name for name, step in sliders("step").items() if step >= 1]
    held = state("7.3", whole)
    assert whole
    assert all(held[name] == int(held[name]) for name in whole)
    seek(page, 3)
    reopen(page, f"{address}#%E0%A4")
    assert page.complaints == []


@pytest.mark.parametrize("end", ["min", "max"])
@pytest.mark.parametrize("study", EXPLORERS)
def test_slider_limits_give_finite_plots(explorer, study, end):
    page, wrong = explorer(study), []
    for name in page.ask("[...document.querySelectorAll('.theory > .sliders input')].map(one => one.name)"):
        page.ask("document.querySelector('.theory button').click()")
        page.ask(
            f"{{ const one = document.querySelector('.theory > .sliders input[name={name}]'); one.value = one.{end};"
            " one.dispatchEvent(new Event('input')); }"
        )
        seek(page, 5)
        shown = page.ask("document.querySelector('.theory').innerHTML")
        wrong += [(name, word) for word in ("NaN", "Infinity", "undefined") if word in shown]
    assert wrong == []
    assert page.complaints == []


def test_records_are_the_same_with_pauses_and_without_workers(explorer, browser):
    page = explorer("universality")
    for count in (3, 11):
        seek(page, count)
    records = view(page, "view.records")
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.Worker;")
    page = explorer("universality")
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    seek(page, 11)
    assert view(page, "view.link.kind") == "page"
    assert view(page, "view.records") == records


# Universality

RICH = {"gain": 1, "rate": 0.005, "dx2": 1, "dy2": 0.5, "side": "as drawn", "rates": "this run", "units": 12}


@pytest.mark.parametrize(("hidden", "connections"), [(1, "dense"), (6, "dense"), (2, "skip"), (7, "skip")])
@pytest.mark.parametrize("nonlinearity", NONLINEARITIES)
def test_universality_network_equals_torch(explorer, nonlinearity, hidden, connections):
    """200 steps in float64 from the page's own weights: h, y, w and loss to 1e-6 of torch's."""
    units, steps = RICH["units"], 200
    settings = RICH | {"nonlinearity": nonlinearity, "connections": connections, "hidden": hidden}
    got = explorer("universality").ask(
        f"(() => {{ const one = repdyn.theory.universality.network({json.dumps(settings)}, 7);"
        " const weights = one.net.weights.map(W => [...W]), looks = [];"
        f" for (let k = 0; k < {steps}; k += 1) {{ const {{ h, y, w, loss }} = one.look();"
        " looks.push([h, y, w, loss]); one.step(); } return { weights, looks }; })()"
    )
    first, *middle, last = (np.array(W) for W in got["weights"])
    weights = {
        "first": first.reshape(1, units, 1),
        "middle": np.array(middle).reshape(1, hidden - 1, units, units),
        "last": last.reshape(1, 1, units),
        "biases": np.zeros((1, hidden, units)),
        "last_bias": np.zeros((1, 1)),
    }
    X, Y = np.array([[-1.0], [0.0]]), np.array([[0.6], [0.6 + np.sqrt(0.5)]])
    frames = autograd.advance(Task(Net(nonlinearity, 1.0, units, hidden, connections), X, Y, 0.005), weights, steps)
    out = frames.outputs[0]
    _, y, w = two_point_observables(out[:, 0], out[:, 1], out[:, 0], out[:, 1], *(Y + 0 * out[:1, 0])[:, None])
    wanted = np.stack([frames.h[0, :, 0], y, w, frames.loss[0]], axis=1)
    np.testing.assert_allclose(got["looks"], wanted, rtol=1e-6, atol=1e-12)
    assert abs(wanted[-1, 3] - wanted[0, 3]) > 1e-6  # it does train


@pytest.mark.parametrize(
    ("preset", "holds"), [("Rich: six", True), ("Opposed", True), ("Skip", True), ("Show me the failure", False)]
)
def test_universality_rates_equal_the_package(explorer, preset, holds):
    """The fit (49) in the browser ends in the minimum of `fit_effective_rates`; where the theory fails, both say so."""
    page = explorer("universality")
    press(page, preset)
    seek(page, 1e6)
    records = np.array(view(page, "view.records.map(one => [one.h, one.y, one.w])")).T
    prepared, state = view(page, "view.prepared"), view(page, "view.state")
    fit = fit_effective_rates(*records, state["dx2"], state["dy2"], every=prepared["every"])
    assert fit.at_bound == prepared["atBound"]
    assert (min(fit.r2) > 0.5) == holds
    if holds:
        np.testing.assert_allclose([prepared["etaH"], prepared["etaY"]], [fit.eta_h, fit.eta_y], rtol=1e-4)


# Truncation flow

ALIGNED, FREE = "rotation and bias, aligned", "weights and biases, free"
CLUSTER = {
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
}
CLUSTERS = {
    "beside": {},
    "one point": {"points": 1, "spread": 0, "lx": 0},
    "on all sides": {"spread": 2, "cx": 0.1, "cy": -0.1, "turn": 70, "lx": 0.4, "ly": 0.3, "seed": 4},
    "turned": {"turn": -130, "ax": 0.2, "ay": -0.3, "spread": 1.5, "rate": 0.05, "seed": 2},
}
FLOW = "repdyn.theory.truncation_flow"


def rotation(turn):
    return np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])


def layer_in_torch(X, R, beta, label, settings, steps):
    """W, beta and cost before each step, by torch's own gradients in float64."""
    X, label, aligned = torch.tensor(X), torch.tensor(label), settings["layer"] == ALIGNED
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


@pytest.mark.parametrize("case", CLUSTERS)
def test_truncation_flows_and_layers_equal_the_package_and_torch(explorer, case):
    """Costs along both flows to a step times their fastest fall; 200 steps of the layer to 1e-6."""
    page, settings = explorer("truncation_flow"), CLUSTER | {"layer": ALIGNED, "seed": 1} | CLUSTERS[case]
    start = page.ask(f"{FLOW}.experiment({json.dumps(settings)})")
    X, beta, label = (np.array(start[name], dtype=float) for name in ("X", "beta", "label"))
    R = rotation(start["turn"])
    for formula in FORMULAS:
        path = page.ask(
            f"(start => {FLOW}.flow(start.X, start.turn, start.beta, start.label, '{formula}'))"
            f"({FLOW}.experiment({json.dumps(settings)}))"
        )
        times, got = (np.array([one[name] for one in path]) for name in ("time", "cost"))
        data = integrate_flow([X], [R], [beta], [label], times, step=0.005, formula=formula)
        wanted, spacing = data["cost"].values[:, 0], times[1] - times[0]
        fastest = max(np.abs(np.diff(wanted)).max() / spacing, 1e-3 * wanted[0])
        np.testing.assert_allclose(got, wanted, rtol=0, atol=spacing / 7 * fastest, err_msg=formula)
    for layer in (ALIGNED, FREE):
        own = settings | {"layer": layer}
        got = page.ask(
            "(one => Array.from({ length: 200 }, () => { const { W, beta, cost } = one.look();"
            f" one.step({own['rate']}); return [...W.flat(), ...beta, cost]; }}))"
            f"({FLOW}.network({json.dumps(own)}))"
        )
        wanted = layer_in_torch(X, R, beta, label, own, 200)
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-9, err_msg=layer)
        assert wanted[-1, -1] < 0.9 * wanted[0, -1]  # it does descend


def test_truncation_animation_plots_the_costs_of_the_dataset(open_page):
    settings = PrintedAndCorrected(horizon=20.0, samples=201, step=0.1, clusters=2, points=3)
    data, study = printed_and_corrected(settings, Stream(1)).sel(example="rise"), "truncation_flow"
    shows = studies.declared()[study].opening.shows
    numbers = json.dumps({study: {name: data[name].values.tolist() for name in shows}})
    script = studies.files(studies.OPENING)[study]
    page = open_page(
        study,
        script,
        f'<figure data-opening="{study}" data-seen=""></figure>',
        f"window.repdyn = {{ openings: {numbers} }};",
    )
    page.ask("document.querySelector('figure').opening.seek(18)")  # the end of the flow
    for formula in data["formula"].values:
        pixels = line(page, f"div:first-child > svg path.{formula}:not(.ahead):not(.cone)")
        cost = data["example_cost"].sel(formula=formula).transpose("time").values
        assert_drawn(pixels[: len(cost)], [data["time"].values, cost])
    assert page.complaints == []


# Leaky ResNets

LEAKY = "repdyn.theory.leaky_resnets"
FIRST = {"inputs": 4, "kept": 2, "target": 1, "ratio": 1, "depth": 7, "layers": 20, "penalty": 0.02, "rate": 1}
FIRST |= {"steps": 6000, "noise": 0.1, "spare": 2, "gamma": 0.01, "b1": -0.4, "b2": 0.4, "b3": 0, "seed": 1}
FIRST |= {"o1": 0.2, "o2": -0.5, "o3": -1}
RESNETS = {
    "bottleneck": {},
    "shallow": {"depth": 2, "inputs": 3, "kept": 1, "target": 1.5, "rate": 0.3},
    "the paper's penalty": {"penalty": 0.001, "layers": 10, "noise": 0.5},
    "no spare neuron": {"spare": 0, "ratio": 0.4, "inputs": 6, "kept": 4, "layers": 40},
}


@pytest.mark.parametrize(("target", "depth"), [(0, 2), (0.3, 0.5), (0.3, 7), (1, 7), (1.5, 9)])
def test_leaky_geodesic_of_a_direction_costs_least(explorer, target, depth):
    """Against scipy on the objective of the package's own scalar path that starts at 1."""
    page = explorer("leaky_resnets")
    for penalty in (1e-4, 0.02, 0.3):
        strength = penalty * 4 / depth

        def cost(u, strength=strength):
            end = np.exp(depth * (u - 1))
            assert scalar_path(u, end, depth, 0.0)[0] == pytest.approx(1)
            return (target - end) ** 2 / 4 + strength * depth * u**2 / 2

        got = page.ask(f"{LEAKY}.cheapest({target}, {depth}, {strength}, 4)")
        bounds = got["u"] + np.array([-0.1, 0.1])
        near = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-12})
        assert got["cost"] <= min(cost(u) for u in np.linspace(-12, 1.6, 3001)) + 1e-12
        np.testing.assert_allclose([got["u"], got["cost"]], [near.x, near.fun], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", RESNETS)
def test_leaky_network_equals_the_package(explorer, case):
    """200 steps in float64 against the study's own trainer, and what is shown against the package's measures."""
    settings = FIRST | RESNETS[case]
    N, L, Lt = settings["inputs"], settings["layers"], float(settings["depth"])
    w, lam, rho = N + settings["spare"], settings["penalty"] * N / Lt, np.full(L, 1 / L)
    looks = explorer("leaky_resnets").ask(
        "(one => Array.from({ length: 201 }, (_, k) => { const seen = one.look();"
        " const all = name => one[name].map(part => [...part]);"
        f" const shown = {{ W: all('W'), A: all('A'), E: all('E'), ...seen }}; one.descend({settings['rate']});"
        f" return k % 100 === 0 ? shown : null; }}).filter(Boolean))({LEAKY}.network({json.dumps(settings)}))"
    )
    Y = np.diag([settings["target"] * settings["ratio"] ** i if i < settings["kept"] else 0.0 for i in range(N)])
    net = LeakyResNet(np.reshape(looks[0]["W"], (L, w, w)), rho, Lt, np.eye(w, N), np.eye(N, w))
    run = Trainer([net], np.eye(N)[None], Y[None], penalty=lam, learned=False, dtype=torch.float64)
    for look in looks:
        net = run.trained()[0]
        np.testing.assert_allclose(np.reshape(look["W"], (L, w, w)), net.W, rtol=1e-6, atol=1e-9)
        A = net.forward(np.eye(N))
        B = net.momenta(A, Y, lam)
        np.testing.assert_allclose(np.reshape(look["A"], (L + 1, w, N)), A, atol=1e-8)
        np.testing.assert_allclose(np.reshape(look["E"], (L + 1, w, N)) / lam, B, rtol=1e-6, atol=1e-6)
        momenta = [2 / Lt * hamiltonian(A[k], B[k + 1], Lt, bias=False) for k in range(L)]
        np.testing.assert_allclose(look["momenta"], momenta, rtol=1e-6, atol=1e-6)
        own = [stable_energies(A[k], (A[k + 1] - A[k]) * L, Lt, bias=False, gamma=settings["gamma"]) for k in range(L)]
        wanted = [[one.kinetic / Lt**2, -one.cost, 2 / Lt * one.hamiltonian] for one in own]
        got = np.transpose([look[name][:L] for name in ("kinetic", "potential", "total")])
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)
        cost = ((Y - net.output(np.eye(N))) ** 2).sum() / N
        objective = cost + lam / (2 * Lt) * (net.W**2).sum() / L
        np.testing.assert_allclose([look["cost"], look["objective"]], [cost, objective], rtol=1e-6)
        np.testing.assert_allclose(look["distance"], criticality(net.W, A, B, net.rho, Lt).relative, rtol=1e-6)
        run.descend(np.full(100, settings["rate"] * L))
    assert looks[-1]["objective"] < looks[0]["objective"]


# Batch normalization, mean field

FIELD = "repdyn.theory.bn_mean_field"
KINDS = {"BN": MODELS["BN"], "plain": MODELS["vanilla"]}
FIGURE = {"compare": "equal iteration", "variance": 5, "target": 0, "neurons": 100, "inputs": 500, "longer": 1}
FIGURE |= {"rate": 0.002, "iterations": 200, "seed": 1}
POPULATIONS = {
    "figure": {},
    "isotropic": {"variance": 1, "target": 37},
    "two lengths": {"longer": 10, "neurons": 24, "rate": 0.001},
}


@pytest.mark.parametrize("case", POPULATIONS)
def test_mean_field_limits_equal_the_package_and_networks_equal_torch(explorer, case):
    """Loss and largest speed of the limit every 200 iterations; 200 steps of the networks to 1e-6 of torch's."""
    page, settings = explorer("bn_mean_field"), FIGURE | POPULATIONS[case]
    teacher, cov = linear_along(settings["target"]), np.diag([float(settings["variance"]), 1.0])
    a, b = arrays(page, f"{FIELD}.limitStart({json.dumps(settings)})", "a", "b")
    looks = page.ask(
        f"(settings => [...{FIELD}.descend({FIELD}.limit(settings), settings, 20)].filter(one => one))"
        f"({json.dumps(settings)}).map(one => ['BN', 'plain'].map(model => [one[model].loss, one[model].largest]))"
    )
    start = arrays(page, f"{FIELD}.sample({json.dumps(settings)})", "a", "b", "X[0]", "X[1]", "y")
    for k, (model, kind) in enumerate(KINDS.items()):
        problem = Population(teacher, cov, kind)
        run = gradient_descent(a, b.reshape(-1, 2), problem, settings["rate"], record=np.arange(0, 201, 20))
        speeds = [tangential_speed(b, problem.velocity(a, b)[1]).max() for a, b in zip(run.a, run.b, strict=True)]
        wanted = np.stack([run.loss, speeds], axis=1)
        np.testing.assert_allclose(np.array(looks)[:, k], wanted, rtol=1e-8, atol=1e-10)
        got = page.ask(
            "(net => Array.from({ length: 200 }, () => { const { da, db, loss } = net.velocity();"
            " const seen = [loss, ...net.a, ...net.b];"
            f" da.forEach((value, k) => {{ net.a[k] += {settings['rate']} * value; }});"
            f" db.forEach((value, k) => {{ net.b[k] += {settings['rate']} * value; }}); return seen; }}))"
            f"({FIELD}.network({json.dumps(settings)}, '{model}'))"
        )
        np.testing.assert_allclose(got, networks_in_torch(start, settings["rate"], model), rtol=1e-6, atol=1e-9)


def networks_in_torch(start, rate, model):
    """Loss, a and b before each of 200 steps, by torch's own gradients and batch norm in float64."""
    a, b, x0, x1, y = (torch.tensor(part) for part in start)
    X, a, b = torch.stack([x0, x1], dim=1), a.clone().requires_grad_(), b.reshape(-1, 2).clone().requires_grad_()
    looks = []
    for _ in range(200):
        z = X @ b.T
        if model == "BN":
            z = torch.nn.functional.batch_norm(z, None, None, training=True, eps=1e-14)  # torch refuses 0
        loss = ((torch.relu(z) @ a / len(a) - y) ** 2).mean() / 2
        grads = torch.autograd.grad(loss, (a, b))
        looks.append([loss.item(), *a.tolist(), *b.flatten().tolist()])
        with torch.no_grad():
            for value, grad in zip((a, b), grads, strict=True):
                value -= rate * len(a) * grad
    return np.array(looks)


# Batch normalization, decomposed

LAYERS = "repdyn.theory.bn_decomposed"
RESCALE = {"off": None, "RMS": "rms", "sigma": "std"}
POINTS, WIDTH, DEPTH, INPUTS = 9, 24, 60, 6


@pytest.mark.parametrize("relu", ["on", "off"])
@pytest.mark.parametrize("rescale", RESCALE)
@pytest.mark.parametrize("recenter", ["on", "off"])
def test_random_network_and_its_expectation_equal_the_package(explorer, recenter, rescale, relu):
    """Each layer from the page's own batch and weights; the network as a whole may be chaotic."""
    page, options = explorer("bn_decomposed"), {"recenter": recenter == "on", "rescale": RESCALE[rescale]}
    options["relu"] = relu == "on"
    settings = {"recenter": recenter, "rescale": rescale, "relu": relu, "n": POINTS, "width": WIDTH, "seed": 3}
    chosen = json.dumps(settings | {"inputs": INPUTS, "longer": 2, "angle": 20, "start": "Gaussian points"})
    for n in (4, 12):
        X = np.random.default_rng(n).standard_normal((5, n))
        got = page.ask(f"{LAYERS}.expectedGramStep({(X.T @ X / n).tolist()}, {chosen}).map(row => [...row])")
        wanted = expected_gram_step(X.T @ X / n, **options)
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
    got = page.ask(
        f"(() => {{ const one = {LAYERS}.network({chosen}), odd = [], rows = () => one.rows().map(row => [...row]);"
        f" const batches = [rows()]; for (let layer = 0; layer < {DEPTH}; layer += 1) {{"
        " const work = one.layer(); let step = work.next(); while (!step.done) step = work.next();"
        " if (!step.value) break; batches.push(rows()); odd.push(one.look().odd); } return { batches, odd }; })()"
    )
    batches = [np.array(rows).T for rows in got["batches"]]
    count = WIDTH * INPUTS + (DEPTH - 1) * WIDTH**2
    normals = np.array(page.ask(f"Array.from({{ length: {count} }}, repdyn.training.kernel.random(1000003).normal)"))
    weights = [normals[: WIDTH * INPUTS].reshape(WIDTH, INPUTS), *normals[WIDTH * INPUTS :].reshape(-1, WIDTH, WIDTH)]
    for before, after, W, odd in zip(batches[:-1], batches[1:], weights, got["odd"], strict=False):
        X = bn_components(before, W, **options)
        np.testing.assert_allclose(after, np.ldexp(X, -np.frexp(np.abs(X).max())[1]), rtol=0, atol=1e-9)
        assert odd == geometry(after).odd_index
    assert len(batches) == DEPTH + 1 or (recenter, rescale) == ("off", "sigma")  # that collapses
