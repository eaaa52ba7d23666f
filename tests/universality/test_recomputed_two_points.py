"""Two points recomputed by autograd in float64: trajectories, grids of distances, fits, predictions, theory maps."""

from functools import cache

import numpy as np
import pytest
import scipy
import torch
import xarray as xr
from tests.universality.reference import layers

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.universality.experiments import final_predictions, fits, theory_maps, two_points
from repdyn.universality.methods.power_laws import fit_power_law
from repdyn.universality.settings import two_points as sizes
from repdyn.universality.theory import effective
from repdyn.universality.theory.alternatives import ALTERNATIVES

NOTHING_KEPT = Checkpoint(None, "")
RUN = {"seeds": 2, "epochs": 60, "every": 10, "stop": 1e-12, "dtype": "float64", "engine": "auto"}
ROW = {"connections": "dense", "units": 6, "hidden": 2, "dropout": 0.0, "channels": 1, "kernel": 1}
ROWS = {
    "default": {"nonlinearity": "leaky relu", "gain": 0.8, "learning_rate": 0.1},
    "shallow": {"nonlinearity": "tanh", "gain": 1.2, "learning_rate": 0.2, "hidden": 3, "units": 5},
    "linear": {"nonlinearity": "none", "gain": 0.9, "learning_rate": 0.05},
}
NETWORKS = {name: sizes.NetworkSettings(**ROW | row) for name, row in ROWS.items()}
OWN = Stream(17, ("universality", "two points"))
close = np.testing.assert_allclose


def stream(name):
    return Stream(17, ("universality", name))


def begin(row, generator):
    """Weights N(0, gain^2 2/(fan in + fan out)), biases 0: first, between, last."""
    n, gain = row.units, row.gain
    drawn = [generator.standard_normal((n, 1)) * np.sqrt(2 / (n + 1))]
    drawn += list(generator.standard_normal((row.hidden - 1, n, n)) / np.sqrt(n))
    drawn.append(generator.standard_normal((1, n)) * np.sqrt(2 / (n + 1)))
    weights = [torch.tensor(gain * W, requires_grad=True) for W in drawn]
    biases = [torch.zeros(len(W), dtype=torch.float64, requires_grad=True) for W in weights]
    return weights, biases


def trained(name, generator, dx, dy, rate, epochs=60, every=10, adam=False):
    """Records before every tenth update: h of each layer, y, w, loss, squared distance of the means."""
    row = NETWORKS[name]
    weights, biases = begin(row, generator)
    X, Y = (torch.tensor([[first], [first + by]], dtype=torch.float64) for first, by in ((-1.0, dx), (0.6, dy)))
    optimizer = (torch.optim.Adam if adam else torch.optim.SGD)([*weights, *biases], lr=rate)
    records = []
    for epoch in range(epochs):
        *hidden, out = layers(row.nonlinearity, weights, biases, X)
        loss = 0.5 * ((out - Y) ** 2).sum(dim=1).mean()
        if epoch % every == 0:
            o, target = out.detach().numpy(), Y.numpy()
            moved = o[1] - o[0]
            h = [((layer[1] - layer[0]) ** 2).sum().item() for layer in hidden]
            w = moved @ (moved - (target[1] - target[0]))
            offset = ((o.mean(axis=0) - target.mean(axis=0)) ** 2).sum()
            records.append((h, moved @ moved, w, loss.item(), offset))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [np.array(part) for part in zip(*records, strict=True)]


def agree(cell, records, layer):
    h, y, w, loss, offset = records
    n = min(len(y), cell.sizes["epoch"])
    ended = np.flatnonzero(loss < 1e-12)
    n = min(n, ended[0] + 1) if len(ended) else n  # the last record of a trial that stops stands for the rest
    for name, values in {"h": h[:, layer], "y": y, "w": w, "loss": loss, "offset2": offset}.items():
        close(cell[name].values[:n], values[:n], rtol=1e-8, atol=1e-13, err_msg=name)


@cache
def architectures():
    settings = sizes.Architectures(rows=tuple(ROWS), **RUN)
    return two_points.architectures(settings, NETWORKS, stream("architectures"), "cpu", NOTHING_KEPT)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("seed", [0, 1])
def test_networks_of_table_1(name, seed):
    """Targets 0.6 and 0.6 + sqrt(1/2), inputs -1 and 0; the hidden layer halfway."""
    row, cell = NETWORKS[name], architectures().sel(network=name, seed=seed)
    records = trained(name, OWN.generator(seed, "weights"), 1.0, np.sqrt(0.5), row.learning_rate)
    agree(cell, records, row.hidden // 2)
    close([cell.dx2, cell.dy2], [1, 0.5])
    close(
        [cell.gain, cell.learning_rate, cell.units, cell.hidden], [row.gain, row.learning_rate, row.units, row.hidden]
    )


def test_all_layers_adam_and_printed_distances():
    default = two_points.default_network(
        sizes.DefaultNetwork(units=6, **RUN), NETWORKS["default"], stream("d"), "cpu", NOTHING_KEPT
    )
    ensemble = two_points.default_ensemble(
        sizes.DefaultEnsemble(units=6, **RUN), NETWORKS["default"], stream("e"), "cpu", NOTHING_KEPT
    )
    records = trained("default", OWN.generator(1, "weights"), 1.0, np.sqrt(0.5), 0.1)
    for data in (default, ensemble):
        for layer in (0, 1):
            agree(data.sel(seed=1, layer=layer), records, layer)
        close([data.units, data.gain, data.halfway], [6, 0.8, 1])
    adam = two_points.adam_runs(
        sizes.AdamRuns(rates=(0.01, 0.03), **RUN), NETWORKS["default"], stream("a"), "cpu", NOTHING_KEPT
    )
    for at, rate in enumerate((0.01, 0.03)):
        records = trained("default", OWN.generator(0, "weights"), 1.0, np.sqrt(0.5), rate, adam=True)
        agree(adam.isel(rate=at).sel(seed=0), records, 1)
    printed = two_points.printed_data(
        sizes.PrintedData(rows=("shallow", "linear"), dx=0.5, dy=0.7, **RUN), NETWORKS, stream("p"), "cpu", NOTHING_KEPT
    )
    for name in ("shallow", "linear"):
        row = NETWORKS[name]
        records = trained(name, OWN.generator(1, "weights"), 0.5, 0.7, row.learning_rate)
        agree(printed.sel(network=name, seed=1), records, row.hidden // 2)


GRID = sizes.FinalDistances(
    rows=("shallow", "default"), dx=(0.5, 1.0), dy=(0.4, 0.8), converged=0.05, slower=2.0, **RUN
)


@cache
def grid():
    return two_points.final_distances(GRID, NETWORKS, stream("final"), NOTHING_KEPT)


@pytest.mark.parametrize(("name", "i", "j", "seed"), [("default", 0, 1, 0), ("shallow", 1, 0, 1), ("default", 1, 1, 1)])
def test_every_cell_of_the_grid_has_different_weights(name, i, j, seed):
    """Key (two points, place of dx, place of dy); rates are divided by `slower`."""
    row, cell = NETWORKS[name], grid().isel(dx=i, dy=j).sel(network=name, seed=seed)
    dx, dy = (0.5, 1.0)[i], (0.4, 0.8)[j]
    own = Stream(17, ("universality", "two points", i, j)).generator(seed, "weights")
    h, y, _, loss, _ = trained(name, own, dx, dy, row.learning_rate / 2)
    middle = row.hidden // 2
    close([cell.h0, cell.y0], [h[0, middle], y[0]], rtol=1e-8)
    last = -1 if len(loss) == 6 else len(loss) - 1
    close([cell.h_end, cell.loss_end], [h[last, middle], loss[last]], rtol=1e-8)
    assert float(cell.epochs) == 50
    close([cell.dx, cell.dy], [dx, dy])


def made(dim, names, rates=((0.002, 0.03), (0.004, 0.02)), count=61):
    """Solutions of the theory at two pairs of rates for each name; the last trial has not converged."""
    t = 20.0 * np.arange(count)
    runs = []
    for k in range(len(names)):
        for eta_h, eta_y in ((1 + 0.5 * k) * np.array(rates)).tolist():
            h, y, w = effective.effective_solution(t, 0.05, 0.01, 0.01 - 0.04, eta_h, eta_y, 1.0, 0.5)
            offset = 0.3 * np.exp(-0.006 * (1 + k) * t)
            loss = offset / 2 + (2 * w - y + 0.5) / 8
            runs.append((h, y, w, loss, offset))
    parts = np.array(runs).reshape(len(names), len(rates), 5, count).transpose(2, 0, 1, 3)
    variables = {
        name: ((dim, "seed", "epoch"), values.copy())
        for name, values in zip(("h", "y", "w", "loss", "offset2"), parts, strict=True)
    }
    data = xr.Dataset(variables, {dim: list(names), "seed": range(len(rates)), "epoch": t})
    return data.assign(dx2=1.0, dy2=0.5)


def test_fits_find_their_rates_trial_by_trial():
    data = made("network", ["default", "shallow"])
    data["loss"][1, 1, -1] = 1.0
    found = fits.architecture_fits(sizes.Fits(converged=0.01), data, NOTHING_KEPT)
    assert found.converged.values.tolist() == [[1, 1], [1, 0]]
    for k, seed, rates in ((0, 0, (0.002, 0.03)), (0, 1, (0.004, 0.02)), (1, 0, (0.003, 0.045))):
        cell = found.isel(network=k, seed=seed)
        close([cell.eta_h, cell.eta_y], rates, rtol=1e-4)
        close(cell.eta_b, 0.003 * (1 + k), rtol=0.05)
        run = data.isel(network=k, seed=seed)
        y = run.y.values
        for name, share in (("quarter", 0.125), ("half", 0.25), ("three_quarters", 0.375)):
            place = int(np.argmax(y > share))
            close(cell[name], np.interp(share, y[place - 1 : place + 1], run.epoch.values[place - 1 : place + 1]))

        def r2(measured, curve):
            return 1 - ((measured - curve) ** 2).sum() / ((measured - measured.mean()) ** 2).sum()

        pair, of_pair = run.loss.values - run.offset2.values / 2, (2 * run.w.values - y + 0.5) / 8
        close(cell.pair_r2, r2(pair, of_pair), atol=1e-4)
        close(cell.loss_r2_without_mean, r2(run.loss.values, of_pair), rtol=1e-3)
        close(cell.pair_r2_without_y, r2(pair, (2 * run.w.values + 0.5) / 8), rtol=1e-3)
        assert float(cell.loss_r2) > 0.99
        close(cell.r2, 1, atol=1e-6)
    assert found.shown.values.tolist() == [0, 0]
    assert np.isnan(found.eta_h[1, 1])
    close(found.theory[1], [data[name][1, 0] for name in ("h", "y", "w")], rtol=1e-3, atol=1e-5)
    close(found.theory_loss[0], data.loss[0, 0], atol=0.02)


def test_fits_by_adam_and_of_layers_read_their_runs():
    limit = sizes.Fits(converged=0.01)
    adam = fits.adam_fits(limit, made("rate", ["0.01", "0.1"]), NOTHING_KEPT)
    close(adam.eta_h, [[0.002, 0.004], [0.003, 0.006]], rtol=1e-4)
    printed = fits.printed_data_fits(limit, made("network", ["a"]), NOTHING_KEPT)
    assert float(printed.fit_loss.max()) < 1e-6
    assert printed.converged.values.tolist() == [[1, 1]]


def test_every_layer_and_every_alternative_is_fitted():
    settings = sizes.DefaultNetwork(units=30, **RUN | {"seeds": 3, "epochs": 1500})
    default = two_points.default_network(settings, NETWORKS["default"], stream("fitted"), "cpu", NOTHING_KEPT)
    estimates = fits.default_network_fits(sizes.Fits(converged=0.01), default, NOTHING_KEPT)
    assert estimates["fit_loss"].dims == ("layer", "seed")
    assert estimates["alternative"].values.tolist() == list(ALTERNATIVES)
    halfway = estimates["fit_loss"].sel(layer=1)
    close(estimates["alternative_loss"].sel(alternative="theory"), halfway)
    assert np.abs(estimates["residual"]).max() < 1e-12
    theory = estimates["ratio"].sel(source="theory").values
    h = estimates["shown_curves"].sel(source="theory", curve="h").values
    assert np.abs(np.polyval(np.polyfit(h, theory, 1), h) - theory).max() < 1e-10  # (24): a straight line
    wanted = 0.8**2 * (1 + 0.01**2) / 2
    close(estimates["layer_gain"], wanted, rtol=0.8)  # two layers of 30 units: a rough value


def test_printed_data_are_fitted_even_on_a_plateau():
    settings = sizes.PrintedData(rows=("linear",), dx=0.5, dy=1.0, **RUN | {"epochs": 200})
    networks = {"linear": NETWORKS["linear"].model_copy(update={"learning_rate": 1e-6})}
    data = two_points.printed_data(settings, networks, stream("p"), "cpu", NOTHING_KEPT)
    estimates = fits.printed_data_fits(sizes.Fits(converged=0.01), data, NOTHING_KEPT)
    close([data["dx2"][0], data["dy2"][0]], [0.25, 1.0])
    assert not estimates["converged"].any()
    assert (estimates["fit_loss"] < 1.0).all()


def test_predictions_of_final_distances():
    """rho from the trials of the same network; equation (10) from each trial's own start."""
    limit, names = sizes.Fits(converged=0.01), ["shallow", "default"]
    rates = made("network", ["default", "shallow"])
    found = final_predictions.final_predictions(limit, grid(), rates, NOTHING_KEPT)
    rho = {"default": np.sqrt(0.002 / 0.03 * 0.004 / 0.02), "shallow": np.sqrt(0.003 / 0.045 * 0.006 / 0.03)}
    mean = {"default": 0.003 / 0.025, "shallow": 0.0045 / 0.0375}
    for name in names:
        close(found.rho.sel(network=name), rho[name], rtol=1e-3)
        close(found.rho_arithmetic.sel(network=name), mean[name], rtol=1e-3)
        for i, j, seed in ((0, 1, 0), (1, 0, 1)):
            cell = grid().isel(dx=i, dy=j).sel(network=name, seed=seed)
            dx, dy = float(cell.dx), float(cell.dy)
            high = float(cell.h0) - rho[name] * dx**2 * float(cell.y0) / float(cell.h0)
            expected = (high + np.sqrt(high**2 + 4 * rho[name] * dx**2 * dy**2)) / 2
            own = found.isel(dx=i, dy=j).sel(network=name, seed=seed)
            close(own.theory, expected, rtol=1e-3)
            close(own.measured, cell.h_end)
            assert int(own.good) == (float(cell.loss_end) < 0.05)
    assert found.units.values.tolist() == [5, 6]
    assert found.fitted.values.tolist() == [2, 2]


def test_power_laws_by_least_squares():
    dx, dy, rng = np.array([0.5, 1.0, 2.0]), np.array([0.0, 0.3, 0.9]), np.random.default_rng(0)
    noise = np.exp(0.1 * rng.standard_normal((3, 3, 2)))
    h = 2.0 * dx[:, None, None] ** 1.2 * np.maximum(dy, 0.1)[None, :, None] ** 0.7 * noise
    theory = 3.0 * (dx[:, None, None] * np.maximum(dy, 0.1)[None, :, None]) * np.ones((1, 1, 2))
    good = np.ones((3, 3, 2))
    good[2, 2, 1] = 0
    law = fit_power_law(h, theory, good, dx, dy)
    kept = [(i, j, k) for i, j, k in np.ndindex(3, 3, 2) if j and good[i, j, k]]
    assert (law.trials, law.dropped) == (len(kept), 1) == (11, 1)
    logs = np.array([[np.log(h[at]), np.log(theory[at]), np.log(dx[at[0]]), np.log(dy[at[1]])] for at in kept])
    design = np.column_stack([np.ones(11), logs[:, 2:]])
    close(law.exponent, np.linalg.lstsq(design, logs[:, 0], rcond=None)[0][1:])
    missed, (left,), *_ = np.linalg.lstsq(design, logs[:, 0] - logs[:, 1], rcond=None)
    close(law.missed, missed[1:])
    close(law.missed_error, np.sqrt(left / 8 * np.diag(np.linalg.inv(design.T @ design)))[1:])
    close(law.correlation, np.corrcoef(logs[:, 0], logs[:, 1])[0, 1])
    close(law.correlation_dy, np.corrcoef(logs[:, 0], logs[:, 3])[0, 1])
    close(law.ratio, np.exp((logs[:, 0] - logs[:, 1]).mean()))


MAPS = sizes.TheoryMaps(
    eta_h=2e-3,
    eta_y=0.03,
    dy2=0.5,
    scales=(1.0, 0.3, 0.1, 0.03),
    large_scales=(3.0, 10.0, 30.0),
    horizon=5e3,
    times=60,
    rhos=(0.1, 1.0, 10.0),
    sizes=13,
    plane_high=-0.05,
    cells=5,
)


def flow(h0, y0, w0, t):
    """Equation (7) by an adaptive solver."""

    def rate(_, state):
        h, y, w = state
        return effective.effective_rhs(h, y, w, 2e-3, 0.03, 1.0, 0.5)

    return scipy.integrate.solve_ivp(rate, (0, t[-1]), [h0, y0, w0], t_eval=t, rtol=1e-10, atol=1e-14).y


@cache
def maps():
    return theory_maps.theory_maps(MAPS)


@pytest.mark.parametrize(
    ("start", "r", "scale"), [("equal", 1.0, 0.3), ("encoder larger", 3.0, 0.1), ("decoder larger", 1 / 3, 0.03)]
)
def test_plateaus_of_the_theory(start, r, scale):
    cell, D = maps().sel(start=start, scale=scale), np.sqrt(0.5)
    t = maps().time.values
    h0, y0 = (r * scale) ** 2, scale**4
    _, y, w = flow(h0, y0, y0 - scale**2 * D, t)
    error = 2 * w - y + 0.5
    close(cell.plateau_error, error / error[0], atol=1e-6)
    place = int(np.argmax(error < error[0] / 4))  # half the distance is a quarter of its square
    half = np.interp(-error[0] / 4, -error[place - 1 : place + 1], t[place - 1 : place + 1])
    close(cell.plateau_half, half, rtol=1e-4)
    close(maps().plateau_growth, np.sqrt(2e-3 * 0.03) * D / 2)
    close(maps().plateau_growth_wrong, 0.016 * D / 2)


def test_large_starts_of_the_theory():
    D, rho = np.sqrt(0.5), 2e-3 / 0.03
    for start, r, direction, c, scale in (
        ("equal", 1.0, "across it", 0.0, 3.0),
        ("encoder larger", 3.0, "60 degrees from it", 0.5, 3.0),
        ("decoder larger", 1 / 3, "120 degrees from it", -0.5, 10.0),
    ):
        cell = maps().sel(start=start, direction=direction, large_scale=scale)
        h0, y0 = (r * scale) ** 2, scale**4
        high = h0 - rho * y0 / h0
        close(cell.large_high, high)
        close(cell.large_growth, 0.03 * (high + np.sqrt(high**2 + 4 * rho * 0.5)) / 2)
        close(cell.direction_cosine, c)
        times = np.concatenate([[0], np.geomspace(1e-12, 1e6, 20_001)])
        _, y, w = effective.effective_solution(times, h0, y0, y0 - c * scale**2 * D, 2e-3, 0.03, 1.0, 0.5)
        error = 2 * w - y + 0.5
        last = np.flatnonzero(error > 0.125)[-1]
        assert last + 1 < len(times)
        learned = times[last + 1]
        close(cell.learning_time, learned, rtol=1e-2)
    close(maps().dy2, 0.5)


def test_regimes_and_phase_plane_of_the_theory():
    for rho, place in ((0.1, 3), (10.0, 9), (1.0, 12)):
        cell, size = maps().sel(rho=rho).isel(size=place), 10.0 ** (place - 6)
        high, low = size - rho * size, np.sqrt(rho * 0.5)
        close([cell.size, cell.regime_high, cell.regime_low], [size, high, low], rtol=1e-9)
        reached = (high + np.hypot(high, 2 * low)) / 2 if high > 0 else 2 * low**2 / (np.hypot(high, 2 * low) - high)
        close(cell.regime_h, reached, rtol=1e-9)
        close([cell.regime_printed, cell.regime_corrected], [high, max(high, 0)], atol=1e-12)
    kappa, high, low2 = 15.0, -0.05, 0.5 / 15
    node = (high + np.sqrt(high**2 + 4 * low2)) / 2
    close(maps().node_h, node)
    close(maps().plane_h, np.linspace(0.02, 1.8, 5) * node)
    reach = np.sqrt(kappa * node**2 * 0.5)
    close(maps().plane_w, np.linspace(-reach, reach, 5))
    h, w = maps().plane_h.values[1], maps().plane_w.values[3]
    y = kappa * h * (h - high)
    slopes = effective.effective_rhs(h, y, w, 2e-3, 0.03, 1.0, 0.5)
    close(maps().plane_dh[1, 3], slopes[0])
    t = np.linspace(0, 5e3, 60)
    for path, size, c in ((3, 0.6, -0.3), (4, 1.25, 0.9)):
        h0 = size * node
        y0 = max(kappa * h0 * (h0 - high), 0)
        h, _, w = flow(h0, y0, y0 - c * np.sqrt(y0 * 0.5), t)
        close(maps().plane_paths[path], [h, w], rtol=1e-4, atol=1e-6)


def test_laws_of_the_final_distance_from_draws():
    own = Stream(17, ("universality", "law"))
    data = theory_maps.final_distribution(sizes.FinalDistribution(draws=4000), own)
    for rho, gain in ((0.4, 0.1), (2.5, 0.3)):
        cell = data.sel(rho=rho, gain=gain)
        level, low2 = data.level.values, rho
        q = cell["quantile"].values
        assert (np.diff(q) > 0).all()
        close(cell["quantile"].sel(level=0.5, method="nearest"), np.interp(0.5, level, q))
        assert abs(float(cell["mean"]) - float(cell.mean_corrected)) < 5 * float(cell.deviation) / np.sqrt(4000)
        close(cell.mass, 1, atol=1e-5)
        close(cell.corrected, level, atol=0.04)
        assert float(cell.low) == pytest.approx(np.sqrt(low2))
    assert not np.allclose(data["quantile"][0, 0], data["quantile"][0, 1])
