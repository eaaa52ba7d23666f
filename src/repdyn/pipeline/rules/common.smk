"""Ground shared by all rules: validated configuration, jobs, paths. No rules here."""

import os
import sys
import time
from pathlib import Path

WORKFLOW = Path(PROJECT)  # the folder of the Snakefile that includes these rules

# The code beside that Snakefile is the code that runs, here and in every job.
sys.path.insert(0, str(WORKFLOW / "src"))

from repdyn.base.errors import RepdynError
from repdyn.pipeline import studies

try:
    studies.choose(WORKFLOW)  # before all else, whose settings are those of the studies
    STUDIES = list(studies.declared())
except RepdynError as error:
    raise WorkflowError(str(error)) from None

from repdyn.base.devices import collect_seldom
from repdyn.pipeline.ask import failed
from repdyn.pipeline.config import configuration
from repdyn.pipeline.report import captions
from repdyn.pipeline.run.declare import whole
from repdyn.pipeline.run.execute import trials
from repdyn.pipeline.run.machine import environment, readiness

environment.put_first(WORKFLOW / "src")
collect_seldom()

# Used as a module of another workflow, its configuration files are not ours: what it hands on stands in `config`.
MODULE = Path(workflow.main_snakefile).parent != WORKFLOW
OVERLAYS, SETTINGS = ([], config) if MODULE else (workflow.config_settings.configfiles, workflow.config_settings.config)

try:
    CONFIG = configuration.load([WORKFLOW / "config.yaml", *OVERLAYS], dict(SETTINGS))
    JOBS, DATA_RULES = whole.declare(CONFIG, WORKFLOW)
except RepdynError as error:
    raise WorkflowError(str(error)) from None

BEGAN = time.time()
RUN = CONFIG.run.name
HERE = Path(os.path.relpath(WORKFLOW))  # relative, so that a copy of the whole folder has nothing to do
GPU = int(CONFIG.run.device == "cuda")  # what a job with a device asks for: "auto" takes what it finds, "cuda" a GPU
IMAGE = str(HERE / "envs" / "repdyn.sif")  # for --sdm apptainer; made from envs/Dockerfile
CONTAINER = IMAGE if " " not in IMAGE else None  # Snakemake refuses a path with a space, even where no job wants it
ENVIRONMENTS = WORKFLOW.absolute() / "envs"  # a project without has none for conda to make
ENVIRONMENT = str(ENVIRONMENTS / "repdyn.yaml") if ENVIRONMENTS.is_dir() else None
DEVICE_ENVIRONMENT = str(ENVIRONMENTS / "repdyn-cuda.yaml") if GPU and ENVIRONMENT else ENVIRONMENT

granted = workflow.global_resources.get("gpu")
if CONFIG.run.device == "cpu" and granted is not None and granted.value:
    raise WorkflowError(
        f"the command grants GPUs (resource gpu = {granted.value}), but run.device is cpu, so that none would be used."
        " A --config on the command line takes the place of the profile's: say --config 'run={device: cuda, ...}', or"
        " --resources gpu=0 to use none."
    )


wildcard_constraints:
    variant=r"[A-Za-z0-9_.-]+",


onstart:
    try:
        readiness.check(CONFIG, here=workflow.local_exec)
    except RepdynError as error:
        raise WorkflowError(str(error)) from None
    trials.force(JOBS.jobs.values(), trials.forced_by(workflow.dag_settings))


def results(path):
    """A path inside this run's results."""
    return f"results/{RUN}/{path}"


def inputs(job):
    """What a job reads: its job file and its data."""
    return {"job": job.file, "data": job.inputs}


def memory(more=0):
    """Memory that a job asks for at its sizes, and more for CUDA's own; tried again, it asks for as much again."""
    return lambda wildcards, input, attempt: attempt * (JOBS.memory(input.job) + more)


def shown(job):
    """A job's outputs, what Snakemake's own report shows marked for it, with the captions that ours leaves."""
    if job.kind == "ledger":
        ledger, *others = job.outputs
        return [report(ledger, caption="ledger.rst", category="claims", labels={"name": "ledger"}), *others]
    if job.kind == "site":
        return [path if Path(path).suffix else directory(path) for path in job.outputs]
    suffix = {"draw": ".svg", "tabulate": ".csv"}.get(job.kind)
    return [marked(path) if Path(path).suffix == suffix else path for path in job.outputs]


# Labels of figures and tables by study/kind/name, as the last report of this run left them.
CAPTIONED = captions.read_labels(Path(results(f"report/captions/{captions.LABELS}")))


def marked(path):
    """A figure or table for Snakemake's own report."""
    study, kind, file = Path(path).parts[-3:]
    name = Path(file).stem
    caption = Path(results(f"report/captions/{study}/{kind}/{name}.rst")).absolute()
    text = {"caption": str(caption)} if os.path.exists(caption) else {}
    labels = CAPTIONED.get(f"{study}/{kind}/{name}", {"name": name})
    return report(path, category=study, subcategory=kind, labels=labels, **text)


MAKES = {}  # rule -> what it makes, in one line
