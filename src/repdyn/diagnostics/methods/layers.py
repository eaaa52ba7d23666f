"""Layers of a network: what modules and functions inside it return, one name per call.

A module is named as in `model.named_modules()`, its second call `name#2`; what goes into a module is `name:input`; the
tensors of a tuple or dict it returns are `name[1]`, `name[key]`, the first of a tuple also `name`. A function called in
a module's own code (a residual addition, `F.relu`) is named as torchvision's feature extraction names the nodes of
torch.fx: the module's path and the function, `layer1.0.add`, and `layer1.0.add_1` for the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence
from torch.overrides import TorchFunctionMode

Emit = Callable[[str, object], None]
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "matmul", "pow", "mod")


def readable(value: object) -> object:
    """A value as an ordinary tensor: integers of a quantized network as numbers, a packed sequence padded with zeros.

    A padded sequence has points first, then moments. What is neither stays as it is.
    """
    if isinstance(value, PackedSequence):
        return pad_packed_sequence(value, batch_first=True)[0]
    return value.dequantize() if isinstance(value, Tensor) and value.is_quantized else value


def named_modules(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """All modules by name; of a part that `torch.compile` wraps the module within, under the name of the part."""
    for name, module in model.named_modules():
        if not isinstance(getattr(module, "_orig_mod", None), nn.Module):
            yield name.replace("._orig_mod", ""), module


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
            self.emit(name, readable(value))
        finally:
            self.busy = False

    def module_name(self, name: str) -> str:
        self.counts[name] += 1
        return f"{name}#{self.counts[name]}" if self.counts[name] > 1 else name

    def function_name(self, function: str) -> str:
        name = f"{self.path[-1][0]}.{function}".lstrip(".")
        seen = self.counts[f"{name}()"] + (name in self.modules)
        self.counts[f"{name}()"] += 1
        return f"{name}_{seen}" if seen else name


def has_no_parts(module: nn.Module) -> bool:
    """Whether no module is inside; a module's own length or truth is the user's."""
    return next(module.children(), None) is None


class _Functions(TorchFunctionMode):
    """Reports every tensor that a function returns, outside torch's own modules without parts."""

    def __init__(self, calls: _Calls) -> None:
        super().__init__()
        self.calls = calls

    def __torch_function__(self, function, types, args=(), kwargs=None):
        returned = function(*args, **(kwargs or {}))
        name = function_label(getattr(function, "__name__", ""))
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
            seen = calls.counts[name]
            calls.report(f"{name}:input" if not seen else f"{name}#{seen + 1}:input", first)

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
