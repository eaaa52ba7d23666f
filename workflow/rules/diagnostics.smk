"""The five papers' diagnostics on one small network of our own."""

DIA_NETWORK = JOBS.simulate("diagnostics/network", "convolutional_network", memory_mb=1000)


use rule job as diagnostics_network with:
    input:
        **inputs(DIA_NETWORK),
    output:
        DIA_NETWORK.outputs,
    log:
        DIA_NETWORK.log,
    cache: CACHED
    resources:
        mem_mb=DIA_NETWORK.memory_mb,
        runtime=30,


DIA_TWO_POINTS = JOBS.simulate("diagnostics/two_points", "two_points")


use rule job as diagnostics_two_points with:
    input:
        **inputs(DIA_TWO_POINTS),
    output:
        DIA_TWO_POINTS.outputs,
    log:
        DIA_TWO_POINTS.log,
    cache: CACHED
