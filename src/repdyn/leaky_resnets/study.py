"""The study `leaky_resnets`: Hamiltonian mechanics of the bottleneck, on exact geodesics and on trained networks."""

from repdyn.base.declarations import Explorer, Simulation, Study, Variants
from repdyn.leaky_resnets.settings.study import LeakyResnets
from repdyn.leaky_resnets.settings.work import WORK

STUDY = Study(
    title="Leaky ResNets",
    settings=LeakyResnets,
    order=3,
    jobs=(
        Simulation(
            "exact",
            "formula_audit",
            "step_schemes",
            "identity_costs",
            "descents",
            "geodesics",
            "random_geodesics",
            "scalar_geodesics",
            "critical_paths",
        ),
        Variants("trained", "trained", "block", lambda study: range(study.trained.blocks), memory_mb=1500),
        Variants("discretized", "discretized", "block", lambda study: range(study.discretized.blocks), memory_mb=1500),
        Simulation(
            "near_critical",
            "refinement",
            "convergence",
            "staged",
            "paper_settings",
            "restarts",
            "overregularized",
            "output_growth",
            "network_audit",
            cut={
                "refinement": ["seeds"],
                "convergence": ["seeds"],
                "staged": ["staged_seeds"],
                "paper_settings": ["maps", "seeds"],
            },
            memory_mb=1500,
        ),
        Simulation(
            "measures",
            "chain_measures",
            "scheme_measures",
            "refinement_measures",
            "convergence_measures",
            "staged_measures",
            "paper_measures",
            "restart_measures",
            "excess_measures",
            memory_mb=1500,
        ),
    ),
    work=WORK,
    explorer=Explorer(
        "Train it: drag a path, watch its energies, train a chain on it",
        "Drag the handles: the network starts on this path. Wide lines are the theory, drawn before training: the"
        " geodesics of least cost in closed form, one for each direction, and their conserved total energy, which is"
        " minus the number of dimensions kept in units of $\\tilde L / 2$. Thin lines are the network; gradient descent"
        " on loss and weight decay moves them. Below, one neuron in closed form: the bound of Theorem 4 as printed"
        " fails where the regularizer is large and the path short.",
        "theorem4",
    ),
)
