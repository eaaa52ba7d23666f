#!/usr/bin/env bash
# Packages: torch 2.13.0, numpy 2.4.6.
# Behaviour: with torch.nn.utils.parametrizations.spectral_norm, reading `layer.weight` in training mode runs a power
#   iteration: it writes the buffers of singular vectors, and the next reading gives another weight. Inside
#   parametrize.cached() only the first reading does. In evaluation mode nothing changes.
# Seen: a fresh layer of 40 x 40 read ten times in a row without a forward pass: norms of the weight fall from 3.41208 to
#   3.41175, each another; in evaluation mode and in the cache all ten are the same. Two equal
#   networks on equal batches for 20 steps, of which one also logs the norm of its weight once a step: loss 0.0532 without
#   the line and 0.0651 with it.
# Why it surprises: the guess was that an attribute gives what it gave before, and that the buffers move in forward
#   alone. A line that only logs changes what is trained.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import spectral_norm

torch.manual_seed(0)
layer = spectral_norm(nn.Linear(40, 40))
norms = [float(layer.weight.detach().norm()) for _ in range(10)]
layer.eval()
still = [float(layer.weight.detach().norm()) for _ in range(10)]
layer.train()
with parametrize.cached():
    held = [float(layer.weight.detach().norm()) for _ in range(10)]
print("read in training mode:", *(f"{norm:.8f}" for norm in norms))
print("read in evaluation mode:", *(f"{norm:.8f}" for norm in sorted(set(still))))
print("read in a cache:", *(f"{norm:.8f}" for norm in sorted(set(held))))
assert len(set(norms)) == 10
assert len(set(still)) == len(set(held)) == 1


def trained(logs):
    torch.manual_seed(1)
    model = nn.Sequential(spectral_norm(nn.Linear(20, 40)), nn.ReLU(), nn.Linear(40, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(20):
        inputs = torch.randn(16, 20, generator=torch.Generator().manual_seed(step))
        loss = (model(inputs) - inputs[:, :1]).square().mean()
        if logs:
            model[0].weight.detach().norm().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


alone, again, logged = trained(False), trained(False), trained(True)
print(f"loss after 20 steps: {alone:.6f}, with the norm logged {logged:.6f}")
assert alone == again
assert logged > 1.1 * alone
PY
