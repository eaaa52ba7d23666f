"""False alarms of sampled claims: how often other seeds refute what the run found, against the rate derived beforehand.

A sampled claim fixes its rate with its region: the ledger's column `false_alarm` bounds the chance to refute a true
statement (the sum over its intervals, Bonferroni). Here the cheap experiments behind such claims run again with many
seeds, and the verdicts are counted.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
import scipy

from repdyn.base import claims, verdicts
from repdyn.base.errors import RepdynError
from repdyn.base.progress import Progress
from repdyn.pipeline.run.declare.jobs import Member, input_paths
from repdyn.pipeline.run.execute import members, records
from repdyn.pipeline.run.execute.loading import load_modules
from repdyn.pipeline.run.kinds import simulate

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


class Remaker:
    """Recomputes the datasets of one study.

    Args:
        root: results of a finished run, `results/<run>`, with its logs next to them or its costs in its manifest.
        study: name of the study.
    """

    def __init__(self, root: Path, study: str) -> None:
        self.root, self.study = root, study
        recorded = records.of_run(root.name, root.absolute().parents[1])
        jobs = (record["job"] for record in recorded if record["job"]["kind"] == "simulate")
        self._members: dict[str, Member] = {member["outputs"][0]: member for job in jobs for member in job["members"]}
        self._seconds = records.seconds_by_file(recorded, root.name)

    def seconds(self, names: Iterable[str]) -> float:
        """CPU seconds that datasets took with all their inputs; infinite where one has no record."""
        files = [self._files(name) for name in names]
        behind = {file for own in files for file in self._behind(own)}
        known = all(files) and behind <= self._seconds.keys()
        return sum(self._seconds[file] for file in behind) if known else math.inf

    def datasets(self, names: Iterable[str], seed: int) -> members.Inputs:
        """The named datasets, recomputed with all their inputs from another seed."""
        with tempfile.TemporaryDirectory() as folder:
            asked: Member = {"code": "", "inputs": {name: self._paths(name) for name in names}, "outputs": []}
            for file in input_paths([asked]):
                self._make(file, Path(folder), seed)
            return members.read_inputs(asked, Path(folder))

    def _behind(self, files: Iterable[str]) -> Iterator[str]:
        """Files of datasets and of their inputs, except the images."""
        for file in files:
            if file in self._members:
                yield file
                yield from self._behind(input_paths([self._members[file]]))

    def _make(self, file: str, folder: Path, seed: int) -> None:
        if (folder / file).exists():
            return
        if file not in self._members:  # the images
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.root / file, folder / file)
            return
        member = self._members[file]
        for other in input_paths([member]):
            self._make(other, folder, seed)
        simulate.run(member | {"seed": seed}, folder, None)

    def _paths(self, name: str) -> str | dict[str, str]:
        """File of a dataset, or variant -> file, as a job file names them."""
        files = self._files(name)
        single = f"{self.study}/data/{name}.nc"
        return single if files == [single] else {Path(file).stem: file for file in files}

    def _files(self, name: str) -> list[str]:
        single, folder = f"{self.study}/data/{name}.nc", f"{self.study}/data/{name}/"
        return [file for file in self._members if file == single or file.startswith(folder)]


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
