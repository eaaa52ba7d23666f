"""Study `bn_decomposed`: Batch Normalization Decomposed."""

BND_DATA = {
    name: results(f"bn_decomposed/data/{name}.nc")
    for name in ("ablation", "recentring_depth", "orthogonality_gap", "layer_angles", "fixed_point")
}
BND_FIGURES = ("fig1_ablation", "orthogonality_gap", "fig5_layer_angles")
BND_TABLES = ("ablation",)


rule bn_decomposed:
    input:
        figures("bn_decomposed", *BND_FIGURES),
        tables("bn_decomposed", *BND_TABLES),
        results("bn_decomposed/claims.csv"),
    localrule: True


rule bn_decomposed_ablation:
    input:
        results("data/images.nc"),
    output:
        BND_DATA["ablation"],
    log:
        logs("bn_decomposed/ablation.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=20,
    params:
        job=job_of("bn_decomposed.ablation"),
        code=experiment("bn_decomposed", "experiments:ablation"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:ablation --job {params.job:q} --code {params.code}"
        " --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_recentring_depth:
    input:
        results("data/images.nc"),
    output:
        BND_DATA["recentring_depth"],
    log:
        logs("bn_decomposed/recentring_depth.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        job=job_of("bn_decomposed.recentring_depth"),
        code=experiment("bn_decomposed", "experiments:recentring_depth"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:recentring_depth --job {params.job:q}"
        " --code {params.code} --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_orthogonality_gap:
    output:
        BND_DATA["orthogonality_gap"],
    log:
        logs("bn_decomposed/orthogonality_gap.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("bn_decomposed.orthogonality_gap"),
        code=experiment("bn_decomposed", "experiments:orthogonality_gap_with_depth"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:orthogonality_gap_with_depth --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_layer_angles:
    input:
        results("data/images.nc"),
    output:
        BND_DATA["layer_angles"],
    log:
        logs("bn_decomposed/layer_angles.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=20,
    params:
        job=job_of("bn_decomposed.layer_angles"),
        code=experiment("bn_decomposed", "experiments:layer_angles"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:layer_angles --job {params.job:q} --code {params.code}"
        " --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_fixed_point:
    output:
        BND_DATA["fixed_point"],
    log:
        logs("bn_decomposed/fixed_point.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("bn_decomposed.fixed_point"),
        code=experiment("bn_decomposed", "experiments:fixed_point"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:fixed_point --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_figures:
    input:
        BND_DATA["ablation"],
        BND_DATA["orthogonality_gap"],
        BND_DATA["layer_angles"],
        BND_DATA["fixed_point"],
    output:
        figures("bn_decomposed", *BND_FIGURES),
    log:
        logs("bn_decomposed/figures.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        names=BND_FIGURES,
        code=drawing("bn_decomposed", *BND_FIGURES),
    shell:
        "python -m repdyn draw bn_decomposed {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_tables:
    input:
        BND_DATA["ablation"],
    output:
        tables("bn_decomposed", *BND_TABLES),
    log:
        logs("bn_decomposed/tables.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        names=BND_TABLES,
        code=tabulation("bn_decomposed", *BND_TABLES),
    shell:
        "python -m repdyn tabulate bn_decomposed {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_claims:
    input:
        BND_DATA.values(),
    output:
        results("bn_decomposed/claims.csv"),
    log:
        logs("bn_decomposed/claims.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        code=judgement("bn_decomposed"),
    shell:
        "python -m repdyn judge bn_decomposed --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"
