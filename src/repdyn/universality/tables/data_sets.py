"""Tables of the experiments on data sets: settings of Table 2, distances, collapse, correlations, pairs of digits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from repdyn.base.tables import Filled, table
from repdyn.universality.methods.selection import learned
from repdyn.universality.theory.published import NOT_PRINTED, PUBLIC_ADAM, TABLE_2


@table(
    title="Table 2: settings as printed, as public, as used",
    caption="Rate in the units of the loss: mean squared error for XOR, half of it for the others, mean over points "
    "and outputs. Learned: loss below 1/25 of a constant output's; digits: training accuracy above 0.95. The "
    "paper prints nothing of Adam: its rates here are our choice, far above the public one. Four hidden "
    "layers are 'five layers' in Figure 8 and 'four' in Figure 13; Figure 4's caption has 100 units where "
    "Table 2 has 200.",
)
def table2_settings(
    xor_structure: xr.Dataset, blob_structure: xr.Dataset, image_training: dict[str, xr.Dataset]
) -> pd.DataFrame:
    """Table 2 as printed, as public and as used here, with what came out."""
    rows = [
        _structure_row(task, data, run)
        for task, data in (("xor", xor_structure), ("blobs", blob_structure))
        for run in data["run"].values.tolist()
    ]
    rows += [_digit_row(data, run) for run, data in image_training.items()]
    return pd.DataFrame(rows)


def _row(task: str, run: str, used: dict[str, object], learned: int, trials: int, loss: float) -> dict[str, object]:
    name, *printed, public = TABLE_2.get((task, run), PUBLIC_ADAM if used["optimizer"] == "adam" else NOT_PRINTED)
    return {
        "task": task,
        "run": run,
        "row of Table 2": name,
        **dict(zip(("printed nonlinearity", "printed gain", "printed rate", "printed epochs"), printed, strict=True)),
        "public settings": public,
        **used,
        "learned": f"{learned} of {trials}",
        "median loss": loss,
    }


def _used(data: xr.Dataset, epochs: int) -> dict[str, object]:
    names = {"nonlinearity": "nonlinearity", "gain": "gain", "rate": "rate", "hidden": "hidden layers"}
    used = {words: data[name].item() for name, words in names.items()}
    return used | {"units": int(data["units"]), "optimizer": data["optimizer"].item(), "epochs": epochs}


def _structure_row(task: str, data: xr.Dataset, run: str) -> dict[str, object]:
    networks = data.sel(run=run)
    used, count = _used(networks, int(networks["epochs"])), learned(data, run).sizes["trial"]
    return _row(task, run, used, count, data.sizes["trial"], float(networks["loss"].median()))


def _digit_row(data: xr.Dataset, run: str) -> dict[str, object]:
    last = data.isel(look=-1)
    count = int((last["accuracy"] > 0.95).sum())
    return _row(
        "digits", run, _used(data, int(data["epoch"][-1])), count, data.sizes["trial"], float(last["loss"].median())
    )


@table(
    title="XOR: distances between representations after training",
    caption="Medians over the networks that have learned. Ratio: distance of a pair with equal targets over the mean "
    "distance at unequal targets. Match: correlation of the six distances with equation (10), whose ratio of rates "
    "comes from the default two-point network.",
    digits=3,
)
def xor_distances(xor_structure: xr.Dataset, xor_gain_structure: xr.Dataset) -> Filled:
    """Merging, growth and match with equation (10) for every run, the scan of gains by Adam after the others."""
    rows = []
    both = (xor_structure, xor_gain_structure)
    for data in (learned(structure, run) for structure in both for run in structure["run"].values.tolist()):
        medians = {
            f"ratio {pair}": float(data["merged"].sel(pair=pair).median()) for pair in data["pair"].values.tolist()
        }
        rows.append(
            {
                "run": data["run"].item(),
                "optimizer": data["optimizer"].item(),
                "gain": float(data["gain"]),
                "networks": data.sizes["trial"],
                **medians,
                "growth at equal targets": float(data["growth_equal"].median()),
                "growth at unequal targets": float(data["growth_apart"].median()),
                "match with (10)": float(data["match"].median()),
                "measured over (10)": float(data["scale"].median()),
            }
        )
    return Filled(pd.DataFrame(rows), {"ratio of rates": float(xor_structure["rho"])})


@table(
    title="Blobs: collapse of the irrelevant feature",
    caption="Medians over the networks that have learned. $C$: variance of the representation along the irrelevant "
    "over that along the relevant feature. Brightness: factor on images that sum to 1. Contexts apart: "
    "squared distance at equal target over the variance along it.",
    digits=3,
)
def blob_collapse(blob_structure: xr.Dataset) -> pd.DataFrame:
    """Collapse indices and distance of the contexts for every run."""
    rows = []
    for run in blob_structure["run"].values.tolist():
        data = learned(blob_structure, run)
        rows.append(
            {
                "run": run,
                "nonlinearity": data["nonlinearity"].item(),
                "optimizer": data["optimizer"].item(),
                "gain": float(data["gain"]),
                "brightness": float(data["brightness"]),
                "networks": data.sizes["trial"],
                "C, context x": float(data["collapse"].isel(context_of=0).median()),
                "C, context y": float(data["collapse"].isel(context_of=1).median()),
                "C, largest": float(data["collapse"].max()) if data.sizes["trial"] else np.nan,
                "contexts apart": float(data["between"].median()),
                "share of distances in the picture": float(data["share"]),
            }
        )
    return pd.DataFrame(rows)


@table(
    title="Figure 9: correlations with the theory and with simpler predictions",
    caption="Squared distances of images' representations. Intervals: over redrawn pairs of classes. The paper has "
    "0.703 over all entries and 0.512 between classes for (50).",
    digits=3,
)
def digit_correlations(representational_structure: xr.Dataset) -> Filled:
    """The correlations of Figure 9 with the simpler predictions beside them."""
    data, rows = representational_structure, []
    for run in data["run"].values.tolist():
        for prediction in data["prediction"].values.tolist():
            row: dict[str, object] = {"run": run, "prediction": prediction}
            for part in data["part"].values.tolist():
                cell = data.sel(run=run, prediction=prediction, part=part)
                draws = cell["resampled"].values
                ends = np.quantile(draws, [0.025, 0.975]) if np.isfinite(draws).all() else (np.nan, np.nan)
                row |= {
                    f"{part}: mean of networks": float(cell["correlation_of_mean"]),
                    f"{part}: 95 % low": ends[0],
                    f"{part}: 95 % high": ends[1],
                    f"{part}: single networks": float(cell["correlation"].mean()),
                    f"{part}: untrained": _untrained(data, prediction, part) if run == "sgd" else np.nan,
                }
            rows.append(row)
    return Filled(
        pd.DataFrame(rows),
        {
            "images": data["source"].item(),
            "training images": int(data["point_count"]),
            "images compared": data.sizes["row"],
            "networks": data.sizes["trial"],
        },
    )


def _untrained(data: xr.Dataset, prediction: str, part: str) -> float:
    return float(data["correlation_by_look"].isel(look=0).sel(prediction=prediction, part=part).mean())


@table(
    title="Figure 4: the theory fitted to pairs of digits",
    caption="Explained variance of $h, y, w$ over networks and pairs of each kind: digits 0 and 1, 3 and 8, 0 and 0. "
    "Weights: equation (49), or each curve over its variance. No rates fit: share of fits at the border of the search.",
    digits=3,
)
def digit_pairs(digit_pairs: xr.Dataset) -> Filled:
    """Fits to pairs of digits by kind and weighting."""
    rows = []
    for kind in digit_pairs["kind"].values.tolist():
        for weighting in digit_pairs["weighting"].values.tolist():
            cell = digit_pairs.sel(kind=kind, weighting=weighting)
            rows.append(
                {
                    "pair": kind,
                    "weights": weighting,
                    "fits": cell["fit_loss"].size,
                    **{
                        f"R2 of {curve}, {words}": float(cell["r2"].sel(curve=curve).quantile(level))
                        for curve in digit_pairs["curve"].values.tolist()
                        for level, words in ((0.5, "median"), (0.1, "10 %"))
                    },
                    "fit loss, median": float(cell["fit_loss"].median()),
                    "no rates fit": float(cell["at_bound"].mean()),
                    "h at end over start": float(cell["growth"].median()),
                }
            )
    return Filled(
        pd.DataFrame(rows),
        {
            "images": digit_pairs["source"].item(),
            "networks": digit_pairs.sizes["trial"],
            "pairs of each kind": digit_pairs.sizes["pair"],
        },
    )
