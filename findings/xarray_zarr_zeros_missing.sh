#!/usr/bin/env bash
# Packages: zarr 3.1.6, xarray 2026.9.0, numpy 2.4.6.
# Behaviour: an array of zarr's format 2 has 0 as fill value unless another is given, and xarray takes the fill value of
#   that format for the mark of missing entries. Zeros are read as NaN, integers as floats. In format 3 it does not;
#   for format 2 use_zarr_fill_value_as_mask=False changes nothing, and mask_and_scale=False returns what was written.
# Seen: 0 1 0 2 is read as nan 1 nan 2 from format 2, of mean 1.5, and as 0 1 0 2 from format 3, of mean 0.75.
# Why it surprises: the guess was that numbers which were written are read. Of activations behind a ReLU the zeros go,
#   most of the numbers, and means skip NaN: a share of active units becomes 1, a mean that of the active ones alone.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet zarr==3.1.6 xarray==2026.9.0 numpy==2.4.6
"$here/venv/bin/python" - "$here" <<'PY'
import sys

import numpy as np
import xarray as xr
import zarr

written = np.array([0, 1, 0, 2])


def stored(zarr_format, dtype):
    path = f"{sys.argv[1]}/{zarr_format}{dtype}.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    if zarr_format == 3:
        array = group.create_array("activation", shape=(4,), dtype=dtype, dimension_names=("unit",))
    else:
        array = group.create_array("activation", shape=(4,), dtype=dtype)
        array.attrs["_ARRAY_DIMENSIONS"] = ["unit"]
    array[:] = written
    assert np.array_equal(zarr.open_group(path, mode="r")["activation"][:], written)
    return path


def read(path, **options):
    return xr.open_zarr(path, consolidated=False, chunks=None, **options)["activation"].load()


for dtype in ("float32", "int32"):
    two, three = read(stored(2, dtype)), read(stored(3, dtype))
    print(dtype, "format 2:", two.values, float(two.mean()), "format 3:", three.values, float(three.mean()))
    assert np.array_equal(two, [np.nan, 1, np.nan, 2], equal_nan=True)
    assert float(two.mean()) == 1.5
    assert np.array_equal(three, written)
    assert float(three.mean()) == 0.75
    without_mask = read(stored(2, dtype), use_zarr_fill_value_as_mask=False)
    assert np.array_equal(without_mask, [np.nan, 1, np.nan, 2], equal_nan=True)
    assert np.array_equal(read(stored(2, dtype), mask_and_scale=False), written)
PY
