"""The study `diagnostics`: the five papers' diagnostics on one small network that none of them uses."""

from repdyn.base.declarations import Simulation, Study
from repdyn.diagnostics.settings import Diagnostics

STUDY = Study(
    title="The diagnostics on your own network",
    settings=Diagnostics,
    order=1000,
    jobs=(Simulation("network", "convolutional_network", memory_mb=1000), Simulation("two_points", "two_points")),
)
