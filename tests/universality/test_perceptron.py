"""The numpy perceptron against torch: values, derivative along a direction, halves."""

import numpy as np
import pytest
import torch

from repdyn.universality.methods import minibatch_training as trainer
from repdyn.universality.methods.perceptron import from_flat

SIZES = [4, 9, 8, 7, 3]


def pair(nonlinearity):
    """The same network in torch and in numpy, with biases that are not zero."""
    ensemble = trainer.xavier(SIZES, 1.0, [np.random.default_rng(s) for s in (0, 1)], nonlinearity, dtype=torch.float64)
    noise = torch.randn(len(ensemble.theta), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    ensemble.theta.add_(0.1 * noise)
    return ensemble, from_flat(trainer.parameters(ensemble)[1], SIZES, nonlinearity)


@pytest.mark.parametrize("nonlinearity", trainer.NONLINEARITIES)
def test_values_and_derivatives_are_torchs(nonlinearity):
    ensemble, ours = pair(nonlinearity)
    X, V = (torch.from_numpy(np.random.default_rng(3).standard_normal((6, 4))) for _ in range(2))
    wanted, along = torch.func.jvp(lambda x: trainer.layers(ensemble, x)[-1][1], (X,), (V + 1,))
    assert np.allclose(ours(X.numpy()), wanted.numpy(), atol=1e-12)  # sums of tens of products of order one
    assert np.allclose(ours.derivative(X.numpy(), (V + 1).numpy()), along.numpy(), atol=1e-12)


def test_encoder_and_decoder_compose_to_the_network():
    ensemble, ours = pair("leaky relu")
    X = np.random.default_rng(4).standard_normal((6, 4))
    for hidden in range(3):
        encoder, decoder = ours.split(hidden)
        assert np.allclose(encoder(X), trainer.layers(ensemble, torch.from_numpy(X))[hidden][1].numpy(), atol=1e-12)
        assert np.allclose(decoder(encoder(X)), ours(X), atol=1e-12)


def test_layers_and_parameters_that_do_not_exist_are_refused():
    _, ours = pair("tanh")
    with pytest.raises(ValueError, match="3"):
        ours.split(3)
    with pytest.raises(ValueError, match="5"):
        from_flat(np.zeros(5), SIZES, "tanh")
