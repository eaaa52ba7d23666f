"""Figures of the flow of one cluster: staircase, printed against corrected, Proposition 4.2, integrators, sliding."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from repdyn.base.figures import BLACK, BLUE, GREEN, ORANGE, RED, band, describe, label_panels, legend_below, new


def staircase(staircase: xr.Dataset) -> Figure:
    """Rate of the bias and the bias itself for a label beyond, between and below the points."""
    cases = ("beyond", "between", "below")
    figure, axes = new(2, 3, height=1.8, sharex=True)
    for column, case in enumerate(cases):
        part = staircase.sel(case=case)
        y, start = float(part["label"]), float(part["b"][0])
        axes[0, column].step(part["time"], part["rate"], where="post", color=BLUE)
        axes[0, column].set_title(f"y = {y:g}, b(0) = {start:g}")
        axes[0, column].set_ylim(-0.05, 1.08)
        axes[1, column].plot(part["time"], part["b"], color=BLUE, label="$b(s)$")
        axes[1, column].axhline(y, color=GREEN, linestyle="--", linewidth=1, label="label $y$")
        for x in part["x"].values:
            axes[1, column].axhline(x, color=BLACK, linewidth=0.5, alpha=0.4)
        for moment in part["meeting"].values[np.isfinite(part["meeting"].values)]:
            for panel in axes[:, column]:
                panel.axvline(moment, color=ORANGE, linewidth=0.7, linestyle=":")
        axes[1, column].set_xlabel("flow time $s$")
    axes[0, 0].set_ylabel("rate $n/N$")
    axes[1, 0].set_ylabel("bias, data")
    figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    label_panels(axes)
    return describe(
        figure,
        title="The staircase of rates (Section 4.3)",
        caption="One coordinate at fixed weights, data at 0, 1, 2, 3 (thin lines), exact solution. Top: rate of "
        "approach to the label, which steps at every meeting (dotted, equation (4.49)). Left: all points are truncated "
        "and the rate ends at 1. Middle: the label lies between points, the rate stays at 1/2, the rest is never "
        "truncated. Right: points are released on the way down and $b$ stops at the smallest, not at the label.",
        alt="Rates climb in steps to one when the label lies beyond the data, stay at one half when it lies between, "
        "and step down to zero when it lies below, where the bias stops short of the label.",
    )


def printed_and_corrected(printed_and_corrected: xr.Dataset, random_clusters: xr.Dataset) -> Figure:
    """Cost along the weight flow of Theorem 3.2 as printed and as corrected: the printed one rises."""
    figure, axes = new(2, 2, height=2.2)
    looks = {"printed": {"color": RED, "linestyle": "--"}, "corrected": {"color": BLUE, "linestyle": "-"}}
    flows, time = printed_and_corrected, printed_and_corrected["time"]
    case = str(random_clusters["case"].values[1])
    for formula, look in looks.items():
        part = flows.sel(formula=formula)
        for column, example in enumerate(flows["example"].values):
            axes[0, column].plot(time, part["example_cost"].sel(example=example), label=formula, **look)
            axes[0, column].set_title(f"one point, {example}")
        cost = part["cost"]
        axes[1, 0].plot(time, cost.mean("cluster"), label=formula, **look)
        low, high = np.quantile(cost, [0.1, 0.9], axis=cost.get_axis_num("cluster"))
        band(axes[1, 0], time.values, low, high, color=look["color"])
        rate = np.sort(random_clusters[f"{formula}_rate"].sel(case=case))
        axes[1, 1].plot(rate, np.linspace(0, 1, rate.size), label=formula, **look)
    axes[1, 1].axvline(0, color=BLACK, linewidth=0.8)
    axes[1, 1].set(
        xlim=(-1, 0.8), xlabel="dC/ds at a random state", ylabel="share of clusters", title=f"random clusters, {case}"
    )
    axes[1, 0].set_title(f"{flows.sizes['cluster']} planar clusters")
    for panel in axes.ravel()[:3]:
        panel.set(xlabel="flow time $s$", ylabel="cost", ylim=(0, None))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    label_panels(axes)
    rise = flows["example_cost"].sel(formula="printed", example="rise")
    share = float((random_clusters["printed_rate"].sel(case=case) > 0).mean())
    return describe(
        figure,
        title="Theorem 3.2 as printed raises the cost",
        caption="Blue, full: corrected weight flow; orange-red, dashed: as printed in (3.22)-(3.23). (a) "
        rf"$x = (1, -1)$, $\tilde y = (1/2, 0)$: the printed flow takes the cost from {float(rise[0]):.3f} to "
        rf"{float(rise[-1]):.3f}. (b) $\tilde y = 0$: the printed flow rests at cost 1/2. (c) Mean and 10-90 % range "
        f"over {flows.sizes['cluster']} clusters of {int(flows['points'])} points. (d) Distribution of $dC/ds$ over "
        rf"{random_clusters.sizes['draw']} random clusters near $\beta = -\tilde y$; to the right of zero the cost "
        f"rises: {share:.0%} of them under the printed flow, none under the corrected.",
        alt="The printed flow raises the cost in the first panel, rests at a cost of one half in the second, ends "
        "higher on average in the third; in the fourth a large share of random states have a positive derivative of "
        "the cost.",
    )


def proposition(proposition: xr.Dataset) -> Figure:
    """Proposition 4.2: residual, rotation, generator and truncated share, with the bounds."""
    figure, axes = new(2, 2, height=2.0)
    shown = (
        ("residual", r"$|\beta + \tilde y|$", True),
        ("rotation", r"$\|R - R(0)\|$", True),
        ("generator_norm", r"$\|\Omega\|$", False),
        ("truncated_share", "truncated share", False),
    )
    for panel, (name, title, log) in zip(axes.ravel(), shown, strict=True):
        for Q, color, style in zip(proposition["dimension"].values, (BLUE, RED), ("-", "--"), strict=True):
            part = proposition.sel(dimension=Q)
            values = part[name].values
            panel.plot(
                part["time"],
                np.where(values > 0, values, np.nan) if log else values,
                color=color,
                linestyle=style,
                label=f"$Q$ = {Q}",
            )
            panel.axvline(float(part["arrival"]), color=color, linewidth=0.7, linestyle=":")
            if name in ("residual", "truncated_share"):
                panel.axvline(float(part["arrival_bound"]), color=color, linewidth=0.9, linestyle="-.")
            if name == "rotation":
                panel.axhline(float(part["eta_2"]), color=color, linewidth=0.9, linestyle="-.")
        panel.set_yscale("log" if log else "linear")
        panel.set(xlabel="flow time $s$", title=title)
    axes[1, 0].set_xlim(0, 2 * float(proposition["arrival"].max()))
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    label_panels(axes)
    return describe(
        figure,
        title="Proposition 4.2 on data that meet its hypotheses",
        caption=f"{int(proposition['points'])} points, hypotheses certified by rigorous bounds with $\\gamma$ ="
        f" {float(proposition['gamma']):g}. Dotted: time $s_1$ of full truncation ("
        + ", ".join(f"{float(s):.2f}" for s in proposition["arrival"])
        + "); dash-dotted: bound on $s_1$ in (a) and (d), $\\eta_2$ in (b). After $s_1$ $\\Omega$ is exactly "
        "zero and $R$ is frozen.",
        alt="The residual decays exponentially, the rotation stops at once and far below its bound, Omega vanishes "
        "when all points are truncated, well before the bound on that time.",
    )


def integrators(integrators: xr.Dataset) -> Figure:
    """Error against the number of right sides."""
    figure, axes = new(1, 1, height=2.8, width=4.2)
    panel = axes[0, 0]
    methods = (
        ("occupation", BLUE, "o", "occupation-time midpoint"),
        ("scipy", RED, "s", "solve_ivp, RK45"),
        ("euler", ORANGE, "^", "Euler with Cayley retraction"),
    )
    for name, color, marker, words in methods:
        cost, error = integrators[f"{name}_cost"], integrators[f"{name}_error"]
        known = np.isfinite(error.values)
        panel.loglog(cost.values[known], error.values[known], color=color, marker=marker, label=words)
    panel.set(xlabel="right sides evaluated", ylabel=r"largest error in $R$ and $\beta$")
    panel.legend()
    return describe(
        figure,
        title="Accuracy against cost",
        caption=f"A rotating cluster, $Q$ = {int(integrators['dimension'])}, $N$ = {int(integrators['points'])}, with "
        f"{int(integrators['crossings'])} crossings of coordinate planes; error against the event-driven flow, local "
        "error 1e-11. CPU times are measured in benchmarks/truncation_flow.py.",
        alt="At equal numbers of right sides the occupation-time scheme is several times to a hundred times more "
        "accurate than the adaptive solver, and more than that than Euler steps.",
    )


def sliding(integrators: xr.Dataset) -> Figure:
    """A point that sticks to a coordinate plane: Filippov's solution, the occupation scheme, a stalled solver."""
    figure, axes = new(1, 3, height=2.6)
    time, early = integrators["time"].values, integrators["time"].values <= 2
    largest = float(integrators["step"].max())
    panel = axes[0, 0]
    for name, words, look in (
        ("sliding_u", "event-driven", {"color": BLUE}),
        ("sliding_u_occupation", f"occupation, $h$ = {largest:g}", {"color": GREEN, "linestyle": "--"}),
        ("sliding_u_scipy", "RK45", {"color": RED, "marker": ".", "markersize": 3, "linewidth": 0.8}),
    ):
        panel.plot(time[early], integrators[name].values[early], label=words, **look)
    panel.axvline(float(integrators["sliding_reached"]), color=RED, linewidth=0.8, linestyle=":")
    panel.set(xlabel="flow time $s$", title="$u_1$ sticks to 0", ylabel="$u_1$")
    legend_below(panel)
    axes[0, 1].semilogy(time, integrators["sliding_cost"], color=BLUE)
    axes[0, 1].set(xlabel="flow time $s$", title="cost while sliding")
    axes[0, 2].loglog(
        integrators["step"], integrators["sliding_error"], color=GREEN, marker="o", label="error of $u_1$"
    )
    axes[0, 2].loglog(integrators["step"], integrators["step"], color=BLACK, linestyle=":", label="$h$")
    axes[0, 2].set(xlabel="step $h$", title="occupation scheme")
    axes[0, 2].set_xticks(steps := integrators["step"].values[::2], [f"{h:g}" for h in steps])
    axes[0, 2].minorticks_off()
    legend_below(axes[0, 2])
    label_panels(axes)
    return describe(
        figure,
        title="Sliding on a coordinate plane",
        caption=r"$x = (-0.2, -1)$, $\tilde y = (-1, -0.5)$, $\beta = 0$, $R = 1$: where $b_i < 0$ the velocity pushes "
        "back from both sides and the point slides on $u_1 = 0$. (a) scipy's solve_ivp (RK45, relative tolerance 1e-6) "
        f"uses up {int(integrators['sliding_cap'])} right sides by $s$ = {float(integrators['sliding_reached']):.2f} "
        "(dotted). (b) Cost of Filippov's solution. (c) Largest error of $u_1$ under the occupation scheme, first "
        "order in $h$ while sliding.",
        alt="The first coordinate falls to zero and stays there; the adaptive solver stops where sliding begins, the "
        "occupation scheme follows with an error of the order of its step.",
    )
