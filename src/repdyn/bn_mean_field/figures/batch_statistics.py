"""What the population model leaves out: finite batches and the eps of libraries."""

from __future__ import annotations

import xarray as xr

from repdyn.base.facts import slope
from repdyn.bn_mean_field.figures.axes import numbered, slope_guide
from repdyn.plotting.figures import BLACK, BLUE, RED, Drawn, figure, half_width, label_panels, legend_below, new


@figure(
    title=r"Finite batches and the $\epsilon$ of libraries: what the population model leaves out",
    caption="(a) Bias and noise of the BN velocity over batches of size $B$ against the population's, means over "
    "groups of batches with 95 % intervals; lines of slope -1 and -1/2. (b) Radial fraction of autograd's gradient "
    r"with $\epsilon > 0$, one dot per network, and a line of slope -2 through the last median; the fraction is 0 "
    "where the network does not depend on the scale of the weights.",
    alt="Bias and noise against the batch size with lines of slope -1 and -1/2; radial fraction against the length "
    "of the weights with a line of slope -2.",
)
def batches_and_eps(finite_batch: xr.Dataset, batch_norm_eps: xr.Dataset) -> Drawn:
    """What the population model leaves out: finite batches and eps."""
    fig, axes = new(1, 2, height=2.8)
    sizes = finite_batch["batch"].values
    for name, color, marker, power in (("noise", RED, "^", -0.5), ("bias", BLUE, "o", -1.0)):
        draws = finite_batch[name]
        half = half_width(draws.transpose("batch", "group"))
        axes[0, 0].errorbar(sizes, draws.mean("group"), half, fmt=marker, color=color, capsize=2, label=name)
        first = float(draws.isel(batch=-1).mean()) * (sizes[0] / sizes[-1]) ** power
        slope_guide(axes[0, 0], sizes, first, power, "--" if name == "noise" else "-")
    axes[0, 0].set(xscale="log", yscale="log", xlabel="batch size $B$", ylabel="error of $b'$ over $|b'|$")
    numbered(axes[0, 0].xaxis, sizes)
    legend_below(axes[0, 0], columns=2)
    radius, draws = batch_norm_eps["radius"].values, batch_norm_eps["radial"].sel(with_eps=1)
    dots = axes[0, 1].plot(radius, draws.transpose("radius", "draw"), "o", color=BLUE, markersize=3)
    dots[0].set_label("networks")
    last = float(draws.isel(radius=-1).median())
    inverse_square = last * (radius / radius[-1]) ** -2.0
    below = inverse_square < 1
    axes[0, 1].plot(radius[below], inverse_square[below], color=BLACK, linewidth=0.6, label="slope -2")
    legend_below(axes[0, 1], columns=2)
    axes[0, 0].set_title("finite batches")
    axes[0, 1].set_title(r"$\epsilon$ of libraries")
    axes[0, 1].set(xscale="log", yscale="log", xlabel="length of the weights", ylabel="radial fraction of the gradient")
    label_panels(axes)
    return Drawn(
        fig,
        {
            "slope of the bias against the batch size": slope(sizes, finite_batch["bias"].mean("group")),
            "slope of the noise against the batch size": slope(sizes, finite_batch["noise"].mean("group")),
            "groups of batches": finite_batch.sizes["group"],
            "batches per group": int(finite_batch["repeats"]),
            "networks in (b)": batch_norm_eps.sizes["draw"],
            "epsilon in (b)": float(batch_norm_eps["eps"]),
        },
    )
