"""The array that the whole package computes with, and the words by which signatures tell shapes.

A signature reads `Float[Array, "k n"]`: numbers in k rows and n columns, where one letter is one size wherever it
stands in the signature. `*shape` are any sizes that recur, `*#shape` sizes that broadcast with them, `#n` is n or 1,
`_` a size of no account, `n+1` and `2*d` are computed of others, `{t}` of an argument that is a number
(https://docs.kidger.site/jaxtyping/api/array/). Nothing is checked where the package runs, and jaxtyping is not
imported: modules postpone their annotations and take the words for type checkers alone, to which all are an `Array`::

    from __future__ import annotations

    if TYPE_CHECKING:
        from repdyn.base.arrays import Float

A test checks one function of each study.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # exported
    from jaxtyping import Bool as Bool
    from jaxtyping import Float as Float
    from jaxtyping import Inexact as Inexact  # real or complex
    from jaxtyping import Int as Int
    from jaxtyping import Shaped as Shaped  # of any type, as exact numbers are

Array = NDArray[np.float64]
"""Numbers in double precision; signatures tell the shape."""
