"""Images of digits: scikit-learn's, always available, or MNIST from a folder of the user or from the network.

Every file is checked against a known SHA-256 before a pixel is used. A download keeps its files in the user's cache
folder, so it happens once.
"""

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from repdyn.base.datasets import index, variable
from repdyn.base.errors import DataError

SPLITS = {
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
}
"""File names of MNIST's images and labels."""

CHOICES = {"test": ("test",), "train": ("train",), "both": ("train", "test")}
"""Choices of splits, and the splits that each contains, in the order of the points."""

SHA256 = {
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
}
"""SHA-256 of MNIST's files as they are without gzip."""

DOWNLOADS = {
    "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
"""Files to download: names at the mirrors and SHA-256."""

DIGITS_SHA256 = (
    "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3",
    "8ba4f891220f5e4c9c819638d1602d74b83618f167043c6da52a2a247841ddf0",
)
"""SHA-256 of scikit-learn's digits as unsigned bytes, point after point; images, labels."""

IMAGES, LABELS = 2051, 2049
CONTENTS = {IMAGES: "images", LABELS: "labels"}
"""Magic numbers of IDX files of unsigned bytes, 0x08 (type), then the number of dimensions."""


def load_images(
    source: str,
    mnist_folder: str | Path | None = None,
    mnist_mirrors: Iterable[str] = (),
    *,
    split: str = "test",
    checksums: Mapping[str, str] = SHA256,
) -> xr.Dataset:
    """Images with their labels, pixels from 0 (empty) to 1 (full ink).

    Args:
        source: "digits" (1797 images of 8 x 8) or "mnist" (28 x 28).
        mnist_folder: folder with the IDX files of MNIST, plain or gzipped; None downloads the required ones.
        mnist_mirrors: addresses to download from, tried in turn.
        split: of MNIST, "test" (10,000 images), "train" (60,000) or "both" (70,000, the training images first);
            the digits have no splits.
        checksums: SHA-256 by file name, for data in the format and under the names of MNIST.

    Returns:
        Dataset with `image` (point, row, column), float64, and `label` (point,); the attributes `source`,
        `split`, `sha256_images` and `sha256_labels` say what was read, digests in the order of the splits.

    Raises:
        DataError: `source` or `split` is unknown, or a file is missing, damaged or unexpected; with what to do.
    """
    if source == "digits":
        return _digits()
    if source != "mnist":
        raise DataError(f"source is {source!r}; expected 'digits' or 'mnist'")
    folder = mnist_folder or download_mnist(mnist_mirrors, files=_downloads(split))
    return _mnist(folder, split, checksums)


def locate_mnist(folder: str | Path, split: str = "test") -> list[tuple[Path, Path]]:
    """Files of images and labels of the selected splits, without opening them: a check before any job.

    Raises:
        DataError: the folder or a file is missing, or `split` is unknown; one line with what to do.
    """
    folder = Path(folder).expanduser()
    names = [SPLITS[part] for part in _parts(split)]
    wanted = ", ".join(name for pair in names for name in pair)
    settings = "data.mnist_folder or data.split, or set data.source to digits"
    remedy = f"put {wanted} there (plain or .gz), correct {settings}"
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else f"does not exist ({folder.absolute()})"
        raise DataError(f"{folder} {what}: {remedy}")
    present = {name: path for pair in names for name in pair if (path := _present(folder, name))}
    if missing := [name for pair in names for name in pair if name not in present]:
        held = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
        raise DataError(f"{folder} has no {', no '.join(missing)} (it holds {held}): {remedy}")
    return [(present[images], present[labels]) for images, labels in names]


def _parts(split: str) -> tuple[str, ...]:
    if split not in CHOICES:
        raise DataError(f"data.split is {split!r}; expected one of {', '.join(CHOICES)}")
    return CHOICES[split]


def _downloads(split: str) -> dict[str, str]:
    """File names at the mirrors and SHA-256 for the selected splits."""
    names = [f"{name}.gz" for part in _parts(split) for name in SPLITS[part]]
    return {name: DOWNLOADS[name] for name in names}


def not_downloaded(split: str = "test") -> list[str]:
    """Files of MNIST that a download would still have to fetch into the user's cache folder."""
    return [name for name in _downloads(split) if not (_cache() / name).is_file()]


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("repdyn")) / "mnist"


def download_mnist(mirrors: Iterable[str], cache: Path | None = None, *, files: Mapping[str, str] = DOWNLOADS) -> Path:
    """Fetches files of MNIST into the user's cache folder, each once; every file is checked by SHA-256.

    Args:
        mirrors: https addresses of folders with the files, tried in turn for each file.
        cache: folder for the files; None for the user's cache folder.
        files: files to fetch, SHA-256 by file name.

    Returns:
        The folder.

    Raises:
        DataError: an address is not https; or no mirror provided a file: the text names each failure and the
            alternatives.
    """
    import pooch

    mirrors = list(mirrors)
    if others := [mirror for mirror in mirrors if not mirror.startswith("https://")]:
        raise DataError(f"data.mnist_mirrors: {others[0]!r} is not an address that starts with https://; correct it")
    folder = Path(cache or _cache())
    for name, digest in files.items():
        failures = []
        for mirror in mirrors:
            try:
                pooch.retrieve(f"{mirror.rstrip('/')}/{name}", f"sha256:{digest}", fname=name, path=folder)
                break
            except (OSError, ValueError) as error:
                failures.append(f"{mirror}: {str(error).splitlines()[0][:160]}")
        else:
            causes = "; ".join(failures) or "data.mnist_mirrors is empty"
            raise DataError(
                f"{name} could not be downloaded ({causes}). Without a network, put the files of MNIST into a folder "
                "and name it in data.mnist_folder, or set data.source to digits"
            )
    return folder


def _digits() -> xr.Dataset:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images, labels = bunch.images.astype(np.uint8), bunch.target.astype(np.uint8)
    digests = (_sha256(images.tobytes()), _sha256(labels.tobytes()))
    if digests != DIGITS_SHA256:
        raise DataError(
            f"scikit-learn's digits are not those expected: SHA-256 {' and '.join(digests)}, not "
            f"{' and '.join(DIGITS_SHA256)}; install the version of scikit-learn named in envs/"
        )
    return _dataset(images / 16, labels, "digits", "all", digests)


def _mnist(folder: str | Path, split: str, checksums: Mapping[str, str]) -> xr.Dataset:
    parts = [_read_split(*paths, checksums) for paths in locate_mnist(folder, split)]
    images, labels = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    of_images, of_labels = (" ".join(part[2][i] for part in parts) for i in (0, 1))
    return _dataset(images / 255, labels, "mnist", split, (of_images, of_labels))


def _read_split(
    images_path: Path, labels_path: Path, checksums: Mapping[str, str]
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Images and labels of one split, each as stored, and the SHA-256 of both files."""
    paths = (images_path, labels_path)
    contents = [_content(path) for path in paths]
    digests = [_sha256(content) for content in contents]
    for path, digest in zip(paths, digests, strict=True):
        _refuse_other_file(path, digest, checksums)
    images = _idx(images_path, contents[0], IMAGES)
    labels = _idx(labels_path, contents[1], LABELS)
    if len(images) != len(labels):
        raise DataError(
            f"{images_path} has {len(images)} images, but {labels_path} has {len(labels)} labels: "
            "they are not of the same split; use both files from the same download"
        )
    for path, digest in zip(paths, digests, strict=True):
        _check(path, digest, checksums)
    return images, labels, digests


def _dataset(images: np.ndarray, labels: np.ndarray, source: str, split: str, digests: tuple[str, str]) -> xr.Dataset:
    sha256_images, sha256_labels = digests
    dims = {"point": "index of the image", "row": "pixel row, from the top", "column": "pixel column, from the left"}
    coords = {dim: index(dim, size, dims[dim]) for dim, size in zip(dims, images.shape, strict=True)}
    variables = {
        "image": variable(tuple(dims), images, "ink, from none to full"),
        "label": variable("point", labels.astype(np.int64), "digit shown"),
    }
    attrs = {"source": source, "split": split, "sha256_images": sha256_images, "sha256_labels": sha256_labels}
    return xr.Dataset(variables, coords, attrs)


def _present(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _content(path: Path) -> bytes:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    if path.suffix != ".gz":
        return raw
    try:
        return gzip.decompress(raw)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        why = f"truncated or damaged gzip file ({error})"
        raise DataError(f"{path}: {why}; copy or download it again") from error


def _idx(path: Path, content: bytes, magic: int) -> np.ndarray:
    """The array in an IDX file of unsigned bytes: magic number, sizes (big-endian int32), then the items."""
    number = int.from_bytes(content[:4], "big")
    if len(content) < 4 or number != magic:
        holds = f"holds {CONTENTS[number]}" if number in CONTENTS else "is not an IDX file of unsigned bytes"
        raise DataError(
            f"{path} {holds}, but {CONTENTS[magic]} are expected under this name "
            f"(magic number {number}, expected {magic}); copy or download it again"
        )
    header = 4 + 4 * (magic & 0xFF)
    sizes = np.frombuffer(content[4:header], ">i4") if len(content) >= header else np.array([], int)
    expected = header + int(np.prod(sizes, dtype=np.int64))
    if len(content) < header or len(content) != expected:
        fault = "truncated" if len(content) < max(header, expected) else "longer than its header says"
        raise DataError(
            f"{path} is {fault}: {len(content)} bytes uncompressed, expected {expected}; copy or download it again"
        )
    return np.frombuffer(content, np.uint8, offset=header).reshape(sizes)


def _refuse_other_file(path: Path, digest: str, checksums: Mapping[str, str]) -> None:
    name = path.name.removesuffix(".gz")
    others = [other for other, known in checksums.items() if known == digest and other != name]
    if others:
        raise DataError(f"{path} is MNIST's {others[0]} under another name: rename it, and provide {name}")


def _check(path: Path, digest: str, checksums: Mapping[str, str]) -> None:
    expected = checksums[path.name.removesuffix(".gz")]
    if digest != expected:
        raise DataError(
            f"{path}: SHA-256 of the uncompressed file is {digest}, expected {expected}: "
            "it is damaged or not MNIST's; copy or download it again"
        )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
