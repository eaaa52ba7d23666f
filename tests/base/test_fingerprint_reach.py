"""What roots reach in a small package, listed whole: re-exports, stars, effects, settings, packages outside."""

import re

import pytest

from repdyn.base.definitions import EFFECTS
from repdyn.base.fingerprint import code_version, reached

FILES = {
    "__init__": "",
    "base/__init__": "from repdyn.base.low import deep as shallow\nfrom repdyn.base.mid import middle, unused\n",
    "base/low": "def deep(): return under()\ndef under(): return LEVEL\nLEVEL = 3\nOTHER = 4\nSPARE = 5\n",
    "base/mid": "import os\nfrom repdyn.base.low import OTHER as KNOWN\ndef middle(): return KNOWN\ndef unused(): 1\n",
    "base/stars": "from repdyn.base.rays import *\nfrom repdyn.base.dust import *\ndef light(): return ray(grain())\n",
    "base/rays": "def ray(): return 6\nWIDE = 7\n",
    "base/dust": "from repdyn.base.sand import *\nfrom elsewhere import *\ndef grain(): return 8\n",
    "base/sand": "HEAP = 9\n",
    "base/act": "import sys\nprint()\ndef idle(): return 0\n",
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
from repdyn.study import SHARED
import repdyn.base.stars
def run(): return shallow() + mid.middle() + repdyn.base.stars.light() + SHARED
def other(): return found.load("x")
def third():
    from repdyn.base import act
    return act.idle()
""",
    "study/sized": "from repdyn.base.settings import Run\ndef sized(run: Run): return run.width\n",
    "study/valued": "from repdyn.base.settings import Run\ndef valued(run, name): return getattr(run, name)\n",
    "study/whole": "from repdyn.base import low\ndef whole(): return sorted(low)\n",
}
RUN = [
    ("base.act", EFFECTS), ("base.dust", "grain"), ("base.low", "LEVEL"), ("base.low", "OTHER"), ("base.low", "deep"),
    ("base.low", "under"), ("base.mid", "middle"), ("base.rays", "WIDE"), ("base.rays", "ray"), ("base.sand", "HEAP"),
    ("base.stars", "light"), ("study", "SHARED"), ("study.late", "run"),
]  # fmt: skip
OTHER = [
    ("base.act", EFFECTS), ("base.found", "SPARE"), ("base.found", "load"), ("base.low", "LEVEL"),
    ("base.low", "under"), ("study.late", "other"),
]  # fmt: skip
REACHED = {
    "study.late:run": RUN,
    "study.late:other": OTHER,
    "study.late:third": [("base.act", EFFECTS), ("base.act", "idle"), ("study.late", "third")],
    "study.sized:sized": [
        ("base.settings", "Run.__len__"), ("base.settings", "Run.half"), ("base.settings", "Run.width"),
        ("study.sized", "sized"),
    ],
    "study.valued:valued": [
        *(("base.settings", f"Run.{name}") for name in ("__len__", "__private", "half", "spare", "tail__", "width")),
        ("study.valued", "valued"),
    ],
    "study.whole:whole": [
        *(("base.low", name) for name in ("LEVEL", "OTHER", "SPARE", "deep", "under")), ("study.whole", "whole"),
    ],
    "study": [
        ("base.act", EFFECTS), ("base.act", "idle"), ("base.dust", "grain"), ("base.found", "SPARE"),
        ("base.found", "load"), *(("base.low", name) for name in ("LEVEL", "OTHER", "SPARE", "deep", "under")),
        ("base.mid", "middle"), ("base.rays", "WIDE"), ("base.rays", "ray"), ("base.sand", "HEAP"),
        *(("base.settings", f"Run.{name}") for name in ("__len__", "__private", "half", "spare", "tail__", "width")),
        ("base.stars", "light"), ("study", "SHARED"), ("study", "SPARE"), ("study.late", "other"),
        ("study.late", "run"), ("study.late", "third"), ("study.sized", "sized"), ("study.valued", "valued"),
        ("study.whole", "whole"),
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
    assert reached(f"repdyn.{root}", source=source) == [(f"repdyn.{module}", name) for module, name in wanted]


def test_several_roots_reach_what_each_of_them_does(source):
    roots = [f"repdyn.study.late:{name}" for name in ("third", "run", "other")]
    each = {place for root in roots for place in reached(root, source=source)}
    assert reached(*roots, source=source) == sorted(each)
    assert len({code_version(*roots[:count], source=source) for count in (1, 2, 3)}) == 3


def test_packages_outside_reach_each_other_and_this_one(source, tmp_path):
    mine = {
        "claims": "from yours.tools import aid\nfrom repdyn.base.low import deep\ndef holds(): return aid() + deep()\n",
        "more/__init__": "FURTHER = 1\nSPARE = 2\n",
    }
    write(tmp_path, mine, "mine folder")
    write(tmp_path, {"tools": "from mine.sub.more import FURTHER\ndef aid(): return FURTHER\n"}, "yours folder")
    outside = (("mine.sub", tmp_path / "mine folder"), ("yours", tmp_path / "yours folder"))
    assert reached("mine.sub.claims:holds", source=source, outside=outside) == [
        ("mine.sub.claims", "holds"), ("mine.sub.more", "FURTHER"), ("repdyn.base.low", "LEVEL"),
        ("repdyn.base.low", "deep"), ("repdyn.base.low", "under"), ("yours.tools", "aid"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("repdyn.study.nowhere:run", "no module 'repdyn.study.nowhere' under {source}"),
        ("repdyn.study.late:walk", "no definition of 'walk' in repdyn.study.late"),
        (
            "repdyn.base:SPARE",
            "2 definitions of 'SPARE' in repdyn.base, repdyn.base.act, repdyn.base.dust, repdyn.base.found, "
            "repdyn.base.low, repdyn.base.mid, repdyn.base.rays, repdyn.base.sand, repdyn.base.settings, "
            "repdyn.base.stars",
        ),
    ],
)
def test_a_root_that_is_none_is_named_with_where_it_was_looked_for(source, root, message):
    with pytest.raises(ValueError, match=f"^{re.escape('code_version: ' + message.format(source=source))}$"):
        code_version(root, source=source)
