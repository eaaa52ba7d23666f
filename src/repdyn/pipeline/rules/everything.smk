"""All rules of a project but `all`: its Snakefile names its own folder as PROJECT, includes this file and says `all`.

No included rule is what Snakemake makes where no target is given.
"""


include: "common.smk"
include: "studies.smk"
include: "report.smk"


# Docstrings, which `snakemake --list-rules` shows; of a loop's rules Snakemake reads none.
for name, makes in MAKES.items():
    rule_name = workflow.modifier.modify_rulename(name)  # of a module, where a rule may also be left out
    if workflow.is_rule(rule_name):
        workflow.get_rule(rule_name).docstring = makes


onerror:
    if summary := failed.summary(JOBS.jobs.values(), BEGAN):
        print(summary, file=sys.stderr)


onsuccess:
    if (page := Path(results("report/index.html"))).is_file():
        print(f"report: {page.absolute()}", file=sys.stderr)
    if errors := failed.errors(JOBS.jobs.values(), BEGAN):
        raise WorkflowError(errors)
