"""Titles of pages: the beginning of a text as plain text, since a title has no markup."""

from __future__ import annotations

import re

from repdyn.base.markup import DOLLARS, mathml

LONGEST = 70  # characters
END = "…"
ACCENTS = {"tilde": "\u0303", "bar": "\u0304", "hat": "\u0302", "dot": "\u0307"}  # above the letter before them
ACCENT = re.compile(rf"\\({'|'.join(ACCENTS)})(?: ([A-Za-z])|\{{([A-Za-z])\}})")
FONT = re.compile(r"\\(?:mathcal|mathbb|mathrm|operatorname|text)\{([^{}]*)\}")
SIZE = re.compile(r"\\(?:left|right)(?![A-Za-z])")
FRACTION = re.compile(r"\\[dt]?frac(?:\{([^{}]*)\}\{([^{}]*)\}|(\d)(\d))")
ROOT = re.compile(r"\\sqrt\{([^{}]*)\}")
BRACES = re.compile(r"(?<!\\)([_^])\{([^{}]*)\}")
PLAIN = re.compile(r"\(.*\)|[^\s+\-/]*")  # needs no parentheses below a root or beside a slash
POWERS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
POWER = re.compile(r"\^(\d)(?!\w)")
COMMAND = re.compile(r"\\not *\\[A-Za-z]+|\\(?:[A-Za-z]+|[|,])")


def title(text: str) -> str:
    """A text, or its beginning in whole words, with formulas in Unicode letters where possible."""
    shown = DOLLARS.sub(lambda formula: _in_letters(formula[1]), text).rstrip(".")
    if len(shown) <= LONGEST:
        return shown
    kept = shown[:LONGEST].rpartition(" ")[0] or shown[: LONGEST - 1]
    return kept.rstrip(" ,;:(") + END


def _in_letters(latex: str) -> str:
    accented = ACCENT.sub(lambda found: (found[2] or found[3]) + ACCENTS[found[1]], latex)
    text, before = SIZE.sub("", FONT.sub(r"\1", accented)), ""
    while text != before:  # from the innermost braces outwards
        before = text
        text = BRACES.sub(lambda found: found[1] + _together(found[2]), text)
        text = FRACTION.sub(lambda found: "/".join(_together(part) for part in found.groups() if part), text)
        text = ROOT.sub(lambda found: f"√{_together(found[1])}", text)
    return POWER.sub(lambda found: found[1].translate(POWERS), COMMAND.sub(_letter, text))


def _together(part: str) -> str:
    """Part of a formula on one line, in parentheses if it has several terms."""
    return part if PLAIN.fullmatch(part) else f"({part})"


def _letter(command: re.Match[str]) -> str:
    """The letters that a command stands for; the command, where the files are missing."""
    letters = str(mathml(command[0]).striptags())
    return command[0] if "\\" in letters or not letters else letters
