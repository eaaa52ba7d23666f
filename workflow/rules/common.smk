"""Ground shared by all rules: validated configuration, paths, code versions. No rules here."""

import json
import os
import sys
from pathlib import Path

WORKFLOW = Path(workflow.basedir)

# The code beside this Snakefile is the code that runs, here and in every job.
sys.path.insert(0, str(WORKFLOW / "src"))

from repdyn.pipeline.run.checkout import lead_jobs_to, separate_cache

from repdyn.base.errors import ConfigError
from repdyn.base.fingerprint import code_version
from repdyn.base.settings import canonical, json_text
from repdyn.pipeline.config import configuration

lead_jobs_to(WORKFLOW / "src")

try:
    separate_cache()
    CONFIG = configuration.load(
        [WORKFLOW / "config.yaml", *workflow.config_settings.configfiles],
        dict(workflow.config_settings.config),
    )
except ConfigError as error:
    raise WorkflowError(str(error)) from None

RUN = CONFIG.run.name
CACHED = workflow.workflow_settings.cache is not None  # a rule that says so without --cache is a warning in every run
HERE = Path(os.path.relpath(WORKFLOW))  # relative, so that a copy of the whole folder has nothing to do
GPU = int(CONFIG.run.device == "cuda")  # what a job with a device asks for: "auto" takes what it finds, "cuda" a GPU
DEVICE_ENVIRONMENT = f"../../envs/{'repdyn-cuda' if GPU else 'repdyn'}.yaml"  # of jobs with a device

granted = workflow.global_resources.get("gpu")
if CONFIG.run.device == "cpu" and granted is not None and granted.value:
    raise WorkflowError(
        f"the command grants GPUs (resource gpu = {granted.value}), but run.device is cpu, so that none would be used."
        " A --config on the command line takes the place of the profile's: say --config 'run={device: cuda, ...}', or"
        " --resources gpu=0 to use none."
    )


wildcard_constraints:
    variant=r"[A-Za-z0-9_.-]+",


def results(path):
    """A path inside this run's results."""
    return f"results/{RUN}/{path}"


# What the studies make, in the order of their rule files; the ledger, the manifest and the report read these.
PARTS, FIGURES, TABLES, DATASETS = [], [], [], [results("data/images.nc")]


def logs(path):
    """A path inside this run's logs."""
    return f"logs/{RUN}/{path}"


def figures(study, *names):
    """All files of a study's figures."""
    return products(study, "figures", names, ("svg", "png", "json"))


def tables(study, *names):
    """All files of a study's tables."""
    return products(study, "tables", names, ("csv", "tex", "json"))


def products(study, kind, names, suffixes):
    """Files by name, the first of each marked for Snakemake's own report; our report leaves the captions for it."""
    paths = {name: [results(f"{study}/{kind}/{name}.{suffix}") for suffix in suffixes] for name in names}
    for name, files in paths.items():
        caption = Path(results(f"report/captions/{study}/{kind}/{name}.rst")).absolute()
        told = {"caption": str(caption)} if caption.exists() else {}
        files[0] = report(files[0], category=study, subcategory=kind, labels={"name": name}, **told)
    return [file for files in paths.values() for file in files]


def files_of(folder, pattern):
    """Files of the checkout that a rule reads."""
    return [str(HERE / folder / path.name) for path in sorted((WORKFLOW / folder).glob(pattern))]


def makers():
    """Which rule makes which datasets, figures, tables and ledgers of this run, as JSON; the report links them."""
    root, shown = results(""), (".nc", ".svg", ".csv")
    made = {
        one.name: [str(file).removeprefix(root) for file in one.output if Path(file).suffix in shown]
        for one in workflow.rules
    }
    return json_text({name: files for name, files in made.items() if files})


def memory(mb):
    """Memory that a job with a device asks for, CUDA's own included; tried again, it asks for as much more."""
    return lambda wildcards, attempt: attempt * (mb + 2000 * GPU)


def job_of(section, *, device=False, **arguments):
    """What an experiment gets: the run's seed, its slice of the settings, further arguments; canonical JSON."""
    job = {"seed": CONFIG.run.seed, "settings": json.loads(configuration.slice_of(CONFIG, section)), **arguments}
    return json_text(job | ({"device": CONFIG.run.device} if device else {}))


def experiment(study, function):
    """Code version of an experiment or analysis and of the runner that saves what it returns."""
    return code_version(f"repdyn.{study}.{function}", "repdyn.pipeline.run.runners:simulate")


def drawing(study, *names):
    """Code version of figures that one job draws."""
    return code_version(*(f"repdyn.{study}.figures:{name}" for name in names), "repdyn.pipeline.run.runners:draw")


def tabulation(study, *names):
    """Code version of tables that one job writes."""
    return code_version(*(f"repdyn.{study}.tables:{name}" for name in names), "repdyn.pipeline.run.runners:tabulate")


def judgement(study):
    """Code version of a study's claims."""
    return code_version(f"repdyn.{study}.claims", "repdyn.pipeline.run.runners:judge")
