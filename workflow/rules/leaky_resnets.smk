"""Study `leaky_resnets`: Hamiltonian mechanics of the bottleneck, on exact geodesics and on trained networks."""

# exact statements, which share a job; where two share a section of the settings, with that section's name
LRN_EXACT = {
    "identities": "identities",
    "step_schemes": "step_schemes",
    "identity_costs": "identity_costs",
    "descents": "descents",
    "geodesics": "geodesics",
    "random_geodesics": "random_geodesics",
    "scalar_geodesics": "random_geodesics",
    "critical_paths": "critical_paths",
}
LRN_DATA = {name: results(f"leaky_resnets/data/{name}.nc") for name in LRN_EXACT}
LRN_EXACT_FIGURES = (
    "geodesic_laboratory",
    "theorem4",
    "identity_cost",
    "critical_paths",
)
# blocks of seeds, a job each; networks whose training shares a job, with their sections; measures of all of them
LRN_BLOCKS = {
    name: [results(f"leaky_resnets/data/{name}/block{block}.nc") for block in range(blocks)]
    for name, blocks in (
        ("trained", CONFIG.leaky_resnets.trained.blocks),
        ("discretised", CONFIG.leaky_resnets.discretised.blocks),
    )
}
LRN_NEAR = {
    "refinement": "criticality",
    "convergence": "criticality",
    "staged": "discretised",
    "paper_settings": "paper_settings",
    "network_audit": "network_audit",
}
LRN_NETWORKS = {name: results(f"leaky_resnets/data/{name}.nc") for name in LRN_NEAR}
LRN_MEASURES = {
    name: results(f"leaky_resnets/data/{name}_measures.nc")
    for name in ("chain", "scheme", "refinement", "convergence", "staged", "paper")
}
LRN_TRAINED_FIGURES = (
    "fig1a_hamiltonian",
    "fig1b_spectra",
    "fig1c_energies",
    "fig2a_test_error",
    "fig2b_weight_spectra",
    "fig2c_paths",
    "fig3_bounded",
    "distance_to_critical",
    "balancedness",
    "paper_settings",
)
LRN_FIGURES = LRN_EXACT_FIGURES + LRN_TRAINED_FIGURES
LRN_TABLES = ("formulas", "laboratory", "chains")
PARTS += [results("leaky_resnets/claims.csv")]
FIGURES += figures("leaky_resnets", *LRN_FIGURES)
TABLES += tables("leaky_resnets", *LRN_TABLES)
DATASETS += LRN_DATA.values()
DATASETS += sum(LRN_BLOCKS.values(), []) + [
    *LRN_NETWORKS.values(),
    *LRN_MEASURES.values(),
]


rule leaky_resnets:
    input:
        figures("leaky_resnets", *LRN_FIGURES),
        tables("leaky_resnets", *LRN_TABLES),
        results("leaky_resnets/claims.csv"),
    localrule: True


rule leaky_resnets_exact:
    output:
        **{name: LRN_DATA[name] for name in LRN_EXACT},
    log:
        logs("leaky_resnets/exact.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=30,
    params:
        functions=[f"experiments:{name}" for name in LRN_EXACT],
        job=[job_of(f"leaky_resnets.{section}") for section in LRN_EXACT.values()],
        code=[experiment("leaky_resnets", f"experiments:{name}") for name in LRN_EXACT],
    shell:
        "python -m repdyn simulate leaky_resnets {params.functions} --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule leaky_resnets_exact_figures:
    input:
        [LRN_DATA[name] for name in LRN_EXACT],
    output:
        figures("leaky_resnets", *LRN_EXACT_FIGURES),
    log:
        logs("leaky_resnets/exact_figures.log"),
    group:
        "leaky_resnets_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=5,
    params:
        names=LRN_EXACT_FIGURES,
        code=drawing("leaky_resnets", *LRN_EXACT_FIGURES),
    shell:
        "python -m repdyn draw leaky_resnets {params.names} --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule leaky_resnets_trained:
    output:
        results("leaky_resnets/data/trained/block{block}.nc"),
    log:
        logs("leaky_resnets/trained-block{block}.log"),
    wildcard_constraints:
        block=r"\d+",
    cache: CACHED
    priority: 10
    conda:
        DEVICE_ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(1500),
        runtime=240,
        gpu=GPU,
    params:
        job=lambda wildcards: job_of("leaky_resnets.trained", device=True, block=int(wildcards.block)),
        code=experiment("leaky_resnets", "experiments:trained"),
    shell:
        "python -m repdyn simulate leaky_resnets experiments:trained --job {params.job:q} --code {params.code}"
        " --checkpoints {log:q}.checkpoints --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule leaky_resnets_discretised:
    output:
        results("leaky_resnets/data/discretised/block{block}.nc"),
    log:
        logs("leaky_resnets/discretised-block{block}.log"),
    wildcard_constraints:
        block=r"\d+",
    cache: CACHED
    priority: 10
    conda:
        DEVICE_ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(1500),
        runtime=240,
        gpu=GPU,
    params:
        job=lambda wildcards: job_of("leaky_resnets.discretised", device=True, block=int(wildcards.block)),
        code=experiment("leaky_resnets", "experiments:discretised"),
    shell:
        "python -m repdyn simulate leaky_resnets experiments:discretised --job {params.job:q} --code {params.code}"
        " --checkpoints {log:q}.checkpoints --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule leaky_resnets_near_critical:
    output:
        **{name: LRN_NETWORKS[name] for name in LRN_NEAR},
    log:
        logs("leaky_resnets/near_critical.log"),
    cache: CACHED
    priority: 10
    conda:
        DEVICE_ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(1500),
        runtime=240,
        gpu=GPU,
    params:
        functions=[f"experiments:{name}" for name in LRN_NEAR],
        job=[job_of(f"leaky_resnets.{section}", device=True) for section in LRN_NEAR.values()],
        code=[experiment("leaky_resnets", f"experiments:{name}") for name in LRN_NEAR],
    shell:
        "python -m repdyn simulate leaky_resnets {params.functions} --job {params.job:q} --code {params.code}"
        " --checkpoints {log:q}.checkpoints --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule leaky_resnets_measures:
    input:
        LRN_BLOCKS.values(),
        [LRN_NETWORKS[name] for name in LRN_NEAR if name != "network_audit"],
    output:
        **LRN_MEASURES,
    log:
        logs("leaky_resnets/measures.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=30,
    params:
        functions=[f"experiments:{name}_measures" for name in LRN_MEASURES],
        job=[job_of("leaky_resnets.measures") for _ in LRN_MEASURES],
        code=[experiment("leaky_resnets", f"experiments:{name}_measures") for name in LRN_MEASURES],
    shell:
        "python -m repdyn simulate leaky_resnets {params.functions} --job {params.job:q} --code {params.code}"
        " --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule leaky_resnets_trained_figures:
    input:
        LRN_MEASURES.values(),
    output:
        figures("leaky_resnets", *LRN_TRAINED_FIGURES),
    log:
        logs("leaky_resnets/trained_figures.log"),
    group:
        "leaky_resnets_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=5,
    params:
        names=LRN_TRAINED_FIGURES,
        code=drawing("leaky_resnets", *LRN_TRAINED_FIGURES),
    shell:
        "python -m repdyn draw leaky_resnets {params.names} --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule leaky_resnets_tables:
    input:
        [LRN_DATA[name] for name in ("identities", "geodesics")],
        LRN_MEASURES["chain"],
    output:
        tables("leaky_resnets", *LRN_TABLES),
    log:
        logs("leaky_resnets/tables.log"),
    group:
        "leaky_resnets_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        names=LRN_TABLES,
        code=tabulation("leaky_resnets", *LRN_TABLES),
    shell:
        "python -m repdyn tabulate leaky_resnets {params.names} --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule leaky_resnets_claims:
    input:
        LRN_DATA.values(),
        LRN_NETWORKS["network_audit"],
        LRN_MEASURES.values(),
    output:
        results("leaky_resnets/claims.csv"),
    log:
        logs("leaky_resnets/claims.log"),
    group:
        "leaky_resnets_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        code=judgement("leaky_resnets"),
    shell:
        "python -m repdyn judge leaky_resnets --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"
