"""What a statement at the top of a module defines, and whether it does more than define."""

import pytest

from repdyn.base.definitions import EFFECTS, read_source


@pytest.mark.parametrize(
    ("statement", "acts"),
    [
        ("KEPT = register(x)", True),
        ("KEPT = hooks.register(x)", True),
        ("KEPT: object = register(x)", True),
        ("KEPT = computed(x)", False),
        ("KEPT = hooks.computed(x)", False),
    ],
)
def test_an_assignment_that_calls_something_for_its_effect_has_one(statement, acts):
    """By its bare name as well as by an attribute, also where what it returns is read later."""
    source = read_source(f"x = 1\n{statement}\n\ndef kept():\n    return KEPT\n", "package.module")
    assert set(source.definitions) == {"x", "KEPT", "kept"} | ({EFFECTS} if acts else set())
    if acts:
        changed = read_source(f"x = 1\n{statement.replace('(x)', '(x, 2)')}\n", "package.module")
        assert changed.definitions[EFFECTS].digest != source.definitions[EFFECTS].digest


MODULE = '''
"""Doc."""
import os, sys
import pack.c.d
import pack.e as e, other.far as far
from pack.a import one, two as deux, three
from . import near, next_to as beside
from ..up import above
from pack.stars import *
from pack.rays import *
try:
    from pack.fast import pick
except ImportError:
    from pack.slow import pick

A = B = one(3)
(C, D), *E = pick(A), three
F: "int" = deux.x.y
G, H = (I := 4), I

def every(x, *rest, wide=A, **more):
    return near.go(x) + e.f.g + pack.c.d.h + far.off(rest) + above.up(more) + beside + wide + F + later(x)

def later(one, B=C):
    D = one + B
    for E in D:
        from pack.inside import within, without
        import pack.z as F, pack.y
        yield within(E) + without.w + F.v + pack.y.u
    return lambda G: G + H

class Kept(three.Base):
    size: deux = B
    def method(self):
        return self.size.wide + every(self)
'''


def test_each_definition_of_a_module_names_what_it_uses():
    source = read_source(MODULE, "pack.sub.module")
    found = {
        name: (definition.names, definition.imported, definition.attributes)
        for name, definition in source.definitions.items()
    }
    picked = ["pack.a.three", "pack.fast.pick", "pack.slow.pick"]
    assert found == {
        "A": (["B"], ["pack.a.one"], set()),
        "B": (["A"], ["pack.a.one"], set()),
        "C": (["A", "D", "E"], picked, set()),
        "D": (["A", "C", "E"], picked, set()),
        "E": (["A", "C", "D"], picked, set()),
        "F": ([], ["pack.a.two.x.y"], {"x", "y"}),
        "G": (["H", "I"], [], set()),
        "H": (["G", "I"], [], set()),
        "I": (["G", "H"], [], set()),
        "every": (
            ["A", "F", "later"],
            ["pack.c.d.h", "pack.e.f.g", "pack.sub.near.go", "pack.sub.next_to", "pack.up.above.up"],
            {"go", "f", "g", "c", "d", "h", "off", "up"},
        ),
        "later": (
            ["C", "H"],
            ["pack.inside.within", "pack.inside.without.w", "pack.y.u", "pack.z.v"],
            {"w", "v", "y", "u"},
        ),
        "Kept": (["B", "every"], ["pack.a.three.Base", "pack.a.two"], {"Base", "size", "wide"}),
        EFFECTS: ([], [], set()),
    }
    assert not any(definition.dynamic for definition in source.definitions.values())
    bound = {name: binding.imported for name, binding in source.bindings.items()}
    assert bound == {
        "os": [], "sys": [], "far": [], "pack": ["pack"], "e": ["pack.e"], "one": ["pack.a.one"],
        "deux": ["pack.a.two"], "three": ["pack.a.three"], "near": ["pack.sub.near"], "beside": ["pack.sub.next_to"],
        "above": ["pack.up.above"], "pick": ["pack.fast.pick", "pack.slow.pick"],
    }  # fmt: skip
    assert source.stars == ["pack.stars", "pack.rays"]
    loaded = ("a.one a.three a.two c.d e fast.pick inside.within inside.without rays slow.pick stars sub.near "
              "sub.next_to up.above y z")  # fmt: skip
    assert source.imports == [f"pack.{name}" for name in loaded.split()]


def test_names_of_further_packages_are_followed_and_an_init_file_starts_from_its_folder():
    source = read_source(MODULE, "pack.sub", is_package=True, packages=("other", "os"))
    every = source.definitions["every"].imported
    assert {"other.far.off", "pack.sub.near.go", "pack.sub.next_to", "pack.up.above.up"} <= set(every)
    assert source.bindings["os"].imported == ["os"]
    assert source.bindings["sys"].imported == []
    assert {"os", "other.far"} <= set(source.imports)
    assert "sys" not in source.imports


@pytest.mark.parametrize(
    ("call", "dynamic"),
    [
        ("eval('x')", True),
        ("vars(x)", True),
        ("builtins.exec('x')", True),
        ("builtins.len(x)", False),
        ("other.eval(x)", False),
        ("x.eval()", False),
        ("importlib.import_module('a')", True),
        ("importlib.metadata.version('a')", False),
        ("load('a')", True),
        ("runpy.run_path('a')", True),
        ("sys.modules['a']", True),
        ("sys.path[0]", False),
        ("x.a.__subclasses__()", True),
        ("x.__globals__", True),
        ("x.__doc__", False),
        ("len(x)", False),
    ],
)
def test_what_finds_things_at_run_time_is_told(call, dynamic):
    head = "import builtins, importlib, other, runpy, sys\nfrom pkgutil import resolve_name as load\n"
    source = read_source(f"{head}def calls(x):\n    return {call}\n", "pack.module")
    assert source.definitions["calls"].dynamic is dynamic


def test_a_name_of_ones_own_is_no_builtin():
    text = "def eval(x):\n    return x\n\ndef calls(vars):\n    exec = vars\n    return eval(vars(exec(1)))\n"
    definition = read_source(text, "pack.module").definitions["calls"]
    assert (definition.dynamic, definition.names) == (False, ["eval"])


@pytest.mark.parametrize(
    ("call", "attributes"),
    [
        ("getattr(x, 'width')", {"width"}),
        ("getattr(x, 'no name')", set()),
        ("getattr(x, name)", None),
        ("x.getattr(x, name)", {"getattr"}),
        ("setattr(x, name, 1)", set()),
        ("attrgetter(name)(x)", None),
        ("operator.attrgetter(name)(x)", None),
        ("x.one.two[0].three()", {"one", "two", "three"}),
    ],
)
def test_attributes_that_are_asked_for_are_told_and_none_where_by_a_value(call, attributes):
    head = "import operator\nfrom operator import attrgetter\n"
    source = read_source(f"{head}def calls(x, name):\n    return {call}\n", "pack.module")
    assert source.definitions["calls"].attributes == attributes


SETTINGS = """
class Run(Settings):
    model_config = {}
    width: int = 3
    SCALE: ClassVar[int] = 7
    FIRST = SECOND = 2

    def problems(self): return ()
    @field_validator("width", "b")
    def is_wide(cls, value): return value
    @classmethod
    @model_validator(mode="after")
    def is_whole(cls, value): return value
    @pydantic.model_serializer
    def as_text(self): return ""
    @property
    def cells(self): return self.width
    def doubled(self): return 2

class Other(base.Settings, Enum):
    def area(self): return 5

class Third(Protocol, NamedTuple, Own):
    def depth(self): return 6

class Way(Enum):
    def name_of(self): return 1

class Plain:
    def size(self): return 1

LIMIT = 5
"""


@pytest.mark.parametrize("module", ["pack.settings", "pack.settings_run.one", "pack.study.settings"])
def test_models_of_settings_are_told_by_their_members(module):
    source = read_source(SETTINGS, module)
    members = {f"Run.{name}": name for name in ("SCALE", "FIRST", "SECOND", "cells", "doubled")} | {
        "Other.area": "area",
        "Third.depth": "depth",
    }
    assert source.members == members
    assert set(source.definitions) == {*members, "Run", "Other", "Third", "Way", "Plain", "LIMIT"}
    other = read_source(SETTINGS, "pack.study.experiments")
    assert (other.members, set(other.definitions)) == ({}, {"Run", "Other", "Third", "Way", "Plain", "LIMIT"})


@pytest.mark.parametrize(("base", "members"), [("Settings", {"Run.a", "Run.b", "Run.c"}), ("Enum", set())])
def test_a_model_that_is_defined_again_has_the_members_of_all(base, members):
    bases = {"a": "Settings", "b": base, "c": "Settings"}
    text = "\n".join(f"class Run({name}):\n    def {method}(self): return 1" for method, name in bases.items())
    assert set(read_source(text, "pack.settings").members) == members


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("a = b = 1", {"a", "b"}),
        ("(a, [b, *c]), d = 1", {"a", "b", "c", "d"}),
        ("a: int", {"a"}),
        ("a.b = 1", {"a", EFFECTS}),
        ("a = b.c = 1", {"a", "b", EFFECTS}),
        ("a[0] = 1", {"a", EFFECTS}),
        ("a = (b := 1) + (c := 2)", {"a", "b", "c"}),
        ("a += 1", {EFFECTS}),
        ("f(1)", {EFFECTS}),
        ("if x:\n    a = 1\nelif y:\n    b = 2\nelse:\n    c = d = 3", {"a", "b", "c", "d", EFFECTS}),
        ("with f() as g:\n    a = 1\n    def h(): return 2", {"a", "h", EFFECTS}),
        ("if (a := 1):\n    pass", {"a", EFFECTS}),
        ("if __name__ == '__main__':\n    a = 1", set()),
        ("if TYPE_CHECKING:\n    a = 1", set()),
        ("if typing.TYPE_CHECKING:\n    a = 1", set()),
        ("if TYPE_CHECKING:\n    a = 1\nelse:\n    b = 2", {"a", "b", EFFECTS}),
        ("if __name__ == 'main':\n    a = 1", {"a", EFFECTS}),
        ("'words'", set()),
        ("5", {EFFECTS}),
        ("pass", set()),
        ("_a = f(1)", {"_a", EFFECTS}),
        ("_a = f(1)\nb = _a", {"_a", "b"}),
        ("_a = f(1)\nb = _a\n_c = f(2)", {"_a", "b", "_c", EFFECTS}),
        ("_a, b = f(1)", {"_a", "b"}),
        ("_a = 1", {"_a"}),
        ("a = f(g.append(1))", {"a", EFFECTS}),
        ("a = [f(1), g.register_all(2), h(3)]", {"a", EFFECTS}),
        ("a = appended(1)", {"a"}),
    ],
)
def test_what_a_statement_at_the_top_defines(statement, names):
    assert set(read_source(statement, "pack.module").definitions) == names
