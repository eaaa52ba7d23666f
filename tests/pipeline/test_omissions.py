"""What mutants leave out or confuse: each node on its own, then parameters, statements and messages of a module."""

import ast

import pytest

from repdyn.pipeline.mutations import mutants, omissions


def of_expression(text):
    return _shown(omissions.omissions(ast.parse(text, mode="eval").body))


def of_statement(text):
    return _shown(omissions.omissions(ast.parse(text).body[0]))


def _shown(changes):
    return [(operator, ast.unparse(ast.fix_missing_locations(other))) for operator, other in changes]


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("[f(x) for x in xs]", [("several", "[f(x) for x in [*xs][:1]]")]),
        ("{x: y for x, y in p.items()}", [("several", "{x: y for x, y in [*p.items()][:1]}")]),
        (
            "any(x for y in ys for x in y)",  # the call itself leaves nothing out
            [],
        ),
        (
            "{x for y in ys if y for x in y if a if b}",
            [
                ("several", "{x for y in [*ys][:1] if y for x in y if a if b}"),
                ("filter", "{x for y in ys for x in y if a if b}"),
                ("several", "{x for y in ys if y for x in [*y][:1] if a if b}"),
                ("filter", "{x for y in ys if y for x in y if b}"),
                ("filter", "{x for y in ys if y for x in y if a}"),
            ],
        ),
        ("[x for x in itertools.count()]", []),
        ("[x for x in iter(read, '')]", []),
        ("a and b", [("operand", "b"), ("operand", "a")]),
        ("a or b or c", [("operand", "b or c"), ("operand", "a or c"), ("operand", "a or b")]),
        ("x[0]", [("end", "x[-1]")]),
        ("x[1]", []),
        ("x[-1]", []),
        ("x['0']", []),
        ("abs(x)", [("call", "x")]),
        ("np.abs(x)", [("call", "x")]),
        ("np.abs(x, out=y)", [("call", "x")]),
        ("x.copy()", [("call", "x")]),
        ("f(x).strip()", [("call", "f(x)")]),
        ("text.strip('a')", []),
        ("np.clip(x, 0, 1)", []),
        ("copy(x, y)", []),
        ("f(x)", []),
    ],
)
def test_what_an_expression_may_lack(text, changes):
    assert of_expression(text) == changes


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("for x in xs:\n    f(x)", [("several", "for x in [*xs][:1]:\n    f(x)")]),
        ("for x in count():\n    f(x)", []),
        ("if a:\n    raise E('a')", [("refusal", "pass")]),
        ("if a:\n    b = 1\n    return b", [("refusal", "pass")]),
        ("if a:\n    continue", [("refusal", "pass")]),
        ("if a:\n    break", [("refusal", "pass")]),
        ("if a:\n    b = 1", []),
        ("if a:\n    return 1\nelse:\n    b = 1", []),
        ("f(x)", [("step", "pass")]),
        ("'a docstring'", []),
        ("progress.step(2)", []),
    ],
)
def test_what_a_statement_may_lack(text, changes):
    assert of_statement(text) == changes


def test_a_parameter_stands_in_place_of_the_next_of_its_kind():
    text = """
def f(a: int, b: str, c: int, d, *, e: str = "a", g: int = 1):
    c = a + g
    return b + e + d

def h(a: int):
    return a
"""
    tree = ast.parse(text)
    found = [(site.id, change[0], change[1].id) for part in tree.body for site, change in omissions.exchanges(part)]
    assert sorted(found) == [
        ("a", "name", "c"),
        ("b", "name", "e"),
        ("e", "name", "b"),
        ("g", "name", "a"),
    ], "c is set but not read, d has no annotation, h has one parameter"


CODE = '''
def f(first: str, second: str, rows):
    """Doc."""
    check(rows)
    if not rows:
        raise ValueError(f"{rows[0]} of {first}")
    for row in rows:
        send(row)
'''


def test_a_module_is_changed_in_statements_messages_and_names(tmp_path):
    file = tmp_path / "code.py"
    file.write_text(CODE)
    found = [(one.line, one.operator, one.change) for one in mutants.mutants(file, formulas_only=False)]
    assert found == [
        (4, "step", "check(rows) -> pass"),
        (5, "refusal", "if not rows: -> pass"),
        (5, "condition", "not rows -> rows"),
        (6, "index", "rows[0] -> rows[1]"),
        (6, "end", "rows[0] -> rows[-1]"),
        (7, "several", "for row in rows: -> for row in [*rows][:1]:"),
        (8, "step", "send(row) -> pass"),
        (6, "name", "first -> second"),
    ]
    assert list(mutants.mutants(file)) == [], "formulas alone: none there"


def test_each_is_the_module_with_one_change(tmp_path):
    file = tmp_path / "code.py"
    file.write_text(CODE)
    whole = ast.unparse(ast.parse(CODE))
    for one in mutants.mutants(file, formulas_only=False):
        before, after = one.change.split(" -> ")
        if one.operator == "name":
            assert one.source == whole.replace("of {first}", "of {second}")
        elif after != "pass":
            assert one.source == whole.replace(before, after, 1)
        elif one.operator == "refusal":
            guard = "    if not rows:\n        raise ValueError(f'{rows[0]} of {first}')\n"
            assert one.source == whole.replace(guard, "    pass\n")
        else:
            assert one.source == whole.replace(before, "pass")
