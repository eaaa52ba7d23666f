"""The networks that train in bn_mean_field's explorer, in a headless Chromium: numbers, words, controls."""

import json

import numpy as np
import pytest
import torch
from tests.pipeline.test_report_training import BOX, press, said, trained, view, wait

from repdyn.bn_mean_field.experiments.speed_ratio import _iteration_of_loss
from repdyn.bn_mean_field.methods.particle_flows import gradient_descent
from repdyn.bn_mean_field.methods.starts_and_targets import MODELS, linear_along
from repdyn.bn_mean_field.theory.flows import tangential_speed
from repdyn.bn_mean_field.theory.velocity import Population, mean_field_velocity

pytestmark = pytest.mark.slow
STUDY = "bn_mean_field"  # whose explorer the page holds
THEORY = "repdyn.theory.bn_mean_field"
KINDS = {"BN": MODELS["BN"], "plain": MODELS["vanilla"]}
START = {
    "compare": "equal iteration",
    "variance": 5,
    "target": 0,
    "neurons": 100,
    "inputs": 500,
    "longer": 1,
    "rate": 0.002,
    "iterations": 500,
    "seed": 1,
}
CASES = {
    "figure": {},
    "along x2": {"target": 90, "seed": 3},
    "isotropic": {"variance": 1, "target": 37},
    "two lengths": {"longer": 10, "neurons": 24, "rate": 0.001},
    "few": {"neurons": 4, "inputs": 20, "variance": 20, "target": 120, "seed": 2},
}
SETTLED = "new Promise(done => setTimeout(done, 100))"


def population(settings, model):
    teacher = linear_along(settings["target"])
    return Population(teacher, np.diag([float(settings["variance"]), 1.0]), KINDS[model])


def arrays_of(page, expression, *names):
    """Typed arrays of an object on the page, by name."""
    parts = ", ".join(f"[...one.{name}]" for name in names)
    return [np.array(part, dtype=float) for part in page.ask(f"(one => [{parts}])({expression})")]


def choose(page, name, value):
    page.ask(
        f"{{ const list = document.querySelector('.theory select[name={name}]'); list.value = '{value}';"
        " list.dispatchEvent(new Event('change')); }"
    )
    page.ask(SETTLED)


# Numbers


@pytest.mark.parametrize("model", KINDS)
def test_velocities_are_those_of_the_package(page, model):
    """Random neurons over a grid of covariances and targets."""
    rng = np.random.default_rng(4)
    for variance in (1.0, 5.0, 25.0):
        for target in (0, 35, 90, 180):
            a, b = rng.normal(size=7), rng.normal(size=(7, 2))
            settings = {"variance": variance, "target": target}
            call = f"{THEORY}.populationVelocity({a.tolist()}, {b.ravel().tolist()}, {json.dumps(settings)}, '{model}')"
            da, db = arrays_of(page, call, "da", "db")
            teacher, cov = linear_along(target), np.diag([variance, 1.0])
            wanted = mean_field_velocity(a, b, teacher, cov, normalization=KINDS[model])
            np.testing.assert_allclose(da, wanted[0], atol=1e-12)
            np.testing.assert_allclose(db.reshape(-1, 2), wanted[1], atol=1e-12)
            np.testing.assert_allclose(page.ask(f"{call}.loss"), wanted[2], atol=1e-12)
            speeds = page.ask(f"{THEORY}.tangentialSpeeds({b.ravel().tolist()}, {db.tolist()})")
            np.testing.assert_allclose(speeds, tangential_speed(b, wanted[1]), atol=1e-12)


@pytest.mark.parametrize("case", [name for name in CASES if name != "few"])
def test_the_lines_are_the_descent_of_the_package(page, case):
    """Loss and largest speed of the limit at every look of 200 iterations."""
    settings = START | CASES[case] | {"iterations": 200}
    a, b = arrays_of(page, f"{THEORY}.limitStart({json.dumps(settings)})", "a", "b")
    b = b.reshape(-1, 2)
    call = f"(settings => [...{THEORY}.descend({THEORY}.limit(settings), settings, 20)].filter(one => one))"
    looks = page.ask(
        f"{call}({json.dumps(settings)})"
        ".map(one => ['BN', 'plain'].map(model => [one[model].loss, one[model].largest]))"
    )
    for k, model in enumerate(KINDS):
        problem = population(settings, model)
        run = gradient_descent(a, b, problem, settings["rate"], record=np.arange(0, 201, 20))
        speeds = [tangential_speed(b, problem.velocity(a, b)[1]).max() for a, b in zip(run.a, run.b, strict=True)]
        wanted = np.stack([run.loss, speeds], axis=1)
        np.testing.assert_allclose(np.array(looks)[:, k], wanted, rtol=1e-8, atol=1e-10)


def trained_in_torch(start, settings, model, steps):
    """Loss, a and b before each step, by torch's own gradients and batch norm in float64."""
    a, b, x0, x1, y = (torch.tensor(part) for part in start)
    X, b = torch.stack([x0, x1], dim=1), b.reshape(-1, 2).clone().requires_grad_()
    a = a.clone().requires_grad_()
    looks = []
    for _ in range(steps):
        z = X @ b.T
        if model == "BN":
            z = torch.nn.functional.batch_norm(z, None, None, training=True, eps=1e-14)  # torch refuses 0
        loss = ((torch.relu(z) @ a / len(a) - y) ** 2).mean() / 2
        grads = torch.autograd.grad(loss, (a, b))
        looks.append([loss.item(), *a.tolist(), *b.flatten().tolist()])
        with torch.no_grad():
            for value, grad in zip((a, b), grads, strict=True):
                value -= settings["rate"] * len(a) * grad
    return np.array(looks)


@pytest.mark.parametrize("model", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_the_networks_of_the_page_follow_torch(page, case, model):
    """200 steps in float64 from the page's own start and data: loss and all weights to 1e-6 of torch's."""
    settings, steps = START | CASES[case], 200
    start = arrays_of(page, f"{THEORY}.sample({json.dumps(settings)})", "a", "b", "X[0]", "X[1]", "y")
    got = page.ask(
        f"(net => Array.from({{ length: {steps} }}, () => {{ const {{ da, db, loss }} = net.velocity();"
        " const seen = [loss, ...net.a, ...net.b];"
        f" da.forEach((value, k) => {{ net.a[k] += {settings['rate']} * value; }});"
        f" db.forEach((value, k) => {{ net.b[k] += {settings['rate']} * value; }}); return seen; }}))"
        f"({THEORY}.network({json.dumps(settings)}, '{model}'))"
    )
    wanted = trained_in_torch(start, settings, model, steps)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-9)
    assert wanted[-1, 0] < 0.97 * wanted[0, 0]  # it does descend


def test_inputs_are_centered_and_the_start_computes_zero(page):
    settings = START | {"longer": 4, "variance": 9, "inputs": 1000}
    a, b, x0, x1, y = arrays_of(page, f"{THEORY}.sample({json.dumps(settings)})", "a", "b", "X[0]", "X[1]", "y")
    b = b.reshape(-1, 2)
    assert abs(x0.mean()) < 1e-12 > abs(x1.mean())
    assert abs(x0.var() / 9 - 1) < 4 * np.sqrt(2 / 1000) > abs(x1.var() - 1)
    np.testing.assert_array_equal(b[::2], b[1::2])
    np.testing.assert_array_equal(a, np.tile([1.0, -1.0], 50))
    np.testing.assert_allclose(np.linalg.norm(b, axis=1), np.tile([1, 1, 4, 4], 25))
    np.testing.assert_array_equal(y, x0)


def test_matched_iterations_are_those_of_the_package(page):
    """A falling loss, one that rises in between, one that rests."""
    iterations = np.arange(0, 60, 10)
    for losses in ([3, 2, 1, 0.4, 0.1, 0.05], [3, 2, 2.5, 1.5, 1.6, 0.2], [1, 1, 0.5, 0.5, 0.5, 0.1]):
        for wanted in (4, 2.2, 1.5, 1, 0.5, 0.12, 0.01):
            call = f"{THEORY}.iterationOfLoss({wanted}, {losses}, {iterations.tolist()})"
            expected = _iteration_of_loss(np.array([wanted]), np.array(losses), iterations)[0]
            np.testing.assert_allclose(page.ask(call), expected, atol=1e-9, err_msg=f"{losses}, {wanted}")


# Words


def ratio_of_records(page, iteration):
    """Largest speed with BN over that without, the latter at an iteration of its own."""
    now, largest, iterations = page.ask(
        f"(records => [records.at(-1).BN.largest, records.map(one => one.plain.largest),"
        f" records.map(one => one.iteration)])({BOX}.training.records)"
    )
    return now / np.interp(iteration, iterations, largest)


def test_the_failure_is_at_equal_loss(page):
    """One run, looked at twice: ten times faster at equal iteration, slower at equal loss."""
    trained(page, "Figure 1")
    assert 10**0.5 < ratio_of_records(page, 500) < 10**1.5
    assert "The order of magnitude of Figure 1 is seen here, but the network without BN is slow" in said(page)
    assert "The theory of infinite width holds here" in said(page)
    before = view(page, "view.records.length")
    choose(page, "compare", "equal loss")
    assert view(page, "view.records.length") == before  # the same run, nothing trains again
    losses = [view(page, f"view.records.map(one => one.{model}.loss)") for model in KINDS]
    iterations = view(page, "view.records.map(one => one.iteration)")
    partner = _iteration_of_loss(np.array(losses[0][-1:]), np.array(losses[1]), np.array(iterations))[0]
    ratio = ratio_of_records(page, partner)
    assert ratio < 1
    assert f"(iteration 500 with BN, {partner:.0f} without)" in said(page)
    assert "fails here: BN's fastest neuron is not the faster one. " in said(page)
    assert f"ratio of speeds {ratio:.3g}, predicted 0.404" in said(page)


def test_the_preset_of_the_failure_is_the_same_run(page):
    trained(page, "Show me the failure")
    assert view(page, "view.state.compare") == "equal loss"
    assert "The order of magnitude of Figure 1 fails here: BN's fastest neuron is not the faster one" in said(page)
    assert "compare=equal%20loss" in page.ask("location.hash")


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("Target along", ("target at 90\u00b0", "The order of magnitude of Figure 1 fails here")),
        ("Isotropic", ("variance 1 along", "The order of magnitude of Figure 1 fails here")),
        ("Two lengths", ("those of length 10 by", "A network has finished")),
        ("Ten neurons", ("10 neurons", "The theory of infinite width fails here")),
    ],
)
def test_other_presets_say_what_they_show(page, preset, words):
    trained(page, preset)
    assert all(part in said(page) for part in words), said(page)


def test_short_neurons_turn_further_than_long_ones(page):
    """Lengths stay with BN to a percent; neurons of length 1 turn ten times as far as those of length 10."""
    trained(page, "Two lengths")
    first, last = (np.array(view(page, f"view.records.at({k}).BN.b")).reshape(-1, 2) for k in (0, -1))
    lengths = np.linalg.norm(first, axis=1)
    np.testing.assert_allclose(np.linalg.norm(last, axis=1), lengths, rtol=0.01)
    cosine = np.sum(first * last, axis=1) / lengths / np.linalg.norm(last, axis=1)
    turn = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    short, long = (turn[np.abs(lengths - size) < 1e-9].mean() for size in (1, 10))
    assert short > 10 * long
    assert f"length 1 have turned by {short:.3g} degrees" in said(page)


def test_a_divergence_is_said(page):
    page.ask(f"{BOX}.training.change({{ rate: 0.1, variance: 25, longer: 10 }})")
    wait(page, "view.prepared")
    page.ask(f"{BOX}.training.seek(1e6)")
    wait(page, "view.finished")
    page.ask(SETTLED)
    assert said(page).count("the network without BN diverges at iteration") == 2  # predicted and seen
    assert "as predicted" in said(page)


# Controls


def test_the_theory_is_drawn_before_training(page):
    wait(page, "view.prepared")
    assert view(page, "view.records.length") == 0
    paths = "document.querySelectorAll('.theory .panel')[{}].querySelectorAll('path')"
    lengths = [page.ask(f"[...{paths.format(k)}].map(path => (path.getAttribute('d') || '').length)") for k in range(4)]
    assert [len([size for size in own if size > 1000]) for own in lengths[:2]] == [2, 2]  # two lines, no dots
    assert all(max(own[2:]) > 1000 for own in lengths[2:])  # the pale spikes
    assert "15.4 times as fast with BN as without" in said(page)
    assert "Press Play" in said(page)
    assert view(page, "view.link.kind") == "worker"
    assert page.complaints == []


def test_it_plays_and_pauses(page):
    wait(page, "view.prepared")
    press(page, "Play")
    wait(page, "view.records.length > 5")
    press(page, "Pause")
    page.ask("new Promise(done => setTimeout(done, 300))")
    held = view(page, "view.records.length")
    page.ask("new Promise(done => setTimeout(done, 300))")
    assert view(page, "view.records.length") == held
    press(page, "Play")
    wait(page, "view.finished")
    whole = view(page, "view.records.map(one => one.BN.loss)")
    trained(page, "Figure 1")
    assert view(page, "view.records.map(one => one.BN.loss)") == whole


@pytest.mark.parametrize("at", [40, 168])
def test_the_address_restores_the_same_picture(page, browser, at):
    """In the middle of a run, and at its end."""
    press(page, "Target along")
    press(page, "Next seed")
    wait(page, "view.prepared")
    choose(page, "compare", "equal loss")
    page.ask(f"{BOX}.training.seek({at})")
    wait(page, f"view.records.length === {at}")
    page.ask(SETTLED)
    paths = "[...document.querySelectorAll('.theory path')].map(path => path.getAttribute('d'))"
    before = view(page, "view.records"), page.ask(paths), said(page)
    address = page.ask("location.href")
    browser.open("about:blank")
    browser.open(address)
    wait(page, f"view.records.length === {at}")
    page.ask(SETTLED)
    assert (view(page, "view.records"), page.ask(paths), said(page)) == before
    assert "seed=2" in address
    assert "target=90" in address


def test_the_switch_draws_another_axis_and_keeps_the_address(page):
    trained(page, "Figure 1")
    axis = "document.querySelector('.theory .panel svg').textContent"
    assert "iteration" in page.ask(axis)
    choose(page, "compare", "equal loss")
    assert "share of the loss that is gone" in page.ask(axis)
    assert "compare=equal%20loss" in page.ask("location.hash")
    choose(page, "compare", "equal iteration")
    assert "compare" not in page.ask("location.hash")


@pytest.mark.parametrize("end", ["min", "max"])
@pytest.mark.parametrize("compare", ["equal iteration", "equal loss"])
def test_the_ends_of_the_sliders_draw_numbers(page, compare, end):
    """One slider after another at its end, trained to the end of a short run."""
    names = page.ask(f"[...{BOX}.querySelector('.sliders').querySelectorAll('input')].map(one => one.name)")
    assert names == ["target", "variance", "neurons", "inputs", "longer", "rate", "iterations"]
    for name in names:
        press(page, "Ten neurons")
        page.ask(f"{BOX}.training.change({{ compare: '{compare}', iterations: 100, inputs: 100 }})")
        page.ask(
            f"{{ const one = document.querySelector('.theory input[name={name}]'); one.value = one.{end};"
            " one.dispatchEvent(new Event('input')); }"
        )
        wait(page, "view.prepared")
        page.ask(f"{BOX}.training.seek(1e6)")
        wait(page, "view.finished")
        page.ask(SETTLED)
        shown = page.ask("document.querySelector('.theory').innerHTML")
        assert not [word for word in ("NaN", "Infinity", "undefined") if word in shown], (name, end)
        assert "Seen: " in said(page)
    assert page.complaints == []


def test_the_target_can_be_dragged(page):
    """The up arrow on the handle turns the target; the closed forms below keep their own handles."""
    wait(page, "view.prepared")
    page.ask("document.querySelector('.theory .handle').focus()")
    page.press("arrow_up")
    wait(page, "view.prepared && view.state.target > 0")
    assert f"target at {view(page, 'view.state.target')}\u00b0" in said(page)
    assert view(page, "view.records.length") == 0
    assert page.ask("document.querySelectorAll('.theory .handle').length") == 5
    below = "document.querySelectorAll('.theory .said')[1].textContent"
    before = page.ask(below)
    page.ask("document.querySelectorAll('.theory .handle')[1].focus()")
    page.press("arrow_up")
    assert page.ask(below) != before
