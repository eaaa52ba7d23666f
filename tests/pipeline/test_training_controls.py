"""Reset and Next seed of every network that trains: the same run from its beginning, and another one."""

import pytest
from tests.pipeline.conftest import EXPLORERS, page_of_scripts
from tests.pipeline.test_report_training import press, view, wait

pytestmark = pytest.mark.slow
LOOKS = 4


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    return page_of_scripts(tmp_path_factory.mktemp("controls"))


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
