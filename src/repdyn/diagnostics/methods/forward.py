"""A forward pass that leaves no trace, and the layers that it goes through, one name per call.

Modes, parameters, buffers, what modules keep in attributes, random state, precision and compilation are afterwards as
they were. A module is named as in `model.named_modules()`, its second call `name#2`, and `input#1` at once if it is
named `input` or `output`, which are what the network takes and returns; what goes into a module is `name:input`;
tensors of a tuple or dict it returns are `name[1]`, `name[key]`, the first of a tuple also `name`. A function called in
a module's code (a residual addition, `F.relu`) is named as torchvision's feature extraction names the nodes of
torch.fx: the module's path and the function, `layer1.0.add`, and `layer1.0.add_1` for the next one.
"""

from __future__ import annotations

import random
import sys
import types
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence
from torch.overrides import TorchFunctionMode

from repdyn.diagnostics.methods.hooks import copied, copied_attribute, hooks_apart, own_parts, parameters_of

INPUT, OUTPUT = "input", "output"
BATCH_NORMS = (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm)
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "matmul", "pow", "mod")
OF_MODULES = frozenset(vars(nn.Module()))  # what every module has: parameters, hooks, the mode
PARTS = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
Emit = Callable[[str, object], None]


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


def in_one_line(error: BaseException) -> str:
    """The first informative line of an error, with its kind where the text alone says little."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = next((line for line in lines if not line.startswith("Traceback")), "")
    if isinstance(error, ValueError | RuntimeError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


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
    fast = torch.backends.mha.get_fastpath_enabled()
    modes = [(module, module.training) for module in model.modules()]
    kept: list[_Kept] = []
    try:
        with ExitStack() as stack:
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.set_grad_enabled(grad))
            _put_copies(model, written, kept)
            stack.enter_context(unchanged_random_state(model))
            stack.enter_context(hooks_apart(model, off, set() if changing is None else changing))
            if "torch._dynamo" in sys.modules:  # else nothing is compiled, and importing it takes five seconds
                stack.enter_context(torch.compiler.set_stance("force_eager"))
            for kind in {"cpu", *(part.device.type for part in model.parameters())} - {"meta"}:
                if torch.amp.is_autocast_available(kind):
                    stack.enter_context(torch.autocast(kind, enabled=False))
            torch.backends.mha.set_fastpath_enabled(False)
            for module, _ in modes:
                if module.training:
                    _set_mode(module, False)
            for module, _ in modes if batch_statistics else ():
                if isinstance(module, BATCH_NORMS):
                    _set_mode(module, True)
                if isinstance(module, nn.SyncBatchNorm):  # would wait for the other processes
                    vars(module)["forward"] = partial(nn.modules.batchnorm._BatchNorm.forward, module)
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for module, training in modes:
            if module.training != training:
                _set_mode(module, training)
        _reshard(model)
        _put_back(kept)


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


class _Kept(NamedTuple):
    """What a module had before a pass; of a scripted one, which cannot exchange its buffers, their numbers."""

    module: nn.Module
    kind: type
    attributes: dict[str, Any]
    parts: dict[str, Any]
    numbers: list[tuple[Tensor, Tensor]]
    shared: list[tuple[type, dict[str, object]]]  # numbers that its classes have


def _put_copies(model: nn.Module, written: Collection[int] | None, kept: list[_Kept]) -> None:
    """Copies in place of all that a pass may write, which a pending gradient may need: buffers, parameters that it
    changes, and what modules keep in attributes: a loss of balance, a pruned weight, a memory, a count, a generator.

    Copied are tensors and random generators, also in lists, dicts and objects, in classes of modules and around a
    `forward` of a module's own; what a pass changes in further objects and in global variables stays changed.

    Args:
        model: the network.
        written: as `undisturbed` has it.
        kept: gets what was there.
    """
    memo = own_parts(model)
    for part in parameters_of(model):
        wanted = written is None or id(part) in written
        if wanted and type(part) is nn.Parameter and not part.is_meta and memo[id(part)] is part:
            memo[id(part)] = nn.Parameter(part.detach().clone(), part.requires_grad)
    classes: dict[type, dict[str, object]] = {}
    for module in model.modules():
        if isinstance(module, torch.jit.ScriptModule):
            own = [(part, part.detach().clone()) for part in module.buffers(recurse=False)]
            kept.append(_Kept(module, type(module), {}, {}, own, []))
            continue
        parts = {name: getattr(module, name).copy() for name in PARTS}
        attributes = {name: value for name, value in vars(module).items() if name not in OF_MODULES}
        new = [kind for kind in type(module).__mro__[:-1] if kind not in classes]
        classes |= {kind: {} if kind.__module__.startswith("torch.") else _own_values(kind) for kind in new}
        of_classes = [(kind, classes[kind]) for kind in new if classes[kind]]
        kept.append(_Kept(module, type(module), attributes, parts, [], of_classes))
        module._parameters.update({n: memo[id(part)] for n, part in module._parameters.items() if part is not None})
        for name, buffer in module._buffers.items():
            if buffer is not None and not is_lazy(buffer):
                memo.setdefault(id(buffer), buffer.detach().clone())
                module._buffers[name] = memo[id(buffer)]
        copies = {name: copied_attribute(name, value, memo) for name, value in attributes.items()}
        for kind in type(module).__mro__[:-1]:
            for name, value in classes[kind].items():
                if name not in copies and (twin := copied(value, memo)) is not value:
                    copies[name] = twin
        vars(module).update(copies)


def _own_values(kind: type) -> dict[str, object]:
    """What a class keeps for all its modules, without its functions."""
    return {
        name: value
        for name, value in vars(kind).items()
        if not name.startswith("__")
        and not isinstance(value, types.FunctionType | property | classmethod | staticmethod)
    }


def _put_back(kept: list[_Kept]) -> None:
    for module, kind, attributes, parts, numbers, of_classes in kept:
        for owner, values in of_classes:
            for name in [name for name, value in values.items() if vars(owner).get(name) is not value]:
                setattr(owner, name, values[name])
        for part, before in numbers:
            if not torch.equal(part, before):
                with torch.no_grad():
                    part.copy_(before)
        if type(module) is not kind or not parts:  # a lazy module found its sizes
            continue
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


def _set_mode(module: nn.Module, training: bool) -> None:
    """The mode of one module alone; its children are set separately.

    Its `train` is not called: that may act, as one that merges adapters into weights does.
    """
    try:
        module.training = training
    except (AttributeError, RuntimeError):  # some scripted modules take the mode of all their children only
        module.train(training)


def readable(value: object) -> object:
    """A value as an ordinary tensor: integers of a quantized network as numbers, a packed sequence padded with zeros.

    A padded sequence has points first, then moments, and the attribute `tokens`, which are no padding. What is neither
    stays as it is.
    """
    if isinstance(value, PackedSequence):
        padded, lengths = pad_packed_sequence(value, batch_first=True)
        padded.tokens = torch.arange(padded.shape[1]) < lengths[:, None]  # type: ignore[attr-defined]
        return padded
    return value.dequantize() if isinstance(value, Tensor) and value.is_quantized else value


@dataclass(frozen=True)
class Unusual:
    """What stands for a tensor without a number at each place."""

    text: str


def unusual(tensor: Tensor) -> str:
    """What a tensor is that has no number at each place, sparse, nested or masked; empty for all others."""
    if tensor.is_nested:
        return "a nested tensor"
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return "a tensor inside torch.func (vmap, grad, jvp)"
    if isinstance(tensor, torch.masked.MaskedTensor):
        return "a masked tensor"
    return "" if tensor.layout is torch.strided else f"a tensor of layout {str(tensor.layout).removeprefix('torch.')}"


def named_modules(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """All modules by name; of a part that `torch.compile` wraps the module within, under the name of the part."""
    for name, module in model.named_modules():
        if not isinstance(getattr(module, "_orig_mod", None), nn.Module):
            yield name.replace("._orig_mod", ""), module


def has_no_parts(module: nn.Module) -> bool:
    """Whether no module is inside; its length or truth is the user's code."""
    return next(module.children(), None) is None


@contextmanager
def watched(model: nn.Module, emit: Emit, *, functions: bool = False) -> Iterator[None]:
    """Reports every layer of the forward passes inside, in the order in which they finish.

    Args:
        model: the network.
        emit: called with name and value, at once, before a later layer may work in place.
        functions: also what functions return, not modules alone.
    """
    names = {name for name, _ in named_modules(model) if name}
    calls = _Calls(emit, names)
    with ExitStack() as stack:
        for name, module in named_modules(model):
            for handle in _hooks(name, module, calls):
                stack.callback(handle.remove)
        if functions:
            stack.enter_context(_Functions(calls))
        yield


def _hooks(name: str, module: nn.Module, calls: _Calls) -> Iterator:
    """Hooks of one module, none on scripted ones inside, which never call them."""
    plain = type(module).__module__.startswith(("torch.nn", "torch.ao.nn")) and has_no_parts(module)

    def before(_module: nn.Module, args: tuple, kwargs: dict) -> None:
        calls.path.append((name, plain))
        first = next((part for part in (*args, *kwargs.values()) if isinstance(part, Tensor | PackedSequence)), None)
        if name and first is not None:
            calls.report(f"{call_name(name, calls.counts[name] + 1)}:input", first)

    def after(_module: nn.Module, _args: tuple, returned: object) -> None:
        calls.path.pop()
        if name:
            label = calls.module_name(name)
            for part, value in parts_of(label, returned):
                calls.report(part, value)

    try:
        yield module.register_forward_pre_hook(before, with_kwargs=True)
        yield module.register_forward_hook(after)
    except RuntimeError:  # scripted modules refuse hooks with keywords
        return


def parts_of(name: str, returned: object) -> Iterator[tuple[str, object]]:
    """What a call returns under its names; what holds no tensor under the plain name, to say so."""
    if isinstance(returned, PackedSequence):
        yield name, returned
    elif isinstance(returned, Mapping):
        yield from ((f"{name}[{key}]", part) for key, part in returned.items() if isinstance(part, Tensor))
        yield name, returned
    elif isinstance(returned, tuple | list):
        yield name, returned[0] if returned and isinstance(returned[0], Tensor | PackedSequence) else returned
        yield from ((f"{name}[{k}]", part) for k, part in enumerate(returned) if k and isinstance(part, Tensor))
    else:
        yield name, returned


def call_name(name: str, number: int = 1) -> str:
    """The name of a call of a module.

    Example:
        >>> call_name("relu"), call_name("relu", 2), call_name("output")
        ('relu', 'relu#2', 'output#1')
    """
    return f"{name}#{number}" if number > 1 or name in (INPUT, OUTPUT) else name


class _Calls:
    """Where the forward pass is, and how often each name was met."""

    def __init__(self, emit: Emit, modules: set[str]) -> None:
        self.emit, self.modules = emit, modules
        self.counts: Counter[str] = Counter()
        self.path: list[tuple[str, bool]] = [("", False)]
        self.busy = False

    def report(self, name: str, value: object) -> None:
        """Hands a value on; what the receiver computes with it is no layer of the network."""
        self.busy = True
        try:
            value = readable(value)
            kind = unusual(value) if isinstance(value, Tensor) else ""
            self.emit(name, Unusual(kind) if kind else value)
        finally:
            self.busy = False

    def module_name(self, name: str) -> str:
        self.counts[name] += 1
        return call_name(name, self.counts[name])

    def function_name(self, function: str) -> str:
        name = f"{self.path[-1][0]}.{function}".lstrip(".")
        seen = self.counts[f"{name}()"] + max(self.counts[name], int(name in self.modules))
        self.counts[f"{name}()"] += 1
        return f"{name}_{seen}" if seen else name


class _Functions(TorchFunctionMode):
    """Reports every tensor that a function returns, outside torch's modules without submodules."""

    def __init__(self, calls: _Calls) -> None:
        super().__init__()
        self.calls = calls

    def __torch_function__(self, function, types, args=(), kwargs=None):
        returned = function(*args, **(kwargs or {}))
        name = function_label(getattr(function, "__name__", ""))
        if getattr(function, "__qualname__", "").startswith("TensorBase."):  # x / y arrives as the method div
            name = {"div": "truediv", "remainder": "mod"}.get(name.removesuffix("_"), name)
        if name and isinstance(returned, Tensor) and not self.calls.busy and not self.calls.path[-1][1]:
            self.calls.report(self.calls.function_name(name), returned)
        return returned


def function_label(name: str) -> str:
    """A function's name as torch.fx writes it; empty for what is no computation.

    Example:
        >>> [function_label(name) for name in ("relu", "__iadd__", "__rmul__", "__getitem__", "__get__")]
        ['relu', 'add', 'mul', 'getitem', '']
    """
    if not name.startswith("__"):
        return name.rstrip("_") if name.rstrip("_") in OPERATORS else name  # x += y arrives as add_
    plain = name.strip("_")
    for operator in OPERATORS:
        if plain in (operator, f"i{operator}", f"r{operator}"):
            return operator
    return {"getitem": "getitem", "neg": "neg", "div": "truediv", "rdiv": "truediv"}.get(plain, "")
