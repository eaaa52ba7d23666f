"""The manifold of section 2.2 next to the round sphere, and its metric's eigenvalues."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.plotting.figures import BLACK, BLUE, GREEN, RED, Drawn, figure, label_panels, legend_below, new


@figure(
    title=r"Section 2.2: the manifold $\mathcal M$ beside the round cylinder to which it is isometric",
    caption=r"(a) $\Omega$ for $\Sigma$ = diag(5, 1) with points at equal distances in the metric $G$ (arcs measured "
    r"by quadrature of $G$); (b) the same points on the unit circle: $b \mapsto b/\|b\|$ is an isometry. (c) "
    r"Smallest eigenvalue of $\|b\|^2 G$ on the tangent space, computed and closed form, with Kantorovich's bound "
    "$4k/(k+1)^2$ (dashed); one mark per draw.",
    alt="Points at equal distances on the ellipse and the same points on the unit circle; eigenvalues computed "
    "against closed form, with bounds.",
)
def round_manifold(metric_audit: xr.Dataset) -> Drawn:
    """The manifold of the paper beside the sphere that it is isometric to, and the metric's eigenvalues."""
    fig, axes = new(1, 3, height=2.4)
    points = metric_audit["tick_position"].values
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    for panel, ticks, words in (
        (axes[0, 0], points, r"$\Omega$, metric $G$"),
        (axes[0, 1], unit, "unit circle, angle"),
    ):
        panel.plot(*np.concatenate([ticks, ticks[:1]]).T, color=BLACK, linewidth=0.7)
        panel.plot(*ticks.T, "o", color=BLUE, markersize=3)
        for tick in unit[::6]:
            panel.plot([0, 1.1 * tick[0]], [0, 1.1 * tick[1]], color=BLACK, linewidth=0.3)
        panel.set(aspect="equal", title=words, xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
    cells = metric_audit.stack(cell=("dimension", "draw"))
    for color, marker, k in zip((BLUE, RED, GREEN), "o^s", metric_audit["condition"].values, strict=False):
        cell = cells.sel(condition=k)
        axes[0, 2].plot(cell["alignment"], cell["smallest"], marker, color=color, alpha=0.5, label=f"cond {k:g}")
        axes[0, 2].axhline(float(cell["kantorovich"][0]), color=color, linewidth=0.8, linestyle="--")
    axes[0, 2].set(
        xscale="log",
        yscale="log",
        xlabel=r"$\cos^2 \angle(b, \Sigma b)$",
        ylabel="smallest eigenvalue",
        title="eigenvalues",
    )
    legend_below(axes[0, 2], columns=3)
    label_panels(axes)
    return Drawn(
        fig,
        {
            "points in (a) and (b)": len(points),
            "largest deviation of neighboring angles in (b) from equal ones (degree)": _unevenness(unit),
            "draws in (c), per dimension and condition": metric_audit.sizes["draw"],
            "dimensions in (c)": metric_audit.sizes["dimension"],
        },
    )


def _unevenness(unit: np.ndarray) -> float:
    """Largest deviation of the angles between neighboring points on the unit circle from their mean, in degrees."""
    angles = np.degrees(np.arccos(np.clip((unit * np.roll(unit, -1, axis=0)).sum(axis=1), -1, 1)))
    return float(np.abs(angles - 360 / len(unit)).max())
