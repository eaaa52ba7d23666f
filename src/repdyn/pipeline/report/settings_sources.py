"""Where settings come from: stated by the paper, or chosen here and why; which settings of a run differ from the
paper's.

`values/sources.yaml` of a study maps dotted keys inside the study, and `study` for all of it, to
`{stated: value, where: place}` or `{chosen: reason}`. An entry for a section covers the settings below it, unless there
is a longer key; a stated mapping covers its keys. Settings shared by all studies have a file in `workflow/`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from repdyn.base.errors import ConfigError
from repdyn.pipeline.config import yaml_positions

SHARED = "workflow/settings_sources.yaml"
WHOLE = "study"
ENTRIES = ({"stated", "where"}, {"chosen"})
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
