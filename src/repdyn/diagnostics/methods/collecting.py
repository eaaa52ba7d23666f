"""From a network's layers, one after another, to the dataset of all diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from typing import cast

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from torch import Tensor

from repdyn.base.datasets import index, variable
from repdyn.diagnostics.methods import losses, radial
from repdyn.diagnostics.methods.findings import Findings
from repdyn.diagnostics.methods.layers import named_modules
from repdyn.diagnostics.methods.pairs import alignment, as_pairs, distances
from repdyn.diagnostics.methods.per_layer import OF_LAYER, Layer
from repdyn.diagnostics.methods.progress import Interrupted, Progress
from repdyn.diagnostics.methods.reader import INPUT, OUTPUT, NetworkReader
from repdyn.diagnostics.methods.request import Request
from repdyn.diagnostics.methods.streaming import Plan, plan, stream
from repdyn.diagnostics.methods.targets import IGNORED, as_targets, check_classes, labels_of_rows, one_hot
from repdyn.diagnostics.theory.angles import QUANTILES
from repdyn.diagnostics.theory.collapse import classifier_collapse
from repdyn.diagnostics.theory.expectations import expected_angle, expected_norm_ratio
from repdyn.diagnostics.theory.identity import Residual, energies


class Collector:
    """Measures a network once.

    Args:
        reader: network and inputs.
        request: what is asked.

    Raises:
        ValueError: arguments that cannot be used.
    """

    def __init__(self, reader: NetworkReader, request: Request) -> None:
        self.reader, self.request, self.measures = reader, request, request.chosen()
        hidden = [name for name in (request.embeddings, request.classifier and f"{request.classifier}:input") if name]
        flow = request.residual.layers if request.residual else ()
        self.planned: Plan = plan(reader, request.layers, flow, hidden)
        mask, tokens = reader.features.mask, self.planned.tokens
        self.points = self.planned.points * tokens if mask is None else int(np.sum(mask))
        self.labels = (
            None if request.labels is None else labels_of_rows(request.labels, self.planned.points, tokens, mask)
        )
        self.targets = None if request.targets is None else self._checked(request.targets)
        self.own_loss = None if request.loss is None else losses.of_output(request.loss, request.answers)
        self.pairs = as_pairs(request.pairs, self.points, self.labels)
        self._check_stream()
        self.coordinates: dict[tuple[str, ...], xr.Coordinates] = {}
        self.without_maps = ""  # why there is no radial fraction, the same at every moment

    def _checked(self, targets: np.ndarray) -> NDArray[np.float64]:
        """Targets, refused at once if they do not fit the output; an output that cannot be measured says so later."""
        shape = self.planned.shapes.get(OUTPUT)
        if shape is None or shape.why or self.reader.features.kind != "flatten":
            return as_targets(targets, np.shape(targets))
        return as_targets(targets, (self.points, shape.units))

    def _check_stream(self) -> None:
        """Refuses a residual stream whose layers differ in size."""
        sizes = {name: self.planned.shapes[name].units for name in self._flow}
        if len(set(sizes.values())) > 1:
            text = ", ".join(f"{name}: {units}" for name, units in sizes.items())
            raise ValueError(
                f"the layers of the residual stream have different sizes ({text}); name layers of one size"
            )

    def dataset(self) -> xr.Dataset:
        """Runs the network and measures everything that is asked, each time as it is then.

        Raises:
            Interrupted: the user stopped it; the error holds what was measured until then.
        """
        self.kept: dict[str, NDArray[np.floating]] = {}
        self.lost: dict[str, str] = {}  # layers without a row per point this time, and why
        self.before: tuple[str, NDArray[np.floating]] | None = None
        self.maps, why = self._normalized_maps()
        if (maps := tuple(entry.name for entry in self.maps)) not in self.coordinates:
            self.coordinates[maps] = self._coordinates(maps)  # once: indices take longer than measuring an output
        coordinates = self.coordinates[maps]
        sizes = {"normalized": len(maps)} | {str(name): part.size for name, part in coordinates.variables.items()}
        self.findings = Findings(self.measures, sizes)
        if why:
            self.findings.leave_out("radial", why)
        if "angles" in self.measures:
            self._expectations()
        with Progress(len(self._read), shown=self.request.progress) as progress:
            try:
                self._measure_all(progress)
            except KeyboardInterrupt as error:
                self.findings.leave_out("all", f"interrupted after {progress.done} of {progress.total} layers")
                measured = xr.Dataset(self._variables(), coordinates, self._about())
                raise Interrupted(measured) from error
        return xr.Dataset(self._variables(), coordinates, self._about())

    def _measure_all(self, progress: Progress) -> None:
        libraries = _libraries()

        def consume(name: str, A: NDArray[np.floating]) -> None:
            with libraries.limit(limits=1, user_api="blas"):  # small products: more threads only wait for each other
                self.consume(name, A)
            if name in self._read:
                progress.finish(name)

        for name, reason in stream(replace(self.planned, layers=self._read), self._hidden, consume).items():
            self.lost[name] = reason
            self.findings.leave_out("layer", reason, name)
        with libraries.limit(limits=1, user_api="blas"):
            for measure, function in self._of_output().items():
                with self.findings.isolated(measure):
                    function()

    # one layer

    def consume(self, name: str, A: NDArray[np.floating]) -> None:
        """Measures one layer, shape (rows, units), and keeps what a later one needs."""
        if self.reader.features.mask is not None and len(A) == self.reader.features.mask.size:
            A = A[self.reader.features.mask.reshape(-1)]
        if why := self._unusable(name, A):
            self.findings.leave_out("layer", why, name)
            return
        if name in self._hidden:
            self.kept[name] = A.copy()
        if name in self.planned.layers:
            layer = Layer(A, self.labels, self.pairs, self.request.gamma, self.request.bias)
            at = self.planned.layers.index(name)
            for measure in (entry for entry in OF_LAYER if entry in self.measures):
                with self.findings.isolated(measure, name):
                    self.findings.put(OF_LAYER[measure](layer), at)
        if name in self._flow and "energies" in self.measures:
            self._step(name, A)

    def _unusable(self, name: str, A: NDArray[np.floating]) -> str:
        if len(A) != self.points:
            self.lost[name] = "rows"
            return f"it has {len(A)} rows where {self.points} are measured"
        if not (finite := np.isfinite(A)).all():
            return f"{int(np.sum(~finite))} of {A.size} values are NaN or infinite"
        return ""

    def _step(self, name: str, A: NDArray[np.floating]) -> None:
        """Energies of the step of the residual stream that ends here."""
        at = self._flow.index(name) - 1
        if at >= 0:
            with self.findings.isolated("energies", name):
                if self.before is None or self.before[0] != self._flow[at]:
                    raise ValueError(f"the layer before it, {self._flow[at]}, is missing or comes later")
                stream = cast("Residual", self.request.residual)  # it has steps
                step, Lt = stream.step_sizes[at], float(stream.effective_depth)
                kinetic, potential = energies(self.before[1], A, step, Lt, self.request.gamma, self.request.bias)
                total = {"kinetic_energy": kinetic, "potential_energy": potential, "hamiltonian": kinetic + potential}
                self.findings.put(total, at)
        self.before = name, A.copy()

    # what is known from names alone

    @cached_property
    def _read(self) -> list[str]:
        """The layers to hand on: none where nothing is asked of them."""
        return self.planned.layers if {*OF_LAYER, "energies"} & set(self.measures) else []

    @cached_property
    def _flow(self) -> list[str]:
        flow = self.request.residual
        return [self.planned.call(name) for name in flow.layers] if flow else []

    @cached_property
    def _coordinates_layer(self) -> str:
        """The layer that stands for the inputs."""
        return self.planned.call(self.request.embeddings) if self.request.embeddings else INPUT

    @cached_property
    def _classifier(self) -> str | None:
        return self.request.classifier or self.planned.classifier

    @cached_property
    def _hidden(self) -> list[str]:
        """Layers that are needed whole beside those that are measured."""
        names = []
        of_output = {"pairs", "targets", "accuracy", "classifier"} | ({"loss"} if self.own_loss is None else set())
        if of_output & set(self.measures):
            names.append(OUTPUT)
        if "pairs" in self.measures:
            names.append(self._coordinates_layer)
        if "classifier" in self.measures and self._classifier:
            names.append(f"{self._classifier}:input")
        return names

    def _expectations(self) -> None:
        for name, function in (("expected_angle", expected_angle), ("expected_norm_ratio", expected_norm_ratio)):
            with self.findings.isolated("angles", name):
                self.findings.put({name: function(self.points)})

    # what concerns the output

    def _of_output(self) -> dict[str, Callable[[], None]]:
        functions = {
            "pairs": self._distances,
            "targets": self._targets,
            "loss": self._loss,
            "accuracy": self._accuracy,
            "classifier": self._classified,
            "radial": self._radial,
        }
        return {name: function for name, function in functions.items() if name in self.measures}

    def _needed(self, name: str) -> NDArray[np.float64]:
        """A layer that was kept whole.

        Raises:
            ValueError: it is missing, and why.
        """
        if name not in self.kept:
            shape = self.planned.shapes.get(name)
            raise ValueError(f"no usable {name}" + (f": {shape.why}" if shape and shape.why else ""))
        return self.kept[name].astype(np.float64)

    def _distances(self) -> None:
        with self.findings.isolated("prediction_distance"):
            self.findings.put({"prediction_distance": distances(self._needed(OUTPUT), self.pairs)})
        with self.findings.isolated("input_distance"):
            try:
                rows = self._needed(self._coordinates_layer)
            except ValueError as error:
                raise ValueError(f"{error}; name a layer that stands for the inputs: embeddings=") from error
            self.findings.put({"input_distance": distances(rows, self.pairs)})

    def _real_output(self) -> NDArray[np.float64]:
        """What the network returns, where it can be compared with targets or has a largest entry."""
        if self.planned.shapes[OUTPUT].is_complex:
            raise ValueError("the network returns complex numbers, which have no order; give output=, a real part")
        return self._needed(OUTPUT)

    def _targets(self) -> None:
        output = self._real_output()
        if self.targets is None:
            counted, wanted = self._counted, np.full(output.shape, np.nan)
            wanted[counted] = one_hot(self._classes, output.shape[1])
        else:
            counted, wanted = np.ones(len(output), bool), self.targets.reshape(output.shape)
        task = wanted[counted]
        ranks = [np.linalg.matrix_rank(part) for part in (task, task - task.mean(axis=0))]
        numbers = {"half_mse": losses.half_mse(output[counted], task), "task_rank": ranks[0]}
        self.findings.put(numbers | {"centered_task_rank": ranks[1]} | alignment(output, wanted, self.pairs))

    def _loss(self) -> None:
        if self.own_loss is not None:
            value = losses.over_all_points(self.reader, self.own_loss, self.planned.shapes[OUTPUT].axis or 0)
        elif self.targets is not None:
            output = self._real_output()
            value = losses.half_mse(output, self.targets.reshape(output.shape))
        else:
            output, classes = self._real_output(), self._classes
            check_classes(classes, output.shape[1])
            value = losses.cross_entropy(output[self._counted], classes)
        self.findings.put({"loss": value})

    @property
    def _classes(self) -> np.ndarray:
        """The labels of the points that have a class, where what needs them is asked for."""
        if self.labels is None:
            raise ValueError("no labels, one per point: labels=")
        return self.labels[self._counted]

    @property
    def _counted(self) -> NDArray[np.bool_]:
        """The points that have a class; all without labels."""
        return np.ones(self.points, bool) if self.labels is None else self.labels != IGNORED

    def _decisions(self) -> np.ndarray:
        """The classes that the network decides for, of the points that have one."""
        output = self._real_output()
        check_classes(self._classes, output.shape[1])
        return output[self._counted].argmax(axis=1)

    def _accuracy(self) -> None:
        self.findings.put({"accuracy": float(np.mean(self._decisions() == self._classes))})

    def _classified(self) -> None:
        """NC2 of the classifier, NC3, NC4."""
        if not self._classifier:
            raise ValueError("no nn.Linear returns what the network returns, or its order; name one: classifier=")
        module = dict(named_modules(self.reader.model)).get(self._classifier.partition("#")[0])
        W = getattr(module, "weight", None)
        W = W().dequantize() if callable(W) else W  # of quantized maps
        if not isinstance(W, Tensor) or W.ndim != 2:
            raise ValueError(f"{self._classifier} has no matrix of weights")
        if not np.array_equal(np.unique(self._classes), np.arange(len(W))):
            raise ValueError(
                f"the labels are not 0 .. {len(W) - 1}, a point of each of the classifier's classes at least"
            )
        H = self._needed(f"{self._classifier}:input")[self._counted]
        self.findings.put(classifier_collapse(H, self._classes, W.detach().cpu().double().numpy(), self._decisions()))

    # gradients

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
        inputs = self.reader.inputs
        if self.request.loss is not None:  # may hold answers of its own, for all points of the batch
            batch, answers = inputs.batches[0], self.request.answers
            first = answers if answers is None or len(inputs.batches) == 1 else answers[: inputs.sizes[0]]
            loss = losses.of_output(self.request.loss, first)
        else:
            batch, indices = inputs.spread(radial.POINTS)
            loss = losses.usual_loss(*(losses.of_points(part, indices) for part in (self.labels, self.targets)))
        for at, (name, share) in enumerate(radial.radial_fractions(self.reader, self.maps, batch, loss).items()):
            self.findings.put({"radial_fraction": share.median, "largest_radial_fraction": share.largest}, at)
            if share.why:
                self.findings.leave_out("radial", share.why, name)

    # the dataset around the numbers

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
            coordinates["class"] = variable("class", np.unique(self.labels[self._counted]), "class")
            coordinates["label"] = variable("point", self.labels, "class of the point")
        if flow := self.request.residual:
            words = "layer a residual step starts from"
            coordinates["step_from"] = variable("step_from", np.array(list(flow.layers[:-1]), str), words)
            coordinates["effective_depth"] = variable((), float(flow.effective_depth), "leak Lt of the residual stream")
        if maps:
            coordinates["normalized"] = variable("normalized", np.array(maps), "map in front of a normalization layer")
        return xr.Dataset(coords=coordinates).coords

    def _about(self) -> dict[str, object]:
        running = "running statistics, as in evaluation"
        return {
            "title": f"Diagnostics of {type(self.reader.model).__name__} on {self.points} points",
            "gamma": self.request.gamma,
            "identity_with_bias": int(self.request.bias),
            "normalized_by": "batch statistics" if self.reader.batch_statistics else running,
            "last_map": self._classifier or "",
            "left_out": self.findings.text(),
        }


@cache
def _libraries() -> ThreadpoolController:
    """The libraries of linear algebra that are loaded, found once: looking for them takes milliseconds."""
    return ThreadpoolController()
