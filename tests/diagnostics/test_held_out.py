"""Held-out points beside the others: the numbers of a measurement of their own, recorded, logged."""

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from repdyn.base.datasets import problems
from repdyn.diagnostics.measure import Recorder, measure
from repdyn.diagnostics.methods.reader import Features
from repdyn.diagnostics.methods.recording import scalars

MEASURES = ["ranks", "collapse", "loss", "accuracy"]
generator = torch.Generator().manual_seed(0)
POINTS, OTHERS = torch.randn(12, 4, generator=generator), torch.randn(9, 4, generator=generator)
LABELS, THEIRS = np.arange(12) % 3, np.array([0, 1, 2, 2, 1, 0, 0, -100, 1])


def network(outputs=3):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, outputs))


def test_held_out_numbers_are_those_of_a_measurement_of_these_points_alone():
    both = measure(network(), POINTS, labels=LABELS, held_out=(OTHERS, THEIRS))
    alone = measure(network(), OTHERS, labels=THEIRS, measures=MEASURES)
    added = {str(name) for name in both.data_vars if str(name).endswith("_held_out")}
    assert added == {f"{name}_held_out" for name in alone.data_vars}
    for name, values in alone.data_vars.items():
        np.testing.assert_array_equal(both[f"{name}_held_out"], values)
    assert both["label_held_out"].values.tolist() == THEIRS.tolist()
    assert not [problem for problem in problems(both) if not problem.startswith("attribute")]


def test_the_numbers_of_the_points_do_not_change():
    alone = measure(network(), POINTS, labels=LABELS)
    both = measure(network(), POINTS, labels=LABELS, held_out=(OTHERS, torch.tensor(THEIRS)))
    kept = both.drop_vars([name for name in both.variables if str(name).endswith("_held_out")])
    xr.testing.assert_identical(kept, alone)


def test_held_out_targets_have_the_loss_of_targets_or_the_loss_of_the_user():
    targets, theirs = torch.randn(12, 3, generator=generator), torch.randn(9, 3, generator=generator)
    found = measure(network(), POINTS, targets=targets, held_out=(OTHERS, theirs), measures=["loss"])
    wanted = float(((network()(OTHERS) - theirs) ** 2).mean().detach() / 2)
    assert float(found["loss_held_out"]) == pytest.approx(wanted, rel=1e-6)
    own = measure(network(), POINTS, labels=LABELS, held_out=(OTHERS, THEIRS), loss=nn.functional.cross_entropy)
    wanted = float(nn.functional.cross_entropy(network()(OTHERS), torch.tensor(THEIRS)).detach())
    assert float(own["loss_held_out"]) == pytest.approx(wanted, rel=1e-6)


def test_what_fails_on_held_out_points_is_missing_with_its_reason():
    found = measure(network(), POINTS, labels=LABELS, held_out=(OTHERS, THEIRS + 4 * (THEIRS >= 0)))
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
    ],
)
def test_held_out_points_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        measure(network(), POINTS, labels=LABELS, **options)


def test_a_recorder_records_held_out_points_in_memory_and_in_a_file_and_logs_them(tmp_path):
    logged = {}
    options = {"labels": LABELS, "held_out": (OTHERS, THEIRS), "measures": ["ranks", "accuracy"]}
    loader = torch.utils.data.DataLoader(OTHERS, batch_size=5)  # is gone through once
    model = network()
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
