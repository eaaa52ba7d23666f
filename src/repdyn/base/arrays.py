"""The array type of the whole package, and the types with which signatures describe shapes.

A signature reads `Float[Array, "k n"]`: numbers in k rows and n columns, where a letter is the same size throughout the
signature. `*shape` are any repeated sizes, `*#shape` sizes that broadcast with them, `#n` is n or 1, `_` any size,
`n+1` and `2*d` are computed from others, `{t}` from a numeric argument (https://docs.kidger.site/jaxtyping/api/array/).
Nothing is checked at run time, and jaxtyping is not imported: modules postpone their annotations and import the types
only for type checkers, for which all are an `Array`::

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
    from jaxtyping import Shaped as Shaped  # of any type, such as exact numbers

Array = NDArray[np.float64]
"""Numbers in double precision; signatures describe the shape."""
