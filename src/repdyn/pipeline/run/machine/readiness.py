"""Requirements of a run on machine and network, checked before its first job."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterable

from repdyn.base.devices import choose_device
from repdyn.base.errors import DataError
from repdyn.pipeline.config.configuration import Config

PATIENCE = 10.0  # timeout in seconds for a mirror


def check(config: Config, *, here: bool) -> None:
    """Rejects a run in which a later job would fail.

    Args:
        config: the run's settings.
        here: whether jobs run on this machine; cluster nodes have other devices.

    Raises:
        DataError: `cuda` without a GPU, MNIST's files missing, or no mirror to download them from; one line.
    """
    if here and config.run.device == "cuda":
        choose_device("cuda")
    if config.data.source != "mnist":
        return
    from repdyn.base import images  # imports xarray, which reading the Snakefile otherwise avoids

    if config.data.mnist_folder is not None:
        images.locate_mnist(config.data.mnist_folder, config.data.split)
    elif names := images.not_downloaded(config.data.split):
        _reach(f"{mirror.rstrip('/')}/{names[0]}" for mirror in config.data.mnist_mirrors)


def _reach(addresses: Iterable[str]) -> None:
    failures = []
    for address in addresses:
        request = urllib.request.Request(address, method="HEAD")
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE):
                return
        except OSError as error:
            failures.append(f"{address}: {error}")
    raise DataError(
        f"MNIST cannot be downloaded ({'; '.join(failures)}). Without a network, put its files into a folder and "
        "name it in data.mnist_folder, or set data.source to digits"
    )
