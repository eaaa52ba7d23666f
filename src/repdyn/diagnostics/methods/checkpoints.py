"""A user's network by the name of the function that builds it, and a file of inputs."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib
import inspect
import json
import re
import sys
import traceback
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from repdyn.base.errors import DataError, RepdynError
from repdyn.diagnostics.methods.forward import in_one_line
from repdyn.diagnostics.methods.weights import SHARD, SUFFIXES, holds_weights, is_weights, read_weights, weight_files

ANSWERS = ("labels", "targets", "pairs")
STEP = r"(?:global_?)?steps?|iterations?|iters?|it|updates?"  # words before a number
EPOCH = r"epochs?|ep"
NO_MOMENT = r"(?:val_?|test_?|train_?|best_?)?(?:loss|acc|err|f1|auc|map|iou|psnr|ssim|ppl|bleu|score|lr)"
NUMBER = re.compile(
    r"(?P<word>[A-Za-z_]*)[=_\-\s]*"
    r"(?P<number>\d{1,3}(?:,\d{3})+(?!\d)|\d+(?:\.\d+)*(?:[eE][-+]?\d+)?)(?P<factor>[kKM](?![A-Za-z]))?"
)
FACTORS = {"k": 1000, "K": 1000, "M": 1_000_000}
STEP_KEYS, EPOCH_KEYS = ("global_step", "step", "iteration", "iter"), ("epoch",)


def read_arrays(path: Path) -> dict[str, object]:
    """The arrays of an npz file, without unpickling anything; keyword inputs become one dictionary `inputs`.

    Raises:
        DataError: no npz file, arrays of objects, of text or without points, unknown names, or no inputs.
    """
    try:
        file = np.load(path, allow_pickle=False)  # noqa: TID251 - unpickles nothing
        if isinstance(file, np.ndarray):
            raise ValueError("it holds a single array")
        with file:
            arrays: dict[str, Any] = {name: file[name] for name in file.files}
        if other := next((name for name, array in arrays.items() if not isinstance(array, np.ndarray)), None):
            raise ValueError(f"its entry {other} is no array")
    except (ValueError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        reason = "it holds Python objects, which are not loaded" if "pickle" in str(error) else error
        raise DataError(
            f"{path}: not a usable npz file ({reason}); write it with numpy.savez({path.name!r}, inputs=...)"
        ) from error
    for name, array in arrays.items():
        _check_numbers(f"{path}: {name}", array, whole=name == "pairs")
    keywords = {name.removeprefix("input_"): arrays.pop(name) for name in list(arrays) if name.startswith("input_")}
    if keywords and "inputs" in arrays:
        raise DataError(f"{path}: holds inputs and input_{next(iter(keywords))}; give one tensor or keyword inputs")
    if keywords:
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
    """Files and folders of weights in a folder by the moment of training, ascending.

    The moment is the step of all names (`step=`, `iter_`), or the epoch of all, or the number of all (what all names
    share, losses and versions do not count), or else the step or epoch that the files themselves hold.

    Raises:
        DataError: no weights, parts of one network, or files of which nothing, or more than one number, could tell the
            moment, or of the same one.
    """
    found = [path for path in sorted(folder.iterdir()) if is_weights(path) or (path.is_dir() and holds_weights(path))]
    there = {path.resolve() for path in found if not path.is_symlink()}
    found = [path for path in found if not path.is_symlink() or path.resolve() not in there]  # as a link to the last
    if not found:
        raise DataError(f"{folder}: holds no checkpoint; expected files that end in {', '.join(SUFFIXES)}, or folders")
    if parts := [path.name for path in found if SHARD.search(path.stem)]:
        raise DataError(
            f"{folder}: {parts[0]} is a part of one network's weights; give the folder around {folder.name}"
        )
    steps: dict[int, Path] = {}
    for path, step in zip(found, _moments(found), strict=True):
        if other := steps.get(step):
            raise DataError(f"{path}: has the number {step} of {other.name}; give each another number")
        steps[step] = path
    return dict(sorted(steps.items()))


@dataclass(frozen=True)
class _Name:
    """The numbers of a name: its step, its epoch, and all that could be a moment, in order."""

    step: int | None
    epoch: int | None
    numbers: tuple[int, ...]


def _moments(paths: Sequence[Path]) -> Sequence[int]:
    """The moment of each checkpoint.

    Raises:
        DataError: nothing tells it of one of them, or several numbers could be it.
    """
    names = [_name(path) for path in paths]
    steps, epochs = [name.step for name in names], [name.epoch for name in names]
    if (known := _all(steps)) is not None:
        for first, second in pairwise(sorted(zip(known, epochs, paths, strict=True), key=lambda entry: entry[0])):
            if first[1] is not None and second[1] is not None and first[1] > second[1]:
                raise DataError(
                    f"{second[2]}: its step comes after that of {first[2].name}, its epoch before; rename it"
                )
        return known
    if (known := _all(epochs)) is not None:
        return known
    left = _varying([name.numbers for name in names])
    kinds = {"step" if name.step is not None else "epoch" for name in names if (name.step, name.epoch) != (None, None)}
    alone = [
        next((part for part in (name.step, name.epoch) if part is not None), numbers[0] if len(numbers) == 1 else None)
        for name, numbers in zip(names, left, strict=True)
    ]
    if len(kinds) < 2 and (known := _all(alone)) is not None:
        return known
    inside = [_inside(path) for path in paths]
    for of_names, of_files in ((steps, [step for step, _ in inside]), (epochs, [epoch for _, epoch in inside])):
        both = [own if own is not None else other for own, other in zip(of_names, of_files, strict=True)]
        if (known := _all(both)) is not None:
            return known
    path, numbers = next(
        (pair for pair, one in zip(zip(paths, left, strict=True), alone, strict=True) if one is None), (paths[0], ())
    )
    why = "its name has no number that orders the checkpoints"
    if len(numbers) > 1:
        why = f"{' or '.join(map(str, numbers))} of its name could be its step"
    elif len(kinds) > 1:
        why = "some names have a step and others an epoch"
    raise DataError(f"{path}: {why}, and the files hold none that all have; rename it, as step_100.pt")


def _all(values: Sequence[int | None]) -> list[int] | None:
    """The values, if none is missing."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _varying(numbers: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Numbers without those that are the same in all names, the last of each where all are."""
    if len({len(part) for part in numbers}) != 1:
        return list(numbers)
    places = [place for place, part in enumerate(zip(*numbers, strict=True)) if len(set(part)) > 1]
    places = places or list(range(len(numbers[0])))[-1:]
    return [tuple(part[place] for place in places) for part in numbers]


def _name(path: Path) -> _Name:
    """What the name of a checkpoint tells."""
    suffix = next((end for end in sorted(SUFFIXES, key=len, reverse=True) if path.name.endswith(end)), "")
    text = path.name if path.is_dir() else path.name.removesuffix(suffix)
    if re.search(r"\d.*-v\d+$", text):  # Lightning's second file of the same name
        text = re.sub(r"-v\d+$", "", text)
    steps: set[int] = set()
    epochs: set[int] = set()
    numbers: list[int] = []
    for match in NUMBER.finditer(text):
        word, digits = match["word"].strip("_").lower(), match["number"].replace(",", "")
        if not digits.isdecimal() or re.search(rf"(?:^|_)(?:{NO_MOMENT})", word):
            continue
        numbers.append(number := int(digits) * FACTORS.get(match["factor"], 1))
        for words, values in ((STEP, steps), (EPOCH, epochs)):
            if re.search(rf"(?:^|_)(?:{words})$", word):
                values.add(number)
    step, epoch = (values.pop() if len(values) == 1 else None for values in (steps, epochs))
    return _Name(step, epoch, tuple(numbers))


def _inside(path: Path) -> tuple[int | None, int | None]:
    """Step and epoch that a checkpoint itself holds."""
    try:
        if path.is_dir():
            state = path / "trainer_state.json"  # of Hugging Face
            content: object = json.loads(state.read_text(encoding="utf-8")) if state.is_file() else {}
        else:
            content = read_weights(path)
    except (DataError, ValueError, OSError):  # refused when it is to be loaded
        return None, None
    found = content if isinstance(content, Mapping) else {}
    step, epoch = (
        next((number for key in keys if (number := _whole(found.get(key))) is not None), None)
        for keys in (STEP_KEYS, EPOCH_KEYS)
    )
    return step, epoch


def _whole(value: object) -> int | None:
    number = value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def digest(path: Path) -> str:
    """SHA-256 of the weights of a file or folder."""
    digests = hashlib.sha256()
    for file in weight_files(path) if path.is_dir() else [path]:
        with file.open("rb") as content:
            digests.update(hashlib.file_digest(content, "sha256").digest())
    return digests.hexdigest()


def build_network(builder: str) -> torch.nn.Module:
    """The network that `module:function` returns.

    Raises:
        RepdynError: no such module or function, it raises an error, or it returns something else than a torch module.
    """
    name, _, function = builder.partition(":")
    if not all(part.isidentifier() for part in [*name.split("."), function]):
        raise RepdynError(f"{builder!r} is not of the form module:function, such as my_network:build")
    with contextlib.chdir(Path.cwd()):  # the user's code may go elsewhere; what is written is named from here
        return _built(name, function)


def _built(name: str, function: str) -> torch.nn.Module:
    module, builder = _imported(name), f"{name}:{function}"
    if not callable(getattr(module, function, None)):
        known = [key for key, value in vars(module).items() if inspect.isroutine(value) and not key.startswith("_")]
        near = difflib.get_close_matches(function, known, 1)
        advice = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known) or 'no functions'}"
        raise RepdynError(f"{name} has no function {function!r}; {advice}")
    try:
        network = getattr(module, function)()
    except (Exception, SystemExit) as error:
        raise RepdynError(f"{builder} raised {_user_error(error)}") from error
    if not isinstance(network, torch.nn.Module):
        raise RepdynError(f"{builder} returned a {type(network).__name__}; it must return a torch.nn.Module")
    return network


def _imported(name: str) -> object:
    """A user's module, from the current folder first."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and not name.startswith(error.name):
            raise RepdynError(f"{name} imports {error.name}, which is not installed") from error
        raise RepdynError(f"no module {name!r} in {here} or among the installed ones") from error
    except (Exception, SystemExit) as error:
        raise RepdynError(f"importing {name} raised {_user_error(error)}") from error
    finally:
        sys.path.remove(here)


def _user_error(error: BaseException) -> str:
    """A user's error in one line, with the place in their code."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} ({Path(error.filename or '?').name}, line {error.lineno})"
    here = str(Path.cwd())
    frames = traceback.extract_tb(error.__traceback__)
    user_frames = [frame for frame in frames if frame.filename.startswith(here)] or frames[-1:]
    words = in_one_line(error)
    words = words if words.startswith(type(error).__name__) else f"{type(error).__name__}: {words}"
    return f"{words} ({Path(user_frames[-1].filename).name}, line {user_frames[-1].lineno})"
