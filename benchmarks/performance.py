"""Measures the engines beside their peers and writes docs/performance.md.

    python benchmarks/performance.py                          # every row
    python benchmarks/performance.py --rows leaky "Q = 4"     # rows whose name holds one of these
    python benchmarks/performance.py --rows --rounds 9        # none: writes the page from what is stored

Needs `pip install -c envs/constraints.txt -e ".[benchmarks]"`. Measurements are kept in `performance.json`; rows that
are not measured again stay on the page as they are.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import bn_decomposed_gaussian_layers
import bn_mean_field_descent
import diagnostics_peer
import leaky_resnets_training
import numpy as np
import peers
import torch
import truncation_flow_events
import universality_engines
import universality_training
from measuring import OURS, Row, machine, measure
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[1]
STORED, PAGE = ROOT / "benchmarks" / "performance.json", ROOT / "docs" / "performance.md"
MODULES = (
    universality_engines,
    universality_training,
    leaky_resnets_training,
    bn_mean_field_descent,
    truncation_flow_events,
    bn_decomposed_gaussian_layers,
    diagnostics_peer,
)
ROWS: list[Row] = [row for module in MODULES for row in module.ROWS]
SHARE = 0.7  # of the limit that is the goal
AT_LIMIT = 0.94  # of the limit: the row has no other goal
BUSY = 0.5  # load per core from which a machine is called busy
HEAD = "| work | peer | peer | ours | peer / ours | of the limit | other peers / ours | agree to | load | on |"

BEFORE = """# Speed compared with alternatives

How fast the compiled engines are, compared with what others would write: PyTorch's standard approaches, JAX (`jit`,
`lax.scan` over steps, `vmap` over networks where that is faster), hand-written numpy and BLAS, and scipy. `python
benchmarks/performance.py` writes this page; `--rows` measures some rows again and keeps the others
(`benchmarks/performance.json`).

- **Equal results first**: losses, parameters or states of all implementations are compared, and nothing is timed if
  they differ. "agree to" is the largest difference of any implementation from the first, over the largest entry.
- **Times** are processor times on one thread, medians over rounds in which every implementation runs once;
  compilation and the first run are excluded. "peer" is the fastest alternative; its ratio to ours is the median over
  rounds, with the quartiles in parentheses. Ratios carry over to other machines, milliseconds do not.
- **The limit** is the machine's time for a part of the work that no program can avoid, measured in the same rounds:
  only the matrix products (by the faster of torch's BLAS and numpy's, at these sizes), the traffic of the weights at
  the speed of a plain copy inside a block of the same size, or the random numbers. If two apply, the larger counts.
  "-": neither products nor memory limit the work, as in a loop over a few numbers. Above 100 %: the work needs one
  pass where the limit's program needs several, or other processes slowed the limit down more.
- **load** is the mean number of running processes while the row was measured. Above half the number of cores the
  machine was busy with other work: this adds no processor time to these numbers, but caches and memory are shared.
"""


def milliseconds(seconds: float) -> str:
    """In milliseconds, three digits."""
    return f"{float(f'{1e3 * seconds:.3g}'):,.12g} ms"


def ratios(measured: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Time over ours of every peer and round, the fastest first."""
    ours = np.array(measured["seconds"][OURS])
    over = {name: np.array(times) / ours for name, times in measured["seconds"].items() if name != OURS}
    return dict(sorted(over.items(), key=lambda pair: float(np.median(pair[1]))))


def share(measured: Mapping[str, Any]) -> tuple[float, str]:
    """Share of the largest limit that ours reaches, and its kind; NaN without a limit."""
    if not measured["limits"]:
        return np.nan, ""
    ours = np.array(measured["seconds"][OURS])
    shares = {kind: float(np.median(np.array(times) / ours)) for kind, times in measured["limits"].items()}
    kind = max(shares, key=lambda name: shares[name])
    return shares[kind], kind


def cells(row: Row, measured: Mapping[str, Any], letter: str) -> list[str]:
    """A row of its table."""
    fastest, *others = ratios(measured).items()
    low, middle, high = np.quantile(fastest[1], [0.25, 0.5, 0.75])
    reached, kind = share(measured)
    times = [milliseconds(float(np.median(measured["seconds"][name]))) for name in (fastest[0], OURS)]
    apart = max(value for name, value in measured["differences"].items())
    return [
        f"{row.name}, {row.dtype}: {row.work}",
        fastest[0],
        *times,
        f"**{middle:.2f}** ({low:.2f} to {high:.2f})",
        "-" if np.isnan(reached) else f"{reached:.0%} ({kind})",
        ", ".join(f"{name} {np.median(over):.2g}" for name, over in others) or "-",
        f"{apart:.0e}",
        f"{measured['load']:.0f}",
        letter,
    ]


def machines(stored: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The different machines, in order of appearance."""
    each: list[dict[str, Any]] = []
    for measured in stored.values():
        if measured["machine"] not in each:
            each.append(measured["machine"])
    return each


def goal(row: Row, measured: Mapping[str, Any]) -> float:
    """How many times faster than the fastest peer the row is to be; NaN at its limit, where nothing is left to gain.

    The row's own goal, or less where the limit allows less: then the peer's time over that of a program at `SHARE`
    of the limit, but never to be slower than the peer.
    """
    reached, ratio = share(measured)[0], float(np.median(next(iter(ratios(measured).values()))))
    if reached >= AT_LIMIT:
        return np.nan
    return row.goal if np.isnan(reached) else min(row.goal, max(1.0, SHARE * ratio / reached))


def missed(rows: Sequence[Row], stored: Mapping[str, Any]) -> list[str]:
    """How many rows meet their goals, and those that do not."""
    short, at_limit = [], 0
    for row in rows:
        peer, over = next(iter(ratios(stored[row.key]).items()))
        ratio, (reached, kind), wanted = float(np.median(over)), share(stored[row.key]), goal(row, stored[row.key])
        at_limit += int(np.isnan(wanted))
        if round(ratio, 2) < round(wanted, 2):
            limit = "" if np.isnan(reached) else f", at {reached:.0%} of its limit ({kind})"
            short.append(f"- {row.key}: {ratio:.2f} times as fast as {peer}{limit}; goal {wanted:.2f}")
    left = len(rows) - at_limit
    return [
        "## Goals",
        "",
        "Twice as fast as the fastest peer; on events 20 times as fast as scipy, in the diagnostics as fast. Where the",
        f"limit leaves less room, the goal is {SHARE:.0%} of the limit, and never to be slower than the peer. At",
        f"{AT_LIMIT:.0%} of the limit or more nothing is left to gain: {at_limit} rows.",
        f"Of the other {left}, {left - len(short)} meet their goals. Missed:",
        "",
        *short,
    ]


def page(rows: Sequence[Row], stored: Mapping[str, Any]) -> str:
    """The page; rows without a measurement are named as such."""
    measured = [row for row in rows if row.key in stored]
    kept = {row.key: stored[row.key] for row in measured}
    found, lines = machines(kept), [BEFORE]
    for engine in dict.fromkeys(row.engine for row in rows):
        own = [row for row in rows if row.engine == engine]
        lines += [f"## {engine}", "", f"Time of one {own[0].unit}.", "", HEAD, "|" + "---|" * HEAD[1:].count("|")]
        for row in own:
            if row.key in kept:
                letter = chr(ord("A") + found.index(kept[row.key]["machine"]))
                lines.append("| " + " | ".join(cells(row, kept[row.key], letter)) + " |")
        lines += ["", *(f"Not measured yet: {row.name}, {row.dtype}." for row in own if row.key not in kept)]
    lines += [*missed(measured, kept), "", "## Machines", ""]
    for number, one in enumerate(found):
        on_it = [values for values in kept.values() if values["machine"] == one]
        loads, days = [values["load"] for values in on_it], sorted({values["day"] for values in on_it})
        busy = sum(load > BUSY * one["cores"] for load in loads)
        versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
        lines += [
            f"{chr(ord('A') + number)}: {one['processor']}, {one['cores']} cores; {versions}; measured "
            f"{' and '.join(days)}. Busy with other work in {busy} of {len(loads)} rows (load {min(loads):.0f} to "
            f"{max(loads):.0f}).",
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def read() -> dict[str, Any]:
    """Stored measurements of the rows that are still declared, in their order."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    return {row.key: stored[row.key] for row in ROWS if row.key in stored}


def write(stored: Mapping[str, Any]) -> None:
    """Stores measurements, three digits of each time, and the page."""
    known = {row.key: stored[row.key] for row in ROWS if row.key in stored}
    STORED.write_text("{\n" + ",\n".join(f'"{key}": {json.dumps(value)}' for key, value in known.items()) + "\n}\n")
    _, mark, runs = PAGE.read_text(encoding="utf-8").partition("\n## Whole runs")  # `runs.py` measures them
    PAGE.write_text(page(ROWS, known) + mark + runs, encoding="utf-8")


def rounded(values: Any) -> Any:
    """Numbers to four digits, in whatever holds them."""
    if isinstance(values, dict):
        return {key: rounded(value) for key, value in values.items()}
    if isinstance(values, list):
        return [rounded(value) for value in values]
    return float(f"{values:.4g}") if isinstance(values, float) else values


def main() -> None:
    """Measures the rows asked for; the page is written after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="*", metavar="PART", help="measure rows whose name holds one of these parts")
    parser.add_argument("--rounds", type=int, default=7, help="rounds in which all ways run once (7)")
    parser.add_argument("--compile", action="store_true", help="torch.compile as one more peer; takes long to begin")
    parser.add_argument("--list", action="store_true", help="names all rows and stops")
    options = parser.parse_args()
    threadpool_limits(1)
    torch.set_num_threads(1)
    if options.compile:
        peers.with_compile()
    asked = [row for row in ROWS if options.rows is None or any(part in row.key for part in options.rows)]
    if options.list:
        raise SystemExit("\n".join(row.key for row in ROWS))
    if options.rows and not asked:
        raise SystemExit(f"no row's name holds {' or '.join(options.rows)}; --list names all")
    for row in asked:
        measured = rounded(measure(row.build(**row.size), options.rounds))
        about = {"load": os.getloadavg()[0], "day": f"{datetime.date.today()}", "machine": machine()}
        write(read() | {row.key: measured | about})
        print(" | ".join(cells(row, measured | about, "")), flush=True)
        gc.collect()
    write(read())


if __name__ == "__main__":
    main()
