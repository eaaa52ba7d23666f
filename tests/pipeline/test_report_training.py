"""Networks that train in the report, in a headless Chromium from file://: numbers, controls, address, words."""

import json

import numpy as np
import pytest

from repdyn.universality.methods.engines import autograd
from repdyn.universality.methods.engines.frames import Task
from repdyn.universality.methods.fit import explained_variance, fit_effective_rates
from repdyn.universality.methods.networks import NONLINEARITIES, Net
from repdyn.universality.theory.effective import effective_solution, two_point_observables

pytestmark = pytest.mark.slow
STUDY = "universality"  # whose explorer the page holds
BOX = "document.querySelector('[data-theory]')"
RICH = {
    "hidden": 6,
    "units": 30,
    "nonlinearity": "leaky relu",
    "connections": "dense",
    "gain": 1,
    "rate": 0.01,
    "dx2": 1,
    "dy2": 0.5,
    "side": "as drawn",
    "rates": "this run",
}


def wait(page, condition):
    """Waits in the page until a condition on the explorer's state `view` is met."""
    page.ask(
        "new Promise((met, failed) => { const until = Date.now() + 50000; (function look() {"
        f" const view = {BOX}.training; if ({condition}) met(); else if (Date.now() > until)"
        f" failed(new Error('never: ' + {json.dumps(condition)})); else setTimeout(look, 20); }})(); }})"
    )


def view(page, expression):
    return page.ask(f"(view => {expression})({BOX}.training)")


def said(page):
    return page.ask("document.querySelector('.said').textContent")


def press(page, label):
    page.ask(f"[...document.querySelectorAll('button')].find(one => one.textContent.startsWith('{label}')).click()")


def trained(page, preset):
    """The explorer after a preset has trained to its end."""
    press(page, preset)
    wait(page, "view.prepared")
    page.ask(f"{BOX}.training.seek(1e6)")
    wait(page, "view.finished")
    page.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def network_in_browser(page, settings, steps):
    """Initial weights and biases, and h, y, w, loss before each of the first steps."""
    return page.ask(
        f"(() => {{ const one = repdyn.theory.universality.network({json.dumps(settings)}, 7);"
        " const weights = one.net.weights.map(W => [...W]), looks = [];"
        f" for (let k = 0; k < {steps}; k += 1) {{ const {{ h, y, w, loss }} = one.look();"
        " looks.push([h, y, w, loss]); one.step(); } return { weights, looks }; })()"
    )


@pytest.mark.parametrize(
    ("hidden", "connections"), [(1, "dense"), (2, "dense"), (6, "dense"), (20, "dense"), (2, "skip"), (7, "skip")]
)
@pytest.mark.parametrize("nonlinearity", NONLINEARITIES)
def test_the_network_of_the_page_follows_torch(page, nonlinearity, hidden, connections):
    """200 steps in float64 from the page's own weights: h, y, w and loss to 1e-6 of torch's."""
    units, steps = 12, 200
    settings = RICH | {"nonlinearity": nonlinearity, "connections": connections, "hidden": hidden, "units": units}
    settings["rate"] = 0.005
    got = network_in_browser(page, settings, steps)
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


def test_random_numbers_are_uniform_and_normal(page):
    numbers = page.ask(
        "(() => { const one = repdyn.training.kernel.random(3); return"
        " [Array.from({ length: 20000 }, one.uniform), Array.from({ length: 20000 }, one.normal)]; })()"
    )
    uniform, normal = np.array(numbers)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert len(np.unique(uniform)) == len(uniform)
    root = np.sqrt(len(uniform))
    assert abs(uniform.mean() - 0.5) < 4 * np.sqrt(1 / 12) / root
    assert abs(normal.mean()) < 4 / root
    assert abs(normal.var() - 1) < 4 * np.sqrt(2) / root
    assert abs(np.corrcoef(normal[:-1], normal[1:])[0, 1]) < 4 / root


def measured(page):
    """Records h, y, w of shape (3, frames) and what the run was prepared with."""
    records = np.array(view(page, "view.records.map(one => [one.h, one.y, one.w])")).T
    return records, view(page, "view.prepared"), view(page, "view.state")


@pytest.mark.parametrize("preset", ["Rich: six", "Rich: small", "Opposed", "Skip"])
def test_rates_are_those_of_the_package(page, preset):
    """The fit (49) in the browser ends in the minimum of `fit_effective_rates`."""
    trained(page, preset)
    records, prepared, state = measured(page)
    fit = fit_effective_rates(*records, state["dx2"], state["dy2"], every=prepared["every"])
    np.testing.assert_allclose([prepared["etaH"], prepared["etaY"]], [fit.eta_h, fit.eta_y], rtol=1e-4)
    assert "The theory holds here" in said(page)
    assert min(fit.r2) > 0.5
    assert fit.at_bound is prepared["atBound"] is False
    assert ("with skip connections" in said(page)) == (preset == "Skip")


def test_the_failure_fails_by_number_and_in_words(page):
    """The package's own fit of the failing preset explains less than half of the variance of a curve, too."""
    trained(page, "Show me the failure")
    records, prepared, state = measured(page)
    times = prepared["every"] * np.arange(records.shape[1])
    rates = prepared["etaH"], prepared["etaY"]
    theory = effective_solution(times, *records[:, 0], *rates, state["dx2"], state["dy2"])
    own = fit_effective_rates(*records, state["dx2"], state["dy2"], every=prepared["every"])
    assert min(explained_variance(records, theory)) < 0
    assert min(own.r2) < 0
    assert ((theory - records) ** 2).sum() * prepared["every"] <= own.loss * 1.001
    assert own.at_bound == prepared["atBound"]
    assert "The theory fails here" in said(page)


def test_a_slider_leads_to_another_prediction(page):
    wait(page, "view.prepared")
    before = view(page, "view.prepared.etaY")
    page.ask(
        "{ const one = document.querySelector('.theory input[name=gain]'); one.value = -0.1;"
        " one.dispatchEvent(new Event('input')); }"
    )
    wait(page, "view.prepared && view.state.gain < 0.8")
    assert view(page, "view.prepared.etaY") != before
    gain = view(page, "view.state.gain")
    assert f"gain {gain}" in said(page)
    assert f"gain={gain}" in page.ask("location.hash")


def test_rates_can_come_from_another_network(page):
    """Rates fitted to another seed draw another line; the words say whose rates they are."""
    trained(page, "Rich: six")
    own = measured(page)[1]
    address = page.ask("location.href.split('#')[0]")
    page.open("about:blank")
    page.open(f"{address}#train-universality&rates=another%20network")
    wait(page, "view.prepared")
    other = view(page, "view.prepared")
    assert other["h0"] == own["h0"]
    assert other["etaY"] != own["etaY"]
    assert "fitted to another network" in said(page)


def test_the_opposed_start_passes_zero(page):
    trained(page, "Opposed")
    h = measured(page)[0][0]
    assert h.min() < 1e-2 * h[0] < 1e-2 * h[-1]
    assert 0 < h.argmin() < len(h) - 1


def test_rich_and_lazy_follow_the_larger_amplitude(page):
    """At rho = 1, y0 = G^4 and h0 = G^2 the final distance is that of the targets, A_low, whatever G."""
    for G in (0.5, 1, 1.95):
        call = f"repdyn.theory.universality.regime({G**2}, {G**4}, 1, 0.7, 1)"
        assert page.ask(call) == "rich"
        final = f"repdyn.theory.universality.finalDistance({G**2}, {G**4}, 1, 0.7, 1)"
        np.testing.assert_allclose(page.ask(final), 0.7, rtol=1e-9)
    assert page.ask("repdyn.theory.universality.regime(25, 1, 1, 0.7, 1)") == "lazy"
    assert page.ask("repdyn.theory.universality.regime(1, 25, 1, 0.7, 1)") == "collapsing"


def test_the_theory_is_drawn_before_training(page):
    wait(page, "view.prepared")
    assert view(page, "view.records.length") == 0
    assert page.ask("[...document.querySelectorAll('.theory path')].filter(path => path.getAttribute('d')).length") == 4
    assert "Predicted final h" in said(page)
    assert "Press Play" in said(page)
    assert view(page, "view.link.kind") == "worker"
    assert page.complaints == []


def test_it_pauses_and_resumes(page):
    """What is recorded with pauses is what is recorded without."""
    wait(page, "view.prepared")
    press(page, "Play")
    wait(page, "view.records.length > 5")
    press(page, "Pause")
    page.ask("new Promise(done => setTimeout(done, 300))")
    held = view(page, "view.records.length")
    page.ask("new Promise(done => setTimeout(done, 300))")
    assert view(page, "view.records.length") == held
    press(page, "Step")
    wait(page, f"view.records.length === {held + 1}")
    press(page, "Play")
    wait(page, "view.finished")
    whole = view(page, "view.records")
    trained(page, "Rich: six")
    assert view(page, "view.records") == whole


def test_the_address_restores_the_same_picture(page, page_file, browser):
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
    assert "at=40" in address
    assert "seed" not in address  # what is as at first is left out


def test_without_workers_the_page_trains_itself(browser, page_file):
    browser.open("about:blank")
    script = browser.call("Page.addScriptToEvaluateOnNewDocument", source="delete window.Worker;")
    browser.open(page_file.as_uri())
    browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])
    trained(browser, "Rich: six")
    assert view(browser, "view.link.kind") == "page"
    here = view(browser, "view.records")
    browser.open("about:blank")
    browser.open(page_file.as_uri())
    trained(browser, "Rich: six")
    assert view(browser, "view.records") == here


def test_keys_play_and_step(page):
    wait(page, "view.prepared")
    page.ask(f"{BOX}.focus()")
    page.press("arrow_right")
    wait(page, "view.records.length === 1")
    page.press("space")
    wait(page, "view.records.length > 3")
    page.press("space")
    assert view(page, "view.playing") is False


@pytest.mark.parametrize("nonlinearity", ["relu", "tanh"])
@pytest.mark.parametrize("end", ["min", "max"])
def test_the_ends_of_the_sliders_draw_numbers(page, nonlinearity, end):
    """One slider after another at its end: a prediction, or a sentence that says why there is none."""
    names = page.ask("[...document.querySelectorAll('.theory input')].map(one => one.name)")
    for name in names:
        press(page, "Rich: six")
        page.ask(
            f"{{ const one = document.querySelector('.theory input[name={name}]'); one.value = one.{end};"
            f" const list = document.querySelector('.theory select[name=nonlinearity]'); list.value = '{nonlinearity}';"
            " one.dispatchEvent(new Event('input')); list.dispatchEvent(new Event('change')); }"
        )
        wait(page, "view.prepared")
        page.ask(f"{BOX}.training.seek(5)")
        wait(page, "view.records.length === 5 || view.finished")
        page.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        drawn = page.ask("[...document.querySelectorAll('.theory path')].map(path => path.getAttribute('d')).join()")
        assert "NaN" not in drawn + said(page)
        assert "Infinity" not in drawn + said(page)
        assert "Epoch" in said(page) or "diverges" in said(page) or "nothing to predict" in said(page)
    assert page.complaints == []
