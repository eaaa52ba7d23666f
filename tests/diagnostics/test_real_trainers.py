"""The callbacks in Lightning and the Trainer of Hugging Face, and graphs of torch_geometric, where these are installed.

pip install -c envs/constraints.txt -e ".[test,trainers]"; the workflow "slow tests" does.
"""

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.callbacks import every, lightning_callback, trainer_callback
from repdyn.diagnostics.measure import measure

pytestmark = pytest.mark.slow
POINTS = torch.randn(48, 4, generator=torch.Generator().manual_seed(0))
LABELS = (POINTS[:, :2] > 0).sum(dim=1)
MEASURES = ("accuracy", "effective_rank", "nc1")


def equal(recorded, network, inputs, **options):
    """Whether the last moment of a recording is what the trained network gives by itself."""
    direct = measure(network, inputs, labels=LABELS.numpy(), **options)
    last = recorded.isel(step=-1)
    return all(np.array_equal(last[name].values, direct[name].values, equal_nan=True) for name in MEASURES)


def accuracies(recorded):
    return pytest.approx(dict(zip(recorded["step"].values, recorded["accuracy"].values, strict=True)))


def test_lightning_trains_is_measured_and_logs(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.body = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))

        def forward(self, x):
            return self.body(x)

        def training_step(self, batch, _):
            return nn.functional.cross_entropy(self(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    callback = lightning_callback(POINTS, labels=LABELS.numpy(), when=every(4))
    logger = lightning.loggers.CSVLogger(tmp_path)
    trainer = lightning.Trainer(
        max_epochs=5,
        callbacks=[callback],
        logger=logger,
        log_every_n_steps=1,
        accelerator="cpu",
        default_root_dir=tmp_path,
    )
    module = Module()
    batches = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(POINTS, LABELS), batch_size=16)
    trainer.fit(module, batches)
    recorded = callback.recorder.dataset()
    assert list(recorded["step"].values) == [0, 4, 8, 12, 15]  # 5 passes of 3 steps; the last one always
    assert equal(recorded, module, POINTS)
    with Path(logger.log_dir, "metrics.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["repdyn/accuracy"]]
    assert {int(row["step"]): float(row["repdyn/accuracy"]) for row in rows} == accuracies(recorded)


def test_the_trainer_of_hugging_face_trains_is_measured_and_logs(tmp_path):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(vocab_size=30, num_labels=3, max_position_embeddings=16, **sizes)
    network = transformers.BertForSequenceClassification(config)
    words = torch.randint(0, 30, (48, 8))
    points = [{"input_ids": row, "labels": int(label)} for row, label in zip(words, LABELS, strict=True)]
    options = {"max_steps": 12, "per_device_train_batch_size": 8, "logging_steps": 1, "save_strategy": "no"}
    arguments = transformers.TrainingArguments(output_dir=str(tmp_path), report_to=[], use_cpu=True, **options)
    trainer = transformers.Trainer(model=network, args=arguments, train_dataset=points)
    inputs = {"input_ids": words}
    callback = trainer_callback(trainer, inputs, labels=LABELS.numpy(), output="logits", when=every(3))
    trainer.add_callback(callback)
    trainer.train()
    recorded = callback.recorder.dataset()
    assert list(recorded["step"].values) == [0, 3, 6, 9, 12]
    assert equal(recorded, network, inputs, output="logits")
    logged = {row["step"]: row["repdyn/accuracy"] for row in trainer.state.log_history if "repdyn/accuracy" in row}
    assert logged == accuracies(recorded)


def entropy(network, inputs):
    """Cross-entropy in double precision."""
    with torch.no_grad():
        training = network.training
        logits = network.eval()(inputs).double()
        network.train(training)
    return nn.functional.cross_entropy(logits, LABELS).item()


WAYS = {
    "EMAWeightAveraging": {"max_epochs": 4},
    "StochasticWeightAveraging": {"max_epochs": 4},
    "StochasticWeightAveraging with batch statistics": {"max_epochs": 4},
    "stopped early": {"max_epochs": 9},
    "two optimizers": {"max_epochs": 4},
    "accumulated gradients": {"max_epochs": 4, "accumulate_grad_batches": 2},
    "steps": {"max_steps": 11},
}


@pytest.mark.parametrize("way", WAYS)
def test_lightning_is_measured_at_the_last_step_whatever_it_returns(tmp_path, way):
    lightning = pytest.importorskip("lightning.pytorch")
    losses = {}

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            norm = nn.BatchNorm1d(16) if "batch" in way else nn.Identity()
            self.body = nn.Sequential(nn.Linear(4, 16), norm, nn.ReLU(), nn.Linear(16, 3))
            self.automatic_optimization = way != "two optimizers"

        def forward(self, x):
            return self.body(x)

        def training_step(self, batch, _):
            loss = nn.functional.cross_entropy(self(batch[0]), batch[1])
            self.log("loss", loss)
            if self.automatic_optimization:
                return loss
            self.manual_backward(loss)
            for optimizer in self.optimizers():
                optimizer.step()
                optimizer.zero_grad()
            return None

        def configure_optimizers(self):
            parts = [self.body[0], self.body[3]] if way == "two optimizers" else [self]
            return [torch.optim.SGD(part.parameters(), lr=0.3) for part in parts]

        def on_train_batch_end(self, *_):
            if self.trainer.current_epoch < WAYS[way].get(
                "max_epochs", 11
            ):  # the last pass of averaging trains nothing
                losses.setdefault(self.trainer.global_step, entropy(self, POINTS))

    name = way.split()[0]
    others = {
        "EMAWeightAveraging": lambda: lightning.callbacks.EMAWeightAveraging(decay=0.5),
        "StochasticWeightAveraging": lambda: lightning.callbacks.StochasticWeightAveraging(
            0.1, 0.5, annealing_epochs=1
        ),
        "stopped": lambda: lightning.callbacks.EarlyStopping("loss", min_delta=0.2, patience=1),
    }
    before = [others[name]()] if name in others else []
    callback = lightning_callback(POINTS, ["body.3"], labels=LABELS.numpy(), measures=["loss"], when=every(5))
    trainer = lightning.Trainer(
        callbacks=[*before, callback], accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path, **WAYS[way],
    )  # fmt: skip
    module = Module()
    trainer.fit(module, torch.utils.data.DataLoader(torch.utils.data.TensorDataset(POINTS, LABELS), batch_size=16))
    recorded = callback.recorder.dataset()["loss"]
    found = dict(zip(recorded["step"].values.tolist(), recorded.values.tolist(), strict=True))
    assert max(found) == max(losses)
    assert {step: losses[step] for step in found if step} == pytest.approx(
        {step: value for step, value in found.items() if step}
    )
    averaged = "Averaging" in way
    assert (callback.returned is not None) == averaged
    if averaged:
        assert float(callback.returned["loss"]) == pytest.approx(entropy(module, POINTS))
        assert float(callback.returned["loss"]) != pytest.approx(found[max(found)], rel=1e-3)


HUGGING_FACE = {
    "best at the end": {"load_best_model_at_end": True},
    "stopped early": {"load_best_model_at_end": True},
    "accumulated gradients": {"gradient_accumulation_steps": 2},
    "resumed": {},
}


@pytest.mark.parametrize("way", HUGGING_FACE)
def test_the_trainer_of_hugging_face_is_measured_at_the_last_step_whatever_it_returns(tmp_path, way):
    transformers = pytest.importorskip("transformers")
    losses = {}

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.map = nn.Linear(4, 3)

        def forward(self, x, labels=None):
            logits = self.map(x)
            loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
            return {"loss": loss, "logits": logits} if loss is not None else {"logits": logits}

    class Seen(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, model=None, **_):
            losses[state.global_step] = entropy(model.map, POINTS)

    points = [{"x": row, "labels": int(label)} for row, label in zip(POINTS, LABELS, strict=True)]
    worse = [{"x": row, "labels": 2 - int(label)} for row, label in zip(POINTS, LABELS, strict=True)]
    stops = [transformers.EarlyStoppingCallback(early_stopping_patience=5)] if way == "stopped early" else []

    def trained(steps, **options):
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path / "saved"), report_to=[], use_cpu=True, max_steps=steps,
            per_device_train_batch_size=16, learning_rate=0.3, eval_strategy="steps", save_strategy="steps",
            eval_steps=1, save_steps=1, metric_for_best_model="loss", greater_is_better=False, **HUGGING_FACE[way],
        )  # fmt: skip
        network = Network()
        trainer = transformers.Trainer(
            model=network, args=arguments, train_dataset=points, eval_dataset=worse, callbacks=[Seen(), *stops]
        )
        callback = trainer_callback(
            trainer, {"x": POINTS}, ["map"], labels=LABELS.numpy(), measures=["loss"], output="logits", when=every(4),
            file=tmp_path / "found.nc", resume=True,
        )  # fmt: skip
        trainer.add_callback(callback)
        trainer.train(**options)
        return network, callback

    if way == "resumed":
        trained(6)
    network, callback = trained(11, **({"resume_from_checkpoint": True} if way == "resumed" else {}))
    recorded = callback.recorder.dataset()["loss"]
    last = 6 if way == "stopped early" else 11
    assert max(losses) == last
    between = {"stopped early": [], "resumed": [6, 8]}.get(way, [8])  # 6 was the last step of the first training
    assert recorded["step"].values.tolist() == [0, 4, *between, last]
    np.testing.assert_allclose(recorded[1:], [losses[step] for step in recorded["step"].values[1:]], rtol=1e-6)
    returned = entropy(network.map, POINTS)
    if HUGGING_FACE[way].get("load_best_model_at_end"):
        np.testing.assert_allclose(callback.returned["loss"], returned, rtol=1e-6)
        assert abs(returned - losses[last]) > 0.05
    else:
        assert callback.returned is None
        np.testing.assert_allclose(recorded[-1], returned, rtol=1e-6)


def test_lightning_goes_on_with_a_recording_from_its_checkpoint(tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")
    losses = {}

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.map = nn.Linear(4, 3)

        def forward(self, x):
            return self.map(x)

        def training_step(self, batch, _):
            return nn.functional.cross_entropy(self(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.3, momentum=0.9)

        def on_train_batch_end(self, *_):
            losses[self.trainer.global_step] = entropy(self, POINTS)

    def fitted(epochs, checkpoint=None):
        callback = lightning_callback(
            POINTS, ["map"], labels=LABELS.numpy(), measures=["loss"], when=every(4), file=tmp_path / "found.nc",
            resume=True,
        )  # fmt: skip
        trainer = lightning.Trainer(
            max_epochs=epochs, callbacks=[callback], accelerator="cpu", logger=False, enable_progress_bar=False,
            enable_model_summary=False, enable_checkpointing=False, default_root_dir=tmp_path,
        )  # fmt: skip
        data = torch.utils.data.TensorDataset(POINTS, LABELS)
        trainer.fit(Module(), torch.utils.data.DataLoader(data, batch_size=16), ckpt_path=checkpoint)
        trainer.save_checkpoint(tmp_path / "saved.ckpt")
        return callback.recorder.dataset()["loss"]

    assert fitted(2)["step"].values.tolist() == [0, 4, 6]
    recorded = fitted(4, tmp_path / "saved.ckpt")
    assert recorded["step"].values.tolist() == [0, 4, 6, 8, 12]  # 6 was the last step of the first training
    np.testing.assert_allclose(recorded[1:], [losses[step] for step in (4, 6, 8, 12)], rtol=1e-6)


def test_a_batch_of_graphs_is_measured_by_graph():
    geometric = pytest.importorskip("torch_geometric")
    torch.manual_seed(0)

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = geometric.nn.GCNConv(4, 8), nn.Linear(8, 3)

        def forward(self, graphs):
            nodes = self.first(graphs.x, graphs.edge_index).relu()
            return self.last(geometric.nn.global_mean_pool(nodes, graphs.batch))

    sizes = [5 + k % 3 for k in range(12)]
    graphs = [geometric.data.Data(x=torch.randn(size, 4), edge_index=torch.randint(0, size, (2, 12))) for size in sizes]
    network, batch = Network(), geometric.data.Batch.from_data_list(graphs)
    dataset = measure(network, batch)
    with torch.no_grad():
        outputs = network(batch).double().numpy()
        nodes = network.first(batch.x, batch.edge_index).double().numpy()
    means = np.array([nodes[batch.batch.numpy() == k].mean(axis=0) for k in range(12)])
    for layer, values in (("last", outputs), ("first.aggr_module", means)):
        measured = dataset["effective_rank"].sel(layer=layer)
        shares = np.linalg.svd(values, compute_uv=False)
        assert measured == pytest.approx(rank(shares)), layer


def rank(singular_values):
    shares = singular_values / singular_values.sum()
    return np.exp(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())
