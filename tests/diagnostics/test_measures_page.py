"""The page of measures lists what a dataset of `measure` holds."""

import numpy as np
import torch
from tests.conftest import ROOT
from torch import nn

from repdyn.diagnostics.measure import measure


def test_every_variable_of_a_full_measurement_is_a_row_with_its_dimensions_units_and_place():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 3))
    found = measure(model, torch.randn(9, 4), labels=np.arange(9) % 3, residual=["1", "2"])
    page = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    sections = {part.split("\n")[0]: part for part in page.split("\n## ")[1:]}
    rows = {line.split("`")[1]: line for part in sections.values() for line in part.splitlines() if line[:3] == "| `"}
    assert set(rows) == set(found.data_vars)
    for name, values in found.data_vars.items():
        cells = rows[name].replace("\\|", "/").split(" | ")
        dims, units, place = cells[2:5]
        assert dims.replace("`", "") == (", ".join(values.dims) or "none")
        assert units == values.attrs["units"]
        assert place == f"`{values.attrs['study']}`, {values.attrs['equation']}"
        paper = next(line for line in page.splitlines() if line.startswith(f"| `{values.attrs['study']}`"))
        assert values.attrs["paper"] in paper
    for name, section in sections.items():
        alone = measure(model, torch.randn(9, 4), labels=np.arange(9) % 3, residual=["1", "2"], measures=[name])
        assert {variable for variable in rows if rows[variable] in section} == set(alone.data_vars)
