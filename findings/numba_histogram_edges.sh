#!/usr/bin/env bash
# Packages: numba 0.68.1, numpy 2.4.6.
# Behaviour: np.histogram with a number of bins and a range counts differently inside a compiled function and outside
#   when values lie on edges. numba takes the bin from a scaled difference alone; numpy corrects the bin by a comparison
#   with its edges, which are rounded numbers themselves.
# Seen: of 0, 0.1, ..., 1 in ten bins over [0, 1], numba 1 1 1 1 1 1 1 1 1 2 and numpy 1 1 2 0 1 2 1 0 1 2. Of numbers
#   drawn at random the counts agree.
# Why it surprises: the guess was equal counts, since both are the same function with the same arguments. Shares such as
#   accuracies and sign frequencies are multiples of a fraction and lie on edges, and it is numpy that shows
#   empty bins.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet numba==0.68.1 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import numba
import numpy as np


@numba.njit
def compiled(x):
    return np.histogram(x, 10, (0.0, 1.0))[0]


def plain(x):
    return np.histogram(x, 10, (0.0, 1.0))[0]


tenths = np.array([float(f"0.{i}") for i in range(10)] + [1.0])
inside = np.random.default_rng(0).uniform(size=10_000)
print("compiled:", *compiled(tenths))
print("numpy:   ", *plain(tenths))
assert compiled(tenths).tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]
assert plain(tenths).tolist() == [1, 1, 2, 0, 1, 2, 1, 0, 1, 2]
assert (compiled(inside) == plain(inside)).all()
PY
