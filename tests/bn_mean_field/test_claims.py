"""The ledger's entries of this study: accepted verdicts, and made-up data that must turn them."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from repdyn.base.claims import claims_of
from repdyn.base.errors import NotEnoughDataError
from repdyn.bn_mean_field.claims import section3_limit, section4_1_speeds, section4_3_first_step
from repdyn.pipeline.run.loading import load_modules

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = claims_of(*load_modules("bn_mean_field", "claims"))


def test_every_claim_has_an_accepted_verdict():
    accepted = yaml.safe_load((ROOT / "workflow" / "expected_verdicts.yaml").read_text(encoding="utf-8"))
    assert {claim.id for claim in CLAIMS} == {id for id in accepted if id.startswith("bnm-")}


def test_claims_have_data_and_a_control_or_neither():
    assert [claim.id for claim in CLAIMS if bool(claim.data) != bool(claim.controls)] == []


def test_the_page_of_the_paper_names_every_claim():
    page = (ROOT / "docs" / "bn_mean_field.md").read_text(encoding="utf-8")
    assert [claim.id for claim in CLAIMS if f"`{claim.id}`" not in page] == []


def rates(bn=1.0, vanilla=0.0, decades=(2.5, 2.0)):
    """Made-up learning rates: log10 of iterations and range of steps of BN and vanilla networks, six starts."""
    names = ["BN", "vanilla", "vanilla, same function", "BN, many lengths", "vanilla, many lengths"]
    draws = 0.01 * np.arange(7)
    needed = 10 ** (np.array([bn, vanilla, vanilla, bn, vanilla])[:, None] + draws * np.arange(5)[:, None])
    spans = np.array([decades[0], decades[1], decades[1], decades[0], decades[1]])[:, None] + draws
    dims = ("network", "start")
    return xr.Dataset(
        {
            "needed": ((*dims, "step"), np.stack([needed, needed], axis=-1)),
            "decades": (dims, spans),
            "fewest": (dims, needed),
            "smallest_step": (dims, np.ones((5, 7))),
            "largest_step": (dims, np.full((5, 7), 10.0)),
        },
        {
            "network": names,
            "start": np.arange(7),
            "step": [1.0, 2.0],
            "iterations": 10,
            "spacing": 0.125,
            "learned": 0.01,
        },
    )


def test_learning_rates_turn_the_claims():
    speedup, wider, lengths = (
        section4_1_speeds.learning_is_sped_up,
        section4_1_speeds.range_of_steps_is_wider,
        section4_1_speeds.many_lengths_widen_the_range,
    )
    slower = speedup(rates(bn=1.0))
    assert slower.status == "does not hold"
    assert "BN needs 9.2 times" in slower.note  # 10 to the power 1 - 0.035
    assert speedup(rates(bn=-1.0)).status == "holds"
    assert wider(rates(decades=(2.5, 2.0))).status == "holds"
    assert wider(rates(decades=(2.0, 2.5))).status == "does not hold"
    assert lengths(rates()).status == "does not hold"  # equal ranges
    first = rates(bn=1.0)
    first["needed"][{"start": 0}] = 1e-9  # both signs of a are no sample
    assert speedup(first).status == "does not hold"


def ratios(by_step):
    """Made-up ratios of largest speeds at one iteration, paired start first."""
    steps = list(by_step)
    draws = np.array([[by_step[h] * (1 + 0.01 * k) for h in steps] for k in range(5)])
    draws[0] = 1e6
    shape = (1, 5, len(steps), 1)
    return xr.Dataset(
        {"ratio": (("problem", "start", "step", "iteration"), draws.reshape(shape))},
        {
            "problem": ["y = x1"],
            "start": range(5),
            "step": steps,
            "iteration": [500],
            "look": 500,
            "paper_step": steps[0],
        },
    )


@pytest.mark.parametrize(
    ("by_step", "status"),
    [
        ({0.1: 10.0, 0.2: 12.0}, "holds"),
        ({0.1: 10.0, 0.2: 100.0}, "not reproducible as stated"),
        ({0.1: 100.0, 0.2: 200.0}, "does not hold"),
        ({0.1: 2.0, 0.2: 1.0}, "does not hold"),
    ],
)
def test_the_order_of_magnitude_can_move(by_step, status):
    assert section4_1_speeds.order_of_magnitude(ratios(by_step)).status == status


def distances(exponent, spread=0.02):
    """Made-up distances to the limit that fall as m^-exponent."""
    rng = np.random.default_rng(0)
    rows = [
        (start, target, m, seed, m**-exponent * np.exp(spread * rng.normal()))
        for start, seeds in (("low discrepancy", 1), ("i.i.d.", 6))
        for target in ("equal signs", "opposite signs")
        for seed in range(seeds)
        for m in (16, 32, 64, 512)
    ]
    start, target, width, seed, value = (np.array(column) for column in zip(*rows, strict=True))
    return xr.Dataset(
        {"distance": (("run", "time"), np.stack([value, value], axis=1))},
        {
            "start": ("run", start),
            "target": ("run", target),
            "width": ("run", width),
            "seed": ("run", seed),
            "time": [0.0, 1.0],
            "reference": 512,
            "random_reference": 512,
        },
    )


def test_convergence_is_a_falling_distance():
    check = section3_limit.particles_converge
    assert check(distances(0.5)).status == "holds"
    assert check(distances(0.1)).status == "does not hold"
    assert check(distances(-0.3)).status == "does not hold"
    narrow = distances(0.5)
    with pytest.raises(NotEnoughDataError, match="3 widths"):
        check(narrow.isel(run=np.flatnonzero(narrow["width"] != 64)))


def test_false_alarms_of_the_parts_add_up():
    verdict = section3_limit.particles_converge(distances(0.5))
    shares = [part.false_alarm for part in verdict.printed.parts.values()]
    assert verdict.printed.false_alarm == pytest.approx(sum(shares))
    assert shares == [0.0, 0.0, 5e-4, 5e-4]  # two times share 0.001 in each i.i.d. part


def test_turns_are_those_of_all_neurons_after_the_first_step():
    turns = np.ones((2, 3, 1, 1, 2, 1))  # quantile, later, start, radius, model, step
    steps = xr.Dataset(
        {"turn_quantile": (("quantile", "later", "start", "radius", "model", "step"), turns)},
        {"quantile": [0.5, 1.0], "later": [1, 2, 3], "model": ["BN", "vanilla"]},
    )
    check = section4_3_first_step.stable_from_the_second_step
    assert check(steps).status == "holds"
    for place, status in (((1, 2), "holds as corrected"), ((0, 2), "does not hold"), ((1, 0), "holds")):
        moved = steps.copy(deep=True)
        moved["turn_quantile"].values[(*place, 0, 0, 0, 0)] = 60
        if place[0] == 0:
            moved["turn_quantile"].values[1, 2, 0, 0, 0, 0] = 90
        assert check(moved).status == status
    steps["turn_quantile"].values[1, 2, 0, 0, 1, 0] = 90  # the vanilla model's turns do not count
    assert check(steps).status == "holds"


@pytest.mark.parametrize("critical", [0.5, 2.0, 50.0], ids=["all above", "both", "all below"])
def test_lengths_on_one_side_of_the_critical_one_decide_nothing(critical):
    radius, g = np.array([1.0, 1.5, 2.0, 3.0, 4.0]), critical**2
    first_step = xr.Dataset(
        {
            "norm": (
                ("model", "iteration", "radius", "start", "step", "neuron"),
                np.sqrt(radius**2 + (g / radius) ** 2)[None, None, :, None, None, None],
            ),
            "critical": (("start", "step", "neuron"), np.full((1, 1, 1), critical)),
        },
        {"model": ["BN"], "iteration": [1], "radius": radius},
    )
    check = section4_3_first_step.smaller_becomes_bigger
    if critical == 2.0:
        assert check(first_step).status == "holds as corrected"
        return
    with pytest.raises(NotEnoughDataError, match=r"pairs of lengths below r\* and above it"):
        check(first_step)
