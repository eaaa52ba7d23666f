"""Every figure shows the values of its datasets: lines and points, found in their panel by their numbers."""

import numpy as np
import pytest
from tests.drawn import makers
from tests.titled import assert_figure_shows

STUDY = "truncation_flow"


def positive(values, least=0.0):
    return np.where(values > least, values, np.nan)


def staircases(staircase):
    for column, case in enumerate(("beyond", "between", "below")):
        part = staircase.sel(case=case)
        yield column, part["time"], part["rate"]
        yield 3 + column, part["time"], part["b"]
        for value in (*part["x"].values, float(part["label"])):
            yield 3 + column, None, [value, value]


def formulas_of_theorem_3_2(printed_and_corrected, random_clusters):
    flows = printed_and_corrected
    for formula in ("printed", "corrected"):
        for column, example in enumerate(flows["example"].values):
            yield column, flows["time"], flows["example_cost"].sel(formula=formula, example=example)
        cost = flows["cost"].sel(formula=formula).transpose("time", "cluster").values
        yield 2, cost[0], cost[-1] / cost[0]
        rates = random_clusters[f"{formula}_rate"].isel(case=1).values
        yield 3, np.sort(rates[np.isfinite(rates)]), None


def conditions_of_proposition_4_2(proposition):
    for suffix in ("", "_beyond"):
        for Q in proposition["dimension"].values:
            part = proposition.sel(dimension=Q)
            residual, time = part[f"residual{suffix}"].values, part["time"].values
            yield 0, time, 1 - part[f"truncated_share{suffix}"].values
            for panel, name in ((1, "rotation"), (2, "generator_norm")):
                yield panel, time, positive(part[f"{name}{suffix}"].values)
            yield 3, time, positive(residual / residual[0] * np.exp(time))


def errors_of_integrators(integrators):
    for name in ("occupation", "scipy", "euler"):
        yield 0, integrators[f"{name}_cost"], integrators[f"{name}_error"]


def sliding_solutions(integrators):
    early = integrators["time"].values <= 2
    for name in ("sliding_u", "sliding_u_occupation", "sliding_u_scipy"):
        yield 0, integrators["time"].values[early], integrators[name].values[early]
    yield 1, integrators["time"], integrators["sliding_cost"]
    for error in (integrators["sliding_error"], integrators["step"]):
        yield 2, integrators["step"], error


def conserved_quantities(collapsed_clusters):
    data, time = collapsed_clusters, collapsed_clusters["time"].values
    for sign in ("positive", "negative", "indefinite"):
        drift = data["drift"].sel(sign=sign).transpose("seed", "time").values.max(axis=0)
        yield 0, time[1:], np.maximum(drift[1:], 1e-17)
        for orbit in data["rate_excess"].sel(sign=sign).transpose("seed", "time") if sign != "indefinite" else ():
            yield 1, time, orbit
    for level in data["euler_drift"].mean("seed").values:
        yield 0, None, [level, level]
    for name in ("weight_norm", "weight_bound_corrected", "weight_bound_printed"):
        yield 2, time, data[name]


def costs_of_the_general_flow(general_flow):
    starts = general_flow["start"].values
    for column, start in enumerate(starts):
        for row, (name, least) in enumerate((("cost", 1e-7), ("within", 1e-5))):
            for algorithm in ("flow", "descent"):
                part = general_flow[name].sel(start=start, algorithm=algorithm).transpose("seed", "time")
                draws = np.maximum(part.values, least)
                for values in (*draws, np.median(draws, axis=0)):
                    yield row * len(starts) + column, general_flow["time"], values


def reduced_and_full_network(reduced_network):
    for panel, labels in enumerate(reduced_network["labels"].values):
        part = reduced_network.sel(labels=labels)
        for name in ("network", "reduced"):
            yield panel, part["time"], part[f"cost_{name}"]


def audited_errors(gradient_audit, propagators):
    parts = [data.max([dim for dim in data.dims if dim != "equation"]) for data in (gradient_audit, propagators)]
    printed, corrected = (np.concatenate([part[form] for part in parts]) for form in ("printed", "corrected"))
    wrong = printed != corrected
    order = np.lexsort((-printed, ~wrong))  # wrong ones first, the largest error on top
    yield 0, np.maximum(printed[order], 1e-17)[: wrong.sum()], np.arange(wrong.sum())
    yield 0, np.maximum(corrected[order], 1e-17), np.arange(order.size)


def collapse_of_every_dimension(neural_collapse):
    for panel, name in enumerate(("cost", "ratio", "margin")):
        for Q in neural_collapse["dimension"].values:
            yield panel, neural_collapse["time"], positive(neural_collapse[name].sel(dimension=Q).values, 1e-26)


def margins_of_separation(own_clusters):
    for panel, name, axis in ((0, "margin", "width"), (1, "digit_margin", "shrink")):
        for condition in ("own", "others", "images"):
            yield panel, own_clusters[axis], own_clusters[name].sel(condition=condition)
    for name in ("triangle_bound", "triangle_margin", "triangle_margin_procrustes"):
        yield -1, own_clusters["triangle_angle"], own_clusters[name]


def clusters_and_images(truncation_in_the_plane, Q, frame):
    data = truncation_in_the_plane.sel(dimension=Q)

    def flat(part):
        return (part.values[..., :Q] @ frame.T).T

    for cluster in range(Q):
        yield 0, *flat(data["data"].isel(cluster=cluster))
    for panel, snapshot in ((1, 1), (2, 3), (3, 4)):
        part = data.isel(snapshot=snapshot)
        yield panel, *flat(data["data"].isel(cluster=0))
        yield panel, *flat(part["image"].isel(cluster=0))
        yield panel, *flat(part["label"])
        yield panel, *flat(part["apex"][: int(np.searchsorted(part["time"], part["moment"])) + 1])


PLANE = np.eye(2)
PLANE_OF_MEANS = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
FIGURES = {
    "staircase": staircases,
    "printed_and_corrected": formulas_of_theorem_3_2,
    "proposition": conditions_of_proposition_4_2,
    "integrators": errors_of_integrators,
    "sliding": sliding_solutions,
    "conservation": conserved_quantities,
    "general_flow": costs_of_the_general_flow,
    "reduced_network": reduced_and_full_network,
    "gradient_audit": audited_errors,
    "neural_collapse": collapse_of_every_dimension,
    "own_clusters": margins_of_separation,
    "truncation_in_the_plane": lambda truncation_in_the_plane: clusters_and_images(truncation_in_the_plane, 2, PLANE),
    "truncation_in_three_dimensions": lambda truncation_in_the_plane: clusters_and_images(
        truncation_in_the_plane, 3, PLANE_OF_MEANS
    ),
}


@pytest.mark.parametrize("name", sorted(makers(STUDY, "figures")))
def test_a_figure_shows_the_values_of_its_datasets(name):
    assert_figure_shows(STUDY, name, FIGURES[name])
