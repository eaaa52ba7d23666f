"""The study `bn_mean_field`: Riemannian mean field for two-layer networks with batch normalization (Ma, Ying)."""

from repdyn.base.declarations import Explorer, Simulation, Study
from repdyn.bn_mean_field.settings import BnMeanField

STUDY = Study(
    title="Mean field with batch normalization",
    settings=BnMeanField,
    order=2,
    jobs=(
        Simulation("audits", "formula_audit", "batch_norm_eps", "metric_audit", "equivalence", memory_mb=1500),
        Simulation("propagation", "propagation"),
        Simulation("propagation_distances", "propagation_distances", memory_mb=1500, minutes=120),
        Simulation("theorem4", "equicontinuity", "exit_times", "well_posedness"),
        Simulation("minimization", "minimization"),
        Simulation(  # one job: they share a compiled loop
            "descent",
            "anisotropy",
            "speed_ratio",
            "target_scan",
            "learning_rates",
            "magnitudes",
            "first_step",
            memory_mb=1500,
            minutes=60,
        ),
        Simulation("features", "feature_learning", "concentration", minutes=60),
        Simulation("finite_batch", "finite_batch"),
    ),
    explorer=Explorer(
        "Train it: networks with and without batch normalization, at equal iteration or equal loss",
        "Two networks learn $y = w^T x$ from the same start, one with batch normalization (blue), one without "
        "(orange-red). Before they train, the lines and pale spikes show the same descent at infinite width, "
        "computed from equations (21) and (22). At equal iteration the fastest neuron with batch normalization "
        "is about ten times as fast, as in Figure 1; at equal loss it is the slower one for this target, and not for "
        "every other. Drag the target (green). Below is the ellipse $b^T \\Sigma b = 1$ with the paper's metric: drag "
        "two points.",
        "round_manifold",
    ),
)
