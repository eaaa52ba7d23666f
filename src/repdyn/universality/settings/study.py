"""Knobs of the study "When Representations Align" (van Rossem and Saxe): one model per experiment."""

from collections.abc import Iterator

from repdyn.base.settings import Problem, Settings
from repdyn.universality.settings.data_sets import (
    Blobs,
    BlobStructure,
    Images,
    RepresentationalStructure,
    TaylorRatios,
    TrajectoryFits,
    Xor,
    XorGains,
)
from repdyn.universality.settings.two_points import (
    AdamRuns,
    Architectures,
    DefaultEnsemble,
    DefaultNetwork,
    FinalDistances,
    FinalDistribution,
    Fits,
    FormulaAudit,
    Networks,
    PrintedData,
    TheoryMaps,
)

PAPER = "van Rossem and Saxe: When Representations Align: Universality in Representation Learning Dynamics"


class Universality(Settings):
    """All experiments of the study."""

    formula_audit: FormulaAudit
    final_distribution: FinalDistribution
    theory_maps: TheoryMaps
    networks: Networks
    architectures: Architectures
    default_network: DefaultNetwork
    default_ensemble: DefaultEnsemble
    adam_runs: AdamRuns
    printed_data: PrintedData
    final_distances: FinalDistances
    fits: Fits
    xor: Xor
    xor_gains: XorGains
    blobs: Blobs
    blob_structure: BlobStructure
    image_training: Images
    digit_pairs: TrajectoryFits
    representational_structure: RepresentationalStructure
    taylor_ratios: TaylorRatios

    def problems(self) -> Iterator[Problem]:
        """What is compared with the two-point networks' rates has them."""
        trained = self.architectures.rows
        if lacking := [name for name in ("default", *self.final_distances.rows) if name not in trained]:
            text = f"{lacking[0]} is missing, whose effective rates other experiments take: add it"
            yield Problem(("architectures", "final_distances"), f"rows: {text}")
