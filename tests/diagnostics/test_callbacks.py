"""Scalars of a moment, loggers of every kind, and trainers that call back; the trainers are stand-ins."""

import sys
import types

import numpy as np
import pytest
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore

from repdyn.diagnostics.callbacks import Measuring, every, growing, lightning_callback, same, trainer_callback
from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.methods.recording import scalars

LABELS = np.arange(12) % 3


def points():
    return torch.randn(12, 4, generator=torch.Generator().manual_seed(0))


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3))


# scalars


def test_scalars_are_the_finite_numbers_of_the_dataset():
    model = network()
    dataset = measure(model, points(), labels=LABELS, residual=["0", "1"])
    named = scalars(dataset)
    assert named["accuracy"] == float(dataset["accuracy"])
    assert named["effective_rank/2"] == float(dataset["effective_rank"].sel(layer="2"))
    assert named["angle/0"] == float(dataset["angle"].sel(layer="0", quantile=0.5))
    assert named["truncated_share/2"] == float(dataset["truncated_share"].sel(layer="2").mean())
    assert named["kinetic_energy/0"] == float(dataset["kinetic_energy"][0])
    assert named["radial_fraction/0"] == float(dataset["radial_fraction"][0])
    assert not [name for name in named if name.split("/")[0] in ("units", "task_rank", "norm", "pair_loss")]
    assert all(type(value) is float and np.isfinite(value) for value in named.values())
    with torch.no_grad():
        model[0].weight.zero_()
        model[0].bias.zero_()
    assert "effective_rank/0" in named
    assert "effective_rank/0" not in scalars(measure(model, points(), labels=LABELS))  # of no direction at all


def test_of_a_recording_the_last_moment_counts():
    model = network()
    recorder = Recorder(model, points(), labels=LABELS)
    recorder(0)
    with torch.no_grad():
        model[3].weight.mul_(-1)
    last = recorder(1)
    assert scalars(recorder.dataset(), "x/") == {f"x/{name}": value for name, value in scalars(last).items()}


# loggers


class Logger:
    def __init__(self):
        self.calls = []

    def take(self, values, step=None):
        self.calls += [(step, name, value) for name, value in values.items()]


class Writer(Logger):
    def add_scalar(self, name, value, step):
        self.calls.append((step, name, value))


class Metrics(Logger):
    log_metrics = Logger.take


class Run(Logger):
    log = Logger.take


class Function(Logger):
    __call__ = Logger.take


@pytest.mark.parametrize("kind", [Writer, Metrics, Run, Function])
def test_every_kind_of_logger_gets_the_same(kind):
    logger = kind()
    recorder = Recorder(network(), points(), ["0", "2"], labels=LABELS, logger=logger)
    moments = {step: recorder(step) for step in (0, 5)}
    assert logger.calls == [
        (step, f"repdyn/{name}", value) for step, moment in moments.items() for name, value in scalars(moment).items()
    ]


# steps that are due


def test_steps_that_are_due_grow_apart():
    steps = [step for step in range(1000) if growing(2)(step)]
    assert steps == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    assert [step for step in range(30) if growing()(step)] == [0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 19, 23, 29]
    dense = np.array([step for step in range(10_000) if growing()(step)])
    assert (np.diff(dense)[10:] / dense[10:-1] < 0.3).all()
    with pytest.raises(ValueError, match=r"factor.*1"):
        growing(1)


def test_cheap_measures_at_many_steps_and_all_measures_at_few():
    cheap, whole = (
        Measuring(points(), None, when, same, {"labels": LABELS, "measures": measures})
        for when, measures in ((every(4), ["accuracy"]), (growing(2), ["accuracy", "ranks"]))
    )
    model = network()
    for step in range(18):
        numbers = cheap.after(model, step), whole.after(model, step)
        assert [bool(found) for found in numbers] == [step % 4 == 0, step in (0, 1, 2, 4, 8, 16)]
    assert cheap.recorder.dataset()["step"].values.tolist() == [0, 4, 8, 12, 16]
    shared = [0, 4, 8, 16]
    both = [found.recorder.dataset()["accuracy"].sel(step=shared).values.tolist() for found in (cheap, whole)]
    assert both[0] == both[1]
    with pytest.raises(ValueError, match=r"steps.*0"):
        every(0)


# trainers


@pytest.fixture
def trainers(monkeypatch):
    """Modules with the names and classes that the callbacks look for."""
    for name, attribute in (("lightning.pytorch", "Callback"), ("transformers", "TrainerCallback")):
        module = types.ModuleType(name)
        setattr(module, attribute, type(attribute, (), {}))
        monkeypatch.setitem(sys.modules, name, module)


class LightningModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.network, self.logged = network(), []

    def forward(self, x):
        return self.network(x)

    def log_dict(self, values, **options):
        assert options == {"logger": False, "rank_zero_only": True}
        self.logged.append(dict(values))


def stepped(model, X):
    """A step of training, in training mode."""
    model.train()
    loss = nn.functional.cross_entropy(model(X), torch.tensor(LABELS))
    loss.backward()
    with torch.no_grad():
        for part in model.parameters():
            part -= 0.1 * part.grad
            part.grad = None


def fitted(callback, steps, first=0, *, zero=True, exchange=False):
    """What Lightning's Trainer calls, two batches to a step of the optimizer."""
    module = LightningModule()
    ends = {"max_steps": -1, "max_epochs": 1, "current_epoch": 0, "should_stop": False, "callbacks": []}
    trainer = types.SimpleNamespace(loggers=[Metrics(), Metrics()], global_step=first, is_global_zero=zero, **ends)
    callback.on_train_start(trainer, module)
    for batch in range(2 * first, 2 * steps):
        if batch % 2:
            stepped(module, points())
            trainer.global_step += 1
        callback.on_train_batch_end(trainer, module, None, None, batch)
    callback.on_train_epoch_end(trainer, module)
    if exchange:
        with torch.no_grad():
            for part in module.parameters():
                part.data.mul_(0.5)  # which no counter of versions notices
    callback.on_train_end(trainer, module)
    return module, trainer


def test_lightning_measures_due_steps_once_and_its_loggers_get_them(trainers):
    callback = lightning_callback(points(), ["network.0", "network.2"], labels=LABELS, when=lambda step: step % 2 == 0)
    module, trainer = fitted(callback, 5)
    assert callback.recorder.steps == [0, 2, 4, 5]  # the last one always
    first, second = (logger.calls for logger in trainer.loggers)
    assert first == second
    dataset = callback.recorder.dataset()
    logged = {(step, name): value for step, name, value in first}
    for step in (0, 2, 4, 5):
        expected = float(dataset["effective_rank"].sel(step=step, layer="network.2"))
        assert logged[step, "repdyn/effective_rank/network.2"] == expected
    assert len(module.logged) == 2
    assert module.training


def test_lightning_in_another_process_measures_nothing(trainers):
    callback = lightning_callback(points(), labels=LABELS)
    module, trainer = fitted(callback, 3, zero=False)
    assert callback.recorder is None
    assert trainer.loggers[0].calls == module.logged == []


@pytest.fixture
def two_processes():
    """The first of two processes, the other of which never answers."""
    torch.distributed.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("zero", [True, False])
def test_a_network_divided_among_processes_is_refused_in_each(trainers, two_processes, zero):
    callback = lightning_callback(points(), labels=LABELS)
    module = LightningModule()
    trainer = types.SimpleNamespace(loggers=[], global_step=0, is_global_zero=zero)
    callback.on_train_start(trainer, module)
    assert (callback.recorder is not None) == zero
    with pytest.raises(ValueError, match="divided among 2 processes"):
        callback.on_train_start(trainer, fully_shard(module))


def test_batch_statistics_of_the_first_process_wait_for_no_other(two_processes):
    model = network()
    wanted = measure(model, points(), labels=LABELS, batch_statistics=True)
    together = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert measure(together, points(), labels=LABELS, batch_statistics=True).equals(wanted)
    assert "forward" not in vars(together[1])


def test_a_resumed_training_drops_moments_after_its_checkpoint(trainers, tmp_path):
    def callback(**options):
        file = tmp_path / "found.nc"
        return lightning_callback(points(), ["network.0"], file=file, when=lambda step: True, **options)

    fitted(callback(), 4)
    again = callback(resume=True)
    assert again.recorder is None
    fitted(again, 5, first=2)
    assert again.recorder.steps == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("exchange", [False, True])
def test_the_last_step_is_that_of_its_network_and_a_network_put_in_its_place_is_another(trainers, exchange):
    modules = []
    for _ in range(2):
        callback = lightning_callback(points(), ["network.0"], labels=LABELS, when=lambda step: step == 1)
        torch.manual_seed(0)
        modules.append(fitted(callback, 5, exchange=exchange and bool(modules))[0])
    last, returned = (measure(module, points(), ["network.0"], labels=LABELS) for module in modules)
    recorded = callback.recorder.dataset()
    assert recorded["step"].values.tolist() == [1, 5]
    assert recorded["loss"].sel(step=5) == last["loss"]
    assert (callback.returned is not None) == exchange
    assert not exchange or callback.returned["loss"] == returned["loss"] != last["loss"]


@pytest.mark.parametrize("jump", [1, 2, 3])
def test_no_moment_is_lost_where_the_step_jumps(jump):
    for due, steps in ((growing(2), [0, 1, 2, 4, 8, 16, 32, 64]), (every(7), range(0, 90, 7))):
        found = [step for step in range(0, 90, jump) if due(step)]
        first = [min(step for step in range(0, 90 + jump, jump) if step >= wanted) for wanted in steps]
        assert found == sorted({step for step in first if step < 90})
        assert [step for step in range(0, 90, jump) if due(step)] == found  # another training
    measuring = Measuring(points(), None, every(5), same, {"measures": ["ranks"]})
    for step in np.arange(0, 30, jump).repeat(2):  # a batch without a step of the optimizer
        measuring.after(network(), int(step))
    assert measuring.recorder.steps == [-(-step // jump) * jump for step in range(0, 26, 5)]


class Pair(nn.Module):
    """A network and a copy of it that is measured."""

    def __init__(self):
        super().__init__()
        self.network, self.average = network(), network()
        with torch.no_grad():
            self.average[0].weight[0] *= 9


@pytest.mark.parametrize("zero", [True, False])
def test_the_trainer_of_hugging_face_logs_due_steps_and_the_last_one_of_the_part_that_is_named(trainers, zero):
    model, logs = Pair(), []
    state = types.SimpleNamespace(global_step=0, is_world_process_zero=zero, max_steps=7)
    trainer = types.SimpleNamespace(log=lambda values: logs.append((state.global_step, values)))
    callback = trainer_callback(trainer, points(), ["0"], when=every(3), network=lambda trained: trained.average)
    callback.on_train_begin(None, state, None, model=model)
    for _ in range(7):
        state.global_step += 1
        callback.on_step_end(None, state, None, model=model)
    callback.on_train_end(None, state, None, model=model)
    assert [step for step, _ in logs] == ([0, 3, 6, 7] if zero else [])
    assert (callback.recorder is not None) == zero
    rank = float(measure(model.average, points(), ["0"])["effective_rank"][0])
    assert {values["repdyn/effective_rank/0"] for _, values in logs} == ({rank} if zero else set())
    assert rank != float(measure(model.network, points(), ["0"])["effective_rank"][0])


def test_a_trainer_that_is_not_installed_is_named(monkeypatch):
    for name in ("lightning", "lightning.pytorch", "pytorch_lightning", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="lightning"):
        lightning_callback(points())
    with pytest.raises(ImportError, match="transformers"):
        trainer_callback(None, points())
