#!/usr/bin/env bash
# Packages: zarr 3.1.6, xarray 2026.9.0, numpy 2.4.6.
# Behaviour: to_zarr writes metadata of all arrays into the group (consolidated metadata). An array taken from that group
#   and appended to by zarr grows, but the group's copy of its shape stays. Whoever opens the group later sees the old
#   length, and the next append begins there: it replaces what the first one wrote.
# Seen: 0 1 2 3, append 4 5, reopen the group: 4 entries; append 6 7, reopen without consolidated metadata: 0 1 2 3 6 7.
#   With consolidated=False all eight are there.
# Why it surprises: the guess was at worst a reader that sees too little. A recording that is resumed twice loses the
#   entries between, without an error, in a process that has opened the array anew each time.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet zarr==3.1.6 xarray==2026.9.0 numpy==2.4.6
"$here/venv/bin/python" -W ignore - "$here" <<'PY'
import sys

import numpy as np
import xarray as xr
import zarr

recorded = {}
for consolidated in (True, False):
    path = f"{sys.argv[1]}/{consolidated}.zarr"
    xr.Dataset({"loss": ("step", np.arange(4.0))}).to_zarr(path, consolidated=consolidated)
    zarr.open_group(path, mode="r+")["loss"].append(np.array([4.0, 5.0]))
    resumed = zarr.open_group(path, mode="r+")["loss"]
    length = resumed.shape[0]
    resumed.append(np.array([6.0, 7.0]))
    recorded[consolidated] = zarr.open_group(path, mode="r", use_consolidated=False)["loss"][:].tolist()
    print(f"consolidated={consolidated}: {length} entries when resumed, in the end", recorded[consolidated])
assert recorded[True] == [0, 1, 2, 3, 6, 7]
assert recorded[False] == [0, 1, 2, 3, 4, 5, 6, 7]
PY
