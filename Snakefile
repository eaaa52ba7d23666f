"""The whole pipeline: `snakemake --cores 8 all`. See README.md; what to change stands in config.yaml."""

from snakemake.utils import min_version

min_version("9.0")

PROJECT = workflow.current_basedir


report: "src/repdyn/pipeline/rules/run.rst"


include: "src/repdyn/pipeline/rules/everything.smk"
