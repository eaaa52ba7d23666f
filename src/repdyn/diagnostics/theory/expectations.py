"""What the theory of batch normalization at initialization expects of n points: the bands behind the figures."""

from __future__ import annotations

from functools import lru_cache

from repdyn.bn_decomposed.theory.odd_cluster import odd_fixed_point, simplex_angle


@lru_cache(maxsize=64)
def expected_angle(points: int) -> float:
    """Angle between any two of n points at the symmetric fixed point of recentering and ReLU, radians.

    Ours: `simplex_angle` of bn_decomposed, kept.
    """
    return float(simplex_angle(points))


@lru_cache(maxsize=64)
def expected_norm_ratio(points: int) -> float:
    """Largest over second largest norm at the fixed point with one odd point; NaN where there is none.

    Ours: `odd_fixed_point` of bn_decomposed, kept.
    """
    odd = odd_fixed_point(points) if points >= 3 else None
    return float((points - 1) / odd.norm_ratio) if odd else float("nan")
