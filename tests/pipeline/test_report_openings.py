"""The animation that opens the first page: numbers of the dataset, none without it, what a browser draws of them."""

import json
import re
import shutil

import numpy as np
import pytest
import xarray as xr
from tests.pipeline.test_report import CLAIM, EVIDENCE, make_run
from tests.pipeline.test_report_contents import run

from repdyn.base.datasets import REQUIRED
from repdyn.base.declarations import Opening
from repdyn.base.streams import Stream
from repdyn.pipeline import studies
from repdyn.pipeline.report import openings
from repdyn.pipeline.report.build import Checkout, build
from repdyn.pipeline.report.openings import DIGITS, MOST
from repdyn.truncation_flow.experiments.cluster_flow import printed_and_corrected
from repdyn.truncation_flow.settings import PrintedAndCorrected

OPENED = {name: study.opening for name, study in studies.declared().items() if study.opening}
STUDY = "truncation_flow"
FILE = f"{STUDY}/data/{OPENED[STUDY].dataset}.nc"
RAN = CLAIM | {"id": OPENED[STUDY].claim, "study": STUDY, "where": "Theorem 3.2", "datasets": OPENED[STUDY].dataset}
STATE = "document.querySelector('.opening').opening"


def flows(samples=401):
    data = printed_and_corrected(
        PrintedAndCorrected(horizon=20.0, samples=samples, step=0.1, clusters=2, points=3), Stream(1)
    )
    return data.assign_attrs(dict.fromkeys(REQUIRED, "x") | {"settings": "{}"})


def reported(root, data, claims=(CLAIM, RAN), cards=""):
    """The report of a run that holds a dataset, or none; with cards of findings."""
    if data is not None:
        (root / FILE).parent.mkdir(parents=True)
        data.to_netcdf(root / FILE)
    files = make_run(root, list(claims), parts=EVIDENCE)
    own = root.parent / "own"  # a study with no more than its animation
    own.mkdir()
    shutil.copy(studies.files(studies.OPENING)[STUDY], own)
    if cards:
        (own / "decided").mkdir()
        (own / studies.FINDINGS).write_text(cards)
    build(root, files, root / "report", Checkout(root, {}, {STUDY: own}))
    return root / "report"


@pytest.fixture(scope="module")
def data():
    return flows()


@pytest.fixture(scope="module")
def report(data, tmp_path_factory):
    return reported(tmp_path_factory.mktemp("results") / "mine", data)


def numbers_of(report):
    text = (report / "assets/openings.js").read_text(encoding="utf-8")
    return json.loads(re.search(r"openings = (.*);\n$", text, re.DOTALL)[1])[STUDY]


def test_numbers_are_those_of_the_dataset(report, data):
    numbers, shown = numbers_of(report), data.sel(example="rise").isel(time=slice(None, None, 2))
    assert len(numbers["time"]) == MOST == shown.sizes["time"]
    assert set(numbers) == set(OPENED[STUDY].shows)
    assert numbers["formula"] == data["formula"].values.tolist()
    for name in set(OPENED[STUDY].shows) - {"formula"}:
        np.testing.assert_allclose(numbers[name], shown[name], rtol=10.0 ** (1 - DIGITS))


def test_the_caption_has_the_measured_costs_and_leads_to_the_claim(report, data):
    page = (report / "index.html").read_text(encoding="utf-8")
    printed, corrected = data["example_cost"].sel(example="rise").isel(time=-1).values
    assert f"goes from 0.125 to {printed:.3f} along the printed flow and to {corrected:.3f} along the corrected" in page
    caption = re.search(r"<figcaption>.*?</figcaption>", page, re.DOTALL)[0]
    assert f'href="claims/{RAN["id"]}.html"' in caption


def test_the_card_of_its_claim_comes_first_and_holds_it(data, tmp_path):
    card = "{}:\n  figure: x_study/fig1\n  show: all\n  verdict: holds\n  headline: h\n  sentence: s\n"
    report = reported(tmp_path / "mine", data, cards="".join(card.format(one["id"]) for one in (CLAIM, RAN)))
    above, *cards = (report / "index.html").read_text(encoding="utf-8").split("<article")
    assert "data-opening" not in above
    assert [f'claims/{RAN["id"]}.html"' in one for one in cards] == [True, False]
    assert ["data-opening" in one for one in cards] == [True, False]


def without_an_image(data):
    return data.drop_vars("example_image")


def diverged(data):
    return data.assign(example_cost=data["example_cost"].where(data["time"] < 1))


@pytest.mark.parametrize("changed", [lambda data: None, without_an_image, diverged])
def test_a_run_without_the_numbers_has_no_animation(data, tmp_path, changed):
    report = reported(tmp_path / "mine", changed(data))
    assert "data-opening" not in (report / "index.html").read_text(encoding="utf-8")
    assert not list((report / "assets").glob("*opening*"))  # neither numbers nor script


def test_a_run_without_the_claim_has_no_animation(data, tmp_path):
    report = reported(tmp_path / "mine", data, claims=[CLAIM])
    assert "data-opening" not in (report / "index.html").read_text(encoding="utf-8")


def test_every_declared_animation_has_its_script_claim_and_dataset():
    for study, opening in OPENED.items():
        assert study in studies.files(studies.OPENING)
        assert any(opening.claim in path.read_text(encoding="utf-8") for path in studies.every("claims/*.py"))
        assert "time" in opening.shows


def test_the_image_is_where_the_cost_says(data):
    distance = ((data["example_image"] - data["example_label"]) ** 2).sum("coordinate")
    np.testing.assert_allclose(distance / 2, data["example_cost"].transpose(*distance.dims), atol=1e-12)


# of made-up studies


def opening(study, shows=("time", "a", "b", "count", "name")):
    return Opening(
        "flow", {"kind": "y"}, shows, f"{study[0]}-1", "{start[a]} to {end[a]}, {end[b]:.1f}", f"Of {study}."
    )


def flow(times=3, **changes):
    """Three variables along time; `a` of three kinds, each ten times the one before."""
    steps = np.arange(times)
    numbers = {"a": (("time", "kind"), (1 + steps[:, None]) / 3 * [1, 10, 100]), "b": ("time", 2.0 * steps)}
    others = {"count": ("time", steps), "name": ("time", [f"t{step}" for step in steps])}
    return xr.Dataset(numbers | others | changes, {"time": 0.5 * steps, "kind": ["x", "y", "z"]})


def test_each_study_with_claim_and_dataset_has_an_animation_of_its_own_numbers(monkeypatch):
    """One of four has no claim in the run, one no dataset."""
    names = ("m_study", "no_claim", "z_study", "other")
    files = [f"{name}/data/flow.nc" for name in names if name != "other"]
    made = run(claims=[{"id": id} for id in ("o-1", "z-1", "m-1")], content=files)
    data = {made.root / file: flow(times) for file, times in zip(files, (3, 4, 2), strict=True)}
    monkeypatch.setattr(openings.datasets, "read", data.get)
    first, second = openings.animations({name: opening(name) for name in names}, made)
    assert (first.study, first.claim["id"], first.label) == ("m_study", "m-1", "Of m_study.")
    assert (second.study, second.claim["id"], second.label) == ("z_study", "z-1", "Of z_study.")
    assert (first.sentence, second.sentence) == ("3.33333 to 10.0, 4.0", "3.33333 to 6.66667, 2.0")
    assert first.numbers == {
        "time": [0.0, 0.5, 1.0],
        "a": [3.33333, 6.66667, 10.0],
        "b": [0.0, 2.0, 4.0],
        "count": [0, 1, 2],
        "name": ["t0", "t1", "t2"],
    }


@pytest.mark.parametrize("times", [1, 200, 201, 202, 1001])
def test_at_most_201_times_are_shown_the_first_and_the_last_among_them(times):
    shown = openings._shown(flow(times), opening("m")).time.values * 2
    assert (len(shown), shown[0], shown[-1]) == (min(times, 201), 0, times - 1)
    assert set(np.diff(shown)) <= {times // 201, times // 201 + 1}


def test_nothing_is_shown_where_one_of_the_variables_is_missing_or_has_no_number_once():
    assert openings._shown(flow().drop_vars("b"), opening("m")) is None
    for number in (np.nan, np.inf):
        assert openings._shown(flow(b=("time", [0.0, number, 1.0])), opening("m")) is None
        assert openings._shown(flow(b=("time", [0.0, number, 1.0])), opening("m", ("time", "a"))) is not None
        other = flow()
        other["a"].loc[{"kind": "x"}] = number  # a kind that is not shown
        assert openings._shown(other, opening("m")) is not None


# in a browser


@pytest.fixture
def page(browser, report):
    browser.call("Emulation.setEmulatedMedia", features=[])
    browser.open("about:blank")
    browser.open((report / "index.html").as_uri())
    return browser


def words(page):
    """The costs that are written beside the curves."""
    return page.ask("[...document.querySelectorAll('.opening svg text[class]')].map(one => one.textContent)")


@pytest.mark.slow
def test_frames_show_the_costs_of_their_times(page, report):
    cost = np.array(numbers_of(report)["example_cost"])
    page.ask("document.querySelector('.opening button').click()")
    for seconds, place in ((0, 0), (9, MOST // 2), (18, MOST - 1), (19.5, MOST - 1)):
        page.ask(f"{STATE}.seek({seconds})")
        assert words(page) == [f"{value:.3f}" for value in cost[:, place]]
    assert page.complaints == []


@pytest.mark.slow
def test_it_plays_pauses_and_begins_again(page):
    moment = f"{STATE}.seconds"
    assert page.ask(f"{STATE}.playing")
    page.ask("document.querySelector('.opening button').click()")
    paused = page.ask(moment)
    page.ask("new Promise(done => setTimeout(done, 300))")
    assert page.ask(moment) == paused
    assert page.ask("document.querySelector('.opening button').textContent") == "Play"
    page.ask(f"{STATE}.seek(19.9)")
    page.ask("document.querySelector('.opening button').click()")
    assert page.ask(moment) < 1


@pytest.mark.slow
def test_readers_who_ask_for_less_motion_see_the_last_frame(browser, report):
    wanted = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    browser.call("Emulation.setEmulatedMedia", features=wanted)
    browser.open("about:blank")
    browser.open((report / "index.html").as_uri())
    assert not browser.ask(f"{STATE}.playing")
    assert words(browser) == [f"{value[-1]:.3f}" for value in numbers_of(report)["example_cost"]]


@pytest.mark.slow
@pytest.mark.parametrize("width", [420, 1280])
def test_it_is_no_wider_than_the_page(page, width):
    page.resize(width, 900)
    assert page.ask("document.documentElement.scrollWidth") <= width
    assert page.ask("document.querySelector('.opening').getBoundingClientRect().right") <= width


@pytest.mark.slow
def test_the_single_file_plays_it_too(browser, report):
    browser.open("about:blank")
    browser.open((report / "single.html").as_uri())
    browser.ask("repdyn.shown")
    assert browser.ask(f"!!{STATE}")
