"""Compiled functions: numpy's division by zero, code cached only with a configured folder."""

import math

import pytest

from repdyn.base.compiling import KEPT_IN, compiled


def quotient(a, b):
    return a / b


@pytest.mark.parametrize("make", [compiled, compiled(fastmath={"contract"})])
def test_division_by_zero_behaves_as_in_numpy(make):
    divide = make(quotient)
    assert (divide(1.0, 0.0), divide(1.0, 4.0)) == (math.inf, 0.25)


@pytest.mark.parametrize("kept", [False, True])
def test_compiled_code_is_cached_only_in_a_configured_folder(monkeypatch, tmp_path, kept):
    monkeypatch.delenv(KEPT_IN, raising=False)
    if kept:
        monkeypatch.setenv(KEPT_IN, str(tmp_path))
    assert (compiled(quotient).stats.cache_path is not None) is kept
