"""Made-up measures of chains of trained networks, noiseless, from numbers or arrays along some of their dimensions."""

import numpy as np
import xarray as xr
from tests.leaky_resnets.made_up import SEEDS

DECAYED, FREE, FIXED, NO_BIAS = MAPS = ["decayed maps", "free maps", "fixed maps", "decayed maps, no bias"]
LAYERS, RANK = 20, 3
AXES = {
    "maps": np.array(MAPS),
    "seed": np.arange(SEEDS),
    "effective_depth": np.array([2.0, 4.0, 7.0, 10.0]),
    "gamma": np.array([1e-3]),
    "layer": np.arange(LAYERS),
    "node": np.arange(LAYERS + 1),
    "spectrum_of": np.array(["A", "A centered", "W", "W centered"]),
    "place": np.array(["start", "middle", "end"]),
}
DEPTH, LAYER = (xr.DataArray(AXES[dim], {dim: AXES[dim]}) for dim in ("effective_depth", "layer"))
BY_LAYER = ("hamiltonian", "speed", "weight_sq", "momentum", "activation", "alignment", "identity_error", "image_gap")
OWN = dict.fromkeys(BY_LAYER, ("layer",))
OWN |= dict.fromkeys(("kinetic", "cost", "stable_hamiltonian"), ("gamma", "layer"))
OWN |= dict.fromkeys(("median_stable", "least_cost", "gap", "bound_low", "bound_high", "stable_length"), ("gamma",))
OWN |= dict.fromkeys(("separation_place", "separation_step"), ("spectrum_of",))
OWN |= {"negative": ("node",), "merged_change": ("place",), "identity_error_without": ("layer",)}


def chains(**values) -> xr.Dataset:
    """Measures of chains of four effective depths; what a claim only notes may be given as 0."""
    full = {}
    for name, value in values.items():
        dims = ("maps", "seed", "effective_depth", *OWN.get(name, ()))
        zero = xr.DataArray(np.zeros([len(AXES[dim]) for dim in dims]), {dim: AXES[dim] for dim in dims}, dims)
        full[name] = (zero + value).transpose(*dims)
    return xr.Dataset(full, {"gamma": AXES["gamma"], "rank": RANK})


def along(dim: str, *numbers: float) -> xr.DataArray:
    """Numbers along a dimension."""
    return xr.DataArray(np.array(numbers, float), {dim: AXES[dim]})


def by_maps(decayed: float, free: float, fixed: float, no_bias: float) -> xr.DataArray:
    """A number for each kind of linear maps."""
    return along("maps", decayed, free, fixed, no_bias)
