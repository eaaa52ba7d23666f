"""Short trainings recorded with held-out points: verdicts on a rich one, a lazy one and one on random labels."""

import numpy as np
import pytest
import torch
from torch import nn

from repdyn.diagnostics.measure import Recorder
from repdyn.diagnostics.training_summary import summarize_training

MOMENTS = (0, 2, 5, 12, 25, 45, 70, 100, 130, 149)
MEASURES = ["ranks", "collapse", "targets", "pairs", "accuracy"]


def clusters(seed, points=60, apart=1.2):
    """Points around one of three random places in 20 dimensions, and which; not `apart`, classes are random labels."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(points) % 3
    places = apart * torch.randn(3, 20, generator=torch.Generator().manual_seed(99))
    return places[labels] + torch.randn(points, 20, generator=generator), labels


def recorded(hidden, seed, *, apart=1.2, scale=1.0):
    """A perceptron trained by Adam; a large `scale` of the output makes it lazy (Chizat, Oyallon, Bach 2019)."""
    torch.manual_seed(seed)
    (X, labels), others = clusters(seed, apart=apart), clusters(seed + 50, apart=apart)
    model = nn.Sequential(nn.Linear(20, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 3))
    with torch.no_grad():
        model[4].weight *= scale
        model[4].bias *= scale
    optimizer = torch.optim.Adam(model.parameters(), 1e-2 / scale)
    recorder = Recorder(model, X, labels=labels, held_out=others, measures=MEASURES)
    for step in range(150):
        if step in MOMENTS:
            recorder(step)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(X), labels).backward()
        optimizer.step()
    return recorder.dataset()


def verdicts(dataset):
    return {sentence.topic: sentence for sentence in summarize_training(dataset)}


def test_a_rich_training_learns_collapses_classes_and_ranks_and_does_not_memorize():
    dataset = recorded(40, 0)
    found = verdicts(dataset)
    topics = [f"{name} over time" for name in ("accuracy", "collapse", "rank", "memorized")]
    assert [found[topic].verdict for topic in topics] == ["yes", "yes", "yes", "no"]
    assert found["rank over time"].interval.low > 1  # it falls
    layer, late = "3", dataset.isel(step=-1)
    share = late["within"] / (late["within"] + late["between"])
    assert found["collapse over time"].interval.value == pytest.approx(float(share.sel(layer=layer)))


def test_a_lazy_training_learns_and_hardly_changes_its_layers():
    found = verdicts(recorded(150, 2, scale=100.0))
    assert found["accuracy over time"].verdict == "yes"
    assert found["rank over time"].verdict == "no"
    assert found["collapse over time"].verdict != "yes"


def test_random_labels_are_memorized():
    found = verdicts(recorded(100, 3, apart=0))
    assert found["accuracy over time"].verdict == "yes"
    assert found["memorized over time"].verdict == "yes"
    assert np.isfinite(found["memorized over time"].interval).all()
