"""Listings: a definition with its decorators."""

from tests.conftest import ROOT

from repdyn.pipeline.report import listings


def test_a_function_is_listed_from_its_first_decorator():
    listing = listings.function("repdyn.truncation_flow.claims.section3_weight_flow:weight_flow_is_the_gradient")
    assert listing.file == "src/repdyn/truncation_flow/claims/section3_weight_flow.py"
    lines = (ROOT / listing.file).read_text().splitlines()
    assert listing.text.splitlines()[0] == lines[listing.line - 1] == "@claim("
    assert "def weight_flow_is_the_gradient(" in listing.text
    assert listing.text.count("def ") == 1


def test_a_claim_without_a_function_is_listed_as_its_row():
    listing = listings.function("repdyn.truncation_flow.claims.section2_maps:derivative_of_tau")
    assert listing.text.startswith('derivative_of_tau = formula_claim(\n    "tf-tau-beta",\n')
    assert listing.text.endswith("\n)")


def test_a_study_of_another_package_is_listed_from_the_folder_that_holds_it(tmp_path, monkeypatch):
    """Among others, one of which has a name that begins alike."""
    file = tmp_path / "lib/labs/mine/claims/first.py"
    file.parent.mkdir(parents=True)
    text = ["A = 1", "", "@one", "@two(", "    3,", ")", "def rises(x):", "    return x", "", "def last(): ...", ""]
    file.write_text("\n".join(text))
    named = {"labs.min": tmp_path / "no", "labs.mine": tmp_path / "lib/labs/mine"}
    monkeypatch.setattr(listings.studies, "outside", lambda: tuple(named.items()))
    listing = listings.function("labs.mine.claims.first:rises")
    assert listing == listings.Listing("src/labs/mine/claims/first.py", 3, "\n".join(text[2:8]))
    assert listings.function("labs.mine.claims.first:last").line == 10
    assert listings.function("labs.mine.claims.first:A") is None
    assert listings.function("labs.min.claims.first:rises") is None


def test_what_is_not_there_is_no_listing():
    assert listings.function("repdyn.base.files:nothing") is None
    assert listings.function("repdyn.no_such_module:sha256") is None
    assert listings.function("") is None
