"""Rules between knobs of `universality`, `across_papers` and `leaky_resnets`, at their borders, on default values."""

from copy import deepcopy
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel, ValidationError

import repdyn

PACKAGE = Path(repdyn.__file__).parent


@cache
def model_and_values(study: str) -> tuple[type[BaseModel], dict]:
    """The model of all settings of a study, and its default values as the file has them; not to be changed."""
    file = PACKAGE / study / "values" / "default.yaml"
    return import_module(f"repdyn.{study}.study").STUDY.settings, yaml.safe_load(file.read_text(encoding="utf-8"))


def refusal(study: str, changes: dict[str, object]) -> str:
    """What is said of the default values with these changes, by path; empty where they are accepted."""
    model, values = deepcopy(model_and_values(study))
    for path, value in changes.items():
        *parents, key = path.split(".")
        place = values
        for parent in parents:
            place = place[parent]
        assert key in place, path
        place[key] = value
    try:
        model.model_validate(values)
    except ValidationError as error:
        return "\n".join(str(one["msg"]) for one in error.errors())
    return ""


WITH_LAYERS = ("criticality", "paper_settings", "restarts")
BORDERS = [  # study, changes that are accepted, those that are refused, what is said
    *(
        ("across_papers", {f"{name}.leak": depth - 0.01}, {f"{name}.leak": depth}, "leak: ")
        for name, depth in (("two_points", 12), ("digits", 8), ("odd_batch", 60))
    ),
    *(
        ("across_papers", {f"{name}.depth": 14}, {f"{name}.depth": 15}, "depth: 15 layers have no middle")
        for name in ("two_points", "digits", "odd_batch")
    ),
    ("across_papers", {"digits.groups": [4, 5, 1]}, {"digits.groups": [4, 4, 1]}, "groups: 9 digits are shared out"),
    (
        "universality",
        {"taylor_ratios.pairs": 500, "taylor_ratios.bins": 100},
        {"taylor_ratios.pairs": 499, "taylor_ratios.bins": 100},
        "pairs: 499 pairs leave bins below five",
    ),
    (
        "universality",
        {"image_training.parameters_at": [0, 1392]},
        {"image_training.parameters_at": [0, 1391]},
        "parameters_at: 1391 is not one of stored_steps",
    ),
    (
        "universality",
        {"image_training.trials": 8},
        {"image_training.trials": 7},
        "parameters_of: 8 networks, but trials is 7",
    ),
    (
        "universality",
        {"image_training.parameters_at": [29, 8700]},
        {"image_training.parameters_at": [29, 8700], "image_training.stored_steps": [29, 8700]},
        "stored_steps: it goes from 29 to 8700",
    ),
    (
        "universality",
        {"image_training.parameters_at": [0, 29]},
        {"image_training.parameters_at": [0, 29], "image_training.stored_steps": [0, 29]},
        "it goes from 0 to 29, runs.sgd.steps is 8700",
    ),
    (
        "universality",
        {"final_distances.rows": ["narrow"]},
        {"final_distances.rows": ["skip"], "architectures.rows": ["default", "low"]},
        "architectures: rows: skip is missing",
    ),
    (
        "universality",
        {},
        {"final_distances.rows": ["skip"], "architectures.rows": ["skip"]},
        "rows: default is missing",
    ),
    (
        "universality",
        {"networks.convolution.units": 111},
        {"networks.convolution.units": 110},
        "units: 11 convolutions use up 110 units",
    ),
    *(
        (
            "universality",
            {f"{name}.epochs": 2 * every + 1},
            {f"{name}.epochs": 2 * every},
            f"epochs: {2 * every} epochs with a record every {every}",
        )
        for name, every in (
            ("architectures", 10),
            ("default_network", 10),
            ("default_ensemble", 10),
            ("printed_data", 10),
            ("final_distances", 20),
        )
    ),
    *(
        ("leaky_resnets", {f"geodesics.{size}": 4}, {f"geodesics.{size}": 3}, "rank: 3 is no bottleneck")
        for size in ("width", "points")
    ),
    (
        "leaky_resnets",
        {"geodesics.positions": 199},
        {"geodesics.positions": 200},
        "positions: 200 leaves out the middle",
    ),
    (
        "leaky_resnets",
        {"critical_paths.layers": [20, 40, 41, 42]},
        {"critical_paths.layers": [20, 39, 41, 42]},
        "layers: fewer than three",
    ),
    *(
        (
            "leaky_resnets",
            {f"{name}.width": size},
            {f"{name}.width": size - 1},
            f"width: {size - 1} is below the dimension {size}",
        )
        for name, size in (
            ("trained", 10),
            ("criticality", 10),
            ("restarts", 10),
            ("discretized", 10),
            ("paper_settings", 30),
        )
    ),
    *(
        ("leaky_resnets", {f"{name}.rank": size - 1}, {f"{name}.rank": size}, f"rank: {size} is no bottleneck")
        for name, size in (("trained", 10), ("criticality", 10), ("restarts", 10), ("paper_settings", 30))
    ),
    *(
        (
            "leaky_resnets",
            {f"{name}.layers": 8, f"{name}.effective_depth": 7.9},
            {f"{name}.layers": 8, f"{name}.effective_depth": 8.0},
            "effective_depth: 8 needs more than 8 layers",
        )
        for name in WITH_LAYERS
    ),
    ("leaky_resnets", {"trained.layers": 11}, {"trained.layers": 10}, "effective_depths: 10 needs more than 10 layers"),
    (
        "leaky_resnets",
        {"discretized.effective_depth": 3.2},
        {"discretized.effective_depth": 3.3},
        "layers: 4 layers: give more than 4.04",
    ),
]


@pytest.mark.parametrize(("study", "accepted", "refused", "words"), BORDERS)
def test_a_rule_between_knobs_refuses_the_first_value_beyond_its_border(study, accepted, refused, words):
    assert refusal(study, accepted) == ""
    assert words in refusal(study, refused)
