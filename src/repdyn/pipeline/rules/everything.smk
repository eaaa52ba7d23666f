"""All rules of a project but `all`: its Snakefile names its own folder as PROJECT, includes this file and says `all`.

No included rule is what Snakemake makes where no target is given.
"""


include: "common.smk"
include: "studies.smk"
include: "report.smk"


onerror:
    if summary := failed.summary(JOBS.jobs.values(), BEGAN):
        print(summary, file=sys.stderr)


onsuccess:
    if errors := failed.errors(JOBS.jobs.values(), BEGAN):
        raise WorkflowError(errors)
