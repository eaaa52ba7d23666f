"""The array that the whole package computes with."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Numbers in double precision; docstrings tell the shape."""
