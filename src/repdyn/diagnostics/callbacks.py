"""A network measured while Lightning or the Trainer of Hugging Face trains it; numbers go to the trainer's loggers.

    from repdyn.diagnostics.callbacks import lightning_callback, trainer_callback

    trainer = lightning.Trainer(callbacks=[lightning_callback(inputs, labels=labels)])
    trainer.add_callback(trainer_callback(trainer, inputs, labels=labels, output="logits"))

Both take the arguments of `Recorder`; `callback.recorder.dataset()` holds what was measured. With a `file` and
`resume=True` a training that starts again from a checkpoint goes on with the file. Only the first process measures.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.methods.reader import check_options, option_names
from repdyn.diagnostics.methods.recording import PREFIX, log_scalars, scalars

LIGHTNING = ("lightning.pytorch", "pytorch_lightning")


def growing(factor: float = 1.25) -> Callable[[int], bool]:
    """Which steps are due, so that their distances grow: 0, 1, then about each that is `factor` times the last.

    Raises:
        ValueError: a factor that does not grow.

    Example:
        >>> [step for step in range(30) if growing(1.5)(step)]
        [0, 1, 2, 3, 4, 6, 8, 12, 18, 26]
    """
    if not factor > 1:
        raise ValueError(f"factor is {factor}; give a number above 1, such as 1.25")

    def due(step: int) -> bool:
        return step < 2 or math.floor(math.log(step, factor)) > math.floor(math.log(step - 1, factor))

    return due


def every(steps: int) -> Callable[[int], bool]:
    """Which steps are due: 0 and each multiple of a number, for measures that cost little, accuracy and loss.

    Raises:
        ValueError: a number below 1.

    Example:
        >>> [step for step in range(30) if every(10)(step)]
        [0, 10, 20]
    """
    if steps < 1:
        raise ValueError(f"steps is {steps}; give 1 or more")
    return lambda step: step % steps == 0


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
        self.inputs, self.layers, self.when, self.network, self.options = inputs, layers, when, network, options
        self.recorder: Recorder | None = None

    def start(self, model: nn.Module, step: int) -> dict[str, float]:
        """Numbers before the first step; moments from here on, of a training that was killed later, are forgotten."""
        if self.recorder is None:
            self.recorder = Recorder(self.network(model), self.inputs, self.layers, **self.options)
        self.recorder.rewind(step)
        return self.after(model, step)

    def after(self, model: nn.Module, step: int, *, last: bool = False) -> dict[str, float]:
        """Numbers after a step by name; none if it is not due or was measured already. The last one is due always."""
        if self.recorder is None:
            return self.start(model, step)
        measured = bool(self.recorder.steps) and step <= self.recorder.steps[-1]
        if measured or not (last or self.when(step)):
            return {}
        self.recorder.model = self.network(model)
        return scalars(self.recorder(step), PREFIX)


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

    class LightningMeasuring(base):
        """Measures before the first step, after those that are due and after the last."""

        measuring = Measuring(inputs, layers, when or growing(), network, options)

        @property
        def recorder(self) -> Recorder | None:
            return self.measuring.recorder

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            if trainer.is_global_zero:
                _log(trainer, self.measuring.start(pl_module, trainer.global_step))

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
            if trainer.is_global_zero and (values := self.measuring.after(pl_module, trainer.global_step)):
                _log(trainer, values)
                pl_module.log_dict(values, logger=False, rank_zero_only=True)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            if trainer.is_global_zero:
                _log(trainer, self.measuring.after(pl_module, trainer.global_step, last=True))

    return LightningMeasuring()


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

    class TrainerMeasuring(base):
        """Measures before the first step, after those that are due and after the last."""

        measuring = Measuring(inputs, layers, when or growing(), network, options)

        @property
        def recorder(self) -> Recorder | None:
            return self.measuring.recorder

        def _log(self, values: dict[str, float]) -> None:
            if values:
                trainer.log(values)

        def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if state.is_world_process_zero:
                self._log(self.measuring.start(model, state.global_step))

        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if state.is_world_process_zero:
                self._log(self.measuring.after(model, state.global_step))

        def on_train_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if state.is_world_process_zero:
                self._log(self.measuring.after(model, state.global_step, last=True))

    return TrainerMeasuring()


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
