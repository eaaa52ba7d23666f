"""Rules for the settings of every study; each test lists all settings that break its rule."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from pydantic import ValidationError
from tests.conftest import ROOT
from tests.dag import extremes

from repdyn.base.settings import Settings
from repdyn.pipeline.config.configuration import STUDIES, load


class Listed(NamedTuple):
    """A setting that is a list of two numbers or more, and the section in which it stands."""

    name: str
    section: Settings
    key: str


def lists(section: Settings, path: tuple[str, ...] = ()) -> Iterator[Listed]:
    for key in type(section).model_fields:
        value = getattr(section, key)
        if isinstance(value, Settings):
            yield from lists(value, (*path, key))
        elif isinstance(value, tuple) and len(value) > 1 and not isinstance(value[0], str):
            yield Listed(".".join((*path, key)), section, key)


def refused(listed: Listed, before: float, last: float) -> bool:
    """Whether the list is refused when it ends with these two numbers, by its key and both of them."""
    changed = {listed.key: [*getattr(listed.section, listed.key)[:-2], before, last]}
    words = rf"(^|; ){listed.key}: {re.escape(str(last))} .*{re.escape(str(before))}"
    return any(re.search(words, text) for text in complaints(listed.section, changed))


def complaints(section: Settings, changes: dict[str, object]) -> list[str]:
    """Errors for a section with some changed settings; empty if it is valid."""
    try:
        type(section).model_validate(section.model_dump() | changes)
    except ValidationError as error:
        return [problem["msg"] for problem in error.errors()]
    return []


@pytest.fixture(scope="module")
def default() -> Settings:
    return load([ROOT / "config.yaml"])


def test_lists_described_as_ordered_must_be_ordered(default):
    listed = [*lists(default)]
    assert len(listed) > 50
    problems = []
    for each in listed:
        ordered = re.search("creasing", type(each.section).model_fields[each.key].description)
        before, last = getattr(each.section, each.key)[-2:]
        if not refused(each, before, before) is refused(each, last, before) is bool(ordered):
            problems.append(each.name)
    assert problems == []


BETWEEN = [  # a section, what is changed in it, and the key and number in the refusal; None where it is just enough
    ("bn_mean_field.equivalence", {"radii": [0.5, 2.0]}, "radii 1.0"),
    ("bn_mean_field.propagation", {"widths": [8, 16, 32], "reference": 128}, None),
    ("bn_mean_field.propagation", {"widths": [8, 16, 32], "reference": 127}, "reference 127"),
    ("bn_mean_field.propagation", {"random_widths": [8, 16, 32], "random_reference": 128}, None),
    ("bn_mean_field.propagation", {"random_widths": [8, 16, 32], "random_reference": 127}, "random_reference 127"),
    ("bn_mean_field.propagation", {"times": [0.5, 1.0]}, "times 0.5"),
    ("bn_mean_field.equicontinuity", {"pair_stride": 10, "transport_stride": 10}, None),
    ("bn_mean_field.equicontinuity", {"pair_stride": 10, "transport_stride": 25}, "transport_stride 25"),
    ("bn_mean_field.exit_times", {"radii": [0.5, 2.0], "start_radius": 0.49}, None),
    ("bn_mean_field.exit_times", {"radii": [0.5, 2.0], "start_radius": 0.5}, "radii 0.5"),
    ("bn_mean_field.anisotropy", {"record": [0, 9], "look": 9, "early": 9, "stride": 3}, None),
    ("bn_mean_field.anisotropy", {"record": [0, 9], "look": 9, "early": 8, "stride": 3}, "look"),
    ("bn_mean_field.anisotropy", {"record": [0, 9], "look": 9, "early": 9, "stride": 2}, "look"),
    ("bn_mean_field.anisotropy", {"steps": [0.1, 0.2], "step": 0.2}, None),
    ("bn_mean_field.anisotropy", {"steps": [0.1, 0.2], "step": 0.15}, "step 0.15"),
    ("bn_mean_field.target_scan", {"angles": [0.0, 90.0]}, None),
    ("bn_mean_field.target_scan", {"angles": [0.0, 89.0]}, "angles 0"),
    ("bn_mean_field.target_scan", {"angles": [1.0, 90.0]}, "angles 1"),
    ("bn_mean_field.concentration", {"angles": [0.0, 89.0]}, "angles 0"),
    ("bn_mean_field.concentration", {"angles": [1.0, 90.0]}, "angles 1"),
    ("bn_mean_field.concentration", {"record": [1, 90]}, "record 1"),
    ("bn_mean_field.learning_rates", {"smallest_step": 0.5, "largest_step": 0.51}, None),
    ("bn_mean_field.learning_rates", {"smallest_step": 0.5, "largest_step": 0.5}, "largest_step 0.5"),
    ("bn_mean_field.feature_learning", {"smallest_step": 0.5, "largest_step": 0.51}, None),
    ("bn_mean_field.feature_learning", {"smallest_step": 0.5, "largest_step": 0.5}, "largest_step 0.5"),
    ("bn_mean_field.magnitudes", {"iterations": 12, "stride": 5}, "iterations 12"),
    ("bn_decomposed.ablation", {"record": [0, 9], "depth": 9}, None),
    ("bn_decomposed.orthogonality_gap", {"batch": 16, "input_dim": 16, "widths": [16, 32]}, None),
    ("bn_decomposed.training", {"depths": [1, 2, 3]}, "rates 4"),
    ("bn_decomposed.training", {"depths": [1], "rates": {"bn": [1.0], "default": [1.0], "he": [0.1, 1.0]}}, "rates 2"),
    ("bn_decomposed.relu_moments", {"cosines": [-1.0, 1.0]}, None),
    ("bn_decomposed.relu_moments", {"cosines": [-1.0, 0.9]}, "cosines -1.0"),
    ("bn_decomposed.relu_moments", {"cosines": [-0.9, 1.0]}, "cosines -0.9"),
    ("bn_decomposed.gaussian_layer", {"widths": [10, 100], "rows": 200}, None),
    ("bn_decomposed.gaussian_layer", {"widths": [10, 100], "rows": 210}, "widths 100"),
    ("bn_decomposed.gaussian_layer", {"widths": [70, 100], "rows": 200}, "widths 70"),
    ("bn_decomposed.contraction", {"batches": [8, 60], "multiplier_up_to": 8}, None),
    ("bn_decomposed.contraction", {"batches": [8, 60], "multiplier_up_to": 7}, "batches 8"),
    ("bn_decomposed.rows_to_full_rank", {"circles": [3, 4, 5]}, "circles 4"),
    ("bn_decomposed.rows_to_full_rank", {"wait_points": 6}, "wait_points 6"),
    ("bn_decomposed.full_rank_tail", {"alphas": [1.5, 2.1]}, None),
    ("bn_decomposed.full_rank_tail", {"alphas": [1.5, 2.0]}, "alphas 2.0"),
    ("bn_decomposed.cluster_rows", {"points": [3, 10], "layers": 12}, None),
    ("bn_decomposed.cluster_rows", {"points": [3, 10], "layers": 13}, "layers 10"),
    ("bn_decomposed.tree_limits", {"points": [5, 6]}, "batches 5"),
    ("bn_decomposed.interior_angles", {"points": 5, "layers": 100}, None),
    ("bn_decomposed.interior_angles", {"points": 6, "layers": 143}, "layers 143"),
    ("truncation_flow.gradient_audit", {"dimensions": [2, 5], "points": 5}, None),
    ("truncation_flow.gradient_audit", {"dimensions": [2, 5], "points": 4}, "points 4"),
    ("truncation_flow.random_clusters", {"dimensions": [2, 2, 3], "points": [5, 6, 5]}, None),
    ("truncation_flow.random_clusters", {"dimensions": [2, 2, 3], "points": [5, 6]}, "points"),
    ("truncation_flow.random_clusters", {"dimensions": [2, 3, 2], "points": [5, 6, 5]}, "points"),
    ("leaky_resnets.trained", {"effective_depths": [1.0, 2.0, 7.0], "layers": 8}, None),
    ("leaky_resnets.trained", {"effective_depths": [1.0, 2.0, 7.0], "layers": 7}, "effective_depths 7"),
    ("leaky_resnets.paper_settings", {"effective_depth": 7.0, "layers": 7}, "effective_depth 7"),
    ("leaky_resnets.criticality", {"effective_depth": 4.0, "layers": 4}, "effective_depth 4"),
    ("leaky_resnets.discretized", {"effective_depth": 3.0, "layers": [3, 4]}, "layers 3"),
    ("leaky_resnets.critical_paths", {"layers": [10, 40, 80, 160]}, None),
    ("leaky_resnets.critical_paths", {"layers": [10, 20, 40, 80]}, "layers 40"),
    ("leaky_resnets.geodesics", {"rank": 5, "width": 5}, "rank 5"),
    ("leaky_resnets.geodesics", {"positions": 22}, "positions 22"),
    ("universality.default_network", {"epochs": 30, "every": 10}, None),
    ("universality.default_network", {"epochs": 20, "every": 10}, "epochs 20"),
    ("universality.adam_runs", {"epochs": 30, "every": 10}, None),
    ("universality.adam_runs", {"epochs": 20, "every": 10}, "epochs 20"),
    ("universality.image_training", {"stored_steps": [0, 29], "parameters_at": [0, 29]}, "stored_steps 29"),
    ("universality.image_training", {"stored_steps": [7, 8700], "parameters_at": [7, 8700]}, "stored_steps 7"),
    ("universality.image_training", {"parameters_at": [0, 5]}, "parameters_at 5"),
    ("universality.image_training", {"trials": 3, "parameters_of": 3}, None),
    ("universality.image_training", {"trials": 3, "parameters_of": 4}, "parameters_of 4"),
    ("universality.taylor_ratios", {"pairs": 100, "bins": 20}, None),
    ("universality.taylor_ratios", {"pairs": 99, "bins": 20}, "pairs 99"),
    ("across_papers.digits", {"leak": 3.9, "depth": 4}, None),
    ("across_papers.digits", {"leak": 4.0, "depth": 4}, "leak 4"),
    ("across_papers.digits", {"depth": 5}, "depth 5"),
    ("across_papers.digits", {"groups": [5, 4]}, "groups 9"),
]  # fmt: skip


def test_rules_between_settings_at_their_boundary(default):
    wrong = []
    for where, changes, refused in BETWEEN:
        section = default
        for key in where.split("."):
            section = getattr(section, key)
        problems = complaints(section, changes)
        key, _, number = (refused or "").partition(" ")
        expected = len(problems) == 1 and problems[0].startswith(f"{key}:") and number in problems[0]
        if not (expected if refused else problems == []):
            wrong.append((where, changes, problems))
    assert wrong == []


@pytest.mark.parametrize("study", STUDIES)
def test_duplicates_are_rejected_in_lists_of_choices(study):
    """Each list of a study's settings with its first item twice: rejected, or every value has a separate role."""
    model, values = extremes.of_smoke(study)
    twice = {path: [extremes.at(values, path)[0], *extremes.at(values, path)] for path in extremes.lists(values)}
    assert [
        path for path, items in twice.items() if extremes.accepts(model, extremes.with_value(values, path, items))
    ] == []
