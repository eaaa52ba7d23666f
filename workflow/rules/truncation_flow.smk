"""Study `truncation_flow`: effective gradient flow and dynamical truncation of training data."""

TF_AUDITS = JOBS.simulate(
    "truncation_flow/audits",
    "gradient_audit",
    "random_clusters",
    "counterexamples",
    "staircase",
    "proposition",
)


use rule job as truncation_flow_audits with:
    input:
        **inputs(TF_AUDITS),
    output:
        **outputs(TF_AUDITS),
    log:
        TF_AUDITS.log,
    cache: CACHED


TF_ONE_CLUSTER = JOBS.simulate(
    "truncation_flow/one_cluster",
    "printed_and_corrected",
    "integrators",
    "neural_collapse",
    "truncation_in_the_plane",
)


use rule job as truncation_flow_one_cluster with:
    input:
        **inputs(TF_ONE_CLUSTER),
    output:
        **outputs(TF_ONE_CLUSTER),
    log:
        TF_ONE_CLUSTER.log,
    cache: CACHED


TF_OWN_CLUSTERS = JOBS.simulate("truncation_flow/own_clusters", "own_clusters")


use rule job as truncation_flow_own_clusters with:
    input:
        **inputs(TF_OWN_CLUSTERS),
    output:
        **outputs(TF_OWN_CLUSTERS),
    log:
        TF_OWN_CLUSTERS.log,
    cache: CACHED


TF_TRAINED_OUTPUT = JOBS.simulate(
    "truncation_flow/trained_output",
    "collapsed_clusters",
    "propagators",
    "reduced_network",
    "output_layer",
)


use rule job as truncation_flow_trained_output with:
    input:
        **inputs(TF_TRAINED_OUTPUT),
    output:
        **outputs(TF_TRAINED_OUTPUT),
    log:
        TF_TRAINED_OUTPUT.log,
    cache: CACHED


TF_GENERAL_FLOW = JOBS.simulate("truncation_flow/general_flow", "general_flow")


use rule job as truncation_flow_general_flow with:
    input:
        **inputs(TF_GENERAL_FLOW),
    output:
        **outputs(TF_GENERAL_FLOW),
    log:
        TF_GENERAL_FLOW.log,
    cache: CACHED
