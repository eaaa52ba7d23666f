"""Claims of "Batch Normalization Decomposed", each with its decision and a negative control."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Verdict, all_of, deviation, mean_within
from repdyn.bn_decomposed.theory.odd_cluster import rms_fixed_point, simplex_angle

ROUNDED = "the paper gives 60 and 75, so to five degrees: half of that on either side"


def with_relu(recentring_depth: xr.Dataset) -> xr.Dataset:
    """Puts the networks with ReLU in the place of the linear ones."""
    return recentring_depth.assign(
        difference=recentring_depth["difference"].sel(relu=[1, 1]).assign_coords(relu=[0, 1])
    )


@claim(
    "bnd-sec2-rc",
    where="Section II",
    kind="identity",
    states="In a linear network recentring changes the representation in the first layer only.",
    data="recentring_depth",
    control=wrong_formula("the same networks with ReLU, where recentring acts in every layer", with_relu),
)
def recentring_acts_once(recentring_depth: xr.Dataset) -> Verdict:
    """Recentring everywhere against recentring first, same weights, all layers."""
    depth, width = recentring_depth.sizes["layer"], int(recentring_depth["width"])
    return Verdict.from_tests(
        deviation(
            recentring_depth["difference"].sel(relu=0),
            np.finfo(float).eps * depth * width,
            expected="relative difference zero in exact arithmetic",
            reason=f"round-off of {depth} products of matrices of width {width}, eps * depth * width",
        )
    )


def std_for_rms(orthogonality_gap: xr.Dataset) -> xr.Dataset:
    """Puts the networks rescaled by the sigma of eq. (2) in the place of those rescaled by the root mean square."""
    return orthogonality_gap.assign(
        gap=orthogonality_gap["gap"].sel(rescale=["std", "std"]).assign_coords(rescale=["rms", "std"])
    )


@claim(
    "bnd-rs-orth",
    where="Introduction, Section I (Daneshmand et al. 2021)",
    kind="limit",
    states="With rescaling alone, a full-rank batch becomes orthonormal in a linear network as its depth grows.",
    correction="True for rescaling by the root mean square, up to a gap of order 1/sqrt(width); with the sigma of "
    "eq. (2) the batch collapses.",
    formula=r"\sigma = \sqrt{\frac{1}{n} \sum_{i=1}^{n} (z_i - \mu)^2}",
    corrected_formula=r"\sigma = \sqrt{\frac{1}{n} \sum_{i=1}^{n} z_i^2}",
    data="orthogonality_gap",
    control=wrong_formula(
        "the networks rescaled by the sigma of eq. (2) in place of those rescaled by RMS", std_for_rms
    ),
)
def rescaling_makes_orthonormal(orthogonality_gap: xr.Dataset) -> Verdict:
    """Plateau of the gap over the second half of the layers, against its start and against the width."""

    def tests(rescale: str) -> dict:
        gap = orthogonality_gap["gap"].sel(rescale=rescale)
        plateau = gap.isel(layer=slice(gap.sizes["layer"] // 2, None)).mean("layer")
        widest = plateau.isel(width=-1) / gap.isel(width=-1, layer=0)
        slope = np.polyfit(np.log(gap["width"]), np.log(plateau.transpose("width", "seed")), 1)[0]
        return {
            "gap_left_at_the_largest_width": mean_within(
                widest,
                0,
                0.5,
                expected="below half of the input's",
                reason="a limit of zero at least halves the gap",
            ),
            "slope_of_log_gap_in_log_width": mean_within(
                slope,
                -0.6,
                -0.4,
                expected="-1/2",
                reason="a law of exponent 1/2 is told from 1/3 and from 1 at 0.1",
            ),
        }

    return Verdict.from_tests(all_of(**tests("std")), all_of(**tests("rms")))


def rescaled_as_odd(ablation: xr.Dataset) -> xr.Dataset:
    """Puts RC + RS + ReLU in the place of RC + ReLU."""
    swapped = ablation.copy(deep=True)
    for name in ("odd_angle", "second_to_first", "intra_angle"):
        swapped[name].loc[{"recenter": 1, "rescale": "none", "relu": 1}] = ablation[name].sel(
            recenter=1, rescale="std", relu=1, drop=True
        )
    return swapped


@claim(
    "bnd-fig1-ablation",
    where="Abstract, Figure 1, Section III",
    kind="qualitative",
    states="Recentring and the non-linearity together, without rescaling, leave one cluster and one odd point far away "
    "in an orthogonal direction; no other combination does.",
    data="ablation",
    control=wrong_formula("networks with rescaling in the place of those without", rescaled_as_odd),
)
def only_recentring_and_relu_make_an_odd_point(ablation: xr.Dataset) -> Verdict:
    """Odd point: longer than four times the next and orthogonal to the rest; nowhere else twice as long."""
    last = ablation.isel(layer=-1)
    ratio = last["second_to_first"].stack(configuration=("recenter", "rescale", "relu"))
    odd = [key == (1, "none", 1) for key in ratio["configuration"].values]
    cell = last.sel(recenter=1, rescale="none", relu=1)
    others = ratio.isel(configuration=~np.array(odd)).min("configuration")
    return Verdict.from_tests(
        all_of(
            second_over_first_norm=mean_within(
                ratio.isel(configuration=odd).squeeze("configuration"),
                0,
                0.25,
                expected="below 1/4",
                reason="far away: four times as long as any other",
            ),
            odd_angle=mean_within(
                cell["odd_angle"],
                85,
                95,
                unit=" degree",
                expected="90 degrees",
                reason="orthogonal within 5 degrees, the width left by n = 16",
            ),
            cluster_angle=mean_within(
                cell["intra_angle"],
                0,
                45,
                unit=" degree",
                expected="one cluster",
                reason="within the cluster closer to each other than to a right angle",
            ),
            second_over_first_norm_in_every_other_combination=mean_within(
                others, 0.5, 1, expected="above 1/2", reason="no point twice as long as the next"
            ),
        )
    )


def std_angles_for_rms(layer_angles: xr.Dataset) -> xr.Dataset:
    """Puts the angles with the sigma of eq. (2) in the place of those with the root mean square."""
    mean = layer_angles["mean_angle"]
    return layer_angles.assign(
        mean_angle=mean.sel(normalization=["std", "std", "full"]).assign_coords(normalization=mean["normalization"])
    )


def _angles(layer_angles: xr.Dataset, kind: str, low: float, high: float, expected: str, reason: str) -> dict:
    draws = layer_angles["mean_angle"].sel(normalization=kind)
    return {
        f"n_{int(n)}": mean_within(draws.sel(batch=n), low, high, unit=" degree", expected=expected, reason=reason)
        for n in draws["batch"].values
    }


def _against_fixed_point(layer_angles: xr.Dataset, kind: str, predicted: Callable[[int], float]) -> dict:
    draws = layer_angles["mean_angle"].sel(normalization=kind)
    return {
        f"n_{n}": mean_within(
            draws.sel(batch=n) - predicted(n),
            -1,
            1,
            unit=" degree from the fixed point",
            expected=f"{predicted(n):.2f} degree",
            reason="finite width and depth move the mean by less than a degree; the alternatives are 4 degrees and "
            "more away",
        )
        for n in draws["batch"].values.tolist()
    }


def rms_angle(n: int) -> float:
    """Fixed point of ReLU with rescaling by RMS and no recentring, degree."""
    return float(np.degrees(np.arccos(rms_fixed_point(n))))


def full_angle(n: int) -> float:
    """Fixed point of ReLU with recentring and rescaling, degree."""
    return float(np.degrees(simplex_angle(n)))


@claim(
    "bnd-fig5-60",
    where="Introduction, Figure 5(a)",
    kind="published number",
    states="With batch normalization without recentring the typical angle after 30 layers is approximately 60 degrees.",
    correction="True for rescaling by the root mean square: the fixed point is 58.7 to 60.4 degrees for n from 200 "
    "down to 9. With the sigma of eq. (2), measured from the mean that is not subtracted, the batch collapses.",
    data="layer_angles",
    control=wrong_formula("angles with the sigma of eq. (2) in place of the root mean square", std_angles_for_rms),
)
def sixty_degrees(layer_angles: xr.Dataset) -> Verdict:
    """Mean angle over pairs, draws as samples, for every batch size; printed: sigma of eq. (2), corrected: RMS."""
    printed = all_of(**_angles(layer_angles, "std", 57.5, 62.5, "60 degree", ROUNDED))
    corrected = all_of(**_against_fixed_point(layer_angles, "rms", rms_angle))
    return Verdict.from_tests(
        printed,
        corrected,
        "The paper states neither batch size nor how sigma is measured without recentring.",
    )


def without_recentring(layer_angles: xr.Dataset) -> xr.Dataset:
    """Puts the angles without recentring in the place of those with it."""
    mean = layer_angles["mean_angle"]
    return layer_angles.assign(
        mean_angle=mean.sel(normalization=["rms", "std", "rms"]).assign_coords(normalization=mean["normalization"])
    )


@claim(
    "bnd-fig5-75",
    where="Introduction, Figure 5(b)",
    kind="published number",
    states="With batch normalization the typical angle after 30 layers is approximately 75 degrees.",
    correction="The angle is arccos kappa(-1/(n-1)), kappa the arc-cosine kernel of eq. (111): 75.0 degrees at n = 9, "
    "71.9 at n = 64, arccos(1/pi) = 71.4 for large batches.",
    formula=r"\angle(x_i, x_j) \approx 75^\circ",
    corrected_formula=(
        r"\angle(x_i, x_j) = \arccos \kappa\left(-\frac{1}{n-1}\right), \quad \kappa(\rho) "
        r"= \frac{\sqrt{1 - \rho^2} + (\pi - \arccos\rho) \rho}{\pi}"
    ),
    data="layer_angles",
    control=wrong_formula("angles without recentring in place of those with it", without_recentring),
)
def seventy_five_degrees(layer_angles: xr.Dataset) -> Verdict:
    """Mean angle over pairs, draws as samples, for every batch size; printed: 75, corrected: the fixed point at n."""
    printed = all_of(**_angles(layer_angles, "full", 72.5, 77.5, "75 degree", ROUNDED))
    corrected = all_of(**_against_fixed_point(layer_angles, "full", full_angle))
    return Verdict.from_tests(printed, corrected, "The paper states no batch size; its number belongs to n = 9 or 10.")
