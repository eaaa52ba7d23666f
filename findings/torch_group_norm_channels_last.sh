#!/usr/bin/env bash
# Packages: torch 2.13.0, numpy 2.4.6.
# Behaviour: on a CPU, torch's group normalization of float32 images in the channels_last format takes the variance as mean
#   of squares minus square of the mean. Where the mean is large beside the spread its digits cancel; the same numbers in
#   the contiguous format, batch normalization in both formats, layer and instance normalization are right.
# Seen: 64 images of 16 x 8 x 8 standard normal entries plus an offset, 4 groups. At 1000 the channels_last output is off by
#   1.3 (contiguous: 1e-4), at 10000 its standard deviation is 234 in place of 1.
# Why it surprises: the guess was that a memory format decides speed and the last digit, and that a normalization is what
#   makes an offset harmless.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import torch
from torch.nn import functional

torch.manual_seed(0)
images = torch.randn(64, 16, 8, 8)
seen = {}
for offset in (0.0, 1e3, 1e4):
    x = images + offset
    for name, norm in {
        "group": lambda x: functional.group_norm(x, 4),
        "batch": lambda x: functional.batch_norm(x, None, None, training=True),
    }.items():
        true = norm(x.double())
        for words, layout in (("contiguous", torch.contiguous_format), ("channels_last", torch.channels_last)):
            out = norm(x.contiguous(memory_format=layout))
            seen[name, words, offset] = float((out - true).abs().max()), float(out.std())
for key, (error, deviation) in seen.items():
    print(*key, f"largest error {error:.1e}, standard deviation {deviation:.3f}")
assert seen["group", "channels_last", 0.0][0] < 1e-5
assert seen["group", "channels_last", 1e3][0] > 0.1
assert seen["group", "channels_last", 1e4][1] > 10
assert max(error for (name, words, _), (error, _) in seen.items() if name == "batch" or words == "contiguous") < 0.05
PY
