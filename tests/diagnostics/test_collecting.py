"""Each measure alone, layers by other names, gradients of shared maps, held-out points."""

import numpy as np
import pytest
import torch
import xarray as xr
from tests.diagnostics.networks import debiased_cka, effective_rank, network_of
from torch import nn

from repdyn.base.datasets import problems
from repdyn.base.errors import DataError
from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.methods import radial
from repdyn.diagnostics.methods.catalog import MEASURES, OF_HELD_OUT
from repdyn.diagnostics.methods.collecting import Request
from repdyn.diagnostics.methods.reader import Features
from repdyn.diagnostics.methods.recording import scalars
from repdyn.diagnostics.theory.identity import Residual
from repdyn.diagnostics.theory.side_by_side import domain_shift

LABELS = np.array([2, 0, 1, 1, 0, 2, 2, 1, 0])
X = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def request(**more):
    nothing = dict.fromkeys(
        ("layers", "labels", "targets", "pairs", "residual", "measures", "embeddings", "classifier")
    )
    return Request(**nothing | {"gamma": 0.1, "bias": False, "loss": None, "progress": False} | more)


def network(*more):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3), *more).double()


ALWAYS = {"angles", "ranks", "cost_of_identity", "pairs", "radial"}
OF_LABELS = {"collapse", "classifier", "sectors", "accuracy", "class_ranks"}
OPTIONS = {"labels": LABELS, "targets": X.numpy(), "loss": nn.functional.mse_loss, "residual": Residual(["0", "1"])}
OPTIONS |= {"held_out": True, "other_form": True}


@pytest.mark.parametrize(
    ("names", "more"),
    [
        ((), set()),
        (("labels",), OF_LABELS | {"targets", "loss"}),
        (("targets",), {"targets", "loss"}),
        (("loss",), {"loss"}),
        (("residual",), {"energies"}),
        (("held_out",), {"domains"}),
        (("other_form",), {"forms"}),
        (("labels", "targets", "loss", "residual"), OF_LABELS | {"targets", "loss", "energies"}),
    ],
)
def test_measures_are_chosen_by_the_options_that_they_need(names, more):
    options = {name: OPTIONS[name] for name in names}
    possible = [name for name in MEASURES if name in ALWAYS | more]
    assert request(**options).chosen() == possible
    for name in MEASURES:
        alone = request(**options, measures=[name])
        if name in possible:
            assert alone.chosen() == [name]
        else:
            with pytest.raises(ValueError, match=name):
                alone.chosen()


OTHER_POINTS = {"held_out": (X.flip(1), LABELS), "other_form": X + 1}


@pytest.mark.parametrize("layers", [None, []])
def test_every_measure_has_alone_the_numbers_that_it_has_among_all(layers):
    model = network()
    options = {"labels": LABELS, "targets": X[:, :3], "residual": ["1", "0"], "loss": nn.functional.mse_loss}
    stream = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 3)).double()
    for made, more in ((model, {"residual": None}), (stream, {"residual": ["0", "1", "2"]})):
        whole = measure(made, X, layers, **options | more | OTHER_POINTS)
        for name in MEASURES:
            if name == "energies" and more["residual"] is None:
                continue
            others = {"domains": ["held_out"], "forms": ["other_form"]}.get(name, [])
            given = {key: OTHER_POINTS[key] for key in others}
            alone = measure(made, X, layers, **options | more | given, measures=[name])
            for variable in alone.data_vars:
                np.testing.assert_array_equal(alone[variable], whole[variable], err_msg=variable)


@network_of(lambda: {"block": nn.Linear(4, 4).double()}, seed=5)
def Stream(self, x):
    """A block that is called three times, whose outputs are then changed in place."""
    x = self.block(self.block(x).relu_())
    return self.block(x.relu_()).flip(-1)


def test_layers_of_a_stream_and_of_inputs_may_have_torchvision_s_names():
    by_call = measure(Stream(), X, ["block"], residual=["block", "block#2", "block#3"], embeddings="block#2")
    other = measure(Stream(), X, ["block"], residual=["block", "block_1", "block_2"], embeddings="block_1")
    assert other.attrs["left_out"] == by_call.attrs["left_out"] == ""
    for name in ("kinetic_energy", "input_distance"):
        assert np.isfinite(by_call[name]).all()
        np.testing.assert_array_equal(other[name], by_call[name])
    with torch.no_grad():
        second = Stream().block(Stream().block(X).relu()).numpy()
    np.testing.assert_allclose(by_call["input_distance"][0], np.sum((second[1] - second[0]) ** 2))


def test_targets_of_images_are_compared_number_by_number_whatever_the_features():
    torch.manual_seed(7)
    model, images = nn.Conv2d(2, 3, 3).double(), torch.randn(5, 2, 4, 4, dtype=torch.float64)
    targets = torch.randn(5, 3, 2, 2, dtype=torch.float64)
    error = float(((model(images) - targets) ** 2).mean().detach()) / 2
    found = measure(model, images, targets=targets, measures=["loss", "targets"])
    np.testing.assert_allclose([found["loss"], found["half_mse"]], error, rtol=1e-12)
    features = Features("pool", channels=1)
    pooled = measure(model, images, targets=targets.mean(dim=(2, 3)), measures=["loss"], features=features)
    error = ((model(images) - targets).mean(dim=(2, 3)) ** 2).mean().detach() / 2
    np.testing.assert_allclose(pooled["loss"], error, rtol=1e-12)


@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_the_radial_fraction_of_many_points_uses_evenly_spread_points_with_their_answers(kind):
    torch.manual_seed(8)
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6, eps=0.5), nn.Tanh(), nn.Linear(6, 3)).double().train()
    points = torch.randn(2 * radial.POINTS + 7, 4, dtype=torch.float64)
    labels, targets = torch.randint(3, (len(points),)), torch.randn(len(points), 3, dtype=torch.float64)
    options = {"labels": labels} if kind == "labels" else {"targets": targets}
    found = measure(model, points, measures=["radial"], **options)
    some = np.linspace(0, len(points) - 1, radial.POINTS).round().astype(int)
    output = model(points[some])
    loss = (
        nn.functional.cross_entropy(output, labels[some])
        if kind == "labels"
        else (output - targets[some]).pow(2).mean()
    )
    loss.backward()
    W, slopes = (part.detach().numpy() for part in (model[0].weight, model[0].weight.grad))
    shares = np.abs((W * slopes).sum(axis=1)) / np.linalg.norm(W, axis=1) / np.linalg.norm(slopes, axis=1)
    assert shares.min() > 1e-4
    np.testing.assert_allclose(found["radial_fraction"], [np.median(shares)], rtol=1e-9)
    np.testing.assert_allclose(found["largest_radial_fraction"], [shares.max()], rtol=1e-9)


class Tied(nn.Module):
    """Maps in front of normalizations; the weights of `shared` are those of the last map too."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(9)
        self.free, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)
        self.shared, self.whole, self.last = nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 4)
        self.rooted, self.root = nn.Linear(4, 4), nn.RMSNorm(4)
        self.last.weight = self.shared.weight

    def forward(self, x):
        x = self.norm(self.free(x)).tanh()
        x = self.root(self.rooted(x)).tanh()
        return self.last(self.whole(self.shared(x)).tanh())


def test_a_map_with_shared_weights_has_no_radial_fraction_and_the_network_is_unchanged():
    model = Tied().double()
    before = {name: (part, part.detach().clone()) for name, part in model.named_parameters()}
    eps = [part.eps for part in (model.norm, model.whole, model.root)]
    found = measure(model, X, measures=["radial"])
    assert found["normalized"].values.tolist() == ["free", "rooted", "shared"]
    assert np.isnan(found["radial_fraction"]).values.tolist() == [False, False, True]
    assert found.attrs["left_out"].startswith("radial (shared)")
    assert float(found["largest_radial_fraction"][:2].max()) < 1e-3
    assert [part.eps for part in (model.norm, model.whole, model.root)] == eps
    for name, part in model.named_parameters():
        assert part is before[name][0]
        assert torch.equal(part, before[name][1])
    assert model.last.weight is model.shared.weight


generator = torch.Generator().manual_seed(0)
POINTS, OTHERS = torch.randn(12, 4, generator=generator), torch.randn(9, 4, generator=generator)
CLASSES, THEIRS = np.arange(12) % 3, np.array([0, 1, 2, 2, 1, 0, 0, -100, 1])


TRANSFER = "transfer_accuracy", "class_mean_cosine"
DOMAINS, FORMS = ("domain_shift", *TRANSFER), ("form_distance", "form_cka")


def labeled(points, labels):
    return torch.utils.data.DataLoader(list(zip(points, labels, strict=True)), batch_size=6)


def classifier(outputs=3):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, outputs))


def test_held_out_numbers_are_those_of_these_points_alone_and_the_others_do_not_change():
    both = measure(classifier(), POINTS, labels=CLASSES, held_out=(OTHERS, THEIRS))
    alone = measure(classifier(), OTHERS, labels=THEIRS, measures=OF_HELD_OUT)
    added = {str(name) for name in both.data_vars if str(name).endswith("_held_out")}
    assert added == {f"{name}_held_out" for name in alone.data_vars}
    for name, values in alone.data_vars.items():
        np.testing.assert_array_equal(both[f"{name}_held_out"], values)
    assert both["label_held_out"].values.tolist() == THEIRS.tolist()
    kept = both.drop_vars([name for name in both.variables if str(name).endswith("_held_out") or name in DOMAINS])
    xr.testing.assert_identical(kept, measure(classifier(), POINTS, labels=CLASSES))
    assert not [problem for problem in problems(both) if not problem.startswith("attribute")]


@pytest.mark.parametrize("batch_size", [None, 5])
def test_held_out_points_are_another_domain_for_the_means_of_the_points(batch_size):
    domain = OTHERS + torch.tensor([1.0, 0, -2, 0])
    found = measure(classifier(), POINTS, labels=CLASSES, held_out=(domain, THEIRS), batch_size=batch_size)
    for name, layer in (("input", nn.Sequential()), ("1", classifier()[:2])):
        H, G = (layer(part).detach().double().numpy() for part in (POINTS, domain))
        G, theirs = G[THEIRS >= 0], THEIRS[THEIRS >= 0]
        shift = np.sum((G.mean(axis=0) - H.mean(axis=0)) ** 2) / np.trace(np.cov(H.T, bias=True))
        mu, nu = (np.array([A[c == k].mean(axis=0) for k in range(3)]) for A, c in ((H, CLASSES), (G, theirs)))
        right = np.linalg.norm(G[:, None] - mu, axis=2).argmin(axis=1) == theirs
        cosines = [
            (a @ b) / np.linalg.norm(a) / np.linalg.norm(b)
            for a, b in zip(mu - mu.mean(axis=0), nu - nu.mean(axis=0), strict=True)
        ]
        here = found.sel(layer=name)
        np.testing.assert_allclose(here["domain_shift"], shift, rtol=1e-6)
        np.testing.assert_allclose(here["transfer_accuracy"], right.mean())
        np.testing.assert_allclose(here["class_mean_cosine"], np.mean(cosines), rtol=1e-6)


def test_classes_of_one_domain_alone_do_not_count_and_without_common_ones_only_the_means_are_compared():
    H, labels = POINTS.numpy(), np.where(CLASSES == 2, 7, CLASSES)
    some = domain_shift(H, OTHERS.numpy(), labels, THEIRS)
    kept = np.isin(THEIRS, [0, 1])
    both = domain_shift(H, OTHERS.numpy()[kept], labels, THEIRS[kept])
    assert {name: some[name] for name in TRANSFER} == {name: both[name] for name in TRANSFER}
    assert set(domain_shift(H, OTHERS.numpy(), labels, THEIRS + 20)) == {"domain_shift"}
    targets = measure(nn.Linear(4, 1), POINTS, targets=POINTS[:, :1], held_out=(OTHERS, OTHERS[:, :1]))
    assert np.isfinite(targets["domain_shift"]).all()
    assert np.isnan(targets["transfer_accuracy"]).all()


@pytest.mark.parametrize("batch_size", [None, 5])
def test_the_same_points_in_another_form(batch_size):
    noisy = POINTS + 0.3 * torch.randn(12, 4, generator=torch.Generator().manual_seed(5))
    found = measure(classifier(), POINTS, labels=CLASSES, other_form=noisy, batch_size=batch_size)
    for name, layer in (("input", nn.Sequential()), ("0", classifier()[:1]), ("2", classifier())):
        H, G = (layer(part).detach().double().numpy() for part in (POINTS, noisy))
        apart = np.mean([np.sum((H[i] - H[j]) ** 2) for i in range(12) for j in range(12) if i != j])
        here = found.sel(layer=name)
        np.testing.assert_allclose(here["form_distance"], np.mean(np.sum((G - H) ** 2, axis=1)) / apart, rtol=1e-6)
        np.testing.assert_allclose(here["form_cka"], debiased_cka(H, G), rtol=1e-5)
    same = measure(classifier(), POINTS, other_form=POINTS)
    np.testing.assert_allclose(same["form_distance"], 0)
    np.testing.assert_allclose(same["form_cka"], 1)
    alone = measure(classifier(), POINTS, labels=CLASSES, batch_size=batch_size)
    xr.testing.assert_identical(found.drop_vars(FORMS), alone)


def test_every_class_has_an_effective_rank_without_its_mean():
    labels = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, -100, 1, 0])
    found = measure(classifier(), POINTS, labels=labels, measures=["class_ranks"])["class_effective_rank"]
    A = classifier()[:2](POINTS).detach().double().numpy()
    for k in (0, 1):
        wanted = effective_rank(A[labels == k] - A[labels == k].mean(axis=0))
        np.testing.assert_allclose(found.sel({"layer": "1", "class": k}), wanted, rtol=1e-6)
    assert np.isnan(found.sel({"class": 2})).all()  # a single point


def test_held_out_targets_have_the_loss_of_targets_or_the_loss_of_the_user():
    targets, theirs = torch.randn(12, 3, generator=generator), torch.randn(9, 3, generator=generator)
    found = measure(classifier(), POINTS, targets=targets, held_out=(OTHERS, theirs), measures=["loss"])
    wanted = float(((classifier()(OTHERS) - theirs) ** 2).mean().detach() / 2)
    assert float(found["loss_held_out"]) == pytest.approx(wanted, rel=1e-6)
    own = measure(classifier(), POINTS, labels=CLASSES, held_out=(OTHERS, THEIRS), loss=nn.functional.cross_entropy)
    wanted = float(nn.functional.cross_entropy(classifier()(OTHERS), torch.tensor(THEIRS)).detach())
    assert float(own["loss_held_out"]) == pytest.approx(wanted, rel=1e-6)


def test_failures_on_held_out_points_are_missing_with_their_reason():
    found = measure(classifier(), POINTS, labels=CLASSES, held_out=(OTHERS, THEIRS + 4 * (THEIRS >= 0)))
    assert np.isnan(found["accuracy_held_out"])
    assert np.isfinite(found["accuracy"])
    assert "held-out points, loss" in found.attrs["left_out"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"held_out": OTHERS}, "held_out.*Tensor"),
        ({"held_out": (OTHERS, THEIRS, 0)}, "held_out.*3"),
        ({"held_out": (OTHERS, THEIRS[:4])}, r"labels.*\(4,\)"),
        ({"held_out": (OTHERS[:, :2], THEIRS)}, r"\(9, 2\)"),
        ({"held_out": (OTHERS, THEIRS), "measures": ["angles"]}, "angles.*ranks"),
        ({"held_out": (OTHERS, THEIRS), "features": Features("tokens", -1, np.ones((12, 4), bool))}, "mask"),
        ({"other_form": OTHERS}, "other_form has 9 points.*12"),
        ({"other_form": POINTS, "measures": ["ranks"]}, "other_form.*ranks.*forms"),
        ({"measures": ["forms"]}, "forms.*other_form"),
        ({"other_form": labeled(POINTS, 1 - CLASSES), "inputs": labeled(POINTS, CLASSES)}, "other_form: 12 of 12"),
    ],
)
def test_other_points_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        measure(classifier(), **{"inputs": POINTS, "labels": CLASSES} | options)


def test_a_recorder_records_held_out_points_in_memory_and_in_a_file_and_logs_them(tmp_path):
    logged = {}
    options = {"labels": CLASSES, "held_out": (OTHERS, THEIRS), "measures": ["ranks", "accuracy"]}
    loader = torch.utils.data.DataLoader(OTHERS, batch_size=5)  # is gone through once
    model = classifier()
    recorder = Recorder(model, POINTS, logger=lambda values, step: logged.update({step: values}), **options)
    growing = Recorder(model, POINTS, file=tmp_path / "found.nc", **options | {"held_out": (loader, THEIRS)})
    moments = []
    for step in range(2):
        recorder(step)
        growing(step)
        moments.append(measure(model, OTHERS, labels=THEIRS, measures=["ranks", "accuracy"]))
        with torch.no_grad():
            model[0].weight += 1
    for found in (recorder.dataset(), growing.dataset()):
        assert found["numerical_rank_held_out"].dtype == np.int64
        for name in ("accuracy", "effective_rank", "numerical_rank"):
            np.testing.assert_allclose(found[f"{name}_held_out"], [moment[name] for moment in moments], rtol=1e-6)
    assert logged[1]["repdyn/accuracy_held_out"] == float(moments[1]["accuracy"])
    assert scalars(recorder.dataset())["effective_rank_held_out/0"] == float(
        moments[1]["effective_rank"].sel(layer="0")
    )


def test_a_recorder_records_another_form_and_goes_on_with_it(tmp_path):
    model, options = classifier(), {"measures": ["forms"], "file": tmp_path / "found.nc"}
    loader = torch.utils.data.DataLoader(POINTS + 1, batch_size=4)  # is gone through once
    recorder = Recorder(model, POINTS, other_form=loader, **options)
    recorder(0)
    with torch.no_grad():
        model[0].weight *= 2
    wanted = measure(model, POINTS, other_form=POINTS + 1, measures=["forms"])
    again = Recorder(model, POINTS, other_form=loader, resume=True, **options)
    again(1)
    for name in FORMS:
        np.testing.assert_allclose(again.dataset()[name].isel(step=-1), wanted[name], rtol=1e-5)
    with pytest.raises(DataError, match="other_form"):
        Recorder(model, POINTS, other_form=POINTS + 2, resume=True, **options)
