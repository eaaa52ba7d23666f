"""The study `truncation_flow`: effective gradient flow and dynamical truncation of training data (Chen)."""

from repdyn.base.declarations import Explorer, Opening, Simulation, Study
from repdyn.truncation_flow.settings import GROUP, WORK, TruncationFlow

STUDY = Study(
    title="Truncation flow",
    settings=TruncationFlow,
    order=1,
    jobs=(
        Simulation(  # one job: they share a compiled flow
            "one_cluster",
            *("gradient_audit", "random_clusters", "counterexamples", "staircase", "proposition"),
            *("printed_and_corrected", "integrators", "neural_collapse", "truncation_in_the_plane"),
        ),
        Simulation("own_clusters", "own_clusters"),
        Simulation("trained_output", "collapsed_clusters", "propagators", "reduced_network", "output_layer"),
        Simulation("general_flow", "general_flow", cut={"general_flow": [("seeds", GROUP)]}),
    ),
    work=WORK,
    explorer=Explorer(
        "Train it: a ReLU layer beside the printed and the corrected flow",
        "A ReLU layer seen from its input is a cone: points inside stay, all others are moved to its boundary. Before "
        "it trains, both flows of Theorem 3.2 are drawn from its start: as printed (orange-red, dashed) and as "
        "corrected (blue). Then the layer (black dots, gray cone) descends by the exact gradient of its cost, which "
        "needs neither formula. Drag the cluster (gray ring), its label (green ring) or the apex at the start (purple "
        "ring).",
        "printed_and_corrected",
    ),
    opening=Opening(
        dataset="printed_and_corrected",
        at={"example": "rise"},
        shows=("time", "formula", *(f"example_{name}" for name in ("cost", "apex", "turn", "image", "point", "label"))),
        claim="tf-thm32-omega",
        says="the cost of one data point goes from {start[example_cost][0]:.3f} to {end[example_cost][0]:.3f} along "
        "the printed flow and to {end[example_cost][1]:.3f} along the corrected one",
        label="The image of a data point moves in the plane along the printed and the corrected flow, beside its cost.",
    ),
)
