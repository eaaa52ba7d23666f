"""Generated pages of docs: configuration and its JSON schema, claims, outputs, measures, glossary.

`python -m repdyn dev pages` in the repository's folder writes them anew.
"""

import argparse
import inspect
import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from repdyn.base.claims import Claim, claims_of
from repdyn.base.settings import Settings, json_text
from repdyn.base.verdicts import REFUTED
from repdyn.pipeline import kept_runs
from repdyn.pipeline.config.configuration import SCALE, STUDIES, Config, Workflow, load
from repdyn.pipeline.config.messages import Schema, describe, resolved
from repdyn.pipeline.packages import package_of
from repdyn.pipeline.pages import chosen, counts, glossary, measures, outputs
from repdyn.pipeline.pages.markdown import table
from repdyn.pipeline.run.execute.loading import load_modules
from repdyn.pipeline.run.kinds.ledger import SCALES, Entry, accepted_verdicts

INTRODUCTION = """\
# Configuration

The values of a study are in its folder, in `src/repdyn/<study>/values/default.yaml`; `values/<scale>.yaml` has what
differs at another scale. `config.yaml` overrides them key by key; a list is replaced as a whole. Choose a scale with
`--configfile workflow/scales/smoke.yaml`, change single values with `--config run="{name: other, seed: 2}"`. Another
overlay selects the values of a scale with the key `scale`. Unknown keys, types, ranges and the rules between settings
are checked before the first job, and all problems are reported at once with file and line.

The files are YAML 1.2: `1e-3` is a number, `on` is text, and duplicate keys are rejected.

This page is generated from the models (`python -m repdyn dev pages`); a test checks that it agrees with them.
"""

CLAIMS_INTRODUCTION = """\
# Claims

Every claim with its accepted verdict, at the default scale unless it says otherwise. The numbers, margins and negative
controls behind a verdict are in the ledger of a run (`results/<run>/claims.csv`, the report,
`python -m repdyn claim ID`); the derivations of the corrections are on the page of the study. What a verdict means:
[verdicts](verdicts.md).

This page is generated from the checks (`python -m repdyn dev pages`); a test checks that it agrees with them.
"""


def run(words: Sequence[str]) -> None:
    """Rewrites the generated pages."""
    parser = argparse.ArgumentParser(prog="repdyn dev pages", description="Rewrite the generated pages under docs/.")
    parser.add_argument("--root", type=Path, default=Path(), help="folder of the checkout (default: here)")
    write(parser.parse_args(words).root)


def json_schema() -> str:
    """JSON schema of `config.yaml` and overlays, for completion and checks in editors.

    Nothing is required: missing values come from the studies or from the file below.
    """
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}
    for section in (schema, *schema["$defs"].values()):
        section.pop("required", None)
    schema["properties"][SCALE] = {"description": "Scale of the studies' values on which this file is based."}
    return json.dumps(schema, indent=2) + "\n"


def configuration_page(root: Path) -> str:
    """The page of all settings as Markdown: one table per section, with the values of every scale.

    Args:
        root: folder of `config.yaml` and `workflow/scales/`.
    """
    base = root / "config.yaml"
    scales = {"default": load([base])}
    scales |= {name: load([base, root / "workflow" / "scales" / f"{name}.yaml"]) for name in SCALES}
    return "\n".join([INTRODUCTION, *_sections(Config, (), scales)])


def claims_page() -> str:
    """The list of claims as Markdown: place, statement, correction, accepted verdict."""
    accepted = accepted_verdicts()
    parts = [CLAIMS_INTRODUCTION]
    for study, claims in _claims():
        declared = {claim.id: claim for claim in claims}
        ordered = [declared.pop(id) for id in accepted if id in declared] + list(declared.values())
        verdicts = [_shown(accepted[claim.id]) if claim.id in accepted else "not accepted yet" for claim in ordered]
        rows = [_claim_row(study, claim, verdict) for claim, verdict in zip(ordered, verdicts, strict=True)]
        parts += [f"## {study}\n", table(("claim", "where", "statement", "accepted verdict"), rows)]
    return "\n".join(parts)


def counted(root: Path) -> str:
    """The count of claims on the first page of docs."""
    return counts.block(dict(_claims()), accepted_verdicts(), kept_runs.verdicts(root / kept_runs.FOLDER))


def _shown(accepted: Entry) -> str:
    return f"{accepted['verdict']} (larger scales)" if "default" in accepted["undecided_at"] else accepted["verdict"]


def _claims() -> list[tuple[str, list[Claim]]]:
    return [(study, claims_of(*load_modules(study, "claims"))) for study in filter(claims_anything, STUDIES)]


def _claim_row(study: str, claim: Claim, verdict: str) -> tuple[str, ...]:
    head = "Possibly an OCR error. Correct form" if claim.possible_ocr_error else "Correct form"
    right = f"<br>**{head}:** {claim.correction}" if claim.correction else ""
    if verdict in REFUTED:
        right += f" [Derivation](../src/repdyn/{study}/page.md#{claim.id})."
    quoted = f"{_quoted(claim.words)} (line {claim.line})<br>" if claim.words else ""
    slip = f"<br>{claim.kind_of_slip}" if verdict in REFUTED and claim.kind_of_slip else ""
    return f"`{claim.id}`", f"{claim.where}<br>{claim.kind}", quoted + claim.states + right, verdict + slip


def _quoted(words: str) -> str:
    """The paper's words; as code if they contain characters with a meaning in Markdown."""
    return f"`{words}`" if set(words) & set("$\\[|*_") else f"“{words}”"


def claims_anything(study: str) -> bool:
    """Whether a study has claims; one that is not about a paper may have none."""
    return find_spec(f"{package_of(study)}.claims") is not None


def write(root: Path) -> None:
    """Write the generated pages into `docs/` under `root`, and the count of claims into its first page."""
    if (first := root / "docs" / "index.md").is_file():
        first.write_text(counts.put(first.read_text(encoding="utf-8"), counted(root)), encoding="utf-8")
    (root / "docs" / "claims.md").write_text(claims_page(), encoding="utf-8")
    (root / "docs" / "outputs.md").write_text(outputs.page(STUDIES), encoding="utf-8")
    (root / "docs" / "measures.md").write_text(measures.page(), encoding="utf-8")
    (root / "docs" / "glossary.md").write_text(glossary.page(), encoding="utf-8")
    (root / "docs" / "fresh_draws.md").write_text(chosen.page(root), encoding="utf-8")
    (root / "docs" / "configuration.md").write_text(configuration_page(root), encoding="utf-8")
    (root / "docs" / "config.schema.json").write_text(json_schema(), encoding="utf-8")


def _sections(model: type[Settings], path: tuple[str, ...], scales: dict[str, Workflow]) -> Iterator[str]:
    if path:
        yield f"{'#' * (len(path) + 1)} {'.'.join(path)}\n\n{inspect.getdoc(model)}\n"
    fields = {name: field.annotation for name, field in model.model_fields.items()}
    sections = {name: kind for name, kind in fields.items() if inspect.isclass(kind) and issubclass(kind, Settings)}
    if names := [name for name in fields if name not in sections]:
        yield _table(model, path, names, scales)
    for name, section in sections.items():
        yield from _sections(section, (*path, name), scales)


def _table(model: type[Settings], path: tuple[str, ...], names: list[str], scales: dict[str, Workflow]) -> str:
    schema = model.model_json_schema()
    rows = [_row(name, schema["properties"][name], schema, path, scales) for name in names]
    return table(("key", "type and range", "default", "other scales", "meaning"), rows)


def _row(name: str, node: Schema, root: Schema, path: tuple[str, ...], scales: dict[str, Workflow]) -> tuple[str, ...]:
    values = {scale: _value(config, (*path, name)) for scale, config in scales.items()}
    default = values.pop("default")
    others = "; ".join(f"{scale} `{value}`" for scale, value in values.items() if value != default)
    kind = describe(node, root).removeprefix("an ").removeprefix("a ")
    meaning = {**resolved(node, root), **node}.get("description", "")
    return f"`{name}`", kind, f"`{default}`", others, meaning


def _value(config: Workflow, path: tuple[str, ...]) -> str:
    value: Any = config
    for key in path:
        value = getattr(value, key)
    return value if isinstance(value, str) else json_text(value).replace(",", ", ")
