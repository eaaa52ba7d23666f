"""Every cell of the tables against numbers computed from made-up datasets."""

import numpy as np
from tests.made_up_cells import compare, dataset, skewed

from repdyn.bn_decomposed import tables


def row(head, *cells):
    """Cells by the names in the head, which commas separate."""
    return dict(zip(head.split(", "), cells, strict=True))


def test_ablation_takes_the_last_layer_and_medians_over_draws():
    names = ("odd_angle", "intra_angle", "second_to_first", "numerical_rank", "effective_rank", "orthogonality_gap")
    data = dataset(
        {
            **{"recenter": [0, 1], "rescale": ["none", "std", "rms"], "relu": [0, 1]},
            **{"seed": range(5), "layer": [0, 3, 9], "pair": range(7)},
        },
        {"angle": "recenter rescale relu seed layer pair"} | dict.fromkeys(names, "recenter rescale relu seed layer"),
        point_count=16,
        width=32,
    )
    data["numerical_rank"] = (10 * data["numerical_rank"]).round()
    table = tables.ablation(data)
    rows = []
    for recenter, rescale in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
        for relu in (0, 1):
            at = recenter, rescale, relu
            medians = [np.median(data[name].values[at][:, -1]) for name in names]
            head = "RC, RS, ReLU, median angle (degree), odd against rest (degree), within rest (degree), 2nd/1st norm"
            angle = np.median(data["angle"].values[at][:, -1])
            cells = recenter, ("none", "std", "rms")[rescale], relu, angle, *medians
            rows.append(row(head + ", rank (1e-6), effective rank, orthogonality gap", *cells))
    compare(table.frame, rows)
    assert table.facts == {"images in a batch": 16, "layers": 9, "width": 32, "draws": 5}


def test_training_has_the_accuracy_at_the_end_and_the_ranks_of_every_mode():
    labels = {"depth": [2, 8], "seed": range(5), "epoch": [1, 10, 30]}
    ranks = ("r1", "numerical_rank", "stable_rank", "effective_rank")
    runs = {
        mode: dataset(
            labels, {"accuracy": "depth seed epoch"} | dict.fromkeys(ranks, "depth seed"), seed, width=128, batch=64
        ).assign_coords(rate=("depth", [0.1 * seed, 0.3 * seed]))
        for seed, mode in enumerate(("bn", "he"), 1)
    }
    table = tables.training(runs)
    head = (
        "mode, hidden layers, learning rate, training accuracy, rank (1e-2), rank (1e-6), stable rank, effective rank"
    )
    rows = []
    for factor, mode in enumerate(("bn", "he"), 1):
        for place, depth in enumerate((2, 8)):
            accuracy = np.median(runs[mode]["accuracy"].values[place, :, -1])
            medians = (np.median(runs[mode][name].values[place]) for name in ranks)
            rows.append(row(head, mode, depth, (0.1, 0.3)[place] * factor, accuracy, *medians))
    compare(table.frame, rows)
    assert table.facts == {"width": 128, "epochs": 30, "batch size": 64, "draws": 5}


def test_point_neurons_take_every_scheme_at_its_own_best_rate():
    at_rate, at_start = ("steps", "train_accuracy", "test_accuracy"), ("off_diagonal", "activity", "silent")
    rates = [0.1, 0.3, 1.0]
    data = dataset(
        {"scheme": ["margin 1", "margin 2", "he"], "rate": rates, "seed": range(5)},
        dict.fromkeys(at_rate, "scheme rate seed") | dict.fromkeys(at_start, "scheme seed"),
        points=100,
    ).assign_coords(best_rate=("scheme", [1.0, 0.1, 0.3]))
    table = tables.point_neurons(data)
    rows = []
    for place, (scheme, best) in enumerate((("margin 1", 2), ("margin 2", 0), ("he", 1))):
        medians = {name: np.median(data[name].values[place, best]) for name in at_rate}
        medians |= {name: np.median(data[name].values[place]) for name in at_start}
        columns = ("off_diagonal", "activity", "steps", "train_accuracy", "test_accuracy", "silent")
        rows.append({"scheme": scheme, "rate": rates[best]} | {name: medians[name] for name in columns})
    compare(table.frame, rows)
    assert table.facts == {"training images and neurons": 100, "draws": 5}


def test_full_rank_has_the_mean_of_y_its_error_and_both_bounds():
    data = dataset({"draw": range(6)}, {}).assign(
        y=(("batch", "draw"), np.round(20 * skewed(3, 6, seed=1))),
        gamma=("batch", [0.1, 0.2, 0.4]),
        bound=("batch", [30.0, 25.0, 11.0]),
        bound_by_column=("batch", [28.0, 21.0, 10.0]),
        kind=("batch", ["circle", "circle", "Gaussian k=2"]),
        k=("batch", [2, 2, 3]),
        n=("batch", [3, 5, 4]),
    )
    table = tables.full_rank(data)
    about, by_column, rows = (
        (("circle", 2, 3, 0.1), ("circle", 2, 5, 0.2), ("Gaussian k=2", 3, 4, 0.4)),
        (28.0, 21.0, 10.0),
        [],
    )
    for batch, (y, bound) in enumerate(zip(data["y"].values, (30.0, 25.0, 11.0), strict=True)):
        mean = sum(y) / 6
        error = np.sqrt(((y - mean) ** 2).sum() / 5 / 6)
        head = "batch, k, n, gamma, bound n/gamma, sum of 1/gamma by column, mean of y, standard error, mean/bound"
        rows.append(row(head, *about[batch], bound, by_column[batch], mean, error, mean / bound))
    compare(table.frame, rows)
    assert table.facts == {"draws of the weights": 6}


def simplified():
    """Twelve batches of two sizes, eight of them Gaussian, and bounds for three sizes."""
    kinds = np.array(["symmetric", "outlier"] + 4 * ["gaussian"])
    names = ("ratio_first", "ratio_last", "angle_first", "angle_last", "extremes")
    bounds = ("sharp_ratio", "printed_ratio", "sharp_angle", "printed_angle")
    data = dataset(
        {"case": range(12), "bound_points": [3, 4, 10]},
        dict.fromkeys(names, "case") | dict.fromkeys(bounds, "bound_points"),
    )
    depths = [90, 80, 3, 9, 4, 5, 70, 60, 7, 6, 14, 8]
    return data.assign(stable_depth=("case", depths)).assign_coords(
        points=("case", np.repeat([4, 10], 6)), kind=("case", np.tile(kinds, 2))
    )


def test_the_simplified_model_takes_the_better_extreme_at_its_worst():
    data = simplified()
    rows = []
    for n, cases, place in ((4, slice(0, 6), 1), (10, slice(6, 12), 2)):
        ratio = np.minimum(data["ratio_first"].values, data["ratio_last"].values)[cases]
        angle = np.maximum(data["angle_first"].values, data["angle_last"].values)[cases]
        gaussian = slice(cases.start + 2, cases.stop)
        depths = data["stable_depth"].values[gaussian]
        ratios, degrees = (
            [data[f"{which}_{of}"].values[place] for which in ("sharp", "printed")] for of in ("ratio", "angle")
        )
        head = "n, Gaussian batches, median t0, largest t0, largest ratio, best bound, printed bound"
        head += ", smallest angle (degree), best bound (degree), printed bound (degree), median shorter/longer"
        extremes = np.median(data["extremes"].values[gaussian])
        cells = n, 4, np.median(depths), max(depths), max(ratio), *ratios, min(angle), *degrees, extremes
        rows.append(row(head, *cells))
    compare(tables.simplified_model(data).frame, rows)


def test_largest_norm_counts_runs_by_width_and_at_infinite_width():
    rng = np.random.default_rng(3)
    data = dataset(
        {"kind": ["Gaussian", "unit norms"], "width": [200, 800], "run": range(20)},
        {"second_to_first": "kind width run", "limit_second_to_first": "kind run"},
        point_count=4,
        depth=12,
        limit_depth=30,
    )
    data["second_to_first"][..., 4] = data["limit_second_to_first"][..., 4] = 1 / 2  # not below
    for name, dims in (("odd", 3), ("limit_odd", 2), ("longest", 2), ("farthest", 2)):
        sizes = (2, 2, 20) if dims == 3 else (2, 20)
        data[name] = (("kind", "width", "run") if dims == 3 else ("kind", "run"), rng.integers(0, 4, sizes))
    table = tables.largest_norm(data)
    head, rows = "batch, width, odd point is the longest, odd point is the farthest, 2nd/1st norm below 1/2", []
    for kind, batch in enumerate(("Gaussian", "unit norms")):
        longest, farthest = data["longest"].values[kind], data["farthest"].values[kind]
        for width, prefix, place in (("200", "", (kind, 0)), ("800", "", (kind, 1)), ("infinite", "limit_", kind)):
            odd, ratio = (data[prefix + name].values[place] for name in ("odd", "second_to_first"))
            counts = sum(odd == longest), sum(odd == farthest), sum(ratio < 1 / 2)
            rows.append(row(head, batch, width, *(count / 20 for count in counts)))
    shares = [row[name] for row in rows for name in list(rows[0])[2:]]
    assert len(set(shares)) > 6  # else exchanged columns could look alike
    compare(table.frame, rows)
    assert table.facts == {
        "batches of a kind": 20,
        "points": 4,
        "share by chance": 0.25,
        "layers": 12,
        "layers at infinite width": 30,
    }
