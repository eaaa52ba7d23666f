"""The five papers' diagnostics on a user's own torch network, as one dataset.

    from repdyn.diagnostics.measure import Recorder, measure

    found = measure(model, inputs, labels=labels)       # through depth, at one moment
    found["effective_rank"].plot(x="layer")

    recorder = Recorder(model, inputs, labels=labels)   # and through training
    for step in range(steps):
        recorder(step)
        ...                                             # the user's own training step
    found = recorder.dataset()

Points are measured in evaluation mode on copies of the buffers; the network comes back as it was: modes, gradients,
running statistics, hooks, random state. Activations are kept in the network's precision and analysed in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
import xarray as xr
from numpy.typing import ArrayLike
from torch import Tensor, nn

from repdyn.base.datasets import index, variable
from repdyn.diagnostics.activations import Activations, Array, as_inputs, watch
from repdyn.diagnostics.classes import as_labels, class_variables
from repdyn.diagnostics.layers import QUANTILES, Residual, energy_variables, layer_variables
from repdyn.diagnostics.pairs import as_pairs, as_targets, pair_variables
from repdyn.diagnostics.radial import radial_fractions
from repdyn.diagnostics.texts import described

FIXED = ("units", "input_distance", "target_distance", "task_rank", "centred_task_rank")  # the same at every moment
GAMMA = 1e-3  # of the stable cost of identity, relative to |K|_op: the value of the study leaky_resnets


def measure(
    model: nn.Module,
    inputs: Tensor | Array,
    layers: Sequence[str] | None = None,
    *,
    labels: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    residual: Residual | Sequence[str] | None = None,
    gamma: float = GAMMA,
    bias: bool = False,
    batch_statistics: bool = False,
    loss: Callable[[Tensor], Tensor] | None = None,
) -> xr.Dataset:
    """Every diagnostic of the five papers, layer by layer.

    Args:
        model: network that takes one tensor with a row per point and returns one.
        inputs: shape (points, ...), at least two points. Cost grows as points^3 and units * points^2 per layer: a few
            hundred points are plenty.
        layers: names as in `model.named_modules()`, "input", "output"; None takes every module without modules of its
            own. A module that runs several times is `name`, `name#2`, ...
        labels: class of each point, integers, shape (points,); adds collapse, sectors and accuracy.
        targets: what the network should return, shape of its output; adds alignment and loss of pairs. Labels alone
            stand for one-hot targets.
        pairs: pairs of points for the two-point diagnostics; None takes the first points of up to four classes.
        residual: the layers of the residual stream, or a `Residual` with leak and steps; adds the energies.
        gamma: regulariser of the stable cost of identity and the energies, relative to the operator norm of K.
        bias: whether the cost of identity may use a bias.
        batch_statistics: batch normalisation by the statistics of these points instead of the running ones. Wanted at
            initialization and for the theories of batch normalisation, which hold for batches.
        loss: scalar function of the output for the radial gradient fraction; None takes the cross-entropy of labels,
            else half the mean squared error of targets, else of zero. Which one matters little: the gradient of any
            function of the output is orthogonal to what normalisation makes free.

    Returns:
        Dataset over `layer`, `point`, `quantile`, `pair`, with labels `class`, with `residual` `step_from`, and with
        normalisation layers `normalised`. Each variable names its paper and equation.

    Raises:
        ValueError: unusable inputs, labels, targets, pairs or layer names, a layer that never runs, activations that
            are not finite; the message says what to do.

    Example:
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
        >>> found = measure(model, torch.eye(2).repeat(2, 1), labels=[0, 1, 0, 1])
        >>> found["layer"].values.tolist()
        ['input', '0', '1', '2']
        >>> found["numerical_rank"].sel(layer="input").item(), found["within_over_between"].sel(layer="input").item()
        (2, 0.0)
    """
    if not gamma > 0:
        raise ValueError(f"gamma is {gamma}; give a number above 0, such as {GAMMA:g}")
    stream = residual if isinstance(residual, Residual | None) else Residual(tuple(residual))
    seen = watch(model, inputs, layers, also=stream.layers if stream else (), batch_statistics=batch_statistics)
    points = len(seen.output)
    classes = None if labels is None else as_labels(labels, points)
    wanted = as_targets(targets, classes, seen.output)
    chosen = as_pairs(pairs, points, classes)
    rows = np.asarray(torch.as_tensor(inputs).detach().cpu().double()).reshape(points, -1)
    found = layer_variables(seen.layers, gamma, bias) | pair_variables(seen.layers, rows, seen.output, wanted, chosen)
    if classes is not None:
        found |= class_variables(seen.layers, classes) | _accuracy(seen.output, classes)
    if wanted is not None:
        found |= _task(seen.output, wanted)
    if stream:
        found |= energy_variables(seen.layers, stream, gamma, bias)
    radial = radial_fractions(model, as_inputs(model, inputs), loss or _usual_loss(labels, targets))
    if radial:
        middle, largest = np.array(list(radial.values())).T
        found["radial_fraction"] = described("radial_fraction", "normalised", middle)
        found["largest_radial_fraction"] = described("largest_radial_fraction", "normalised", largest)
    made = xr.Dataset(found, _coordinates(seen, chosen, classes, stream, list(radial)))
    return made.assign_attrs(_about(model, seen, gamma, bias, batch_statistics))


def _accuracy(output: Array, labels: np.ndarray) -> dict[str, xr.Variable]:
    """Share of right answers, where the network has an output per class."""
    if labels.min() < 0 or labels.max() >= output.shape[1]:
        return {}
    return {"accuracy": described("accuracy", (), float(np.mean(output.argmax(axis=1) == labels)))}


def _task(output: Array, targets: Array) -> dict[str, xr.Variable]:
    """Loss, and the rank that the targets ask for, with and without their mean."""
    ranks = [np.linalg.matrix_rank(part) for part in (targets, targets - targets.mean(axis=0))]
    return {
        "loss": described("loss", (), float(np.mean((output - targets) ** 2) / 2)),
        "task_rank": described("task_rank", (), int(ranks[0])),
        "centred_task_rank": described("centred_task_rank", (), int(ranks[1])),
    }


def _usual_loss(labels: ArrayLike | None, targets: ArrayLike | None) -> Callable[[Tensor], Tensor]:
    def loss(output: Tensor) -> Tensor:
        flat = output.flatten(1) if output.ndim > 1 else output[:, None]
        if targets is not None or labels is None:
            wanted = (
                torch.zeros_like(flat) if targets is None else torch.as_tensor(targets).to(flat).reshape(flat.shape)
            )
            return ((flat - wanted) ** 2).mean() / 2
        return nn.functional.cross_entropy(flat, torch.as_tensor(np.asarray(labels)).to(flat.device).long())

    return loss


def _coordinates(
    seen: Activations,
    pairs: list[tuple[int, int]],
    labels: np.ndarray | None,
    residual: Residual | None,
    normalised: list[str],
) -> dict[str, xr.Variable]:
    found = {
        "layer": variable("layer", np.array(list(seen.layers)), "layer, in the order in which layers finish"),
        "point": index("point", len(seen.output), "point"),
        "quantile": variable("quantile", np.array(QUANTILES), "quantile over pairs of points"),
        "pair": variable("pair", np.array([f"{i}-{j}" for i, j in pairs]), "two points"),
    }
    if labels is not None:
        found["class"] = variable("class", np.unique(labels), "class")
        found["label"] = variable("point", labels, "class of the point")
    if residual:
        found["step_from"] = variable("step_from", np.array(residual.layers[:-1]), "layer a residual step starts from")
        found["effective_depth"] = variable((), float(residual.effective_depth), "leak Lt of the residual stream")
    if normalised:
        found["normalised"] = variable("normalised", np.array(normalised), "map in front of a normalisation layer")
    return found


def _about(model: nn.Module, seen: Activations, gamma: float, bias: bool, batch_statistics: bool) -> dict[str, object]:
    return {
        "title": f"Diagnostics of {type(model).__name__} on {len(seen.output)} points",
        "gamma": gamma,
        "identity_with_bias": int(bias),
        "normalised_by": "batch statistics" if batch_statistics else "running statistics, as in evaluation",
        "left_out": "; ".join(f"{name}: {why}" for name, why in seen.left_out.items()),
    }


class Recorder:
    """Measures a network now and then during training.

    Args:
        model: the network; measured as it is at each call.
        inputs: as `measure` takes them, the same points every time.
        layers: as `measure` takes them.
        time: name of the dimension of training.
        units: of that dimension, `1` for counts.
        options: further arguments of `measure`.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Tensor | Array,
        layers: Sequence[str] | None = None,
        *,
        time: str = "step",
        units: str = "1",
        **options: object,
    ) -> None:
        self.model, self.inputs, self.layers, self.options = model, inputs, layers, options
        self.time, self.units = time, units
        self.found: list[tuple[float, xr.Dataset]] = []

    def __call__(self, step: float) -> xr.Dataset:
        """Measures the network at a step and keeps what was found.

        Raises:
            ValueError: a step that does not come after the last one, or layers that differ from the first time.
        """
        if self.found and step <= self.found[-1][0]:
            raise ValueError(
                f"{self.time} {step} comes after {self.found[-1][0]}; record each once, in increasing order"
            )
        made = measure(self.model, self.inputs, self.layers, **self.options)
        if self.found and not made["layer"].equals(self.found[0][1]["layer"]):
            raise ValueError(
                f"at {self.time} {step} the network ran the layers {', '.join(made['layer'].values)}, before "
                f"{', '.join(self.found[0][1]['layer'].values)}; name layers that run every time"
            )
        self.found.append((step, made))
        return made

    def dataset(self) -> xr.Dataset:
        """All that was recorded, along the dimension of training.

        Raises:
            ValueError: nothing was recorded.
        """
        if not self.found:
            raise ValueError(f"nothing was recorded; call recorder({self.time}) during training")
        steps, parts = zip(*self.found, strict=True)
        moment = variable(self.time, np.array(steps), f"{self.time} of training", self.units)
        changing = [name for name in parts[0].data_vars if name not in FIXED]
        made = xr.concat(
            parts, xr.Variable(self.time, moment.values), data_vars=changing, coords="minimal", compat="override",
            combine_attrs="override", join="override",
        )  # fmt: skip
        return made.assign_coords({self.time: moment}).assign_attrs(time=self.time)
