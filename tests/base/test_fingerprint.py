"""Code versions: an edit matrix on a toy package, and what the real package's studies reach."""

import ast
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

import pytest

from repdyn.base.fingerprint import SOURCE, code_version, reached

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
    "base/inner": """
        def doubled(x):
            return 2 * x
    """,
    "base/exported": "from repdyn.base.inner import doubled",
    "base/exported_again": "from .exported import doubled as twice",
    "base/starred": "from repdyn.base.rays import *",
    "base/rays": "def ray(x): return x + 9",
    "base/stars": """
        def shine(x):
            return x - 1
    """,
    "base/traced": """
        def traced(function):
            return function
    """,
    "base/effects": """
        import numpy as np

        np.seterr(all="raise")

        def careful(x):
            return x
    """,
    "base/fast": "def fast_or_slow(x): return x * 1.0",
    "base/slow": "def fast_or_slow(x): return x * 2.0",
    "base/one": "def solve(x): return 1 - x",
    "base/two": "def solve(x): return 2 - x",
    "base/lazy": "def lazy(x): return x % 7",
    "study/__init__": "SHARED = 11",
    "study/settings": """
        class Run:
            width: int = 3

        LIMIT = 5
    """,
    "study/theory": """
        PI = 3.14

        def kappa(x):
            return PI * x

        def unused(x):
            return PI - x
    """,
    "study/plugins": """
        import importlib

        TABLE = "a"

        def load(name):
            return importlib.import_module(name)
    """,
    "study/more_plugins": """
        from importlib import import_module

        CHOICE = "b"

        def load(name):
            return import_module(name)
    """,
    "study/strategies": """
        def plain(x):
            return x

        def fancy(x):
            return x * x
    """,
    "study/near": """
        def nearest(x):
            return round(x)
    """,
    "study/starry": """
        from repdyn.base.stars import *

        def with_star(x):
            return shine(x)
    """,
    "study/starry_near": """
        from .near_stars import *

        def with_near_star(x):
            return glow(x)
    """,
    "study/near_stars": """
        def glow(x):
            return -x
    """,
    "study/unreached": "ALONE = 1",
    "study/experiments": '''
        """Experiments."""
        import os

        import repdyn.base.tools
        import repdyn.study.more_plugins as more
        from repdyn.base import effects, exported_again, starred
        from repdyn.base.traced import traced
        from repdyn.study import SHARED, plugins, strategies, theory
        from repdyn.study.settings import LIMIT, Run
        from repdyn.study.starry import with_star
        from repdyn.study.starry_near import with_near_star

        from . import near
        from ..base.tools import idle as tired

        try:
            from repdyn.base.fast import fast_or_slow
        except ImportError:
            from repdyn.base.slow import fast_or_slow

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
            plugins.load("json"), more.load("json")

            def local(z):
                from repdyn.base.lazy import lazy

                return lazy(z)

            return local(y)

        def other(x):
            return x + UNUSED + tired(x)
    ''',
}
ROOT = "repdyn.study.experiments:run"

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
    "statement at the top of a module": ("base/effects", 'all="raise"', 'all="warn"'),
    "import inside a function": ("base/lazy", "x % 7", "x % 8"),
    "first of two imports under one name": ("base/fast", "1.0", "1.5"),
    "second of two imports under one name": ("base/slow", "2.0", "2.5"),
    "name imported in one function": ("base/one", "1 - x", "1 + x"),
    "same name imported in another function": ("base/two", "2 - x", "2 + x"),
}
DOES_NOT_MATTER = {
    "comment": ("study/experiments", "# what happens here", "# what happens\n    # here and there"),
    "docstring of the function": ("study/experiments", '"""Runs."""', '"""Runs it."""'),
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
    "constant among the settings": ("study/settings", "LIMIT = 5", "LIMIT = 6"),
    "module that is not reached": ("study/unreached", "ALONE = 1", "ALONE = 2"),
}


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Writes a package into a folder of its own: what was read from a folder is remembered in the process."""
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
        name, old, new = edit
        assert files[name].count(old) == 1, f"{old!r} stands {files[name].count(old)} times in {name}"
        files[name] = files[name].replace(old, new)
        ast.parse(files[name])
    return files


@pytest.mark.parametrize("edit", MATTERS.values(), ids=MATTERS)
def test_an_edit_that_is_reached_changes_the_version(write, unedited, edit):
    assert code_version(ROOT, source=write(toy(edit))) != unedited


@pytest.mark.parametrize("edit", DOES_NOT_MATTER.values(), ids=DOES_NOT_MATTER)
def test_an_edit_that_says_nothing_new_leaves_the_version(write, unedited, edit):
    assert code_version(ROOT, source=write(toy(edit))) == unedited


def test_a_whole_module_as_root_reaches_what_no_function_does(write):
    edit = ("study/experiments", "x + UNUSED", "x - UNUSED")
    roots = [code_version("repdyn.study.experiments", source=write(toy(one))) for one in (None, edit)]
    assert roots[0] != roots[1]


def test_a_further_root_counts(write):
    source = write(toy())
    assert code_version(ROOT, "repdyn.study.unreached:ALONE", source=source) != code_version(ROOT, source=source)


ROOMS = {
    "__init__": "",
    "study/__init__": "",
    "study/figures/__init__": "",
    "study/figures/early": "def sketch(): return style()\ndef style(): return 1\n",
    "study/figures/late": "def chart(): return 2\ndef style(): return 3\n",
}


def test_a_folder_as_root_is_searched_for_the_name(write):
    found = reached("repdyn.study.figures:sketch", source=write(ROOMS))
    assert found == [("repdyn.study.figures.early", "sketch"), ("repdyn.study.figures.early", "style")]


def test_a_whole_folder_as_root_is_all_its_modules(write):
    found = reached("repdyn.study.figures", source=write(ROOMS))
    assert [name for _, name in found] == ["sketch", "style", "chart", "style"]


def test_a_name_that_stands_twice_in_a_folder_is_refused(write):
    with pytest.raises(ValueError, match="2 definitions of 'style'"):
        code_version("repdyn.study.figures:style", source=write(ROOMS))


def test_order_of_roots_does_not_matter(write):
    source, roots = write(toy()), (ROOT, "repdyn.study.unreached", "repdyn.base.lazy:lazy")
    assert code_version(*roots, source=source) == code_version(*roots[::-1], source=source)


def test_digest_is_sixteen_hexadecimal_digits(write):
    assert len(bytes.fromhex(code_version(ROOT, source=write(toy())))) == 8


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("repdyn.study.nowhere:run", "no module 'repdyn.study.nowhere'"),
        ("repdyn.nostudy", "no module 'repdyn.nostudy'"),
        ("numpy.linalg:norm", "no module 'numpy.linalg'"),
        ("repdyn.study.settings:Run", "no module 'repdyn.study.settings'"),
        ("repdyn.study.experiments:walk", "no definition of 'walk' in repdyn.study.experiments"),
        ("repdyn.study.experiments:os", "no definition of 'os' in repdyn.study.experiments"),
    ],
)
def test_unknown_root_is_refused(write, root, message):
    with pytest.raises(ValueError, match=message):
        code_version(root, source=write(toy()))


def test_recursion_ends(write):
    files = {"__init__": "", "ring": "def a(n): return b(n)\ndef b(n): return a(n - 1)\n"}
    assert reached("repdyn.ring:a", source=write(files)) == [("repdyn.ring", "a"), ("repdyn.ring", "b")]


# The package as it is.

PACKAGE = SOURCE / "repdyn"
ABOVE = ("base", "diagnostics", "across_papers")  # rooms with settings that are no studies
STUDIES = sorted(path.name for path in PACKAGE.iterdir() if (path / "settings.py").is_file() and path.name not in ABOVE)


def modules(folder):
    """Names of the modules under a folder of the package that count for code versions."""
    dotted = (".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in sorted(folder.rglob("*.py")))
    return [name for name in dotted if not name.endswith("__init__") and not name.split(".")[-1].startswith("settings")]


def packages_reached(folder):
    return {module.split(".")[1] for module, _ in reached(*modules(folder))}


def test_there_are_studies():
    assert "bn_decomposed" in STUDIES


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_reaches_itself_and_the_ground_floor_alone(study):
    assert packages_reached(PACKAGE / study) <= {study, "base"}


def test_the_ground_floor_reaches_nothing_above():
    assert packages_reached(PACKAGE / "base") == {"base"}


def test_an_experiment_reaches_its_formulas_and_no_other_experiment():
    found = set(reached("repdyn.bn_decomposed.experiments:ablation"))
    assert {
        ("repdyn.bn_decomposed.theory.layers", "propagate"),
        ("repdyn.bn_decomposed.theory.layers", "_components"),
        ("repdyn.bn_decomposed.theory.geometry", "RANK_TOLERANCE"),
        ("repdyn.base.streams", "Stream"),
    } <= found
    assert not {"fixed_point", "layer_angles", "bn_components"} & {name for _, name in found}


def test_version_does_not_depend_on_the_folder(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "a folder" / "repdyn", ignore=shutil.ignore_patterns("__pycache__"))
    root = "repdyn.bn_decomposed.experiments:ablation"
    assert code_version(root, source=tmp_path / "a folder") == code_version(root)


def test_reading_versions_imports_no_numerical_package():
    code = (
        "import sys, repdyn.base.fingerprint as f; f.code_version('repdyn.bn_decomposed.claims'); print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert not {"numpy", "xarray", "torch", "repdyn.bn_decomposed"} & set(run.stdout.split())
