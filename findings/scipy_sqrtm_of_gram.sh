#!/usr/bin/env bash
# Packages: scipy 1.17.1, numpy 2.4.6.
# Behaviour: sqrtm of a real, positive semidefinite Gram matrix of deficient rank can come back complex: eigenvalues
#   that should be zero are rounded to small negative numbers, and their roots are imaginary, about 1e-8 of the largest.
#   The type depends on the signs of rounding errors, hence on the draw. A matrix of full rank comes back real.
# Seen: for X of 6 points and 2 units, sqrtm(X X^T) is complex128 in 17 of 20 draws, with an imaginary part of up to
#   3e-8 (the count may differ by processor); sqrtm(X^T X) is float64 in all. A warning says singular, not complex.
# Why it surprises: the guess was a real root with an error of 1e-8. Bures distances and Frechet distances of fewer
#   points than units meet this matrix always; code that compares with `<`, or stores the trace as a real number, works
#   on some draws only.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet scipy==1.17.1 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import numpy as np
from scipy.linalg import sqrtm

draws = [np.random.default_rng(seed).normal(size=(6, 2)) for seed in range(20)]
of_points = [sqrtm(X @ X.T) for X in draws]
of_units = [sqrtm(X.T @ X) for X in draws]
complex_ones = [root for root in of_points if np.iscomplexobj(root)]
imaginary = [np.abs(root.imag).max() for root in complex_ones]
print(f"6 x 6 of rank 2: complex in {len(complex_ones)} of 20 draws, imaginary part up to {max(imaginary):.0e}")
print(f"2 x 2 of rank 2: complex in {sum(map(np.iscomplexobj, of_units))} of 20 draws")
assert all(np.isrealobj(X) for X in draws)
assert len(complex_ones) >= 10
assert 1e-10 < max(imaginary) < 1e-6
assert not any(map(np.iscomplexobj, of_units))
assert all(np.allclose(root @ root, X @ X.T) for root, X in zip(of_points, draws))
PY
