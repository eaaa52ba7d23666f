"""Code versions remembered on disk, since every command and every job on a cluster reads the workflow."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from pathlib import Path

from repdyn.base.errors import RepdynError
from repdyn.base.files import write_json
from repdyn.pipeline.versions.fingerprint import Outside, code_version


class CodeVersions:
    """Code versions of functions, computed once per state of the source.

    Args:
        source: folder that holds the package.
        file: where they are remembered; a folder that cannot be written is no error.
        outside: further packages, each with its folder.
    """

    def __init__(self, source: Path, file: Path, outside: Outside = ()) -> None:
        self.source, self.file, self.outside = source, file, outside
        self.state = _state(source, outside)
        self._known = self._read()
        self._new = False

    def of(self, *roots: str) -> str:
        """The code version of functions; see `fingerprint.code_version`."""
        key = " ".join(roots)
        if key not in self._known:
            self._known[key] = code_version(*roots, source=self.source, outside=self.outside)
            self._new = True
        return self._known[key]

    def save(self) -> None:
        """Remembers what was computed since."""
        if self._new:
            try:
                write_json(self.file, {"state": self.state, "versions": self._known})
            except RepdynError:
                return
            self._new = False

    def _read(self) -> dict[str, str]:
        try:
            stored = json.loads(self.file.read_text(encoding="utf-8"))
            return dict(stored["versions"]) if stored["state"] == self.state else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}


def compiled_code(source: Path) -> Path | None:
    """Folder for compiled functions of this state of the sources: in the one that the user names, or in the checkout.

    None outside a checkout without a name, or if it cannot be made.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    if not named and not (source.parent / "Snakefile").is_file():
        return None
    folder = (Path(named) if named else source.parent / ".cache" / "numba") / _state(source)[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _state(source: Path, outside: Outside = ()) -> str:
    """Digest of all source files and of the Python that reads them."""
    digest = hashlib.sha256(platform.python_version().encode())
    for package, folder in (("repdyn", source / "repdyn"), *outside):
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{package}/{path.relative_to(folder)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()
