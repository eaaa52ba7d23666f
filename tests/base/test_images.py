"""Image sources: digits as installed, MNIST from small synthetic files, and every kind of invalid file."""

import functools
import gzip
import hashlib
import http.server
import os
import re
import shutil
import threading
from pathlib import Path

import numpy as np
import pooch
import pytest
import xarray as xr

from repdyn.base.errors import DataError
from repdyn.base.images import DOWNLOADS, SPLITS, download_mnist, load_images, locate_mnist

IMAGES, LABELS = SPLITS["test"]


def idx(array):
    """An IDX file of unsigned bytes: type 0x08, number of dimensions, sizes, items."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


PIXELS = np.random.default_rng(0).integers(0, 256, (5, 4, 3))
DIGITS = np.array([3, 1, 4, 1, 5])
FILES = {IMAGES: idx(PIXELS), LABELS: idx(DIGITS)}
TRAIN = dict(zip(SPLITS["train"], (idx(PIXELS[:2]), idx(DIGITS[:2])), strict=True))
SUMS = {name: sha256(content) for name, content in (FILES | TRAIN).items()}


@pytest.fixture
def folder(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def load(folder, split="test"):
    return load_images("mnist", folder, split=split, checksums=SUMS)


def complaint(folder):
    with pytest.raises(DataError) as caught:
        load(folder)
    return str(caught.value)


def test_digits_are_loaded_from_scikit_learn():
    digits = load_images("digits")
    assert dict(digits.sizes) == {"point": 1797, "row": 8, "column": 8}
    assert digits.image.dtype == np.float64
    assert (float(digits.image.min()), float(digits.image.max())) == (0, 1)
    np.testing.assert_array_equal(np.unique(digits.image * 16), np.arange(17))
    np.testing.assert_array_equal(np.unique(digits.label), np.arange(10))
    assert (digits.attrs["source"], digits.attrs["split"]) == ("digits", "all")


def test_gzipped_and_plain_files_are_the_same(folder):
    plain = load(folder)
    for name, content in FILES.items():
        (folder / name).unlink()
        (folder / f"{name}.gz").write_bytes(gzip.compress(content))
    xr.testing.assert_identical(load(folder), plain)


@pytest.fixture
def whole(folder):
    """A folder with both splits: five test images, two training images."""
    for name, content in TRAIN.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("split", "points"), [("test", [0, 1, 2, 3, 4]), ("train", [0, 1]), ("both", [0, 1, 0, 1, 2, 3, 4])]
)
def test_either_split_or_both_are_read(whole, split, points):
    images = load(whole, split)
    np.testing.assert_array_equal(images.image, PIXELS[points] / 255)
    np.testing.assert_array_equal(images.label, DIGITS[points])
    np.testing.assert_array_equal(images.point, np.arange(len(points)))
    assert images.attrs["split"] == split
    files = {"test": [IMAGES], "train": [SPLITS["train"][0]], "both": [SPLITS["train"][0], IMAGES]}[split]
    assert images.attrs["sha256_images"] == " ".join(SUMS[name] for name in files)


@pytest.mark.parametrize(("split", "count"), [("test", 2), ("train", 2), ("both", 4)])
def test_download_fetches_only_required_files(whole, monkeypatch, split, count):
    asked = {}

    def fetched(url, known_hash, fname, path):
        asked[fname] = known_hash.removeprefix("sha256:")

    monkeypatch.setattr(pooch, "retrieve", fetched)
    monkeypatch.setattr(pooch, "os_cache", lambda name: whole / name)
    shutil.copytree(whole, whole / "repdyn" / "mnist")
    images = load_images("mnist", None, ["https://127.0.0.1:9"], split=split, checksums=SUMS)
    assert images.attrs["split"] == split
    assert len(asked) == count
    assert asked == {name: digest for name, digest in DOWNLOADS.items() if name in asked}
    assert {name.startswith("t10k") for name in asked} == {"test": {True}, "train": {False}}.get(split, {True, False})


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A server on this machine that holds one small file, asked without encryption; and the file's SHA-256."""
    fetch = pooch.retrieve
    monkeypatch.setattr(pooch, "retrieve", lambda url, *a, **k: fetch(url.replace("https://", "http://"), *a, **k))
    held = tmp_path / "mirror"
    held.mkdir()
    (held / "small.gz").write_bytes(b"some bytes")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(held))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}", sha256(b"some bytes")
    server.shutdown()


def test_download_tries_the_mirrors_in_order_and_happens_once(mirror, tmp_path):
    address, digest = mirror
    dead = "https://127.0.0.1:9"
    folder = download_mnist((dead, address), tmp_path / "cache", files={"small.gz": digest})
    assert (folder / "small.gz").read_bytes() == b"some bytes"
    again = download_mnist((dead,), tmp_path / "cache", files={"small.gz": digest})
    assert again == folder


def test_download_with_wrong_checksum_is_rejected_and_removed(mirror, tmp_path):
    with pytest.raises(DataError, match=r"small\.gz"):
        download_mnist((mirror[0],), tmp_path / "cache", files={"small.gz": "0" * 64})
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("name", [IMAGES, LABELS])
def test_truncated_files_are_detected(folder, name):
    whole = FILES[name]
    for length in range(len(whole)):
        (folder / name).write_bytes(whole[:length])
        assert str(folder / name) in complaint(folder)


def under(folder, name, content):
    """A file of other content."""
    (folder / name).write_bytes(content)


def damaged_gzip(folder, spoil):
    (folder / IMAGES).unlink()
    (folder / f"{IMAGES}.gz").write_bytes(spoil(gzip.compress(FILES[IMAGES])))


TRAIN_IMAGES = SPLITS["train"][0]
LAST_BIT = {name: FILES[name][:-1] + bytes([FILES[name][-1] ^ 1]) for name in (IMAGES, LABELS)}
WRONG = [  # change of the folder, part of the message
    (lambda folder: (folder / IMAGES).unlink(), [IMAGES, LABELS]),
    (lambda folder: (folder / LABELS).unlink(), [LABELS, IMAGES]),
    (lambda folder: under(folder, IMAGES, FILES[IMAGES][:-1]), [IMAGES, "75", "76"]),
    (lambda folder: under(folder, IMAGES, FILES[IMAGES] + b"x"), [IMAGES, "77", "76"]),
    (lambda folder: damaged_gzip(folder, lambda raw: raw[:-9]), [f"{IMAGES}.gz"]),
    (lambda folder: damaged_gzip(folder, lambda raw: b"x" + raw), [f"{IMAGES}.gz"]),
    (lambda folder: damaged_gzip(folder, lambda raw: raw[:20] + b"?" * 30), [f"{IMAGES}.gz"]),
    (lambda folder: under(folder, IMAGES, idx(DIGITS[:3])), [IMAGES, "2049", "2051"]),
    (lambda folder: under(folder, LABELS, b"<html>404</html>"), [LABELS]),
    (lambda folder: under(folder, IMAGES, TRAIN[TRAIN_IMAGES]), [IMAGES, TRAIN_IMAGES]),
    (lambda folder: under(folder, LABELS, FILES[IMAGES]), [LABELS, IMAGES]),
    (lambda folder: under(folder, LABELS, idx(DIGITS[:4])), [IMAGES, "5", LABELS, "4"]),
    *(
        (lambda folder, name=name: under(folder, name, LAST_BIT[name]), [name, sha256(LAST_BIT[name]), SUMS[name]])
        for name in (IMAGES, LABELS)
    ),
]


@pytest.mark.parametrize(("spoil", "named"), WRONG)
def test_folder_with_wrong_files_is_rejected(folder, spoil, named):
    spoil(folder)
    message = complaint(folder)
    assert [word for word in named if word not in message] == []


def test_invalid_sources_splits_folders_and_addresses_are_rejected(folder, monkeypatch):
    monkeypatch.setattr(pooch, "retrieve", lambda *a, **k: pytest.fail("something was fetched"))
    mirror = "https://127.0.0.1:9"
    refusals = [
        (lambda: load_images("cifar"), "cifar"),
        (lambda: load_images("mnist"), "mnist_folder"),
        (lambda: load_images("mnist", folder), IMAGES),  # files in its format that are not MNIST's
        (lambda: load(folder, "Test"), "Test"),
        (lambda: load(folder, "both"), TRAIN_IMAGES),
        (lambda: locate_mnist(folder, "train"), TRAIN_IMAGES),
        (lambda: load_images("mnist", None, (mirror,), split="all"), "all"),
        (lambda: load(folder / "nowhere"), "nowhere"),
        (lambda: load(folder / IMAGES), IMAGES),
        *(
            (lambda address=address: download_mnist((mirror, address), folder), re.escape(repr(address)))
            for address in ("http://example.org", "ftp://example.org", "file:///etc", "HTTPS:example.org", "")
        ),
    ]
    for call, named in refusals:
        with pytest.raises(DataError, match=named):
            call()


@pytest.mark.skipif("REPDYN_MNIST" not in os.environ, reason="REPDYN_MNIST names no folder with the files of MNIST")
@pytest.mark.parametrize(("split", "count"), [("test", 10_000), ("train", 60_000), ("both", 70_000)])
def test_real_mnist_has_known_digests(split, count):
    folder = Path(os.environ["REPDYN_MNIST"])
    if split != "test" and not list(folder.glob("train-*")):
        pytest.skip("the folder has no training images")
    images = load_images("mnist", folder, split=split)
    assert dict(images.sizes) == {"point": count, "row": 28, "column": 28}
    assert (float(images.image.min()), float(images.image.max())) == (0, 1)
    np.testing.assert_array_equal(np.unique(images.label), np.arange(10))
