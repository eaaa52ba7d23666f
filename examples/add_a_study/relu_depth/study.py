"""The study `relu_depth`: two points through a plain ReLU network (Cho and Saul)."""

from repdyn.base.declarations import Simulation, Study
from repdyn.relu_depth.settings import ReluDepth

STUDY = Study(
    title="Two points through a plain ReLU network", settings=ReluDepth, jobs=(Simulation("data", "overlaps", "gaps"),)
)
