"""Every diagnostic: its name, units, dimensions, the measure it belongs to, and the paper and equation behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
import xarray as xr

from repdyn.base.datasets import variable
from repdyn.diagnostics.methods.forward import in_one_line

PAPERS = {
    "bn_decomposed": "Nachum, Bondaschi, Gastpar, Khina: Batch Normalization Decomposed",
    "truncation_flow": "Chen: Derivation of effective gradient flow equations and dynamical truncation",
    "bn_mean_field": "Ma, Ying: A Riemannian mean field formulation for two-layer networks with batch normalization",
    "leaky_resnets": "Hamiltonian Mechanics of Feature Learning: Bottleneck Structure in Leaky ResNets",
    "universality": "van Rossem, Saxe: When Representations Align",
    "collapse": "Papyan, Han, Donoho: Prevalence of neural collapse during the terminal phase of training",
    "similarity": "Kornblith, Norouzi, Lee, Hinton: Similarity of neural network representations revisited",
}


class Text(NamedTuple):
    """What a reader sees of a diagnostic.

    Attributes:
        measure: the entry of `measures=[...]` that computes it.
        dims: its dimensions.
        long_name: in words.
        source: key of `PAPERS`.
        where: place in the paper.
        missing: when it is NaN by its definition.
        units: `1` where it has none.
        integer: whether it holds integers.
    """

    measure: str
    dims: tuple[str, ...]
    long_name: str
    source: str
    where: str
    missing: str = ""
    units: str = "1"
    integer: bool = False


DEAD = "a point is all zero in this layer and has no direction"
FLAT = "the layer is zero, or nowhere positive, for all points"
ONE_MEAN = "the means of all classes are the same in this layer"
ZERO = "the layer is zero for all points"
MEET = "the means of two classes are the same in this layer"
EQUAL = "all points are the same in this layer"
LAYER = ("layer",)
CLASS = ("layer", "class")
NC = "Section 2 (NC1)", "Section 2 (NC2)", "Section 2 (NC3)", "Section 2 (NC4)"
LEAKY, BN, FLOW, ALIGN = "leaky_resnets", "bn_decomposed", "truncation_flow", "universality"
STREAM = "Section 2.1, Theorem 4"
COLLAPSED = "Section 4, Proposition 4.2"
_angles = partial(Text, "angles", LAYER)
_ranks = partial(Text, "ranks", LAYER)
_cost = partial(Text, "cost_of_identity", LAYER)
_collapse = partial(Text, "collapse", LAYER)
_classifier = partial(Text, "classifier", ())
_sectors = partial(Text, "sectors", CLASS)
_domains = partial(Text, "domains", LAYER)
_forms = partial(Text, "forms", LAYER)
_radial = partial(Text, "radial", ("normalized",))
_energies = partial(Text, "energies", ("step_from",))
_of_pairs = partial(Text, "targets", ("pair",))
_targets = partial(Text, "targets", ())
TEXTS = {
    "units": _angles("numbers per point", BN, "eq. (1)", integer=True),
    "constant": _angles("1 where all points have the same activations", BN, "eq. (2), sigma = 0", integer=True),
    "zero_points": _angles("points whose activations are all zero", BN, "eq. (11)", integer=True),
    "angle": Text("angles", ("layer", "quantile"), "angle between two points, quantiles over all pairs", BN, "eq. (11)",
        DEAD, units="rad"),
    "norm": Text("angles", ("layer", "point"), "length of a point's activations", BN, "Section III",
        units="activation"),
    "odd_point": _angles("point of largest norm", BN, "Section III", EQUAL, integer=True),
    "norm_ratio": _angles("largest norm over the second largest", BN, "Section III, Definition 12",
        "all points but one, or all, are zero in this layer"),
    "odd_angle": _angles("median angle between the odd point and the others", BN, "Section III", DEAD, units="rad"),
    "intra_angle": _angles("median angle among the others", BN, "Section III", f"{DEAD}, or there are two points only",
        units="rad"),
    "expected_angle": Text("angles", (),
        "angle between any two points at the symmetric fixed point of wide networks with batch normalization and ReLU",
        BN, "Section III", units="rad"),
    "expected_norm_ratio": Text("angles", (), "largest over second largest norm at the fixed point with one odd point",
        BN, "Section III, Definition 12", "fewer than seven points, which have no such fixed point"),
    "numerical_rank": _ranks("singular values above 1e-6 of the largest", BN, "Section I, Figure 2", integer=True),
    "effective_rank": _ranks("exponential of the entropy of the normalized singular values", BN, "Section I, Figure 2",
        FLAT),
    "centered_effective_rank": _ranks("effective rank after the mean over points is taken out", BN,
        "Section I, Figure 2", FLAT),
    "stable_rank": _ranks("|A|_F^2 / |A|_op^2", LEAKY, "Section 1.4", FLAT),
    "nuclear_rank": _ranks("|A|_*^2 / |A|_F^2", LEAKY, "Proposition 1", FLAT),
    "orthogonality_gap": _ranks("|G / tr G - I / n|_F, G the Gram matrix", BN, "Section II", FLAT),
    "cost_of_identity": _cost("least squared norm of weights W with W relu(A) = A", LEAKY, "Section 1.3",
        "no weights give the layer back from its positive part, so the cost is infinite"),
    "identity_gap": _cost("part of the layer that no weights give back", LEAKY, "Section 1.3", ZERO),
    "stable_cost_of_identity": _cost("|A|^2 in the norm of K + gamma I", LEAKY, "Theorem 4", FLAT),
    "kinetic_energy": _energies("kinetic energy, stable", LEAKY, STREAM, FLAT),
    "potential_energy": _energies("potential energy -(Lt/2) COI, stable", LEAKY, "Section 2.1", FLAT),
    "hamiltonian": _energies("kinetic plus potential energy, stable", LEAKY, STREAM, FLAT),
    "within": _collapse("Tr(Sigma_W): variance within classes, mean over points", FLOW, COLLAPSED,
        units="activation^2"),
    "between": _collapse("Tr(Sigma_B): variance of the class means", FLOW, COLLAPSED, units="activation^2"),
    "within_over_between": _collapse("trace ratio, Tr(Sigma_W) / Tr(Sigma_B)", FLOW, COLLAPSED, ONE_MEAN),
    "nc1": _collapse("NC1: Tr(Sigma_W pinv(Sigma_B)) / K", "collapse", NC[0], MEET),
    "equinorm": _collapse("NC2: std over mean of the centered class means' lengths", "collapse", NC[1], ONE_MEAN),
    "equiangularity": _collapse("NC2: std of the cosines between centered class means", "collapse", NC[1], MEET),
    "maximal_angle": _collapse("NC2: mean distance of these cosines from -1 / (K - 1)", "collapse", NC[1], MEET),
    "equiangle": _collapse("largest distance of these cosines from -1 / (K - 1)", FLOW, "Section 4.4", MEET),
    "nearest_mean_accuracy": _collapse("points nearest to their own class mean", FLOW, COLLAPSED, ONE_MEAN),
    "classifier_equinorm": _classifier("NC2: std over mean of the classifier rows' lengths", "collapse", NC[1]),
    "classifier_equiangularity": _classifier("NC2: std of the cosines between the classifier's rows", "collapse",
        NC[1]),
    "classifier_maximal_angle": _classifier("NC2: mean distance of these cosines from -1 / (K - 1)", "collapse", NC[1]),
    "nc3": _classifier("NC3: squared distance of classifier and centered class means, each over its Frobenius norm",
        "collapse", NC[2]),
    "nc4": _classifier("NC4: points that the network does not give to the nearest class mean", "collapse", NC[3],
        ONE_MEAN),
    "truncated_share": _sectors("entries at most zero, per class", FLOW, "(3.9)-(3.11)"),
    "units_truncating_all": _sectors("units at most zero on the whole class", FLOW, "Section 4.3"),
    "units_passing_all": _sectors("units above zero on the whole class", FLOW, "Section 4.3"),
    "sectors": _sectors("sign patterns that the class occupies, over its points", FLOW, "(3.9)-(3.11)"),
    "largest_sector": _sectors("points in the class's fullest sector", FLOW, "(3.9)-(3.11)"),
    "class_effective_rank": Text("class_ranks", CLASS, "effective rank of a class after its mean is taken out", BN,
        "Section I, Figure 2", "all points of the class are the same in this layer"),
    "domain_shift": _domains(
        "squared distance of the mean of held-out points from that of the points, over the variance of the points",
        "collapse", "ours, of the means in Section 2 (NC1)", EQUAL),
    "transfer_accuracy": _domains("held-out points nearest to the points' mean of their class", "collapse",
        "ours, Section 2 (NC4) with the means of another domain", "the domains have no class in common"),
    "class_mean_cosine": _domains(
        "cosine between centered class means of the points and of held-out points, mean over classes", "collapse",
        "ours, of the means in Section 2 (NC2)", "the domains have no two classes in common"),
    "form_distance": _forms("mean squared distance of a point's two forms, over that of two different points",
        "similarity", "ours", EQUAL),
    "form_cka": _forms("debiased CKA of the points in both forms", "similarity", "Section 3, with unbiased HSIC",
        EQUAL),
    "representation_distance": Text("pairs", ("layer", "pair"), "squared distance h of two points", ALIGN, "eq. (8)",
        units="activation^2"),
    "pair_angle": Text("pairs", ("layer", "pair"), "angle between the two points", BN, "eq. (11)", DEAD, units="rad"),
    "input_distance": Text("pairs", ("pair",), "squared distance of the inputs", ALIGN, "eq. (8)", units="input^2"),
    "prediction_distance": Text("pairs", ("pair",), "squared distance y of two outputs", ALIGN, "eq. (8)",
        units="output^2"),
    "target_distance": _of_pairs("squared distance of the targets", ALIGN, "eq. (8)", units="output^2"),
    "prediction_alignment": _of_pairs("w = y - dy . (y2 - y1), outputs against targets", ALIGN, "eq. (8)",
        units="output^2"),
    "pair_loss": _of_pairs("mean over the two points of half the squared error", ALIGN, "eq. (9)", units="output^2"),
    "radial_fraction": _radial("median of |u . grad| / |grad| over the directions u that normalization makes free",
        "bn_mean_field", "after eq. (6)", "the gradient vanishes, or the map is not free"),
    "largest_radial_fraction": _radial("largest of |u . grad| / |grad| over these directions", "bn_mean_field",
        "after eq. (6)", "as for the median"),
    "half_mse": _targets("half the mean squared error over points and outputs", ALIGN, "eq. (9)"),
    "task_rank": _targets("rank of the targets", LEAKY, "Section 1.2", integer=True),
    "centered_task_rank": _targets("rank of the targets without their mean", LEAKY, "Section 1.2", integer=True),
    "loss": Text("loss", (), "the user's loss, or the usual one of labels or targets", ALIGN,
        "eq. (9) where it is squared error"),
    "accuracy": Text("accuracy", (), "points whose largest output is their label", FLOW, COLLAPSED),
}  # fmt: skip
MEASURES = tuple(dict.fromkeys(text.measure for text in TEXTS.values()))
HELD_OUT = "_held_out"  # behind the names of what is measured on points that the network was not trained on
OF_HELD_OUT = ("ranks", "collapse", "loss", "accuracy")  # the measures of these points
LEFT_OUT = "it could not be computed, for the reason in the attribute `left_out` of the dataset"


def counts(name: str) -> bool:
    """Whether a diagnostic, of the points or of held-out ones, holds integers."""
    text = TEXTS.get(name.removesuffix(HELD_OUT))
    return text is not None and text.integer


def described(name: str, values: object) -> xr.Variable:
    """A variable with the attributes of its entry in `TEXTS`, whole numbers where it counts and none is missing."""
    text, values = TEXTS[name], np.asarray(values)
    if text.integer and np.isfinite(values).all():
        values = values.astype(np.int64)
    array = variable(text.dims, values, text.long_name, text.units)
    missing = "; or ".join(filter(None, (text.missing, LEFT_OUT)))
    array.attrs |= {"paper": PAPERS[text.source], "equation": text.where, "study": text.source, "missing": missing}
    return array


class Findings:
    """Numbers by diagnostic, and reasons for those that are missing.

    Args:
        measures: the measures that are wanted.
        sizes: length of each dimension.
    """

    def __init__(self, measures: Sequence[str], sizes: Mapping[str, int]) -> None:
        names = [name for measure in measures for name, text in TEXTS.items() if text.measure == measure]
        self.values = {name: np.full([sizes[dim] for dim in TEXTS[name].dims], np.nan) for name in names}
        self.reasons: dict[tuple[str, str], list[str]] = {}

    def put(self, measurements: Mapping[str, object], at: int | None = None) -> None:
        """Stores numbers, at a place along their first dimension or as a whole."""
        for name, value in measurements.items():
            if name in self.values:
                self.values[name][... if at is None else at] = value

    def leave_out(self, measure: str, why: str, place: str = "") -> None:
        """Stores a reason; equal ones of several places become one."""
        places = self.reasons.setdefault((measure, why), [])
        if place and place not in places:
            places.append(place)

    @contextmanager
    def isolated(self, measure: str, place: str = "") -> Iterator[None]:
        """An error inside is a reason, and no more than that."""
        try:
            with np.errstate(all="ignore"):
                yield
        except Exception as error:
            self.leave_out(measure, in_one_line(error), place)

    def variables(self) -> dict[str, xr.Variable]:
        """Every diagnostic as a variable."""
        return {name: described(name, values) for name, values in self.values.items()}

    def text(self) -> str:
        """All reasons as one text."""
        parts = [
            (measure, f" ({', '.join(places)})" * bool(places), why) for (measure, why), places in self.reasons.items()
        ]
        return "; ".join(f"{measure}{where}: {why}" for measure, where, why in parts)
