"""Claims on the linear approximation around pairs of digits: Appendix C.4, Figure 14. All are statements on MNIST."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, reverse
from repdyn.base.datasets import require
from repdyn.base.readings import over_readings
from repdyn.base.verdicts import Test, Verdict, all_of
from repdyn.universality.claims.intervals import MNIST, mean_of, on_mnist, undecided
from repdyn.universality.theory.published import EPOCH_STEPS, RATE_MNIST

EPOCH = RATE_MNIST * EPOCH_STEPS  # rate times steps of one of the paper's epochs
LATE = 30  # the paper's epochs after which Figure 14 is drawn
VISIBLE = 0.1  # decades: a fall by a fifth over the plot
VISIBLE_REASON = "a tenth of a decade, a fifth, is what a reader sees over a plot"
WORSE = {"any fall": 0.0, "a fall by a fifth, visible in the plot": VISIBLE}
WORSE_REASON = "by how much the ratio falls is not stated"
DOMINATES = {"larger": 1.0, "twice as large": 2.0, "three times": 3.0}
MAPS = ("encoder", "decoder")


def trend(taylor: xr.Dataset, look: int, kind: str) -> np.ndarray:
    """log10 of the ratio in the farthest bin over that in the nearest, per network."""
    ratio = taylor["ratio"].isel(look=look).sel(map=kind)
    return np.log10((ratio.isel(bin=-1) / ratio.isel(bin=0)).values)


def nearest(taylor: xr.Dataset, epochs: float) -> int:
    """The stored pass whose rate times steps comes nearest to so many of the paper's epochs."""
    return int(np.abs(taylor["progress"].values - epochs * EPOCH).argmin())


def progress(taylor: xr.Dataset, look: int) -> float:
    """Rate times steps so far over that of one of the paper's epochs."""
    return float(taylor["progress"].values[look]) / EPOCH


def falls(samples: np.ndarray, source: str) -> Test:
    """A visible fall with distance, on MNIST."""
    words = {"expected": "falls by a fifth or more", "reason": VISIBLE_REASON, "unit": " decades"}
    return on_mnist(mean_of(samples, -np.inf, -VISIBLE, 2, **words), source)


def no_trend(samples: np.ndarray, source: str) -> Test:
    """No visible change with distance, on MNIST."""
    words = {"expected": "no trend beyond a tenth of a decade", "reason": VISIBLE_REASON, "unit": " decades"}
    return on_mnist(mean_of(samples, -VISIBLE, VISIBLE, 2, **words), source)


def trends_exchanged(taylor: xr.Dataset) -> xr.Dataset:
    """At every look but the first maps fall as far as they miss of the decoder's fall at the end of training."""
    ratio = taylor["ratio"]
    missing = ratio.isel(look=-1, drop=True).sel(map="decoder", drop=True) / ratio
    exchanged = xr.where(taylor["look"] > taylor["look"][0], ratio.isel(look=0, drop=True) * missing, ratio)
    return taylor.assign(ratio=exchanged.transpose(*ratio.dims))


def steep_at_the_start(taylor: xr.Dataset) -> xr.Dataset:
    """The decoder's ratios at the end of training, which fall, for both maps at the first look."""
    looks = taylor["look"] == taylor["look"][0]
    steep = taylor["ratio"].isel(look=-1, drop=True).sel(map="decoder", drop=True)
    return taylor.assign(ratio=xr.where(looks, steep, taylor["ratio"]).transpose(*taylor["ratio"].dims))


def near_and_far_exchanged(taylor: xr.Dataset) -> xr.Dataset:
    """Bins of near and far pairs exchanged."""
    return taylor.assign(ratio=cast("xr.Dataset", reverse("bin")(taylor))["ratio"])


def orders_exchanged(taylor: xr.Dataset) -> xr.Dataset:
    """First and second order exchanged."""
    return taylor.assign(ratio=1 / taylor["ratio"])


def _all_trends(taylor: xr.Dataset) -> dict[str, object]:
    looks = range(taylor.sizes["look"])
    changes = {kind: [trend(taylor, look, kind).mean() for look in looks] for kind in MAPS}
    return {
        "images": taylor["source"].item(),
        "time of each pass (the paper's epochs)": [progress(taylor, look) for look in looks],
        **{f"change from near to far pairs, {kind} (decades)": change for kind, change in changes.items()},
    }


STEEP = "both maps fall as the decoder does at the end of training"
EXCHANGED = "a map that falls as the decoder does at the end of training does not, one that does not fall does"


@claim(
    "uni-fig14-taylor",
    where="Appendix C.4, Figure 14",
    line=621,
    kind_of_slip="result changes",
    assumes="MNIST after 30 epochs, both maps",
    words="the linear term dominates for nearby datapoints but gets worse the further they are away",
    kind="qualitative",
    states="After 30 epochs the first order falls against the second with the distance of the pair, for both maps.",
    control=dict.fromkeys(MAPS, false_world("near and far pairs exchanged", near_and_far_exchanged)),
    labels={
        "encoder": "trend of first over second order with distance, encoder",
        "decoder": "trend of first over second order with distance, decoder",
    },
    defence="The caption claims a trend, with no size: a tenth of a decade is our threshold. A leaky ReLU has no "
    "second derivative, so the second order, which the paper does not define, may differ from ours, and its 30 "
    "epochs are passes over 60,000 images where ours are equal rate times steps on fewer. The decoder's ratio falls.",
    answer="The size of the trend does not decide it for the encoder: on scikit-learn's digits its ratio rises with "
    "distance, and on MNIST's test images a fall by a fifth is excluded. The definition and the images remain: our "
    "second order is the one that sees kinks, and no run of ours has 60,000 images. Until one does, nothing is "
    "called refuted.",
)
def linear_term_fades_with_distance(taylor_ratios: xr.Dataset) -> Verdict:
    """Median ratio in the farthest over that in the nearest of the bins, at the look nearest to 30 epochs."""
    look, source = nearest(taylor_ratios, LATE), taylor_ratios["source"].item()

    def gets_worse(kind: str) -> Test:
        def decide(by: float) -> Test:
            words = {"expected": f"falls by more than {by:g}", "reason": WORSE_REASON, "unit": " decades"}
            return mean_of(trend(taylor_ratios, look, kind), -np.inf, -by, 2, **words)

        return on_mnist(over_readings(decide, by=WORSE), source)

    tests = {kind: gets_worse(kind) for kind in MAPS}
    if not 0.8 < progress(taylor_ratios, look) / LATE < 1.25:
        tests = {
            kind: undecided(
                "epochs at which it is stored", test.expected, "not at 30 epochs", progress(taylor_ratios, look)
            )
            for kind, test in tests.items()
        }
    return Verdict.from_tests(tests, facts=_all_trends(taylor_ratios))


@claim(
    "uni-fig14-start",
    where="Appendix C.4, Figure 14",
    line=621,
    assumes="MNIST",
    words="This trend is not present at initialization",
    kind="qualitative",
    states="This trend is not present at initialization.",
    control=dict.fromkeys(MAPS, false_world(f"{STEEP}, before it", steep_at_the_start)),
    labels={
        "encoder": "trend of first over second order with distance, before training, encoder",
        "decoder": "trend of first over second order with distance, before training, decoder",
    },
)
def no_trend_at_the_start(taylor_ratios: xr.Dataset) -> Verdict:
    """Trends of both maps before training."""
    source = taylor_ratios["source"].item()
    return Verdict.from_tests({kind: no_trend(trend(taylor_ratios, 0, kind), source) for kind in MAPS})


@claim(
    "uni-fig14-first-epoch",
    where="Appendix C.4, Figure 14",
    line=621,
    assumes="MNIST",
    words="appear very quickly, becoming visible even at a single epoch",
    kind="qualitative",
    states="The trend becomes visible at a single epoch of training on MNIST.",
    control=dict.fromkeys(MAPS, false_world(EXCHANGED, trends_exchanged, recomputes=True)),
    labels={
        "encoder": "change of the trend with distance from the start to one epoch, encoder",
        "decoder": "change of the trend with distance from the start to one epoch, decoder",
    },
)
def trend_after_one_epoch(taylor_ratios: xr.Dataset) -> Verdict:
    """Change of the trend from initialization to the pass nearest to one of the paper's epochs, paired by network."""
    require(taylor_ratios, "taylor_ratios", look=2)
    look, source = max(nearest(taylor_ratios, 1), 1), taylor_ratios["source"].item()
    change = {kind: trend(taylor_ratios, look, kind) - trend(taylor_ratios, 0, kind) for kind in MAPS}
    tests = {kind: falls(values, MNIST) for kind, values in change.items()}
    epochs = progress(taylor_ratios, look)
    growth = taylor_ratios["distance"].isel(look=look) / taylor_ratios["distance"].isel(look=0)
    facts = {
        "images": source,
        "time of the nearest pass (the paper's epochs)": epochs,
        "growth of the distances of representations by then": float(growth.mean()),
    }
    too_far = epochs > 1 if all_of(tests).outcome == "passes" else epochs < 1
    if source != MNIST or too_far:
        reason = "only MNIST has that epoch; a trend counts if seen by its end, the lack of one if still missing there"
        tests = {kind: replace(test, outcome="undecided", margin=1.0, reason=reason) for kind, test in tests.items()}
    return Verdict.from_tests(tests, facts=facts)


@claim(
    "uni-c4-near",
    where="Appendix C.4",
    line=616,
    assumes="MNIST",
    words="it holds up reasonably well for close enough pairs of datapoints",
    kind="qualitative",
    states="The first order dominates for close pairs.",
    control=dict.fromkeys(MAPS, false_world("first and second order exchanged", orders_exchanged, recomputes=True)),
    labels={
        "encoder": "first over second order for the nearest pairs, encoder",
        "decoder": "first over second order for the nearest pairs, decoder",
    },
)
def first_order_dominates_near(taylor_ratios: xr.Dataset) -> Verdict:
    """Median ratio in the nearest bin at the end of training."""
    near = cast("xr.DataArray", np.log10(taylor_ratios["ratio"].isel(look=-1, bin=0)))
    source = taylor_ratios["source"].item()

    def decide(kind: str, by: float) -> Test:
        words = {"expected": f"first order over {by:g} times the second", "unit": " decades"}
        reason = "'dominates' is a factor that the paper does not name"
        return mean_of(near.sel(map=kind).values, np.log10(by), np.inf, 2, **words, reason=reason)

    tests = {kind: over_readings(lambda by, kind=kind: decide(kind, by), by=DOMINATES) for kind in MAPS}
    return Verdict.from_tests({kind: on_mnist(test, source) for kind, test in tests.items()})
