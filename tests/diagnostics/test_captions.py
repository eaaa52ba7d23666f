"""Sentences of captions that depend on what was measured: there where they should be, and not elsewhere."""

import numpy as np
import pytest
import xarray as xr
from tests.diagnostics.test_figures import dataset
from tests.diagnostics.test_figures_depth import measured
from tests.diagnostics.test_figures_of_similarity import compared

from repdyn.diagnostics.figures.depth import draw_depth
from repdyn.diagnostics.figures.pairs import draw_pairs
from repdyn.diagnostics.figures.similarity import draw_similarity
from repdyn.diagnostics.figures.stream import draw_stream
from repdyn.diagnostics.figures.training import draw_training


@pytest.mark.parametrize(("without", "told"), [((), True), (("nc1", "equiangle"), False), (("sectors",), False)])
def test_classes_are_told_of_where_they_were_measured(without, told):
    caption = draw_depth(measured().drop_vars(without)).repdyn["caption"]
    assert ("(e) $\\operatorname{Tr}" in caption) is told
    assert ("band: range of the classes." in caption) is told
    assert "dashed: the fixed point with one odd point" in caption


@pytest.mark.parametrize("steps", [True, False])
def test_two_moments_are_before_and_after_training(steps):
    words = draw_depth(measured(steps=steps)).repdyn
    assert words["alt"].endswith("layers of a network, before and after training." if steps else "layers of a network.")


def test_captions_name_the_numbers_of_the_measurement():
    caption = draw_depth(measured()).repdyn["caption"]
    assert caption.startswith("Made up: 9 points, normalized by batch statistics; means over 3 seeds, bands")
    assert "$\\gamma$ = 0.001 $\\|K\\|$" in caption
    assert "; means over" not in draw_depth(measured(seeds=False)).repdyn["caption"]
    assert "$\\gamma$ = 0.001." in draw_stream(measured()).repdyn["caption"]


def test_a_network_without_stream_and_normalized_layers_has_no_such_figure():
    with pytest.raises(ValueError, match="no residual stream and no normalized layers; name `residual` when measuring"):
        draw_stream(measured().drop_vars(["kinetic_energy", "radial_fraction"]))
    assert len(draw_stream(measured().drop_vars("kinetic_energy")).axes) == 1


ENERGIES, RADIAL = (
    ("Energies in the norm of $K + \\gamma \\|K\\| I$", "energies"),
    ("Radial gradient fraction", "radial"),
)


@pytest.mark.parametrize(
    ("without", "told", "silent"), [("kinetic_energy", RADIAL, ENERGIES), ("radial_fraction", ENERGIES, RADIAL)]
)
def test_along_the_stream_only_what_is_drawn_is_told_of(without, told, silent):
    both, one = (draw_stream(data).repdyn for data in (measured(), measured().drop_vars(without)))
    for place, (word, other) in zip(("caption", "alt"), zip(told, silent, strict=True), strict=True):
        assert word.lower() in one[place].lower()
        assert word.lower() in both[place].lower()
        assert other.lower() in both[place].lower()
        assert other.lower() not in one[place].lower()


@pytest.mark.parametrize("draw", [draw_depth, draw_stream, draw_training])
def test_every_caption_says_of_how_many_seeds_lines_are_means(draw):
    assert "; means over 3 seeds" in draw(measured()).repdyn["caption"]
    assert "seed" not in draw(measured(seeds=False)).repdyn["caption"]


@pytest.mark.parametrize(
    ("draw", "words"), [(draw_depth, "band: rank of the targets"), (draw_training, "rank of the task")]
)
def test_the_rank_of_the_targets_is_told_of_where_there_are_targets(draw, words):
    assert words in draw(measured()).repdyn["caption"]
    assert words not in draw(measured().drop_vars(["task_rank", "centered_task_rank"])).repdyn["caption"]


def test_a_theory_without_a_fixed_point_is_not_told_of_as_a_line():
    data = measured()
    data["expected_norm_ratio"] = ((), np.nan)
    assert "odd point" not in draw_depth(data).repdyn["caption"]


def test_collapse_is_seen_where_it_was_measured():
    assert "cost of identity and collapse per layer" in draw_training(measured()).repdyn["alt"]
    assert "Lines of rank and cost of identity per layer" in draw_training(measured().drop_vars("nc1")).repdyn["alt"]


@pytest.mark.parametrize("runs", [True, False])
def test_the_band_of_chance_is_told_of_where_there_are_runs(runs):
    caption = draw_similarity(compared("cka", runs=runs), "cka").repdyn["caption"]
    assert ("(b) The same layer in both networks; band: range over pairs of runs" in caption) is runs


def test_a_similarity_that_was_not_compared_is_told_with_those_there_are():
    with pytest.raises(ValueError, match=r"no similarity 'procrustes' in this dataset; give one of cka$"):
        draw_similarity(compared("cka", runs=False), "procrustes")


@pytest.mark.parametrize("seeds", [True, False])
def test_pairs_of_several_seeds_are_those_of_the_first(seeds):
    fitted, recorded = dataset("two_points"), dataset("convolutional_network")
    caption = draw_pairs(recorded, fitted if seeds else fitted.isel(seed=0, drop=True)).repdyn["caption"]
    assert (" of pairs of the first seed, from the best" in caption) is seeds
    assert (" of pairs, from the best" in caption) is not seeds
    assert ("of all pairs and seeds, bars: medians" in caption) is seeds
    assert f"in layer {fitted.attrs['layer']}, " in caption
    assert caption.startswith(recorded.attrs["title"])


@pytest.mark.parametrize("loss", [True, False])
def test_the_last_panel_is_told_of_where_it_is_of_the_loss(loss):
    recorded = dataset("convolutional_network")
    figure = draw_training(recorded if loss else recorded.drop_vars("loss"))
    caption = figure.repdyn["caption"]
    assert f"measured at {recorded.sizes['step']} moments" in caption
    assert (f" Last panel: loss, {recorded['loss'].attrs['long_name']}." in caption) is loss
    assert "in color the 3 whose measures change most" in caption
    assert sum(panel.get_visible() for panel in figure.axes) == 3 + loss


def test_of_two_layers_both_change_most():
    recorded = dataset("convolutional_network")
    two = recorded.isel(layer=slice(0, 2))
    figure = draw_training(two)
    assert "in color the 2 whose measures" in figure.repdyn["caption"]
    names = set(two["layer"].values)
    assert figure.repdyn["title"] in {f"Training changes {a} and {b} most" for a in names for b in names - {a}}
    assert not any("other" in text.get_text() for text in figure.legends[0].get_texts())


def test_one_moment_is_no_training():
    with pytest.raises(ValueError, match="one moment only"):
        draw_training(xr.Dataset({"effective_rank": ("layer", np.ones(2))}))
