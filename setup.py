"""The build: a wheel also carries what a run needs besides the package; `[tool.repdyn]` in pyproject.toml lists it."""

import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
INSIDE = Path("repdyn", "pipeline", "new", "carried")  # where `repdyn init` finds it


def carried() -> list[Path]:
    """Files that the wheel carries, relative to the checkout."""
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["repdyn"]["carried"]
    return sorted({path.relative_to(ROOT) for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()})


class BuildWithCarried(build_py):
    """Copies them into the wheel; an editable installation reads them in the checkout."""

    def run(self) -> None:
        """Builds the package, then adds the files."""
        super().run()
        if self.editable_mode:
            return
        for path in carried():
            target = Path(self.build_lib, INSIDE, path)
            self.mkpath(str(target.parent))
            self.copy_file(str(ROOT / path), str(target))

    def get_source_files(self) -> list[str]:
        """The files belong into an sdist, too."""
        return [*super().get_source_files(), *map(str, carried())]


setup(cmdclass={"build_py": BuildWithCarried})
