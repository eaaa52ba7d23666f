"""Rates and penalties that trainings are given, recorded in the place of training."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.progress import Progress
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.experiments.paper_settings import paper_settings
from repdyn.leaky_resnets.methods.maps import MAPS
from repdyn.leaky_resnets.methods.recipe import Batch, Recipe, descent_rates, lam, narrow_tasks
from repdyn.leaky_resnets.methods.training import Trainer
from repdyn.leaky_resnets.settings.training import PaperSettings, Restarts

SIZES = {"dimension": 5, "points": 20, "width": 8, "rank": 2, "hidden": 5, "penalty": 0.06, "rate": 0.003}
DEPTH, LAYERS = 3.0, 4


@pytest.fixture
def given(monkeypatch):
    """Kind of step, rates and penalty over Lt of each training that is asked for; none takes place."""
    asked = []
    for kind in ("adam", "descend"):
        monkeypatch.setattr(
            Trainer, kind, lambda run, rates, *_, kind=kind: asked.append((kind, np.array(rates), run.decay))
        )
    return asked


def test_the_papers_own_settings_give_rates_by_depth_and_dimension(given):
    """Adam from the rate times 1 + Lt along half a cosine; descents at rates for a cost averaged over outputs."""
    settings = PaperSettings(
        **SIZES,
        maps=("free maps",),
        effective_depth=DEPTH,
        layers=LAYERS,
        records=(4, 8),
        descent_steps=3,
        descent_rates=(0.01, 0.1),
        seeds=1,
    )
    paper_settings(settings, Stream(1, ("paper_settings",)), "cpu", Checkpoint(None, ""))
    kinds, rates, decays = zip(*given, strict=True)
    assert kinds == ("adam", "adam", "descend", "descend")
    cosine = 0.003 * 4 * (1 + np.cos(np.pi * np.arange(8) / 8)) / 2
    np.testing.assert_allclose(np.concatenate(rates[:2]), cosine, rtol=1e-12)
    np.testing.assert_allclose(rates[2], [0.01 / 5] * 3, rtol=1e-12)
    np.testing.assert_allclose(rates[3], [0.1 / 5] * 3, rtol=1e-12)
    np.testing.assert_allclose(decays, 0.06 * 5 / DEPTH / DEPTH, rtol=1e-12)


@pytest.fixture
def recipe():
    settings = Restarts(
        **SIZES,
        first_penalty=0.003,
        first_steps=2,
        descent_steps=3,
        descent_rate=0.3,
        effective_depth=DEPTH,
        layers=LAYERS,
        steps=6,
        teachers=1,
        starts=2,
        excess=(4.0,),
    )
    return Recipe(settings, Stream(1, ("restarts",)), "cpu", Checkpoint(None, ""), Progress("restarts", 1))


def test_a_recipe_gives_torch_one_thread(recipe):
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        replace(recipe)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(threads)


def test_first_fits_and_runs_have_rates_by_depth_and_dimension(given, recipe):
    """A first fit goes at 1.5 times the first rate of a run, which is the setting times 1 + Lt."""
    tasks = narrow_tasks(recipe.settings, recipe.stream, [0])
    maps = MAPS["decayed maps"]
    networks = recipe.first_fit(Batch([0], list(tasks.values())), maps, LAYERS, DEPTH)
    recipe.settle(networks, list(tasks.values()), maps, 6, excess=4.0)
    (first, adam, descent), decays = zip(*[(rates, decay) for _, rates, decay in given], strict=True)
    assert [kind for kind, _, _ in given] == ["adam", "adam", "descend"]
    np.testing.assert_allclose(first, [1.5 * 0.003 * 4] * 2, rtol=1e-12)
    np.testing.assert_allclose(adam, 0.003 * 4 * (1 + np.cos(np.pi * np.arange(6) / 6)) / 2, rtol=1e-12)
    np.testing.assert_allclose(descent, [0.3 / 5] * 3, rtol=1e-12)
    np.testing.assert_allclose(decays, [0.003 * 5 / 9, 4 * 0.06 * 5 / 9, 4 * 0.06 * 5 / 9], rtol=1e-12)


def test_rates_and_penalties_are_for_a_cost_averaged_over_outputs(recipe):
    np.testing.assert_allclose(descent_rates(recipe.settings), [0.06] * 3, rtol=1e-12)
    assert lam(0.06, 5, DEPTH) == pytest.approx(0.1)


def test_every_seed_has_a_teacher_and_points_of_its_own_whoever_else_is_asked_for(recipe):
    tasks = narrow_tasks(recipe.settings, recipe.stream, range(3))
    for name in ("X", "Y"):
        arrays = [getattr(tasks[seed], name) for seed in range(3)]
        assert min(abs(arrays[i] - arrays[j]).max() for i, j in [(0, 1), (0, 2), (1, 2)]) > 0.1
        np.testing.assert_array_equal(getattr(narrow_tasks(recipe.settings, recipe.stream, [2])[2], name), arrays[2])
