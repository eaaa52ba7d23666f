"""Points that a network was not trained on, measured beside those that it was: variables with a suffix of their own."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from repdyn.base.datasets import index, variable
from repdyn.diagnostics.methods.catalog import HELD_OUT, OF_HELD_OUT
from repdyn.diagnostics.methods.collecting import Collector
from repdyn.diagnostics.methods.progress import Interrupted


def inputs_and_answers(held_out: object) -> tuple[object, NDArray[Any]]:
    """Inputs and their labels or targets.

    Raises:
        ValueError: anything but a pair.
    """
    if not isinstance(held_out, tuple) or len(held_out) != 2:
        given = f"{len(held_out)} parts" if isinstance(held_out, tuple) else f"a {type(held_out).__name__}"
        raise ValueError(f"held_out has {given}; give (inputs, labels) or (inputs, targets)")
    inputs, answers = held_out
    return inputs, np.asarray(answers.detach().cpu() if isinstance(answers, Tensor) else cast("Any", answers))


def held_out_measures(chosen: list[str]) -> list[str]:
    """Those of the chosen measures that held-out points have.

    Raises:
        ValueError: none.
    """
    if found := [name for name in chosen if name in OF_HELD_OUT]:
        return found
    raise ValueError(f"held_out: of the measures {', '.join(chosen)} it has none; add some of {', '.join(OF_HELD_OUT)}")


class Measurement:
    """One moment of a network, and every later one: what does not change with the weights is found once.

    Args:
        collector: measures the points.
        held_out: measures those that the network was not trained on; None for none.
    """

    def __init__(self, collector: Collector, held_out: Collector | None) -> None:
        self.collector, self.held_out = collector, held_out

    @property
    def model(self) -> torch.nn.Module:
        """The network that is measured."""
        return self.collector.reader.model

    @property
    def lost(self) -> list[dict[str, str]]:
        """Layers that had no row per point last time, and why: of the points and of held-out ones."""
        return [part.lost for part in (self.collector, self.held_out) if part is not None]

    def dataset(self) -> xr.Dataset:
        """Measures the network as it is now.

        Raises:
            Interrupted: the user stopped it; the error holds what was measured until then.
        """
        dataset = self.collector.dataset()
        if self.held_out is None:
            return dataset
        try:
            return beside(dataset, self.held_out.dataset())
        except Interrupted as stop:
            raise Interrupted(beside(dataset, stop.dataset)) from stop


def beside(dataset: xr.Dataset, other: xr.Dataset) -> xr.Dataset:
    """A dataset with the numbers of held-out points under their names and `_held_out`.

    Args:
        dataset: of the points.
        other: of the held-out points.
    """
    added = {
        f"{name}{HELD_OUT}": values.drop_vars(set(values.coords) - {"layer"}).assign_attrs(
            long_name=f"{values.attrs['long_name']}, of held-out points"
        )
        for name, values in other.data_vars.items()
    }
    dim = f"point{HELD_OUT}"
    coordinates = {dim: index(dim, other.sizes["point"], "held-out point")}
    if "label" in other.coords:
        coordinates[f"label{HELD_OUT}"] = variable(dim, other["label"].values, "class of the held-out point")
    reasons = [dataset.attrs["left_out"], *(f"held-out points, {text}" for text in [other.attrs["left_out"]] if text)]
    text = "; ".join(reason for reason in reasons if reason)
    return dataset.assign(added).assign_coords(coordinates).assign_attrs(left_out=text)
