#!/usr/bin/env bash
# Packages: rsatoolbox 0.3.2, numpy 2.4.6.
# Behaviour: cov_from_measurements, on C conditions with R repetitions each, divides the squared residuals by (C - 1) R
#   instead of C (R - 1). cov_from_unbalanced, on the same data, divides by C (R - 1). So it is for each of the four
#   methods; the argument dof sets the number by hand.
# Seen: unit noise, 400 conditions with 2 repetitions: variance 0.49 against 0.97; 3 conditions with 400 repetitions:
#   1.51 against 1.01. With equal numbers of both the two agree.
# Why it surprises: the guess was one estimate under two names, the second of which also takes unequal numbers of
#   repetitions. With two repetitions, the usual case of cross-validated distances, Mahalanobis distances come
#   out doubled.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet rsatoolbox==0.3.2 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import numpy as np
from rsatoolbox.data import Dataset
from rsatoolbox.data.noise import cov_from_measurements, cov_from_unbalanced

UNITS = 4
rng = np.random.default_rng(0)
for conditions, repetitions in ((400, 2), (3, 400), (20, 20)):
    noise = rng.normal(size=(conditions, repetitions, UNITS))
    points = (rng.normal(size=(conditions, 1, UNITS)) + noise).reshape(-1, UNITS)
    data = Dataset(points, obs_descriptors={"condition": np.repeat(np.arange(conditions), repetitions)})
    squares = ((noise - noise.mean(1, keepdims=True)) ** 2).sum((0, 1)).mean()
    for method in ("full", "diag", "shrinkage_eye", "shrinkage_diag"):
        balanced = np.diag(cov_from_measurements(data, "condition", method=method)).mean()
        unbalanced = np.diag(cov_from_unbalanced(data, "condition", method=method)).mean()
        assert np.isclose(balanced, squares / ((conditions - 1) * repetitions))
        assert np.isclose(unbalanced, squares / (conditions * (repetitions - 1)))
    print(f"{conditions} x {repetitions}: cov_from_measurements {balanced:.3f}, cov_from_unbalanced {unbalanced:.3f}")
    given = cov_from_measurements(data, "condition", dof=conditions * (repetitions - 1), method="full")
    assert np.isclose(np.diag(given).mean(), unbalanced)
PY
