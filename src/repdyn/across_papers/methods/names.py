"""Names that experiments, claims and figures of the room share; imports nothing, so that drawing needs no torch."""

FOUR = ("plain", "batch norm", "residual", "leaky")
ENDS = ("before training", "after training")


def middle_layer(layers: list[str]) -> str:
    """Name of the hidden layer at half depth."""
    hidden = [name for name in layers if name.startswith("layers.")]
    return hidden[len(hidden) // 2 - 1]
