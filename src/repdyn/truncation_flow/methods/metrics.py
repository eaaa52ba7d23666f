"""Neural collapse of features: how small clusters are beside the distances of their means."""

import numpy as np
from numpy.typing import ArrayLike

from repdyn.truncation_flow.theory import inputs


def neural_collapse_metrics(features: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """Within- and between-cluster variance, their ratio (NC1), and the spread of the centered means (NC2).

    NC1 and NC2 after Papyan, Han and Donoho (2020).

    Args:
        features: shape (n, Q).
        labels: cluster of each point, shape (n,).

    Returns:
        `within` = mean over clusters of E|z - mean|^2; `between` = mean of |mean_c - mean|^2; `ratio` = within/between;
        `equinorm` = coefficient of variation of |mean_c - mean|; `equiangle` = largest deviation of the cosines
        between centered means from -1/(K - 1), the value of a simplex.

    Raises:
        ValueError: if there are fewer than two clusters, or shapes disagree.
    """
    features, labels = inputs.points(features, "features"), np.asarray(labels)
    if labels.shape != (len(features),):
        raise ValueError(f"labels: got shape {labels.shape}; expected ({len(features)},), one label per feature row")
    groups = [features[labels == name] for name in np.unique(labels)]
    if len(groups) < 2:
        raise ValueError("labels: got one cluster; expected at least two, collapse is relative to their distance")
    means = np.array([group.mean(axis=0) for group in groups])
    within = float(np.mean([np.mean(np.sum((z - mean) ** 2, axis=1)) for z, mean in zip(groups, means, strict=True)]))
    centered = means - means.mean(axis=0)
    norms = np.linalg.norm(centered, axis=1)
    between = float(np.mean(norms**2))
    return {
        "within": within,
        "between": between,
        "ratio": within / between if between > 0 else np.inf,
        "equinorm": float(np.std(norms) / np.mean(norms)) if between > 0 else 0.0,
        "equiangle": _angle_defect(centered, norms),
    }


def _angle_defect(centered: np.ndarray, norms: np.ndarray) -> float:
    if np.any(norms == 0):
        return np.inf
    cosines = (centered / norms[:, None]) @ (centered / norms[:, None]).T
    K = len(norms)
    return float(np.max(np.abs(cosines[~np.eye(K, dtype=bool)] + 1.0 / (K - 1))))
