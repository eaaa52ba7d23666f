"""Every figure shows the values of its datasets: lines, points and cells, found in their panel by their numbers."""

import numpy as np
import pytest
import xarray as xr
from tests.titled import assert_shown, axes_of, dataset_of

from repdyn.universality.figures import blobs, default_network, digits, dynamics, theory, xor
from repdyn.universality.theory.published import FIGURE_2, FIGURE_3, FIT_LOSSES


def datasets(*names):
    """Datasets of the recorded shapes; every network has learned, and the second trial is the one that is shown."""
    made = [dataset_of("universality", name) for name in names]
    known = {"learned": 1, "shown": 1}
    return [data.assign({k: data[k] * 0 + v for k, v in known.items() if k in data.data_vars}) for data in made]


def trajectories(panel, run, fitted):
    """Curves of a network and of its theory."""
    for curve in "hyw":
        yield panel, run["epoch"], run[curve]
        yield panel, run["epoch"], fitted.sel(curve=curve)


def losses(panel, run, fits):
    wanted = fits["theory_loss"].values
    yield panel, run["epoch"], run["loss"]
    yield panel, run["epoch"], np.where(wanted > 0, wanted, np.nan)


def architectures():
    runs, fits = datasets("architectures", "architecture_fits")
    shown = fits["shown"].copy(data=np.arange(fits.sizes["network"]) % 2)
    fits = fits.assign(shown=shown)
    for panel, name in zip(axes_of(dynamics.fig2_architectures, runs, fits), FIGURE_2, strict=False):
        run = runs.sel(network=name).isel(seed=int(shown.sel(network=name)))
        yield from trajectories(panel, run, fits["theory"].sel(network=name))


def initial_weights():
    runs, fits = datasets("architectures", "architecture_fits")
    axes = axes_of(dynamics.fig3_initial_weights, runs, fits)
    for column, name in enumerate(FIGURE_3):
        run, own = runs.sel(network=name).isel(seed=1), fits.sel(network=name)
        yield axes[column], run["epoch"], run["w"]
        yield from losses(axes[len(FIGURE_3) + column], run, own)


def digit_pairs():
    (data,) = datasets("digit_pairs")
    axes = axes_of(digits.fig4_digit_pairs, data)
    for column, kind in enumerate(digits.KINDS):
        own = data.sel(kind=kind)
        for curve in "hyw":
            panel = axes[column + (0 if curve == "h" else 3)]
            yield panel, data["epoch"], own["measured"].sel(curve=curve)
            for weighting in data["weighting"].values:
                yield panel, data["epoch"], own["theory"].sel(curve=curve, weighting=weighting)


def final_distances():
    """Fits that are no good are left out."""
    (data,) = datasets("final_predictions")
    data["good"][:] = np.arange(data["good"].size).reshape(data["good"].shape) % 5 > 0
    for panel, name in zip(axes_of(default_network.fig5_final_distances, data), data["network"].values, strict=False):
        row = data.sel(network=name)
        good = row["good"].values.astype(bool)
        yield panel, row["theory"].values[good], row["measured"].values[good]
        yield panel, None, (row["dy"] + 0 * row["theory"]).transpose(*row["theory"].dims).values[good]


def xor_structure(figure, prefix):
    (data,) = datasets("xor_structure")
    axes, order = axes_of(figure, data), [0, 3, 1, 2]  # (0, 0), (1, 1): target 0; (1, 0), (0, 1): target 1
    for column, run in enumerate(xor.PANELS, start=1):
        for row, name in enumerate(("theory", "distance")):
            mean = data[name].sel(run=f"{prefix}{run}").mean("trial").values
            yield axes[5 * row + column], None, mean[np.ix_(order, order)]


def blob_images():
    (data,) = datasets("blob_structure")
    mosaic, *contexts = axes_of(blobs.fig7_blobs, data)[:3]
    tiles = data["gallery"].values.transpose(1, 3, 0, 2)  # y, pixel y, x, pixel x
    rows, size, columns, _ = tiles.shape
    canvas = np.full((rows, size + 1, columns, size + 1), np.nan)
    canvas[:, :size, :, :size] = tiles
    yield mosaic, None, canvas.reshape(rows * (size + 1), -1)[:-1, :-1]
    for context, panel in enumerate(contexts):
        own = data["feature"].values[data["context"].values == context]
        yield panel, own[:, 0], own[:, 1]
        yield panel, None, own[:, context]


def blob_structure(figure, runs):
    """One of the networks has not learned and is left out."""
    (data,) = datasets("blob_structure")
    data["learned"][:, 0] = 0
    axes = axes_of(figure, data)
    for run in runs:
        nets = data.sel(run=run).isel(trial=slice(1, None))
        for context in range(2):
            yield axes[len(runs)], None, nets["collapse"].isel(context_of=context)
        yield axes[-1], None, nets["between"]


def structure(figure, run):
    """Means over pairs of digits, over the mean between classes."""
    (data,) = datasets("representational_structure")
    labels = np.sort(np.arange(data.sizes["row"]) % 3)
    data = data.assign_coords(label=("row", labels))
    apart = labels[:, None] != labels
    values = [data["predicted"].sel(prediction="weighed (50)").values, data["measured"].sel(run=run).values]

    def means(pairs):
        return [[v[np.ix_(labels == a, labels == b)].mean() / v[apart].mean() for a, b in pairs] for v in values]

    panel = axes_of(figure, data)[1]
    yield panel, *means([(0, 1), (0, 2), (1, 2)])
    yield panel, *means([(0, 0), (1, 1), (2, 2)])


def correlations():
    (data,) = datasets("representational_structure")
    axes = axes_of(digits.n4_correlations, data)
    for panel, part in zip(axes, ("all entries", "between classes"), strict=False):
        for place, name in enumerate(("labels alone", "pair alone", "class mean", "weighed (50)")):
            cell = data.sel(run="sgd", prediction=name, part=part)
            yield panel, np.percentile(cell["resampled"], (2.5, 97.5)), [place, place]
            yield panel, [float(cell["correlation_of_mean"])], [place]
        yield axes[2], data["scale"], data["correlation_by_scale"].sel(run="sgd", part=part)
        for name in ("weighed (50)", "pair alone"):
            draws = data["correlation_by_look"].sel(prediction=name, part=part)
            yield axes[3], data["look"], draws.mean("trial")


def depth():
    both = datasets("default_network_fits", "default_ensemble_fits")
    axes = axes_of(default_network.fig10_depth, *both)
    for data in both:
        of_curves = data.assign(r2=data["r2"].mean("curve"))
        for panel, name in zip((0, 1, 2, 2), ("fit_loss", "r2", "eta_h", "eta_y"), strict=True):
            yield axes[panel], data["layer"], of_curves[name].median("seed")


def alternatives():
    run, fits = datasets("default_network", "default_network_fits")
    shown = run.sel(layer=int(run["halfway"])).isel(seed=1)
    names = fits["alternative"].values
    for panel, name in zip(axes_of(default_network.fig11_alternatives, run, fits), names, strict=False):
        yield from trajectories(panel, shown, fits["alternative_theory"].sel(alternative=name))


def training_losses():
    """Panels are sorted by the unexplained part of the fall."""
    runs, fits = datasets("architectures", "architecture_fits")
    axes = axes_of(dynamics.fig12_training_loss, runs, fits)
    names = sorted(FIGURE_2, key=lambda name: float((1 - fits["pair_r2"].sel(network=name)).median()))
    for place, name in enumerate(names):
        yield from losses(axes[place], runs.sel(network=name).isel(seed=1), fits.sel(network=name))
    for place, name in enumerate(names):
        for variable in ("loss_r2", "pair_r2"):
            share = 1 - fits[variable].sel(network=name).values
            lines = [line.get_xdata() for line in axes[-1].get_lines()]
            assert any(x.shape == share.shape and np.allclose(x, share) for x in lines), (place, variable)


def taylor():
    (data,) = datasets("taylor_ratios")
    axes, looks = axes_of(digits.fig14_taylor, data), data.sizes["look"]
    for row, kind in enumerate(("encoder", "decoder")):
        for look in range(looks):
            logs = np.log10(data["ratio"].isel(look=look).sel(map=kind).transpose("network", "bin").values)
            yield axes[row * looks + look], None, 10 ** logs.mean(axis=0)


def adam():
    runs, fits, descent = datasets("adam_runs", "adam_fits", "architecture_fits")
    *panels, last = axes_of(dynamics.fig15_adam, runs, fits, descent)
    for panel, rate in zip(panels, fits["rate"].values, strict=True):
        yield from trajectories(panel, runs.sel(rate=rate).isel(seed=1), fits["theory"].sel(rate=rate))
    for r2 in (*(fits["r2"].sel(rate=rate) for rate in fits["rate"]), descent["r2"].sel(network="default")):
        yield last, None, np.clip(r2.transpose("curve", "seed").sel(curve=list("hyw")), -0.5, 1)


def phase_plane():
    (maps,) = datasets("theory_maps")
    plane, plateau = axes_of(theory.n1_phase_plane, maps)
    for scale in maps["scale"].values:
        yield plateau, maps["time"][1:], maps["plateau_error"].sel(start="equal", scale=scale)[1:]
    yield plane, [float(maps["node_h"])], [0.0]
    yield plane, [0.0], [0.0]
    for h, w in maps["plane_paths"].values:
        yield plane, h, w


def distributions():
    (data,) = datasets("final_distribution")
    for panel, rho in zip(axes_of(theory.n2_final_distribution, data), data["rho"].values, strict=True):
        cell = data.sel(rho=rho, gain=data["gain"][0])
        for name in ("level", "corrected", "printed"):
            yield panel, cell["quantile"], cell[name]


def regimes():
    (maps,) = datasets("theory_maps")
    maps["regime_printed"] = maps["regime_printed"].where(np.arange(maps.sizes["size"]) % 4 != 1, -1.0)
    (panel,) = axes_of(theory.n3_rich_to_lazy, maps)
    for rho in maps["rho"].values:
        row = maps.sel(rho=rho)
        low, limit = row["regime_low"].values, row["regime_printed"].values
        yield panel, maps["size"], row["regime_h"].values / low
        yield panel, maps["size"], np.where(limit > 0, limit / low, np.nan)


def closed_form():
    (fits,) = datasets("default_network_fits")
    left, right = axes_of(default_network.n5_closed_form, fits)
    for source in ("network", "theory"):
        curves = fits["shown_curves"].sel(source=source)
        for curve in "hyw":
            yield left, fits["epoch"], curves.sel(curve=curve)
        yield right, curves.sel(curve="h"), fits["ratio"].sel(source=source)


def fit_losses():
    both = datasets("default_network_fits", "default_ensemble_fits")
    for panel, data in zip(axes_of(default_network.n6_fit_losses, *both), both, strict=True):
        for name in data["alternative"].values:
            loss = data["alternative_loss"].sel(alternative=name).values
            yield panel, None, loss[np.isfinite(loss)]
        published = {np.ravel(line.get_ydata())[0] for line in panel.get_lines() if len(set(line.get_ydata())) == 1}
        assert published >= {loss for name, loss in FIT_LOSSES.items() if name in data["alternative"].values}


DESCENT, ADAM = ("high", "low", "very_low"), ("adam_high", "adam_low", "leaky_high", "leaky_low")
FIGURES = {
    "2": architectures,
    "3": initial_weights,
    "4": digit_pairs,
    "5": final_distances,
    "6": lambda: xor_structure(xor.fig6_xor, ""),
    "7": blob_images,
    "8": lambda: blob_structure(blobs.fig8_blob_structure, DESCENT),
    "9": lambda: structure(digits.fig9_structure, "sgd"),
    "10": depth,
    "11": alternatives,
    "12": training_losses,
    "14": taylor,
    "15": adam,
    "16": lambda: xor_structure(xor.fig16_xor_adam, "adam_"),
    "17": lambda: blob_structure(blobs.fig17_blob_structure_adam, ADAM),
    "18": lambda: structure(digits.fig18_structure_adam, "adam"),
    "N1": phase_plane,
    "N2": distributions,
    "N3": regimes,
    "N4": correlations,
    "N5": closed_form,
    "N6": fit_losses,
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_shows_the_values_of_its_datasets(name):
    assert_shown(FIGURES[name]())


@pytest.mark.parametrize(("before", "frame"), [(0.49, 3), (0.51, 2)])
def test_figure_1_takes_the_record_nearest_to_half_of_the_final_output_distance(before, frame):
    """The curves hold squared distances: half of the way is a quarter of the last one."""
    dy = np.array([0.0, 0.1, before, 0.52, 0.9, 1.0]) * np.sqrt(0.5)
    curves = np.stack([0.1 + dy**2, dy**2, -0.1 * dy])
    data = xr.Dataset(
        {
            "shown_curves": (("source", "curve", "epoch"), np.stack([curves, 0 * curves])),
            "shown": 0,
            "units": 100,
            "halfway": 10,
        },
        {"source": ["network", "theory"], "curve": ["h", "y", "w"], "epoch": 10 * np.arange(6)},
    )
    outputs = axes_of(dynamics.fig1_two_points, data)[1].get_lines()[2].get_xdata()
    np.testing.assert_allclose(np.diff(outputs), dy[frame])
