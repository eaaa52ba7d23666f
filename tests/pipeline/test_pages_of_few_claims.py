"""Generated pages of made-up claims, settings and studies: counts by hand, cells where their heads say."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from pydantic import Field

from repdyn.base.claims import claim
from repdyn.base.settings import Settings
from repdyn.pipeline.pages import counts, generate, outputs
from repdyn.pipeline.pages.markdown import table
from repdyn.pipeline.run.declare.graph import Function, Study

HOLDS, CORRECTED, REFUTED = "holds", "holds as corrected", "does not hold"
DEPENDS, OPEN, UNTESTED = "depends on the reading", "not decidable at this scale", "not testable"
VERDICTS = {  # of two studies; c-5 is ours, d-3 has no accepted verdict
    **{"c-1": HOLDS, "c-2": CORRECTED, "c-3": CORRECTED, "c-4": REFUTED, "c-5": REFUTED, "c-6": HOLDS, "c-7": HOLDS},
    **{"d-1": DEPENDS, "d-2": OPEN, "d-4": UNTESTED, "d-5": CORRECTED, "d-6": HOLDS},
}
SLIPS = {"c-2": "misprint", "c-3": "misprint", "c-4": "conclusion fails", "c-5": "result changes"}
SLIPS |= {"d-2": "missing hypothesis", "d-5": "slip in a proof", "d-6": "misprint"}


def studies():
    ids = [*VERDICTS, "d-3"]
    claims = [
        SimpleNamespace(id=id, origin="ours" if id == "c-5" else "paper", kind_of_slip=SLIPS.get(id, "")) for id in ids
    ]
    return {"cats": claims[:7], "dogs": claims[7:], "empty": []}


def test_claims_are_counted_by_verdict_slip_and_study():
    accepted = {id: {"verdict": verdict} for id, verdict in VERDICTS.items()}
    text = counts.block(studies(), accepted, {})
    words, _, rows = text.partition("\n\n")
    assert words.startswith(counts.BEGIN)
    assert (
        "has 12 statements of the papers at the default scale: 4 hold as printed, 3 hold once corrected, 1 do" in words
    )
    assert "1 depend on how their words are read, and 3 stay open" in words
    assert "Of the 4 refuted: 1 conclusions fail, 1 slips in a proof that change nothing, 2 misprints." in words
    assert "Counted apart are 1 statements of our own." in words
    assert rows.splitlines()[-3:] == [
        "| [cats](cats.md) | 6 | 3 | 2 | 1 | 0 | 0 | 1 |  |  |  | 2 |",
        "| [dogs](dogs.md) | 6 | 1 | 1 | 0 | 1 | 3 |  |  |  | 1 |  |",
        counts.END,
    ]


def test_the_larger_scale_is_told_of_where_both_are_kept():
    accepted = {id: {"verdict": verdict} for id, verdict in VERDICTS.items()}
    kept = {"default": VERDICTS, "full": VERDICTS | {"c-4": OPEN}}
    assert counts.confirmed(kept["default"], kept["full"]) in counts.block(studies(), accepted, kept)
    assert "full scale" not in counts.block(studies(), accepted, {"default": VERDICTS})


def test_a_larger_scale_confirms_opens_contradicts_and_decides():
    """Of 14 statements in both 10 are decided at the default scale: 4 are confirmed, 3 left open, 3 contradicted."""
    before = [HOLDS, HOLDS, CORRECTED, UNTESTED, HOLDS, REFUTED, CORRECTED, HOLDS, REFUTED, DEPENDS]
    after = [HOLDS, HOLDS, CORRECTED, UNTESTED, OPEN, OPEN, OPEN, REFUTED, CORRECTED, HOLDS]
    default = {f"d-{k}": verdict for k, verdict in enumerate([*before, *[OPEN] * 4, HOLDS, OPEN])}
    larger = {f"d-{k}": verdict for k, verdict in enumerate([*after, HOLDS, OPEN, REFUTED, OPEN])} | {"e-1": HOLDS}
    assert counts.confirmed(default, larger, "the largest") == (
        "Of the 14 statements that the largest has judged in today's words, it confirms 4 of the 10 verdicts that the "
        "default scale decides, leaves 3 of them open (refutations among them: 2), contradicts 3, and decides 2 of the "
        "4 that the default scale leaves open."
    )
    alike = counts.confirmed({"a": HOLDS, "b": HOLDS}, {"b": OPEN, "a": HOLDS})
    assert alike.startswith(f"Of the 2 statements that {counts.LARGER['full']} has judged")
    assert "leaves 1 of them open (refutations among them: none), contradicts none, and decides 0 of the 0" in alike


def test_each_larger_scale_that_is_kept_is_told_of_in_its_own_words():
    accepted = {id: {"verdict": verdict} for id, verdict in VERDICTS.items()}
    kept = {"default": VERDICTS, "paper": VERDICTS | {"c-1": OPEN}, "full": VERDICTS | {"c-4": OPEN, "c-1": REFUTED}}
    text = counts.block(studies(), accepted, kept)
    told = [counts.confirmed(VERDICTS, kept[name], counts.LARGER[name]) for name in ("full", "paper")]
    assert " ".join(told) in text
    assert "confirms" not in counts.block(studies(), accepted, {"paper": VERDICTS, "full": VERDICTS})


def test_the_count_takes_the_place_between_its_marks():
    page = f"above {counts.BEGIN} old {counts.END} below"
    assert counts.put(page, "new") == "above new below"
    for mark in (counts.BEGIN, counts.END):
        with pytest.raises(ValueError, match="no place for the count"):
            counts.put(page.replace(mark, ""), "new")


# the list of claims


def stated(**changes):
    declared = claim("x-1", where="Theorem 1", kind="identity", states="A equals B.", control=None)
    return replace(declared(lambda first: None), **changes)


@pytest.mark.parametrize(
    ("verdict", "changes", "cells"),
    [
        (HOLDS, {}, ("A equals B.", HOLDS)),
        (HOLDS, {"kind_of_slip": "misprint"}, ("A equals B.", HOLDS)),
        (REFUTED, {"kind_of_slip": "misprint"}, ("A equals B. [Derivation](study.md#x-1).", f"{REFUTED}<br>misprint")),
        (
            CORRECTED,
            {"correction": "A is 2 B.", "words": "A is B", "line": 7},
            ("“A is B” (line 7)<br>A equals B.<br>**Correct form:** A is 2 B. [Derivation](study.md#x-1).", CORRECTED),
        ),
        (
            OPEN,
            {"correction": "A is 2 B.", "possible_ocr_error": True, "words": "$A$", "line": 8},
            ("`$A$` (line 8)<br>A equals B.<br>**Possibly an OCR error. Correct form:** A is 2 B.", OPEN),
        ),
    ],
)
def test_a_claim_is_listed_with_its_words_its_correction_and_what_slipped(verdict, changes, cells):
    row = generate._claim_row("study", stated(**changes), verdict)
    assert row == ("`x-1`", "Theorem 1<br>identity", *cells)


def test_claims_stand_in_the_order_of_the_accepted_verdicts_new_ones_last(monkeypatch):
    claims = [stated(id=id, where=f"place of {id}") for id in ("new", "b", "a")]
    monkeypatch.setattr(generate, "_claims", lambda: [("study", claims)])
    monkeypatch.setattr(generate, "accepted_verdicts", lambda: {"a": {"verdict": HOLDS}, "b": {"verdict": OPEN}})
    rows = [line.split(" | ") for line in generate.claims_page().splitlines() if line.startswith("| `")]
    assert [(row[0], row[-1]) for row in rows] == [
        ("| `a`", f"{HOLDS} |"),
        ("| `b`", f"{OPEN} |"),
        ("| `new`", "not accepted yet |"),
    ]
    assert rows[2][1].startswith("place of new")


# settings


class Training(Settings):
    """A training."""

    width: int = Field(ge=2, description="Units.")
    rates: list[float] = Field(description="Rates.")


class Whole(Settings):
    """All of it."""

    name: str = Field(description="Name.")
    training: Training


def test_settings_have_their_default_and_the_scales_that_have_another_value():
    sizes = {"default": (8, [0.5, 1.0]), "smoke": (2, [0.5, 1.0]), "full": (64, [0.25])}
    scales = {
        scale: Whole(name=scale, training=Training(width=width, rates=rates)) for scale, (width, rates) in sizes.items()
    }
    text = "\n".join(generate._sections(Whole, (), scales))
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [
        "| `name` | text | `default` | smoke `smoke`; full `full` | Name. |",
        "| `width` | integer of at least 2 | `8` | smoke `2`; full `64` | Units. |",
        "| `rates` | list of numbers | `[0.5, 1.0]` | full `[0.25]` | Rates. |",
    ]
    assert "## training\n\nA training." in text
    assert text.index("`name`") < text.index("## training") < text.index("`width`")


# outputs


def test_a_study_lists_what_reads_each_dataset():
    def function(name, *reads, claim=""):
        return Function("s", "repdyn.s", "module", name, f"{name} in words.", reads, {}, claim)

    study = Study(
        name="s",
        experiments={"train": function("train"), "analysis": function("analysis", "train", "other")},
        figures={"fig": function("fig", "analysis")},
        tables={"tab": function("tab", "analysis", "train")},
        claims={"s-1": function("one", "train", claim="s-1"), "s-2": function("two", "analysis", "train", claim="s-2")},
    )
    figures, tables, datasets = (part.splitlines()[2:] for part in outputs._study(study))
    assert figures == ["| `fig` | fig in words. | `analysis` |"]
    assert tables == ["| `tab` | tab in words. | `analysis`, `train` |"]
    assert datasets == [
        "| `train` | train in words. | `tab`, `analysis` | `s-1`, `s-2` |",
        "| `analysis` | analysis in words. | `fig`, `tab` | `s-2` |",
    ]


def test_bars_stay_in_their_cell_and_norms_in_their_formula():
    text = table(("a", "b"), [("x | y\nz", r"$|v| = \|w\|$ `a|b` $|u|$")])
    assert text.splitlines()[2] == r"| x \| y z | $\vert v\vert  = \Vert w\Vert $ `a\|b` $\vert u\vert $ |"


def test_each_page_is_written_to_its_own_file_and_the_count_into_the_first_where_there_is_one(tmp_path, monkeypatch):
    pages = {"measures": generate.measures, "glossary": generate.glossary, "outputs": generate.outputs}
    for name, module in pages.items():
        monkeypatch.setattr(module, "page", lambda *_, name=name: f"page of {name}")
    monkeypatch.setattr(generate.chosen, "page", lambda root: f"draws of {root}")
    monkeypatch.setattr(generate, "claims_page", lambda: "all claims")
    monkeypatch.setattr(generate, "configuration_page", lambda root: f"settings of {root}")
    monkeypatch.setattr(generate, "json_schema", lambda: "schema")
    monkeypatch.setattr(generate, "counted", lambda root: f"count of {root}")
    wanted = {f"{name}.md": f"page of {name}" for name in pages}
    wanted |= {"claims.md": "all claims", "config.schema.json": "schema", "fresh_draws.md": f"draws of {tmp_path}"}
    wanted |= {"configuration.md": f"settings of {tmp_path}"}
    (tmp_path / "docs").mkdir()
    generate.write(tmp_path)
    assert {path.name: path.read_text() for path in (tmp_path / "docs").iterdir()} == wanted
    (tmp_path / "docs/index.md").write_text(f"above {counts.BEGIN} old {counts.END} below")
    generate.run(["--root", str(tmp_path)])
    wanted["index.md"] = f"above count of {tmp_path} below"
    assert {path.name: path.read_text() for path in (tmp_path / "docs").iterdir()} == wanted
