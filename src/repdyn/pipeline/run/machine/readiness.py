"""What a run needs of the machine and the network, looked at before its first job."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterable

from repdyn.base.devices import choose_device
from repdyn.base.errors import DataError
from repdyn.pipeline.config.configuration import Config

PATIENCE = 10.0  # seconds until a mirror that does not answer counts as none


def check(config: Config, *, here: bool) -> None:
    """Refuses a run that a later job would have to give up.

    Args:
        config: the run's settings.
        here: whether jobs run on this machine; a cluster's have devices of their own.

    Raises:
        DataError: `cuda` without a GPU, MNIST's files missing, or no mirror to download them from; one line.
    """
    if here and config.run.device == "cuda":
        choose_device("cuda")
    if config.data.source != "mnist":
        return
    from repdyn.base import images  # brings xarray, which reading the Snakefile otherwise does without

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
