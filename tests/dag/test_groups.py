"""Short jobs that share a cluster job: those of every study, also of a new one, without editing a profile."""

import ast
import re
import shutil
from pathlib import Path

import pytest
from tests.conftest import ROOT, SMOKE, snakemake
from tests.dag.declared import copy_sources

from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.graph import read_study

PROBE = """
from snakemake.dag import DAG

include: "Snakefile"

gather = DAG._update_group_components


def told(dag):
    gather(dag)
    cluster_jobs = {id(group): group for group in dag._group.values()}.values()
    print("gathered", sorted((group.groupid, len(list(group.jobs))) for group in cluster_jobs))


DAG._update_group_components = told
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A checkout to which the example study was added: its folder, no line elsewhere."""
    folder = copy_sources(tmp_path_factory.mktemp("groups") / "checkout")
    shutil.copytree(ROOT / "examples/add_a_study/relu_depth", folder / "src/repdyn/relu_depth")
    (folder / "probe.smk").write_text(PROBE)
    return folder


def gathered(checkout: Path, *arguments: str) -> list[tuple[str, int]]:
    """Group and number of its jobs of every cluster job that Snakemake would submit for several."""
    done = snakemake(checkout, "-s", "probe.smk", *arguments, "--configfile", SMOKE, "-n", "--", "all")
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"^gathered (.*)$", done.stdout + done.stderr, re.MULTILINE)
    return list(ast.literal_eval(told[-1]))


def jobs_of(study: str) -> int:
    """A job per module of figures, one for the tables and one for the claims."""
    graph = read_study(study)
    return len(graph.figures_by_module()) + bool(graph.tables) + bool(graph.claims)


@pytest.mark.slow
def test_all_short_jobs_of_a_study_share_a_cluster_job(checkout):
    wanted = [(f"{study}_shown", jobs_of(study)) for study in STUDIES] + [("relu_depth_shown", 2)]
    assert gathered(checkout, "--profile", "profiles/slurm") == sorted(wanted)
