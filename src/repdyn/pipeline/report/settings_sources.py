"""Where settings come from: stated by the paper, or chosen here and why; which settings of a run differ from the
paper's, and which settings a claim depends on.

`values/sources.yaml` of a study maps dotted keys inside the study, and `study` for all of it, to
`{stated: value, where: place}` or `{chosen: reason}`. An entry for a section covers the settings below it, unless there
is a longer key; a stated mapping covers its keys. Settings shared by all studies have a file in `workflow/`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.pipeline import studies
from repdyn.pipeline.config import yaml_positions
from repdyn.pipeline.report.contents import Contents, Row
from repdyn.pipeline.run.declare.graph import read_study

SHARED = "workflow/settings_sources.yaml"
WHOLE = "study"
ENTRIES = ({"stated", "where"}, {"chosen"})
IMAGES = "data"  # section of the images, a dataset shared by all studies
UNCOVERED = ("run", "data.mnist_folder", "data.mnist_mirrors")  # of the workflow, not of an experiment


@dataclass(frozen=True)
class Setting:
    """A setting of a run with its source.

    Attributes:
        key: dotted key.
        value: its value in this run.
        is_stated: whether the paper states it.
        stated: the paper's value, where stated.
        where: the place in the paper, where stated.
        reason: why it was chosen, where not stated.
    """

    key: str
    value: object
    is_stated: bool = False
    stated: object = None
    where: str = ""
    reason: str = ""

    @property
    def differs(self) -> bool:
        """Whether the paper states another value."""
        return self.is_stated and self.value != self.stated


def read_all(shared: Path, files: Mapping[str, Path]) -> dict[str, dict[str, object]]:
    """The sources of all settings by dotted key.

    Args:
        shared: the file of the settings that shared by all studies, if there is one.
        files: study -> its file.
    """
    sources = read(shared) if shared.is_file() else {}
    for study, path in files.items():
        sources |= {study if key == WHOLE else f"{study}.{key}": entry for key, entry in read(path).items()}
    return sources


def read(path: Path) -> dict[str, dict[str, object]]:
    """The sources of settings in one file, by dotted key.

    Raises:
        ConfigError: the file is missing or no mapping, or an entry is neither stated (with its place) nor chosen.
    """
    sources = yaml_positions.values(path)
    for key, entry in sources.items():
        if not isinstance(entry, dict) or set(entry) not in ENTRIES:
            raise ConfigError(f"{path}: {key}: expected either stated and where, or chosen; got {entry!r}")
    return sources


def settings(configuration: Mapping[str, object], sources: Mapping[str, Mapping[str, object]]) -> list[Setting]:
    """Every setting of a run that an experiment reads, in the order of the configuration."""
    sections = tuple(f"{section}." for section in UNCOVERED)
    leaves = [(key, value) for key, value in _leaves(configuration) if not f"{key}.".startswith(sections)]
    return [_setting(key, value, sources) for key, value in leaves]


def source_of(key: str, sources: Mapping[str, Mapping[str, object]]) -> tuple[str, object]:
    """The longest key of `sources` that covers a setting, "" for none, and the setting's stated value, if any."""
    parts = key.split(".")
    for end in range(len(parts), 0, -1):
        entry = sources.get(start := ".".join(parts[:end]), {})
        if "chosen" in entry:
            return start, None
        value = entry.get("stated")
        for name in parts[end:]:
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            return start, value
    return "", None


def _setting(key: str, value: object, sources: Mapping[str, Mapping[str, object]]) -> Setting:
    start, stated = source_of(key, sources)
    if stated is not None:
        return Setting(key, value, True, stated, str(sources[start]["where"]))
    return Setting(key, value, reason=str(sources.get(start, {}).get("chosen", "no reason is recorded")))


def _leaves(part: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(part, Mapping) and part:
        for name, value in part.items():
            yield from _leaves(value, f"{path}.{name}" if path else str(name))
    else:
        yield path, part


def behind_claim(claim: Row, contents: Contents, settings: Sequence[Setting]) -> list[tuple[str, str]]:
    """Sections that experiments behind a claim's datasets read, by dotted key, each with the key of its first setting.

    A dataset records its settings; its section is the part of the configuration with them. A section within another one
    is included in it.

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
            found.append(IMAGES)
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
