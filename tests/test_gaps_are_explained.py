"""Variables that may hold gaps say why, met where there are gaps: batches too small, neurons left out, no decay."""

import numpy as np
import torch
from tests.bn_mean_field.test_experiments import EXITS, FEATURES, FIRST_STEP, RATES, SCAN

from repdyn.across_papers.methods import networks, rest
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.experiments import odd_point, random_networks
from repdyn.bn_mean_field.experiments import exit_times, feature_learning, first_step, learning_rates, target_scan
from repdyn.bn_mean_field.methods import starts_and_targets
from repdyn.truncation_flow import settings as sizes
from repdyn.truncation_flow.experiments import cluster_flow, collapse, trained_output

STREAM = Stream(1, ("t",))


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
    network = networks.build("plain", 3, 4, 2, len(Y), gain=1.0, leak=1.0, stream=STREAM, seeds=2)
    recorder.stop(network)
    recorder.stop(network)
    recorder.look(np.array([0.0, 0.1]))
    variables = recorder.variables(np.ones(2), np.ones(2), rate=0.1, momentum=0.9)
    assert gaps(variables) == {"imbalance": True}
    assert variables["at_rest"].values.tolist() == [0, 0]


def test_networks_that_never_learn():
    """At one step of three the first start of the first network learns; no loss is known of the last network."""
    shape = (len(learning_rates.NETWORKS), 2, 3)
    needed, final = np.full(shape, np.inf), np.ones(shape)
    needed[0, 0, 1], final[-1] = 5.0, np.inf
    rates = learning_rates._rates_dataset(RATES, np.array([0.1, 1.0, 10.0]), needed, final)
    assert gaps(rates) == dict.fromkeys(("needed", "final", "fewest", "smallest_step", "largest_step"), True)
    assert rates["decades"].values[0].tolist() == [1 / RATES.steps_per_decade, 0]
    shape = (len(feature_learning.TASKS), len(feature_learning.NETWORKS), 2, 3, len(feature_learning.THRESHOLD))
    parts = np.ones((2, 3)), np.full(shape, np.inf), np.ones((*shape[:1], 2))
    assert gaps(feature_learning._learned_dataset(FEATURES, *parts)) == {"needed": True}


def test_descents_that_diverge():
    """At a step of 1 vanilla neurons of either length leave every basin; those with BN do not."""
    a, b = starts_and_targets.paired_start(FIRST_STEP.directions)
    runs = first_step._stability(FIRST_STEP.model_copy(update={"stability_steps": (1.0,)}), a[None], b[None])
    assert gaps(runs) == {"long_loss": True, "long_diverged": True}
    for name, known in (("long_loss", [True, False]), ("long_diverged", [False, True])):
        np.testing.assert_array_equal(np.isfinite(runs[name].values[..., 0]).T, [known, known])
    growth = first_step._growth(np.array([[1.0], [np.nan]]), ("run",), "growth")
    assert gaps({"growth": growth}) == {"growth": True}


def test_neurons_near_no_axis_and_radii_that_are_not_reached(monkeypatch):
    monkeypatch.setattr(target_scan, "NEAR", 0.0)
    assert gaps(target_scan.target_scan(SCAN, STREAM)) == {"outer_contrast": True}
    far = EXITS.model_copy(update={"radii": (0.75, 50.0)})
    assert gaps(exit_times.exit_times(far)) == {"exit_time": True}


def test_flows_too_short_for_an_arrival():
    """Two clusters beside three leave a column empty; sectors that are kept are lost at no time."""
    short = {"horizon": 0.1, "samples": 20, "step": 0.05}
    run = collapse.neural_collapse(
        sizes.NeuralCollapse(dimensions=(2, 3), points=4, fill=0.8, start=0.0, **short), STREAM
    )
    late = {f"{name}{world}" for name in ("cost_rate", "within_late") for world in ("", "_untruncated", "_too_wide")}
    assert gaps(run) == dict.fromkeys(late | {"arrival", "start_share"}, True)
    reduced = trained_output.reduced_network(sizes.ReducedNetwork(points=4, **short), STREAM)
    assert gaps(reduced) == {"lost": True, "lost_free": True}


def test_solvers_stopped_by_their_cap():
    settings = sizes.Integrators(
        dimension=2, points=3, steps=(0.025, 0.05, 0.1), tolerances=(1e-9, 1e-2), evaluations=100, horizon=2.0
    )
    found = gaps(cluster_flow.integrators(settings, STREAM))
    assert found == {"scipy_error": True, "sliding_u_scipy": True}
