"""Evidence of the report: numbers as a reader takes them in, intervals drawn where they belong."""

import math
import re
from pathlib import Path

import pytest
from tests.pipeline.test_report import CLAIM, PART, PRINTED

from repdyn.pipeline.report import views
from repdyn.pipeline.report.contents import Contents, Product
from repdyn.pipeline.report.evidence import EDGE, WIDTH, drawing, margin, part, parts
from repdyn.pipeline.report.notes import Notes


def contents(*parts, products=(), run="mine"):
    """A run of one claim with these rows of evidence."""
    manifest = {"configuration": {"run": {"name": run}}, "content": {}}
    return Contents([CLAIM], {CLAIM["id"]: list(parts)}, manifest, list(products), {}, Path())


def widths(row, kind):
    """Widths of the drawn rectangles of a class."""
    return [float(width) for width in re.findall(rf'class="{kind}"[^>]* width="([\d.]+)"', drawing(PART | row))]


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
    [
        ("1e+300", "exact"),
        ("1e-300", "none"),
        ("2.16749", "2.17"),
        ("999.6", "1000"),
        ("1234", "1.23 × 103"),
        ("225180", "2.25 × 105"),
        ("", ""),
    ],
)
def test_margins(text, words):
    assert margin(text).striptags() == words


@pytest.mark.parametrize(
    ("expected", "asked"),
    [("0", "equal to 0"), ("-0.5", "equal to −0.5"), ("0.5 or more", "0.5 or more"), ("two", "two"), ("", "")],
)
def test_a_number_alone_is_not_what_is_asked(expected, asked):
    assert part(PART | {"expected": expected}).asked == asked


def test_a_control_of_several_rows_is_told_once():
    rows = [PART | {"part": name} for name in ("tanh", "swish")] + [PART | {"part": "relu", "control_margin": "77"}]
    assert [bool(item.control) for item in parts(rows, PART["form"])] == [False, True, True]


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


def test_region_and_interval_are_drawn_from_end_to_end():
    """By hand: the axis goes from 2 - 0.15 to 3 + 0.15, on 180 of 200 pixels."""
    assert 'viewBox="0 0 200 24"' in drawing(PART)
    assert places({}, "region") == [30.8]
    scale = (WIDTH - 2 * EDGE) / 1.3
    assert places({}, "region") == pytest.approx([EDGE + 0.15 * scale], abs=0.06)
    assert widths({}, "region") == pytest.approx([scale], abs=0.06)
    assert places({}, "bound") == pytest.approx([EDGE + 0.15 * scale, EDGE + 1.15 * scale], abs=0.06)
    assert places({}, "interval") == pytest.approx([EDGE + 0.4 * scale], abs=0.06)
    assert widths({}, "interval") == pytest.approx([scale / 2], abs=0.06)


def test_what_has_no_width_is_drawn_as_a_thin_bar():
    exact = {"region_low": "2.5", "region_high": "2.5", "interval_low": "2.5", "interval_high": "2.5"}
    assert widths(exact, "region") == widths(exact, "interval") == [1.5]
    assert places(exact, "value") == [WIDTH / 2]


@pytest.mark.parametrize("largest", [48, 52])
def test_from_a_ratio_of_fifty_on_the_axis_is_logarithmic(largest):
    """A value in the middle of its region is drawn there on a linear axis alone."""
    none = {"interval_low": "", "interval_high": ""}
    row = none | {"region_low": "1", "region_high": str(largest), "value": str((1 + largest) / 2)}
    assert (places(row, "value") == [WIDTH / 2]) is (largest < 50)
    assert places(row | {"value": str(largest**0.5)}, "value")[0] <= WIDTH / 2
    assert (places(row | {"value": str(largest**0.5)}, "value") == [WIDTH / 2]) is (largest > 50)


def test_a_logarithmic_axis_leaves_a_factor_of_three_at_both_ends():
    row = {"region_low": "1", "region_high": "100", "value": "10", "interval_low": "1", "interval_high": "1"}
    third = math.log(3) / math.log(900) * (WIDTH - 2 * EDGE)
    assert places(row, "bound") == pytest.approx([EDGE + third, WIDTH - EDGE - third], abs=0.06)


def test_an_interval_without_an_estimate_has_its_dot_in_the_middle():
    assert places({"value": ""}, "value") == [WIDTH / 2]
    assert places({"value": "", "interval_high": "2.5"}, "value")[0] < WIDTH / 2


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


@pytest.mark.parametrize(
    ("low", "high", "crosses"),
    [
        *(("1.5", "2.5", True), ("2.5", "3.5", True), ("3", "3.5", True), ("1", "2", True), ("1.5", "3.5", True)),
        *(("2.1", "2.9", False), ("3.1", "3.5", False), ("1.5", "1.9", False), ("", "3.5", False), ("1.5", "", False)),
    ],
)
def test_an_interval_crosses_a_border_that_lies_in_it(low, high, crosses):
    """The region is from 2 to 3; without a number at the other end there is no interval."""
    assert part(PART | {"interval_low": low, "interval_high": high}).crosses is crosses


def test_the_drawing_has_words():
    assert 'aria-label="measured: 2.5 rad, 99.9 % interval [2.25, 2.75]; required: 2 to 3; passes"' in drawing(PART)


# A claim in short

OPEN = {"verdict": "not decidable at this scale", "note": ""}


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        ("holds as corrected", "As printed it fails its check; the correct form passes its check."),
        ("does not hold", "It fails its check, and no small correction repairs it. Data for which the claim is true"),
        ("not testable", "No finite computation decides it."),
    ],
)
def test_a_claim_in_short(verdict, sentence):
    printed, corrected = parts([PRINTED], "printed"), parts([PART], "corrected")
    assert views.short({"verdict": verdict}, printed, corrected).startswith(sentence)


def test_only_a_correction_makes_a_claim_a_corrected_one():
    """Whatever else its row says, its datasets too."""
    run = contents(PRINTED, PART)
    assert views.claim(CLAIM, run, Notes())["corrected"] == CLAIM["correction"]
    assert not views.claim(CLAIM | {"correction": ""}, run, Notes())["corrected"]
    assert views.claim(CLAIM | {"datasets": ""}, run, Notes())["corrected"]


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        (["passes"], "The statement passes its check."),
        (["passes"] * 2, "The statement passes both parts."),
        (["passes"] * 3, "The statement passes all 3 parts."),
    ],
)
def test_parts_that_pass_are_counted(outcomes, sentence):
    passed = parts([PART | {"part": str(place), "control": ""} for place, _ in enumerate(outcomes)], "corrected")
    assert views.short({"verdict": "holds"}, passed, []) == sentence


def outcomes_of(form, outcomes, *controls):
    """Rows of a form, and the outcomes of the controls of the first of them."""
    rows = [PART | {"form": form, "part": f"{form} {place}", "outcome": one} for place, one in enumerate(outcomes)]
    told = [{"control": f"control {place}", "control_outcome": one} for place, one in enumerate(controls)]
    return [row | said for row, said in zip(rows, [*told, *[{"control": ""}] * len(rows)], strict=False)]


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (["rejected"] * 3, "All 3 negative controls were rejected."),
        (["rejected", "not rejected", "rejected"], "2 of 3 negative controls were rejected."),
        (["undecided", "not rejected", "undecided"], "0 of 3 negative controls were rejected."),
        (["not rejected"], "Its negative control was not rejected."),
        ([], ""),
    ],
)
def test_of_a_corrected_claim_each_form_has_its_own_count_and_the_controls_are_the_correct_ones(outcomes, words):
    """Of the printed form three of four parts fail, the correct one has three; the printed controls are no matter."""
    printed = outcomes_of("printed", ["fails", "passes", "fails", "fails"], "undecided", "rejected")
    correct = outcomes_of("corrected", ["passes"] * 3, *outcomes)
    correct = [row | {"tolerance_reason": f"reason {place // 2}"} for place, row in enumerate(correct)]
    shown = views.claim(CLAIM | {"verdict": "holds as corrected", "control": ""}, contents(*printed, *correct), Notes())
    told = "As printed it fails 3 of 4 parts of its check; the correct form passes all 3 parts."
    assert shown["short"] == f"{told} {words}".strip()
    assert shown["checked"] == words
    assert shown["reasons"] == [("reason 0", "corrected 0, corrected 1"), ("reason 1", "corrected 2")]
    assert [part.name for part in shown["printed_parts"]] == [f"printed {place}" for place in range(4)]
    assert [part.name for part in shown["corrected_parts"]] == [f"corrected {place}" for place in range(3)]


def test_of_three_controls_of_a_claim_that_does_not_hold_those_that_accept_are_counted():
    for accepted, words in ((3, "accepted in 3 of 3"), (2, "accepted in 2 of 3"), (0, "not accepted in 0 of 3")):
        rows = outcomes_of("printed", ["fails", "passes", "fails"], *["rejected"] * accepted, *["undecided"] * 3)
        told = views.short({"verdict": "does not hold"}, parts(rows, "printed"), [])
        assert told == (
            "It fails 2 of 3 parts of its check, and no small correction repairs it. "
            f"Data for which the claim is true were {words} controls."
        )


def test_terms_and_open_parts_are_those_of_both_forms_or_of_the_correct_one():
    """The control of the printed form is of a kind that the correct one has not, which alone has an interval."""
    none = {"interval_low": "", "interval_high": "", "measured": "2", "margin": ""}
    printed = [row | none | {"control_kind": "knock-out"} for row in outcomes_of("printed", ["fails"], "rejected")]
    correct = outcomes_of("corrected", ["undecided", "passes", "undecided"], "rejected")
    correct = [row | {"interval_low": "1.5", "control_kind": "false world"} for row in correct]
    shown = views.claim(CLAIM | OPEN | {"control": ""}, contents(*printed, *correct), Notes())
    assert shown["explained"] == ["margin", "control", "false-world", "knock-out", "interval"]
    assert shown["short"] == (
        "2 of 3 parts stay undecided: their intervals cross the border of what is allowed. "
        "Its negative control was rejected."
    )


def test_parts_that_fail_are_counted():
    rows = [PRINTED | {"part": str(place), "outcome": outcome} for place, outcome in enumerate(["fails", "passes"])]
    sentence = views.short({"verdict": "does not hold"}, parts(rows, "printed"), [])
    assert sentence == "It fails 1 of 2 parts of its check, and no small correction repairs it."


@pytest.mark.parametrize(
    ("verdict", "outcomes", "sentence"),
    [
        ("holds", ["rejected"], "Its negative control was rejected."),
        ("holds", ["undecided"], "Its negative control was undecided."),
        ("holds", ["rejected", "rejected"], "Both negative controls were rejected."),
        ("holds", ["rejected", "undecided"], "1 of 2 negative controls were rejected."),
        ("does not hold", ["rejected"], "Data for which the claim is true were accepted."),
        ("does not hold", ["undecided"], "Data for which the claim is true were not accepted."),
        (
            "does not hold",
            ["rejected", "undecided"],
            "Data for which the claim is true were accepted in 1 of 2 controls.",
        ),
    ],
)
def test_controls_are_counted(verdict, outcomes, sentence):
    rows = [PART | {"control": str(place), "control_outcome": outcome} for place, outcome in enumerate(outcomes)]
    assert sentence in views.short({"verdict": verdict}, parts(rows, "corrected"), [])


def test_a_reason_is_told_with_its_parts_only_where_there_are_several():
    rows = [PART | {"part": name} for name in ("left", "right")]
    assert views.claim(CLAIM, contents(*rows), Notes())["reasons"] == [("half a unit", "")]
    rows += [PART | {"part": "sum", "tolerance_reason": "a whole one"}, PART | {"part": "rest", "tolerance_reason": ""}]
    reasons = [("half a unit", "left, right"), ("a whole one", "sum")]
    assert views.claim(CLAIM, contents(*rows), Notes())["reasons"] == reasons


@pytest.mark.parametrize(
    ("n", "rate", "sentence"),
    [
        (
            "24",
            "0.001",
            "n = 24 independent samples, chance to refute a true statement 0.001; "
            "number and chance were fixed beforehand.",
        ),
        ("24", "0", "n = 24 independent samples; a number fixed beforehand."),
        ("24", "", "n = 24 independent samples; a number fixed beforehand."),
        ("0", "0.001", ""),
        ("", "", ""),
    ],
)
def test_samples_are_told_where_there_are_any(n, rate, sentence):
    assert views.claim(CLAIM | {"n": n, "false_alarm": rate}, contents(PART), Notes())["samples"] == sentence


@pytest.mark.parametrize(
    ("run", "scale"), [("mine", ""), ("default", ""), ("smoke", " --configfile workflow/scales/smoke.yaml --")]
)
def test_a_claims_command_names_the_scale_of_its_run(run, scale):
    command = views.claim(CLAIM, contents(PART, run=run), Notes())["command"]
    assert command == f"snakemake --cores 1{scale} results/{run}/x_study/claims.csv"


def test_of_a_forms_parts_the_one_that_decides_is_shown():
    interval = PART | {"form": "printed", "outcome": "undecided"}
    largest = PRINTED | {"outcome": "passes", "measured": "largest 7"}
    view = views.study("x_study", "X", None, contents(largest, interval, PRINTED, PART), Notes(), {})
    fails, undecided = "largest deviation 3, required: at most 10−9", "2.5 rad, required: 2 to 3"
    assert view["first_failure"](CLAIM).striptags() == fails
    assert view["corrected_numbers"](CLAIM).striptags() == undecided
    view = views.study("x_study", "X", None, contents(largest, interval), Notes(), {})
    assert view["first_failure"](CLAIM).striptags() == undecided
    assert view["corrected_numbers"](CLAIM) == "nothing"
    view = views.study("x_study", "X", None, contents(largest | {"region_low": "", "region_high": ""}), Notes(), {})
    assert view["first_failure"](CLAIM).striptags() == "largest 7"


def test_a_reading_is_no_part_that_decides_a_form():
    """One of many readings may fail where the part passes."""
    reading = PRINTED | {"reading": "window: first half", "outcome": "fails", "measured": "largest 9"}
    passing = PRINTED | {"outcome": "passes", "measured": "largest 7", "region_low": "", "region_high": ""}
    view = views.study("x_study", "X", None, contents(reading, passing), Notes(), {})
    assert view["first_failure"](CLAIM).striptags() == "largest 7"


@pytest.mark.parametrize(
    ("verdicts", "sentence"),
    [
        ({"holds": 2, "does not hold": 1}, "2 hold as printed, 0 hold once corrected, 1 does not hold"),
        ({"holds as corrected": 1, "does not hold": 2}, "0 hold as printed, 1 hold once corrected, 2 do not hold"),
        ({"holds": 1, "not testable": 3}, "1 hold as printed, 0 hold once corrected, 0 do not hold, 3 stay open"),
    ],
)
def test_verdicts_in_one_sentence(verdicts, sentence):
    assert views.tally([{"verdict": verdict} for verdict, count in verdicts.items() for _ in range(count)]) == sentence


def test_no_undecided_part_means_that_the_run_does_not_decide():
    whole = parts([PART | {"control": ""}], "corrected")
    assert views.short(OPEN, whole, []) == "This run does not decide it."
    assert views.short(OPEN | {"note": "Six networks."}, whole, []) == "This run does not decide it. The note says why."


def test_undecided_parts_are_counted_and_an_interval_inside_is_not_said_to_cross():
    undecided = PART | {"outcome": "undecided", "control": ""}
    crossing, passing = undecided | {"interval_low": "1.5"}, PART | {"control": ""}
    assert [views.short(OPEN, parts(rows, "corrected"), []) for rows in ([crossing, passing], [crossing])] == [
        "1 of 2 parts stay undecided: their intervals cross the border of what is allowed.",
        "It stays undecided: the interval crosses the border of what is allowed.",
    ]
    inside = views.short(OPEN | {"note": "Ten classes."}, parts([undecided, passing], "corrected"), [])
    assert inside == "1 of 2 parts stay undecided. The note says why."
    alone = views.short(OPEN | {"note": "Ten classes."}, parts([undecided], "corrected"), [])
    assert alone == "Its one part stays undecided. The note says why."


def figure(name, datasets, title="Numbers"):
    study = CLAIM["study"]
    return Product(study, "figures", name, title, "", "", datasets, (), name, Path(), (4, 3), (), (), "", "", "")


def test_the_figure_that_shows_a_claim_leads_its_page():
    """Not an overview of many claims, unless a person chose it; of its own place first, then that of fewest claims."""
    rows = [CLAIM | {"id": f"x-{place}", "datasets": "audit loss" if place < 2 else "audit"} for place in range(14)]
    overview, both, own = figure("overview", ("audit",)), figure("both", ("loss", "audit")), figure("own", ("loss",))
    manifest = {"configuration": {"run": {"name": "mine"}}, "content": {}}
    evidence = {row["id"]: [] for row in rows}

    def led(row, figures, chosen=None):
        view = views.claim(row, Contents(rows, evidence, manifest, figures, {}, Path()), Notes(), chosen)
        return view["leading"], view["figures"]

    assert led(rows[0], [overview, both, own]) == (own, [overview, both])
    assert led(rows[5], [overview, own]) == (None, [overview])
    assert led(rows[5], [overview, own], overview) == (overview, [])
    numbered = figure("numbered", ("loss",), "Figure 3: losses")
    assert led(rows[0] | {"where": "Figure 3"}, [own, numbered])[0] == numbered
