"""The order of the paper, in which the report shows the tables."""

ORDER = ("formulas", "laboratory", "chains")
