"""A network that a forward pass leaves as it was: modes, parameters, buffers, attributes, random state, precision."""

from __future__ import annotations

import random
import sys
import types
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from repdyn.diagnostics.methods.hooks import copied, copied_attribute, hooks_apart, own_parts, parameters_of

BATCH_NORMS = (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm)
OF_MODULES = frozenset(vars(nn.Module()))  # what every module has: parameters, hooks, the mode
PARTS = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")


@contextmanager
def undisturbed(
    model: nn.Module,
    *,
    batch_statistics: bool = False,
    off: Collection[int] = (),
    changing: set[int] | None = None,
    written: Collection[int] | None = None,
    grad: bool = False,
) -> Iterator[None]:
    """The network in evaluation mode, without autocast and without compiled code; afterwards everything is as before.

    Autocast is off because its cache of weights, filled without gradients, would cut the gradients of a training step
    in the same autocast region. The fast path of attention is off because it hands nested tensors from layer to layer
    and returns zeros in place of padding, which no pass with gradients does.

    Args:
        model: any network.
        batch_statistics: batch and instance normalization by the batch, as in training.
        off: ids of hooks that do not run; others of the user run on copies of what they keep.
        changing: gets the ids of hooks that change what goes through the network.
        written: ids of the parameters that a pass changes, in whose place copies stand; None for all.
        grad: whether operations are recorded for gradients.
    """
    modes = [(module, module.training) for module in model.modules()]
    with ExitStack() as stack:
        restoring = stack.enter_context(ExitStack())  # at the end, outside of the contexts that follow
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.set_grad_enabled(grad))
        _put_copies(model, written, restoring)
        restoring.callback(_reshard, model)
        restoring.callback(_set_modes, modes)
        stack.enter_context(unchanged_random_state(model))
        stack.enter_context(hooks_apart(model, off, set() if changing is None else changing))
        if "torch._dynamo" in sys.modules:  # else nothing is compiled, and importing it takes five seconds
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        for kind in {"cpu", *(part.device.type for part in model.parameters())} - {"meta"}:
            if torch.amp.is_autocast_available(kind):
                stack.enter_context(torch.autocast(kind, enabled=False))
        restoring.callback(torch.backends.mha.set_fastpath_enabled, torch.backends.mha.get_fastpath_enabled())
        torch.backends.mha.set_fastpath_enabled(False)
        _set_modes([(module, batch_statistics and isinstance(module, BATCH_NORMS)) for module, _ in modes])
        for module, _ in modes if batch_statistics else ():
            if isinstance(module, nn.SyncBatchNorm):  # would wait for the other processes
                vars(module)["forward"] = partial(nn.modules.batchnorm._BatchNorm.forward, module)
        yield


def tried(model: nn.Module, run: Callable[[], object], **how: Any) -> tuple[object, set[int]]:
    """What one pass returns, and ids of the parameters that it changes, as `nn.Embedding(max_norm=...)` does.

    Args:
        model: the network.
        run: the pass, on copies of the parameters.
        how: further arguments of `undisturbed`.
    """
    own = parameters_of(model)
    with warnings.catch_warnings(), undisturbed(model, written=None, **how):
        warnings.filterwarnings("ignore", "RNN module weights")  # of copies, which are not in one piece of memory
        twins = parameters_of(model)
        before = [twin._version for twin in twins]
        returned = run()
        changed = {
            id(part)
            for part, twin, version in zip(own, twins, before, strict=True)
            if part is not twin and (twin._version != version or not torch.equal(part, twin))
        }
    return returned, changed


@contextmanager
def unchanged_random_state(model: nn.Module | None = None) -> Iterator[None]:
    """Random states of Python, numpy and torch, of the CPU and the network's CUDA devices, are afterwards as before."""
    devices = {part.device for part in model.parameters()} if model else set()
    python, shared = random.getstate(), np.random.get_state()  # noqa: NPY002 - a user's code may draw from it
    try:
        with torch.random.fork_rng(devices=[device for device in devices if device.type == "cuda"]):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(shared)  # noqa: NPY002


def _put_copies(model: nn.Module, written: Collection[int] | None, restoring: ExitStack) -> None:
    """Copies in place of all that a pass may write, which a pending gradient may need: buffers, parameters that it
    changes, and what modules keep in attributes: a loss of balance, a pruned weight, a memory, a count, a generator.

    Copied are tensors and random generators, also in lists, dicts and objects, in classes of modules and around a
    `forward` of a module's own; what a pass changes in further objects and in global variables stays changed.

    Args:
        model: the network.
        written: as `undisturbed` has it.
        restoring: gets what puts everything back.
    """
    memo = own_parts(model)
    for part in parameters_of(model):
        wanted = written is None or id(part) in written
        if wanted and type(part) is nn.Parameter and not part.is_meta and memo[id(part)] is part:
            memo[id(part)] = nn.Parameter(part.detach().clone(), part.requires_grad)
    classes: dict[type, dict[str, object]] = {}
    for module in model.modules():
        if isinstance(module, torch.jit.ScriptModule):  # cannot exchange its buffers
            own = [(part, part.detach().clone()) for part in module.buffers(recurse=False)]
            restoring.callback(_put_numbers_back, own)
            continue
        parts = {name: getattr(module, name).copy() for name in PARTS}
        attributes = {name: value for name, value in vars(module).items() if name not in OF_MODULES}
        restoring.callback(_put_back, module, type(module), attributes, parts)
        module._parameters.update({n: memo[id(part)] for n, part in module._parameters.items() if part is not None})
        for name, buffer in module._buffers.items():
            if buffer is not None and not is_lazy(buffer):
                memo.setdefault(id(buffer), buffer.detach().clone())
                module._buffers[name] = memo[id(buffer)]
        copies = {name: copied_attribute(name, value, memo) for name, value in attributes.items()}
        for kind in type(module).__mro__[:-1]:
            if kind not in classes:
                classes[kind] = {} if kind.__module__.startswith("torch.") else _own_values(kind)
                restoring.callback(_put_class_back, kind, classes[kind])
            for name, value in classes[kind].items():
                if name not in copies and (twin := copied(value, memo)) is not value:
                    copies[name] = twin
        vars(module).update(copies)


def _own_values(kind: type) -> dict[str, object]:
    """What a class keeps for all its modules, without its functions."""
    apart = types.FunctionType | property | classmethod | staticmethod
    values = vars(kind).items()
    return {name: value for name, value in values if not name.startswith("__") and not isinstance(value, apart)}


def _put_class_back(kind: type, values: dict[str, object]) -> None:
    for name, value in values.items():
        if vars(kind).get(name) is not value:
            setattr(kind, name, value)


def _put_numbers_back(before: list[tuple[Tensor, Tensor]]) -> None:
    with torch.no_grad():
        for part, numbers in before:
            if not torch.equal(part, numbers):
                part.copy_(numbers)


def _put_back(module: nn.Module, kind: type, attributes: dict[str, Any], parts: dict[str, Any]) -> None:
    if type(module) is not kind:  # a lazy module found its sizes
        return
    for name in vars(module).keys() - attributes.keys() - OF_MODULES:
        del vars(module)[name]
    vars(module).update(attributes)
    for name, before in parts.items():
        held = getattr(module, name)
        held.clear()
        held.update(before)


def _reshard(model: nn.Module) -> None:
    """Frees the whole weights of a network of `fully_shard`: the pass before a step would go on being used after it."""
    if fsdp := sys.modules.get("torch.distributed.fsdp"):
        for module in model.modules():
            if isinstance(module, getattr(fsdp, "FSDPModule", ())):
                cast("Any", module).reshard()


def _set_modes(modes: list[tuple[nn.Module, bool]]) -> None:
    """The mode of each module alone, without its `train`: that may act, as one that merges adapters into weights does.

    Args:
        modes: whether each module is to be in training mode.
    """
    for module, training in modes:
        if module.training != training:
            try:
                module.training = training
            except (AttributeError, RuntimeError):  # some scripted modules take the mode of all their children only
                module.train(training)
