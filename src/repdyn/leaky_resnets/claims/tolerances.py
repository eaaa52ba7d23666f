"""Tolerances of checks on exact statements, each with the reason for its size."""

ROUNDING = 1e-12
ROUNDING_REASON = "a few operations on numbers of order 1"
SOLVED = 1e-9
SOLVED_REASON = "linear solves with condition numbers up to 100, sums of a few dozen terms"
DIFFERENCED = 1e-8
DIFFERENCED_REASON = "central differences with step 1e-5: truncation 1e-10, round-off 1e-16 $|H|$ over the step, 1e-9"
EXTRAPOLATED = 1e-5
EXTRAPOLATED_REASON = (
    r"Richardson extrapolation from $\epsilon = 0.02$: remainder of order $\epsilon^6$, round-off "
    r"$10^{-14} / \epsilon^2$"
)
INTEGRATED = 1e-5
INTEGRATED_REASON = (
    "tolerance 1e-10 of the integrator, which kinks inside steps exceed a thousandfold, times growth along the path"
)
