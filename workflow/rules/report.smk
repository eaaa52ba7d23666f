"""The end of the line: ledger, manifest, report."""

LEDGER = JOBS.other(
    "ledger",
    "ledger",
    reads=JOBS.outputs("decide"),
    outputs=["claims.csv", "evidence.csv"],
    run=RUN,
    expected=str(HERE / "workflow" / "expected_verdicts.yaml"),
)
MANIFEST = JOBS.other(
    "manifest",
    "manifest",
    reads=JOBS.outputs(),
    outputs=["manifest.json"],
    logs=logs(""),
    workflow=str(HERE),
    config=plain(CONFIG),
)
PAPERS_OWN = configuration.load([WORKFLOW / "config.yaml", WORKFLOW / "workflow" / "scales" / "paper.yaml"])
SITE = JOBS.other(
    "report",
    "site",
    reads=[
        "claims.csv",
        "evidence.csv",
        "manifest.json",
        *JOBS.outputs("draw", "tabulate", "simulate", "images"),
    ],
    outputs=["report/index.html"],
    workflow=str(HERE),
    rule_outputs=JOBS.rule_outputs(),
    scale=configuration.differences(CONFIG, PAPERS_OWN),
)


use rule job as ledger with:
    input:
        inputs(LEDGER),
        HERE / "workflow" / "expected_verdicts.yaml",
    output:
        report(
            results("claims.csv"),
            caption="../report/ledger.rst",
            category="claims",
            labels={"name": "ledger"},
        ),
        results("evidence.csv"),
    log:
        LEDGER.log,
    localrule: True


use rule job as manifest with:
    input:
        inputs(MANIFEST),
    output:
        MANIFEST.outputs,
    log:
        MANIFEST.log,
    localrule: True


use rule job as report with:
    input:
        inputs(SITE),
        files_of("src/repdyn/pipeline/report/page", "*"),
        [page for study in STUDIES for page in files_of("docs", f"{study}.md")],
        files_of("workflow/rules", "*.smk"),
    output:
        SITE.outputs,
        directory(results("report/captions")),
    log:
        SITE.log,
    localrule: True


JOBS.write()
