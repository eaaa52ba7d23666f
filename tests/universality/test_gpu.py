"""The engines on a GPU: their numbers against the CPU's where there is one; without one, graph and devices on
stand-ins.
"""

import numpy as np
import pytest
import torch
from tests import pretended_gpu

from repdyn.base.streams import Stream
from repdyn.universality.methods import minibatch_training
from repdyn.universality.methods.engines import autograd, batched
from repdyn.universality.methods.engines.frames import Task
from repdyn.universality.methods.minibatch_training import NONLINEARITIES, Trainer, xavier
from repdyn.universality.methods.networks import NONLINEARITIES as OF_TWO_POINTS
from repdyn.universality.methods.networks import Net, initial_weights
from repdyn.universality.methods.two_point_training import train_two_points, two_points
from repdyn.universality.settings.two_points import TwoPointRun

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: engines on it cannot be compared")
BAND = 1e-9  # relative, double precision, some hundred epochs: the engines of the CPU differ among each other by 1e-14
SINGLE = 2e-3  # relative, single precision, ten epochs of Adam, whose first steps are signs of small gradients
X, Y = two_points(1.0, np.sqrt(0.5))
MEASURED = ("h", "y", "w", "loss", "offset2")
NETS = {
    "dense": Net("tanh", 1.0, 20, 5),
    "skip": Net("leaky relu", 0.3, 20, 5, "skip"),
    "dropout": Net("leaky relu", 1.0, 20, 4, dropout=0.2),
    "convolution": Net("leaky relu", 0.95, 40, 3, "convolution", channels=3, kernel=5),
}


def trained(net, device="cpu", *, epochs=300, **task):
    run = TwoPointRun(seeds=3, epochs=epochs, every=7, stop=0.0, dtype="float64", engine="auto")
    return train_two_points(run, Task(net, X, Y, 0.02, 7, **task), Stream(3, ("universality", "test")), device=device)


def task_of(net, every=1, **more):
    """A task on the two points, and weights of three trials."""
    weights = [initial_weights(net, np.random.default_rng(trial)) for trial in range(3)]
    return Task(net, X, Y, 0.02, every, (1,), **more), {
        name: np.stack([arrays[name] for arrays in weights]) for name in weights[0]
    }


@gpu
@pytest.mark.parametrize("kind", NETS)
def test_the_gpu_trains_two_points_as_the_cpu(kind):
    ours, theirs = (trained(NETS[kind], device) for device in ("cpu", "cuda"))
    for name in MEASURED:
        np.testing.assert_allclose(theirs[name], ours[name], rtol=BAND, atol=BAND * np.abs(ours[name]).max())


@gpu
def test_adam_on_the_gpu_is_adam_on_the_cpu():
    ours, theirs = (trained(NETS["dense"], device, epochs=60, optimizer="adam") for device in ("cpu", "cuda"))
    np.testing.assert_allclose(theirs["loss"], ours["loss"], rtol=BAND)


@gpu
@pytest.mark.parametrize(("dtype", "band"), [(torch.float64, BAND), (torch.float32, SINGLE)])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_minibatches_on_the_gpu_are_those_on_the_cpu(optimizer, dtype, band):
    ours, theirs = (
        minibatch_training.parameters(after_epochs(optimizer, "leaky relu", device, dtype, 10)[0])
        for device in ("cpu", "cuda")
    )
    np.testing.assert_allclose(theirs, ours, rtol=band, atol=band * np.abs(ours).max())


def after_epochs(
    optimizer, nonlinearity, device, dtype, epochs, *, batch=4, changed=lambda trainer: None, batched=False
):
    """Two networks trained on eleven points in batches of four, and the points; `changed` gets the trainer first."""
    rng = np.random.default_rng(0)
    points, targets = (torch.tensor(rng.normal(size=(11, n)), dtype=dtype).to(device) for n in (3, 2))
    sources = [np.random.default_rng(trial) for trial in range(2)]
    networks = xavier([3, 8, 6, 2], 1.0, sources, nonlinearity, dtype=dtype, device=device)
    trainer = Trainer(networks, points, targets, rate=0.01, batch=batch, optimizer=optimizer, batched=batched)
    changed(trainer)
    for _ in range(epochs):
        trainer.epochs(1, np.stack([rng.permutation(11) for _ in sources])[None])
    return networks, points


@pytest.mark.parametrize("connections", ["dense", "skip"])
@pytest.mark.parametrize(
    ("nonlinearity", "optimizer"), [*((name, "sgd") for name in OF_TWO_POINTS), ("leaky relu", "adam")]
)
def test_the_graph_of_an_epoch_is_the_epoch(monkeypatch, nonlinearity, connections, optimizer):
    """The graph is recorded and replayed on the CPU: bit for bit, since the kernels are the same."""
    pretended_gpu.graphs(monkeypatch)
    monkeypatch.setattr(batched, "Batch", lambda task, weights, _, whole=batched.Batch: whole(task, weights, "cpu"))
    task, plain = task_of(Net(nonlinearity, 0.5, 12, 5, connections), every=7, optimizer=optimizer)
    begun = {name: array.copy() for name, array in plain.items()}
    graph = {name: array.copy() for name, array in plain.items()}
    ours, theirs = batched.advance(task, plain, 60), batched.advance(task, graph, 60, device="cuda")
    for expected, other in zip((*ours, *plain.values()), (*theirs, *graph.values()), strict=True):
        np.testing.assert_array_equal(other, expected)
    assert np.abs(plain["last"] - begun["last"]).max() > 1e-3


@pytest.mark.parametrize("connections", ["dense", "skip"])
@pytest.mark.parametrize(
    ("nonlinearity", "optimizer"), [*((name, "sgd") for name in OF_TWO_POINTS), ("leaky relu", "adam")]
)
def test_every_tensor_of_an_epoch_is_on_the_device(nonlinearity, connections, optimizer):
    task, weights = task_of(Net(nonlinearity, 0.5, 12, 5, connections), optimizer=optimizer)
    with pretended_gpu.OneDevice():
        batch = batched.Batch(task, weights, "meta")
        batch.epoch()
        batch.Y = torch.zeros(batch.Y.shape)
        with pytest.raises(RuntimeError, match="one device"):
            batch.epoch()


@pytest.mark.parametrize("kind", NETS)
def test_every_tensor_of_the_reference_is_on_the_device(kind):
    task, weights = task_of(NETS[kind])
    with pretended_gpu.OneDevice():
        parameters = {name: torch.tensor(array, device="meta").requires_grad_() for name, array in weights.items()}
        inputs, targets = torch.tensor(X, device="meta"), torch.tensor(Y, device="meta")
        generators = [torch.Generator().manual_seed(trial) for trial in range(3)] if task.net.dropout else []
        optimizer = torch.optim.SGD(list(parameters.values()), lr=0.1)
        autograd._step(task.net, parameters, inputs, targets, optimizer, generators)
        assert all(parameter.grad.device.type == "meta" for parameter in parameters.values())


@pytest.mark.parametrize("batch", [4, 11])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_graphs_of_minibatches_are_their_steps(monkeypatch, optimizer, batch):
    """Recorded and replayed on the CPU, one graph per size of batch."""
    pretended_gpu.graphs(monkeypatch)
    trainers = []

    def pretend(trainer):
        trainer.device = pretended_gpu.CpuAsGpu("cpu")
        trainers.append(trainer)

    ours, theirs = (
        minibatch_training.parameters(
            after_epochs(optimizer, "tanh", "cpu", torch.float64, 10, batch=batch, changed=changed, batched=True)[0]
        )
        for changed in (lambda trainer: None, pretend)
    )
    np.testing.assert_array_equal(theirs, ours)
    assert set(trainers[0]._graphs) == {4: {4, 3}, 11: {11}}[batch]


@pytest.mark.parametrize("nonlinearity", NONLINEARITIES)
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_every_tensor_of_a_minibatch_is_on_the_device(optimizer, nonlinearity):
    with pretended_gpu.OneDevice():
        networks, points = after_epochs(optimizer, nonlinearity, "meta", torch.float32, 2)
        assert minibatch_training.layers(networks, points)[-1].device.type == "meta"
