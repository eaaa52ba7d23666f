"""Every equation of the theory on random cases: deviations from independent derivations."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, index, variable
from repdyn.base.formula_audit import audit_variables
from repdyn.base.streams import Stream
from repdyn.universality.methods.formula_audit import EQUATIONS
from repdyn.universality.settings.two_points import FormulaAudit


def formula_audit(settings: FormulaAudit, stream: Stream) -> xr.Dataset:
    """Deviation of every equation, printed and corrected, from an independent derivation on random cases."""
    errors = [
        [audit(stream.generator(equation, draw)) for draw in range(settings.draws)]
        for equation, audit in EQUATIONS.items()
    ]
    return dataset(
        audit_variables(errors, ("equation", "draw"), scale="relative deviation"),
        {
            "equation": variable("equation", np.array(list(EQUATIONS)), "equation of the paper"),
            "draw": index("draw", settings.draws, "random case"),
        },
        title="Equations (5) to (43) and the closed form against independent derivations",
    )
