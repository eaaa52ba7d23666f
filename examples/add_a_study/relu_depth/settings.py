"""Settings of the study; values stand in `values/`."""

from typing import Annotated

from pydantic import Field

from repdyn.base.settings import Many, Settings

PAPER = "Cho and Saul: Kernel Methods for Deep Learning; the rate: Hayou, Doucet, Rousseau"
Cosine = Annotated[float, Field(ge=-1, lt=1)]


class Overlaps(Settings):
    """One random layer, sampled."""

    cosines: Many[Cosine] = Field(min_length=1, description="Cosines between the two points, before the layer.")
    width: int = Field(ge=2, le=10**6, description="Neurons per draw.")
    draws: int = Field(ge=2, le=10**5, description="Draws of the weights.")


class Gaps(Settings):
    """The closed form, iterated through depth."""

    cosines: Many[Cosine] = Field(min_length=1, description="Cosines at the input.")
    depth: int = Field(ge=100, le=10**6, description="Layers.")


class ReluDepth(Settings):
    """Two points through a plain ReLU network: they align, slowly."""

    overlaps: Overlaps
    gaps: Gaps
