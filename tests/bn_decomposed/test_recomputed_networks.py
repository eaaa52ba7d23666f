"""Random networks recomputed: geometry of layers, gaps, left-out neurons, fixed points, odd points, waits, activity."""

from functools import cache
from itertools import product

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import quad
from scipy.stats import norm
from tests.bn_decomposed.reference import angles_of, batch, images, recentered, step

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments import odd_point as odd
from repdyn.bn_decomposed.experiments import random_networks, symmetric_batch
from repdyn.bn_decomposed.settings import study as sizes
from repdyn.bn_decomposed.theory.layers import propagate

STREAM = Stream(12, ("bn_decomposed", "recomputed"))
NOTHING_KEPT = Checkpoint(None, "")
RELU = {"recenter": True, "rescale": None, "relu": True}
close = np.testing.assert_allclose


def angles(X):
    """Degrees between columns, all pairs."""
    return angles_of(X.T @ X)


def scalars(X):
    """Angles to the longest column and among the others, second over first norm."""
    lengths, angle, n = np.linalg.norm(X, axis=0), angles(X), X.shape[1]
    longest = int(np.argmax(lengths))
    others = [k for k in range(n) if k != longest]
    inner = [angle[i, j] for i in others for j in others if i < j]
    return {
        "odd_angle": np.median(angle[longest, others]),
        "intra_angle": np.median(inner),
        "second_to_first": np.sort(lengths)[-2] / lengths[longest],
    }


def limit(X, layers):
    G = X.T @ X
    for _ in range(layers):
        G = step(G)
    return G


def of_gram(G):
    """Columns with this Gram matrix."""
    values, vectors = np.linalg.eigh(G / np.trace(G))
    return np.sqrt(np.maximum(values, 0))[:, None] * vectors.T


@pytest.mark.parametrize(
    ("recenter", "rescale", "relu"), [(0, "none", 1), (1, "std", 0), (0, "rms", 1), (1, "none", 1)]
)
def test_geometry_of_the_ablation(recenter, rescale, relu):
    settings = sizes.Ablation(batch=5, width=16, depth=3, seeds=2, record=(0, 3))
    data = random_networks.ablation(settings, images(), STREAM, NOTHING_KEPT)
    data = data.sel(recenter=recenter, rescale=rescale, relu=relu, seed=1)
    X, weights = batch(5, STREAM.child(1)), STREAM.generator(1, "weights")
    switches = {"recenter": bool(recenter), "rescale": None if rescale == "none" else rescale, "relu": bool(relu)}
    for layer, Z in ((0, X), (3, propagate(X, 16, 3, weights, **switches))):
        now, s = data.sel(layer=layer), np.linalg.svd(Z)[1]
        for name, value in scalars(Z).items():
            assert float(now[name]) == pytest.approx(value, rel=1e-9), name
        share = s[s > 0] / s.sum()
        assert float(now.numerical_rank) == (s > 1e-6 * s[0]).sum()
        assert float(now.stable_rank) == pytest.approx((s**2).sum() / s[0] ** 2)
        assert float(now.effective_rank) == pytest.approx(np.exp(-(share * np.log(share)).sum()))
        gram = Z.T @ Z / (Z**2).sum()
        assert float(now.orthogonality_gap) == pytest.approx(np.linalg.norm(gram - np.eye(5) / 5))
        close(now.angle, angles(Z)[np.triu_indices(5, 1)], atol=1e-6)


def test_recentering_everywhere_and_in_the_first_layer():
    settings = sizes.RecenteringDepth(batch=4, width=8, depth=3, seeds=2)
    data = random_networks.recentering_depth(settings, images(), STREAM)
    own = Stream(12, ("bn_decomposed", "recentring_depth"))
    for relu, seed in ((0, 1), (1, 0), (1, 1)):
        weights, both = own.generator(seed, "weights"), [batch(4, own.child(seed))] * 2
        for layer in range(3):
            W = weights.standard_normal((8, len(both[0]))) * np.sqrt(2 / len(both[0]))
            after = [W @ X for X in both]
            after[0] = after[0] - after[0].mean(axis=1, keepdims=True)
            if layer == 0:
                after[1] = after[1] - after[1].mean(axis=1, keepdims=True)
            both = [np.maximum(Z, 0) if relu else Z for Z in after]
            apart = np.linalg.norm(both[0] - both[1]) / np.linalg.norm(both[1])
            assert float(data.difference.sel(relu=relu, seed=seed)[layer]) == pytest.approx(apart, abs=1e-12)


def test_gaps_with_depth():
    settings = sizes.OrthogonalityGap(batch=4, input_dim=5, widths=(8, 12), depth=3, seeds=2)
    data = random_networks.orthogonality_gap(settings, STREAM)
    for rescale, width, seed in product(("rms", "std"), (8, 12), (0, 1)):
        X, gaps = STREAM.generator(seed, "batch").standard_normal((5, 4)), []
        weights = STREAM.generator(seed, width, "weights")
        for layer in range(4):
            if layer:
                R = np.linalg.qr(X, mode="r")  # the package draws the weights in coordinates of the batch
                Z = weights.standard_normal((width, len(R))) @ R
                deviation = Z - Z.mean(axis=1, keepdims=True) if rescale == "std" else Z
                X = Z / np.sqrt((deviation**2).mean(axis=1, keepdims=True))
            gaps.append(np.linalg.norm(X.T @ X / (X**2).sum() - np.eye(4) / 4))
        close(data.gap.sel(rescale=rescale, width=width, seed=seed), gaps, rtol=1e-9)


def test_angles_of_the_last_layers_and_without_untypical_neurons():
    settings = sizes.LayerAngles(batches=(3, 4), width=24, depth=3, seeds=2)
    data = random_networks.layer_angles(settings, images(), STREAM, NOTHING_KEPT)
    for n, seed in ((3, 1), (4, 0), (4, 1)):
        X, pairs = batch(n, STREAM.child(seed, n)), data.pair_batch.values == n
        for name, (recenter, rescale) in {"rms": (False, "rms"), "std": (False, "std"), "full": (True, "std")}.items():
            kinds = {"recenter": recenter, "rescale": rescale, "relu": True}
            for which, depth in (("before", 2), ("after", 3)):
                Z = propagate(X, 24, depth, STREAM.generator(seed, n, "weights"), **kinds)
                own = data[which].sel(normalization=name, seed=seed).values[pairs]
                close(own, angles(Z)[np.triu_indices(n, 1)], atol=1e-6)
            assert float(data.mean_angle.sel(normalization=name, batch=n, seed=seed)) == pytest.approx(own.mean())
        Z = propagate(X, 24, 3, STREAM.generator(seed, n, "weights"), recenter=False, rescale="rms", relu=True)
        order = STREAM.generator(seed, n, "neurons left out").permutation(24)
        for name, (response, most) in {
            "active on 90 percent": (0, 0.9),
            "active on 75 percent": (0, 0.75),
            "above a tenth on half": (0.1, 0.5),
            "above a tenth on two thirds": (0.1, 2 / 3),
        }.items():
            share = np.array([(row > response * row.max()).mean() for row in Z])
            cell = data.sel(untypical=name, batch=n, seed=seed)
            assert float(cell.untypical_share) == pytest.approx((share > most).mean())
            left = {"none": Z, "untypical": Z[share <= most], "random": Z[order < (share <= most).sum()]}
            for which, rest in left.items():
                silent = (rest == 0).all(axis=0).any()
                mean = np.nan if silent else angles(rest)[np.triu_indices(n, 1)].mean()
                assert float(cell.angle_without.sel(left_out=which)) == pytest.approx(mean, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("n", [6, 9])
def test_fixed_points_of_the_expected_gram_matrix(n):
    """Where an odd start ends: at the simplex up to six points, at an odd point from seven on."""
    data = random_networks.fixed_point(sizes.FixedPoint(batches=(6, 9))).sel(batch=n)
    G = np.full((n, n), np.cos(0.5 * 3 * np.pi / n) / (n - 1) ** 2)
    np.fill_diagonal(G, 1 / (n - 1) ** 2)
    G[0] = G[:, 0] = 0
    G[0, 0] = 1
    for _ in range(3000):
        G = step(G)
        G /= np.trace(G)
    simplex = np.degrees(np.arccos(step(np.eye(n))[0, 1] / step(np.eye(n))[0, 0]))
    assert float(data.simplex_angle) == pytest.approx(simplex)
    cosine = G / np.sqrt(np.outer(np.diag(G), np.diag(G)))
    inner, outer, ratio = (
        np.degrees(np.arccos(cosine[1, 2])),
        np.degrees(np.arccos(cosine[0, 1])),
        (n - 1) * np.sqrt(G[1, 1] / G[0, 0]),
    )
    close(
        [data.iterated_intra_angle, data.iterated_odd_angle, data.iterated_norm_ratio], [inner, outer, ratio], rtol=1e-5
    )
    if n == 6:
        assert inner == pytest.approx(simplex, abs=1e-3)
        assert np.isnan(data.odd_angle)
        return
    close([data.odd_intra_angle, data.odd_angle, data.odd_norm_ratio], [inner, outer, ratio], rtol=1e-5)
    assert float(data.odd_multiplier) == pytest.approx(rate(G), rel=1e-3)


def rate(G):
    """Factor by which a small change of one point against n - 1 equivalent ones shrinks per layer."""
    turned, cosines = G.copy(), []
    turned[0, 1:] *= 1 + 1e-4
    turned[1:, 0] *= 1 + 1e-4
    for _ in range(12):
        turned = step(turned)
        C = recentered(turned)
        cosines.append(C[1, 2] / C[1, 1])
    change = np.diff(cosines)
    return change[-1] / change[-2]


def test_multiplier_of_the_simplex():
    data = random_networks.fixed_point(sizes.FixedPoint(batches=(6, 9)))
    for n in (6, 9):
        assert float(data.simplex_multiplier.sel(batch=n)) == pytest.approx(abs(rate(step(np.eye(n)))), rel=1e-2)


ODD = sizes.OddPoint(batches=[4, 8], input_dim=5, width=16, seeds=2, record=[1, 4], limit_record=[1, 3])


@cache
def odd_points():
    return odd.odd_point(ODD, images(), STREAM, NOTHING_KEPT)


@pytest.mark.parametrize(("source", "n", "seed"), [("images", 4, 0), ("Gaussian", 8, 1), ("images", 8, 1)])
def test_odd_points_layer_by_layer(source, n, seed):
    stream, data = STREAM.child(seed, n), odd_points().sel(source=source, batch=n, seed=seed)
    X = batch(n, stream) if source == "images" else stream.generator("Gaussian batch").standard_normal((5, n))
    for layer in (1, 4):
        Z = propagate(X, 16, layer, STREAM.generator(source, seed, n, "weights"), **RELU)
        now, squares = data.sel(layer=layer), (Z**2).sum(axis=0)
        longest = int(np.argmax(squares))
        for name, value in scalars(Z).items():
            assert float(now[name]) == pytest.approx(value, rel=1e-9), name
        for whose, largest in (("layer", Z.max()), ("neuron", Z.max(axis=1)[:, None])):
            for name, part in (("twentieth", 0.05), ("tenth", 0.1), ("fifth", 0.2)):
                large = part * largest < Z
                share = large[:, longest].sum() / large.sum()
                assert float(now[f"above_{name}_of_{whose}"]) == pytest.approx(share)
        silent = Z[:, longest] == 0
        assert float(now.zeros_if_cluster_above) == pytest.approx((Z[silent] == 0).sum(axis=1).mean())
        assert float(now.zeros_if_cluster_below) == pytest.approx((Z[~silent] == 0).sum(axis=1).mean())
    others = np.delete(Z, longest, axis=1)
    fires = Z[:, longest] > 0
    ratio = others[fires].max(axis=1) / Z[fires, longest]
    assert float(data.fires_for_odd) == fires.mean()
    assert float(data.fires_for_odd_alone) == (ratio == 0).mean()
    assert float(data.other_to_odd) == pytest.approx(np.median(ratio))
    assert float(data.cluster_active) == pytest.approx((others[~fires] > 0).mean())
    for layer in (1, 3):
        now = data.sel(limit_layer=layer)
        for name, value in scalars(of_gram(limit(X, layer))).items():
            assert float(now[f"limit_{name}"]) == pytest.approx(value, rel=1e-5), name


def test_what_figure_3_draws_is_the_first_draw_of_images():
    data = odd_points()
    for n in (4, 8):
        X = batch(n, STREAM.child(0, n))
        both = [propagate(X, 16, depth, STREAM.generator("images", 0, n, "weights"), **RELU) for depth in (3, 4)]
        points, pairs = data.point_batch.values == n, data.pair_batch.values == n
        longest, (i, j) = int(np.argmax(np.linalg.norm(both[1], axis=0))), np.triu_indices(n, 1)
        projected = STREAM.generator(0, n, "projection").standard_normal((2, 16)) @ both[1]
        close(data.projection.values[:, points], projected / np.linalg.norm(projected, axis=0).max())
        assert data.is_odd.values[points].tolist() == [int(k == longest) for k in range(n)]
        for name, Z in zip(("before", "after"), both, strict=True):
            close(data[name].values[pairs], angles(Z)[i, j], atol=1e-6)
        assert data.with_odd.values[pairs].tolist() == [int(longest in pair) for pair in zip(i, j, strict=True)]
    close(data.leading_width, np.degrees(3 * np.pi / np.array([4, 8])))
    rests = random_networks.fixed_point(sizes.FixedPoint(batches=(8,)))
    close(data.resting_ratio, [np.nan, float(rests.odd_norm_ratio[0]) / 7])
    close(data.resting_intra_angle, [np.nan, float(rests.odd_intra_angle[0])])


def test_which_input_becomes_the_odd_point():
    settings = sizes.LargestNorm(
        batch=7, dims=[3, 6], factors=[2.0, 5.0], widths=[8, 20], depth=4, limit_depth=6, runs=2
    )
    data = odd.largest_norm(settings, images(), STREAM, NOTHING_KEPT)
    assert len(data.kind) == 5
    for kind, run in (("Gaussian, k = 3", 1), ("unit norms, one of 5", 0), ("images", 1), ("unit norms, one of 2", 1)):
        stream, cell = STREAM.child(run), data.sel(kind=kind, run=run)
        k = 3 if kind.endswith("3") else 6
        X = stream.generator("Gaussian batch", k).standard_normal((k, 7))
        if kind == "images":
            X = batch(7, stream)
        elif kind.startswith("unit"):
            X = X / np.linalg.norm(X, axis=0)
            X[:, 0] *= float(kind[-1])
        apart = np.linalg.norm(X - X.mean(axis=1, keepdims=True), axis=0)
        assert int(cell.longest) == np.argmax(np.linalg.norm(X, axis=0))
        assert [int(cell.farthest), int(cell.nearest)] == [np.argmax(apart), np.argmin(apart)]
        for width in (8, 20):
            lengths = np.linalg.norm(propagate(X, width, 4, STREAM.generator(run, width, "weights"), **RELU), axis=0)
            assert int(cell.odd.sel(width=width)) == np.argmax(lengths)
            ratio = np.sort(lengths)[-2] / lengths.max()
            assert float(cell.second_to_first.sel(width=width)) == pytest.approx(ratio)
        lengths = np.sqrt(np.diag(limit(X, 6)))
        assert int(cell.limit_odd) == np.argmax(lengths)
        assert float(cell.limit_second_to_first) == pytest.approx(np.sort(lengths)[-2] / lengths.max())


def test_shares_of_inputs_that_a_neuron_responds_to():
    data = odd.activity(sizes.Activity(batch=6, width=12, depth=3, seeds=2), images(), STREAM)
    for name, seed in (("without", 0), ("with", 1), ("with", 0)):
        kinds = {"recenter": name == "with", "rescale": "std" if name == "with" else "rms", "relu": True}
        Z = propagate(batch(6, STREAM.child(seed)), 12, 3, STREAM.generator(seed, "weights"), **kinds)
        cell = data.sel(recentering=name, seed=seed)
        for share, part in {"active": 0, "above_twentieth": 1 / 20, "above_tenth": 0.1, "above_half": 0.5}.items():
            close(cell[share], [((row > part * row.max()) & (row > 0)).mean() for row in Z])
        close(cell.above_fifth, [((row > 0.2 * row.max()) & (row > 0)).mean() for row in Z])
        if seed == 0:
            order = np.argsort((Z > 0).mean(axis=1), kind="stable")
            row = Z[order[-1] if name == "without" else order[6]]
            close(cell.response, row / row.max())


def test_expected_shares_of_active_inputs():
    """Without recentering Phi(sqrt(c) g / sqrt(1 - c)), c the cosine at rest; with it nearly normal about one half."""
    data = odd.activity(sizes.Activity(batch=6, width=12, depth=3, seeds=2), images(), STREAM)

    def rest(c):
        """Cosine after a layer with rescaling by RMS over infinitely many points of cosine c."""

        def mean(g):
            m, s = np.sqrt(c) * g, np.sqrt(1 - c)
            return m * norm.cdf(m / s) + s * norm.pdf(m / s)

        return quad(lambda g: 2 * mean(g) ** 2 / (c * g**2 + 1 - c) * norm.pdf(g), -12, 12)[0]

    c = 0.5
    for _ in range(60):
        c = rest(c)
    odds = np.sqrt((1 - c) / c)
    assert float(data.expected_above_90) == pytest.approx(norm.sf(odds * norm.ppf(0.9)), rel=1e-4)
    edges = np.linspace(0, 1, 51)
    close(data.bin, edges[:-1])
    close(data.expected.sel(recentering="without"), np.diff(norm.cdf(odds * norm.ppf(edges))), rtol=1e-4)
    shares = data.expected.sel(recentering="with").values
    assert shares[24] == pytest.approx(shares[25])
    assert shares.argmax() in (24, 25)


def test_waits_of_symmetric_batches():
    settings = sizes.SymmetricBatch(batches=[7, 8], widths=[8, 16], runs=12, depth=6, far=10.0)
    data = symmetric_batch.symmetric_batch(settings, STREAM, NOTHING_KEPT)
    starts = {"equal angles": lambda n: np.eye(n), "one point far": lambda n: np.diag([10.0, *np.ones(n - 1)])}
    for start, n, width, run in (("equal angles", 7, 8, 11), ("one point far", 8, 16, 3), ("equal angles", 8, 8, 0)):
        X, weights, wait = starts[start](n), STREAM.generator(run, n, width, "weights"), {}
        for layer in range(1, 7):
            X = propagate(X, width, 1, weights, **RELU)
            lengths = np.sort(np.linalg.norm(X, axis=0))
            for factor in (2.0, 4.0):
                if lengths[-1] >= factor * lengths[-2]:
                    wait.setdefault(factor, layer)
            if len(wait) == 2:
                break
        cell = data.sel(start=start, batch=n, width=width, run=run)
        assert cell.wait.values.tolist() == [wait.get(2.0, 7), wait.get(4.0, 7)]
        assert int(cell.odd) == np.argmax(np.linalg.norm(X, axis=0))
    for start, make in starts.items():
        ratios = []
        for layer in range(1, 7):
            lengths = np.sort(np.sqrt(np.diag(limit(make(7), layer))))
            ratios.append(lengths[-1] / lengths[-2])
        wanted = [next((k + 1 for k, ratio in enumerate(ratios) if ratio >= factor), 7) for factor in (2, 4)]
        assert data.wait_in_the_limit.sel(start=start, batch=7).values.tolist() == wanted
    circle = symmetric_batch._batch("circle", 5, 10.0)
    close(circle.T @ circle, np.cos(2 * np.pi * (np.arange(5)[:, None] - np.arange(5)) / 5), atol=1e-12)


SMALL = {
    "ablation": (
        sizes.Ablation(batch=16, width=128, depth=60, seeds=3, record=(0, 1, 60)),
        *(random_networks.ablation, images(), STREAM, NOTHING_KEPT),
    ),
    "recentering_depth": (
        sizes.RecenteringDepth(batch=5, width=16, depth=6, seeds=2),
        *(random_networks.recentering_depth, images(), STREAM),
    ),
    "orthogonality_gap": (
        sizes.OrthogonalityGap(batch=4, input_dim=6, widths=(16, 64), depth=40, seeds=3),
        *(random_networks.orthogonality_gap, STREAM),
    ),
    "layer_angles": (
        sizes.LayerAngles(batches=(4, 9), width=64, depth=6, seeds=3),
        *(random_networks.layer_angles, images(), STREAM, NOTHING_KEPT),
    ),
}


@cache
def small(name, **changes):
    settings, function, *arguments = SMALL[name]
    return function(settings.model_copy(update=changes), *arguments)


@pytest.mark.parametrize("name", SMALL)
def test_a_further_seed_leaves_the_numbers_of_the_others(name):
    few, more = small(name), small(name, seeds=SMALL[name][0].seeds + 1)
    xr.testing.assert_identical(more.isel(seed=slice(few.sizes["seed"])), few)


@pytest.mark.parametrize(
    ("name", "changes", "choice"),
    [
        ("ablation", {"record": (0, 1, 7, 60)}, {"layer": [0, 1, 60]}),
        ("recentering_depth", {"depth": 8}, {"layer": [1, 2, 3, 4, 5, 6]}),
        ("orthogonality_gap", {"widths": (8, 16, 64)}, {"width": [16, 64]}),
        ("orthogonality_gap", {"depth": 45}, {"layer": range(41)}),
        ("layer_angles", {"batches": (3, 4, 9)}, {"batch": [4, 9]}),
    ],
)
def test_more_layers_widths_or_batches_leave_the_numbers_of_the_others(name, changes, choice):
    few, more = small(name), small(name, **changes)
    if name == "layer_angles":
        few, more = few.drop_dims("pair"), more.drop_dims("pair")
    xr.testing.assert_equal(more.sel(choice), few)


def test_with_recentering_both_rescalings_are_one():
    """The deviation from a mean of zero is the root mean square, so with shared weights nothing may differ.

    Differences are rounding errors carried through 60 layers; unpaired weights would differ by degrees.
    """
    recentered = small("ablation")["angle"].sel(recenter=1)
    np.testing.assert_allclose(recentered.sel(rescale="std"), recentered.sel(rescale="rms"), atol=1e-6)
    assert float(abs(recentered.sel(seed=0) - recentered.sel(seed=1)).max()) > 1


def test_recentering_and_relu_alone_make_an_odd_point():
    last = small("ablation").isel(layer=-1).median("seed")
    odd = last.sel(recenter=1, rescale="none", relu=1)
    assert float(odd["second_to_first"]) < 0.25
    assert abs(float(odd["odd_angle"]) - 90) < 5
    assert float(odd["intra_angle"]) < 60
    ratio = last["second_to_first"].copy(deep=True)
    ratio.loc[{"recenter": 1, "rescale": "none", "relu": 1}] = 1
    assert float(ratio.min()) > 0.5


def test_a_batch_is_distinct_images_as_columns():
    X = random_networks.image_batch(images(), 12, Stream(1))
    flat = images()["image"].values.reshape(40, 12)
    chosen = [int(np.flatnonzero((flat == column).all(axis=1))[0]) for column in X.T]
    assert X.shape == (12, 12)
    assert len(set(chosen)) == 12
    assert chosen == sorted(chosen)
