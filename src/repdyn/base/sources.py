"""Images of digits: scikit-learn's, always at hand, or MNIST from a folder that the user names or from the network.

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

from repdyn.base.errors import DataError

SPLITS = {
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
}
"""File names of MNIST's images and labels, in the order in which the splits are looked for."""

SHA256 = {
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
}
"""SHA-256 of MNIST's files as they are without gzip."""

DOWNLOADS = {
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
"""What a download fetches, MNIST's test split: file names at the mirrors and SHA-256."""

DIGITS_SHA256 = (
    "8f26b2bd9d135c256808f68f14fdabddde6d9c7f869ae419704b051f0f14b3b3",
    "8ba4f891220f5e4c9c819638d1602d74b83618f167043c6da52a2a247841ddf0",
)
"""SHA-256 of scikit-learn's digits as unsigned bytes, point after point: images, labels."""

IMAGES, LABELS = 2051, 2049
CONTENTS = {IMAGES: "images", LABELS: "labels"}
"""Magic numbers of IDX files of unsigned bytes: 0x08 (type), then the number of dimensions."""


def load_images(
    source: str,
    mnist_folder: str | Path | None = None,
    mnist_mirrors: Iterable[str] = (),
    *,
    checksums: Mapping[str, str] = SHA256,
) -> xr.Dataset:
    """Images with their labels, pixels from 0 (empty) to 1 (full ink).

    Args:
        source: "digits" (1797 images of 8 x 8) or "mnist" (28 x 28; the test split where the folder has it,
            else the training split).
        mnist_folder: folder with the IDX files of MNIST, plain or gzipped; None downloads the test split.
        mnist_mirrors: addresses to download from, tried in turn.
        checksums: SHA-256 by file name, for data in the format and under the names of MNIST.

    Returns:
        Dataset with `image` (point, row, column), float64, and `label` (point,); the attributes `source`,
        `split`, `sha256_images` and `sha256_labels` say what was read.

    Raises:
        DataError: `source` is unknown, or a file is missing, damaged or another than expected; with what to do.
    """
    if source == "digits":
        return _digits()
    if source != "mnist":
        raise DataError(f"source is {source!r}; expected 'digits' or 'mnist'")
    return _mnist(Path(mnist_folder).expanduser() if mnist_folder else download_mnist(mnist_mirrors), checksums)


def download_mnist(mirrors: Iterable[str], cache: Path | None = None, *, files: Mapping[str, str] = DOWNLOADS) -> Path:
    """Fetches MNIST's test split into the user's cache folder, once; every file is checked by SHA-256.

    Args:
        mirrors: addresses of folders that hold the files, https alone, tried in turn for each file.
        cache: folder to keep the files in; None for the user's cache folder.
        files: what to fetch, SHA-256 by file name.

    Returns:
        The folder.

    Raises:
        DataError: an address is not https; or no mirror gave a file: the text names each failure and the alternatives.
    """
    import pooch

    mirrors = list(mirrors)
    if others := [mirror for mirror in mirrors if not mirror.startswith("https://")]:
        raise DataError(f"data.mnist_mirrors: {others[0]!r} is not an address that starts with https://; correct it")
    folder = Path(cache or pooch.os_cache("repdyn") / "mnist")
    for name, digest in files.items():
        failures = []
        for mirror in mirrors:
            try:
                pooch.retrieve(f"{mirror.rstrip('/')}/{name}", f"sha256:{digest}", fname=name, path=folder)
                break
            except (OSError, ValueError) as error:
                failures.append(f"{mirror}: {str(error).splitlines()[0][:160]}")
        else:
            told = "; ".join(failures) or "data.mnist_mirrors is empty"
            raise DataError(
                f"{name} could not be downloaded ({told}). Without a network, put the files of MNIST into a folder and "
                "name it in data.mnist_folder, or set data.source to digits"
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


def _mnist(folder: Path, checksums: Mapping[str, str]) -> xr.Dataset:
    split, paths = _locate(folder)
    contents = [_content(path) for path in paths]
    digests = [_sha256(content) for content in contents]
    for path, digest in zip(paths, digests, strict=True):
        _refuse_other_file(path, digest, checksums)
    images = _idx(paths[0], contents[0], IMAGES)
    labels = _idx(paths[1], contents[1], LABELS)
    if len(images) != len(labels):
        raise DataError(
            f"{paths[0]} has {len(images)} images, but {paths[1]} has {len(labels)} labels: "
            "they are not of one split; take both files from the same download"
        )
    for path, digest in zip(paths, digests, strict=True):
        _check(path, digest, checksums)
    return _dataset(images / 255, labels, "mnist", split, digests)


def _dataset(images: np.ndarray, labels: np.ndarray, source: str, split: str, digests: object) -> xr.Dataset:
    sha256_images, sha256_labels = digests
    dims = ("point", "row", "column")
    names = ("index of the image in its file", "pixel row, from the top", "pixel column, from the left")
    coords = {
        dim: (dim, np.arange(size), {"long_name": name, "units": "1"})
        for dim, size, name in zip(dims, images.shape, names, strict=True)
    }
    variables = {
        "image": (dims, images, {"long_name": "ink, from none to full", "units": "1"}),
        "label": ("point", labels.astype(np.int64), {"long_name": "digit shown", "units": "1"}),
    }
    attrs = {"source": source, "split": split, "sha256_images": sha256_images, "sha256_labels": sha256_labels}
    return xr.Dataset(variables, coords, attrs)


def _locate(folder: Path) -> tuple[str, list[Path]]:
    """The split that the folder holds and its two files."""
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else f"does not exist ({folder.absolute()})"
        raise DataError(f"{folder} {what}: {_remedy(SPLITS['test'])}")
    for split, names in SPLITS.items():
        found = [_present(folder, name) for name in names]
        if all(found):
            return split, found
        if any(found):
            missing, other = names[found.index(None)], names[1 - found.index(None)]
            raise DataError(f"{folder} has {other}, but no {missing}: {_remedy(names)}")
    held = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
    raise DataError(f"{folder} holds no file of MNIST (it holds {held}): {_remedy(SPLITS['test'])}")


def _remedy(names: tuple[str, str]) -> str:
    wanted = " and ".join(names)
    return f"put {wanted} there (plain or .gz), correct data.mnist_folder, or set data.source to digits"


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
    found = int.from_bytes(content[:4], "big")
    if len(content) < 4 or found != magic:
        holds = f"holds {CONTENTS[found]}" if found in CONTENTS else "is no IDX file of unsigned bytes"
        raise DataError(
            f"{path} {holds}, but {CONTENTS[magic]} are expected under this name "
            f"(magic number {found}, expected {magic}); copy or download it again"
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
        raise DataError(f"{path} is MNIST's {others[0]} under another name: rename it, and put {name} in its place")


def _check(path: Path, digest: str, checksums: Mapping[str, str]) -> None:
    expected = checksums[path.name.removesuffix(".gz")]
    if digest != expected:
        raise DataError(
            f"{path}: SHA-256 of the uncompressed file is {digest}, expected {expected}: "
            "it is damaged or not MNIST's; copy or download it again"
        )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
