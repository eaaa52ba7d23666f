"""False alarms of sampled claims: how often other seeds refute what the run found, against the rate derived beforehand.

A sampled claim fixes its rate with its region: the ledger's column `false_alarm` bounds the chance to refute a true
statement (the sum over its intervals, Bonferroni). Here the cheap experiments behind such claims run again with many
seeds, and the verdicts are counted.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import scipy

from repdyn.base import claims, verdicts
from repdyn.base.errors import RepdynError
from repdyn.base.progress import Progress
from repdyn.pipeline.ask.remake import Remaker
from repdyn.pipeline.run.execute.loading import load_modules

FIRST_SEED = 10_001


def measure(root: Path, seeds: int, seconds: float) -> pd.DataFrame:
    """Verdicts of cheap sampled claims over many seeds.

    Args:
        root: results of a finished run; its datasets record how they were computed.
        seeds: further seeds of the run to try.
        seconds: a claim counts as cheap if its datasets with all their inputs took at most this long.

    Returns:
        One row per claim: id, derived rate, seeds, refutations (a decided verdict that differs from the run's),
        undecided, the 99 % upper limit of the rate (Clopper-Pearson), and whether the count is compatible with the
        derived rate (one-sided binomial test at .001).

    Raises:
        RepdynError: the run has no ledger, or no claim is sampled and cheap.
    """
    if not (root / "claims.csv").is_file():
        raise RepdynError(f"{root}: no ledger here; give the results folder of a finished run, e.g. results/smoke")
    ledger = pd.read_csv(root / "claims.csv", keep_default_na=False).set_index("id")
    rates = pd.to_numeric(ledger["false_alarm"], errors="coerce").fillna(0.0)
    sampled = ledger[(rates > 0) & ledger["verdict"].isin(verdicts.DECIDED)]
    counted = []
    for study, rows in sampled.groupby("study", sort=False):
        remaker = Remaker(root, str(study))
        known = {claim.id: claim for claim in claims.claims_of(*load_modules(str(study), "claims"))}
        cheap = {id: known[id] for id in rows.index if remaker.seconds(known[id].data) <= seconds}
        counts = _count(remaker, cheap, seeds) if cheap else {}
        counted += [_row(id, rates[id], counts[id], ledger["verdict"][id], seeds) for id in cheap]
    if not counted:
        raise RepdynError(f"{root}: no sampled claim is decided and takes at most {seconds} s to compute again")
    return pd.DataFrame(counted)


def _count(remaker: Remaker, cheap: dict[str, claims.Claim], seeds: int) -> dict[str, Counter[str]]:
    names = sorted({name for claim in cheap.values() for name in claim.data})
    counts: dict[str, Counter[str]] = {id: Counter() for id in cheap}
    progress = Progress(f"seeds of {remaker.study}", seeds)
    for done in range(seeds):
        datasets = remaker.datasets(names, FIRST_SEED + done)
        for id, claim in cheap.items():
            counts[id][claim(*(datasets[name] for name in claim.data)).status] += 1
        progress.step(done + 1)
    return counts


def _row(id: str, rate: float, counts: Counter[str], accepted: str, seeds: int) -> dict[str, object]:
    wrong = sum(counts[status] for status in verdicts.DECIDED if status != accepted)
    return {
        "claim": id,
        "verdict": accepted,
        "derived_rate": float(rate),
        "seeds": seeds,
        "refuted": wrong,
        "undecided": counts[verdicts.UNDECIDED],
        "upper_limit": round(float(scipy.stats.beta.ppf(0.99, wrong + 1, seeds - wrong)) if wrong < seeds else 1.0, 4),
        "compatible": bool(scipy.stats.binomtest(wrong, seeds, min(rate, 1.0), "greater").pvalue > 1e-3),
    }
