"""The order of the paper, in which the report shows the figures."""

ORDER = (
    "truncation_in_the_plane",
    "truncation_in_three_dimensions",
    "staircase",
    "printed_and_corrected",
    "proposition",
    "neural_collapse",
    "conservation",
    "reduced_network",
    "general_flow",
    "gradient_audit",
    "integrators",
    "sliding",
    "own_clusters",
)
