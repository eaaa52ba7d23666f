"""Room `diagnostics`: the five papers' diagnostics on one small network of our own."""

DIA_DATA = {name: results(f"diagnostics/data/{name}.nc") for name in ("convolutional_network", "two_points")}
DIA_FIGURES = ("through_depth", "through_training", "residual_stream", "pairs_and_theory")
FIGURES += figures("diagnostics", *DIA_FIGURES)
DATASETS += DIA_DATA.values()


rule diagnostics:
    input:
        figures("diagnostics", *DIA_FIGURES),
    localrule: True


rule diagnostics_network:
    input:
        results("data/images.nc"),
    output:
        DIA_DATA["convolutional_network"],
    log:
        logs("diagnostics/network.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        job=job_of("diagnostics.convolutional_network"),
        code=experiment("diagnostics", "experiments:convolutional_network"),
    shell:
        "python -m repdyn simulate diagnostics experiments:convolutional_network --job {params.job:q}"
        " --code {params.code} --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule diagnostics_two_points:
    input:
        DIA_DATA["convolutional_network"],
    output:
        DIA_DATA["two_points"],
    log:
        logs("diagnostics/two_points.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=5,
    params:
        job=job_of("diagnostics.two_points"),
        code=experiment("diagnostics", "experiments:two_points"),
    shell:
        "python -m repdyn simulate diagnostics experiments:two_points --job {params.job:q}"
        " --code {params.code} --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule diagnostics_figures:
    input:
        DIA_DATA.values(),
    output:
        figures("diagnostics", *DIA_FIGURES),
    log:
        logs("diagnostics/figures.log"),
    group:
        "diagnostics_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=5,
    params:
        names=DIA_FIGURES,
        code=drawing("diagnostics", *DIA_FIGURES),
    shell:
        "python -m repdyn draw diagnostics {params.names} --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"
