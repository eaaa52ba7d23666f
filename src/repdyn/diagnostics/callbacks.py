"""A network measured while Lightning or the Trainer of Hugging Face trains it; numbers go to the trainer's loggers.

    from repdyn.diagnostics.callbacks import lightning_callback, trainer_callback

    trainer = lightning.Trainer(callbacks=[lightning_callback(inputs, labels=labels)])
    trainer.add_callback(trainer_callback(trainer, inputs, labels=labels, output="logits"))

Both take the arguments of `Recorder`; `callback.recorder.dataset()` holds what was measured. With a `file` and
`resume=True` a training that starts again from a checkpoint goes on with the file. Only the first process measures.

A step's numbers are those of the network at the end of this step. Where the trainer then exchanges its weights, for
averages of them or for those of its best checkpoint, `callback.returned` holds the numbers of the network that it
returns, and loggers get them under `repdyn/returned/`.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.methods.arguments import check_arguments, check_options, option_names
from repdyn.diagnostics.methods.forward import in_one_line
from repdyn.diagnostics.methods.recording import PREFIX, log_scalars, missing_moment, scalars

LIGHTNING = ("lightning.pytorch", "pytorch_lightning")
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128)


def growing(factor: float = 1.25) -> Callable[[int], bool]:
    """Which steps are due, so that their distances grow: 0, 1, then about each that is `factor` times the last.

    Where the number of the step jumps, as with several optimizers, a step is due that comes after one not asked for.

    Raises:
        ValueError: a factor that does not grow.

    Example:
        >>> due = growing(1.5)
        >>> [step for step in range(30) if due(step)]
        [0, 1, 2, 3, 4, 6, 8, 12, 18, 26]
    """
    check_arguments(factor=factor)

    def due(step: int) -> bool:
        return step < 2 or math.floor(math.log(step, factor)) > math.floor(math.log(step - 1, factor))

    return _passing(due)


def _passing(due: Callable[[int], bool]) -> Callable[[int], bool]:
    """Whether a step is due or one since the last that was asked for; where steps start again, the step alone."""
    last: int | None = None
    answer = False

    def passed(step: int) -> bool:
        nonlocal last, answer
        if step != last:
            first = step if last is None or step < last else last + 1
            answer = True in [due(between) for between in range(first, step + 1)]
            last = step
        return answer

    return passed


def every(steps: int) -> Callable[[int], bool]:
    """Which steps are due: 0 and each multiple of a number, for measures that cost little, accuracy and loss.

    Where the number of the step jumps, it is as with `growing`.

    Raises:
        ValueError: a number below 1.

    Example:
        >>> due = every(10)
        >>> [step for step in range(30) if due(step)]
        [0, 10, 20]
    """
    check_arguments(steps=steps)
    return _passing(lambda step: step % steps == 0)


def same(model: nn.Module) -> nn.Module:
    """The network that is trained is the network that is measured."""
    return model


class Measuring:
    """Measures a network that somebody else trains, at the steps that are due.

    Args:
        inputs: as `measure` takes them.
        layers: as `measure` takes them.
        when: whether a step is due.
        network: the part to measure of what is trained.
        options: further arguments of `Recorder`.

    Raises:
        TypeError: an option that nobody takes.
    """

    def __init__(
        self,
        inputs: object,
        layers: Sequence[str] | None,
        when: Callable[[int], bool],
        network: Callable[[nn.Module], nn.Module],
        options: dict[str, Any],
    ) -> None:
        check_options(options, option_names(Recorder, measure))
        check_arguments(when=when, network=network)
        self.inputs, self.layers, self.when, self.network, self.options = inputs, layers, when, network, options
        self.recorder: Recorder | None = None
        self.returned: xr.Dataset | None = None
        self.step = -1  # the last one whose end was seen, and the network then
        self.sums: list[Tensor] = []

    def start(self, model: nn.Module, step: int) -> dict[str, float]:
        """Numbers before the first step; moments from here on, of a training that was killed later, go anew."""
        if self.recorder is None:
            self.recorder = Recorder(self.network(model), self.inputs, self.layers, **self.options)
        was_there = step in self.recorder.steps
        self.recorder.rewind(step)
        self.step, self.returned = step - 1, None
        return self.after(model, step) or (self._recorded(model, step) if was_there else {})

    def after(self, model: nn.Module, step: int) -> dict[str, float]:
        """Numbers after a step by name; none if neither it nor one since the step before is due."""
        if self.recorder is None:
            return self.start(model, step)
        if step <= self.step:  # a batch without a step of the optimizer, or a network that was exchanged
            return {}
        asked = [self.when(passed) for passed in range(self.step + 1, step + 1)]  # all, as it may remember them
        self.step, self.sums = step, sums(self.network(model))
        return self._recorded(model, step) if any(asked) else {}

    def last(self, model: nn.Module) -> dict[str, float]:
        """Numbers after the last step, if the network is still what it was then."""
        return self._recorded(model, self.step) if self.recorder is not None and self._is_unchanged(model) else {}

    def end(self, model: nn.Module) -> dict[str, float]:
        """Numbers of the network that the trainer returns: of its last step, or else of another one."""
        if self.recorder is None:
            return {}
        if self._is_unchanged(model):
            return self._recorded(model, self.step)
        try:
            self.returned = measure(self.network(model), self.recorder.inputs, self.layers, **self.recorder.options)
        except Exception as error:  # no diagnostic ends a training
            if self.recorder.first is not None:
                self.returned = missing_moment(self.recorder.first, f"all: {in_one_line(error)}")
        return {} if self.returned is None else scalars(self.returned, f"{PREFIX}returned/")

    def check_alone(self, model: nn.Module) -> None:
        """Refuses, in every process, a network whose pass in the first process would wait for the others.

        Raises:
            ValueError: the network is divided among processes (`fully_shard`, FSDP, ZeRO 3, tensor parallel).
        """
        group = torch.distributed
        if not (group.is_available() and group.is_initialized() and group.get_world_size() > 1):
            return
        fsdp = sys.modules.get("torch.distributed.fsdp")
        kinds = tuple(getattr(fsdp, name, ()) for name in ("FSDPModule", "FullyShardedDataParallel"))
        part = self.network(model)
        parts = any(hasattr(weight, "device_mesh") or hasattr(weight, "ds_id") for weight in part.parameters())
        if parts or any(isinstance(module, kinds) for module in part.modules()):
            raise ValueError(
                f"the network is divided among {group.get_world_size()} processes, and a pass in the first one alone "
                "would wait for the others; call a Recorder in all of them, or measure checkpoints"
            )

    def _is_unchanged(self, model: nn.Module) -> bool:
        """Whether the network is what it was at the end of the last step."""
        before, now = ([float(total) for total in found] for found in (self.sums, sums(self.network(model))))
        return np.array_equal(before, now, equal_nan=True)

    def _recorded(self, model: nn.Module, step: int) -> dict[str, float]:
        recorder = cast("Recorder", self.recorder)
        if recorder.steps and step <= recorder.steps[-1]:
            return {}
        recorder.model = self.network(model)
        return scalars(recorder(step), PREFIX)


def sums(model: nn.Module) -> list[Tensor]:
    """Sum of absolute values of each parameter, which tells two networks apart; of a sharded one of the part here.

    The Euclidean length would not: a step hardly changes that of weights in front of a normalization.
    """
    with torch.no_grad():
        parts = [getattr(part, "to_local", lambda part=part: part)() for part in model.parameters()]
        return [
            torch.linalg.vector_norm(part, 1, dtype=torch.promote_types(part.dtype, torch.float32))
            for part in parts
            if part.dtype in DTYPES and not part.is_meta
        ]


class _Callback:
    """What measures before the first step, after those that are due and after the last.

    Attributes:
        recorder: of these steps; None before the first.
        returned: numbers of the network that the trainer returns, where it is not that of the last step.
    """

    measuring: Measuring

    @property
    def recorder(self) -> Recorder | None:
        return self.measuring.recorder

    @property
    def returned(self) -> xr.Dataset | None:
        return self.measuring.returned


def lightning_callback(
    inputs: object,
    layers: Sequence[str] | None = None,
    *,
    when: Callable[[int], bool] | None = None,
    network: Callable[[nn.Module], nn.Module] = same,
    **options: Any,
) -> Any:
    """A callback for the Trainer of Lightning.

    Every logger of the trainer gets the numbers of a moment at once, whatever `log_every_n_steps` says; `log_dict`
    passes them to what monitors metrics.

    Args:
        inputs: as `measure` takes them.
        layers: as `measure` takes them.
        when: whether a step, the number of optimizer steps taken, is due; None takes `growing()`.
        network: the part to measure of the LightningModule.
        options: further arguments of `Recorder`.

    Raises:
        TypeError: an option that neither `Recorder` nor `measure` has.
        ImportError: Lightning is not installed.
    """
    base: Any = _class_of(LIGHTNING, "Callback", "lightning")

    class LightningMeasuring(_Callback, base):
        measuring = Measuring(inputs, layers, when or growing(), network, options)

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self.measuring.check_alone(pl_module)
            if trainer.is_global_zero:
                _log(trainer, self.measuring.start(pl_module, trainer.global_step))

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
            if not trainer.is_global_zero or _is_averaged(trainer):
                return
            if values := self.measuring.after(pl_module, trainer.global_step):
                _log(trainer, values)
                pl_module.log_dict(values, logger=False, rank_zero_only=True)

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            if trainer.is_global_zero and _may_be_last(trainer):
                _log(trainer, self.measuring.last(pl_module))

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            if trainer.is_global_zero:
                _log(trainer, self.measuring.end(pl_module))

    return LightningMeasuring()


def _averaging(trainer: Any) -> list[Any]:
    """What adds a pass over the data in which averaged weights get their batch statistics and nothing is trained."""
    return [callback for callback in trainer.callbacks if type(callback).__name__ == "StochasticWeightAveraging"]


def _is_averaged(trainer: Any) -> bool:
    """Whether this is the pass that averaging adds, which Lightning counts as a step."""
    return any(0 <= callback.swa_end < trainer.current_epoch for callback in _averaging(trainer))


def _may_be_last(trainer: Any) -> bool:
    """Whether no step of the optimizer follows this pass over the data."""
    passes, steps = trainer.max_epochs, trainer.max_steps
    whole = passes is not None and 0 <= passes <= trainer.current_epoch + 1 + bool(_averaging(trainer))
    return trainer.should_stop or whole or 0 <= steps <= trainer.global_step


def _log(trainer: Any, values: dict[str, float]) -> None:
    for logger in trainer.loggers if values else ():
        log_scalars(logger, values, trainer.global_step)


def trainer_callback(
    trainer: Any,
    inputs: object,
    layers: Sequence[str] | None = None,
    *,
    when: Callable[[int], bool] | None = None,
    network: Callable[[nn.Module], nn.Module] = same,
    **options: Any,
) -> Any:
    """A callback for the Trainer of Hugging Face, whose `log` gets the numbers of each moment.

    Args:
        trainer: the trainer, to which the callback is then added by `trainer.add_callback`.
        inputs: as `measure` takes them.
        layers: as `measure` takes them.
        when: whether a step is due; None takes `growing()`.
        network: the part to measure of the model.
        options: further arguments of `Recorder`; models that return a dictionary need `output="logits"`.

    Raises:
        TypeError: an option that neither `Recorder` nor `measure` has.
        ImportError: transformers is not installed.
    """
    base: Any = _class_of(("transformers",), "TrainerCallback", "transformers")

    class TrainerMeasuring(_Callback, base):
        measuring = Measuring(inputs, layers, when or growing(), network, options)

        def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            self.measuring.check_alone(model)
            if state.is_world_process_zero:
                _log_if(trainer, self.measuring.start(model, state.global_step))

        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if state.is_world_process_zero:
                _log_if(trainer, self.measuring.after(model, state.global_step))

        def on_epoch_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if state.is_world_process_zero and (control.should_training_stop or state.global_step >= state.max_steps):
                _log_if(trainer, self.measuring.last(model))

        on_evaluate = on_save = on_epoch_end  # early stopping decides after an evaluation

        def on_train_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if state.is_world_process_zero:
                _log_if(trainer, self.measuring.end(model))

    return TrainerMeasuring()


def _log_if(trainer: Any, values: dict[str, float]) -> None:
    if values:
        trainer.log(values)


def _class_of(modules: Sequence[str], name: str, package: str) -> type:
    """A class of the first of these modules that the user has imported, or else that is installed.

    Raises:
        ImportError: none is installed.
    """
    for module in sorted(modules, key=lambda module: module not in sys.modules):
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            if not module.startswith(error.name or "?"):
                raise  # installed, but lacks something itself
    raise ImportError(f"{package} is not installed, whose trainer the callback is for; pip install {package}")
