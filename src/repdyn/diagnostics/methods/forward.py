"""The layers that a forward pass goes through, one name per call.

A module is named as in `model.named_modules()`, its second call `name#2`, and `input#1` at once if it is
named `input` or `output`, which are what the network takes and returns; what goes into a module is `name:input`;
tensors of a tuple or dict it returns are `name[1]`, `name[key]`, the first of a tuple also `name`. A function called in
a module's code (a residual addition, `F.relu`) is named as torchvision's feature extraction names the nodes of
torch.fx: the module's path and the function, `layer1.0.add`, and `layer1.0.add_1` for the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence
from torch.overrides import TorchFunctionMode

INPUT, OUTPUT = "input", "output"
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "matmul", "pow", "mod")
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


def same_numbers(first: object, second: object) -> bool:
    """Whether two values are the same tensor, number by number, NaN included."""
    if not isinstance(first, Tensor) or not isinstance(second, Tensor) or first.shape != second.shape:
        return False
    return bool(((first == second) | ((first != first) & (second != second))).all())


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
