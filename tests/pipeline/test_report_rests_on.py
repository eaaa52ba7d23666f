"""Settings that a claim rests on: its page leads to the sections that made its datasets, and to no other."""

import json
import re
from types import SimpleNamespace

import pytest
import xarray as xr
from tests.pipeline.test_report import CLAIM, EMPTY, Page, make_run, make_source

from repdyn.pipeline.report import rests_on, settings_sources
from repdyn.pipeline.report.build import build
from repdyn.pipeline.report.contents import Contents

STUDY = "leaky_resnets"  # `chain_measures` reads `trained`
SECTIONS = {
    "measures": {"stage": 0.3},
    "trained": {"seeds": 4, "sizes": {"width": 8, "depth": [2, 3]}},
    "twin": {"seeds": 4, "sizes": {"width": 8, "depth": [2, 3]}},
    "descents": {"rate": 0.02, "width": 8},
    "train": {"pace": 0.7},
}
MADE = {  # dataset -> experiment and the settings that it recorded, by parameter
    "chain_measures": ("chain_measures", {"settings": {"stage": 0.3}}),
    "trained/1": ("trained", {"settings": {"seeds": 4, "sizes": {"width": 8, "depth": [2, 3]}}}),
    "trained/2": ("trained", {"settings": {"seeds": 4, "sizes": {"width": 8, "depth": [2, 3]}}}),
    "descents": ("descents", {"settings": {"rate": 0.02}}),
    "step_schemes": ("step_schemes", {"size": {"width": 8, "depth": [2, 3]}}),
    "train_only": ("train", {"settings": {"pace": 0.7}}),
    "elsewhere": ("elsewhere", {"settings": {"rate": 0.5}, "none": {}}),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The contents of a run without figures, and the settings that its page lists."""
    root = tmp_path_factory.mktemp("results")
    content = {"data/images.nc": ""}
    for name, (experiment, settings) in MADE.items():
        file = f"{STUDY}/data/{name}.nc"
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        about = {"title": "", "code_version": "", "paper": "", "experiment": f"experiments.x:{experiment}"}
        xr.Dataset(attrs=about | {"settings": json.dumps({"seed": 1, "settings": settings})}).to_netcdf(root / file)
        content[file] = ""
    configuration = {"run": {"seed": 1}, "data": {"mnist_folder": "x", "source": "digits"}, STUDY: SECTIONS}
    contents = Contents([], {}, {"configuration": configuration, "content": content}, [], {}, root)
    return contents, settings_sources.settings({key: configuration[key] for key in (STUDY, "data")}, {})


@pytest.mark.parametrize(
    ("datasets", "wanted"),
    [
        ("", []),
        ("descents", [("descents", "rate")]),
        ("trained", [("trained", "seeds")]),  # two blocks of one experiment, and a section with equal settings
        ("chain_measures", [("measures", "stage"), ("trained", "seeds")]),  # that which it measures, too
        ("descents trained", [("descents", "rate"), ("trained", "seeds")]),
        ("step_schemes", [("trained.sizes", "width")]),
        ("step_schemes trained", [("trained", "seeds")]),
        ("train_only trained", [("train", "pace"), ("trained", "seeds")]),  # one name begins the other
        ("elsewhere", []),  # settings that the configuration no longer has
    ],
)
def test_sections_are_those_that_made_the_datasets_of_a_claim(run, datasets, wanted):
    contents, settings = run
    keys = [(f"{STUDY}.{section}", f"{STUDY}.{section}.{first}") for section, first in wanted]
    assert rests_on.sections({"study": STUDY, "datasets": datasets}, contents, settings) == keys


def test_images_lead_to_the_settings_of_data_that_the_page_lists(run):
    contents, settings = run
    assert rests_on.sections({"study": STUDY, "datasets": "images"}, contents, settings) == [("data", "data.source")]


def test_a_section_of_which_the_page_lists_no_setting_is_none(run):
    contents, settings = run
    without = [setting for setting in settings if not setting.key.startswith(("data.", f"{STUDY}.trained."))]
    claim = {"study": STUDY, "datasets": "images trained descents"}
    assert rests_on.sections(claim, contents, without) == [(f"{STUDY}.descents", f"{STUDY}.descents.rate")]


def test_what_datasets_were_made_from_is_followed_to_the_end_and_told_once(monkeypatch):
    reads = {"a": ("c", "b"), "b": ("d", "images"), "c": ("d",), "d": (), "e": ("f", "b"), "f": ("e",)}
    experiments = {name: SimpleNamespace(reads=own) for name, own in reads.items()}
    monkeypatch.setattr(rests_on, "read_study", {STUDY: SimpleNamespace(experiments=experiments)}.get)
    assert rests_on._behind(STUDY, ["a"]) == ["a", "c", "b", "d", "images"]
    assert rests_on._behind(STUDY, ["e", "d", "e"]) == ["e", "d", "f", "b", "images"]
    assert rests_on._behind("undeclared", ["b", "a", "b"]) == ["b", "a"]


def test_the_page_of_a_claim_leads_to_its_settings_and_each_setting_can_be_led_to(tmp_path):
    root = tmp_path / "mine"
    claims = [CLAIM | {"datasets": "loss"}, CLAIM | EMPTY | {"id": "x-exists"}]
    files = make_run(root, claims)
    manifest = json.loads((root / "manifest.json").read_text(encoding="utf-8"))
    manifest["configuration"]["x_study"] = {"size": {"width": 7, "depth": [2, 3]}, "other": {"width": 8}}
    (root / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    data = xr.load_dataset(root / "x_study/data/loss.nc")
    data.attrs["settings"] = json.dumps({"settings": {"settings": {"width": 7}}})
    data.to_netcdf(root / "x_study/data/loss.nc")
    build(root, files, root / "report", make_source(tmp_path / "checkout"))
    led = re.compile(r'<a href="\.\./settings/x_study\.html#([^"]+)"><code>([^<]+)</code>')
    claim, untested = ((root / f"report/claims/{id}.html").read_text(encoding="utf-8") for id in ("x-thm1", "x-exists"))
    assert led.findall(claim) == [("x_study.size.width", "size")]
    assert led.findall(untested) == []
    rows = Page((root / "report/settings/x_study.html").read_text(encoding="utf-8")).of("tr")
    ids = [row["id"] for row in rows if "id" in row]
    assert ids == ["x_study.size.width", "x_study.size.depth", "x_study.other.width", "data.source"]
