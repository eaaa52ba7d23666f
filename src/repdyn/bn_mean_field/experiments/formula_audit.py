"""Equations (2) to (8), (10) to (14), (21), (22), section 4.2 and Theorem 2 against automatic differentiation."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, index, variable
from repdyn.base.formula_audit import audit_variables
from repdyn.base.streams import Stream
from repdyn.bn_mean_field.methods.formula_audit import FORMULAS, random_draw
from repdyn.bn_mean_field.settings import FormulaAudit


def formula_audit(settings: FormulaAudit, stream: Stream) -> xr.Dataset:
    """Relative errors of every formula as printed, as corrected and of a wrong one, on random data and networks."""
    errors = np.empty((len(FORMULAS), settings.draws, 3))
    for number in range(settings.draws):
        sizes = (settings.samples, settings.dimension, settings.width, settings.radii)
        draw = random_draw(*sizes, stream.generator(number))
        for row, formula in enumerate(FORMULAS.values()):
            errors[row, number] = formula(draw)
    return dataset(
        audit_variables(errors, ("equation", "draw"), scale="error relative to the largest entry"),
        {
            "equation": variable("equation", np.array(list(FORMULAS)), "equation, theorem or section, and its line"),
            "draw": index("draw", settings.draws, "draw of data and network"),
            "samples": variable((), settings.samples, "inputs per data set"),
            "width": variable((), settings.width, "neurons"),
        },
        title="The paper's velocities and gradients against automatic differentiation",
    )
