"""Variables that may hold gaps say why, met where there are gaps: batches too small, neurons left out, no decay."""

import numpy as np
import torch

from repdyn.across_papers.methods import networks, rest
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments import odd_point, random_networks


def gaps(variables):
    """Variables that are not finite everywhere, each with whether it says why."""
    return {
        str(name): bool(held.attrs.get("missing"))
        for name, held in variables.items()
        if held.dtype.kind == "f" and not np.isfinite(held.values).all()
    }


def test_batches_too_small_for_an_odd_point():
    """An odd point needs seven points."""
    explained = {"resting_ratio": True, "resting_intra_angle": True}
    assert gaps(odd_point._fixed_points((5, 8))) == explained
    assert gaps(odd_point._fixed_points((7, 8))) == {}


def test_a_point_without_a_response_has_no_angle():
    angles = np.full((3, 2, 1, 1), 60.0)
    angles[1, 0] = np.nan
    assert gaps(random_networks._untypical_variables(angles, np.zeros((2, 1, 1)))) == {"angle_without": True}


def test_without_weight_decay_nothing_is_balanced():
    Y, recorder = torch.eye(2, dtype=torch.float64), rest.RestRecorder(torch.eye(2, dtype=torch.float64), 0.0)
    network = networks.build("plain", 3, 4, 2, len(Y), gain=1.0, leak=1.0, stream=Stream(1, ("t",)), seeds=2)
    recorder.stop(network)
    recorder.stop(network)
    recorder.look(np.array([0.0, 0.1]))
    variables = recorder.variables(np.ones(2), np.ones(2), rate=0.1, momentum=0.9)
    assert gaps(variables) == {"imbalance": True}
    assert variables["at_rest"].values.tolist() == [0, 0]
