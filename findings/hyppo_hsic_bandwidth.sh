#!/usr/bin/env bash
# Packages: hyppo 0.5.2, scipy 1.17.1, numpy 2.4.6.
# Behaviour: hyppo.independence.Hsic sets the width of both Gaussian kernels by the median distance of the first argument.
#   So the statistic is not symmetric, it changes with the units of one argument, and the test can lose its power. With
#   bias=True the statistic is the root of what it is without (the root of CKA, not CKA).
# Seen: 200 points, Y three coordinates of X plus noise: statistic 0.310 for (X, Y), 0.313 for (Y, X), 0.009 for
#   (X, 100 Y) and 0.316 for (100 X, Y); p-values of 1000 permutations: below 0.01, and above 0.01 for (X, 100 Y).
# Why it surprises: the guess was the median heuristic of the HSIC literature, each kernel by its own data, which makes
#   the statistic independent of units and of the order of the arguments, as CKA is.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet hyppo==0.5.2 scipy==1.17.1 numpy==2.4.6
"$here/venv/bin/python" -W ignore - <<'PY'
import numpy as np
from hyppo.independence import Hsic
from scipy.spatial.distance import pdist, squareform

rng = np.random.default_rng(0)
X = rng.standard_normal((200, 5))
Y = X[:, :3] + rng.standard_normal((200, 3))


def root_of_cka(X, Y, widths):
    H = np.eye(len(X)) - 1 / len(X)
    K, L = (H @ np.exp(-(squareform(pdist(Z)) ** 2) / (2 * width**2)) @ H for Z, width in zip((X, Y), widths))
    return np.sqrt((K * L).sum() / np.sqrt((K * K).sum() * (L * L).sum()))


widths = np.median(pdist(X)), np.median(pdist(Y))
biased = Hsic(bias=True).statistic(X, Y)
first, own = root_of_cka(X, Y, (widths[0], widths[0])), root_of_cka(X, Y, widths)
print(f"bias=True: {biased:.6f}; root of CKA with X's width for both {first:.6f}, with each its own {own:.6f}")
assert abs(biased - first) < 1e-9
assert abs(biased - own) > 1e-4

pairs = {"(X, Y)": (X, Y), "(Y, X)": (Y, X), "(X, 100 Y)": (X, 100 * Y), "(100 X, Y)": (100 * X, Y)}
seen = {name: Hsic().statistic(*pair) for name, pair in pairs.items()}
print({name: f"{value:.3f}" for name, value in seen.items()})
assert abs(seen["(X, Y)"] - seen["(Y, X)"]) > 1e-3
assert seen["(X, 100 Y)"] < 0.05 < seen["(X, Y)"]
p = {name: Hsic().test(*pairs[name], reps=1000, auto=False, random_state=0)[1] for name in ("(X, Y)", "(X, 100 Y)")}
print(f"p-values {p}")
assert p["(X, Y)"] < 0.01 < p["(X, 100 Y)"]
PY
