"""The order of the paper, in which the report shows the figures."""

ORDER = (
    "geodesic_laboratory",
    "theorem4",
    "identity_cost",
    "critical_paths",
    "fig1a_hamiltonian",
    "fig1b_spectra",
    "fig1c_energies",
    "fig2a_test_error",
    "fig2b_weight_spectra",
    "fig2c_paths",
    "fig3_bounded",
    "distance_to_critical",
    "balancedness",
    "paper_settings",
)
