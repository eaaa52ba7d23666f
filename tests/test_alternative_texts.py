"""What an alternative text computes is what the figure's title says, whose words other tests work out again."""

import re

import pytest
from tests.titled import drawn, made_up

SHARED = [  # figure, what of its title its alternative text repeats
    ("bn_mean_field", "learning_over_steps", r"BN (.*)"),
    ("bn_mean_field", "speeds_over_targets", r"neurons are (.*)"),
    ("bn_mean_field", "fig1_anisotropy", r"the largest speed ([\d.]+) times as large"),
    ("bn_mean_field", "fig2_magnitudes", r"Figure 2: (.*) end near"),
    ("bn_mean_field", "mean_field_limit", r"Theorem 4: (.*)"),
    ("bn_mean_field", "equicontinuity_bounds", r"proof: (.*)"),
    ("bn_decomposed", "orthogonality_gap", r"gap (.*)"),
    ("bn_decomposed", "fig5_layer_angles", r"Figure 5: (.*) gave"),
    ("bn_decomposed", "fig6_activity", r"Figure 6: (.*)"),
    ("bn_decomposed", "thm11_limits", r"Theorem 11: (.*) limits keep"),
    ("leaky_resnets", "theorem4", r"Theorem 4: (.*)"),
    ("leaky_resnets", "identity_cost", r"the printed bound (.*)"),
    ("leaky_resnets", "fig1c_energies", r"Figure 1c: (.*)"),
    ("leaky_resnets", "fig3_bounded", r"Figure 3: (.*) grew"),
    ("universality", "fig8_blob_structure", r": (.*)"),
    ("universality", "fig11_alternatives", r"Figure 11: (.*)"),
    ("universality", "fig9_structure", r"fits distances (.*)"),
    ("universality", "fig15_adam", r"explains \$w\$ (.*)"),
    ("universality", "fig6_xor", r": (.*)"),
]


@pytest.mark.parametrize(("study", "name", "words"), SHARED)
def test_an_alternative_text_repeats_the_message_of_its_title(study, name, words):
    figure = drawn(study, name, made_up(study, name)).repdyn
    found = re.search(words, figure["title"])
    assert found, figure["title"]
    assert found[1].lower() in figure["alt"].lower()
