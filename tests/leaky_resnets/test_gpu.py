"""Training on a GPU: its numbers against the CPU's where there is one; without one, graph and devices on stand-ins."""

from functools import partial

import numpy as np
import pytest
import torch
from tests import pretended_gpu
from tests.leaky_resnets.test_training import data, nets

from repdyn.leaky_resnets.methods.training import Trainer, cosine
from repdyn.leaky_resnets.theory.layers import layer_steps

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: training on it cannot be compared")
BAND = 1e-9  # relative, double precision, 30 steps: sums in another order, 1e-16 each, grow by Adam's square roots
Trainer64 = partial(Trainer, penalty=0.3, dtype=torch.float64)


def trained(run):
    """Adam with steps of the layers that change on the way, then descent: everything that a graph has to follow."""
    rho = layer_steps("irregular", len(run.steps), 0.5)
    run.adam(cosine(0.01, 20), 7, lambda: run.set_steps(np.repeat(rho[:, None], 3, axis=1)))
    run.adam(cosine(0.005, 5))
    run.descend(np.full(5, 1e-3))
    return run


def arrays(run):
    state = {"representations": run.representations(), **run.state()}
    return {name: value for name, value in state.items() if value.ndim}


@gpu
@pytest.mark.parametrize("learned", [True, False])
def test_the_gpu_trains_as_the_cpu(learned):
    both = [trained(Trainer64(nets(3), *data(3), learned=learned, device=device)) for device in ("cpu", "cuda")]
    ours, theirs = map(arrays, both)
    for name in ours:
        np.testing.assert_allclose(theirs[name], ours[name], rtol=BAND, atol=BAND * np.abs(ours[name]).max())


@gpu
def test_resumed_training_on_the_gpu_is_the_uninterrupted_one():
    rates, (X, Y) = cosine(0.01, 30), data(3)
    whole, first, second = (Trainer(nets(3), X, Y, penalty=0.3, device="cuda") for _ in range(3))
    whole.adam(rates)
    first.adam(rates[:13])
    second.restore(first.state())
    second.adam(rates[13:])
    np.testing.assert_array_equal(second.state()["theta"], whole.state()["theta"])


@pytest.mark.parametrize("learned", [True, False])
def test_the_graph_of_a_step_is_the_step(monkeypatch, learned):
    """The graph is recorded and replayed on the CPU: bit for bit, since the kernels are the same."""
    pretended_gpu.graphs(monkeypatch)
    plain, graph = (Trainer64(nets(3), *data(3), learned=learned, batched=True) for _ in range(2))
    graph.device = pretended_gpu.CpuAsGpu("cpu")
    begun = arrays(plain)["theta"]
    ours, theirs = arrays(trained(plain)), arrays(trained(graph))
    for name in ours:
        np.testing.assert_array_equal(theirs[name], ours[name])
    assert np.abs(ours["theta"] - begun).max() > 1e-2


@pytest.mark.parametrize("learned", [True, False])
def test_every_tensor_of_a_step_is_on_the_device(learned):
    with pretended_gpu.OneDevice():
        run = trained(Trainer64(nets(3), *data(3), learned=learned, device="meta"))
        assert {part.device.type for part in (run.theta, run.rho, run.W, run.P, run.Q, run.rate)} == {"meta"}
        run.rho = torch.ones(run.rho.shape)
        with pytest.raises(RuntimeError, match="one device"):
            run.adam_step()
