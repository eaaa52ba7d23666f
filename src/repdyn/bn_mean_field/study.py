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
        "Move it: the ellipse and the sphere",
        "Batch normalization keeps the inner weights on the ellipse $b^T \\Sigma b = 1$. The paper's "
        "metric on it is that of the round sphere, so distances are angles, whatever the arc of the "
        "ellipse measures. Drag the two points, change the covariance.",
        "round_manifold",
    ),
)
