"""A network on a GPU is measured as on the CPU, and comes back as it was; skipped where there is no GPU."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from repdyn.diagnostics.measure import Recorder, measure

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: a network cannot be put there")
BAND = 1e-8  # relative, double precision: sums in another order, times condition numbers of some thousand
LABELS = torch.arange(24) % 3


def network() -> nn.Sequential:
    torch.manual_seed(0)
    first = (nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.2))
    return nn.Sequential(*first, nn.AvgPool2d(2), nn.Flatten(), nn.Linear(36, 8), nn.Tanh(), nn.Linear(8, 3)).double()


def images() -> torch.Tensor:
    return torch.randn(24, 1, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("batch_size", [None, 10])
def test_measures_on_the_gpu_are_those_on_the_cpu(batch_size):
    """All points at once, and in batches that come from the CPU."""
    cpu, gpu = (
        measure(network().to(device), images(), labels=LABELS, batch_size=batch_size) for device in ("cpu", "cuda")
    )
    assert set(gpu.data_vars) == set(cpu.data_vars)
    assert {"nc1", "accuracy", "effective_rank", "similarity"} & set(cpu.data_vars)
    for name, values in cpu.data_vars.items():
        if values.dtype.kind == "f":
            band = BAND * np.nanmax(np.abs(values.values), initial=1.0)
            np.testing.assert_allclose(gpu[name].values, values.values, rtol=BAND, atol=band, err_msg=str(name))
        else:
            np.testing.assert_array_equal(gpu[name].values, values.values, err_msg=str(name))


def trained(*, recorded: bool) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Three steps with dropout on the GPU: the weights after them, and the GPU's random state."""
    model = network().cuda()
    recorder = Recorder(model, DataLoader(TensorDataset(images(), LABELS), batch_size=12))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        if recorded:
            recorder(step)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images().cuda()), LABELS.cuda()).backward()
        optimizer.step()
    return model.state_dict(), torch.cuda.get_rng_state()


def test_a_recorded_training_on_the_gpu_is_the_same_to_the_bit():
    torch.backends.cudnn.deterministic = True
    weights, state = trained(recorded=False)
    recorded, after = trained(recorded=True)
    assert all(part.device.type == "cuda" and torch.equal(weights[name], part) for name, part in recorded.items())
    assert torch.equal(state, after)
