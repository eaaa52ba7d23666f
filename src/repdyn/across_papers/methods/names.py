"""Names of networks and moments that experiments, claims and figures share; imports nothing heavy."""

FOUR = ("plain", "batch norm", "residual", "leaky")
ENDS = ("before training", "after training")
HALF = "after half of the steps"


def middle_layer(layers: list[str]) -> str:
    """Name of the hidden layer at half depth."""
    hidden = [name for name in layers if name.startswith("layers.")]
    return hidden[len(hidden) // 2 - 1]
