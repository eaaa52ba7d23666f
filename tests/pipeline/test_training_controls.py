"""Reset and Next seed of every network that trains: the same run from its beginning, and another one."""

import shutil

import pytest
from tests.pipeline.conftest import SCRIPTS
from tests.pipeline.test_report_training import press, view, wait

from repdyn.base.web import STYLE
from repdyn.pipeline import studies
from repdyn.pipeline.report.build import ASSETS

pytestmark = pytest.mark.slow
EXPLORERS = sorted(studies.files(studies.EXPLORER))
LOOKS = 4


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """A page that holds no explorer yet and all their scripts."""
    folder = tmp_path_factory.mktemp("controls")
    for path in (*ASSETS.iterdir(), STYLE, *studies.files(studies.EXPLORER).values()):
        shutil.copy(path, folder / (path.name if path.parent in (ASSETS, STYLE.parent) else f"{path.parent.name}.js"))
    scripts = (*SCRIPTS, *(f"{study}.js" for study in EXPLORERS))
    head = "".join(f'<script src="{name}" defer></script>' for name in scripts)
    text = f'<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">{head}<main></main>'
    (folder / "page.html").write_text(text, encoding="utf-8")
    return folder / "page.html"


def looked(page):
    """The first records of the run that is shown."""
    wait(page, "view.prepared")
    page.ask(f"document.querySelector('[data-theory]').training.seek({LOOKS})")
    wait(page, f"view.records.length === {LOOKS}")
    page.ask("new Promise(done => setTimeout(done, 100))")
    return view(page, "JSON.stringify(view.records, (_, one) => (ArrayBuffer.isView(one) ? [...one] : one))")


@pytest.mark.parametrize("study", EXPLORERS)
def test_reset_begins_the_same_run_again_and_the_next_seed_another(page, study):
    page.ask(
        f"{{ const main = document.querySelector('main'); main.innerHTML = '<div data-theory=\"{study}\"></div>';"
        " repdyn.setup.forEach(set => set(main)); }"
    )
    first, seed = looked(page), view(page, "view.state.seed")
    assert f"at={LOOKS}" in page.ask("location.hash")
    press(page, "Reset")
    assert view(page, "[view.records.length, view.state.at, view.state.seed, view.playing]") == [0, 0, seed, False]
    assert "at=" not in page.ask("location.hash")
    assert looked(page) == first
    press(page, "Next seed")
    assert view(page, "[view.records.length, view.state.at, view.state.seed]") == [0, 0, seed + 1]
    assert f"seed={seed + 1}" in page.ask("location.hash")
    assert page.ask("document.querySelector('.keys span').textContent") == f"seed {seed + 1}"
    assert looked(page) != first
    assert page.complaints == []
