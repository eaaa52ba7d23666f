"""From a request to the dataset of all diagnostics: layers one after another, then the output, then gradients."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from torch import Tensor
from torch.utils.data import ConcatDataset

from repdyn.base.arrays import Array
from repdyn.base.datasets import index, variable
from repdyn.diagnostics.methods import losses, outputs, radial
from repdyn.diagnostics.methods.catalog import MEASURES, Findings
from repdyn.diagnostics.methods.forward import call_name, named_modules
from repdyn.diagnostics.methods.inputs import Inputs
from repdyn.diagnostics.methods.layers import Plan, plan, stream
from repdyn.diagnostics.methods.measures import (
    IGNORED,
    OF_LAYER,
    Layer,
    as_pairs,
    as_targets,
    labels_of_rows,
    with_classes,
)
from repdyn.diagnostics.methods.reader import INPUT, OUTPUT, NetworkReader
from repdyn.diagnostics.theory.angles import QUANTILES, expected_angle, expected_norm_ratio
from repdyn.diagnostics.theory.identity import Residual, energies
from repdyn.diagnostics.theory.side_by_side import domain_shift, form_change

SideBySide = Callable[[Array, Array], Mapping[str, float]]
GAMMA = 1e-3  # of the stable cost of identity, relative to |K|_op: the value of the study leaky_resnets
NEEDS = {
    "collapse": "labels",
    "classifier": "labels",
    "sectors": "labels",
    "class_ranks": "labels",
    "accuracy": "labels",
    "targets": "labels or targets",
    "loss": "labels, targets or loss",
    "energies": "residual",
    "domains": "held_out",
    "forms": "other_form",
}


class Interrupted(KeyboardInterrupt):
    """The user stopped a measurement with Ctrl-C.

    Attributes:
        dataset: what was measured until then; the rest is NaN.
    """

    def __init__(self, dataset: xr.Dataset) -> None:
        super().__init__("stopped; what was measured until then is the attribute `dataset` of this error")
        self.dataset = dataset


@dataclass(frozen=True)
class Request:
    """What is measured; the arguments of `measure` of the same names."""

    layers: Sequence[str] | None = None
    labels: np.ndarray | None = None
    targets: np.ndarray | None = None
    pairs: Sequence[tuple[int, int]] | None = None
    residual: Residual | None = None
    measures: Sequence[str] | None = None
    embeddings: str | None = None
    classifier: str | None = None
    gamma: float = GAMMA
    bias: bool = False
    loss: Callable[..., Tensor] | None = None
    progress: bool = False
    held_out: bool = False
    other_form: bool = False

    def chosen(self) -> list[str]:
        """The measures to compute.

        Raises:
            ValueError: an unknown one, or one that lacks what it needs.
        """
        there = {"labels": self.labels is not None, "residual": self.residual is not None}
        there |= {"held_out": self.held_out, "other_form": self.other_form}
        there["labels or targets"] = there["labels"] or self.targets is not None
        there["labels, targets or loss"] = there["labels or targets"] or self.loss is not None
        possible = [name for name in MEASURES if there.get(NEEDS.get(name, ""), True)]
        if self.measures is None:
            return possible
        if isinstance(self.measures, str):
            raise ValueError(f"measures is the text {self.measures!r}; give a list: [{self.measures!r}]")
        for name in self.measures:
            if name not in MEASURES:
                raise ValueError(f"no measure {name!r}; give some of {', '.join(MEASURES)}")
            if name not in possible:
                raise ValueError(f"the measure {name!r} needs {NEEDS[name]}")
        return [name for name in MEASURES if name in self.measures]


class Collector:
    """Measures a network, at each call of `dataset` as it is then.

    Args:
        reader: network and inputs.
        request: what is measured.

    Raises:
        ValueError: arguments that cannot be used.
    """

    def __init__(self, reader: NetworkReader, request: Request) -> None:
        self.reader, self.request, self.measures = reader, request, request.chosen()
        classifier = request.classifier and call_name(request.classifier)
        hidden = [name for name in (request.embeddings, classifier and f"{classifier}:input") if name]
        self.planned: Plan = plan(reader, request.layers, request.residual.layers if request.residual else (), hidden)
        mask, tokens = reader.features.mask, self.planned.tokens
        self.points = self.planned.points * tokens if mask is None else int(np.sum(mask))
        self.labels = (
            None if request.labels is None else labels_of_rows(request.labels, self.planned.points, tokens, mask)
        )
        self.targets = None if request.targets is None else self._checked(request.targets)
        self.answers = request.labels if request.targets is None else request.targets  # as a user's loss takes them
        self.loss = None if request.loss is None else losses.of_output(request.loss, self.answers)
        self.pairs = as_pairs(request.pairs, self.points, self.labels)
        self.flow = [self.planned.call(name) for name in request.residual.layers] if request.residual else []
        self._check_flow()
        self.inputs = self.planned.call(request.embeddings) if request.embeddings else INPUT
        self.classifier = classifier or self.planned.classifier
        self.read = self.planned.layers if {*OF_LAYER, "energies"} & set(self.measures) else []
        self.whole = self._needed_as_a_whole()
        self.coordinates: dict[tuple[str, ...], xr.Coordinates] = {}
        self.without_maps = ""  # why there is no radial fraction, the same at every moment
        self.beside: dict[str, tuple[Plan, SideBySide]] = {}  # measures of these points and others

    def put_beside(self, measure: str, other: Plan, labels: np.ndarray | None = None) -> None:
        """Other points, which a measure takes next to these.

        Args:
            measure: "domains" or "forms".
            other: the same network on the others.
            labels: class of each row of the others, `IGNORED` for those without one.
        """

        def domains(A: Array, B: Array) -> Mapping[str, float]:
            if self.labels is None or labels is None:
                return domain_shift(A, B)
            (H, own), (G, others) = with_classes(A, self.labels), with_classes(B, labels)
            return domain_shift(H, G, own, others)

        batches: Any = ConcatDataset([cast("Any", part.reader.inputs.batches) for part in (self, other)])
        reader = replace(self.reader, inputs=Inputs(batches, self.reader.inputs.axis))
        sizes = [*self.planned.sizes, *other.sizes]
        both = replace(self.planned, reader=reader, sizes=sizes)
        self.beside[measure] = both, domains if measure == "domains" else form_change

    def _checked(self, targets: np.ndarray) -> NDArray[np.float64]:
        """Targets, refused at once if they do not fit the output; an output that cannot be measured says so later."""
        shape = self.planned.shapes.get(OUTPUT)
        if shape is None or shape.why or self.reader.features.kind != "flatten":
            return as_targets(targets, np.shape(targets))
        return as_targets(targets, (self.points, shape.units))

    def _check_flow(self) -> None:
        """Refuses a residual stream whose layers differ in size."""
        if len(set(self.flow)) < len(self.flow):
            raise ValueError(f"residual names a layer twice: {', '.join(self.flow)}; give the stream's layers in order")
        sizes = {name: self.planned.shapes[name].units for name in self.flow}
        if len(set(sizes.values())) > 1:
            text = ", ".join(f"{name}: {units}" for name, units in sizes.items())
            raise ValueError(
                f"the layers of the residual stream have different sizes ({text}); name layers of one size"
            )

    def _needed_as_a_whole(self) -> list[str]:
        """Layers that the measures of the output need."""
        names = []
        of_output = {"pairs", "targets", "accuracy", "classifier"} | ({"loss"} if self.loss is None else set())
        if of_output & set(self.measures):
            names.append(OUTPUT)
        if "pairs" in self.measures:
            names.append(self.inputs)
        if "classifier" in self.measures and self.classifier:
            names.append(f"{self.classifier}:input")
        return names

    def dataset(self) -> xr.Dataset:
        """Runs the network and measures everything that was requested.

        Raises:
            Interrupted: the user stopped it; the error holds what was measured until then.
        """
        self.rows: dict[str, NDArray[np.floating]] = {}  # of the layers that are needed as a whole
        self.lost: dict[str, str] = {}  # layers without a row per point this time, and why
        self.before: tuple[str, NDArray[np.floating]] | None = None  # the last layer of the residual stream
        self.maps, why = self._normalized_maps()
        if (maps := tuple(entry.name for entry in self.maps)) not in self.coordinates:
            self.coordinates[maps] = self._coordinates(maps)  # once: indices take longer than measuring an output
        coordinates = self.coordinates[maps]
        sizes = {"normalized": len(maps)} | {str(name): part.size for name, part in coordinates.variables.items()}
        self.findings = Findings(self.measures, sizes)
        if why:
            self.findings.leave_out("radial", why)
        if "angles" in self.measures:
            for name, function in (("expected_angle", expected_angle), ("expected_norm_ratio", expected_norm_ratio)):
                with self.findings.isolated("angles", name):
                    self.findings.put({name: function(self.points)})
        self.done = 0
        try:
            self._measure_all()
        except KeyboardInterrupt as error:
            self.findings.leave_out("all", f"interrupted after {self.done} of {len(self.read)} layers")
            raise Interrupted(xr.Dataset(self._variables(), coordinates, self._about())) from error
        finally:
            if self.request.progress and self.done:
                print(file=sys.stderr)
        return xr.Dataset(self._variables(), coordinates, self._about())

    def _measure_all(self) -> None:
        libraries = _libraries()

        def consume(name: str, A: NDArray[np.floating]) -> None:
            with libraries.limit(limits=1, user_api="blas"):  # small products: more threads only wait for each other
                self.consume(name, A)
            if name in self.read:
                self.done += 1
                if self.request.progress:
                    _show(f"{self.done} of {len(self.read)} layers, {name}")

        for name, reason in stream(replace(self.planned, layers=self.read), self.whole, consume).items():
            self.lost[name] = reason
            self.findings.leave_out("layer", reason, name)
        with libraries.limit(limits=1, user_api="blas"):
            returned = outputs.Outputs(
                self.planned, self.rows, self.labels, self.targets, self.pairs, self.inputs, self.classifier, self.loss
            )
            for measure, name, function in outputs.OF_OUTPUT:
                if measure in self.measures:
                    with self.findings.isolated(name):
                        self.findings.put(function(returned))
            if "radial" in self.measures:
                with self.findings.isolated("radial"):
                    self._radial()
            for measure, (both, change) in self.beside.items():
                self._measure_beside(measure, both, change)

    def consume(self, name: str, A: NDArray[np.floating]) -> None:
        """Measures one layer, shape (rows, units), and stores what a later one needs."""
        if self.reader.features.mask is not None and len(A) == self.reader.features.mask.size:
            A = A[self.reader.features.mask.reshape(-1)]
        if why := self._unusable(name, A):
            self.findings.leave_out("layer", why, name)
            return
        if name in self.whole:
            self.rows[name] = A.copy()
        if name in self.planned.layers:
            layer = Layer(A, self.labels, self.pairs, self.request.gamma, self.request.bias)
            at = self.planned.layers.index(name)
            for measure in (entry for entry in OF_LAYER if entry in self.measures):
                with self.findings.isolated(measure, name):
                    self.findings.put(OF_LAYER[measure](layer), at)
        if name in self.flow and "energies" in self.measures:
            self._step(name, A)

    def _measure_beside(self, measure: str, both: Plan, function: SideBySide) -> None:
        """A measure of these points and others, of which each layer has its rows one after the other."""
        rows = both.points * self.planned.tokens

        def consume(name: str, A: NDArray[np.floating]) -> None:
            with self.findings.isolated(measure, name):
                if len(A) != rows:
                    raise ValueError(f"it has {len(A)} rows where {rows} are measured")
                if not np.isfinite(A).all():
                    raise ValueError("values that are NaN or infinite")
                both_rows = np.asarray(A, np.float64)
                found = function(both_rows[: self.points], both_rows[self.points :])
                self.findings.put(found, self.planned.layers.index(name))

        for name, reason in stream(both, (), consume).items():
            if name not in self.planned.left_out:
                self.findings.leave_out(measure, reason, name)

    def _unusable(self, name: str, A: NDArray[np.floating]) -> str:
        if len(A) != self.points:
            self.lost[name] = "rows"
            return f"it has {len(A)} rows where {self.points} are measured"
        if not (finite := np.isfinite(A)).all():
            return f"{int(np.sum(~finite))} of {A.size} values are NaN or infinite"
        return ""

    def _step(self, name: str, A: NDArray[np.floating]) -> None:
        """Energies of the step of the residual stream that ends here."""
        at = self.flow.index(name) - 1
        if at >= 0:
            with self.findings.isolated("energies", name):
                if self.before is None or self.before[0] != self.flow[at]:
                    raise ValueError(f"the layer before it, {self.flow[at]}, is missing or comes later")
                flow = cast("Residual", self.request.residual)  # it has steps
                step, Lt = flow.step_sizes[at], float(flow.effective_depth)
                kinetic, potential = energies(self.before[1], A, step, Lt, self.request.gamma, self.request.bias)
                total = {"kinetic_energy": kinetic, "potential_energy": potential, "hamiltonian": kinetic + potential}
                self.findings.put(total, at)
        self.before = name, A.copy()

    def _normalized_maps(self) -> tuple[list[radial.Normalized], str]:
        if "radial" not in self.measures:
            return [], self.without_maps
        try:
            maps = radial.normalized_maps(self.reader)
        except Exception as error:
            return [], f"{type(error).__name__}: {error}"
        if maps:
            return maps, ""
        self.measures = [name for name in self.measures if name != "radial"]
        normed = any(isinstance(module, radial.NORMS) for module in self.reader.model.modules())
        if normed or self.request.measures is not None:
            self.without_maps = "no linear or convolutional map goes straight into a normalization layer"
        return [], self.without_maps

    def _radial(self) -> None:
        batch, loss = losses.gradient_loss(
            self.planned, self.request.loss, self.answers, self.labels, self.targets, radial.POINTS
        )
        for at, (name, share) in enumerate(radial.radial_fractions(self.reader, self.maps, batch, loss).items()):
            self.findings.put({"radial_fraction": share.median, "largest_radial_fraction": share.largest}, at)
            if share.why:
                self.findings.leave_out("radial", share.why, name)

    def _variables(self) -> dict[str, xr.Variable]:
        variables = self.findings.variables()
        if "loss" in variables:
            usual = losses.CROSS_ENTROPY if self.targets is None else losses.HALF_MSE
            own = self.request.loss
            variables["loss"].attrs["long_name"] = usual if own is None else losses.loss_name(own)
        return variables

    def _coordinates(self, maps: tuple[str, ...]) -> xr.Coordinates:
        coordinates = {
            "layer": variable(
                "layer", np.array(self.planned.layers, str), "layer, in the order in which layers finish"
            ),
            "point": index("point", self.points, "point"),
            "quantile": variable("quantile", np.array(QUANTILES), "quantile over pairs of points"),
            "pair": variable("pair", np.array([f"{i}-{j}" for i, j in self.pairs]), "two points"),
        }
        if self.labels is not None:
            coordinates["class"] = variable("class", np.unique(self.labels[self.labels != IGNORED]), "class")
            coordinates["label"] = variable("point", self.labels, "class of the point")
        if flow := self.request.residual:
            words = "layer a residual step starts from"
            coordinates["step_from"] = variable("step_from", np.array(list(flow.layers[:-1]), str), words)
            coordinates["effective_depth"] = variable((), float(flow.effective_depth), "leak Lt of the residual stream")
        if maps:
            coordinates["normalized"] = variable("normalized", np.array(maps), "map in front of a normalization layer")
        modules = dict(named_modules(self.reader.model))
        kinds = {
            name: type(modules[name]).__name__
            for name in self.planned.layers
            if name in modules and name not in (INPUT, OUTPUT)
        }
        coordinates["layer"].attrs["kinds"] = json.dumps(kinds)
        return xr.Dataset(coords=coordinates).coords

    def _about(self) -> dict[str, object]:
        running = "running statistics, as in evaluation"
        return {
            "title": f"Diagnostics of {type(self.reader.model).__name__} on {self.points} points",
            "gamma": self.request.gamma,
            "identity_with_bias": int(self.request.bias),
            "normalized_by": "batch statistics" if self.reader.batch_statistics else running,
            "last_map": self.classifier or "",
            "left_out": self.findings.text(),
        }


@cache
def _libraries() -> ThreadpoolController:
    """The libraries of linear algebra that are loaded, found once: looking for them takes milliseconds."""
    return ThreadpoolController()


def _show(text: str) -> None:
    """One line of the terminal, over the last one."""
    width = shutil.get_terminal_size().columns - 1
    print(f"\r{text[:width]:{width}}", end="", file=sys.stderr, flush=True)
