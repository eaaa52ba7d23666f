"""Settings that a claim depends on: sections of the configuration read by the experiments behind its datasets.

Each dataset records its settings; a section is the part of the configuration with them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from repdyn.pipeline import studies
from repdyn.pipeline.report.contents import Contents, Row
from repdyn.pipeline.report.settings_sources import Setting
from repdyn.pipeline.run.declare.graph import read_study

SHARED = "data"  # section of the images, a dataset shared by all studies


def sections(claim: Row, contents: Contents, settings: Sequence[Setting]) -> list[tuple[str, str]]:
    """Sections by dotted key, each with the key of its first setting; a section within another one is included in it.

    Args:
        claim: its row of the ledger.
        contents: the run.
        settings: those of the page that lists the settings of the claim's study.
    """
    study = claim["study"]
    sections = {study: contents.manifest["configuration"].get(study, {})}
    recorded = {data["file"]: data for data in contents.data.get(study, ())}
    found: list[str] = []
    behind = _behind(study, claim["datasets"].split())
    for file in (file for name in behind for file in contents.files_of(study, [name])):
        if file in recorded:
            own = json.loads(recorded[file]["settings"]).get("settings", {})
            experiment = recorded[file]["experiment"].rpartition(":")[2]
            found += [key for part in own.values() for key in _place(part, sections, experiment)]
        else:
            found.append(SHARED)
    outer = [key for key in dict.fromkeys(found) if not any(key.startswith(f"{other}.") for other in found)]
    firsts = ((key, next((one.key for one in settings if one.key.startswith(f"{key}.")), "")) for key in outer)
    return [(key, first) for key, first in firsts if first]


def _behind(study: str, names: Iterable[str]) -> list[str]:
    """Datasets, then their inputs, and so on; each once."""
    experiments = read_study(study).experiments if study in studies.declared() else {}
    known = list(dict.fromkeys(names))
    for name in known:  # grows while it is read
        if name in experiments:
            known += [read for read in experiments[name].reads if read not in known]
    return known


def _place(settings: object, tree: Mapping[str, object], experiment: str) -> list[str]:
    """Key of the section with these settings; among equal ones that with the experiment's name, if any."""
    if not isinstance(settings, Mapping) or not settings:
        return []
    keys = [key for key, section in _sections(tree) if settings.items() <= section.items()]
    return [key for key in keys if key.rpartition(".")[2] == experiment] or keys[:1]


def _sections(tree: Mapping[str, object], path: str = "") -> Iterator[tuple[str, Mapping[str, object]]]:
    for name, part in tree.items():
        if isinstance(part, Mapping):
            key = f"{path}.{name}" if path else name
            yield key, part
            yield from _sections(part, key)
