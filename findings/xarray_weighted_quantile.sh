#!/usr/bin/env bash
# Packages: xarray 2026.9.0, numpy 2.4.6.
# Behaviour: weighted(...).quantile does not read whole-number weights as counts. Its interpolation uses an effective
#   number of observations, (sum w)^2 / sum w^2, so a value of weight 3 is not three values. Mean and standard
#   deviation of the same object are those of the repeated values; with equal weights the quantile is numpy's.
# Seen: values 1, 2, 3, 10 with weights 1, 2, 1, 3: median 4.6, of the repeated values 1 2 2 3 10 10 10 it is 3.
#   Mean and std agree.
# Why it surprises: the guess was that whole-number weights equal repetition, as they do for every other reduction of
#   the same object. A median over pairs or classes weighted by their counts lies between the values that occur.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet xarray==2026.9.0 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import numpy as np
import xarray as xr

values = xr.DataArray([1.0, 2.0, 3.0, 10.0], dims="pair")
counts = xr.DataArray([1, 2, 1, 3], dims="pair")
repeated = np.repeat(values.values, counts.values)
weighted = values.weighted(counts)
for q in (0.1, 0.25, 0.5, 0.75):
    print(f"quantile {q}: weighted {float(weighted.quantile(q)):.3f}, repeated {np.quantile(repeated, q):.3f}")
print(f"mean: weighted {float(weighted.mean()):.3f}, repeated {repeated.mean():.3f}")
print(f"std: weighted {float(weighted.std()):.3f}, repeated {repeated.std():.3f}")
assert np.isclose(weighted.quantile(0.5), 4.6)
assert np.median(repeated) == 3
assert np.isclose(weighted.mean(), repeated.mean())
assert np.isclose(weighted.std(), repeated.std())
assert np.isclose(values.weighted(2 * xr.ones_like(values)).quantile(0.3), np.quantile(values, 0.3))
PY
