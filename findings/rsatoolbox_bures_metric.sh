#!/usr/bin/env bash
# Packages: rsatoolbox 0.3.2, numpy 2.4.6.
# Behaviour: compare with method "bures_metric" returns tr K + tr L - 2 F, F the fidelity of the centered Gram matrices
#   over the number of units. That is the square of the Bures distance, and no metric. It depends on the unit of either
#   representation; method "bures", F / sqrt(tr K tr L), does not. The metric is small for similar ones, while
#   the other methods are large for them.
# Seen: X, 2 X and 3 X of 5 points and 7 units: first to second 2.81, second to third 2.81, first to third 11.23, twice
#   the way through the second. The roots are 1.68, 1.68 and 3.35, and add up.
# Why it surprises: the guess was the root, for the name promises the triangle inequality. Embeddings, trees and nearest
#   neighbours of networks computed from these numbers treat a square as a distance.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet rsatoolbox==0.3.2 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import numpy as np
from rsatoolbox.data import Dataset
from rsatoolbox.rdm import calc_rdm, compare

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(2, 5, 7))


def peer(A, B, method="bures_metric"):
    return float(compare(calc_rdm(Dataset(A)), calc_rdm(Dataset(B)), method)[0, 0])


def squared_distance(A, B):
    """min over rotations Q of |A - B Q|_F^2 / units, both centered."""
    A, B = A - A.mean(0), B - B.mean(0)
    return ((A**2).sum() + (B**2).sum() - 2 * np.linalg.norm(A.T @ B, "nuc")) / A.shape[1]


first, second, through = peer(X, 2 * X), peer(2 * X, 3 * X), peer(X, 3 * X)
print(f"X to 2 X {first:.2f}, 2 X to 3 X {second:.2f}, X to 3 X {through:.2f}")
print(f"X to Y {peer(X, Y):.4f}, squared distance by hand {squared_distance(X, Y):.4f}")
assert np.isclose(peer(X, Y), squared_distance(X, Y), rtol=1e-5)
assert np.isclose(through, 2 * (first + second), rtol=1e-4)
assert np.isclose(np.sqrt(through), np.sqrt(first) + np.sqrt(second), rtol=1e-4)
assert not np.isclose(peer(X, 10 * Y), peer(X, Y))
assert np.isclose(peer(X, 10 * Y, "bures"), peer(X, Y, "bures"))
PY
