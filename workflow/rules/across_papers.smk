"""Room `across_papers`: the same four networks through the diagnostics of all papers."""

ACR_TRAINED = ("two_points", "digits", "odd_batch")
ACR_DATA = {name: results(f"across_papers/data/{name}.nc") for name in (*ACR_TRAINED, "theory_fits")}
ACR_FIGURES = ("theory_fits", "bottlenecks", "odd_points")
ACR_TABLES = ("four_networks",)
PARTS += [results("across_papers/claims.csv")]
FIGURES += figures("across_papers", *ACR_FIGURES)
TABLES += tables("across_papers", *ACR_TABLES)
DATASETS += ACR_DATA.values()


rule across_papers:
    input:
        figures("across_papers", *ACR_FIGURES),
        tables("across_papers", *ACR_TABLES),
        results("across_papers/claims.csv"),
    localrule: True


rule across_papers_training:
    input:
        results("data/images.nc"),
    output:
        **{name: ACR_DATA[name] for name in ACR_TRAINED},
    log:
        logs("across_papers/training.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        functions=[f"experiments:{name}" for name in ACR_TRAINED],
        job=[job_of(f"across_papers.{name}") for name in ACR_TRAINED],
        code=[experiment("across_papers", f"experiments:{name}") for name in ACR_TRAINED],
    shell:
        "python -m repdyn simulate across_papers {params.functions} --job {params.job:q} --code {params.code}"
        " --checkpoints {log:q}.checkpoints --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule across_papers_theory_fits:
    input:
        ACR_DATA["two_points"],
        ACR_DATA["digits"],
    output:
        ACR_DATA["theory_fits"],
    log:
        logs("across_papers/theory_fits.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=10,
    params:
        job=json_text({"seed": CONFIG.run.seed}),
        code=experiment("across_papers", "experiments:theory_fits"),
    shell:
        "python -m repdyn simulate across_papers experiments:theory_fits --job {params.job:q}"
        " --code {params.code} --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule across_papers_figures:
    input:
        ACR_DATA.values(),
    output:
        figures("across_papers", *ACR_FIGURES),
    log:
        logs("across_papers/figures.log"),
    group:
        "across_papers_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=5,
    params:
        names=ACR_FIGURES,
        code=drawing("across_papers", *ACR_FIGURES),
    shell:
        "python -m repdyn draw across_papers {params.names} --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule across_papers_tables:
    input:
        ACR_DATA.values(),
    output:
        tables("across_papers", *ACR_TABLES),
    log:
        logs("across_papers/tables.log"),
    group:
        "across_papers_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        names=ACR_TABLES,
        code=tabulation("across_papers", *ACR_TABLES),
    shell:
        "python -m repdyn tabulate across_papers {params.names} --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule across_papers_claims:
    input:
        ACR_DATA.values(),
    output:
        results("across_papers/claims.csv"),
    log:
        logs("across_papers/claims.log"),
    group:
        "across_papers_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        code=judgement("across_papers"),
    shell:
        "python -m repdyn judge across_papers --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"
