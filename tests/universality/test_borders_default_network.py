"""Made-up fits of the default network just inside and just outside of what each claim allows, verdicts by name.

Where a claim takes an interval, it ends just inside of the border, lies across it, and ends just outside.
"""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from tests.made_up import HOLDS, READING, REFUTED, UNDECIDED, claims_by_id, in_logs, near, of, skew

from repdyn.universality.theory.published import FIT_LOSSES

CLAIMS = claims_by_id("universality")
N = 12  # networks
ALTERED = ("factor two", "square", "minus removed", "term removed")
RATES = ("eta_h", "eta_y")
LATER = np.arange(20) >= 10  # layers of the second half
EVERY, W = slice(None), slice(2, 3)  # curves


def losses(**logs):
    """Fit losses of both widths: log ratios of the altered dynamics to the theory, 1 but for those given."""
    names = ["theory", *ALTERED, "factor two in h"]
    ratios = np.array([near(0.0), *(logs.get(name.replace(" ", "_"), near(1.0)) for name in names[1:])])
    loss = np.exp(ratios - ratios[0])
    data = {"alternative_loss": (("alternative", "seed"), loss), "units": 100}
    narrow = xr.Dataset(data, {"alternative": names})
    return narrow.assign(alternative_loss=1 / narrow["alternative_loss"], units=500), narrow


def numbers(on_line=None, half=2.0, **shift):
    """Losses of one width whose prediction intervals have this half width in logs, off the published by `shift`.

    The same on the line of the public guesses, unless they are given; those of the square are a hundred times larger.
    """
    n, names = 12, [*FIT_LOSSES, "square"]
    published = FIT_LOSSES | {"square": 100.0}
    scatter = half / (stats.t.ppf(1 - 1e-3 / 2, n - 1) * np.sqrt(1 + 1 / n)) * skew(n)

    def losses(off):
        logs = [np.log(published[name]) + half * off.get(name.replace(" ", "_"), 0.0) + scatter for name in names]
        return ("alternative", "seed"), np.exp(logs)

    return (
        xr.Dataset(
            {
                "alternative_loss": losses(shift),
                "alternative_loss_on_line": losses(shift if on_line is None else on_line),
                "published_loss": ("alternative", [*FIT_LOSSES.values(), np.nan]),
            },
            {"alternative": names},
        ),
    )


def depth(second=0.95, first=0.4, changes=()):
    """R2 by layer, network and curve of both widths; changes: layers, curves, the value there."""
    noise = near(0.0)[:, None]
    r2 = np.where(LATER, second, first)[:, None, None] + noise + np.zeros((20, N, 3))
    for layers, curves, value in changes:
        r2[layers, :, curves] = value + noise
    return of_depth(r2)


def of_depth(r2):
    data = {"r2": (("layer", "seed", "curve"), r2), "fit_loss": (("layer", "seed"), np.ones((20, N))), "units": 100}
    fits = xr.Dataset(data, {"layer": np.arange(20)})
    return fits.assign(units=500), fits


def in_half(later, values):
    """R2 of all layers and curves of one half of the network, seed by seed."""
    own = (LATER if later else ~LATER)[:, None, None]
    return of_depth(
        np.where(own, values[:, None], np.where(LATER, 0.95, 0.4)[:, None, None] + near(0.0)[:, None]) * np.ones(3)
    )


def slopes(encoder=0.2, decoder=-0.2, early=0.3):
    """Rates whose logs have these slopes over the layers of the second half, the decoder's also in the first."""
    layers = np.arange(20)[:, None]
    in_h = np.where(LATER[:, None], layers * (near(0.0) + encoder), -layers * near(0.2))
    in_y = np.where(LATER[:, None], layers * (near(0.0) + decoder), layers * (near(0.0) + early))
    data = {"eta_h": np.exp(in_h), "eta_y": np.exp(in_y), "r2": np.full((20, N), 0.5)}
    return (xr.Dataset({k: (("layer", "seed"), v) for k, v in data.items()}, {"layer": np.arange(20)}),)


def powers(**changes):
    """Rates that grow as powers of the numbers of parameters: `encoder_depth`, `encoder_width`, `decoder_depth` ..."""

    def counts(units):
        middle, layers = units * (units + 1), np.arange(20)
        return np.stack([2 * units + layers * middle, (19 - layers) * middle + units + 1])[..., None]

    wide, narrow = np.log(counts(500)), np.log(counts(50))
    power = lambda name: near(0.0) + changes.get(name, 1.0)  # noqa: E731
    of_narrow = [narrow[k] * power(f"{part}_depth") for k, part in enumerate(("encoder", "decoder"))]
    of_wide = [
        of_narrow[k] + (wide[k] - narrow[k]) * power(f"{part}_width") for k, part in enumerate(("encoder", "decoder"))
    ]
    scatter = 1e-3 * skew(N)[::-1]
    return tuple(
        xr.Dataset(
            {name: (("layer", "seed"), np.exp(values + scatter)) for name, values in zip(RATES, logs, strict=True)}
            | {"units": units},
            {"layer": np.arange(20)},
        )
        for units, logs in ((500, of_wide), (50, of_narrow))
    )


START = 2e-5  # distance of inputs on a line through 0, over that of the inputs


def gains(by_layer=1.0, ratio=0.9):
    """Gain per layer over its theory; distances of inputs at a right angle over those of inputs on a line, at first."""
    fits = xr.Dataset(
        {
            "layer_gain": ("seed", 0.5 * (near(0.0) + by_layer)),
            "layer_gain_theory": 0.5,
            "layer_gain_linear": 1.0,
            "units": 100,
        }
    )
    dx = np.sqrt(np.array([[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]))
    h = np.full((1, N, 2, 4, 4), 0.1) * np.exp(near(0.0))[:, None, None, None]
    h[:, :, 0] = START * dx**2 * np.exp(near(0.0))[:, None, None]
    h[:, :, 0, 1, 2] *= ratio
    xor = xr.Dataset(
        {"h": (("run", "trial", "look", "point", "other"), h)}, {"run": ["low"], "dx": (("point", "other"), dx)}
    )
    return fits.assign(units=500), fits, xor


def power_of_start(power):
    """The ratio at which the distance at a right angle is this power of that on a line."""
    return START ** (power - 1)


POWERS = [f"{part}_{way}" for part in ("encoder", "decoder") for way in ("depth", "width")]
BORDERS = [  # claim, values, boundary, whether the claim allows what is above it, parts, verdict outside
    *(("uni-fig11-alt", of(losses, name), 0.0, True, 4) for name in ("factor_two", "minus_removed", "term_removed")),
    ("uni-fig11-alt", of(losses, "square"), 0.0, True, 4, READING),
    ("uni-fig10-depth", lambda v: in_half(True, v), 0.9, True, 2, READING),
    ("uni-fig10-depth", lambda v: in_half(False, v), 0.7, False, 2, READING),
    ("uni-s52-rates", of(slopes, "encoder"), 0.0, True, 2),
    ("uni-s52-rates", of(slopes, "decoder"), 0.0, False, 2),
    ("uni-s52-early", of(slopes, "early"), 0.0, True),
    *(("uni-s52-parameters", of(powers, name), at, at < 1, 2, READING) for name in POWERS for at in (0.75, 1.25)),
    ("uni-eq14-gain", of(gains, "by_layer"), 1.1, False),
    ("uni-eq14-gain", of(gains, "by_layer"), 0.9, True),
    ("uni-eq14-gain", in_logs(of(gains, "ratio")), np.log(2), False, 1, READING),
    ("uni-eq14-gain", in_logs(of(gains, "ratio")), -np.log(2), True, 1, READING),
]
CASES = {  # claim: worlds and their verdicts
    "uni-fig11-alt": [
        (losses(factor_two_in_h=near(-1.0)), READING),
        (losses(square=near(-1.0), factor_two_in_h=near(-1.0)), REFUTED),
    ],
    "uni-fig11-numbers": [
        *(
            (numbers(**{name.replace(" ", "_"): side * far}), status)
            for name in FIT_LOSSES
            for side in (1, -1)
            for far, status in ((0.99, HOLDS), (1.01, REFUTED))
        ),
        (numbers(factor_two=1.01, on_line={}), "not reproducible as stated"),
        (numbers(on_line={"factor_two": 1.01}), "not reproducible as stated"),
        (numbers(half=0.99 * np.log(100)), HOLDS),
        (numbers(half=1.01 * np.log(100)), UNDECIDED),
        ((numbers()[0].isel(seed=slice(0, 3)),), UNDECIDED),
    ],
    "uni-fig10-depth": [
        *((depth(second=value), status) for value, status in ((0.705, READING), (0.695, REFUTED))),
        *((depth(first=value), status) for value, status in ((0.895, READING), (0.905, REFUTED))),
        (depth(changes=[(19, EVERY, 0.905)]), HOLDS),
        (depth(changes=[(19, EVERY, 0.895)]), READING),  # the worst layer, not the mean
        (depth(changes=[(19, W, 0.895)]), READING),
        (depth(changes=[(slice(10, 20), W, 0.895)]), READING),  # the least of the curves, not their mean
        (depth(changes=[(0, EVERY, 0.695)]), HOLDS),
        (depth(changes=[(0, EVERY, 0.705)]), READING),  # the best layer
        (depth(changes=[(slice(0, 10), W, 1.0)]), HOLDS),  # no reading takes the best curve
    ],
    "uni-s52-parameters": [
        (powers(encoder_depth=1.49), READING),
        (powers(encoder_depth=1.51), READING),  # with width the power is 1
        (powers(decoder_depth=1.49, decoder_width=1.49), READING),
        *(
            (powers(**{f"{part}_depth": p, f"{part}_width": p}), status)
            for part in ("encoder", "decoder")
            for p, status in ((0.51, READING), (1.49, READING), (0.49, REFUTED), (1.51, REFUTED))
        ),
    ],
    "uni-eq14-gain": [
        *((gains(ratio=1 / factor), READING) for factor in (3.99, 4.01)),  # a power of the distance still
        *((gains(ratio=power_of_start(power)), READING) for power in (0.51, 1.24, 1.26, 1.49)),
        *((gains(ratio=power_of_start(power)), REFUTED) for power in (0.49, 1.51)),
    ],
}
BEYOND = dict.fromkeys(POWERS, 1.6)
RIGHT = [  # claim, a world with the verdict that the claim has there, in which its controls have to turn it
    ("uni-fig11-alt", losses(), HOLDS),
    ("uni-fig11-numbers", numbers(), HOLDS),
    ("uni-fig10-depth", depth(), HOLDS),
    ("uni-s52-rates", slopes(), HOLDS),
    ("uni-s52-early", slopes(decoder=-0.2), HOLDS),
    ("uni-s52-parameters", powers(**BEYOND), REFUTED),
    ("uni-eq14-gain", gains(), HOLDS),
]


@pytest.mark.parametrize(("ratio", "outcome"), [(1 / 3.99, "passes"), (1 / 4.01, "fails")])
def test_within_a_factor_of_four_is_a_reading(ratio, outcome):
    readings = CLAIMS["uni-eq14-gain"](*gains(ratio=ratio)).printed.parts["in any direction"].readings
    assert readings["roughly: of 4"].outcome == outcome
