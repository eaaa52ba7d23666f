"""A user's network by the name of the function that builds it, and a file of inputs."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import sys
import traceback
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from repdyn.base.errors import DataError, RepdynError
from repdyn.diagnostics.methods.forward import in_one_line

ANSWERS = ("labels", "targets", "pairs")
SUFFIXES = (".pt", ".pth", ".ckpt", ".bin")


def read_arrays(path: Path) -> dict[str, object]:
    """The arrays of an npz file, without unpickling anything; keyword inputs become one dictionary `inputs`.

    Raises:
        DataError: no npz file, arrays of objects, of text or without points, unknown names, or no inputs.
    """
    try:
        file = np.load(path, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise ValueError("it holds a single array")
        with file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        reason = "it holds Python objects, which are not loaded" if "pickle" in str(error) else error
        raise DataError(
            f"{path}: not a usable npz file ({reason}); write it with numpy.savez({path.name!r}, inputs=...)"
        ) from error
    for name, array in arrays.items():
        _check_numbers(f"{path}: {name}", array, whole=name == "pairs")
    keywords = {name.removeprefix("input_"): arrays.pop(name) for name in list(arrays) if name.startswith("input_")}
    if keywords and "inputs" not in arrays:
        arrays["inputs"] = keywords
    if unknown := [name for name in arrays if name not in ("inputs", *ANSWERS)]:
        raise DataError(
            f"{path}: holds {', '.join(unknown)}; expected inputs (or input_NAME for each keyword) and, as wanted, "
            "labels, targets, pairs"
        )
    if "inputs" not in arrays:
        raise DataError(f"{path}: holds {', '.join(arrays) or 'nothing'}; expected an array named inputs")
    return arrays


def _check_numbers(name: str, array: np.ndarray, *, whole: bool) -> None:
    """Refuses what holds no numbers, or no entries; `whole` numbers are indices of points."""
    if array.dtype.kind not in "biufc":
        raise DataError(f"{name} has type {array.dtype}; give numbers")
    if not array.size:
        raise DataError(f"{name} has shape {array.shape}; give one point or more")
    if whole and array.dtype.kind not in "iu":
        raise DataError(f"{name} has type {array.dtype}; give indices of points, whole numbers")


def checkpoints(folder: Path) -> dict[int, Path]:
    """Files of weights in a folder by the last number in their names, ascending.

    Raises:
        DataError: no such file, or names without a number or with the same one.
    """
    files = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    if not files:
        raise DataError(f"{folder}: holds no checkpoint; expected files that end in {', '.join(SUFFIXES)}")
    steps: dict[int, Path] = {}
    for path in files:
        numbers = re.findall(r"\d+", path.stem)
        if not numbers:
            raise DataError(f"{path}: its name has no number that orders the checkpoints; rename it, as step_100.pt")
        if other := steps.get(int(numbers[-1])):
            raise DataError(f"{path}: has the number {numbers[-1]} of {other.name}; give each another number")
        steps[int(numbers[-1])] = path
    return dict(sorted(steps.items()))


def load_weights(network: torch.nn.Module, path: Path) -> None:
    """Puts the weights of a file into a network, without unpickling anything but tensors.

    The file holds a `state_dict`, or a dictionary with one under `state_dict`, `model_state_dict` or `model`.

    Raises:
        DataError: no such file, or weights of another network.
    """
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # what torch raises depends on what the file holds
        raise DataError(f"{path}: not a readable file of weights ({in_one_line(error)})") from error
    for name in ("state_dict", "model_state_dict", "model"):
        if isinstance(weights, dict) and isinstance(weights.get(name), dict):
            weights = weights[name]
    if not isinstance(weights, dict):
        raise DataError(f"{path}: holds a {type(weights).__name__}; expected a state_dict")
    names = network.state_dict()
    for prefix in ("module.", "_orig_mod.", "model."):  # of DataParallel, torch.compile, Lightning
        if all(name.startswith(prefix) and name not in names for name in weights):
            weights = {name.removeprefix(prefix): part for name, part in weights.items()}
    try:
        network.load_state_dict(weights)
    except (RuntimeError, TypeError, AttributeError) as error:
        lines = " ".join(line.strip() for line in str(error).splitlines())
        raise DataError(f"{path}: the weights do not fit the network: {lines}") from error


def build_network(builder: str) -> torch.nn.Module:
    """The network that `module:function` returns.

    Raises:
        RepdynError: no such module or function, it raises an error, or it returns something else than a torch module.
    """
    name, _, function = builder.partition(":")
    if not all(part.isidentifier() for part in [*name.split("."), function]):
        raise RepdynError(f"{builder!r} is not of the form module:function, such as my_network:build")
    module = _imported(name)
    if not callable(getattr(module, function, None)):
        known = [key for key, value in vars(module).items() if inspect.isroutine(value) and not key.startswith("_")]
        near = difflib.get_close_matches(function, known, 1)
        advice = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'no functions'}"
        raise RepdynError(f"{name} has no function {function!r}; {advice}")
    try:
        network = getattr(module, function)()
    except Exception as error:
        raise RepdynError(f"{builder} raised {_user_error(error)}") from error
    if not isinstance(network, torch.nn.Module):
        raise RepdynError(f"{builder} returned a {type(network).__name__}; it must return a torch.nn.Module")
    return network


def _imported(name: str) -> object:
    """A user's module, from the current folder first."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and not name.startswith(error.name):
            raise RepdynError(f"{name} imports {error.name}, which is not installed") from error
        raise RepdynError(f"no module {name!r} in {Path.cwd()} or among the installed ones") from error
    except Exception as error:
        raise RepdynError(f"importing {name} raised {_user_error(error)}") from error
    finally:
        sys.path.remove(str(Path.cwd()))


def _user_error(error: Exception) -> str:
    """A user's error in one line, with the place in their code."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} ({Path(error.filename or '?').name}, line {error.lineno})"
    here = str(Path.cwd())
    frames = traceback.extract_tb(error.__traceback__)
    user_frames = [frame for frame in frames if frame.filename.startswith(here)] or frames[-1:]
    words = in_one_line(error)
    words = words if words.startswith(type(error).__name__) else f"{type(error).__name__}: {words}"
    return f"{words} ({Path(user_frames[-1].filename).name}, line {user_frames[-1].lineno})"
