"""Listings: a definition with its decorators, a rule to its end, the rule behind a file."""

from tests.conftest import ROOT

from repdyn.pipeline.report import listings


def test_a_function_is_listed_from_its_first_decorator():
    found = listings.function("repdyn.truncation_flow.claims.section3_weight_flow:weight_flow_is_the_gradient")
    assert found.file == "src/repdyn/truncation_flow/claims/section3_weight_flow.py"
    lines = (ROOT / found.file).read_text().splitlines()
    assert found.text.splitlines()[0] == lines[found.line - 1] == "@claim("
    assert "def weight_flow_is_the_gradient(" in found.text
    assert found.text.count("def ") == 1


def test_what_is_not_there_is_no_listing():
    assert listings.function("repdyn.base.files:nothing") is None
    assert listings.function("repdyn.no_such_module:sha256") is None
    assert listings.function("") is None


def test_rules_are_listed_whole(tmp_path):
    file = tmp_path / "x.smk"
    one = 'rule one:\n    input:\n        "a",\n\n    shell:\n        "b"'
    two = 'rule two:\n    shell:\n        "c"'
    file.write_text(f'NAMES = ("a",)\n\n\n{one}\n\n\nX = 1\n\n\n{two}\n')
    found = listings.rules([file])
    assert {name: (rule.line, rule.text) for name, rule in found.items()} == {"one": (4, one), "two": (15, two)}


def test_every_rule_of_the_workflow_is_found():
    files = sorted((ROOT / "workflow" / "rules").glob("*.smk"))
    found = listings.rules(files)
    assert len(found) == sum(path.read_text().count("\nrule ") for path in files)
    assert all(("\n    shell:" in rule.text) or ("localrule" in rule.text) for rule in found.values())


def test_the_maker_of_a_file_is_found_through_wildcards():
    makers = {"train": ["x/data/training/{mode}.nc"], "draw": ["x/figures/a.svg"]}
    assert listings.maker("x/data/training/bn.nc", makers) == "train"
    assert listings.maker("x/figures/a.svg", makers) == "draw"
    assert listings.maker("x/figures/b.svg", makers) == ""
