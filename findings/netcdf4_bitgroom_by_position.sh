#!/usr/bin/env bash
# Packages: netCDF4 1.7.5.1.post1, numpy 2.4.6.
# Behaviour: significant_digits rounds by BitGroom unless a mode is named, and BitGroom clears the last bits of every
#   second number and sets them in the others. What is stored depends on the number's position in the array, not on the
#   number alone. GranularBitRound rounds each number by itself.
# Seen: twelve ones at three digits are 1 1.000488 1 1.000488 ...; two equal rows of three units differ by 4.9e-4 in each
#   unit; with GranularBitRound all are 1.
# Why it surprises: the guess was rounding, so that equal numbers stay equal. A dead unit gets a variance, equal points
#   get a distance, but only if the number of units is odd, and the mean of the array is right, so that averages hide it.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet netCDF4==1.7.5.1.post1 numpy==2.4.6
"$here/venv/bin/python" - "$here/activations.nc" <<'PY'
import sys

import numpy as np
from netCDF4 import Dataset

stored = {}
with Dataset(sys.argv[1], "w") as file:
    for size, name in [(2, "point"), (3, "odd"), (4, "even"), (12, "step")]:
        file.createDimension(name, size)
    for name, dims, mode in [
        ("constant", ("step",), {}),
        ("odd_rows", ("point", "odd"), {}),
        ("even_rows", ("point", "even"), {}),
        ("granular", ("point", "odd"), {"quantize_mode": "GranularBitRound"}),
    ]:
        ones = np.ones([file.dimensions[dim].size for dim in dims], "float32")
        file.createVariable(name, "f4", dims, compression="zlib", significant_digits=3, **mode)[:] = ones
with Dataset(sys.argv[1]) as file:
    for name in file.variables:
        stored[name] = np.asarray(file[name][:])
        print(name, stored[name].tolist())
assert set(stored["constant"][::2]) == {1.0}
assert np.allclose(stored["constant"][1::2], 1 + 2**-11, rtol=0, atol=1e-6)
assert np.allclose(np.abs(np.diff(stored["odd_rows"], axis=0)), 2**-11, rtol=0, atol=1e-6)
assert not np.diff(stored["even_rows"], axis=0).any()
assert (stored["granular"] == 1).all()
PY
