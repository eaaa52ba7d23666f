"""Study `truncation_flow`: effective gradient flow and dynamical truncation of training data."""

TF_DATA = {
    name: results(f"truncation_flow/data/{name}.nc")
    for name in (
        "gradient_audit",
        "random_clusters",
        "counterexamples",
        "staircase",
        "printed_and_corrected",
        "proposition",
        "integrators",
        "neural_collapse",
        "truncation_in_the_plane",
        "own_clusters",
        "collapsed_clusters",
        "propagators",
        "reduced_network",
        "output_layer",
        "general_flow",
    )
}
# cheap experiments that share a job; where two share a section of the settings, with that section's name
TF_AUDITS = (
    "gradient_audit",
    "random_clusters",
    "counterexamples",
    "staircase",
    "proposition",
)
TF_ONE_CLUSTER = {
    "printed_and_corrected": "printed_and_corrected",
    "integrators": "integrators",
    "neural_collapse": "neural_collapse",
    "truncation_in_the_plane": "neural_collapse",
}
TF_TRAINED_OUTPUT = {
    "collapsed_clusters": "collapsed_clusters",
    "propagators": "collapsed_clusters",
    "reduced_network": "reduced_network",
    "output_layer": "output_layer",
}
TF_FIGURES = (
    "truncation_in_the_plane",
    "truncation_in_three_dimensions",
    "staircase",
    "printed_and_corrected",
    "proposition",
    "neural_collapse",
    "conservation",
    "reduced_network",
    "general_flow",
    "gradient_audit",
    "integrators",
    "sliding",
    "own_clusters",
)
TF_TABLES = ("gradient_audit", "construction", "counterexamples", "proposition")
PARTS += [results("truncation_flow/claims.csv")]
FIGURES += figures("truncation_flow", *TF_FIGURES)
TABLES += tables("truncation_flow", *TF_TABLES)
DATASETS += TF_DATA.values()


rule truncation_flow:
    input:
        figures("truncation_flow", *TF_FIGURES),
        tables("truncation_flow", *TF_TABLES),
        results("truncation_flow/claims.csv"),
    localrule: True


rule truncation_flow_audits:
    output:
        **{name: TF_DATA[name] for name in TF_AUDITS},
    log:
        logs("truncation_flow/audits.log"),
    cache: CACHED
    group:
        "truncation_flow_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        functions=[f"experiments:{name}" for name in TF_AUDITS],
        job=[job_of(f"truncation_flow.{section}") for section in TF_AUDITS],
        code=[experiment("truncation_flow", f"experiments:{name}") for name in TF_AUDITS],
    shell:
        "python -m repdyn simulate truncation_flow {params.functions} --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_one_cluster:
    output:
        **{name: TF_DATA[name] for name in TF_ONE_CLUSTER},
    log:
        logs("truncation_flow/one_cluster.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=20,
    params:
        functions=[f"experiments:{name}" for name in TF_ONE_CLUSTER],
        job=[job_of(f"truncation_flow.{section}") for section in TF_ONE_CLUSTER.values()],
        code=[experiment("truncation_flow", f"experiments:{name}") for name in TF_ONE_CLUSTER],
    shell:
        "python -m repdyn simulate truncation_flow {params.functions} --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_own_clusters:
    input:
        results("data/images.nc"),
    output:
        TF_DATA["own_clusters"],
    log:
        logs("truncation_flow/own_clusters.log"),
    cache: CACHED
    group:
        "truncation_flow_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=10,
    params:
        job=job_of("truncation_flow.own_clusters"),
        code=experiment("truncation_flow", "experiments:own_clusters"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:own_clusters --job {params.job:q}"
        " --code {params.code} --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_trained_output:
    output:
        **{name: TF_DATA[name] for name in TF_TRAINED_OUTPUT},
    log:
        logs("truncation_flow/trained_output.log"),
    cache: CACHED
    group:
        "truncation_flow_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        functions=[f"experiments:{name}" for name in TF_TRAINED_OUTPUT],
        job=[job_of(f"truncation_flow.{section}") for section in TF_TRAINED_OUTPUT.values()],
        code=[experiment("truncation_flow", f"experiments:{name}") for name in TF_TRAINED_OUTPUT],
    shell:
        "python -m repdyn simulate truncation_flow {params.functions} --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_general_flow:
    output:
        TF_DATA["general_flow"],
    log:
        logs("truncation_flow/general_flow.log"),
    cache: CACHED
    group:
        "truncation_flow_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.general_flow"),
        code=experiment("truncation_flow", "experiments:general_flow_and_descent"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:general_flow_and_descent --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_figures:
    input:
        TF_DATA.values(),
    output:
        figures("truncation_flow", *TF_FIGURES),
    log:
        logs("truncation_flow/figures.log"),
    group:
        "truncation_flow_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=5,
    params:
        names=TF_FIGURES,
        code=drawing("truncation_flow", *TF_FIGURES),
    shell:
        "python -m repdyn draw truncation_flow {params.names} --code {params.code} --inputs {input:q}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_tables:
    input:
        [
            TF_DATA[name]
            for name in (
                "gradient_audit",
                "propagators",
                "neural_collapse",
                "counterexamples",
                "proposition",
            )
        ],
    output:
        tables("truncation_flow", *TF_TABLES),
    log:
        logs("truncation_flow/tables.log"),
    group:
        "truncation_flow_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        names=TF_TABLES,
        code=tabulation("truncation_flow", *TF_TABLES),
    shell:
        "python -m repdyn tabulate truncation_flow {params.names} --code {params.code} --inputs {input:q}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_claims:
    input:
        TF_DATA.values(),
    output:
        results("truncation_flow/claims.csv"),
    log:
        logs("truncation_flow/claims.log"),
    group:
        "truncation_flow_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        code=judgement("truncation_flow"),
    shell:
        "python -m repdyn judge truncation_flow --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"
