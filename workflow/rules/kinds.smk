"""The kinds of rules, from which the studies' rules inherit, and the rules for what is shown of every study."""


rule job:
    input:
        job=logs("kinds/job.job.json"),
    output:
        touch(results("kinds/job")),
    log:
        logs("kinds/job.log"),
    conda:
        "../../envs/repdyn.yaml"
    container:
        CONTAINER
    threads: 1
    resources:
        mem_mb=memory(),
        runtime=30,
    shell:
        "python -m repdyn run {input.job:q} 2> {log:q}"


use rule job as training with:
    output:
        touch(results("kinds/training")),
    log:
        logs("kinds/training.log"),
    priority: 10
    conda:
        DEVICE_ENVIRONMENT
    resources:
        mem_mb=memory(2000 * GPU),
        runtime=480,
        gpu=GPU,
