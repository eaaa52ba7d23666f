"""Claims on exact geodesics: conservation, Theorem 4, balancedness, the bottleneck laboratory."""

from __future__ import annotations

from typing import cast

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import exchange, false_world, in_dataset, replace_variables, reverse, wrong_formula
from repdyn.base.datasets import require
from repdyn.base.sampled import mean_within
from repdyn.base.verdicts import Verdict, at_least, at_most, deviation

OTHER_SIGN = r"the Hamiltonian with the other sign of $\mathrm{Tr}[B A^T]$"
DRIFT_REASON = "integrator tolerance 1e-9 or less over a few thousand steps, exceeded where a kink lies inside a step"


@claim(
    "lrn-ham-conserved",
    where="Section 1.5, after the Hamiltonian",
    words="The Hamiltonian is a conserved quantity, i.e. it is constant in p",
    line=206,
    kind="identity",
    states="$\\mathcal{H}$ is constant in $p$ along the joint dynamics of $A$ and $B$.",
    control={
        "random": wrong_formula(
            OTHER_SIGN, in_dataset(0, lambda random: random.assign(drift=random["wrong_drift"] + 0 * random["drift"]))
        ),
        "laboratory": wrong_formula(OTHER_SIGN, in_dataset(1, replace_variables(drift="wrong_drift"))),
    },
    labels={
        "random": "relative drift of the Hamiltonian from random starts",
        "laboratory": "relative drift of the Hamiltonian on geodesics through a bottleneck",
    },
)
def hamiltonian_is_conserved(random_geodesics: xr.Dataset, geodesics: xr.Dataset) -> Verdict:
    """Adaptive DOP853 along random trajectories and through bottlenecks; the drift falls with the tolerance."""
    drift = random_geodesics["drift"]
    finest = float(drift["tolerance"][0])
    tests = {
        "random": at_most(
            drift.isel(tolerance=0), 1e-5, expected=f"no drift at tolerance {finest:g}", reason=DRIFT_REASON
        ),
        "laboratory": at_most(geodesics["drift"], 1e-5, expected="no drift", reason=DRIFT_REASON),
    }
    return Verdict.from_tests(
        tests,
        facts={
            "tolerances": drift["tolerance"],
            "largest drift by tolerance": drift.max(("bias", "draw")),
            "sign changes per trajectory": random_geodesics["sign_changes"].mean(),
        },
    )


def _order(paths: xr.Dataset) -> np.ndarray:
    """Slope of log spread against log L from L = 40 on, one per start, with and without bias."""
    spread = paths["spread"].sel(layer_count=paths["layer_count"] >= 40)
    flat = np.log(spread.stack(path=("bias", "seed")).transpose("layer_count", "path").values)
    return np.polyfit(np.log(spread["layer_count"].values), flat, 1)[0]


@claim(
    "lrn-ham-discrete",
    where="Sections 1.5 and 3",
    kind="scaling",
    origin="ours",
    states="Critical points of the discrete network with equidistant steps are symplectic Euler steps. Their "
    r"$\mathcal{H}(A_{\ell-1}, B_\ell)$ varies over the layers by order $1/L$ at a given start and "
    "effective depth, and from random starts in proportion to $1/L$.",
    control={
        "order": wrong_formula(
            "a spread that falls as $1 / L^2$",
            lambda paths: paths.assign(spread=paths["spread"] / paths["layer_count"]),
            recomputes=True,
        ),
        "momenta": wrong_formula("the momenta of the next layer", replace_variables(momenta="momenta_shifted")),
    },
    remark="One neuron and one point without bias conserve it exactly.",
    labels={
        "order": "exponent of the Hamiltonian's variation in the number of layers",
        "momenta": "momenta of the network against those of symplectic Euler steps",
    },
)
def discrete_hamiltonian_varies(critical_paths: xr.Dataset) -> Verdict:
    """Backward pass against the implicit steps; the order over random starts."""
    require(critical_paths, "critical_paths", seed=3, layer_count=4)
    tests = {
        "order": mean_within(
            _order(critical_paths),
            -1.1,
            -0.9,
            expected="slope -1",
            reason="sign changes of A cost the order up to a tenth",
        ),
        "momenta": deviation(
            critical_paths["momenta"], 1e-11, expected="momenta of the steps", reason="640 layers of round-off"
        ),
    }
    spread = critical_paths["spread"].mean(("bias", "seed"))
    return Verdict.from_tests(
        tests, facts={"numbers of layers": spread["layer_count"], "mean range of the Hamiltonian over its size": spread}
    )


ALL_COLUMNS = replace_variables(norm_gain="norm_gain_all")
NOT_THE_BIAS = "all columns of $W$ in place of its bias"


@claim(
    "lrn-prop9",
    where="Appendix A.3, Proposition 9",
    words=r"At any critical $W_p$ , we have $||W_p||^2 = ||W_0||^2 + \tilde{L} \int_0^p ||W_{p,w+1}||^2 dq$",
    line=462,
    kind_of_slip="result changes",
    kind="identity",
    states="At critical points the squared weights grow along the path by the integral of the squared biases, times "
    r"$\tilde L$.",
    correction=r"The factor is $2 \tilde L$: $\langle A, B \rangle$ grows at the rate $\|b\|^2 / \tilde L$ and "
    r"$\frac{1}{2 \tilde L} \|W\|^2 - \tilde L \langle A, B \rangle = \mathcal{H}$ is constant; the proof forgets the "
    "shift of its own argument.",
    formula=r"\|W_p\|^2 = \|W_0\|^2 + \tilde L \int_0^p \|W_{p,w+1}\|^2 dq",
    corrected_formula=r"\|W_p\|^2 = \|W_0\|^2 + 2 \tilde L \int_0^p \|W_{q, \cdot w+1}\|^2 dq",
    control={
        "flow": wrong_formula(NOT_THE_BIAS, in_dataset(0, ALL_COLUMNS)),
        "discrete": wrong_formula(NOT_THE_BIAS, in_dataset(1, ALL_COLUMNS)),
        "no bias": false_world("paths with bias", in_dataset(0, exchange("bias", 0, 1))),
    },
    message="The squared weights grow twice as fast as Proposition 9 says",
    cause=r"Along the path $\langle A, B \rangle$ grows at the rate $\|b\|^2/\tilde L$ while $\frac{1}{2 \tilde L} "
    r"\|W\|^2 - \tilde L \langle A, B \rangle$ is constant; the printed proof changes the pace along the path, but "
    "not the place at which the weights are taken.",
    consequence=r"The factor of the integral is $2 \tilde L$ in place of $\tilde L$; that the weights grow with "
    "their biases stays.",
    sought="Derived twice (page, derivation 6), and without mechanics where it is simplest: a neuron that is off, "
    r"$\partial_p \alpha = -\tilde L \alpha + b$, has the least bias $b \propto e^{\tilde L p}$, by least "
    "squares. Entries on a kink were tried with slopes 0, 1/2 and 1 of the ReLU: they multiply an entry "
    "that is 0. Discrete critical points agree up to $1/L$.",
    defence="The proposition says that weights grow with their biases and are constant without, which is all that "
    r"the paper uses; the factor enters no later result. $\|W_p\|$ may be meant without its last column, as "
    r"in the case of fully connected networks before it. Or $\tilde L$ is scaled, as $\lambda / (2 \tilde "
    "L)$ is.",
    answer=r"That the qualitative part stays is why only the result changes. No reading of $\|W_p\|$ saves the "
    r"factor: a neuron that is off has a bias alone, and of least norm between given ends is $b \propto "
    r"e^{\tilde L p}$, so that $|b_p|^2 - |b_0|^2 = 2 \tilde L \int |b|^2$ while without its last column "
    "$W_p$ is 0. The penalty's factor cancels in what is minimized, and the last line of the proof "
    "includes the bias.",
    labels={
        "flow": r"factor before $\tilde L$ times the biases' integral, along the flow, minus 2",
        "discrete": "that factor at critical points of layered networks, minus 2",
        "no bias": "change of the squared weights along the path without bias",
    },
)
def weights_grow_by_their_biases(random_geodesics: xr.Dataset, critical_paths: xr.Dataset) -> Verdict:
    """Along the flow by Simpson's rule, and along discrete critical points with the most layers."""
    gain = random_geodesics["norm_gain"].sel(bias=1)
    most = critical_paths["norm_gain"].sel(bias=1).isel(layer_count=-1)
    layers = int(critical_paths["layer_count"][-1])
    constant = random_geodesics["norm_range"].sel(bias=0)
    printed = deviation(
        gain - 1, 0.01, expected=r"gain over $\tilde L \int |b|^2$ equal to 1", reason="as the spread allows, .01"
    )
    corrected = {
        "flow": deviation(
            gain - 2, 0.01, expected="2", reason="far above quadrature and drift, far below the distance to 1"
        ),
        "discrete": deviation(most - 2, 20 / layers, expected="2", reason="discretization, of order $1 / L$"),
        "no bias": at_most(constant, 1e-5, expected="$|W|$ constant without bias", reason=DRIFT_REASON),
    }
    return Verdict.from_tests(printed, corrected)


AT_THE_END = false_world(
    r"the representation at $p = 0$, where the speed grows with $\tilde L$",
    lambda laboratory: laboratory.assign(negative_mass=laboratory["negative_mass"].isel(p=0) + 0 * laboratory["p"]),
)


@claim(
    "lrn-prop5-limit",
    where="Proposition 5, extremals",
    kind="limit",
    origin="ours",
    states=r"Exact trajectories that pass a non-negative fixed point at $p = \frac12$ at a relative distance that "
    r"falls faster than $e^{-\tilde L / 4}$, here $0.3\, e^{-0.45 \tilde L}$, lose their negative part at "
    r"$p = \frac14$ and $\frac34$ as $\tilde L$ grows.",
    control={"last": AT_THE_END, "falls": AT_THE_END},
    labels={
        "last": "share of the negative part at $p$ = 1/4 and 3/4, largest depth",
        "falls": "that share at the largest depth over that at the least",
    },
    remark=r"The distance is chosen; it grows by $e^{\tilde L / 4}$ up to there, and at $0.3\, e^{-0.2 \tilde L}$ "
    "the negative part stays. The proposition is about minima, which these extremals are not shown to be; "
    "trained networks: lrn-prop5-trained.",
)
def bottleneck_is_nonnegative(geodesics: xr.Dataset) -> Verdict:
    """Exact trajectories at p = 1/4 and 3/4: largest negative mass at the least and at the largest depth."""
    mass = geodesics["negative_mass"].sel(p=[0.25, 0.75], method="nearest").max(("bias", "seed", "p"))
    tests = {
        "last": at_most(mass.isel(effective_depth=-1), 1e-4, expected="no negative mass", reason="a hundredth of 1 %"),
        "falls": at_most(
            mass.isel(effective_depth=-1) / mass.isel(effective_depth=0),
            0.01,
            expected="a fall",
            reason="by two decades",
        ),
    }
    return Verdict.from_tests(tests)


def _growth_rate(laboratory: xr.Dataset) -> np.ndarray:
    """Slope of the log of the relative speed against Lt (1/2 - p), p in [0.1, 0.4], largest Lt; one per trajectory."""
    part = laboratory.isel(effective_depth=-1).sel(p=slice(0.1, 0.4))
    speed = cast("xr.DataArray", np.log(part["plain_speed"])).stack(path=("bias", "seed")).transpose("p", "path")
    return np.polyfit(float(part["effective_depth"]) * (0.5 - part["p"].values), speed.values, 1)[0]


@claim(
    "lrn-geodesic-lab",
    where="Section 2",
    kind="scaling",
    origin="ours",
    states=r"Solutions of Hamilton's equations that pass a non-negative fixed point of rank $k$ at $p = \frac12$ "
    r"closer than $e^{-0.4 \tilde L}$, kicked in all directions, leave it toward $p = 0$ at the rate "
    r"$\tilde L$, $\|\partial_p A\| / \|A\| \sim e^{\tilde L (1/2 - p)}$ for $p$ from 0.1 to 0.4, and their "
    "kinetic energy is proportional to the extra cost of identity.",
    control={
        "rate": false_world("the effective depths in reverse order", reverse("effective_depth")),
        "proportional": wrong_formula(
            "the kinetic energy at $1 - p$", replace_variables(proportion="mirrored_proportion")
        ),
    },
    labels={
        "rate": "rate of leaving the bottleneck over the effective depth, minus 1",
        "proportional": "correlation of kinetic energy and extra cost of identity",
    },
    remark=r"The kick at $p = 1/2$ is chosen to fall as $e^{-0.45 \tilde L}$; a larger one is of order 1 before $p "
    "= 0.1$, and a part inside the row space does not grow. The distance of the energy from $k$, the share "
    "of $p$ near rank $k$ and the speed in the middle follow from that choice.",
)
def time_scales_separate(geodesics: xr.Dataset) -> Verdict:
    """All trajectories, with and without bias."""
    lab, last = geodesics, geodesics.isel(effective_depth=-1)
    tests = {
        "rate": deviation(
            _growth_rate(lab) - 1,
            0.5,
            expected=r"rate $\tilde L$",
            reason="nearer to 1 than to 0, the rate at rest, or 2",
        ),
        "proportional": at_least(
            lab["proportion"], 0.95, expected="correlation 1", reason=r"$\gamma$ adds $2 \tilde L \sqrt{\gamma c}$"
        ),
    }
    return Verdict.from_tests(
        tests,
        facts={
            "effective depths": lab["effective_depth"],
            "largest relative speed over the effective depth": (
                lab["plain_speed"].max("p") / lab["effective_depth"]
            ).mean(("bias", "seed")),
            "distance of the energy from k, largest depth": np.abs(last["scaled_hamiltonian"] - lab["rank"]).max(),
            "share of p with a cost below k + 1/2, largest depth": last["share_near_rank"].mean(),
            "relative speed at p = 1/2, largest depth": last["plain_speed"].sel(p=0.5, method="nearest").mean(),
        },
    )
