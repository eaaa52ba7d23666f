"""Experiments on trained networks at a tiny size: blocks, resuming, storing."""

import numpy as np
import xarray as xr
from tests.leaky_resnets.test_networks import random_net

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.experiments import chains, paper_settings
from repdyn.leaky_resnets.methods.network_datasets import arrays_of, network_at, network_variables, restored
from repdyn.leaky_resnets.settings.training import PaperSettings, Trained

TINY = {"dimension": 4, "points": 20, "width": 9}
NARROW = TINY | {"rank": 2, "hidden": 5, "penalty": 0.05, "rate": 0.003}
RECIPE = NARROW | {"first_penalty": 0.003, "first_steps": 10}
MAPS = ("decayed maps", "free maps", "fixed maps", "decayed maps, no bias")


def chain_settings(seeds: int = 2) -> Trained:
    """Three depths of twenty steps."""
    return Trained(**RECIPE, maps=MAPS, effective_depths=(1.0, 2.0, 3.0), layers=5, steps=20, blocks=2, seeds=seeds)


def stream(name: str) -> Stream:
    """The stream that a job of this name gets."""
    return Stream(0, ("leaky_resnets", name))


def no_checkpoint() -> Checkpoint:
    """Remembers nothing on disk."""
    return Checkpoint(None, "")


def run_chains(settings: Trained, block: int = 0, checkpoint: Checkpoint | None = None) -> xr.Dataset:
    """One block of chains on the CPU."""
    return chains.trained(settings, stream("trained"), "cpu", checkpoint or no_checkpoint(), block)


def test_seeds_do_not_depend_on_their_block():
    pair, single = run_chains(chain_settings(2), 0), run_chains(chain_settings(1), 1)
    np.testing.assert_array_equal(pair["W"].sel(seed=1), single["W"].sel(seed=1))
    np.testing.assert_array_equal(pair["X"].sel(seed=1), single["X"].sel(seed=1))
    assert not np.array_equal(pair["X"].sel(seed=0), pair["X"].sel(seed=1))


def test_killed_chains_resume_with_the_same_numbers(tmp_path):
    settings = chain_settings()
    whole = run_chains(settings, checkpoint=Checkpoint(tmp_path, "chains"))
    half = Checkpoint(tmp_path, "chains")
    names = [name for name in half.trials if "depth3" in name or ("fixed" in name and "depth2" in name)]
    assert len(names) == 4 * 2 + 2
    for name in names:
        half.drop(name)
    again = run_chains(settings, checkpoint=half)
    xr.testing.assert_identical(whole, again)


def test_paper_settings_resume(tmp_path):
    own = PaperSettings(
        **NARROW,
        maps=("free maps",),
        effective_depth=2.0,
        layers=5,
        records=(5, 9),
        descent_steps=3,
        descent_rates=(0.01,),
        seeds=1,
    )
    whole = paper_settings.paper_settings(own, stream("p"), "cpu", Checkpoint(tmp_path, "p"))
    half = Checkpoint(tmp_path, "p")
    half.drop("free maps-seed0-9")
    xr.testing.assert_identical(whole, paper_settings.paper_settings(own, stream("p"), "cpu", half))


def test_networks_of_any_shape_are_stored_and_restored():
    rng = np.random.default_rng(0)
    originals = [random_net(rng, True, L=3), random_net(rng, False, L=5)]
    stored = xr.Dataset(network_variables(("net",), (2,), [arrays_of(net) for net in originals]))
    for k, net in enumerate(originals):
        network = network_at(stored.isel(net=k), 2.3, net.bias)
        np.testing.assert_array_equal(network.W, net.W.astype(np.float32))
        np.testing.assert_array_equal(network.rho, net.rho)
    again = restored(arrays_of(originals[0]), 2.3)
    np.testing.assert_array_equal(again.into, originals[0].into.astype(np.float32))


def test_from_scratch_every_depth_is_a_chain_of_its_own():
    whole = chain_settings(1).model_copy(update={"from_scratch": True})
    alone = whole.model_copy(update={"effective_depths": (3.0,)})
    np.testing.assert_array_equal(run_chains(whole)["W"].isel(effective_depth=-1), run_chains(alone)["W"][:, :, 0])
