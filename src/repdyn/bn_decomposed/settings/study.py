"""Knobs of the study "Batch Normalization Decomposed" (Nachum, Bondaschi, Gastpar, Khina)."""

from repdyn.base.settings import Settings
from repdyn.bn_decomposed.settings.networks import (
    Ablation,
    Activity,
    Contraction,
    FixedPoint,
    GaussianLayer,
    LargestNorm,
    LayerAngles,
    OddPoint,
    OrthogonalityGap,
    PointNeurons,
    RecenteringDepth,
    ReluMoments,
    SymmetricBatch,
    Training,
)
from repdyn.bn_decomposed.settings.theorems import (
    ClusterRows,
    FormulaAudit,
    FullRankTail,
    InteriorAngles,
    NarrowGap,
    ReluRank,
    RowsToFullRank,
    SeveralCoordinates,
    SignCells,
    SplitAmplitudes,
    SplitRows,
    StalledRows,
    TreeExample,
    TreeLimits,
)

PAPER = "Nachum, Bondaschi, Gastpar, Khina: Batch Normalization Decomposed"


class BnDecomposed(Settings):
    """What recentering, rescaling and ReLU each do to the geometry of a batch."""

    ablation: Ablation
    recentering_depth: RecenteringDepth
    orthogonality_gap: OrthogonalityGap
    layer_angles: LayerAngles
    fixed_point: FixedPoint
    sign_cells: SignCells
    stalled_rows: StalledRows
    rows_to_full_rank: RowsToFullRank
    full_rank_tail: FullRankTail
    relu_rank: ReluRank
    relu_moments: ReluMoments
    gaussian_layer: GaussianLayer
    contraction: Contraction
    odd_point: OddPoint
    symmetric_batch: SymmetricBatch
    largest_norm: LargestNorm
    activity: Activity
    training: Training
    point_neurons: PointNeurons
    cluster_rows: ClusterRows
    formula_audit: FormulaAudit
    split_rows: SplitRows
    tree_example: TreeExample
    narrow_gap: NarrowGap
    tree_limits: TreeLimits
    split_amplitudes: SplitAmplitudes
    interior_angles: InteriorAngles
    several_coordinates: SeveralCoordinates
