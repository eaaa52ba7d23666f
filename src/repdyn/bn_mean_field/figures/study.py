"""Figures of Ma and Ying, computed, and those that the audit adds; numbers come from the datasets."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from repdyn.base.figures import (
    BLACK,
    BLUE,
    CYCLE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    band,
    describe,
    half_width,
    label_panels,
    new,
)
from repdyn.bn_mean_field.figures.panels import (
    arrows_panel,
    bound_panel,
    compass,
    directions_panel,
    loss_panel,
    numbered,
    rose,
    slope_guide,
    turns_panel,
    widths_panel,
)

UNSTATED = (
    "Not stated in the paper and chosen here: Gaussian inputs with exact population gradients, y = x1, ReLU, squared "
    "loss, {neurons} equispaced unit directions, each with a = +1 and a = -1, a trained, mean-field step {step:g}."
)


def fig1_anisotropy(anisotropy: xr.Dataset) -> Figure:
    """Figure 1: speed over direction, and directions during training, with and without BN."""
    even = np.linspace(0, int(anisotropy["iteration"][-1]), 5)
    frames = anisotropy["iteration"].sel(iteration=even, method="nearest").values
    figure, axes = new(2, 6, height=1.55, gridspec_kw={"width_ratios": [1.5, 1, 1, 1, 1, 1]})
    look, largest = int(anisotropy["look"]), {}
    for row, model in zip(axes, anisotropy["model"].values, strict=True):
        cell = anisotropy.sel(model=model, target="y = x1")
        then = cell.sel(iteration=look)
        order = np.argsort(then["angle"].values)
        row[0].plot(np.degrees(then["angle"].values[order]), cell["speed"].values[order], ".", color=BLUE, markersize=3)
        largest[model] = float(cell["speed"].max())
        row[0].set_xticks([-180, -90, 0, 90, 180])
        row[0].set_ylim(0, 1.1 * largest[model])
        row[0].set_ylabel(f"{model}\nspeed")
        for panel, iteration in zip(row[1:], frames, strict=True):
            rose(panel, cell.sel(iteration=iteration))
    axes[1, 0].set_xlabel("direction (degree)")
    axes[0, 0].set_title(f"iteration {look}")
    for panel, iteration in zip(axes[0, 1:], frames, strict=True):
        panel.set_title(f"{iteration}")
    ratio = largest["BN"] / largest["vanilla"]
    axes[1, 0].set_title(f"scale 1/{ratio:.1f} of above", fontsize=7, fontweight="normal")
    neurons, step = anisotropy.sizes["neuron"] // 2, float(anisotropy["step"])
    return describe(
        figure,
        title="Figure 1: speeds and directions of neurons with and without batch normalisation",
        caption=f"Sigma = diag(5, 1). Left: tangential speed of each neuron at iteration {look}; the scales differ by "
        f"{ratio:.1f}. Right: directions at the iterations above; dots: neurons on the unit circle, blue a > 0, red "
        "a < 0, paler for small |a|; grey bars: number of neurons in 15 degrees; thin line: the ellipse Omega. "
        + UNSTATED.format(neurons=neurons, step=step)
        + " The factor between the scales is one of unequal progress: see the figure on matched loss.",
        alt="With batch normalisation the speed peaks at plus and minus 90 degrees and the neurons gather at the x1 "
        "axis; without it the speeds are an order of magnitude smaller and the directions hardly change.",
    )


def directions_over_time(anisotropy: xr.Dataset, magnitudes: xr.Dataset) -> Figure:
    """Where the neurons point over time, as quantiles: both targets, and two sizes of neurons."""
    figure, axes = new(1, 3, sharey=True, height=2.4)
    for panel, target in zip(axes[0], anisotropy["target"].values, strict=False):
        for colour, dash, model in zip((BLUE, RED), ("-", "--"), anisotropy["model"].values, strict=True):
            angle = anisotropy["axis_angle"].sel(model=model, target=target)
            directions_panel(panel, angle, "neuron", colour, dash, str(model))
        panel.set_title(f"target {target}")
    small, large = magnitudes["radius"].values
    pooled = magnitudes["axis_angle"].isel(start=slice(1, None)).stack(all=("start", "neuron"))
    for colour, dash, radius in ((BLUE, "-", small), (PURPLE, "--", large)):
        directions_panel(axes[0, 2], pooled.sel(radius=radius), "all", colour, dash, f"length {radius:g}")
    axes[0, 2].set_title("two sizes, target y = x1")
    axes[0, 0].set_ylabel("angle to the x1 axis (degree)")
    for panel, corner in zip(axes[0], ("upper right", "lower right", "upper right"), strict=True):
        panel.legend(loc=corner)
        panel.set_yticks([0, 30, 60, 90])
        panel.set_xlabel("iteration")
    label_panels(axes)
    return describe(
        figure,
        title="Directions of the neurons over time",
        caption="Median (line) and middle half (band) over neurons of the angle to the axis of large variance, Sigma = "
        f"diag(5, 1). (a), (b) {anisotropy.sizes['neuron']} neurons with and without BN for two targets: the neurons "
        "gather where the target is, not where the data are large. (c) One BN model with neurons of two lengths, "
        f"{magnitudes.sizes['start'] - 1} starts pooled.",
        alt="With BN the median angle falls to zero for the target x1 and rises for the target x2; without BN it "
        "hardly moves; small neurons align and large ones do not.",
    )


def fig2_magnitudes(magnitudes: xr.Dataset) -> Figure:
    """Figure 2: directions of small and large neurons during training of one BN model."""
    frames = magnitudes["iteration"].values[np.linspace(0, magnitudes.sizes["iteration"] - 1, 6).round().astype(int)]
    figure, axes = new(2, 6, height=1.5)
    for panel, iteration in zip(axes[0], frames, strict=True):
        compass(panel, magnitudes.isel(start=0).sel(iteration=iteration))
        panel.set_title(f"{iteration}")
    grid = axes[1, 0].get_gridspec()
    for panel in axes[1]:
        panel.remove()
    below = figure.add_subplot(grid[1, :])
    near = (magnitudes["axis_angle"] < 15).mean("neuron")
    for colour, dash, radius in zip((BLUE, PURPLE), ("-", "--"), magnitudes["radius"].values, strict=True):
        drawn = near.sel(radius=radius).isel(start=slice(1, None))
        below.plot(near["iteration"], drawn.mean("start"), dash, color=colour, label=f"length {radius:g}")
        band(below, near["iteration"], drawn.min("start"), drawn.max("start"), color=colour)
        below.plot(near["iteration"], near.sel(radius=radius, start=0), ":", color=colour, label="both signs")
    below.set_xlabel("iteration")
    below.set_ylabel("fraction within\n15 degree of x1")
    below.set_ylim(0, 1.05)
    below.legend(ncols=2, loc="center right")
    neurons = magnitudes.sizes["neuron"] // 2
    return describe(
        figure,
        title="Figure 2: small neurons turn, tenfold larger ones do not",
        caption="Top: directions at the iterations above (blue: small, purple: tenfold larger, drawn longer), both "
        "signs of a at each direction. Below: fraction of neurons within 15 degrees of the axis of large variance; "
        f"lines and bands: mean and range over {magnitudes.sizes['start'] - 1} starts with random signs of a, dotted: "
        "both signs. " + UNSTATED.format(neurons=neurons, step=float(magnitudes["step"])),
        alt="The blue directions gather at the horizontal axis by iteration 4000; the purple ones stay where they "
        "were.",
    )


def fig3_first_step(first_step: xr.Dataset) -> Figure:
    """Figure 3, computed: norms after one step over the initial length, and turns per iteration."""
    figure, axes = new(1, 3, height=2.6)
    step = float(first_step["step"][-1])
    start = first_step.isel(start=0).sel(step=step)
    r = start["radius"].values
    for colour, marker, model in ((BLUE, "o", "BN"), (RED, "^", "vanilla")):
        norm = start["norm"].sel(model=model, iteration=1).transpose("radius", "neuron")
        axes[0, 0].plot(r, norm.median("neuron"), marker, color=colour, label=f"{model}, median neuron")
        band(axes[0, 0], r, norm.quantile(0.05, "neuron"), norm.quantile(0.95, "neuron"), color=colour)
    g, fine = float(start["gradient"].median()), np.geomspace(r[0], r[-1], 200)
    axes[0, 0].plot(fine, np.hypot(fine, step * g / fine), color=BLACK, linewidth=0.9, label="law, median g")
    axes[0, 0].axvline(np.sqrt(step * g), color=BLACK, linewidth=0.7, linestyle=":")
    axes[0, 0].text(np.sqrt(step * g) * 1.15, 0.02, "r*", va="center")
    axes[0, 0].set(xscale="log", yscale="log", xlabel="initial length r", ylabel="length after one step")
    axes[0, 0].set_ylim(1e-2, 1e4)
    axes[0, 0].legend(loc="upper right", fontsize=6.5)
    arrows_panel(axes[0, 1], first_step, step)
    turns_panel(axes[0, 2], first_step, step)
    label_panels(axes)
    return describe(
        figure,
        title="Figure 3, computed: first-step amplification",
        caption=f"y = x1, Sigma = diag(5, 1), {first_step.sizes['neuron']} neurons, mean-field step {step:g}. (a) "
        "Length after one step: medians, bands of 5 to 95 % of the neurons, and sqrt(r^2 + (h g/r)^2): only below r* = "
        "sqrt(h g) are smaller neurons bigger afterwards. (b) First steps of some neurons on circles of three lengths "
        "(the paper's sketch). (c) Turn per iteration: median (lines) and largest (thin) neuron, both signs of a: the "
        "median is stable from the second iteration on, single neurons are not.",
        alt="The length after one step falls in r up to r* and grows beyond; turns of the median neuron are small "
        "after the first iteration, while the largest turn stays high.",
    )


def matched_loss(speed_ratio: xr.Dataset) -> Figure:
    """Ratio of speeds with and without BN, at equal iteration and at equal loss."""
    figure, axes = new(1, 2, sharey=True, height=2.7)
    look = int(speed_ratio["look"])
    cell = speed_ratio.sel(problem="y = x1").isel(start=0)
    colours = dict(zip(speed_ratio["step"].values.tolist(), (SKY, BLUE, BLACK, GREEN), strict=False))
    for step, colour in colours.items():
        for panel, name in zip(axes[0], ("ratio", "matched_ratio"), strict=True):
            panel.plot(cell["iteration"], cell[name].sel(step=step), color=colour, label=f"h = {step:g}")
    drawn = speed_ratio.sel(problem="y = x1", step=float(speed_ratio["paper_step"])).isel(start=slice(1, None))
    for colour, dash, problem in ((ORANGE, "--", "y = x2"), (GREEN, ":", "y = x1, Sigma = I")):
        other = speed_ratio.sel(problem=problem, step=float(speed_ratio["paper_step"])).isel(start=0)
        for panel, name in zip(axes[0], ("ratio", "matched_ratio"), strict=True):
            panel.plot(other["iteration"], other[name], dash, color=colour, label=problem)
    for panel, name in zip(axes[0], ("ratio", "matched_ratio"), strict=True):
        band(panel, drawn["iteration"], drawn[name].min("start"), drawn[name].max("start"), color=BLUE)
        panel.axhline(10, color=RED, linewidth=0.8, linestyle="--")
        panel.axvline(look, color=BLACK, linewidth=0.6, linestyle=":")
        panel.set(yscale="log", ylim=(0.1, 300), xlabel="iteration of the BN model")
    axes[0, 0].set_title("at equal iteration")
    axes[0, 1].set_title("at equal loss")
    axes[0, 0].set_ylabel("largest speed, BN over vanilla")
    axes[0, 0].legend(loc="upper left", ncols=2, fontsize=6.5)
    label_panels(axes)
    value = float(cell["matched_ratio"].sel(step=float(speed_ratio["paper_step"]), iteration=look))
    return describe(
        figure,
        title="Figure 1's order of magnitude is one of unequal progress",
        caption="Largest tangential speed of the BN model over that of the vanilla model, Sigma = diag(5, 1), y = x1 "
        "and three steps h (solid), and at the step of Figure 1 for y = x2 and for isotropic data. Red: tenfold, "
        f"dotted: the paper's iteration {look}. Band: range over {drawn.sizes['start']} starts with random signs of a. "
        "(a) At equal iteration the ratio grows without limit, since the vanilla model has finished. (b) With the "
        f"vanilla model at the iteration where it has the BN model's loss the ratio at {look} is {value:.2f}.",
        alt="At equal iteration the ratio grows exponentially, faster for larger steps; at equal loss it falls below "
        "one.",
    )


def mean_field_limit(propagation_distances: xr.Dataset) -> Figure:
    """W2 to the mean-field limit over the width, and loss gaps."""
    figure, axes = new(2, 2, height=2.3, sharex=True)
    kinds = (
        ("low discrepancy", "equal signs", "low discrepancy, equal signs"),
        ("i.i.d.", "equal signs", "i.i.d. starts, equal signs"),
        ("low discrepancy", "opposite signs", "low discrepancy, opposite signs"),
    )
    colours = tuple(zip(CYCLE, "os^v", propagation_distances["time"].values, strict=False))
    for panel, (start, target, words) in zip(axes.ravel(), kinds, strict=False):
        widths_panel(panel, propagation_distances, start, target, "distance", colours)
        panel.set_title(words)
        panel.set_ylabel("W2 to the reference")
    widths_panel(axes[1, 1], propagation_distances, "low discrepancy", "equal signs", "loss_gap", colours)
    axes[1, 1].set_title("low discrepancy, equal signs")
    axes[1, 1].set_ylabel("loss gap")
    axes[0, 0].legend(fontsize=6.5)
    for panel in axes[1]:
        panel.set_xlabel("neurons m")
    label_panels(axes)
    seeds = int(propagation_distances["seed"].max()) + 1
    return describe(
        figure,
        title="Theorem 4: particle systems converge to the mean-field flow",
        caption="Exact 2-Wasserstein distance on M (network simplex, geodesic cost) between m particles and a "
        f"reference of {int(propagation_distances['reference'])} (low discrepancy; "
        f"{int(propagation_distances['random_reference'])} for i.i.d. starts) at four mean-field times. Start: a and "
        f"direction uniform. (b): mean over {seeds} draws with 95 % interval of the mean. Thin line: slope -1/2. "
        "Teachers of opposite signs (c) make the flow pass near unstable directions, which amplifies differences of "
        "the start; the distances fall still, but not monotonely. The theorem gives no rate.",
        alt="Distances fall with the width with slope about minus one half at all times for low-discrepancy starts, "
        "more slowly for random starts.",
    )


def equicontinuity_bounds(equicontinuity: xr.Dataset) -> Figure:
    """The display on equicontinuity: squared distances, corrected and printed bound; dissipation."""
    figure, axes = new(1, 3, height=2.5)
    transported = np.flatnonzero(np.isfinite(equicontinuity["w2"]).any("later"))
    for panel, k in zip(axes[0], transported[:2], strict=False):
        bound_panel(panel, equicontinuity.isel(time=k))
        panel.set_title(f"from t = {float(equicontinuity['time'][k]):.3g}")
    axes[0, 0].set_ylabel("squared distance")
    axes[0, 0].legend(fontsize=6.5, loc="lower right")
    frame = equicontinuity["frame"].values
    for name, colour, dash, words in (
        ("rate_metric", BLUE, "-", "norm of G"),
        ("rate_euclidean", RED, "--", "Euclidean norm, as printed"),
    ):
        axes[0, 2].plot(frame, equicontinuity[name] / equicontinuity["rate"], dash, color=colour, label=words)
    axes[0, 2].set(xlabel="mean-field time", ylabel="mean squared speed over -dL/dt", title="dissipation")
    axes[0, 2].legend(fontsize=6.5)
    label_panels(axes)
    return describe(
        figure,
        title="Theorem 4, proof: equicontinuity as printed and corrected",
        caption=f"One BN flow of {int(equicontinuity['width'])} particles. (a), (b) Squared distance between the "
        "measures at two times: exact transport (dots) and the coupling of the proof (line), against the corrected "
        "bound (t'-t)(L(t)-L(t')) and the printed (t'-t)L(t'), which fails. (c) Mean squared speed over the rate at "
        "which the loss falls: equal to 1 in the norm of the metric, not in the Euclidean norm of the printed display.",
        alt="The distances lie just under the corrected bound and far above the printed one.",
    )


def global_minimum(minimisation: xr.Dataset) -> Figure:
    """Theorem 5: losses from separating starts and from counter-examples."""
    figure, axes = new(1, 2, sharey=True, height=2.8)
    for panel, flag, words in ((axes[0, 0], 1, "separating starts"), (axes[0, 1], 0, "no separation")):
        loss_panel(panel, minimisation.isel(start=np.flatnonzero(minimisation["separates"] == flag)))
        panel.set_title(words)
    axes[0, 0].set_ylabel("loss over loss of f = 0")
    label_panels(axes)
    return describe(
        figure,
        title="Theorem 5: separation leads to the global minimum, and cannot be dropped",
        caption="Loss over that of f = 0 along exact BN flows, Sigma = diag(5, 1), targets of 1 to 3 neurons, minimum "
        "0. (a) Starts {a = 0} x circle and {a = +-1} x circle, ReLU and erf. (b) Point masses and thin arcs come to "
        "rest at a positive loss; a wide arc escapes.",
        alt="All separating starts fall by three orders of magnitude and more; point masses level off.",
    )


def round_manifold(metric_audit: xr.Dataset) -> Figure:
    """The manifold of the paper beside the sphere that it is isometric to, and the metric's eigenvalues."""
    figure, axes = new(1, 3, height=2.4)
    points = metric_audit["tick_position"].values
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    closed = np.concatenate([points, points[:1]])
    for panel, ticks, words in ((axes[0, 0], points, "Omega, metric G"), (axes[0, 1], unit, "unit circle, angle")):
        outline = closed if panel is axes[0, 0] else np.concatenate([unit, unit[:1]])
        panel.plot(*outline.T, color=BLACK, linewidth=0.7)
        panel.plot(*ticks.T, "o", color=BLUE, markersize=3)
        for tick in unit[::6]:
            panel.plot([0, 1.1 * tick[0]], [0, 1.1 * tick[1]], color=BLACK, linewidth=0.3)
        panel.set(aspect="equal", title=words, xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
    cells = metric_audit.stack(cell=("dimension", "draw"))
    for colour, marker, k in zip((BLUE, RED, GREEN), "o^s", metric_audit["condition"].values, strict=False):
        cell = cells.sel(condition=k)
        axes[0, 2].plot(cell["alignment"], cell["smallest"], marker, color=colour, alpha=0.5, label=f"cond {k:g}")
        axes[0, 2].axhline(float(cell["kantorovich"][0]), color=colour, linewidth=0.8, linestyle="--")
    axes[0, 2].set(xscale="log", yscale="log", xlabel="cos^2 of angle(b, Sigma b)", ylabel="smallest eigenvalue")
    axes[0, 2].legend()
    label_panels(axes)
    return describe(
        figure,
        title="The manifold M is a round cylinder in other coordinates",
        caption=f"(a) Omega for Sigma = diag(5, 1) with {len(points)} points at equal distances in the metric G (arcs "
        "measured by quadrature of G); (b) the same points on the unit circle: b -> b/||b|| is an isometry. (c) "
        "Smallest eigenvalue of ||b||^2 G on the tangent space, computed and closed form, with Kantorovich's bound "
        f"4k/(k+1)^2 (dashed); {metric_audit.sizes['draw']} draws in each of {metric_audit.sizes['dimension']} "
        "dimensions.",
        alt="Points at equal distance on the ellipse lie at equal angles; the eigenvalues lie on the diagonal above "
        "their bounds.",
    )


def batches_and_eps(finite_batch: xr.Dataset, gradient_audit: xr.Dataset) -> Figure:
    """What the population model leaves out: finite batches and eps."""
    figure, axes = new(1, 2, height=2.5)
    sizes = finite_batch["batch"].values
    for name, colour, marker, slope in (("noise", RED, "^", -0.5), ("bias", BLUE, "o", -1.0)):
        draws = finite_batch[name]
        half = half_width(draws.transpose("batch", "group"))
        axes[0, 0].errorbar(sizes, draws.mean("group"), half, fmt=marker, color=colour, capsize=2, label=name)
        slope_guide(axes[0, 0], sizes, float(draws.isel(batch=-1).mean()) * (sizes[0] / sizes[-1]) ** slope, slope)
    axes[0, 0].set(xscale="log", yscale="log", xlabel="batch size B", ylabel="error of b' over |b'|")
    numbered(axes[0, 0].xaxis, sizes)
    axes[0, 0].legend()
    radial = gradient_audit["eps_radial"].sel(with_eps=1)
    axes[0, 1].plot(radial["eps_radius"], radial.transpose("eps_radius", "draw"), "o-", color=BLUE, linewidth=0.6)
    axes[0, 1].set(xscale="log", yscale="log", xlabel="length of the weights", ylabel="radial fraction of the gradient")
    label_panels(axes)
    return describe(
        figure,
        title="Beyond the population model: finite batches and eps",
        caption="(a) Bias and noise of the BN velocity over batches of size B against the population's; "
        f"{finite_batch.sizes['group']} groups of {int(finite_batch['repeats'])} batches, 95 % intervals of the mean, "
        "lines of slope -1 and -1/2. (b) Median radial fraction of autograd's gradient with eps = "
        f"{float(gradient_audit['eps']):g}, {gradient_audit.sizes['draw']} networks: scale invariance is lost for "
        "small weights.",
        alt="Bias falls as 1/B and noise as the inverse root; the radial fraction grows as the inverse square of the "
        "length.",
    )
