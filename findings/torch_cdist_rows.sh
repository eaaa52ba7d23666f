#!/usr/bin/env bash
# Packages: torch 2.13.0, numpy 2.4.6.
# Behaviour: with more than 25 rows torch.cdist takes squared distances from inner products. A further row therefore
#   changes the distances of all others: small ones lose all digits, and a row's distance to itself need not be 0.
# Seen: float32 points of length 10 that are about 1e-3 apart: 25 of them right to 3e-7; with a 26th half of the distances
#   are 0 and the others up to 6 times too large. Standard normal points around 3: distance to themselves 0 for 25 rows, up
#   to 0.016 for 26.
# Why it surprises: the guess was that the distance of two points does not depend on which others are in the array, and
#   that a small example shows what a large one gives: nearest neighbors of a collapsed layer are read from zeros.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import torch

torch.manual_seed(0)
center = 10 * torch.nn.functional.normalize(torch.randn(1, 64), dim=1)
close, usual = center + 1e-4 * torch.randn(26, 64), torch.randn(26, 64) + 3
exact = torch.cdist(close.double(), close.double(), compute_mode="donot_use_mm_for_euclid_dist")
seen = {}
for rows in (25, 26):
    others = ~torch.eye(rows, dtype=torch.bool)
    distances = torch.cdist(close[:rows], close[:rows])[others].double()
    ratio = distances / exact[:rows, :rows][others]
    zeros, own = float((distances == 0).double().mean()), float(torch.cdist(usual[:rows], usual[:rows]).diag().max())
    seen[rows] = float((ratio - 1).abs().max()), zeros, own
    print(f"{rows} rows: largest relative error {seen[rows][0]:.1e}, share of zeros {zeros:.2f}, own distance {own:.4f}")
assert seen[25][0] < 1e-5
assert seen[25][1:] == (0, 0)
assert seen[26][0] > 2
assert seen[26][1] > 0.2
assert seen[26][2] > 1e-3
PY
