"""The five papers' diagnostics on a user's own torch network, as one dataset::

    from repdyn.diagnostics.measure import Recorder, measure

    dataset = measure(model, inputs, labels=labels)       # through depth, at one moment
    dataset["effective_rank"].plot(x="layer")

    recorder = Recorder(model, inputs, labels=labels)   # and through training
    for step in range(steps):
        recorder(step)
        ...                                             # the user's own training step
    dataset = recorder.dataset()

Points are measured in evaluation mode; the network comes back as it was: modes, gradients, running statistics, hooks,
random state. Activations come in the network's precision and are analyzed in float64. What cannot be computed is NaN,
with its reason in the attribute `left_out`; one measure never takes the others down.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, cast

import xarray as xr
from numpy.typing import ArrayLike
from torch import Tensor, nn

from repdyn.base.errors import DataError
from repdyn.diagnostics.methods import recording
from repdyn.diagnostics.methods.arguments import check_arguments, check_options, is_number, option_names, shown
from repdyn.diagnostics.methods.catalog import TEXTS
from repdyn.diagnostics.methods.collecting import GAMMA
from repdyn.diagnostics.methods.forward import in_one_line, unwrapped
from repdyn.diagnostics.methods.made_of import check_same, made_of
from repdyn.diagnostics.methods.moment import Measurement, measurement, read_once
from repdyn.diagnostics.methods.reader import MEMORY, Adapter, Features, network_reader
from repdyn.diagnostics.methods.shapes import find_shapes
from repdyn.diagnostics.theory.identity import Residual

LARGEST, LONGEST = 2**63, 60  # whole number and name, in letters, of a dimension of netCDF
MADE_OF = "recorded_of"  # attribute of a recorded file: digests of points, network and options


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
    other_form: object = None,
    memory: int = MEMORY,
    progress: bool = False,
) -> xr.Dataset:
    """Every diagnostic of the five papers, layer by layer.

    Args:
        model: any network; inside `torch.compile` or `DataParallel` the network within is measured.
        inputs: a tensor or array (points, ...) of two points at least, a tuple of positional inputs, a dict of keyword
            inputs, or a loader of any of these, alone or as (inputs, labels). A loader must not shuffle if `labels` or
            `pairs` are given separately.
        layers: names as `names` lists them, "input", "output"; None takes every module without submodules. A
            module that runs several times is `name`, `name#2`, ..., one named `input` or `output` is `input#1`;
            functions have torchvision's names, `block.add`.
        labels: class of each point, integers, shape (points,); adds collapse, classifier, sectors and accuracy.
        targets: what the network should return, shape of its output; adds alignment and loss of pairs. Labels alone
            mean one-hot targets there.
        pairs: pairs of points for the two-point diagnostics; None takes the first points of up to four classes.
        residual: the layers of the residual stream, or a `Residual` with leak and steps; adds the energies.
        measures: which to compute, of "angles", "ranks", "cost_of_identity", "energies", "collapse", "classifier",
            "class_ranks", "sectors", "domains", "forms", "pairs", "targets", "radial", "loss", "accuracy"; None takes
            all that the arguments allow.
        features: "flatten", or `Features("pool", channels=1)`, `Features("tokens", channels=-1, mask=mask)`, or a
            function of name and tensor (points first) to (points, units).
        output: which part of what the network returns counts: a key, a name, an index, or a function to a
            tensor.
        axes: axis that counts points, by layer, where it is not the one that grows with the points; "input" for inputs.
        batch_size: points per forward pass; None runs all at once.
        unpack: turns a loader's batch into (inputs, labels or targets or None).
        embeddings: layer that represents the inputs where these are token ids and have no distances.
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
        held_out: inputs and labels (integers) or targets of points that the network was not trained on, or of another
            domain; adds "ranks", "collapse", "loss" and "accuracy" of these, as far as they are among the measures,
            under their names and `_held_out`, and "domains", how far they are from the points.
        other_form: the same points in the same order in another form, such as noisy or corrupted; adds "forms", how
            much each layer depends on the form. For forms in which layers have other sizes take `compare`.
        memory: bytes of layers in memory at a time when the points come in several batches; less means more passes.
        progress: whether the number of layers measured so far is shown on standard error.

    Returns:
        Dataset over `layer`, `point`, `quantile`, `pair`, with labels `class`, with `residual` `step_from`, with
        normalization layers `normalized`, and with `held_out` `point_held_out`. Each variable names its paper and
        equation.

    Raises:
        ValueError: unusable inputs, labels, targets, pairs or names, or a network that does not take the inputs; the
            message names what to change. All else that fails is NaN with its reason in `left_out`.
        Interrupted: the user stopped it with Ctrl-C; the error's `dataset` holds what was measured until then.

    Example:
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
        >>> dataset = measure(model, torch.eye(2).repeat(2, 1), labels=[0, 1, 0, 1])
        >>> dataset["layer"].values.tolist()
        ['input', '0', '1', '2']
        >>> dataset["numerical_rank"].sel(layer="input").item(), dataset["nc1"].sel(layer="input").item()
        (2, 0.0)
    """
    return measurement(
        model, inputs, layers, labels=labels, targets=targets, pairs=pairs, residual=residual, measures=measures,
        features=features, output=output, axes=axes, batch_size=batch_size, unpack=unpack, embeddings=embeddings,
        classifier=classifier, gamma=gamma, bias=bias, batch_statistics=batch_statistics, loss=loss, held_out=held_out,
        other_form=other_form, memory=memory, progress=progress,
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
        >>> import torch
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        >>> names(model, torch.eye(2))
        ['input', '0', '1', 'output']
    """
    check_options(options, option_names(network_reader))
    shapes, _, _ = find_shapes(network_reader(model, inputs, **options), functions=True)
    return [name for name, shape in shapes.items() if not shape.why and not name.endswith(":input")]


def _check_time(time: Any) -> None:
    """Refuses what cannot be the name of the dimension of training.

    Raises:
        ValueError: no text, a name of something else, or one that no file takes.
    """
    taken = {*TEXTS, *(dim for text in TEXTS.values() for dim in text.dims), "label", "seed"}
    if not isinstance(time, str) or not time or time in taken:
        raise ValueError(f"time is {shown(time)}; give a name that no measure and none of its dimensions has")
    if "/" in time or time != time.strip() or not time.isprintable() or len(time) > LONGEST:
        raise ValueError(f"time is {shown(time)}, which no netCDF file takes as a name; give one such as 'epoch'")


class Recorder:
    """Measures a network now and then during training, of any kind: it changes nothing that the training reads.

    Only the first call may refuse its arguments. Later ones measure what they can; what fails then is NaN with its
    reason in `left_out`, and what cannot be written waits in memory, so that no diagnostic ends a training.

    Args:
        model: the network; measured as it is at each call.
        inputs: as `measure` takes them, the same points every time; a loader is gone through once, here.
        layers: as `measure` takes them.
        time: name of the dimension of training.
        units: of that dimension, `1` for counts.
        file: netCDF file that grows by each moment; a killed training leaves a whole file. None stores all in memory.
        resume: go on with a file that is there, after its last moment; see `rewind`.
        logger: what takes the numbers of each moment, as `methods.recording.log_scalars` lists; None for nothing.
        options: further arguments of `measure`.

    Raises:
        DataError: the file is there and `resume` is not set, it is none of a recorder, or it was recorded of other
            points, of another network or with other options.
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
        self.model, self.layers, self.time, self.series = model, layers, time, recording.Series(time, units)
        check_options(options, option_names(Recorder, measure))
        check_arguments(file=file, resume=resume, units=units, logger=logger)
        _check_time(time)
        self.inputs, self.options = read_once(model, inputs, options)
        self.measurement: Measurement | None = None  # what does not change with the weights
        self.file, self.logger = None if file is None else Path(file), logger
        self.first: xr.Dataset | None = None
        self.steps: list[float] = []
        self.waiting: list[tuple[float, xr.Dataset]] = []  # moments that are in no file, or not yet
        self.written = 0  # moments in the file
        if self.file:
            self._open(self.file, resume)

    def _open(self, file: Path, resume: bool) -> None:
        """Finds the earlier moments of a file that is there.

        Raises:
            DataError: it is not to be resumed, or was recorded of something else.
        """
        options = self.options | {"layers": self.layers, "time": self.time}
        self.made_of = made_of(unwrapped(self.model), list(self.inputs.batches), options)
        if not file.exists():
            return
        if not resume:
            raise DataError(f"{file}: is there already; pass resume=True to go on with it, or delete it")
        earlier = recording.load(file, self.time)  # its layers and diagnostics are those of the moments to come
        check_same(file, json.loads(earlier.attrs.get(MADE_OF, "{}")), self.made_of)
        self.steps = earlier[self.time].values.tolist()
        self.written = len(self.steps)
        self.first = earlier.isel({self.time: 0}, drop=True).assign_attrs(left_out="")

    def __call__(self, step: float) -> xr.Dataset:
        """Measures the network at a step and stores the numbers.

        Raises:
            ValueError: a step that is not finite or does not come after the last one, or, at the first call, what
                `measure` refuses.
            DataError: at the first call, a file that cannot be written.
        """
        step = self._checked(step)
        if self.steps and step <= self.steps[-1]:
            raise ValueError(
                f"{self.time} {step} comes after {self.steps[-1]}; record each once, in increasing order, or call "
                f"rewind({step}) where a training starts again from a checkpoint"
            )
        moment = self._measured()
        if self.first is None:
            self.first = moment
        self.waiting.append((step, moment))
        self.steps.append(step)
        if self.file:  # a moment whose writing the user stops is known, and written with the next one
            self._write(first=len(self.steps) == 1)
        if self.logger is not None:
            self._log(moment, step)
        return moment

    def _checked(self, step: Any) -> float:
        """A step as a plain number, whole where it is."""
        if not is_number(step):
            raise ValueError(f"{self.time} is {shown(step)}; give a finite number")
        number = step.item() if hasattr(step, "item") else step
        return int(number) if isinstance(number, Integral) and abs(int(number)) < LARGEST else float(number)

    def _log(self, moment: xr.Dataset, step: float) -> None:
        """Hands the numbers to the logger; a warning if that fails after the first time."""
        try:
            recording.log_scalars(self.logger, recording.scalars(moment, recording.PREFIX), step)
        except Exception as error:  # of the user's logger
            if len(self.steps) == 1:
                raise
            warnings.warn(f"logger: {in_one_line(error)}; {self.time} {step} is recorded, not logged", stacklevel=3)

    def insert(self, step: float) -> xr.Dataset:
        """Measures the network for a step among the recorded ones, or again for one of them.

        Raises:
            ValueError: at the first call, what `measure` refuses.
        """
        step = self._checked(step)
        if not self.steps or step > self.steps[-1]:
            return self(step)
        moment = self._measured()
        if self.file is None:
            kept = [entry for entry in self.waiting if entry[0] != step]
            self.waiting = sorted([*kept, (step, moment)], key=lambda entry: entry[0])
        else:
            self._write()
            self.series.insert(self.file, moment, step)
            self.written += step not in self.steps
        self.steps = sorted({*self.steps, step})
        return moment

    def rewind(self, step: float) -> None:
        """Forgets the moments from a step on, where a training starts again from a checkpoint of that step."""
        step = self._checked(step)
        count = sum(recorded < step for recorded in self.steps)
        self.waiting = [moment for moment in self.waiting if moment[0] < step]
        if self.file and count < self.written:
            self.series.cut(self.file, step)
            self.written = count
        self.steps = self.steps[:count]

    def dataset(self) -> xr.Dataset:
        """All that was recorded, along the dimension of training.

        Raises:
            ValueError: nothing was recorded.
        """
        if not self.steps:
            raise ValueError(f"nothing was recorded; call recorder({self.time}) during training")
        if self.file:
            self._write()
        steps, moments = [step for step, _ in self.waiting], [moment for _, moment in self.waiting]
        if not self.file:
            return self.series.joined(moments, steps)
        whole = recording.load(self.file, self.time)
        whole.attrs.pop(MADE_OF, None)
        return self.series.extended(whole, moments, steps)

    def _write(self, *, first: bool = False) -> None:
        """Writes the moments that wait; a warning if that fails after the first, since a training may not end by it."""
        file = cast("Path", self.file)
        while self.waiting:
            step, moment = self.waiting[0]
            try:
                whole = not any(isinstance(earlier, float) for earlier in self.steps[: self.written])
                if self.written and whole and isinstance(step, float):  # a file of whole steps takes no other
                    self.series.insert(file, moment, step)
                elif self.written:
                    self.series.append(file, moment, step, self.written)
                else:
                    made = moment.assign_attrs({MADE_OF: json.dumps(self.made_of)})
                    self.series.create(file, made, step)
            except DataError as error:
                if first:
                    self.waiting.clear()
                    self.steps.clear()
                    raise
                text = f"{error}; {len(self.waiting)} moments wait in memory and are written when that works"
                warnings.warn(text, stacklevel=4)
                return
            self.written += 1
            del self.waiting[0]

    def _measured(self) -> xr.Dataset:
        if self.first is None:
            return self._measured_first()
        try:
            return recording.aligned(self._measured_again(), self.first)
        except Exception as error:  # whatever it is, the training goes on
            return recording.missing_moment(self.first, f"all: {in_one_line(error)}")

    def _measured_first(self) -> xr.Dataset:
        self.measurement = measurement(self.model, self.inputs, self.layers, **self.options)
        return self.measurement.dataset()

    def _measured_again(self) -> xr.Dataset:
        """With the layers as they were found, while these are what they were; else with what is found now."""
        if self.measurement is None or self.measurement.model is not unwrapped(self.model):
            return self._measured_first()
        lost = self.measurement.lost
        try:
            moment = self.measurement.dataset()
        except Exception:  # on another device, for example
            return self._measured_first()
        return moment if self.measurement.lost == lost else self._measured_first()
