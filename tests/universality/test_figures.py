"""Moments of figures that are found in the data: made-up curves of which one knows where they are half way."""

import numpy as np
import pytest
import xarray as xr

from repdyn.universality.figures.dynamics import fig1_two_points


@pytest.mark.parametrize(("before", "frame"), [(0.49, 3), (0.51, 2)])
def test_half_way_up_in_figure_1_the_outputs_are_half_as_far_apart_as_at_the_end(before, frame):
    """The curves hold squared distances: half of the way is a quarter of the last one."""
    dy = np.array([0.0, 0.1, before, 0.52, 0.9, 1.0]) * np.sqrt(0.5)
    epochs = 10 * np.arange(6)
    curves = np.stack([0.1 + dy**2, dy**2, -0.1 * dy])
    data = xr.Dataset(
        {
            "shown_curves": (("source", "curve", "epoch"), np.stack([curves, 0 * curves])),
            "shown": 0,
            "units": 100,
            "halfway": 10,
        },
        {"source": ["network", "theory"], "curve": ["h", "y", "w"], "epoch": epochs},
    )
    panels = fig1_two_points(data).axes
    assert [panel.get_title() for panel in panels[:3]] == [
        "start, epoch 0",
        f"half way up, epoch {epochs[frame]}",
        "end, epoch 50",
    ]
    outputs = panels[1].get_lines()[2].get_xdata()
    np.testing.assert_allclose(np.diff(outputs), dy[frame])
