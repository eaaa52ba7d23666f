"""The whole pipeline: `snakemake --cores 8 all`. See README.md; every setting stands in config.yaml."""

from snakemake.utils import min_version

min_version("9.0")


report: "workflow/report/run.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/kinds.smk"
include: "workflow/rules/sources.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        [path for job in JOBS.jobs.values() for path in job.outputs],
    localrule: True


onerror:
    if told := failed.summary(JOBS.jobs.values(), BEGAN):
        print(told, file=sys.stderr)
