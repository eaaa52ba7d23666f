"""Numbers that captions take from a dataset as they are: each stands beside its own word, not beside another's."""

import pytest
from tests.titled import drawn, made_up

UNIVERSALITY = {
    "fig1_two_points": {
        "default_network_fits.units": "network of {} units per layer",
        "default_network_fits.shown": "(trial {})",
        "default_network_fits.halfway": "hidden layer {}, at",
    },
    "fig10_depth": {
        "default_network_fits.units": "per layer; here {} and",
        "default_ensemble_fits.units": "and {}.",
    },
    "fig11_alternatives": {
        "default_network_fits.units": "default network ({} units",
        "default_network_fits.halfway": "hidden layer {}) and",
    },
    "fig15_adam": {"adam_runs.units": "default network ({} units)"},
    "n2_final_distribution": {"final_distribution.draws": "{} draws of the"},
    "n5_closed_form": {"default_network_fits.units": "default network ({} units)"},
    "fig4_digit_pairs": {
        "digit_pairs.units": "hidden layers of {} units",
        "digit_pairs.point_count": "trained on {} images",
    },
    "fig6_xor": {"xor_structure.rho": "the ratio of rates {} fitted"},
    "fig7_blobs": {
        "blob_structure.point_count": "{} data points",
        "blob_structure.input_between": "in the context lie {} apart",
        "blob_structure.input_along": "in one feature at most {}",
    },
    "fig8_blob_structure": {
        "blob_structure.point_count": "of {} points",
        "blob_structure.units": "({} units",
    },
    "fig9_structure": {
        "representational_structure.point_count": "trained on {} images",
        "representational_structure.table_values": "({} values)",
    },
    "n4_correlations": {"representational_structure.point_count": "Images: digits, {} for training"},
    "fig14_taylor": {"taylor_ratios.pairs": "{} random pairs"},
    "fig16_xor_adam": {"xor_structure.rho": "the ratio of rates {} fitted"},
    "fig17_blob_structure_adam": {
        "blob_structure.point_count": "of {} points",
        "blob_structure.units": "({} units",
    },
    "fig18_structure_adam": {
        "representational_structure.point_count": "trained on {} images",
        "representational_structure.table_values": "({} values)",
    },
}
BN_DECOMPOSED = {
    "fig1_ablation": {
        "ablation.point_count": "a batch of {} images",
        "ablation.width": "layers of width {} at initialization",
    },
    "fig2_training": {
        "training.width": "networks of width {} on",
        "training.point_count": "on {} images",
        "training.batch": "batches of {};",
    },
    "fig3_odd_point": {"odd_point.width": "width {}."},
    "orthogonality_gap": {"orthogonality_gap.point_count": "Gram matrix of {} Gaussian points"},
    "fig5_layer_angles": {
        "layer_angles.depth": "after layer {} (",
        "layer_angles.width": "(width {}, ReLU)",
    },
    "fig6_activity": {"activity.depth": "after {} layers"},
    "disc_point_neurons": {
        "point_neurons.points": "networks with {} neurons",
        "point_neurons.steps_made": "zero head, {} steps",
    },
}
SETUP = {"width": "$w$ = {},", "dimension": "$d$ = {},", "points": "$N$ = {},", "steps": ", {} steps of Adam"}
DEPTH = r"$\tilde L$ = {},"
LEAKY_RESNETS = {
    "geodesic_laboratory": {
        "geodesics.rank": "fixed point of rank {} at",
        "geodesics.gamma_0": r"$\gamma_p$ = {} $\|K_p\|",
    },
    "theorem4": {"scalar_geodesics.effective_depth": r"$\tilde L$ = {}: inside"},
    "critical_paths": {
        "critical_paths.width": "$w$ = {},",
        "critical_paths.points": "$N$ = {},",
        "critical_paths.effective_depth": r"$\tilde L$ = {};",
    },
    "fig1a_hamiltonian": {
        "chain_measures.rank": "$k^*$ of the teacher, {} (",
        "chain_measures.steps": ", {} steps of Adam",
    },
    "fig1b_spectra": {"chain_measures.steps": ", {} steps of Adam"},
    "fig1c_energies": {"chain_measures.rank": "$k^*$ = {}.", "chain_measures.steps": ", {} steps of Adam"},
    "fig2a_test_error": {f"scheme_measures.{name}": words for name, words in SETUP.items()}
    | {"scheme_measures.effective_depth": DEPTH},
    "fig2b_weight_spectra": {f"staged_measures.{name}": words for name, words in SETUP.items()}
    | {"staged_measures.effective_depth": DEPTH},
    "fig2c_paths": {f"scheme_measures.{name}": words for name, words in SETUP.items()},
    "fig3_bounded": {"chain_measures.steps": ", {} steps of Adam"},
    "distance_to_critical": {"refinement_measures.effective_depth": DEPTH},
    "balancedness": {"refinement_measures.effective_depth": DEPTH},
    "paper_settings": {"paper_measures.effective_depth": DEPTH},
}
TRUNCATION_FLOW = {
    "printed_and_corrected": {"printed_and_corrected.points": "clusters of {} points"},
    "proposition": {
        "proposition.points": "{} points, hypotheses",
        "proposition.gamma": r"with $\gamma$ = {} (blue)",
    },
    "neural_collapse": {
        "neural_collapse.points": "Simplex clusters of {} points",
        "neural_collapse.fill": "radius {} of the largest",
    },
    "conservation": {"collapsed_clusters.dimension": "$Q$ = {},"},
    "reduced_network": {"reduced_network.points": "Three clusters of {} points"},
    "general_flow": {
        "general_flow.points": "three clusters of {} points",
        "general_flow.rate": "cost, rate {}, from",
        "general_flow.step": "Flow: Euclidean cost, step {};",
    },
    "integrators": {
        "integrators.dimension": "$Q$ = {},",
        "integrators.points": "$N$ = {},",
        "integrators.crossings": "with {} crossings",
    },
    "sliding": {
        "integrators.sliding_cap": "uses up {} right sides",
        "integrators.sliding_reached": "by $s$ = {} (dotted)",
    },
    "own_clusters": {"own_clusters.digit_points": "(c) {} digits"},
}
BN_MEAN_FIELD = {
    "mean_field_limit": {
        "propagation_distances.reference": "a reference of {} (",
        "propagation_distances.random_reference": "; {} for i.i.d. starts",
    },
    "equicontinuity_bounds": {"equicontinuity.width": "flow of {} particles"},
    "fig1_anisotropy": {"anisotropy.step": "mean-field step {}."},
    "speeds_over_targets": {"target_scan.look": "iteration {},", "target_scan.step": ", step {},"},
    "learning_over_steps": {
        "learning_rates.iterations": "after {} iterations",
        "learning_rates.learned": "loss at most {} of that",
    },
    "fig2_magnitudes": {"magnitudes.step": "mean-field step {}."},
    "batches_and_eps": {
        "finite_batch.repeats": "groups of {} batches",
        "batch_norm_eps.eps": r"$\epsilon$ = {},",
    },
}
WORDS = {
    "universality": UNIVERSALITY,
    "bn_decomposed": BN_DECOMPOSED,
    "leaky_resnets": LEAKY_RESNETS,
    "truncation_flow": TRUNCATION_FLOW,
    "bn_mean_field": BN_MEAN_FIELD,
    "across_papers": {"odd_points": {"odd_batch.point_count": "norm of {} digits"}},
}
PLACES = {"shown", "halfway", "look"}  # where a dataset is looked at: they must be places of it


def renumbered(data, name, number):
    """The dataset with its scalar at a number that no other has; a place stays as it is."""
    old = data[name]
    if name in PLACES:
        return data, str(int(old))
    value = 1237 + number if old.dtype.kind in "iu" else round(0.25 + 0.01 * number, 2)
    new = old.copy(data=value)
    return (data.assign_coords({name: new}) if name in data.coords else data.assign({name: new})), f"{value:g}"


@pytest.mark.parametrize(("study", "figure"), [(study, figure) for study in WORDS for figure in WORDS[study]])
def test_numbers_stand_beside_their_own_words(study, figure):
    datasets, wanted = made_up(study, figure), []
    for number, (name, words) in enumerate(WORDS[study][figure].items()):
        source, _, variable = name.partition(".")
        variants = datasets[source] if isinstance(datasets[source], dict) else {"": datasets[source]}
        for variant, data in variants.items():
            variants[variant], shown = renumbered(data, variable, number)
        datasets[source] = variants.get("", variants)
        wanted.append(words.format(shown))
    caption = drawn(study, figure, datasets).repdyn["caption"]
    assert [words for words in wanted if words not in caption] == [], caption
