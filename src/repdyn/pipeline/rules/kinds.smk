"""The rule from which those inherit that make one thing for all studies."""


rule job:
    input:
        job=logs("kinds/job.job.json"),
    output:
        touch(results("kinds/job")),
    log:
        logs("kinds/job.log"),
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
