"""Beside each figure of a paper stands what the paper publishes of it: its numbers, its words, or that it has none."""

import re

import pytest
from tests.drawn import makers
from tests.titled import SHAPES, drawn, made_up

NUMBERED = {(study, name) for study in SHAPES for name in makers(study, "figures") if re.match(r"fig\d", name)}
PUBLISHED = {
    ("bn_decomposed", "fig1_ablation"): "The paper's Figure 1 is a diagram of the components without numbers",
    ("bn_decomposed", "fig2_training"): "may reach high training accuracy from low-rank representations, and gives no",
    ("bn_decomposed", "fig3_odd_point"): 'the paper\'s words, an "orthogonal direction" and "collapse to one point"',
    ("bn_decomposed", "fig4_tree"): "first three layers of such a tree for n = 5; it does not state the values",
    ("bn_decomposed", "fig5_layer_angles"): "of its 75 or, without recentering, 60 at all batch sizes",
    ("bn_decomposed", "fig6_activity"): '"significant response for a large number of inputs", of (b) "negligible for',
    ("bn_mean_field", "fig1_anisotropy"): "in the paper by one order of magnitude",
    ("bn_mean_field", "fig2_magnitudes"): "The paper says that the small ones converge faster and gives no numbers",
    ("bn_mean_field", "fig3_first_step"): "the paper's Figure 3 is a sketch without settings or numbers",
    ("leaky_resnets", "fig1a_hamiltonian"): "the COI from above, all energies from below",
    ("leaky_resnets", "fig1b_spectra"): "a clear gap after $k^*$ = 3 values",
    ("leaky_resnets", "fig1c_energies"): "not exactly constant, but varies much less than its components",
    ("leaky_resnets", "fig2a_test_error"): "below 1 at all $L$, the paper's small but consistent advantage",
    ("leaky_resnets", "fig2b_weight_spectra"): "where the paper sees roughly 6 dimensions",
    ("leaky_resnets", "fig2c_paths"): "The paper: adaptive steps spread out better, more of them at the beginning",
    ("leaky_resnets", "fig3_bounded"): '"relatively constant"',
    (
        "universality",
        "fig1_two_points",
    ): "is an overview of the same variables; it states no network, settings or numbers",
    (
        "universality",
        "fig2_architectures",
    ): "prints no levels and no $R^2$; its text: the curves match the theory in all",
    ("universality", "fig3_initial_weights"): "has the same five gains and prints no levels",
    (
        "universality",
        "fig4_digit_pairs",
    ): "gives no levels; its text: the dynamics still qualitatively resemble the theory",
    ("universality", "fig5_final_distances"): "The paper's text gives no levels and no correlation",
    ("universality", "fig6_xor"): "what the paper's text says of its figure, which prints no numbers",
    ("universality", "fig7_blobs"): "states neither the width of the blobs nor the range of their places",
    ("universality", "fig8_blob_structure"): "what the paper's text says of its figure, which prints no numbers",
    ("universality", "fig9_structure"): "The paper prints 0.703 and 0.512",
    ("universality", "fig10_depth"): "the theory is accurate only in the second half of the network",
    ("universality", "fig11_alternatives"): "prints 0.92 (theory), 15.35 (factor two), 16.61 (square), 2.99 (minus",
    (
        "universality",
        "fig12_training_loss",
    ): "figure prints no levels; its text says that (9) can be fitted to the loss",
    ("universality", "fig14_taylor"): "what the paper's text says of its figure at that time; it prints no levels",
    (
        "universality",
        "fig15_adam",
    ): "states neither rate nor $R^2$; its text: the fit is not very good, especially early",
    ("universality", "fig16_xor_adam"): "what the paper's text says of its figure, which prints no numbers",
    ("universality", "fig17_blob_structure_adam"): "what the paper's text says of its figure, which prints no numbers",
    ("universality", "fig18_structure_adam"): "no correlation with Adam (Figure 9, gradient descent: 0.703 and 0.512)",
}
DRAWN = {  # what the paper's text says stands above or below each panel of these
    "fig6_xor": ["paper: 2 pairs merge", "paper: as in (10)", "paper: none merges", "paper: 1 pair merges"],
    "fig16_xor_adam": [*["paper: as in (10)"] * 3, "paper: not as in (10)"],
    "fig8_blob_structure": ["paper: squares", "paper: two lines", "paper: one line"],
    "fig17_blob_structure_adam": ["paper: squares", "paper: lines", *["not in the paper"] * 2],
    "fig14_taylor": ["paper: no trend", "paper at 1: falls", "paper at 30: falls", "not in the paper"],
}


def test_no_figure_of_a_paper_is_forgotten():
    assert set(PUBLISHED) == NUMBERED


@pytest.mark.parametrize(("study", "name"), sorted(PUBLISHED))
def test_the_caption_tells_what_the_paper_publishes_of_the_figure(study, name):
    caption = drawn(study, name, made_up(study, name)).repdyn["caption"]
    assert PUBLISHED[study, name] in " ".join(caption.split())


@pytest.mark.parametrize("name", DRAWN)
def test_the_papers_words_stand_beside_the_panels_of_which_it_says_them(name):
    figure = drawn("universality", name, made_up("universality", name))
    texts = [text.get_text() for panel in figure.axes for text in (panel.title, panel._left_title, *panel.texts)]
    texts += [panel.get_xlabel() for panel in figure.axes]
    lines = [line for text in texts for line in text.splitlines() if re.search(r"paper", line)]
    assert lines == DRAWN[name]
