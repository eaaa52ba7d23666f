"""What the controls of claims change, worked out again from made-up datasets with numbers of their own."""

import numpy as np
import pytest
from tests.worlds import changed, world

from repdyn.base.errors import NotEnoughDataError

STUDY = "across_papers"


@pytest.mark.parametrize(
    ("id", "source"),
    [("acr-bottleneck-plain", "input"), ("acr-bottleneck-batch-norm", "input"), ("acr-bottleneck-below", "output")],
)
def test_values_at_half_depth_become_those_of_inputs_or_of_trained_outputs(id, source):
    (own,), (spoiled,) = world(STUDY, id)
    assert changed(own, spoiled) == {"middle_values"}
    values = spoiled["middle_values"]
    assert values.dims == own["middle_values"].dims
    for end in own["end"].values:
        for seed in range(own.sizes["seed"]):
            wanted = own[f"{source}_values"]
            if source == "output":
                wanted = wanted.sel(end="after training").isel(seed=seed)
            np.testing.assert_array_equal(values.sel(end=end).isel(seed=seed), wanted)


def odd_batch(seeds=5):
    """Recentered networks 1 and 3 have learned and have an odd point, 0 has not learned, 2 and 4 have no odd point."""
    (own,), _ = world(STUDY, "acr-odd-made")
    own = own.isel(seed=slice(seeds)).copy(deep=True)
    own["norm_ratio"][:] = np.arange(own["norm_ratio"].size).reshape(own["norm_ratio"].shape) / 1e4
    recentered = own["norm_ratio"].loc[{"network": "recentered", "end": "after training"}]
    recentered[:, -1] = [9.0, 9.5, 3.0, 3.5, 1.0]
    own["learned"].loc[{"network": "recentered"}] = [0, 1, 1, 1, 1]
    return own


def test_norms_with_an_odd_point_are_given_to_others_in_turn_before_and_after():
    others = ["plain", "batch norm", "residual", "leaky"]
    for id, part, networks in [("acr-odd-before", kind, [kind]) for kind in others] + [("acr-odd-made", "", others)]:
        own = odd_batch()
        _, (spoiled,) = world(STUDY, id, part, {"odd_batch": own})
        assert changed(own, spoiled) == {"norm_ratio"}
        ratio = spoiled["norm_ratio"].transpose(*own["norm_ratio"].dims)
        for network in own["network"].values.tolist():
            for seed, source in enumerate([1, 3, 1, 3, 1]):
                for end in own["end"].values:
                    wanted = {"network": network, "end": end}, seed
                    if network in networks:
                        wanted = {"network": "recentered", "end": "after training"}, source
                    np.testing.assert_array_equal(
                        ratio.sel(network=network, end=end).isel(seed=seed),
                        own["norm_ratio"].sel(wanted[0]).isel(seed=wanted[1]),
                    )


def test_no_world_with_odd_points_is_made_where_none_has_learned_one():
    own = odd_batch()
    own["norm_ratio"].loc[{"network": "recentered", "end": "after training", "layer": own["layer"][-1]}] = 3.0
    with pytest.raises(NotEnoughDataError, match="a recentered network that has learned and has an odd point"):
        world(STUDY, "acr-odd-made", "", {"odd_batch": own})


@pytest.mark.parametrize(("part", "end"), [("before", "before training"), ("after", "after training")])
def test_recentered_networks_get_the_norms_of_full_normalization_at_one_end(part, end):
    own = odd_batch()
    own["learned"].loc[{"network": "batch norm"}] = [1, 0, 1, 0, 0]
    _, (spoiled,) = world(STUDY, "acr-odd-survives", part, {"odd_batch": own})
    assert changed(own, spoiled) == {"norm_ratio"} | ({"learned"} if part == "after" else set())
    ratio, learned = own["norm_ratio"].copy(deep=True), own["learned"].copy(deep=True)
    ratio.loc[{"network": "recentered", "end": end}] = ratio.sel(network="batch norm", end=end).values
    np.testing.assert_array_equal(spoiled["norm_ratio"].transpose(*ratio.dims), ratio)
    if part == "after":
        learned.loc[{"network": "recentered"}] = [1, 0, 1, 0, 0]
    np.testing.assert_array_equal(spoiled["learned"].transpose(*learned.dims), learned)
