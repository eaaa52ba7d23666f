"""Every cell of the tables of the experiments on data sets against numbers computed from made-up datasets."""

import numpy as np
import pytest
from tests.made_up_cells import compare, dataset

from repdyn.universality.tables import data_sets

PAIRS = ["(0,0) and (1,1)", "(1,0) and (0,1)"]


def structure(runs, optimizers, learned, variables, seed, **more):
    """Networks of several runs, of which some have learned; settings differ between the runs."""
    count, trials = len(runs), len(learned[0])
    data = dataset({"run": runs, "trial": range(trials), **more}, variables | {"loss": "run trial"}, seed)
    return data.assign(learned=(("run", "trial"), np.array(learned))).assign_coords(
        nonlinearity=("run", ["leaky relu", "tanh", "relu"][:count]),
        optimizer=("run", optimizers),
        gain=("run", [0.5 * seed, 1.5 * seed, 2.5 * seed][:count]),
        rate=("run", [0.01 * seed, 0.03 * seed, 0.05 * seed][:count]),
        units=("run" if more.get("pair") else (), [250, 200, 50][:count] if more.get("pair") else 100),
        hidden=("run", [20, 4, 1][:count]),
        epochs=("run", [1000, 300, 40][:count]),
    )


@pytest.fixture
def xor():
    """XOR by three runs, of five, two and no networks that have learned."""
    variables = {"merged": "run trial pair", "growth_equal": "run trial pair"}
    variables |= dict.fromkeys(("growth_apart", "match", "scale"), "run trial")
    learned = [[1, 1, 0, 1, 1, 1], [0, 1, 0, 0, 1, 0], 6 * [0]]
    data = structure(["low", "adam_low", "high"], ["sgd", "adam", "sgd"], learned, variables, 1, pair=PAIRS)
    return data.assign_coords(rho=0.0206342)


@pytest.fixture
def gains(xor):
    """The scan of gains: one run in which all but one network have learned."""
    data = xor.isel(run=[1]) * 3.0
    learned = np.array([[1, 1, 1, 0, 1, 1]])
    data = data.assign(learned=(("run", "trial"), learned)).assign_coords(run=["gain 1.5"], gain=("run", [1.5]))
    return data.assign_coords(rho=0.5)


@pytest.fixture
def blobs():
    """Blobs by two runs, of three and no networks that have learned."""
    learned = [[1, 0, 1, 1], 4 * [0]]
    variables = {"collapse": "run trial context_of", "between": "run trial", "share": "run"}
    data = structure(["very_low", "bright"], ["sgd", "sgd"], learned, variables, 2, context_of=[0, 1])
    return data.assign_coords(brightness=("run", [1.0, 5.7]))


def test_xor_distances_are_medians_over_the_networks_that_have_learned(xor, gains):
    kept = {"low": [0, 1, 3, 4, 5], "adam_low": [1, 4], "high": [], "gain 1.5": [0, 1, 2, 4, 5]}
    rows = []
    for data, place in ((xor, 0), (xor, 1), (xor, 2), (gains, 0)):
        run = data["run"].values[place].item()
        values = {name: array.values[place, kept[run]] for name, array in data.data_vars.items()}
        median = np.median if kept[run] else lambda _, **__: np.nan
        rows.append(
            {
                "run": run,
                "optimizer": "adam" if run in ("adam_low", "gain 1.5") else "sgd",
                "gain": {"low": 0.5, "adam_low": 1.5, "high": 2.5, "gain 1.5": 1.5}[run],
                "networks": len(kept[run]),
                f"ratio {PAIRS[0]}": median(values["merged"][:, 0]),
                f"ratio {PAIRS[1]}": median(values["merged"][:, 1]),
                "growth at equal targets": median(values["growth_equal"]),
                "growth at unequal targets": median(values["growth_apart"]),
                "match with (10)": median(values["match"]),
                "measured over (10)": median(values["scale"]),
            }
        )
    compare(data_sets.xor_distances(xor, gains).frame, rows)


def test_blob_collapse_has_medians_by_context_and_the_largest_of_all(blobs):
    collapse, kept = blobs["collapse"].values[0], [0, 2, 3]
    settings = {"run": "very_low", "nonlinearity": "leaky relu", "optimizer": "sgd", "gain": 1.0, "brightness": 1.0}
    numbers = {
        "networks": 3,
        "C, context x": np.median(collapse[kept, 0]),
        "C, context y": np.median(collapse[kept, 1]),
        "C, largest": np.max(collapse[kept]),
        "contexts apart": np.median(blobs["between"].values[0, kept]),
        "share of distances in the picture": blobs["share"].values[0],
    }
    without = settings | {"run": "bright", "nonlinearity": "tanh", "gain": 3.0, "brightness": 5.7}
    without |= dict.fromkeys(numbers, np.nan) | {"networks": 0}
    without["share of distances in the picture"] = blobs["share"].values[1]
    compare(data_sets.blob_collapse(blobs).frame, [settings | numbers, without])


def test_correlations_of_digits_have_intervals_and_what_untrained_networks_have():
    runs, predictions, parts = ["sgd", "adam"], ["weighed (50)", "class mean"], ["all entries", "between classes"]
    data = dataset(
        {
            **{"run": runs, "prediction": predictions, "part": parts, "trial": range(4)},
            **{"look": [0, 5, 9], "resample": range(30), "row": range(7)},
        },
        {
            "correlation": "run prediction part trial",
            "correlation_of_mean": "prediction run part",
            "correlation_by_look": "look prediction part trial",
            "resampled": "run prediction part resample",
        },
        point_count=1797,
        source="digits",
    )
    data["resampled"][1, 1, 0, 4] = np.nan  # a part without classes
    rows = []
    for r, run in enumerate(runs):
        for p, prediction in enumerate(predictions):
            row = {"run": run, "prediction": prediction}
            for at, part in enumerate(parts):
                ends = np.percentile(data["resampled"].values[r, p, at], [2.5, 97.5])
                row |= {
                    f"{part}: mean of networks": data["correlation_of_mean"].values[p, r, at],
                    f"{part}: 95 % low": ends[0],
                    f"{part}: 95 % high": ends[1],
                    f"{part}: single networks": np.mean(data["correlation"].values[r, p, at]),
                    f"{part}: untrained": np.nan if r else np.mean(data["correlation_by_look"].values[0, p, at]),
                }
            rows.append(row)
    compare(data_sets.digit_correlations(data).frame, rows)
