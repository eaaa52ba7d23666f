"""One moment as named numbers, for the loggers of experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from repdyn.diagnostics.methods.recording import FIXED

NO_SCALARS = (*FIXED, "odd_point")  # the same at every moment, or a name and no size
PREFIX = "repdyn/"  # of the names that loggers get, so that a "loss" stays the user's


def scalars(dataset: xr.Dataset, prefix: str = "") -> dict[str, float]:
    """Numbers of the network and of each layer: `accuracy`, `effective_rank/layer1.0`, `radial_fraction/conv1`.

    Args:
        dataset: of `measure`, or of `Recorder.dataset`, of whose moments the last counts.
        prefix: in front of every name.

    Returns:
        Number by name, all finite: what is missing is left out. Angles are medians over pairs, numbers of classes and
        of seeds means. What points or pairs have of their own, and what is the same at every moment, stays out.

    Example:
        >>> import torch
        >>> from repdyn.diagnostics.measure import measure
        >>> scalars(measure(torch.nn.Linear(2, 2), torch.eye(2), measures=["ranks"]))["numerical_rank/input"]
        2.0
    """
    if time := dataset.attrs.get("time"):
        dataset = dataset.isel({time: -1})
    if "quantile" in dataset.coords:
        dataset = dataset.sel(quantile=0.5)
    named: dict[str, float] = {}
    for name, values in dataset.drop_vars(NO_SCALARS, errors="ignore").data_vars.items():
        values = values.mean([dim for dim in ("class", "seed") if dim in values.dims])
        if not values.dims:
            named[f"{prefix}{name}"] = float(values)
        elif values.dims in (("layer",), ("step_from",), ("normalized",)):
            places = values[values.dims[0]].values.tolist()
            named |= {f"{prefix}{name}/{place}": float(value) for place, value in zip(places, values, strict=True)}
    return {name: value for name, value in named.items() if np.isfinite(value)}


def log_scalars(logger: Any, values: Mapping[str, float], step: float) -> None:
    """Hands the numbers of a moment to a logger.

    Args:
        logger: what has `add_scalar(name, value, step)`, as TensorBoard's `SummaryWriter`; or
            `log_metrics(values, step=...)`, as Lightning's loggers, MLflow and Comet; or `log(values, step=...)`, as a
            run of Weights & Biases; or a function of values and step.
        values: number by name.
        step: where the moment stands along training.

    Raises:
        ValueError: a logger of another kind.
    """
    if hasattr(logger, "add_scalar"):
        for name, value in values.items():
            logger.add_scalar(name, value, step)
    elif hasattr(logger, "log_metrics"):
        logger.log_metrics(dict(values), step=step)
    elif hasattr(logger, "log"):
        logger.log(dict(values), step=step)
    elif callable(logger):
        logger(dict(values), step)
    else:
        raise ValueError(
            f"logger is a {type(logger).__name__}; give one with add_scalar, log_metrics or log, or a function of "
            "(values, step)"
        )
