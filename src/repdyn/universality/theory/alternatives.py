"""The altered dynamics of section C.1, equation (51): one change each, and both readings of "a square".

The display merges four changes. The text names them: a factor two, a square, a minus sign removed, a term removed.
The square stands as w^2 in the first line; the code that the paper's figures come from doubles that line instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from repdyn.base.arrays import Array
from repdyn.base.compiling import compiled

if TYPE_CHECKING:
    from repdyn.base.arrays import Float

ALTERNATIVES = {  # name: what is changed in equation (7)
    "theory": "nothing: equation (7)",
    "factor two": "2 in front of the second line",
    "square": "w^2 for w in the first line",
    "factor two in h": "2 in front of the first line, in place of the square",
    "minus removed": "+ for the last minus of the third line",
    "term removed": "no second term in the second line",
}


@compiled
def altered_rhs(change: int, h: float, y: float, w: float, ex: float, ey: float, dy2: float) -> tuple:
    """Equation (7) with the change of that number in `ALTERNATIVES` (0: none), equation (51).

    Args:
        change: place of the alternative in `ALTERNATIVES`.
        h: squared representational distance, above 0.
        y: squared output distance.
        w: alignment.
        ex: eta_h dx2, 1/epoch.
        ey: eta_y, 1/epoch.
        dy2: squared target distance.
    """
    dh = -ex * w
    dy = -w * (ey * h + ex * y / h)
    second = -ex / 2 * (y + w) * w / h
    if change == 1:
        dy *= 2
    elif change == 2:
        dh = -ex * w * w
    elif change == 3:
        dh *= 2
    elif change == 4:
        second = -second
    elif change == 5:
        dy = -w * ey * h
    return dh, dy, -ey / 2 * (3 * w - y + dy2) * h + second


@compiled
def _runge_kutta(
    change: int, start: np.ndarray, ex: float, ey: float, dy2: float, out: np.ndarray, step: float, steps: int
) -> None:
    """Classical fourth order with `steps` steps per frame; leaves NaN from where h is no longer above 0."""
    h, y, w = start[0], start[1], start[2]
    out[:] = np.nan
    out[0, 0], out[1, 0], out[2, 0] = h, y, w
    for frame in range(1, out.shape[1]):
        for _ in range(steps):
            a1, b1, c1 = altered_rhs(change, h, y, w, ex, ey, dy2)
            a2, b2, c2 = altered_rhs(change, h + step / 2 * a1, y + step / 2 * b1, w + step / 2 * c1, ex, ey, dy2)
            a3, b3, c3 = altered_rhs(change, h + step / 2 * a2, y + step / 2 * b2, w + step / 2 * c2, ex, ey, dy2)
            a4, b4, c4 = altered_rhs(change, h + step * a3, y + step * b3, w + step * c3, ex, ey, dy2)
            h += step / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            y += step / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
            w += step / 6 * (c1 + 2 * c2 + 2 * c3 + c4)
            if not (h > 0.0 and abs(h) + abs(y) + abs(w) < 1e6):
                return
        out[0, frame], out[1, frame], out[2, frame] = h, y, w


def altered_solution(
    name: str,
    frames: int,
    every: int,
    start: Float[Array, "3"],
    eta_h: float,
    eta_y: float,
    dx2: float,
    dy2: float,
    step: float = 1.0,
) -> Float[Array, "3 frames"]:
    """Solution of an alternative of (51) at epochs 0, every, 2 every, ...; NaN from where it leaves h > 0.

    Args:
        name: one of `ALTERNATIVES`.
        frames: number of times.
        every: epochs between two times.
        start: h, y, w at t = 0.
        eta_h: effective rate of the encoder, 1/epoch.
        eta_y: effective rate of the decoder, 1/epoch.
        dx2: squared input distance.
        dy2: squared target distance.
        step: longest Runge-Kutta step, epochs.

    Returns:
        h, y, w.

    Raises:
        ValueError: unknown name.
    """
    if name not in ALTERNATIVES:
        raise ValueError(f"alternative {name!r} is not one of {', '.join(ALTERNATIVES)}")
    out, steps = np.empty((3, frames)), int(np.ceil(every / step))
    start, encoder = np.asarray(start, float), float(eta_h * dx2)
    _runge_kutta(list(ALTERNATIVES).index(name), start, encoder, float(eta_y), float(dy2), out, every / steps, steps)
    return out
