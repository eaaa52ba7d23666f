"""Study `universality`: an effective theory of two points against deep networks."""

UNI_DATA = {}
UNI_FIGURES_TWO_POINTS = (
    "fig1_two_points",
    "fig2_architectures",
    "fig3_initial_weights",
    "fig5_final_distances",
    "fig10_depth",
    "fig11_alternatives",
    "fig12_training_loss",
    "fig15_adam",
    "n1_phase_plane",
    "n2_final_distribution",
    "n3_rich_to_lazy",
    "n5_closed_form",
    "n6_fit_losses",
)
UNI_FIGURES_DATA_SETS = (
    "fig4_digit_pairs",
    "fig6_xor",
    "fig7_blobs",
    "fig8_blob_structure",
    "fig9_structure",
    "n4_correlations",
    "fig14_taylor",
    "fig16_xor_adam",
    "fig17_blob_structure_adam",
    "fig18_structure_adam",
)
UNI_FIGURES = (*UNI_FIGURES_TWO_POINTS, *UNI_FIGURES_DATA_SETS)
UNI_TABLES_TWO_POINTS = (
    "table1_settings",
    "effective_rates",
    "altered_dynamics",
    "distances",
)
UNI_TABLES_DATA_SETS = (
    "table2_settings",
    "xor_distances",
    "blob_collapse",
    "digit_correlations",
    "digit_pairs",
)
UNI_TABLES = (*UNI_TABLES_TWO_POINTS, *UNI_TABLES_DATA_SETS)

# Theory and two points; the networks of Table 1 have a section of their own
UNI_THEORY = {
    "theory_audit": "theory_audit",
    "final_distribution": "theory_audit",
    "theory_maps": "theory_maps",
}
UNI_DEFAULT_RUNS = ("default_network", "default_ensemble", "printed_data")
UNI_TABLE_1_RUNS = ("architectures", "adam_runs", "final_distances")
UNI_FITS = (
    "architecture_fits",
    "default_network_fits",
    "default_ensemble_fits",
    "printed_data_fits",
    "adam_fits",
    "final_predictions",
)
UNI_DATA |= {
    name: results(f"universality/data/{name}.nc")
    for name in (*UNI_THEORY, *UNI_DEFAULT_RUNS, *UNI_TABLE_1_RUNS, *UNI_FITS)
}
UNI_NETWORKS = configuration.section_of(CONFIG, "universality.networks")
# What a two-point experiment gets: its own settings and the rows of Table 1 that it trains
UNI_ROWS = {
    name: {row: UNI_NETWORKS[row] for row in getattr(getattr(CONFIG.universality, name), "rows", ("default",))}
    for name in (*UNI_DEFAULT_RUNS, *UNI_TABLE_1_RUNS)
}
UNI_TWO_POINTS = {name: job_of(f"universality.{name}", device=True, networks=rows) for name, rows in UNI_ROWS.items()}
UNI_MEMORY = {name: getattr(CONFIG.universality, name).memory(rows.values(), GPU) for name, rows in UNI_ROWS.items()}


# Data sets: XOR, blobs, images of digits
UNI_BLOBS = tuple(CONFIG.universality.blobs.runs.model_dump())
UNI_IMAGE_RUNS = tuple(CONFIG.universality.image_training.runs.model_dump())
UNI_BLOB_FILES = [results(f"universality/data/blobs/{run}.nc") for run in UNI_BLOBS]
UNI_IMAGE_FILES = [results(f"universality/data/image_training/{run}.nc") for run in UNI_IMAGE_RUNS]
UNI_ANALYSES = {
    "xor_structure": "xor",
    "blob_structure": "blob_structure",
    "digit_pairs": "digit_pairs",
    "representational_structure": "representational_structure",
    "taylor_ratios": "taylor_ratios",
}
UNI_DATA |= {name: results(f"universality/data/{name}.nc") for name in ("xor", *UNI_ANALYSES)}
PARTS += [results("universality/claims.csv")]
FIGURES += figures("universality", *UNI_FIGURES)
TABLES += tables("universality", *UNI_TABLES)
DATASETS += [*UNI_DATA.values(), *UNI_BLOB_FILES, *UNI_IMAGE_FILES]


rule universality:
    input:
        figures("universality", *UNI_FIGURES),
        tables("universality", *UNI_TABLES),
        results("universality/claims.csv"),
    localrule: True


rule universality_theory:
    output:
        **{name: UNI_DATA[name] for name in UNI_THEORY},
    log:
        logs("universality/theory.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=600,
        runtime=10,
    params:
        functions=[f"experiments:{name}" for name in UNI_THEORY],
        job=[job_of(f"universality.{section}") for section in UNI_THEORY.values()],
        code=[experiment("universality", f"experiments:{name}") for name in UNI_THEORY],
    shell:
        "python -m repdyn simulate universality {params.functions} --job {params.job:q} --code {params.code}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule universality_default_network:
    output:
        **{name: UNI_DATA[name] for name in UNI_DEFAULT_RUNS},
    log:
        logs("universality/default_network.log"),
    cache: CACHED
    priority: 20
    conda:
        DEVICE_ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(max(UNI_MEMORY[name] for name in UNI_DEFAULT_RUNS)),
        runtime=240,
        gpu=GPU,
    params:
        functions=[f"experiments:{name}" for name in UNI_DEFAULT_RUNS],
        job=[UNI_TWO_POINTS[name] for name in UNI_DEFAULT_RUNS],
        code=[experiment("universality", f"experiments:{name}") for name in UNI_DEFAULT_RUNS],
    shell:
        "python -m repdyn simulate universality {params.functions} --job {params.job:q} --code {params.code}"
        " --checkpoints {log:q}.checkpoints --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule universality_table_1_networks:
    output:
        **{name: UNI_DATA[name] for name in UNI_TABLE_1_RUNS},
    log:
        logs("universality/table_1_networks.log"),
    cache: CACHED
    priority: 20
    conda:
        DEVICE_ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(max(UNI_MEMORY[name] for name in UNI_TABLE_1_RUNS)),
        runtime=480,
        gpu=GPU,
    params:
        functions=[f"experiments:{name}" for name in UNI_TABLE_1_RUNS],
        job=[UNI_TWO_POINTS[name] for name in UNI_TABLE_1_RUNS],
        code=[experiment("universality", f"experiments:{name}") for name in UNI_TABLE_1_RUNS],
    shell:
        "python -m repdyn simulate universality {params.functions} --job {params.job:q} --code {params.code}"
        " --checkpoints {log:q}.checkpoints --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule universality_fits:
    input:
        [UNI_DATA[name] for name in (*UNI_DEFAULT_RUNS, *UNI_TABLE_1_RUNS)],
    output:
        **{name: UNI_DATA[name] for name in UNI_FITS},
    log:
        logs("universality/fits.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        functions=[f"experiments:{name}" for name in UNI_FITS],
        job=[job_of("universality.fits") for name in UNI_FITS],
        code=[experiment("universality", f"experiments:{name}") for name in UNI_FITS],
    shell:
        "python -m repdyn simulate universality {params.functions} --job {params.job:q} --code {params.code}"
        " --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule universality_xor_and_images:
    input:
        results("data/images.nc"),
    output:
        **{"xor": UNI_DATA["xor"], **dict(zip(UNI_IMAGE_RUNS, UNI_IMAGE_FILES))},
    log:
        logs("universality/xor_and_images.log"),
    cache: CACHED
    priority: 10
    conda:
        DEVICE_ENVIRONMENT
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=240,
        gpu=GPU,
    params:
        functions=[
            "experiments:xor",
            *["experiments:image_training" for run in UNI_IMAGE_RUNS],
        ],
        job=[
            job_of("universality.xor", device=True),
            *[job_of("universality.image_training", device=True, run=run) for run in UNI_IMAGE_RUNS],
        ],
        code=[
            experiment("universality", "experiments:xor"),
            *[experiment("universality", "experiments:image_training") for run in UNI_IMAGE_RUNS],
        ],
    shell:
        "python -m repdyn simulate universality {params.functions} --job {params.job:q} --code {params.code}"
        " --checkpoints {log:q}.checkpoints --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule universality_blobs:
    output:
        **dict(zip(UNI_BLOBS, UNI_BLOB_FILES)),
    log:
        logs("universality/blobs.log"),
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
        functions=["experiments:blobs" for run in UNI_BLOBS],
        job=[job_of("universality.blobs", device=True, run=run) for run in UNI_BLOBS],
        code=[experiment("universality", "experiments:blobs") for run in UNI_BLOBS],
    shell:
        "python -m repdyn simulate universality {params.functions} --job {params.job:q} --code {params.code}"
        " --checkpoints {log:q}.checkpoints --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule universality_data_set_analyses:
    input:
        results("data/images.nc"),
        UNI_DATA["xor"],
        UNI_DATA["architecture_fits"],
        UNI_BLOB_FILES,
        UNI_IMAGE_FILES,
    output:
        **{name: UNI_DATA[name] for name in UNI_ANALYSES},
    log:
        logs("universality/data_set_analyses.log"),
    cache: CACHED
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=3000,
        runtime=30,
    params:
        functions=[f"experiments:{name}" for name in UNI_ANALYSES],
        job=[job_of(f"universality.{section}") for section in UNI_ANALYSES.values()],
        code=[experiment("universality", f"experiments:{name}") for name in UNI_ANALYSES],
    shell:
        "python -m repdyn simulate universality {params.functions} --job {params.job:q} --code {params.code}"
        " --inputs {input:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule universality_figures:
    input:
        UNI_DATA.values(),
    output:
        figures("universality", *UNI_FIGURES),
    log:
        logs("universality/figures.log"),
    group:
        "universality_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        names=UNI_FIGURES,
        code=drawing("universality", *UNI_FIGURES),
    shell:
        "python -m repdyn draw universality {params.names} --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule universality_tables:
    input:
        UNI_DATA.values(),
        UNI_IMAGE_FILES,
    output:
        tables("universality", *UNI_TABLES),
    log:
        logs("universality/tables.log"),
    group:
        "universality_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        names=UNI_TABLES,
        code=tabulation("universality", *UNI_TABLES),
    shell:
        "python -m repdyn tabulate universality {params.names} --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule universality_claims:
    input:
        UNI_DATA.values(),
    output:
        results("universality/claims.csv"),
    log:
        logs("universality/claims.log"),
    group:
        "universality_shown"
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=judgement("universality"),
    shell:
        "python -m repdyn judge universality --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"
