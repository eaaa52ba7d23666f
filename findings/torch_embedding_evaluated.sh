#!/usr/bin/env bash
# Packages: torch 2.13.0, numpy 2.4.6.
# Behaviour: a pass through torch.nn.Embedding(max_norm=...) cuts the rows that it looks up, in place, in evaluation mode
#   and under torch.no_grad() and torch.inference_mode(), too. Rows that no batch of the training holds keep their length
#   until an evaluation looks them up.
# Seen: a table of 40 rows trained on tokens below 20 by Adam with weight decay; one of two equal runs is evaluated every
#   step on tokens from 20 on: 20 rows differ after training, the largest length of these 2.95 without the evaluations and
#   0.29 with them. One evaluation alone changes 20 rows of the parameter.
# Why it surprises: the guess was that an evaluation (model.eval(), no gradients) reads parameters and writes none, so
#   that how often a run is validated has no part in what it learns.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$here/venv/bin/python" - <<'PY'
import torch
from torch import nn

SEEN, OTHERS = torch.arange(20).reshape(4, 5), torch.arange(20, 40).reshape(4, 5)


def evaluated(model, context):
    model.eval()
    with context():
        model(OTHERS)
    model.train()


def trained(evaluate):
    torch.manual_seed(0)
    table = nn.Embedding(40, 8, max_norm=0.5)
    model = nn.Sequential(table, nn.Flatten(), nn.Linear(40, 3))
    first = table.weight.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), 0.01, weight_decay=0.1)
    for step in range(20):
        loss = nn.functional.cross_entropy(model(SEEN), torch.arange(4) % 3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if evaluate:
            evaluated(model, torch.no_grad)
    return first, table.weight.detach()


for context in (torch.no_grad, torch.inference_mode):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(40, 8, max_norm=0.5), nn.Flatten(), nn.Linear(40, 3))
    before = model[0].weight.detach().clone()
    evaluated(model, context)
    changed = int((model[0].weight.detach() != before).any(dim=1).sum())
    print(f"rows that one evaluation changes, {context.__name__}: {changed}")
    assert changed == 20
(_, alone), (_, again), (_, other) = trained(False), trained(False), trained(True)
different = (alone != other).any(dim=1)
lengths = [float(weight[different].norm(dim=1).max()) for weight in (alone, other)]
print(f"rows that differ after training: {int(different.sum())}, largest length {lengths[0]:.2f} and {lengths[1]:.2f}")
assert torch.equal(alone, again)
assert int(different.sum()) == 20
assert lengths[0] > 1.5 * lengths[1]
PY
