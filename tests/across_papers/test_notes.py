"""Notes of claims give the numbers that their words name, worked out again from made-up datasets."""

import numpy as np
import pytest
from tests.noted import data_of, note_of

STUDY = "across_papers"


@pytest.mark.parametrize("network", ["batch norm", "residual", "leaky"])
def test_fits_are_told_beside_those_of_the_plain_network(network):
    id = f"acr-theory-{network.replace(' ', '-')}"
    data = data_of(STUDY, id, narrow=True)
    fits = data["theory_fits"]
    note = note_of(STUDY, id, data)

    def median(kind, of):
        return np.median(fits["unexplained"].sel(data=of, network=kind))

    own, plain = (median(kind, "two points") for kind in (network, "plain"))
    assert f"medians: {own:.2g} against {plain:.2g} of the plain network;" in note
    own, plain = (median(kind, "digits") for kind in (network, "plain"))
    assert note.endswith(f"On pairs of digits in a batch {own:.2g} against {plain:.2g}.")
    alone = fits.sel(data="two points", network=network)
    r2 = [f"{np.median(alone['explained'].sel(curve=curve)):.2f}" for curve in "hyw"]
    assert f"$R^2$ of $h, y, w$ {', '.join(r2)}; {100 * float(alone['at_bound'].mean()):.0f} %" in note


def centered_rank(values):
    shares = values / values.sum()
    return np.exp(-np.sum(shares * np.log(shares)))


@pytest.mark.parametrize("network", ["plain", "residual", "leaky"])
def test_ranks_at_half_depth_are_medians_task_by_task(network):
    id = f"acr-bottleneck-{network}"
    data = data_of(STUDY, id, narrow=True)
    digits = data["digits"]
    values = digits["middle_values"]
    digits["middle_values"][:] = -np.sort(-values.transpose(..., "index").values, axis=-1)
    note = note_of(STUDY, id, data)
    for task in digits["task"].values:
        own = digits.sel(network=network, task=task)
        ranks = {
            end: np.median(
                [centered_rank(v) for v in own["middle_values"].sel(end=end).transpose("seed", "index").values]
            )
            for end in digits["end"].values
        }
        told = ", ".join(f"{rank:.1f} {end}" for end, rank in ranks.items())
        values = own["middle_values"].sel(end="after training").transpose("seed", "index").values
        large = [np.median((values > share * values.max(axis=1, keepdims=True)).sum(axis=1)) for share in (0.01, 0.1)]
        assert f"{str(task).capitalize()}: median effective rank without the mean at half depth {told}; " in note
        assert f"{large[0]:g} singular values above 1 % of the largest, {large[1]:g} above 10 %." in note
        assert f"Of {own.sizes['seed']} networks {int(own['learned'].sum())} have learned the task" in note
        assert f"and {int(own['at_rest'].sum())} are at rest." in note


@pytest.mark.parametrize(("id", "networks"), [("acr-odd-made", 4), ("acr-odd-survives", 2)])
def test_learners_are_counted_with_their_median_loss(id, networks):
    data = data_of(STUDY, id, narrow=True)
    batch = data["odd_batch"]
    note = note_of(STUDY, id, data)
    assert f"Learned, of {batch.sizes['seed']} seeds (median loss): " in note
    names = batch["network"].values[:4] if networks == 4 else ["recentered", "batch norm"]
    told = []
    for name in names:
        own = batch.sel(network=name)
        told.append(f"{name} {int(own['learned'].sum())} ({np.median(own['final_loss']):.2g})")
    assert ", ".join(told) in note


def test_the_same_point_is_odd_in_so_many_of_the_recentered_networks_that_have_learned():
    """In the last layer; of ten seeds that have learned three have another point there after training."""
    data = data_of(STUDY, "acr-odd-survives", narrow=True)
    batch = data["odd_batch"]
    seeds = np.arange(batch.sizes["seed"])
    odd = batch["odd_point"]
    odd[:] = np.arange(odd.sizes["end"] * odd.sizes["layer"]).reshape(
        [odd.sizes[dim] if dim in ("end", "layer") else 1 for dim in odd.dims]
    )
    batch["learned"].loc[{"network": "recentered"}] = seeds < 10
    for end in batch["end"].values:
        own = {"network": "recentered", "end": end, "layer": batch["layer"][-1]}
        odd.loc[own] = np.where((end == batch["end"].values[-1]) & ((seeds < 3) | (seeds == 10)), 8, 5)
    note = note_of(STUDY, "acr-odd-survives", data)
    assert note.endswith(" Before and after the same point is odd in 7 of 10 that have learned.")
