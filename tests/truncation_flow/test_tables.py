"""Every cell of the tables against numbers computed from made-up datasets."""

import numpy as np
from tests.made_up_cells import compare, dataset

from repdyn.truncation_flow import tables


def test_the_construction_has_computed_and_measured_margins_and_the_worst_cluster():
    names = ("shift", "radius", "own_margin", "own_direct", "others_margin", "others_direct")
    data = dataset(
        {"dimension": [2, 3, 8], "time": [0.0, 0.5, 2.0, 9.0], "cluster": range(5)},
        dict.fromkeys(names, "dimension")
        | dict.fromkeys(("margin", "cost"), "dimension time")
        | dict.fromkeys(("arrival", "start_share"), "dimension cluster"),
        points=60,
        fill=0.8,
    )
    data["arrival"][0, 3] = data["start_share"][0, 3] = np.nan  # there are fewer clusters where Q is small
    words = ("label shift t*", "largest radius", "own margin, formula", "own margin, measured")
    words += ("others' margin, formula", "others' margin, measured")
    rows = []
    for place, dimension in enumerate((2, 3, 8)):
        cost = data["cost"].values[place]
        rows.append(
            {
                "Q": dimension,
                **{column: data[name].values[place] for column, name in zip(words, names, strict=True)},
                "least margin on the way": min(data["margin"].values[place]),
                "last arrival s_1": np.nanmax(data["arrival"].values[place]),
                "least truncated share at 0": np.nanmin(data["start_share"].values[place]),
                "C(end)/C(0)": cost[3] / cost[0],
            }
        )
    compare(tables.construction(data).frame, rows)
