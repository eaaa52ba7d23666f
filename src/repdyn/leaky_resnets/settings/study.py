"""Knobs of the study "Hamiltonian Mechanics of Feature Learning: Bottleneck Structure in Leaky ResNets"."""

from repdyn.base.settings import Settings
from repdyn.leaky_resnets.settings.theory import (
    CriticalPaths,
    Descents,
    FormulaAudit,
    GeodesicLaboratory,
    IdentityCosts,
    RandomGeodesics,
    StepSchemes,
)
from repdyn.leaky_resnets.settings.training import (
    Criticality,
    Discretized,
    Measures,
    NetworkAudit,
    OutputGrowth,
    PaperSettings,
    Restarts,
    Trained,
)

PAPER = "Hamiltonian Mechanics of Feature Learning: Bottleneck Structure in Leaky ResNets (anonymous authors)"


class LeakyResnets(Settings):
    """Geodesics of representations in leaky ResNets: exact ones, and those that training finds."""

    formula_audit: FormulaAudit
    identity_costs: IdentityCosts
    descents: Descents
    geodesics: GeodesicLaboratory
    random_geodesics: RandomGeodesics
    critical_paths: CriticalPaths
    step_schemes: StepSchemes
    network_audit: NetworkAudit
    trained: Trained
    paper_settings: PaperSettings
    criticality: Criticality
    discretized: Discretized
    restarts: Restarts
    output_growth: OutputGrowth
    measures: Measures
