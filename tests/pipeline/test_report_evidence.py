"""Evidence of the report: numbers as a reader takes them in, intervals drawn where they belong."""

import re
from pathlib import Path

import pytest
from tests.pipeline.test_report import CLAIM, PART, PRINTED

from repdyn.pipeline.report import views
from repdyn.pipeline.report.contents import Contents
from repdyn.pipeline.report.evidence import EDGE, WIDTH, drawing, margin, part, parts
from repdyn.pipeline.report.notes import Notes


def places(row, kind):
    """Left ends or centers of the drawn elements of a class."""
    return [float(place) for place in re.findall(rf'class="{kind}"[^>]* (?:x|cx|x1)="([-\d.]+)"', drawing(PART | row))]


@pytest.mark.parametrize(
    ("text", "number", "qualifier"),
    [
        ("largest deviation 5.27e-16 rad", "5.27 × 10−16 rad", "largest deviation"),
        ("largest -0.5", "−0.5", "largest"),
        ("smallest 2.167", "2.167", "smallest"),
        ("1.012 rad, 99.9 % interval [0.46, 1.5]", "1.012 rad", "99.9 % interval 0.46 to 1.5"),
        ("99 % interval [0.1, 0.2] rad", "0.1 to 0.2 rad", "99 % interval"),
        ("3 of 24 entries differ", "3 of 24 entries differ", ""),
    ],
)
def test_a_measured_number_is_told_apart_from_which_one_it_is(text, number, qualifier):
    shown = part(PART | {"measured": text})
    assert shown.measured.striptags() == number
    assert shown.qualifier.striptags() == qualifier


@pytest.mark.parametrize(
    ("low", "high", "measured", "words"),
    [
        ("0", "1e-09", "largest deviation 0", "at most 10−9"),
        ("-inf", "2", "largest 1", "at most 2"),
        ("0.5", "inf", "smallest 1", "at least 0.5"),
        ("-1", "1.5", "0.3", "−1 to 1.5"),
        ("", "", "0.3", ""),
    ],
)
def test_the_region_in_words(low, high, measured, words):
    row = PART | {"region_low": low, "region_high": high, "measured": measured}
    assert part(row).required.striptags() == words


def test_the_size_of_a_tolerance_is_not_said_twice():
    assert part(PART).reason == "half a unit"


@pytest.mark.parametrize(
    ("text", "words"),
    [("1e+300", "exact"), ("1e-300", "none"), ("2.16749", "2.17"), ("225180", "2.25 × 105"), ("", "")],
)
def test_margins(text, words):
    assert margin(text).striptags() == words


def test_a_control_of_several_rows_is_told_once():
    rows = [PART | {"part": name} for name in ("tanh", "swish")] + [PART | {"part": "relu", "control_margin": "77"}]
    assert [bool(one.control) for one in parts(rows, PART["form"])] == [False, True, True]


def test_forms_are_apart_and_controls_belong_to_their_part():
    (printed,), (corrected,) = (parts([PRINTED, PART], form) for form in ("printed", "corrected"))
    assert (printed.outcome, printed.control) == ("fails", None)
    assert (corrected.control["outcome"], corrected.control["kind"]) == ("rejected", "wrong formula")


# Drawing


def test_a_value_in_the_middle_of_its_region_is_drawn_there():
    (value,) = places({}, "value")
    (region,) = places({}, "region")
    (interval,) = places({}, "interval")
    assert value == pytest.approx(WIDTH / 2, abs=0.1)
    assert 0 < region < interval < value


@pytest.mark.parametrize("unit", [0.01, 100])
def test_a_drawing_is_the_same_in_another_unit(unit):
    names = ("value", "interval_low", "interval_high", "region_low", "region_high")
    row = {name: str(float(PART[name]) * unit) for name in names}
    for kind in ("value", "interval", "region", "bound"):
        assert places(row, kind) == pytest.approx(places({}, kind), abs=0.11), kind


def test_a_value_outside_is_drawn_outside():
    (value,) = places({"value": "9", "interval_low": "8.9", "interval_high": "9.1"}, "value")
    assert value > max(places({"value": "9", "interval_low": "8.9", "interval_high": "9.1"}, "bound"))


def test_numbers_far_apart_are_drawn_on_a_logarithmic_axis():
    """Thirteen decades: linear, the tolerance and the deviation would fall together at one end."""
    row = {"value": "1e-16", "region_low": "0", "region_high": "1e-3", "interval_low": "", "interval_high": ""}
    row |= {"measured": "largest deviation 1e-16"}
    (value,), (bound,) = places(row, "value"), places(row, "bound")
    assert value < EDGE + 0.1 * WIDTH
    assert bound > WIDTH - EDGE - 0.1 * WIDTH
    assert places(row, "region") == [0.0]  # a size has no bound below


def test_a_region_without_a_bound_reaches_the_edge():
    assert places({"region_high": "inf"}, "bound") == [places({"region_high": "inf"}, "region")[0]]


def test_a_published_number_outside_of_the_interval_is_drawn_outside():
    """A published number is held against the prediction interval of our own, which is the region too."""
    row = {"value": "15", "interval_low": "3", "interval_high": "5", "region_low": "3", "region_high": "5"}
    assert places(row, "value")[0] > max(places(row, "bound"))
    assert "3 to 5" in part(PART | row).required.striptags()


def test_nothing_is_drawn_without_a_number_or_a_bound():
    nothing = dict.fromkeys(("value", "interval_low", "interval_high"), "")
    assert drawing(PART | nothing) == ""
    assert drawing(PART | {"region_low": "-inf", "region_high": "inf"}) == ""


def test_the_drawing_has_words():
    assert 'aria-label="measured: 2.5 rad, 99.9 % interval [2.25, 2.75]; required: 2 to 3; passes"' in drawing(PART)


# A claim in short


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        ("holds as corrected", "As printed it fails its check; the correct form passes its check."),
        ("does not hold", "It fails its check, and no small correction repairs it. Its control, a world in which"),
        ("not testable", "No finite computation decides it."),
    ],
)
def test_a_claim_in_short(verdict, told):
    printed, corrected = parts([PRINTED], "printed"), parts([PART], "corrected")
    assert views.short({"verdict": verdict}, printed, corrected).startswith(told)


def test_only_a_correction_makes_a_claim_a_corrected_one():
    """Whatever else its row says, its datasets too."""
    manifest = {"configuration": {"run": {"name": "mine"}}, "content": {}}
    run = Contents([], {CLAIM["id"]: [PRINTED, PART]}, manifest, [], {}, Path())
    assert views.claim(CLAIM, run, Notes())["corrected"] == CLAIM["correction"]
    assert not views.claim(CLAIM | {"correction": ""}, run, Notes())["corrected"]
    assert views.claim(CLAIM | {"datasets": ""}, run, Notes())["corrected"]


def test_undecided_parts_are_counted():
    undecided = parts([PART | {"outcome": "undecided", "control": ""}, PART | {"control": ""}], "corrected")
    told = views.short({"verdict": "not decidable at this scale"}, undecided, [])
    assert told == "1 of 2 parts stay undecided: the interval crosses the border of what is allowed."
