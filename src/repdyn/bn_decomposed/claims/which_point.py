"""Claim on which input becomes the odd point: the Remark in Section III."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, replace_labels, replace_variables
from repdyn.base.datasets import require
from repdyn.base.readings import over_readings
from repdyn.base.sampled import share_within
from repdyn.base.verdicts import Test, Verdict
from repdyn.bn_decomposed.claims.worst_of import FALSE_ALARM, worst_share

MOST = "most means more than half"
TWICE = "unit norms, one of 2"


def _longest(largest_norm: xr.Dataset) -> Test:
    """Share of runs in which the longest input is odd, over batches and widths, which the remark leaves open."""
    kinds = [kind for kind in largest_norm["kind"].values.tolist() if not kind.startswith("unit")]
    widths = {f"width {n}": largest_norm["odd"].sel(width=n) for n in largest_norm["width"].values.tolist()}
    return over_readings(
        lambda kind, odd: share_within(
            (odd == largest_norm["longest"]).sel(kind=kind).values.ravel(),
            0.5,
            np.inf,
            expected="above 1/2",
            reason=MOST,
            false_alarm=FALSE_ALARM,
        ),
        kind={kind: kind for kind in kinds},
        odd=widths | {"infinite width": largest_norm["limit_odd"]},
    )


@claim(
    "bnd-remark-largest",
    where="Section III, Remark",
    line=187,
    assumes="recentering and ReLU; batches, widths and depths are not stated",
    words="the odd point would typically be the one with the largest norm",
    kind="qualitative",
    states="The odd point is typically the input of largest norm.",
    correction="In wide networks it is typically the input farthest from the mean of the batch, not from the origin; "
    "at a few hundred neurons chance decides unless one point is about twice as long as the others.",
    kind_of_slip="missing hypothesis",
    control={
        "farthest at infinite width": false_world(
            "the input nearest to the mean for the farthest", replace_variables(farthest="nearest")
        ),
        "longest where twice as long": false_world(
            "images, none of them so much longer, for the unit vectors", replace_labels("kind", {TWICE: "images"})
        ),
    },
    labels={"": "share of runs in which the odd point is the longest input"},
    remark="Batches whose points differ by their norm alone are not the remark's; those readings are left out.",
)
def odd_point_is_the_longest(largest_norm: xr.Dataset) -> Verdict:
    """Share of runs in which the odd point is the longest, over batches and widths; the farthest at infinite width."""
    typical: dict[str, Any] = {"reason": MOST, "expected": "above 1/2 for every kind of batch", "low": 0.5}
    typical["high"] = np.inf
    limit = largest_norm["limit_odd"]
    farthest = (limit == largest_norm["farthest"]).transpose("kind", "run").values
    return Verdict.from_tests(
        _longest(largest_norm),
        {
            "farthest at infinite width": worst_share([*farthest], **typical),
            "longest where twice as long": worst_share(_twice_as_long(largest_norm), **typical),
        },
        _farthest_by_width(largest_norm),
    )


def _twice_as_long(largest_norm: xr.Dataset) -> list[np.ndarray]:
    """Runs in which the long point is odd, by width, of the unit vectors among which one is twice as long."""
    require(largest_norm, "largest_norm", kind=(TWICE,))
    hits = (largest_norm["odd"] == largest_norm["longest"]).sel(kind=TWICE)
    return [*hits.transpose("width", "run").values]


def _farthest_by_width(largest_norm: xr.Dataset) -> dict[str, object]:
    """Shares of runs in which the farthest input is odd, by width."""
    shares = (largest_norm["odd"] == largest_norm["farthest"]).mean("run")
    facts: dict[str, object] = {"widths": largest_norm["width"]}
    for kind in largest_norm["kind"].values.tolist():
        facts[f"share by width in which the farthest input is odd, {kind}"] = shares.sel(kind=kind)
    return facts
