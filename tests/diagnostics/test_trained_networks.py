"""Networks really trained, three seeds each: verdicts of all six topics."""

import copy

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from repdyn.diagnostics.summary import summarize

TOPICS = ("learned", "collapse", "bottleneck", "odd point", "features", "memorized")
POINTS = 300


def digits(seed, count=POINTS):
    """Points to train on and held-out ones, each with classes."""
    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.target))
    X, labels = torch.tensor(data.data / 16 - 0.5), torch.tensor(data.target)
    return [(X[part], labels[part]) for part in (order[:count], order[count : 2 * count])]


def perceptron(seed, *widths, activation=nn.ReLU, ends=(64, 10)):
    torch.manual_seed(seed)
    sizes = [ends[0], *widths]
    hidden = [
        part
        for a, b in zip(sizes, widths, strict=False)
        for part in (nn.Linear(a, b, dtype=torch.float64), activation())
    ]
    return nn.Sequential(*hidden, nn.Linear(sizes[-1], ends[1], dtype=torch.float64))


class Scaled(nn.Module):
    """A network times a large factor, less what it was at first: little has to change (Chizat, Oyallon, Bach 2019)."""

    def __init__(self, network, factor):
        super().__init__()
        self.network, self.first, self.factor = network, copy.deepcopy(network).requires_grad_(False), factor

    def forward(self, X):
        return self.factor * (self.network(X) - self.first(X))


def trained(network, points, steps=300, rate=1e-3, decay=0.0):
    """By Adam on the cross-entropy, all points at once; the network before and after."""
    before = copy.deepcopy(network)
    X, labels = points
    optimizer = torch.optim.Adam(
        [part for part in network.parameters() if part.requires_grad], rate, weight_decay=decay
    )
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(X), labels).backward()
        optimizer.step()
    return before, network


def topics(networks, points, held_out, layers=None):
    (before, network), (X, labels), (others, theirs) = networks, points, held_out
    verdicts = summarize(network, X, layers, labels=labels.numpy(), before=before, held_out=(others, theirs.numpy()))
    return {sentence.topic: sentence.verdict for sentence in verdicts}


def plain(seed):
    points, others = digits(seed)
    return topics(trained(perceptron(seed, 100, 100, 100), points), points, others)


def two_units(seed):
    points, others = digits(seed)
    return topics(trained(perceptron(seed, 100, 2, 100, activation=nn.Tanh), points), points, others)


def random_labels(seed):
    points, others = digits(seed)
    torch.manual_seed(seed)
    points = points[0], points[1][torch.randperm(POINTS)]
    return topics(trained(perceptron(seed, 200, 200), points, steps=600), points, others)


def untrained(seed):
    points, others = digits(seed)
    network = perceptron(seed, 100, 100, 100)
    return topics((copy.deepcopy(network), network), points, others)


def large_factor(seed):
    points, others = digits(seed)
    return topics(trained(Scaled(perceptron(seed, 400), 1e4), points, rate=1e-6), points, others, ["network.1"])


def few_classes_long(seed):
    points, others = ((X[labels < 3], labels[labels < 3]) for X, labels in digits(seed))
    return topics(trained(perceptron(seed, 100, 100), points, steps=800, rate=3e-3, decay=1e-3), points, others)


ORDINARY = {"learned": "yes", "odd point": "no", "features": "yes", "memorized": "no"}
KNOWN = {
    plain: ORDINARY | {"collapse": "no", "bottleneck": "no"},
    two_units: ORDINARY | {"collapse": "yes", "bottleneck": "yes"},
    random_labels: ORDINARY | {"collapse": "no", "bottleneck": "no", "memorized": "yes"},
    untrained: {"collapse": "no", "bottleneck": "no", "odd point": "no"},
    large_factor: {"learned": "yes", "features": "no", "odd point": "no", "memorized": "no"},
    few_classes_long: {"learned": "yes", "collapse": "yes", "odd point": "no", "memorized": "no"},
}
EXCLUDED = {untrained: {"features": "no", "memorized": "yes"}}
"""Verdicts that are wrong, where the points may be too few to decide."""


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
@pytest.mark.parametrize("network", KNOWN, ids=lambda make: make.__name__)
def test_verdicts_on_trained_networks(network, seed):
    verdicts = network(seed)
    assert tuple(verdicts) == TOPICS
    assert {topic: verdicts[topic] for topic in KNOWN[network]} == KNOWN[network]
    assert all(verdicts[topic] != verdict for topic, verdict in EXCLUDED.get(network, {}).items())
