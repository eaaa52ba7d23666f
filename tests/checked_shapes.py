"""A plugin of pytest that holds every call of a theory function to the shapes that its signature tells.

`pytest -p tests.checked_shapes --shapes FILE ...` runs tests as usual, but the functions with shapes in their
signatures are wrapped: arguments and result of one call bind sizes to names, arguments that are whole numbers the sizes
of their names, and a call that contradicts them raises `WrongShape`. Which functions were called, and what was wrong,
is written to FILE.
"""

import ast
import functools
import importlib
import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jaxtyping
import numpy as np

import repdyn

SOURCE = Path(repdyn.__file__).parent
STUDIES = ("bn_decomposed", "truncation_flow", "bn_mean_field", "leaky_resnets", "universality")
KINDS = ("Float", "Int", "Bool", "Inexact", "Shaped")


class WrongShape(AssertionError):  # noqa: N818
    """A signature that does not hold."""


class Part(NamedTuple):
    """An array and what an annotation says of it."""

    name: str
    value: object
    kind: str
    sizes: str
    computed: bool


def public_functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Public functions of a module and public methods of its classes, with `__init__`."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            yield from (
                (f"{node.name}.{part.name}", part)
                for part in methods
                if part.name == "__init__" or not part.name.startswith("_")
            )


def annotations(node: ast.FunctionDef) -> dict[str, ast.expr]:
    """Annotation of each parameter, and of the result as "return"."""
    listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    told = {each.arg: each.annotation for each in listed if each} | {"return": node.returns}
    return {name: annotation for name, annotation in told.items() if annotation}


def theory(study: str) -> Iterator[tuple[str, ast.Module]]:
    """Dotted names and syntax trees of the modules of a study's theory."""
    for path in sorted((SOURCE / study / "theory").glob("*.py")):
        yield f"repdyn.{study}.theory.{path.stem}", ast.parse(path.read_text(encoding="utf-8"))


def has_shapes(node: ast.expr) -> bool:
    return any(_kind(part) for part in ast.walk(node))


def _kind(node: ast.AST) -> str:
    """`Float` of `Float[Array, "n d"]`, else nothing."""
    is_word = isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in KINDS
    return node.value.id if is_word else ""


def parts(name: str, node: ast.expr, value: object, computed: bool) -> Iterator[Part]:
    """The arrays of a value with what its annotation says of them; of a union, the alternative that fits."""
    if kind := _kind(node):
        yield Part(name, value, kind, node.slice.elts[1].value, computed)
    elif isinstance(node, ast.BinOp):
        yield from _of_union(name, [*_alternatives(node)], value, computed)
    elif isinstance(node, ast.Subscript) and has_shapes(node.slice):
        of = node.value.id
        if of == "tuple":
            inner = node.slice.elts
            if len(value) != len(inner):
                raise WrongShape(f"{name}: got {len(value)} values, the signature has {len(inner)}")
            for n, (each, part) in enumerate(zip(inner, value, strict=True)):
                yield from parts(f"{name}[{n}]", each, part, computed)
        elif of in ("list", "Sequence"):
            for n, part in enumerate(value):
                yield from parts(f"{name}[{n}]", node.slice, part, computed)
        elif of != "Callable":
            raise WrongShape(f"{name}: {ast.unparse(node)} is not understood")


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from _alternatives(node.left)
        yield from _alternatives(node.right)
    else:
        yield node


def _of_union(name: str, nodes: list[ast.expr], value: object, computed: bool) -> Iterator[Part]:
    arrays = [node for node in nodes if _kind(node)]
    sequences = [node for node in nodes if isinstance(node, ast.Subscript) and not _kind(node)]
    if value is None:
        return
    if isinstance(value, list | tuple) and sequences:
        yield from parts(name, sequences[0], value, computed)
    elif arrays:
        fitting = [node for node in arrays if _takes(node, np.ndim(value))]
        if fitting or np.ndim(value) > 0 or len(nodes) == len(arrays):
            yield from parts(name, [*fitting, *arrays][0], value, computed)


def _takes(node: ast.Subscript, dimensions: int) -> bool:
    """Whether an array of so many dimensions can have the sizes that are told."""
    sizes = node.slice.elts[1].value.split()
    return len(sizes) == dimensions or any(word.startswith(("*", "...")) for word in sizes)


def check(told: list[Part], sizes: dict[str, int], arguments: dict[str, object]) -> None:
    """Raises `WrongShape` where arrays do not have one size for each name; `sizes` are known before."""
    bound = {word.strip("*#") for part in told for word in part.sizes.split()} | set(sizes)

    def is_sum(word: str) -> bool:
        return not re.fullmatch(r"[*#]*\w+|\.\.\.", word)

    def known(word: str) -> str:
        """Sums of sizes that no argument has are any size."""
        return word if not is_sum(word) or set(re.findall(r"[a-zA-Z_]+", word)) - {"min", "max"} <= bound else "_"

    with jaxtyping.jaxtyped("context"):
        for name, size in sizes.items():
            isinstance(np.broadcast_to(0.0, (size,)), jaxtyping.Float[np.ndarray, name])
        for part in sorted(told, key=lambda part: any(map(is_sum, part.sizes.split()))):
            text = re.sub(r"\{(.+?)\}", lambda braces: str(eval(braces[1], {}, dict(arguments))), part.sizes)
            wanted = getattr(jaxtyping, part.kind)[np.ndarray, " ".join(map(known, text.split()))]
            if not isinstance(_array(part), wanted):
                got = f"shape {np.shape(part.value)} of {np.asarray(part.value).dtype}"
                raise WrongShape(f"{part.name} has {got}, not {part.kind} {part.sizes!r}")


def _array(part: Part) -> np.ndarray:
    """The value as an array; arguments may be of whole numbers or of exact ones where floats are told."""
    if part.computed and not isinstance(part.value, np.ndarray | np.generic | float):
        raise WrongShape(f"{part.name} is a {type(part.value).__name__} and no array")
    array = np.asarray(part.value)
    if not part.computed and part.kind in ("Float", "Inexact") and array.dtype.kind in "iubO":
        return np.broadcast_to(0.0, array.shape)
    return array


def checked(function, node: ast.FunctionDef, name: str, called: Counter, wrong: list[str]):
    """The function, held to the shapes of its definition."""
    told = annotations(node)
    signature = inspect.signature(getattr(function, "py_func", function))
    texts = " ".join(part.slice.elts[1].value for each in told.values() for part in ast.walk(each) if _kind(part))
    words = set(re.findall(r"[a-zA-Z_]\w*", texts))

    @functools.wraps(function)
    def wrapper(*values, **named):
        result = function(*values, **named)
        arguments = signature.bind(*values, **named).arguments
        owner = vars(arguments["self"]) if "self" in arguments and hasattr(arguments["self"], "__dict__") else {}
        sizes = {key: value for key, value in {**owner, **arguments}.items() if key in words and type(value) is int}
        try:
            given = [parts(key, told[key], value, False) for key, value in arguments.items() if key in told]
            made = parts("the result", told["return"], result, True) if "return" in told else ()
            check([part for each in (*given, made) for part in each], sizes, arguments)
        except WrongShape as error:
            wrong.append(f"{name}: {error}")
            raise WrongShape(wrong[-1]) from None
        called[name] += 1
        return result

    return wrapper


class Plugin:
    """Wraps before tests are collected, writes what was found when they are done."""

    def __init__(self, file: Path) -> None:
        self.file, self.called, self.wrong = file, Counter(), []
        wrapped = {}
        for study in STUDIES:
            for module, tree in theory(study):
                home = importlib.import_module(module)
                for name, node in public_functions(tree):
                    if any(map(has_shapes, annotations(node).values())):
                        self._wrap(home, name, node, wrapped)
        for module in [module for name, module in sys.modules.items() if name.startswith("repdyn.")]:
            for key, value in list(vars(module).items()):
                if id(value) in wrapped:
                    setattr(module, key, wrapped[id(value)][1])

    def _wrap(self, home, name: str, node: ast.FunctionDef, wrapped: dict) -> None:
        label = f"{home.__name__}.{name}"
        owner, _, method = name.rpartition(".")
        if owner:
            kind = getattr(home, owner)
            setattr(kind, method, checked(vars(kind)[method], node, label, self.called, self.wrong))
            return
        function = getattr(home, name)
        wrapped[id(function)] = (function, checked(function, node, label, self.called, self.wrong))

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(json.dumps({"called": self.called, "wrong": self.wrong}), encoding="utf-8")


def pytest_addoption(parser) -> None:
    parser.addoption("--shapes", type=Path, help="where to write which functions were held to their shapes")


def pytest_configure(config) -> None:
    if config.getoption("--shapes"):
        config.pluginmanager.register(Plugin(config.getoption("--shapes")))
