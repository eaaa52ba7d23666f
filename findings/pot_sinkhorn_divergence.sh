#!/usr/bin/env bash
# Packages: POT 0.9.7.post1, scipy 1.17.1, numpy 2.4.6.
# Behaviour: ot.bregman.empirical_sinkhorn_divergence forms xy - (xx + yy) / 2 from the transport costs <P, M> of the
#   entropic plans; the entropy of the plans is left out of all three terms. M is the squared Euclidean distance.
# Seen: two clouds of 6 points in the plane with equal means, regularization 5: 2.24; with the entropy (relative to the
#   product of the marginals) in the three terms, 1.62. The costs alone give the returned number to five digits.
# Why it surprises: the guess was the divergence of the regularized costs, the quantity of which positivity and
#   convexity are proved. The two differ by 38 % here, so numbers of two packages differ at equal regularization.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet POT==0.9.7.post1 scipy==1.17.1 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import numpy as np
import ot
from scipy.special import rel_entr

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(6, 2)), 2 * rng.normal(size=(6, 2))
X, Y = X - X.mean(0), Y - Y.mean(0)
REGULARIZATION = 5.0
weights = np.full(6, 1 / 6)


def costs(A, B):
    """Transport cost of the entropic plan, without and with the plan's relative entropy."""
    M = ((A[:, None] - B[None]) ** 2).sum(-1)
    P = ot.sinkhorn(weights, weights, M, REGULARIZATION, stopThr=1e-12)
    transport = (P * M).sum()
    return np.array([transport, transport + REGULARIZATION * rel_entr(P, np.outer(weights, weights)).sum()])


without, with_entropy = costs(X, Y) - (costs(X, X) + costs(Y, Y)) / 2
returned = float(ot.bregman.empirical_sinkhorn_divergence(X, Y, REGULARIZATION))
print(f"returned {returned:.6f}, costs alone {without:.6f}, costs with entropy {with_entropy:.6f}")
assert np.isclose(returned, without, rtol=1e-5)
assert returned > 1.3 * with_entropy
PY
