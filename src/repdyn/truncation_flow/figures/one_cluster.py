"""Figures of the flow of one cluster: staircase, printed against corrected, Proposition 4.2, integrators, sliding."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from repdyn.base.datasets import require, require_finite
from repdyn.plotting.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    RED,
    Drawn,
    figure,
    label_panels,
    legend_below,
    new,
    plain_numbers,
)

FLOWS = {
    "printed": {"color": RED, "linestyle": "--", "marker": "o", "face": "none"},
    "corrected": {"color": BLUE, "linestyle": "-", "marker": "^", "face": BLUE},
}
RATE_TICKS = (-10, -1, -0.1, -0.01, 0, 0.01, 0.1, 1)
TURNING = ("rotation", "generator_norm")


@figure(
    title="Section 4.3: bias of one coordinate and its rate, for labels beyond, between and below the data",
    caption="One coordinate at fixed weights, data at 0, 1, 2, 3 (thin lines), exact solution. Top: rate of "
    "approach to the label, which steps at every meeting (dotted, equation (4.49)). From left to right the label "
    "lies beyond, between and below the data. Below: the bias.",
    alt="Rate of approach above, bias with data and label below, over flow time, for a label beyond, between and "
    "below the data.",
)
def staircase(staircase: xr.Dataset) -> Drawn:
    """Rate of the bias and the bias itself for a label beyond, between and below the points."""
    cases = ("beyond", "between", "below")
    fig, axes = new(2, 3, height=1.8, sharex=True)
    for column, case in enumerate(cases):
        part = staircase.sel(case=case)
        y, start = float(part["label"]), float(part["b"][0])
        axes[0, column].step(part["time"], part["rate"], where="post", color=BLUE)
        axes[0, column].set_title(f"$y$ = {y:g}, $b(0)$ = {start:g}")
        axes[0, column].set_ylim(-0.05, 1.08)
        axes[1, column].plot(part["time"], part["b"], color=BLUE, label="$b(s)$")
        axes[1, column].axhline(y, color=GREEN, linestyle="--", linewidth=1, label="label $y$")
        for x in part["x"].values:
            axes[1, column].axhline(x, color=BLACK, linewidth=0.5, alpha=0.4, label="data")
        for moment in part["meeting"].values[np.isfinite(part["meeting"].values)]:
            for panel in axes[:, column]:
                panel.axvline(moment, color=ORANGE, linewidth=0.7, linestyle=":", label="meeting by (4.49)")
        axes[1, column].set_xlabel("flow time $s$")
    axes[0, 0].set_ylabel("rate $n/N$")
    axes[1, 0].set_ylabel("bias, data")
    named = {words: line for line, words in zip(*axes[1, 0].get_legend_handles_labels(), strict=True)}
    fig.legend(named.values(), named.keys(), loc="outside lower center", ncols=4)
    label_panels(axes)
    last = staircase.sel(case=list(cases)).isel(time=-1)
    last = staircase.sel(case=list(cases)).isel(time=-1)
    return Drawn(
        fig,
        {
            "rate at the end: beyond, between, below": last["rate"].values,
            "distance of the bias from the label at the end": np.abs(last["b"].values - last["label"].values),
        },
    )


@figure(
    title="Theorem 3.2: the cost along its weight flow, as printed and as corrected",
    caption=r"Blue: corrected weight flow; orange-red: as printed in (3.22)-(3.23). (a) $x = (1, -1)$, $\tilde y = "
    r"(1/2, 0)$. (b) $\tilde y = 0$. (c) Planar clusters: cost at the end over cost at the start; "
    r"above the line at 1 the flow has raised it. (d) Share of random clusters near $\beta = -\tilde y$ with a "
    "smaller $dC/ds$; to the right of zero the cost rises. The axis is linear between -0.01 and 0.01 and "
    "logarithmic beyond.",
    alt="Cost over flow time of two examples under the printed and the corrected flow; last over first cost of each "
    "cluster; distribution of the derivative of the cost at random states.",
)
def printed_and_corrected(printed_and_corrected: xr.Dataset, random_clusters: xr.Dataset) -> Drawn:
    """Cost along the weight flow of Theorem 3.2 as printed and as corrected: the printed one rises."""
    fig, axes = new(2, 2, height=2.4)
    flows, time = printed_and_corrected, printed_and_corrected["time"]
    require_finite(flows["cost"].isel(time=-1), "a cluster whose flow has not diverged")
    require(random_clusters, "random_clusters", case=2)
    case = str(random_clusters["case"].values[1])
    rates = {formula: random_clusters[f"{formula}_rate"].sel(case=case).values for formula in FLOWS}
    for formula, style in FLOWS.items():
        for column, example in enumerate(flows["example"].values):
            example_cost = flows["example_cost"].sel(formula=formula, example=example)
            axes[0, column].plot(time, example_cost, label=formula, color=style["color"], linestyle=style["linestyle"])
            axes[0, column].set(title=f"one point, {example}", xlabel="flow time $s$", ylabel="cost", ylim=(0, None))
        known = np.sort(rates[formula][np.isfinite(rates[formula])])
        share = np.linspace(0, 1, known.size)
        axes[1, 1].plot(known, share, label=formula, color=style["color"], linestyle=style["linestyle"])
    _ends_over_starts(axes[1, 0], flows)
    axes[1, 1].axvline(0, color=BLACK, linewidth=0.8)
    axes[1, 1].set_xscale("symlog", linthresh=0.01, linscale=0.7)
    axes[1, 1].set_xticks(RATE_TICKS, [f"{tick:g}" for tick in RATE_TICKS])
    axes[1, 1].set(xlabel="dC/ds at a random state", ylabel="share of clusters below", title=f"random clusters, {case}")
    axes[1, 1].minorticks_off()
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    label_panels(axes)
    rise, rest = flows["example_cost"].sel(formula="printed").transpose("example", "time").values
    return Drawn(
        fig,
        {
            "cost along the printed flow in (a): start, end": rise[[0, -1]],
            "cost along the printed flow in (b): start, end": rest[[0, -1]],
            "points per cluster in (c)": int(flows["points"]),
            "flow time at the end": float(time[-1]),
            "share of clusters in (d) whose cost rises, printed": _rising(rates["printed"]),
            "share of clusters in (d) whose cost rises, corrected": _rising(rates["corrected"]),
            "random clusters in (d)": random_clusters.sizes["draw"],
        },
    )


def _ends_over_starts(panel: Axes, flows: xr.Dataset) -> None:
    """Last over first cost of every cluster."""
    for formula, style in FLOWS.items():
        cost = flows["cost"].sel(formula=formula)
        start, end = cost.isel(time=0).values, cost.isel(time=-1).values
        known = np.isfinite(end) & (start > 0)
        marks: dict[str, Any] = {"color": style["color"], "marker": style["marker"], "markerfacecolor": style["face"]}
        panel.plot(start[known], end[known] / start[known], linestyle="", label=formula, **marks)
    panel.axhline(1, color=BLACK, linewidth=0.8)
    panel.set(xscale="log", xlabel="cost at the start", ylabel="cost at the end over start", ylim=(-0.06, None))
    panel.set_title(f"{flows.sizes['cluster']} planar clusters")
    plain_numbers(panel.xaxis)


def _rising(rate: np.ndarray) -> float:
    """Share of positive rates among the known ones; 0 where none is known."""
    known = rate[np.isfinite(rate)]
    return float((known > 0).mean()) if known.size else 0.0


@figure(
    title="Proposition 4.2: truncation and rotation where its hypotheses hold, and where one of them, (4.16), fails",
    caption="Data whose hypotheses are certified by rigorous bounds (blue), and data that break (4.16) "
    "(orange-red), for $Q$ = 2 (full) and 3 (dashed). (a) Share of points not yet truncated; black: bounds on the "
    r"time $s_1$ of full truncation. (b) Black: the bounds $\eta_2$. (c) A curve ends where $\Omega$ "
    "becomes exactly zero. (d) Flat where the residual bias decays as $e^{-s}$.",
    alt="Untruncated share, rotation, generator and residual bias over flow time, data that meet the hypotheses in "
    "blue and data that break one in orange-red, with bounds.",
)
def proposition(proposition: xr.Dataset) -> Drawn:
    """Proposition 4.2: truncation and frozen weights where its hypotheses hold, neither where (4.16) is broken."""
    fig, axes = new(2, 2, height=2.2)
    time = proposition["time"]
    for met, (suffix, color, words) in enumerate((("_beyond", RED, "one fails"), ("", BLUE, "hypotheses hold"))):
        for Q, dash in zip(proposition["dimension"].values, ("-", "--"), strict=True):
            part = proposition.sel(dimension=Q)
            residual = part[f"residual{suffix}"] / part[f"residual{suffix}"].isel(time=0)
            curves = (1 - part[f"truncated_share{suffix}"], *(part[f"{name}{suffix}"] for name in TURNING))
            for panel, values in zip(axes.ravel(), (*curves, residual * np.exp(time)), strict=True):
                style: dict[str, Any] = {"color": color, "linestyle": dash, "linewidth": 1.3, "zorder": 2 + met}
                panel.plot(time, values.where(values > 0) if panel in axes.ravel()[1:] else values, **style)
                panel.lines[-1].set_label(f"$Q$ = {Q}, {words}")
    titles = ("share not truncated", r"rotation $\|R - R(0)\|$", r"generator $\|\Omega\|$", "residual bias times $e^s$")
    for panel, title in zip(axes.ravel(), titles, strict=True):
        panel.set(xlabel="flow time $s$", title=title, yscale="linear" if panel in (axes[0, 0], axes[1, 1]) else "log")
    axes[1, 1].set_ylabel("over its start")
    _bounds(axes, proposition)
    fig.legend(*axes[0, 1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    label_panels(axes)
    return Drawn(
        fig,
        {
            "points": int(proposition["points"]),
            "gamma": float(proposition["gamma"]),
            "time of full truncation, by Q": proposition["arrival"].values,
            "bound on this time, by Q": proposition["arrival_bound"].values,
            "time of full truncation with (4.16) broken, by Q (none: not seen)": proposition["arrival_beyond"].values,
            "bound eta_2 on the rotation, by Q": proposition["eta_2"].values,
            "rotation at the end, by Q": proposition["rotation"].isel(time=-1).values,
        },
    )


def _bounds(axes: np.ndarray, proposition: xr.Dataset) -> None:
    """Bounds on the time of truncation in the first panel and on the rotation in the second, where finite."""
    for Q, dash in zip(proposition["dimension"].values, ("-.", ":"), strict=True):
        part = proposition.sel(dimension=Q)
        style: dict[str, Any] = {"color": BLACK, "linewidth": 0.9, "linestyle": dash, "label": f"$Q$ = {Q}, bound"}
        if np.isfinite(arrival := float(part["arrival_bound"])):
            axes[0, 0].axvline(arrival, **style)
        if np.isfinite(radius := float(part["eta_2"])):
            axes[0, 1].axhline(radius, **style)


@figure(
    title="Accuracy of three integrators against their cost",
    caption="A rotating cluster that crosses coordinate planes; error against the event-driven flow, local error "
    "1e-11. CPU times are measured in benchmarks/truncation_flow_events.py.",
    alt="Largest error against the number of right sides on logarithmic axes, for the occupation-time scheme, an "
    "adaptive solver and Euler steps.",
)
def integrators(integrators: xr.Dataset) -> Drawn:
    """Error against the number of right sides."""
    fig, axes = new(1, 1, height=2.8, width=4.2)
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
    return Drawn(
        fig,
        {
            "dimension Q": int(integrators["dimension"]),
            "points N": int(integrators["points"]),
            "crossings of coordinate planes": int(integrators["crossings"]),
        },
    )


@figure(
    title="Sliding on a coordinate plane: Filippov's solution, the occupation scheme and RK45",
    caption=r"$x = (-0.2, -1)$, $\tilde y = (-1, -0.5)$, $\beta = 0$, $R = 1$: where $b_i < 0$ the velocity pushes "
    "back from both sides and the point slides on $u_1 = 0$. (a) Dotted: the time to which scipy's solve_ivp (RK45, "
    "relative tolerance 1e-6) comes before it has used up its right sides. (b) Cost of Filippov's solution. (c) "
    "Largest error of $u_1$ under the occupation scheme; dotted: first order in $h$.",
    alt="First coordinate of a point over flow time under three solvers; cost; error of the occupation scheme "
    "against its step with a line of first order.",
)
def sliding(integrators: xr.Dataset) -> Drawn:
    """A point that sticks to a coordinate plane: Filippov's solution, the occupation scheme, a stalled solver."""
    fig, axes = new(1, 3, height=2.6)
    time, early = integrators["time"].values, integrators["time"].values <= 2
    largest = float(integrators["step"].max())
    panel = axes[0, 0]
    for name, words, style in (
        ("sliding_u", "event-driven", {"color": BLUE}),
        ("sliding_u_occupation", f"occupation, $h$ = {largest:g}", {"color": GREEN, "linestyle": "--"}),
        ("sliding_u_scipy", "RK45", {"color": RED, "marker": ".", "markersize": 3, "linewidth": 0.8}),
    ):
        panel.plot(time[early], integrators[name].values[early], label=words, **style)
    reached = float(integrators["sliding_reached"])
    panel.axvline(reached, color=RED, linewidth=0.8, linestyle=":", label="RK45 stops")
    panel.set(xlabel="flow time $s$", title="$u_1$ over time", ylabel="$u_1$")
    legend_below(panel)
    axes[0, 1].semilogy(time, integrators["sliding_cost"], color=BLUE)
    axes[0, 1].set(xlabel="flow time $s$", title="cost while sliding")
    axes[0, 2].loglog(
        integrators["step"], integrators["sliding_error"], color=GREEN, marker="o", label="error of $u_1$"
    )
    axes[0, 2].loglog(integrators["step"], integrators["step"], color=BLACK, linestyle=":", label="first order: $h$")
    axes[0, 2].set(xlabel="step $h$", title="occupation scheme")
    axes[0, 2].set_xticks(steps := integrators["step"].values[::2], [f"{h:g}" for h in steps])
    axes[0, 2].minorticks_off()
    legend_below(axes[0, 2])
    label_panels(axes)
    return Drawn(
        fig,
        {
            "right sides allowed to RK45": int(integrators["sliding_cap"]),
            "time at which RK45 stops": float(integrators["sliding_reached"]),
            "largest error of the occupation scheme": float(integrators["sliding_error"].max()),
        },
    )
