"""All rules of a project, whose Snakefile names its own folder as PROJECT and includes this file."""


include: "common.smk"
include: "kinds.smk"
include: "images.smk"
include: "studies.smk"
include: "report.smk"


rule all:
    default_target: True
    input:
        [path for job in JOBS.jobs.values() for path in job.outputs],
    localrule: True


onerror:
    if told := failed.summary(JOBS.jobs.values(), BEGAN):
        print(told, file=sys.stderr)
