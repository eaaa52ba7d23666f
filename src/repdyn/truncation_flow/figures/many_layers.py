"""Figures of trained outputs and of all layers: conservation law, reduced network, general flow, the audit page."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.formula_audit import largest_errors
from repdyn.plotting.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    Drawn,
    figure,
    label_panels,
    legend_below,
    new,
)

ROUNDING_FLOOR = 1e-17
ZERO = 1e-17  # where an error of exactly 0 is drawn
EXACT, LOOSEST = 1e-10, 1e-4  # tolerances of the checks
TITLES = {"benign": "labels near the images", "adverse": "labels exchanged"}


@figure(
    title="Section 8, output weight: integral of motion, cost against its bound, and the bound (8.35)",
    caption="Collapsed clusters, random starts per sign of the integral of motion. (a) Its largest drift over the "
    "starts (integrator of relative tolerance 1e-12), and the mean drift of Euler steps of several lengths after "
    "one unit of time. (b) One line per start, until the cost is round-off; the theorem says none rises above zero. "
    "(c) $Y = 0$, $B = 1$, $W = 0.01$: norm of the output weight and the bound (8.35), as printed and corrected.",
    alt="Drift of the integral of motion over flow time with levels of Euler steps; cost against its exponential "
    "bound, one line per start; norm of the output weight with two bounds.",
)
def conservation(collapsed_clusters: xr.Dataset) -> Drawn:
    """Integral of motion, the decay of the cost against the spectral gap, and the bound (8.35)."""
    data, time = collapsed_clusters, collapsed_clusters["time"].values
    fig, axes = new(1, 3, height=3.1)
    colors = {"positive": BLUE, "negative": ORANGE, "indefinite": GREEN}
    for sign, color in colors.items():
        drift = data["drift"].sel(sign=sign).max("seed").values
        axes[0, 0].semilogy(
            time[1:], np.maximum(drift[1:], ROUNDING_FLOOR), color=color, label=rf"$\mathcal{{I}}(0)$ {sign}"
        )
    for n, h in enumerate(data["euler_step"].values[::-1]):
        level = float(data["euler_drift"].sel(euler_step=h).mean())
        axes[0, 0].axhline(level, color=PURPLE, linestyle="--", linewidth=1, label="Euler steps" if n == 0 else None)
    axes[0, 0].set(ylim=(1e-15, 1), title="drift", ylabel=r"$\|\mathcal{I}(s) - \mathcal{I}(0)\|$")
    for sign in ("positive", "negative"):
        for orbit in data["rate_excess"].sel(sign=sign).values:
            axes[0, 1].plot(time, orbit, color=colors[sign], linewidth=0.8)
        axes[0, 1].plot([], [], color=colors[sign], label=rf"$\mathcal{{I}}(0)$ {sign}")
    axes[0, 1].axhline(0, color=BLACK, linewidth=0.8, label="bound")
    axes[0, 1].set(title="cost against bound", ylabel=r"$\log C(s)/C(0) + 2 \lambda_0 s$")
    for name, color, style, words in (
        ("weight_norm", BLACK, "-", r"$\|W + Y B^{-1}\|$"),
        ("weight_bound_corrected", BLUE, "-.", "bound, corrected"),
        ("weight_bound_printed", RED, "--", "bound, printed"),
    ):
        axes[0, 2].semilogy(time, data[name], color=color, linestyle=style, label=words)
    axes[0, 2].set(title="output weight")
    for panel in axes[0]:
        panel.set_xlabel("flow time $s$")
        legend_below(panel)
    label_panels(axes)
    return Drawn(
        fig,
        {
            "dimension Q": int(data["dimension"]),
            "starts per sign": data.sizes["seed"],
            "lengths of the Euler steps, from above": data["euler_step"].values[::-1],
        },
    )


@figure(
    title="Reduced flow (8.6)-(8.7) beside the network that it approximates",
    caption=r"Three clusters, all collapsed at $s = 0$. (a) Labels near $W \tilde y$. (b) Labels exchanged between "
    "clusters. Dotted: the time at which a cluster leaves the sectors that the reduced flow assumes.",
    alt="Cost of the network and of the reduced flow over flow time in two panels, labels near the images and "
    "labels exchanged; dotted: where the sectors are lost.",
)
def reduced_network(reduced_network: xr.Dataset) -> Drawn:
    """The reduced flow against the network, benign and adverse labels."""
    fig, axes = new(1, 2, height=2.4, sharey=True)
    for panel, labels in zip(axes[0], reduced_network["labels"].values, strict=True):
        part = reduced_network.sel(labels=labels)
        panel.semilogy(part["time"], part["cost_network"], color=BLUE, label="network")
        panel.semilogy(part["time"], part["cost_reduced"], color=RED, linestyle="--", label="reduced flow (8.6)-(8.7)")
        if np.isfinite(part["lost"]):
            panel.axvline(float(part["lost"]), color=BLACK, linestyle=":", linewidth=1)
            panel.annotate("sectors lost", (float(part["lost"]) + 0.1, 1e-4), fontsize=7.5)
        panel.set(xlabel="flow time $s$", title=TITLES[str(labels)], ylim=(1e-14, 30))
    axes[0, 0].set_ylabel("standard cost")
    axes[0, 0].legend()
    label_panels(axes)
    benign, adverse = (reduced_network.sel(labels=labels) for labels in ("benign", "adverse"))
    return Drawn(
        fig,
        {
            "points per cluster": int(reduced_network["points"]),
            "largest difference of costs in (a)": float(np.abs(benign["cost_network"] - benign["cost_reduced"]).max()),
            "time at which sectors are lost in (b) (none: not seen)": float(adverse["lost"]),
            "cost of the network at the end of (b)": float(adverse["cost_network"][-1]),
            "cost of the reduced flow at the end of (b)": float(adverse["cost_reduced"][-1]),
        },
    )


@figure(
    title="General flow of Theorem 5.1, corrected, beside gradient descent from several kinds of start",
    caption="Three layers, three clusters; thin: draws, thick: their median; values below the dotted line are "
    "plotted on it. Flow: "
    "Euclidean cost; descent: all weights and biases, standard cost, from the same function, time = rate times "
    "steps. By Proposition 4.1 an untruncated start is an equilibrium of the flow.",
    alt="Two rows of panels over time, one column per kind of start: the flow and gradient descent, every draw and "
    "their median.",
)
def general_flow(general_flow: xr.Dataset) -> Drawn:
    """The corrected general flow beside plain gradient descent from four kinds of start."""
    fig, axes = new(2, 4, height=1.9, sharex=True, sharey="row")
    floors = {"cost": 1e-7, "within": 1e-5}
    styles = {"flow": (BLUE, "-", "flow of Theorem 5.1, corrected"), "descent": (ORANGE, "--", "gradient descent")}
    for column, start in enumerate(general_flow["start"].values):
        axes[0, column].set_title(str(start))
        for algorithm, (color, style, words) in styles.items():
            part = general_flow.sel(start=start, algorithm=algorithm)
            for row, (name, floor) in enumerate(floors.items()):
                values, panel = np.maximum(part[name].values, floor), axes[row, column]
                panel.semilogy(part["time"], values.T, color=color, linestyle=style, linewidth=0.6, alpha=0.45)
                panel.semilogy(part["time"], np.median(values, axis=0), color=color, linestyle=style, label=words)
        axes[1, column].set_xlabel("flow time $s$")
        for panel, floor in zip(axes[:, column], floors.values(), strict=True):
            panel.axhline(floor, color=BLACK, linestyle=":", linewidth=0.8, label="not plotted below", zorder=3)
    axes[0, 0].set_ylabel("cost")
    axes[1, 0].set_ylabel("variance within / all")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    end = general_flow["cost"].isel(time=-1).median("seed")
    return Drawn(
        fig,
        {
            "draws per kind of start": general_flow.sizes["seed"],
            "points per cluster": int(general_flow["points"]),
            "step of the flow": float(general_flow["step"]),
            "rate of descent": float(general_flow["rate"]),
            "median cost at the end, flow, by start": end.sel(algorithm="flow").values,
            "median cost at the end, descent, by start": end.sel(algorithm="descent").values,
        },
    )


@figure(
    title="Errors of the audited formulas, as printed and as corrected",
    caption="Largest absolute error over random draws in several dimensions, and for (8.8)-(8.17) over starts, "
    "against complex steps of the cost, the network's definition, or an integrator; the horizontal axis is "
    "logarithmic. Orange-red: as printed, where that is wrong, joined to the corrected form (blue); blue alone: "
    "right as printed. Dashed: tolerances of the checks, $10^{-10}$ where both sides are exact but for round-off, "
    "up to $10^{-4}$ where one is a difference quotient or a quadrature.",
    alt="Errors of equations on a logarithmic axis, as printed and corrected, one row per equation, with the "
    "tolerances of the checks.",
)
def gradient_audit(gradient_audit: xr.Dataset, propagators: xr.Dataset) -> Drawn:
    """Largest error of every equation as printed and as corrected: the erratum page at a glance."""
    parts = [largest_errors(data) for data in (gradient_audit, propagators)]
    names, printed, corrected = (
        np.concatenate([part[name].values for part in parts]) for name in ("equation", "printed", "corrected")
    )
    wrong = printed != corrected  # an audit gives a formula that needs no correction one error for both
    order = np.lexsort((-printed, ~wrong))
    fig, axes = new(1, 1, height=6.4)
    panel = axes[0, 0]
    shown = {"printed": np.maximum(printed[order], ZERO), "corrected": np.maximum(corrected[order], ZERO)}
    rows, count = np.arange(names.size), int(wrong.sum())
    panel.hlines(
        rows[:count], shown["corrected"][:count], shown["printed"][:count], color=RED, linewidth=0.8, alpha=0.5
    )
    panel.plot(shown["printed"][:count], rows[:count], "D", color=RED, markersize=5, label="wrong as printed")
    panel.plot(shown["corrected"], rows, "o", color=BLUE, markersize=4, label="right: as corrected, or as printed")
    for tolerance, words in ((EXACT, "tolerance of\nexact formulas"), (LOOSEST, "loosest\ntolerance")):
        panel.axvline(tolerance, color=BLACK, linewidth=0.8, linestyle="--", zorder=0)
        above = {"xycoords": panel.get_xaxis_transform(), "textcoords": "offset points", "ha": "center", "size": 7.5}
        panel.annotate(words, (tolerance, 1), (0, 3), **above)
    panel.set(xscale="log", ylim=(names.size - 0.4, -0.6), xlabel="largest absolute error (0: none at all)")
    panel.set_xticks([ZERO, 1e-14, EXACT, 1e-7, LOOSEST, 1, 100])
    panel.set_xticklabels(["0", "$10^{-14}$", "$10^{-10}$", "$10^{-7}$", "$10^{-4}$", "1", "100"])
    panel.minorticks_off()
    panel.set_yticks(rows, [str(name) for name in names[order]])
    panel.tick_params(axis="y", length=0)
    legend_below(panel, columns=2)
    return Drawn(
        fig,
        {
            "formulas": names.size,
            "wrong as printed": count,
            "corrected: within the loosest tolerance": int((corrected <= LOOSEST).sum()),
            "dimensions": gradient_audit["dimension"].values,
            "draws per dimension": gradient_audit.sizes["draw"],
            "starts for (8.8)-(8.17)": propagators.sizes["seed"],
        },
    )
