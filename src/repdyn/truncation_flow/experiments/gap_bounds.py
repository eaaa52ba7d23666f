"""What the spectral gap of Theorem 8.4 bounds along one orbit, as ratios measured / bound."""

from __future__ import annotations

import numpy as np

from repdyn.base.arrays import Array
from repdyn.truncation_flow.theory import standard_cost

SPEED_FLOOR = 1e-6  # of the exponential, below which speeds are the integrator's absolute tolerance
GAP_BOUNDS = {
    "gram_floor": "least eigenvalue of B B^T (I > 0) or W^T W (I < 0) along the orbit over lambda_0",
    "weight_size": "largest ||W|| over ||Y B^{-1}|| + sqrt(c/lambda_0) exp(-lambda_0 s), c = 2 C(0); I < 0: B and W"
    " exchanged",
    "bias_size": "largest ||B||^2 over ||I(0)|| + max ||W||^2 (I > 0), B and W exchanged (I < 0)",
    "output_error": "||W B + Y|| at the last time over that at 0",
    "speed_of_W": "largest ||dW/ds|| over sqrt(c) max||B|| exp(-lambda_0 s)",
    "speed_of_B": "largest ||dB/ds|| over sqrt(c) max||W|| exp(-lambda_0 s)",
}
GAP_CONTROLS = {
    "gram_floor_largest": "the least eigenvalue over the largest eigenvalue of I or -I",
    "weight_size_without_Y": "weight_size without ||Y B^{-1}||",
    "bias_size_without_I": "bias_size without ||I(0)||",
    "output_error_other": "||W B - Y|| at the last time over that at 0",
    "speed_of_W_twice": "speed_of_W with exp(-2 lambda_0 s)",
    "speed_of_B_twice": "speed_of_B with exp(-2 lambda_0 s)",
}


def gap_bounds(B: Array, W: Array, Y: Array, times: Array, sign: str) -> dict[str, float]:
    """(8.28), (8.31)-(8.32), (8.36)-(8.39) along one orbit, and the same with something left out or changed."""
    integral = standard_cost.conserved_quantity(B[0], W[0])
    spectrum = np.abs(np.linalg.eigvalsh(integral))
    gap, c = float(spectrum.min()), 2 * float(standard_cost.collapsed_cost(B[0], W[0], Y))
    norms = {name: np.linalg.matrix_norm(path, ord=2) for name, path in (("B", B), ("W", W))}
    if sign == "positive":
        gram, solution = B @ B.mT, np.linalg.inv(B) @ Y.T
        large, small = norms["B"], norms["W"]
    else:
        gram, solution = W.mT @ W, np.linalg.inv(W) @ Y
        large, small = norms["W"], norms["B"]
    solved, decaying = np.linalg.matrix_norm(solution, ord=2), np.sqrt(c / gap) * np.exp(-gap * times)
    top, size = float(large.max()) ** 2, float(small.max())
    velocity = zip("BW", standard_cost.collapsed_flow(B, W, Y), strict=True)
    speeds = {name: np.linalg.matrix_norm(rate, ord=2) for name, rate in velocity}
    ratios = {
        "gram_floor": float(np.linalg.eigvalsh(gram).min()) / gap,
        "gram_floor_largest": float(np.linalg.eigvalsh(gram).min()) / float(spectrum.max()),
        "weight_size": float((small / (solved + decaying)).max()),
        "weight_size_without_Y": float((small / decaying).max()),
        "bias_size": top / (float(spectrum.max()) + size**2),
        "bias_size_without_I": top / size**2,
    }
    for name, target in (("output_error", Y), ("output_error_other", -Y)):
        ends = [np.linalg.norm(W[n] @ B[n] + target) for n in (0, -1)]
        ratios[name] = float(ends[1] / ends[0])
    above = np.exp(-gap * times) > SPEED_FLOOR
    for name, other in (("W", "B"), ("B", "W")):
        for suffix, rate in (("", gap), ("_twice", 2 * gap)):
            bound = np.sqrt(c) * norms[other].max() * np.exp(-rate * times)
            ratios[f"speed_of_{name}{suffix}"] = float((speeds[name] / bound)[above].max())
    return ratios
