"""The studies: their data, by jobs that each study declares; figures, a job per module; tables; claims."""

for study in STUDIES:
    MAKES[study] = f"All of the study {study}."
    for made in DATA_RULES[study]:
        MAKES[made.name] = made.makes

        rule:
            name:
                made.name
            input:
                **made.inputs,
            output:
                made.outputs,
            log:
                made.log,
            wildcard_constraints:
                **made.constraints,
            priority: 10 * made.trains
            conda:
                DEVICE_ENVIRONMENT if made.trains else ENVIRONMENT
            container:
                CONTAINER
            threads: 1
            resources:
                mem_mb=memory(2000 * GPU * made.trains),
                runtime=made.runtime,
                gpu=GPU * made.trains,
            shell:
                "python -m repdyn run {input.job:q} 2> {log:q}"

    # A profile says once, of `shown`, how many jobs of a study share a cluster job.
    workflow.parent_groupids[f"{study}_shown"] = "shown"
    for job in [job for job in JOBS.jobs.values() if job.study == study and job.kind != "simulate"]:
        MAKES[job.rule] = JOBS.makes(job)

        rule:
            name:
                job.rule
            input:
                **inputs(job),
            output:
                shown(job),
            log:
                job.log,
            group:
                f"{study}_shown"
            conda:
                ENVIRONMENT
            container:
                CONTAINER
            threads: 1
            resources:
                mem_mb=memory(),
                runtime=10,
            shell:
                "python -m repdyn run {input.job:q} 2> {log:q}"

    rule:
        name:
            study
        input:
            [path for job in JOBS.jobs.values() if job.study == study for path in job.outputs],
        localrule: True
