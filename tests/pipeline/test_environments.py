"""Versions and machines: what a new project pins, what a recipe and the numbers of a trial name."""

import platform
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from repdyn.pipeline.new import environments
from repdyn.pipeline.run.machine import environment

THERE = {
    "repdyn": (
        "1.2.3",
        ["numpy>=1.26", "Scikit_Learn (>1)", "torch", "snakemake>=8", "gone>1", "pytest; extra == 'test'"],
    ),
    "pytest": ("9.0", ["ruamel.yaml>=0.18; python_version > '3'"]),
    "numpy": ("2.1.0", None),
    "scikit-learn": ("1.5.2.post1", ["numpy", "repdyn"]),
    "torch": ("2.4.0+cpu", []),
    "snakemake": ("8.20", ["numpy"]),
    "ruamel-yaml": ("0.18", []),
    "apart": ("7", []),
}


@pytest.fixture
def there(monkeypatch):
    """Distributions that are installed, with what they require."""

    def distribution(name):
        if name not in THERE:
            raise PackageNotFoundError(name)
        version, requires = THERE[name]
        return SimpleNamespace(version=version, requires=requires)

    monkeypatch.setattr(environments, "distribution", distribution)


def test_what_is_required_is_found_to_the_last_and_extras_and_local_tags_are_left_out(there):
    assert environments.installed(["repdyn"]) == {
        "repdyn": "1.2.3",
        "numpy": "2.1.0",
        "scikit-learn": "1.5.2.post1",
        "torch": "2.4.0",
        "snakemake": "8.20",
    }
    assert environments.installed(["pytest", "gone"]) == {"pytest": "9.0", "ruamel-yaml": "0.18"}
    assert environments.installed([]) == {}


def test_environments_of_a_project_pin_what_is_installed_here(there):
    told = environments.placeholders()
    assert told["PYTHON"] == ".".join(platform.python_version().split(".")[:2])
    assert told["REPDYN"] == "1.2.3"
    assert told["CONSTRAINTS"].splitlines() == [
        "numpy==2.1.0",
        "pytest==9.0",
        "repdyn==1.2.3",
        "ruamel-yaml==0.18",
        "scikit-learn==1.5.2.post1",
        "snakemake==8.20",
        "torch==2.4.0",
    ]
    assert told["CONDA_CPU"].splitlines() == ["  - numpy=2.1.0", "  - pytorch-cpu=2.4.0", "  - scikit-learn=1.5.2"]
    assert told["CONDA_GPU"] == told["CONDA_CPU"].replace("pytorch-cpu", "pytorch-gpu")
    assert set(told) == {"PYTHON", "REPDYN", "CONSTRAINTS", "CONDA_CPU", "CONDA_GPU"}


def test_names_of_conda_stand_for_those_of_the_index(monkeypatch):
    required = {"repdyn": ["matplotlib", "ruamel.yaml"]}
    found = lambda name: SimpleNamespace(version="3", requires=required.get(name, []))  # noqa: E731
    monkeypatch.setattr(environments, "distribution", found)
    assert environments.placeholders()["CONDA_CPU"].splitlines() == ["  - matplotlib-base=3", "  - ruamel.yaml=3"]


@pytest.fixture
def fresh_recipe():
    environment.recipe.cache_clear()
    yield
    environment.recipe.cache_clear()


def test_a_recipe_names_versions_processor_kernels_and_gpu(fresh_recipe, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")
    monkeypatch.setattr(environment, "processor", lambda: "a CPU")
    recipe = environment.recipe()
    assert set(recipe) == {"versions", "machine", "processor", "kernels", "gpu"}
    assert recipe["versions"] == environment.versions()
    assert (recipe["processor"], recipe["kernels"], recipe["machine"]) == ("a CPU", "Nehalem", platform.machine())
    assert environment.numerics("cpu") == {
        "machine": platform.machine(),
        "processor": "a CPU",
        "kernels": "Nehalem",
        "python": tuple(platform.python_version().split(".")[:2]),
        "device": "cpu",
        "gpu": "",
    }
    monkeypatch.setattr(environment, "gpu_model", lambda device: f"model of {device}")
    assert environment.numerics("cuda:1")["gpu"] == "model of cuda:1"


def test_the_model_of_a_gpu_is_that_of_the_device_and_a_cpu_has_none(monkeypatch):
    named = SimpleNamespace(cuda=SimpleNamespace(get_device_name=lambda device: f"model of {device}"))
    monkeypatch.setitem(sys.modules, "torch", named)
    devices = ("cuda", "cuda:2", "cpu", "mps")
    assert [environment.gpu_model(device) for device in devices] == ["model of cuda", "model of cuda:2", "", ""]


def test_kernels_are_those_of_the_environment_or_openblas_own(monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    assert environment.kernels() == "chosen by OpenBLAS"


def test_versions_are_of_python_and_of_every_package(monkeypatch):
    versions = environment.versions()
    assert list(versions) == ["python", *environment.PACKAGES]
    assert versions["python"] == platform.python_version()
    assert environment.version_of("no-such-distribution") == "not installed"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor : 0\nmodel name\t: A CPU: 3 GHz\nmodel name\t: Another\n", "A CPU: 3 GHz"),
        ("processor : 0\n", "unknown"),
        (None, "told by the platform"),
    ],
)
def test_the_processor_is_the_first_that_the_system_names(tmp_path, monkeypatch, text, name):
    file = tmp_path / "cpuinfo"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(environment, "Path", lambda place: file if place == "/proc/cpuinfo" else Path(place))
    monkeypatch.setattr(environment.platform, "processor", lambda: "told by the platform")
    assert environment.processor() == name
