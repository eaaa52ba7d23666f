"""The paper's diagnostics on a user's own torch network: is batch normalisation scale free there?

In the model of Ma and Ying the gradient of a weight row in front of batch normalisation is tangent to its
sphere (after eq. 6), so ||b|| is conserved. A nonzero eps breaks this: the radial part grows like
eps / Var[b^T x].
"""

from itertools import pairwise

import numpy as np
import torch

from repdyn.bn_mean_field.theory.checks import Array

NORMS = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)
MAPS = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)


def batchnorm_radial_fraction(
    model: torch.nn.Module,
    batch: tuple[torch.Tensor, torch.Tensor],
    loss: torch.nn.Module | None = None,
) -> dict[str, Array]:
    """Fraction |u^T grad| / |grad| of each row's gradient along itself, for layers before a batch norm.

    Zero for eps = 0; NaN where the gradient vanishes. The order of definition is taken as the order of the
    forward pass.

    Args:
        model: network in training mode; its gradients are left as they were.
        batch: inputs and targets.
        loss: callable of (output, target); half the mean squared error by default.

    Returns:
        For each layer's name the fractions, shape (rows,).
    """
    layers = list(model.named_modules())
    pairs = [
        (name, layer)
        for (name, layer), (_, following) in pairwise(layers)
        if isinstance(layer, MAPS) and isinstance(following, NORMS)
    ]
    if not pairs:
        raise ValueError("the model has no linear or convolutional layer directly before a batch norm")
    output, target = model(batch[0]), batch[1]
    value = ((output.squeeze(-1) - target) ** 2).mean() / 2 if loss is None else loss(output, target)
    gradients = torch.autograd.grad(value, [layer.weight for _, layer in pairs])
    return {name: _radial_fraction(layer.weight, grad) for (name, layer), grad in zip(pairs, gradients, strict=True)}


def _radial_fraction(weight: torch.Tensor, grad: torch.Tensor) -> Array:
    rows, slopes = (t.detach().flatten(1).double().numpy() for t in (weight, grad))
    with np.errstate(invalid="ignore"):
        along = np.abs(np.sum(rows * slopes, axis=1)) / np.linalg.norm(rows, axis=1)
        return along / np.linalg.norm(slopes, axis=1)
