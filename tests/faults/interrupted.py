"""`python interrupted.py N job.json ...`: runs jobs by their files, kills itself after the N-th file of a checkpoint.

N = 0 kills nothing. Checkpoints are written at every opportunity instead of every twenty seconds or every minute.
"""

import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

from repdyn.__main__ import main


def run(folder: Path, number: int, *files: str, **more) -> subprocess.CompletedProcess:
    """Runs jobs of a checkout in one process; see above."""
    words = [sys.executable, __file__, str(number), *files]
    own = {"PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(words, cwd=folder, env=os.environ | own, capture_output=True, text=True, check=False, **more)


def write_always() -> None:
    from repdyn.universality.methods import minibatch_loop, two_point_training

    two_point_training.SAVE_AFTER = minibatch_loop.KEPT_EVERY = -1.0


def kill_at(number: int) -> None:
    from repdyn.base.checkpoints import Checkpoint

    write, writes = Checkpoint._write, count(1)

    def counted(self, *what):
        write(self, *what)
        if next(writes) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    Checkpoint._write = counted


if __name__ == "__main__":
    files = [Path(word) for word in sys.argv[2:]]
    if "universality" in files[0].parts:
        write_always()
    kill_at(int(sys.argv[1]))
    sys.exit(max(main(["run", str(file)]) for file in files))
