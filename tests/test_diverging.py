"""Diverging networks are a result: missing values with reasons, and no refuted claim.

Trainings run on the small settings at rates a hundred times too large, as far as the settings accept them, and from
weights ten times too large. Other inputs of claims are created with the unchanged small settings.
"""

import copy
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.small import interpreted, make, members

from repdyn.base import datasets
from repdyn.base.decisions import decide_claim
from repdyn.base.verdicts import DEPENDS, REFUTED, STATUSES
from repdyn.pipeline.run.declare.graph import read_study
from repdyn.pipeline.run.declare.jobs import input_paths
from repdyn.pipeline.run.execute.loading import load_function
from repdyn.pipeline.run.kinds import simulate

pytestmark = pytest.mark.slow
FACTOR, GAIN = 100.0, 10.0
RATES = ("rate", "rates", "learning_rate", "descent_rates", "descent_rate")
STEPS = {
    "bn_mean_field": ("step", "steps", "stability_steps", "largest_step"),
    "truncation_flow": ("rate", "step", "steps", "euler_steps"),
}
"""Settings that are rates; `steps` are numbers of steps in other studies."""
TRAINED = {
    "universality": "default_network default_ensemble printed_data architectures adam_runs final_distances xor "
    "xor_gains image_training blobs",
    "across_papers": "two_points digits odd_batch",
    "leaky_resnets": "descents trained discretized refinement convergence staged paper_settings restarts "
    "overregularized output_growth",
    "bn_decomposed": "training point_neurons",
    "diagnostics": "convolutional_network",
    "bn_mean_field": "anisotropy speed_ratio target_scan learning_rates feature_learning concentration magnitudes "
    "first_step",
    "truncation_flow": "proposition printed_and_corrected integrators neural_collapse truncation_in_the_plane "
    "collapsed_clusters propagators reduced_network general_flow",
}  # fmt: skip
"""Experiments that train or descend."""
LARGEST = {
    "universality": 10.0,
    "across_papers": 10.0,
    "leaky_resnets": 1.0,
    "output_growth": 10.0,
    "bn_decomposed": 10.0,
    "diagnostics": 10.0,
    "bn_mean_field": 1.0,
    "learning_rates": 1e6,
    "feature_learning": 1e6,
    "truncation_flow": 0.1,
}
"""Rates that the settings of a study, or of an experiment, accept."""
DESCENT = {False: {"rate": 1.0, "descent_steps": 50, "descent_rate": 1.0}, True: {"rate": 1.0, "descent_steps": 50}}
"""The largest rates, and plain descent after Adam's, of an experiment that has one rate for it or several."""
WITHOUT_DESCENT = ["descents", "output_growth"]
CHANGES = [(study, "rates") for study in TRAINED]
CHANGES += [("universality", "gain"), ("across_papers", "gain"), ("leaky_resnets", "descent"), ("diagnostics", "gain")]


def altered(settings, change, largest, names=RATES):
    """Settings with all rates a hundred times too large, with a gain of ten, or with descent at the largest rate."""
    if not isinstance(settings, dict):
        return settings
    place = {}
    for name, value in settings.items():
        if change == "rates" and name in names:
            place[name] = _times(value, largest)
        elif change == "descent" and name == "settings":
            place[name] = altered(value, "rates", largest, names) | DESCENT["descent_rates" in value]
        elif change == "gain" and name in ("gain", "gains"):
            place[name] = [GAIN / 2, GAIN] if name == "gains" else GAIN
        else:
            place[name] = altered(value, change, largest, names)
    return place


def _times(rates, largest):
    if isinstance(rates, dict):
        return {name: _times(value, largest) for name, value in rates.items()}
    if isinstance(rates, list):
        return sorted({_times(value, largest) for value in rates}) if len(rates) == 1 else _apart(rates, largest)
    return min(FACTOR * rates, largest)


def _apart(rates, largest):
    """Rates of a list, of which none is twice the same where the settings forbid it."""
    return [min(FACTOR * rate, largest * (1 - 1e-9 * place)) for place, rate in enumerate(rates[::-1])][::-1]


class Diverging:
    """A study's datasets, of which those that come from changed trainings are made anew."""

    def __init__(self, study, change, folder):
        self.study, self.change, self.folder = study, change, folder
        self.members = members(study)
        trained = [f for f, m in self.members.items() if self._name(f) in TRAINED[study].split()]
        self.changed = []
        for file, member in self.members.items():
            inputs = {str(path) for path in input_paths([member])}
            if file in trained or inputs & set(self.changed):
                self.changed.append(file)

    def _name(self, file):
        return Path(file).relative_to(f"{self.study}/data").parts[0].removesuffix(".nc")

    def file(self, file):
        """A dataset, made where it is not there yet."""
        if (self.folder / file).is_file():
            return datasets.read(self.folder / file)
        if file not in self.changed:
            return make(file, self.folder)
        member = copy.deepcopy(self.members[file])
        for other in input_paths([member]):
            self.file(str(other))
        if self._name(file) in TRAINED[self.study].split():
            largest = LARGEST.get(self._name(file), LARGEST[self.study])
            names = STEPS.get(self.study, RATES)
            change = "rates" if self._name(file) in WITHOUT_DESCENT else self.change
            member["settings"] = altered(member["settings"], change, largest, names)
        load_function(member["study"], member["function"])
        with interpreted(self.study), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            simulate.run(member, self.folder, None)
        return datasets.read(self.folder / file)

    def named(self, name):
        """A dataset by name, or those of its variants."""
        files = [file for file in self.members if self._name(file) == name]
        if name == "images":
            return self.file("data/images.nc")
        if files == [f"{self.study}/data/{name}.nc"]:
            return self.file(files[0])
        return {Path(file).stem: self.file(file) for file in files}

    def readers(self):
        """Claims that read what has changed."""
        changed = {self._name(file) for file in self.changed}
        return {name: made for name, made in read_study(self.study).claims.items() if changed & set(made.reads)}


@pytest.mark.parametrize(("study", "change"), CHANGES)
def test_diverged_networks_give_missing_values_with_reasons_and_verdicts(study, change, tmp_path):
    run, wrong = Diverging(study, change, tmp_path), []
    for file in run.changed:
        for name, array in run.file(file).variables.items():
            if array.dtype.kind == "f" and not np.isfinite(array.values).all() and not array.attrs.get("missing"):
                wrong.append(f"{file}: {name} has no reason")
    for id, made in run.readers().items():
        data = {name: run.named(name) for name in made.reads}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verdict = decide_claim(load_function(study, made.path), data).ledger["verdict"]
        diverged = datasets.said_to_have_diverged(*data.values())
        if verdict not in STATUSES or (diverged and verdict in (*REFUTED, DEPENDS)):
            wrong.append(f"{id}: {verdict}")
    assert wrong == []
