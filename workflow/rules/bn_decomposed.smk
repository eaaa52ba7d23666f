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
BND_TABLES_NETWORKS = ("ablation", "training", "point_neurons")
BND_TABLES_RANK = ("full_rank",)
BND_TABLES_SIMPLIFIED = ("simplified_model",)
BND_TABLES_GAUSSIAN = ("fixed_points", "largest_norm")
BND_TABLES = (*BND_TABLES_NETWORKS, *BND_TABLES_RANK, *BND_TABLES_SIMPLIFIED, *BND_TABLES_GAUSSIAN)
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


rule bn_decomposed_training:
    input:
        results("data/images.nc"),
    output:
        results("bn_decomposed/data/training/{mode}.nc"),
    log:
        logs("bn_decomposed/training-{mode}.log"),
    priority: 10
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=240,
    params:
        job=lambda wildcards: job_of("bn_decomposed.training", device=True, mode=wildcards.mode),
        code=experiment("bn_decomposed", "experiments:training"),
        checkpoints=logs("checkpoints"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:training --job {params.job:q} --code {params.code}"
        " --checkpoints {params.checkpoints:q} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_point_neurons:
    input:
        results("data/images.nc"),
    output:
        BND_DATA["point_neurons"],
    log:
        logs("bn_decomposed/point_neurons.log"),
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


rule bn_decomposed_sign_cells:
    output:
        BND_DATA["sign_cells"],
    log:
        logs("bn_decomposed/sign_cells.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=10,
    params:
        job=job_of("bn_decomposed.sign_cells"),
        code=experiment("bn_decomposed", "experiments:sign_cells"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:sign_cells --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_stalled_rows:
    output:
        BND_DATA["stalled_rows"],
    log:
        logs("bn_decomposed/stalled_rows.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("bn_decomposed.stalled_rows"),
        code=experiment("bn_decomposed", "experiments:stalled_rows"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:stalled_rows --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_rows_to_full_rank:
    output:
        BND_DATA["rows_to_full_rank"],
    log:
        logs("bn_decomposed/rows_to_full_rank.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=20,
    params:
        job=job_of("bn_decomposed.rows_to_full_rank"),
        code=experiment("bn_decomposed", "experiments:rows_to_full_rank"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:rows_to_full_rank --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_full_rank_tail:
    output:
        BND_DATA["full_rank_tail"],
    log:
        logs("bn_decomposed/full_rank_tail.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        job=job_of("bn_decomposed.full_rank_tail"),
        code=experiment("bn_decomposed", "experiments:full_rank_tail"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:full_rank_tail --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_relu_rank:
    output:
        BND_DATA["relu_rank"],
    log:
        logs("bn_decomposed/relu_rank.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("bn_decomposed.relu_rank"),
        code=experiment("bn_decomposed", "experiments:relu_rank"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:relu_rank --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_cluster_rows:
    output:
        BND_DATA["cluster_rows"],
    log:
        logs("bn_decomposed/cluster_rows.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        job=job_of("bn_decomposed.cluster_rows"),
        code=experiment("bn_decomposed", "experiments:cluster_rows"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:cluster_rows --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_split_rows:
    output:
        BND_DATA["split_rows"],
    log:
        logs("bn_decomposed/split_rows.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        job=job_of("bn_decomposed.split_rows"),
        code=experiment("bn_decomposed", "experiments:split_rows"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:split_rows --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_tree_example:
    output:
        BND_DATA["tree_example"],
    log:
        logs("bn_decomposed/tree_example.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        job=job_of("bn_decomposed.tree_example"),
        code=experiment("bn_decomposed", "experiments:tree_example"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:tree_example --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_narrow_gap:
    output:
        BND_DATA["narrow_gap"],
    log:
        logs("bn_decomposed/narrow_gap.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        job=job_of("bn_decomposed.narrow_gap"),
        code=experiment("bn_decomposed", "experiments:narrow_gap"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:narrow_gap --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_tree_limits:
    output:
        BND_DATA["tree_limits"],
    log:
        logs("bn_decomposed/tree_limits.log"),
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


rule bn_decomposed_interior_angles:
    output:
        BND_DATA["interior_angles"],
    log:
        logs("bn_decomposed/interior_angles.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        job=job_of("bn_decomposed.interior_angles"),
        code=experiment("bn_decomposed", "experiments:interior_angles"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:interior_angles --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_several_coordinates:
    output:
        BND_DATA["several_coordinates"],
    log:
        logs("bn_decomposed/several_coordinates.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        job=job_of("bn_decomposed.several_coordinates"),
        code=experiment("bn_decomposed", "experiments:several_coordinates"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:several_coordinates --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_relu_moments:
    input:
        results("data/images.nc"),
    output:
        BND_DATA["relu_moments"],
    log:
        logs("bn_decomposed/relu_moments.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        job=job_of("bn_decomposed.relu_moments"),
        code=experiment("bn_decomposed", "experiments:relu_moments"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:relu_moments --job {params.job:q}"
        " --code {params.code} --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_gaussian_layer:
    output:
        BND_DATA["gaussian_layer"],
    log:
        logs("bn_decomposed/gaussian_layer.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=10,
    params:
        job=job_of("bn_decomposed.gaussian_layer"),
        code=experiment("bn_decomposed", "experiments:gaussian_layer"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:gaussian_layer --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_contraction:
    output:
        BND_DATA["contraction"],
    log:
        logs("bn_decomposed/contraction.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("bn_decomposed.contraction"),
        code=experiment("bn_decomposed", "experiments:contraction"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:contraction --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_odd_point:
    input:
        results("data/images.nc"),
    output:
        BND_DATA["odd_point"],
    log:
        logs("bn_decomposed/odd_point.log"),
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


rule bn_decomposed_activity:
    input:
        results("data/images.nc"),
    output:
        BND_DATA["activity"],
    log:
        logs("bn_decomposed/activity.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("bn_decomposed.activity"),
        code=experiment("bn_decomposed", "experiments:activity"),
    shell:
        "python -m repdyn simulate bn_decomposed experiments:activity --job {params.job:q}"
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
        "python -m repdyn draw bn_decomposed {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_figures_training:
    input:
        BND_TRAINING,
        BND_DATA["point_neurons"],
    output:
        figures("bn_decomposed", *BND_FIGURES_TRAINING),
    log:
        logs("bn_decomposed/figures_training.log"),
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
        "python -m repdyn draw bn_decomposed {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_figures_rank:
    input:
        BND_DATA["rows_to_full_rank"],
    output:
        figures("bn_decomposed", *BND_FIGURES_RANK),
    log:
        logs("bn_decomposed/figures_rank.log"),
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
        "python -m repdyn draw bn_decomposed {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_figures_simplified:
    input:
        BND_DATA["tree_example"],
        BND_DATA["tree_limits"],
        BND_DATA["interior_angles"],
    output:
        figures("bn_decomposed", *BND_FIGURES_SIMPLIFIED),
    log:
        logs("bn_decomposed/figures_simplified.log"),
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
        "python -m repdyn draw bn_decomposed {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


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
        "python -m repdyn draw bn_decomposed {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_tables:
    input:
        BND_DATA["ablation"],
        BND_DATA["point_neurons"],
        BND_TRAINING,
    output:
        tables("bn_decomposed", *BND_TABLES_NETWORKS),
    log:
        logs("bn_decomposed/tables.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        names=BND_TABLES_NETWORKS,
        code=tabulation("bn_decomposed", *BND_TABLES_NETWORKS),
    shell:
        "python -m repdyn tabulate bn_decomposed {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_tables_rank:
    input:
        BND_DATA["rows_to_full_rank"],
    output:
        tables("bn_decomposed", *BND_TABLES_RANK),
    log:
        logs("bn_decomposed/tables_rank.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        names=BND_TABLES_RANK,
        code=tabulation("bn_decomposed", *BND_TABLES_RANK),
    shell:
        "python -m repdyn tabulate bn_decomposed {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_tables_simplified:
    input:
        BND_DATA["tree_limits"],
    output:
        tables("bn_decomposed", *BND_TABLES_SIMPLIFIED),
    log:
        logs("bn_decomposed/tables_simplified.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        names=BND_TABLES_SIMPLIFIED,
        code=tabulation("bn_decomposed", *BND_TABLES_SIMPLIFIED),
    shell:
        "python -m repdyn tabulate bn_decomposed {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_tables_gaussian:
    input:
        BND_DATA["fixed_point"],
        BND_DATA["largest_norm"],
    output:
        tables("bn_decomposed", *BND_TABLES_GAUSSIAN),
    log:
        logs("bn_decomposed/tables_gaussian.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        names=BND_TABLES_GAUSSIAN,
        code=tabulation("bn_decomposed", *BND_TABLES_GAUSSIAN),
    shell:
        "python -m repdyn tabulate bn_decomposed {params.names} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule bn_decomposed_claims:
    input:
        BND_DATA.values(),
        BND_TRAINING,
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
