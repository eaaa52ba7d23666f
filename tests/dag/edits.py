"""The table of edits: what is edited, and which members of jobs change by it.

Expectations are written here as data, derived from the dependencies by hand, not by the program.
`tests/dag/test_reruns.py` tries each edit on a copy; `python -m tests.dag.edits` does the same and writes
the table of docs/reruns.md from what it finds.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT, SMOKE
from tests.dag.declared import Declared, copy_sources, declared

PAGE = ROOT / "docs/reruns.md"
STUDY = "src/repdyn/bn_decomposed"
LAYERS = f"{STUDY}/theory/layers.py"
COMPONENTS = """    centered = Z - Z.mean(axis=1, keepdims=True)
    out = centered if recenter else Z
    if rescale is not None:
        out = _rescaled(out, centered, rounding, recenter, rescale)
    return np.maximum(out, 0.0) if relu else out
"""
VERDICTS = ("ledger", "manifest", "report")
HEADING = "| edit | what changes | jobs that run |\n| --- | --- | --- |\n"


@dataclass(frozen=True)
class Edit:
    """An edit, the tasks that it changes, and the dependent jobs.

    Attributes:
        says: what is edited, in words.
        replaced: file, text in it, replacement (of its first occurrence); several if they belong together.
        changes: tasks as `job:task`; `job` for all of a job, `kind|job` for jobs of one kind, with wildcards.
        then: further jobs that run, with wildcards.
    """

    says: str
    replaced: tuple[tuple[str, str, str], ...]
    changes: tuple[str, ...] = ()
    then: tuple[str, ...] = ()


def edit(says, file, old, new, *changes, then=()):
    return Edit(says, ((file, old, new),), changes, tuple(then))


def bn(*names):
    return tuple(f"bn_decomposed/{name}" for name in names)


OF_LAYERS = bn(
    *("ablation", "random_networks", "orthogonality_gap", "largest_norm", "odd_point", "gaussian_layers:activity")
)
READ_LAYERS = (*bn("figures_random_networks", "figures_gaussian_layers", "tables", "claims"), *VERDICTS)

EDITS = [
    edit("a comment", LAYERS, "def as_batch", "# a remark\ndef as_batch"),
    edit("a docstring", LAYERS, '"""Check a batch', '"""Really check a batch'),
    edit("a renamed local variable", LAYERS, COMPONENTS, COMPONENTS.replace("out", "rows")),
    edit(
        "a formula: the layer that random networks are made of",
        *(LAYERS, "return np.maximum(out, 0.0) if relu else out", "return np.maximum(out, 1e-9) if relu else out"),
        *OF_LAYERS,
        then=READ_LAYERS,
    ),
    edit(
        "another function under an imported name, `stdtr as stdtrit` (error bars)",
        *("src/repdyn/plotting/figures.py", "import stdtrit", "import stdtr as stdtrit"),
        *("across_papers/tables:four_networks", "bn_decomposed/figures_random_networks:fig5_layer_angles"),
        *(
            "bn_mean_field/figures_batch_statistics:batches_and_eps",
            "bn_mean_field/figures_particle_limit:mean_field_*",
        ),
        *("leaky_resnets/figures_distance:distance_*", "leaky_resnets/figures_schemes:fig2a_*"),
        *("leaky_resnets/figures_trained:fig3_bounded", "universality/figures_digits:n4_correlations"),
        "universality/figures_digits:fig14_taylor",
        then=("manifest", "report"),
    ),
    edit(
        "two imported names exchanged",
        f"{STUDY}/experiments/gaussian_layers.py",
        "import expected_gram_fixed_point, odd_fixed_point,",
        "import odd_fixed_point as expected_gram_fixed_point, expected_gram_fixed_point as odd_fixed_point,",
        "bn_decomposed/gaussian_layers:contraction",
        then=(*bn("figures_gaussian_layers", "figures_random_networks", "tables", "claims"), *VERDICTS),
    ),
    edit(
        "a constant that a comprehension runs over",
        *(f"{STUDY}/experiments/odd_point.py", '"above_half": 0.5', '"above_half": 0.6'),
        "bn_decomposed/gaussian_layers:activity",
        then=(*bn("figures_gaussian_layers", "figures_random_networks", "tables", "claims"), *VERDICTS),
    ),
    edit(
        "an effect in an `__init__`",
        *("src/repdyn/truncation_flow/theory/__init__.py", "", "import numpy\n\nnumpy.seterr(all='raise')\n"),
        *("simulate|truncation_flow/*", "truncation_flow/claims"),
        then=(*(f"truncation_flow/{name}" for name in ("figures_*", "tables")), *VERDICTS),
    ),
    edit("the threads of a job", "src/repdyn/base/devices.py", "= str(count)", "= str(count + 0)", "*"),
    edit(
        "the seed at the entry of simulations",
        *("src/repdyn/pipeline/run/kinds/simulate.py", 'Stream(member["seed"],', 'Stream(member["seed"] + 1,'),
        "simulate|*",
        then=("draw|*", "tabulate|*", "decide|*", *VERDICTS),
    ),
    edit(
        "the command line in front of a job",
        *("src/repdyn/__main__.py", "words = list(sys.argv[1:]", "words = list(sys.argv[1:][:]"),
    ),
    edit(
        "one figure",
        *(f"{STUDY}/figures/random_networks.py", 'panel.set_xlabel("layer")', 'panel.set_xlabel("depth")'),
        *("bn_decomposed/figures_random_networks:orthogonality_gap", "report"),
        then=("manifest",),
    ),
    edit(
        "a table",
        *(f"{STUDY}/tables.py", '"effective rank"', '"eff. rank"', "bn_decomposed/tables:ablation", "report"),
        then=("manifest",),
    ),
    edit(
        "a claim's words",
        *(f"{STUDY}/claims/full_rank.py", "is positive.", "is above zero.", "bn_decomposed/claims", "report"),
        then=("ledger", "manifest"),
    ),
    edit("the help text of a setting", f"{STUDY}/settings/networks.py", 'description="', 'description="That is: '),
    Edit(
        "a new setting at its old value",
        (
            (f"{STUDY}/settings/networks.py", "EACH, Many,", "EACH, Many, addition,"),
            (
                f"{STUDY}/settings/networks.py",
                "class FixedPoint(Settings):",
                "class FixedPoint(Settings):\n    extra: int = addition(3, ge=1, description='new')\n",
            ),
        ),
    ),
    Edit(
        "a new setting at another value",
        (
            (f"{STUDY}/settings/networks.py", "EACH, Many,", "EACH, Many, addition,"),
            (
                f"{STUDY}/settings/networks.py",
                "class FixedPoint(Settings):",
                "class FixedPoint(Settings):\n    extra: int = addition(3, ge=1, description='new')\n",
            ),
            (f"{STUDY}/values/smoke.yaml", "fixed_point:\n", "fixed_point:\n  extra: 4\n"),
        ),
        ("bn_decomposed/gaussian_layers:fixed_point", "manifest"),
        (*bn("figures_gaussian_layers", "figures_random_networks", "tables", "claims"), "ledger", "report"),
    ),
    edit(
        "one value of the configuration",
        *(
            f"{STUDY}/values/default.yaml",
            "depth: 50 ",
            "depth: 40 ",
            "bn_decomposed/random_networks:recentering_depth",
            "manifest",
        ),
        then=(*bn("figures_random_networks", "claims"), "ledger", "report"),
    ),
    edit(
        "the rate of one network of blobs",
        *(
            "src/repdyn/universality/values/default.yaml",
            "    low: {nonlinearity: tanh, gain: 0.5, rate: 0.15,",
            "    low: {nonlinearity: tanh, gain: 0.5, rate: 0.16,",
        ),
        *("universality/blobs:blobs/low", "manifest"),
        then=(
            *("universality/data_set_analyses", "universality/figures_blobs", "universality/figures_digits"),
            *("universality/figures_xor", "universality/tables", "universality/claims", "ledger", "report"),
        ),
    ),
    edit("a comment in the configuration", "config.yaml", "# root", "# the root"),
    edit("the settings of another scale", f"{STUDY}/values/paper.yaml", "width: ", "width: 1"),
    edit("the memory of a rule", "src/repdyn/bn_mean_field/study.py", "memory_mb=1500", "memory_mb=1600"),
    edit(
        "an accepted verdict",
        *(f"{STUDY}/verdicts.yaml", "undecided_at: []", "undecided_at: [smoke]", "ledger", "report"),
        then=("manifest",),
    ),
    edit("a derivation", "src/repdyn/truncation_flow/page.md", "# Derivations", "# All derivations", "report"),
    edit("what was chosen after looking", f"{STUDY}/page.md", "twenty points", "20 points", "report"),
    edit("a page of the report", "src/repdyn/base/site.css", "{", "{ ", "report"),
    edit("another page of the documentation", "docs/cluster.md", "# ", "# On "),
]


@contextmanager
def applied(folder: Path, edit: Edit) -> Iterator[None]:
    """Applies an edit in a copy and reverts it."""
    before = {folder / file: (folder / file).read_text(encoding="utf-8") for file, _, _ in edit.replaced}
    try:
        for file, old, new in edit.replaced:
            text = (folder / file).read_text(encoding="utf-8")
            assert old in text, f"{old!r} is not in {file}: the table of edits is out of date"
            (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
        yield
    finally:
        for path, text in before.items():
            path.write_text(text, encoding="utf-8")


def effect(folder: Path, before: Declared, *together: Edit) -> tuple[set[str], set[str]]:
    """Tasks that edits change, and all jobs that run again because of them."""
    with ExitStack() as stack:
        for edit in together:
            stack.enter_context(applied(folder, edit))
        after = declared(folder, SMOKE)
    return before.changed_members(after), before.downstream(before.changed(after))


def groups() -> list[list[Edit]]:
    """Edits made together, since each reads the workflow anew: all that change nothing, and each of the others."""
    return [[edit for edit in EDITS if not edit.changes], *([edit] for edit in EDITS if edit.changes)]


def table(effects: dict[str, tuple[set[str], set[str]]], before: Declared) -> str:
    """The table as Markdown."""
    shown = ((edit.says, *effects[edit.says]) for edit in EDITS)
    rows = [f"| {says} | {_words(members, before)} | {len(jobs)} |" for says, members, jobs in shown]
    return HEADING + "\n".join(rows) + "\n"


def _words(changed: set[str], before: Declared) -> str:
    """Jobs, with their tasks if only some are affected; a count if there are many."""
    if len(changed) == len(before.members):
        return "all"
    jobs = dict.fromkeys(member.split(":")[0].split("|")[1] for member in sorted(changed))
    if len(jobs) > 9:
        return f"{len(changed)} in {len(jobs)} jobs"
    return ", ".join(_job(job, changed, before) for job in jobs) or "none"


def _job(job: str, changed: set[str], before: Declared) -> str:
    of_job = [member for member in before.members if member.split(":")[0].split("|")[1] == job]
    names = [member.partition(":")[2] for member in of_job if member in changed]
    if len(names) == len(of_job):
        return f"`{job}`"
    return f"`{job}` ({', '.join(names)})"


def main() -> None:
    """Tries all edits and replaces the table of the page, which is its end."""
    with tempfile.TemporaryDirectory() as name:
        folder = copy_sources(Path(name) / "checkout")
        before = declared(folder, SMOKE)
        effects = {}
        for together in groups():
            effects |= dict.fromkeys((edit.says for edit in together), effect(folder, before, *together))
    text, _, _ = PAGE.read_text(encoding="utf-8").partition(HEADING)
    PAGE.write_text(text + table(effects, before), encoding="utf-8")


if __name__ == "__main__":
    main()
