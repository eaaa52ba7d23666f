"""Files: complete or absent, never mixed; digests against known ones."""

import errno
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import repdyn
from repdyn.base.errors import DataError
from repdyn.base.files import HOST, atomic, named, sha256, write_text

SOURCE = Path(repdyn.__file__).parents[1]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "new" / "folder" / "data.nc"
    with atomic(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
        assert temporary.parent == path.parent
        assert temporary.suffix == path.suffix
    assert path.read_text() == "whole"
    assert names(path.parent) == ["data.nc"]


@pytest.mark.parametrize("error", [ValueError("wrong"), KeyboardInterrupt(), DataError("ours")])
def test_error_keeps_the_old_file_and_leaves_no_partial_file(tmp_path, error):
    path = tmp_path / "data.txt"
    path.write_text("old")

    def fail():
        with atomic(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["data.txt"]


def test_full_disk_is_reported_and_leaves_no_partial_file(tmp_path):
    def fail():
        with atomic(tmp_path / "data.txt") as temporary:
            temporary.write_text("half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(DataError, match=r"data\.txt"):
        fail()
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("names_of_files", "shown"), [((), "there"), (("a",), "a"), (("source", None, "target"), "target")]
)
def test_errors_of_writing_name_the_file_or_at_least_the_folder(names_of_files, shown):
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught, named(Path("there")):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *names_of_files)
    assert (caught.value.filename, caught.value.filename2) == (shown, None)


def test_file_instead_of_a_folder_is_reported(tmp_path):
    (tmp_path / "results").write_text("in the way")
    with pytest.raises(DataError, match=r"results/data\.txt"):
        write_text(tmp_path / "results" / "data.txt", "text")
    assert (tmp_path / "results").read_text() == "in the way"


def test_partial_files_of_a_killed_writer_are_removed_by_the_next_write(tmp_path):
    path = tmp_path / "data.txt"
    killed = (
        "import os, sys; from repdyn.base.files import atomic\nwith atomic(sys.argv[1]) as t:\n t.touch(); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", killed, str(path)], env=os.environ | {"PYTHONPATH": str(SOURCE)}, check=False)
    assert len(names(tmp_path)) == 1
    running = path.with_name(f".data.txt.{HOST}.{os.getppid()}.part.txt")
    elsewhere = path.with_name(".data.txt.other-machine.1.part.txt")
    for part in (running, elsewhere):
        part.touch()
    write_text(path, "text")
    assert set(names(tmp_path)) == {"data.txt", running.name, elsewhere.name}


WRITER = """
import sys
from repdyn.base.files import atomic
letter, path = sys.argv[1:]
for _ in range(40):
    with atomic(path) as temporary, temporary.open("w") as file:
        for _ in range(50):
            file.write(letter * 100)
            file.flush()
"""


def test_concurrent_writers_never_mix_content(tmp_path):
    path = tmp_path / "data.txt"
    command = [sys.executable, "-c", WRITER]
    running = [
        subprocess.Popen([*command, letter, str(path)], env={"PYTHONPATH": str(SOURCE)}, stderr=subprocess.PIPE)
        for letter in "abc"
    ]
    seen = set()
    while any(process.poll() is None for process in running):
        if path.exists():
            seen.add(path.read_text())
    assert [process.communicate()[1].decode() for process in running] == [""] * 3
    assert seen | {path.read_text()} <= {letter * 5000 for letter in "abc"}
    assert names(tmp_path) == ["data.txt"]


def test_text_is_utf_8_whatever_the_locale(tmp_path):
    code = "import sys; from repdyn.base.files import write_text; write_text(sys.argv[1], '\\u03c9 \\u2264 1')"
    env = {"PYTHONPATH": str(SOURCE), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.txt")], env=env, check=True)
    assert (tmp_path / "a.txt").read_bytes() == "ω ≤ 1".encode()


def test_sha256(tmp_path):
    path = tmp_path / "abc"
    path.write_bytes(b"abc")  # first example of FIPS 180-2
    assert sha256(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    large = bytes(range(256)) * 5000  # more than one read
    path.write_bytes(large)
    assert sha256(str(path)) == hashlib.sha256(large).hexdigest()


def test_sha256_of_a_folder_covers_names_and_bytes_without_snakemakes_timestamp(tmp_path):
    first, other = tmp_path / "first", tmp_path / "other place"
    for folder in (first, other):
        write_text(folder / "b" / "c.txt", "text")
        write_text(folder / "a.txt", "more")
    digest = sha256(first)
    assert digest == sha256(other), "where it lies does not matter"
    listed = [["a.txt", sha256(first / "a.txt")], ["b/c.txt", sha256(first / "b/c.txt")]]
    assert digest == hashlib.sha256(json.dumps(listed).encode()).hexdigest()
    for name in "hbfdgce":
        write_text(tmp_path / "many" / f"{name}.txt", name)
    listed = [[f"{name}.txt", hashlib.sha256(name.encode()).hexdigest()] for name in "bcdefgh"]
    assert sha256(tmp_path / "many") == hashlib.sha256(json.dumps(listed).encode()).hexdigest()
    (first / ".snakemake_timestamp").touch()
    (first / "b" / ".snakemake_timestamp").touch()
    (first / "empty").mkdir()
    assert sha256(first) == digest
    (first / "b" / "c.txt").rename(first / "b" / "d.txt")
    assert sha256(first) != digest
    write_text(other / "a.txt", "mord")
    assert sha256(other) != digest
