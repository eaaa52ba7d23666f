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


rule truncation_flow_gradient_audit:
    output:
        TF_DATA["gradient_audit"],
    log:
        logs("truncation_flow/gradient_audit.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.gradient_audit"),
        code=experiment("truncation_flow", "experiments:gradient_audit"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:gradient_audit --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_random_clusters:
    output:
        TF_DATA["random_clusters"],
    log:
        logs("truncation_flow/random_clusters.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.random_clusters"),
        code=experiment("truncation_flow", "experiments:random_clusters"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:random_clusters --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_counterexamples:
    output:
        TF_DATA["counterexamples"],
    log:
        logs("truncation_flow/counterexamples.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.counterexamples"),
        code=experiment("truncation_flow", "experiments:counterexamples"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:counterexamples --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_staircase:
    output:
        TF_DATA["staircase"],
    log:
        logs("truncation_flow/staircase.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.staircase"),
        code=experiment("truncation_flow", "experiments:staircase"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:staircase --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_printed_and_corrected:
    output:
        TF_DATA["printed_and_corrected"],
    log:
        logs("truncation_flow/printed_and_corrected.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.printed_and_corrected"),
        code=experiment("truncation_flow", "experiments:printed_and_corrected"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:printed_and_corrected --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_proposition:
    output:
        TF_DATA["proposition"],
    log:
        logs("truncation_flow/proposition.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.proposition"),
        code=experiment("truncation_flow", "experiments:proposition"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:proposition --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_integrators:
    output:
        TF_DATA["integrators"],
    log:
        logs("truncation_flow/integrators.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.integrators"),
        code=experiment("truncation_flow", "experiments:integrators"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:integrators --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_neural_collapse:
    output:
        TF_DATA["neural_collapse"],
    log:
        logs("truncation_flow/neural_collapse.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.neural_collapse"),
        code=experiment("truncation_flow", "experiments:neural_collapse"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:neural_collapse --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_truncation_in_the_plane:
    output:
        TF_DATA["truncation_in_the_plane"],
    log:
        logs("truncation_flow/truncation_in_the_plane.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.neural_collapse"),
        code=experiment("truncation_flow", "experiments:truncation_in_the_plane"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:truncation_in_the_plane --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_own_clusters:
    input:
        results("data/images.nc"),
    output:
        TF_DATA["own_clusters"],
    log:
        logs("truncation_flow/own_clusters.log"),
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


rule truncation_flow_collapsed_clusters:
    output:
        TF_DATA["collapsed_clusters"],
    log:
        logs("truncation_flow/collapsed_clusters.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.collapsed_clusters"),
        code=experiment("truncation_flow", "experiments:collapsed_clusters"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:collapsed_clusters --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_propagators:
    output:
        TF_DATA["propagators"],
    log:
        logs("truncation_flow/propagators.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.collapsed_clusters"),
        code=experiment("truncation_flow", "experiments:propagators"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:propagators --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_reduced_network:
    output:
        TF_DATA["reduced_network"],
    log:
        logs("truncation_flow/reduced_network.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.reduced_network"),
        code=experiment("truncation_flow", "experiments:reduced_network"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:reduced_network --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_output_layer:
    output:
        TF_DATA["output_layer"],
    log:
        logs("truncation_flow/output_layer.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("truncation_flow.output_layer"),
        code=experiment("truncation_flow", "experiments:output_layer"),
    shell:
        "python -m repdyn simulate truncation_flow experiments:output_layer --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_general_flow:
    output:
        TF_DATA["general_flow"],
    log:
        logs("truncation_flow/general_flow.log"),
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
        "python -m repdyn draw truncation_flow {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


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
        "python -m repdyn tabulate truncation_flow {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule truncation_flow_claims:
    input:
        TF_DATA.values(),
    output:
        results("truncation_flow/claims.csv"),
    log:
        logs("truncation_flow/claims.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        code=judgement("truncation_flow"),
    shell:
        "python -m repdyn judge truncation_flow --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"
