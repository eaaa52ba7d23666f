"""The study `universality`: an effective theory of two points against deep networks (van Rossem, Saxe)."""

from repdyn.base.declarations import Explorer, Simulation, Study
from repdyn.universality.settings.data_sets import BlobRuns, ImageRuns
from repdyn.universality.settings.study import Universality
from repdyn.universality.settings.work import WORK

STUDY = Study(
    title="When representations align",
    settings=Universality,
    order=4,
    jobs=(
        Simulation("theory", "formula_audit", "final_distribution", "theory_maps"),
        Simulation("default_network", "default_network", "default_ensemble", "printed_data", memory_mb=2000),
        Simulation(
            "table_1_networks",
            "architectures",
            "adam_runs",
            cut={"architectures": ["rows", "seeds"], "adam_runs": ["rates", "seeds"]},
            memory_mb=2000,
        ),
        Simulation("final_distances", "final_distances", cut={"final_distances": ["rows"]}, minutes=120),
        Simulation(
            "fits",
            "architecture_fits",
            "default_network_fits",
            "default_ensemble_fits",
            "printed_data_fits",
            "adam_fits",
            "final_predictions",
            memory_mb=1000,
        ),
        Simulation(
            "xor_and_images",
            "xor",
            "xor_gains",
            *[("image_training", {"run": run}) for run in ImageRuns.model_fields],
            cut={"xor": ["trials"], "xor_gains": ["gains"], "image_training": [("trials", 8)]},
            memory_mb=3000,
        ),
        Simulation(
            "blobs",
            *[("blobs", {"run": run}) for run in BlobRuns.model_fields],
            cut={"blobs": ["trials"]},
            memory_mb=1500,
        ),
        Simulation(
            "data_set_analyses",
            "xor_structure",
            "xor_gain_structure",
            "blob_structure",
            "digit_pairs",
            "representational_structure",
            "taylor_ratios",
            memory_mb=3000,
        ),
    ),
    work=WORK,
    explorer=Explorer(
        "Train it: a network beside the effective theory of two points",
        "Squared distance of the representations $h$, of the outputs $y$ and alignment $w$: lines in closed form, "
        "drawn before the training, and dots of a network that trains in this page. The theory knows the start and two "
        "fitted rates, nothing of depth, width, activation, skip connections or gain: change them and see where it "
        "fails.",
        "n5_closed_form",
    ),
)
