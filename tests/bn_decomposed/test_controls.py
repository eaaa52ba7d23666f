"""Controls on made-up data: each changes the outcome of its parts, of no others, and leaves its input untouched."""

import numpy as np
import pytest
import xarray as xr
from tests.bn_decomposed import made_up_layers as nets
from tests.bn_decomposed import made_up_theorems as theorems
from tests.bn_decomposed.deciding import CLAIMS, failing, on
from tests.bn_decomposed.test_borders_sampled import gains
from tests.made_up import changed, controls_that_do_not_turn


def with_variables(data, **others):
    """The dataset with further variables, of the form of another one times a factor or plus nothing: `b=("a", 2)`."""
    return data.assign({name: data[source] * factor for name, (source, factor) in others.items()})


def shallow(**last):
    """Deep networks whose first layer shows nothing of what the last one shows."""
    first = {"second_to_first": 0.9, "odd_angle": 70.0, "intra_angle": 90.0, **dict.fromkeys(nets.LARGE_OF_ODD, 0.3)}
    (data,) = changed(nets.deep(**last), (..., 0), **first)
    return data


def of_cells():
    data = theorems.cells()
    others = {"pair_count": ("cell_count", 0.5), "volume_sum_without_smallest": ("volume_sum", 0.9)}
    data = with_variables(data, **others, smallest_count=("cell_count", 0.5))
    return data.assign(strays_of_reflection=data["strays"] + 1)


def of_rows(**off):
    data = theorems.rows(**{"mean": 0.9, "recentered": 0.9, "by_column": 0.9, "later": 0.4} | off)
    return data.assign(
        n=("batch", [3, 3]), wait_antipodal=("wait_draw", np.full(data.sizes["wait_draw"], 1000.0)), antipodal_points=6
    )


def of_ranks(data):
    return data.assign(rank_linear=0 * data["rank_cells"] + 2, image_linear=0 * data["image"] + 2).assign_coords(
        way=["ReLU(W X H)", "BN(W X)", "W X / sigma"]
    )


def of_tails():
    data = theorems.tails()
    wrong = {"wrong_exponent_a": ("exponent_a", 2), "wrong_exponent_b": ("exponent_b", 2)}
    circle = theorems.survivors(0.1, 20)
    return on(
        with_variables(data, **wrong).assign(wrong_exponent_fine=1 / data["exponent_fine"]),
        circle.assign(y_antipodal=("draw", np.full(circle.sizes["draw"], 1000)), antipodal_points=6).set_coords(
            ["kind", "n", "gamma"]
        ),
    )


def of_tree():
    """A tree with a tie in layer 0, after which its excess is one less."""
    later = changed(theorems.tree(), (0, slice(1, None)), excess=2, excess_by_algorithm=2, interior_rows_least=0)
    (data,) = changed(later, (0, 0), ties=1)
    return data.assign(
        parted_rows=0 * data["ties"] + 5, gram_difference_of_wide_rows=0 * data["ties"] + 0.1, three_tied=data["ties"]
    )


def of_limits(data):
    return with_variables(data, depth_bound_of_equal_gaps=("depth_bound", 0.5))


def of_deep_batches():
    """A symmetric batch and one with a far point, of which one extreme alone is odd."""
    data = theorems.limits(which="sharp").assign(deep_kind=("deep", ["symmetric", "outlier"]))
    (far,) = changed(data, 1, deep_ratio_last=0.9, deep_cosine_last=0.9)
    return far


def of_moments():
    data = nets.moments()
    return data.assign(not_recentered=data["recentered"] + 0.1)


def of_layers():
    data = nets.layers()
    return data.assign(inner_not_recentered=data["inner"] + 0.3, wrong_pair_factor=data["expected_pair_factor"] * 0.8)


def of_clusters(**off):
    data = nets.clusters(**off)
    return data.assign(wrong_largest_factor=data["alpha"] + 0.02)


def of_angles():
    data = nets.at_rest(0.0)
    std = data.sel(normalization="rms") - 50
    return xr.concat([data, std.assign_coords(normalization="std")], "normalization")


def of_neurons():
    wide = nets.point_neurons(off=0.5, active=3.0).isel(scheme=[0]).assign_coords(scheme=["margin 2"])
    return xr.concat([nets.point_neurons(), wide], "scheme", data_vars="minimal").isel(scheme=[0, 2, 1])


SQUARES = {"closed form", "odd point sampled", "cluster sampled"}
PARTS = ("change over the last quarter", "later ratios over the ends of their interval", "width of the last interval")
CHANGES, INSIDE, WIDTHS = ({f"{rows} {part}" for rows in ("split", "fed")} for part in PARTS)
RANK = {"even circles", "with many rows", "by lines"}
ODD, NORMS = {"second over first norm", "odd angle", "cluster angle"}, {"norm of the odd point", "norm of the cluster"}
SURVIVAL = {"below geometric", "below 7b"}
TAILS = {"exact tail over 7a", "the same below its range", "closed form 28c", "growth with the bound"}
FIXED = {"reduced minus iterated cluster angle", "reduced minus iterated odd angle", "reduced over iterated norm ratio"}
SYMMETRIC = {"ratio of symmetric batches", "distance of symmetric batches"}
SHARP = {"ratio over its bound", "distance from 90 degree over its bound"}
DEPTHS = {"depth over bound", "depth over bound for a narrow gap"}
ONE_ROW = "layers where a point is not inside exactly one row"
WIDE_ANGLE = nets.rests().assign(iterated_norm_ratio=nets.rests()["batch"] - 1.0)


def of_its_own(*parts):
    return {part: {part} for part in parts}


def together(*parts):
    return {part: set(parts) for part in parts}


CONTROLS = {  # claim: datasets in which no part fails, by the control's part all parts that fail with it
    "bnd-eq35": (
        on(theorems.audit().assign(control=theorems.audit()["control"] + 1.0)),
        of_its_own("eq 35b", "eq 35c", "eq 35e", "eq 35f"),
    ),
    "bnd-appE-ratio": (
        on(theorems.splits()),
        dict.fromkeys(CHANGES, CHANGES | INSIDE)
        | together(*INSIDE)
        | dict.fromkeys(WIDTHS, CHANGES | INSIDE | WIDTHS)
        | of_its_own("enumeration minus algorithm"),
    ),
    "bnd-fig1-cause": (
        on(nets.cause(0.04, 0.2, 0.9)),
        {"by recentering": {"by recentering"}, "by the non linearity": {"by recentering", "by the non linearity"}},
    ),
    "bnd-def1-gamma": (
        on(of_cells()),
        of_its_own("classes", "sum of volumes", "rows outside all classes") | together("k 2", "k 3"),
    ),
    "bnd-thm3-tail": (of_tails(), together(*TAILS) | of_its_own("exponent 7b over 7a") | together(*SURVIVAL)),
    "bnd-thm3-hyp": (
        on(of_ranks(theorems.ranks())),
        of_its_own("with many rows", "by lines")
        | {"even circles": RANK, "without collinear columns": RANK | {"without collinear columns"}},
    ),
    "bnd-cor4": (
        on(of_rows(), of_ranks(theorems.hexagon())),
        of_its_own("largest rank", "mean over bound", "rows where the scale changes the rank"),
    ),
    "bnd-e2-product": (
        on(theorems.ranks()),
        of_its_own("products above the bound", "products whose rank it lets grow"),
    ),
    "bnd-lem2-prob": (
        on(theorems.stalled()),
        of_its_own("frequency minus probability")
        | {"probability over its bound": {"probability over its bound", "frequency minus probability"}},
    ),
    "bnd-e4-columns": (
        on(of_rows()),
        of_its_own("first wait", "later waits", "all columns") | {"sum of bounds": {"sum of bounds", "first wait"}},
    ),
    "bnd-thm13-EX": (
        on(nets.layers()),
        together("closed form", "inner") | dict.fromkeys(("odd point sampled", "cluster sampled"), SQUARES),
    ),
    "bnd-eq8-closed": (
        on(of_moments(), nets.rests()),
        of_its_own("closed form minus sampled", "equal angles up to six points") | together(*FIXED),
    ),
    "bnd-infwidth": (
        on(WIDE_ANGLE, nets.clusters()),
        of_its_own("cluster angle over leading term", "equal angles up to six points", "multipliers"),
    ),
    "bnd-fig5-rest": (on(of_angles()), of_its_own("root mean square", "batch normalization")),
    "bnd-sec1-rank": (
        on(of_ranks(theorems.ranks())),
        of_its_own("image of two inputs") | together("batch rank over its limit", "linear layer"),
    ),
    "bnd-thm11-2": (
        on(theorems.interior(), theorems.all_batches().assign(interior_angle_early=("case", [1e-3, 1.0]))),
        of_its_own("all batches") | together("largest angle in the last layer", "rate per layer"),
    ),
    "bnd-thm11-sharp": (on(of_deep_batches()), together(*SHARP) | together(*SYMMETRIC)),
    "bnd-excess": (
        on(of_tree()),
        of_its_own("layers where the algorithm differs", "layers with more wide rows", "gram matrices", ONE_ROW)
        | {"layers with another excess": {"layers with another excess", ONE_ROW}},
    ),
    "bnd-thm10": (
        on(of_limits(theorems.limits()), of_limits(theorems.narrow()), theorems.tree()),
        of_its_own("layers where the widest rows differ") | together(*DEPTHS),
    ),
    "bnd-eq61-62": (
        on(theorems.descendants().assign(wrong_eq_62=("sum", [0.5]))),
        of_its_own("enumeration over eq 61", "eq 61 over eq 62"),
    ),
    "bnd-symmetric-wait": (
        on(nets.waits()),
        of_its_own("an outlier forms") | together("after a wait", "point 1 is the outlier"),
    ),
    "bnd-thm14-1-2": (on(nets.layers()), together(*SQUARES) | together(*NORMS)),
    "bnd-thm14-4": (
        on(of_clusters(limit=0.95), of_layers()),
        of_its_own("factor over its limit", "sampled over closed form")
        | {"factor": {"factor", "factor over its limit"}},
    ),
    "bnd-thm14-hyp": (on(of_layers(), nets.clusters()), of_its_own("items 1 and 2", "item 3", "item 4")),
    "bnd-cluster-rest": (
        on(nets.clusters(), nets.layers()),
        of_its_own("next square distance", "narrow cluster", "wide cluster", "multiplier of the fixed point"),
    ),
    "bnd-fig2-he": (
        on(nets.trained()),
        of_its_own("he at low rank")
        | {
            "accuracy default when deep": {"he at low rank", "accuracy default when deep"},
            "rank over width with batch normalization": {
                "accuracy default when deep",
                "rank over width with batch normalization",
            },
        },
    ),
    "bnd-remark-largest": (on(nets.longest()), of_its_own("farthest at infinite width", "longest where twice as long")),
    "bnd-fig3": (on(shallow()), together(*ODD)),
    "bnd-def12-resembles": (on(shallow(sizes=(20,), ratio=1 / 19, cluster=9.9)), {"": {""}}),
    "bnd-finite-width": (on(shallow()), {"": {""}}),
    "bnd-sec3-signs": (on(nets.deep()), {"": {""}}),
    "bnd-disc-fire": (on(shallow()), {"": {""}}),
    "bnd-fig6-a": (on(nets.neurons()), together("active on 90 percent over prediction", "significant for many inputs")),
    "bnd-disc-init": (on(of_neurons()), together("orthogonal", "activity")),
    "bnd-fig1-ablation": (
        on(*nets.ablation_and_sizes(nets.ablation(), fewest=5)),
        together("without the others", "larger batches"),  # readings of one sentence
    ),
    "bnd-fig1-others": (on(nets.ablation()), {"": {""}}),
    "bnd-fig6-b": (
        on(nets.quiet()),
        of_its_own("quiet for most inputs")
        | {"active on 90 percent": {"quiet for most inputs", "active on 90 percent"}},
    ),
    "bnd-sec2-rc": (on(nets.recentering()), {"": {""}}),
    "bnd-fig6-cause": (
        on(nets.left_out()),
        of_its_own("not by as many others")
        | {"by untypical neurons": {"by untypical neurons", "not by as many others"}},
    ),
    "bnd-disc-init-gain": (on(gains(2.0)), {"": {""}}),
}


@pytest.mark.parametrize("id", CONTROLS)
def test_each_control_changes_the_outcome_of_its_parts_alone(id):
    datasets, turned = CONTROLS[id]
    claim, before = CLAIMS[id], [data if isinstance(data, dict) else data.copy(deep=True) for data in datasets]
    assert not failing(claim(*datasets))
    assert set(turned) == set(claim.controls)
    for part, control in claim.controls.items():
        spoiled = control.data(*datasets)
        assert failing(claim(*(spoiled if isinstance(spoiled, tuple) else (spoiled,)))) == turned[part], part
    assert all(data is old or data.identical(old) for data, old in zip(datasets, before, strict=True))


@pytest.mark.parametrize(
    ("id", "data", "status"),
    [
        ("bnd-rs-orth", nets.gaps(), "depends on the reading"),
        ("bnd-fig5-60", of_angles(), "not reproducible as stated"),
        ("bnd-fig5-75", of_angles(), "not reproducible as stated"),
    ],
)
def test_controls_are_rejected_where_readings_differ(id, data, status):
    assert controls_that_do_not_turn(CLAIMS[id], [data], status) == {}
