"""A forward pass that leaves no trace: modes, buffers, random state, precision and compilation as they were."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

BATCH_NORMS = (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm)


def unwrapped(model: nn.Module) -> nn.Module:
    """The network inside `torch.compile`, `DataParallel` and `DistributedDataParallel`; it shares all parameters.

    Raises:
        ValueError: what was given is no module.
    """
    if not isinstance(model, nn.Module):
        given = type(model).__name__
        wanted = "a torch.nn.Module, or call it in one's forward"
        if given == "ExportedProgram":
            wanted = "its .module(), or torch.export.unflatten(it) whose layers have the names of the modules"
        raise ValueError(f"the model is a {given}; give {wanted}")
    while True:
        if isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        elif isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            model = model.module
        else:
            return model


def with_weights(model: nn.Module, other: nn.Module | Mapping[str, Tensor], name: str) -> nn.Module:
    """Another network as it is, or a copy of the first with the numbers of a `state_dict`.

    Args:
        model: the first network, wrapped or not; it does not change.
        other: the other one, or its numbers.
        name: what an error calls them.

    Raises:
        ValueError: the numbers do not fit the network.
    """
    if isinstance(other, nn.Module):
        return other
    copied = copy.deepcopy(unwrapped(model))
    try:
        copied.load_state_dict(other)
    except RuntimeError as error:
        raise ValueError(f"{name} does not fit the network: {in_one_line(error)}") from error
    return copied


@contextmanager
def undisturbed(model: nn.Module, *, batch_statistics: bool = False) -> Iterator[None]:
    """The network in evaluation mode, without autocast and without compiled code; afterwards everything is as before.

    Autocast is off because its cache of weights, filled without gradients, would cut the gradients of a training step
    in the same autocast region.

    Args:
        model: any network.
        batch_statistics: batch and instance normalization by the batch, as in training.
    """
    modes = [(module, module.training) for module in model.modules()]
    buffers = _put_copies(model)
    try:
        with ExitStack() as stack:
            stack.enter_context(unchanged_random_state(model))
            if "torch._dynamo" in sys.modules:  # else nothing is compiled, and importing it takes five seconds
                stack.enter_context(torch.compiler.set_stance("force_eager"))
            for kind in ("cpu", *_accelerators(model)):
                stack.enter_context(torch.autocast(kind, enabled=False))
            _evaluate(model)
            for module, _ in modes if batch_statistics else ():
                if isinstance(module, BATCH_NORMS):
                    module.train()
            yield
    finally:
        for module, training in modes:
            if module.training != training:
                _set_mode(module, training)
        _put_back(buffers)


@contextmanager
def unchanged_random_state(model: nn.Module | None = None) -> Iterator[None]:
    """Torch's random state, of the CPU and of the network's CUDA devices, is afterwards as it was."""
    devices = {part.device for part in model.parameters()} if model else set()
    with torch.random.fork_rng(devices=[device for device in devices if device.type == "cuda"]):
        yield


def _accelerators(model: nn.Module) -> list[str]:
    """Kinds of devices other than the CPU that hold parameters and know autocast."""
    kinds = {part.device.type for part in model.parameters()} - {"cpu", "meta"}
    return sorted(kind for kind in kinds if torch.amp.is_autocast_available(kind))


Held = tuple[nn.Module, str, Tensor, Tensor]


def _put_copies(model: nn.Module) -> list[Held]:
    """Copies in place of all buffers, so that these, which a pending gradient may need, are never written.

    Scripted modules cannot exchange theirs; they are put back by their numbers.
    """
    held = [
        (module, name, part, part.detach().clone())
        for module in model.modules()
        for name, part in module.named_buffers(recurse=False)
    ]
    for module, name, _, copied in held:
        if not isinstance(module, torch.jit.ScriptModule):
            module._buffers[name] = copied
    return held


def _evaluate(model: nn.Module) -> None:
    """Evaluation mode; what torch.export wrote has the mode in its code, and refuses another."""
    try:
        model.eval()
    except NotImplementedError:
        for module in model.modules():
            _set_mode(module, False)


def _set_mode(module: nn.Module, training: bool) -> None:
    """The mode of one module alone; its children have their own turn."""
    try:
        module.training = training
    except (AttributeError, RuntimeError):  # some scripted modules take the mode of all their children only
        module.train(training)


def _put_back(buffers: list[Held]) -> None:
    for module, name, part, before in buffers:
        if not isinstance(module, torch.jit.ScriptModule):
            module._buffers[name] = part
        elif not torch.equal(part, before):
            with torch.no_grad():
                part.copy_(before)


def in_one_line(error: BaseException) -> str:
    """The first line of an error that says something, with its kind where the text alone says little."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = next((line for line in lines if not line.startswith("Traceback")), "")
    if isinstance(error, ValueError | RuntimeError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
