"""What became of two features in trained networks (Section 4.5, Appendix C.3, Figures 7, 8, 13 and 17)."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from repdyn.base.datasets import dataset, index, variable
from repdyn.universality.methods.blob_task import blob_images
from repdyn.universality.methods.representations import between_contexts, classical_mds, collapse_index, smacof
from repdyn.universality.methods.selection import has_learned
from repdyn.universality.settings.data_sets import BlobStructure

AXES = 3
GALLERY = 5  # blobs shown along each axis


def blob_structure(settings: BlobStructure, blobs: dict[str, xr.Dataset]) -> xr.Dataset:
    """Collapse indices of every network, and the picture of the first network's distances, for every run."""
    names, first = list(blobs), next(iter(blobs.values()))
    points = np.linspace(0, first.sizes["point"] - 1, min(settings.shown, first.sizes["point"])).round().astype(int)
    pictures = [_picture(_first_finite(blobs[name])[points], settings.method) for name in names]
    return dataset(
        _measures(blobs)
        | {
            "picture": variable(("run", "point", "component"), [x for x, _ in pictures], "scaled coordinates"),
            "share": variable("run", [share for _, share in pictures], "share of squared distances in the picture"),
            "feature": first["feature"].isel(point=points).variable,
            "context": first["context"].isel(point=points).variable,
        }
        | _inputs(first),
        {
            "run": variable("run", np.array(names), "name of the run"),
            "trial": index("trial", first.sizes["trial"], "draw of weights and order of the points"),
            "context_of": index("context_of", 2, "context: the feature that is the target"),
            "point": variable("point", points, "data point"),
            "point_count": variable((), first.sizes["point"], "data points"),
            "plateau": variable((), _plateau(first), "loss of the mean target"),
            "component": index("component", AXES, "component of the picture"),
            "axis": index("axis", 2, "feature: x-position, y-position"),
            "method": variable((), settings.method, "method of scaling"),
            "units": variable((), first.sizes["neuron"], "neurons per hidden layer"),
        }
        | {
            key: variable("run", np.array([blobs[name][key].item() for name in names]), first[key].attrs["long_name"])
            for key in ("gain", "rate", "hidden", "epochs", "nonlinearity", "optimizer", "brightness")
        },
        title="Blobs with two features: collapse of the irrelevant one, distances in three dimensions",
    )


def _measures(blobs: dict[str, xr.Dataset]) -> dict[str, xr.Variable]:
    """What every network's representation came to, and what is typical of the networks that have learned."""
    collapse = np.stack([_collapse(data) for data in blobs.values()])
    apart = np.stack([_between(data) for data in blobs.values()])
    loss = np.stack([data["loss"].values[-1] for data in blobs.values()])
    learned = has_learned(loss, _plateau(next(iter(blobs.values()))))
    each = ("run", "trial")
    words = {
        "collapse": "variance along the irrelevant over the relevant feature",
        "between": "squared distance of contexts at equal target over variance along the target",
    }
    variables = {
        "collapse": variable((*each, "context_of"), collapse, words["collapse"]),
        "between": variable(each, apart, words["between"]),
        "loss": variable(each, loss, "loss at the end"),
        "learned": variable(each, learned, "1 where the network has learned"),
    }
    with np.errstate(divide="ignore"):
        logs_of = {"collapse": np.log(collapse).mean(axis=2), "between": np.log(apart)}
    for name, logs in logs_of.items():
        kept = np.where(learned, logs, 0.0).sum(axis=1), learned.sum(axis=1)
        mean = np.exp(np.divide(*kept, out=np.full(len(kept[0]), np.nan), where=kept[1] > 0))
        word = f"geometric mean over networks that have learned: {words[name]}"
        variables[f"typical_{name}"] = variable("run", mean, word)
        variables[f"typical_{name}"].attrs["missing"] = "runs of which no network has learned"
    return variables


def _plateau(blobs: xr.Dataset) -> float:
    """Loss of a network that gives the mean target everywhere."""
    return float(0.5 * (blobs["feature"].values ** 2).mean())


def _inputs(blobs: xr.Dataset) -> dict[str, xr.Variable]:
    """A gallery of blobs and how far inputs lie apart: along one feature, and between the contexts."""
    positions, pixels = (int(blobs[name]) for name in ("positions", "pixels"))
    inputs = blob_images(positions, pixels)[0]
    grid = inputs[: positions**2].reshape(positions, positions, -1)
    along = np.sqrt(((grid[:, None] - grid[None]) ** 2).sum(axis=-1)).max()
    shown = np.linspace(0, positions - 1, GALLERY).round().astype(int)
    gallery = grid[np.ix_(shown, shown)][..., :-2].reshape(GALLERY, GALLERY, pixels, pixels)
    apart = np.linalg.norm(inputs[0] - inputs[positions**2])
    return {
        "gallery": variable(("blob_x", "blob_y", "pixel_x", "pixel_y"), gallery, "intensity, sums to 1 over an image"),
        "input_along": variable((), along, "largest distance of two inputs that differ in one feature"),
        "input_between": variable((), apart, "distance of two inputs that differ in the context"),
        "blob_x": index("blob_x", GALLERY, "position along feature 1"),
        "blob_y": index("blob_y", GALLERY, "position along feature 2"),
        "pixel_x": index("pixel_x", pixels, "pixel along feature 1"),
        "pixel_y": index("pixel_y", pixels, "pixel along feature 2"),
    }


def _task(blobs: xr.Dataset) -> tuple[NDArray, NDArray]:
    """Target of every point and its context."""
    context = blobs["context"].values
    return blobs["feature"].values[np.arange(len(context)), context], context


def _collapse(blobs: xr.Dataset) -> NDArray:
    """Shape (trial, context); NaN where a network has diverged."""
    features, context = blobs["feature"].values, blobs["context"].values
    return np.array(
        [
            [
                collapse_index(h[context == c], *features[context == c].T[[c, 1 - c]]) if finite else np.nan
                for c in (0, 1)
            ]
            for h, finite in zip(blobs["h"].values.astype(float), _finite(blobs), strict=True)
        ]
    )


def _between(blobs: xr.Dataset) -> NDArray:
    """Shape (trial,); NaN where a network has diverged."""
    task = _task(blobs)
    pairs = zip(blobs["h"].values, _finite(blobs), strict=True)
    return np.array([between_contexts(h, *task) if finite else np.nan for h, finite in pairs])


def _finite(blobs: xr.Dataset) -> NDArray:
    """Whether each network's representation is finite, shape (trial,)."""
    return np.isfinite(blobs["h"].values).all(axis=(1, 2))


def _first_finite(blobs: xr.Dataset) -> NDArray:
    """Representation of the first network that has not diverged, of the first where all have; (point, neuron)."""
    return blobs["h"].values[np.argmax(_finite(blobs))]


def _picture(h: NDArray, method: str) -> tuple[NDArray, float]:
    """Scaled coordinates (point, component) and the share of squared distances that they show; NaN of a gap."""
    if not np.isfinite(h).all():
        return np.full((len(h), AXES), np.nan), np.nan
    classical, share = classical_mds(h, AXES)
    return (smacof(h, classical) if method == "smacof" else classical), share
