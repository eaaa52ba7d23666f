"""The compared networks written anew, layer by layer."""

import torch

LEAK = 1.5


def layers(kind, weights, biases, x, scales=(), shifts=()):
    """All hidden representations, and the output, of networks whose maps are these, from the inputs on."""
    found, a, maps = [], x, list(zip(weights, biases, strict=True))
    streams = kind in ("residual", "leaky")
    if streams:
        (into, offset), *maps = maps
        a = a @ into.T + offset
    depth = len(maps) - 1
    for layer, (W, b) in enumerate(maps[:-1]):
        if streams:
            a = (1 - LEAK / depth * (kind == "leaky")) * a + (torch.relu(a) @ W.T + b) / depth
        else:
            z = a @ W.T + b
            if kind in ("batch norm", "recentered"):
                z = z - z.mean(dim=0)
            if kind == "batch norm":
                z = scales[layer] * z / (z.pow(2).mean(dim=0) + 1e-5).sqrt() + shifts[layer]
            a = torch.relu(z)
        found.append(a)
    return [*found, a @ maps[-1][0].T + maps[-1][1]]
