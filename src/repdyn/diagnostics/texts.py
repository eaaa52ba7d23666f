"""What each diagnostic is called, its units, and where it comes from: the list behind every variable's attributes."""

from __future__ import annotations

from typing import NamedTuple

import xarray as xr

from repdyn.base.datasets import variable

PAPERS = {
    "bn_decomposed": "Nachum, Bondaschi, Gastpar, Khina: Batch Normalization Decomposed",
    "truncation_flow": "Chen: Derivation of effective gradient flow equations and dynamical truncation",
    "bn_mean_field": "Ma, Ying: A Riemannian mean field formulation for two-layer networks with batch normalization",
    "leaky_resnets": "Hamiltonian Mechanics of Feature Learning: Bottleneck Structure in Leaky ResNets",
    "universality": "van Rossem, Saxe: When Representations Align",
}


class Text(NamedTuple):
    """Name a reader sees, units, the study whose paper it comes from, the place there, why a value may be missing."""

    long_name: str
    units: str
    study: str
    where: str
    missing: str = ""


DEAD = "a point is all zero in this layer and has no direction"
FLAT = "the layer is zero, or nowhere positive, for all points"
MEET = "the means of two classes are the same in this layer"
TEXTS = {
    "units": Text("numbers per point", "1", "bn_decomposed", "eq. (1)"),
    "constant": Text("1 where all points have the same activations", "1", "bn_decomposed", "eq. (2), sigma = 0"),
    "zero_points": Text("points whose activations are all zero", "1", "bn_decomposed", "eq. (11)"),
    "angle": Text("angle between two points, quantiles over all pairs", "rad", "bn_decomposed", "eq. (11)", DEAD),
    "norm": Text("length of a point's activations", "activation", "bn_decomposed", "Section III"),
    "odd_point": Text("point of largest norm", "1", "bn_decomposed", "Section III"),
    "norm_ratio": Text(
        "largest norm over the second largest",
        "1",
        "bn_decomposed",
        "Section III, Definition 12",
        "all points but one, or all, are zero in this layer",
    ),
    "odd_angle": Text("median angle between the odd point and the others", "rad", "bn_decomposed", "Section III", DEAD),
    "intra_angle": Text(
        "median angle among the others", "rad", "bn_decomposed", "Section III", f"{DEAD}, or there are two points only"
    ),
    "numerical_rank": Text("singular values above 1e-6 of the largest", "1", "bn_decomposed", "Section I, Figure 2"),
    "effective_rank": Text(
        "exponential of the entropy of the normalised singular values",
        "1",
        "bn_decomposed",
        "Section I, Figure 2",
        FLAT,
    ),
    "centred_effective_rank": Text(
        "effective rank after the mean over points is taken out", "1", "bn_decomposed", "Section I, Figure 2", FLAT
    ),
    "stable_rank": Text("|A|_F^2 / |A|_op^2", "1", "leaky_resnets", "Section 1.4", FLAT),
    "nuclear_rank": Text("|A|_*^2 / |A|_F^2", "1", "leaky_resnets", "Proposition 1", FLAT),
    "orthogonality_gap": Text("|G / tr G - I / n|_F, G the Gram matrix", "1", "bn_decomposed", "Section II", FLAT),
    "cost_of_identity": Text(
        "least squared norm of weights W with W relu(A) = A",
        "1",
        "leaky_resnets",
        "Section 1.3",
        "no weights give the layer back from its positive part, so the cost is infinite",
    ),
    "identity_gap": Text("part of the layer that no weights give back", "1", "leaky_resnets", "Section 1.3"),
    "stable_cost_of_identity": Text("|A|^2 in the norm of K + gamma I", "1", "leaky_resnets", "Theorem 4", FLAT),
    "kinetic_energy": Text("kinetic energy, stable", "1", "leaky_resnets", "Section 2.1, Theorem 4", FLAT),
    "potential_energy": Text("potential energy -(Lt/2) COI, stable", "1", "leaky_resnets", "Section 2.1", FLAT),
    "hamiltonian": Text("kinetic plus potential energy, stable", "1", "leaky_resnets", "Section 2.1, Theorem 4", FLAT),
    "within": Text("mean variance within classes", "activation^2", "truncation_flow", "Section 4, Proposition 4.2"),
    "between": Text("variance of the class means", "activation^2", "truncation_flow", "Section 4, Proposition 4.2"),
    "within_over_between": Text(
        "within over between classes (NC1)", "1", "truncation_flow", "Section 4, Proposition 4.2", MEET
    ),
    "equinorm": Text(
        "coefficient of variation of the centred class means' lengths",
        "1",
        "truncation_flow",
        "Section 4, Proposition 4.2",
    ),
    "equiangle": Text(
        "largest deviation of cosines between centred class means from a simplex (NC2)",
        "1",
        "truncation_flow",
        "Section 4.4",
        MEET,
    ),
    "nearest_mean_accuracy": Text(
        "points nearest to their own class mean", "1", "truncation_flow", "Section 4, Proposition 4.2"
    ),
    "truncated_share": Text("entries at most zero, per class", "1", "truncation_flow", "(3.9)-(3.11)"),
    "units_truncating_all": Text("units at most zero on the whole class", "1", "truncation_flow", "Section 4.3"),
    "units_passing_all": Text("units above zero on the whole class", "1", "truncation_flow", "Section 4.3"),
    "sectors": Text("sign patterns that the class occupies, over its points", "1", "truncation_flow", "(3.9)-(3.11)"),
    "largest_sector": Text("points in the class's fullest sector", "1", "truncation_flow", "(3.9)-(3.11)"),
    "representation_distance": Text("squared distance h of two points", "activation^2", "universality", "eq. (8)"),
    "pair_angle": Text("angle between the two points", "rad", "bn_decomposed", "eq. (11)", DEAD),
    "prediction_distance": Text("squared distance y of two outputs", "output^2", "universality", "eq. (8)"),
    "prediction_alignment": Text(
        "w = y - dy . (y2 - y1), outputs against targets", "output^2", "universality", "eq. (8)"
    ),
    "pair_loss": Text("mean over the two points of half the squared error", "output^2", "universality", "eq. (9)"),
    "radial_fraction": Text(
        "median of |u . grad| / |grad| over the directions u that normalisation makes free",
        "1",
        "bn_mean_field",
        "after eq. (6)",
        "the gradient vanishes",
    ),
    "largest_radial_fraction": Text(
        "largest of |u . grad| / |grad| over these directions",
        "1",
        "bn_mean_field",
        "after eq. (6)",
        "as for the median",
    ),
    "loss": Text("half the mean squared error over points and outputs", "1", "universality", "eq. (9)"),
    "task_rank": Text("rank of the targets", "1", "leaky_resnets", "Section 1.2"),
    "centred_task_rank": Text("rank of the targets without their mean", "1", "leaky_resnets", "Section 1.2"),
    "accuracy": Text(
        "points whose largest output is their label", "1", "truncation_flow", "Section 4, Proposition 4.2"
    ),
}


def described(name: str, dims: str | tuple[str, ...], values: object) -> xr.Variable:
    """A variable with the attributes of its entry in `TEXTS`."""
    text = TEXTS[name]
    made = variable(dims, values, text.long_name, text.units)
    made.attrs |= {"paper": PAPERS[text.study], "equation": text.where, "study": text.study}
    if text.missing:
        made.attrs["missing"] = text.missing
    return made
