"""Hooks that a user registered: off in our passes, or, where the network needs them, on copies of what they keep.

A hook that watches (stores activations, counts, prints) has no business with our points. One that the network needs
(steering, an adapter, weights put in place for the call) must run. Which is which is tried: hooks are off if, without
them, two points give the same numbers to the bit in every module. Hooks of torch itself (weight_norm, pruning,
sharding) always run, those of the backward pass never.
"""

from __future__ import annotations

import copy
import copyreg
import random
import types
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules import module as of_torch

FORWARD = ("_forward_pre_hooks", "_forward_hooks")
BACKWARD = ("_backward_pre_hooks", "_backward_hooks")
FLAGS = ("_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")
NOT_THE_USERS = ("torch.", "repdyn.diagnostics.")
CONTAINERS = (list, dict, set, deque, OrderedDict, defaultdict, Counter)
GENERATORS = (torch.Generator, random.Random, np.random.Generator, np.random.RandomState)
PLAIN = frozenset({bool, int, float, str, type(None)})
MANY = 1000  # entries; a vocabulary is not searched for tensors
OTHERS = ("torch.", "accelerate.", "lightning.", "pytorch_lightning.")  # objects of theirs in modules stay the same


class Hook(NamedTuple):
    """A hook and where it is registered."""

    registry: dict[int, Any]
    key: int
    function: Callable
    backward: bool


def user_hooks(model: nn.Module) -> list[Hook]:
    """Hooks of a network's modules, and of all modules there are, that torch did not register itself."""
    found = []
    for name in (*FORWARD, *BACKWARD):
        registries = [getattr(of_torch, f"_global{name}", {})]
        registries += [getattr(module, name, {}) for module in model.modules()]
        for registry in registries:
            for key, function in registry.items():
                if not _origin(function).startswith(NOT_THE_USERS):
                    found.append(Hook(registry, key, function, name in BACKWARD))
    return found


def _origin(function: Any) -> str:
    """Name of the module in which a hook was written, with a final dot."""
    while isinstance(function, partial):
        function = function.func
    return f"{getattr(function, '__module__', None) or type(function).__module__}."


@contextmanager
def hooks_apart(model: nn.Module, off: Collection[int], changing: set[int]) -> Iterator[None]:
    """Hooks of the user run as copies, so that what they keep stays as it is; afterwards the hooks are what they were.

    Args:
        model: the network.
        off: ids of hooks that do not run.
        changing: gets the ids of those that return something of their own.
    """
    hooks = user_hooks(model)
    changed = [*(hook.registry for hook in hooks), *(_flags(model) if hooks else ())]
    registries = {id(registry): (registry, dict(registry)) for registry in changed}
    memo = own_parts(model) if hooks else {}  # copied apart
    for hook in hooks:
        if hook.backward or id(hook.function) in off:
            hook.registry[hook.key] = _nothing
        else:
            hook.registry[hook.key] = partial(_noted, copied_hook(hook.function, memo), id(hook.function), changing)
    try:
        yield
    finally:
        own = {hook.key for hook in hooks}
        for registry, before in registries.values():  # also a hook that removed itself
            after = {key: entry for key, entry in before.items() if key in own or key in registry}
            after |= {key: entry for key, entry in registry.items() if key not in before}
            registry.clear()
            registry.update(after)


def own_parts(model: nn.Module) -> dict[int, Any]:
    """Modules and parameters of a network by id, as `copied` takes what stays the same."""
    return {id(part): part for part in (*model.modules(), *parameters_of(model))}


def parameters_of(model: nn.Module) -> list[nn.Parameter]:
    """What all modules hold as parameters, shared ones several times, whatever the network's own `parameters` says."""
    return [part for module in model.modules() for part in module._parameters.values() if part is not None]


def _flags(model: nn.Module) -> Iterator[dict]:
    for module in model.modules():
        yield from (entries for name in FLAGS if (entries := getattr(module, name, None)))


def _nothing(*_: object) -> None:
    """In the place of a hook."""


def _noted(hook: Callable, identity: int, changing: set[int], *given: Any) -> Any:
    returned = hook(*given)
    if returned is not None and returned is not given[-1]:
        changing.add(identity)
    return returned


def copied_hook(hook: Any, memo: dict[int, Any]) -> Any:
    """A hook with copies of what it keeps: in its closure, in globals, in the object that it belongs to.

    Args:
        hook: function, method, partial function or object that can be called.
        memo: copies by id, so that hooks that share something share its copy.
    """
    if isinstance(hook, partial):
        given = [copied(entry, memo) for entry in hook.args]
        return partial(copied_hook(hook.func, memo), *given, **{k: copied(v, memo) for k, v in hook.keywords.items()})
    if isinstance(hook, types.MethodType):
        return types.MethodType(hook.__func__, _copied_object(hook.__self__, memo))
    if isinstance(hook, types.BuiltinMethodType) and isinstance(hook.__self__, CONTAINERS):
        return getattr(copied(hook.__self__, memo), hook.__name__)
    if isinstance(hook, types.FunctionType):
        return _copied_function(hook, memo)
    return hook if isinstance(hook, types.BuiltinFunctionType | type) else _copied_object(hook, memo)


def _copied_function(function: types.FunctionType, memo: dict[int, Any]) -> types.FunctionType:
    """A function that has copies of its globals, and so have functions of the same file that it calls."""
    if id(function) in memo:
        return memo[id(function)]
    spaces = function.__globals__
    own = memo.setdefault(id(spaces), dict(spaces))
    cells = tuple(memo.setdefault(id(cell), types.CellType()) for cell in function.__closure__ or ())
    made = types.FunctionType(function.__code__, own, function.__name__, function.__defaults__, cells or None)
    made.__kwdefaults__ = function.__kwdefaults__
    memo[id(function)] = made
    wrapped = vars(function).get("__wrapped__")
    made.__dict__.update({name: copied(value, memo) for name, value in vars(function).items()})
    for name in function.__code__.co_names:
        if name in spaces and own[name] is spaces[name]:
            own[name] = _copied_kept(spaces[name], spaces, memo, wrapped)
    for cell, original in zip(cells, function.__closure__ or (), strict=True):
        try:
            cell.cell_contents = _copied_kept(original.cell_contents, spaces, memo, wrapped)
        except ValueError:  # an empty cell
            continue
    return made


def _copied_kept(value: Any, spaces: dict[str, Any], memo: dict[int, Any], wrapped: object) -> Any:
    """A copy of what a function keeps, and of functions of the same file or that it wraps."""
    if isinstance(value, types.FunctionType):
        return _copied_function(value, memo) if value.__globals__ is spaces or value is wrapped else value
    return copied_hook(value, memo) if isinstance(value, types.MethodType) else _copied_object(value, memo)


def copied_attribute(name: str, value: Any, memo: dict[int, Any]) -> Any:
    """A copy of what a module keeps: as `copied`, of an object with copies of its attributes; modules are the same.

    Args:
        name: of the attribute; a function that stands for `forward` has copies of what it keeps.
        value: its value.
        memo: as `copied` has it.
    """
    if type(value) in PLAIN:
        return value
    if name == "forward":
        spaces = getattr(value, "__globals__", {})
        origin = f"{spaces['__name__']}." if "__name__" in spaces else _origin(value)
        apart = origin.startswith(("torch._dynamo.", "repdyn.diagnostics.", "accelerate."))
        return value if apart else copied_hook(value, memo)
    twin = copied(value, memo)
    apart = isinstance(value, (nn.Module, types.MethodType, *weakref.ProxyTypes))
    if twin is not value or apart or f"{type(value).__module__}.".startswith(OTHERS):
        return twin
    return _copied_object(value, memo)


def _copied_object(owner: Any, memo: dict[int, Any]) -> Any:
    """A copy of an object with copies of its attributes; itself where it cannot be copied."""
    apart = types.ModuleType | type | types.FunctionType | Tensor
    slots = [] if isinstance(owner, apart) else copyreg._slotnames(type(owner))  # type: ignore[attr-defined]
    if id(owner) in memo or isinstance(owner, apart) or not (slots or hasattr(owner, "__dict__")):
        return copied(owner, memo)
    memo[id(owner)] = owner
    if not hasattr(type(owner), "__del__"):  # the end of a copy would close what the object holds
        try:
            twin = copy.copy(owner)
            if twin is not owner:
                for name in [*getattr(owner, "__dict__", ()), *(name for name in slots if hasattr(owner, name))]:
                    object.__setattr__(twin, name, copied(getattr(owner, name), memo))
                memo[id(owner)] = twin
        except Exception:  # locks, scripted modules, what refuses copies
            return owner
    return memo[id(owner)]


def copied(value: Any, memo: dict[int, Any]) -> Any:
    """A copy that shares what the value shares with others of the same `memo`: of tensors, arrays and containers.

    All other objects but random generators are the same ones.
    """
    if id(value) in memo:
        return memo[id(value)]
    kind = type(value)
    if kind is Tensor:
        memo[id(value)] = value.detach().clone()
    elif kind is nn.Parameter:
        memo[id(value)] = nn.Parameter(value.detach().clone(), value.requires_grad)
    elif kind is np.ndarray:
        memo[id(value)] = value.copy()
    elif kind in GENERATORS:
        memo[id(value)] = value.clone_state() if kind is torch.Generator else copy.deepcopy(value)
    elif isinstance(value, tuple):
        entries = [copied(entry, memo) for entry in value]
        same = all(one is other for one, other in zip(entries, value, strict=True))
        return value if same else (getattr(kind, "_make", tuple))(entries)
    elif kind in CONTAINERS:
        memo[id(value)] = made = copy.copy(value)
        if kind is not set and (len(value) <= MANY or isinstance(_first(value), Tensor | np.ndarray)):
            for place, entry in list(value.items() if isinstance(value, dict) else enumerate(value)):
                made[place] = copied(entry, memo)
    return memo.get(id(value), value)


def _first(value: Any) -> Any:
    return next(iter(value.values() if isinstance(value, dict) else value))
