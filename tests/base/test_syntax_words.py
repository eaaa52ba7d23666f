"""Which edits of a text change its digest: scopes within scopes, several names, generators, patterns, arguments."""

from textwrap import dedent

import pytest

from repdyn.base.definitions import EFFECTS, read_source


def digest(text, name="f", module="pack.sub.module"):
    return read_source(dedent(text), module).definitions[name].digest


SAME = {
    "variable of an inner function under the name of an outer one": (
        """
        def f():
            y = 1
            def g():
                {} = 2
                return {}
            return g, y
        """,
        ("y", "z"),
    ),
    "variable that an inner function of an inner one reads": (
        """
        def f():
            {} = 1
            def g():
                def h():
                    return {}
                return h
            return g
        """,
        ("a", "b"),
    ),
    "variable of a walrus in a comprehension": ("def f(x): return [({} := v) for v in x], {}", ("a", "b")),
    "rest of a mapping": (
        """
        def f(x):
            match x:
                case {{"a": 1, **{}}}:
                    return {}
        """,
        ("rest", "others"),
    ),
    "variable of a second generator": ("def f(x, y): return [{} * a for a in x for {} in y]", ("b", "c")),
    "variable of a second loop": ("def f(x):\n for a in x:\n  for b in a:\n   {} = b\n   print({})", ("c", "d")),
    "second file": ("def f():\n with open('a') as a, open('b') as {}: return {}.read() + a.read()", ("b", "c")),
}
DIFFERENT = {
    "second statement": ("print(1)\nprint({})", ("2", "3")),
    "last attribute": ("def f(x): return x.a.b.{}", ("c", "d")),
    "first attribute": ("def f(x): return x.{}.b.c", ("a", "d")),
    "attribute of a call": ("def f(x): return x(1).a.{}", ("b", "c")),
    "variable of an outer function": (
        """
        def f():
            a = 1
            b = 2
            def g():
                return {}
            return g
        """,
        ("a", "b"),
    ),
    "variable that is bound twice and one that came later": (
        """
        def f():
            a = 1
            b = 2
            a = 3
            c = 4
            return {}
        """,
        ("a", "c"),
    ),
    "which of two is the second name of an outer function": (
        """
        def f():
            a = b = 1
            def g():
                nonlocal a, b
                {} = 2
                {} = 3
                return g
        """,
        (("b", "c"), ("c", "b")),
    ),
    "second name of an outer function": (
        """
        def f():
            a = b = c = 1
            def g():
                nonlocal a, {}
                return g
        """,
        ("b", "c"),
    ),
    "what a second generator runs over": ("def f(x, y): return [a * b for a in x for b in {}]", ("y", "x")),
    "condition of a second generator": ("def f(x, y): return [a for a in x if a for b in y if {}]", ("b", "a")),
    "second name imported inside": ("def f():\n from other import b, {}\n return b", ("c", "d")),
    "default of a second argument": ("def f(a, b=1, *, c=2, d={}): return a", ("3", "4")),
    "default of a lambda": ("def f(a): return lambda b=1, c={}: b", ("2", "3")),
    "second decorator": ("@one\n@{}\ndef f(): return 1", ("two", "three")),
    "second base": ("class f(A, {}): pass", ("B", "C")),
    "keyword of a class": ("class f(A, metaclass={}): pass", ("B", "C")),
    "type of a field": ("class f(A):\n a: int = 1\n b: {} = 2", ("int", "float")),
    "kind of a loop": ("async def f(x):\n {} a in x: print(a)", ("for", "async for")),
    "kind of a comprehension": ("async def f(x): return [a {} a in x]", ("for", "async for")),
    "kind of a function": ("{} f(x): return 1", ("def", "async def")),
    "set or list": ("def f(x): return {}", ("{a for a in x}", "[a for a in x]")),
    "what an exception is": ("def f():\n try: pass\n except {} as e: print(e)", ("KeyError", "ValueError")),
    "which part of a mapping is taken": (
        """
        def f(x):
            match x:
                case {{"a": first, **rest}}:
                    return {}
        """,
        ("first", "rest"),
    ),
    "number or truth value": ("def f(): return {}", ("1", "True")),
    "number or text": ("def f(): return {}", ("1", "'1'")),
    "whole or not": ("def f(): return {}", ("1", "1.0")),
    "end of a loop": ("def f(x):\n for a in x:\n  print(a)\n{}print(x)", ("  ", " ")),
}


def filled(text, words):
    return text.format(*([words] * text.count("{}") if isinstance(words, str) else words))


@pytest.mark.parametrize(("text", "words"), SAME.values(), ids=SAME)
def test_another_name_for_the_same_variable_is_no_edit(text, words):
    one, other = (digest(filled(text, each)) for each in words)
    assert one == other


@pytest.mark.parametrize(("text", "words"), DIFFERENT.values(), ids=DIFFERENT)
def test_another_meaning_is_an_edit(text, words):
    name = "f" if " f(" in text else EFFECTS
    one, other = (digest(filled(text, each), name) for each in words)
    assert one != other


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("def f(x, y: {}): return x", True),
        ("def f(x, *, y: {} = 1): return x", True),
        ("def f(x):\n def g(y: {}): return y\n return g", False),
        ("def f(x) -> {}: return x", False),
        ("def f(x):\n y: {} = x\n return y", False),
    ],
)
def test_annotations_of_an_experiments_own_parameters_alone_count(text, counts):
    for module, are_read in (("pack.study.experiments.training", True), ("pack.study.theory", False)):
        one, other = (digest(text.format(kind), module=module) for kind in ("int", "float"))
        assert (one != other) is (counts and are_read)


def test_parameters_of_every_kind_are_no_definitions_of_the_module():
    bound = "\n".join(f"{name} = 1" for name in "abcde")
    source = read_source(f"{bound}\ndef f(a, /, b, *c, d, **e): return a, b, c, d, e\n", "pack.module")
    assert source.definitions["f"].names == []


def test_texts_that_name_something_of_the_package_count_where_names_are_read_at_run_time():
    text = "def f():\n return {}('x'), 'pack.base.found:found', 'sub.x', 'pack!', 'package', 'pack.a b', 'pack.last.z'"
    found = {call: read_source(text.format(call), "pack.sub.module").definitions["f"] for call in ("eval", "len")}
    assert found["eval"].imported == ["pack.base.found.found", "pack.last.z", "package"]
    assert found["len"].imported == []
