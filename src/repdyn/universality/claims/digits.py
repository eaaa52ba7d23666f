"""Claims on images of digits: Sections 3.4 and 4.6, Appendices B.4 and C.5, Figures 4, 9 and 18."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, at_least, deviation, mean_within, rounding
from repdyn.universality.claims.intervals import exchanged, log_mean_within, quantiles_within, undecided

PRINTED = "equation (49)"
PUBLISHED = {"all entries": 0.703, "between classes": 0.512}
CLOSE = 0.05
CLOSE_REASON = "a quarter of the difference of the two published numbers; the paper averages 50 networks"
CLIP = -1.0  # explained variance below says no more than that the curve is missed


def _explained(pairs: xr.Dataset, kind: str, curve: str) -> np.ndarray:
    """Explained variance of a curve, not below -1, mean over a network's pairs of a kind."""
    return pairs["r2"].sel(kind=kind, curve=curve, weighting=PRINTED).clip(min=CLIP).mean("pair").values


def _follows(pairs: xr.Dataset, kind: str) -> dict[str, Test]:
    return {
        curve: mean_within(
            _explained(pairs, kind, curve),
            0.0,
            np.inf,
            expected="explained variance above 0",
            reason="a curve of similar shape explains more than a constant does",
        )
        for curve in ("h", "y", "w")
    }


def _medians(pairs: xr.Dataset, kind: str) -> str:
    found = pairs["r2"].sel(kind=kind).median(["trial", "pair"])
    return "; ".join(
        f"{weighting} {', '.join(f'{x:.2f}' for x in found.sel(weighting=weighting).values)}"
        for weighting in found["weighting"].values
    )


def of_one_digit(digit_pairs: xr.Dataset) -> xr.Dataset:
    """Puts pairs of one digit in the place of dissimilar ones."""
    names = ["same" if kind == "dissimilar" else kind for kind in digit_pairs["kind"].values.tolist()]
    return digit_pairs.isel(kind=[digit_pairs["kind"].values.tolist().index(name) for name in names]).assign_coords(
        kind=digit_pairs["kind"].values
    )


@claim(
    "uni-fig4-mnist",
    where="Section 3.4, Figure 4",
    kind="qualitative",
    states="For a zero and a one tracked while a network learns all digits, the three curves resemble the theory after "
    "fitting two constants.",
    correction="The distance of the representations does, and less well that of the outputs; the alignment w does not.",
    data="digit_pairs",
    control=wrong_formula("pairs of one digit in the place of a zero and a one", of_one_digit),
)
def dissimilar_pair_follows(digit_pairs: xr.Dataset) -> Verdict:
    """Explained variance of h, y, w of pairs of a zero and a one, not below -1, mean over a network's pairs."""
    loss = digit_pairs["fit_loss"].sel(kind="dissimilar", weighting=PRINTED)
    n = loss.size
    note = (
        f"Median explained variance of h, y, w over {n} pairs: {_medians(digit_pairs, 'dissimilar')}. Fit losses (49)"
        f" {float(loss.min()):.0f} to {float(loss.max()):.0f}, dominated by h. Images of one digit: "
        f"{_medians(digit_pairs, 'same')}."
    )
    tests = _follows(digit_pairs, "dissimilar")
    return Verdict.from_tests(all_of(**tests), all_of(h=tests["h"], y=tests["y"]), note)


@claim(
    "uni-fig4-similar",
    where="Appendix B.4",
    kind="comparison",
    states="Trajectories of more similar digits follow the theory less well.",
    data="digit_pairs",
    control=wrong_formula("similar and dissimilar digits exchanged", exchanged("kind", "similar", "dissimilar")),
)
def similar_pair_follows_less(digit_pairs: xr.Dataset) -> Verdict:
    """Mean explained variance of the three curves, 0 and 1 minus 3 and 8, paired by network."""
    gain = sum(
        _explained(digit_pairs, "dissimilar", curve) - _explained(digit_pairs, "similar", curve) for curve in "hyw"
    )
    return Verdict.from_tests(
        mean_within(gain / 3, 0.0, np.inf, expected="better for dissimilar digits", reason="sign of the difference"),
        note=f"Medians for 3 and 8, h, y, w: {_medians(digit_pairs, 'similar')}.",
    )


@claim(
    "uni-fig4-same",
    where="Section 4.3, (37) (ours)",
    kind="qualitative",
    states="Within a data set, too, two images of one digit approach each other: h falls from its start, as (37) says "
    "of two points alone.",
    correction="The distance of two images of a zero grows, by a smaller factor than that of a zero and a one.",
    formula=r"y_i = y_j \Rightarrow \|dh_{i,j}(\infty)\|^2 \le \|dh_{i,j}(0)\|^2",
    corrected_formula=(
        r"y_i = y_j = 0, \ y_k = 1: \quad 1 < \frac{\|dh_{i,j}(\infty)\|^2}{\|dh_{i,j}(0)\|^2} <"
        r" \frac{\|dh_{i,k}(\infty)\|^2}{\|dh_{i,k}(0)\|^2}"
    ),
    data="digit_pairs",
    control=wrong_formula("pairs of one digit and of two digits exchanged", exchanged("kind", "same", "dissimilar")),
)
def same_digit_moves_apart(digit_pairs: xr.Dataset) -> Verdict:
    """Growth of h of two images of a zero, geometric mean over a network's pairs."""
    growth = np.exp(np.log(digit_pairs["growth"]).mean("pair"))
    same, other = (growth.sel(kind=kind).values for kind in ("same", "dissimilar"))
    falls = log_mean_within(same, 0.0, 1.0, expected="h falls", reason="(37): h never exceeds its start")
    less = log_mean_within(same / other, 0.0, 1.0, expected="less than for two digits", reason="sign of the difference")
    grows = log_mean_within(same, 1.0, np.inf, expected="h grows", reason="sign of the change")
    return Verdict.from_tests(falls, all_of(grows=grows, against_other_digits=less))


def _per_network(structure: xr.Dataset, prediction: str, part: str, run: str = "sgd") -> np.ndarray:
    return structure["correlation"].sel(run=run, prediction=prediction, part=part).values


def untrained(structure: xr.Dataset, run: str = "sgd") -> xr.Dataset:
    """Puts networks before training in the place of a run's trained ones; their mean for the mean network."""
    changed, start = structure.copy(deep=True), structure["correlation_by_look"].isel(look=0)
    changed["correlation"].loc[{"run": run}] = start.transpose("prediction", "part", "trial").values
    changed["correlation_of_mean"].loc[{"run": run}] = start.mean("trial").transpose("prediction", "part").values
    return changed


def _baselines(structure: xr.Dataset) -> str:
    found = structure["correlation_of_mean"].sel(run="sgd")
    shown = [
        f"{name} {float(found.sel(prediction=name, part='all entries')):.3f}/"
        f"{float(found.sel(prediction=name, part='between classes')):.3f}"
        for name in structure["prediction"].values.tolist()
    ]
    start = structure["correlation_by_look"].isel(look=0).mean("trial")
    before = {
        name: "/".join(f"{float(start.sel(prediction=name, part=part)):.3f}" for part in PUBLISHED)
        for name in ("weighed (50)", "pair alone")
    }
    return (
        f"Mean over networks, total/between classes: {', '.join(shown)}; untrained networks against (50)"
        f" {before['weighed (50)']}, against the pair alone {before['pair alone']}. Images:"
        f" {structure['source'].item()}."
    )


@claim(
    "uni-fig9-pearson",
    where="Section 4.6, Figure 9",
    kind="published number",
    states="Distances of trained representations correlate with (50) at 0.703, between classes at 0.512.",
    data="representational_structure",
    control=wrong_formula("networks before training", untrained),
)
def published_correlations(representational_structure: xr.Dataset) -> Verdict:
    """Correlation of the mean network with (50); on other images than MNIST's a published number decides nothing."""
    tests = {
        part.replace(" ", "_"): near_published(representational_structure, part, published)
        for part, published in PUBLISHED.items()
    }
    return Verdict.from_tests(all_of(**tests), note=_baselines(representational_structure))


def near_published(structure: xr.Dataset, part: str, published: float) -> Test:
    """The mean network's correlation is within 0.05 of the published one; single networks are shown beside it."""
    mean = float(structure["correlation_of_mean"].sel(run="sgd", prediction="weighed (50)", part=part))
    single = _per_network(structure, "weighed (50)", part)
    measured = f"mean network {mean:.3f}, {single.size} single networks {single.mean():.3f} +- {single.std(ddof=1):.3f}"
    expected = f"mean network at {published} within {CLOSE:g}"
    if structure["source"].item() != "mnist":
        return undecided(measured, expected, "the published number is of MNIST; these are other images")
    test = deviation(mean - published, CLOSE, expected=expected, reason=CLOSE_REASON, n=single.size)
    return replace(test, measured=measured)


def means_in_the_place_of_sums(structure: xr.Dataset) -> xr.Dataset:
    """A table of class means, without the sizes of the classes."""
    return structure.assign(table_error=structure["mean_table_error"])


@claim(
    "uni-fig9-table",
    where="Appendix B.4, (50) (ours)",
    kind="identity",
    states="With raw pixels and one-hot targets (50) differs from pair to pair of images, not only of classes.",
    correction="At the scale of pixels it depends on the two labels alone: e^{-A} is 1 within a class and at most "
    "e^{-min A} across, so (50) is the sum of A over all pairs of the two classes.",
    formula=(
        r"\|dh_{i,j}(\infty)\|_{\text{pred}}^2 = \sum_{k,l} e^{-A_{ik}} e^{-A_{lj}} A_{kl}, \quad A_{ij} ="
        r" \|dh_{i,j}(\infty)\|_{\text{theory}}^2"
    ),
    corrected_formula=(
        r"\|dh_{i,j}(\infty)\|_{\text{pred}}^2 = \sum_{y_k = y_i} \sum_{y_l = y_j} A_{kl} + r_{ij},"
        r" \quad 0 \le r_{ij} \le e^{-a} \sum_{k,l} A_{kl}, \quad a = \min_{y_i \ne y_j} A_{ij},"
        r" \quad A_{ij} = A_{\text{low},ij}, \quad \tau_h = \tau_y"
    ),
    data="representational_structure",
    control=wrong_formula("means over the classes in the place of sums", means_in_the_place_of_sums),
)
def weighing_is_a_table_of_labels(representational_structure: xr.Dataset) -> Verdict:
    """(50) over all images against sums over classes, relative to the largest entry."""
    found = representational_structure
    count, own = int(found["point_count"]), float(found["pair_spread"])
    error, spread, least = (float(found[name]) for name in ("table_error", "weighed_spread", "least_exponent"))
    varies = at_least(max(spread, 1e-300), own / 10, expected="varies", reason="a tenth of the spread of A_low itself")
    limit = rounding(1.0, count) + count**2 * np.exp(-min(least, 700.0))
    equal = deviation(error, limit, expected="the label table", reason=f"round-off of sums; e^-{least:.0f} n^2 beyond")
    return Verdict.from_tests(
        varies, equal, f"{int(found['table_values'])} different values: 45 pairs of classes and 0."
    )


def _gain(structure: xr.Dataset, over: str, part: str, run: str = "sgd") -> tuple[np.ndarray, float]:
    """(50)'s correlation minus another prediction's: over redrawn pairs of classes, and as measured."""
    redrawn, mean = (structure[name].sel(run=run, part=part) for name in ("resampled", "correlation_of_mean"))
    one, other = (values.sel(prediction="weighed (50)") - values.sel(prediction=over) for values in (redrawn, mean))
    return one.values, float(other)


@claim(
    "uni-fig9-labels",
    where="Section 4.6 (ours)",
    kind="comparison",
    states="The theory predicts the structure, not merely which images share a label.",
    data="representational_structure",
    control=wrong_formula(
        "the prediction and labels alone exchanged", exchanged("prediction", "weighed (50)", "labels alone")
    ),
)
def better_than_labels(representational_structure: xr.Dataset) -> Verdict:
    """Correlation with (50) minus that with a 0/1 matrix of labels, pairs of classes redrawn."""
    draws, estimate = _gain(representational_structure, "labels alone", "all entries")
    return Verdict.from_tests(
        quantiles_within(draws, 0.0, np.inf, estimate, expected="above labels alone", reason="sign of the difference"),
        note=_baselines(representational_structure),
    )


@claim(
    "uni-fig9-weighing",
    where="Appendix B.4, Exponential Weighing (ours)",
    kind="comparison",
    states="Exponential weighing brings (10) nearer to the measured distances than (10) for each pair alone.",
    data="representational_structure",
    control=wrong_formula(
        "weighed and unweighed predictions exchanged", exchanged("prediction", "weighed (50)", "pair alone")
    ),
)
def weighing_helps(representational_structure: xr.Dataset) -> Verdict:
    """Correlation with (50) minus that with A_low of the pair, over all entries, pairs of classes redrawn."""
    draws, estimate = _gain(representational_structure, "pair alone", "all entries")
    between = _gain(representational_structure, "pair alone", "between classes")[1]
    best = representational_structure["correlation_by_scale"].sel(run="sgd", part="all entries")
    note = (
        "The pairs of classes limit this, not the number of networks. Between classes the difference is"
        f" {between:+.3f}. With weights normalised, the correlation over all entries is largest at a length of"
        f" {float(best['scale'][int(best.values.argmax())]):g} times the mean prediction: {float(best.max()):.3f}."
    )
    test = quantiles_within(
        draws, 0.0, np.inf, estimate, expected="above the pair alone", reason="sign of the difference"
    )
    return Verdict.from_tests(test, note=note)


@claim(
    "uni-fig18",
    where="Appendix C.5, Figure 18",
    kind="comparison",
    states="With Adam the representational predictions still hold up well.",
    data="representational_structure",
    control=wrong_formula(
        "networks before training in the place of those trained by Adam", lambda data: untrained(data, "adam")
    ),
)
def adam_correlates_alike(representational_structure: xr.Dataset) -> Verdict:
    """Correlation with (50) under Adam minus that under gradient descent, paired by network."""
    accuracy = float(representational_structure["accuracy"].sel(run="adam").mean())
    note = f"The paper states no rate for Adam. Training accuracy {accuracy:.3f}."
    return Verdict.from_tests(all_of(**correlation_lost(representational_structure)), note=note)


def correlation_lost(structure: xr.Dataset) -> dict[str, Test]:
    """Per part: Adam's correlation with (50) is at most 0.1 below gradient descent's."""
    return {
        part.replace(" ", "_"): mean_within(
            _per_network(structure, "weighed (50)", part, "adam") - _per_network(structure, "weighed (50)", part),
            -0.1,
            np.inf,
            expected="at most 0.1 lower",
            reason="the paper gives no number; 0.1 is half the gap of the two of Figure 9",
        )
        for part in PUBLISHED
    }
