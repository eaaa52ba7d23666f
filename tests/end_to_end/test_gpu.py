"""The studies with GPU code at smoke scale on a GPU: every verdict is the CPU's, the third tier of reproducibility."""

import os
import shutil
from pathlib import Path

import pytest
import torch
from tests.conftest import SMOKE, copy_checkout, snakemake

from repdyn.__main__ import main
from repdyn.base import datasets

pytestmark = pytest.mark.slow
TRAINED = {
    "leaky_resnets": ("trained/block0", "discretized/block0", "refinement", "paper_settings"),
    "universality": ("default_network", "architectures", "xor", "blobs/high", "image_training/sgd"),
}
gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: verdicts on it cannot be compared")


def claims_on(device: str, study: str, folder: Path) -> Path:
    """A study's results at smoke scale, trained on a device."""
    visible = {} if device == "cpu" else {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0")}
    overlay = ["--configfile", SMOKE, "--config", f"run={{name: {device}, device: {device}}}"]
    target = f"results/{device}/{study}/claims.csv"
    done = snakemake(folder, "--cores", "2", *overlay, "--", target, variables=visible)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / f"results/{device}" / study


def verdicts_agree(devices: tuple[str, str], study: str, folder: Path) -> bool:
    """Whether `repdyn compare` finds the verdicts of a study equal on two devices."""
    copy_checkout(folder / "checkout")
    for device in devices:
        shutil.copytree(claims_on(device, study, folder / "checkout"), folder / device / study)
    return main(["compare", *(str(folder / device) for device in devices), "--tier", "verdicts"]) == 0


@gpu
@pytest.mark.parametrize("study", TRAINED)
def test_gpu_and_cpu_verdicts_are_equal(tmp_path, study):
    assert verdicts_agree(("cpu", "cuda"), study, tmp_path)
    for device in ("cpu", "cuda"):
        trainings = [datasets.read(tmp_path / device / study / f"data/{name}.nc") for name in TRAINED[study]]
        assert {training.attrs["device"] for training in trainings} == {device}


def test_every_trained_dataset_has_a_rule_with_a_device():
    """The names above agree with the workflow, since tests that need a GPU are seldom run."""
    for study, names in TRAINED.items():
        rules = (Path(__file__).parents[2] / f"src/repdyn/{study}/study.py").read_text(encoding="utf-8")
        for name in names:
            assert name.split("/")[0] in rules, name
