"""The end of the line: ledger, manifest, report."""

PAPERS_OWN = configuration.load([WORKFLOW / "config.yaml", WORKFLOW / "workflow" / "scales" / "paper.yaml"])


rule ledger:
    input:
        parts=PARTS,
        expected=HERE / "workflow" / "expected_verdicts.yaml",
    output:
        report(results("claims.csv"), caption="../report/ledger.rst", category="claims", labels={"name": "ledger"}),
    log:
        logs("ledger.log"),
    localrule: True
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=400,
        runtime=5,
    params:
        run=RUN,
        code=code_version("repdyn.pipeline.run.ledger:build"),
    shell:
        "python -m repdyn ledger {params.run:q} --code {params.code} --inputs {input.parts:q}"
        " --expected {input.expected:q} --output {output:q} --cost {log:q}.cost.json 2> {log:q}"


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
    localrule: True
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=400,
        runtime=5,
    params:
        logs=logs(""),
        workflow=str(HERE),
        config=lambda wildcards: canonical(CONFIG),  # a function, since text from the user may hold braces
        code=code_version("repdyn.pipeline.run.manifest:build"),
    shell:
        "python -m repdyn manifest --logs {params.logs:q} --workflow {params.workflow:q}"
        " --config {params.config:q} --code {params.code} --inputs {input:q} --output {output:q}"
        " --cost {log:q}.cost.json 2> {log:q}"


rule report:
    input:
        ledger=rules.ledger.output,
        manifest=rules.manifest.output,
        figures=FIGURES,
        tables=TABLES,
        datasets=DATASETS,
        page=files_of("src/repdyn/pipeline/report/page", "*"),
        docs=[page for part in PARTS for page in files_of("docs", f"{Path(part).parent.name}.md")],
        rules=files_of("workflow/rules", "*.smk"),
    output:
        page=results("report/index.html"),
        captions=directory(results("report/captions")),
    log:
        logs("report.log"),
    localrule: True
    conda:
        "../../envs/repdyn.yaml"
    threads: 1
    resources:
        mem_mb=400,
        runtime=5,
    params:
        workflow=str(HERE),
        makers=lambda wildcards: makers(),  # braces of wildcards in it stay as they are
        scale=json_text(configuration.differences(CONFIG, PAPERS_OWN)),
        code=code_version("repdyn.pipeline.report.build:build"),
    shell:
        "python -m repdyn report --workflow {params.workflow:q} --makers {params.makers:q} --scale {params.scale:q}"
        " --code {params.code} --inputs {input:q} --output {output.page:q} --cost {log:q}.cost.json 2> {log:q}"
