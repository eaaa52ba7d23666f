"""The end of the line: ledger, manifest, report."""

from repdyn.pipeline.report.texts import FILES, FOLDERS

LEDGER = JOBS.other(
    "ledger",
    "ledger",
    reads=JOBS.outputs("decide"),
    outputs=["claims.csv", "evidence.csv"],
    run=RUN,
    expected=[os.path.relpath(path) for path in studies.files(studies.ACCEPTED).values()],
    texts=texts_of_studies(studies.ACCEPTED),
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
CODE_SHOWN = ("claims", "figures", "tables")
SITE = JOBS.other(
    "report",
    "site",
    reads=[
        "claims.csv",
        "evidence.csv",
        "manifest.json",
        *JOBS.outputs("draw", "tabulate", "simulate", "images"),
    ],
    outputs=[f"report/{part}" for part in (*FILES, *FOLDERS)],
    workflow=str(HERE),
    made=JOBS.rule_outputs(),
    declared={
        study: f"{declared.title}; {declared.explorer}; {declared.opening}"
        for study, declared in studies.declared().items()
    },
    folders={study: os.path.relpath(folder) for study, folder in studies.folders().items()},
    texts=texts("reference/**/*", "workflow/settings_sources.yaml")
    + digests([*(SOURCE / "repdyn/pipeline/report/page").rglob("*"), SOURCE / "repdyn/base/site.css"])
    + texts_of_studies(
        *(studies.PAGE, studies.ACCEPTED, studies.SOURCES, studies.REPLIES, studies.EXPLORER, studies.OPENING),
        *(f"{part}.py" for part in CODE_SHOWN),
        *(f"{part}/**/*.py" for part in CODE_SHOWN),
    ),
)


use rule job as ledger with:
    input:
        **inputs(LEDGER),
    output:
        report(
            results("claims.csv"),
            caption="ledger.rst",
            category="claims",
            labels={"name": "ledger"},
        ),
        results("evidence.csv"),
    log:
        LEDGER.log,
    localrule: True


use rule job as manifest with:
    input:
        **inputs(MANIFEST),
    output:
        MANIFEST.outputs,
    log:
        MANIFEST.log,
    localrule: True


use rule job as report with:
    input:
        **inputs(SITE),
    output:
        [path if Path(path).suffix else directory(path) for path in SITE.outputs],
    log:
        SITE.log,
    localrule: True


try:
    JOBS.write()
except RepdynError as error:  # no room, a file in the way
    raise WorkflowError(str(error)) from None
