"""`python -m repdyn measure module:function --data file.npz --out diag.nc`: the diagnostics without a script."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

MEASURES_HELP = (
    "angles, ranks, cost_of_identity, energies, collapse, classifier, sectors, pairs, targets, radial, accuracy"
)


def run(words: Sequence[str]) -> None:
    """The command `measure`."""
    parser = argparse.ArgumentParser(prog="repdyn measure", description="The papers' diagnostics on your own network.")
    parser.add_argument("maker", help="module:function that returns the network")
    add_arguments(parser)
    run_arguments(parser.parse_args(words))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `python -m repdyn measure`, beside the network `maker`."""
    parser.add_argument("--data", type=Path, required=True, help="npz: inputs and, as wanted, labels, targets, pairs")
    parser.add_argument("--out", type=Path, required=True, help="netCDF file to write")
    parser.add_argument("--layers", nargs="+", help="names as in named_modules(), input, output; default: all")
    parser.add_argument("--measures", nargs="+", help=f"some of {MEASURES_HELP}; default: all")
    parser.add_argument("--residual", nargs="+", help="layers of the residual stream, in order")
    parser.add_argument("--effective-depth", type=float, default=0.0, help="leak of the residual stream (default 0)")
    parser.add_argument("--output", help="key of the part that counts of what the network returns")
    parser.add_argument("--embeddings", help="layer that stands for the inputs, where these are token ids")
    parser.add_argument("--classifier", help="the last linear map, for NC3 and NC4; default: found")
    parser.add_argument("--features", choices=("flatten", "pool", "tokens"), default="flatten", help="rows of a layer")
    parser.add_argument("--channels", type=int, help="axis of the channels, points first: 1 or -1")
    parser.add_argument("--batch-size", type=int, help="points per forward pass; default: all at once")
    parser.add_argument("--batch-statistics", action="store_true", help="batch normalisation by these points")
    parser.add_argument("--figures", type=Path, help="folder for figures")


def run_arguments(arguments: argparse.Namespace) -> None:
    """Measures what the command line says."""
    from repdyn.diagnostics.methods import own_network

    own_network.run(
        arguments.maker,
        arguments.data,
        arguments.out,
        residual=arguments.residual,
        effective_depth=arguments.effective_depth,
        features=(arguments.features, arguments.channels),
        figures=arguments.figures,
        layers=arguments.layers,
        measures=arguments.measures,
        output=arguments.output,
        embeddings=arguments.embeddings,
        classifier=arguments.classifier,
        batch_size=arguments.batch_size,
        batch_statistics=arguments.batch_statistics,
    )
