"""What a study declares of its jobs: names, variants, cuts and resources."""

from types import SimpleNamespace

import pytest

from repdyn.base.declarations import Resources, Simulation, Study, Variants
from repdyn.base.settings import Settings


def test_a_simulation_keeps_its_experiments_in_order_with_cuts_and_resources():
    experiments = ("c", ("a", {"run": "sgd"}), ("a", {"run": "adam"}), "b")
    cuts = {"c": ("seeds", ("draws", 50)), "a": ()}
    job = Simulation("training", *experiments, cut=cuts, memory_mb=3000, minutes=90)
    assert (job.name, job.experiments, job.cut) == ("training", experiments, cuts)
    assert job.resources == Resources(memory_mb=3000, minutes=90)
    bare = Simulation("flow", "d")
    assert (bare.experiments, bare.cut, bare.resources) == (("d",), {}, Resources(800, None))
    with pytest.raises(TypeError):
        Simulation("flow", "d", memory=3000)


def test_variants_take_their_values_from_a_list_or_from_the_settings():
    listed = Variants("net", "train", "mode", ("he", "bn", "none"), minutes=5)
    assert (listed.name, listed.experiment, listed.key) == ("net", "train", "mode")
    assert listed.values(SimpleNamespace(widths=(1, 2))) == ["he", "bn", "none"]
    assert listed.resources == Resources(minutes=5)
    of_settings = Variants("net", "train", "width", lambda settings: settings.widths)
    assert of_settings.values(SimpleNamespace(widths=(64, 16, 32))) == [64, 16, 32]
    assert of_settings.resources == Resources()


def test_a_study_without_more_comes_last_and_has_no_figure_to_play_with():
    study = Study("A study", Settings, ())
    assert (study.order, study.work, study.explorer, study.opening) == (100, {}, None, None)
