"""The order of the paper, in which the report shows the figures."""

ORDER = (
    "fig1_anisotropy",
    "directions_over_time",
    "fig2_magnitudes",
    "fig3_first_step",
    "matched_loss",
    "mean_field_limit",
    "equicontinuity_bounds",
    "global_minimum",
    "round_manifold",
    "batches_and_eps",
)
