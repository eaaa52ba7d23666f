"""Data that the studies share."""


rule images:
    output:
        results("data/images.nc"),
    log:
        logs("images.log"),
    localrule: True
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=5,
    params:
        job=lambda wildcards: json_text(  # a function, since text from the user may hold braces
            {
                "source": CONFIG.data.source,
                "mnist_folder": CONFIG.data.mnist_folder if CONFIG.data.source == "mnist" else None,
                "mnist_mirrors": CONFIG.data.mnist_mirrors if CONFIG.data.source == "mnist" else (),
            }
        ),
        code=code_version("repdyn.pipeline.run.runners:images"),
    shell:
        "python -m repdyn images --job {params.job:q} --code {params.code} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"
