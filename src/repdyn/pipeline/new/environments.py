"""Pinned versions for a new project's environments: those of the current environment."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution

ENGINE = "repdyn"
BESIDE = ("pytest",)
"""What a project needs besides repdyn: its extra `test`."""
CONDA_NAMES = {"matplotlib": "matplotlib-base", "ruamel-yaml": "ruamel.yaml"}
TORCH = {"CONDA_CPU": "pytorch-cpu", "CONDA_GPU": "pytorch-gpu"}
NOT_IN_JOBS = ("snakemake",)
REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def placeholders() -> dict[str, str]:
    """Placeholder of the template -> its replacement."""
    versions = installed([ENGINE, *BESIDE])
    conda = {CONDA_NAMES.get(name, name): versions[name] for name in _requirements(ENGINE) if name in versions}
    jobs = {name: version.split(".post")[0] for name, version in conda.items() if name not in NOT_IN_JOBS}
    return {
        "PYTHON": ".".join(platform.python_version_tuple()[:2]),
        "REPDYN": versions[ENGINE],
        "CONSTRAINTS": "\n".join(f"{name}=={version}" for name, version in sorted(versions.items())),
        **{key: _dependencies(jobs, torch) for key, torch in TORCH.items()},
    }


def installed(names: Iterable[str]) -> dict[str, str]:
    """Versions of these distributions and of all their requirements, without local version labels.

    Distributions that are not installed (for other systems, or extras) are omitted.
    """
    todo, versions = [*names], dict[str, str]()
    while todo:
        name = todo.pop()
        try:
            version = distribution(name).version
        except PackageNotFoundError:
            continue
        if name not in versions:
            versions[name] = version.partition("+")[0]
            todo += _requirements(name)
    return versions


def _requirements(name: str) -> list[str]:
    """Requirements of a distribution without extras, with normalized names."""
    wanted = (text for text in distribution(name).requires or [] if "extra ==" not in text)
    return [re.sub(r"[-_.]+", "-", match[0]).lower() for text in wanted if (match := REQUIREMENT.match(text))]


def _dependencies(jobs: dict[str, str], torch: str) -> str:
    named = {torch if name == "torch" else name: version for name, version in jobs.items()}
    return "\n".join(f"  - {name}={version}" for name, version in sorted(named.items()))
