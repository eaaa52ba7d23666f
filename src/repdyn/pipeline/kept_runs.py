"""Reference results: a run's ledger, key numbers, digests, versions and costs as small text files under reference/."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pandas as pd

from repdyn.base.errors import ConfigError, DataError
from repdyn.base.files import write_json
from repdyn.base.tables import write_csv
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.run.execute import records
from repdyn.pipeline.run.kinds import ledger

FOLDER, EXCEPTIONS = "reference", "exceptions.yaml"
CLAIMS, NUMBERS, DIGESTS, RUN = "claims.csv", "numbers.csv", "digests.csv", "run.json"
FILES = "files"  # number of digests, since a list that is cut after a line looks whole
CLAIM_COLUMNS = ["id", "study", "origin", "where", "verdict", "n", "why"]
NUMBER_COLUMNS = [
    "id", "form", "part", "outcome", "value", "interval_low", "interval_high", "region_low", "region_high", "n",
]  # fmt: skip
KEY = ["id", "form", "part"]


class Manifest(TypedDict):
    """Content of `manifest.json`, explained in `docs/outputs.md`."""

    content: dict[str, str]
    verdicts: dict[str, str] | None
    configuration: dict[str, dict[str, Any]]
    versions: dict[str, str]
    machine: dict[str, object]
    commit: str
    made: str
    costs: list[records.Record]


@dataclass(frozen=True)
class Reference:
    """The stored part of a run, or the same part of another run to compare with it.

    Attributes:
        name: the folder it was read from.
        claims: a row per claim: `id study origin where verdict n why`.
        numbers: a row per part of a check: of `NUMBER_COLUMNS`.
        digests: file inside the run's results -> SHA-256.
        run: configuration, versions, machine, commit, CPU seconds per study; under `others` what of these differs for
            studies from another run.
    """

    name: str
    claims: pd.DataFrame
    numbers: pd.DataFrame
    digests: Mapping[str, str]
    run: Mapping[str, Any]

    @property
    def verdicts(self) -> dict[str, str]:
        """Claim -> verdict."""
        return dict(zip(self.claims["id"], self.claims["verdict"], strict=True))


def keep(results: Path, folder: Path, beside: bool = False) -> None:
    """Writes a finished run as a reference.

    Args:
        results: folder of the run.
        folder: the reference to replace.
        beside: whether studies of the reference that the run lacks are preserved, for a scale that is run study by
            study.

    Raises:
        DataError: the run is not finished, or the folder holds something else than a reference, or with `beside` none,
            or one with other settings.
    """
    kept = of_run(results)
    if not is_reference(folder) and folder.is_dir() and any(folder.iterdir()):
        raise DataError(f"{folder}: holds files and no reference; name another folder")
    if beside:
        kept = joined(read(folder), kept)
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    try:
        write_csv(unfinished / CLAIMS, kept.claims)
        write_csv(unfinished / NUMBERS, kept.numbers)
        write_csv(unfinished / DIGESTS, pd.DataFrame({"file": kept.digests.keys(), "sha256": kept.digests.values()}))
        write_json(unfinished / RUN, {**kept.run, FILES: len(kept.digests)})
        folder.mkdir(parents=True, exist_ok=True)
        for file in unfinished.iterdir():
            file.replace(folder / file.name)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def of_run(results: Path) -> Reference:
    """A finished run in the form of a reference.

    Raises:
        DataError: the folder has no manifest, ledger or evidence.
    """
    manifest = read_manifest(results)
    evidence = ledger.read(results / "evidence.csv", ["reading", *NUMBER_COLUMNS])
    frame = ledger.read(results / "claims.csv", CLAIM_COLUMNS)
    try:
        manifest["configuration"]["data"]["mnist_folder"] = None  # a local path
        seconds = _seconds(manifest["costs"])
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{results}/manifest.json: of another form ({error!r}); complete the run first") from error
    return Reference(
        str(results),
        frame[CLAIM_COLUMNS],
        evidence.loc[evidence["reading"] == "", NUMBER_COLUMNS],
        manifest["content"],
        {"configuration": manifest["configuration"], **_origin(manifest), "cpu_seconds": seconds},
    )


def read_manifest(results: Path) -> Manifest:
    """The manifest of a finished run, from its results folder.

    Raises:
        DataError: it is missing, damaged, or lacks one of the entries of `Manifest`.
    """
    file = results / "manifest.json"
    try:
        manifest: Manifest = json.loads(file.read_text(encoding="utf-8"))
        missing = sorted(Manifest.__required_keys__ - set(manifest))
        if missing or not all(isinstance(manifest[name], dict) for name in ("content", "configuration", "versions")):
            raise ValueError(f"no {', '.join(missing)}" if missing else "content of another form")
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{file}: no manifest of a finished run ({error}); complete the run first") from error
    return manifest


def read(folder: Path) -> Reference:
    """A stored reference.

    Raises:
        DataError: a file is missing or damaged.
    """
    claims, numbers = ledger.read(folder / CLAIMS, CLAIM_COLUMNS), ledger.read(folder / NUMBERS, NUMBER_COLUMNS)
    digests = ledger.read(folder / DIGESTS, ["file", "sha256"])
    try:
        run = json.loads((folder / RUN).read_text(encoding="utf-8"))
        if missing := sorted({"configuration", "versions", "machine", "commit", "cpu_seconds"} - set(run)):
            raise ValueError(f"no {', '.join(missing)}")
        count = run.pop(FILES, len(digests))
    except (OSError, ValueError, TypeError) as error:
        advice = "a finished run is kept by repdyn dev keep"
        raise DataError(f"{folder / RUN}: no part of a reference ({error}); {advice}") from error
    if count != len(digests):
        raise DataError(f"{folder / DIGESTS}: {len(digests)} of {count} files; keep the run again: repdyn dev keep")
    digest = dict(zip(digests["file"], digests["sha256"], strict=True))
    return Reference(str(folder), claims[CLAIM_COLUMNS], numbers[NUMBER_COLUMNS], digest, run)


def joined(former: Reference, run: Reference) -> Reference:
    """A run with the studies of an earlier reference that it lacks.

    Files of no study, such as the ledger of a whole run, are omitted if the two differ.

    Raises:
        DataError: the two differ in a setting of all studies, such as the seed or the dataset of images.
    """
    _settings_of_all(former, run)
    today = set(run.claims["study"])
    stays = former.claims[~former.claims["study"].isin(today)]
    others = list(dict.fromkeys(stays["study"]))
    made = _origin(former.run)
    before = former.run.get("others", {})
    theirs = {path: digest for path, digest in former.digests.items() if _study(path) in others}
    ours = {
        path: digest
        for path, digest in run.digests.items()
        if _study(path) in today or former.digests.get(path) == digest
    }
    settings = {name: of for name, of in former.run["configuration"].items() if name in others}
    seconds = {name: took for name, took in former.run["cpu_seconds"].items() if name in others}
    return Reference(
        run.name,
        pd.concat([stays, run.claims], ignore_index=True),
        pd.concat([former.numbers[former.numbers["id"].isin(stays["id"])], run.numbers], ignore_index=True),
        dict(sorted((theirs | ours).items())),
        {
            **run.run,
            "configuration": dict(sorted((run.run["configuration"] | settings).items())),
            "cpu_seconds": dict(sorted((run.run["cpu_seconds"] | seconds).items())),
            "others": {study: before.get(study, made) for study in others},
        },
    )


def _settings_of_all(former: Reference, run: Reference) -> None:
    """Raises if two runs differ in a setting of all studies; a setting that one of them lacks does not count."""
    there, here = former.run["configuration"], run.run["configuration"]
    for section in ("run", "data"):
        for key, value in there.get(section, {}).items():
            own = here.get(section, {}).get(key, value)
            if own != value and key != "name":
                raise DataError(
                    f"{run.name}: {section}.{key} is {own!r}, in {former.name} {value!r}; store it elsewhere"
                )


def _origin(run: Mapping[str, Any]) -> dict[str, Any]:
    """How results were computed."""
    return {name: run[name] for name in ("versions", "machine", "commit")}


def is_reference(path: Path) -> bool:
    """Whether a folder has a stored reference."""
    return (path / RUN).is_file() and (path / NUMBERS).is_file()


def ledgers(folder: Path) -> dict[str, pd.DataFrame]:
    """The claims of all references in a folder by their names, the smallest scale first; their index is the id."""
    order = ("smoke", "default", "full", "paper")
    names = [path.name for path in folder.iterdir() if is_reference(path)] if folder.is_dir() else []
    ranked = sorted(names, key=lambda name: (order.index(name) if name in order else len(order), name))
    return {name: read(folder / name).claims.set_index("id") for name in ranked}


def verdicts(folder: Path) -> dict[str, dict[str, str]]:
    """The verdicts of all references in a folder: name of the reference -> claim -> verdict."""
    return {name: verdicts_of(frame) for name, frame in ledgers(folder).items()}


def verdicts_of(claims: pd.DataFrame) -> dict[str, str]:
    """Claim -> verdict, of claims whose index is the id."""
    return {str(id): str(verdict) for id, verdict in claims["verdict"].items()}


def exceptions(folder: Path) -> dict[str, str]:
    """Claim -> why its verdict differs between reference runs other than by becoming decided.

    Raises:
        ConfigError: the file is no mapping of texts.
    """
    file = folder / EXCEPTIONS
    if not file.is_file():
        return {}
    texts = yaml_positions.values(file)
    if not all(isinstance(text, str) and text for text in texts.values()):
        raise ConfigError(f"{file}: expected claim: text on every line")
    return texts


def _study(path: str) -> str:
    """Study of a file inside a run's results; of what shared by all studies, another word."""
    return path.partition("/")[0]


def _seconds(costs: list[records.Record]) -> dict[str, float]:
    """CPU seconds by study; what shared by all studies under its jobs' names."""
    total: dict[str, float] = {}
    for record in costs:
        study = record["log"].partition("/")[0]
        total[study] = total.get(study, 0.0) + record["cpu_seconds"]
    return {study: round(seconds, 1) for study, seconds in sorted(total.items())}
