"""A simulated GPU: graphs recorded and replayed on the CPU, and devices checked without numbers.

`graphs` stands in for CUDA graphs: a capture records every kernel of a step with its tensors, a replay runs the same
kernels on the same tensors, and operations forbidden in a real capture are rejected. `OneDevice` with torch's device
`meta`, whose tensors have no numbers, finds a tensor left on the CPU among those of the device.
"""

import contextlib
import types

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

WAITS = ("aten::_local_scalar_dense", "aten::nonzero", "aten::equal", "aten::lift_fresh", "aten::unique")
"""Kernels that wait for the GPU or bring numbers from the host: a capture ends with an error."""


class Graph:
    """Kernels in order, with their arguments and what they returned."""

    def __init__(self):
        self.kernels = []

    def replay(self):
        for kernel, arguments, options, output in self.kernels:
            again = kernel(*arguments, **options)
            for old, new in zip(tree_leaves(output), tree_leaves(again), strict=True):
                if old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class Capture(TorchDispatchMode):
    """Records the kernels that run inside it."""

    def __init__(self, graph):
        super().__init__()
        self.graph = graph

    def __torch_dispatch__(self, kernel, _, arguments=(), options=None):
        if kernel.name().split(".")[0] in WAITS:
            raise RuntimeError(f"operation not permitted when stream is capturing: {kernel.name()}")
        output = kernel(*arguments, **(options or {}))
        self.graph.kernels.append((kernel, arguments, options or {}, output))
        return output


def graphs(monkeypatch):
    """Replaces CUDA's streams and graphs."""
    stream = types.SimpleNamespace(wait_stream=lambda other: None)
    for name, instead in {
        "Stream": lambda: stream,
        "current_stream": lambda: stream,
        "stream": lambda entered: contextlib.nullcontext(),
        "CUDAGraph": Graph,
        "graph": Capture,
    }.items():
        monkeypatch.setattr(torch.cuda, name, instead)


class CpuAsGpu(str):
    """The CPU under the name of a GPU."""

    type = "cuda"


class OneDevice(TorchDispatchMode):
    """Rejects a kernel on tensors of two devices, as a GPU does, except copies and scalars."""

    def __torch_dispatch__(self, kernel, _, arguments=(), options=None):
        tensors = [leaf for leaf in tree_leaves((arguments, options)) if isinstance(leaf, torch.Tensor) and leaf.ndim]
        devices = {tensor.device.type for tensor in tensors}
        if len(devices) > 1 and kernel.name().split(".")[0] not in ("aten::copy_", "aten::_to_copy"):
            raise RuntimeError(f"expected all tensors on one device, found {sorted(devices)}: {kernel.name()}")
        return kernel(*arguments, **(options or {}))
