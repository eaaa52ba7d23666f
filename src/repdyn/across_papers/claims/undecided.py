"""Tests that leave a claim open whatever their numbers say."""

from __future__ import annotations

from dataclasses import replace

from repdyn.base.verdicts import Test


def undecided(test: Test, why: str) -> Test:
    """The test without an outcome, and why it has none."""
    return replace(test, outcome="undecided", reason=why, margin=1.0)
