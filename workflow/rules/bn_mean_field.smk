"""Study `bn_mean_field`: a Riemannian mean field formulation of batch normalization."""

BNM_DATA = {
    name: results(f"bn_mean_field/data/{name}.nc")
    for name in (
        "gradient_audit",
        "metric_audit",
        "equivalence",
        "propagation",
        "propagation_distances",
        "equicontinuity",
        "exit_times",
        "minimisation",
        "anisotropy",
        "speed_ratio",
        "magnitudes",
        "first_step",
        "finite_batch",
    )
}
BNM_FIGURES = (
    "fig1_anisotropy",
    "directions_over_time",
    "fig2_magnitudes",
    "fig3_first_step",
    "matched_loss",
    "mean_field_limit",
    "equicontinuity_bounds",
    "global_minimum",
    "round_manifold",
    "batches_and_eps",
)
BNM_TABLES = ("speed_ratios", "first_steps", "stability")

PARTS += [results("bn_mean_field/claims.csv")]
FIGURES += figures("bn_mean_field", *BNM_FIGURES)
TABLES += tables("bn_mean_field", *BNM_TABLES)
DATASETS += [*BNM_DATA.values()]


rule bn_mean_field:
    input:
        figures("bn_mean_field", *BNM_FIGURES),
        tables("bn_mean_field", *BNM_TABLES),
        results("bn_mean_field/claims.csv"),
    localrule: True


rule bn_mean_field_gradient_audit:
    output:
        BNM_DATA["gradient_audit"],
    log:
        logs("bn_mean_field/gradient_audit.log"),
    cache: CACHED
    group:
        "bn_mean_field_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=5,
    params:
        job=job_of("bn_mean_field.gradient_audit"),
        code=experiment("bn_mean_field", "experiments.gradients:gradient_audit"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.gradients:gradient_audit --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_metric_audit:
    output:
        BNM_DATA["metric_audit"],
    log:
        logs("bn_mean_field/metric_audit.log"),
    cache: CACHED
    group:
        "bn_mean_field_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        job=job_of("bn_mean_field.metric_audit"),
        code=experiment("bn_mean_field", "experiments.metric:metric_audit"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.metric:metric_audit --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_equivalence:
    output:
        BNM_DATA["equivalence"],
    log:
        logs("bn_mean_field/equivalence.log"),
    cache: CACHED
    group:
        "bn_mean_field_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("bn_mean_field.equivalence"),
        code=experiment("bn_mean_field", "experiments.equivalence:equivalence"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.equivalence:equivalence --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_propagation:
    output:
        BNM_DATA["propagation"],
    log:
        logs("bn_mean_field/propagation.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=20,
    params:
        job=job_of("bn_mean_field.propagation"),
        code=experiment("bn_mean_field", "experiments.propagation:propagation"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.propagation:propagation --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_propagation_distances:
    input:
        BNM_DATA["propagation"],
    output:
        BNM_DATA["propagation_distances"],
    log:
        logs("bn_mean_field/propagation_distances.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=120,
    params:
        job=job_of("bn_mean_field.propagation"),
        code=experiment("bn_mean_field", "experiments.propagation:propagation_distances"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.propagation:propagation_distances --job {params.job:q}"
        " --code {params.code} --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_equicontinuity:
    output:
        BNM_DATA["equicontinuity"],
    log:
        logs("bn_mean_field/equicontinuity.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=20,
    params:
        job=job_of("bn_mean_field.equicontinuity"),
        code=experiment("bn_mean_field", "experiments.theorem4:equicontinuity"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.theorem4:equicontinuity --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_exit_times:
    output:
        BNM_DATA["exit_times"],
    log:
        logs("bn_mean_field/exit_times.log"),
    cache: CACHED
    group:
        "bn_mean_field_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        job=job_of("bn_mean_field.exit_times"),
        code=experiment("bn_mean_field", "experiments.theorem4:exit_times"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.theorem4:exit_times --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_minimisation:
    output:
        BNM_DATA["minimisation"],
    log:
        logs("bn_mean_field/minimisation.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=30,
    params:
        job=job_of("bn_mean_field.minimisation"),
        code=experiment("bn_mean_field", "experiments.minimisation:minimisation"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.minimisation:minimisation --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_anisotropy:
    output:
        BNM_DATA["anisotropy"],
    log:
        logs("bn_mean_field/anisotropy.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=20,
    params:
        job=job_of("bn_mean_field.anisotropy"),
        code=experiment("bn_mean_field", "experiments.training:anisotropy"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.training:anisotropy --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_speed_ratio:
    output:
        BNM_DATA["speed_ratio"],
    log:
        logs("bn_mean_field/speed_ratio.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=20,
    params:
        job=job_of("bn_mean_field.anisotropy"),
        code=experiment("bn_mean_field", "experiments.training:speed_ratio"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.training:speed_ratio --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_magnitudes:
    output:
        BNM_DATA["magnitudes"],
    log:
        logs("bn_mean_field/magnitudes.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=20,
    params:
        job=job_of("bn_mean_field.magnitudes"),
        code=experiment("bn_mean_field", "experiments.training:magnitudes"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.training:magnitudes --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_first_step:
    output:
        BNM_DATA["first_step"],
    log:
        logs("bn_mean_field/first_step.log"),
    cache: CACHED
    group:
        "bn_mean_field_short"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        job=job_of("bn_mean_field.first_step"),
        code=experiment("bn_mean_field", "experiments.first_step:first_step"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.first_step:first_step --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_finite_batch:
    output:
        BNM_DATA["finite_batch"],
    log:
        logs("bn_mean_field/finite_batch.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=30,
    params:
        job=job_of("bn_mean_field.finite_batch"),
        code=experiment("bn_mean_field", "experiments.batches:finite_batch"),
    shell:
        "python -m repdyn simulate bn_mean_field experiments.batches:finite_batch --job {params.job:q}"
        " --code {params.code} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_figures:
    input:
        BNM_DATA["gradient_audit"],
        BNM_DATA["metric_audit"],
        BNM_DATA["propagation_distances"],
        BNM_DATA["equicontinuity"],
        BNM_DATA["minimisation"],
        BNM_DATA["anisotropy"],
        BNM_DATA["speed_ratio"],
        BNM_DATA["magnitudes"],
        BNM_DATA["first_step"],
        BNM_DATA["finite_batch"],
    output:
        figures("bn_mean_field", *BNM_FIGURES),
    log:
        logs("bn_mean_field/figures.log"),
    group:
        "bn_mean_field_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=800,
        runtime=5,
    params:
        names=BNM_FIGURES,
        code=drawing("bn_mean_field", *BNM_FIGURES),
    shell:
        "python -m repdyn draw bn_mean_field {params.names} --code {params.code} --inputs {input:q}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_tables:
    input:
        BNM_DATA["speed_ratio"],
        BNM_DATA["first_step"],
    output:
        tables("bn_mean_field", *BNM_TABLES),
    log:
        logs("bn_mean_field/tables.log"),
    group:
        "bn_mean_field_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        names=BNM_TABLES,
        code=tabulation("bn_mean_field", *BNM_TABLES),
    shell:
        "python -m repdyn tabulate bn_mean_field {params.names} --code {params.code} --inputs {input:q}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule bn_mean_field_claims:
    input:
        BNM_DATA["gradient_audit"],
        BNM_DATA["metric_audit"],
        BNM_DATA["equivalence"],
        BNM_DATA["propagation_distances"],
        BNM_DATA["equicontinuity"],
        BNM_DATA["exit_times"],
        BNM_DATA["minimisation"],
        BNM_DATA["anisotropy"],
        BNM_DATA["speed_ratio"],
        BNM_DATA["magnitudes"],
        BNM_DATA["first_step"],
        BNM_DATA["finite_batch"],
    output:
        results("bn_mean_field/claims.csv"),
    log:
        logs("bn_mean_field/claims.log"),
    group:
        "bn_mean_field_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=5,
    params:
        code=judgement("bn_mean_field"),
    shell:
        "python -m repdyn judge bn_mean_field --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"
