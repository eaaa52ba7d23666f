"""Fit of the effective rates, side by side in one run: closed form and lockstep search against a stiff solver and BFGS.

The other way is the one that the paper's setting suggests: each trial of the rates integrates the three equations
with a stiff solver, a scan along the ray that A_low gives picks the start, and a quasi-Newton search finishes.
Printed: the squared fit losses reached, CPU seconds per fit, and the accuracy of the closed form.

Run with `OMP_NUM_THREADS=1 python benchmarks/universality_fit.py`; about a minute.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from repdyn.base.streams import Stream
from repdyn.universality.methods.engines.frames import Task
from repdyn.universality.methods.fit import fit_effective_rates
from repdyn.universality.methods.networks import Net
from repdyn.universality.methods.two_point_training import train_two_points, two_points
from repdyn.universality.settings.two_points import TwoPointRun
from repdyn.universality.theory.effective import effective_rhs, effective_solution

DX2, DY2 = 1.0, 0.5


def stiff(t: np.ndarray, start: np.ndarray, eta_h: float, eta_y: float) -> np.ndarray:
    """The three equations by Radau at scipy's usual tolerances."""
    return solve_ivp(
        lambda _, z: effective_rhs(*z, eta_h, eta_y, DX2, DY2), (0, t[-1]), start, method="Radau", t_eval=t
    ).y


def usual_fit(data: np.ndarray, t: np.ndarray, every: int, scales: int) -> tuple[float, float]:
    """Scan along eta_h/eta_y = h_end^2/(dx2 dy2), then BFGS in the rates; loss and CPU seconds."""
    before = time.process_time()

    def loss(rates: np.ndarray) -> float:
        if (rates <= 0).any():
            return 1e12
        solution = stiff(t, data[:, 0], *rates)
        return every * float(((solution - data) ** 2).sum()) if solution.shape == data.shape else 1e12

    ratio = data[0, -1] ** 2 / (DX2 * DY2)
    rays = [(np.sqrt(ratio) * scale, scale / np.sqrt(ratio)) for scale in np.geomspace(1e-4, 1e-1, scales)]
    best = min(rays, key=lambda pair: loss(np.array(pair)))
    optimum = minimize(loss, np.array(best), method="BFGS")
    return float(optimum.fun), time.process_time() - before


def fits(nets: dict[str, tuple[Net, float]], every: int) -> pd.DataFrame:
    rows = []
    for name, (net, rate) in nets.items():
        settings = TwoPointRun(seeds=1, epochs=6000, every=every, stop=0.0, dtype="float64", engine="auto")
        run = train_two_points(
            settings, Task(net, *two_points(1.0, np.sqrt(DY2)), rate, every), Stream(1, ("benchmark",))
        )
        data = np.stack([run["h"].values[0, :, 0], run["y"].values[0], run["w"].values[0]])
        before = time.process_time()
        ours = fit_effective_rates(*data, DX2, DY2, every=every)
        spent = time.process_time() - before
        other, seconds = usual_fit(data, run["epoch"].values.astype(float), every, 30)
        rows.append(
            {
                "network": name,
                "frames": data.shape[1],
                "loss, closed form": ours.loss,
                "loss, stiff solver and BFGS": other,
                "CPU s, closed form": spent,
                "CPU s, stiff solver and BFGS": seconds,
                "ratio": seconds / spent,
                "starts in one minimum": f"{ours.agreeing} of {ours.starts}",
            }
        )
    return pd.DataFrame(rows)


def accuracy() -> pd.DataFrame:
    """Error and time of solvers against the closed form on one rich trajectory, 6000 epochs."""
    t, start, rates = np.arange(6000.0), (1e-3, 4e-9, -4.4e-5), (7e-4, 4e-2)
    wanted = effective_solution(t, *start, *rates, DX2, DY2)
    rows = []
    for method, rtol in (("Radau", 1e-3), ("Radau", 1e-6), ("LSODA", 1e-6), ("LSODA", 1e-10), ("DOP853", 1e-12)):
        before = time.process_time()
        solution = solve_ivp(
            lambda _, z: effective_rhs(*z, *rates, DX2, DY2),
            (0, t[-1]),
            start,
            method=method,
            rtol=rtol,
            atol=rtol * 1e-3,
            t_eval=t,
        ).y
        rows.append((method, rtol, np.abs(solution - wanted).max(), 1e3 * (time.process_time() - before)))
    before = time.process_time()
    for _ in range(20):
        effective_solution(t, *start, *rates, DX2, DY2)
    rows.append(("closed form", 0.0, 0.0, 1e3 * (time.process_time() - before) / 20))
    return pd.DataFrame(rows, columns=["solver", "rtol", "largest difference", "CPU ms"])


def main() -> None:
    print(accuracy().to_string(index=False, float_format="%.3g"), "\n")
    nets = {
        "narrow": (Net("leaky relu", 1.05, 50, 20), 0.005),
        "shallow": (Net("leaky relu", 0.35, 100, 2), 0.01),
        "tanh": (Net("tanh", 0.85, 100, 20), 0.00125),
    }
    print(fits(nets, 10).to_string(index=False, float_format="%.6g"))


if __name__ == "__main__":
    main()
