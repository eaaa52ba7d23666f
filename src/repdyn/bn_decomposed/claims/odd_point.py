"""Claims on the odd point, the limit of infinite width and the neurons' activity, each with its control."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.stats import beta

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_most, deviation, interval_within, mean_within
from repdyn.bn_decomposed.claims.gaussian_layers import means_within

LEADING = 50  # points from which the leading term 3 pi / n is tested
MOST = "most means more than half"


def share_within(hits: xr.DataArray, low: float, high: float, *, expected: str, reason: str) -> Test:
    """Decides by the exact (Clopper-Pearson) 99.9 % interval of a probability from independent hits."""
    n, k, tail = hits.size, int(hits.sum()), 5e-4
    interval = (
        float(beta.ppf(tail, k, n - k + 1)) if k else 0.0,
        float(beta.ppf(1 - tail, k + 1, n - k)) if k < n else 1.0,
    )
    test = interval_within(interval, low, high, expected=expected, reason=reason, n=n, false_alarm=2 * tail)
    return replace(test, measured=f"{k} of {n}, 99.9 % interval [{interval[0]:.3g}, {interval[1]:.3g}]")


def closed_form_without_recentring(
    relu_moments: xr.Dataset, fixed_point: xr.Dataset, contraction: xr.Dataset
) -> tuple[xr.Dataset, ...]:
    """Puts K(G) in the place of K(H G H)."""
    return relu_moments.assign(recentred=relu_moments["not_recentred"]), fixed_point, contraction


def reduced_map_agrees(many: xr.Dataset, few: xr.Dataset) -> dict[str, Test]:
    """Fixed points of the map of one angle against the iterated n x n map, odd point from 7 points on."""
    why = "the n x n map stops when its entries change by 1e-13; the narrowest cluster's angle is then good to 1e-3"
    degrees = {
        "reduced_minus_iterated_cluster_angle": many["odd_intra_angle"] - many["iterated_intra_angle"],
        "reduced_minus_iterated_odd_angle": many["odd_angle"] - many["iterated_odd_angle"],
        "equal_angles_up_to_six_points": few["simplex_angle"] - few["iterated_intra_angle"],
    }
    ratio = many["odd_norm_ratio"] / many["iterated_norm_ratio"] - 1
    return {
        name: deviation(value, 0.01, expected="0", reason=why, unit=" degree") for name, value in degrees.items()
    } | {"reduced_over_iterated_norm_ratio": deviation(ratio, 1e-3, expected="1", reason=why)}


@claim(
    "bnd-infwidth",
    where="Section III, eq. (8)",
    kind="limit",
    states="The expectation (8) appears to be intractable from layer to layer; after enough layers all points but the "
    "odd one collapse to one point.",
    correction="(8) is in closed form for the whole batch, G -> K(H G H). At infinite width the odd point exists for "
    "n >= 7 and the cluster keeps an angular width, 3 pi / n in leading order; for n <= 6 all points come to rest at "
    "equal angles. Equal angles are stable for larger n too, so the batch decides between the two.",
    corrected_formula=r"G^{(t+1)} = K\left(H G^{(t)} H\right), \quad H = I - \frac{1}{n} \mathbf{1} \mathbf{1}^T",
    data=("relu_moments", "fixed_point", "contraction"),
    control=wrong_formula("the closed form without recentring, K(G)", closed_form_without_recentring),
)
def closed_form_of_a_layer(relu_moments: xr.Dataset, fixed_point: xr.Dataset, contraction: xr.Dataset) -> Verdict:
    """(8) on images against explicit layers; fixed points of the reduced map against the iterated n x n map."""
    many = fixed_point.sel(batch=fixed_point["batch"] >= 7)
    few = fixed_point.sel(batch=fixed_point["batch"] <= 6)
    wide = many.sel(batch=many["batch"] >= LEADING)
    multipliers = np.concatenate(
        [many["odd_multiplier"], contraction["full_multiplier"], contraction["full_multiplier_of_equal_points"]]
    )
    return Verdict.from_tests(
        deviation(many["iterated_intra_angle"], 0.1, expected="0 degree", reason="a point", unit=" degree"),
        all_of(
            closed_form_minus_sampled=means_within(
                relu_moments["recentred_sampled"] - relu_moments["recentred"],
                "draw",
                -0.05,
                0.05,
                expected="0 in units of ||x~_i|| ||x~_j||",
                reason="a twentieth of the range; without recentring cosines of images are off by tenths",
            ),
            **reduced_map_agrees(many, few),
            cluster_angle_over_leading_term=deviation(
                wide["odd_intra_angle"] * wide["batch"] / 540 - 1,
                0.1,
                expected=f"1 up to O(1/n) from n = {LEADING} on",
                reason=f"corrections of order 1/n are a few times 1/{LEADING}",
            ),
            multipliers=at_most(
                multipliers[np.isfinite(multipliers)],
                1,
                expected="below 1, odd point and equal points, over all Gram matrices where computed",
                reason="a modulus below 1 is stable",
            ),
        ),
    )


def first_layer(odd_point: xr.Dataset) -> xr.Dataset:
    """Puts the first layer in the place of the last."""
    return odd_point.isel(layer=[0])


@claim(
    "bnd-fig3",
    where="Section III, Figure 3",
    kind="qualitative",
    states="With recentring and ReLU, after enough layers, the batch is a single cluster and one odd point far away in "
    "an orthogonal direction, for all batches.",
    data="odd_point",
    control=wrong_formula("the first layer in the place of the last", first_layer),
)
def cluster_and_odd_point(odd_point: xr.Dataset) -> Verdict:
    """Norms and angles in the last layer for every batch size, on images and on Gaussian points."""
    last = odd_point.isel(layer=-1)
    width = np.log2(last["intra_angle"] / last["resting_intra_angle"])
    return Verdict.from_tests(
        all_of(
            second_over_first_norm=means_within(
                last["second_to_first"],
                "seed",
                -np.inf,
                0.25,
                expected="below 1/4",
                reason="far away: four times as long as any other",
            ),
            odd_angle=means_within(
                last["odd_angle"], "seed", 85, 95, expected="90 degree", reason="orthogonal within five degrees"
            ),
            cluster_angle=means_within(
                last["intra_angle"],
                "seed",
                -np.inf,
                45,
                expected="below 45 degree",
                reason="closer to each other than to a right angle",
            ),
            log2_of_cluster_angle_over_infinite_width=means_within(
                width.stack(draw=("source", "seed")),
                "draw",
                -1,
                1,
                expected="0",
                reason="a factor two: tells the widths of clusters of 20, 50 and 100 points apart from a point's, 0",
            ),
        ),
        note="The cluster keeps an angular width near 540/n degree (bnd-infwidth). Before it forms, two long points "
        "can stand beside each other for some hundred layers at n = 100.",
    )


def of_another_run(largest_norm: xr.Dataset) -> xr.Dataset:
    """Pairs the odd point of every run with the farthest input of the next run."""
    return largest_norm.assign(farthest=largest_norm["farthest"].roll(run=1))


@claim(
    "bnd-remark-largest",
    where="Remark in Section III",
    kind="qualitative",
    states="The odd point is typically the input of largest norm.",
    correction="In wide networks it is typically the input farthest from the mean of the batch, not from the origin; "
    "at a few hundred neurons chance decides unless one point is about twice as long as the others.",
    data="largest_norm",
    control=wrong_formula("the farthest input of another run", of_another_run),
)
def odd_point_is_the_longest(largest_norm: xr.Dataset) -> Verdict:
    """Share of runs in which the odd point is the longest (printed), and the farthest at infinite width (corrected)."""
    typical = {"reason": MOST, "expected": "above 1/2", "low": 0.5, "high": np.inf}

    def share(odd: xr.DataArray, which: str, kind: str) -> Test:
        return share_within(odd.sel(kind=kind) == largest_norm[which].sel(kind=kind), **typical)

    natural = [kind for kind in largest_norm["kind"].values.tolist() if not kind.startswith("unit")]
    printed = {
        f"{kind}_width_{width}": share(largest_norm["odd"].sel(width=width), "longest", kind)
        for kind in natural
        for width in largest_norm["width"].values
    } | {f"{kind}_infinite_width": share(largest_norm["limit_odd"], "longest", kind) for kind in natural}
    corrected = {
        f"{kind}_infinite_width": share(largest_norm["limit_odd"], "farthest", kind)
        for kind in largest_norm["kind"].values.tolist()
    }
    return Verdict.from_tests(all_of(**printed), all_of(**corrected))


def exchanged(activity: xr.Dataset) -> xr.Dataset:
    """Exchanges the networks without and with recentring."""
    return activity.assign_coords(recentring=activity["recentring"].values[::-1])


def busy(activity: xr.Dataset, recentring: str) -> xr.DataArray:
    """Share of neurons whose response exceeds a tenth of their largest for more than half of the inputs."""
    return (activity["above_tenth"].sel(recentring=recentring) > 0.5).mean("neuron")


def nearly_always_active(activity: xr.Dataset, recentring: str) -> xr.DataArray:
    """Share of neurons active on more than 90 % of the inputs."""
    return (activity["active"].sel(recentring=recentring) > 0.9).mean("neuron")


@claim(
    "bnd-fig6-a",
    where="Figure 6(a), Section I",
    kind="qualitative",
    states="Without recentring some neurons respond significantly to a large number of inputs.",
    data="activity",
    control=wrong_formula("networks with recentring in the place of those without", exchanged),
)
def busy_without_recentring(activity: xr.Dataset) -> Verdict:
    """Neurons active on over 90 % of the inputs, against the prediction; neurons not negligible for most inputs."""
    expected = float(activity["expected_above_90"])
    return Verdict.from_tests(
        all_of(
            active_on_90_percent_over_prediction=mean_within(
                nearly_always_active(activity, "without") / expected,
                0.5,
                2,
                expected=f"{expected:.3f} of the neurons, ratio 1",
                reason="a factor two, for a batch and a depth that are not infinite",
            ),
            above_a_tenth_of_their_maximum_for_most_inputs=mean_within(
                busy(activity, "without"),
                0.1,
                1,
                expected="some neurons",
                reason="some: more than a tenth of them",
            ),
        ),
        note="Rescaling without recentring is by the root mean square. The paper gives no batch, width or depth and no "
        "size of a significant response.",
    )


@claim(
    "bnd-fig6-b",
    where="Figure 6(b), Section I, Discussion",
    kind="qualitative",
    states="With recentring the response of most neurons is negligible for most of the inputs.",
    data="activity",
    control=wrong_formula("networks without recentring in the place of those with it", exchanged),
)
def quiet_with_recentring(activity: xr.Dataset) -> Verdict:
    """Neurons below a tenth of their largest response for more than half of the inputs; none nearly always active."""
    return Verdict.from_tests(
        all_of(
            below_a_tenth_of_their_maximum_for_most_inputs=mean_within(
                1 - busy(activity, "with"), 0.5, np.inf, expected="most neurons", reason=MOST
            ),
            active_on_90_percent=mean_within(
                nearly_always_active(activity, "with"),
                -np.inf,
                0.01,
                expected="no neurons",
                reason="a tenth of the share without recentring",
            ),
        ),
        note="The paper does not say what is negligible; here, a tenth of the neuron's largest response. Exactly zero "
        "it is for half of the inputs, by symmetry.",
    )


@claim(
    "bnd-disc-fire",
    where="Discussion",
    kind="qualitative",
    states="With no rescaling and at initialization, neurons are active with a large intensity only for the odd point.",
    data="odd_point",
    control=wrong_formula("the first layer in the place of the last", first_layer),
)
def large_responses_are_the_odd_points(odd_point: xr.Dataset) -> Verdict:
    """Share of the odd point in the large responses and in the energy, against the fixed point of infinite width."""
    last = odd_point.isel(layer=-1)
    expected = 1 / (1 + (last["batch"] - 1) * last["resting_ratio"] ** 2)
    return Verdict.from_tests(
        all_of(
            share_of_the_large_responses=means_within(
                last["large_of_odd"],
                "seed",
                0.95,
                np.inf,
                expected="all responses above a tenth of the layer's largest",
                reason="only: all but a twentieth",
            ),
            energy_minus_prediction=means_within(
                last["odd_energy"] - expected,
                "seed",
                -0.05,
                0.05,
                expected="1/(1 + sum of squared ratios), near (n-1)/n",
                reason="a twentieth; a point like any other would carry 1/n",
            ),
        ),
        note="Half of the neurons fire for the odd point; the other half respond weakly to most of the cluster.",
    )
