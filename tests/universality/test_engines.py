"""Three engines, one training: equal to round-off in float64 on h, y, w, loss; stop, resume, dropout, Adam."""

import numpy as np
import pytest
import torch

from repdyn.base.checkpoints import Checkpoint
from repdyn.base.streams import Stream
from repdyn.universality.methods import two_point_training
from repdyn.universality.methods.engines import autograd
from repdyn.universality.methods.engines.frames import Task
from repdyn.universality.methods.networks import NONLINEARITIES, Net, initial_weights
from repdyn.universality.methods.two_point_training import choose_engine, train_two_points, two_points
from repdyn.universality.settings.two_points import TwoPointRun

X, Y = two_points(1.0, np.sqrt(0.5))
STREAM = Stream(3, ("universality", "test"))
MEASURED = ("h", "y", "w", "loss", "offset2")
ROUND_OFF = 1e-12  # relative, a few hundred epochs of 20 units: 1e-14 seen


def trained(net, engine="auto", trials=3, epochs=300, rate=0.02, *, dtype="float64", data=(X, Y), kept=None, **task):
    run = TwoPointRun(seeds=trials, epochs=epochs, every=7, stop=0.0, dtype=dtype, engine=engine)
    return train_two_points(run, Task(net, *data, rate, 7, **task), STREAM, checkpoint=kept, name="one")


@pytest.mark.parametrize("connections", ["dense", "skip"])
@pytest.mark.parametrize("nonlinearity", NONLINEARITIES)
def test_engines_agree(nonlinearity, connections):
    net = Net(nonlinearity, 0.3 if connections == "skip" else 1.0, 20, 5, connections)
    wanted = trained(net, "autograd", layers=tuple(range(5)))
    for engine in ("compiled", "batched"):
        records = trained(net, engine, layers=tuple(range(5)))
        for name in MEASURED:
            assert np.abs(records[name] - wanted[name]).max() <= ROUND_OFF * np.abs(wanted[name]).max()
    assert float(wanted["loss"][:, 0].mean()) > 1.5 * float(wanted["loss"][:, -1].mean())  # something was learned


@pytest.mark.parametrize("units", [1, 2, 3, 5, 21, 22, 23])
def test_rows_left_over_by_twos_and_fours_count(units):
    net = Net("tanh", 1.0, units, 4)
    wanted, records = (
        trained(net, engine, 2, 100, 0.05, layers=tuple(range(4))) for engine in ("autograd", "compiled")
    )
    for name in MEASURED:
        assert np.abs(records[name] - wanted[name]).max() <= ROUND_OFF * np.abs(wanted[name]).max()


@pytest.mark.parametrize("connections", ["dense", "skip"])
@pytest.mark.parametrize(("optimizer", "dropout"), [("sgd", 0.2), ("adam", 0.0), ("adam", 0.2)])
def test_dropout_and_adam_are_those_of_automatic_differentiation(connections, optimizer, dropout):
    """The same masks; Adam divides small numbers, so round-off grows."""
    net = Net("leaky relu", 0.5 if connections == "skip" else 1.2, 20, 5, connections, dropout, inputs=2, outputs=3)
    generator = np.random.default_rng(0)
    options = {"data": (generator.normal(size=(2, 2)), generator.normal(size=(2, 3))), "optimizer": optimizer}
    options |= {"rate": 1e-3 if optimizer == "adam" else 0.02, "layers": tuple(range(5))}
    engines = ("autograd", "compiled", *(["batched"] if not dropout else []))
    wanted, *others = (trained(net, engine, 3, 200, **options) for engine in engines)
    for records in others:
        for name in MEASURED:
            assert np.abs(records[name] - wanted[name]).max() <= 1e-9 * np.abs(wanted[name]).max()
    assert float(wanted["loss"][:, 0].mean()) > 1.2 * float(wanted["loss"][:, -1].mean())  # something was learned


def test_convolution_against_conv1d():
    net = Net("leaky relu", 0.95, 40, 3, "convolution", channels=3, kernel=5)
    weights = initial_weights(net, np.random.default_rng(0))
    tensors = {name: torch.tensor(array[None]) for name, array in weights.items()}
    hidden = autograd.hidden_layers(net, tensors, torch.tensor(X))
    phi = torch.nn.LeakyReLU(0.01)
    a = phi(torch.tensor(X) @ torch.tensor(weights["first"]).T)[:, None]
    for place in range(4):
        a = phi(torch.nn.functional.conv1d(a, torch.tensor(weights[f"kernel_{place}"])))
        assert torch.allclose(hidden[place][0], a.flatten(1), rtol=1e-12)
    assert net.left == a.shape[-1] == 40 - 4 * 4
    assert net.halfway == 0
    assert np.isfinite(trained(net, epochs=20)["loss"]).all()


@pytest.mark.parametrize(("nonlinearity", "kernel"), [("leaky relu", 5), ("tanh", 4), ("none", 3)])
def test_compiled_convolution_agrees(nonlinearity, kernel):
    """Kernels of a multiple of four taps, of more, and of fewer; at a rate that amplifies no rounding."""
    net = Net(nonlinearity, 0.95, 30, 4, "convolution", inputs=2, outputs=2, channels=3, kernel=kernel)
    data = np.array([[-1.0, 0.5], [0.0, 0.2]]), np.array([[0.6, 0.0], [1.3, -1.0]])
    wanted, records = (
        trained(net, engine, rate=0.005, data=data, layers=(0, 3)) for engine in ("autograd", "compiled")
    )
    assert records["engine"] == "compiled"
    for name in MEASURED:
        assert np.abs(records[name] - wanted[name]).max() <= ROUND_OFF * np.abs(wanted[name]).max()
    assert float(wanted["loss"][:, 0].mean()) > 1.5 * float(wanted["loss"][:, -1].mean())  # something was learned


def test_published_convolution_has_its_shape():
    net = Net("leaky relu", 0.95, 500, 10, "convolution")
    assert net.left == 390
    assert net.halfway == 4  # after the fifth convolution, 20 x 450 numbers
    weights = initial_weights(net, np.random.default_rng(0))
    assert weights["kernel_0"].shape == (20, 1, 11)
    assert weights["kernel_10"].shape == (1, 20, 11)
    assert weights["kernel_5"].std() == pytest.approx(0.95 * np.sqrt(2 / (40 * 11)), rel=0.06)  # 4400 draws: 5 sigma


def test_dropout_drops_while_training_only():
    net = Net("leaky relu", 1.0, 30, 4, dropout=0.3)
    plain = Net("leaky relu", 1.0, 30, 4)
    dropped, kept = trained(net, epochs=60), trained(plain, "autograd", epochs=60)
    assert np.allclose(dropped["loss"][:, 0], kept["loss"][:, 0], rtol=1e-13)  # records are made in evaluation mode
    assert np.abs(dropped["loss"][:, -1] - kept["loss"][:, -1]).min() > 1e-4
    masks = np.concatenate(
        [m.numpy().ravel() for m in autograd._masks(net, [torch.Generator().manual_seed(0)] * 40, torch.tensor(X))]
    )
    assert set(np.round(masks, 12)) == {0.0, round(1 / 0.7, 12)}
    assert masks.mean() == pytest.approx(1.0, abs=0.04)  # 9680 draws: 6 sigma


def test_a_trial_does_not_depend_on_its_neighbors():
    net = Net("leaky relu", 1.0, 16, 4, dropout=0.2)
    few, many = trained(net, trials=2, epochs=50), trained(net, trials=5, epochs=50)
    assert np.allclose(few["loss"], many["loss"][:2], rtol=1e-11)
    dense = Net("leaky relu", 1.0, 16, 4)
    for engine in ("compiled", "batched"):
        assert np.allclose(trained(dense, engine, 2)["h"], trained(dense, engine, 5)["h"][:2], rtol=1e-11)


@pytest.mark.parametrize("engine", ["compiled", "batched", "autograd"])
def test_each_trial_stops_at_its_loss(engine):
    net = Net("tanh", 1.0, 20, 2)
    records = trained(net, engine, trials=4, epochs=1500, rate=0.05, stop=1e-3)
    whole = trained(net, engine, trials=4, epochs=1500, rate=0.05)
    for trial, ended in enumerate(records["trained_epochs"].values // 7):
        curves = records.isel(seed=trial)
        assert (curves["loss"][:ended] >= 1e-3).all()
        assert ended == curves.sizes["epoch"] - 1 or curves["loss"][ended] < 1e-3
        for name in MEASURED:  # until then as without a stop, afterwards the last record
            until = slice(0, ended + 1)
            assert np.allclose(curves[name][until], whole[name][trial][until], rtol=1e-9)
            assert (curves[name][ended:] == curves[name][ended]).all()
    assert (records["trained_epochs"] < 1400).any()


def names_in(folder):
    """Names of all trials that are kept below a folder."""
    return [str(np.load(file)["seal"][0]) for file in folder.glob("*/*.npz")]


@pytest.mark.parametrize("options", [{}, {"engine": "batched"}, {"dropout": 0.1}])
def test_a_killed_run_resumes_bit_by_bit(tmp_path, monkeypatch, options):
    monkeypatch.setattr(two_point_training, "BLOCK", 100)
    monkeypatch.setattr(two_point_training, "SAVE_AFTER", -1.0)
    net = Net("leaky relu", 1.0, 12, 4, dropout=options.get("dropout", 0.0))
    engine = options.get("engine", "auto")
    whole = trained(net, engine, epochs=500)
    advance, calls = two_point_training._advance, []

    def killed(*arguments):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return advance(*arguments)

    monkeypatch.setattr(two_point_training, "_advance", killed)
    with pytest.raises(KeyboardInterrupt):
        trained(net, engine, epochs=500, kept=Checkpoint(tmp_path, "job"))
    monkeypatch.setattr(two_point_training, "_advance", advance)
    kept = Checkpoint(tmp_path, "job")
    assert any("unfinished" in name for name in names_in(tmp_path))
    resumed = trained(net, engine, epochs=500, kept=kept)
    assert all(np.array_equal(resumed[name], whole[name]) for name in MEASURED)
    assert names_in(tmp_path)
    assert not any("unfinished" in name for name in names_in(tmp_path))


def test_single_precision_is_near_and_recorded():
    net = Net("tanh", 1.0, 20, 3)
    single, double = trained(net, dtype="float32"), trained(net)
    assert str(single["dtype"].values) == "float32"
    assert np.allclose(single["loss"], double["loss"], rtol=1e-3, atol=1e-6)
    assert not np.array_equal(single["loss"], double["loss"])


def test_divergence_ends_a_trial():
    records = trained(Net("none", 3.0, 20, 4), "compiled", rate=5.0)
    assert np.isnan(records["loss"][:, -1]).all()


@pytest.mark.parametrize(
    ("optimizer", "device", "net", "engine"),
    [
        ("sgd", "cpu", Net("tanh", 1.0, 5, 2), "compiled"),
        ("sgd", "cuda", Net("tanh", 1.0, 5, 2), "batched"),
        ("adam", "cuda", Net("tanh", 1.0, 5, 2), "batched"),
        ("adam", "cuda", Net("tanh", 1.0, 5, 2, dropout=0.1), "autograd"),
        ("adam", "cpu", Net("tanh", 1.0, 5, 2, dropout=0.1), "compiled"),
        ("adam", "cpu", Net("tanh", 1.0, 60, 2, "convolution"), "autograd"),
        ("sgd", "cuda", Net("tanh", 1.0, 5, 2, dropout=0.1), "autograd"),
        ("sgd", "cpu", Net("tanh", 1.0, 60, 2, "convolution"), "compiled"),
        ("sgd", "cuda", Net("tanh", 1.0, 60, 2, "convolution"), "autograd"),
    ],
)
def test_the_engine_follows_network_and_device(optimizer, device, net, engine):
    assert choose_engine("auto", Task(net, X, Y, 0.1, optimizer=optimizer), device) == engine


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Net("tanh", 0.0, 5, 2), "gain.*0"),
        (lambda: Net("sine", 1.0, 5, 2), "sine"),
        (lambda: Net("tanh", 1.0, 5, 0), "hidden"),
        (lambda: Net("tanh", 1.0, 5, 2, dropout=1.0), "1"),
        (lambda: Net("tanh", 1.0, 100, 10, "convolution"), "100"),
        (lambda: two_points(0.0, 1.0), "dx"),
        (lambda: trained(Net("tanh", 1.0, 5, 2), layers=(2,)), "2"),
        (lambda: choose_engine("fast", Task(Net("tanh", 1.0, 5, 2), X, Y, 0.1), "cpu"), "fast"),
        (lambda: trained(Net("tanh", 1.0, 5, 2, dropout=0.1), "batched"), "dropout"),
        (lambda: trained(Net("tanh", 1.0, 60, 2, "convolution"), "compiled", optimizer="adam"), "Adam"),
        (lambda: trained(Net("tanh", 1.0, 60, 2, "convolution"), "batched"), "convolution"),
        (lambda: trained(Net("tanh", 1.0, 5, 2), rate=0.0), "0"),
        (lambda: trained(Net("tanh", 1.0, 5, 2, inputs=2)), "2"),
        (lambda: Task(Net("tanh", 1.0, 5, 2), [[1.0], [1.0]], Y, 0.1), "dx"),
        (lambda: trained(Net("tanh", 1.0, 5, 2), optimizer="lion"), "lion"),
        (lambda: choose_engine("compiled", Task(Net("tanh", 1.0, 5, 2), X, Y, 0.1), "cuda"), "compiled"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
