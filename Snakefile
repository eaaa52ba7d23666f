"""The whole pipeline: `snakemake --cores 8 all`. See README.md; what to change stands in config.yaml."""

from importlib.util import find_spec
from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")

PROJECT = workflow.current_basedir
RULES = Path("src/repdyn/pipeline/rules")  # of a checkout; in a folder that `repdyn init` wrote, those of the package
if not (Path(PROJECT) / RULES).is_dir():
    RULES = Path(find_spec("repdyn").origin).parent / "pipeline" / "rules"


report: str(RULES / "run.rst")


include: str(RULES / "everything.smk")


rule all:
    """Everything of all studies, and the report."""
    default_target: True
    input:
        [path for job in JOBS.jobs.values() for path in job.outputs],
    localrule: True
