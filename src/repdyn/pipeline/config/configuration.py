"""The whole configuration: one model for all studies, read from YAML files, checked before anything starts.

No mistake is ignored: all problems are reported together, each as
`config.yaml:41: data.source: "digit" is not one of digits, mnist (did you mean "digits"?)`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError, create_model
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from repdyn.base.errors import ConfigError
from repdyn.base.settings import Many, Problem, Settings, addition
from repdyn.pipeline import studies
from repdyn.pipeline.config.messages import Schema, complaints, kinds, nearest, not_one_of, schema_at
from repdyn.pipeline.config.yaml_positions import Complaint, KeyPath, Layer, Position, merged, read
from repdyn.pipeline.run.declare.graph import read_study

Model = TypeVar("Model", bound=Settings)
MOST_SHOWN = 8  # of many known names in a message


class Run(Settings):
    """Name, seed and device of a run."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        max_length=100,
        description="Folder of the results, `results/<name>/`; every scale has its own.",
    )
    seed: int = Field(ge=0, le=2**32 - 1, description="Root of all random numbers; another seed gives another sample.")
    device: Literal["auto", "cpu", "cuda"] = Field(
        description="Where training runs: `cuda` requests a GPU per training job, also on a cluster; `auto` takes one "
        "where a job finds it."
    )
    looks: dict[str, Annotated[int, Field(ge=1, le=20)]] = addition(
        {},
        description="Claim -> how often its numbers have been looked at, this time included: after doubling its trials "
        "because it was undecided. Later looks spend less of the false alarm; `repdyn decide` writes it.",
    )

    def problems(self) -> Iterator[Problem]:
        """Looks at a claim that no study has."""
        known = [id for study in studies.declared() for id in read_study(study).claims] if self.looks else []
        for id in self.looks:
            if id not in known:
                near = nearest(id, known)
                shown = f'did you mean "{near}"?' if near else f"known are {', '.join(known[:MOST_SHOWN])}"
                more = f" and {len(known) - MOST_SHOWN} more" if not near and len(known) > MOST_SHOWN else ""
                yield Problem(("looks",), f'no claim "{id}"; {shown}{more}')


class Data(Settings):
    """Where images come from."""

    source: Literal["digits", "mnist"] = Field(
        description="`digits`: 1797 images of 8 x 8 from scikit-learn; `mnist`: 28 x 28, from `mnist_folder`."
    )
    mnist_folder: str | None = Field(
        min_length=1,
        description="Folder with the IDX files of MNIST, plain or `.gz`; relative to the working directory. "
        "`null` downloads what is wanted once.",
    )
    split: Literal["test", "train", "both"] = addition(
        "test", description="Which images of MNIST: 10,000 for tests, 60,000 for training, or all."
    )
    mnist_mirrors: Many[Annotated[str, Field(pattern=r"^https://\S+$")]] = Field(
        description="Addresses to download MNIST from, tried in turn; every file is checked by SHA-256."
    )

    def problems(self) -> Iterator[Problem]:
        """MNIST needs a folder or a mirror."""
        if self.source == "mnist" and self.mnist_folder is None and not self.mnist_mirrors:
            text = "null without mnist_mirrors, but source is mnist: name the folder with its IDX files"
            yield Problem(("mnist_folder", "source"), text)


class Workflow(Settings):
    """Settings of the workflow itself."""

    run: Run
    data: Data


STUDIES = tuple(studies.declared())
"""All studies, and the packages above them that have experiments of their own, in the report's order."""

SECTIONS: dict[str, Any] = {name: study.settings for name, study in studies.declared().items()}
"""Study -> the model of its settings."""

Config: type[Workflow] = create_model(
    "Config", __base__=Workflow, __doc__="Every setting of every study, and of the packages above them.", **SECTIONS
)
SCALE, DEFAULT = "scale", "default"
"""The key with which a file selects the studies' values for a scale, and the scale used as the basis of all files."""


def load(paths: Sequence[Path | str], overrides: Mapping[str, Any] | None = None) -> Workflow:
    """The checked configuration: the studies' own values, then files merged in order, key by key, then the overrides.

    Args:
        paths: `config.yaml`, then overlays that name only what differs; a list replaces a list. A file with the key
            `scale` first loads the studies' values for that scale.
        overrides: values from the command line, nested or by dotted keys (`{"run.name": "other"}`). Text is read as
            YAML if a setting is not text, since Snakemake turns `run="{seed: 2}"` into `{"seed": "2"}`.

    Returns:
        The settings of all studies.

    Raises:
        ConfigError: with one line per problem, by file and line.
    """
    return checked(Config, paths, overrides, studies.files)


def checked(
    model: type[Model],
    paths: Sequence[Path | str],
    overrides: Mapping[str, Any] | None = None,
    files: Callable[[str], Mapping[str, Path]] = lambda name: {},
) -> Model:
    """As `load`, for any model; `files` finds the file of a name in each study."""
    overrides = dict(overrides or {})
    layers = _read_all(paths, files)
    if scale := overrides.pop(SCALE, None):
        if not {"run", "run.name"} & set(overrides):
            raise ConfigError(f"--config {SCALE}: also name the run, since every scale has its own folder: run.name")
        layers += _of_scale(str(scale), Position(len(layers), "--config", None), files)
    schema = cache(model.model_json_schema)  # slow, and needed only for overrides and error messages
    if overrides:
        layers.append(Layer({}, {}))
        _put(layers[-1], layers[-1].values, (), overrides, Position(len(layers) - 1, "--config", None), schema())
    values, positions = merged(layers)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problems = [*complaints(error, values, positions, schema())]
    problems.sort(key=lambda complaint: (complaint.position.order, complaint.position.line or 0))
    raise ConfigError("\n".join(dict.fromkeys(map(str, problems))))


def _read_all(paths: Sequence[Path | str], files: Callable[[str], Mapping[str, Path]]) -> list[Layer]:
    errors: list[str] = []
    layers = _of_study(files(studies.VALUES.format(DEFAULT)))
    for path in paths:
        try:
            layer = read(Path(path), len(layers))
            layer.values.pop(studies.KEY, None)  # `studies.choose` reads it
            if scale := layer.values.pop(SCALE, None):
                layers += _of_scale(scale, layer.positions[(SCALE,)], files)
            layers.append(layer)
        except ConfigError as error:
            errors.append(str(error))
    if errors or not paths:
        raise ConfigError("\n".join(errors) or "no configuration file was given: name config.yaml")
    return layers


def _of_scale(scale: object, position: Position, files: Callable[[str], Mapping[str, Path]]) -> list[Layer]:
    """The studies' values for a scale; a study without any is unchanged."""
    chosen = files(studies.VALUES.format(scale))
    if not chosen or studies.VALUES.format(scale) == studies.SOURCES:
        known = sorted({path.stem for path in studies.every(studies.VALUES.format("*"))} - {Path(studies.SOURCES).stem})
        raise ConfigError(str(Complaint(position, (SCALE,), not_one_of(scale, known))))
    return _of_study(chosen)


def _of_study(files: Mapping[str, Path]) -> list[Layer]:
    """Files of studies as layers of the whole configuration."""
    return [read(path, order, under=study) for order, (study, path) in enumerate(files.items())]


def _put(
    layer: Layer, into: dict[str, Any], path: KeyPath, overrides: Mapping[str, Any], position: Position, root: Schema
) -> None:
    for dotted, value in overrides.items():
        key, _, rest = str(dotted).partition(".")
        value, here = {rest: value} if rest else value, (*path, key)
        layer.positions[here] = position
        if not isinstance(value, Mapping):
            into[key] = _typed(value, schema_at(here, root), root)
            continue
        if not isinstance(into.get(key), dict):
            into[key] = {}
        _put(layer, into[key], here, value, position, root)


def _typed(value: Any, node: Schema | None, root: Schema) -> Any:
    """Text from the command line, parsed as YAML if the setting is not text."""
    if isinstance(value, list | tuple):
        item = node.get("items") if node else None
        return [_typed(part, item, root) for part in value]
    if not isinstance(value, str) or node is None:
        return value
    wanted = kinds(node, root)
    if "string" in wanted and not ("null" in wanted and value in ("null", "~")):
        return value
    try:
        return YAML(typ="safe", pure=True).load(value)
    except YAMLError:
        return value
