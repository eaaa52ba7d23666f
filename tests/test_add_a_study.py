"""The example study, added to a finished run with the commands of docs/extending.md."""

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.end_to_end.test_smoke import due

pytestmark = pytest.mark.slow
END = {"claims", "manifest", "report"}
OWN = {"relu_depth_data_data", "relu_depth_figures", "relu_depth_claims"}
THEORY = "src/repdyn/relu_depth/theory.py"


@pytest.fixture(scope="module")
def added(smoke_run, tmp_path_factory) -> Path:
    """A checkout with a finished run, and the study added as the documentation says."""
    folder = tmp_path_factory.mktemp("study") / "checkout"
    shutil.copytree(smoke_run, folder, copy_function=shutil.copy2, symlinks=True)
    shutil.copytree(ROOT / "examples", folder / "examples")
    section = (ROOT / "docs/extending.md").read_text(encoding="utf-8").split("## Add a study\n")[1]
    commands = re.search(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)[1]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = os.environ | {"PATH": path, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=6 * 3600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_added_study_runs_without_rerunning_others(added):
    root = added / "results/smoke/relu_depth"
    assert (root / "figures/correlation_map.svg").is_file()
    rows = {row["id"]: row for row in csv.DictReader((root / "claims.csv").open())}
    assert {id: row["verdict"] for id, row in rows.items()} == {"rd-kernel": "holds", "rd-rate": "holds"}
    assert all(float(row["control_margin"]) < 1 < float(row["margin"]) for row in rows.values())
    for page in ("claims", "configuration", "outputs"):
        assert "relu_depth" in (added / f"docs/{page}.md").read_text(encoding="utf-8")
    assert due(added) == END
    (added / THEORY).write_text((added / THEORY).read_text().replace("1 + rho)", "1.01 + rho)", 1))
    assert due(added) == OWN | END
