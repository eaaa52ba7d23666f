"""Image sources: digits as installed, MNIST from small files made here, and every way in which a file is wrong."""

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
from repdyn.base.images import DOWNLOADS, SPLITS, download_mnist, load_images, locate_mnist, not_downloaded

IMAGES, LABELS = SPLITS["test"]
SETTINGS = "there (plain or .gz), correct data.mnist_folder or data.split, or set data.source to digits"
REMEDY = f"put {IMAGES}, {LABELS} {SETTINGS}"


def idx(array, magic=None):
    """An IDX file of unsigned bytes: type 0x08, number of dimensions, sizes, items."""
    head = bytes([0, 0, 8, array.ndim]) if magic is None else magic.to_bytes(4, "big")
    return head + b"".join(size.to_bytes(4, "big") for size in array.shape) + array.astype(np.uint8).tobytes()


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


def test_digits_come_with_scikit_learn():
    digits = load_images("digits")
    assert dict(digits.sizes) == {"point": 1797, "row": 8, "column": 8}
    assert digits.image.dtype == np.float64
    assert (float(digits.image.min()), float(digits.image.max())) == (0, 1)
    np.testing.assert_array_equal(np.unique(digits.image * 16), np.arange(17))
    np.testing.assert_array_equal(np.unique(digits.label), np.arange(10))
    assert (digits.attrs["source"], digits.attrs["split"]) == ("digits", "all")


@pytest.mark.parametrize("source", ["digits", "mnist"])
def test_every_variable_has_name_and_unit(source, folder):
    images = load(folder) if source == "mnist" else load_images(source)
    for name, variable in images.variables.items():
        assert variable.attrs["long_name"], name
        assert variable.attrs["units"] == "1", name
    assert set(images.coords) == set(images.sizes)


def test_images_survive_a_netcdf_file(folder, tmp_path):
    images = load(folder)
    images.to_netcdf(tmp_path / "images.nc")
    xr.testing.assert_identical(xr.load_dataset(tmp_path / "images.nc"), images)


def test_idx_files_are_read(folder):
    images = load(folder)
    np.testing.assert_array_equal(images.image, PIXELS / 255)
    np.testing.assert_array_equal(images.label, DIGITS)
    assert images.attrs == {
        "source": "mnist",
        "split": "test",
        "sha256_images": SUMS[IMAGES],
        "sha256_labels": SUMS[LABELS],
    }


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


def test_a_split_that_the_folder_lacks_is_named_before_anything_is_read(folder):
    names = SPLITS["train"]
    wanted = {
        "train": f"put {names[0]}, {names[1]} {SETTINGS}",
        "both": f"put {names[0]}, {names[1]}, {IMAGES}, {LABELS} {SETTINGS}",
    }
    for split, remedy in wanted.items():
        text = f"{folder} has no {names[0]}, no {names[1]} (it holds {IMAGES}, {LABELS}): {remedy}"
        for call in (lambda split=split: load(folder, split), lambda split=split: locate_mnist(folder, split)):
            with pytest.raises(DataError) as caught:
                call()
            assert str(caught.value) == text


def test_a_folder_may_begin_with_the_users_home(whole, monkeypatch):
    monkeypatch.setenv("HOME", str(whole.parent))
    assert locate_mnist(f"~/{whole.name}") == locate_mnist(whole)


def test_files_are_located_without_being_opened(whole):
    for name in (IMAGES, LABELS):
        (whole / name).write_bytes(b"damaged")
    names = [*SPLITS["train"], IMAGES, LABELS]
    assert [path.name for pair in locate_mnist(whole, "both") for path in pair] == names
    assert [path.name for pair in locate_mnist(str(whole)) for path in pair] == names[2:]


@pytest.mark.parametrize("split", ["", "all", "Test"])
def test_an_unknown_split(folder, split):
    message = f"^data.split is '{split}'; expected one of test, train, both$"
    for call in (load, locate_mnist):
        with pytest.raises(DataError, match=message):
            call(folder, split)
    with pytest.raises(DataError, match=message):
        load_images("mnist", None, ("https://127.0.0.1:9",), split=split)


@pytest.mark.parametrize(("split", "count"), [("test", 2), ("train", 2), ("both", 4)])
def test_a_download_fetches_what_is_wanted_and_no_more(whole, monkeypatch, split, count):
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


@pytest.mark.parametrize("split", ["test", "train", "both"])
def test_what_the_cache_lacks_is_still_to_be_downloaded(tmp_path, monkeypatch, split):
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / name)
    wanted = [f"{name}.gz" for part in ("train", "test") if split in (part, "both") for name in SPLITS[part]]
    assert not_downloaded(split) == wanted
    for name in (wanted[0], SPLITS["test"][0]):
        (tmp_path / "repdyn/mnist" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "repdyn/mnist" / name).touch()
    assert not_downloaded(split) == wanted[1:]


def test_an_unknown_source():
    with pytest.raises(DataError, match="source is 'cifar'; expected 'digits' or 'mnist'"):
        load_images("cifar")


def test_mnist_without_folder_and_mirrors_names_the_alternatives():
    with pytest.raises(DataError, match=re.escape("name it in data.mnist_folder, or set data.source to digits")):
        load_images("mnist")


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


def test_a_download_tries_the_mirrors_in_turn_and_happens_once(mirror, tmp_path):
    address, digest = mirror
    dead = "https://127.0.0.1:9"
    folder = download_mnist((dead, address), tmp_path / "cache", files={"small.gz": digest})
    assert (folder / "small.gz").read_bytes() == b"some bytes"
    again = download_mnist((dead,), tmp_path / "cache", files={"small.gz": digest})
    assert again == folder


def test_a_download_with_another_checksum_is_refused_and_leaves_nothing(mirror, tmp_path):
    with pytest.raises(DataError, match="could not be downloaded"):
        download_mnist((mirror[0],), tmp_path / "cache", files={"small.gz": "0" * 64})
    assert list((tmp_path / "cache").iterdir()) == []


def test_no_network_names_every_mirror_and_the_alternatives(tmp_path):
    with pytest.raises(DataError) as caught:
        download_mnist(("https://127.0.0.1:9/a", "https://127.0.0.1:9/b"), tmp_path)
    for part in ("127.0.0.1:9/a", "127.0.0.1:9/b", "data.mnist_folder", "data.source to digits"):
        assert part in str(caught.value)


@pytest.mark.parametrize("address", ["http://example.org", "ftp://example.org", "file:///etc", "HTTPS:example.org", ""])
def test_an_address_without_https_is_refused_before_anything_is_fetched(tmp_path, monkeypatch, address):
    monkeypatch.setattr(pooch, "retrieve", lambda *a, **k: pytest.fail("something was fetched"))
    with pytest.raises(DataError) as caught:
        download_mnist(("https://127.0.0.1:9", address), tmp_path)
    words = "is not an address that starts with https://; correct it"
    assert str(caught.value) == f"data.mnist_mirrors: {address!r} {words}"


def test_a_missing_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert complaint(Path("nowhere")) == f"nowhere does not exist ({tmp_path / 'nowhere'}): {REMEDY}"


def test_a_file_for_a_folder(folder):
    assert complaint(folder / IMAGES) == f"{folder / IMAGES} is a file, not a folder: {REMEDY}"


def test_a_folder_without_mnist(tmp_path):
    assert complaint(tmp_path) == f"{tmp_path} has no {IMAGES}, no {LABELS} (it holds nothing): {REMEDY}"
    (tmp_path / "t10k-images.idx3-ubyte").touch()
    assert "(it holds t10k-images.idx3-ubyte)" in complaint(tmp_path)


@pytest.mark.parametrize(("missing", "other"), [(IMAGES, LABELS), (LABELS, IMAGES)])
def test_one_of_two_files_is_missing(folder, missing, other):
    (folder / missing).unlink()
    assert complaint(folder) == f"{folder} has no {missing} (it holds {other}): {REMEDY}"


@pytest.mark.parametrize("name", [IMAGES, LABELS])
def test_every_truncation_is_noticed(folder, name):
    whole = FILES[name]
    for length in range(len(whole)):
        (folder / name).write_bytes(whole[:length])
        assert str(folder / name) in complaint(folder)


def test_a_truncated_file(folder):
    (folder / IMAGES).write_bytes(FILES[IMAGES][:-1])
    text = "is truncated: 75 bytes uncompressed, expected 76; copy or download it again"
    assert complaint(folder) == f"{folder / IMAGES} {text}"


def test_a_file_with_a_tail(folder):
    (folder / IMAGES).write_bytes(FILES[IMAGES] + b"x")
    text = "is longer than its header says: 77 bytes uncompressed, expected 76; copy or download it again"
    assert complaint(folder) == f"{folder / IMAGES} {text}"


@pytest.mark.parametrize("spoil", [lambda raw: raw[:-9], lambda raw: b"x" + raw, lambda raw: raw[:20] + b"?" * 30])
def test_a_damaged_gzip_file(folder, spoil):
    (folder / IMAGES).unlink()
    (folder / f"{IMAGES}.gz").write_bytes(spoil(gzip.compress(FILES[IMAGES])))
    text = complaint(folder)
    assert text.startswith(f"{folder / IMAGES}.gz: truncated or damaged gzip file (")
    assert text.endswith("copy or download it again")


def test_labels_where_images_should_be(folder):
    (folder / IMAGES).write_bytes(idx(DIGITS[:3]))
    assert complaint(folder) == (
        f"{folder / IMAGES} holds labels, but images are expected under this name "
        "(magic number 2049, expected 2051); copy or download it again"
    )


def test_a_file_of_another_kind(folder):
    (folder / LABELS).write_bytes(b"<html>404</html>")
    assert f"{folder / LABELS} is no IDX file of unsigned bytes, but labels are expected" in complaint(folder)


@pytest.mark.parametrize(("name", "content"), [(IMAGES, TRAIN[SPLITS["train"][0]]), (LABELS, FILES[IMAGES])])
def test_a_known_file_under_another_name(folder, name, content):
    (folder / name).write_bytes(content)
    owner = next(other for other, known in SUMS.items() if known == sha256(content))
    text = f"is MNIST's {owner} under another name: rename it, and put {name} in its place"
    assert complaint(folder) == f"{folder / name} {text}"


def test_files_of_two_splits(folder):
    (folder / LABELS).write_bytes(idx(DIGITS[:4]))
    assert complaint(folder) == (
        f"{folder / IMAGES} has 5 images, but {folder / LABELS} has 4 labels: "
        "they are not of one split; take both files from the same download"
    )


@pytest.mark.parametrize("name", [IMAGES, LABELS])
def test_a_changed_pixel_or_label(folder, name):
    changed = FILES[name][:-1] + bytes([FILES[name][-1] ^ 1])
    (folder / name).write_bytes(changed)
    assert complaint(folder) == (
        f"{folder / name}: SHA-256 of the uncompressed file is {sha256(changed)}, expected {SUMS[name]}: "
        "it is damaged or not MNIST's; copy or download it again"
    )


def test_files_in_the_format_of_mnist_are_not_taken_for_mnist(folder):
    with pytest.raises(DataError, match="it is damaged or not MNIST's"):
        load_images("mnist", folder)


@pytest.mark.skipif("REPDYN_MNIST" not in os.environ, reason="REPDYN_MNIST names no folder with the files of MNIST")
@pytest.mark.parametrize(("split", "count"), [("test", 10_000), ("train", 60_000), ("both", 70_000)])
def test_real_mnist(split, count):
    folder = Path(os.environ["REPDYN_MNIST"])
    if split != "test" and not list(folder.glob("train-*")):
        pytest.skip("the folder has no training images")
    images = load_images("mnist", folder, split=split)
    assert dict(images.sizes) == {"point": count, "row": 28, "column": 28}
    assert (float(images.image.min()), float(images.image.max())) == (0, 1)
    np.testing.assert_array_equal(np.unique(images.label), np.arange(10))
