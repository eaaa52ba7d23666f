"""Study `universality`: an effective theory of two points against deep networks."""

UNI_THEORY = JOBS.simulate("universality/theory", "formula_audit", "final_distribution", "theory_maps")


use rule job as universality_theory with:
    input:
        **inputs(UNI_THEORY),
    output:
        **outputs(UNI_THEORY),
    log:
        UNI_THEORY.log,
    cache: CACHED


UNI_DEFAULT = JOBS.simulate(
    "universality/default_network",
    "default_network",
    "default_ensemble",
    "printed_data",
    memory_mb=2000,
)


use rule training as universality_default_network with:
    input:
        **inputs(UNI_DEFAULT),
    output:
        **outputs(UNI_DEFAULT),
    log:
        UNI_DEFAULT.log,
    cache: CACHED


UNI_ARCHITECTURES = JOBS.simulate(
    "universality/table_1_networks",
    "architectures",
    "adam_runs",
    "final_distances",
    memory_mb=2000,
)


use rule training as universality_table_1_networks with:
    input:
        **inputs(UNI_ARCHITECTURES),
    output:
        **outputs(UNI_ARCHITECTURES),
    log:
        UNI_ARCHITECTURES.log,
    cache: CACHED


UNI_FITS = JOBS.simulate(
    "universality/fits",
    "architecture_fits",
    "default_network_fits",
    "default_ensemble_fits",
    "printed_data_fits",
    "adam_fits",
    "final_predictions",
    memory_mb=1000,
)


use rule job as universality_fits with:
    input:
        **inputs(UNI_FITS),
    output:
        **outputs(UNI_FITS),
    log:
        UNI_FITS.log,
    cache: CACHED


UNI_XOR = JOBS.simulate(
    "universality/xor_and_images",
    "xor",
    *[("image_training", {"run": run}) for run in type(CONFIG.universality.image_training.runs).model_fields],
    memory_mb=3000,
)


use rule training as universality_xor_and_images with:
    input:
        **inputs(UNI_XOR),
    output:
        **outputs(UNI_XOR),
    log:
        UNI_XOR.log,
    cache: CACHED


UNI_BLOBS = JOBS.simulate(
    "universality/blobs",
    *[("blobs", {"run": run}) for run in type(CONFIG.universality.blobs.runs).model_fields],
    memory_mb=1500,
)


use rule training as universality_blobs with:
    input:
        **inputs(UNI_BLOBS),
    output:
        **outputs(UNI_BLOBS),
    log:
        UNI_BLOBS.log,
    cache: CACHED


UNI_ANALYSES = JOBS.simulate(
    "universality/data_set_analyses",
    "xor_structure",
    "blob_structure",
    "digit_pairs",
    "representational_structure",
    "taylor_ratios",
    memory_mb=3000,
)


use rule job as universality_data_set_analyses with:
    input:
        **inputs(UNI_ANALYSES),
    output:
        **outputs(UNI_ANALYSES),
    log:
        UNI_ANALYSES.log,
    cache: CACHED
