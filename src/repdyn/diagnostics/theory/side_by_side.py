r"""One layer on two sets of points: two domains with the same classes, or the same points in two forms.

Points h_i, other points g_j in the same units; mu_c and nu_c are the means of class c, mu and nu the means of these
over the classes that both have.
"""

from __future__ import annotations

import numpy as np

from repdyn.base.arrays import Array
from repdyn.diagnostics.theory.collapse import class_means, nearest_mean
from repdyn.diagnostics.theory.similarity import shape_of, similarities

LIKENESS = ("cka_debiased",)
MOST_POINTS = 2000  # of CKA, evenly spread


def domain_shift(
    H: Array, G: Array, labels: np.ndarray | None = None, other_labels: np.ndarray | None = None
) -> dict[str, float]:
    """How far another domain is from the points, as a whole and class by class.

    Ours: means and nearest means of Papyan, Han and Donoho (2020), taken from one domain to another.

    Args:
        H: points, shape (n, d).
        G: points of the other domain, shape (m, d).
        labels: class of each point, shape (n,); None without classes.
        other_labels: class of each other point, shape (m,).

    Returns:
        `domain_shift`, |mean g - mean h|^2 over the mean of |h - mean h|^2; with labels `transfer_accuracy`, the share
        of other points of a class of H that are nearest to its mean over H, and `class_mean_cosine`, the mean over
        classes of the cosine between mu_c - mu and nu_c - nu. NaN where all points are the same, no class is in both,
        or, of the cosine, a class mean is the mean of all.

    Example:
        >>> import numpy as np
        >>> H, labels = np.array([[1.0, 0], [3, 0], [0, 1], [0, 3]]), np.array([0, 0, 1, 1])
        >>> found = domain_shift(H, H[:, ::-1], labels, labels)
        >>> found["domain_shift"], found["transfer_accuracy"], round(found["class_mean_cosine"], 9)
        (0.0, 0.0, -1.0)
    """
    mean = H.mean(axis=0)
    variance = float(np.mean(np.sum((H - mean) ** 2, axis=1)))
    found = {"domain_shift": float(np.sum((G.mean(axis=0) - mean) ** 2)) / variance if variance else float("nan")}
    if labels is None or other_labels is None:
        return found
    known = np.isin(other_labels, labels)
    if not known.any():
        return found
    means, others = class_means(H, labels), class_means(G[known], other_labels[known])
    shared = means.means[np.isin(means.names, others.names)]
    mu, nu = (part - part.mean(axis=0) for part in (shared, others.means))
    lengths = np.linalg.norm(mu, axis=1) * np.linalg.norm(nu, axis=1)
    cosines = np.sum(mu * nu, axis=1) / lengths if lengths.all() else np.full(1, np.nan)
    right = nearest_mean(G[known], means) == other_labels[known]
    return found | {"transfer_accuracy": float(np.mean(right)), "class_mean_cosine": float(np.mean(cosines))}


def form_change(H: Array, G: Array) -> dict[str, float]:
    """How much a layer depends on the form of the points.

    Ours: the ratio of two mean squared distances; debiased CKA as in the module `similarity`.

    Args:
        H: points, shape (n, d).
        G: the same points in another form, shape (n, d).

    Returns:
        `form_distance`, the mean of |g_i - h_i|^2 over the mean of |h_i - h_j|^2 of different points; `form_cka`,
        debiased CKA of G and H, of 2,000 points at most. NaN where all points are the same.

    Example:
        >>> import numpy as np
        >>> found = form_change(np.array([[0.0], [1], [2], [3]]), np.array([[1.0], [2], [3], [4]]))
        >>> round(found["form_distance"], 3), found["form_cka"]
        (0.3, 1.0)
    """
    n = len(H)
    apart = 2 * n / (n - 1) * float(np.mean(np.sum((H - H.mean(axis=0)) ** 2, axis=1)))
    if not apart:
        return {}
    spread = np.linspace(0, n - 1, min(n, MOST_POINTS)).round().astype(np.int64)
    first, second = (shape_of(A[spread], LIKENESS) for A in (H, G))
    return {
        "form_distance": float(np.mean(np.sum((G - H) ** 2, axis=1))) / apart,
        "form_cka": similarities(first, second, LIKENESS)["cka_debiased"],
    }
