"""Claims on random networks with and without the components of batch normalization: Figures 1 and 5, Section II."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, knock_out, replace_labels, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict, all_of, deviation, not_reproducible
from repdyn.bn_decomposed.claims.worst_of import worst_mean
from repdyn.bn_decomposed.theory.odd_cluster import rms_fixed_point, simplex_angle

SCALES = {"standard deviation of eq. (2)": "std", "root mean square": "rms"}
APPROXIMATELY = {"to whole degrees": 0.5, "to the nearest five degrees": 2.5}


@claim(
    "bnd-sec2-rc",
    where="Section II",
    line=137,
    assumes="linear networks",
    words="RC does not have any effect on the batch representation after the first layer",
    kind="identity",
    states="In a linear network recentering has no effect on the representation after the first layer.",
    control=false_world("the same networks with ReLU, where recentering acts in every layer", exchange("relu", 0, 1)),
)
def recentering_acts_once(recentering_depth: xr.Dataset) -> Verdict:
    """Recentering everywhere against recentering first, same weights, all layers."""
    depth, width = recentering_depth.sizes["layer"], int(recentering_depth["width"])
    return Verdict.from_tests(
        deviation(
            recentering_depth["difference"].sel(relu=0),
            np.finfo(float).eps * depth * width,
            expected="relative difference zero in exact arithmetic",
            reason=f"round-off of {depth} products of matrices of width {width}, a rounding error times depth times "
            "width",
        )
    )


@claim(
    "bnd-rs-orth",
    where="Introduction; Section I",
    line=50,
    kind_of_slip="misprint",
    assumes="linear networks with rescaling alone; the rescaling of eqs. (2)-(3) without recentering, or that of "
    "Daneshmand et al. (2021)",
    words="a full-rank batch becomes orthonormal asymptotically as the depth of the network grows",
    kind="limit",
    states="With rescaling alone, a full-rank batch becomes orthonormal in a linear network as its depth grows.",
    correction=r"True for rescaling by the root mean square, up to a gap of order $1/\sqrt{\text{width}}$; with the "
    r"$\sigma$ of eq. (2) the batch collapses.",
    formula=r"\sigma = \sqrt{\frac{1}{n} \sum_{i=1}^{n} (z_i - \mu)^2}",
    corrected_formula=r"\sigma = \sqrt{\frac{1}{n} \sum_{i=1}^{n} z_i^2}",
    control=dict.fromkeys(
        ("gap left at the largest width", "slope of log gap in log width"),
        wrong_formula(r"the $\sigma$ of eq. (2) for the root mean square", replace_labels("rescale", {"rms": "std"})),
    ),
    remark="Eq. (2) has the first scale, earlier work the second.",
)
def rescaling_makes_orthonormal(orthogonality_gap: xr.Dataset) -> Verdict:
    """Plateau of the gap over the second half of the layers, against its start and against the width."""
    require(orthogonality_gap, "orthogonality_gap", width=2)

    def tests(rescale: str) -> dict:
        gap = orthogonality_gap["gap"].sel(rescale=rescale)
        plateau = gap.isel(layer=slice(gap.sizes["layer"] // 2, None)).mean("layer")
        widest = plateau.isel(width=-1) / gap.isel(width=-1, layer=0)
        slope = np.polyfit(np.log(gap["width"]), np.log(plateau.transpose("width", "seed")), 1)[0]
        return {
            "gap left at the largest width": mean_within(
                widest, 0, 0.5, expected="below half of the input's", reason="a limit of zero at least halves the gap"
            ),
            "slope of log gap in log width": mean_within(
                slope,
                -0.6,
                -0.4,
                expected="-1/2",
                reason="a tolerance of 0.1 separates the exponent 1/2 from 1/3 and from 1",
            ),
        }

    return Verdict.from_tests(over_readings(lambda rescale: all_of(tests(rescale)), rescale=SCALES), tests("rms"))


def _published(layer_angles: xr.Dataset, kinds: dict[str, str], degrees: float) -> Test:
    """The number under every reading: each scale where there are several, each batch size that was run."""
    angle = layer_angles["mean_angle"]

    def at(n: int, kind: str, within: float) -> Test:
        return worst_mean(
            angle.sel(normalization=kind, batch=n),
            "seed",
            degrees - within,
            degrees + within,
            unit=" degree",
            expected=f"{degrees:g} degree",
            reason="approximately, under this reading",
        )

    batches = {f"{n} points": n for n in angle["batch"].values.tolist()}
    return over_readings(at, n=batches, kind=kinds, within=APPROXIMATELY)


def _reproduced(published: Test, why: str, layer_angles: xr.Dataset, kind: str) -> Verdict:
    """What settings that are not stated decide is not reproducible; a number that none of them gives is refuted."""
    means = layer_angles["mean_angle"].sel(normalization=kind).mean("seed")
    facts = {"batch sizes": means["batch"], "mean angle by batch size (degree)": means}
    if published.outcome == "depends":
        return replace(not_reproducible(why, published), facts=facts)
    return Verdict.from_tests(published, facts=facts)


def _against_fixed_point(layer_angles: xr.Dataset, kind: str, predicted: Callable[[int], float]) -> Test:
    draws = layer_angles["mean_angle"].sel(normalization=kind)
    rest = xr.DataArray([predicted(n) for n in draws["batch"].values.tolist()], dims="batch")
    return worst_mean(
        draws - rest,
        "seed",
        -1,
        1,
        unit=" degree from the fixed point",
        expected="0 at every batch size",
        reason="finite width and depth move the mean by less than a degree; the alternatives are 4 degrees and more "
        "away",
    )


def rms_angle(n: int) -> float:
    """Fixed point of ReLU with rescaling by RMS and no recentering, degree."""
    return float(np.degrees(np.arccos(rms_fixed_point(n))))


def full_angle(n: int) -> float:
    """Fixed point of ReLU with recentering and rescaling, degree."""
    return float(np.degrees(simplex_angle(n)))


@claim(
    "bnd-fig5-60",
    where="Introduction; Appendix A, Figure 5(a)",
    line=320,
    assumes="batch normalization without recentering; whether its scale is still measured from the mean, as in (2), "
    "batch and width are not stated",
    words="the output angles are approximately 60°",
    kind="published number",
    states="With batch normalization without recentering the typical angle after 30 layers is approximately 60 "
    "degrees.",
    control=wrong_formula(
        r"the $\sigma$ of eq. (2) for the root mean square", replace_labels("normalization", {"rms": "std"})
    ),
    labels={"": "mean angle over pairs, with either scale and every batch size"},
    remark="Fixed points with the root mean square: 60.0 degrees at 9 points, 58.8 for large batches (bnd-fig5-rest). "
    "With eq. (2) the batch collapses.",
)
def sixty_degrees(layer_angles: xr.Dataset) -> Verdict:
    """Mean angle over pairs, draws as samples: both scales, every batch size."""
    return _reproduced(
        _published(layer_angles, SCALES, 60),
        "The paper states neither batch size nor whether the scale is measured from the mean that is not subtracted.",
        layer_angles,
        "rms",
    )


@claim(
    "bnd-fig5-75",
    where="Introduction; Appendix A, Figure 5(b)",
    line=320,
    assumes="batch normalization; the batch and its size are not stated",
    words="With recentering, the angles increase to approximately 75°",
    kind="published number",
    states="With batch normalization the typical angle after 30 layers is approximately 75 degrees.",
    control=false_world("networks without recentering", replace_labels("normalization", {"full": "rms"})),
    labels={"": "mean angle over pairs, with every batch size"},
    remark="Fixed points: 75.0 degrees at 9 points, 71.9 at 64, 71.4 for large batches (bnd-fig5-rest).",
)
def seventy_five_degrees(layer_angles: xr.Dataset) -> Verdict:
    """Mean angle over pairs, draws as samples, every batch size."""
    require(layer_angles, "layer_angles", batch=2)
    return _reproduced(
        _published(layer_angles, {"as in eq. (3)": "full"}, 75),
        "The paper states no batch size, which decides.",
        layer_angles,
        "full",
    )


@claim(
    "bnd-fig5-rest",
    where="Introduction, beside Figure 5",
    kind="comparison",
    origin="ours",
    states="The mean angle after thirty layers is that of a fixed point in closed form, which depends on the batch "
    "size alone, up to a degree, with batch normalization and with rescaling by the root mean square without "
    "recentering.",
    formula=r"\angle(x_i, x_j) = \arccos \kappa\left(-\frac{1}{n-1}\right), \quad \kappa(\rho) = \frac{\sqrt{1 - "
    r"\rho^2} + (\pi - \arccos\rho) \rho}{\pi}",
    control={
        "root mean square": wrong_formula(
            r"the $\sigma$ of eq. (2) for the root mean square", replace_labels("normalization", {"rms": "std"})
        ),
        "batch normalization": false_world(
            "networks without recentering", replace_labels("normalization", {"full": "rms"})
        ),
    },
    labels={"batch normalization": "mean angle after thirty layers less the fixed point, with batch normalization"},
    assumes="ReLU, Gaussian weights, no biases, batches of images of the sizes of the run, no two parallel (parallel "
    "points stay parallel); many more neurons than points",
)
def angles_of_the_fixed_points(layer_angles: xr.Dataset) -> Verdict:
    """Mean angle over pairs, draws as samples, minus the fixed point's at each batch size."""
    return Verdict.from_tests(
        {
            "root mean square": _against_fixed_point(layer_angles, "rms", rms_angle),
            "batch normalization": _against_fixed_point(layer_angles, "full", full_angle),
        }
    )


UNTYPICAL = {
    "active on over 90 % of the inputs": "active on 90 percent",
    "active on over three quarters": "active on 75 percent",
    "above a tenth of their largest on over half": "above a tenth on half",
    "above a tenth on over two thirds": "above a tenth on two thirds",
}


@claim(
    "bnd-fig6-cause",
    where="Introduction, on Figures 5 and 6",
    line=60,
    assumes="batch normalization without recentering; which histograms are untypical is not stated",
    words="induce stronger correlations between inputs and hence the angle between vectors decreases",
    kind="causal",
    states="Neurons with an untypical histogram, a significant response to a large number of inputs, decrease the "
    "angle between vectors.",
    control={
        "by untypical neurons": knock_out(
            "the untypical neurons left out, all others as they are", replace_labels("left_out", {"none": "untypical"})
        ),
        "not by as many others": false_world(
            "the untypical neurons left out for as many at random", replace_labels("left_out", {"random": "untypical"})
        ),
    },
)
def untypical_neurons_decrease_the_angle(layer_angles: xr.Dataset) -> Verdict:
    """Mean angle of the last layer without its untypical neurons and without as many others, minus that of all."""
    angle = layer_angles["angle_without"]
    if angle.isnull().any():
        raise NotEnoughDataError("layer_angles: networks so wide that every point has a response left")
    change = angle - angle.sel(left_out="none")

    def test(left_out: str, kind: str, low: float, high: float) -> Test:
        return worst_mean(
            change.sel(left_out=left_out, untypical=kind),
            "seed",
            low,
            high,
            unit=" degree",
            expected="gain of the mean angle",
            reason="one degree of the fifteen between 60 and 75",
        )

    return Verdict.from_tests(
        {
            "by untypical neurons": over_readings(lambda kind: test("untypical", kind, 1, np.inf), kind=UNTYPICAL),
            "not by as many others": over_readings(lambda kind: test("random", kind, -1, 1), kind=UNTYPICAL),
        },
        facts=_shares(layer_angles),
    )


def _shares(layer_angles: xr.Dataset) -> dict[str, float]:
    """Share of untypical neurons and of the difference between 60 and 75 that leaving them out makes up."""
    mean = layer_angles["mean_angle"].mean("seed")
    gap = mean.sel(normalization="full") - mean.sel(normalization="rms")
    angle = layer_angles["angle_without"].mean("seed")
    share = ((angle.sel(left_out="untypical") - angle.sel(left_out="none")) / gap).mean("batch")
    neurons = layer_angles["untypical_share"].mean(("batch", "seed"))
    facts = {}
    for name, kind in UNTYPICAL.items():
        facts[f"share of neurons, {name}"] = float(neurons.sel(untypical=kind))
        facts[f"share of the difference to the angle with recentering, {name}"] = float(share.sel(untypical=kind))
    return facts
