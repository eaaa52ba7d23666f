"""The five papers' diagnostics on one small network of our own."""

DIA_NETWORK = JOBS.simulate("diagnostics/network", "convolutional_network", memory_mb=1000)


use rule job as diagnostics_network with:
    input:
        **inputs(DIA_NETWORK),
    output:
        **outputs(DIA_NETWORK),
    log:
        DIA_NETWORK.log,
    cache: CACHED


DIA_TWO_POINTS = JOBS.simulate("diagnostics/two_points", "two_points")


use rule job as diagnostics_two_points with:
    input:
        **inputs(DIA_TWO_POINTS),
    output:
        **outputs(DIA_TWO_POINTS),
    log:
        DIA_TWO_POINTS.log,
    cache: CACHED
