"""What code versions would miss is not done in the package: names bound twice, patches, registries, magic of classes.

`repdyn.base.fingerprint` reads which definitions a function reaches by name. Each test here refuses one way in which
code can reach another definition, or change it, without naming it.
"""

import ast
from pathlib import Path

import pytest

import repdyn
from repdyn.base.fingerprint import SOURCE, _package

PACKAGE = Path(repdyn.__file__).parent
FILES = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
MUTATORS = {
    *("append", "add", "update", "setdefault", "extend", "insert", "pop", "popitem", "clear", "remove", "discard"),
    *("sort", "reverse", "register"),
}
MAGIC = {"__subclasses__", "__init_subclass__", "__set_name__", "__class_getitem__", "singledispatch", "metaclass"}
READS_ANNOTATIONS = {"get_type_hints", "__annotations__", "get_annotations"}
LOADING = {
    "repdyn.__main__": {"main"},
    "repdyn.base.claims": {"claims_of"},
    "repdyn.diagnostics": {
        "made_by",
        "_imported",
        "_class_of",
        "undisturbed",
    },  # undisturbed asks only whether torch can compile
    "repdyn.pipeline.pages.generate": {"claims_anything"},
    "repdyn.pipeline.pages.measures": {"page"},
    "repdyn.pipeline.mutations.command": {"run"},
    "repdyn.pipeline.mutations.trial": {"Replaced", "_try_stage", "forget"},  # in forks of their own, never in a job
    "repdyn.pipeline.new.project": {"write"},
    "repdyn.pipeline.packages": {"package_of"},
    "repdyn.pipeline.studies": {"_folder", "declared"},
    "repdyn.pipeline.run.execute.loading": {"load_runner", "load_module", "_modules_of", "_functions"},
}
"""Definitions that find others at run time; what they load is named as a further root of the jobs that use them."""
TOLD_TO_OTHERS = ("os.environ", "sys.path", "torch.backends")  # settings of libraries, which no definition reads
FORKS = "pipeline/mutations/trial.py"  # exchanges modules in forks of its own, never in a job


def tree(text: str) -> ast.Module:
    return ast.parse(text)


def top_names(node: ast.stmt) -> list[str]:
    """Names that a statement at the top of a module binds, imports included."""
    if isinstance(node, FUNCTIONS | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.split(".")[0] for alias in node.names]
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    flat = [part for target in targets if target for part in getattr(target, "elts", [target])]
    return [part.id for part in flat if isinstance(part, ast.Name)]


def bound_twice(module: ast.Module) -> list[str]:
    """Names bound by two statements at the top: which of them holds depends on the order of statements."""
    nodes = [node for node in module.body if not isinstance(node, ast.AugAssign)]  # an effect, which is followed
    names = [name for node in nodes if not _is_submodule(node) for name in top_names(node)]
    return sorted({name for name in names if names.count(name) > 1})


def _is_submodule(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import) and any("." in alias.name and not alias.asname for alias in node.names)


def locals_of(function: ast.AST) -> set[str]:
    """Names that a function binds itself, those of functions inside it too."""
    names = {
        part.id for part in ast.walk(function) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    }
    names |= {part.arg for part in ast.walk(function) if isinstance(part, ast.arg)}
    imports = (part for part in ast.walk(function) if isinstance(part, ast.Import | ast.ImportFrom))
    return names - {name for node in imports for name in top_names(node)}


def head(node: ast.AST) -> str:
    """First name of `a.b[c].d`, empty where there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def changed(node: ast.AST) -> list[ast.expr]:
    """What a statement or call changes in place: assigned attributes and items, objects of mutating methods."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
        targets = getattr(node, "targets", None) or [node.target]
        return [part for part in targets if isinstance(part, ast.Attribute | ast.Subscript)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
        return [node.func.value]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
        return node.args[:1]
    return []


def submodules(module: ast.Module) -> set[str]:
    """Names under which a module imports other modules of the package: their functions may be called anything."""
    nodes = [node for node in module.body if isinstance(node, ast.ImportFrom) and node.module]
    paths = {a.asname or a.name: (*node.module.split(".")[1:], a.name) for node in nodes for a in node.names}
    return {name for name, parts in paths.items() if PACKAGE.joinpath(*parts).with_suffix(".py").is_file()}


def changes_of_the_module(module: ast.Module) -> list[str]:
    """Functions that change what is defined or imported at the top; top statements that change what is imported."""
    imported = {n for node in module.body if isinstance(node, ast.Import | ast.ImportFrom) for n in top_names(node)}
    modules = {n for node in module.body if isinstance(node, ast.Import) for n in top_names(node)} | submodules(module)
    defined = {n for node in module.body for n in top_names(node)}
    problems = []
    for node in module.body:
        inside = isinstance(node, FUNCTIONS | ast.ClassDef)
        known = (defined - locals_of(node)) if inside else imported
        for part in ast.walk(node):
            is_method = isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)
            objects = [target for target in changed(part) if head(target) in known]
            texts = [ast.unparse(target) for target in objects if not (is_method and ast.unparse(target) in modules)]
            problems += [f"line {part.lineno}: {text}" for text in texts if not text.startswith(TOLD_TO_OTHERS)]
            problems += [f"line {part.lineno}: global"] if isinstance(part, ast.Global) else []
    return problems


def magic(module: ast.Module) -> list[str]:
    """Ways of classes and decorators to reach what nobody names."""
    uses = []
    for part in ast.walk(module):
        name = getattr(part, "attr", None) or getattr(part, "id", None) or getattr(part, "name", None)
        name = part.arg if isinstance(part, ast.keyword) else name
        if isinstance(name, str) and name.split(".")[-1] in MAGIC:
            uses.append(name)
        if isinstance(part, ast.ImportFrom) and part.names[0].name == "*":
            uses.append(f"import * from {part.module}")
    return uses


def read_annotations(module: ast.Module) -> list[str]:
    """Uses of annotations at run time; those of functions do not count for code versions."""
    names = (getattr(part, "attr", None) or getattr(part, "id", None) for part in ast.walk(module))
    return [name for name in names if name in READS_ANNOTATIONS]


def unused_imports(module: ast.Module) -> list[str]:
    """Imports at the top of what nobody in the module names: they can be there for their effect alone."""
    used = {part.id for part in ast.walk(module) if isinstance(part, ast.Name)}
    texts = " ".join(p.value for p in ast.walk(module) if isinstance(p, ast.Constant) and isinstance(p.value, str))
    nodes = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [name for node in nodes for name in top_names(node) if getattr(node, "module", "") != "__future__"]
    return [name for name in names if name not in used and name not in texts]


EXAMPLES = [
    (bound_twice, "A = 1\nB = A\nA = 2", "A = 1\nB, C = A, 2\ndef f(): A = 3"),
    (bound_twice, "from a import f\ndef f(): pass", "from a import f\ndef g(): f = 2"),
    (changes_of_the_module, "import theory\ntheory.kappa = max", "class A: pass\nx = A()\nx.b = 1"),
    (changes_of_the_module, "from a import b\ndef f(): b.c = 1", "def f(b): b.c = 1"),
    (
        changes_of_the_module,
        "T = {}\ndef register(f):\n    T[f.__name__] = f\n    return f",
        "def f():\n    T = {}\n    T[1] = 2",
    ),
    (changes_of_the_module, "T = []\ndef register(f): T.append(f)", "T = []\ndef f(): return [*T].append(1)"),
    (changes_of_the_module, "import a\ndef f(): setattr(a, 'b', 1)", "def f(a): setattr(a, 'b', 1)"),
    (changes_of_the_module, "T = 1\ndef f():\n    global T\n    T = 2", "T = 1\ndef f():\n    T = 2"),
    (changes_of_the_module, "def f(): pass\ndef g(): f.calls += 1", "def f(): pass\ndef g(f): f.calls += 1"),
    (changes_of_the_module, "def f():\n    import a\n    a.b = 1\nimport a", "def f():\n    a = {}\n    a['b'] = 1"),
    (magic, "class A: pass\nx = A.__subclasses__()", "class A: pass\nx = A.__name__"),
    (magic, "class A:\n    def __init_subclass__(cls): pass", "class A:\n    def __init__(self): pass"),
    (magic, "from functools import singledispatch", "from functools import cache"),
    (magic, "class A(metaclass=B): pass", "class A(B): pass"),
    (magic, "from a import *", "from a import b"),
    (read_annotations, "import typing\nx = typing.get_type_hints(f)", "x: int = 2"),
    (unused_imports, "import a.b", "import a.b\na.b.c()"),
    (unused_imports, "from repdyn.x import register", "from repdyn.x import register\n@register\ndef f(): pass"),
]


@pytest.mark.parametrize(("check", "bad", "good"), EXAMPLES)
def test_the_checks_see_what_they_are_for(check, bad, good):
    assert check(tree(bad)) != []
    assert check(tree(good)) == []


@pytest.fixture(scope="module")
def modules() -> dict[str, ast.Module]:
    """Syntax trees of all files of the package."""
    return {name: tree(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


@pytest.mark.parametrize("check", [bound_twice, changes_of_the_module, magic, unused_imports])
def test_the_package_does_not(check, modules):
    report = {name: check(module) for name, module in modules.items() if name != FORKS}
    assert {name: problems for name, problems in report.items() if problems} == {}


def test_annotations_are_read_by_the_runner_alone(modules):
    """It takes the class of an experiment's settings, whose values are the job's input."""
    assert [name for name, module in modules.items() if read_annotations(module)] == ["pipeline/run/kinds/simulate.py"]


def test_what_is_found_at_run_time_is_known():
    package = _package(SOURCE, ())
    loading: dict[str, set[str]] = {}
    for module in package.files:
        if names := {name for name, definition in package.module(module).definitions.items() if definition.dynamic}:
            loading.setdefault("repdyn.diagnostics" if ".diagnostics" in module else module, set()).update(names)
    assert loading == LOADING
