"""The small convolutional network that `all` measures: batch normalization, residual blocks, a dense layer."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from repdyn.diagnostics.theory.identity import Residual


class Block(nn.Module):
    """Adds conv(relu(x)) / number of blocks to x."""

    def __init__(self, channels: int, blocks: int) -> None:
        super().__init__()
        self.conv, self.blocks = nn.Conv2d(channels, channels, 3, padding=1, bias=False), blocks

    def forward(self, x: Tensor) -> Tensor:
        """The next state of the stream, shape (points, channels, rows, columns)."""
        return x + self.conv(torch.relu(x)) / self.blocks


class ConvolutionalNetwork(nn.Module):
    """Images to classes: conv, batch norm, residual blocks, pooling, dense layer with batch norm, outputs.

    Args:
        channels: of every convolution.
        blocks: residual blocks.
        width: neurons of the dense layer.
        size: rows and columns of the images, even.
        classes: outputs.
    """

    def __init__(self, channels: int, blocks: int, width: int, size: int, classes: int) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        self.blocks = nn.ModuleList(Block(channels, blocks) for _ in range(blocks))
        self.pool = nn.AvgPool2d(2)
        self.dense, self.dense_norm = nn.Linear(channels * (size // 2) ** 2, width), nn.BatchNorm1d(width)
        self.relu, self.output = nn.ReLU(), nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs, shape (points, classes), of images (points, 1, rows, columns)."""
        x = self.norm(self.conv(x))
        for block in self.blocks:
            x = block(x)
        return self.output(self.relu(self.dense_norm(self.dense(self.pool(torch.relu(x)).flatten(1)))))

    @property
    def stream(self) -> Residual:
        """The residual stream."""
        return Residual(("norm", *(f"blocks.{number}" for number in range(len(self.blocks)))))

    @property
    def layers(self) -> list[str]:
        """Layers worth watching, in order."""
        return ["input", "conv", *self.stream.layers, "pool", "dense", "dense_norm", "relu", "output"]


def start(network: nn.Module, gain: float, rng: np.random.Generator) -> None:
    """He's initialization of every map times a gain, zero biases, from named streams of random numbers."""
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                spread = gain * np.sqrt(2 / module.weight[0].numel())
                module.weight.copy_(torch.from_numpy(spread * rng.standard_normal(tuple(module.weight.shape))))
                if module.bias is not None:
                    module.bias.zero_()
