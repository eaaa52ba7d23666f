"""What is shown of every study: its figures, a job per module; its tables; its claims. And one target per study."""

for study in STUDIES:
    for job in filter(None, [*JOBS.figures(study).values(), JOBS.tables(study), JOBS.claims(study)]):

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
                "../../envs/repdyn.yaml"
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
