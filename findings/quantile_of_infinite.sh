#!/usr/bin/env bash
# Packages: numpy 2.4.6, pandas 3.1.1, torch 2.13.0.
# Behaviour: a quantile that is an entry of the sample, no interpolation needed, is nan if that entry is infinite; in numpy
#   and pandas also if the next larger one is, since the weight 0 is multiplied by an infinite difference. The median of
#   numpy, which takes a mean, is right.
# Seen: of (1, 2, 3, inf, inf) the quantiles 0, 1/4, 1/2, 3/4, 1 are 1, 2, nan, nan, nan in numpy and pandas and 1, 2, 3,
#   nan, nan in torch; numpy's median is 3, its maximum inf.
# Why it surprises: the guess was that the quantile 1 is the maximum and the quantile 1/2 of five numbers their third, so
#   that two diverged runs of five leave the median of the rest alone, whether median or quantile is asked.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 torch==2.13.0
"$here/venv/bin/python" -W ignore - <<'PY'
import numpy as np
import pandas as pd
import torch

values, levels = np.array([1, 2, 3, np.inf, np.inf]), [0, 0.25, 0.5, 0.75, 1]
seen = {
    "numpy": np.quantile(values, levels),
    "pandas": pd.Series(values).quantile(levels).to_numpy(),
    "torch": torch.quantile(torch.tensor(values), torch.tensor(levels, dtype=torch.float64)).numpy(),
}
for name, quantiles in seen.items():
    print(name, quantiles)
    right = 3 if name == "torch" else 2
    assert quantiles[:right].tolist() == values[:right].tolist()
    assert np.isnan(quantiles[right:]).all()
print(f"numpy's median {np.median(values)}, maximum {values.max()}")
assert np.median(values) == 3
assert np.isinf(values.max())
PY
