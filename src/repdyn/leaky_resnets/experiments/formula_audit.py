"""Every formula against an independent derivation; the added neuron at the end of a path; layer steps in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import scipy
import xarray as xr

from repdyn.base.checkpoints import Checkpoint, Trial, stacked
from repdyn.base.datasets import dataset, index, variable
from repdyn.base.formula_audit import audit_variables
from repdyn.base.streams import Stream
from repdyn.leaky_resnets.methods.formula_audit import FORMULAS
from repdyn.leaky_resnets.settings.theory import FormulaAudit, StepSchemes
from repdyn.leaky_resnets.theory.added_neuron import added_activation, triangle
from repdyn.leaky_resnets.theory.layers import irregular_steps_as_printed, layer_steps

CENTER, RADIUS = 0.5, 0.25  # p_0 and r of the added neuron
END_DEPTHS = (5.0, 10.0, 20.0, 40.0, 80.0)


def formula_audit(settings: FormulaAudit, stream: Stream, checkpoint: Checkpoint) -> xr.Dataset:
    """Relative errors of all formulas over random draws, without and with bias, and a_1 of the added neuron."""
    draws: list[Trial] = []
    for draw in range(settings.draws):
        name = f"draw {draw}"
        draws.append(checkpoint.get(name) or checkpoint.put(name, {"errors": _errors(draw, stream)}))
    errors = stacked(draws, "errors").swapaxes(0, 1)
    dims, ends = ("bias", "draw", "equation"), _ends()
    return dataset(
        audit_variables(errors, dims)
        | {
            "end_activation": variable("effective_depth", ends[:, 0], "a_1 of the added neuron over K, integral"),
            "end_integrated": variable(
                "effective_depth", ends[:, 1], "a_1 of the added neuron over K, integrated path"
            ),
            "middle_activation": variable("effective_depth", ends[:, 2], "a at p_0 over K, where t = 1"),
        },
        {
            "bias": variable("bias", np.array([0, 1]), "whether activations carry a row of ones"),
            "draw": index("draw", settings.draws, "random draw"),
            "equation": variable("equation", np.array(list(FORMULAS)), "place in the paper"),
            "effective_depth": variable("effective_depth", np.array(END_DEPTHS), "effective depth Lt"),
        },
        title="Formulas as printed and as corrected against independent derivations",
    )


def _errors(draw: int, stream: Stream) -> np.ndarray:
    """Errors of all formulas in one draw, without and with bias, shape (bias, equation, ...)."""
    return np.array(
        [
            [audit(bias, stream.generator(name, int(bias), draw)) for name, audit in FORMULAS.items()]
            for bias in (False, True)
        ]
    )


def _ends() -> np.ndarray:
    """a_1 by its integral and by integrating da/dp = Lt (t(p) - a), and a at p_0; one row per effective depth."""
    rows = []
    for depth in END_DEPTHS:
        value = 0.0
        for low, high in pairwise([CENTER - RADIUS, CENTER, CENTER + RADIUS, 1.0]):  # t has kinks there
            solution = scipy.integrate.solve_ivp(
                lambda p, a, depth=depth: depth * (triangle(p, CENTER, RADIUS) - a),
                (low, high),
                [value],
                method="DOP853",
                rtol=1e-12,
                atol=1e-18,
            )
            value = float(solution.y[0, -1])
        end, middle = (added_activation(p, 1.0, CENTER, RADIUS, depth) for p in (1.0, CENTER))
        rows.append([end, value, middle])
    return np.array(rows)


def step_schemes(settings: StepSchemes) -> xr.Dataset:
    """Sums, largest steps and asymmetry of the irregular scheme, printed and corrected, L = 2 .. largest."""
    layers = np.arange(2, settings.largest + 1)
    cells = [[_scheme(int(L), Fraction(str(a))) for a in settings.irregularities] for L in layers]
    names = {
        "excess": "sum of the printed steps minus 1, exact",
        "float_error": "printed steps in float64 minus exact steps, largest",
        "symmetric_error": "corrected steps minus exact printed ones, largest",
        "cap": "largest printed step times L minus (1 + a/4), exact",
        "asymmetry": "first minus last printed step, times L, exact",
        "corrected_asymmetry": "first minus last corrected step, times L",
    }
    return dataset(
        {
            name: variable(
                ("layer_count", "irregularity"), np.array([[cell[name] for cell in row] for row in cells]), text
            )
            for name, text in names.items()
        },
        {
            "layer_count": variable("layer_count", layers, "number of layers L"),
            "irregularity": variable("irregularity", np.array(settings.irregularities), "irregularity a"),
        },
        title="Irregular layer steps in exact fractions",
    )


def _scheme(L: int, a: Fraction) -> dict[str, float]:
    exact = [(1 + a * (Fraction(1, 4) - abs(Fraction(layer, L) - Fraction(1, 2)))) / L for layer in range(1, L + 1)]
    steps = layer_steps("irregular", L, float(a))
    printed = irregular_steps_as_printed(L, float(a))
    return {
        "excess": float(sum(exact) - 1),
        "float_error": float(np.max(np.abs(printed - np.array(exact, float)))),
        "symmetric_error": float(np.max(np.abs(steps - np.array(exact, float)))),
        "cap": float(max(exact) * L - (1 + a / 4)),
        "asymmetry": float((exact[0] - exact[-1]) * L),
        "corrected_asymmetry": float((steps[0] - steps[-1]) * L),
    }
