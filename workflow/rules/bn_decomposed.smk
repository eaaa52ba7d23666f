"""Study `bn_decomposed`: Batch Normalization Decomposed."""

BND_DATA = {
    name: results(f"bn_decomposed/data/{name}.nc")
    for name in (
        "ablation",
        "recentring_depth",
        "orthogonality_gap",
        "layer_angles",
        "fixed_point",
        "relu_moments",
        "gaussian_layer",
        "contraction",
        "odd_point",
        "largest_norm",
        "activity",
        "point_neurons",
        "sign_cells",
        "stalled_rows",
        "rows_to_full_rank",
        "full_rank_tail",
        "relu_rank",
        "cluster_rows",
        "split_rows",
        "tree_example",
        "narrow_gap",
        "tree_limits",
        "interior_angles",
        "several_coordinates",
    )
}
BND_TRAINING = [results(f"bn_decomposed/data/training/{mode}.nc") for mode in ("bn", "default", "he")]
# cheap experiments that share a job
BND_NETWORKS = ("recentring_depth", "layer_angles", "relu_rank")
BND_RANK = ("sign_cells", "stalled_rows", "rows_to_full_rank", "full_rank_tail")
BND_SIMPLIFIED = (
    "cluster_rows",
    "split_rows",
    "tree_example",
    "narrow_gap",
    "interior_angles",
    "several_coordinates",
)
BND_GAUSSIAN = (
    "fixed_point",
    "relu_moments",
    "gaussian_layer",
    "contraction",
    "activity",
)
BND_FIGURES_NETWORKS = ("fig1_ablation", "orthogonality_gap", "fig5_layer_angles")
BND_FIGURES_TRAINING = ("fig2_training", "disc_point_neurons")
BND_FIGURES_RANK = ("thm3_full_rank",)
BND_FIGURES_SIMPLIFIED = ("fig4_tree", "thm11_limits")
BND_FIGURES_GAUSSIAN = ("fig3_odd_point", "thm14_contraction", "fig6_activity")
BND_FIGURES = (
    "fig1_ablation",
    "fig2_training",
    "fig3_odd_point",
    "thm3_full_rank",
    "orthogonality_gap",
    "fig4_tree",
    "thm11_limits",
    "thm14_contraction",
    "fig5_layer_angles",
    "fig6_activity",
    "disc_point_neurons",
)  # the report's order, that of the paper
BND_TABLES = (
    "ablation",
    "training",
    "point_neurons",
    "full_rank",
    "simplified_model",
    "fixed_points",
    "largest_norm",
)
PARTS += [results("bn_decomposed/claims.csv")]
FIGURES += figures("bn_decomposed", *BND_FIGURES)
TABLES += tables("bn_decomposed", *BND_TABLES)
DATASETS += [*BND_DATA.values(), *BND_TRAINING]


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
    cache: CACHED
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


rule bn_decomposed_random_networks:
    input:
        results("data/images.nc"),
    output:
        **{name: BND_DATA[name] for name in BND_NETWORKS},
    log:
        logs("bn_decomposed/random_networks.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=20,
    params:
        functions=[f"experiments:{name}" for name in BND_NETWORKS],
        job=[job_of(f"bn_decomposed.{section}") for section in BND_NETWORKS],
        code=[experiment("bn_decomposed", f"experiments:{name}") for name in BND_NETWORKS],
    shell:
        "python -m repdyn simulate bn_decomposed {params.functions} --job {params.job:q} --code {params.code}"
        " --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_orthogonality_gap:
    output:
        BND_DATA["orthogonality_gap"],
    log:
        logs("bn_decomposed/orthogonality_gap.log"),
    cache: CACHED
    group:
        "bn_decomposed_short"
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


rule bn_decomposed_training:
    input:
        results("data/images.nc"),
    output:
        results("bn_decomposed/data/training/{mode}.nc"),
    log:
        logs("bn_decomposed/training-{mode}.log"),
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
        job=lambda wildcards: job_of("bn_decomposed.training", device=True, mode=wildcards.mode),
        code=experiment("bn_decomposed", "experiments:training"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:training --job {params.job:q} --code {params.code}"
        " --checkpoints {log:q}.checkpoints --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_point_neurons:
    input:
        results("data/images.nc"),
    output:
        BND_DATA["point_neurons"],
    log:
        logs("bn_decomposed/point_neurons.log"),
    cache: CACHED
    group:
        "bn_decomposed_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=10,
    params:
        job=job_of("bn_decomposed.point_neurons"),
        code=experiment("bn_decomposed", "experiments:point_neurons"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:point_neurons --job {params.job:q} --code {params.code}"
        " --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_gaussian_layers:
    input:
        results("data/images.nc"),
    output:
        **{name: BND_DATA[name] for name in BND_GAUSSIAN},
    log:
        logs("bn_decomposed/gaussian_layers.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=30,
    params:
        functions=[f"experiments:{name}" for name in BND_GAUSSIAN],
        job=[job_of(f"bn_decomposed.{section}") for section in BND_GAUSSIAN],
        code=[experiment("bn_decomposed", f"experiments:{name}") for name in BND_GAUSSIAN],
    shell:
        "python -m repdyn simulate bn_decomposed {params.functions} --job {params.job:q} --code {params.code}"
        " --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_full_rank:
    output:
        **{name: BND_DATA[name] for name in BND_RANK},
    log:
        logs("bn_decomposed/full_rank.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=30,
    params:
        functions=[f"experiments:{name}" for name in BND_RANK],
        job=[job_of(f"bn_decomposed.{section}") for section in BND_RANK],
        code=[experiment("bn_decomposed", f"experiments:{name}") for name in BND_RANK],
    shell:
        "python -m repdyn simulate bn_decomposed {params.functions} --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_simplified_model:
    output:
        **{name: BND_DATA[name] for name in BND_SIMPLIFIED},
    log:
        logs("bn_decomposed/simplified_model.log"),
    cache: CACHED
    group:
        "bn_decomposed_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        functions=[f"experiments:{name}" for name in BND_SIMPLIFIED],
        job=[job_of(f"bn_decomposed.{section}") for section in BND_SIMPLIFIED],
        code=[experiment("bn_decomposed", f"experiments:{name}") for name in BND_SIMPLIFIED],
    shell:
        "python -m repdyn simulate bn_decomposed {params.functions} --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_tree_limits:
    output:
        BND_DATA["tree_limits"],
    log:
        logs("bn_decomposed/tree_limits.log"),
    cache: CACHED
    group:
        "bn_decomposed_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("bn_decomposed.tree_limits"),
        code=experiment("bn_decomposed", "experiments:tree_limits"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:tree_limits --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_odd_point:
    input:
        results("data/images.nc"),
    output:
        BND_DATA["odd_point"],
    log:
        logs("bn_decomposed/odd_point.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=20,
    params:
        job=job_of("bn_decomposed.odd_point"),
        code=experiment("bn_decomposed", "experiments:odd_point"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:odd_point --job {params.job:q}"
        " --code {params.code} --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_largest_norm:
    input:
        results("data/images.nc"),
    output:
        BND_DATA["largest_norm"],
    log:
        logs("bn_decomposed/largest_norm.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=20,
    params:
        job=job_of("bn_decomposed.largest_norm"),
        code=experiment("bn_decomposed", "experiments:largest_norm"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:largest_norm --job {params.job:q}"
        " --code {params.code} --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_figures_networks:
    input:
        BND_DATA["ablation"],
        BND_DATA["orthogonality_gap"],
        BND_DATA["layer_angles"],
        BND_DATA["fixed_point"],
    output:
        figures("bn_decomposed", *BND_FIGURES_NETWORKS),
    log:
        logs("bn_decomposed/figures_networks.log"),
    group:
        "bn_decomposed_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        names=BND_FIGURES_NETWORKS,
        code=drawing("bn_decomposed", *BND_FIGURES_NETWORKS),
    shell:
        "python -m repdyn draw bn_decomposed {params.names} --code {params.code} --inputs {input:q}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_figures_training:
    input:
        BND_TRAINING,
        BND_DATA["point_neurons"],
    output:
        figures("bn_decomposed", *BND_FIGURES_TRAINING),
    log:
        logs("bn_decomposed/figures_training.log"),
    group:
        "bn_decomposed_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        names=BND_FIGURES_TRAINING,
        code=drawing("bn_decomposed", *BND_FIGURES_TRAINING),
    shell:
        "python -m repdyn draw bn_decomposed {params.names} --code {params.code} --inputs {input:q}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_figures_rank:
    input:
        BND_DATA["rows_to_full_rank"],
    output:
        figures("bn_decomposed", *BND_FIGURES_RANK),
    log:
        logs("bn_decomposed/figures_rank.log"),
    group:
        "bn_decomposed_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        names=BND_FIGURES_RANK,
        code=drawing("bn_decomposed", *BND_FIGURES_RANK),
    shell:
        "python -m repdyn draw bn_decomposed {params.names} --code {params.code} --inputs {input:q}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_figures_simplified:
    input:
        BND_DATA["tree_example"],
        BND_DATA["tree_limits"],
        BND_DATA["interior_angles"],
    output:
        figures("bn_decomposed", *BND_FIGURES_SIMPLIFIED),
    log:
        logs("bn_decomposed/figures_simplified.log"),
    group:
        "bn_decomposed_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        names=BND_FIGURES_SIMPLIFIED,
        code=drawing("bn_decomposed", *BND_FIGURES_SIMPLIFIED),
    shell:
        "python -m repdyn draw bn_decomposed {params.names} --code {params.code} --inputs {input:q}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_figures_gaussian:
    input:
        BND_DATA["odd_point"],
        BND_DATA["activity"],
        BND_DATA["contraction"],
        BND_DATA["fixed_point"],
    output:
        figures("bn_decomposed", *BND_FIGURES_GAUSSIAN),
    log:
        logs("bn_decomposed/figures_gaussian.log"),
    group:
        "bn_decomposed_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        names=BND_FIGURES_GAUSSIAN,
        code=drawing("bn_decomposed", *BND_FIGURES_GAUSSIAN),
    shell:
        "python -m repdyn draw bn_decomposed {params.names} --code {params.code} --inputs {input:q}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_tables:
    input:
        [
            BND_DATA[name]
            for name in (
                "ablation",
                "point_neurons",
                "rows_to_full_rank",
                "tree_limits",
                "fixed_point",
                "largest_norm",
            )
        ],
        BND_TRAINING,
    output:
        tables("bn_decomposed", *BND_TABLES),
    log:
        logs("bn_decomposed/tables.log"),
    group:
        "bn_decomposed_shown"
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
        "python -m repdyn tabulate bn_decomposed {params.names} --code {params.code} --inputs {input:q}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_claims:
    input:
        BND_DATA.values(),
        BND_TRAINING,
    output:
        results("bn_decomposed/claims.csv"),
    log:
        logs("bn_decomposed/claims.log"),
    group:
        "bn_decomposed_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        code=judgement("bn_decomposed"),
    shell:
        "python -m repdyn judge bn_decomposed --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"
