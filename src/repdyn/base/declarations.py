"""Declaration of a study, in its module `study.py`: title, settings, which experiments share a job.

Everything else about it comes from its folder: experiments, claims, figures and tables from the signatures of
functions, values from `values/<scale>.yaml`, decisions of people from `verdicts.yaml` and `page.md`, costs from
`costs.csv`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from repdyn.base.settings import Settings

Work = Callable[[Mapping[str, Any], Mapping[str, Any]], float]
"""CPU seconds of an experiment from its settings, by parameter, and its further arguments.

These include the number of `images` that the run reads and the `pixels` of each.
"""
Cut = str | tuple[str, int]
"""A setting marked by `EACH` by which an experiment may be split; for trials cached in groups with the groups' size."""


@dataclass(frozen=True)
class Resources:
    """Resources of a job.

    Attributes:
        memory_mb: memory of the first attempt, unless records predict more.
        minutes: time limit on a cluster; None for half an hour, or eight hours if an experiment takes a device.
    """

    memory_mb: int = 800
    minutes: int | None = None


class Simulation:
    """Experiments that share a job.

    Args:
        name: name of the job inside the study.
        experiments: functions by name, in an order in which they can run; `("blobs", {"run": "sgd"})` is a variant,
            its dataset `data/blobs/sgd.nc`.
        cut: experiment -> settings by which it is split if the job is long: its trials are then computed by separate
            jobs, and this job joins them. Without settings: one such job. Only for experiments with `work` in the
            study.
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
        values: its values, all texts or all integers, or a function that returns them from the study's settings.
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
    """The interactive figure on a study's page, created by `page/<study>.js` of the report.

    Attributes:
        title: its title.
        says: what it shows.
        still: the figure shown without scripts.
    """

    title: str
    says: str
    still: str


@dataclass(frozen=True)
class Opening:
    """An animation on the first page of the report: the study's `opening.js` plots numbers of a dataset.

    The summary box of its claim comes first and shows it instead of a picture; without a box it is shown above the
    others.

    Attributes:
        dataset: the dataset, with a dimension `time`.
        at: labels of its dimensions that select the numbers.
        shows: variables and coordinates to show.
        claim: the claim linked in its caption.
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
        order: its position among the studies, equal ones by name: the papers by number, then the others.
        work: experiment -> its work, if that predicts its time better than the product of its settings.
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
