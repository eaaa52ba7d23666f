"""A step of training as a CUDA graph: hundreds of small kernels are launched at once instead of one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

WARMING_UP = 3  # steps in which libraries choose algorithms and allocate workspaces, which is forbidden during capture


def replayable(step: Callable[[], None], moved: Iterable[torch.Tensor]) -> Callable[[], None]:
    """Captures a step on the GPU; the returned function replays it on the current stream.

    Args:
        step: works in place on fixed tensors; it transfers no number to or from the host, and takes whatever changes
            from step to step from a tensor on the GPU, never from Python.
        moved: the tensors that a step changes; they are restored after warming up.
    """
    kept = [(tensor, tensor.clone()) for tensor in moved]
    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch lacks the annotation
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARMING_UP):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for tensor, value in kept:
        tensor.copy_(value)
    return graph.replay
