"""The order of the paper, in which the report shows the figures."""

ORDER = (
    "round_manifold",
    "mean_field_limit",
    "equicontinuity_bounds",
    "global_minimum",
    "fig1_anisotropy",
    "matched_loss",
    "speeds_over_targets",
    "parts_switched_off",
    "directions_over_time",
    "learning_over_steps",
    "fig2_magnitudes",
    "fig3_first_step",
    "batches_and_eps",
)
