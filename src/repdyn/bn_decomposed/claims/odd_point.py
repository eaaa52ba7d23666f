"""Claims on the odd point in deep networks of finite width: its existence, which input it is, what neurons do."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, wrong_formula
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict, all_of
from repdyn.bn_decomposed.claims.infinite_width import batches_from
from repdyn.bn_decomposed.claims.worst_of import worst_mean
from repdyn.bn_decomposed.theory.odd_cluster import FEWEST_WITH_ODD_POINT

LARGE_BATCH = 20  # points from which the cluster is clearly one: 25 degrees wide at infinite width, 45 at 10 points
FIRST_LAYER = false_world("the first layer for the last", lambda odd_point: odd_point.isel(layer=[0]))


def cluster_and_odd(last: xr.Dataset, ratio: float = 0.25, right: float = 5, cluster: float = 45) -> Test:
    """Norms and angles of one layer, every batch size in it, images and Gaussian points.

    Args:
        last: one layer of `odd_point`.
        ratio: second over first norm from which the odd point is not far away.
        right: degrees by which an orthogonal direction may be off.
        cluster: degrees from which the others are no cluster.
    """
    return all_of(
        {
            "second over first norm": worst_mean(
                last["second_to_first"],
                "seed",
                -np.inf,
                ratio,
                expected=f"below {ratio:g}",
                reason="far away: several times as long as any other",
            ),
            "odd angle": worst_mean(
                last["odd_angle"],
                "seed",
                90 - right,
                90 + right,
                expected="90 degree",
                reason=f"orthogonal within {right:g} degrees",
            ),
            "cluster angle": worst_mean(
                last["intra_angle"],
                "seed",
                -np.inf,
                cluster,
                expected=f"below {cluster:g} degree",
                reason="closer to each other than to a right angle",
            ),
        }
    )


SMALLEST_BATCH = {f"{n} points and more": n for n in (3, 7, 10, 20)}
FAR_AWAY = {"twice as long": 0.5, "four times as long": 0.25}
CLUSTER = {"45 degrees": 45, "60 degrees": 60}


def _batches_of_the_paper(last: xr.Dataset) -> Test:
    """The sentence under every reading of what it leaves open: batches, far away, cluster."""
    return over_readings(
        lambda least, ratio, cluster: cluster_and_odd(
            batches_from(last, "odd_point", least), ratio=ratio, cluster=cluster
        ),
        least=SMALLEST_BATCH,
        ratio=FAR_AWAY,
        cluster=CLUSTER,
    )


@claim(
    "bnd-fig3",
    where="Section III, Figure 3",
    line=141,
    assumes="recentering and ReLU; sizes of the batches are not stated",
    words="consistent for all the batches that we experimented with",
    kind="qualitative",
    states="With recentering and ReLU, after enough layers, the batch is a single cluster and one odd point far away "
    "in an orthogonal direction, for all batches of the paper.",
    correction="For batches of twenty points and more. Up to six points there is no odd point at all; at seven it "
    "comes and goes; at ten and twelve it is there in every draw, with the others 48 to 39 degrees apart.",
    kind_of_slip="missing hypothesis",
    control=dict.fromkeys(("second over first norm", "odd angle", "cluster angle"), FIRST_LAYER),
    labels={
        "cluster angle": "angle between points of the cluster after the last layer",
        "odd angle": "angle between odd point and cluster after the last layer",
    },
    remark="The paper's Figure 4 has five points. The cluster keeps an angular width that tends to $540/n$ degrees "
    "(bnd-infwidth).",
)
def cluster_forms_beside_odd_point(odd_point: xr.Dataset) -> Verdict:
    """Norms and angles in the last layer: all readings as printed, 20 points and more as corrected."""
    if int(odd_point["batch"].min()) >= FEWEST_WITH_ODD_POINT:
        raise NotEnoughDataError(
            f"odd_point: a batch of {FEWEST_WITH_ODD_POINT - 1} points or fewer, since the claim is on all batches"
        )
    last = odd_point.isel(layer=-1)
    return Verdict.from_tests(
        _batches_of_the_paper(last),
        cluster_and_odd(batches_from(last, "odd_point", LARGE_BATCH)),
        {"layers": int(odd_point["layer"][-1])},
    )


def _like_definition_12(last: xr.Dataset, factor: float, degrees: float) -> Test:
    """Ratio of norms within a factor of 1/(n-1), odd point at 90 and cluster at 0 degrees within `degrees`."""
    ratio = np.log(last["second_to_first"] * (last["batch"] - 1)) / np.log(factor)
    words = {"expected": "Definition 12", "reason": "closely resembles, under this reading"}
    return all_of(
        {
            "ratio of norms": worst_mean(ratio, "seed", -1, 1, **words),
            "odd angle": worst_mean(last["odd_angle"], "seed", 90 - degrees, 90 + degrees, unit=" degree", **words),
            "cluster angle": worst_mean(last["intra_angle"], "seed", -np.inf, degrees, unit=" degree", **words),
        }
    )


@claim(
    "bnd-def12-resembles",
    where="Section III, text before Definition 12",
    words="Such a configuration closely resembles the kind of geometrical structure that we see in practice",
    line=255,
    assumes="recentering and ReLU, deep networks; batches are not stated, nor how close is close",
    kind="qualitative",
    states="One odd point, orthogonal to a cluster of identical points of much smaller norm, closely resembles what "
    "networks with recentering and ReLU show.",
    control=FIRST_LAYER,
    remark="At infinite width items 1 to 3 are met within a few percent, while the cluster keeps an angular width near "
    "$540/n$ degrees (bnd-infwidth).",
)
def definition_12_is_seen(odd_point: xr.Dataset) -> Verdict:
    """Norms and angles in the last layer against the relations 1 to 4, under several readings of close."""
    last = odd_point.isel(layer=-1)
    test = over_readings(
        lambda n, factor, degrees: _like_definition_12(last.sel(batch=[n]), factor, degrees),
        n={f"{n} points": n for n in batches_from(last, "odd_point", LARGE_BATCH)["batch"].values.tolist()},
        factor={"norms within a factor 1.5": 1.5, "norms within a factor two": 2.0},
        degrees={"angles within 10 degrees": 10, "angles within 20 degrees": 20, "angles within 30 degrees": 30},
    )
    return Verdict.from_tests(test)


@claim(
    "bnd-finite-width",
    where="Section III, beside Figure 3",
    kind="comparison",
    origin="ours",
    states="The width of the cluster in deep networks of finite width is that of the fixed point at infinite width, "
    "up to a factor of two.",
    control=FIRST_LAYER,
    assumes="recentering and ReLU without rescaling or biases, He variance; batches of twenty points and more of "
    "images or Gaussian points in which an odd point has formed; width and depth of the run",
)
def cluster_width_is_that_of_the_limit(odd_point: xr.Dataset) -> Verdict:
    """Angle in the cluster over that at infinite width, images and Gaussian points together."""
    last = batches_from(odd_point.isel(layer=-1), "odd_point", LARGE_BATCH)
    width = cast("xr.DataArray", np.log2(last["intra_angle"] / last["resting_intra_angle"]))
    return Verdict.from_tests(
        worst_mean(
            width.stack(draw=("source", "seed")),
            "draw",
            -1,
            1,
            expected="binary logarithm of the ratio 0",
            reason="a factor two: tells the widths of clusters of 20, 50 and 100 points apart from a point's, 0",
        )
    )


def whatever_the_sign(odd_point: xr.Dataset) -> xr.Dataset:
    """Counts the points at zero whatever the sign of the projected cluster."""
    mean = (odd_point["zeros_if_cluster_above"] + odd_point["zeros_if_cluster_below"]) / 2
    return odd_point.assign(zeros_if_cluster_above=mean, zeros_if_cluster_below=mean)


@claim(
    "bnd-sec3-signs",
    where="Section III, intuition, 'In total, the effect ...'",
    line=158,
    kind_of_slip="misprint",
    assumes="an odd point far from the others, which exists from twenty points on (bnd-fig3)",
    words="in the former case much more points map to zero compared to a selected few",
    kind="comparison",
    states="Many more points are mapped to zero where the projected cluster is above the mean than where it is below.",
    correction="The signs are exchanged: where the projected cluster is below the mean, most of it maps to zero and "
    "it becomes tighter; where it is above, the odd point and a few others do. The steps before the sentence say so.",
    formula=r"\#\{i : x_i' = 0 \mid W\nu - \mu > 0\} \gg \#\{i : x_i' = 0 \mid W\nu - \mu < 0\}",
    corrected_formula=r"\#\{i : x_i' = 0 \mid W\nu - \mu < 0\} \gg \#\{i : x_i' = 0 \mid W\nu - \mu > 0\}",
    control=wrong_formula("points at zero whatever the sign", whatever_the_sign, recomputes=True),
    message="More points map to zero below the mean, not above it",
    cause="Where the projected cluster is below the mean, ReLU maps most of it to zero; where it is above, only the "
    "odd point and a few others.",
    consequence="Only this sentence changes: its two signs are exchanged, while the steps before it have them right.",
)
def cluster_maps_to_zero(odd_point: xr.Dataset) -> Verdict:
    """Points at zero in neurons where the cluster's mean is above and where it is below, mean over the layers."""
    larger = batches_from(odd_point, "odd_point", LARGE_BATCH)
    n, mean = larger["batch"], larger.mean("layer")
    above, below = mean["zeros_if_cluster_above"], mean["zeros_if_cluster_below"]
    words: dict[str, Any] = {"low": 0.05, "high": np.inf, "reason": "much more: a twentieth of the batch and more"}
    smallest = larger.isel(batch=0, layer=[0, -1]).mean(("source", "seed"))
    return Verdict.from_tests(
        worst_mean((above - below) / n, "seed", expected="more above, over $n$", **words),
        worst_mean((below - above) / n, "seed", expected="more below, over $n$", **words),
        {
            "points": int(n[0]),
            "layers": smallest["layer"],
            "points at zero by layer, cluster above the mean": smallest["zeros_if_cluster_above"],
            "points at zero by layer, cluster below the mean": smallest["zeros_if_cluster_below"],
        },
    )


NEGLIGIBLE = ("above_twentieth", "above_tenth", "above_fifth")
MANY_INPUTS = {"two thirds": 2 / 3, "three quarters": 3 / 4}  # half respond in any network, by symmetry


def busy(activity: xr.Dataset, recentering: str, significant: str, inputs: float) -> xr.DataArray:
    """Share of neurons whose response is significant for more than a share of the inputs."""
    return (activity[significant].sel(recentering=recentering) > inputs).mean("neuron")


def quiet(activity: xr.Dataset, recentering: str, negligible: str, inputs: float) -> xr.DataArray:
    """Share of neurons whose response is negligible for more than a share of the inputs."""
    return (activity[negligible].sel(recentering=recentering) < 1 - inputs).mean("neuron")


def nearly_always_active(activity: xr.Dataset, recentering: str) -> xr.DataArray:
    """Share of neurons active on more than 90 % of the inputs."""
    return (activity["active"].sel(recentering=recentering) > 0.9).mean("neuron")


OTHER_NETWORKS = false_world(
    "networks with and without recentering exchanged", exchange("recentering", "without", "with")
)


@claim(
    "bnd-fig6-a",
    where="Appendix A, Figure 6(a); Introduction",
    line=322,
    assumes="networks without recentering, some neurons; the paper says neither what is significant nor how large a "
    "number is meant",
    words="the neuron has significant response for a large number of inputs",
    kind="qualitative",
    states="Without recentering some neurons respond significantly to a large number of inputs.",
    control=dict.fromkeys(("active on 90 percent over prediction", "significant for many inputs"), OTHER_NETWORKS),
    remark="Rescaling without recentering is by the root mean square. The paper gives no batch, width or depth. "
    "A response is significant where bnd-fig6-b does not call it negligible.",
)
def busy_without_recentering(activity: xr.Dataset) -> Verdict:
    """Neurons active on over 90 % of the inputs, against the prediction; neurons that respond to many."""
    expected = float(activity["expected_above_90"])
    return Verdict.from_tests(
        {
            "active on 90 percent over prediction": mean_within(
                nearly_always_active(activity, "without") / expected,
                0.5,
                2,
                expected=f"{expected:.3f} of the neurons, ratio 1",
                reason="a factor two, for a batch and a depth that are not infinite",
            ),
            "significant for many inputs": over_readings(
                lambda significant, inputs: mean_within(
                    busy(activity, "without", significant, inputs),
                    0.01,
                    1,
                    expected="some neurons",
                    reason="some: more than one in a hundred; with recentering there is none",
                ),
                significant={name.replace("above_", "above a ") + " of the largest": name for name in NEGLIGIBLE},
                inputs=MANY_INPUTS,
            ),
        }
    )


def _turned_round(activity: xr.Dataset) -> xr.Dataset:
    return activity.assign({name: 1 - activity[name] for name in NEGLIGIBLE})


@claim(
    "bnd-fig6-b",
    where="Appendix A, Figure 6(b); Introduction; Discussion",
    line=322,
    assumes="networks with recentering; neither what is negligible nor how many inputs and neurons are most",
    words="the neural response is negligible for most of the inputs",
    kind="qualitative",
    states="With recentering the response of most neurons is negligible for most of the inputs.",
    control={
        "quiet for most inputs": false_world("responses that are negligible where they are large", _turned_round),
        "active on 90 percent": OTHER_NETWORKS,
    },
    remark="The response is exactly zero for half of the inputs, by symmetry, so that more than half is nearly free.",
)
def quiet_with_recentering(activity: xr.Dataset) -> Verdict:
    """Shares of quiet neurons over what negligible and most may be; none nearly always active."""

    def decide(negligible: str, inputs: float, neurons: float) -> Test:
        return mean_within(
            quiet(activity, "with", negligible, inputs),
            neurons,
            np.inf,
            expected="most neurons",
            reason="what is negligible and how many are most are readings",
        )

    return Verdict.from_tests(
        {
            "quiet for most inputs": over_readings(
                decide,
                negligible={f"below {name.replace('above_', 'a ')} of the largest": name for name in NEGLIGIBLE},
                inputs={"more than half": 1 / 2, "two thirds": 2 / 3, "three quarters": 3 / 4},
                neurons={"more than half": 1 / 2, "nine in ten": 9 / 10},
            ),
            "active on 90 percent": mean_within(
                nearly_always_active(activity, "with"),
                -np.inf,
                0.01,
                expected="no neurons",
                reason="a tenth of the share without recentering",
            ),
        },
        facts={
            f"share of neurons below a tenth of their largest for two thirds of the inputs, {name} recentering": quiet(
                activity, name, "above_tenth", 2 / 3
            ).mean()
            for name in ("with", "without")
        },
    )


SMALLEST_WITH_ODD_POINT = 10  # at seven points it comes and goes, from ten on it is there in every draw


@claim(
    "bnd-disc-fire",
    where="Discussion, second paragraph",
    line=289,
    assumes="no rescaling, at initialization; a batch in which an odd point forms in every draw (ten points and more); "
    "neither its size nor what is large, nor compared with what, is stated",
    words="neurons are active with a large intensity only for the odd data point",
    kind="qualitative",
    states="With no rescaling and at initialization, neurons are active with a large intensity only for the odd point.",
    control=FIRST_LAYER,
    labels={"": "share of the odd point in the large responses of the last layer"},
    remark="Half of the neurons fire for the odd point; the other half respond to most of the cluster, by $1/(n-1)$ as "
    "strongly. That is small beside the layer's largest response in large batches, but it is these neurons' own "
    "largest, to which Figure 6 compares.",
)
def large_responses_are_the_odd_points(odd_point: xr.Dataset) -> Verdict:
    """Share of the odd point in the large responses, over sizes of the batch and what large may be."""
    last = batches_from(odd_point.isel(layer=-1), "odd_point", SMALLEST_WITH_ODD_POINT)

    def only(n: int, large: str, largest: str) -> Test:
        return worst_mean(
            last[f"{large}_of_{largest}"].sel(batch=[n]),
            "seed",
            0.95,
            np.inf,
            expected="all large responses",
            reason="only: all but a twentieth; what is large is a reading",
        )

    return Verdict.from_tests(
        over_readings(
            only,
            n={f"{n} points": n for n in last["batch"].values.tolist()},
            large={name.replace("above_", "above a "): name for name in NEGLIGIBLE},
            largest={"of the layer's largest": "layer", "of the neuron's largest": "neuron"},
        )
    )
