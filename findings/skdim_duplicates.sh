#!/usr/bin/env bash
# Packages: scikit-dimension 0.5.0, scikit-learn 1.9.1, numpy 2.4.6.
# Behaviour: one repeated point takes the maximum-likelihood estimate of the intrinsic dimension (skdim.id.MLE) to exactly
#   0, without a warning; TwoNN on the same data moves by a hundredth.
# Seen: 1000 Gaussian points in 5 of 20 dimensions: MLE 4.99, TwoNN 5.07. With one of them twice: MLE 0, TwoNN 5.07.
# Why it surprises: the guess was that one pair of equal points in a thousand costs a local estimate or two (nan, or an
#   error), and that the average over the other points stays near 5. Data sets and rectified layers hold equal rows.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet scikit-dimension==0.5.0 scikit-learn==1.9.1 numpy==2.4.6
"$here/venv/bin/python" -W ignore - <<'PY'
import numpy as np
import skdim

plain = np.zeros((1000, 20))
plain[:, :5] = np.random.default_rng(0).standard_normal((1000, 5))
repeated = np.vstack([plain, plain[:1]])
seen = {
    (estimator.__name__, words): float(estimator().fit(points).dimension_)
    for estimator in (skdim.id.MLE, skdim.id.TwoNN)
    for words, points in (("plain", plain), ("one twice", repeated))
}
print(seen)
assert 4.5 < seen["MLE", "plain"] < 5.5
assert seen["MLE", "one twice"] == 0
assert 4.5 < seen["TwoNN", "plain"] < 5.5
assert abs(seen["TwoNN", "one twice"] - seen["TwoNN", "plain"]) < 0.1
PY
