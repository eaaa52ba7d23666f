"""Formula audit of Appendix C: (31), (33) and (35) on random rows that lose no cluster."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.datasets import dataset, index, variable
from repdyn.base.formula_audit import audit_variables
from repdyn.base.streams import Stream
from repdyn.bn_decomposed.methods.formula_audit import FORMULAS, loss_of_clusters, lossless_rows
from repdyn.bn_decomposed.settings.study import FormulaAudit

MOST_POSITIVES = 3
FEWEST_CLUSTERS, MOST_CLUSTERS = 5, 7
LARGEST_CLUSTER = 3


def formula_audit(settings: FormulaAudit, stream: Stream) -> xr.Dataset:
    """Errors of every formula on every draw; positive transformations between the negative ones: 0, 1, 2, 3, 0, ..."""
    draws = [_rows(draw, stream.generator(draw)) for draw in range(settings.draws)]
    errors = np.array([[formula(rows) for formula in FORMULAS.values()] for rows in draws])
    return dataset(
        audit_variables(errors, ("draw", "equation"))
        | {
            "definition": variable(
                "draw", np.array([loss_of_clusters(rows) for rows in draws]), "rows against Definition 5, relative"
            )
        },
        {
            "draw": index("draw", settings.draws, "random row"),
            "equation": variable("equation", np.array(list(FORMULAS)), "equation of Appendix C"),
            "positives": variable(
                "draw", np.array([len(rows) - 3 for rows in draws]), "positive transformations in between"
            ),
        },
        title="Formulas of Appendix C on random rows that lose no cluster",
    )


def _rows(draw: int, rng: np.random.Generator) -> np.ndarray:
    clusters = rng.integers(FEWEST_CLUSTERS, MOST_CLUSTERS + 1)
    sizes = rng.integers(1, LARGEST_CLUSTER + 1, clusters)
    return lossless_rows(sizes, rng.uniform(0.1, 1.0, clusters - 1), draw % (MOST_POSITIVES + 1))
