"""What is made once for all studies: images, claims, manifest, report."""

for name, makes in whole.ENDS.items():
    if name not in JOBS.jobs:
        continue
    job = JOBS.jobs[name]
    MAKES[job.rule] = makes

    rule:
        name:
            job.rule
        input:
            **inputs(job),
        output:
            shown(job),
        log:
            job.log,
        localrule: True
        conda:
            ENVIRONMENT
        container:
            CONTAINER
        threads: 1
        resources:
            mem_mb=memory(),
            runtime=30,
        shell:
            "python -m repdyn run {input.job:q} 2> {log:q}"


try:
    JOBS.write()
except RepdynError as error:  # no room, a file in the way
    raise WorkflowError(str(error)) from None
