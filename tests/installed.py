"""Commands with the package as a wheel installs it (fixture `site`), without the checkout on the path."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def environment(site):
    """Variables of a process that imports the package from there."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PYTHONPATH": str(site), "PATH": path}


def without_network():
    """Arguments that run a command without a network, if the system allows it."""
    alone = ("unshare", "--map-root-user", "--net")
    possible = shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True).returncode == 0
    return alone if possible else ()


def said(folder, site, *words, prefix=()):
    """Output of `python -m` with these arguments in a folder."""
    command = [*prefix, sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, env=environment(site), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def ask(folder, site, *words):
    """Output of `python -m repdyn` in a folder."""
    return said(folder, site, "repdyn", *words)
