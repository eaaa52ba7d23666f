"""The end of the line: ledger, manifest, report."""


rule ledger:
    input:
        parts=PARTS,
        expected=HERE / "workflow" / "expected_verdicts.yaml",
    output:
        results("claims.csv"),
    log:
        logs("ledger.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=400,
        runtime=5,
    params:
        run=RUN,
        code=code_version("repdyn.pipeline.ledger:build"),
    shell:
        "python -m repdyn ledger {params.run:q} --inputs {input.parts:q} --expected {input.expected:q}"
        " --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


rule manifest:
    input:
        rules.ledger.output,
        PARTS,
        FIGURES,
        TABLES,
        DATASETS,
    output:
        results("manifest.json"),
    log:
        logs("manifest.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=400,
        runtime=5,
    params:
        logs=logs(""),
        workflow=str(HERE),
        config=canonical(CONFIG),
        code=code_version("repdyn.pipeline.manifest:build"),
    shell:
        "python -m repdyn manifest --logs {params.logs:q} --workflow {params.workflow:q}"
        " --config {params.config:q} --inputs {input:q} --output {output:q} 2> {log:q}"


rule report:
    input:
        ledger=rules.ledger.output,
        manifest=rules.manifest.output,
        figures=FIGURES,
        tables=TABLES,
        page=HERE / "src" / "repdyn" / "pipeline" / "report.html.j2",
    output:
        results("report/index.html"),
    log:
        logs("report.log"),
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=400,
        runtime=5,
    params:
        code=code_version("repdyn.pipeline.report:build"),
    shell:
        "python -m repdyn report --inputs {input.figures:q} {input.tables:q} --output {output:q} 2> {log:q}"
