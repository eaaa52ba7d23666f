"""Weights as trainers write them: one file, a folder, parts of a network among other entries, names with prefixes.

A network's entries are found by name and shape. Around the names may be what wraps a network (`module.`, `_orig_mod.`,
`model.`, `net.`, in any order), around the entries dictionaries (`state_dict`, `model`). No file is ever unpickled but
for tensors and plain values.
"""

from __future__ import annotations

import copy
import json
import math
import re
import struct
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from repdyn.base.errors import DataError
from repdyn.diagnostics.methods.forward import in_one_line, unwrapped

WRAPPERS = {"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}  # parts of names
USUAL = ("state_dict", "model_state_dict", "model_state", "model", "net", "network", "module", "params", "weights")
HEADER = 8  # bytes of the length of a safetensors header
POINTER = b"version https://git-lfs"
AVERAGED = re.compile(r"(?:^|_)(?:ema|averag\w*|avg|swa|shadow|teacher|target|momentum|old|best)(?:_|$)", re.IGNORECASE)
LEFT = "; left: "
LONG = 1000  # letters of torch's error, which names every weight
DEPTH = 4  # of dictionaries around the entries
SHARD = re.compile(r"-\d{5}-of-(\d{5})$")
WHOLE = ("model.safetensors", "pytorch_model.bin")  # of a folder, each also with an index of its parts
WITHOUT_WEIGHTS = re.compile(r"optim|scheduler|scaler|rng_state|training_args|random_states", re.IGNORECASE)
SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".pth.tar", ".pt.tar")
SAFETENSORS = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
    "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
    "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2, "U16": torch.uint16, "U32": torch.uint32,
    "U64": torch.uint64, "C64": torch.complex64,
}  # fmt: skip


def with_weights(model: nn.Module, other: nn.Module | Mapping[str, Any], name: str) -> nn.Module:
    """Another network as it is, or a copy of the first with other weights.

    Args:
        model: the first network, wrapped or not; it does not change.
        other: the other one, or its `state_dict`, of a wrapped network, too; a warning says what of it is not used.
        name: what an error calls the weights.

    Raises:
        ValueError: the weights do not fit the network.
    """
    if isinstance(other, nn.Module):
        return other
    copied = copy.deepcopy(unwrapped(model))
    text = put_weights(copied, other, name)
    if LEFT in text:
        warnings.warn(f"{name}: {text}", stacklevel=3)
    return copied


def load_weights(network: nn.Module, path: Path) -> str:
    """Puts the weights of a file or folder into a network; what was taken of it and what was not, in one line.

    Raises:
        DataError: no readable weights, or those of another network.
    """
    try:
        return put_weights(unwrapped(network), read_weights(path), str(path))
    except ValueError as error:
        raise DataError(str(error)) from error


def put_weights(network: nn.Module, weights: object, name: str) -> str:
    """Finds the entries of a network among others, and puts them into it.

    Entries that are the same parameter as another one may be missing, and there may be others.

    Args:
        network: gets the weights.
        weights: a `state_dict`, or dictionaries around one.
        name: what errors call the weights.

    Returns:
        What was taken and what was not, in one line.

    Raises:
        ValueError: there are no entries of the network, not all, or several sets that fit.
    """
    if not isinstance(weights, Mapping):
        raise ValueError(f"{name}: holds a {type(weights).__name__}; expected a state_dict")
    sets = sorted(_sets(network, weights), key=lambda entry: (*(-count for count in entry.fitting), entry.rank))
    if not sets:
        found = ", ".join(list(map(str, weights))[:8]) or "nothing"
        raise ValueError(f"{name}: no weights of {type(network).__name__}, it holds {found}; expected a state_dict")
    best = sets[0]
    if meta := [key for key, part in best.entries.items() if isinstance(part, Tensor) and part.is_meta]:
        raise ValueError(f"{name}: {len(meta)} weights ({meta[0]}, ...) were on the device meta, without numbers")
    failures = (RuntimeError, TypeError, AttributeError)
    try:
        missing, unexpected = network.load_state_dict(best.entries, strict=False)
    except failures:
        missing, unexpected = list(network.state_dict()), []
    if _lacking(network, missing):
        try:
            network.load_state_dict(best.entries)  # its error has the names of all
        except failures as error:
            lines = " ".join(line.strip() for line in str(error).splitlines())
            lines = lines if len(lines) <= LONG else f"{lines[:LONG]} ..."
            raise ValueError(f"{name}: the weights do not fit the network: {lines}") from error
    rivals = [entry for entry in sets[1:] if entry.fitting == best.fitting]
    if equal := [entry for entry in rivals if entry.rank == best.rank]:
        places = ", ".join(repr(entry.place) for entry in (best, *equal))
        raise ValueError(f"{name}: several sets of weights fit the network: {places}; give a file with one of them")
    taken = f"{len(best.entries) - len(unexpected)} weights" + (f" of {best.place!r}" if best.place else "")
    beside = [*unexpected, *best.beside, *(f"all of {entry.place!r}, which fit, too" for entry in rivals)]
    left = f"{LEFT}{', '.join(beside[:4])}" + (f" and {len(beside) - 4} more" if len(beside) > 4 else "")
    return taken + (left if beside else "")


@dataclass(frozen=True)
class _Set:
    """Entries that may be those of the network.

    Attributes:
        entries: by the names of the network where it has them.
        fitting: how many have name and shape of one of the network's, and how many the name.
        place: keys and prefix around them.
        beside: other entries with numbers in the same dictionary.
    """

    entries: dict[str, Any]
    fitting: tuple[int, int]
    place: str
    beside: list[str]

    @property
    def rank(self) -> int:
        """Usual names first, averages of weights last, others between."""
        parts = [part for part in re.split(r"[/.]", self.place) if part]
        if any(AVERAGED.search(part) for part in parts):
            return 2
        return 0 if set(parts) <= {*USUAL, *WRAPPERS} else 1


def _sets(network: nn.Module, weights: Mapping[str, Any]) -> Iterator[_Set]:
    """Every dictionary and prefix under which there are entries of the network."""
    wanted = network.state_dict()
    for place, found in _dictionaries(weights):
        plain, named = ({_plain(name): name for name in part} for part in (wanted, found))
        if len(plain) < len(wanted) or len(named) < len(found):  # nothing tells a wrapper from a part of that name
            plain, named = ({name: name for name in part} for part in (wanted, found))
        by_prefix: dict[str, tuple[int, int]] = {}
        for name, full in named.items():
            for prefix, inner in _divided(name):
                if inner in plain:
                    shapes, names = by_prefix.get(prefix, (0, 0))
                    fits = _shape(found[full]) == _shape(wanted[plain[inner]])
                    by_prefix[prefix] = shapes + fits, names + 1
        for prefix, fitting in by_prefix.items():
            inside = {name: full for name, full in named.items() if name.startswith(prefix)}
            entries = {
                plain.get(inner := name.removeprefix(prefix), inner): found[full] for name, full in inside.items()
            }
            beside = [full for name, full in named.items() if name not in inside and isinstance(found[full], Tensor)]
            yield _Set(entries, fitting, "/".join([*place, prefix.removesuffix(".")]).removesuffix("/"), beside)


def _dictionaries(
    weights: Mapping[str, Any], place: tuple[str, ...] = ()
) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Every dictionary that holds tensors, outer ones first; those of optimizers not."""
    if any(isinstance(part, Tensor) for part in weights.values()):
        yield (
            list(place),
            {
                str(name): part
                for name, part in weights.items()
                if not isinstance(part, Mapping) or str(name).endswith("_extra_state")
            },
        )
    for name, part in weights.items():
        if isinstance(name, str) and isinstance(part, Mapping) and len(place) < DEPTH and "optim" not in name:
            yield from _dictionaries(part, (*place, name))


def _plain(name: str) -> str:
    """A name without what wraps networks and parts of them."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def _divided(name: str) -> Iterator[tuple[str, str]]:
    """A name as prefix and rest, with every prefix that can be an attribute's: numbers are layers."""
    parts = name.split(".")
    for count in range(len(parts)):
        if any(part.isdecimal() for part in parts[:count]):
            return
        yield "".join(f"{part}." for part in parts[:count]), ".".join(parts[count:])


def _shape(part: object) -> tuple[int, ...] | None:
    return tuple(part.shape) if isinstance(part, Tensor) and not is_lazy(part) else None


def _lacking(network: nn.Module, missing: list[str]) -> list[str]:
    """Missing entries that have no other name under which they came; counts of batches change no number."""
    parts = network.state_dict(keep_vars=True)
    came = {key for name, part in parts.items() if name not in missing for key in _keys(part)}
    lacking = [name for name in missing if came.isdisjoint(_keys(parts.get(name)))]
    return [name for name in lacking if not name.endswith("num_batches_tracked")]


def _keys(part: object) -> list[int]:
    """What two names of one entry have in common: the object, or where its numbers are."""
    has_numbers = isinstance(part, Tensor) and not is_lazy(part) and part.numel() > 0 and part.device.type != "meta"
    return [id(part), *([cast("Tensor", part).data_ptr()] if has_numbers else [])]


# files


def read_weights(path: Path) -> object:
    """What a file or folder of weights holds: tensors and plain values.

    Raises:
        DataError: no such file, or one that holds other objects; the message names them and the way out.
    """
    weights: dict[str, object] = {}
    files = weight_files(path) if path.is_dir() else [path]
    if not files:
        raise DataError(f"{path}: holds no weights; expected a file that ends in {', '.join(SUFFIXES)}")
    if path in files and (shard := SHARD.search(path.stem)) and int(shard[1]) > 1:
        raise DataError(
            f"{path}: is one of {int(shard[1])} parts of a network's weights; give the folder {path.parent}"
        )
    if len(files) == 1:
        return _read(files[0])
    for file in files:
        part = _read(file)
        if not isinstance(part, Mapping):
            raise DataError(f"{file}: holds a {type(part).__name__}; expected a part of a state_dict")
        weights |= part
    return weights


def weight_files(folder: Path) -> list[Path]:
    """The files of one network's weights in a folder; none where it holds none.

    Raises:
        DataError: parts are missing, or several networks, or a distributed checkpoint.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("._"))
    if any(path.suffix == ".distcp" for path in files):
        raise DataError(
            f"{folder}: a distributed checkpoint, whose index is a pickle and is not loaded; write one file with "
            "python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER weights.pt"
        )
    for name in WHOLE:
        if (folder / name).is_file():
            return [folder / name]
        if (index := folder / f"{name}.index.json").is_file():
            try:
                parts = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
                missing = [part for part in parts if not (folder / part).is_file()]
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DataError(f"{index}: has no weight_map, which names the parts of the weights") from error
            if missing:
                raise DataError(f"{folder}: lacks {', '.join(missing)}, which {index.name} names")
            return [folder / part for part in parts]
    found = [path for path in files if is_weights(path)]
    shards = [match for path in found if (match := SHARD.search(path.stem))]
    if shards and len(shards) == len(found):
        if len({match[1] for match in shards}) > 1 or len(shards) != int(shards[0][1]):
            raise DataError(
                f"{folder}: holds {len(found)} parts of weights, where {shards[0].string} is of {shards[0][1]}"
            )
        return found
    if len(found) > 1:
        raise DataError(f"{folder}: holds {', '.join(path.name for path in found)}; give a folder with one of them")
    return found


def is_weights(path: Path) -> bool:
    """Whether a file's name is one of weights: not of an optimizer's or of a training's arguments, and not hidden."""
    usual = path.name.endswith(SUFFIXES) and not path.name.startswith(".")
    return usual and path.is_file() and not WITHOUT_WEIGHTS.search(path.name)


def holds_weights(folder: Path) -> bool:
    """Whether a folder is a checkpoint, of one network."""
    names = [path.name for path in folder.iterdir()]
    if any(name.removesuffix(".index.json") in WHOLE or name.endswith(".distcp") for name in names):
        return True
    stems = {SHARD.sub("", path.stem) for path in folder.iterdir() if is_weights(path)}
    return len(stems) == 1


def _read(path: Path) -> object:
    try:
        with path.open("rb") as file:
            beginning = file.read(len(POINTER))
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    if beginning == POINTER:
        raise DataError(f"{path}: is a pointer of Git LFS to the file; get the file itself: git lfs pull")
    if beginning[8:9] == b"{" or (path.suffix == ".safetensors" and not beginning.startswith(b"PK")):
        return _safetensors(path)
    try:
        with path.open("rb") as file:  # by its name torch would choose the format
            return torch.load(file, map_location="cpu", weights_only=True)  # noqa: TID251 - unpickles tensors alone
    except Exception as error:  # what torch raises depends on what the file holds
        if objects := _objects(path, error):
            raise DataError(
                f"{path}: holds objects of {objects}, which are not loaded, as that could run code of the file; in the "
                "program that wrote it save the weights alone, torch.save(network.state_dict(), 'weights.pt')"
            ) from error
        foreign = "Weights only" in str(error) or "inline_container" in str(error)
        why = "no file of torch.save" if foreign else in_one_line(error)
        if "TorchScript" in why:
            why = "a TorchScript archive; save torch.jit.load(file).state_dict()"
        raise DataError(f"{path}: not a readable file of weights ({why})") from error


def _objects(path: Path, error: Exception) -> str:
    """The types that torch does not load, as far as the file or the error names them."""
    try:
        names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    except Exception:  # files of before torch 1.6, and what is none
        names = re.findall(r"Unsupported (?:global|class|operand)[^:]*: (?:GLOBAL )?([\w.]+)", str(error))
    names = names or re.findall(r"but got <class '([\w.]+)'>", str(error))
    return ", ".join(sorted(set(names)))


def _safetensors(path: Path) -> dict[str, Any]:
    """Tensors by name of a file of this format: length of the header, header in JSON, numbers.

    Raises:
        DataError: another format, or kinds of numbers that torch lacks.
    """
    try:
        content = path.read_bytes()
        if len(content) < HEADER:
            raise ValueError(f"it has {len(content)} bytes")
        (length,) = struct.unpack("<Q", content[:HEADER])
        header = json.loads(content[HEADER : HEADER + length])
        header.pop("__metadata__", None)
        numbers = bytearray(content[HEADER + length :])
        weights: dict[str, Any] = {}
        for name, entry in header.items():
            low, high = entry["data_offsets"]
            if entry["dtype"] not in SAFETENSORS:  # no numbers of torch's; left unless the network wants it
                weights[name] = entry["dtype"]
                continue
            kind, shape = SAFETENSORS[entry["dtype"]], entry["shape"]
            if not 0 <= low <= high <= len(numbers) or high - low != math.prod(shape) * kind.itemsize:
                raise ValueError(f"{name} ends beyond the file")
            values = torch.frombuffer(numbers[low:high], dtype=kind) if high > low else torch.empty(0, dtype=kind)
            weights[name] = values.reshape(shape)
        return weights
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, MemoryError, struct.error) as error:
        raise DataError(f"{path}: not a readable safetensors file ({in_one_line(error)})") from error
