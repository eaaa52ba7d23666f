"""What a frame of a network that trains costs, on a clock of the test: requests, records, drawings, elements."""

import pytest
from tests.pipeline.conftest import EXPLORERS, page_of_scripts
from tests.pipeline.test_report_training import BOX, wait

pytestmark = pytest.mark.slow

# Time, frames and timers are moved by hand; `turn` passes one frame, `answer` lets what is due arrive.
CLOCK = """
window.clock = { now: 0, step: 0, frames: [], timers: [], sent: [], draws: 0, looks: 0 };
performance.now = () => { clock.now += clock.step; return clock.now; };
window.requestAnimationFrame = act => { clock.frames.push(act); return act; };
window.cancelAnimationFrame = act => { clock.frames = clock.frames.filter(one => one !== act); };
window.setTimeout = act => { clock.timers.push(act); return act; };
window.clearTimeout = act => { clock.timers = clock.timers.filter(one => one !== act); };
window.turn = ms => { clock.now += ms; clock.frames.splice(0).forEach(act => act(clock.now)); };
window.answer = () => { clock.timers.splice(0).forEach(act => act()); };
"""
COUNTED = """
{ const root = document.body.appendChild(document.createElement("div"));
  function* records() { for (;;) { clock.looks += 1; yield { k: clock.looks }; } }
  const engine = () => () => ({ *prepare() { return {}; }, records });
  const build = () => ({ clear() {}, draw() { clock.draws += 1; } });
  const wanted = { name: "counted", defaults: {}, controls: [], presets: [], says: () => "" };
  window.view = repdyn.stage(root, { ...wanted, engine, build, worker: false });
  const send = view.link.send;
  view.link.send = message => { clock.sent.push(message); send(message); };
  answer(); answer(); turn(0);
  Object.assign(clock, { sent: [], draws: 0, looks: 0 }); }
"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    return page_of_scripts(tmp_path_factory.mktemp("frames"))


@pytest.fixture
def counted(page):
    """A network whose records cost nothing, on the clock of the test, playing at 240 looks a second."""
    page.ask(f"{{ {CLOCK} }}")
    page.ask(COUNTED)
    page.ask("view.state.speed = 240; view.start()")
    return page


def test_a_frame_asks_once_for_what_is_due_and_draws_once(counted):
    """One second of frames of 10 ms, each answered before the next: 240 records, but for rounding."""
    requests = counted.ask(
        "(() => { const seen = []; for (let k = 0; k < 100; k += 1) {"
        " const before = clock.sent.length, drawn = clock.draws; turn(10); answer();"
        " seen.push([clock.sent.length - before, clock.draws - drawn]); } return seen; })()"
    )
    assert max(sent for sent, _ in requests) == max(draws for _, draws in requests) == 1
    sizes = counted.ask("clock.sent.map(message => message.advance)")
    assert max(sizes) == 3
    assert 238 <= sum(sizes) <= 240
    assert counted.ask("view.records.length") == sum(sizes)


def test_a_slow_network_is_not_asked_again(counted):
    """While an answer is out nothing is asked or drawn, and what was missed is not asked for afterwards."""
    counted.ask("turn(10); for (let k = 0; k < 50; k += 1) turn(10);")
    assert counted.ask("[clock.sent.length, clock.draws]") == [1, 0]
    counted.ask("answer(); turn(10);")
    assert counted.ask("[clock.sent.length, clock.draws]") == [2, 1]
    assert counted.ask("clock.sent.at(-1).advance") <= 3


def test_answers_of_one_frame_are_drawn_once(counted):
    counted.ask("view.pause(); for (let k = 0; k < 3; k += 1) { view.seek(view.records.length + 1); answer(); }")
    assert counted.ask("[clock.sent.length, view.records.length, clock.draws]") == [3, 3, 0]
    counted.ask("turn(10)")
    assert counted.ask("clock.draws") == 1


def test_records_are_made_in_slices_of_ten_milliseconds(counted):
    """A look at the clock takes 3 ms here, one per record: a slice has four, and frames come between slices."""
    counted.ask("view.pause(); Object.assign(clock, { looks: 0, step: 3 }); view.seek(view.records.length + 20);")
    slices = counted.ask(
        "(() => { const seen = [clock.looks]; for (let k = 0; k < 8; k += 1) {"
        " const before = clock.looks; answer(); seen.push(clock.looks - before); } return seen; })()"
    )
    assert max(slices) <= 4
    assert sum(slices) == 20


LETTERS = "(root => [...root.querySelectorAll('path')].reduce((sum, path) => sum + path.getAttribute('d').length, 0))"
MOST_CHANGES = 200  # attributes and words that one drawing sets
MOST_LETTERS = 100_000  # of the paths of an explorer at the end of its run
COST = """
new Promise(done => {
  let changes = 0;
  const root = document.querySelector("[data-theory]");
  const watch = new MutationObserver(list => { changes += list.length; });
  watch.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  root.training.seek(root.training.records.length + 1);
  const drawn = root.training.draws;
  (function look() {
    if (root.training.draws === drawn) { setTimeout(look, 5); return; }
    done([changes + watch.takeRecords().length, root.querySelectorAll("*").length]);
  })();
})
"""


@pytest.mark.parametrize("study", EXPLORERS)
def test_a_frame_changes_as_much_late_as_early(page, study):
    """Elements and changes of one drawing do not grow with the run; the letters of its lines are bounded."""
    page.ask(
        f"{{ const main = document.querySelector('main'); main.innerHTML = '<div data-theory=\"{study}\"></div>';"
        " repdyn.setup.forEach(set => set(main)); }"
    )
    wait(page, "view.prepared")
    page.ask(f"{BOX}.training.seek(4)")
    wait(page, "view.records.length === 4")
    early = page.ask(COST)
    page.ask(f"{BOX}.training.seek(90)")
    wait(page, "view.records.length === 90")
    late = page.ask(COST)
    assert late[:2] == early[:2]
    assert late[0] <= MOST_CHANGES
    page.ask(f"{BOX}.training.seek(1e6)")
    wait(page, "view.finished")
    page.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.ask(f"{LETTERS}(document)") <= MOST_LETTERS
