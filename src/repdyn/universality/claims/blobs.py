"""Claims on blobs with two features: Section 4.5, Appendices C.3 and C.5, Figures 8, 13 and 17."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import Control, exchange, false_world, knock_out
from repdyn.base.datasets import require
from repdyn.base.readings import over_readings
from repdyn.base.verdicts import Test, Verdict, all_of, at_least
from repdyn.universality.claims.intervals import log_mean_within, of_learned
from repdyn.universality.methods.selection import learned

APART = "squared distance of the contexts (variance along the target)"
COLLAPSED = {"a quarter": 0.25, "a tenth": 0.1, "a twenty-fifth": 0.04}
COLLAPSED_REASON = "collapsed: a share of the variance along the target that the paper does not name"
SQUARE = {"1.5": 1.5, "2": 2.0}
SQUARE_REASON = "a square: variances along both features equal within a factor that the paper does not name"
ONE_LINE = {"half the variance along it": 0.5, "a quarter": 0.25}
TWO_LINES = {"the variance along one": 1.0, "twice": 2.0}
LINES_REASON = "squared distance of the contexts against the spread along a line; how far apart two lines are is open"


def collapse(data: xr.Dataset, run: str, low: float, high: float, expected: str, reason: str) -> Test:
    """Geometric mean of both contexts' C, over the networks that have learned."""
    indices = np.exp(np.log(learned(data, run)["collapse"].values).mean(axis=1))
    return of_learned(log_mean_within, indices, run, low, high, expected=expected, reason=reason)


def collapsed(data: xr.Dataset, run: str) -> Test:
    """C below a level."""
    return over_readings(
        lambda below: collapse(data, run, 0.0, below, f"collapsed, $C$ below {below:g}", COLLAPSED_REASON),
        below=COLLAPSED,
    )


def square(data: xr.Dataset, run: str) -> Test:
    """C of 1 within a factor."""
    return over_readings(
        lambda within: collapse(data, run, 1 / within, within, f"$C$ of 1 within a factor {within:g}", SQUARE_REASON),
        within=SQUARE,
    )


def lines(data: xr.Dataset, run: str, low: float, high: float, expected: str) -> Test:
    """Squared distance between contexts at equal target over the variance along the target."""
    ratios = learned(data, run)["between"].values
    return of_learned(log_mean_within, ratios, run, low, high, expected=expected, reason=LINES_REASON)


def one_line(data: xr.Dataset, run: str) -> Test:
    """The contexts share a line."""
    return over_readings(lambda below: lines(data, run, 0.0, below, f"one line, below {below:g}"), below=ONE_LINE)


def two_lines(data: xr.Dataset, run: str) -> Test:
    """The contexts have a line each."""
    return over_readings(lambda above: lines(data, run, above, np.inf, f"two lines, above {above:g}"), above=TWO_LINES)


def typical(data: xr.Dataset, run: str, name: str) -> float:
    """The run's geometric mean over the networks that have learned."""
    return float(data[f"typical_{name}"].sel(run=run))


def at_both_weights(data: xr.Dataset, kind: str) -> Test:
    """Networks of a kind: collapsed at small, a square at large initial weights."""
    return all_of({"small weights": collapsed(data, f"{kind}_low"), "large weights": square(data, f"{kind}_high")})


def weights_exchanged(kind: str) -> dict[str, Control]:
    """The control of both parts of `at_both_weights`."""
    swap = exchange("run", f"{kind}_low", f"{kind}_high")
    return dict.fromkeys(
        ("small weights", "large weights"), false_world("small and large initial weights exchanged", swap)
    )


@claim(
    "uni-fig8-blobs",
    where="Section 4.5, Figure 8",
    line=206,
    assumes="small initial weights, the gain of Table 2",
    words=("for each context the representation will collapse along the feature direction which is irrelevant"),
    kind="qualitative",
    states="At small initial weights the representation collapses along the irrelevant feature in each context.",
    control=false_world("large initial weights in place of small ones", exchange("run", "low", "high")),
    remark="The public notebook uses leaky ReLU where the paper says tanh.",
)
def irrelevant_feature_collapses(blob_structure: xr.Dataset) -> Verdict:
    """Variance along the irrelevant over the relevant feature, tanh, gain 0.5."""
    facts = {
        "networks trained": blob_structure.sizes["trial"],
        "networks that have learned": learned(blob_structure, "low").sizes["trial"],
        APART: typical(blob_structure, "low", "between"),
        f"{APART}, leaky ReLU": typical(blob_structure, "leaky_low", "between"),
    }
    return Verdict.from_tests(collapsed(blob_structure, "low"), facts=facts)


@claim(
    "uni-fig8-high",
    where="Section 4.5, Figure 8",
    line=206,
    assumes="large initial weights",
    words="will retain the input data structure, i.e. one 2-d square for each context",
    kind="qualitative",
    states="At large initial weights the representation retains the structure of the input, one square for each "
    "context.",
    control=false_world("small initial weights in place of large ones", exchange("run", "high", "low")),
)
def squares_remain(blob_structure: xr.Dataset) -> Verdict:
    """C at gain 2."""
    return Verdict.from_tests(square(blob_structure, "high"))


@claim(
    "uni-fig8-universal",
    where="Section 4.5",
    kind="comparison",
    origin="ours",
    assumes="gains, rates and epochs of Table 2, which it has for tanh: gain 0.5 and 2; networks that have learned",
    states="With leaky ReLU at 5 layers, too, the irrelevant feature collapses at small weights, and a square per "
    "context remains at large ones.",
    control=weights_exchanged("leaky"),
    labels={
        "large weights": "variance along the irrelevant over the relevant feature, large initial weights",
        "small weights": "variance along the irrelevant over the relevant feature, small initial weights",
    },
    remark="Whether the contexts share a line is no part of this.",
)
def collapse_with_leaky_relu(blob_structure: xr.Dataset) -> Verdict:
    """C with leaky ReLU at the weights of the tanh network."""
    facts = {
        f"{APART}, small weights": typical(blob_structure, "leaky_low", "between"),
        f"{APART}, small weights, tanh": typical(blob_structure, "low", "between"),
    }
    return Verdict.from_tests(at_both_weights(blob_structure, "leaky"), facts=facts)


@claim(
    "uni-fig13",
    where="Appendix C.3, Figure 13",
    line=607,
    assumes="very low and low gains of Table 2",
    words=("if we initialize even smaller, we find that the representation collapses to a single line"),
    kind="qualitative",
    states="At very small initial weights the two lines of the contexts become one; at small weights they are two.",
    control=dict.fromkeys(
        ("very small weights", "small weights"),
        false_world("small and very small initial weights exchanged", exchange("run", "very_low", "low")),
    ),
    labels={"small weights": "squared distance of the contexts over the variance along the target, small weights"},
)
def lines_merge(blob_structure: xr.Dataset) -> Verdict:
    """Distance of the contexts at gains 0.275 and 0.5."""
    tests = {
        "very small weights": one_line(blob_structure, "very_low"),
        "small weights": two_lines(blob_structure, "low"),
    }
    return Verdict.from_tests(tests, facts={"C at very small weights": typical(blob_structure, "very_low", "collapse")})


def _narrower(images: np.ndarray, variance: float) -> np.ndarray:
    """Gaussian blobs of variance 1 with another variance: to a power, each up to a factor of its own."""
    return images ** (1 / variance)


def blob_distances(gallery: np.ndarray, variance: float, scale: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Distances of images that differ in one feature, over all pairs of a gallery (x, y, pixels)."""
    images = _narrower(gallery.reshape(*gallery.shape[:2], -1), variance)
    images = images / scale(images)[..., None]
    first, second = np.triu_indices(len(images), 1)
    return np.linalg.norm(images[first] - images[second], axis=-1)


def _weak_context(blob_structure: xr.Dataset) -> xr.Dataset:
    return blob_structure.assign(input_between=blob_structure["gallery"].max())


@claim(
    "uni-c3-contexts",
    where="Appendix C.3",
    line=607,
    assumes="points of equal output in the two contexts, one-hot context; neither the Gaussian's variance nor the "
    "images' scale is stated, the public settings have variance 1 and images that sum to 1",
    words=("the difference in inputs here is much larger than for points along the irrelevant feature"),
    kind="bound",
    states="The difference in inputs is much larger between contexts than for points along the irrelevant feature.",
    control=false_world("a context as weak as the brightest pixel of an image", _weak_context),
)
def contexts_dominate_the_input(blob_structure: xr.Dataset) -> Verdict:
    """Distance of two contexts over that along one feature, over scales and variances that the paper leaves open."""
    between, gallery = float(blob_structure["input_between"]), blob_structure["gallery"].values

    def decide(images: Callable, variance: float, along: Callable, much: float) -> Test:
        ratio = between / float(along(blob_distances(gallery, variance, images)))
        reason = "'much larger' is a factor that the paper does not name"
        return at_least(ratio, much, expected=f"at least {much:g} times", reason=reason)

    test = over_readings(
        decide,
        images={
            "sum to 1": lambda images: images.sum(axis=-1),
            "length 1": lambda images: np.linalg.norm(images, axis=-1),
            "largest intensity 1": lambda images: images.max(axis=-1),
        },
        variance={"1": 1.0, "1/2": 0.5, "1/4": 0.25},
        along={"largest distance": np.max, "mean distance": np.mean},
        much={"twice": 2.0, "three times": 3.0},
    )
    ratio = between / float(blob_structure["input_along"])
    return Verdict.from_tests(test, facts={"ratio to the largest distance of the images of the networks": ratio})


def nearer_without_the_cause(data: xr.Dataset) -> Test:
    """How far the contexts lie apart over how far they do with bright images, by network: both have the same draws."""
    both = data.sel(run=["low", "bright"])
    chosen = both["between"].isel(trial=np.flatnonzero(both["learned"].all("run").values))
    ratios = (chosen.sel(run="low") / chosen.sel(run="bright")).values
    words = {"expected": "nearer without it, ratio above 1", "reason": "a cause of several: the effect is smaller"}
    return of_learned(log_mean_within, ratios, "both kinds", 1.0, np.inf, **words)


BECAUSE = {
    "one line without it": lambda data: lines(data, "bright", 0.0, 0.5, "one line, below 0.5"),
    "two lines no more without it": lambda data: lines(data, "bright", 0.0, 1.0, "no two lines, below 1"),
    "nearer without it": nearer_without_the_cause,
}


@claim(
    "uni-c3-cause",
    where="Appendix C.3",
    line=607,
    kind_of_slip="slip in a proof",
    assumes="small weights, gain 0.5, 4 hidden layers, tanh; 'here' are points of equal output in the two contexts; "
    "the images of the public settings, which sum to 1",
    words="we still find two separate lines ... because the difference in inputs here is much larger",
    kind="causal",
    states="At small weights the contexts keep two separate lines because inputs differ much more between them than "
    "along the irrelevant feature.",
    control=knock_out(
        "networks on images so bright that features differ as much as contexts, in place of the others",
        exchange("run", "low", "bright"),
    ),
)
def contexts_stay_apart_because_of_the_inputs(blob_structure: xr.Dataset) -> Verdict:
    """The same networks on brighter images: what 'because' may mean is read in three ways."""
    require(blob_structure, "blob_structure", run=("low", "bright"))
    test = over_readings(lambda because: because(blob_structure), because=BECAUSE)
    along = float(blob_structure["input_along"]) * float(blob_structure["brightness"].sel(run="bright"))
    facts = {
        "largest distance of bright images": along,
        "distance of the contexts in the input": float(blob_structure["input_between"]),
        **{
            f"{APART}, {words}": typical(blob_structure, run, "between")
            for run, words in (
                ("low", "small weights"),
                ("bright", "bright images"),
                ("very_low", "very small weights"),
            )
        },
    }
    return Verdict.from_tests(test, facts=facts)


@claim(
    "uni-fig17",
    where="Appendix C.5, Figure 17",
    line=640,
    assumes="Adam, whose rate and gains are not stated; small weights for the collapse",
    words=("the task-irrelevant direction collapses in each context, but remains at large initial weights"),
    kind="qualitative",
    states="With Adam the irrelevant feature collapses at small initial weights and remains at large ones.",
    control=weights_exchanged("adam"),
    labels={
        "large weights": "variance along the irrelevant over the relevant feature, large initial weights",
        "small weights": "variance along the irrelevant over the relevant feature, small initial weights",
    },
)
def collapse_with_adam(blob_structure: xr.Dataset) -> Verdict:
    """C under Adam at rates found here."""
    facts = {f"{APART}, small weights": typical(blob_structure, "adam_low", "between")}
    return Verdict.from_tests(at_both_weights(blob_structure, "adam"), facts=facts)
