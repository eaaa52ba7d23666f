"""Claims on Gaussian layers and their limit, on made-up data just inside and just outside each of their regions."""

import pytest
from tests.bn_decomposed.deciding import on, outcome
from tests.bn_decomposed.made_up_layers import clusters, layers, moments, rests

from repdyn.bn_decomposed.claims import gaussian_layers, infinite_width, theorem_14

G, T = gaussian_layers, theorem_14
CLOSED, WIDTH, REST = (
    infinite_width.closed_form_of_a_layer,
    infinite_width.cluster_keeps_a_width,
    T.cluster_comes_to_rest,
)


REGIONS = [  # claim, form, part, data just inside, data just outside
    (G.relu_halves_the_square, "printed", "quadrature", on(moments(ray=9e-13)), on(moments(ray=2e-12))),
    (G.relu_halves_the_square, "printed", "sampled", on(moments(square=1.049)), on(moments(square=1.051))),
    (G.arccosine_kernel, "printed", "quadrature", on(moments(quadrature=9e-13)), on(moments(quadrature=2e-12))),
    (G.arccosine_kernel, "printed", "sampled", on(moments(inner=0.049)), on(moments(inner=0.051))),
    (
        G.kernel_exceeds_the_product,
        "printed",
        "excess over its lower bound",
        on(moments(excess=1.01)),
        on(moments(excess=0.99)),
    ),
    (
        G.kernel_exceeds_the_product,
        "printed",
        "excess for collinear vectors",
        on(moments(ray=9e-13)),
        on(moments(ray=2e-12)),
    ),
    (G.norms_are_kept, "printed", "closed form", on(layers(closed=9e-13)), on(layers(closed=2e-12))),
    (G.norms_are_kept, "printed", "odd point sampled", on(layers(odd=0.951)), on(layers(odd=0.949))),
    (G.norms_are_kept, "printed", "cluster sampled", on(layers(cluster=1.049)), on(layers(cluster=1.051))),
    (G.orthogonality_is_kept, "printed", "", on(layers(inner=9e-13)), on(layers(inner=2e-12))),
    (G.expectation_is_invariant, "corrected", "closed form", on(layers(closed=9e-13)), on(layers(closed=2e-12))),
    (G.expectation_is_invariant, "corrected", "inner", on(layers(mean=9e-13)), on(layers(mean=2e-12))),
    (G.expectation_is_invariant, "corrected", "odd point sampled", on(layers(odd=0.951)), on(layers(odd=0.949))),
    (G.expectation_is_invariant, "corrected", "cluster sampled", on(layers(cluster=0.951)), on(layers(cluster=0.949))),
    (T.norms_of_theorem_14, "corrected", "norm of the odd point", on(layers(norm=1.049)), on(layers(norm=1.051))),
    (
        T.norms_of_theorem_14,
        "corrected",
        "norm of the cluster",
        on(layers(cluster_norm=0.951)),
        on(layers(cluster_norm=0.949)),
    ),
    (T.orthogonality_of_theorem_14, "printed", "", on(layers(inner=9e-13)), on(layers(inner=2e-12))),
    (
        T.cluster_contracts,
        "printed",
        "factor",
        on(clusters(factor=0.999), layers()),
        on(clusters(factor=1.001), layers()),
    ),
    (
        T.cluster_contracts,
        "printed",
        "factor over its limit",
        on(clusters(), layers()),
        on(clusters(limit=1.001), layers()),
    ),
    (
        T.cluster_contracts,
        "printed",
        "sampled over closed form",
        on(clusters(), layers(pair=1.049)),
        on(clusters(), layers(pair=1.051)),
    ),
    (T.hypothesis_can_be_met, "printed", "", on(layers(), clusters(near=1.001)), on(layers(), clusters(near=0.999))),
    (
        T.hypothesis_can_be_met,
        "corrected",
        "items 1 and 2",
        on(layers(closed=9e-13), clusters()),
        on(layers(closed=2e-12), clusters()),
    ),
    (
        T.hypothesis_can_be_met,
        "corrected",
        "item 3",
        on(layers(inner=9e-13), clusters()),
        on(layers(inner=2e-12), clusters()),
    ),
    (
        T.hypothesis_can_be_met,
        "corrected",
        "item 4",
        on(layers(), clusters(factor=0.999)),
        on(layers(), clusters(factor=1.001)),
    ),
    (
        REST,
        "printed",
        "next square distance",
        on(clusters(), layers(odd=1.049, cluster=1.049)),
        on(clusters(), layers(odd=1.07, cluster=1.07)),
    ),
    (REST, "printed", "narrow cluster", on(clusters(narrow=1.009), layers()), on(clusters(narrow=1.011), layers())),
    (REST, "printed", "wide cluster", on(clusters(wide=0.999), layers()), on(clusters(wide=1.001), layers())),
    (
        REST,
        "printed",
        "multiplier of the fixed point",
        on(clusters(family=0.999), layers()),
        on(clusters(family=1.001), layers()),
    ),
    (
        CLOSED,
        "printed",
        "closed form minus sampled",
        on(moments(sampled=0.049), rests()),
        on(moments(sampled=0.051), rests()),
    ),
    (
        CLOSED,
        "printed",
        "reduced minus iterated cluster angle",
        on(moments(), rests(iterated=9e-3)),
        on(moments(), rests(iterated=1.1e-2)),
    ),
    (
        CLOSED,
        "printed",
        "reduced minus iterated odd angle",
        on(moments(), rests(odd=9e-3)),
        on(moments(), rests(odd=1.1e-2)),
    ),
    (
        CLOSED,
        "printed",
        "equal angles up to six points",
        on(moments(), rests(equal=9e-3)),
        on(moments(), rests(equal=1.1e-2)),
    ),
    (
        CLOSED,
        "printed",
        "reduced over iterated norm ratio",
        on(moments(), rests(norms=9e-4)),
        on(moments(), rests(norms=1.1e-3)),
    ),
    (
        WIDTH,
        "corrected",
        "cluster angle over leading term",
        on(rests(leading=1.09), clusters()),
        on(rests(leading=1.11), clusters()),
    ),
    (
        WIDTH,
        "corrected",
        "equal angles up to six points",
        on(rests(equal=9e-3), clusters()),
        on(rests(equal=1.1e-2), clusters()),
    ),
    (
        WIDTH,
        "corrected",
        "multipliers",
        on(rests(multiplier=0.999), clusters()),
        on(rests(multiplier=1.001), clusters()),
    ),
]


def name(value):
    return value if isinstance(value, str) else getattr(value, "id", "")


@pytest.mark.parametrize(("claim", "form", "part", "inside", "outside"), REGIONS, ids=name)
def test_the_outcome_turns_at_the_border_of_the_region(claim, form, part, inside, outside):
    assert outcome(claim(*inside), form, part) == "passes"
    assert outcome(claim(*outside), form, part) == "fails"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (rests(scale=1e-3), "holds"),  # a cluster of half a degree at 20 points
        (rests(), "depends on the reading"),
        (rests(scale=5.0).assign(iterated_norm_ratio=rests()["batch"] / 10), "does not hold"),
    ],
)
def test_one_point_is_read_at_every_size_and_scale(data, status):
    """The norm ratio is 1/(n-1): at 50 points the cluster of 10.8 degrees has a width of 0.0038 of the picture."""
    assert WIDTH(data, clusters()).status == status


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (clusters(narrow=0.8).isel(spread=[0, 2]), "holds"),
        (clusters(), "depends on the reading"),  # narrow clusters widen, the resting one is narrow and stable
        (clusters(factor=1.001, family=1.001), "does not hold"),
        (clusters(factor=1.001, resting=25.1), "does not hold"),  # a quarter of the distance to the odd point is 25/n^2
        (clusters(factor=1.001, resting=24.9), "depends on the reading"),
    ],
)
def test_unchanged_is_read_by_size_by_layer_and_by_kind(data, status):
    assert T.narrow_clusters_contract(data, layers()).status == status


def test_printed_forms_that_are_right_hold():
    """Definition 12 for the mean itself, norms of 1 at every width, a hypothesis that some batch meets."""
    right = layers().assign(
        square_of_mean_odd=layers()["square_of_mean_odd"] * 0 + 1,
        square_of_mean_cluster=layers()["square_of_mean_cluster"] * 0 + 1,
        inner_of_means=layers()["inner_of_means"] * 0,
        odd_mean=layers()["odd_mean"] / 0.56,
        odd_norm=layers()["odd_square"],
        cluster_norm=layers()["cluster_square"],
    )
    assert G.expectation_is_invariant(right).status == "holds"
    assert G.expectation_is_invariant(layers()).status == "holds as corrected"
    assert T.norms_of_theorem_14(right).status == "holds"
    assert T.norms_of_theorem_14(layers()).status == "holds as corrected"
    assert T.hypothesis_can_be_met(layers(), clusters(near=1.2)).status == "holds"
    assert T.hypothesis_can_be_met(layers(), clusters()).status == "holds as corrected"
