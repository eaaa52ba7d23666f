"""A run needs no network: every connection except local sockets is refused and recorded."""

import os
import subprocess
import sys

import pytest
from tests.conftest import SMOKE, copy_checkout, snakemake
from tests.pipeline import jobs_for_tests

pytestmark = pytest.mark.slow
BLOCK = """
import os, socket, sys

with open(os.environ["ATTEMPTS"] + ".blocked", "a") as file:
    file.write(" ".join(sys.orig_argv) + "\\n")

def _refused(self, address, *rest):
    if self.family == socket.AF_UNIX:
        return _connect(self, address, *rest)
    with open(os.environ["ATTEMPTS"], "a") as file:
        file.write(f"{address}\\n")
    raise OSError(101, "Network is unreachable")

def _unknown(host, *rest, **options):
    _refused(socket.socket(), host)

_connect = socket.socket.connect
socket.socket.connect = socket.socket.connect_ex = _refused
socket.getaddrinfo = socket.gethostbyname = _unknown
"""
TARGETS = ("results/smoke/data/images.nc", "results/smoke/bn_decomposed/data/cluster_rows.nc")


@pytest.fixture
def offline(tmp_path):
    """Environment of processes whose every Python is without a network; attempts are recorded in a file."""
    (tmp_path / "block").mkdir()
    (tmp_path / "block/sitecustomize.py").write_text(BLOCK)
    return {"PYTHONPATH": str(tmp_path / "block"), "ATTEMPTS": str(tmp_path / "attempts")}


def test_run_works_offline(tmp_path, offline):
    folder = copy_checkout(tmp_path / "checkout")
    done = snakemake(folder, "--cores", "1", "--configfile", SMOKE, "--", *TARGETS, variables=offline)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all((folder / target).is_file() for target in TARGETS)
    assert not (tmp_path / "attempts").exists()
    blocked = (tmp_path / "attempts.blocked").read_text()
    assert blocked.count("-m repdyn run ") >= 2


def test_offline_download_error_names_file_and_setting(tmp_path, offline):
    """Control: the block refuses connections and records them."""
    member = {
        "source": "mnist",
        "split": "test",
        "mnist_folder": None,
        "mnist_mirrors": ["https://example.org/mnist"],
        "code": "c",
    }
    file = jobs_for_tests.write(
        tmp_path, member | {"inputs": {}, "outputs": ["data/images.nc"]}, kind="images", name="images"
    )
    words = [sys.executable, "-m", "repdyn", "run", str(file)]
    paths = os.pathsep.join([offline["PYTHONPATH"], *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | offline | {"PYTHONPATH": paths, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "t10k-images-idx3-ubyte.gz" in done.stderr.splitlines()[-1]
    assert "data.mnist_folder" in done.stderr
    assert "example.org" in (tmp_path / "attempts").read_text()
    assert not list(tmp_path.rglob("images.nc"))
