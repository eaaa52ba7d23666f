"""All rules of a project but `all`: its Snakefile names its own folder as PROJECT, includes this file and says `all`.

No included rule is what Snakemake makes where no target is given.
"""


include: "common.smk"
include: "kinds.smk"
include: "images.smk"
include: "studies.smk"
include: "report.smk"


onerror:
    if told := failed.summary(JOBS.jobs.values(), BEGAN):
        print(told, file=sys.stderr)
