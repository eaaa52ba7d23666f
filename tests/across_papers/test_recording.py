"""Singular values of all seeds at once: each seed's own, as many as points, and gaps where one number is missing."""

import numpy as np
import torch

from repdyn.across_papers.methods.recording import SpectrumRecorder


class Given:
    """Networks whose representations at half depth and outputs are given, whatever their inputs."""

    def __init__(self, middle, output):
        self.both = middle, output

    def at_half_depth(self, X):
        return self.both


def centered_values(points, count):
    values = np.linalg.svd(points - points.mean(axis=0))[1]
    return np.pad(values, (0, count - values.size))


def test_one_infinite_activation_leaves_its_seed_alone_without_singular_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4))
    looks = [[rng.normal(size=(3, 6, 5)), rng.normal(size=(3, 6, 2))] for _ in range(2)]
    looks[1][0][1, 4, 2] = np.inf
    recorder = SpectrumRecorder(torch.from_numpy(X))
    for middle, output in looks:
        recorder(Given(torch.from_numpy(middle), torch.from_numpy(output)))
    data = recorder.dataset(["first", "last"])
    np.testing.assert_allclose(data["input_values"], centered_values(X, 6), atol=1e-12)
    for end, (middle, output) in zip(("first", "last"), looks, strict=True):
        for seed in range(3):
            own = data.sel(end=end).isel(seed=seed)
            np.testing.assert_allclose(own["output_values"], centered_values(output[seed], 6), atol=1e-12)
            if (end, seed) == ("last", 1):
                assert np.isnan(own["middle_values"]).all()
            else:
                np.testing.assert_allclose(own["middle_values"], centered_values(middle[seed], 6), atol=1e-12)
