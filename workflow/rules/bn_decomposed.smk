"""Study `bn_decomposed`: Batch Normalization Decomposed. What shares a job; all else derives from the functions."""

BND_ABLATION = JOBS.simulate("bn_decomposed/ablation", "ablation")


use rule job as bn_decomposed_ablation with:
    input:
        **inputs(BND_ABLATION),
    output:
        **outputs(BND_ABLATION),
    log:
        BND_ABLATION.log,
    cache: CACHED


BND_NETWORKS = JOBS.simulate("bn_decomposed/random_networks", "recentering_depth", "layer_angles", "relu_rank")


use rule job as bn_decomposed_random_networks with:
    input:
        **inputs(BND_NETWORKS),
    output:
        **outputs(BND_NETWORKS),
    log:
        BND_NETWORKS.log,
    cache: CACHED


BND_GAP = JOBS.simulate("bn_decomposed/orthogonality_gap", "orthogonality_gap")


use rule job as bn_decomposed_orthogonality_gap with:
    input:
        **inputs(BND_GAP),
    output:
        **outputs(BND_GAP),
    log:
        BND_GAP.log,
    cache: CACHED


BND_TRAINING = JOBS.variants(
    "bn_decomposed/training",
    "training",
    "mode",
    ["bn", "default", "he"],
    memory_mb=1500,
)


use rule training as bn_decomposed_training with:
    input:
        **BND_TRAINING["input"],
    output:
        BND_TRAINING["output"],
    log:
        BND_TRAINING["log"],
    cache: CACHED


BND_NEURONS = JOBS.simulate("bn_decomposed/point_neurons", "point_neurons")


use rule job as bn_decomposed_point_neurons with:
    input:
        **inputs(BND_NEURONS),
    output:
        **outputs(BND_NEURONS),
    log:
        BND_NEURONS.log,
    cache: CACHED


BND_GAUSSIAN = JOBS.simulate(
    "bn_decomposed/gaussian_layers",
    "fixed_point",
    "relu_moments",
    "gaussian_layer",
    "contraction",
    "activity",
)


use rule job as bn_decomposed_gaussian_layers with:
    input:
        **inputs(BND_GAUSSIAN),
    output:
        **outputs(BND_GAUSSIAN),
    log:
        BND_GAUSSIAN.log,
    cache: CACHED


BND_RANK = JOBS.simulate(
    "bn_decomposed/full_rank",
    "formula_audit",
    "sign_cells",
    "stalled_rows",
    "rows_to_full_rank",
    "full_rank_tail",
)


use rule job as bn_decomposed_full_rank with:
    input:
        **inputs(BND_RANK),
    output:
        **outputs(BND_RANK),
    log:
        BND_RANK.log,
    cache: CACHED


BND_SIMPLIFIED = JOBS.simulate(
    "bn_decomposed/simplified_model",
    "cluster_rows",
    "split_rows",
    "tree_example",
    "narrow_gap",
    "interior_angles",
    "several_coordinates",
)


use rule job as bn_decomposed_simplified_model with:
    input:
        **inputs(BND_SIMPLIFIED),
    output:
        **outputs(BND_SIMPLIFIED),
    log:
        BND_SIMPLIFIED.log,
    cache: CACHED


BND_LIMITS = JOBS.simulate("bn_decomposed/tree_limits", "tree_limits")


use rule job as bn_decomposed_tree_limits with:
    input:
        **inputs(BND_LIMITS),
    output:
        **outputs(BND_LIMITS),
    log:
        BND_LIMITS.log,
    cache: CACHED


BND_ODD_POINT = JOBS.simulate("bn_decomposed/odd_point", "odd_point")


use rule job as bn_decomposed_odd_point with:
    input:
        **inputs(BND_ODD_POINT),
    output:
        **outputs(BND_ODD_POINT),
    log:
        BND_ODD_POINT.log,
    cache: CACHED


BND_LARGEST_NORM = JOBS.simulate("bn_decomposed/largest_norm", "largest_norm")


use rule job as bn_decomposed_largest_norm with:
    input:
        **inputs(BND_LARGEST_NORM),
    output:
        **outputs(BND_LARGEST_NORM),
    log:
        BND_LARGEST_NORM.log,
    cache: CACHED
