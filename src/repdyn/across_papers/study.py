"""The study `across_papers`: four networks through the diagnostics of all papers."""

from repdyn.across_papers.settings import WORK, AcrossPapers
from repdyn.base.declarations import Simulation, Study

STUDY = Study(
    title="Across the papers",
    settings=AcrossPapers,
    order=1001,
    jobs=(
        Simulation("training", "two_points", "digits", "odd_batch", memory_mb=1000),
        Simulation("theory_fits", "theory_fits"),
    ),
    work=WORK,
)
