"""The study `bn_decomposed`: Batch Normalization Decomposed (Nachum, Bondaschi, Gastpar, Khina)."""

from repdyn.base.declarations import Explorer, Simulation, Study, Variants
from repdyn.bn_decomposed.settings.study import BnDecomposed
from repdyn.bn_decomposed.settings.work import WORK

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
        Simulation("odd_point", "odd_point", cut={"odd_point": ["batches", "seeds"]}),
        Simulation("largest_norm", "largest_norm", cut={"largest_norm": ["widths", "runs"]}),
    ),
    work=WORK,
    explorer=Explorer(
        "Run it: a random network over its limit of infinite width",
        "Lines, bands and rings are the theory, drawn before the network runs: the closed-form expectation of each"
        " layer, from the same batch. Dots are one network, its Gaussian weights drawn layer by layer. Switch"
        " recentering, rescaling and ReLU; the longest point is orange-red, all others are blue. The last panel shows"
        " what one layer adds to an angle $\\theta$: where the line falls through zero, the batch rests.",
        "fig3_odd_point",
    ),
)
