"""What roots reach in a small package, listed whole: re-exports, stars, effects, settings, packages outside."""

import re
import subprocess
import sys

import pytest

from repdyn.base.definitions import EFFECTS
from repdyn.base.fingerprint import SOURCE, code_version, reached

FILES = {
    "__init__": "",
    "base/__init__": "from repdyn.base.low import deep as shallow\nfrom repdyn.base.mid import middle, unused\n",
    "base/low": """
def deep(): return under()
def under(): return LEVEL, EDGE, TOP
LEVEL, EDGE, TOP = 3, 4, 5
OTHER = 6
SPARE = 7
""",
    "base/mid": "import os\nfrom repdyn.base.low import OTHER as KNOWN\ndef middle(): return KNOWN\ndef unused(): 1\n",
    "base/stars": "from repdyn.base.rays import *\nfrom repdyn.base.veil import *\ndef light(): return ray(HEAP)\n",
    "base/rays": "def ray(x): return 6\nWIDE = 7\n",
    "base/veil": "from repdyn.base.sand import *\nfrom elsewhere import *\nfrom repdyn.base.grit import *\n",
    "base/sand": "HEAP = 9\nPILE = 8\n",
    "base/grit": "CHIP = 9\nFLAKE = 8\n",
    "base/act": "import sys\nprint()\ndef idle(): return 0\n",
    "base/choice": """
from repdyn.base import low as lows
try:
    from repdyn.base.fast import pick
except ImportError:
    from repdyn.base.slow import pick
""",
    "base/fast": "def pick(): return 13\n",
    "base/slow": "def pick(): return 14\n",
    "base/found": "from repdyn.base.low import under as below\ndef load(name): return __import__(name)\nSPARE = 10\n",
    "base/settings": """
class Run(Settings):
    def __len__(self): return 1
    def __private(self): return 2
    def tail__(self): return 3
    def width(self): return self.half()
    def half(self): return 4
    def spare(self): return 5
""",
    "study/__init__": "SHARED = 11\nSPARE = 12\n",
    "study/late": """
from repdyn.base import found, mid, shallow
from repdyn.base.choice import pick
from repdyn.study import SHARED
import repdyn.base.stars
def run(): return shallow.cache() + mid.middle.cache + repdyn.base.stars.light() + SHARED + pick()
def other(): return found.load("x")
def third():
    from repdyn.base import act
    return act.idle()
""",
    "study/sized": "from repdyn.base.settings import Run\ndef sized(run: Run): return run.width\n",
    "study/valued": "from repdyn.base.settings import Run\ndef valued(run, name): return getattr(run, name)\n",
    "study/whole": "from repdyn.base.choice import lows\ndef whole(): return sorted(lows)\n",
    "study/odd": "from repdyn.base import low\ndef odd(): return low.gone\n",
}
LOW = [("base.low", name) for name in ("EDGE", "LEVEL", "OTHER", "SPARE", "TOP", "deep", "under")]
DEEP = [("base.low", name) for name in ("EDGE", "LEVEL", "TOP", "under")]
SKY = [
    ("base.grit", "CHIP"), ("base.grit", "FLAKE"), ("base.rays", "WIDE"), ("base.rays", "ray"), ("base.sand", "HEAP"),
    ("base.sand", "PILE"), ("base.stars", "light"),
]  # fmt: skip
ALWAYS = [("base.act", EFFECTS), ("base.choice", EFFECTS)]
PICKED = [("base.fast", "pick"), ("base.slow", "pick")]
SIZED = [("base.settings", f"Run.{name}") for name in ("__len__", "half", "width")]
MEMBERS = [*SIZED, *(("base.settings", f"Run.{name}") for name in ("__private", "spare", "tail__"))]
FOUND = [("base.found", "SPARE"), ("base.found", "load")]
RUN = [*ALWAYS, *PICKED, *SKY, *DEEP, ("base.low", "OTHER"), ("base.low", "deep"), ("base.mid", "middle")]
REACHED = {
    "study.late:run": [*RUN, ("study", "SHARED"), ("study.late", "run")],
    "study.late:other": [*ALWAYS, *FOUND, *DEEP, ("study.late", "other")],
    "study.late:third": [*ALWAYS, ("base.act", "idle"), ("study.late", "third")],
    "study.sized:sized": [*SIZED, ("study.sized", "sized")],
    "study.valued:valued": [*MEMBERS, ("study.valued", "valued")],
    "study.whole:whole": [("base.choice", EFFECTS), *LOW, ("study.whole", "whole")],
    "study.odd:odd": [*LOW, ("study.odd", "odd")],
    "study": [
        *RUN, ("base.low", "SPARE"), ("base.act", "idle"), *FOUND, *MEMBERS, ("study", "SHARED"), ("study", "SPARE"),
        *(("study.late", name) for name in ("run", "other", "third")),
        *((f"study.{name}", name) for name in ("sized", "valued", "whole", "odd")),
    ],
}  # fmt: skip


def write(folder, files, package="repdyn"):
    for name, text in files.items():
        path = folder / package / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write(tmp_path_factory.mktemp("source"), FILES)


@pytest.mark.parametrize(("root", "wanted"), REACHED.items(), ids=REACHED)
def test_what_a_root_reaches(source, root, wanted):
    assert reached(f"repdyn.{root}", source=source) == sorted((f"repdyn.{module}", name) for module, name in wanted)


def test_several_roots_reach_what_each_of_them_does(source):
    roots = [f"repdyn.study.late:{name}" for name in ("third", "run", "other")]
    each = {place for root in roots for place in reached(root, source=source)}
    assert reached(*roots, source=source) == sorted(each)
    assert len({code_version(*roots[:count], source=source) for count in (1, 2, 3)}) == 3


def test_packages_outside_reach_each_other_and_this_one(source, tmp_path):
    mine = {
        "claims": "from yours.tools import aid\nfrom mine.gone import lost\nfrom repdyn.base.low import deep\n"
        "def holds(): return aid() + deep() + lost()\n",
        "more/__init__": "FURTHER = 1\nSPARE = 2\n",
    }
    write(tmp_path, mine, "mine folder")
    write(tmp_path, {"tools": "from mine.sub.more import FURTHER\ndef aid(): return FURTHER\n"}, "yours folder")
    outside = (("mine.sub", tmp_path / "mine folder"), ("yours", tmp_path / "yours folder"))
    assert reached("mine.sub.claims:holds", source=source, outside=outside) == [
        ("mine.sub.claims", "holds"),
        ("mine.sub.more", "FURTHER"),
        *((f"repdyn.{module}", name) for module, name in sorted([*DEEP, ("base.low", "deep")])),
        ("yours.tools", "aid"),
    ]


def test_the_version_does_not_depend_on_the_order_in_which_a_process_keeps_names(source):
    code = "import sys; from pathlib import Path; from repdyn.base.fingerprint import code_version as version\n"
    code += "print(version('repdyn.study', source=Path(sys.argv[1])))"
    versions = {
        subprocess.run(
            [sys.executable, "-c", code, str(source)], env={"PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }  # fmt: skip
    assert versions == {code_version("repdyn.study", source=source)}


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("repdyn.study.nowhere:run", "no module 'repdyn.study.nowhere' under {source}"),
        ("repdyn.study.late:walk", "no definition of 'walk' in repdyn.study.late"),
        (
            "repdyn.base:SPARE",
            "2 definitions of 'SPARE' in repdyn.base, repdyn.base.act, repdyn.base.choice, repdyn.base.fast, "
            "repdyn.base.found, repdyn.base.grit, repdyn.base.low, repdyn.base.mid, repdyn.base.rays, "
            "repdyn.base.sand, repdyn.base.settings, repdyn.base.slow, repdyn.base.stars, repdyn.base.veil",
        ),
    ],
)
def test_a_root_that_is_none_is_named_with_where_it_was_looked_for(source, root, message):
    with pytest.raises(ValueError, match=f"^{re.escape('code_version: ' + message.format(source=source))}$"):
        code_version(root, source=source)
