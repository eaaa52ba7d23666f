"""What is made once for all studies: images, claims, manifest, report."""

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


for job, makes in (
    (IMAGES, "The images that the studies share, of the source that the configuration names."),
    (LEDGER, "All claims of the run: verdicts, and the evidence behind them."),
    (MANIFEST, "What the run was: configuration, versions, digests of all files, costs of all jobs."),
    (SITE, "The report: a site that opens without a network, from report/index.html."),
):
    MAKES[job.rule] = makes

    rule:
        name:
            job.rule
        input:
            **inputs(job),
        output:
            shown(job),
        log:
            job.log,
        localrule: True
        conda:
            ENVIRONMENT
        container:
            CONTAINER
        threads: 1
        resources:
            mem_mb=memory(),
            runtime=30,
        shell:
            "python -m repdyn run {input.job:q} 2> {log:q}"


try:
    JOBS.write()
except RepdynError as error:  # no room, a file in the way
    raise WorkflowError(str(error)) from None
