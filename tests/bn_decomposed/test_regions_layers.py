"""Claims on Gaussian layers and their limit, on made-up data just inside and just outside each of their regions."""

import numpy as np
import pytest
import xarray as xr

from repdyn.bn_decomposed.claims import gaussian_layers, infinite_width, theorem_14
from repdyn.bn_decomposed.claims.gaussian_layers import FAR, INVARIANT
from repdyn.bn_decomposed.theory.kernel import arccos_kernel

DRAWS = 16
SCATTER = 1 + 1e-5 * np.linspace(-1, 1, DRAWS)  # far less than the distance to any border


def outcome(verdict, form, part):
    """Outcome of a form's part, or of the whole form."""
    test = getattr(verdict, form)
    return test.parts[part].outcome if part else test.outcome


def moments(*, quadrature=0.0, square=1.0, inner=0.0, ray=0.0, excess=1.2, sampled=0.0):
    """One layer: errors of the quadrature, at cosine 1 and of samples; the kernel's excess over its bound."""
    rho = np.array([-0.5, 0.5, 1.0])
    kappa = arccos_kernel(rho)
    if excess != 1.2:
        kappa = np.append((rho + excess * (np.arccos(rho) / np.pi) ** 3)[:2], 1.0)
    quadratures = kappa + quadrature + np.array([0, 0, ray])
    products = np.outer(arccos_kernel(rho) + inner, SCATTER)
    return xr.Dataset(
        {
            "quadrature": ("cosine", quadratures),
            "square": ("draw", square * SCATTER),
            "inner": (("cosine", "draw"), products),
            "recentered": ("entry", [1.0, 0.3]),
            "recentered_sampled": (("entry", "draw"), np.outer([1.0, 0.3], np.ones(DRAWS)) + sampled * SCATTER),
        },
        {"cosine": rho},
    )


def layers(*, closed=0.0, odd=1.0, cluster=1.0, inner=0.0, mean=0.0, norm=1.0, cluster_norm=1.0, pair=1.0):
    """Sampled layers at both starts: errors of closed forms, ratios of squares and norms to what is expected."""
    shape = np.ones((2, 2, 2, 1))
    closed_forms = {"expected_odd_square": 1 + closed, "expected_cluster_square": 1 + closed, "expected_inner": mean}
    of_mean = {"square_of_mean_odd": 0.32, "square_of_mean_cluster": 0.32, "inner_of_means": 0.3}
    ratio = np.array([0.7, 0.9])[None, None, :, None]
    sampled = {
        "odd_square": odd,
        "cluster_square": cluster,
        "odd_norm": norm * ratio,
        "cluster_norm": cluster_norm * ratio,
        "pair_factor": 0.9 * pair,
        "odd_mean": 0.56,
    }
    dims, blocks = ("start", "batch", "width"), ("start", "batch", "width", "block")
    alpha = np.array([0.8, 0.9])
    return xr.Dataset(
        {name: (blocks, value * shape * SCATTER) for name, value in sampled.items()}
        | {name: (dims, np.full((2, 2, 2), value)) for name, value in (closed_forms | of_mean).items()}
        | {
            "inner": (blocks, np.full((2, 2, 2, DRAWS), inner)),
            "expected_pair_factor": (("start", "batch"), np.full((2, 2), 0.9)),
            "cluster_mean_cosine": (("start", "batch"), np.full((2, 2), 1e-3)),
        },
        {
            "start": [INVARIANT, FAR],
            "batch": [3, 10],
            "width": [1, 10],
            "norm_ratio": ("width", [0.7, 0.9]),
            "alpha": ("batch", alpha),
            "distance": ("batch", [2.25, 1.67]),
        },
    )


def clusters(*, factor=0.9, limit=1.0, near=0.95, narrow=1.0, wide=0.9, family=0.95, resting=20.0):
    """Expected factors of clusters: the largest, over its limit, narrow and wide; multiplier and size at rest."""
    alpha = np.array([1.22])
    by_spread = np.array([narrow * alpha[0], 1.1, wide])[None, :, None]
    return xr.Dataset(
        {
            "factor": (("batch", "spread", "draw"), by_spread * np.ones((1, 3, 2))),
            "largest_factor": ("batch", [factor]),
            "alpha": ("batch", [factor / limit]),
            "norm_keeping_alpha": ("batch", alpha),
            "family_multiplier": ("batch", [family]),
            "point_multiplier": ("batch", alpha),
            "full_multiplier": ("batch", [0.9]),
            "full_multiplier_of_equal_points": ("batch", [0.9]),
            "resting_spread": ("batch", [resting]),
            "invariant_distance": ("batch", [near]),
            "required_distance": ("batch", [1.0]),
        },
        {"batch": [10], "spread": [0.01, 1.0, 30.0]},
    )


def rests(*, leading=1.0, equal=0.0, iterated=0.0, odd=0.0, norms=0.0, scale=1.0, multiplier=0.95):
    """Fixed points of 5, 7, 20 and 50 points: errors of the reduced map, and the cluster's angle over 540/n degrees."""
    n = np.array([5.0, 7.0, 20.0, 50.0])
    width = 540 / n * leading * scale
    return xr.Dataset(
        {
            "odd_intra_angle": ("batch", width + iterated),
            "odd_angle": ("batch", np.full(4, 90.0 + odd)),
            "odd_norm_ratio": ("batch", np.full(4, 1.0 + norms)),
            "odd_multiplier": ("batch", np.full(4, multiplier)),
            "simplex_angle": ("batch", np.array([78.0, 76.0, 73.0, 72.0]) + equal),
            "rms_angle": ("batch", np.full(4, 60.0)),
            "iterated_intra_angle": ("batch", np.where(n < 7, 78.0, width)),
            "iterated_odd_angle": ("batch", np.full(4, 90.0)),
            "iterated_norm_ratio": ("batch", np.full(4, 1.0)),
        },
        {"batch": n.astype(int)},
    )


G, T = gaussian_layers, theorem_14
CLOSED, WIDTH, REST = (
    infinite_width.closed_form_of_a_layer,
    infinite_width.cluster_keeps_a_width,
    T.cluster_comes_to_rest,
)


def on(*data):
    return data


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
