"""Fit of the effective learning rates to a measured trajectory: equation (49), minimized globally.

The theory's trajectory is the closed form, the parameters are logarithms, the search starts from a grid over both
rates and polishes its best separate cells, and the result says how many of them end in the same minimum. Fits of runs
that never left the plateau are small and mean nothing, so an unconverged run is refused before the search.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from repdyn.base.arguments import finite, positive
from repdyn.base.arrays import Array
from repdyn.universality.theory.domain import realizable
from repdyn.universality.theory.effective import effective_loss, solution_unchecked

CONVERGED = 0.16  # squared error of dy over its start: the paper's final loss of 1e-2 at dy2 = 0.5
GROWTHS = np.geomspace(0.3, 3e3, 40)  # exponents sqrt(eta_h dx2 eta_y) D T/2 of the whole run, for the starts
TILTS = np.array([1.0, 0.03, 0.2, 5.0, 30.0])  # factors on the rate ratio that A_low suggests, for the starts
BOX = np.log(1e4)  # the search stays within these factors of the middle of the starts
POLISHED = 4
AGREE = 1e-4  # relative difference of two losses that are the same minimum: the polish stops at 1e-13
ITERATIONS = 100  # of the polish, which takes 10 to 40
NUDGE = 1e-5  # in log rates, for central differences: truncation 1e-10, round-off 1e-11
SCANNED = 200  # frames looked at by the scan over starts
FAILED = 1e3  # residual in place of a solution that does not exist

Solution = Callable[[Array, NDArray[np.intp]], Array]


@dataclass(frozen=True)
class EffectiveFit:
    """Effective learning rates of a trajectory.

    Attributes:
        eta_h: effective rate of the encoder, 1/epoch.
        eta_y: effective rate of the decoder, 1/epoch.
        loss: squared fit loss, equation (49), summed over h, y, w and integrated over epochs.
        r2: explained variance of h, y, w, shape (3,).
        covariance: of (log eta_h, log eta_y), shape (2, 2); residuals are smooth in time, so it is widened by
            their autocorrelation time. The spread over seeds is larger and the honest error bar.
        starts: number of polished starts.
        agreeing: how many of them end in the best minimum.
        at_bound: the best rates lie on the border of the box: no rates fit.
        theory: h, y, w of the theory at these rates, shape (3, frames).
    """

    eta_h: float
    eta_y: float
    loss: float
    r2: Array
    covariance: Array
    starts: int
    agreeing: int
    at_bound: bool
    theory: Array


def no_fit(frames: int) -> EffectiveFit:
    """What stands for the fit of a trajectory that is not finite: NaN, and no rates."""
    rates, loss = (np.nan, np.nan), np.nan
    return EffectiveFit(
        *rates, loss, np.full(3, np.nan), np.full((2, 2), np.nan), 0, 0, True, np.full((3, frames), np.nan)
    )


def squared_error(y: ArrayLike, w: ArrayLike, dy2: float) -> Array:
    """||dy - (y2 - y1)||^2 = 2 w - y + dy2; an eighth of it is the loss left to the pair, equation (9)."""
    return 2 * np.asarray(w, float) - np.asarray(y, float) + dy2


def explained_variance(measured: Array, theory: Array) -> Array:
    """R2 of curves (..., frames); NaN where nothing varies."""
    spread = ((measured - measured.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return 1 - ((theory - measured) ** 2).sum(axis=-1) / np.where(spread > 0, spread, np.nan)


def has_converged(y: ArrayLike, w: ArrayLike, dy2: float) -> bool:
    """Whether the pair's error ends at most at 0.16 of its start, the paper's final loss of 1e-2.

    Ours: a limit for a pair of points inside a data set.
    """
    error = squared_error(y, w, dy2)
    return bool(error[-1] <= CONVERGED * max(error[0], dy2))


def fit_effective_rates(
    h: ArrayLike,
    y: ArrayLike,
    w: ArrayLike,
    dx2: float,
    dy2: float,
    *,
    every: float = 1.0,
    weights: ArrayLike = (1.0, 1.0, 1.0),
    solution: Solution | None = None,
    allow_unconverged: bool = False,
) -> EffectiveFit:
    """Fits eta_h and eta_y to a trajectory that starts at epoch 0, by the squared fit loss (49).

    Args:
        h: squared representational distance, shape (frames,).
        y: squared output distance, shape (frames,).
        w: alignment, shape (frames,).
        dx2: squared input distance.
        dy2: squared target distance.
        every: epochs between two frames.
        weights: factors on the squared residuals of h, y, w; ones are equation (49).
        solution: takes (eta_h, eta_y) of shape (starts,) and frame numbers (frames,), gives (3, starts, frames);
            None is the theory. NaN counts as far off.
        allow_unconverged: fit a run that has not left the plateau, to show that its fit means nothing.

    Returns:
        Rates, loss, explained variance, uncertainty and how many starts agree.

    Raises:
        ValueError: shapes that differ, impossible initial values, or an unconverged run.
    """
    data = _trajectory(h, y, w, dx2, dy2)
    if not (allow_unconverged or has_converged(data[1], data[2], dy2)):
        left = squared_error(data[1], data[2], dy2)
        raise ValueError(
            f"the run has not converged: its error ends at {left[-1]:.3g} of {left[0]:.3g}; a fit of a plateau is small"
            " and means nothing: train longer, or pass allow_unconverged=True"
        )
    solve = solution or _theory(data[:, 0], dx2, dy2, every)
    residual = partial(_residual, data=data, solve=solve, weights=np.sqrt(np.asarray(weights, float) * every))
    starts, middle = _starts(data, dx2, dy2, every, residual)
    logs, costs = _polish(residual, starts, middle)
    return _summary(logs, costs, data, solve, residual, middle)


def least_loss_on_line(
    h: ArrayLike,
    y: ArrayLike,
    w: ArrayLike,
    dx2: float,
    dy2: float,
    *,
    every: float = 1.0,
    solution: Solution | None = None,
) -> float:
    """The least squared fit loss (49) at the rate ratio that A_low suggests, eta_h/eta_y = h_end^2/(dx2 dy2).

    The authors' public search takes its guesses on this line, where small initial weights end by (10); a local search
    from there may stay on it. Arguments as in `fit_effective_rates`.

    Raises:
        ValueError: trajectories of unequal length, or not finite, or rates that no two points can have.
    """
    data = _trajectory(h, y, w, dx2, dy2)
    solve = solution or _theory(data[:, 0], dx2, dy2, every)
    residual = partial(_residual, data=data, solve=solve, weights=np.full(3, np.sqrt(every)))
    means, tilt = _line(data, dx2, dy2, every)

    def cost(mean: ArrayLike) -> Array:
        means = np.atleast_1d(mean)
        return (residual(np.stack([means + tilt, means - tilt], axis=-1)) ** 2).sum(axis=1)

    low = int(np.clip(np.argmin(cost(means)), 1, len(means) - 2))
    near = scipy.optimize.minimize_scalar(
        lambda mean: float(cost(mean)[0]), bounds=(means[low - 1], means[low + 1]), method="bounded"
    )
    return float(near.fun)


def _line(data: Array, dx2: float, dy2: float, every: float) -> tuple[Array, float]:
    """Mean logs of both rates of the starts, and half the log of the rate ratio that inverts A_low = h at the end."""
    span, length = (data.shape[1] - 1) * every, np.sqrt(dx2 * (dy2 or data[1, 0] or 1.0))
    ratio = max(data[0, -1] ** 2 / length**2, 1e-12)
    return np.log(2 * GROWTHS / (span * length)), float(np.log(ratio) / 2)


def _trajectory(h: ArrayLike, y: ArrayLike, w: ArrayLike, dx2: float, dy2: float) -> Array:
    positive(dx2, "dx2", "two different inputs are needed")
    arrays = [finite(value, name) for value, name in ((h, "h"), (y, "y"), (w, "w"))]
    if len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 1 or arrays[0].size < 3:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"h, y, w have shapes {shapes}; expected three trajectories of equal length, 3 frames or more")
    realizable(arrays[0], arrays[1], arrays[2], dy2)
    return np.stack(arrays)


def _theory(start: Array, dx2: float, dy2: float, every: float) -> Solution:
    h0, y0, w0 = start

    def solve(rates: Array, frames: NDArray[np.intp]) -> Array:
        eta_h, eta_y = rates[:, :, None]
        return solution_unchecked(frames * every, h0, y0, w0, eta_h, eta_y, np.float64(dx2), np.float64(dy2))

    return solve


def _residual(
    logs: Array, data: Array, solve: Solution, weights: Array, frames: NDArray[np.intp] | None = None
) -> Array:
    """Weighted residuals of starts `logs`, shape (starts, 2) or (2,); (starts, 3 frames) or (3 frames,)."""
    shown = np.arange(data.shape[1]) if frames is None else frames
    with np.errstate(over="ignore", invalid="ignore"):
        theory = solve(np.exp(np.atleast_2d(logs)).T, shown)
    off = weights[:, None, None] * (theory - data[:, None, shown])
    off = np.clip(np.nan_to_num(off, nan=FAILED), -FAILED, FAILED)
    flat = np.moveaxis(off, 1, 0).reshape(theory.shape[1], -1)
    return flat if np.ndim(logs) == 2 else flat[0]


def _starts(data: Array, dx2: float, dy2: float, every: float, residual: Callable[..., Array]) -> tuple[Array, Array]:
    """The best separate starts on a grid of growth and rate ratio, and the middle of the grid; logs of rates."""
    mean, center = _line(data, dx2, dy2, every)
    tilt = center + np.log(TILTS) / 2
    grid = np.stack([mean[:, None] + tilt, mean[:, None] - tilt], axis=-1)
    frames = np.unique(np.linspace(0, data.shape[1] - 1, SCANNED).astype(int))
    cost = (residual(grid.reshape(-1, 2), frames=frames) ** 2).sum(axis=1).reshape(grid.shape[:2])
    chosen, left = [], cost.copy()
    for _ in range(POLISHED):
        row, column = np.unravel_index(np.argmin(left), left.shape)
        chosen.append(grid[row, column])
        left[max(row - 2, 0) : row + 3, column] = np.inf
    return np.array(chosen), np.array([mean.mean() + tilt[0], mean.mean() - tilt[0]])


def _polish(residual: Callable[..., Array], starts: Array, middle: Array) -> tuple[Array, Array]:
    """Levenberg-Marquardt from all starts in lockstep, inside the box; the logs and squared losses they end at."""
    logs, damping, settled = starts.copy(), np.full(len(starts), 1e-3), np.zeros(len(starts), bool)
    off, slope = _with_slopes(residual, logs)
    cost = (off**2).sum(axis=1)
    for _ in range(ITERATIONS):
        normal = np.einsum("kni,knj->kij", slope, slope)
        ridge = damping[:, None] * np.maximum(np.einsum("kii->ki", normal), 1e-300)
        gradient = np.einsum("kni,kn->ki", slope, off)
        damped = normal + ridge[:, :, None] * np.eye(2)
        damped[np.linalg.slogdet(damped).sign == 0] = np.eye(2)  # slopes in parallel, damping below rounding: downhill
        step = np.linalg.solve(damped, -gradient[..., None])[..., 0]
        tried = np.clip(logs + np.clip(step, -2, 2), middle - BOX, middle + BOX)
        new_off, new_slope = _with_slopes(residual, tried)
        new_cost = (new_off**2).sum(axis=1)
        better = (new_cost < cost) & ~settled
        settled |= np.where(better, cost - new_cost <= 1e-13 * cost, damping > 1e8)
        logs[better], off[better], slope[better] = tried[better], new_off[better], new_slope[better]
        cost, damping = np.where(better, new_cost, cost), np.where(better, damping / 5, damping * 4)
        if settled.all():
            break
    return logs, cost


def _with_slopes(residual: Callable[..., Array], logs: Array) -> tuple[Array, Array]:
    """Residuals (starts, n) and their central differences in the log rates (starts, n, 2), in one call."""
    nudges = NUDGE * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
    off = residual((logs[:, None] + nudges).reshape(-1, 2)).reshape(len(logs), 5, -1)
    return off[:, 0], np.stack([off[:, 1] - off[:, 2], off[:, 3] - off[:, 4]], axis=-1) / (2 * NUDGE)


def _summary(
    logs: Array, costs: Array, data: Array, solve: Solution, residual: Callable[..., Array], middle: Array
) -> EffectiveFit:
    best = int(np.argmin(costs))
    theory = solve(np.exp(logs[best])[:, None], np.arange(data.shape[1]))[:, 0]
    off, slope = _with_slopes(residual, logs[best : best + 1])
    return EffectiveFit(
        eta_h=float(np.exp(logs[best, 0])),
        eta_y=float(np.exp(logs[best, 1])),
        loss=float(costs[best]),
        r2=explained_variance(data, theory),
        covariance=_covariance(off[0], slope[0]),
        starts=len(costs),
        agreeing=int((costs <= costs[best] * (1 + AGREE)).sum()),
        at_bound=bool((np.abs(logs[best] - middle) > BOX - 0.01).any()),
        theory=theory,
    )


def _covariance(off: Array, slope: Array) -> Array:
    """Gauss-Newton covariance of residuals (3 frames,), times their integrated autocorrelation time."""
    curves = off.reshape(3, -1)
    frames = curves.shape[1]
    spectrum = np.abs(np.fft.rfft(curves, 2 * frames, axis=1)) ** 2
    lagged = np.fft.irfft(spectrum.sum(axis=0))[:frames]
    if not lagged[0] > 0:
        return np.zeros((2, 2))
    until = np.argmax(lagged <= 0) or frames
    time = 1 + 2 * (lagged[1:until] / lagged[0]).sum()
    weighed = frames * (curves != 0).any(axis=1).sum()
    variance = (off**2).sum() / max(weighed - 2, 1)
    return time * variance * np.linalg.pinv(slope.T @ slope)


def fit_mean_rate(
    t: ArrayLike, loss: ArrayLike, y: ArrayLike, w: ArrayLike, dy2: float, offset2: float
) -> tuple[float, float]:
    """Fits eta_b of the loss (9), given y and w of the fitted theory; (eta_b in 1/epoch, sum of squared residuals).

    Args:
        t: epochs of the frames, increasing from 0.
        loss: measured training loss at them.
        y: squared output distance of the theory.
        w: alignment of the theory.
        dy2: squared target distance.
        offset2: squared distance of the mean output at the start from the mean target.

    Raises:
        ValueError: a loss that is not finite.
    """
    t, loss = finite(t, "t"), finite(loss, "loss")
    every = (t[-1] - t[0]) / (len(t) - 1)

    def cost(log_rate: float) -> float:
        return float(((effective_loss(t, y, w, dy2, offset2, np.exp(log_rate)) - loss) ** 2).sum() * every)

    grid = np.log(np.geomspace(0.01 / t[-1], 10 / every, 80))
    costs = [cost(value) for value in grid]
    low = int(np.clip(np.argmin(costs), 1, len(grid) - 2))
    best = scipy.optimize.minimize_scalar(
        cost, bounds=(grid[low - 1], grid[low + 1]), method="bounded", options={"xatol": 1e-10}
    )
    return float(np.exp(best.x)), float(best.fun)
