"""The order of the paper, in which the report shows the tables."""

ORDER = (
    "table1_settings",
    "effective_rates",
    "altered_dynamics",
    "distances",
    "table2_settings",
    "xor_distances",
    "blob_collapse",
    "digit_correlations",
    "digit_pairs",
)
