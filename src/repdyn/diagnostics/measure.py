"""The five papers' diagnostics on a user's own torch network, as one dataset::

    from repdyn.diagnostics.measure import Recorder, measure

    found = measure(model, inputs, labels=labels)       # through depth, at one moment
    found["effective_rank"].plot(x="layer")

    recorder = Recorder(model, inputs, labels=labels)   # and through training
    for step in range(steps):
        recorder(step)
        ...                                             # the user's own training step
    found = recorder.dataset()

Points are measured in evaluation mode; the network comes back as it was: modes, gradients, running statistics, hooks,
random state. Activations come in the network's precision and are analyzed in float64. What cannot be computed is NaN,
with its reason in the attribute `left_out`; one measure never takes the others down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr
from numpy.typing import ArrayLike
from torch import Tensor, nn

from repdyn.base.errors import DataError
from repdyn.diagnostics.methods import recording
from repdyn.diagnostics.methods.collecting import GAMMA, Measurement, inputs_and_answers, measurement
from repdyn.diagnostics.methods.forward import in_one_line, unwrapped
from repdyn.diagnostics.methods.reader import MEMORY, Adapter, Features, check_options, network_reader, option_names
from repdyn.diagnostics.methods.shapes import find_shapes
from repdyn.diagnostics.theory.identity import Residual


def measure(
    model: nn.Module,
    inputs: object,
    layers: Sequence[str] | None = None,
    *,
    labels: ArrayLike | None = None,
    targets: ArrayLike | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    residual: Residual | Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
    features: Features | str | Callable[[str, Tensor], Tensor] = "flatten",
    output: Adapter = None,
    axes: Mapping[str, int] | None = None,
    batch_size: int | None = None,
    unpack: Callable[[object], tuple] | None = None,
    embeddings: str | None = None,
    classifier: str | None = None,
    gamma: float = GAMMA,
    bias: bool = False,
    batch_statistics: bool = False,
    loss: Callable[..., Tensor] | None = None,
    held_out: tuple[object, ArrayLike] | None = None,
    memory: int = MEMORY,
    progress: bool = False,
) -> xr.Dataset:
    """Every diagnostic of the five papers, layer by layer.

    Args:
        model: any network; inside `torch.compile` or `DataParallel` the network within is measured.
        inputs: a tensor or array (points, ...) of two points at least, a tuple of positional inputs, a dict of keyword
            inputs, or a loader of any of these, alone or as (inputs, labels). A loader must not shuffle if `labels` or
            `pairs` are given beside it.
        layers: names as `names` lists them, "input", "output"; None takes every module without modules of its own. A
            module that runs several times is `name`, `name#2`, ...; functions have torchvision's names, `block.add`.
        labels: class of each point, integers, shape (points,); adds collapse, classifier, sectors and accuracy.
        targets: what the network should return, shape of its output; adds alignment and loss of pairs. Labels alone
            stand for one-hot targets there.
        pairs: pairs of points for the two-point diagnostics; None takes the first points of up to four classes.
        residual: the layers of the residual stream, or a `Residual` with leak and steps; adds the energies.
        measures: which to compute, of "angles", "ranks", "cost_of_identity", "energies", "collapse", "classifier",
            "sectors", "pairs", "targets", "radial", "loss", "accuracy"; None takes all that the arguments allow.
        features: "flatten", or `Features("pool", channels=1)`, `Features("tokens", channels=-1, mask=mask)`, or a
            function of name and tensor (points first) to (points, units).
        output: which part of what the network returns counts: a key, an index, or a function to a tensor.
        axes: axis that counts points, by layer, where it is not the one that grows with the points; "input" for inputs.
        batch_size: points per forward pass; None runs all at once.
        unpack: turns a loader's batch into (inputs, labels or targets or None).
        embeddings: layer that stands for the inputs where these are token ids and have no distances.
        classifier: the last linear map, for NC3 and NC4; None takes the `nn.Linear` whose result the network
            returns, or the last one if the outputs are in its order (softmax, a positive factor).
        gamma: regularizer of the stable cost of identity and the energies, relative to the operator norm of K.
        bias: whether the cost of identity may use a bias.
        batch_statistics: batch normalization by the statistics of these points instead of the running ones. Wanted at
            initialization and for the theories of batch normalization, which hold for batches.
        loss: function of outputs and labels (or targets, where they are given), or of outputs alone, to one number, the
            mean over points, as `torch.nn.functional.cross_entropy`; recorded as `loss` in evaluation mode, and the
            radial fraction is of its gradient. None takes half the mean squared error of targets, where they are
            given, else the cross-entropy of labels; without either none is recorded, and the gradient is that of half
            the mean square of the output.
        held_out: inputs and labels (integers) or targets of points that the network was not trained on; adds "ranks",
            "collapse", "loss" and "accuracy" of these, as far as they are among the measures, under their names and
            `_held_out`.
        memory: bytes of layers kept at a time when the points come in several batches; less means more passes.
        progress: whether the number of layers measured so far is shown on standard error.

    Returns:
        Dataset over `layer`, `point`, `quantile`, `pair`, with labels `class`, with `residual` `step_from`, with
        normalization layers `normalized`, and with `held_out` `point_held_out`. Each variable names its paper and
        equation.

    Raises:
        ValueError: unusable inputs, labels, targets, pairs or names, or a network that does not take the inputs; the
            message says what to do. All else that fails is NaN with its reason in `left_out`.
        Interrupted: the user stopped it with Ctrl-C; the error's `dataset` holds what was measured until then.

    Example:
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
        >>> found = measure(model, torch.eye(2).repeat(2, 1), labels=[0, 1, 0, 1])
        >>> found["layer"].values.tolist()
        ['input', '0', '1', '2']
        >>> found["numerical_rank"].sel(layer="input").item(), found["nc1"].sel(layer="input").item()
        (2, 0.0)
    """
    return measurement(
        model, inputs, layers, labels=labels, targets=targets, pairs=pairs, residual=residual, measures=measures,
        features=features, output=output, axes=axes, batch_size=batch_size, unpack=unpack, embeddings=embeddings,
        classifier=classifier, gamma=gamma, bias=bias, batch_statistics=batch_statistics, loss=loss, held_out=held_out,
        memory=memory, progress=progress,
    ).dataset()  # fmt: skip


def names(model: nn.Module, inputs: object, **options: Any) -> list[str]:
    """Every name that `layers` may hold, functions inside modules included, in the order in which they finish.

    Args:
        model: the network.
        inputs: as `measure` takes them.
        options: `axes`, `batch_size`, `unpack`, `output` as `measure` takes them.

    Raises:
        TypeError: an option of another name.
        ValueError: unusable inputs.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        >>> names(model, torch.eye(2))
        ['input', '0', '1', 'output']
    """
    check_options(options, option_names(network_reader))
    shapes, _, _ = find_shapes(network_reader(model, inputs, **options), functions=True)
    return [name for name, shape in shapes.items() if not shape.why and not name.endswith(":input")]


class Recorder:
    """Measures a network now and then during training, of any kind: it changes nothing that the training reads.

    Only the first call may refuse its arguments. Later ones measure what they can; what fails then is NaN with its
    reason in `left_out`, so that no diagnostic ends a training.

    Args:
        model: the network; measured as it is at each call.
        inputs: as `measure` takes them, the same points every time; a loader is gone through once, here.
        layers: as `measure` takes them.
        time: name of the dimension of training.
        units: of that dimension, `1` for counts.
        file: netCDF file that grows by each moment; a killed training keeps what it has. None keeps all in memory.
        resume: go on with a file that is there, after its last moment; see `rewind`.
        logger: what takes the numbers of each moment, as `methods.recording.log_scalars` says; None for nothing.
        options: further arguments of `measure`.

    Raises:
        DataError: the file is there and `resume` is not set, or it is none of a recorder.
        TypeError: an option that neither this nor `measure` has.
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: object,
        layers: Sequence[str] | None = None,
        *,
        time: str = "step",
        units: str = "1",
        file: Path | str | None = None,
        resume: bool = False,
        logger: Any = None,
        **options: Any,
    ) -> None:
        self.model, self.layers, self.time, self.units = model, layers, time, units
        check_options(options, option_names(Recorder, measure))
        reading = {name: option for name, option in options.items() if name in option_names(network_reader)}
        self.inputs = network_reader(model, inputs, **reading).inputs
        if "held_out" in options and options["held_out"] is not None:
            others, answers = inputs_and_answers(options["held_out"])
            theirs = network_reader(model, others, **reading | {"labels": answers, "targets": None}).inputs
            options = options | {"held_out": (theirs, answers)}
        self.options = options
        self.kept: Measurement | None = None  # what does not change with the weights
        self.file, self.logger = None if file is None else Path(file), logger
        self.first: xr.Dataset | None = None
        self.moments: list[xr.Dataset] = []
        self.steps: list[float] = []
        if self.file and self.file.exists():
            if not resume:
                raise DataError(f"{self.file}: is there already; pass resume=True to go on with it, or delete it")
            earlier = recording.load(self.file, time)  # its layers and diagnostics are those of the moments to come
            self.steps = earlier[time].values.tolist()
            self.first = earlier.isel({time: 0}, drop=True).assign_attrs(left_out="")

    def __call__(self, step: float) -> xr.Dataset:
        """Measures the network at a step and keeps what was found.

        Raises:
            ValueError: a step that does not come after the last one, or, at the first call, what `measure` refuses.
        """
        if self.steps and step <= self.steps[-1]:
            raise ValueError(
                f"{self.time} {step} comes after {self.steps[-1]}; record each once, in increasing order, or call "
                f"rewind({step}) where a training starts again from a checkpoint"
            )
        moment = self._measured()
        if self.first is None:
            self.first = moment
        if self.file is None:
            self.moments.append(moment)
        elif self.steps:
            recording.append(self.file, moment, step, self.time)
        else:
            recording.create(self.file, moment, step, self.time, self.units)
        self.steps.append(step)
        if self.logger is not None:
            recording.log_scalars(self.logger, recording.scalars(moment, recording.PREFIX), step)
        return moment

    def rewind(self, step: float) -> None:
        """Forgets the moments from a step on, where a training starts again from a checkpoint of that step."""
        kept = sum(recorded < step for recorded in self.steps)
        if self.file and self.steps and kept < len(self.steps):
            recording.cut(self.file, step, self.time)
        self.steps, self.moments = self.steps[:kept], self.moments[:kept]

    def dataset(self) -> xr.Dataset:
        """All that was recorded, along the dimension of training.

        Raises:
            ValueError: nothing was recorded.
        """
        if not self.steps:
            raise ValueError(f"nothing was recorded; call recorder({self.time}) during training")
        if self.file:
            return recording.load(self.file, self.time)
        return recording.joined(self.moments, self.steps, self.time, self.units)

    def _measured(self) -> xr.Dataset:
        if self.first is None:
            return self._anew()
        try:
            return recording.aligned(self._again(), self.first)
        except Exception as error:  # whatever it is, the training goes on
            return recording.nothing_of(self.first, f"all: {in_one_line(error)}")

    def _anew(self) -> xr.Dataset:
        self.kept = measurement(self.model, self.inputs, self.layers, **self.options)
        return self.kept.dataset()

    def _again(self) -> xr.Dataset:
        """With the layers as they were found, while these are what they were; else with what is found now."""
        if self.kept is None or self.kept.model is not unwrapped(self.model):
            return self._anew()
        lost = self.kept.lost
        try:
            moment = self.kept.dataset()
        except Exception:  # on another device, say
            return self._anew()
        return moment if self.kept.lost == lost else self._anew()
