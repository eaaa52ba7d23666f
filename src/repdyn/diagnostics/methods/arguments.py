"""What kinds of values the arguments of the diagnostics take, so that a wrong one is refused by its name at once."""

from __future__ import annotations

import difflib
import inspect
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from repdyn.diagnostics.theory.identity import Residual


def is_whole(value: object, least: int = 1) -> bool:
    """Whether this is a whole number, not below the least; truth values are none."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def is_number(value: object) -> bool:
    """Whether this is a finite number, also as a tensor or array without axes."""
    if isinstance(value, Tensor | np.ndarray) and value.ndim == 0:
        value = value.item()
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_names(value: object) -> bool:
    if not isinstance(value, Collection) or isinstance(value, str | bytes):
        return False
    return all(isinstance(name, str) for name in value)


def _is_axes(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(k, str) and is_whole(v, -99) for k, v in value.items())


def _is_pairs(value: Any) -> bool:
    try:
        return all(is_whole(point, -(2**62)) for pair in value for point in pair)
    except (TypeError, ValueError):
        return False


def _is_flag(value: object) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1))


FLAG = "True or False"
NAMES, NAME = "a list of names of layers", "the name of a layer"
RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "axes": (_is_axes, "a dictionary of axes by name of layer, such as {'input': 1}"),
    "axis": (lambda value: is_whole(value, -99), "the number of an axis"),
    "batch_statistics": (_is_flag, FLAG),
    "bias": (_is_flag, FLAG),
    "batch_size": (is_whole, "a whole number of points, 1 or more"),
    "classifier": (lambda value: isinstance(value, str), NAME),
    "embeddings": (lambda value: isinstance(value, str), NAME),
    "factor": (lambda value: is_number(value) and value > 1, "a number above 1, such as 1.25"),
    "file": (lambda value: isinstance(value, str | os.PathLike), "the path of a netCDF file"),
    "intervals": (_is_flag, FLAG),
    "gamma": (lambda value: is_number(value) and value > 0, "a number above 0, such as 0.001"),
    "layers": (_is_names, NAMES),
    "logger": (
        lambda value: callable(value) or any(hasattr(value, name) for name in ("add_scalar", "log_metrics", "log")),
        "one with add_scalar, log_metrics or log, or a function of (values, step)",
    ),
    "channels": (lambda value: is_whole(value, -99) and value, "an axis behind that of points, such as 1 or -1"),
    "heads": (lambda value: is_whole(value, 2), "2 or more"),
    "loss": (lambda value: callable(value) and not isinstance(value, type), "a function of outputs and labels"),
    "measures": (lambda value: _is_names(value) and len(value) > 0, "a list of names of measures, or None for all"),
    "memory": (lambda value: is_number(value) and value >= 0, "a number of bytes"),
    "most_points": (lambda value: is_whole(value, 2), "a whole number, 2 or more"),
    "other_layers": (_is_names, NAMES),
    "output": (
        lambda value: callable(value) or isinstance(value, str) or is_whole(value, -(2**62)),
        "a key, an index or a function",
    ),
    "progress": (_is_flag, FLAG),
    "pairs": (_is_pairs, "a list of pairs of whole numbers, such as [(0, 1)]"),
    "residual": (lambda value: isinstance(value, Residual) or _is_names(value), f"{NAMES}, or a Residual"),
    "resume": (_is_flag, FLAG),
    "reruns": (
        lambda value: isinstance(value, list | tuple),
        "a list of networks, or of their weights, of other seeds",
    ),
    "network": (callable, "a function of what is trained that returns the network"),
    "when": (callable, "a function of the step, such as growing()"),
    "steps": (is_whole, "a whole number, 1 or more"),
    "units": (lambda value: isinstance(value, str), "the unit of time, such as '1'"),
    "unpack": (callable, "a function of a batch that returns (inputs, labels)"),
}


def check_arguments(**given: object) -> None:
    """Refuses arguments of another kind; None, and arguments without a rule, pass.

    Raises:
        ValueError: the argument, what it is, and what is allowed.

    Example:
        >>> check_arguments(batch_size=2.5)
        Traceback (most recent call last):
        ...
        ValueError: batch_size is 2.5; give a whole number of points, 1 or more
    """
    for name, value in given.items():
        holds, wanted = RULES.get(name, (lambda _: True, ""))
        if value is not None and not holds(value):
            raise ValueError(f"{name} is {shown(value)}; give {wanted}")


def check_kind(name: str, value: object, kind: type, wanted: str) -> None:
    """Refuses what is of another class.

    Raises:
        ValueError: the argument, what it is, and what is allowed.
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} holds {shown(value)}, a {type(value).__name__}; give {wanted}")


def shown(value: object) -> str:
    """A value in an error: in short, on one line."""
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"a {type(value).__name__}"


def as_answers(name: str, values: ArrayLike | None) -> Any:
    """Labels or targets as an array; None for none.

    Raises:
        ValueError: rows that differ in length, a single number, or targets that are no numbers.
    """
    if values is None:
        return None
    try:
        array = as_array(values) if isinstance(values, Tensor) else np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} has rows of different lengths; give one array for all points") from error
    except (TypeError, RuntimeError) as error:
        raise ValueError(f"{name} is {shown(values)}; give an array, a row per point") from error
    if array.ndim == 0 or (name == "targets" and array.dtype.kind not in "biuf"):
        raise ValueError(f"{name} has shape {array.shape} and type {array.dtype}; give numbers, a row per point")
    return array


def as_array(tensor: Tensor) -> Any:
    """A tensor as an array with one axis at least, in single precision where numpy lacks its own."""
    tensor = torch.atleast_1d(tensor.detach().cpu())
    exact = not tensor.is_floating_point() or tensor.dtype in (torch.float16, torch.float32, torch.float64)
    return (tensor if exact else tensor.float()).resolve_conj().resolve_neg().numpy()


def takes(function: Any, count: int) -> bool:
    """Whether a function or module takes so many positional arguments; yes where that is not known."""
    try:
        inspect.signature(function.forward if isinstance(function, nn.Module) else function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # some compiled functions have no signature
        return True
    return True


def option_names(*functions: Callable[..., Any]) -> list[str]:
    """Names of all that these functions take next to the network and the inputs, in order."""
    parameters = [entry for function in functions for entry in inspect.signature(function).parameters.values()]
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [entry.name for entry in parameters if entry.kind in kinds]
    return [name for name in dict.fromkeys(names) if name not in ("self", "model", "network", "other", "inputs")]


def check_options(options: Iterable[str], known: Sequence[str]) -> None:
    """Refuses options that nobody takes.

    Raises:
        TypeError: an unknown one; the message names the nearest and all that there are.

    Example:
        >>> check_options(["bath_size"], ["axes", "batch_size"])
        Traceback (most recent call last):
        ...
        TypeError: no option 'bath_size' (did you mean 'batch_size'?); there are axes, batch_size
    """
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise TypeError(f"no option {name!r}{hint}; there are {', '.join(known)}")
