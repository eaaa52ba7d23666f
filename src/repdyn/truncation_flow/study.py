"""The study `truncation_flow`: effective gradient flow and dynamical truncation of training data (Chen)."""

from repdyn.base.declarations import Explorer, Simulation, Study
from repdyn.truncation_flow.settings import TruncationFlow

STUDY = Study(
    title="Truncation flow",
    settings=TruncationFlow,
    order=1,
    jobs=(
        Simulation("audits", "gradient_audit", "random_clusters", "counterexamples", "staircase", "proposition"),
        Simulation("one_cluster", "printed_and_corrected", "integrators", "neural_collapse", "truncation_in_the_plane"),
        Simulation("own_clusters", "own_clusters"),
        Simulation("trained_output", "collapsed_clusters", "propagators", "reduced_network", "output_layer"),
        Simulation("general_flow", "general_flow"),
    ),
    explorer=Explorer(
        "Move it: the printed and the corrected flow",
        "A cluster in the plane (black), its label (green), the apex of the truncation cone at the start "
        "(gray): drag them. Points outside the cone are moved to its border. The printed weight flow of "
        "Theorem 3.2 and the corrected one start from the same cone; along a gradient flow the cost "
        "falls.",
        "printed_and_corrected",
    ),
)
