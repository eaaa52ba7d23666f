"""The table of edits: what is edited, and which members of jobs change by it.

Expectations are written here as data, derived from the dependencies by hand, not by the program.
`tests/dag/test_reruns.py` tries each edit on a copy; `python -m tests.dag.edits` does the same and writes
docs/reruns.md from what it finds.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT, SMOKE
from tests.dag.declared import Declared, copy_sources, declared

PAGE = ROOT / "docs/reruns.md"
STUDY = "src/repdyn/bn_decomposed"
LAYERS, NETWORKS = f"{STUDY}/theory/layers.py", f"{STUDY}/experiments/random_networks.py"
COMPONENTS = """    centered = Z - Z.mean(axis=1, keepdims=True)
    out = centered if recenter else Z
    if rescale is not None:
        out = _rescaled(out, centered, rounding, recenter, rescale)
    return np.maximum(out, 0.0) if relu else out
"""
VERDICTS = ("ledger", "manifest", "report")
INTRODUCTION = """# What runs again after which edit

A job runs again where the content of its job file changes: functions, code versions, settings, seed, inputs, the texts
of the checkout that it shows. Jobs that read what it makes follow. What is deleted is made again, every file of every
job: all are inputs of the rule `all`. The exception is a single file inside one of the report's folders, which
`python -m repdyn verify` finds.

## What is not computed again

Three caches, each exact: what they give is, byte for byte, what would be computed.

**Snakemake** runs a job where an output is missing or an input is newer. Job files are inputs, written only where
their content changes, so that this needs no `.snakemake/`; only an edit of a rule's own `shell:` or `resources:` text
is known to Snakemake alone. `--forcerun` and `--forceall` go past it, and past the trials of the jobs that they name.

**Finished trials** (`.cache/trials`) are networks, batches and draws of long experiments, under all that their
numbers depend on. A job that runs again, resumes after a kill or wants more seeds computes those alone that are
missing. They hold 3,863 of the 4,420 CPU seconds of a default run's jobs, so that an edit beside them costs at most
36 in a job ([trials.md](trials.md)).

**Code versions** (`.cache/code_versions.json`) are digests of what each function reaches, valid for one state of all
source files. Every command of Snakemake and every job on a cluster reads the workflow, which takes 4 CPU seconds with
them and 12 without. They count definitions, not files: over the 200 commits to `src/` up to November 28, 2026, the
functions whose own code changed cost 228 core-minutes at default scale, but 1,088 if any edit of an imported file
counted (1,047 if comments and docstrings did not).

Compiled functions are numba's matter: it keeps machine code on disk, here in `.cache/numba` with a folder for each
state of the sources, since numba itself does not notice an edit of what a function calls. The folder saves about two
seconds for each function of a job. Deleting any of the four costs time only.

## Edits

Made by `python -m tests.dag.edits`, which tries each edit on a copy of the checkout at smoke scale; a test holds each
row to what has to run by what reads what. A run has {jobs} jobs. The command line in front of a job, `python -m repdyn
run`, only hands on the path of the job file and counts for nothing.

| edit | what changes | jobs that run |
| --- | --- | --- |
"""


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
            "src/repdyn/universality/values/smoke.yaml",
            "low: {units: 40, rate: 0.15, epochs: 2500}",
            "low: {units: 40, rate: 0.16, epochs: 2500}",
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


def effect(folder: Path, before: Declared, edit: Edit) -> tuple[set[str], set[str]]:
    """Tasks that an edit changes, and all jobs that run again because of them."""
    with applied(folder, edit):
        after = declared(folder, SMOKE)
    return before.changed_members(after), before.downstream(before.changed(after))


def page(effects: dict[str, tuple[set[str], set[str]]], before: Declared) -> str:
    """The table as Markdown."""
    rows = [f"| {says} | {_words(members, before)} | {len(jobs)} |" for says, (members, jobs) in effects.items()]
    return INTRODUCTION.format(jobs=len(before.texts)) + "\n".join(rows) + "\n"


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
    """Tries all edits and writes the page."""
    with tempfile.TemporaryDirectory() as name:
        folder = copy_sources(Path(name) / "checkout")
        before = declared(folder, SMOKE)
        effects = {edit.says: effect(folder, before, edit) for edit in EDITS}
    PAGE.write_text(page(effects, before), encoding="utf-8")


if __name__ == "__main__":
    main()
