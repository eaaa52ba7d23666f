"""Study `bn_mean_field`: a Riemannian mean field formulation of batch normalization."""

BNM_AUDITS = JOBS.simulate(
    "bn_mean_field/audits",
    "formula_audit",
    "batch_norm_eps",
    "metric_audit",
    "equivalence",
    memory_mb=1500,
)


use rule job as bn_mean_field_audits with:
    input:
        **inputs(BNM_AUDITS),
    output:
        **outputs(BNM_AUDITS),
    log:
        BNM_AUDITS.log,
    cache: CACHED


BNM_PROPAGATION = JOBS.simulate("bn_mean_field/propagation", "propagation")


use rule job as bn_mean_field_propagation with:
    input:
        **inputs(BNM_PROPAGATION),
    output:
        **outputs(BNM_PROPAGATION),
    log:
        BNM_PROPAGATION.log,
    cache: CACHED


BNM_DISTANCES = JOBS.simulate("bn_mean_field/propagation_distances", "propagation_distances", memory_mb=1500)


use rule job as bn_mean_field_propagation_distances with:
    input:
        **inputs(BNM_DISTANCES),
    output:
        **outputs(BNM_DISTANCES),
    log:
        BNM_DISTANCES.log,
    cache: CACHED
    resources:
        mem_mb=memory(),
        runtime=120,


BNM_THEOREM_4 = JOBS.simulate("bn_mean_field/theorem4", "equicontinuity", "exit_times", "well_posedness")


use rule job as bn_mean_field_theorem4 with:
    input:
        **inputs(BNM_THEOREM_4),
    output:
        **outputs(BNM_THEOREM_4),
    log:
        BNM_THEOREM_4.log,
    cache: CACHED


BNM_MINIMIZATION = JOBS.simulate("bn_mean_field/minimization", "minimization")


use rule job as bn_mean_field_minimization with:
    input:
        **inputs(BNM_MINIMIZATION),
    output:
        **outputs(BNM_MINIMIZATION),
    log:
        BNM_MINIMIZATION.log,
    cache: CACHED


BNM_DESCENT = JOBS.simulate(  # one job: they share a compiled loop
    "bn_mean_field/descent",
    "anisotropy",
    "speed_ratio",
    "target_scan",
    "learning_rates",
    "magnitudes",
    "first_step",
    memory_mb=1500,
)


use rule job as bn_mean_field_descent with:
    input:
        **inputs(BNM_DESCENT),
    output:
        **outputs(BNM_DESCENT),
    log:
        BNM_DESCENT.log,
    cache: CACHED
    resources:
        mem_mb=memory(),
        runtime=60,


BNM_FEATURES = JOBS.simulate("bn_mean_field/features", "feature_learning", "concentration")


use rule job as bn_mean_field_features with:
    input:
        **inputs(BNM_FEATURES),
    output:
        **outputs(BNM_FEATURES),
    log:
        BNM_FEATURES.log,
    cache: CACHED
    resources:
        mem_mb=memory(),
        runtime=60,


BNM_FINITE_BATCH = JOBS.simulate("bn_mean_field/finite_batch", "finite_batch")


use rule job as bn_mean_field_finite_batch with:
    input:
        **inputs(BNM_FINITE_BATCH),
    output:
        **outputs(BNM_FINITE_BATCH),
    log:
        BNM_FINITE_BATCH.log,
    cache: CACHED
