"""Titles of pages: the beginning of a text in letters alone, since a title holds no markup."""

from __future__ import annotations

import re

from repdyn.base.markup import DOLLARS, mathml

LONGEST = 70  # characters
END = "…"
ACCENTS = {"tilde": "\u0303", "bar": "\u0304", "hat": "\u0302", "dot": "\u0307"}  # above the letter before them
ACCENT = re.compile(rf"\\({'|'.join(ACCENTS)})(?: ([A-Za-z])|\{{([A-Za-z])\}})")
FONT = re.compile(r"\\(?:mathcal|mathbb|mathrm|operatorname|text)\{([^{}]*)\}")
COMMAND = re.compile(r"\\([A-Za-z]+|[|,])")


def title(text: str) -> str:
    """A text, or its beginning in whole words, with formulas in letters as far as there are any."""
    shown = DOLLARS.sub(lambda formula: _in_letters(formula[1]), text).rstrip(".")
    if len(shown) <= LONGEST:
        return shown
    kept = shown[:LONGEST].rpartition(" ")[0] or shown[: LONGEST - 1]
    return kept.rstrip(" ,;:(") + END


def _in_letters(latex: str) -> str:
    accented = ACCENT.sub(lambda found: (found[2] or found[3]) + ACCENTS[found[1]], latex)
    return COMMAND.sub(_letter, FONT.sub(r"\1", accented))


def _letter(command: re.Match[str]) -> str:
    """The letter that a command stands for; the command, where it is none."""
    letter = str(mathml(command[0]).striptags())
    return letter if len(letter) == 1 else command[0]
