"""The page of measured speeds: ways agree at a tiny size, every row is on it, stored measurements make it."""

import importlib.util

import performance
import pytest
from measuring import OURS, DisagreementError, Race, Row, Way, differences, measure

HAS_JAX = importlib.util.find_spec("jax") is not None


@pytest.mark.parametrize("row", performance.ROWS, ids=lambda row: row.key)
def test_all_ways_agree_at_a_tiny_size(row):
    if not (HAS_JAX or row.engine.startswith("diagnostics")):  # which has no peer in JAX
        pytest.skip("JAX is not installed: pip install -c envs/constraints.txt -e '.[benchmarks]'")
    race = row.build(**row.tiny)
    assert OURS in race.ways
    assert len(race.ways) > 1
    assert max(differences(race).values()) <= race.close


def test_nothing_is_timed_where_results_differ():
    timed = []
    ways = {
        "peer": Way(lambda: [1.0, 2.0], lambda: timed.append(1)),
        OURS: Way(lambda: [1.0, 2.1], lambda: timed.append(1)),
    }
    with pytest.raises(DisagreementError, match="differ by more"):
        measure(Race(ways, 0.01), 3)
    assert timed == []


def test_every_declared_row_is_on_the_page_and_no_key_twice():
    keys = [row.key for row in performance.ROWS]
    assert len(set(keys)) == len(keys)
    assert performance.PAGE.read_text() == performance.page(performance.ROWS, performance.read())
    for row in performance.ROWS:
        assert f"{row.name}, {row.dtype}" in performance.PAGE.read_text()


def test_the_page_of_given_measurements():
    """Medians over rounds of ratios, not ratios of medians; the larger limit; goals missed by name."""
    row = Row("study, engine", "case", "a step", "step", Race, {}, {})
    stored = {
        "seconds": {"slow": [8e-3, 9e-3, 8e-3], "JAX": [3e-3, 1e-3, 2e-3], OURS: [1e-3, 2e-3, 1e-3]},
        "limits": {"copy": [2e-4, 2e-4, 2e-4], "products": [5e-4, 5e-4, 5e-4]},
        "differences": {"slow": 0.0, "JAX": 1e-7, OURS: 3e-8},
        "load": 3.2,
        "day": "2026-01-02",
        "machine": {"processor": "Made Up", "cores": 2, "versions": {"numpy": "2"}},
    }
    text = performance.page([row], {row.key: stored})
    cells = [
        "case, float64: a step",
        "JAX",
        "2 ms",
        "1 ms",
        "**2.00** (1.25 to 2.50)",
        "50% (products)",
        "slow 8",
        "1e-07",
    ]
    assert "| " + " | ".join([*cells, "3", "A"]) + " |" in text
    assert "1 of 1 rows meet that" in text
    assert "- study, engine: case, float64: 50% (products)" in text
    assert "out of reach: the peer" not in text
    stored["limits"]["products"] = [1.5e-3, 1.5e-3, 1.5e-3]
    stored["seconds"]["JAX"] = [1.5e-3, 1.8e-3, 1.8e-3]
    text = performance.page([row], {row.key: stored})
    assert (
        "- study, engine: case, float64: 1.50 times as fast as JAX; goal 2, out of reach: the peer is at 100%" in text
    )
    assert "0 of 1 rows meet that. 1 of the others are" in text
    assert "Made Up, 2 cores; numpy 2; measured 2026-01-02. Busy with other work in 1 of 1 rows" in text
