"""Sources of images with several of everything: files, mirrors and failures, addresses, names in a folder."""

import gzip
from types import SimpleNamespace

import numpy as np
import pooch
import pytest

from repdyn.base.errors import DataError
from repdyn.base.images import DIGITS_SHA256, SPLITS, download_mnist, load_images, locate_mnist

ALTERNATIVES = (
    "Without a network, put the files of MNIST into a folder and name it in data.mnist_folder, or set data.source to "
    "digits"
)
FILES = {"b.gz": "2" * 64, "a.gz": "1" * 64, "c.gz": "3" * 64, "d.gz": "4" * 64}


@pytest.fixture
def asked(monkeypatch):
    """What is asked of mirrors: the second holds one file, the third another, none the third file."""
    calls = []

    def retrieve(url, known_hash, fname, path):
        calls.append((url, known_hash, fname, path))
        if url not in ("https://b/x/b.gz", "https://c/a.gz"):
            error = OSError if url.startswith("https://b") else ValueError
            raise error(f"nothing at {url}{'!' * 200}\nsecond line\nthird line")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    return calls


def test_each_file_is_asked_of_each_mirror_until_one_has_it_and_every_failure_is_told(asked, tmp_path):
    mirrors = ["https://a", "https://b/x/", "https://c"]
    with pytest.raises(DataError) as caught:
        download_mnist(iter(mirrors), tmp_path, files=FILES)
    failures = [f"{mirror}: " + f"nothing at {mirror.rstrip('/')}/c.gz{'!' * 200}"[:160] for mirror in mirrors]
    assert str(caught.value) == f"c.gz could not be downloaded ({'; '.join(failures)}). {ALTERNATIVES}"
    assert asked == [
        (url, f"sha256:{digit * 64}", url.rpartition("/")[2], tmp_path)
        for digit, urls in (
            ("2", ("https://a/b.gz", "https://b/x/b.gz")),
            ("1", ("https://a/a.gz", "https://b/x/a.gz", "https://c/a.gz")),
            ("3", ("https://a/c.gz", "https://b/x/c.gz", "https://c/c.gz")),
        )
        for url in urls
    ]


def test_the_first_address_without_https_is_named(asked, tmp_path):
    with pytest.raises(DataError) as caught:
        download_mnist(["https://a", "http://b", "https://c", "ftp://d"], tmp_path, files=FILES)
    assert str(caught.value) == (
        "data.mnist_mirrors: 'http://b' is not an address that starts with https://; correct it"
    )
    assert asked == []


def test_of_a_folder_eight_names_are_told_in_order(tmp_path):
    for letter in "jcafhbedig":
        (tmp_path / letter).touch()
    with pytest.raises(DataError, match=r"\(it holds a, b, c, d, e, f, g, h\)"):
        locate_mnist(tmp_path)


def test_what_is_missing_of_each_split_is_named(tmp_path):
    images, labels = zip(SPLITS["train"], SPLITS["test"], strict=True)
    for name in (images[0], f"{labels[1]}.gz"):
        (tmp_path / name).touch()
    with pytest.raises(DataError) as caught:
        locate_mnist(tmp_path, "both")
    held = f"{labels[1]}.gz, {images[0]}"
    assert str(caught.value).startswith(f"{tmp_path} has no {labels[0]}, no {images[1]} (it holds {held}): put ")


def test_a_plain_file_goes_before_a_gzipped_one(tmp_path):
    images, labels = SPLITS["test"]
    for name in (images, f"{images}.gz", f"{labels}.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b""))
    assert locate_mnist(tmp_path) == [(tmp_path / images, tmp_path / f"{labels}.gz")]


@pytest.mark.parametrize("part", ["images", "target"])
def test_other_digits_than_those_expected_are_refused(monkeypatch, part):
    from sklearn import datasets

    digits = datasets.load_digits()
    arrays = {name: digits[name].copy() for name in ("images", "target")}
    arrays[part].flat[-1] += 1
    monkeypatch.setattr(datasets, "load_digits", lambda: SimpleNamespace(**arrays))
    with pytest.raises(DataError) as caught:
        load_images("digits")
    text = str(caught.value)
    assert text.startswith("scikit-learn's digits are not those expected: SHA-256 ")
    assert text.endswith(f", not {' and '.join(DIGITS_SHA256)}; install the version of scikit-learn named in envs/")
    known = dict(zip(("images", "target"), DIGITS_SHA256, strict=True))
    found = text.partition("SHA-256 ")[2].partition(", not")[0].split(" and ")
    assert [digest == known[name] for name, digest in zip(known, found, strict=True)] == [
        part != name for name in known
    ]


def test_rows_and_columns_of_digits_are_those_of_scikit_learn():
    from sklearn import datasets

    digits = datasets.load_digits()
    images = load_images("digits")
    for place in (0, 3, 1796):
        np.testing.assert_array_equal(images["image"][place] * 16, digits.images[place])
        assert images["label"][place] == digits.target[place]
    assert (images.attrs["sha256_images"], images.attrs["sha256_labels"]) == DIGITS_SHA256
