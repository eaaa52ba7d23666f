"""Errata of a paper as a LaTeX document that could be sent to its authors."""

from __future__ import annotations

import re

from repdyn.base.markup import DOLLARS
from repdyn.base.tables import LATEX
from repdyn.pipeline.report.contents import Row
from repdyn.pipeline.report.errata import Errata

SPECIAL = {"<": r"\ensuremath{<}", ">": r"\ensuremath{>}", "|": r"\ensuremath{|}"}
SPECIAL |= {"°": r"\ensuremath{^\circ}", "×": r"\ensuremath{\times}", "±": r"\ensuremath{\pm}", "−": r"\ensuremath{-}"}
SPECIAL |= {"≤": r"\ensuremath{\le}", "≥": r"\ensuremath{\ge}", "≠": r"\ensuremath{\ne}", "→": r"\ensuremath{\to}"}
SPECIAL |= {"\N{EN DASH}": "--", "’": "'", "‘": "`", "“": "``", "”": "''", "é": r"\'e", "ü": r"\"u", "ö": r"\"o"}
GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega"
LETTERS = dict(zip("αβγδεζηθικλμνξπρστφχψω", GREEK.split(), strict=True))
LETTERS |= {"Γ": "Gamma", "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega"}
SPECIAL |= {letter: rf"\ensuremath{{\{name}}}" for letter, name in LETTERS.items()}
TABLE = LATEX | str.maketrans(SPECIAL)
HEAD = r"""\documentclass[11pt]{article}
\usepackage[T1]{fontenc}
\usepackage[margin=2.5cm]{geometry}
\usepackage{amsmath,amssymb}
\setlength{\parindent}{0pt}\setlength{\parskip}{6pt}
\begin{document}
"""


def document(title: str, paper: str, errata: Errata) -> str:
    """The document: printed form, correction, measured values of both.

    Args:
        title: short title of the study.
        paper: authors and title of the paper.
        errata: the confirmed entries by severity.
    """
    parts = [HEAD, rf"\section*{{Errata: {_text(title)}}}", f"{_text(paper)}\n"]
    for group in errata.groups:
        parts += [rf"\section*{{{_text(group.heading)}}}", f"{_text(group.remark)}\n", *map(_entry, group.rows)]
    return "\n".join([*parts, r"\end{document}", ""])


def _entry(claim: Row) -> str:
    lines = [rf"\subsection*{{{_text(claim['where'])} \normalfont(\texttt{{{_text(claim['id'])}}})}}"]
    if claim["words"]:
        lines += [rf"``{_text(claim['words'])}'' (line {claim['line']} of the text that we had)", ""]
    lines += [rf"\textbf{{Printed.}} {_text(claim['statement'])}", *_formula(claim["formula"])]
    if claim["assumes"]:
        lines += [rf"\textbf{{Assumed there.}} {_text(claim['assumes'])}", ""]
    lines += [rf"Measured: {_text(claim['printed_measured'])}; required: {_text(claim['printed_expected'])}.", ""]
    if claim["verdict"] == "does not hold":
        return "\n".join([*lines, rf"\textbf{{Does not hold.}} {_text(claim['correction'] or claim['why'])}", ""])
    lines += [rf"\textbf{{Correct.}} {_text(claim['correction'])}", *_formula(claim["corrected_formula"])]
    return "\n".join([*lines, rf"Measured: {_text(claim['measured'])}; required: {_text(claim['expected'])}.", ""])


def _formula(latex: str) -> list[str]:
    return [r"\[", latex, r"\]"] if latex else [""]


def _text(words: str) -> str:
    """Text for LaTeX: formulas between dollars are unchanged, all else is escaped; unsupported letters become "?"."""
    pieces = enumerate(DOLLARS.split(words))  # words and formulas in turn
    return "".join(f"${piece}$" if place % 2 else _escaped(piece) for place, piece in pieces)


def _escaped(words: str) -> str:
    return re.sub(r"[^\x00-\x7f]", "?", words.translate(TABLE))
