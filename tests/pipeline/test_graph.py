"""The graph: inputs and outputs of functions, from signatures only."""

from pathlib import Path

import pytest

from repdyn.base.claims import claims_of
from repdyn.base.errors import RepdynError
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.execute.loading import load_modules
from repdyn.pipeline.versions.fingerprint import reached

FILES = {
    "settings.py": 'PAPER = "A paper"\n',
    "experiments/loss.py": '''"""Loss."""
def loss(settings: Loss, stream: Stream) -> xr.Dataset:
    """The loss over epochs."""
def slopes(settings: Loss, loss: xr.Dataset, runs: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Its slopes."""
def _hidden(loss: xr.Dataset) -> xr.Dataset: ...
def number(loss: xr.Dataset) -> float: ...
''',
    "figures.py": '''
@figure(title="Slopes")
def late(slopes: xr.Dataset) -> Figure:
    """Slopes."""
@figure(title="Loss")
def early(loss: xr.Dataset, *, width: float = 1) -> Figure:
    """Loss."""
def helper(loss: xr.Dataset) -> Figure: ...
ORDER = ("early",)
''',
    "claims/main.py": '''
SHARED = {"where": "Theorem 1"}
@claim("x-falls")
def falls(loss: xr.Dataset) -> Verdict:
    """Falls."""
@claim("x-both", **SHARED)
def both(loss: xr.Dataset, slopes: xr.Dataset) -> Verdict: ...
@claim("x-named")
def named(loss) -> Verdict: ...
@claim("x-none", where="Remark")
def none() -> Verdict: ...
''',
}


@pytest.fixture
def toy(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "repdyn" / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_experiments_are_found_by_type_figures_by_decorator_claims_by_data(toy):
    deeper = toy / "repdyn/toy/experiments/large/rates.py"
    deeper.parent.mkdir()
    deeper.write_text("def rates(loss: xr.Dataset) -> xr.Dataset: ...\n")
    Path(toy, "repdyn/toy/claims/rows.py").write_text(ROW.replace("{data}", '"slopes"'))
    study = read_study("toy", toy)
    assert {name: (function.path, function.reads) for name, function in study.experiments.items()} == {
        "loss": ("experiments.loss:loss", ()),
        "slopes": ("experiments.loss:slopes", ("loss", "runs")),
        "rates": ("experiments.large.rates:rates", ("loss",)),
    }
    assert list(study.figures) == ["early", "late"]  # the paper's order, then the rest
    assert (study.tables, list(study.figures_by_module())) == ({}, ["figures"])
    reads = {"x-falls": ("loss",), "x-both": ("loss", "slopes"), "x-named": ("loss",), "x-none": ()}
    assert {id: check.reads for id, check in study.claims.items()} == reads | {"x-row": ("slopes",)}
    assert study.claims["x-row"].root == "repdyn.toy.claims.rows:falls"
    assert study.claims_of("slopes") == ["x-both", "x-row"]


ROW = """
falls = formula_claim("x-row", where="eq. (1)", states="S.", audit=({data}, equations.SLOPE), control="", decided="")
"""


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("experiments/again.py", "def loss() -> xr.Dataset: ...\n", r"loss.*experiments\.again"),
        (
            "figures.py",
            'ORDER = ("one", "b", "two", "a", "c")\n@figure()\ndef two(): ...\n@figure()\ndef one(): ...\n',
            "toy.*b, a, c",
        ),
        ("claims/rows.py", ROW.replace("{data}", "DATA"), r"toy\.claims\.rows.*x-row"),
    ],
)
def test_contradictory_declarations_are_rejected(toy, file, text, message):
    Path(toy, "repdyn/toy", file).write_text(text)
    with pytest.raises(RepdynError, match=message):
        read_study("toy", toy)
    with pytest.raises(RepdynError, match="'other'"):
        read_study("other", toy)


def test_claims_parsed_from_source_equal_the_declared_ones():
    differing = []
    for study in STUDIES:
        if not read_study(study).claims:
            continue
        declared = {claim.id: claim.data for claim in claims_of(*load_modules(study, "claims"))}
        read = {id: check.reads for id, check in read_study(study).claims.items()}
        differing += [(study, id) for id in declared | read if declared.get(id) != read.get(id)]
    assert differing == []


def test_formula_claims_have_separate_code_versions():
    """A formula claim depends on its equation's constant, but not on other claims or equations."""
    reach = {name for _, name in reached("repdyn.truncation_flow.claims.section2_maps:derivative_of_tau")}
    assert {"derivative_of_tau", "BIAS_DERIVATIVE", "EXACT", "formula_claim"} <= reach
    assert not {"tau_is_affine", "AFFINE_FORM"} & reach


def test_every_dataset_is_used_and_every_used_dataset_exists():
    wrong = []
    for name in STUDIES:
        study = read_study(name)
        readers = [f for kind in (study.experiments, study.figures, study.tables, study.claims) for f in kind.values()]
        read = {dataset for reader in readers for dataset in reader.reads}
        wrong += [f"{name}: nobody reads {dataset}" for dataset in set(study.experiments) - read]
        wrong += [f"{name}: nothing makes {dataset}" for dataset in read - set(study.experiments) - {"images"}]
    assert wrong == []
