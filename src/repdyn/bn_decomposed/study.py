"""The study `bn_decomposed`: Batch Normalization Decomposed (Nachum, Bondaschi, Gastpar, Khina)."""

from repdyn.base.declarations import Explorer, Simulation, Study, Variants
from repdyn.bn_decomposed.settings.study import BnDecomposed

STUDY = Study(
    title="Batch normalization decomposed",
    settings=BnDecomposed,
    order=0,
    jobs=(
        Simulation("ablation", "ablation"),
        Simulation("random_networks", "recentering_depth", "layer_angles", "relu_rank", "symmetric_batch"),
        Simulation("orthogonality_gap", "orthogonality_gap"),
        Variants("training", "training", "mode", ["bn", "default", "he"], memory_mb=1500),
        Simulation("point_neurons", "point_neurons"),
        Simulation("gaussian_layers", "fixed_point", "relu_moments", "gaussian_layer", "contraction", "activity"),
        Simulation("full_rank", "formula_audit", "sign_cells", "stalled_rows", "rows_to_full_rank", "full_rank_tail"),
        Simulation(
            "simplified_model",
            "cluster_rows",
            "split_rows",
            "tree_example",
            "narrow_gap",
            "split_amplitudes",
            "interior_angles",
            "several_coordinates",
        ),
        Simulation("tree_limits", "tree_limits"),
        Simulation("odd_point", "odd_point"),
        Simulation("largest_norm", "largest_norm"),
    ),
    explorer=Explorer(
        "Move it: one layer of recentering and ReLU",
        "One odd point and a cluster of $n - 1$ points stay of this form at infinite width, and one angle"
        " $\\theta$ between recentered cluster points describes them. The map $\\theta \\mapsto \\theta'$ of "
        "one layer is closed; where it crosses the diagonal the representation rests. Change $n$ and the "
        "angle at the start.",
        "fig3_odd_point",
    ),
)
