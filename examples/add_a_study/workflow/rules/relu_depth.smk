"""Study `relu_depth`: two points through a plain ReLU network."""

RD_DATA = {name: results(f"relu_depth/data/{name}.nc") for name in ("overlaps", "gaps")}
PARTS += [results("relu_depth/claims.csv")]
FIGURES += figures("relu_depth", "correlation_map")
DATASETS += RD_DATA.values()


rule relu_depth:
    input:
        figures("relu_depth", "correlation_map"),
        results("relu_depth/claims.csv"),
    localrule: True


rule relu_depth_data:
    output:
        **{name: RD_DATA[name] for name in RD_DATA},
    log:
        logs("relu_depth/data.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        functions=[f"experiments:{name}" for name in RD_DATA],
        job=[job_of(f"relu_depth.{name}") for name in RD_DATA],
        code=[experiment("relu_depth", f"experiments:{name}") for name in RD_DATA],
    shell:
        "python -m repdyn simulate relu_depth {params.functions} --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule relu_depth_figures:
    input:
        RD_DATA.values(),
    output:
        figures("relu_depth", "correlation_map"),
    log:
        logs("relu_depth/figures.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=5,
    params:
        code=drawing("relu_depth", "correlation_map"),
    shell:
        "python -m repdyn draw relu_depth correlation_map --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule relu_depth_claims:
    input:
        RD_DATA.values(),
    output:
        results("relu_depth/claims.csv"),
    log:
        logs("relu_depth/claims.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        code=judgement("relu_depth"),
    shell:
        "python -m repdyn judge relu_depth --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"
