"""Trainings on data sets recomputed by autograd: XOR, blobs, digits; structures by hand, each run its own settings."""

from functools import cache, partial
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import xarray as xr
from tests.universality.reference import layers

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.universality.experiments import images
from repdyn.universality.experiments.blob_structure import blob_structure
from repdyn.universality.experiments.blobs import blobs
from repdyn.universality.experiments.digits import _resampled_variables, representational_structure, taylor_ratios
from repdyn.universality.experiments.images import image_training
from repdyn.universality.experiments.xor import xor, xor_gains
from repdyn.universality.experiments.xor_structure import xor_structure
from repdyn.universality.methods import minibatch_loop
from repdyn.universality.methods.blob_task import blob_images
from repdyn.universality.settings import data_sets as sizes

STREAM = Stream(18, ("universality", "data sets"))
NOTHING_KEPT = Checkpoint(None, "")
close = np.testing.assert_allclose


def network(kind=sizes.TrainedNetwork, **changes):
    row = {"nonlinearity": "leaky relu", "gain": 1.0, "rate": 0.05, "epochs": 6, "units": 5, "hidden": 2}
    return kind(**(row | {"optimizer": "sgd"} | changes))


def trained(net, X, Y, trial, epochs, factor, batch=None):
    """Activations of all layers after the given numbers of epochs, float64."""
    source = STREAM.generator("weights", trial)
    widths = [X.shape[1], *[net.units] * net.hidden, Y.shape[1]]
    parts = []
    for fan_in, fan_out in pairwise(widths):
        W = source.standard_normal((fan_out, fan_in)) * net.gain * np.sqrt(2 / (fan_in + fan_out))
        parts += [torch.tensor(W, requires_grad=True), torch.zeros(fan_out, dtype=torch.float64, requires_grad=True)]
    optimizer = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[net.optimizer](parts, lr=net.rate)
    X, Y = torch.tensor(X, dtype=torch.float64), torch.tensor(Y, dtype=torch.float64)
    through = partial(layers, net.nonlinearity, parts[::2], parts[1::2])
    looks = {}
    for epoch in range(max(epochs) + 1):
        if epoch in epochs:
            looks[epoch] = [part.detach().numpy().copy() for part in through(X)]
        if batch is None or batch >= len(X):
            order = np.arange(len(X))
        else:
            order = STREAM.generator("order", trial, epoch).permutation(len(X))
        for first in range(0, len(X), batch or len(X)):
            chosen = torch.from_numpy(order[first : first + (batch or len(X))])
            optimizer.zero_grad()
            (factor * ((through(X[chosen])[-1] - Y[chosen]) ** 2).mean()).backward()
            optimizer.step()
    return looks, parts


def apart(a):
    return ((a[:, None] - a[None]) ** 2).sum(axis=-1)


CORNERS, ANSWERS = np.array([[0, 0], [1, 0], [0, 1], [1, 1.0]]), np.array([[0], [1], [1], [0.0]])


@cache
def xor_settings():
    changes = {"gain": (1.2, 0.6, 1.0, 0.8), "rate": (0.1, 0.2, 0.05, 0.02), "epochs": (8, 12, 20, 16)}
    runs = {}
    for place, name in enumerate(sizes.XorRuns.model_fields):
        own = {key: values[place % 4] for key, values in changes.items()}
        runs[name] = network(optimizer="adam" if "adam" in name else "sgd", units=5, hidden=2, **own)
    return sizes.Xor(trials=2, looks=5, runs=sizes.XorRuns(**runs))


@cache
def xors():
    return xor(xor_settings(), STREAM, "cpu", NOTHING_KEPT)


@pytest.mark.parametrize("name", list(sizes.XorRuns.model_fields))
def test_every_run_of_xor_has_its_settings(name):
    net, data = getattr(xor_settings().runs, name), xors().sel(run=name)
    for key in ("gain", "rate", "units", "hidden", "optimizer", "nonlinearity"):
        assert data[key].item() == getattr(net, key)
    epochs = [round(part * net.epochs / 4) for part in range(5)]
    assert data.epoch.values.tolist() == epochs
    for trial in (0, 1):
        looks, _ = trained(net, CORNERS, ANSWERS, trial, epochs, 1.0)
        for look, epoch in enumerate(epochs):
            cell, (_, hidden, out) = data.isel(trial=trial, look=look), looks[epoch]
            close(cell.h, apart(hidden), rtol=2e-3, atol=1e-5)
            close(cell.y, apart(out), rtol=2e-3, atol=1e-5)
            close(cell.loss, ((out - ANSWERS) ** 2).mean(), rtol=1e-3)
    close(data.dx, np.sqrt(apart(CORNERS)))
    close(data.dy, np.sqrt(apart(ANSWERS)))


def test_structure_of_xor_by_hand():
    rates = xr.Dataset(
        {"eta_h": (("network", "seed"), [[0.2, 0.8], [9, 9]]), "eta_y": (("network", "seed"), [[1.0, 4.0], [1, 1]])},
        {"network": ["default", "other"]},
    )
    data, stored = xor_structure(xors(), rates), xors()
    close(data.rho, np.sqrt(0.2 * 0.2))
    close(data.plateau, 0.25)
    unequal, rows, columns = apart(ANSWERS) > 0, *np.triu_indices(4, 1)
    for run, trial in ((0, 1), (2, 0)):
        cell, own = data.isel(run=run, trial=trial), stored.isel(run=run, trial=trial)
        start, end = np.sqrt(own.h.isel(look=0).values), np.sqrt(own.h.isel(look=-1).values)
        theory = {}
        for name, dy2 in (("own", apart(ANSWERS)), ("other", apart(CORNERS[:, :1]))):
            h0, y0, dx2 = start**2 + np.eye(4), own.y.isel(look=0).values, apart(CORNERS)
            high = h0 - 0.2 * dx2 * y0 / h0
            theory[name] = np.sqrt((high + np.sqrt(high**2 + 4 * 0.2 * dx2 * dy2)) / 2) * (1 - np.eye(4))
        close(cell.distance, end)
        close(cell.theory, theory["own"], rtol=1e-5, atol=1e-7)
        pairs = [(0, 3), (1, 2)]
        close(cell.merged, [end[pair] / end[unequal].mean() for pair in pairs])
        close(cell.growth_equal, [end[pair] / start[pair] for pair in pairs])
        close(cell.growth_apart, end[unequal].mean() / start[unequal].mean())
        for name, first, second in (
            ("match", end, theory["own"]),
            ("match_at_start", start, theory["own"]),
            ("match_other_task", end, theory["other"]),
        ):
            close(cell[name], np.corrcoef(first[rows, columns], second[rows, columns])[0, 1], atol=1e-6)
        close(cell.scale, end.sum() / theory["own"].sum(), rtol=1e-5)
        close(cell.scale_not_rooted, end.sum() / (theory["own"] ** 2).sum(), rtol=1e-5)
        loss = float(own.loss[-1])
        close(cell.loss, loss)
        assert int(cell.learned) == (loss < 0.04 * 0.25)


BLOBS = sizes.BlobTraining(trials=2, batch=7, positions=5, pixels=3, looks=3)


@cache
def blobbed(name):
    changes = {"bright": {"brightness": 4.0}, "plain": {"brightness": 1.0, "gain": 0.6, "rate": 0.1, "epochs": 4}}
    net = network(sizes.BlobNetwork, **{"nonlinearity": "tanh", "hidden": 4} | changes[name])
    return net, blobs(BLOBS, net, STREAM, "cpu", NOTHING_KEPT, name)


@pytest.mark.parametrize(("name", "trial"), [("bright", 1), ("plain", 0)])
def test_blobs_are_trained_in_batches_by_autograd(name, trial):
    net, data = blobbed(name)
    X, Y, features = blob_images(5, 3)
    X[:, :9] *= net.brightness
    epochs = data.epoch.values.tolist()
    assert epochs == [0, net.epochs // 2, net.epochs]
    looks, _ = trained(net, X, Y, trial, epochs, 0.5, batch=7)
    close(data.h[trial], looks[net.epochs][2], atol=1e-4)
    for look, epoch in enumerate(epochs):
        close(data.loss[look, trial], 0.5 * ((looks[epoch][-1] - Y) ** 2).mean(), rtol=1e-4)
    close(data.feature, features[:, :2])
    close(data.context, features[:, 2])
    for key in ("gain", "rate", "hidden", "epochs", "brightness"):
        assert data[key].item() == getattr(net, key)


def test_structure_of_blobs_by_hand():
    runs = {name: blobbed(name)[1] for name in ("bright", "plain")}
    data = blob_structure(sizes.BlobStructure(method="classical", shown=20), runs)
    features = runs["plain"].feature.values
    plateau = 0.5 * (features**2).mean()
    close(data.plateau, plateau)
    for name in runs:
        logs = []
        for trial in (0, 1):
            h, context = runs[name].h.values[trial].astype(float), runs[name].context.values
            ratios, along, middles = [], [], []
            for c in (0, 1):
                own, where = h[context == c], features[context == c]
                spread = {}
                for axis in (0, 1):
                    means = np.array([own[where[:, axis] == v].mean(axis=0) for v in np.unique(where[:, axis])])
                    spread[axis] = ((means - own.mean(axis=0)) ** 2).sum(axis=1).mean()
                    if axis == c:
                        middles.append(means)
                ratios.append(spread[1 - c] / spread[c])
                along.append(spread[c])
            cell = data.sel(run=name, trial=trial)
            close(cell.collapse, ratios, rtol=1e-5)
            close(cell.between, ((middles[0] - middles[1]) ** 2).sum(axis=1).mean() / np.mean(along), rtol=1e-5)
            loss = float(runs[name].loss[-1, trial])
            close(cell.loss, loss)
            assert int(cell.learned) == (loss < 0.04 * plateau)
            logs.append(np.log(ratios).mean() if loss < 0.04 * plateau else np.nan)
        close(data.typical_collapse.sel(run=name), np.exp(np.nanmean(logs)) if np.isfinite(logs).any() else np.nan)
        h = runs[name].h.values[0][data.point.values].astype(float)
        s = np.linalg.svd(h - h.mean(axis=0))[1]
        close(data.share.sel(run=name), (s[:3] ** 2).sum() / (s**2).sum(), rtol=1e-5)
        close((data.picture.sel(run=name).values ** 2).sum(axis=0), s[:3] ** 2, rtol=1e-4)
        assert float(data.gain.sel(run=name)) == blobbed(name)[0].gain
    X = blob_images(5, 3)[0]
    close(data.input_between, np.linalg.norm(X[0] - X[25]))
    grid = X[:25].reshape(5, 5, -1)
    along = max(np.linalg.norm(grid[i, k] - grid[j, k]) for i in range(5) for j in range(5) for k in range(5))
    close(data.input_along, along)
    close(data.gallery[1, 3], grid[1, 3, :9].reshape(3, 3))


@cache
def pictures():
    rng = np.random.default_rng(2)
    labels = np.tile(np.arange(10), 6)
    shown = rng.uniform(size=(10, 4, 4))[labels] + 0.2 * rng.uniform(size=(60, 4, 4))
    data = xr.Dataset({"image": (("point", "row", "column"), shown), "label": ("point", labels)})
    return data.assign_attrs(source="made up")


@cache
def image_settings():
    common = {"nonlinearity": "leaky relu", "gain": 1.0, "units": 6, "hidden": 2}
    runs = sizes.ImageRuns(
        sgd=sizes.ImageNetwork(**common, rate=0.3, optimizer="sgd", steps=16),
        adam=sizes.ImageNetwork(**common, rate=0.02, optimizer="adam", steps=12),
    )
    return sizes.Images(
        trials=2,
        batch=16,
        tracked=20,
        pairs=2,
        stored_steps=(0, 8, 16),
        parameters_at=(0, 16),
        parameters_of=2,
        runs=runs,
    )


def on_digits(run, checkpoint=NOTHING_KEPT):
    settings = image_settings()
    return image_training(settings, getattr(settings.runs, run), pictures(), STREAM, "cpu", checkpoint, run)


digit_run = cache(on_digits)


@pytest.mark.parametrize(("run", "trial"), [("sgd", 1), ("adam", 0)])
def test_digits_are_watched_pair_by_pair(run, trial):
    flat = pictures().image.values.reshape(60, 16)
    X, labels = (flat - flat.mean()) / flat.std(), pictures().label.values
    Y, data, net = np.eye(10)[labels], digit_run(run), getattr(image_settings().runs, run)
    epochs = list(range(data.sizes["epoch"]))
    assert len(epochs) == {"sgd": 5, "adam": 4}[run]
    looks, parts = trained(net, X, Y, trial, epochs, 0.5, batch=16)
    source = STREAM.generator("pairs", trial)
    for kind, (digit, other) in {"dissimilar": (0, 1), "similar": (3, 8), "same": (0, 0)}.items():
        for pair in (0, 1):
            first = source.choice(np.flatnonzero(labels == digit))
            second = source.choice([k for k in np.flatnonzero(labels == other) if k != first])
            cell = data.sel(kind=kind).isel(trial=trial, pair=pair)
            close([cell.dx2, cell.dy2], [((X[second] - X[first]) ** 2).sum(), ((Y[second] - Y[first]) ** 2).sum()])
            for epoch in (0, epochs[-1]):
                hidden, out = looks[epoch][1], looks[epoch][-1]
                dh, dy, wanted = (part[second] - part[first] for part in (hidden, out, Y))
                now = cell.isel(epoch=epoch)
                close([now.h, now.y, now.w], [dh @ dh, dy @ dy, dy @ (dy - wanted)], rtol=1e-3, atol=1e-5)
    for look, epoch in enumerate(data.look.values):
        hidden, out = looks[epoch][1], looks[epoch][-1]
        cell = data.isel(look=look, trial=trial)
        close(cell.representation, hidden[:20], atol=1e-4)
        close(cell.loss, 0.5 * ((out - Y) ** 2).mean(), rtol=1e-4)
        close(cell.accuracy, (out.argmax(axis=1) == labels).mean(), atol=1e-9)
    assert data.look.values.tolist() == ([0, 2, 4] if run == "sgd" else [0, 3])
    if run == "sgd":
        before = STREAM.generator("weights", trial).standard_normal((6, 16)) * np.sqrt(2 / 22)
        close(data.parameters[0, trial, :96], before.ravel(), atol=1e-6)
        assert data["pass"].values.tolist() == [0, 4]
    assert len(parts) == 6


def test_structure_of_digits_by_hand():
    settings = sizes.RepresentationalStructure(length_scales=(0.5, 2.0), resamples=100)
    trained_runs = {run: digit_run(run) for run in ("sgd", "adam")}
    data = representational_structure(settings, STREAM, pictures(), trained_runs)
    labels = pictures().label.values
    raw = 255 * pictures().image.values.reshape(60, 16)
    near = np.sqrt(apart(raw)) * np.sqrt(2) * (labels[:, None] != labels)
    order = np.argsort(labels[:20], kind="stable")
    shown = labels[:20][order]
    np.testing.assert_array_equal(data.label, shown)
    member = np.eye(10)[labels]
    sums, count = member.T @ near @ member, member.sum(axis=0)
    predicted = {
        "class mean": (sums / np.outer(count, count))[np.ix_(shown, shown)],
        "pair alone": near[:20, :20][np.ix_(order, order)],
        "labels alone": (shown[:, None] != shown).astype(float),
    }
    for name, values in predicted.items():
        close(data.predicted.sel(prediction=name), values, rtol=1e-6, atol=1e-5)
    off = shown[:, None] != shown
    for run, stored in trained_runs.items():
        each = [apart(h[order]) for h in stored.representation.values[-1].astype(float)]
        close(data.measured.sel(run=run), np.mean(each, axis=0), rtol=1e-4, atol=1e-5)
        for name, values in predicted.items():
            cell = data.sel(run=run, prediction=name)
            for trial in (0, 1):
                own = np.corrcoef(values.ravel(), each[trial].ravel())[0, 1]
                close(cell.correlation.sel(part="all entries", trial=trial), own, atol=1e-5)
                if name != "labels alone":
                    own = np.corrcoef(values[off], each[trial][off])[0, 1]
                    close(cell.correlation.sel(part="between classes", trial=trial), own, atol=1e-5)
            own = np.corrcoef(values.ravel(), np.mean(each, axis=0).ravel())[0, 1]
            close(cell.correlation_of_mean.sel(part="all entries"), own, atol=1e-5)
        close(data.accuracy.sel(run=run), stored.accuracy.values[-1])
    before = np.mean([apart(h[order]) for h in trained_runs["sgd"].representation.values[0].astype(float)], axis=0)
    own = np.corrcoef(predicted["pair alone"].ravel(), before.ravel())[0, 1]
    close(data.correlation_of_mean_untrained.sel(prediction="pair alone", part="all entries"), own, atol=1e-5)
    unit = near[:20].sum() / (near[:20] > 0).sum()
    for scale in (0.5, 2.0):
        weight = np.exp(-near[:20] / (scale * unit))
        weighed = (weight @ near @ weight.T / np.outer(weight.sum(axis=1), weight.sum(axis=1)))[np.ix_(order, order)]
        own = np.corrcoef(weighed.ravel(), data.measured.sel(run="adam").values.ravel())[0, 1]
        close(data.correlation_by_scale.sel(scale=scale, run="adam", part="all entries"), own, atol=1e-4)
    close(data.least_exponent, near[near > 0].min(), rtol=1e-6)
    close(
        data.resampled.sel(run="sgd", prediction="pair alone", part="all entries").median(),
        data.correlation_of_mean.sel(run="sgd", prediction="pair alone", part="all entries"),
        atol=0.15,
    )


def test_taylor_ratios_by_hand():
    data = taylor_ratios(sizes.TaylorRatios(pairs=50, bins=5), STREAM, pictures(), {"sgd": digit_run("sgd")})
    flat = pictures().image.values.reshape(60, 16)
    X = (flat - flat.mean()) / flat.std()
    widths = [16, 6, 6, 10]
    for trial, look in ((0, 1), (1, 0)):
        theta = digit_run("sgd").parameters.values[look, trial].astype(float)
        maps, place = [], 0
        for fan_in, fan_out in pairwise(widths):
            W = theta[place : place + fan_in * fan_out].reshape(fan_out, fan_in)
            place += fan_in * fan_out
            maps.append((W, theta[place : place + fan_out]))
            place += fan_out

        def encoder(x, maps=maps):
            for W, b in maps[:2]:
                x = x @ W.T + b
                x = np.where(x > 0, x, 0.01 * x)
            return x

        def decoder(h, maps=maps):
            return h @ maps[2][0].T + maps[2][1]

        source = STREAM.generator(trial)
        first = source.integers(0, 60, 50)
        second = (first + source.integers(1, 60, 50)) % 60
        a, b = X[first], X[second]
        distance = np.linalg.norm(encoder(a) - encoder(b), axis=1)
        step = 1e-6
        middle, half = (a + b) / 2, (a - b) / 2
        slope = (encoder(middle + step * half) - encoder(middle - step * half)) / (2 * step)
        curved = (encoder(a) + encoder(b)) / 2 - encoder(middle)
        ratio = np.linalg.norm(slope, axis=1) / np.maximum(np.linalg.norm(curved, axis=1), 1e-300)
        bins = np.array_split(np.argsort(distance), 5)
        cell = data.isel(look=look, network=trial)
        close(cell.distance, [distance[chosen].mean() for chosen in bins], rtol=1e-5)
        close(cell.ratio.sel(map="encoder"), [np.median(ratio[chosen]) for chosen in bins], rtol=1e-3)
        assert decoder(encoder(a)).shape == (50, 10)
    close(data.progress, [0, 0.3 * 16])


def test_pairs_of_classes_are_redrawn_alike_before_and_after_training():
    """Of networks that training leaves as they were, so that both have the same correlations."""
    draw = np.random.default_rng(3)
    predicted, distances = ([values + values.T for values in draw.uniform(size=(2, 8, 8))] for _ in range(2))
    labels, settings = np.arange(8) % 4, SimpleNamespace(resamples=6)
    mean = {"sgd": distances[0], "adam": distances[1]}
    drawn = _resampled_variables(predicted, mean, distances[0], labels, settings, Stream(1, ("universality", "digits")))
    trained, untrained = drawn["resampled"].values, drawn["resampled_untrained"].values
    np.testing.assert_array_equal(untrained, trained[0])
    assert not np.allclose(trained[0], trained[1], equal_nan=True)


def test_more_gains_start_from_the_draws_of_xor():
    gain = xor_settings().runs.adam_intermediate.gain
    more = sizes.XorGains(gains=(gain, gain + 0.4))
    scan = xor_gains(more, xor_settings(), STREAM.of("xor_gains"), "cpu", NOTHING_KEPT)
    usual = xor(xor_settings(), STREAM.of("xor"), "cpu", NOTHING_KEPT).sel(run="adam_intermediate")
    assert scan["gain"].values.tolist() == [gain, gain + 0.4]
    for name in ("h", "y", "loss"):
        assert np.array_equal(scan[name].isel(run=0), usual[name])
        assert not np.array_equal(scan[name].isel(run=1), usual[name])


def test_a_part_of_the_images_at_a_time_gives_the_same_means(monkeypatch):
    whole = digit_run("sgd")
    monkeypatch.setattr(images, "PART", 25)
    again = on_digits("sgd")
    for name in ("loss", "representation"):
        close(again[name], whole[name], rtol=1e-5, atol=1e-6)
    assert np.array_equal(again["accuracy"], whole["accuracy"])


def test_training_resumes_bit_for_bit(tmp_path, monkeypatch):
    """A run that is killed half-way, with its state on disk, ends like an uninterrupted one."""
    whole = digit_run("sgd")
    monkeypatch.setattr(minibatch_loop, "KEPT_EVERY", 0.0)

    class KilledError(Exception):
        pass

    def dies(trainer, stream, passes, batch):
        if 2 in passes:
            raise KilledError
        return orders(trainer, stream, passes, batch)

    orders = minibatch_loop._orders
    monkeypatch.setattr(minibatch_loop, "_orders", dies)
    with pytest.raises(KilledError):
        on_digits("sgd", Checkpoint(tmp_path, "x"))
    seen = []
    monkeypatch.setattr(minibatch_loop, "_orders", lambda *arguments: seen.append(arguments[2]) or orders(*arguments))
    again = on_digits("sgd", Checkpoint(tmp_path, "x"))
    assert seen[0] == range(2, 3)
    xr.testing.assert_identical(whole, again)
