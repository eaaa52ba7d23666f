#!/usr/bin/env bash
# Packages: scikit-learn 1.9.1, numpy 2.4.6.
# Behaviour: PCA() takes its singular values from the eigenvalues of the covariance as soon as there are ten times as many
#   rows as columns (up to 1000 columns), which squares the condition number: what is below 1e-8 of the largest singular
#   value, in float32 below some 1e-4, is round-off.
# Seen: 300 centered points in 30 dimensions whose singular values fall by ten from 10 to 1e-8: the smallest comes out 12
#   times too large; of 299 such points all ten are right to 1e-5. Float32 points in 3 directions get 17 components above
#   1e-6 of the first, and 3 with the full solver.
# Why it surprises: the guess was that PCA is the SVD of the centered data, so that a spectrum can be read down to 1e-15
#   of its largest value, and that one more data point does not change what the small end of a spectrum looks like.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet scikit-learn==1.9.1 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import numpy as np
from sklearn.decomposition import PCA

rng = np.random.default_rng(0)
right = np.linalg.qr(rng.standard_normal((30, 30)))[0][:, :10]
wanted = 10.0 ** (1 - np.arange(10))


def points(number):
    left = rng.standard_normal((number, 10))
    return (np.linalg.qr(left - left.mean(axis=0))[0] * wanted) @ right.T


for number, solver in ((299, "full"), (300, "covariance_eigh")):
    model = PCA().fit(points(number))
    ratio = model.singular_values_[:10] / wanted
    print(f"{number} points, {model._fit_svd_solver}: computed over true, {np.round(ratio, 3)}")
    assert model._fit_svd_solver == solver
    assert np.allclose(ratio[:6], 1, rtol=1e-4)
    assert (abs(ratio[-1] - 1) < 1e-5) == (solver == "full")
    assert ratio[-1] > 5 or solver == "full"

planar = (rng.standard_normal((300, 3)) @ rng.standard_normal((3, 30))).astype(np.float32)
counts = {}
for solver in ("auto", "full"):
    values = PCA(svd_solver=solver).fit(planar).singular_values_
    counts[solver] = int((values > 1e-6 * values[0]).sum())
print(f"components above 1e-6 of the first, float32 data of rank 3: {counts}")
assert counts["full"] == 3
assert counts["auto"] > 10
PY
