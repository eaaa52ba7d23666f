"""Versions and machines: the packages that a new project pins, the environment on which cached results depend."""

import platform
import sys
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

from repdyn.pipeline.new import environments
from repdyn.pipeline.run.machine import environment

REPDYN = [
    "numpy>=1.26",
    "Scikit_Learn (>1)",
    "torch",
    "snakemake>=8",
    "gone>1",
    "matplotlib",
    "pytest; extra == 'test'",
]
INSTALLED = {
    "repdyn": ("1.2.3", REPDYN),
    "pytest": ("9.0", ["ruamel.yaml>=0.18; python_version > '3'"]),
    "numpy": ("2.1.0", None),
    "scikit-learn": ("1.5.2.post1", ["numpy", "repdyn"]),
    "torch": ("2.4.0+cpu", []),
    "snakemake": ("8.20", ["numpy"]),
    "ruamel-yaml": ("0.18", []),
    "matplotlib": ("3.9", []),
    "apart": ("7", []),
}


def test_new_project_pins_all_required_packages_without_extras_and_local_tags(monkeypatch):
    def distribution(name):
        if name not in INSTALLED:
            raise PackageNotFoundError(name)
        version, requires = INSTALLED[name]
        return SimpleNamespace(version=version, requires=requires)

    monkeypatch.setattr(environments, "distribution", distribution)
    pinned = {name: version.partition("+")[0] for name, (version, _) in INSTALLED.items()}
    required = set(pinned) - {"apart", "pytest", "ruamel-yaml"}
    assert environments.installed(["repdyn"]) == {name: pinned[name] for name in pinned if name in required}
    assert environments.installed(["pytest", "gone"]) == {"pytest": "9.0", "ruamel-yaml": "0.18"}
    found = environments.placeholders()
    assert set(found) == {"PYTHON", "REPDYN", "CONSTRAINTS", "CONDA_CPU", "CONDA_GPU"}
    assert (found["PYTHON"], found["REPDYN"]) == (".".join(platform.python_version_tuple()[:2]), "1.2.3")
    assert found["CONSTRAINTS"].splitlines() == [f"{name}=={pinned[name]}" for name in sorted(set(pinned) - {"apart"})]
    conda = ["matplotlib-base=3.9", "numpy=2.1.0", "pytorch-cpu=2.4.0", "scikit-learn=1.5.2"]
    assert found["CONDA_CPU"].splitlines() == [f"  - {line}" for line in conda]
    assert found["CONDA_GPU"] == found["CONDA_CPU"].replace("pytorch-cpu", "pytorch-gpu")


def test_numbers_depend_on_machine_kernels_python_device_and_the_model_of_a_gpu(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    monkeypatch.setattr(environment, "processor", lambda: "a CPU")
    cpu = {"machine": platform.machine(), "processor": "a CPU", "kernels": "Nehalem", "device": "cpu", "gpu": ""}
    python = tuple(platform.python_version().split(".")[:2])
    assert environment.numerics("cpu") == cpu | {"python": python}
    torch = SimpleNamespace(cuda=SimpleNamespace(get_device_name=lambda device: f"model of {device}"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    devices = ("cuda", "cuda:2", "cpu", "mps")
    assert [environment.gpu_model(device) for device in devices] == ["model of cuda", "model of cuda:2", "", ""]
    assert environment.numerics("cuda:1")["gpu"] == "model of cuda:1"
