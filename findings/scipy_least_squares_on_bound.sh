#!/usr/bin/env bash
# Packages: scipy 1.17.1, numpy 2.4.6.
# Behaviour: least_squares with bounds and its default method moves a start that lies on a bound into the interior
#   before it calls the function for the first time. A start that solves the problem exactly is never evaluated and not
#   returned. Method dogbox evaluates it and returns it.
# Seen: residuals sqrt(x) - sqrt(solution) with solution (0, 1), started there: trf evaluates (1e-10, 1) first, where
#   the largest residual is 1e-5, and returns that with cost 5e-11; dogbox returns (0, 1) and cost 0.
# Why it surprises: the guess was that the first call is at the given start and that a start with zero residual comes
#   back bit for bit. A check that a known solution on the bound, such as a rate of zero, has no residual fails at
#   rounding's tolerance, and the support of the result is not the support of the start.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet scipy==1.17.1 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import numpy as np
from scipy.optimize import least_squares

solution = np.array([0.0, 1.0])


def jacobian(x):
    return np.eye(2)


for method in ("trf", "dogbox"):
    called = []

    def residuals(x):
        called.append(x.copy())
        return np.sqrt(x) - np.sqrt(solution)

    found = least_squares(residuals, solution, jacobian, bounds=(0, 2), method=method, max_nfev=1)
    largest = np.abs(found.fun).max()
    print(f"{method}: first call at {called[0]}, returned {found.x}, residual {largest:.0e}, cost {found.cost:.0e}")
    if method == "trf":
        assert not np.array_equal(called[0], solution)
        assert not any(np.array_equal(x, solution) for x in called)
        assert np.isclose(called[0][0], 1e-10)
        assert np.isclose(largest, 1e-5)
    else:
        assert np.array_equal(called[0], solution)
        assert np.array_equal(found.x, solution)
        assert found.cost == 0
PY
