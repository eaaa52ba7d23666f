"""Synthetic datasets for tests of tables, and the comparison of a table with independently computed cells.

The numbers are skewed and all different, so that mean, median, smallest, largest, first and last values differ along
every dimension, as do cells of other columns, subsets or axes.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr


def skewed(*sizes: int, seed: int) -> np.ndarray:
    """Positive numbers with a long tail to the right."""
    return np.random.default_rng(seed).lognormal(0, 0.8, sizes)


def dataset(
    labels: Mapping[str, Sequence[object] | np.ndarray], variables: Mapping[str, str], seed: int = 0, **scalars: object
) -> xr.Dataset:
    """A dataset of skewed numbers.

    Args:
        labels: coordinates along the dimensions.
        variables: the dimensions of every variable, separated by blanks.
        seed: of the numbers.
        **scalars: coordinates without a dimension.
    """
    sizes = {name: len(values) for name, values in labels.items()}
    arrays = {}
    for place, (name, words) in enumerate(variables.items()):
        dims = words.split()
        arrays[name] = (dims, skewed(*(sizes[dim] for dim in dims), seed=100 * seed + place))
    return xr.Dataset(arrays, dict(labels)).assign_coords(scalars)


def compare(frame: pd.DataFrame, rows: Sequence[Mapping[str, object]]) -> None:
    """Compares all cells of a table; an unknown column fails."""
    assert frame.columns.tolist() == list(rows[0])
    assert len(frame) == len(rows)
    for place, (record, row) in enumerate(zip(frame.to_dict("records"), rows, strict=True)):
        for name, value in row.items():
            cell, where = record[name], f"row {place}, {name!r}"
            if isinstance(value, str):
                assert cell == value, where
            else:
                np.testing.assert_allclose(cell, value, rtol=1e-9, err_msg=where)
