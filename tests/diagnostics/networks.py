"""Small networks, and numbers of representations by their definitions, for tests."""

import numpy as np
import torch
from scipy import stats
from threadpoolctl import threadpool_info
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


def counted(module):
    """Points of each call of a module, from now on."""
    calls, forward = [], module.forward
    own = {"forward": lambda _, x: (calls.append(len(x)), forward(x))[1]}
    module.__class__ = type("Counted", (module.__class__,), own)
    return calls


def threads():
    """Threads of each library of linear algebra."""
    return {pool["filepath"]: pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def effective_rank(A):
    """Exponential of the entropy of the singular values over their sum."""
    s = np.linalg.svd(np.asarray(A, float), compute_uv=False)
    share = s[s > 1e-12 * s[0]] / s.sum()
    return np.exp(-np.sum(share * np.log(share)))


def hsic(A, B):
    """Unbiased HSIC of linear kernels as Song et al. (2012) write it, eq. (5)."""
    K, L = (G - np.diag(np.diag(G)) for G in (A @ A.T, B @ B.T))
    n, one = len(K), np.ones(len(K))
    inner = np.trace(K @ L) + one @ K @ one * (one @ L @ one) / ((n - 1) * (n - 2)) - 2 / (n - 2) * (one @ K @ L @ one)
    return inner / (n * (n - 3))


def debiased_cka(A, B):
    return hsic(A, B) / np.sqrt(hsic(A, A) * hsic(B, B))


def leaving_folds_out(statistic, points, folds=10):
    """Value and half width of the interval of 99 % that the jackknife gives, a fold being every tenth point."""
    parts = [statistic(np.delete(np.arange(points), np.arange(fold, points, folds))) for fold in range(folds)]
    error = np.sqrt((folds - 1) / folds * np.sum((parts - np.mean(parts)) ** 2))
    return statistic(np.arange(points)), stats.t.ppf(0.995, folds - 1) * error
