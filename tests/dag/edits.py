"""The table of edits: what is edited, and which jobs must run again.

`python -m tests.dag.edits` writes docs/reruns.md; the test of the table holds the page to it.
"""

from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT
from tests.dag.declared import SMOKE, Declared, copy_sources, declared

STUDY = "src/repdyn/bn_decomposed"
PAGE = ROOT / "docs/reruns.md"
END = {"ledger", "manifest", "report"}
SHOWN = {"manifest", "report"}


@dataclass(frozen=True)
class Edit:
    """One occurrence of a text in a file replaced by another, and the jobs whose own members change by it."""

    says: str
    file: str
    old: str
    new: str
    changes: frozenset[str] | str  # names of jobs, or a word that all of them and no others hold


def edit(says, file, old, new, *changes, all_with=""):
    return Edit(says, file, old, new, all_with or frozenset(changes))


def bn(*names):
    return [f"bn_decomposed/{name}" for name in names]


EDITS = [
    edit("a comment", f"{STUDY}/theory/layers.py", "def as_batch", "# a remark\ndef as_batch"),
    edit("a docstring", f"{STUDY}/theory/layers.py", '"""', '"""Really: '),
    edit(
        "layout of a constant",
        f"{STUDY}/experiments/random_networks.py",
        'RESCALES = (None, "std", "rms")',
        'RESCALES = (\n    None, "std",\n    "rms")',
    ),
    edit(
        "a local variable more",
        f"{STUDY}/theory/layers.py",
        "    return np.maximum(out, 0.0) if relu else out",
        "    renamed = out\n    del out\n    return np.maximum(renamed, 0.0) if relu else renamed",
        *bn("ablation", "random_networks", "orthogonality_gap", "largest_norm", "odd_point", "gaussian_layers"),
    ),
    edit("the help text of a setting", f"{STUDY}/settings/networks.py", 'description="', 'description="That is: '),
    edit(
        "a new setting at its old value",
        f"{STUDY}/settings/networks.py",
        "class FixedPoint(Settings):",
        "class FixedPoint(Settings):\n    extra: int = addition(3, ge=1, description='unused so far')\n",
    ),
    edit(
        "the layer that random networks are made of",
        f"{STUDY}/theory/layers.py",
        "return np.maximum(out, 0.0) if relu else out",
        "return np.maximum(out, 1e-9) if relu else out",
        *bn("ablation", "random_networks", "orthogonality_gap", "largest_norm", "odd_point", "gaussian_layers"),
    ),
    edit(
        "one figure",
        f"{STUDY}/figures/random_networks.py",
        'panel.set_xlabel("layer")',
        'panel.set_xlabel("depth")',
        *bn("figures_random_networks"),
    ),
    edit("a table", f"{STUDY}/tables.py", '"effective rank"', '"eff. rank"', *bn("tables")),
    edit(
        "the job that decides claims",
        "src/repdyn/pipeline/run/decide.py",
        '{"study": study} | decision.ledger',
        '{"study": f"{study}"} | decision.ledger',
        all_with="/claims",
    ),
    edit("how datasets are written", "src/repdyn/base/datasets.py", '"complevel": 4', '"complevel": 5', all_with=""),
    edit(
        "the style of figures", "src/repdyn/base/figures.py", '"font.size": 8', '"font.size": 9', all_with="/figures_"
    ),
    edit("the threads of a job", "src/repdyn/base/devices.py", "= str(count)", "= str(count + 0)", all_with=""),
    edit(
        "a seed at the entry of simulations",
        "src/repdyn/pipeline/run/simulate.py",
        'Stream(member["seed"],',
        'Stream(member["seed"] + 1,',
        all_with="simulate",
    ),
    edit(
        "another function under an imported name",
        "src/repdyn/base/figures.py",
        "from scipy.special import stdtrit",
        "from scipy.special import stdtr as stdtrit",
        all_with="half_width",
    ),
    edit(
        "the paper's name",
        f"{STUDY}/settings/study.py",
        'PAPER = "',
        'PAPER = "The paper ',
        all_with="bn_decomposed data",
    ),
    edit("one value of the configuration", "config.yaml", "depth: 50 ", "depth: 40 ", *bn("random_networks")),
    edit("an accepted verdict", "workflow/expected_verdicts.yaml", "undecided_at: []", "undecided_at: [smoke]"),
    edit("a derivation", "docs/truncation_flow.md", "# ", "# On "),
]


def apply(folder: Path, one: Edit) -> str:
    """Makes an edit; the file as it was."""
    path = folder / one.file
    before = path.read_text(encoding="utf-8")
    assert one.old in before, f"{one.old!r} is not in {one.file}: the table of edits is out of date"
    after = before.replace(one.old, one.new, 1)
    if "addition(" in one.new:
        after = after.replace("import Many,", "import Many, addition,", 1)
    path.write_text(after, encoding="utf-8")
    return before


def effects(folder: Path) -> dict[str, tuple[set[str], set[str]]]:
    """Edit -> jobs whose members change, and all that run again because of them."""
    before, found = declared(folder, SMOKE), {}
    for one in EDITS:
        text = apply(folder, one)
        after: Declared = declared(folder, SMOKE)
        (folder / one.file).write_text(text, encoding="utf-8")
        changed = before.changed(after)
        found[one.says] = (changed, before.downstream(changed))
    return found


def page(found: dict[str, tuple[set[str], set[str]]], jobs: int) -> str:
    """The table as Markdown."""
    lines = [
        "# What runs again after which edit\n",
        "Made by the test that tries each edit on a copy (`python -m tests.dag.edits` writes this page), at smoke",
        f"scale, where a run has {jobs} jobs. A job runs again where the content of its job file changes: functions,",
        "code versions, settings, seed, inputs. Jobs that read what it makes follow; in each, members whose inputs",
        "came out equal are not computed again. Files of the checkout that only the ledger or the report reads make",
        "these two run.\n",
        "| edit | jobs that change | jobs that run again |",
        "| --- | --- | --- |",
    ]
    for says, (changed, again) in found.items():
        lines.append(f"| {says} | {_names(changed, jobs)} | {len(again)} |")
    return "\n".join(lines) + "\n"


def _names(jobs: set[str], every: int) -> str:
    if not jobs:
        return "none"
    if len(jobs) == every:
        return "all"
    return ", ".join(f"`{name}`" for name in sorted(jobs)) if len(jobs) <= 8 else f"{len(jobs)} jobs"


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        checkout = copy_sources(Path(name) / "checkout")
        PAGE.write_text(page(effects(checkout), len(declared(checkout, SMOKE).texts)), encoding="utf-8")
