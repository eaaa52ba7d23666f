"""Claims of Ma and Ying about velocities: eqs. (2) to (8), (21), (22) and the scaling laws of section 4.2."""

from __future__ import annotations

import numpy as np
import xarray as xr

from repdyn.base.claims import claim
from repdyn.base.controls import wrong_formula
from repdyn.base.verdicts import Test, Verdict, all_of, deviation, mean_within, rounding

SLOPE_REASON = "a law of exponent two is told from one and from three"


def _sums(gradient_audit: xr.Dataset, values: xr.DataArray, expected: str) -> Test:
    """Residuals relative to the largest entry against the round-off of sums over the samples."""
    samples = int(gradient_audit["samples"])
    reason = f"round-off of sums over {samples} samples, relative to the largest entry: 10 N eps"
    return deviation(values, rounding(1.0, 10 * samples), expected=expected, reason=reason)


def off_centre(gradient_audit: xr.Dataset) -> xr.Dataset:
    """Puts data of mean 1 in the place of centred ones."""
    return gradient_audit.assign(normaliser_gap=gradient_audit["normaliser_gap_off_centre"])


@claim(
    "bnm-eq3",
    where="eqs. (2), (3)",
    kind="identity",
    states="For centred data batch normalisation of b^T x is bbar^T x with bbar = b / sqrt(b^T Sigma b).",
    data="gradient_audit",
    control=wrong_formula("data whose mean is 1 instead of 0", off_centre),
)
def normaliser(gradient_audit: xr.Dataset) -> Verdict:
    """Torch's BatchNorm1d without eps against the formula."""
    test = _sums(gradient_audit, gradient_audit["normaliser_gap"], "equal outputs")
    note = "In the text at hand the norm is printed as sqrt(b^T Sigma b^T), which is no matrix product."
    return Verdict.from_tests(test, note=note)


def signs_as_printed(gradient_audit: xr.Dataset) -> xr.Dataset:
    """Puts the printed right-hand sides in the place of the corrected ones."""
    names = ("bn_a", "bn_b", "vanilla_a")
    return gradient_audit.assign({name: gradient_audit[f"{name}_printed"] for name in names})


@claim(
    "bnm-eq6-sign",
    where="eq. (6)",
    kind="identity",
    states="The gradient flow of the BN model has the right-hand sides of eq. (6).",
    correction="Both lines lack the minus of the -dL/da_k and -dL/db_k printed beside them; eqs. (10), (14), (21) "
    "have it. The a of the second line is a_k.",
    formula=(
        r"\dot a_k = \frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), \quad \dot b_k "
        r"= \frac{1}{m} \mathbb{E}\, l' a \sigma'(\bar b_k^T x) \frac{1}{\|b_k\|_\Sigma} "
        r"\left( I - \frac{\Sigma b_k b_k^T}{\|b_k\|_\Sigma^2} \right) x"
    ),
    corrected_formula=(
        r"\dot a_k = -\frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), \quad \dot b_k "
        r"= -\frac{1}{m} \mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) \frac{1}{\|b_k\|_\Sigma} "
        r"\left( I - \frac{\Sigma b_k b_k^T}{\|b_k\|_\Sigma^2} \right) x"
    ),
    data="gradient_audit",
    control=wrong_formula("the printed signs in the corrected form", signs_as_printed),
)
def gradient_flow_of_bn(gradient_audit: xr.Dataset) -> Verdict:
    """Formula against autograd of the loss with BatchNorm1d, non-Gaussian data."""
    forms = {
        form: all_of(
            a_line=_sums(gradient_audit, gradient_audit[f"bn_a{form}"], "autograd's -dL/da"),
            b_line=_sums(gradient_audit, gradient_audit[f"bn_b{form}"], "autograd's -dL/db"),
        )
        for form in ("_printed", "")
    }
    return Verdict.from_tests(forms["_printed"], forms[""])


def without_normalisation(gradient_audit: xr.Dataset, equivalence: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Puts the vanilla model's gradient in the place of the BN model's."""
    return gradient_audit.assign(radial=gradient_audit["radial_vanilla"]), equivalence


@claim(
    "bnm-norm-conserved",
    where="after eq. (6)",
    kind="identity",
    states="The gradient flow of the BN model keeps every ||b_k||.",
    data=("gradient_audit", "equivalence"),
    control=wrong_formula("the gradient of the vanilla model", without_normalisation),
)
def norms_are_kept(gradient_audit: xr.Dataset, equivalence: xr.Dataset) -> Verdict:
    """Radial part of autograd's gradient, and drift along integrated flows."""
    return Verdict.from_tests(
        all_of(
            radial_fraction=_sums(gradient_audit, gradient_audit["radial"], "no radial part"),
            drift=deviation(
                equivalence["drift"],
                1e-10,
                expected="constant norms",
                reason="some hundred steps of relative tolerance 1e-12",
            ),
        )
    )


def radius_forgotten(gradient_audit: xr.Dataset) -> xr.Dataset:
    """Drops 1/r^2 from the corrected eq. (7)."""
    return gradient_audit.assign(chain_corrected=gradient_audit["chain_printed"])


@claim(
    "bnm-eq7",
    where="eq. (7)",
    kind="identity",
    states="The normalised weights follow bbar' = -(1/m) ||bbar||^2 A(bbar) E l' a sigma' x, and a_k as printed.",
    correction="The a-line lacks the minus; the b-line needs ||b_k|| = 1, in general ||bbar||^2 / ||b_k||^2.",
    formula=(
        r"\dot a_k = \frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), \quad \dot{\bar b}_k "
        r"= -\frac{1}{m} \|\bar b_k\|^2 A(\bar b_k)\, \mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) x, "
        r"\quad A(\bar b) = (I - \bar b \bar b^T \Sigma)(I - \Sigma \bar b \bar b^T)"
    ),
    corrected_formula=(
        r"\dot a_k = -\frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x), \quad \dot{\bar b}_k "
        r"= -\frac{1}{m} \frac{\|\bar b_k\|^2}{\|b_k\|^2} A(\bar b_k)\, \mathbb{E}\, l' a_k \sigma'(\bar b_k^T x) x"
    ),
    data="gradient_audit",
    control=wrong_formula("the factor 1/||b||^2 left out", radius_forgotten),
)
def velocity_of_normalised_weights(gradient_audit: xr.Dataset) -> Verdict:
    """Autograd's b' pushed through b -> bbar by the chain rule, for several ||b||."""
    printed, unit = gradient_audit["chain_printed"], gradient_audit["chain_printed"].sel(radius=1.0)
    both = {
        "_printed": all_of(
            a_line=_sums(gradient_audit, gradient_audit["bn_a_printed"], "autograd's -dL/da"),
            b_line=_sums(gradient_audit, printed, "chain rule"),
        ),
        "": all_of(
            a_line=_sums(gradient_audit, gradient_audit["bn_a"], "autograd's -dL/da"),
            b_line=_sums(gradient_audit, gradient_audit["chain_corrected"], "chain rule"),
        ),
    }
    return Verdict.from_tests(
        both["_printed"], both[""], f"At ||b|| = 1 the printed b-line is off by {float(unit.max()):.1g}."
    )


@claim(
    "bnm-eq8",
    where="eq. (8)",
    kind="identity",
    states="The gradient flow of the vanilla model has the right-hand sides of eq. (8).",
    correction="The a-line lacks the minus; the b-line is right.",
    formula=r"\dot a_k = \frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x)",
    corrected_formula=r"\dot a_k = -\frac{1}{m} \mathbb{E}\, l' \sigma(\bar b_k^T x)",
    data="gradient_audit",
    control=wrong_formula("the printed sign in the corrected form", signs_as_printed),
)
def gradient_flow_of_vanilla(gradient_audit: xr.Dataset) -> Verdict:
    """Formula against autograd of the loss, non-Gaussian data."""
    b_line = _sums(gradient_audit, gradient_audit["vanilla_b"], "autograd's -dL/db")
    forms = [
        all_of(a_line=_sums(gradient_audit, gradient_audit[name], "autograd's -dL/da"), b_line=b_line)
        for name in ("vanilla_a_printed", "vanilla_a")
    ]
    return Verdict.from_tests(*forms)


def without_the_width(gradient_audit: xr.Dataset) -> xr.Dataset:
    """Forgets the factor m between the two time scales."""
    return gradient_audit.assign(mean_field_bn=gradient_audit["mean_field_without_m"])


@claim(
    "bnm-sec4-eq21",
    where="eqs. (10), (21), (22)",
    kind="identity",
    states="In the mean-field time t -> m t the two flows are eqs. (21) and (22).",
    data="gradient_audit",
    control=wrong_formula("the paper's parameter time, without the factor m", without_the_width),
)
def mean_field_time(gradient_audit: xr.Dataset) -> Verdict:
    """Formula against m times autograd; the signs of (21), (22) are right."""
    test = all_of(
        bn=_sums(gradient_audit, gradient_audit["mean_field_bn"], "m times autograd"),
        vanilla=_sums(gradient_audit, gradient_audit["mean_field_vanilla"], "m times autograd"),
    )
    return Verdict.from_tests(
        test, note="The paper drops 1/m between (6) and (10) without saying that time is rescaled."
    )


def no_slowdown(gradient_audit: xr.Dataset) -> xr.Dataset:
    """Lets the longer BN neuron move like the vanilla one, b2' = b1'."""
    factor = (gradient_audit["turned_vanilla"] / gradient_audit["turned_bn"]).values
    return gradient_audit.assign(scaled_bn=gradient_audit["scaled_bn"] * 0 + (factor - 1))


@claim(
    "bnm-sec42-1c",
    where="Section 4.2",
    kind="identity",
    states="For b2 = c b1 with equal a: b2' = b1'/c with BN, b2' = b1' for a vanilla ReLU model.",
    data="gradient_audit",
    control=wrong_formula("a BN neuron that does not slow down", no_slowdown),
)
def longer_neurons_are_slower(gradient_audit: xr.Dataset) -> Verdict:
    """Autograd's gradients of two proportional neurons in one model, c = 10."""
    test = all_of(
        bn=_sums(gradient_audit, gradient_audit["scaled_bn"], "c b2' = b1'"),
        vanilla=_sums(gradient_audit, gradient_audit["scaled_vanilla"], "b2' = b1'"),
    )
    return Verdict.from_tests(test, note="sigma'(c w) = sigma'(w) is needed for the vanilla model only.")


def one_power_less(gradient_audit: xr.Dataset) -> xr.Dataset:
    """Puts the vanilla model's direction speeds in the place of BN's."""
    return gradient_audit.assign(turned_bn=gradient_audit["turned_vanilla"])


@claim(
    "bnm-sec42-angle",
    where="Section 4.2 with the opening of section 4",
    kind="scaling",
    states="Read as speed of the direction: only with BN do smaller neurons turn faster.",
    correction="The direction's speed falls as 1/c^2 with BN and as 1/c without: BN's own part is one power of c.",
    corrected_formula=(
        r"\left\|\frac{d}{dt} \frac{b}{\|b\|} \right\|\propto \frac{1}{c^2} \text{ with BN}, "
        r"\quad \propto \frac{1}{c} \text{ without}"
    ),
    data="gradient_audit",
    control=wrong_formula("the vanilla model's speeds in the place of BN's", one_power_less),
)
def direction_speeds(gradient_audit: xr.Dataset) -> Verdict:
    """Tangential speed over length, c = 10, from autograd."""
    bn, vanilla = gradient_audit["turned_bn"], gradient_audit["turned_vanilla"]
    return Verdict.from_tests(
        _sums(gradient_audit, vanilla - 1, "a vanilla neuron's direction does not see its length"),
        all_of(
            bn=_sums(gradient_audit, 100 * bn - 1, "1/c^2"),
            vanilla=_sums(gradient_audit, 10 * vanilla - 1, "1/c"),
        ),
    )


def eps_in_the_norm(gradient_audit: xr.Dataset) -> xr.Dataset:
    """The radial fraction if eps stood beside the norm instead of the variance: exponent one."""
    radial = gradient_audit["eps_radial"]
    return gradient_audit.assign(eps_radial=radial.where(radial["with_eps"] == 0, np.sqrt(radial)))


@claim(
    "bnm-eps",
    where="Section 2.1, 4.3 (ours)",
    kind="identity",
    states="The gradient is tangent to the sphere ||b|| = const also with the eps of library batch norms.",
    correction="Only for eps = 0. With eps the radial fraction grows as eps/||b||^2 and is of order 1 for small b, "
    "which also weakens the first-step amplification.",
    formula=r"b^T \dot b = 0",
    corrected_formula=r"\frac{| b^T \dot b |}{\|b\|\|\dot b\|} \propto \frac{\epsilon}{\|b\|^2}",
    data="gradient_audit",
    control=wrong_formula("an exponent of one, as if eps stood beside the norm", eps_in_the_norm),
)
def eps_breaks_scale_invariance(gradient_audit: xr.Dataset) -> Verdict:
    """Radial fraction of autograd's gradient over the length of the weights."""
    radial = gradient_audit["eps_radial"]
    largest = radial.isel(eps_radius=[-2, -1], with_eps=1).transpose("eps_radius", "draw").values
    span = np.diff(np.log(gradient_audit["eps_radius"].values[-2:]))[0]
    slope = np.diff(np.log(largest), axis=0)[0] / span
    return Verdict.from_tests(
        _sums(gradient_audit, radial.sel(with_eps=1), "tangent gradient"),
        all_of(
            without_eps=_sums(gradient_audit, radial.sel(with_eps=0), "tangent gradient"),
            exponent=mean_within(slope, -2.2, -1.8, expected="-2", reason=SLOPE_REASON),
        ),
        note=f"At ||b|| = {float(gradient_audit['eps_radius'][0]):g} the first step reaches "
        f"{float(gradient_audit['eps_norm'].isel(with_eps=1, eps_radius=0).median()):.2f} of the norm of eps = 0.",
    )
