"""The random network of bn_decomposed's explorer, in a headless Chromium: closed forms, 200 layers, words, address."""

import json
from functools import cache
from itertools import product

import numpy as np
import pytest
from tests.pipeline.test_report_training import press, said, trained, view, wait

from repdyn.bn_decomposed.theory.geometry import geometry, pair_angles
from repdyn.bn_decomposed.theory.kernel import expected_gram_step
from repdyn.bn_decomposed.theory.layers import bn_components
from repdyn.bn_decomposed.theory.odd_cluster import (
    odd_fixed_point,
    odd_map,
    rms_cosine_step,
    rms_fixed_point,
    simplex_angle,
)

pytestmark = pytest.mark.slow
STUDY = "bn_decomposed"  # whose explorer the page holds
THEORY = "repdyn.theory.bn_decomposed"
RESCALE = {"off": None, "RMS": "rms", "sigma": "std"}
OPTIONS = list(product(("on", "off"), RESCALE, ("on", "off")))
# start of the network and the dimension of its points
STARTS = {
    "Gaussian": ("Gaussian points", 6),
    "cluster": ("odd point and cluster", 10),
}
NOT_CHAOTIC = [("on", "off", "off"), ("off", "off", "on"), ("off", "off", "off")]
POINTS, WIDTH, LAYERS, SEED = 9, 24, 200, 3


@pytest.fixture(scope="module")
def weights(browser, page_file):
    """Weights of the page's network for points of any dimension up to its width: a function of that dimension."""
    browser.open(page_file.as_uri())
    count = LAYERS * WIDTH**2
    call = f"Array.from({{ length: {count} }}, repdyn.training.kernel.random({SEED} + 1e6).normal)"
    normals = np.array(browser.ask(call))

    @cache
    def layers(inputs):
        first, rest = normals[: WIDTH * inputs], normals[WIDTH * inputs :]
        later = rest[: (LAYERS - 1) * WIDTH**2].reshape(LAYERS - 1, WIDTH, WIDTH)
        return [first.reshape(WIDTH, inputs), *later]

    return layers


def settings(options, **changes):
    recenter, rescale, relu = options
    chosen = {"recenter": recenter, "rescale": rescale, "relu": relu, "n": POINTS, "width": WIDTH, "seed": SEED}
    return json.dumps(chosen | {"inputs": 6, "longer": 2, "angle": 20, "start": "Gaussian points"} | changes)


def components(options):
    recenter, rescale, relu = options
    return {"recenter": recenter == "on", "rescale": RESCALE[rescale], "relu": relu == "on"}


@pytest.mark.parametrize("options", OPTIONS, ids="-".join)
def test_the_expectation_is_that_of_the_package(page, options):
    for n in (4, 12):
        X = np.random.default_rng(n).standard_normal((5, n))
        G = X.T @ X / n
        got = page.ask(f"{THEORY}.expectedGramStep({G.tolist()}, {settings(options)}).map(row => [...row])")
        wanted = expected_gram_step(G, **components(options))
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_the_map_of_an_angle_is_that_of_the_package(page):
    angles = np.array([0.05, 0.4, 1.0, 1.5])
    for n in (5, 20):
        call = f"{np.degrees(angles).tolist()}.map(theta => {THEORY}.angleMap(theta, %s))"
        odd = page.ask(call % settings(("on", "off", "on"), n=n))
        np.testing.assert_allclose(odd, np.degrees(odd_map(angles, n)), rtol=1e-12)
        rms = page.ask(call % settings(("off", "RMS", "on"), n=n))
        wanted = [np.degrees(np.arccos(rms_cosine_step(float(np.cos(angle)), n))) for angle in angles]
        np.testing.assert_allclose(rms, wanted, rtol=1e-9)


def test_a_gram_matrix_is_described_as_the_package_describes_its_batch(page):
    X = np.random.default_rng(1).standard_normal((7, 8))
    look = page.ask(f"{THEORY}.gramLook({(X.T @ X).tolist()}, 'on')")
    _agrees(look, X, recenter=True)


def _agrees(look, X, *, recenter):
    """What the page says of a batch against `geometry`, angles and ratios to 1e-6."""
    known, norms = geometry(X), np.linalg.norm(X, axis=0)
    moved = X - X.mean(axis=1, keepdims=True) if recenter else X
    odd, close = known.odd_index, {"rtol": 1e-6, "atol": 1e-6}
    i, j = np.triu_indices(X.shape[1], 1)
    with_odd = (i == odd) | (j == odd)
    assert look["odd"] == odd
    for name, angles in (("with", known.angles[with_odd]), ("among", known.angles[~with_odd])):
        wanted = np.degrees([angles.min(), np.median(angles), angles.max()])
        np.testing.assert_allclose(look[name], wanted, **close)
    np.testing.assert_allclose(look["norms"], norms / norms[odd], **close)
    np.testing.assert_allclose(look["other"][2], known.second_to_first, **close)
    np.testing.assert_allclose(look["theta"], np.degrees(np.median(pair_angles(moved)[~with_odd])), **close)
    units = X / norms
    middle = np.delete(units, odd, axis=1).sum(axis=1)
    center = [pair_angles(np.stack([x, middle], axis=1))[0] for x in units.T]
    np.testing.assert_allclose(look["center"], np.degrees(center), **close)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("options", OPTIONS, ids="-".join)
def test_the_network_of_the_page_is_that_of_the_package(page, weights, options, start):
    """200 layers in float64 from the page's own batch and weights, or as many as there are before a collapse.

    Layers with ReLU can be chaotic: numpy's own network leaves a copy that starts 1e-15 away by degrees. So each layer
    is also run from the page's batch, and the trajectories are compared for as long as numpy agrees with its copy.
    """
    name, inputs = STARTS[start]
    batches, looks = _run(page, settings(options, start=name))
    assert batches[0].shape == (inputs, POINTS)
    X, noise = batches[0], np.random.default_rng(1)
    copy, same, compared = X * (1 + 1e-15 * noise.standard_normal(X.shape)), True, 0
    for layer, (before, after, W) in enumerate(zip(batches[:-1], batches[1:], weights(inputs), strict=False), 1):
        np.testing.assert_allclose(after, _layer(before, W, options), rtol=0, atol=1e-9)
        if layer % 10 == 0 or layer < 10:
            _agrees(looks[layer - 1], after, recenter=options[0] == "on")
        X, copy = (_layer(batch, W, options) for batch in (X, copy)) if same else (X, copy)
        same = same and np.abs(X - copy).max() < 1e-8
        if same:
            np.testing.assert_allclose(after, X, rtol=0, atol=1e-6)
            compared = layer
    assert len(looks) == LAYERS or options[:2] == ("off", "sigma")
    assert compared >= (LAYERS if options in NOT_CHAOTIC else 30)


def _run(page, chosen):
    """Batches of layers 0, 1, 2, ..., shape (neurons, points) each, and what the page says of those from 1 on."""
    got = page.ask(
        f"(() => {{ const one = {THEORY}.network({chosen}), looks = [], rows = () => one.rows().map(row => [...row]);"
        f" const batches = [rows()]; for (let layer = 0; layer < {LAYERS}; layer += 1) {{"
        " const work = one.layer(); let step = work.next(); while (!step.done) step = work.next();"
        " if (!step.value) break; batches.push(rows()); looks.push(one.look()); } return { batches, looks }; })()"
    )
    return [np.array(rows).T for rows in got["batches"]], got["looks"]


def _layer(X, W, options):
    X = bn_components(X, W, **components(options))
    return np.ldexp(X, -np.frexp(np.abs(X).max())[1])  # as `propagate`


def test_the_failure_fails_by_number_and_in_words(page):
    """From 4 degrees the cluster widens towards the fixed point of the package."""
    trained(page, "Show me the failure")
    among = np.array(view(page, "view.records.map(one => one.among[1])"))
    limit = np.array(view(page, "view.prepared.theory.map(one => one.among[1])"))
    rest = np.degrees(odd_fixed_point(20).intra_angle)
    assert among[0] == pytest.approx(4)
    assert among[-50:].min() > 2 * among[0]
    assert limit[-1] == pytest.approx(rest, abs=0.5)
    assert "The odd point is there. The cluster of the paper fails" in said(page)
    assert f"stays {among[-51:].mean():.0f}\u00b0 wide" in said(page)
    assert "The theory of infinite width holds here" in said(page)


def test_five_points_have_no_odd_one(page):
    trained(page, "No odd point")
    assert view(page, "view.prepared.theory[0].other[2]") == pytest.approx(0.25)
    assert view(page, "view.prepared.theory.at(-1).other[2]") > 0.9
    assert view(page, "view.records.at(-1).other[2]") > 0.5
    assert "The paper's picture fails here" in said(page)


@pytest.mark.parametrize(
    ("preset", "wanted"), [("The paper\\'s 60", np.arccos(rms_fixed_point(9))), ("The paper\\'s 75", simplex_angle(9))]
)
def test_a_batch_of_nine_has_the_angles_of_figure_5(page, preset, wanted):
    trained(page, preset)
    assert view(page, "view.prepared.theory.at(-1).among[1]") == pytest.approx(np.degrees(wanted), abs=0.1)
    assert f"this batch of 9 has {np.degrees(wanted):.0f}\u00b0" in said(page)


def test_the_address_restores_the_same_picture(page, browser):
    press(page, "Odd point appears")
    wait(page, "view.prepared")
    page.ask("new Promise(done => setTimeout(done, 100))")
    assert "Press Play" in said(page)
    page.ask("document.querySelector('[data-theory]').training.seek(15)")
    wait(page, "view.records.length === 15")
    page.ask("new Promise(done => setTimeout(done, 100))")
    paths = "[...document.querySelectorAll('.theory path, .theory circle')].map(one => one.outerHTML)"
    before = view(page, "view.records"), page.ask(paths), said(page)
    address = page.ask("location.href")
    browser.open("about:blank")
    browser.open(address)
    wait(page, "view.records.length === 15")
    page.ask("new Promise(done => setTimeout(done, 100))")
    assert (view(page, "view.records"), page.ask(paths), said(page)) == before
    assert view(page, "view.link.kind") == "worker"
    assert page.complaints == []
