"""Study `leaky_resnets`: Hamiltonian mechanics of the bottleneck, on exact geodesics and on trained networks."""

LRN_EXACT = JOBS.simulate(
    "leaky_resnets/exact",
    "formula_audit",
    "step_schemes",
    "identity_costs",
    "descents",
    "geodesics",
    "random_geodesics",
    "scalar_geodesics",
    "critical_paths",
)


use rule job as leaky_resnets_exact with:
    input:
        **inputs(LRN_EXACT),
    output:
        **outputs(LRN_EXACT),
    log:
        LRN_EXACT.log,
    cache: CACHED


LRN_TRAINED = JOBS.variants(
    "leaky_resnets/trained",
    "trained",
    "block",
    range(CONFIG.leaky_resnets.trained.blocks),
    memory_mb=1500,
)


use rule training as leaky_resnets_trained with:
    input:
        **LRN_TRAINED["input"],
    output:
        LRN_TRAINED["output"],
    log:
        LRN_TRAINED["log"],
    wildcard_constraints:
        block=r"\d+",
    cache: CACHED


LRN_DISCRETIZED = JOBS.variants(
    "leaky_resnets/discretized",
    "discretized",
    "block",
    range(CONFIG.leaky_resnets.discretized.blocks),
    memory_mb=1500,
)


use rule training as leaky_resnets_discretized with:
    input:
        **LRN_DISCRETIZED["input"],
    output:
        LRN_DISCRETIZED["output"],
    log:
        LRN_DISCRETIZED["log"],
    wildcard_constraints:
        block=r"\d+",
    cache: CACHED


LRN_NEAR = JOBS.simulate(
    "leaky_resnets/near_critical",
    "refinement",
    "convergence",
    "staged",
    "paper_settings",
    "restarts",
    "overregularized",
    "output_growth",
    "network_audit",
    memory_mb=1500,
)


use rule training as leaky_resnets_near_critical with:
    input:
        **inputs(LRN_NEAR),
    output:
        **outputs(LRN_NEAR),
    log:
        LRN_NEAR.log,
    cache: CACHED


LRN_MEASURES = JOBS.simulate(
    "leaky_resnets/measures",
    "chain_measures",
    "scheme_measures",
    "refinement_measures",
    "convergence_measures",
    "staged_measures",
    "paper_measures",
    "restart_measures",
    "excess_measures",
    memory_mb=1500,
)


use rule job as leaky_resnets_measures with:
    input:
        **inputs(LRN_MEASURES),
    output:
        **outputs(LRN_MEASURES),
    log:
        LRN_MEASURES.log,
    cache: CACHED
