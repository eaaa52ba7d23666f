"""`python -m repdyn new my_paper`: a complete small project with one study, to be replaced file by file."""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.base.files import fresh, write_text
from repdyn.pipeline.new import added_claim, environments

TEMPLATE = Path(__file__).parent / "template"
SUFFIX = ".in"  # suffix of the template's files, which are not modules of this package
NAME = "my_paper"
TAKEN = (
    *("all", "captions", "images", "job", "ledger", "manifest", "report", "run", "site", "smoke"),
    *("claims", "config", "data", "docs", "evidence", "figures", "logs", "reference", "results", "src", "tables"),
    *("tests", "workflow", "false", "no", "null", "off", "on", "true", "yes"),
)
"""Rules, files and folders of every project, and what YAML reads as no text."""
PLACEHOLDER = re.compile("@([A-Z_]+)@")  # files with versions, taken from the current environment


def run(words: Sequence[str]) -> None:
    """Runs the command that writes a project, or adds a claim to one."""
    parser = argparse.ArgumentParser(prog="repdyn new", description="Write a project with one small study.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("name", nargs="?", help="name of the project and of its package, e.g. my_paper")
    what.add_argument("--claim", metavar="ID", help="in a project: add a claim to be filled in, e.g. my-theorem-3")
    parser.add_argument("--into", type=Path, help="new or empty folder (default: the name)")
    arguments = parser.parse_args(words)
    if arguments.claim:
        for path in added_claim.write(arguments.claim, Path()):
            print(path)
        print("\nThe run and the tests fail until these are filled in:\n\n  snakemake --cores 2 all\n  pytest")
        return
    folder = arguments.into or Path(arguments.name)
    write(arguments.name, folder)
    print(f"{folder}: written; see README.md there. To begin:\n")
    print(f'  cd {folder}\n  pip install -e ".[test]"\n  snakemake --cores 2 all\n  pytest')


def write(name: str, folder: Path) -> None:
    """Writes a project into a new folder.

    Args:
        name: name of the project, its package and its study.
        folder: a new or empty folder.

    Raises:
        ConfigError: the name is not valid for a package, is taken by an installed one or by something of every project,
            or the folder is not empty.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise ConfigError(f"{name!r} is no name for a package: small letters, digits and _, a letter first: my_paper")
    if name in TAKEN:
        raise ConfigError(f"{name!r} has a meaning of its own in every project; choose another name, e.g. my_{name}")
    if name in sys.stdlib_module_names or find_spec(name) or find_spec(f"repdyn.{name}"):
        raise ConfigError(f"{name!r} is the name of an installed package; choose another")
    short, model = name.partition("_")[0], "".join(part.capitalize() for part in name.split("_"))
    versions = environments.placeholders()
    with fresh(folder):
        for path in sorted(TEMPLATE.rglob(f"*{SUFFIX}")):
            text = path.read_text(encoding="utf-8").replace(NAME, name).replace("MyPaper", model)
            inside = str(path.relative_to(TEMPLATE)).removesuffix(SUFFIX).replace(NAME, name)
            text = re.sub(r"\bmy-(?=average|second)", f"{short}-", text)
            write_text(folder / inside, PLACEHOLDER.sub(lambda match: versions[match[1]], text))
