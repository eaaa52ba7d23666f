"""The order of the paper, in which the report shows the figures."""

ORDER = (
    "fig1_ablation",
    "fig2_training",
    "fig3_odd_point",
    "thm3_full_rank",
    "orthogonality_gap",
    "fig4_tree",
    "thm11_limits",
    "thm14_contraction",
    "fig5_layer_angles",
    "fig6_activity",
    "disc_point_neurons",
)
