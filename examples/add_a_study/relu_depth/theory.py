r"""Two points of unit length through random ReLU layers W ~ N(0, 2/n): the cosine rho obeys a map in closed form.

Conventions: infinite width; rho the cosine after a layer, 1 - rho the gap.
"""

import numpy as np
from numpy.typing import ArrayLike

RATE = 9 * np.pi**2 / 2
"""Limit of l^2 (1 - rho_l): with e = 1 - rho the map is e - (2 sqrt(2) / (3 pi)) e^(3/2) + ... near its fixed point."""


def next_cosine(rho: ArrayLike) -> np.ndarray:
    r"""Arc-cosine kernel of degree one (Cho and Saul 2009, n = 1): (sqrt(1 - rho^2) + (pi - arccos rho) rho) / pi.

    Example:
        >>> next_cosine([-1, 0, 1]).round(4).tolist()
        [0.0, 0.3183, 1.0]
    """
    rho = np.asarray(rho, float)
    return (np.sqrt((1 - rho) * (1 + rho)) + (np.pi - np.arccos(rho)) * rho) / np.pi
