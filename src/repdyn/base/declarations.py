"""What a study declares of itself, in its module `study.py`: title, settings, which experiments share a job.

Everything else about it derives from its folder: experiments, claims, figures and tables from the signatures of
functions, values from `values/<scale>.yaml`, what people decided from `verdicts.yaml` and `page.md`, costs from
`costs.csv`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from repdyn.base.settings import Settings

Work = Callable[[Mapping[str, Any], Mapping[str, Any]], float]
"""CPU seconds of an experiment from its settings, by parameter, and its further arguments.

Among these are what the run reads: `images`, how many, and `pixels` of each.
"""
Cut = str | tuple[str, int]
"""A knob marked by `EACH` at which an experiment may be cut; a count of trials kept in groups with the groups' size."""


@dataclass(frozen=True)
class Resources:
    """What a job asks for.

    Attributes:
        memory_mb: memory of the first try, where no record lets expect more.
        minutes: time limit on a cluster; None for half an hour, or eight hours where an experiment takes a device.
    """

    memory_mb: int = 800
    minutes: int | None = None


class Simulation:
    """Experiments that share a job.

    Args:
        name: name of the job inside the study.
        experiments: functions by name, in an order in which they can run; `("blobs", {"run": "sgd"})` is a variant,
            its dataset `data/blobs/sgd.nc`.
        cut: experiment -> knobs at which it is cut where the job is long: its trials are then computed by parts, jobs
            of their own, and this job joins them. No knobs: one part. Only what has its `work` in the study.
        resources: fields of `Resources`.
    """

    def __init__(
        self,
        name: str,
        *experiments: str | tuple[str, Mapping[str, Any]],
        cut: Mapping[str, Sequence[Cut]] | None = None,
        **resources: Any,
    ) -> None:
        self.name, self.experiments, self.resources = name, experiments, Resources(**resources)
        self.cut: Mapping[str, Sequence[Cut]] = cut or {}


class Variants:
    """Jobs of one experiment, one for each value of an argument.

    Args:
        name: name of the jobs inside the study, before the value.
        experiment: the function by name.
        key: the argument.
        values: its values, all texts or all integers, or a function that tells them from the study's settings.
        resources: fields of `Resources`.
    """

    def __init__(
        self,
        name: str,
        experiment: str,
        key: str,
        values: Sequence[str] | Sequence[int] | Callable[[Any], Sequence[str] | Sequence[int]],
        **resources: Any,
    ) -> None:
        self.name, self.experiment, self.key, self.resources = name, experiment, key, Resources(**resources)
        self._values = values

    def values(self, settings: Settings) -> list[Any]:
        """The argument's values at these settings of the study."""
        return list(self._values(settings) if callable(self._values) else self._values)


@dataclass(frozen=True)
class Explorer:
    """The interactive figure on a study's page: `page/<study>.js` of the report draws it.

    Attributes:
        title: its title.
        says: what it shows.
        still: the figure shown where scripts are off.
    """

    title: str
    says: str
    still: str


@dataclass(frozen=True)
class Opening:
    """An animation on the first page of the report: the study's `opening.js` draws it from numbers of a dataset.

    The card of its claim comes first and has it in place of a picture; without a card it stands alone above the others.

    Attributes:
        dataset: the dataset, with a dimension `time`.
        at: labels of its dimensions at which the numbers are taken.
        shows: its variables and coordinates that are shown.
        claim: the claim that its caption leads to.
        says: its caption after the name of the claim's place, with numbers of the dataset at the first and the last
            time as `{start[<variable>]}` and `{end[<variable>]}`.
        label: what is seen, for those who cannot see it.
    """

    dataset: str
    at: Mapping[str, str]
    shows: Sequence[str]
    claim: str
    says: str
    label: str


@dataclass(frozen=True)
class Study:
    """A study: a package with a module `study` that has one of these as `STUDY`.

    Attributes:
        title: its title in the report.
        settings: model of its settings.
        jobs: which experiments share a job, in an order in which they can run.
        order: its place among the studies, equal places by name: the papers by their numbers, what is above them last.
        work: experiment -> its work, where that tells its time better than the product of its settings.
        explorer: its interactive figure, if it has one.
        opening: its animation on the first page, if it has one.
    """

    title: str
    settings: type[Settings]
    jobs: tuple[Simulation | Variants, ...]
    order: int = 100
    work: Mapping[str, Work] = field(default_factory=dict)
    explorer: Explorer | None = None
    opening: Opening | None = None
