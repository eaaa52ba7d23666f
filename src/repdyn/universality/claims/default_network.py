"""Claims on depth in the default network: Figure 10, Section 5.

What is a statement on fits is decided by the ensemble, which has the seeds for it; the network of the paper's width
is shown next to it among the facts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, in_every_dataset, replace_variables, reverse, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict
from repdyn.universality.claims.intervals import log_mean_within, mean_of
from repdyn.universality.methods.networks import Net, parameter_counts

TREND = "a trend is a slope whose interval excludes 0"
ACCURATE = 0.8
ACCURATE_REASON = "accurate is a share of the curves' variance explained that the paper does not name"
RATES = {"encoder": "eta_h", "decoder": "eta_y"}


def halves(fits: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Fits of the layers before the middle and from it on."""
    middle = fits.sizes["layer"] // 2
    return fits.isel(layer=slice(0, middle)), fits.isel(layer=slice(middle, None))


def slope_in_layer(fits: xr.Dataset, name: str) -> np.ndarray:
    """Slope of the log rate over the layers, per seed that was fitted in all of them."""
    require(fits, "default_ensemble_fits, half of the network", layer=2)
    values = np.log(fits[name].transpose("layer", "seed").values)
    full = np.isfinite(values).all(axis=0)
    return np.polyfit(fits["layer"].values, values[:, full], 1)[0] if full.any() else np.empty(0)


REVERSED = false_world("networks whose layers stand in reverse order", in_every_dataset(reverse("layer")))


def _trend(values: np.ndarray, rises: bool, share: int) -> Test:
    low, high = (0.0, np.inf) if rises else (-np.inf, 0.0)
    return mean_of(values, low, high, share, expected="positive" if rises else "negative", reason=TREND)


@claim(
    "uni-fig10-depth",
    where="Section 5.1, Figure 10",
    line=237,
    assumes="default network of 20 layers, two points; the meaning of accurate is not stated",
    words="the theory is accurate only in the second half of the network",
    kind="comparison",
    states="The theory is accurate only in the second half of the network.",
    control=dict.fromkeys(("second half", "first half"), REVERSED),
    labels={
        "first half": "explained variance of the theory in the first half of the layers",
        "second half": "explained variance of the theory in the second half of the layers",
    },
)
def accurate_in_the_second_half(default_network_fits: xr.Dataset, default_ensemble_fits: xr.Dataset) -> Verdict:
    """R2 of both halves: on average over their layers, and of the layer that speaks most against the sentence."""
    first, second = halves(default_ensemble_fits)
    accurate, above = _accuracy(second, "min", (True, "or more")), _accuracy(first, "max", (False, "or less"))
    both, wide = (default_network_fits, default_ensemble_fits), accuracies(default_network_fits)
    facts = {
        "units per layer": [int(fits["units"]) for fits in both],
        "mean R2 of the worst layer of the second half, first width": np.nanmean(wide["second half"]),
        "mean R2 of the first half, first width": np.nanmean(wide["first half"]),
        f"layer from which on the mean R2 is {ACCURATE:g} or more, second width": _accurate_from(default_ensemble_fits),
        "median fit loss in the first, best and last layer, first width": _losses(default_network_fits),
        "median fit loss in the first, best and last layer, second width": _losses(default_ensemble_fits),
    }
    return Verdict.from_tests({"second half": accurate, "first half": above}, facts=facts)


def _accuracy(half: xr.Dataset, against: str, side: tuple[bool, str]) -> Test:
    """Whether a half's R2 lies above (or below) a level, over what the sentence leaves open."""
    above, words = side

    def decide(level: float, layers: str, curves: str) -> Test:
        r2 = getattr(half["r2"], curves)("curve", skipna=False)
        values = getattr(r2, layers)("layer", skipna=False).clip(-1, 1).values
        region = (level, np.inf) if above else (-np.inf, level)
        return mean_of(values, *region, 2, expected=f"{level:g} {words}", reason=ACCURATE_REASON)

    return over_readings(
        decide,
        level={f"$R^2$ of {level:g}": level for level in (0.7, 0.8, 0.9)},
        layers={"mean": "mean", "worst layer" if above else "best layer": against},
        curves={"mean of h, y, w": "mean", "least of them": "min"},
    )


def accuracies(fits: xr.Dataset) -> dict[str, np.ndarray]:
    """Mean R2 of h, y, w per seed: the worst layer of the second half, and the mean over the first."""
    first, second = (half["r2"].mean("curve", skipna=False) for half in halves(fits))
    worst = second.min("layer", skipna=False)
    return {"second half": worst.values, "first half": first.mean("layer", skipna=False).values}


def _accurate_from(fits: xr.Dataset) -> float:
    """The layer from which on all are accurate in the mean over seeds; NaN if the last one is not."""
    accurate = fits["r2"].mean(("curve", "seed")).values >= ACCURATE
    first = len(accurate) - int(np.argmin([*accurate[::-1], False]))
    return float(fits["layer"][first]) if first < len(accurate) else np.nan


def _losses(fits: xr.Dataset) -> list[float]:
    losses = fits["fit_loss"].median("seed").values
    return [losses[0], losses.min(), losses[-1]]


@claim(
    "uni-s52-rates",
    where="Section 5.2, Figure 10",
    line=237,
    assumes="the second half of the network",
    words=("In this regime the effective learning rate of the encoder increases with depth ... decoder decreases"),
    kind="comparison",
    states="In the second half of the network the rate of the encoder rises with depth and that of the decoder falls.",
    control=dict.fromkeys(
        ("encoder", "decoder"),
        false_world(
            "networks whose encoder learns as their decoder does, and the reverse",
            replace_variables(eta_h="eta_y", eta_y="eta_h"),
        ),
    ),
    labels={
        "encoder": "slope of the encoder's log rate over the second half's layers",
        "decoder": "slope of the decoder's log rate over the second half's layers",
    },
)
def rates_in_the_second_half(default_ensemble_fits: xr.Dataset) -> Verdict:
    """Slopes of the log rates over the layers of the second half, per seed."""
    later = halves(default_ensemble_fits)[1]
    encoder, decoder = (slope_in_layer(later, name) for name in ("eta_h", "eta_y"))
    return Verdict.from_tests({"encoder": _trend(encoder, True, 2), "decoder": _trend(decoder, False, 2)})


def exponent_in_depth(fits: xr.Dataset, rate: str) -> np.ndarray:
    """Power of the number of parameters with which a rate grows over the layers of the second half, per seed."""
    later = halves(fits)[1]
    require(later, "the second half of the network", layer=2)
    values, counts = np.log(later[rate].transpose("layer", "seed").values), np.log(_counts(later, rate))
    return np.polyfit(counts, values[:, np.isfinite(values).all(axis=0)], 1)[0]


def exponent_in_width(narrow: xr.Dataset, wide: xr.Dataset, rate: str) -> np.ndarray:
    """The same over two widths, averaged over the layers of the second half, per pair of independent networks."""
    narrow, wide = (halves(fits)[1] for fits in (narrow, wide))
    pairs = min(narrow.sizes["seed"], wide.sizes["seed"])
    low, high = (
        np.log(fits[rate].isel(seed=slice(0, pairs)).transpose("layer", "seed").values).mean(axis=0)
        for fits in (narrow, wide)
    )
    return (high - low) / np.log(_counts(wide, rate) / _counts(narrow, rate)).mean()


def _counts(fits: xr.Dataset, rate: str) -> np.ndarray:
    """Parameters of the encoder (`eta_h`) or decoder (`eta_y`) at the layers of the fits."""
    net = Net("leaky relu", 1.0, int(fits["units"]), int(fits["layer"].max()) + 1)
    return np.array([parameter_counts(net, int(layer))[rate == "eta_y"] for layer in fits["layer"].values], float)


def _proportional(*datasets: xr.Dataset) -> tuple[xr.Dataset, ...]:
    """Rates that are the numbers of parameters to within what seeds differ by halfway, one constant for both widths."""
    changed = []
    for fits in datasets:
        scatter = np.log(fits["eta_h"].isel(layer=fits.sizes["layer"] // 2))
        scatter = np.exp(scatter - scatter.mean())
        rates = {}
        for rate in RATES.values():
            counts = xr.DataArray(_counts(fits, rate), dims="layer", coords={"layer": fits["layer"]})
            rates[rate] = (1e-9 * counts * scatter).transpose(*fits[rate].dims)
        changed.append(fits.assign(rates))
    return tuple(changed)


@claim(
    "uni-s52-parameters",
    where="Section 5.2",
    line=241,
    kind_of_slip="slip in a proof",
    assumes="gradient descent; changes to a map are read as the effective rates, as the next sentences do, at layers "
    "where the theory is accurate",
    words="so it makes changes to a map proportional to the number of parameters it contains",
    kind="scaling",
    states="Gradient descent makes changes to a map, the encoder or the decoder, proportional to the number of its "
    "parameters.",
    control=dict.fromkeys(
        RATES,
        false_world(
            "networks whose rates are proportional to the numbers of parameters", _proportional, recomputes=True
        ),
    ),
    message="Changes of a map are not proportional to its number of parameters",
    cause="With depth the encoder's rate grows far faster than that number, with width hardly at all: each "
    "parameter's share of a change falls as their number grows.",
    consequence="The order of the rates with depth is as the paper says; the reason that it gives for the order fails.",
    labels={
        "encoder": "power of the encoder's rate in its number of parameters",
        "decoder": "power of the decoder's rate in its number of parameters",
    },
)
def changes_follow_the_parameters(default_network_fits: xr.Dataset, default_ensemble_fits: xr.Dataset) -> Verdict:
    """Power of the number of parameters in either rate, over the layers of one network and over two widths."""
    wide, narrow = default_network_fits, default_ensemble_fits
    if not int(wide["units"]) > int(narrow["units"]):
        raise NotEnoughDataError(f"two widths are compared, both networks have {int(wide['units'])} units")
    powers = {
        "with depth": lambda rate: exponent_in_depth(narrow, rate),
        "with width": lambda rate: exponent_in_width(narrow, wide, rate),
    }

    def of_map(rate: str) -> Test:
        def decide(number: Callable[[str], np.ndarray], within: float) -> Test:
            region, expected = (1 - within, 1 + within), f"power 1 within {within:g}"
            return mean_of(number(rate), *region, len(RATES), expected=expected, reason="proportional: the first power")

        return over_readings(decide, number=powers, within={"a quarter": 0.25, "a half": 0.5})

    facts = {
        f"mean power of the {part}'s rate {how}": np.nanmean(power(rate))
        for part, rate in RATES.items()
        for how, power in powers.items()
    }
    return Verdict.from_tests({part: of_map(rate) for part, rate in RATES.items()}, facts=facts)


def _halves_exchanged(fits: xr.Dataset) -> xr.Dataset:
    order = np.roll(np.arange(fits.sizes["layer"]), fits.sizes["layer"] // 2)
    return fits.isel(layer=order).assign_coords(layer=fits["layer"].values)


@claim(
    "uni-s52-early",
    where="Section 5.2",
    line=241,
    assumes="the default network",
    words="at earlier layers the effective learning rate for the decoder seems to increase",
    kind="comparison",
    states="At earlier layers the rate of the decoder seems to increase with depth.",
    control=false_world("the later layers in place of the earlier ones", _halves_exchanged),
    labels={"": "slope over earlier layers of the logarithm of the decoder's rate"},
)
def decoder_rate_at_earlier_layers(default_ensemble_fits: xr.Dataset) -> Verdict:
    """Slope of the log rate of the decoder over the layers of the first half, per seed."""
    earlier = halves(default_ensemble_fits)[0]
    facts = {"mean R2 of the fits": float(earlier["r2"].mean())}
    return Verdict.from_tests(_trend(slope_in_layer(earlier, "eta_y"), True, 1), facts=facts)


def _linear_gain(*datasets: xr.Dataset) -> tuple[xr.Dataset, ...]:
    linear = in_every_dataset(replace_variables(layer_gain_theory="layer_gain_linear"))
    return *linear(*datasets[:2]), datasets[2]


def _falls(xor: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Starting h/dx^2 by network at gain 0.85: of inputs at a right angle, and of others on a line through 0."""
    h, dx = xor["h"].sel(run="low").isel(look=0).values, xor["dx"].values
    angled, on_line = (h[:, i, j] / dx[i, j] ** 2 for i, j in ((1, 2), (0, 3)))
    return angled, on_line


def _within_factor(factor: float) -> Callable[[np.ndarray, np.ndarray], Test]:
    return lambda angled, on_line: log_mean_within(
        angled / on_line, 1 / factor, factor, expected=f"as far within a factor {factor:g}", reason=ROUGHLY
    )


def _power_within(share: float) -> Callable[[np.ndarray, np.ndarray], Test]:
    return lambda angled, on_line: mean_of(
        np.log(angled) / np.log(on_line), 1 - share, 1 + share, 1, expected=f"power within {share:g}", reason=ROUGHLY
    )


ROUGHLY = "'roughly' is a precision that the paper does not name"
SCALES = {
    "distances within a factor of 2": _within_factor(2),
    "of 4": _within_factor(4),
    "power of G within a quarter": _power_within(0.25),
    "within a half": _power_within(0.5),
}


def _after_training(*datasets: xr.Dataset) -> tuple[xr.Dataset, ...]:
    """Inputs at an angle have the distances that they have after training, those on a line their starting ones."""
    xor = datasets[2]
    h = xor["h"].copy(deep=True)
    h[{"look": 0, "point": 1, "other": 2}] = xor["h"].isel(look=-1, point=0, other=1).values
    return *datasets[:2], xor.assign(h=h)


@claim(
    "uni-eq14-gain",
    where="Section 5.1, eq. (14)",
    line=228,
    assumes="small weights; the average gain of each layer is a constant below one, a supposition; the two points of "
    "the experiments, -1 and 0, lie on a line through 0",
    words="The initial representational distance as a function of the depth ... scales roughly as",
    kind="scaling",
    states=r"At the start the distance falls by a constant factor per layer, $h(0) \sim G^n dx^2$, with $G < 1$.",
    control={
        "from layer to layer": wrong_formula(r"$\mathrm{gain}^2$, the factor of a linear network", _linear_gain),
        "in any direction": false_world("inputs at an angle as far apart as after training", _after_training),
    },
)
def gain_per_layer(default_network_fits: xr.Dataset, default_ensemble_fits: xr.Dataset, xor: xr.Dataset) -> Verdict:
    """Log-linear fit over layers per seed against gain^2 (1 + 0.01^2)/2, the mean of phi'^2; XOR's pairs."""
    by_layer = mean_within(
        (default_ensemble_fits["layer_gain"] / default_ensemble_fits["layer_gain_theory"]).values,
        0.9,
        1.1,
        expected=r"$G$ over $\mathrm{gain}^2 (1 + 0.01^2) / 2$ is 1 within a tenth",
        reason="a layer of $n$ units lowers the mean of the log by $5 / (2n)$, 2.5 % at 100 units",
    )
    angled, on_line = _falls(xor)
    everywhere = over_readings(lambda roughly: roughly(angled, on_line), roughly=SCALES)
    wide = float(default_network_fits["layer_gain"].mean() / default_network_fits["layer_gain_theory"])
    facts = {
        "units per layer of the wider network": int(default_network_fits["units"]),
        "its G over the theory's": wide,
        "distance of inputs at a right angle over that of others": float(np.exp(np.log(angled / on_line).mean())),
    }
    return Verdict.from_tests({"from layer to layer": by_layer, "in any direction": everywhere}, facts=facts)
