#!/usr/bin/env bash
# Packages: zarr 3.1.6, numpy 2.4.6.
# Behaviour: resize of an array to fewer entries deletes only chunks that lie wholly beyond the new end. The chunk that
#   the new end cuts keeps its old numbers, and they are back when the array grows again; entries of deleted chunks read
#   as the fill value.
# Seen: 0 to 9 in chunks of four, resized to 5 and back to 10: 0 1 2 3 4 5 6 7 nan nan. With chunks of one:
#   0 1 2 3 4 nan nan nan nan nan.
# Why it surprises: the guess was the fill value everywhere beyond the cut. A recording that goes back to a checkpoint,
#   is cut there and grows again shows numbers of the abandoned run as its own, for less than a chunk, so a
#   test with small chunks does not see it.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet zarr==3.1.6 numpy==2.4.6
"$here/venv/bin/python" - "$here" <<'PY'
import sys

import numpy as np
import zarr

again = {}
for chunk in (4, 1):
    path = f"{sys.argv[1]}/{chunk}.zarr"
    array = zarr.create_array(path, shape=(10,), chunks=(chunk,), dtype="float64", fill_value=np.nan)
    array[:] = np.arange(10.0)
    array.resize((5,))
    assert np.array_equal(array[:], np.arange(5.0))
    array.resize((10,))
    again[chunk] = zarr.open_array(path, mode="r")[:]
    print(f"chunks of {chunk}:", again[chunk])
assert np.array_equal(again[4][:8], np.arange(8.0))
assert np.isnan(again[4][8:]).all()
assert np.array_equal(again[1][:5], np.arange(5.0))
assert np.isnan(again[1][5:]).all()
PY
