"""`python -m repdyn reference`: the generated pages under docs/."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from repdyn.pipeline.reference import pages


def run(words: Sequence[str]) -> None:
    """Rewrites the generated pages."""
    parser = argparse.ArgumentParser(prog="repdyn reference", description="Rewrite the generated pages under docs/.")
    parser.add_argument("--root", type=Path, default=Path(), help="folder of the checkout (default: here)")
    pages.write(parser.parse_args(words).root)
