#!/usr/bin/env bash
# Packages: torch 2.13.0, safetensors 0.8.0, numpy 2.4.6.
# Behaviour: torch.load chooses the format by the name of a path, torch.save does not: under a name that ends in
#   .safetensors it writes its usual archive, and torch.load of this path hands it to safetensors, which refuses it. The
#   same file opened by the caller, or under another name, is read; a real safetensors file under another name is not.
# Seen: torch.save to weights.safetensors writes b"PK"; torch.load of the path: SafetensorError, "header too large"; of
#   the open file and of a copy named weights.pt: the weights. A file of safetensors.torch.save_file is read by torch.load
#   of its path and, renamed to plain.pt, refused.
# Why it surprises: the guess was that torch.load reads what torch.save wrote under the same path, whatever its name, and
#   that a path and the file opened from it are the same to it.
set -euo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
python3 -m venv "$here/venv"
"$here/venv/bin/pip" install --quiet torch==2.13.0 safetensors==0.8.0 numpy==2.4.6
cd "$here"
"$here/venv/bin/python" - <<'PY'
import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

weights = {"weight": torch.eye(3)}


def outcome(source):
    try:
        return "read" if torch.equal(torch.load(source)["weight"], weights["weight"]) else "other numbers"
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:60]}"


torch.save(weights, "weights.safetensors")
shutil.copy("weights.safetensors", "weights.pt")
save_file(weights, "plain.safetensors")
shutil.copy("plain.safetensors", "plain.pt")
print("torch.save to weights.safetensors writes", Path("weights.safetensors").read_bytes()[:2])
with Path("weights.safetensors").open("rb") as file:
    opened = outcome(file)
found = {name: outcome(name) for name in ("weights.safetensors", "weights.pt", "plain.safetensors", "plain.pt")}
for name, text in found.items():
    print(f"torch.load({name!r}):", text)
print("torch.load of weights.safetensors, opened before:", opened)
assert found["weights.safetensors"].startswith(SafetensorError.__name__)
assert found["weights.pt"] == found["plain.safetensors"] == opened == "read"
assert found["plain.pt"] != "read"
PY
