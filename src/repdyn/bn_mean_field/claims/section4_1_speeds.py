"""Claims of section 4.1 of Ma and Ying and Figure 1: where neurons are fast, where they gather, what is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import false_world, knock_out, replace_labels, replace_variables, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.errors import NotEnoughDataError
from repdyn.base.readings import over_readings
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Test, Verdict, at_least, deviation, not_reproducible

UNSTATED = (
    "Width, step, target, activation, loss, start and time scaling are not stated; here ReLU, squared loss, a trained, "
    "equispaced unit directions"
)
BIGGER = "equal speeds have the logarithm 0"
STATISTICS = {"mean speed": np.mean, "median speed": np.median}
NEURONS = {"within 15 degrees of the axes": 15.0, "nearer to either axis": 45.0}
Statistic = Callable[[np.ndarray], float]
Choices = dict[str, Mapping[str, object]]


def _law(target_scan: xr.Dataset) -> xr.DataArray:
    """Torque times sqrt(det Sigma) over length and variance in the neuron's direction, against the speed."""
    factor = np.sqrt(target_scan["determinant"]) / (target_scan["length"] * target_scan["variance"])
    return (target_scan["torque"] * factor - target_scan["speed"]) / target_scan["speed"].max()


def _contrasts(target_scan: xr.Dataset, speed: xr.DataArray, target: float, width: float, of: Statistic) -> np.ndarray:
    """log10 of the speeds near x2 over those near x1 for a target at an angle to the x1 axis, by draw."""
    require(target_scan, "target_scan", angle=(target,))
    cells = zip(*(values.sel(angle=target).values for values in (speed, target_scan["axis_angle"])), strict=True)
    pairs = [(own[angle > 90 - width], own[angle < width]) for own, angle in cells]
    samples = [np.log10(of(small) / of(large)) for small, large in pairs if small.size and large.size]
    if len(samples) < 2:
        raise NotEnoughDataError("target_scan: 2 starts with neurons near both axes")
    return np.array(samples)


def _targets(target_scan: xr.Dataset) -> dict[str, float]:
    return {f"{angle:g} degrees from $x_1$": angle for angle in target_scan["angle"].values.tolist()}


def _off_and_along_x2(target_scan: xr.Dataset) -> xr.Dataset:
    """Torques alone, for a target along x2 wherever it was."""
    off = _without_factor(target_scan)
    labels = {angle: 90.0 for angle in target_scan["angle"].values.tolist() if angle != 90.0}
    along = cast("xr.Dataset", replace_labels("angle", labels)(off))
    return off.assign({name: along[name] for name in ("speed", "axis_angle")})


def _without_factor(target_scan: xr.Dataset) -> xr.Dataset:
    return target_scan.assign(speed=target_scan["torque"])


@claim(
    "bnm-fig1-speed",
    where="Section 4.1, Figure 1",
    words=r"its moving speed will get bigger because $\|\mathbf{b}\|_{\Sigma}$ is small",
    line=388,
    assumes="the figure's iteration; the target is not stated",
    kind="causal",
    states=r"With BN neurons that point to where data are small move faster, because $\|b\|_\Sigma$ is small.",
    control={
        "faster": false_world(
            r"the target along $x_2$, and speeds without the factor of the metric", _off_and_along_x2
        ),
        "because": knock_out("speeds without the factor of the metric", _without_factor),
    },
    labels={
        "faster": "speed of neurons near the axis of small variance over that near the other",
        "because": "that ratio over the same without the factor of the metric",
    },
    remark=f"At equal torque the statement holds (bnm-sec41-law). {UNSTATED}.",
)
def faster_where_data_are_small(target_scan: xr.Dataset) -> Verdict:
    """Tangential speeds near x2 over those near x1, and how much of that goes with the factor of the metric."""

    def faster(target: float, neurons: float, statistic: Statistic) -> Test:
        samples = _contrasts(target_scan, target_scan["speed"], target, neurons, statistic)
        return mean_within(samples, 0, np.inf, expected="log10 of the ratio of speeds above 0", reason=BIGGER)

    def because(target: float, neurons: float, statistic: Statistic) -> Test:
        speeds = target_scan["speed"], target_scan["torque"]
        with_it, without = (_contrasts(target_scan, own, target, neurons, statistic) for own in speeds)
        expected = "log10 of the ratio larger by 0.1 or more than without the factor"
        return mean_within(with_it - without, 0.1, np.inf, expected=expected, reason="without the factor it is 0")

    choices: Choices = {"target": _targets(target_scan), "neurons": NEURONS, "statistic": STATISTICS}
    ratios = 10 ** target_scan["outer_contrast"].mean("seed")
    return Verdict.from_tests(
        {"faster": over_readings(faster, **choices), "because": over_readings(because, **choices)},
        facts={
            "angle of the target to $x_1$ (degree)": ratios["angle"].values,
            "speed near $x_2$ over that near $x_1$, by target": ratios.values,
        },
    )


def _one_power_less(target_scan: xr.Dataset) -> xr.Dataset:
    return target_scan.assign(torque=target_scan["torque"] * np.sqrt(target_scan["variance"]))


@claim(
    "bnm-sec41-law",
    where="Section 4.1 (ours)",
    kind="identity",
    origin="ours",
    assumes=r"$\Sigma \succ 0$, mean-field time; $E(\psi)$ is $\mathbb{E}\, \ell' \sigma(\bar b^T x)$ at the angle "
    r"$\psi$ of $\Sigma^{1/2} b$, and the torque its derivative times $a$",
    states="In two dimensions the speed is the torque of the residual in the whitened plane times "
    r"$\sqrt{\det\Sigma}/(\|b\| \|u\|_\Sigma^2)$: at equal torque neurons are faster where data vary little.",
    formula=r"\|\dot b\| = |a E'(\psi)| \frac{\sqrt{\det\Sigma}}{\|b\| \|u\|_\Sigma^2}, \quad u = \frac{b}{\|b\|}",
    control=wrong_formula(
        r"one power of the norm less, $\sqrt{\det \Sigma}$ over the deviation", _one_power_less, recomputes=True
    ),
    labels={"": "speed of each neuron minus the law, over the largest speed"},
)
def speed_is_torque_times_factor(target_scan: xr.Dataset) -> Verdict:
    """The law neuron by neuron, targets between the axes."""
    reason = "pairwise sums against prefix sums, and runs of 500 steps: 1e-12 of the largest speed"
    return Verdict.from_tests(deviation(_law(target_scan), 1e-12, expected="the law", reason=reason))


def _random_starts(speed_ratio: xr.Dataset, name: str) -> xr.DataArray:
    """Largest speed, BN over vanilla, at the figure's iteration over the starts of random signs."""
    return _of_starts(speed_ratio, name).isel(start=slice(1, None))


def _of_starts(speed_ratio: xr.Dataset, name: str) -> xr.DataArray:
    """The same over all starts, the first of which has both signs at each direction."""
    return speed_ratio[name].sel(problem="y = x1", iteration=int(speed_ratio["look"]))


def _order_of_magnitude(ratios: xr.DataArray) -> Test:
    expected, reason = "log10 of the ratio of largest speeds between 0.5 and 1.5", "ten is the nearest power of ten"
    logs = np.log10(ratios.values)
    if logs.size == 1:
        return deviation(logs - 1, 0.5, expected=expected, reason=reason)
    return mean_within(logs, 0.5, 1.5, expected=expected, reason=reason)


STARTS = {"random signs of a": slice(1, None), "both signs at each direction": slice(0, 1)}


@claim(
    "bnm-fig1-order",
    where="Section 4.1, Figure 1, caption",
    words="the top panel's vertical axis is one order of magnitude bigger ... bottom panel",
    line=376,
    assumes="the 500th iteration; the step is not stated",
    kind="published number",
    states="The axis of speeds with BN is one order of magnitude bigger than that without.",
    control=false_world("isotropic data", replace_labels("problem", {"y = x1": "y = x1, Sigma = I"})),
    remark="Why the ratio depends on the step: bnm-fig1-matched.",
)
def order_of_magnitude(speed_ratio: xr.Dataset) -> Verdict:
    """Holds if the ratio of largest speeds is ten at every step tried, does not if at none; else the step decides."""
    ratios = _of_starts(speed_ratio, "ratio")
    steps = {f"{step:g}": step for step in ratios["step"].values.tolist()}

    def ten(step: float, start: slice) -> Test:
        return _order_of_magnitude(ratios.sel(step=step).isel(start=start))

    test = over_readings(ten, step=steps, start=STARTS)
    ratios = _random_starts(speed_ratio, "ratio")
    facts = {"step $h$": list(steps.values()), "median ratio of largest speeds, by step": ratios.median("start").values}
    if test.outcome == "depends":
        return replace(
            not_reproducible(f"{UNSTATED}. The ratio depends on the step size, which the paper omits.", test),
            facts=facts,
        )
    return Verdict.from_tests(test, facts=facts)


@claim(
    "bnm-fig1-matched",
    where="Section 4.1, Figure 1 (ours)",
    kind="comparison",
    origin="ours",
    assumes="the setting of Figure 1: variances 5 and 1, one step for both models, iteration 500",
    states="For $y = x_1$, where both models have reached the same loss, BN's fastest neuron is not faster than the "
    "vanilla model's.",
    control=false_world("speeds at equal iteration, not at equal loss", replace_variables(matched_ratio="ratio")),
    remark="At iteration 500 the vanilla model is slow because it has nearly finished, as its loss shows. The facts "
    "are of the start with both signs of $a$ at each direction.",
)
def speeds_at_matched_loss(speed_ratio: xr.Dataset) -> Verdict:
    """Vanilla speed read where its loss equals BN's at the figure's iteration, step of Figure 1."""
    step, iteration = float(speed_ratio["paper_step"]), int(speed_ratio["look"])
    ratios = _random_starts(speed_ratio, "matched_ratio").sel(step=step)
    test = mean_within(
        ratios, -np.inf, 1, expected="ratio of largest speeds at most 1", reason="equal speeds have ratio 1"
    )
    cell = speed_ratio.sel(problem="y = x1", step=step, iteration=iteration).isel(start=0)
    bn, vanilla = (float(cell["loss"].sel(model=model)) for model in ("BN", "vanilla"))
    return Verdict.from_tests(
        test,
        facts={
            "loss with BN": bn,
            "loss without": vanilla,
            "iteration at which the vanilla model has BN's loss": float(cell["matched_iteration"]),
            "ratio of largest speeds there": float(cell["matched_ratio"]),
        },
    )


def _share(data: xr.Dataset, width: float) -> xr.DataArray:
    """Share of neurons within `width` degrees of the x1 axis."""
    return (data["axis_angle"] < width).mean("neuron")


WIDTHS = {"10 degrees": 10.0, "15 degrees": 15.0, "30 degrees": 30.0}
ENDS = {"iteration 4000": 4000, "iteration 6000": 6000, "iteration 8000": 8000}


def _at_rest(data: xr.Dataset) -> xr.Dataset:
    start = data["axis_angle"].isel(iteration=0)
    return data.assign(axis_angle=start.broadcast_like(data["axis_angle"]))


def _in_latex(target: str) -> str:
    for label, formula in (("x1", "x_1"), ("x2", "x_2"), ("sqrt(2)", r"\sqrt{2}")):
        target = target.replace(label, formula)
    return f"${target}$"


@claim(
    "bnm-fig1-conc",
    where="Section 4.1, Figure 1",
    words="concentrate to significant directions where data are large ... with a comparison with vanilla models",
    line=388,
    assumes="the setting of Figure 1, whose target is not stated",
    kind="qualitative",
    states="In Figure 1 the neurons with BN concentrate in the direction of large variance, more than without BN.",
    control={
        "concentrate": false_world("neurons that stay where they start", _at_rest),
        "more than vanilla": false_world(
            "the neurons without BN in place of those with it", replace_labels("model", {"BN": "vanilla"})
        ),
    },
    labels={"concentrate": "growth factor of the share of neurons near the direction of large variance"},
    remark=f"{UNSTATED}. What causes it: bnm-sec41-escape.",
)
def neurons_concentrate(anisotropy: xr.Dataset) -> Verdict:
    """Shares of neurons near the x1 axis from half of the training on, both models from one start."""
    require(anisotropy, "anisotropy", iteration=tuple(ENDS.values()))

    def share(model: str, target: str, width: float, iteration: int) -> float:
        return float(_share(anisotropy, width).sel(model=model, target=target, iteration=iteration))

    def concentrate(target: str, width: float, read_at: int) -> Test:
        gain = share("BN", target, width, read_at) / share("BN", target, width, 0)
        return at_least(gain, 2, expected="at least doubles", reason="equal shares are no concentration")

    def more_than_vanilla(target: str, width: float, read_at: int) -> Test:
        ratio = share("BN", target, width, read_at) / share("vanilla", target, width, read_at)
        return at_least(ratio, 1.5, expected="half as many more than without", reason="equal shares have the ratio 1")

    targets = {_in_latex(name): name for name in anisotropy["target"].values.tolist()}
    choices = {"target": targets, "width": WIDTHS, "read_at": ENDS}
    last = ENDS["iteration 8000"]
    facts = {
        f"share within 15 degrees at the end, {model}, {words}": share(model, name, 15.0, last)
        for words, name in targets.items()
        for model in ("BN", "vanilla")
    }
    return Verdict.from_tests(
        {
            "concentrate": over_readings(concentrate, **choices),
            "more than vanilla": over_readings(more_than_vanilla, **choices),
        },
        facts=facts,
    )


def _growth(concentration: xr.Dataset, network: str, target: float, width: float, last: int) -> np.ndarray:
    """Growth of the share near x1 to one of the last records (-1, -2), by start."""
    share = _share(concentration, width).sel(network=network, angle=target)
    return (share.isel(iteration=last) - share.isel(iteration=0)).values


NEURON = "0 is no change; a twentieth is less than two of 32 neurons"
_equal_speeds = replace_labels("network", {"BN": "BN, equal speeds"})


@claim(
    "bnm-sec41-escape",
    where="Section 4.1",
    words="This anisotropic speed effect helps neurons escape the non-significant directions ... concentrate to "
    "significant directions",
    line=388,
    assumes="the target is not stated",
    kind="causal",
    states="The anisotropic speed helps neurons to leave directions where data are small and concentrate where they "
    "are large.",
    control={
        "escape": knock_out("speeds that do not depend on the direction in either network", _equal_speeds),
        "concentrate": knock_out("inner weights frozen, so that neurons stay where they start", _at_rest),
        "helped": knock_out("speeds that do not depend on the direction in either network", _equal_speeds),
    },
    labels={
        "escape": "share of neurons far from the direction of large variance at equal speeds, minus that with the "
        "effect",
        "concentrate": "growth of the share of neurons near the direction of large variance",
        "helped": "that growth minus the growth at equal speeds in all directions",
    },
    remark="The same network with equal speeds in all directions shows how many neurons leave and gather without the "
    "effect. For $y = x_1$ they leave earlier with it; in the end as many gather without it.",
)
def neurons_are_helped(concentration: xr.Dataset) -> Verdict:
    """Early shares far from x1 and late shares near it, with BN and at equal speeds in all directions."""
    early = concentration["iteration"].values[1:3]

    def far(network: str, target: float, beyond: float, read_at: int) -> np.ndarray:
        angles = concentration["axis_angle"].sel(network=network, angle=target, iteration=read_at)
        return (angles > beyond).mean("neuron").values

    def escape(target: float, beyond: float, read_at: int) -> Test:
        samples = far("BN, equal speeds", target, beyond, read_at) - far("BN", target, beyond, read_at)
        expected, reason = "a smaller share far from $x_1$ than at equal speeds", "0.01 is a third of a neuron"
        return mean_within(samples, 0.01, np.inf, expected=expected, reason=reason)

    def concentrate(target: float, width: float, read_at: int) -> Test:
        samples = _growth(concentration, "BN", target, width, read_at)
        return mean_within(samples, 0.05, np.inf, expected="share near $x_1$ grows by 0.05 or more", reason=NEURON)

    def helped(target: float, width: float, read_at: int) -> Test:
        with_it, without = (_growth(concentration, name, target, width, read_at) for name in ("BN", "BN, equal speeds"))
        expected, reason = "a larger share near $x_1$ than at equal speeds", "0 is no help; 0.01 is a third of a neuron"
        return mean_within(with_it - without, 0.01, np.inf, expected=expected, reason=reason)

    targets = _targets(concentration)
    leaving: Choices = {
        "target": targets,
        "beyond": {"60 degrees": 60.0, "75 degrees": 75.0},
        "read_at": {f"iteration {iteration}": iteration for iteration in early.tolist()},
    }
    choices: Choices = {
        "target": targets,
        "width": {"15 degrees": 15.0, "30 degrees": 30.0},
        "read_at": {"half of the iterations": -2, "the end": -1},
    }
    shares = {
        f"share beyond 60 degrees at iteration {early[0]}, $y = x_1$, {name}": float(
            far(name, 0.0, 60.0, early[0]).mean()
        )
        for name in ("BN", "BN, equal speeds")
    } | {
        f"share within 15 degrees at the end, $y = x_1$, {name}": float(
            _share(concentration, 15.0).sel(network=name, angle=0.0).isel(iteration=-1).mean()
        )
        for name in ("BN", "BN, equal speeds")
    }
    return Verdict.from_tests(
        {
            "escape": over_readings(escape, **leaving),
            "concentrate": over_readings(concentrate, **choices),
            "helped": over_readings(helped, **choices),
        },
        facts=shares,
    )
