"""What the report says of its own: titles of studies, meanings of verdicts, remarks on scales, interactive theory.

And the names of its files and folders, which the workflow reads as well.
"""

from __future__ import annotations

from dataclasses import dataclass

FILES = ("index.html", "ledger.html", "errata.html", "provenance.html", "single.html")
FOLDERS = ("assets", "captions", "claims", "errata", "figures", "settings", "studies")
TITLES = {
    "bn_decomposed": "Batch normalization decomposed",
    "truncation_flow": "Truncation flow",
    "bn_mean_field": "Mean field with batch normalization",
    "leaky_resnets": "Leaky ResNets",
    "universality": "When representations align",
    "diagnostics": "The diagnostics on your own network",
    "across_papers": "Across the papers",
}
MEANINGS = {
    "holds": "The statement as printed passed its check.",
    "holds as corrected": "The printed form was refuted and the corrected form passed; both are shown with numbers.",
    "does not hold": "Refuted, and no small correction repairs it.",
    "depends on the reading": "Of the readings that its words allow, some pass and others fail; the page shows which.",
    "not reproducible as stated": "The paper leaves out settings; the note says what was tried.",
    "not testable": "No finite computation decides it (existence, subsequences); the note says why.",
    "not decidable at this scale": "This run does not decide it; the note says what is missing.",
}
WARNINGS = {
    "smoke": "Sizes are cut to seconds: figures show the form, not the result, and sampled claims may be undecided.",
    "default": "Sized for a laptop. Each caption gives its own sizes, each study lists what differs from its paper.",
    "full": "Sizes that the papers state, ours where they state none, and as many trials as decide each claim.",
}


@dataclass(frozen=True)
class Theory:
    """An interactive figure: its title, what it shows, the figure shown where scripts are off."""

    title: str
    says: str
    still: str


THEORIES = {
    "bn_decomposed": Theory(
        "Move it: one layer of recentering and ReLU",
        "One odd point and a cluster of $n - 1$ points stay of this form at infinite width, and one angle $\\theta$ "
        "between recentered cluster points describes them. The map $\\theta \\mapsto \\theta'$ of one layer is closed; "
        "where it crosses the diagonal the representation rests. Change $n$ and the angle at the start.",
        "fig3_odd_point",
    ),
    "truncation_flow": Theory(
        "Move it: the printed and the corrected flow",
        "A cluster in the plane (black), its label (green), the apex of the truncation cone at the start (gray): drag "
        "them. Points outside the cone are moved to its border. The printed weight flow of Theorem 3.2 and the "
        "corrected one start from the same cone; along a gradient flow the cost falls.",
        "printed_and_corrected",
    ),
    "bn_mean_field": Theory(
        "Move it: the ellipse and the sphere",
        "Batch normalization keeps the inner weights on the ellipse $b^T \\Sigma b = 1$. The paper's metric on it is "
        "that of the round sphere, so distances are angles, whatever the arc of the ellipse measures. Drag the two "
        "points, change the covariance.",
        "round_manifold",
    ),
    "leaky_resnets": Theory(
        "Move it: an exact path and Theorem 4",
        "One neuron, one point: a geodesic in closed form with the conserved product $u = A B$, faster the larger the "
        "effective depth. Theorem 4 bounds its energy from below; the printed bound fails where the regularizer is "
        "large and the path short.",
        "theorem4",
    ),
    "universality": Theory(
        "Move it: the effective theory of two points",
        "Squared distance of the representations $h$, of the outputs $y$, alignment $w$ and loss, in closed form. "
        "Change the initial scale, the distances of inputs and of targets, the rates of encoder and decoder.",
        "n5_closed_form",
    ),
}
