"""Made-up networks for the claims across papers: fits of the theory, ranks at half depth, norms of a batch."""

import numpy as np
import xarray as xr
from tests.made_up import claims_by_id, filled, near

from repdyn.across_papers.methods.names import ENDS, FOUR, HALF

CLAIMS = claims_by_id("across_papers")
SEEDS = 20


def fits(network, log2_ratio, curves=slice(None)):
    """Unexplained shares of 0.1 on two points, a network's so much more in these curves; on digits all miss."""
    names = list(FOUR)
    share = np.full((2, 4, SEEDS, 3), 0.1)
    share[1, names.index(network)] = 1.0
    share[0, names.index(network), :, curves] *= 2.0 ** np.asarray(log2_ratio).reshape(
        (SEEDS,) + (1,) * (share[0, 0][:, curves].ndim - 1)
    )
    dims = ("data", "network", "seed")
    return (
        xr.Dataset(
            filled(dims, share.shape[:3], unexplained=share.mean(axis=-1), learned=1.0, at_bound=0.0)
            | {"explained": ((*dims, "curve"), 1 - share)},
            {"data": ["two points", "digits"], "network": names},
        ),
    )


TASK_RANKS = (9, 2)


def spectrum(large, tail=0.0):
    """So many values of 1, and thirty in the tail."""
    values = np.zeros(60)
    values[: large + 30] = tail
    values[:large] = 1
    return values


def ranks(middle, half=None, tail=0.0):
    """Every network with so many values of 1 at half depth in the two tasks, in all of ten seeds."""
    dims = ("task", "network", "seed", "end", "index")
    own, earlier = ([spectrum(count, tail) for count in counts] for counts in (middle, half or middle))
    looks = np.stack([np.stack([was, was, now]) for was, now in zip(earlier, own, strict=True)])
    outputs = np.stack([np.broadcast_to(spectrum(rank), (3, 60)) for rank in TASK_RANKS])
    every = lambda values: np.broadcast_to(values[:, None, None], (2, 4, 10, 3, 60)).copy()  # noqa: E731
    return xr.Dataset(
        {
            "middle_values": (dims, every(looks)),
            "output_values": (dims, every(outputs)),
            "input_values": ("index", spectrum(59)),
            "centered_task_rank": (("task", "network"), np.repeat(np.array(TASK_RANKS)[:, None], 4, axis=1)),
        }
        | filled(dims[:3], (2, 4, 10), learned=1, at_rest=1),
        {"task": ["10 classes", "3 classes"], "network": list(FOUR), "end": [ENDS[0], HALF, ENDS[1]]},
    )


def of_one(network, middle, last=1.0):
    """Four seeds with the ranks of the tasks, 9 and 2, at half depth, but for one network; its last value is smaller.

    By a little: it counts as before, and the effective rank lies below the count, where rounding changes nothing.
    """
    data, own = (ranks(middle).isel(seed=slice(0, 4)) for middle in ((9, 2), middle))
    values = own["middle_values"].values.copy()
    for task, count in enumerate(middle):
        values[task, ..., count - 1] = last
    return data.assign(middle_values=data["middle_values"].where(data["network"] != network, values))


LAYERS = ["layers.0", "layers.28", "layers.29", "layers.39"]  # the last two are in the last quarter of forty
NOT_LATE, LATE, LAST = 1, slice(2, 4), 3
NETWORKS = [*FOUR, "recentered"]
BEFORE, AFTER = 0, 1


def norms(*changes, learned=SEEDS):
    """Norms without an odd point, six times the second in recentered networks; changes: network, end, layers, ratio."""
    values = np.ones((5, SEEDS, 2, 4))
    values[4] = 6.0
    for network, end, layers, ratio in changes:
        values[NETWORKS.index(network), :, end, layers] = np.broadcast_to(
            np.reshape(ratio, (-1,) + (1,) * (values[0, :, end, layers].ndim - 1)), values[0, :, end, layers].shape
        )
    values *= np.exp(near(0.0, SEEDS))[:, None, None]
    know = np.ones((5, SEEDS), int)
    know[4] = np.arange(SEEDS) < learned
    return xr.Dataset(
        filled(("network", "seed", "end", "layer"), values.shape, norm_ratio=values, odd_point=1)
        | filled(("network", "seed"), know.shape, final_loss=0.1 * values[:, :, 0, 0], learned=know),
        {"network": NETWORKS, "end": list(ENDS), "layer": LAYERS},
    )
