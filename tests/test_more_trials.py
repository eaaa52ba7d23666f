"""With more seeds, rates, depths or rows finished trials are read, and the result equals that of a fresh run."""

import copy
import inspect
import typing
from pathlib import Path

import pytest
from tests.small import interpreted, make, maker

from repdyn.base.checkpoints import Store
from repdyn.base.settings import EACH, Settings
from repdyn.pipeline.config.configuration import STUDIES
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.declare.jobs import input_paths
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.kinds import simulate

DEEPER = {"depths": [2, 3, 4], "rates": {"bn": [0.1, 0.1, 0.2], "default": [0.1] * 3, "he": [0.1] * 3}}
FOUR_MAPS = ["free maps", "decayed maps, no bias", "decayed maps", "fixed maps"]
MORE_TRIALS = {
    "bn_decomposed/data/training/bn.nc": [{"seeds": 3}, DEEPER],
    "bn_decomposed/data/ablation.nc": [{"seeds": 3}],
    "bn_decomposed/data/layer_angles.nc": [{"seeds": 3}, {"batches": [4, 5, 9]}],
    "truncation_flow/data/general_flow.nc": [({"seeds": 8}, {"seeds": 10})],
    "bn_decomposed/data/point_neurons.nc": [
        {"seeds": 3},
        {"margins": [0.4999999999, 0.5, 1.0, 2.0, 5.0]},
        {"rates": [0.1, 0.3, 0.4, 1.0]},
    ],
    "bn_decomposed/data/gaussian_layer.nc": [{"batches": [3, 4, 5]}, {"widths": [1, 2, 4]}, {"blocks": 20}],
    "bn_decomposed/data/contraction.nc": [
        {"batches": [7, 10, 12]},
        {"draws": 3},
        ({"configurations": 10}, {"configurations": 11}),
    ],
    "bn_decomposed/data/symmetric_batch.nc": [
        {"batches": [7, 8, 10]},
        {"widths": [16, 20, 24]},
        ({"runs": 10}, {"runs": 11}),
    ],
    "bn_decomposed/data/rows_to_full_rank.nc": [{"recentered": [3, 5, 6]}],
    "bn_decomposed/data/tree_limits.nc": [
        {"points": [4, 5, 6], "batches": [4, 4, 4]},
        ({"batches": [10, 10]}, {"batches": [20, 10]}),
        {"deep_batches": 3},
    ],
    "bn_decomposed/data/odd_point.nc": [{"batches": [5, 7, 10]}, {"seeds": 3}],
    "bn_decomposed/data/largest_norm.nc": [{"widths": [8, 16]}, {"runs": 3}],
    "bn_mean_field/data/propagation.nc": [{"seeds": 3}, {"widths": [4, 6, 8, 16]}, {"random_widths": [4, 6, 8, 16]}],
    "bn_mean_field/data/learning_rates.nc": [{"seeds": 3}],
    "bn_mean_field/data/feature_learning.nc": [{"seeds": 3}],
    "bn_mean_field/data/concentration.nc": [{"seeds": 3}, {"angles": [0.0, 44.9999999, 45.0, 90.0]}],
    "leaky_resnets/data/formula_audit.nc": [{"draws": 3}],
    "leaky_resnets/data/identity_costs.nc": [{"searches": 3}, {"draws": 5}],
    "leaky_resnets/data/geodesics.nc": [{"effective_depths": [2.9999999999, 3, 4, 6]}, {"seeds": 3}],
    "leaky_resnets/data/random_geodesics.nc": [{"draws": 3}],
    "leaky_resnets/data/critical_paths.nc": [{"layers": [20, 30, 40, 60, 80]}, ({"seeds": 10}, {"seeds": 20})],
    "leaky_resnets/data/trained/block0.nc": [
        {"seeds": 3},
        {"blocks": 4},
        {"maps": FOUR_MAPS},
        {"effective_depths": [1.0, 2.0, 3.0, 3.5]},
    ],
    "leaky_resnets/data/discretized/block0.nc": [
        {"seeds": 3},
        {"blocks": 4},
        {"maps": ["free maps", "decayed maps"]},
        {"layers": [4, 5, 6]},
    ],
    "leaky_resnets/data/output_growth.nc": [{"seeds": 3}],
    "leaky_resnets/data/staged.nc": [{"staged_seeds": 3}],
    "leaky_resnets/data/refinement.nc": [{"seeds": 3}, {"doublings": 3}],
    "leaky_resnets/data/convergence.nc": [{"seeds": 3}, {"steps": [2, 4, 8, 16]}],
    "leaky_resnets/data/paper_settings.nc": [
        {"seeds": 2},
        {"maps": ["fixed maps", "free maps"]},
        {"descent_rates": [0.2999999999, 0.3, 0.5]},
    ],
    "leaky_resnets/data/restarts.nc": [{"teachers": 3}],
    "leaky_resnets/data/overregularized.nc": [{"teachers": 3}, {"excess": [3.9999999, 4.0]}],
    "universality/data/architectures.nc": [{"seeds": 3}, {"rows": ["high", "default", "linear", "shallow"]}],
    "universality/data/default_network.nc": [{"seeds": 3}],
    "universality/data/default_ensemble.nc": [{"seeds": 5}],
    "universality/data/adam_runs.nc": [{"seeds": 3}, {"rates": [1e-4, 0.0003, 1e-3]}],
    "universality/data/printed_data.nc": [{"seeds": 3}, {"rows": ["shallow"]}],
    "universality/data/final_distances.nc": [
        {"seeds": 3},
        {"dx": [0.5, 1.0, 2.0]},
        {"dy": [0.5, 1.0, 2.0]},
        {"converged": 0.5},
    ],
    "universality/data/xor.nc": [{"trials": 3}],
    "universality/data/xor_gains.nc": [{"gains": [1.0, 1.2, 1.4]}, {"usual.trials": 4}],
    "universality/data/blobs/high.nc": [{"trials": 3}],
    "universality/data/image_training/sgd.nc": [{"trials": 5}, {"parameters_of": 2}],
    "universality/data/image_training/adam.nc": [{"trials": 4}],
}
"""Dataset -> changes of its settings that ask for more trials than before, for the same or for fewer.

Draws cached in groups start from full ones: settings before and after.
"""
ALTERED = {
    "bn_decomposed/data/training/bn.nc": ({"rates.bn": [0.1, 0.2]}, 2),
    "bn_mean_field/data/propagation.nc": ({"reference": 80, "random_reference": 80}, 4),
    "universality/data/architectures.nc": ({"networks.high.gain": 1.5}, 2),
    "universality/data/printed_data.nc": ({"dx": 0.7, "dy": 0.9}, 4),
    "universality/data/final_distances.nc": ({"slower": 2.0}, 8),
    "universality/data/xor.nc": ({"runs.low.gain": 0.7}, 2),
    "across_papers/data/two_points.nc": ({"rates.plain": 0.004}, 1),
    "across_papers/data/digits.nc": ({"rates.plain": 0.02, "rates.leaky": 0.02}, 4),
    "across_papers/data/odd_batch.nc": ({"rates.recentered": 0.002}, 1),
}
"""Dataset -> a change of some of its trials, and their number."""

QUICK = {
    "bn",
    "largest_norm",
    "point_neurons",
    "staged",
    "staged_measures",
    "paper_settings",
    "adam_runs",
    "adam_fits",
    "learning_rates",
}
"""Datasets that are tested in every run; the others in slow tests."""
LEARNED = {"hidden": 2, "gain": 1.0, "learning_rate": 0.1}
"""A network that converges within 300 epochs, so that there is something to fit."""
DEFAULT = {"epochs": 300, **{f"default.{name}": value for name, value in LEARNED.items()}}
SHALLOW = {"epochs": 300, "rows": ["shallow"], **{f"networks.shallow.{name}": value for name, value in LEARNED.items()}}
ADAM = DEFAULT | {"epochs": 150, "every": 10, "rates": [0.01]}
ANALYSES = {
    "bn_mean_field/data/propagation_distances.nc": ("propagation", {}, {"seeds": 3}),
    "leaky_resnets/data/chain_measures.nc": ("trained/block0", {}, {"seeds": 3}),
    "leaky_resnets/data/scheme_measures.nc": ("discretized/block0", {}, {"seeds": 3}),
    "leaky_resnets/data/refinement_measures.nc": ("refinement", {}, {"seeds": 3}),
    "leaky_resnets/data/convergence_measures.nc": ("convergence", {}, {"seeds": 3}),
    "leaky_resnets/data/staged_measures.nc": ("staged", {}, {"staged_seeds": 3}),
    "leaky_resnets/data/paper_measures.nc": ("paper_settings", {}, {"seeds": 2}),
    "leaky_resnets/data/restart_measures.nc": ("restarts", {}, {"teachers": 3}),
    "leaky_resnets/data/excess_measures.nc": ("overregularized", {}, {"teachers": 3}),
    "universality/data/architecture_fits.nc": ("architectures", SHALLOW, {"seeds": 3}),
    "universality/data/default_network_fits.nc": ("default_network", DEFAULT, {"seeds": 3}),
    "universality/data/default_ensemble_fits.nc": ("default_ensemble", DEFAULT, {"seeds": 4}),
    "universality/data/printed_data_fits.nc": ("printed_data", {}, {"seeds": 3}),
    "universality/data/adam_fits.nc": ("adam_runs", ADAM, {"seeds": 3}),
    "universality/data/final_predictions.nc": ("architectures", SHALLOW, {"seeds": 3}),
}
"""Analysis, trial by trial -> the dataset that it reads, settings before, and a change that gives more trials."""


def trying(file, *more):
    """A case for pytest: slow where the dataset is."""
    return pytest.param(file, *more, marks=[] if Path(file).stem in QUICK else [pytest.mark.slow])


def changed(member, changes):
    """The task with other settings; `runs.low.gain` is a place in the section of the experiment or in another."""
    member = copy.deepcopy(dict(member))
    for key, value in changes.items():
        place, names = member["settings"], key.split(".")
        place = place if names[0] in place else place["settings"]
        for name in names[:-1]:
            place = place[name]
        place[names[-1]] = value
    return member


class Runs:
    """Runs of one experiment on small settings."""

    def __init__(self, file, folder):
        (_, self.member), self.file, self.folder = maker(file), file, folder
        for other in input_paths([self.member]):
            if not (folder / other).is_file():
                make(other, folder)

    def __call__(self, changes, store):
        """Bytes of the dataset and how many trials were read and computed."""
        used = Store(self.folder / store)
        load_function(self.member["study"], self.member["function"])
        with interpreted(self.member["study"]):
            simulate.run(changed(self.member, changes), self.folder, used)
        return (self.folder / self.file).read_bytes(), used.tally


@pytest.mark.parametrize(
    ("file", "changes"), [trying(file, changes) for file, listed in MORE_TRIALS.items() for changes in listed], ids=str
)
def test_only_new_trials_are_computed_with_identical_result(file, changes, tmp_path):
    run = Runs(file, tmp_path)
    start, changes = changes if isinstance(changes, tuple) else ({}, changes)
    _, before = run(start, "kept")
    result, tally = run(changes, "kept")
    expected, alone = run(changes, "fresh")
    assert result == expected
    assert alone.read == 0 or file.startswith("leaky_resnets")
    assert tally.computed == max(alone.computed - before.computed, 0) or "rows" in changes
    assert tally.read >= min(before.computed, alone.computed)
    again, tally = run(changes, "kept")
    assert (again, tally.computed) == (expected, 0)


@pytest.mark.parametrize(
    ("file", "reads", "start", "changes"), [trying(file, *more) for file, more in ANALYSES.items()], ids=str
)
def test_analysis_reads_cached_results_of_earlier_trials(file, reads, start, changes, tmp_path):
    networks = Runs(f"{file.split('/')[0]}/data/{reads}.nc", tmp_path)
    networks(start, "networks")
    run = Runs(file, tmp_path)
    of_both = {key: value for key, value in changes.items() if key in run.member["settings"]["settings"]}
    _, before = run({}, "kept")
    networks(start | changes, "networks")
    result, tally = run(of_both, "kept")
    expected, alone = run(of_both, "fresh")
    assert result == expected
    assert (tally.read, tally.computed) == (before.computed, alone.computed - before.computed)
    assert 0 < tally.computed < alone.computed


@pytest.mark.parametrize("file", [trying(file) for file in ALTERED])
def test_only_changed_trials_are_recomputed(file, tmp_path):
    changes, count = ALTERED[file]
    run = Runs(file, tmp_path)
    run({}, "kept")
    result, tally = run(changes, "kept")
    assert tally.computed == count
    assert result == run(changes, "fresh")[0]


def marked(function):
    """Settings of an experiment on which no single trial depends, nested ones by their name."""
    hints = typing.get_type_hints(function)
    models = [hint for hint in hints.values() if isinstance(hint, type) and issubclass(hint, Settings)]
    return {name for model in models for name, field in model.model_fields.items() if EACH in field.metadata}


def experiments_with_checkpoints():
    return {
        (study, function.name)
        for study in STUDIES
        for function in read_study(study).experiments.values()
        if "checkpoint" in function.parameters
    }


def test_every_marked_setting_is_tested():
    files = [*MORE_TRIALS, *ALTERED]
    names = {}
    for file in files:
        member = maker(file)[1]
        function = load_function(member["study"], member["function"])
        tried = [*MORE_TRIALS.get(file, ()), *([ALTERED[file][0]] if file in ALTERED else [])]
        afterwards = [changes[1] if isinstance(changes, tuple) else changes for changes in tried]
        tried_settings = {key.removeprefix("usual.").split(".")[0] for changes in afterwards for key in changes}
        names.setdefault((member["study"], function.__name__), (function, set()))[1].update(tried_settings)
    assert experiments_with_checkpoints() == {*names, *((file.split("/")[0], Path(file).stem) for file in ANALYSES)}
    shared = {"rows", "runs", "trials"}  # of a model of settings that another of its experiments tries
    for function, tried_settings in names.values():
        others = {setting for other, tried in names.values() if marked(other) == marked(function) for setting in tried}
        assert marked(function) - tried_settings - others <= shared, function.__name__
        assert "checkpoint" in inspect.signature(function).parameters
