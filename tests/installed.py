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
    """Words that put a command into a network of its own, where the system allows it."""
    alone = ("unshare", "--map-root-user", "--net")
    possible = shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True).returncode == 0
    return alone if possible else ()


def said(folder, site, *words, prefix=()):
    """What `python -m` with these words says in a folder."""
    command = [*prefix, sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, env=environment(site), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def ask(folder, site, *words):
    """What `python -m repdyn` says in a folder."""
    return said(folder, site, "repdyn", *words)
