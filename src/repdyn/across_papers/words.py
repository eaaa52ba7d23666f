"""Names that experiments, claims and figures of the room share; imports nothing, so that drawing needs no torch."""

FOUR = ("plain", "batch norm", "residual", "leaky")
ENDS = ("before training", "after training")
THEORY = ("acr-theory-batch-norm", "acr-theory-residual", "acr-theory-leaky")
BOTTLENECK = ("acr-bottleneck-plain", "acr-bottleneck-batch-norm", "acr-bottleneck-residual", "acr-bottleneck-leaky")
ODD = ("acr-odd-before", "acr-odd-made", "acr-odd-survives")


def middle_layer(layers: list[str]) -> str:
    """Name of the hidden layer at half depth."""
    hidden = [name for name in layers if name.startswith("layers.")]
    return hidden[len(hidden) // 2 - 1]
