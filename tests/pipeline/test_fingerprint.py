"""Code versions: an edit matrix on a toy package, and dependencies of the real package's studies."""

import ast
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

import pytest

from repdyn.pipeline.versions.fingerprint import SOURCE, code_version, reached

TOY = {
    "__init__": "",
    "base/__init__": "",
    "base/tools": '''
        """Tools."""
        import numpy as np

        FACTOR = 2

        def scaled(x):
            """Scales."""
            return FACTOR * x

        def idle(x):
            return x + 1
    ''',
    "base/inner": "def doubled(x): return 2 * x",
    "base/exported": "from repdyn.base.inner import doubled",
    "base/exported_again": "from .exported import doubled as twice",
    "base/starred": "from repdyn.base.rays import *",
    "base/rays": "def ray(x): return x + 9",
    "base/stars": "def shine(x): return x - 1",
    "base/traced": "def traced(function): return function",
    "base/effects": 'import numpy as np\nnp.seterr(all="raise")\ndef careful(x): return x',
    "base/fast": "def fast_or_slow(x): return x * 1.0",
    "base/slow": "def fast_or_slow(x): return x * 2.0",
    "base/one": "def solve(x): return 1 - x",
    "base/two": "def solve(x): return 2 - x",
    "base/found": "def found(): return 31\ndef lost(): return 32",
    "base/lazy": "def lazy(x): return x % 7\ndef idle(x): return x % 5",
    "study/__init__": "SHARED = 11",
    "study/settings": """
        from dataclasses import dataclass
        from enum import Enum
        from typing import ClassVar

        from repdyn.base import Settings

        class Run(Settings):
            model_config = {"frozen": True}
            width: int = 3
            SCALE: ClassVar[int] = 7
            SPARE: ClassVar[int] = 8

            def problems(self):
                return self.width > 0

            @field_validator("width")
            def is_wide(cls, value):
                return value + 0

            @property
            def cells(self):
                return self._doubled() * 3

            def _doubled(self):
                return self.width * 2

            @property
            def unasked(self):
                return self.width - 1

        @dataclass
        class Grid:
            step: float = 0.125

        class Way(Enum):
            LEFT = "left"

        LIMIT = 5
    """,
    "study/theory": "PI = 3.14\ndef kappa(x): return PI * x\ndef unused(x): return PI - x",
    "study/plugins": 'import importlib\nTABLE = "a"\ndef load(name): return importlib.import_module(name)',
    "study/more_plugins": """
        from importlib import import_module

        CHOICE = "b"

        def load(name):
            wanted = name
            return import_module(locals()["wanted"])
    """,
    "study/strategies": "def plain(x): return x\ndef fancy(x): return x * x",
    "study/by_name": """
        from pkgutil import resolve_name

        def by_name():
            return resolve_name("repdyn.base.found:found")()
    """,
    "study/near": "def nearest(x): return round(x)",
    "study/starry": "from repdyn.base.stars import *\ndef with_star(x): return shine(x)",
    "study/starry_near": "from .near_stars import *\ndef with_near_star(x): return glow(x)",
    "study/near_stars": "def glow(x): return -x",
    "study/unreached": "ALONE = 1",
    "effectful/__init__": "import os",
    "effectful/caller": "from repdyn.base import tools",
    "effectful/part": "import math\nfrom repdyn.effectful import caller\ndef careful_part(x): return x",
    "base/two_names": "def left(x): return x + 100\ndef right(x): return x + 200",
    "study/names": '''
        """Every place in which a name can stand."""
        import math
        from collections import namedtuple
        from math import sqrt, floor as down
        from typing import NamedTuple

        import numpy as np

        from repdyn.base.two_names import left as first_way, right as second_way

        IN_LAMBDA, IN_COMPREHENSION = 1, 2
        IN_TEXT = 3
        IN_WALRUS = 4
        IN_MATCH = 5
        IN_DEFAULT = 6
        IN_CLASS = 7
        IN_DECORATOR = 8
        IN_KEYWORD = 9
        IN_NESTED = 10
        IN_KEY = 11
        IN_CONDITION = 12
        IN_STAR: int = 13
        IN_ITERATOR = (14,)

        def marked(number):
            return lambda function: function

        class Kind:
            level = IN_CLASS

        class Row(NamedTuple):
            width: int
            height: float = 2.5

        @marked(IN_DECORATOR)
        def every(x: float, *, wide: int = IN_DEFAULT) -> float:
            total = sqrt(x) + down(x) + math.exp(x) + np.linalg.norm(x)
            total += (lambda y: y * IN_LAMBDA)(x)
            total += sum(IN_COMPREHENSION * entry for entry in IN_ITERATOR if entry != IN_CONDITION)
            label: str = f"{IN_TEXT:>{wide}} steps"
            if (length := len(label) + IN_WALRUS) > 3:
                total -= length
            match total:
                case Kind(level=Kind.level) as matched:
                    total = matched
                case [head, *tail]:
                    total = head + IN_MATCH * len(tail)
            try:
                table = {IN_KEY: total}
                for key, value in table.items():
                    total += key - value
                    total -= 1
            except KeyError as error:
                print(error)
            with open("x") as file:
                total += len(file.read())

            def inner(z):
                nonlocal total
                total = z + IN_NESTED
                return total

            return dict(value=inner(x), key=IN_KEYWORD, row=Row(*[IN_STAR]), ways=(first_way(x), second_way(total)))

        if __name__ == "__main__":
            every(1)
    ''',
    "study/experiments": '''
        """Experiments."""
        import os

        import numpy as np

        import repdyn.base.tools
        import repdyn.study.more_plugins as more
        from repdyn.base import effects, exported_again, starred
        from repdyn.base.traced import traced
        from repdyn.study import SHARED, plugins, strategies, theory
        from repdyn.study.settings import LIMIT, Grid, Run, Way
        from repdyn.study.by_name import by_name
        from repdyn.study.starry import with_star
        from repdyn.effectful.part import careful_part
        from repdyn.study.names import every
        from repdyn.study.starry_near import with_near_star

        from . import near
        from ..base.tools import idle as tired

        try:
            from repdyn.base.fast import fast_or_slow
        except ImportError:
            from repdyn.base.slow import fast_or_slow

        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            from repdyn.base import slow

        _OLD = np.seterr(all="ignore")
        _ = setattr(os, "name", "a")
        _STATE = np.geterr()
        DOUBLE = (HALF := 21) * 2

        if __name__ != "__main__":
            os.umask(1)

        WIDTH = 3
        """How wide."""
        UNUSED = 4
        LOOKUP = {}
        LOOKUP["a"] = 1

        class Base:
            def common(self):
                return 5

        class Model(Base):
            """A model."""

            rate = 0.5

            def step(self, x):
                """One step."""
                return x * self.rate

        def apply(strategy, x):
            return getattr(strategy, "plain")(x)

        def first(x):
            from repdyn.base.one import solve

            return solve(x)

        def second(x):
            from repdyn.base.two import solve

            return solve(x)

        @traced
        def run(settings: Run, x=WIDTH):
            """Runs."""
            # what happens here
            y = repdyn.base.tools.scaled(x) + theory.kappa(x) + Model().step(x) + LOOKUP["a"] + SHARED + LIMIT
            y += exported_again.twice(x) + starred.ray(x) + effects.careful(x) + near.nearest(x) + with_star(x)
            y += apply(strategies, x) + fast_or_slow(x) + first(x) + second(x) + with_near_star(x)
            plugins.load("json"), more.load("json"), careful_part(y), every(y), by_name(), np.seterr(**_OLD)
            y += settings.cells + getattr(settings, "SCALE") + Grid().step + Way.LEFT.value + HALF

            def local(z):
                from repdyn.base.lazy import idle, lazy

                return lazy(idle(z))

            return local(y)

        def other(x):
            return x + UNUSED + tired(x)
    ''',
}
ROOT = "repdyn.study.experiments:run"
NAMES = "study/names"

MATTERS = {
    "the function itself": ("study/experiments", "theory.kappa(x) +", "theory.kappa(x) -"),
    "text that is no docstring": ("study/experiments", 'LOOKUP["a"] + SHARED', 'LOOKUP["b"] + SHARED'),
    "constant in the same module": ("study/experiments", "WIDTH = 3", "WIDTH = 4"),
    "item of a table set at the top": ("study/experiments", 'LOOKUP["a"] = 1', 'LOOKUP["a"] = 2'),
    "helper in another module": ("base/tools", "FACTOR * x", "FACTOR / x"),
    "constant in another module": ("base/tools", "FACTOR = 2", "FACTOR = 3"),
    "function by attribute of a module": ("study/theory", "PI * x", "PI + x"),
    "constant behind that function": ("study/theory", "PI = 3.14", "PI = 3.1416"),
    "constant in a package's __init__": ("study/__init__", "SHARED = 11", "SHARED = 12"),
    "method of a class": ("study/experiments", "x * self.rate", "x / self.rate"),
    "attribute of a class": ("study/experiments", "rate = 0.5", "rate = 0.25"),
    "method of a parent class": ("study/experiments", "return 5", "return 6"),
    "decorator": ("base/traced", "return function", "return lambda *a: function(*a)"),
    "decorator taken away": ("study/experiments", "@traced\n", "\n"),
    "function behind two re-exports": ("base/inner", "2 * x", "3 * x"),
    "function re-exported by a star": ("base/rays", "x + 9", "x - 9"),
    "module behind a star import": ("base/stars", "def shine(x):", "GLARE = 1\ndef shine(x):"),
    "module behind a relative star import": ("study/near_stars", "-x", "+x"),
    "module by relative import": ("study/near", "round(x)", "int(x)"),
    "module handed on as a value": ("study/strategies", "x * x", "x ** 3"),
    "module that uses importlib": ("study/plugins", 'TABLE = "a"', 'TABLE = "b"'),
    "module that uses a name of importlib": ("study/more_plugins", 'CHOICE = "b"', 'CHOICE = "c"'),
    "variable that is read by its name": ("study/more_plugins", "wanted = name", "needed = name"),
    "statement at the top of a module": ("base/effects", 'all="raise"', 'all="warn"'),
    "import inside a function": ("base/lazy", "x % 7", "x % 8"),
    "first of two imports under one name": ("base/fast", "1.0", "1.5"),
    "second of two imports under one name": ("base/slow", "2.0", "2.5"),
    "name imported in one function": ("base/one", "1 - x", "1 + x"),
    "same name imported in another function": ("base/two", "2 - x", "2 + x"),
    "property of a model of settings": ("study/settings", "_doubled() * 3", "_doubled() * 4"),
    "private method behind it": ("study/settings", "width * 2", "width * 4"),
    "class variable of a model, by getattr": ("study/settings", "SCALE: ClassVar[int] = 7", "SCALE: ClassVar[int] = 9"),
    "default of a plain class among the settings": ("study/settings", "0.125", "0.25"),
    "value of an enumeration": ("study/settings", '= "left"', '= "right"'),
    "assignment with an effect": ("study/experiments", 'seterr(all="ignore")', 'seterr(all="warn")'),
    "assignment to nothing": ("study/experiments", '"name", "a"', '"name", "b"'),
    "call whose result nobody reads": ("study/experiments", "np.geterr()", "np.geterrcall()"),
    "name bound by a walrus at the top": ("study/experiments", "HALF := 21", "HALF := 22"),
    "what does not run on the command line": ("study/experiments", "os.umask(1)", "os.umask(2)"),
    "function loaded by a name in full": ("base/found", "31", "33"),
    "annotation by which a value is coerced": (
        "study/experiments",
        "settings: Run, x=WIDTH",
        "settings: Run, x: int=WIDTH",
    ),
    "constant among the settings": ("study/settings", "LIMIT = 5", "LIMIT = 6"),
    "effect in the package of a module": ("effectful/__init__", "import os", "import os\nos.umask(0)"),
    "effect in a module imported for it": ("effectful/caller", "import tools", "import tools\ntools.FACTOR = 3"),
    "effect in the package of all": ("__init__", "", "print()"),
    "another function of another package under the old name": (NAMES, "import sqrt,", "import cbrt as sqrt,"),
    "another function under the old alias": (NAMES, "floor as down", "ceil as down"),
    "another module under the old name": (NAMES, "import math\n", "import cmath as math\n"),
    "another module under the old alias": (NAMES, "import numpy as np", "import torch as np"),
    "two aliases exchanged": (NAMES, "left as first_way, right as second", "right as first_way, left as second"),
    "re-export of another function": ("base/exported", "doubled", "tripled as doubled"),
    "re-export of another package": ("base/exported", "repdyn.base.inner", "other.inner"),
    "name in a lambda": (NAMES, "IN_LAMBDA, IN_COMPREHENSION = 1,", "IN_LAMBDA, IN_COMPREHENSION = 0,"),
    "name in a comprehension": (NAMES, "IN_COMPREHENSION = 1, 2", "IN_COMPREHENSION = 1, 3"),
    "name in a comprehension's condition": (NAMES, "IN_CONDITION = 12", "IN_CONDITION = 0"),
    "name that a comprehension runs over": (NAMES, "IN_ITERATOR = (14,)", "IN_ITERATOR = ()"),
    "name in an f-string": (NAMES, "IN_TEXT = 3", "IN_TEXT = 0"),
    "name beside a walrus": (NAMES, "IN_WALRUS = 4", "IN_WALRUS = 0"),
    "name in a match": (NAMES, "IN_MATCH = 5", "IN_MATCH = 0"),
    "name in a default": (NAMES, "IN_DEFAULT = 6", "IN_DEFAULT = 0"),
    "name in a class": (NAMES, "IN_CLASS = 7", "IN_CLASS = 0"),
    "name in a decorator": (NAMES, "IN_DECORATOR = 8", "IN_DECORATOR = 0"),
    "name in a keyword argument": (NAMES, "IN_KEYWORD = 9", "IN_KEYWORD = 0"),
    "name in a function in a function": (NAMES, "IN_NESTED = 10", "IN_NESTED = 0"),
    "name as a key": (NAMES, "IN_KEY = 11", "IN_KEY = 0"),
    "name behind a star": (NAMES, "IN_STAR: int = 13", "IN_STAR: int = 0"),
    "field of a class renamed": (NAMES, "width: int", "breadth: int"),
    "field of another type": (NAMES, "width: int", "width: float"),
    "field with another value": (NAMES, "2.5", "3.5"),
    "parameter renamed": (NAMES, "(lambda y: y *", "(lambda q: q *"),
    "keyword renamed": (NAMES, "dict(value=", "dict(val="),
    "two variables exchanged": (NAMES, "key - value", "value - key"),
    "another variable": (NAMES, "(first_way(x),", "(first_way(total),"),
    "order of two statements": (NAMES, "total += (lambda y: y * IN_LAMBDA)(x)", "total = (lambda y: y * IN_LAMBDA)(x)"),
    "line moved out of a loop": (NAMES, "    total -= 1", "total -= 1"),
    "variable of the outer function": (NAMES, "nonlocal total\n", "pass\n"),
    "format in an f-string": (NAMES, ":>{wide}}", ":<{wide}}"),
    "attribute": (NAMES, "np.linalg.norm", "np.linalg.cond"),
    "test of a condition": (NAMES, "> 3", ">= 3"),
}
DOES_NOT_MATTER = {
    "comment": ("study/experiments", "# what happens here", "# what happens\n    # here and there"),
    "docstring of the function": ("study/experiments", '"""Runs."""', '"""Runs it."""'),
    "order of names imported inside a function": ("study/experiments", "import idle, lazy", "import lazy, idle"),
    "docstring taken away": ("study/experiments", '"""Runs."""', ""),
    "docstring of a module": ("study/experiments", '"""Experiments."""', '"""All experiments."""'),
    "docstring of a class": ("study/experiments", '"""A model."""', '"""The model."""'),
    "docstring of a method": ("study/experiments", '"""One step."""', '"""A step."""'),
    "text below a constant": ("study/experiments", '"""How wide."""', '"""How wide it is."""'),
    "layout": (
        "study/experiments",
        "return x * self.rate",
        "return (\n            x\n            * self.rate\n        )",
    ),
    "quotes": ("study/experiments", 'plugins.load("json")', "plugins.load('json')"),
    "import of something unused": ("study/experiments", "import os", "import os\nimport sys"),
    "function that is not reached": ("study/experiments", "x + UNUSED", "x - UNUSED"),
    "constant that is not reached": ("study/experiments", "UNUSED = 4", "UNUSED = 5"),
    "function beside one that is reached": ("study/theory", "PI - x", "PI + 2 * x"),
    "function of a shared module": ("base/tools", "x + 1", "x + 2"),
    "settings": ("study/settings", "width: int = 3", "width: int = 4"),
    "rule of the settings": ("study/settings", "width > 0", "width > 1"),
    "validator of the settings": ("study/settings", "value + 0", "value + 1"),
    "property that nobody asks for": ("study/settings", "width - 1", "width - 2"),
    "class variable that nobody asks for": ("study/settings", "SPARE: ClassVar[int] = 8", "SPARE: ClassVar[int] = 9"),
    "configuration of a model": ("study/settings", '"frozen": True', '"frozen": False'),
    "import for annotations alone": ("study/experiments", "import slow\n", "import slow, fast\n"),
    "import that is never run, of a module with statements at its top": (
        "study/experiments",
        "import slow\n",
        "import slow\n    from repdyn.effectful import part\n",
    ),
    "function beside one loaded by name": ("base/found", "32", "34"),
    "module that is not reached": ("study/unreached", "ALONE = 1", "ALONE = 2"),
    "annotation of a parameter": (NAMES, "x: float,", "x: int,"),
    "annotation of what is returned": (NAMES, "-> float", "-> dict"),
    "annotation taken away": (NAMES, "label: str =", "label ="),
    "annotation of a constant": (NAMES, "IN_STAR: int =", "IN_STAR ="),
    "variable renamed": (NAMES, "label", "words", 2),
    "variable of a walrus renamed": (NAMES, "length", "size", 2),
    "variable of a comprehension renamed": (NAMES, "entry", "number_of_it", 3),
    "another alias for the same module": (NAMES, "np", "num", 2),
    "another alias for the same function": (NAMES, "down", "lower", 2),
    "what runs on the command line": (NAMES, "every(1)", "every(2)"),
    "functions in another order": (
        "base/two_names",
        "def left(x): return x + 100\ndef right(x): return x + 200",
        "def right(x): return x + 200\ndef left(x): return x + 100",
    ),
    "imports in another order": (NAMES, "import sqrt, floor as down", "import floor as down, sqrt"),
}


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Writes a package into a separate folder, since a process remembers what it read from a folder."""
    folder = tmp_path_factory.mktemp("packages")

    def write(files):
        source = Path(tempfile.mkdtemp(dir=folder))
        for name, text in files.items():
            path = source / "repdyn" / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return source

    return write


@pytest.fixture(scope="module")
def unedited(write):
    return code_version(ROOT, source=write(toy()))


def toy(edit=None):
    files = {name: dedent(text) for name, text in TOY.items()}
    if edit:
        name, old, new, times = (*edit, 1)[:4]
        assert files[name].count(old) == times or not old, f"{old!r} stands {files[name].count(old)} times in {name}"
        files[name] = files[name].replace(old, new, times)
        ast.parse(files[name])
    return files


@pytest.mark.parametrize("edit", MATTERS.values(), ids=MATTERS)
def test_edit_of_a_dependency_changes_the_version(write, unedited, edit):
    assert code_version(ROOT, source=write(toy(edit))) != unedited


@pytest.mark.parametrize("edit", DOES_NOT_MATTER.values(), ids=DOES_NOT_MATTER)
def test_edit_without_effect_keeps_the_version(write, unedited, edit):
    assert code_version(ROOT, source=write(toy(edit))) == unedited


def test_whole_module_as_root_includes_module_level_code(write):
    edit = ("study/experiments", "x + UNUSED", "x - UNUSED")
    roots = [code_version("repdyn.study.experiments", source=write(toy(change))) for change in (None, edit)]
    assert roots[0] != roots[1]


def test_version_depends_on_additional_roots(write):
    source = write(toy())
    assert code_version(ROOT, "repdyn.study.unreached:ALONE", source=source) != code_version(ROOT, source=source)


MODULES = {
    "__init__": "",
    "study/__init__": "",
    "study/figures/__init__": "",
    "study/figures/early": "def sketch(): return style()\ndef style(): return 1\n",
    "study/figures/late": "def chart(): return 2\ndef style(): return 3\n",
}


def test_folder_as_root_is_searched_for_the_name(write):
    definitions = reached("repdyn.study.figures:sketch", source=write(MODULES))
    assert definitions == [("repdyn.study.figures.early", "sketch"), ("repdyn.study.figures.early", "style")]


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("repdyn.study.nowhere:run", "repdyn.study.nowhere"),
        ("repdyn.nostudy", "repdyn.nostudy"),
        ("numpy.linalg:norm", "numpy.linalg"),
        ("repdyn.study.experiments:walk", "walk"),
        ("repdyn.study.experiments:os", "os"),
    ],
)
def test_unknown_root_is_rejected(write, root, message):
    with pytest.raises(ValueError, match=message):
        code_version(root, source=write(toy()))


def test_recursive_functions_terminate(write):
    files = {"__init__": "", "ring": "def a(n): return b(n)\ndef b(n): return a(n - 1)\n"}
    assert reached("repdyn.ring:a", source=write(files)) == [("repdyn.ring", "a"), ("repdyn.ring", "b")]


def test_dependencies_of_an_external_package_are_listed_with_it(write, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/claims.py").write_text("from repdyn.ring import a\ndef holds(): return a(3)\n")
    source = write({"__init__": "", "ring": "def a(n): return n\n"})
    listed = reached("mine.claims:holds", source=source, outside=(("mine", tmp_path / "mine"),))
    assert listed == [("mine.claims", "holds"), ("repdyn.ring", "a")]


# The package as it is.

PACKAGE = SOURCE / "repdyn"
RUNNER = "repdyn.pipeline.run.kinds.simulate:run"


def test_experiment_depends_on_its_formulas_but_no_other_experiment():
    definitions = set(reached("repdyn.bn_decomposed.experiments:ablation", RUNNER))
    assert {
        ("repdyn.bn_decomposed.theory.layers", "propagate"),
        ("repdyn.bn_decomposed.theory.layers", "_components"),
        ("repdyn.base.streams", "Stream"),
    } <= definitions
    assert not {"fixed_point", "layer_angles", "bn_components"} & {name for _, name in definitions}


# The package as it is, in another folder and process


def test_version_does_not_depend_on_the_folder(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "a folder" / "repdyn", ignore=shutil.ignore_patterns("__pycache__"))
    root = "repdyn.bn_decomposed.experiments:ablation"
    assert code_version(root, source=tmp_path / "a folder") == code_version(root)


def test_reading_versions_imports_no_numerical_package():
    ask = "code_version('repdyn.bn_decomposed.claims')"
    code = f"import sys, repdyn.pipeline.versions.fingerprint as f; f.{ask}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert not {"numpy", "xarray", "torch", "repdyn.bn_decomposed"} & set(run.stdout.split())
