"""Hooks of the user: those that watch see no pass of ours, those that the network needs run."""

import functools

import numpy as np
import pytest
import torch
from tests.diagnostics.networks import effective_rank
from torch import nn

from repdyn.diagnostics.measure import Recorder, measure

X = torch.randn(12, 6, generator=torch.Generator().manual_seed(0))
LABELS = np.arange(12) % 3
SEEN = []  # by hooks that keep what they see in a global name


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


class Store:
    """An object that counts and keeps what a hook sees."""

    def __init__(self):
        self.count, self.values, self.total = 0, [], np.zeros(1)

    def __call__(self, *given):
        self.count += 1
        self.total += 1
        self.values.append(given[-1])

    def state(self):
        return self.count, len(self.values), self.total.item()


def store_globally(_module, _given, value):
    SEEN.append(value)


def by_closure(model):
    seen = {}
    model[2].register_forward_hook(lambda _m, _i, value: seen.update(values=[*seen.get("values", []), value]))
    return lambda: len(seen.get("values", []))


def by_count(model):
    count = 0

    def add(*_):
        nonlocal count
        count += 1

    model[0].register_forward_pre_hook(add)
    return lambda: count


def by_object(model):
    store = Store()
    model[2].register_forward_hook(store)
    model[3].register_forward_pre_hook(store)
    return store.state


def by_global(model):
    SEEN.clear()
    model[2].register_forward_hook(store_globally)
    return lambda: len(SEEN)


def by_attribute(model):
    model[2].register_forward_hook(lambda module, _, value: setattr(module, "seen", value))
    return lambda: hasattr(model[2], "seen")


def backward(model):
    store = Store()
    model[3].register_full_backward_hook(store)
    model[3].register_full_backward_pre_hook(store)
    model[3].weight.register_hook(store)
    return store.state


def of_all_modules(model):
    store = Store()
    handle = nn.modules.module.register_module_forward_hook(store)
    return lambda: (store.state(), handle)[0]


def by_attribute_of_its_own(model):
    def add(*_):
        add.count += 1

    add.count = 0
    model[2].register_forward_hook(add)
    return lambda: add.count


def decorated(model):
    seen = []

    @torch.no_grad()
    def store(_module, _given, value):
        seen.append(value.mean())

    model[2].register_forward_hook(store)
    return lambda: len(seen)


def around_forward(model):
    forward = model[3].forward

    @functools.wraps(forward)
    def counting(*given):
        counting.count += 1
        return forward(*given)

    counting.count, model[3].forward = 0, counting
    return lambda: counting.count


WATCHING = [
    by_closure,
    by_count,
    by_object,
    by_global,
    by_attribute,
    by_attribute_of_its_own,
    decorated,
    around_forward,
    backward,
    of_all_modules,
]


@pytest.mark.parametrize("register", WATCHING)
def test_a_hook_that_watches_sees_no_pass_and_goes_on_afterwards(register):
    plain = measure(network(), X, labels=LABELS)
    model = network()
    state = register(model)
    try:
        before = state()
        assert measure(model, X, labels=LABELS).identical(plain)
        Recorder(model, X, labels=LABELS)(0)
        assert state() == before
        nn.functional.cross_entropy(model(X), torch.from_numpy(LABELS)).backward()
        assert state() != before
    finally:
        nn.modules.module._global_forward_hooks.clear()


def steer(_module, _given, value):
    return value + torch.arange(8.0)


def scale_in_place(_module, given):
    given[0].mul_(3)


NEEDED = {
    "returns another output": lambda model: model[0].register_forward_hook(steer),
    "changes its input in place": lambda model: model[2].register_forward_pre_hook(scale_in_place),
    "puts its weight in place": lambda model: model[3].register_forward_pre_hook(
        lambda module, _: setattr(module.weight, "data", torch.ones(3, 8))
    ),
    "gets keywords": lambda model: model[0].register_forward_hook(
        lambda _m, _args, _kwargs, value: 2 * value - 1, with_kwargs=True
    ),
}


@pytest.mark.parametrize("kind", NEEDED)
def test_a_hook_that_the_network_needs_runs_beside_one_that_watches(kind):
    model, store = network(), Store()
    NEEDED[kind](model)
    model[2].register_forward_hook(store)
    with torch.no_grad():
        wanted = model.eval()(X).double().numpy()
    seen = store.state()
    found = measure(model, X, ["output"], measures=["ranks"])
    assert float(found["effective_rank"][0]) == pytest.approx(effective_rank(wanted))
    assert store.state() == seen


def test_hooks_keep_their_order_and_one_that_removes_itself_still_runs():
    model, order = network(), []
    model[2].register_forward_hook(lambda *_: order.append("first"))
    once = model[2].register_forward_hook(lambda *_: (order.append("once"), once.remove())[0])
    model[2].register_forward_hook(lambda *_: order.append("last"))
    measure(model, X, measures=["ranks"])
    model(X), model(X)
    assert order == ["first", "once", "last", "first", "last"]


def test_a_hook_that_comes_between_two_moments_is_off_too():
    model, store = network(), Store()
    recorder = Recorder(model, X, measures=["ranks"])
    recorder(0)
    model[2].register_forward_hook(store)
    recorder(1)
    assert store.state() == (0, 0, 0)


def test_a_penalty_on_what_a_hook_keeps_is_that_of_the_users_pass():
    def gradient(recorded):
        model, kept = network(), {}
        model[2].register_forward_hook(lambda _m, _i, value: kept.update(value=value))
        recorder = Recorder(model, X, measures=["ranks"])
        loss = model(X).square().mean()
        if recorded:
            recorder(0)
        (loss + kept["value"].abs().mean()).backward()
        return model[0].weight.grad

    assert torch.equal(gradient(True), gradient(False))


def test_what_a_hook_that_watches_does_elsewhere_it_does_in_one_pass_alone(capsys):
    model = network()
    model[2].register_forward_hook(lambda *_: print("seen"))
    recorder = Recorder(model, X, labels=LABELS)
    for step in range(3):
        recorder(step)
    assert capsys.readouterr().out == "seen\n"


def test_a_hook_that_the_network_needs_keeps_what_it_kept():
    class Steering:
        def __init__(self):
            self.count, self.seen = 0, []

        def __call__(self, _module, _given, value):
            self.count += 1
            self.seen.append(value)
            return value + self.count

    model, steering = network(), Steering()
    model[2].register_forward_hook(steering)
    first, second = (measure(model, X, labels=LABELS) for _ in range(2))
    assert first.identical(second)
    assert (steering.count, steering.seen) == (0, [])
