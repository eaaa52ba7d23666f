"""Study `relu_depth`: two points through a plain ReLU network."""

RD_DATA = JOBS.simulate("relu_depth/data", "overlaps", "gaps")


use rule job as relu_depth_data with:
    input:
        **inputs(RD_DATA),
    output:
        RD_DATA.outputs,
    log:
        RD_DATA.log,
    cache: CACHED
