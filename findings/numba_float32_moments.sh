#!/usr/bin/env bash
# Packages: numba 0.68.1, numpy 2.4.6.
# Behaviour: inside a compiled function, np.mean, np.var and np.std of a float32 array use a mean whose sum was added
#   up one number after the other in float32. The squared deviations from that mean are then summed in float64, so the
#   variance carries the square of the mean's error. numpy adds in pairs and is right to six digits.
# Seen: of 2^25 ones, mean 0.5 and standard deviation 0.5 (numpy: 1 and 0); of a million normal numbers around 1000 with
#   variance 1, mean 1008.9 and variance 80 (numpy: 1000.0 and 1.0). In float64 both agree.
# Why it surprises: the guess was that the compiled variance would agree with numpy's to about 1e-6. A constant unit
#   gets a spread, and a variance is wrong by a factor of 80 although it comes back as a float64.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet numba==0.68.1 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import numba
import numpy as np


@numba.njit
def moments(x):
    return np.mean(x), np.var(x), np.std(x)


ones = np.ones(2**25, dtype=np.float32)
shifted = (1000 + np.random.default_rng(0).normal(size=10**6)).astype(np.float32)
mean_of_ones, _, spread_of_ones = moments(ones)
mean, variance, _ = moments(shifted)
_, in_float64, _ = moments(shifted.astype(np.float64))
print(f"2^25 ones: compiled mean {mean_of_ones}, std {spread_of_ones}; numpy {ones.mean()}, {ones.std()}")
print(f"about 1000: compiled mean {mean:.1f}, variance {variance:.1f}; numpy {shifted.mean():.2f}, {shifted.var():.3f}")
assert (mean_of_ones, spread_of_ones) == (0.5, 0.5)
assert (ones.mean(), ones.std()) == (1, 0)
assert 1008 < mean < 1010
assert 75 < variance < 85
assert abs(shifted.var() - 1) < 0.01
assert abs(in_float64 - 1) < 0.01
PY
