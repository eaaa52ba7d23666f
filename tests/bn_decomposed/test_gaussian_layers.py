"""One Gaussian layer: experiments against closed forms, claims on small datasets, figures and tables that draw."""

import numpy as np
import pytest
import xarray as xr
from tests.bn_decomposed.deciding import decided

from repdyn.base import datasets, figures
from repdyn.base.checkpoints import Checkpoint
from repdyn.base.claims import claims_of, decide_claim
from repdyn.base.images import load_images
from repdyn.base.streams import Stream
from repdyn.base.verdicts import Test
from repdyn.bn_decomposed import tables
from repdyn.bn_decomposed.claims import gaussian_layers as layer_claims
from repdyn.bn_decomposed.claims import infinite_width, theorem_14, worst_of
from repdyn.bn_decomposed.claims import odd_point as odd_claims
from repdyn.bn_decomposed.experiments import gaussian_layers, odd_point, random_networks
from repdyn.bn_decomposed.figures import gaussian_layers as drawings
from repdyn.bn_decomposed.settings.study import (
    Activity,
    Contraction,
    FixedPoint,
    GaussianLayer,
    LargestNorm,
    OddPoint,
    ReluMoments,
)
from repdyn.bn_decomposed.theory.invariance import separated_cluster
from repdyn.bn_decomposed.theory.kernel import arccos_kernel
from repdyn.bn_decomposed.theory.layers import propagate

NOTHING_KEPT = Checkpoint(None, "")

STREAM = Stream(3, ("bn_decomposed", "test"))
VERDICTS = {
    "bnd-eq98": "holds",
    "bnd-eq111": "holds",
    "bnd-eq111-ineq": "holds",
    "bnd-thm13-norm": "holds",
    "bnd-thm13-orth": "holds",
    "bnd-thm13-EX": "holds as corrected",
    "bnd-thm14-1-2": "holds as corrected",
    "bnd-thm14-3": "holds",
    "bnd-thm14-4": "holds",
    "bnd-thm14-hyp": "holds as corrected",
    "bnd-thm14-iter": "depends on the reading",
    "bnd-cluster-rest": "holds",
    "bnd-eq8-closed": "holds",
    "bnd-infwidth": "depends on the reading",
}


@pytest.fixture(scope="module")
def images():
    return load_images("digits")


@pytest.fixture(scope="module")
def small_datasets(images) -> dict[str, xr.Dataset]:
    """Every dataset of the group, small."""
    return {
        "relu_moments": gaussian_layers.relu_moments(
            ReluMoments(cosines=[-1.0, -0.5, 0.5, 1.0], batch=4, width=1000, draws=200), images, STREAM
        ),
        "gaussian_layer": gaussian_layers.gaussian_layer(
            GaussianLayer(batches=[3, 10], widths=[1, 10], distance=1.5, rows=10_000, blocks=64), STREAM, NOTHING_KEPT
        ),
        "contraction": gaussian_layers.contraction(
            Contraction(batches=[8, 20], spreads=[0.01, 1.0, 30.0], draws=2, configurations=20, multiplier_up_to=8),
            STREAM,
            NOTHING_KEPT,
        ),
        "odd_point": odd_point.odd_point(
            OddPoint(batches=[8, 12], input_dim=10, width=64, seeds=2, record=[1, 5, 30], limit_record=[1, 30]),
            images,
            STREAM,
            NOTHING_KEPT,
        ),
        "largest_norm": odd_point.largest_norm(
            LargestNorm(batch=8, dims=[3, 10], factors=[2.0], widths=[50], depth=20, limit_depth=40, runs=3),
            images,
            STREAM,
            NOTHING_KEPT,
        ),
        "activity": odd_point.activity(Activity(batch=32, width=64, depth=10, seeds=2), images, STREAM),
        "fixed_point": random_networks.fixed_point(FixedPoint(batches=[3, 6, 7, 10, 50])),
    }


def test_datasets_keep_the_conventions(small_datasets):
    for name, dataset in small_datasets.items():
        wrong = [text for text in datasets.problems(dataset) if not text.startswith("attribute")]
        assert not wrong, (name, wrong)


def test_angular_average_is_the_arccosine_kernel():
    rho = np.linspace(-1, 1, 41)
    # 40 Gauss-Legendre nodes on an entire function over at most pi: round-off alone.
    np.testing.assert_allclose(gaussian_layers.angular_average(rho), arccos_kernel(rho), atol=1e-13)


def test_few_nodes_converge_exponentially():
    rho = np.array([-0.3, 0.2, 0.8])
    errors = [np.abs(gaussian_layers.angular_average(rho, nodes) - arccos_kernel(rho)).max() for nodes in (2, 4, 6)]
    assert errors[0] > 100 * errors[1] > 10_000 * errors[2]


def test_separated_cluster_is_what_it_says():
    X = separated_cluster(7, 1.7, 0.2, STREAM.generator("batch"), k=30)
    cluster = X[:, 1:]
    nu = cluster.mean(axis=1)
    assert np.linalg.norm(X[:, 0] - nu) == pytest.approx(1.7, rel=1e-13)
    assert np.sqrt(((cluster - nu[:, None]) ** 2).sum(axis=0).mean()) == pytest.approx(0.2, rel=1e-13)
    assert np.linalg.norm(nu) == pytest.approx(1, rel=0.5)  # chi with 30 degrees of freedom over its root
    with pytest.raises(ValueError, match="n >= 3"):
        separated_cluster(2, 1.0, 0.1, STREAM.generator("batch"))


def test_eq8_does_not_see_a_shift_of_the_batch(images):
    shifted = images.assign(image=images["image"] + 3)
    settings = ReluMoments(cosines=[-1.0, 1.0], batch=5, width=8, draws=20)
    original, moved = (gaussian_layers.relu_moments(settings, source, STREAM) for source in (images, shifted))
    # H removes the shift; cosines of centered images lose a few digits to the larger entries.
    np.testing.assert_allclose(original["recentered"], moved["recentered"], atol=1e-9)
    assert np.abs(original["not_recentered"] - moved["not_recentered"]).max() > 0.1


def test_sampled_layers_agree_with_their_closed_forms(small_datasets):
    layer = small_datasets["gaussian_layer"]
    for sampled, closed in (
        ("odd_square", "expected_odd_square"),
        ("cluster_square", "expected_cluster_square"),
        ("pair_factor", "expected_pair_factor"),
    ):
        error = (layer[sampled].mean("block") - layer[closed]) / (layer[sampled].std("block", ddof=1) / 8)
        # 8 = sqrt(64 blocks); five standard errors over 8 cells: false alarm below 1e-4 with Student's tails.
        assert float(np.abs(error).max()) < 5, sampled
    root = np.sqrt(layer["square_of_mean_odd"])
    error = (layer["odd_mean"].mean("block") - root) / (layer["odd_mean"].std("block", ddof=1) / 8)
    assert float(np.abs(error).max()) < 5


def test_a_width_changes_no_number_of_another(images):
    def run(widths):
        settings = GaussianLayer(batches=[5], widths=widths, distance=2.0, rows=100, blocks=10)
        return gaussian_layers.gaussian_layer(settings, STREAM, NOTHING_KEPT)

    xr.testing.assert_identical(
        run([1, 10])["odd_square"].sel(width=10, drop=True), run([10])["odd_square"].isel(width=0, drop=True)
    )


def test_recorded_limit_is_the_iterated_map(images):
    X = random_networks.image_batch(images, 9, STREAM)
    first, last = odd_point._limit(X, (1, 4))
    again = odd_point._limit(X, (4,))[0]
    np.testing.assert_array_equal(last, again)
    assert np.trace(first) == pytest.approx(1, rel=1e-14)


def test_energy_of_the_odd_point_is_its_share(small_datasets):
    assert ((small_datasets["odd_point"]["odd_energy"] > 0) & (small_datasets["odd_point"]["odd_energy"] <= 1)).all()
    ratio = small_datasets["odd_point"]["second_to_first"]
    # n - 1 other points of at most the second norm carry at most (n - 1) ratio^2 of the first one's energy.
    least = 1 / (1 + (ratio["batch"] - 1) * ratio**2)
    assert (small_datasets["odd_point"]["odd_energy"] >= least - 1e-12).all()


def test_responses_of_a_known_layer():
    X = np.array([[9.0, 0, 0], [4.0, 1, 0], [0.0, 0.5, 0.5], [0.0, 0.5, 0]])
    responses = odd_point._responses(X)
    assert responses == {
        "fires_for_odd": 0.5,
        "fires_for_odd_alone": 0.5,
        "other_to_odd": pytest.approx(0.125),
        "cluster_active": 0.75,
    }


def test_expected_activity_is_a_distribution():
    edges, share, above = odd_point._expected_activity(64, bins=20)
    np.testing.assert_allclose(share.sum(axis=1), 1, atol=1e-12)
    assert edges[18] == pytest.approx(0.9)
    assert share[0, 18:].sum() == pytest.approx(above, rel=1e-10)


def test_identities_and_bounds_are_decided_and_every_part_has_a_control_that_turns_it(small_datasets):
    assert decided(claims_of(layer_claims, theorem_14, infinite_width), small_datasets) == VERDICTS


def test_sampled_claims_run_on_any_size(small_datasets):
    for claim in claims_of(odd_claims):
        assert decide_claim(claim, small_datasets).ledger["verdict"]


def test_what_a_claim_lacks_leaves_it_undecided(small_datasets):
    """The smallest allowed settings: one batch, one spread, no batch small or large enough."""
    few = {
        "fixed_point": small_datasets["fixed_point"].isel(batch=[-1]),
        "odd_point": small_datasets["odd_point"].isel(batch=[0]),
        "contraction": small_datasets["contraction"].isel(spread=[1, 2]),
    }
    verdicts = {
        claim.id: decide_claim(claim, small_datasets | few).ledger["verdict"]
        for claim in claims_of(infinite_width, odd_claims, theorem_14)
        if set(claim.data) & set(few)
    }
    undecided = "not decidable at this scale"
    lacking = ("bnd-infwidth", "bnd-eq8-closed", "bnd-fig3", "bnd-disc-fire", "bnd-sec3-signs", "bnd-cluster-rest")
    assert {id: verdicts[id] for id in lacking} == dict.fromkeys(lacking, undecided)


def test_zeros_are_counted_apart_by_the_side_of_the_cluster():
    X = np.array([[9.0, 0, 0, 0], [8.0, 0, 1, 0], [0.0, 1, 1, 1], [0.0, 1, 0, 1]])
    counted = odd_point._geometry(X)
    assert counted["zeros_if_cluster_below"] == (3 + 2) / 2  # neurons in which the longest point, the first, is active
    assert counted["zeros_if_cluster_above"] == (1 + 2) / 2


def test_a_seed_is_what_a_run_of_its_own_gives(images):
    """Trials differ from each other and equal those of a single-trial run, layer by layer."""
    settings = OddPoint(batches=[5, 8], input_dim=6, width=16, seeds=3, record=[1, 4], limit_record=[1, 2])
    several = odd_point.odd_point(settings, images, STREAM, NOTHING_KEPT)
    X = STREAM.child(2, 8).generator("Gaussian batch").standard_normal((6, 8))
    weights = STREAM.generator("Gaussian", 2, 8, "weights")
    last = propagate(X, 16, 4, weights, recenter=True, rescale=None, relu=True)
    second, first = np.sort(np.linalg.norm(last, axis=0))[-2:]
    cell = several["second_to_first"].sel(source="Gaussian", batch=8, layer=4)
    assert float(cell.sel(seed=2)) == pytest.approx(second / first, rel=1e-12)
    assert len(np.unique(cell)) == 3
    fewer = odd_point.odd_point(settings.model_copy(update={"seeds": 2}), images, STREAM, NOTHING_KEPT)
    np.testing.assert_array_equal(several["odd_angle"].isel(seed=slice(2)), fewer["odd_angle"])


def test_worst_of_several_means_speaks():
    good, bad = np.linspace(-0.1, 0.1, 50), np.linspace(0.9, 1.1, 50)
    samples = xr.DataArray(np.stack([good, bad]), dims=("cell", "draw"))
    test = worst_of.worst_mean(samples, "draw", -0.5, 0.5, expected="0", reason="test")
    assert (test.outcome, test.false_alarm) == ("fails", 1e-3)
    assert isinstance(layer_claims.near(samples.isel(cell=1), "draw", "1"), Test)


def test_worst_share_has_exact_ends():
    words = {"expected": "", "reason": ""}
    all_hit = worst_of.worst_share([np.ones(40, bool)], 0.5, np.inf, **words)
    # P(40 of 40) = p^40 = 5e-4 at the lower end.
    assert all_hit.outcome == "passes"
    assert all_hit.interval == pytest.approx((5e-4 ** (1 / 40), 1.0), rel=1e-9)
    both = worst_of.worst_share([np.ones(40, bool), np.zeros(40, bool)], 0.5, np.inf, **words)
    assert (both.outcome, both.false_alarm) == ("fails", 1e-3)
    assert both.interval[1] == pytest.approx(1 - 2.5e-4 ** (1 / 40), rel=1e-9)  # half the rate for each of the two


def test_worst_survival_divides_the_rate():
    y = np.array([1] * 300 + [5] * 100)
    words = {"expected": "", "reason": ""}
    alone = worst_of.worst_survival([(y, 1, 0.5)], **words)
    among = worst_of.worst_survival([(y, 1, 0.5), (y, 4, 0.9)], **words)
    assert alone.outcome == among.outcome == "passes"
    assert among.interval[1] > alone.interval[1]
    assert worst_of.worst_survival([(y, 1, 0.5), (y, 1, 0.1)], **words).outcome == "fails"


def test_figures_and_tables_are_made(small_datasets):
    with figures.style():
        drawn = [
            drawings.fig3_odd_point(small_datasets["odd_point"]),
            drawings.fig6_activity(small_datasets["activity"]),
            drawings.thm14_contraction(small_datasets["contraction"], small_datasets["fixed_point"]),
        ]
    assert all(figure.repdyn["caption"] and figure.repdyn["alt"] for figure in drawn)
    assert len(tables.fixed_points(small_datasets["fixed_point"]).frame) == 5
    assert len(tables.largest_norm(small_datasets["largest_norm"]).frame) == 4 * 2


def test_shares_of_responses_are_those_above_their_fraction(small_datasets):
    """Fewer inputs exceed a larger fraction; the stored neuron's own response gives its shares again."""
    data = small_datasets["activity"]
    names = ("active", "above_twentieth", "above_tenth", "above_fifth", "above_half")
    for larger, smaller in zip(names[1:], names, strict=False):
        assert (data[larger] <= data[smaller]).all()
        assert (data[larger] < data[smaller]).any()
    for place, name in enumerate(("without", "with")):
        response = data["response"].sel(recentering=name).values
        own = [float((response > max(fraction, 0)).mean()) for fraction in (0.0, 0.05, 0.1, 0.2, 0.5)]
        stored = np.stack([data[share].isel(recentering=place, seed=0).values for share in names], axis=-1)
        assert np.abs(stored - own).max(axis=-1).min() < 1e-12


def test_coinciding_points_are_left_out_of_the_largest_factor(monkeypatch):
    """They have no factor; of the others the largest, for each kernel."""
    factors = iter([np.array([0.5, np.nan, 0.75, 0.25]), np.array([np.nan, 2.0, 1.5, np.nan])])
    monkeypatch.setattr(gaussian_layers.invariance, "contraction_factors", lambda *_: next(factors))
    largest, wrong, alpha = gaussian_layers._largest_factor(7, np.random.default_rng(0))
    assert (largest, wrong) == (0.75, 2.0)
    assert 0 < alpha < 1
