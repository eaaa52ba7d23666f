"""Small networks for tests."""

import torch
from torch import nn


def network_of(parts=dict, *, seed=None, base=nn.Module):
    """Makes the forward pass below it a class of networks.

    Args:
        parts: returns what each of them has, modules and others by name.
        seed: of torch's random numbers before the parts are made; None leaves them as they are.
        base: class of networks that has further parts.
    """

    def decorate(forward):
        def start(self):
            base.__init__(self)
            if seed is not None:
                torch.manual_seed(seed)
            for name, part in parts().items():
                setattr(self, name, part)

        return type(forward.__name__, (base,), {"__init__": start, "forward": forward, "__doc__": forward.__doc__})

    return decorate
