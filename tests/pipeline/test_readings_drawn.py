"""The specification curve to the pixel: columns, heights, shades, marks and words where the numbers put them."""

import math
import re

import pytest
from tests.pipeline.test_report_readings import reading

from repdyn.pipeline.report.readings import curves

LEFT, TOP, CURVE, LINE, WIDTH, WIDEST = 262, 6, 130, 15, 720, 26
OPEN = {"region_low": "", "region_high": ""}
BARE = OPEN | {"half": 0.0}


def drawn(*rows):
    return str(curves(list(rows))[0].drawing)


def elements(svg, kind, css, *names):
    """Attributes of the elements of a kind and a class, in order."""
    found = []
    for text in re.findall(rf"<{kind} [^>]*>", svg):
        attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', text))
        if attributes.get("class") == css:
            found.append(tuple(float(attributes[name]) for name in names))
    return found


def dots(svg, css="passes"):
    return [(x, y) for x, y, r in elements(svg, "circle", css, "cx", "cy", "r") if r == 3.6]


def height(value, low, high):
    """On an axis from the lowest number to the highest, with eight hundredths of its length beyond both."""
    pad = 0.08 * (high - low)
    return TOP + CURVE * (1 - (value - low + pad) / (high - low + 2 * pad))


def three(**further):
    values = (2.0, 5.0, 10.0)
    return [reading("w", name, value, **(BARE | further)) for name, value in zip("abc", values, strict=True)]


def test_values_stand_on_an_axis_with_a_margin_of_eight_hundredths():
    svg = drawn(*three())
    wanted = [(LEFT + (k + 0.5) * WIDEST, height(value, 2, 10)) for k, value in enumerate((2, 5, 10))]
    for dot, place in zip(dots(svg), wanted, strict=True):
        assert dot == pytest.approx(place, abs=0.06)


def test_many_columns_share_the_width_and_few_are_no_wider_than_26_pixels():
    for count, step in ((4, 26), (17, 26), (18, 458 / 18), (40, 458 / 40)):
        svg = drawn(*(reading("w", f"s{k}", float(k), **BARE) for k in range(count)))
        columns = [x for x, _ in dots(svg)]
        assert columns == pytest.approx([LEFT + (k + 0.5) * step for k in range(count)], abs=0.06)
        assert re.search(r'width="(\d+)"', svg)[1] == f"{LEFT + step * count + 6:.0f}"


def test_the_drawing_is_as_high_as_the_curve_and_a_line_for_each_option():
    svg = drawn(*three())  # one window, three statistics
    bottom = TOP + CURVE + 10
    assert f'viewBox="0 0 {LEFT + 3 * WIDEST + 6} {bottom + 4 * LINE + 4}"' in svg
    labels = re.findall(r'<text class="option" x="(\d+)" y="([\d.]+)">([^<]*)<', svg)
    names = ["window: w", "statistic: a", "statistic: b", "statistic: c"]
    assert labels == [(f"{LEFT - 26}", f"{bottom + (k + 0.5) * LINE + 4:.1f}", name) for k, name in enumerate(names)]


def test_a_reading_is_marked_on_the_lines_of_its_own_options_alone():
    rows = three()
    rows[1]["outcome"] = "fails"
    svg = drawn(*rows)
    line = [TOP + CURVE + 10 + (k + 0.5) * LINE for k in range(4)]
    column = [LEFT + (k + 0.5) * WIDEST for k in range(3)]
    passes = [(x, y) for x, y, r in elements(svg, "circle", "passes", "cx", "cy", "r") if r == 3.2]
    fails = [(x, y) for x, y, r in elements(svg, "circle", "fails", "cx", "cy", "r") if r == 3.2]
    assert sorted(passes) == [(column[0], line[0]), (column[0], line[1]), (column[2], line[0]), (column[2], line[3])]
    assert sorted(fails) == [(column[1], line[0]), (column[1], line[2])]
    others = elements(svg, "circle", "open", "cx", "cy", "r")
    assert sorted(others) == sorted((column[k], line[1 + j], 1.2) for k in range(3) for j in range(3) if j != k)


def test_ticks_are_the_lowest_and_the_highest_number_left_of_the_columns():
    svg = drawn(*three())
    ticks = re.findall(r'<text class="tick" x="([\d.]+)" y="([\d.]+)">([^<]*)<', svg)
    assert ticks == [(f"{LEFT - 6}", f"{height(value, 2, 10) + 4:.1f}", f"{value}") for value in (2, 10)]


def test_the_required_region_is_shaded_across_each_column():
    svg = drawn(*three(region_low="4", region_high="6"))
    shades = elements(svg, "rect", "region", "x", "y", "width", "height")
    top, bottom = height(6, 2, 10), height(4, 2, 10)
    for k, shade in enumerate(shades):
        assert shade == pytest.approx((LEFT + k * WIDEST, top, WIDEST, bottom - top), abs=0.06)
    assert len(shades) == 3
    thin = elements(drawn(*three(region_low="5", region_high="5")), "rect", "region", "height")
    assert thin == [(1.0,)] * 3


@pytest.mark.parametrize(("low", "high"), [("-inf", "6"), ("4", "inf"), ("", "6"), ("4", "")])
def test_a_region_without_a_bound_reaches_the_end_and_one_that_is_none_is_not_shaded(low, high):
    shades = elements(drawn(*three(region_low=low, region_high=high)), "rect", "region", "y", "height")
    if "" in (low, high):
        assert shades == []
        return
    top = TOP if high == "inf" else height(6, 2, 10)
    bottom = TOP + CURVE if low == "-inf" else height(4, 2, 10)
    assert shades[0] == pytest.approx((top, bottom - top), abs=0.11)


def test_intervals_are_lines_from_end_to_end_that_count_for_the_axis():
    rows = [reading("w", name, value, half=1.0, **OPEN) for name, value in (("a", 2.0), ("b", 5.0))]
    lines = elements(drawn(*rows), "line", "passes", "x1", "x2", "y1", "y2")
    for k, (value, line) in enumerate(zip((2, 5), lines, strict=True)):
        x = LEFT + (k + 0.5) * WIDEST
        assert line == pytest.approx((x, x, height(value - 1, 1, 6), height(value + 1, 1, 6)), abs=0.06)


def test_a_reading_without_an_estimate_is_sorted_and_drawn_in_the_middle_of_its_interval():
    """3 lies between 2 and 5; its interval reaches from 1 to 5."""
    middle = reading("w", "m", 9.0, **BARE) | {"value": "", "interval_low": "1", "interval_high": "5", "measured": "m"}
    (curve,) = curves([*three(), middle])
    assert [words.striptags() for words, *_ in curve.rows] == [f"window: w; statistic: {name}" for name in "ambc"]
    assert dots(str(curve.drawing))[1][1] == pytest.approx(height(3, 1, 10), abs=0.06)


def test_numbers_more_than_a_factor_of_fifty_apart_have_a_logarithmic_axis():
    for largest, is_logarithmic in ((49.0, False), (51.0, True)):
        svg = drawn(*(reading("w", name, value, **BARE) for name, value in (("a", 1.0), ("b", 7.0), ("c", largest))))
        scale = math.log if is_logarithmic else float
        assert dots(svg)[1][1] == pytest.approx(height(scale(7.0), scale(1.0), scale(largest)), abs=0.06)
    svg = drawn(*(reading("w", name, value, **BARE) for name, value in (("a", 0.0), ("b", 30.0), ("c", 1000.0))))
    assert dots(svg)[1][1] == pytest.approx(height(30, 0, 1000), abs=0.06), "0 has no logarithm"


def test_the_words_of_the_drawing_tell_the_first_and_the_last_reading():
    rows = three()
    rows[2]["outcome"] = "fails"
    label = re.search(r'aria-label="([^"]*)"', drawn(*rows[::-1]))[1]
    assert label == (
        "3 readings, sorted by what was measured; required region shaded; "
        "window: w; statistic: a: 2.0 passes, window: w; statistic: c: 10.0 fails"
    )


def test_long_options_are_cut_to_24_letters():
    rows = [reading("w", name, 1.0, **BARE) for name in ("a" * 24, "b" * 25)]
    assert re.findall(r">statistic: ([^<]*)<", drawn(*rows)) == ["a" * 24, "b" * 23 + "…"]


def test_outcomes_are_counted_in_words_in_the_order_passes_fails_undecided_depends():
    rows = [reading("w", f"s{k}", float(k), **BARE) for k in range(6)]
    for row, outcome in zip(rows, ("undecided", "depends", "fails", "passes", "fails", "passes"), strict=True):
        row["outcome"] = outcome
    assert curves(rows)[0].counts == "6 readings: 2 pass, 2 fail, 1 stay undecided, 1 depend on more"
