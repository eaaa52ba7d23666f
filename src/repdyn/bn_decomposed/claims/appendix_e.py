"""Claims on Appendix E: the rows that part one or two points from the others, and the ratio (A + C)/(B + D)."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, replace_variables, reverse, wrong_formula
from repdyn.base.verdicts import Test, Verdict, at_most, deviation, equal

SETTLED = 1e-6
DECAYED = "other splits have lost a factor $e^{40}$ in squares against A and B by the last layer, and $e^{30}$ before"
NESTED = 1e-9
IN_RATIO = wrong_formula("$(A + C) / D$: B left out", replace_variables(ratio="ratio_without_B"))
UNFED = wrong_formula(
    "the interval without what three-cluster rows feed",
    replace_variables(lowest="lowest_unfed", highest="highest_unfed"),
)
FIRST_LAYERS = false_world("the first layers for the last", reverse("step"))


def _outside(ratio: np.ndarray, lowest: np.ndarray, highest: np.ndarray) -> float:
    """Largest factor by which a ratio leaves the interval of an earlier layer, at most 1 where none does."""
    pairs = list(combinations(range(ratio.shape[1]), 2))
    above = [(ratio[:, later] / highest[:, earlier]).max() for earlier, later in pairs]
    below = [(lowest[:, earlier] / ratio[:, later]).max() for earlier, later in pairs]
    return float(max(*above, *below))


def _converges(rows: xr.Dataset) -> dict[str, Test]:
    """The ratio comes to rest in the layers that were followed, and cannot leave an interval in any later one."""
    ratio, lowest, highest = (rows[name].transpose("case", "step").values for name in ("ratio", "lowest", "highest"))
    return {
        "change over the last quarter": deviation(
            ratio[:, -1] / ratio[:, -2] - 1, SETTLED, expected="no change", reason=DECAYED
        ),
        "later ratios over the ends of their interval": at_most(
            _outside(ratio, lowest, highest),
            1 + NESTED,
            expected="at most 1: every later ratio in the interval of an earlier layer",
            reason="the interval is proved; rounding of a thousand layers is below 1e-12",
        ),
        "width of the last interval": deviation(
            highest[:, -1] / lowest[:, -1] - 1, SETTLED, expected="0", reason=DECAYED
        ),
    }


PARTS = {
    "change over the last quarter": IN_RATIO,
    "later ratios over the ends of their interval": UNFED,
    "width of the last interval": FIRST_LAYERS,
}


@claim(
    "bnd-appE-ratio",
    where="Appendix E, text after eq. (71) and before (79)",
    words=r"$\frac{A(T) + C(T)}{B(T) + D(T)}$ converges to a constant as $T \to \infty$",
    line=818,
    assumes="the simplified model, distinct components of one input dimension; C and D are the rows (2, n-2), (n-2, "
    "2) after (65), and descendants of the rows (1, 1, n-2), (n-2, 1, 1) before (74)",
    kind="limit",
    states="The squares of the rows that separate point 1 from the others, with those of C, over the squares of the "
    "rows that separate point $n$, with those of D, tend to a constant with depth, for both meanings of C and D.",
    formula=r"\lim_{T \to \infty} \frac{A(T) + C(T)}{B(T) + D(T)} \in (0, \infty)",
    control={f"{rows} {part}": control for rows in ("split", "fed") for part, control in PARTS.items()}
    | {
        "enumeration minus algorithm": wrong_formula(
            "points counted from the other end", replace_variables(by_algorithm="by_other_end")
        )
    },
    remark="The paper gives no reason; the page of the study does. Both meanings have the same limit, since the rows "
    "$(2, n - 2)$ become negligible.",
)
def ratio_of_amplitudes_converges(split_amplitudes: xr.Dataset) -> Verdict:
    """Ratios with depth, intervals that hold all later ones, and the squares against all rows of a small tree."""
    by_rows = {
        name: _converges(split_amplitudes.sel(definition=definition))
        for name, definition in (("split", "(2, n-2)"), ("fed", "(1, 1, n-2)"))
    }
    last = split_amplitudes["ratio"].isel(step=-1, definition=0).values
    return Verdict.from_tests(
        {
            **{f"{rows} {part}": test for rows, tests in by_rows.items() for part, test in tests.items()},
            "enumeration minus algorithm": deviation(
                split_amplitudes["enumerated"] - split_amplitudes["by_algorithm"],
                1e-12,
                expected="equal shares of A, B, C and D",
                reason="float64 sums of at most thousands of positive terms",
            ),
        },
        facts={"batches": last.size, "least and greatest limit": [last.min(), last.max()]},
    )


@claim(
    "bnd-appE-positive",
    where="Appendix E, text after eq. (71)",
    words=r"since $A(T)$, $B(T)$, $C(T)$ and $D(T)$ are all positive for every $T \ge 1$",
    line=818,
    assumes="the simplified model, three or more points, distinct components of one input dimension; any layer t "
    "from which on all rows have at most three clusters, as Appendix D has it; at T = 1 the rows are those of layer t",
    kind="bound",
    kind_of_slip="slip in a proof",
    states="From a layer $t$ on all rows of which have at most three clusters, there are rows that separate point 1, "
    "point $n$, the first two and the last two points from the others.",
    correction="All four are positive from a later layer on; for A and B the gaps of the two extreme points bound it. "
    "C and D need not be positive for (67) and (70).",
    formula=r"A(T), B(T), C(T), D(T) > 0 \quad \text{for all } T \ge 1",
    corrected_formula=r"A, B > 0 \text{ in all layers } s \ge 1 + \left\lceil \frac{\log(n \bar m / g)}{\log(n / (n - "
    r"2))} \right\rceil, \quad \bar m = \bar x^{(1)}, \; g = \min(x_2 - x_1, x_n - x_{n-1})",
    control=wrong_formula(
        "the largest gap of the batch for that of the extreme point",
        replace_variables(first_layer_bound="first_layer_bound_of_largest_gap"),
    ),
    message="The four sums can be zero in the first layers",
    cause="At $T = 1$ a row that separates an extreme point from all others may be missing: the batch $(0, 1, 2, 3, "
    "4)$ has no row of two clusters in layer 1.",
    consequence="All four are positive from a later layer on, so the sentence is right for large $t$; Theorem 11 is "
    "unaffected.",
)
def rows_of_the_extremes_exist(split_amplitudes: xr.Dataset) -> Verdict:
    """Layers from the first stable one on without such rows; the layer of the first against its bound."""
    zero = split_amplitudes["zero_layers"]
    other = [dim for dim in zero.dims if dim != "side"]
    return Verdict.from_tests(
        equal(int((zero > 0).sum()), 0, expected="none of the sums zero in the first stable layer"),
        at_most(
            split_amplitudes["first_layer"] / split_amplitudes["first_layer_bound"],
            1,
            expected="first layer with such a row over its bound at most 1",
            reason="the bound itself, in whole layers",
        ),
        {"sums": zero["side"], "longest time at zero from $t_0$ on by sum (layers)": zero.max(other)},
    )
