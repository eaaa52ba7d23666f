"""Claims on sizes in trained networks: Figure 3, weights along p, momenta against activations, outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import xarray as xr

from repdyn.base.arrays import Array
from repdyn.base.claims import claim
from repdyn.base.controls import knock_out, replace_labels, replace_variables, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict
from repdyn.leaky_resnets.claims.over_seeds import (
    ALL_MAPS,
    FIXED,
    FREE,
    LEARNED_MAPS,
    LEAST_SEEDS,
    REVERSED,
    deep,
    growth,
    means,
    need_chains,
)
from repdyn.leaky_resnets.methods.selection import DECAYED, at_paper_depth, of_maps


def _doubling(values: xr.DataArray, first: int) -> Array:
    """Exponent in Lt from a depth on, per seed."""
    return growth(values.isel(effective_depth=slice(first, None)))


def _ratio(values: xr.DataArray, _: int) -> Array:
    """Logarithm to base 2 of the last value over the first, per seed."""
    return np.log2((values.isel(effective_depth=-1) / values.isel(effective_depth=0)).values)


Constancy = tuple[Callable[[xr.DataArray, int], Array], int, float]
CONSTANCY: dict[str, Constancy] = {  # how much may change, from which depth on, how it is measured
    r"within a factor of 2 over all $\tilde L$": (_ratio, 0, 1.0),
    "exponent within 1/4": (_doubling, 0, 0.25),
    "exponent within 1/2": (_doubling, 0, 0.5),
    "exponent within 1/4 from the second depth on": (_doubling, 1, 0.25),
}
Magnitudes = dict[str, Callable[[xr.Dataset], xr.DataArray]]
ALIGNMENTS: Magnitudes = {
    "largest": lambda chains: chains["alignment"].max("layer"),
    "median over layers": lambda chains: chains["median_alignment"],
}
SAME, GROWS = (-0.25, 0.25), (0.5, np.inf)
# Part: what may be meant by the magnitude, exponents in Lt that the correction allows.
CORRECTED: dict[str, tuple[Magnitudes, tuple[float, float]]] = {
    "length": ({"length": lambda chains: chains["length"]}, GROWS),
    "BS": (ALIGNMENTS, SAME),
}


def _constant(values: Callable[[xr.Dataset], xr.DataArray], chains: xr.Dataset, constancy: Constancy) -> Test:
    measured, first, limit = constancy
    return mean_within(
        measured(values(chains), first),
        -limit,
        limit,
        expected=f"a change within {limit:g}",
        reason=r"'relatively constant as $\tilde L$ grows': half-way to proportional, or half of that",
    )


def _cost_instead(measures: xr.Dataset) -> xr.Dataset:
    least = measures["least_cost"].isel(gamma=0)
    along = least + 0 * measures["layer"]
    return measures.assign(momentum=along, alignment=along, largest_momentum=least, median_alignment=least)


COST_INSTEAD = wrong_formula("the cost of identity, which falls tenfold, in its place", _cost_instead)


def _exponent(values: xr.DataArray, low: float, high: float) -> Test:
    expected = f"an exponent in $\\tilde L$ {f'within {high:g}' if np.isfinite(high) else f'above {low:g}'}"
    reason = "half-way to proportional; for what does not grow, half of that"
    return mean_within(_doubling(values, 0), low, high, expected=expected, reason=reason)


@claim(
    "lrn-fig3",
    where="Appendix B, Figure 3",
    words=r"respective magnitudes remains relatively constant as the effective depth $\tilde{L}$ grows",
    line=510,
    assumes=r"path length, magnitudes of $B_p$ and of $B_p \sigma(A_p)^T$; trained networks",
    kind_of_slip="result changes",
    kind="scaling",
    states=r"The magnitudes of the path length, of $B_p$ and of $B_p \sigma(A_p)^T$ remain relatively constant as "
    r"$\tilde L$ grows.",
    correction=r"In networks of our sizes, near critical points and with learned maps, that of $B_p \sigma(A_p)^T$ "
    r"changes with an exponent in $\tilde L$ within 1/4 and the plain path length grows with one above 1/2. "
    r"How the largest $\|B_p\|$ grows is not decided.",
    formula=r"\int_0^1 \|\partial_p A_p\| dp, \|B_p\|, \|B_p \sigma(A_p)^T\| = O(1) \text{ as } \tilde L \to \infty",
    corrected_formula=r"\|B_p \sigma(A_p)^T\| = O(1), \quad \int_0^1 \|\partial_p A_p\| dp \nearrow",
    control={"length": REVERSED, "BS": COST_INSTEAD},
    message="The path length of our networks grows with the effective depth",
    cause=r"In trained networks of two sizes the plain path length grows with an exponent in $\tilde L$ above "
    r"1/2; only the magnitude of $B_p \sigma(A_p)^T$ keeps its size, with learned maps.",
    consequence="Of three curves one is about constant, as Proposition 9 leads one to expect of it, and the path "
    "length is not; of the momenta nothing is concluded.",
    defence="Figure 3's networks are not ours: they are larger, with a seventieth of our penalty and maps that are "
    "not stated. What the stability of the computations needs is a bounded length in the norm of $K + "
    r"\gamma I$, and that stays within a factor of 2. Of the momenta, readings allow constancy; $B_p "
    r"\sigma(A_p)^T$ is constant.",
    answer="The paper writes the plain length, and of that no reading of constancy passes, with learned or fixed "
    "maps, at our default and full sizes. For its own networks this is no reproduction: at its size and "
    "penalty none of ours came near a critical point. So the conclusion is not called false: bounded is "
    r"the length in the norm of Theorem 4, over $\tilde L$ from 2 to 10. The momenta are no longer said to "
    "grow.",
    labels={
        "length": "change of the path length with effective depth",
        "B": "change of the magnitude of the momenta with effective depth",
        "BS": "change of the magnitude of momenta times activations with effective depth",
    },
    remark=r"The length in the norm of $K + \gamma I$, which Figure 3 does not show, is given beside the plain one.",
)
def quantities_stay_bounded(chain_measures: xr.Dataset) -> Verdict:
    """Change with Lt; readings of the maps (momenta: learned ones), of the magnitude over p and of constancy."""
    need_chains(chain_measures, DECAYED, FREE, FIXED)

    def tested(maps: dict[str, str], magnitudes: dict[str, Callable[[xr.Dataset], xr.DataArray]]) -> Test:
        return over_readings(
            lambda maps, magnitude, constancy: _constant(magnitude, of_maps(chain_measures, maps), constancy),
            maps=maps,
            magnitude=magnitudes,
            constancy=CONSTANCY,
        )

    printed = {
        "length": tested(ALL_MAPS, {"length": lambda chains: chains["length"]}),
        "B": tested(
            LEARNED_MAPS,
            {
                "largest": lambda chains: chains["largest_momentum"],
                "median over layers": lambda chains: chains["momentum"].median("layer"),
            },
        ),
        "BS": tested(LEARNED_MAPS, ALIGNMENTS),
    }
    corrected = {
        part: over_readings(
            lambda maps, magnitude, allowed=allowed: _exponent(magnitude(of_maps(chain_measures, maps)), *allowed),
            maps=LEARNED_MAPS,
            magnitude=magnitudes,
        )
        for part, (magnitudes, allowed) in CORRECTED.items()
    }
    chains = of_maps(chain_measures)
    return Verdict.from_tests(
        printed,
        corrected,
        {
            "path length by effective depth, decayed maps": means(chains["length"]),
            "path length in the norm of K + gamma I": means(chains["stable_length"].isel(gamma=0)),
            "largest |B|": means(chains["largest_momentum"]),
            "median |B S^T|": means(chains["median_alignment"]),
        },
    )


@claim(
    "lrn-balanced-size",
    where="Section 2.1, after Theorem 4",
    words=r"since $W_p = \tilde{L}B_p\sigma(A_p)^T$ is of approximately constant size",
    line=238,
    assumes="trained networks",
    kind="qualitative",
    states="$W_p$ is of approximately constant size along $p$.",
    control=wrong_formula(
        "the cost of identity, which varies a hundredfold, in place of $|W_p|^2$",
        lambda measures: measures.assign(weight_sq=measures["cost"].isel(gamma=0)),
    ),
    sought=r"Not true of every critical point: in a neuron that is off the bias grows as $e^{\tilde L p}$ "
    "(lrn-prop9). In trained networks sought with three kinds of maps, at two depths and by three measures "
    "of constancy; at the full scale these do not agree with certainty.",
)
def weights_are_of_constant_size(chain_measures: xr.Dataset) -> Verdict:
    """|W_p| along p; readings of the maps, of Lt and of approximate constancy."""
    need_chains(chain_measures, DECAYED, FREE, FIXED)

    def test(maps: str, depth: int, constancy: tuple[str, float]) -> Test:
        weight_sq = of_maps(chain_measures, maps)["weight_sq"].isel(effective_depth=depth)
        size = cast("xr.DataArray", np.sqrt(weight_sq))
        measure, limit = constancy
        over = (
            size.max("layer") / size.min("layer") - 1 if measure == "range" else size.std("layer") / size.mean("layer")
        )
        return mean_within(over.values, 0, limit, expected=f"at most {limit:.2g}", reason="'approximately constant'")

    readings = over_readings(
        test,
        maps=ALL_MAPS,
        depth=deep(chain_measures),
        constancy={
            "$|W|^2$ within a factor of 2": ("range", np.sqrt(2) - 1),
            "standard deviation within a fifth": ("deviation", 0.2),
            "standard deviation within a tenth": ("deviation", 0.1),
        },
    )
    cost = at_paper_depth(of_maps(chain_measures))["cost"].isel(gamma=0)
    span = (cost.max("layer") / cost.min("layer")).mean()
    return Verdict.from_tests(
        readings, facts={"largest over least cost of identity along the same paths, decayed maps": span}
    )


def _slopes(chains: xr.Dataset) -> Array:
    """Exponent over layers of |B_l|_F in |S_{l-1}|_op, per network."""
    B, S = (np.log(chains[name].transpose("seed", "layer").values) for name in ("momentum", "activation"))
    return np.array([np.polyfit(s, b, 1)[0] for s, b in zip(S, B, strict=True)])


@claim(
    "lrn-b-inverse",
    where="Section 2.1, after Theorem 4",
    words=r"we typically have that the size of $B_p$ is inversely proportional to that of $\sigma(A_p)$",
    line=238,
    assumes="trained networks, along $p$",
    kind="scaling",
    states="The size of $B_p$ is inversely proportional to that of $\\sigma(A_p)$.",
    formula=r"\|B_p\|_F \propto \|\sigma(A_p)\|_{op}^{-1}",
    control=wrong_formula("$|S|$ in place of $|B|$", replace_variables(momentum="activation")),
    labels={"": r"exponent of the size of $B_p$ in that of $\sigma(A_p)$"},
)
def momenta_balance_activations(chain_measures: xr.Dataset) -> Verdict:
    """Exponent over layers; readings of the maps (learned), of Lt and of nearness."""
    need_chains(chain_measures, DECAYED, FREE)
    test = over_readings(
        lambda maps, depth, near: mean_within(
            _slopes(of_maps(chain_measures, maps).isel(effective_depth=depth)),
            -1 - near,
            -1 + near,
            expected="exponent -1",
            reason="distinguished from 0 and -2 half-way, or twice as near",
        ),
        maps=LEARNED_MAPS,
        depth=deep(chain_measures),
        near={"within 1/2": 0.5, "within 1/4": 0.25},
    )
    facts: dict[str, Any] = {}
    for maps in chain_measures["maps"].values:
        chains = of_maps(chain_measures, maps)
        depths = range(chains.sizes["effective_depth"])
        sizes = chains["activation"].isel(effective_depth=-1)
        facts[f"exponent by effective depth, {maps}"] = [
            _slopes(chains.isel(effective_depth=at)).mean() for at in depths
        ]
        facts[f"largest over least |S| at the largest depth, {maps}"] = (sizes.max("layer") / sizes.min("layer")).mean()
    return Verdict.from_tests(test, facts=facts)


@claim(
    "lrn-cross-entropy",
    where="Section 1.2, output scaling",
    words="outputs of neural nets will keep on growing ... the effective depth increases ... (though quite slowly)",
    line=96,
    assumes="training on cross-entropy or a loss like it; plain residual networks, linear maps in and out trained, too",
    kind="causal",
    states="When plain ResNets are trained on cross-entropy, their outputs keep on growing, and with them the "
    "effective depth increases, though quite slowly.",
    control={
        "grows": knock_out(
            "the same networks, data and steps with a squared error, whose least value is at finite outputs",
            replace_labels("loss_name", {"cross-entropy": "mean squared error"}),
        ),
        "slowly": wrong_formula(
            "the exponential of the outputs' size",
            lambda outputs: outputs.assign(output_size=np.exp(outputs["output_size"])),
            recomputes=True,
        ),
    },
    labels={
        "grows": "exponent of the outputs' size in the number of steps",
        "slowly": "gain of the effective depth each time that the steps grow e-fold",
    },
    remark="By Section 1.2 the effective depth follows the logarithm of the outputs' size: a power $s$ of the "
    "steps adds $s$ to it each time that the steps grow e-fold. That the outputs themselves grow slowly is "
    "not said.",
)
def outputs_keep_growing(output_growth: xr.Dataset) -> Verdict:
    """Exponent of the outputs' size in the number of steps; readings of the last part of training."""
    require(output_growth, "output_growth", seed=LEAST_SEEDS, record=4)
    records = output_growth.sizes["record"]
    windows = {"last half": records // 2, "last two thirds": records // 3, "all records": 0}

    def exponents(loss: str, first: int) -> Array:
        sizes = output_growth["output_size"].sel(loss_name=loss)
        return growth(sizes.isel(record=slice(first, None)), "record")

    tests = {
        "grows": over_readings(
            lambda window: mean_within(
                exponents("cross-entropy", window),
                0.1,
                np.inf,
                expected="exponent above 0.1",
                reason="7 % a doubling of the steps; outputs that approach a finite size have none in the end",
            ),
            window=windows,
        ),
        "slowly": over_readings(
            lambda window, slow: mean_within(
                exponents("cross-entropy", window),
                -np.inf,
                slow,
                expected=f"the effective depth gains less than {slow:g}",
                reason="'quite slowly': less than 1, or than one half, each time that the steps grow e-fold",
            ),
            window=windows,
            slow={"by less than 1": 1.0, "by less than one half": 0.5},
        ),
    }
    other = exponents("mean squared error", windows["last half"])
    return Verdict.from_tests(
        tests,
        facts={
            "size of the outputs by record": means(output_growth["output_size"].sel(loss_name="cross-entropy")),
            "exponent with a mean squared error": other.mean(),
        },
    )
